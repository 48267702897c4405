use super::*;
use crate::plan::{Action, Batch, BatchStack, Change, Plan, Purpose, Step};
use crate::run::journal::{Deletion, GaveUp, Kind, Named, Outcome, Sent, StepDone, StepStarted};

fn batch(stacks: &[(&str, Option<&str>)]) -> Action {
    let stacks = stacks.iter().map(|(name, before)| BatchStack {
        name: (*name).to_owned(),
        id: None,
        before: before.map(str::to_owned),
        template: "{}".to_owned(),
    });
    Action::Refactor(Batch { stacks: stacks.collect(), moves: Vec::new() })
}

fn begin(steps: Vec<(Vec<usize>, Action)>, deletions: Vec<Deletion>) -> Begin {
    let steps = steps.into_iter().map(|(after, action)| Step { after, action }).collect();
    Begin {
        version: 1,
        cdkr: String::new(),
        id: "R".to_owned(),
        kind: Kind::Forward,
        reverses: None,
        plan: Plan {
            account: "1".to_owned(),
            region: "r".to_owned(),
            steps,
            staying: Vec::new(),
            findings: Vec::new(),
        },
        deletions,
        roles: crate::aws::Roles::default(),
        new_stacks: BTreeMap::new(),
    }
}

fn started(step: usize, attempt: usize) -> Record {
    let stack = Before { name: "A".to_owned(), id: Some("arn:A".to_owned()), body: None };
    Record::StepStarted(StepStarted { step, attempt, stacks: vec![stack] })
}

fn sending(step: usize, attempt: usize, call: Call) -> Record {
    let events = BTreeMap::new();
    Record::Sending(crate::run::journal::Sending { step, attempt, call, events })
}

fn sent(step: usize, attempt: usize, call: Call, id: Option<&str>) -> Record {
    Record::Sent(Sent { step, attempt, call, id: id.map(str::to_owned) })
}

fn done(step: usize) -> Record {
    let stacks = vec![Named { name: "B".to_owned(), id: "arn:B".to_owned() }];
    Record::StepDone(StepDone { step, stacks })
}

fn two_steps() -> State {
    let (one, two) = (batch(&[("A", Some("a"))]), batch(&[("B", Some("b"))]));
    State::new(begin(vec![(vec![], one), (vec![0], two)], Vec::new())).unwrap()
}

#[test]
fn a_call_is_not_made_perhaps_made_or_made() {
    let mut state = two_steps();
    state.apply(&started(0, 1)).unwrap();
    let call = |state: &State| state.open(0).map(|open| (open.create, open.execute));
    assert_eq!(call(&state), Some((Sending::Not, Sending::Not)));
    state.apply(&sending(0, 1, Call::Create)).unwrap();
    assert_eq!(call(&state), Some((Sending::Perhaps, Sending::Not)));
    state.apply(&sent(0, 1, Call::Create, Some("id"))).unwrap();
    assert_eq!(state.open(0).unwrap().id.as_deref(), Some("id"));
    state.apply(&sending(0, 1, Call::Execute)).unwrap();
    assert_eq!(call(&state), Some((Sending::Sent, Sending::Perhaps)));
}

#[test]
fn a_step_waits_for_those_that_it_needs_and_what_is_under_way_goes_first() {
    let mut state = two_steps();
    assert_eq!(state.next(), Some(0));
    state.apply(&started(0, 1)).unwrap();
    assert_eq!(state.next(), Some(0));
    state.apply(&done(0)).unwrap();
    assert_eq!((state.next(), state.done()), (Some(1), 1));
    assert_eq!(state.ids["B"], "arn:B");
    state.apply(&started(1, 1)).unwrap();
    state.apply(&done(1)).unwrap();
    assert_eq!(state.next(), None);
}

#[test]
fn an_attempt_that_came_to_nothing_is_followed_by_another_with_another_token() {
    let mut state = two_steps();
    state.apply(&started(0, 1)).unwrap();
    let first = state.token(0, 1);
    let gave_up = GaveUp { step: 0, attempt: 1, reason: String::new() };
    state.apply(&Record::GaveUp(gave_up)).unwrap();
    assert_eq!((state.open(0), state.attempts(0), state.next()), (None, 1, Some(0)));
    state.apply(&started(0, 2)).unwrap();
    assert_ne!(state.token(0, 2), first);
    assert!(state.apply(&sent(0, 1, Call::Create, None)).is_err());
}

#[test]
fn a_run_that_failed_can_go_on_and_one_that_was_undone_cannot() {
    let end = |outcome| Record::End(End { outcome, reason: None });
    let mut state = two_steps();
    state.apply(&end(Outcome::Failed)).unwrap();
    state.apply(&started(0, 1)).unwrap();
    assert_eq!(state.end, None);
    state.apply(&end(Outcome::Reversed)).unwrap();
    assert!(state.apply(&done(0)).is_err());
}

#[test]
fn a_journal_that_contradicts_itself_is_not_gone_on_with() {
    let mut state = two_steps();
    assert!(state.apply(&done(0)).is_err());
    state.apply(&started(0, 1)).unwrap();
    assert!(state.apply(&started(0, 2)).is_err());
    assert!(state.apply(&started(7, 1)).is_err());
    let circular = begin(vec![(vec![0], batch(&[]))], Vec::new());
    assert!(State::new(circular).is_err());
}

#[test]
fn a_stack_is_expected_as_the_first_step_ahead_needs_it() {
    let change = Action::Change(Change {
        stack: "N".to_owned(),
        id: None,
        purpose: Purpose::Create,
        before: None,
        template: "{}".to_owned(),
        parameters: Vec::new(),
        capabilities: Vec::new(),
        retained: Vec::new(),
    });
    let later = batch(&[("A", Some("a")), ("N", Some("n"))]);
    let deletion = Deletion { stack: "A".to_owned(), id: None, before: "gone".to_owned() };
    let steps = vec![(vec![], change), (vec![0], later)];
    let state = State::new(begin(steps, vec![deletion])).unwrap();
    let expected = state.expected();
    let of = |name: &str| expected.iter().find(|each| each.0 == name).unwrap().2.clone();
    assert_eq!((expected.len(), of("N"), of("A")), (2, None, Some("a".to_owned())));
    assert_eq!(state.begin.needs(2), [0, 1]);
}
