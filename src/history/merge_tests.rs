use super::*;
use crate::history::Inconsistency;
use crate::history::compose;
use crate::history::samples::{add, environment, moves, place, scope, state, story};

/// Two logs that go on from one beginning.
fn branches(
    first: &str,
    ours: (&str, Vec<Refactor>),
    theirs: (&str, Vec<Refactor>),
) -> (Log, Log, [EventHash; 3]) {
    let (log, hashes) = story(&[(first, "")]);
    let (mut our_log, mut their_log) = (log.clone(), log);
    let our_head = add(&mut our_log, Some(hashes[0]), ours.0, ours.1);
    let their_head = add(&mut their_log, Some(hashes[0]), theirs.0, theirs.1);
    (our_log, their_log, [hashes[0], our_head, their_head])
}

fn meeting(stacks: &str, refactors: Vec<Refactor>) -> MergeEvent {
    MergeEvent { at: "now".to_owned(), state: state(stacks), refactors }
}

fn found(log: &Log, from: EventHash, account: &str) -> Vec<String> {
    let head = log.head().unwrap().unwrap();
    let mappings = compose(log, from, head, &environment(account)).unwrap();
    mappings.iter().map(|it| format!("{}>{}", it.source, it.destination)).collect()
}

#[test]
fn each_branch_takes_over_what_the_other_has_moved() {
    let (ours, theirs, [base, our_head, their_head]) = branches(
        "Web.A:Bucket Web.Q:Queue",
        ("Web.B:Bucket Web.Q:Queue", vec![moves("Web.A>Web.B")]),
        ("Web.A:Bucket Api.Q:Queue", vec![moves("Web.Q>Api.Q")]),
    );
    let log = merge(&ours, &theirs, &meeting("Web.B:Bucket Api.Q:Queue", Vec::new())).unwrap();
    assert_eq!(found(&log, base, "1"), ["Web.A>Web.B", "Web.Q>Api.Q"]);
    assert_eq!(found(&log, our_head, "1"), ["Web.Q>Api.Q"]);
    assert_eq!(found(&log, their_head, "1"), ["Web.A>Web.B"]);
    assert_eq!(Log::parse(log.render().as_bytes()).unwrap(), log);
}

#[test]
fn a_branch_that_merely_goes_on_needs_no_event() {
    let (log, _) = story(&[("Web.A:Bucket", ""), ("Web.B:Bucket", "Web.A>Web.B")]);
    let shorter = log.up_to(log.events().next().unwrap().0).unwrap();
    let event = meeting("Web.B:Bucket", Vec::new());
    for (ours, theirs) in
        [(&log, &shorter), (&shorter, &log), (&log, &log), (&Log::default(), &log)]
    {
        assert_eq!(merge(ours, theirs, &event).unwrap(), log);
    }
}

#[test]
fn one_source_with_two_names_is_a_conflict_until_somebody_decides() {
    let (ours, theirs, [base, our_head, their_head]) = branches(
        "Web.A:Bucket",
        ("Web.B:Bucket", vec![moves("Web.A>Web.B")]),
        ("Web.C:Bucket", vec![moves("Web.A>Web.C")]),
    );
    let conflict = merge(&ours, &theirs, &meeting("Web.C:Bucket", Vec::new())).unwrap_err();
    let text = conflict.to_string();
    for name in ["`Web.A`", "`Web.B`", "`Web.C`", "Nothing was merged"] {
        assert!(text.contains(name), "{text}");
    }
    let mut decided = moves("Web.B>Web.C");
    decided.parent = Some(our_head);
    let log = merge(&ours, &theirs, &meeting("Web.C:Bucket", vec![decided])).unwrap();
    assert_eq!(found(&log, base, "1"), ["Web.A>Web.C"]);
    assert_eq!(found(&log, our_head, "1"), ["Web.B>Web.C"]);
    assert!(found(&log, their_head, "1").is_empty());
}

#[test]
fn two_sources_with_one_name_are_a_conflict() {
    let (ours, theirs, _) = branches(
        "Web.A:Bucket Web.B:Bucket",
        ("Web.C:Bucket Web.B:Bucket", vec![moves("Web.A>Web.C")]),
        ("Web.A:Bucket Web.C:Bucket", vec![moves("Web.B>Web.C")]),
    );
    let conflict = merge(&ours, &theirs, &meeting("Web.C:Bucket", Vec::new())).unwrap_err();
    let Conflict::Contradictions(found) = conflict else { panic!("{conflict}") };
    let both = found.iter().all(|it| {
        matches!(it, Contradiction::TwoSources { destination, .. } if *destination == place("Web.C"))
    });
    assert!(both && !found.is_empty(), "{found:?}");
}

#[test]
fn a_conflict_in_one_account_is_a_conflict() {
    let mut here = moves("Web.A>Web.C Web.B>Web.D");
    here.scope = scope("1");
    let mut there = moves("Web.A>Web.D Web.B>Web.C");
    there.scope = scope("1");
    let after = "Web.C:Queue Web.D:Queue";
    let (ours, theirs, _) =
        branches("Web.A:Queue Web.B:Queue", (after, vec![here.clone()]), (after, vec![there]));
    let conflict = merge(&ours, &theirs, &meeting(after, Vec::new())).unwrap_err();
    assert!(matches!(conflict, Conflict::Contradictions(_)), "{conflict}");
    let mut elsewhere = moves("Web.A>Web.D Web.B>Web.C");
    elsewhere.scope = scope("2");
    let (ours, theirs, [base, ..]) =
        branches("Web.A:Queue Web.B:Queue", (after, vec![here]), (after, vec![elsewhere]));
    let log = merge(&ours, &theirs, &meeting(after, Vec::new())).unwrap();
    assert_eq!(found(&log, base, "1"), ["Web.A>Web.C", "Web.B>Web.D"]);
    assert_eq!(found(&log, base, "2"), ["Web.A>Web.D", "Web.B>Web.C"]);
}

#[test]
fn a_rename_that_the_merged_code_has_lost_is_a_conflict_until_somebody_decides() {
    let (ours, theirs, [base, our_head, _]) = branches(
        "Web.A:Bucket",
        ("Web.B:Bucket", vec![moves("Web.A>Web.B")]),
        ("Web.A:Bucket Web.Q:Queue", Vec::new()),
    );
    let merged = "Web.A:Bucket Web.Q:Queue";
    let conflict = merge(&ours, &theirs, &meeting(merged, Vec::new())).unwrap_err();
    let undone = Undone { head: our_head, earlier: place("Web.A"), given: place("Web.B") };
    assert_eq!(conflict, Conflict::Undone(vec![undone]));
    let mut back = moves("Web.B>Web.A");
    back.parent = Some(our_head);
    let log = merge(&ours, &theirs, &meeting(merged, vec![back])).unwrap();
    assert!(found(&log, base, "1").is_empty());
    assert_eq!(found(&log, our_head, "1"), ["Web.B>Web.A"]);
}

#[test]
fn a_name_that_one_branch_gave_to_another_resource_is_not_the_old_one() {
    let (mut ours, theirs, [base, .., their_head]) =
        branches("Web.A:Bucket", ("", Vec::new()), ("Web.A:Bucket Web.Q:Queue", Vec::new()));
    ours.record("again", &state("Web.A:Bucket"), Vec::new()).unwrap();
    let merged = meeting("Web.A:Bucket Web.Q:Queue", Vec::new());
    let mut log = merge(&ours, &theirs, &merged).unwrap();
    let renamed = state("Web.B:Bucket Web.Q:Queue");
    log.record("renamed", &renamed, vec![moves("Web.A>Web.B")]).unwrap();
    assert!(found(&log, base, "1").is_empty());
    assert!(found(&log, their_head, "1").is_empty());
}

#[test]
fn branches_that_were_merged_crosswise_are_refused_with_what_they_have_in_common() {
    let (ours, theirs, [_, our_head, their_head]) = branches(
        "Web.A:Bucket Web.Q:Queue",
        ("Web.B:Bucket Web.Q:Queue", vec![moves("Web.A>Web.B")]),
        ("Web.A:Bucket Api.Q:Queue", vec![moves("Web.Q>Api.Q")]),
    );
    let here = meeting("Web.B:Bucket Api.Q:Queue", Vec::new());
    let there = MergeEvent { at: "elsewhere".to_owned(), ..here.clone() };
    let first = merge(&ours, &theirs, &here).unwrap();
    let second = merge(&ours, &theirs, &there).unwrap();
    let heads = [first.head().unwrap().unwrap(), second.head().unwrap().unwrap()];
    let mut ancestors = vec![our_head, their_head];
    ancestors.sort();
    let conflict = merge(&first, &second, &here).unwrap_err();
    let reason = Inconsistency::Crosswise(ancestors.clone());
    assert_eq!(conflict, Conflict::Event(Problem::Inconsistent(reason)));
    let mut lowest = first.united(&second).unwrap().lowest_common_ancestors(heads[0], heads[1]);
    lowest.sort();
    assert_eq!(lowest, ancestors);
    let replayed = crate::history::replay(&first, &second, &environment("1"));
    assert_eq!(replayed, Err(crate::history::ReplayError::Crosswise(ancestors)));
}

#[test]
fn logs_that_began_separately_are_not_merged() {
    let ((ours, _), (theirs, _)) = (story(&[("Web.A:Bucket", "")]), story(&[("Api.A:Bucket", "")]));
    let conflict = merge(&ours, &theirs, &meeting("Web.A:Bucket", Vec::new())).unwrap_err();
    assert_eq!(conflict, Conflict::Unrelated);
}
