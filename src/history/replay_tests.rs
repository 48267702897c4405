use super::*;
use crate::history::samples::{add, environment, moves, place, story};

fn production() -> Environment {
    environment("1")
}

fn mapping(source: &str, destination: &str, events: &[EventHash]) -> Mapping {
    Mapping {
        source: place(source),
        destination: place(destination),
        resource_type: "Bucket".into(),
        events: events.to_vec(),
    }
}

#[test]
fn an_environment_that_is_several_versions_behind_is_carried_over_all_of_them() {
    // RFC 0162, appendix A, the first example: H(E) = e1 ◄ e2, H(A) = e1 ◄ e2 ◄ e3 ◄ e4.
    let (repository, e) = story(&[
        ("Web.A:Bucket", ""),
        ("Web.A:Bucket Web.Q:Queue", ""),
        ("Web.B:Bucket Web.Q:Queue", "Web.A>Web.B"),
        ("Web.C:Bucket Web.Q:Queue", "Web.B>Web.C"),
    ]);
    let log = repository.up_to(e[1]).unwrap();
    let advance = replay(&log, &repository, &production()).unwrap();
    let expected = Advance::Forward {
        from: e[1],
        mappings: vec![mapping("Web.A", "Web.C", &e[2..])],
        events: e[2..].to_vec(),
    };
    assert_eq!(advance, expected);
    assert_eq!(advance.permitted(), Ok(()));
    let after = deployed(&log, &repository, &production(), "now").unwrap();
    assert_eq!(after, repository);
    assert_eq!(replay(&after, &repository, &production()), Ok(Advance::UpToDate));
}

/// RFC 0162, appendix A, the second example: H(E) = e1 ◄ e2 ◄ e3, H(A) = e1 ◄ e2 ◄ e4 ◄ e5.
fn second(own: (&str, &str), last: (&str, &str)) -> (Log, Log, Vec<EventHash>) {
    let (common, mut e) = story(&[("Web.A:Bucket", ""), ("Web.A:Bucket Web.Q:Queue", "")]);
    let (mut log, mut repository) = (common.clone(), common);
    e.push(add(&mut log, Some(e[1]), own.0, vec![moves(own.1)]));
    e.push(add(&mut repository, Some(e[1]), "Web.A:Bucket Web.Q:Queue Web.T:Topic", Vec::new()));
    e.push(add(&mut repository, Some(e[3]), last.0, vec![moves(last.1)]));
    (log, repository, e)
}

#[test]
fn different_ways_without_moves_are_deployed_and_merged() {
    let (log, repository, e) =
        second(("Web.A:Bucket Web.Q:Queue #hotfix", ""), ("Web.A:Bucket Web.T:Topic", ""));
    let advance = replay(&log, &repository, &production()).unwrap();
    let (refactors, environment) = (Vec::new(), Vec::new());
    assert_eq!(advance, Advance::Diverged { ancestor: Some(e[1]), refactors, environment });
    assert_eq!(advance.permitted(), Ok(()));
    let after = deployed(&log, &repository, &production(), "now").unwrap();
    let head = after.head().unwrap().unwrap();
    let mut parents = [e[2], e[4]];
    parents.sort();
    assert_eq!(after.event(head).unwrap().parents, parents);
    assert_eq!(after.snapshot(head), repository.snapshot(e[4]));
    assert_eq!(replay(&after, &repository, &production()), Ok(Advance::UpToDate));
    // The next move of the repository finds the state for which it was decided.
    let mut repository = repository;
    let next =
        add(&mut repository, Some(e[4]), "Web.B:Bucket Web.T:Topic", vec![moves("Web.A>Web.B")]);
    let advance = replay(&after, &repository, &production()).unwrap();
    let mappings = vec![mapping("Web.A", "Web.B", &[next])];
    assert_eq!(advance, Advance::Forward { from: e[4], mappings, events: vec![next] });
}

#[test]
fn a_move_of_the_repository_on_another_way_is_an_error_that_says_which_and_how_to_go_on() {
    let (log, repository, e) = second(
        ("Web.A:Bucket Web.Q:Queue #hotfix", ""),
        ("Web.B:Bucket Web.T:Topic", "Web.A>Web.B"),
    );
    let error = deployed(&log, &repository, &production(), "now").unwrap_err();
    let (refactors, environment) = (vec![mapping("Web.A", "Web.B", &e[4..])], Vec::new());
    assert_eq!(error, ReplayError::Diverged { ancestor: e[1], refactors, environment });
    let text = error.to_string();
    let expected = format!("in the repository: `Web.A` → `Web.B` ({})", e[4].short());
    for part in [expected.as_str(), "Nothing was changed", "cdkr history merge", &e[1].short()] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_move_that_only_the_environment_has_made_is_not_replaced_silently() {
    let (log, repository, e) =
        second(("Web.B:Bucket Web.Q:Queue", "Web.A>Web.B"), ("Web.A:Bucket Web.T:Topic", ""));
    let error = replay(&log, &repository, &production()).unwrap().permitted().unwrap_err();
    let (refactors, environment) = (Vec::new(), vec![mapping("Web.A", "Web.B", &e[2..3])]);
    assert_eq!(error, ReplayError::Diverged { ancestor: e[1], refactors, environment });
}

#[test]
fn an_older_revision_takes_the_names_back_and_a_newer_one_gives_them_again() {
    let (repository, e) = story(&[
        ("Web.A:Bucket", ""),
        ("Web.B:Bucket", "Web.A>Web.B"),
        ("Web.C:Bucket", "Web.B>Web.C"),
    ]);
    let older = repository.up_to(e[0]).unwrap();
    let advance = replay(&repository, &older, &production()).unwrap();
    let mappings = vec![mapping("Web.C", "Web.A", &[e[2], e[1]])];
    assert_eq!(advance, Advance::Back { to: e[0], mappings, events: e[1..].to_vec() });
    let log = deployed(&repository, &older, &production(), "rolled back").unwrap();
    assert_eq!(replay(&log, &older, &production()), Ok(Advance::UpToDate));
    let advance = replay(&log, &repository, &production()).unwrap();
    let mappings = vec![mapping("Web.A", "Web.C", &e[1..])];
    assert_eq!(advance, Advance::Forward { from: e[0], mappings, events: e[1..].to_vec() });
    let log = deployed(&log, &repository, &production(), "again").unwrap();
    assert_eq!(replay(&log, &repository, &production()), Ok(Advance::UpToDate));
    assert_eq!(Log::parse(log.render().as_bytes()), Ok(log));
}

#[test]
fn an_environment_whose_log_was_merged_into_the_repository_goes_forward() {
    use crate::history::{MergeEvent, merge, samples::state};
    let (log, repository, e) = second(
        ("Web.A:Bucket Web.Q:Queue #hotfix", ""),
        ("Web.B:Bucket Web.T:Topic", "Web.A>Web.B"),
    );
    let event = MergeEvent {
        at: "merged".to_owned(),
        state: state("Web.B:Bucket Web.T:Topic #hotfix"),
        refactors: Vec::new(),
    };
    let merged = merge(&repository, &log, &event).unwrap();
    let advance = replay(&log, &merged, &production()).unwrap();
    let Advance::Forward { from, mappings, .. } = advance else { panic!("{advance:?}") };
    assert_eq!(from, e[2]);
    assert_eq!((&mappings[0].source, &mappings[0].destination), (&place("Web.A"), &place("Web.B")));
}

#[test]
fn an_environment_without_a_log_is_told_from_one_at_the_beginning() {
    let (repository, e) = story(&[("Web.A:Bucket", "")]);
    let nothing = Log::default();
    let advance = replay(&nothing, &repository, &production()).unwrap();
    assert_eq!(advance, Advance::New { events: e });
    assert_eq!(deployed(&nothing, &repository, &production(), "now").unwrap(), repository);
    assert_eq!(replay(&nothing, &nothing, &production()), Ok(Advance::UpToDate));
}

#[test]
fn logs_that_have_nothing_in_common_are_refused() {
    let (log, _) = story(&[("Web.A:Bucket", "")]);
    let (other, _) = story(&[("Web.B:Bucket", "")]);
    for repository in [other, Log::default()] {
        let error = deployed(&log, &repository, &production(), "now").unwrap_err();
        assert_eq!(error, ReplayError::Unrelated);
    }
}

#[test]
fn a_log_that_has_branched_is_not_followed() {
    let (mut log, e) = story(&[("Web.A:Bucket", ""), ("Web.A:Bucket #1", "")]);
    let straight = log.clone();
    add(&mut log, Some(e[0]), "Web.A:Bucket #2", Vec::new());
    let error = replay(&log, &straight, &production()).unwrap_err();
    assert!(matches!(error, ReplayError::Environment(Problem::Branched { .. })));
    let error = replay(&straight, &log, &production()).unwrap_err();
    assert!(matches!(error, ReplayError::Repository(Problem::Branched { .. })));
}
