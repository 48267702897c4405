use super::*;
use crate::history::samples::{add, environment, moves, place, state as written, story};
use crate::history::{Advance, Inconsistency, replay};

/// The stacks of a state, and some that are not there.
fn found(text: &str, missing: &[&str]) -> BTreeMap<StackName, Option<StackRecord>> {
    let state = written(text);
    let stacks = state.stacks().map(|(key, record)| (key.name.clone(), Some(record.clone())));
    stacks.chain(missing.iter().map(|name| ((*name).into(), None))).collect()
}

fn pairs(text: &str) -> Vec<(Location, Location)> {
    let moves = moves(text).moves.into_iter();
    moves.map(|it| (it.source, it.destination)).collect()
}

fn arrive(
    log: &Log,
    repository: &Log,
    stacks: &BTreeMap<StackName, Option<StackRecord>>,
    (moves, kept): (&str, &str),
    is_complete: bool,
) -> Log {
    let arrival = Arrival {
        environment: &environment("1"),
        at: "now",
        stacks,
        moves: &pairs(moves),
        kept: &pairs(kept),
        is_complete,
    };
    arrived(log, repository, &arrival).unwrap()
}

fn next(log: &Log, repository: &Log) -> Vec<String> {
    match replay(log, repository, &environment("1")).unwrap() {
        Advance::Forward { mappings, .. } | Advance::Back { mappings, .. } => {
            mappings.iter().map(|it| format!("{}>{}", it.source, it.destination)).collect()
        }
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn after_a_refactor_without_a_deployment_the_next_version_starts_from_the_new_names() {
    let (repository, e) = story(&[
        ("Web.A:Queue Web.Q:Queue", ""),
        ("Web.B:Queue Web.Q:Queue #1", "Web.A>Web.B"),
        ("Web.C:Queue Api.Q:Queue #2", "Web.B>Web.C Web.Q>Api.Q"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let second = repository.up_to(e[1]).unwrap();
    let stacks = found("Web.B:Queue Web.Q:Queue #sent", &[]);
    let log = arrive(&log, &second, &stacks, ("Web.A>Web.B", ""), false);
    let head = log.head().unwrap().unwrap();
    assert_eq!(log.event(head).unwrap().toward, Some(e[1]));
    assert_eq!(next(&log, &second), Vec::<String>::new(), "what remains has no moves");
    assert_eq!(next(&log, &repository), ["Web.B>Web.C", "Web.Q>Api.Q"]);
    assert_eq!(next(&log, &repository.up_to(e[0]).unwrap()), ["Web.B>Web.A"]);
    let whole = deployed(&log, &repository, &environment("1"), "now").unwrap();
    assert_eq!(replay(&whole, &repository, &environment("1")), Ok(Advance::UpToDate));
    assert_eq!(Log::parse(whole.render().as_bytes()), Ok(whole));
}

#[test]
fn what_was_created_on_the_way_is_what_has_its_name_there() {
    let (repository, e) = story(&[
        ("Web.A:Queue Api.X:Queue", ""),
        ("Web.A:Queue Web.N:Queue Api.Y:Queue", "Api.X>Api.Y"),
        ("Web.A:Queue Web.M:Queue Api.Z:Queue", "Web.N>Web.M Api.Y>Api.Z"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let second = repository.up_to(e[1]).unwrap();
    let log = arrive(&log, &second, &found("Web.A:Queue Web.N:Queue", &[]), ("", ""), false);
    assert_eq!(next(&log, &second), ["Api.X>Api.Y"]);
    assert_eq!(next(&log, &repository), ["Api.X>Api.Z", "Web.N>Web.M"]);
}

#[test]
fn a_stack_that_was_deployed_has_the_names_of_its_event_even_if_the_log_knew_others() {
    // The old one was deleted, and its name given to a new one, which CloudFormation cannot tell.
    let (repository, e) = story(&[
        ("Web.A:Queue Api.X:Queue", ""),
        ("Web.Q:Topic Api.X:Queue", ""),
        ("Web.A:Queue Api.X:Queue Api.Y:Queue #2", ""),
        ("Web.B:Queue Api.X:Queue Api.Y:Queue #3", "Web.A>Web.B"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let third = repository.up_to(e[2]).unwrap();
    let log = arrive(&log, &third, &found("Web.A:Queue #2", &[]), ("", ""), false);
    assert_eq!(next(&log, &repository), ["Web.A>Web.B"]);
}

#[test]
fn moves_that_were_taken_back_leave_the_environment_where_it_was() {
    let (repository, e) = story(&[("Web.A:Queue", ""), ("Web.B:Queue #1", "Web.A>Web.B")]);
    let first = repository.up_to(e[0]).unwrap();
    let log =
        arrive(&first, &repository, &found("Web.B:Queue #x", &[]), ("Web.A>Web.B", ""), false);
    let log = arrive(&log, &repository, &found("Web.A:Queue", &[]), ("Web.B>Web.A", ""), false);
    assert_eq!(next(&log, &repository), ["Web.A>Web.B"]);
    assert_eq!(replay(&log, &first, &environment("1")), Ok(Advance::UpToDate));
    // Nothing new is nothing to be said.
    let again = arrive(&log, &repository, &found("Web.A:Queue", &[]), ("", ""), false);
    assert_eq!(again, log);
}

#[test]
fn the_last_of_the_stacks_makes_the_environment_whole() {
    let (repository, e) = story(&[
        ("Web.A:Queue Api.X:Queue", ""),
        ("Web.B:Queue Api.Y:Queue #1", "Web.A>Web.B Api.X>Api.Y"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let log = arrive(&log, &repository, &found("Web.B:Queue #1", &[]), ("Web.A>Web.B", ""), false);
    assert_eq!(next(&log, &repository), ["Api.X>Api.Y"]);
    let log = arrive(&log, &repository, &found("Api.Y:Queue #1", &[]), ("Api.X>Api.Y", ""), false);
    assert_eq!(replay(&log, &repository, &environment("1")), Ok(Advance::UpToDate));
    let head = log.head().unwrap().unwrap();
    assert_eq!(log.event(head).unwrap().same_as, Some(e[1]));
}

#[test]
fn what_a_deployment_keeps_and_holds_is_no_change_behind_the_log() {
    let (repository, e) = story(&[
        ("Web.A:Queue", ""),
        ("Web.B:Queue #1", "Web.A>Web.B"),
        ("Web.C:Queue #2", "Web.B>Web.C"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let second = repository.up_to(e[1]).unwrap();
    // The app calls it `B`, but it kept its logical ID.
    let stacks = found("Web.A:Queue #held", &[]);
    let log = arrive(&log, &second, &stacks, ("", "Web.B>Web.A"), true);
    let head = log.head().unwrap().unwrap();
    assert_eq!(log.snapshot(head), Some(&written("Web.A:Queue #held")));
    assert_eq!(next(&log, &second), ["Web.A>Web.B"]);
    assert_eq!(next(&log, &repository), ["Web.A>Web.C"]);
    let again = arrive(&log, &second, &stacks, ("", "Web.B>Web.A"), true);
    assert_eq!(again, log, "the same again is nothing new");
}

#[test]
fn a_move_that_no_log_knows_is_not_recorded_and_not_believed() {
    let (repository, e) = story(&[
        ("Web.A:Queue Web.Q:Queue", ""),
        ("Web.B:Queue Web.Q:Queue Web.N:Queue #1", "Web.A>Web.B"),
    ]);
    let log = repository.up_to(e[0]).unwrap();
    let stacks = found("Web.A:Queue Web.N:Queue #x", &[]);
    let after = arrive(&log, &repository, &stacks, ("Web.Q>Web.N", ""), false);
    let head = after.head().unwrap().unwrap();
    assert!(after.event(head).unwrap().what.refactors.is_empty());
    // Where both logs meet, such a move is refused.
    let mut forged = log.clone();
    let state = written("Web.A:Queue Web.N:Queue #x");
    let mut refactor = moves("Web.Q>Web.N");
    refactor.scope = scope_of(&environment("1"));
    let mut event = forged.leading_to(vec![e[0]], "now", &state, vec![refactor]);
    event.toward = Some(e[1]);
    forged.append(event.clone()).unwrap();
    let mut both = repository.clone();
    let problem = both.append(event).unwrap_err();
    let expected = Inconsistency::NotOnTheWay(place("Web.Q"), place("Web.N"));
    assert_eq!(problem, Problem::Inconsistent(expected));
    assert!(problem.to_string().contains("none of those on the way"), "{problem}");
}

#[test]
fn on_the_way_to_another_branch_nothing_goes_forward_unless_nothing_moved() {
    let (mut repository, e) = story(&[("Web.A:Queue", ""), ("Web.B:Queue #1", "Web.A>Web.B")]);
    let first = repository.up_to(e[0]).unwrap();
    let way =
        arrive(&first, &repository, &found("Web.B:Queue #x", &[]), ("Web.A>Web.B", ""), false);
    repository = first.clone();
    let other = add(&mut repository, Some(e[0]), "Web.A:Queue Web.T:Topic", Vec::new());
    let error = replay(&way, &repository, &environment("1")).unwrap().permitted().unwrap_err();
    assert!(error.to_string().contains("`Web.A` → `Web.B`"), "{error}");
    let quiet = arrive(&first, &repository, &found("Web.A:Queue #x", &[]), ("", ""), false);
    let mut third = first;
    add(&mut third, Some(e[0]), "Web.A:Queue Web.U:Topic", Vec::new());
    assert_eq!(quiet.event(quiet.head().unwrap().unwrap()).unwrap().toward, Some(other));
    assert_eq!(replay(&quiet, &third, &environment("1")).unwrap().permitted(), Ok(()));
    assert!(deployed(&quiet, &third, &environment("1"), "now").is_ok());
}

fn stands(log: &Log, repository: &Log, text: &str) -> Option<(EventHash, bool)> {
    let stacks = found(text, &[]).into_iter();
    let stacks = stacks.filter_map(|(name, record)| Some((name, record?))).collect();
    let found = standing(log, repository, &environment("1"), &stacks, "now");
    found.map(|found| (found.event, found.is_whole))
}

#[test]
fn an_environment_without_a_log_stands_at_the_newest_event_with_its_state() {
    let (repository, e) = story(&[
        ("Web.A:Queue Api.X:Queue", ""),
        ("Web.B:Queue Api.X:Queue", "Web.A>Web.B"),
        ("Web.B:Queue Api.Y:Queue", "Api.X>Api.Y"),
    ]);
    let none = Log::default();
    assert_eq!(stands(&none, &repository, "Web.A:Queue Api.X:Queue"), Some((e[0], true)));
    assert_eq!(stands(&none, &repository, "Web.B:Queue"), Some((e[2], false)));
    assert_eq!(stands(&none, &repository, "Web.A:Queue Api.Y:Queue"), None);
    assert_eq!(stands(&none, &repository, "Web.A:Queue Api.X:Queue #other"), None);
    assert_eq!(stands(&none, &repository, ""), None);
    // With a log other stacks may be where it says.
    let log = repository.up_to(e[1]).unwrap();
    assert_eq!(stands(&log, &repository, "Web.B:Queue Api.Y:Queue"), Some((e[2], true)));
    let first = repository.up_to(e[0]).unwrap();
    assert_eq!(stands(&first, &repository, "Web.A:Queue Api.Y:Queue"), Some((e[2], false)));
}

#[test]
fn two_events_with_one_state_and_exchanged_names_are_not_told_apart() {
    let both = "Web.A:Queue Web.B:Queue";
    let (repository, _) = story(&[(both, ""), (both, "Web.A>Web.B Web.B>Web.A")]);
    assert_eq!(stands(&Log::default(), &repository, both), None);
}

#[test]
fn a_first_deployment_of_some_stacks_begins_a_log() {
    let (repository, e) = story(&[
        ("Web.A:Queue Api.X:Queue", ""),
        ("Web.B:Queue Api.X:Queue", "Web.A>Web.B"),
        ("Web.C:Queue Api.X:Queue", "Web.B>Web.C"),
    ]);
    let second = repository.up_to(e[1]).unwrap();
    let stacks = found("Web.B:Queue", &["Api"]);
    let log = arrive(&Log::default(), &second, &stacks, ("", ""), false);
    assert!(log.contains(e[1]));
    assert_eq!(next(&log, &repository), ["Web.B>Web.C"]);
    let unknown = found("Web.B:Queue #other", &["Api"]);
    let log = arrive(&Log::default(), &second, &unknown, ("", ""), false);
    assert_eq!(log, Log::default());
}

#[test]
fn what_was_created_on_a_way_that_the_repository_does_not_know_is_not_taken_away() {
    let (repository, e) = story(&[
        ("Web.Z:Queue", ""),
        ("Web.Z:Queue Api.A:Queue", ""),
        ("Web.Z:Queue Api.B:Queue #2", "Api.A>Api.B"),
    ]);
    let first = repository.up_to(e[0]).unwrap();
    let log = arrive(&first, &repository, &found("Api.B:Queue #2", &[]), ("", ""), false);
    // `Api.B` was never called `Api.A` here, but that is what it is there.
    let second = repository.up_to(e[1]).unwrap();
    let error = replay(&log, &second, &environment("1")).unwrap_err();
    assert_eq!(error, ReplayError::UnknownGoal { toward: e[2] });
    assert!(error.to_string().contains("Deploy a revision that has the event"), "{error}");
    assert_eq!(next(&log, &repository), Vec::<String>::new());
    assert_eq!(next(&log, &first), Vec::<String>::new(), "there it is nothing");
}

#[test]
fn a_way_to_a_branch_that_moved_something_is_not_left_for_another_branch() {
    let (mut repository, mut e) = story(&[("Web.Z:Queue", ""), ("Web.Z:Queue Api.A:Queue", "")]);
    e.push(add(&mut repository, Some(e[1]), "Web.Z:Queue Api.B:Queue", vec![moves("Api.A>Api.B")]));
    let branch = repository.up_to(e[2]).unwrap();
    let first = repository.up_to(e[0]).unwrap();
    let log = arrive(&first, &branch, &found("Api.B:Queue", &[]), ("", ""), false);
    let log = arrive(&log, &branch, &found("Web.Z:Queue #x", &[]), ("", ""), false);
    assert!(log.event(log.head().unwrap().unwrap()).unwrap().toward.is_some());
    let other = add(&mut repository, Some(e[1]), "Web.Z:Queue Api.A:Queue Api.T:Topic", Vec::new());
    let goal = repository.up_to(other).unwrap();
    let advance = replay(&log, &goal, &environment("1")).unwrap();
    let error = advance.permitted().unwrap_err();
    assert!(error.to_string().contains("`Api.A` → `Api.B`"), "{error}");
}

#[test]
fn who_came_back_and_set_out_again_has_the_names_of_where_the_way_began() {
    let (mut repository, e) = story(&[
        ("Web.A:Queue Web.Q:Queue", ""),
        ("Web.B:Queue Web.Q:Queue", "Web.A>Web.B"),
        ("Api.Q:Queue #2", "Web.Q>Api.Q"),
    ]);
    let second = repository.up_to(e[1]).unwrap();
    // `Web.B` was deleted and made anew: it is what the second event calls so.
    let log = deployed(&repository, &second, &environment("1"), "back").unwrap();
    let stacks = found("Web.B:Queue Api.Q:Queue #x", &[]);
    let log = arrive(&log, &repository, &stacks, ("Web.Q>Api.Q", ""), false);
    let other = add(&mut repository, Some(e[0]), "Web.A:Queue Web.Q:Queue #3", Vec::new());
    let branch = repository.up_to(other).unwrap();
    let error = replay(&log, &branch, &environment("1")).unwrap().permitted().unwrap_err();
    for part in ["`Web.A` → `Web.B`", "`Web.Q` → `Api.Q`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}
