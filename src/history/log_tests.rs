use super::*;
use crate::history::samples::{add, moves, state, story};
use crate::history::{Inconsistency, What};

fn sample() -> (Log, Vec<EventHash>) {
    story(&[
        ("Web.A:Bucket Web.Q:Queue", ""),
        ("Web.B:Bucket Web.Q:Queue", "Web.A>Web.B"),
        ("Web.B:Bucket Api.F:Function", ""),
    ])
}

fn lines() -> Vec<String> {
    sample().0.render().split_inclusive('\n').map(str::to_owned).collect()
}

fn error(lines: &[String]) -> ParseError {
    let text = lines.concat();
    let error = Log::parse(text.as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("line {}, column", error.line)), "{error}");
    error
}

fn refused(log: &Log, what: What) -> Inconsistency {
    let parents = log.head().unwrap().into_iter().collect();
    let event = Event { parents, at: String::new(), same_as: None, toward: None, what };
    match log.clone().append(event) {
        Err(Problem::Inconsistent(inconsistency)) => inconsistency,
        other => panic!("{other:?}"),
    }
}

/// What leads from the end of the sample to other stacks.
fn what(stacks: &str, moved: &str) -> What {
    let (log, hashes) = sample();
    log.snapshot(hashes[2]).unwrap().what_leads_to(&state(stacks), vec![moves(moved)])
}

#[test]
fn the_form_of_a_line_does_not_change_unnoticed() {
    let lines = lines();
    assert_eq!(
        lines[1],
        concat!(
            r#"{"version":1,"parents":["#,
            r#""cbd8e170d186f22e2cb9cafafc3b249a316716ba602bd58a2bb1d94c3e53e03a"],"at":"2026-11-21T08:00:01Z","#,
            r##""what":{"updates":[{"stack":"Web","template":"#0","resources":{"B":{"type":"Bucket","##,
            r#""path":"Web/B"}},"removed":["A"]}],"refactors":[{"mappings":[{"source":"Web.A","#,
            r#""destination":"Web.B","decided":{"detected":"digest"}}]}]},"#,
            r#""hash":"e4c0efbdea7858dcc20d5ffd663ebb1d5c46081041a6f9f066c858e3bb271330"}"#,
            "\n"
        )
    );
}

#[test]
fn a_state_is_what_the_events_so_far_amount_to() {
    let (log, hashes) = sample();
    assert_eq!(log.snapshot(hashes[0]), Some(&state("Web.A:Bucket Web.Q:Queue")));
    assert_eq!(log.snapshot(hashes[2]), Some(&state("Web.B:Bucket Api.F:Function")));
    assert_eq!(log.head(), Ok(Some(hashes[2])));
    assert_eq!(log.ancestors(hashes[1]), hashes[..2]);
}

#[test]
fn a_state_that_has_not_changed_is_not_recorded_again() {
    let (mut log, hashes) = sample();
    let same = state("Web.B:Bucket Api.F:Function");
    assert_eq!(log.record("later", &same, vec![moves("")]), Ok(None));
    let renamed = state("Web.C:Bucket Api.F:Function");
    let added = log.record("later", &renamed, vec![moves("Web.B>Web.C")]).unwrap().unwrap();
    assert_eq!(log.event(added).unwrap().parents, [hashes[2]]);
}

#[test]
fn a_log_that_was_cut_off_is_refused_at_its_end() {
    let mut lines = lines();
    let last = lines[2].len();
    lines[2].truncate(last - 1);
    let found = error(&lines);
    assert_eq!((found.line, found.column, found.problem), (3, last, Problem::Truncated));
}

#[test]
fn an_edited_line_is_named_with_what_to_do() {
    let mut lines = lines();
    lines[1] = lines[1].replace("Web.B", "Web.Q");
    let found = error(&lines);
    assert_eq!(found.line, 2);
    assert!(matches!(found.problem, Problem::Edited { .. }));
    assert!(found.to_string().contains("from version control"), "{found}");
}

#[test]
fn a_line_that_a_formatter_touched_is_named() {
    let mut lines = lines();
    lines[0] = lines[0].replacen(':', ": ", 1);
    let found = error(&lines);
    assert_eq!((found.line, found.column, found.problem), (1, 12, Problem::Reformatted));
    lines[0] = lines[0].replace('\n', "\r\n").replacen(": ", ":", 1);
    let found = error(&lines);
    assert_eq!((found.line, found.problem), (1, Problem::CarriageReturn));
    let text = Problem::CarriageReturn.to_string();
    assert!(text.contains(".gitattributes"), "{text}");
}

#[test]
fn the_marks_of_a_merge_conflict_are_told_from_damage() {
    let mut lines = lines();
    lines.insert(1, "<<<<<<< HEAD\n".to_owned());
    let found = error(&lines);
    assert_eq!((found.line, found.problem), (2, Problem::ConflictMark));
}

#[test]
fn something_else_than_an_event_is_refused_with_its_column() {
    for (text, column) in [("\n", 1), ("{}\n", 2), ("{\"version\":1,\"x\":1}\n", 16)] {
        let found = Log::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(found.problem, Problem::Malformed { .. }), "{found}");
        assert_eq!(found.column, column, "{text}");
        assert!(!found.to_string().contains("at line"), "{found}");
    }
    let found = Log::parse(b"{\"v\":\"\xc3\xa4\xff\"}\n").unwrap_err();
    assert_eq!((found.line, found.column), (1, 8));
}

#[test]
fn a_line_of_a_newer_version_is_refused_whatever_else_it_says() {
    let mut lines = lines();
    lines[2] = "{\"version\":2,\"new\":[]}\n".to_owned();
    let found = error(&lines);
    assert_eq!((found.line, found.problem), (3, Problem::Newer { found: 2 }));
}

#[test]
fn a_missing_line_is_noticed_in_the_next_one() {
    let mut lines = lines();
    lines.remove(1);
    let found = error(&lines);
    assert_eq!((found.line, found.column), (2, 26));
    let parent = sample().1[1];
    assert_eq!(found.problem, Problem::UnknownParent { parent, below: None });
}

#[test]
fn lines_out_of_order_are_told_from_missing_ones() {
    let mut lines = lines();
    lines.swap(1, 2);
    let found = error(&lines);
    let parent = sample().1[1];
    assert_eq!(found.line, 2);
    assert_eq!(found.problem, Problem::UnknownParent { parent, below: Some(3) });
    assert!(found.to_string().contains("in line 3"), "{found}");
}

#[test]
fn a_line_that_stands_there_twice_is_named_with_the_first() {
    let mut lines = lines();
    lines.push(lines[1].clone());
    let found = error(&lines);
    assert_eq!((found.line, found.problem), (4, Problem::Duplicate { first: 2 }));
}

#[test]
fn a_log_has_one_beginning() {
    let mut other = Log::default();
    add(&mut other, None, "Other.X:Queue", Vec::new());
    let mut lines = lines();
    lines.push(other.render());
    let found = error(&lines);
    assert_eq!((found.line, found.column, found.problem), (4, 14, Problem::SecondBeginning));
}

#[test]
fn a_branch_is_an_error_that_names_both_ends_and_can_still_be_read_for_a_merge() {
    let (mut log, hashes) = sample();
    let other = add(&mut log, Some(hashes[1]), "Web.B:Bucket", Vec::new());
    let text = log.render();
    let found = Log::parse(text.as_bytes()).unwrap_err();
    let head = |event, line| Head { event, line };
    let heads = vec![head(hashes[2], 3), head(other, 4)];
    assert_eq!(found.problem, Problem::Branched { heads: heads.clone() });
    assert!(found.to_string().contains("cdkr history merge"), "{found}");
    let read = Log::parse_branches(text.as_bytes()).unwrap();
    assert_eq!(read.heads(), heads);
    assert!(read.head().is_err());
    assert_eq!(read.up_to(hashes[2]), Some(sample().0));
}

#[test]
fn an_event_that_cannot_have_happened_is_refused_and_nothing_is_recorded() {
    use Inconsistency as I;
    let (log, _) = sample();
    let stacks = "Web.B:Bucket Api.F:Function";
    let created = Snapshot::default().what_leads_to(&state("Web.B:Bucket"), Vec::new());
    assert!(matches!(refused(&log, created), I::StackExists(_)));
    let overlapping = format!("{stacks} Web@1.B:Bucket");
    assert!(matches!(refused(&log, what(&overlapping, "")), I::StacksOverlap(..)));
    let deleted = state("No.X:Queue").what_leads_to(&state(""), Vec::new());
    assert!(matches!(refused(&log, deleted), I::NoStack(_)));
    let removed = state("Web.X:Queue Web.B:Bucket").what_leads_to(&state("Web.B:Bucket"), vec![]);
    assert!(matches!(refused(&log, removed), I::NoResource(..)));
    assert!(matches!(refused(&log, what(stacks, "Web.X>Web.B")), I::NoSource(..)));
    assert!(matches!(refused(&log, what(stacks, "Web.B>Web.X")), I::NoDestination(..)));
    assert!(matches!(refused(&log, what(stacks, "Web.B>Api.F")), I::TypesDiffer(..)));
    assert!(matches!(refused(&log, what(stacks, "Web.B>Web.B")), I::NotOneToOne(_)));
    let twice = what("Web.C:Bucket Web.D:Bucket", "Web.B>Web.C Web.B>Web.D");
    assert!(matches!(refused(&log, twice), I::NotOneToOne(_)));
    let mut foreign = what("Web.C:Bucket", "Web.B>Web.C");
    foreign.refactors[0].parent = log.head().unwrap();
    assert!(matches!(refused(&log, foreign), I::Parents));
    let mut dotted = what("Web.C:Bucket", "Web.B>Web.C");
    dotted.refactors[0].moves[0].source = crate::model::Location::new("Web", "B.C");
    assert!(matches!(refused(&log, dotted), I::Unwritable));
}

#[test]
fn a_state_cannot_be_said_to_be_an_earlier_one_if_it_is_not() {
    let (log, hashes) = sample();
    let mut event = log.leading_to(vec![hashes[2]], "now", &state("Web.A:Bucket"), Vec::new());
    event.same_as = Some(hashes[0]);
    let refused = log.clone().append(event).unwrap_err();
    assert_eq!(refused, Problem::Inconsistent(Inconsistency::NotTheSame(hashes[0])));
}
