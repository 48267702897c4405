//! The questioning, driven as a person would: questions from real comparisons, answers by choice.

use super::questions::{Answer, Decided, Next, Open, Questioning, Subject, Subjects};
use super::{answer, question};
use crate::compare::{self, Comparison, DecidedPair, Decisions, LeftEntry, Reference};
use crate::event::Question;
use crate::model::{Environment, Location, Stack};
use crate::report::Style;
use crate::template;

const BOTH: Subjects = Subjects { ambiguous: true, similar: true };

/// A stack of resources: the path below the stack, and the properties as JSON.
fn stack(resources: &[(&str, &str)]) -> Stack {
    let body = |(path, properties): &(&str, &str)| {
        let id = path.replace('/', "");
        format!(
            r#""{id}": {{"Type": "AWS::SQS::Queue", "Properties": {properties},
                "Metadata": {{"aws:cdk:path": "S/{path}"}}}}"#
        )
    };
    let resources: Vec<String> = resources.iter().map(body).collect();
    let text = format!(r#"{{"Resources": {{{}}}}}"#, resources.join(","));
    Stack::new("S", template::parse(text.as_bytes()).unwrap())
}

fn twins(names: &[&str]) -> Stack {
    stack(&names.iter().map(|name| (*name, "{}")).collect::<Vec<_>>())
}

/// Constructs with several queues that only their paths tell apart.
fn constructs(names: &[&str], resources: usize) -> Stack {
    let all: Vec<(String, String)> = names
        .iter()
        .flat_map(|name| {
            (0..resources).map(move |at| {
                (format!("{name}/Q{at}/Resource"), format!(r#"{{"VisibilityTimeout": {at}}}"#))
            })
        })
        .collect();
    stack(&all.iter().map(|(path, properties)| (&**path, &**properties)).collect::<Vec<_>>())
}

fn environment(region: &str) -> Environment {
    Environment::new("111111111111", region)
}

fn compared(region: &str, old: &Stack, new: &Stack, decided: &Decided) -> Comparison {
    let reference = |location: &Location| Reference::Location(location.clone());
    let pairs = decided.pairs.iter().map(|(source, destination)| DecidedPair {
        source: reference(source),
        destination: reference(destination),
        origin: "the terminal".to_owned(),
    });
    let left = decided.left.iter().map(|location| LeftEntry {
        resource: reference(location),
        origin: "the terminal".to_owned(),
    });
    let decisions =
        Decisions { pairs: pairs.collect(), left: left.collect(), ..Decisions::default() };
    let stacks = (std::slice::from_ref(old), std::slice::from_ref(new));
    compare::compare(&environment(region), stacks.0, stacks.1, &decisions).unwrap()
}

/// Asks until nothing is open; `choose` picks a choice. Returns the questions, and the comparisons
/// and decisions in the end, if nobody has stopped.
struct Asked {
    questions: Vec<Question>,
    end: Option<End>,
}

type End = (Vec<Comparison>, Vec<(Environment, Decided)>);

fn ask(
    regions: &[&str],
    old: &Stack,
    new: &Stack,
    mut choose: impl FnMut(&Question) -> usize,
) -> Asked {
    let mut questioning = Questioning::new(BOTH);
    let mut questions = Vec::new();
    for _ in 0..200 {
        let compare_one = |region: &&str| {
            let decided = questioning.decided().get(&environment(region));
            compared(region, old, new, decided.unwrap_or(&Decided::default()))
        };
        let comparisons: Vec<Comparison> = regions.iter().map(compare_one).collect();
        match questioning.next(&comparisons) {
            Next::Done => {
                let end = Some((comparisons, questioning.end().0));
                return Asked { questions, end };
            }
            Next::Compare => {}
            Next::Ask(open) => {
                let question = question(&open, None, Style::default());
                let choice = choose(&question);
                questions.push(question);
                if !questioning.answer(&open, answer(&open, choice)) {
                    return Asked { questions, end: None };
                }
            }
        }
    }
    panic!("asked without an end: {questions:#?}");
}

/// The number of the choice that begins with a text.
fn choice(question: &Question, text: &str) -> usize {
    let found = question.choices.iter().position(|choice| choice.starts_with(text));
    found.unwrap_or_else(|| panic!("{text}: {question:#?}"))
}

fn moves(comparison: &Comparison) -> Vec<(String, String)> {
    let ends = comparison
        .mappings
        .iter()
        .map(|one| (one.source.location.to_string(), one.destination.location.to_string()));
    ends.collect()
}

#[test]
fn of_three_twins_two_are_asked_about_and_the_third_follows() {
    let asked = ask(&["eu-west-1"], &twins(&["A", "B", "C"]), &twins(&["X", "Y", "Z"]), |_| 1);
    assert_eq!(asked.questions.len(), 2, "{:#?}", asked.questions);
    let (comparisons, decided) = asked.end.unwrap();
    assert_eq!(decided[0].1.pairs.len(), 2);
    assert_eq!(moves(&comparisons[0]).len(), 3);
    assert!(comparisons[0].ambiguous.is_empty());
}

#[test]
fn two_copies_of_a_construct_with_forty_resources_are_one_question() {
    let (old, new) = (constructs(&["A", "B"], 40), constructs(&["X", "Y"], 40));
    let asked = ask(&["eu-west-1"], &old, &new, |question| choice(question, "S/Y/** (40"));
    assert_eq!(asked.questions.len(), 1, "{:#?}", asked.questions);
    let (comparisons, decided) = asked.end.unwrap();
    assert_eq!(decided[0].1.pairs.len(), 1);
    let moves = moves(&comparisons[0]);
    assert_eq!(moves.len(), 80);
    for (from, to) in moves {
        let expected = if from.starts_with("S.A") {
            from.replace("S.A", "S.Y")
        } else {
            from.replace("S.B", "S.X")
        };
        assert_eq!(to, expected);
    }
}

#[test]
fn where_one_pair_of_two_constructs_does_not_settle_the_rest_nobody_is_asked_again() {
    let (old, new) = (constructs(&["A", "B", "C"], 3), constructs(&["X", "Y", "Z"], 3));
    let asked = ask(&["eu-west-1"], &old, &new, |question| choice(question, "S/"));
    assert!(asked.questions.len() <= 2, "{:#?}", asked.questions);
    assert_eq!(moves(&asked.end.unwrap().0[0]).len(), 9);
}

#[test]
fn what_is_left_is_replaced_and_the_others_are_still_asked_about() {
    let leave = |question: &Question| {
        if question.text.contains("S.A") { choice(question, "None") } else { 0 }
    };
    let asked = ask(&["eu-west-1"], &twins(&["A", "B"]), &twins(&["X", "Y"]), leave);
    assert_eq!(asked.questions.len(), 2);
    let (comparisons, decided) = asked.end.unwrap();
    assert_eq!(decided[0].1.left, [Location::new("S", "A")]);
    assert_eq!(moves(&comparisons[0]), [("S.B".to_owned(), "S.X".to_owned())]);
}

#[test]
fn all_of_them_can_be_left_at_once() {
    for (old, new, left) in [
        (twins(&["A", "B", "C"]), twins(&["X", "Y", "Z"]), 3),
        (constructs(&["A", "B"], 5), constructs(&["X", "Y"], 5), 10),
    ] {
        let asked = ask(&["eu-west-1"], &old, &new, |question| choice(question, "Leave all"));
        assert_eq!(asked.questions.len(), 1);
        let (comparisons, decided) = asked.end.unwrap();
        assert_eq!(decided[0].1.left.len(), left);
        assert!(comparisons[0].mappings.is_empty() && comparisons[0].ambiguous.is_empty());
        assert_eq!(comparisons[0].removed.len(), left);
    }
}

#[test]
fn a_construct_can_be_left_as_a_whole() {
    let (old, new) = (constructs(&["A", "B"], 5), constructs(&["X", "Y"], 5));
    let leave = |question: &Question| {
        if question.text.contains("S/A") {
            choice(question, "None")
        } else {
            choice(question, "S/Y")
        }
    };
    let asked = ask(&["eu-west-1"], &old, &new, leave);
    assert_eq!(asked.questions.len(), 2);
    let (comparisons, decided) = asked.end.unwrap();
    assert_eq!(decided[0].1.left.len(), 5);
    assert!(
        moves(&comparisons[0])
            .iter()
            .all(|(from, to)| from.starts_with("S.B") && to.starts_with("S.Y"))
    );
}

#[test]
fn whoever_stops_has_decided_nothing() {
    let stop = |question: &Question| question.choices.len() - 1;
    let asked = ask(&["eu-west-1"], &twins(&["A", "B"]), &twins(&["X", "Y"]), stop);
    assert!(asked.end.is_none());
    assert_eq!(asked.questions[0].choices.last().unwrap(), "Stop, change nothing");
}

#[test]
fn where_names_tell_nothing_the_proposed_answer_is_to_stop() {
    let asked = ask(&["eu-west-1"], &twins(&["A", "B"]), &twins(&["X", "Y"]), |_| 0);
    let question = &asked.questions[0];
    assert_eq!(question.default, question.choices.len() - 1);
}

#[test]
fn what_names_make_likely_is_proposed_first() {
    let (old, new) = (twins(&["Old/Orders", "Old/Bills"]), twins(&["New/Bills", "New/Orders"]));
    let mut defaults = Vec::new();
    let asked = ask(&["eu-west-1"], &old, &new, |question| {
        defaults.push(question.choices[question.default].clone());
        question.default
    });
    if let Some((comparisons, _)) = asked.end {
        let expected = [("S.OldBills", "S.NewBills"), ("S.OldOrders", "S.NewOrders")];
        let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
        assert_eq!(moves(&comparisons[0]), expected, "{defaults:?}");
    }
}

#[test]
fn an_answer_is_proposed_in_the_next_environment() {
    let mut regions = Vec::new();
    let asked =
        ask(&["eu-west-1", "us-east-1"], &twins(&["A", "B"]), &twins(&["X", "Y"]), |question| {
            regions.push(question.help[0].clone());
            if regions.len() == 1 { choice(question, "S.Y") } else { question.default }
        });
    let (comparisons, _) = asked.end.unwrap();
    assert_eq!(asked.questions.len(), 2, "{regions:?}");
    assert_eq!(moves(&comparisons[0]), moves(&comparisons[1]));
}

/// Two queues with enough in common to be offered, and not enough to be taken.
fn alike() -> (Stack, Stack) {
    let properties = |delay: u32, name: &str| {
        format!(
            r#"{{"VisibilityTimeout": 77, "MessageRetentionPeriod": 7777, "MaximumMessageSize": 4096,
                "ReceiveMessageWaitTimeSeconds": 17, "FifoQueue": true, "DelaySeconds": {delay},
                "Tags": [{{"Key": "team", "Value": "{name}"}}]}}"#
        )
    };
    (stack(&[("Old", &properties(1, "shop"))]), stack(&[("New", &properties(2, "shop"))]))
}

#[test]
fn a_pair_that_is_alike_is_taken_or_refused() {
    let (old, new) = alike();
    let asked = ask(&["eu-west-1"], &old, &new, |question| choice(question, "Yes"));
    assert_eq!(asked.questions.len(), 1);
    assert_eq!(moves(&asked.end.unwrap().0[0]), [("S.Old".to_owned(), "S.New".to_owned())]);
    let asked = ask(&["eu-west-1"], &old, &new, |question| choice(question, "No"));
    assert_eq!(asked.questions.len(), 1, "nobody is asked twice");
    let (comparisons, decided) = asked.end.unwrap();
    assert_eq!(decided[0].1.left, [Location::new("S", "Old")]);
    assert!(comparisons[0].mappings.is_empty());
}

#[test]
fn nobody_has_to_decide_about_pairs_that_are_merely_alike() {
    let (old, new) = alike();
    let asked =
        ask(&["eu-west-1", "us-east-1"], &old, &new, |question| choice(question, "Decide nothing"));
    assert_eq!(asked.questions.len(), 1);
    let (comparisons, decided) = asked.end.unwrap();
    assert!(decided.is_empty());
    assert!(comparisons.iter().all(|one| one.similar.len() == 1 && one.mappings.is_empty()));
}

#[test]
fn a_question_shows_what_tells_the_candidates_apart() {
    let (old, new) = (constructs(&["A", "B"], 2), constructs(&["X", "Y"], 2));
    let mut shown = Vec::new();
    ask(&["eu-west-1"], &old, &new, |question| {
        shown.push(question.clone());
        question.choices.len() - 1
    });
    let (old, new) = alike();
    ask(&["eu-west-1"], &old, &new, |question| {
        shown.push(question.clone());
        question.choices.len() - 1
    });
    let text: Vec<String> = shown.iter().map(written).collect();
    insta::assert_snapshot!(text.join("\n---\n"));
}

fn written(question: &Question) -> String {
    let mut lines = question.help.clone();
    lines.push(format!("{} ({})", question.text, question.flag));
    for (at, choice) in question.choices.iter().enumerate() {
        let mark = if at == question.default { '>' } else { ' ' };
        lines.push(format!("{mark} {choice}"));
    }
    lines.join("\n")
}

#[test]
fn an_answer_that_is_no_choice_stops() {
    let comparisons =
        [compared("eu-west-1", &twins(&["A", "B"]), &twins(&["X", "Y"]), &Decided::default())];
    let mut questioning = Questioning::new(BOTH);
    let Next::Ask(open) = questioning.next(&comparisons) else { panic!("a question") };
    assert!(matches!(&open, Open { subject: Subject::Resource { .. }, .. }));
    assert_eq!(answer(&open, 99), Answer::Stop);
    assert!(!questioning.answer(&open, Answer::Same(99)));
}
