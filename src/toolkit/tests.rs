use std::collections::BTreeSet;

use super::decisions::distribute;
use super::detect::Sides;
use super::selection::Selection;
use crate::compare::{
    Ambiguity, Change, Comparison, Evidence, Mapping, Place, Reference, Unpaired,
};
use crate::model::{Environment, Location, Stack};
use crate::settings::{Settings, Surroundings, Typed};
use crate::template;

/// A stack with queues of the given logical IDs, each with the path `Stack/Id/Resource`.
fn stack(name: &str, queues: &[&str]) -> Stack {
    let resources: Vec<_> = queues
        .iter()
        .map(|id| {
            format!(
                r#""{id}": {{"Type": "AWS::SQS::Queue",
                    "Metadata": {{"aws:cdk:path": "{name}/{id}/Resource"}}}}"#
            )
        })
        .collect();
    let text = format!(r#"{{"Resources": {{{}}}}}"#, resources.join(","));
    Stack::new(name, template::parse(text.as_bytes()).unwrap())
}

fn environment(region: &str) -> Environment {
    Environment::new("111111111111", region)
}

/// In `eu-west-1` the stack `A` with `Old` becomes `B` with `New`, next to a nested stack; in
/// `us-east-1` there is only `A`, and it stays.
fn environments() -> Vec<(Environment, Sides)> {
    vec![
        (
            environment("eu-west-1"),
            Sides {
                deployed: vec![stack("A", &["Old", "Other"]), stack("A/Nested", &["Inner"])],
                local: vec![stack("B", &["New"]), stack("B/Nested", &["Inner"])],
                marks: vec!["A.Other".into(), "A.Gone".into()],
                ..Sides::default()
            },
        ),
        (
            environment("us-east-1"),
            Sides {
                deployed: vec![stack("A", &["Old", "Stays"])],
                local: vec![stack("A", &["Old", "Stays"])],
                ..Sides::default()
            },
        ),
    ]
}

fn settings(change: impl FnOnce(&mut Typed)) -> Settings {
    let mut typed =
        Typed { app: Some("app".into()), against: Some("before".into()), ..Typed::default() };
    change(&mut typed);
    let directory = std::env::temp_dir();
    Settings::resolve(&typed, &Surroundings { directory, ..Surroundings::default() }).unwrap()
}

fn mapping(pairs: &[&str]) -> Settings {
    settings(|typed| typed.map = pairs.iter().map(|pair| (*pair).to_owned()).collect())
}

/// Settings with an override or a skip file of the given text.
fn with_file(text: &str, set: impl FnOnce(&mut Typed, std::path::PathBuf)) -> Settings {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    settings(|typed| set(typed, file.path().to_owned()))
}

fn error(settings: &Settings) -> String {
    let text = distribute(settings, &environments()).unwrap_err().to_string();
    text.split_once(": ").unwrap().1.to_owned()
}

#[test]
fn a_pair_goes_to_the_environments_that_have_both_ends() {
    let found = distribute(&mapping(&["A.Old:B.New"]), &environments()).unwrap();
    assert_eq!(found[0].pairs.len(), 1);
    assert_eq!(found[0].pairs[0].source, Reference::Location(Location::new("A", "Old")));
    assert!(found[1].pairs.is_empty());
}

#[test]
fn a_pair_of_constructs_goes_where_their_resources_are() {
    let found = distribute(&mapping(&["A/Old:B/New/Resource"]), &environments()).unwrap();
    assert_eq!(found[0].pairs[0].source, Reference::Path("A/Old".into()));
}

#[test]
fn a_location_in_a_nested_stack_is_no_path() {
    let found = distribute(&mapping(&["A/Nested.Inner:B/Nested.Inner"]), &environments()).unwrap();
    let expected = Reference::Location(Location::new("A/Nested", "Inner"));
    assert_eq!(found[0].pairs[0].source, expected);
}

#[test]
fn a_pair_that_fits_nowhere_is_an_error() {
    insta::assert_snapshot!(error(&mapping(&["A.Nope:B.New"])), @"`A.Nope` is not deployed");
    insta::assert_snapshot!(
        error(&mapping(&["A.Old:B.Nope"])),
        @"`B.Nope` is not in the app as it is now"
    );
    insta::assert_snapshot!(
        error(&mapping(&["A.Stays:B.New"])),
        @"`A.Stays` and `B.New` are in different environments"
    );
}

#[test]
fn a_pair_that_was_carried_out_before_is_no_error() {
    let found = distribute(&mapping(&["A.Was:A.Stays"]), &environments()).unwrap();
    assert!(found.iter().all(|decisions| decisions.pairs.is_empty()));
}

#[test]
fn an_override_for_one_environment_holds_there_only() {
    let of = |region: &str| {
        let text = format!(
            r#"{{"environments": [{{"account": "111111111111", "region": "{region}",
                "resources": {{"A.Old": "B.New"}}}}]}}"#
        );
        with_file(&text, |typed, file| typed.override_file = Some(file))
    };
    assert_eq!(distribute(&of("eu-west-1"), &environments()).unwrap()[0].pairs.len(), 1);
    insta::assert_snapshot!(
        error(&of("us-east-1")),
        @"`B.New` is not in the app as it is now in aws://111111111111/us-east-1"
    );
    insta::assert_snapshot!(
        error(&of("eu-north-1")),
        @"`A.Old` → `B.New` is for aws://111111111111/eu-north-1, where there are no stacks"
    );
}

#[test]
fn what_is_to_be_skipped_goes_where_it_is_and_marks_of_the_app_that_name_nothing_are_dropped() {
    let text = r#"["B.New", "AWS::SQS::Queue"]"#;
    let settings = with_file(text, |typed, file| typed.skip_file = Some(file));
    let found = distribute(&settings, &environments()).unwrap();
    let skipped = |at: usize| -> Vec<&str> {
        found[at].skip.iter().map(|entry| entry.what.as_str()).collect()
    };
    assert_eq!(skipped(0), ["B.New", "AWS::SQS::Queue", "A.Other"]);
    assert_eq!(skipped(1), ["AWS::SQS::Queue"]);
}

#[test]
fn a_skip_entry_that_names_nothing_is_an_error() {
    let settings = with_file(r#"["B.Nope"]"#, |typed, file| typed.skip_file = Some(file));
    insta::assert_snapshot!(
        error(&settings),
        @"there is no `B.Nope`, neither deployed nor in the app as it is now"
    );
}

fn place(stack: &str) -> Place {
    Place { location: Location::new(stack, "X"), path: None }
}

fn comparison() -> Comparison {
    let mapping = |source: &str, destination: &str| Mapping {
        resource_type: "T".into(),
        source: place(source),
        destination: place(destination),
        evidence: Evidence::Digest,
        by_names: false,
        changes: Vec::new(),
        indistinct: false,
        identical_stayed: Vec::new(),
        blocked: None,
    };
    let ambiguity = |source: &str, destination: &str, group| Ambiguity {
        resource_type: "T".into(),
        sources: vec![place(source)],
        destinations: vec![place(destination)],
        group,
        constructs: (Vec::new(), Vec::new()),
        referrers: (Vec::new(), Vec::new()),
    };
    let unpaired = |stack: &str| Unpaired {
        resource_type: "T".into(),
        place: place(stack),
        nearest: None,
        excluded: None,
    };
    let change = |stack: &str| Change {
        resource_type: "T".into(),
        place: place(stack),
        differences: Vec::new(),
    };
    Comparison {
        environment: environment("eu-west-1"),
        mappings: vec![mapping("A", "B"), mapping("A/Nested", "C"), mapping("C", "D")],
        ambiguous: vec![ambiguity("A", "E", 0), ambiguity("F", "F", 0), ambiguity("G", "G", 1)],
        similar: Vec::new(),
        added: vec![unpaired("A/Nested"), unpaired("G")],
        removed: vec![unpaired("G"), unpaired("A")],
        changed: vec![change("G"), change("A")],
        unchanged: 0,
        problems: Vec::new(),
    }
}

fn selecting(names: &[&str]) -> Selection {
    let names = names.iter().map(|name| (environment("eu-west-1"), (*name).into()));
    Selection::Only(names.collect())
}

#[test]
fn what_touches_a_selected_stack_is_kept_and_other_stacks_are_noted() {
    let mut comparison = comparison();
    let others = selecting(&["A"]).apply(&mut comparison).unwrap();
    assert_eq!(comparison.mappings.len(), 2);
    assert_eq!(comparison.ambiguous.len(), 2, "all of a question, nothing of the others");
    let counts = [comparison.added.len(), comparison.removed.len(), comparison.changed.len()];
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(others, BTreeSet::from(["B", "C", "E", "F"].map(String::from)));
}

#[test]
fn nothing_is_left_of_an_environment_without_a_selected_stack() {
    let mut other = comparison();
    other.environment = environment("us-east-1");
    assert_eq!(selecting(&["A"]).apply(&mut other), None);
}

#[test]
fn without_a_selection_everything_is_kept() {
    let mut all = comparison();
    assert_eq!(Selection::All.apply(&mut all), Some(BTreeSet::new()));
    assert_eq!(all.mappings.len(), 3);
}
