//! What files of decisions come to, from the file to the comparison.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::decisions::distribute;
use super::detect::Sides;
use crate::compare::compare;
use crate::model::{Environment, Stack};
use crate::settings::{Settings, Surroundings, Typed};
use crate::template;

/// A side: for each stack the resources, `Id` for a queue or `Id:Type`. Each is different from
/// all others and has the path `Stack/Id/Resource`; a slash in the ID is one in the path.
fn side(stacks: &[(&str, &str)]) -> Vec<Stack> {
    let stack = |(name, ids): &(&str, &str)| {
        let resource = |id: &str| {
            let (id, kind) = id.split_once(':').unwrap_or((id, "AWS::SQS::Queue"));
            format!(
                r#""{}": {{"Type": "{kind}", "Properties": {{"Unique": "{id}"}},
                    "Metadata": {{"aws:cdk:path": "{name}/{id}/Resource"}}}}"#,
                id.replace('/', "")
            )
        };
        let resources: Vec<String> = ids.split_whitespace().map(resource).collect();
        let text = format!(r#"{{"Resources": {{{}}}}}"#, resources.join(","));
        Stack::new(name, template::parse(text.as_bytes()).unwrap())
    };
    stacks.iter().map(stack).collect()
}

#[derive(Default)]
struct Story<'a> {
    deployed: &'a [(&'a str, &'a str)],
    local: &'a [(&'a str, &'a str)],
    map: &'a [&'a str],
    record: &'a str,
    file: &'a str,
    refactor: &'a str,
    skip: &'a str,
}

fn json(members: &str) -> String {
    format!("{{\"mappings\": {{{members}}}}}")
}

impl Story<'_> {
    fn settings(&self) -> Settings {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, is_written: bool| {
            is_written.then(|| {
                std::fs::write(directory.path().join(name), text).unwrap();
                std::path::PathBuf::from(name)
            })
        };
        write("cdkr.decisions.json", &json(self.record), !self.record.is_empty());
        let typed = Typed {
            app: Some("app".into()),
            against: Some("before".into()),
            map: self.map.iter().map(|pair| (*pair).to_owned()).collect(),
            override_file: write("o.json", &json(self.file), !self.file.is_empty()),
            refactor_file: write("r.json", &json(self.refactor), !self.refactor.is_empty()),
            skip_file: write("s.json", self.skip, !self.skip.is_empty()),
            ..Typed::default()
        };
        let surroundings =
            Surroundings { directory: directory.path().to_owned(), ..Surroundings::default() };
        Settings::resolve(&typed, &surroundings).unwrap()
    }

    /// What moves by decision and what is left, or the error with its hint.
    fn told(&self) -> String {
        let environment = Environment::new("111111111111", "eu-west-1");
        let sides =
            Sides { deployed: side(self.deployed), local: side(self.local), ..Sides::default() };
        let environments = [(environment.clone(), sides)];
        let decisions = match distribute(&self.settings(), &environments) {
            Ok(mut decisions) => decisions.remove(0),
            Err(error) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                return format!("{error}{hint}");
            }
        };
        let [(_, sides)] = &environments;
        let found = match compare(&environment, &sides.deployed, &sides.local, &decisions) {
            Ok(found) => found,
            Err(error) => return error.to_string(),
        };
        let mut told: Vec<String> = found
            .mappings
            .iter()
            .map(|one| format!("{} → {}", one.source.location, one.destination.location))
            .collect();
        told.extend(
            found.removed.iter().filter_map(|one| {
                Some(format!("{}: {}", one.place.location, one.excluded.as_ref()?))
            }),
        );
        told.extend(found.problems.iter().map(|problem| problem.message.clone()));
        told.join("; ")
    }
}

const CHAIN: &str = r#""S.A": "S.B", "S.B": "S.C""#;

fn story(deployed: &str, local: &str, record: &str) -> String {
    let (deployed, local) = ([("S", deployed)], [("S", local)]);
    Story { deployed: &deployed, local: &local, record, ..Story::default() }.told()
}

#[test]
fn an_environment_that_missed_a_version_is_carried_over_it() {
    assert_eq!(story("A", "C", CHAIN), "S.A → S.C");
    assert_eq!(story("B", "C", CHAIN), "S.B → S.C");
    assert_eq!(story("C", "C", CHAIN), "");
    let more = r#""S.A": "S.B", "S.B": "S.C", "S/C": "S/D/Resource", "S/D": "T/E""#;
    let told = |deployed| {
        let (deployed, local) = ([("S", deployed)], [("T", "E")]);
        Story { deployed: &deployed, local: &local, record: more, ..Story::default() }.told()
    };
    assert_eq!(told("C"), "S.C → T.E");
    assert_eq!(told("D"), "S.D → T.E");
}

#[test]
fn both_decisions_hold_at_once_where_both_resources_are_deployed() {
    assert_eq!(story("A B", "B C", CHAIN), "S.A → S.B; S.B → S.C");
    // And when that is done nothing is done again.
    assert_eq!(story("B C", "B C", CHAIN), "");
    assert!(story("A C", "B C", CHAIN).contains("may be `S.B` or `S.C` now"));
}

#[test]
fn a_chain_that_can_end_in_two_places_is_not_guessed() {
    insta::assert_snapshot!(
        story("A", "B C", CHAIN),
        @"cdkr.decisions.json:1:15, cdkr.decisions.json:1:29: `S.A` may be `S.B` or `S.C` now: these decisions do not tell; name it: --map S.A:S.B or --map S.A:S.C"
    );
    for end in ["S.B", "S.C"] {
        let map = format!("S.A:{end}");
        let story = Story {
            deployed: &[("S", "A")],
            local: &[("S", "B C")],
            map: &[&map],
            record: CHAIN,
            ..Story::default()
        };
        assert_eq!(story.told(), format!("S.A → {end}"));
    }
}

#[test]
fn a_circle_is_an_error() {
    let circle = r#""S.A": "S.B", "S.B": "S.A""#;
    insta::assert_snapshot!(
        story("A B", "A B", circle),
        @"cdkr.decisions.json:1:15, cdkr.decisions.json:1:29: these decisions go round in a circle: S.A → S.B → S.A; what was carried out would be carried out again with every run: to exchange resources once, use --map"
    );
    assert!(story("A", "C", r#""S.A": "S.B", "S.B": "S.A""#).contains("circle"));
    let swap = Story {
        deployed: &[("S", "A B")],
        local: &[("S", "A B")],
        map: &["S.A:S.B", "S.B:S.A"],
        ..Story::default()
    };
    assert_eq!(swap.told(), "S.A → S.B; S.B → S.A");
}

#[test]
fn a_record_does_not_hurt_when_a_name_is_used_again() {
    // A became B; later there was a new A.
    assert_eq!(story("A B", "A B", r#""S.A": "S.B""#), "");
    // The new A was taken out again: B must not be deleted for it.
    insta::assert_snapshot!(
        story("A B", "B", r#""S.A": "S.B""#),
        @"cdkr.decisions.json:1:15: both `S.A` and `S.B` are deployed, and the decisions do not tell which of them is `S.B` now; name it: --map S.B:S.B if it stays, or --map S.A:S.B if the other takes its place"
    );
    let stays = |map| {
        let (deployed, local) = ([("S", "A B")], [("S", "B")]);
        let record = r#""S.A": "S.B""#;
        Story { deployed: &deployed, local: &local, map: &[map], record, ..Story::default() }.told()
    };
    assert_eq!(stays("S.B:S.B"), "");
    assert_eq!(stays("S.A:S.B"), "S.A → S.B");
    let file = Story {
        deployed: &[("S", "A B")],
        local: &[("S", "A B")],
        file: r#""S.A": "S.B""#,
        ..Story::default()
    };
    insta::assert_snapshot!(
        file.told(),
        @"o.json:1:15: `S.A` → `S.B` is taken to be carried out, for both are deployed and both are in the app"
    );
}

#[test]
fn a_record_of_what_is_gone_or_not_there_yet_is_no_error() {
    assert_eq!(story("X", "X", r#""S.A": "S.B""#), "", "both are gone");
    assert_eq!(story("", "B", r#""S.A": "S.B""#), "", "a new environment");
    assert_eq!(story("X", "X", r#""S.A": null"#), "");
    insta::assert_snapshot!(
        story("Aa X", "B X", r#""S.A": "S.B""#),
        @"cdkr.decisions.json:1:15: `S.A` is not deployed; `S.Aa` is: was that meant?"
    );
    insta::assert_snapshot!(
        story("A", "Bb", "\n  \"S.A\": \"S.B\""),
        @"cdkr.decisions.json:2:3: `S.B` is not in the app as it is now; did you mean `S.Bb`?"
    );
    let file = |file| {
        let (deployed, local) = ([("S", "X")], [("S", "X")]);
        Story { deployed: &deployed, local: &local, file, ..Story::default() }.told()
    };
    assert!(file(r#""S.A": "S.B""#).contains("`S.A` is not deployed"));
}

#[test]
fn what_is_null_is_not_matched() {
    let told = |record| {
        let (deployed, local) = ([("S", "A/Q")], [("T", "A/Q")]);
        Story { deployed: &deployed, local: &local, record, ..Story::default() }.told()
    };
    assert_eq!(told(r#""S.No": null"#), "S.AQ → T.AQ");
    assert_eq!(told(r#""S.AQ": null"#), "S.AQ: left to be replaced: cdkr.decisions.json:1:15");
    assert_eq!(told(r#""S/A/Q": null"#), "S.AQ: left to be replaced: cdkr.decisions.json:1:15");
    assert!(told(r#""S/A/**": null"#).starts_with("S.AQ: left to be replaced"));
    // A chain may end so.
    assert!(told(r#""S.AQ": "S.B", "S.B": null"#).starts_with("S.AQ: left to be replaced"));
}

#[test]
fn a_construct_is_moved_with_all_that_is_below_it() {
    let told = |deployed, local, file, map| {
        let (deployed, local) = ([("Old", deployed)], [("Web", local)]);
        Story { deployed: &deployed, local: &local, file, map, ..Story::default() }.told()
    };
    let deployed = "Website/A Website/B/C Website/D Other";
    let local = "Site/A Site/B/C Site/D:AWS::SNS::Topic Unlike";
    let entry = r#""Old/Website/**": "Web/Site/**""#;
    assert_eq!(
        told(deployed, local, entry, &[]),
        "Old.WebsiteA → Web.SiteA; Old.WebsiteBC → Web.SiteBC"
    );
    let map = ["Old/Website/**:Web/Site/**"];
    assert_eq!(
        told(deployed, local, "", &map),
        "Old.WebsiteA → Web.SiteA; Old.WebsiteBC → Web.SiteBC"
    );
    insta::assert_snapshot!(
        told("Website/A", "Site/X", entry, &[]),
        @"o.json:1:15: nothing of what `Old/Website/**` names has a counterpart of its type at `Web/Site/**`; what is below both has to have the same names; `cdkr refactor --dry-run --paths --verbose` shows the names of both sides"
    );
    assert!(told("Other", "Site/X", entry, &[]).contains("`Old/Website/**` is not deployed"));
    insta::assert_snapshot!(
        told(deployed, local, r#""Old/Website": "Web/Site""#, &[]),
        @"o.json:1:15: `Old/Website` is a construct and not a resource; `Old/Website/**` names all that is below it, on both sides"
    );
}

#[test]
fn constructs_are_carried_over_versions_as_well() {
    let told = |deployed: &str, local: &str| {
        let record = r#""S/A/**": "S/B/**", "S/B/**": "T/C/**""#;
        let (deployed, local) = ([("S", deployed)], [("T", local)]);
        Story { deployed: &deployed, local: &local, record, ..Story::default() }.told()
    };
    assert_eq!(told("A/X A/Y", "C/X C/Y"), "S.AX → T.CX; S.AY → T.CY");
    assert_eq!(told("A/X B/Y", "C/X C/Y"), "S.AX → T.CX; S.BY → T.CY");
}

#[test]
fn a_star_stands_for_a_part_of_a_name() {
    let told = |file| {
        let (deployed, local) = ([("S", "Old1 Old2 Old3")], [("S", "New1 New2 Three")]);
        Story { deployed: &deployed, local: &local, file, ..Story::default() }.told()
    };
    assert_eq!(told(r#""S.Old*": "S.New*""#), "S.Old1 → S.New1; S.Old2 → S.New2");
    // The more exact entry goes before.
    let both = r#""S.Old*": "S.New*", "S.Old1": "S.New2", "S.Old3": "S.Three""#;
    assert_eq!(told(both), "S.Old1 → S.New2; S.Old3 → S.Three");
    insta::assert_snapshot!(
        told(r#""S.Old*": "S.New*", "*.Old1": "*.New2""#),
        @"two decisions about `S.Old1`: S.Old* → S.New* (o.json:1:15), and *.Old1 → *.New2 (o.json:1:35); keep one of them"
    );
    insta::assert_snapshot!(
        told(r#""S.Old1": "S.New1", "S/Old1": "S/New2""#),
        @"two decisions about `S.Old1`: S.Old1 → S.New1 (o.json:1:15), and S/Old1 → S/New2 (o.json:1:35); keep one of them"
    );
    insta::assert_snapshot!(
        told(r#""S.Old1": "S.New1", "S.Old2": "S.New1""#),
        @"two decisions about `S.New1`: S.Old1 → S.New1 (o.json:1:15), and S.Old2 → S.New1 (o.json:1:35)"
    );
}

#[test]
fn patterns_pass_over_what_is_skipped_or_left() {
    let (deployed, local) = ([("S", "Old1 Old2 Old3")], [("S", "New1 New2 New3")]);
    let story = Story {
        deployed: &deployed,
        local: &local,
        file: r#""S.Old*": "S.New*", "S.Old1": null"#,
        skip: r#"["S.*2"]"#,
        ..Story::default()
    };
    let told = story.told();
    assert!(told.starts_with("S.Old3 → S.New3; S.Old1: left"), "{told}");
    assert!(told.contains("S.Old2: excluded by s.json:1:2"), "{told}");
}

#[test]
fn a_refactor_file_allows_its_moves_and_no_others() {
    let (deployed, local) = ([("S", "A B Stays")], [("T", "A B"), ("S", "Stays")]);
    let story = |map| Story {
        deployed: &deployed,
        local: &local,
        map,
        refactor: r#""S.A": "T.A""#,
        ..Story::default()
    };
    insta::assert_snapshot!(
        story(&[]).told(),
        @"S.A → T.A; `S.B` seems to have moved to `T.B`, which is not among the moves that are allowed: a deployment replaces it, unless you allow it with --map S.B:T.B"
    );
    assert_eq!(story(&["S.B:T.B"]).told(), "S.A → T.A; S.B → T.B");
}

#[test]
fn a_skip_file_takes_patterns() {
    let (deployed, local) = ([("S", "A/X A/Y B")], [("T", "A/X A/Y B")]);
    let told = |skip| Story { deployed: &deployed, local: &local, skip, ..Story::default() }.told();
    assert!(told(r#"["S/A/**"]"#).starts_with("S.B → T.B; "));
    assert!(told(r#"["S/*/X/Resource"]"#).starts_with("S.AY → T.AY; S.B → T.B; "));
    assert!(!told(r#"["AWS::SQS::*"]"#).contains('→'));
    insta::assert_snapshot!(
        told("[\n  \"S.C*\"]"),
        @"s.json:2:3: there is no `S.C*`, neither deployed nor in the app as it is now"
    );
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Versions of an app: for each the names of its resources, by who they are. No name is used
/// twice, and no two are alike.
fn versions(seed: u64) -> Vec<BTreeMap<usize, String>> {
    let mut numbers = Numbers(seed);
    let mut letters = Numbers(seed + 1000);
    let mut name = || {
        let letter = |_| char::from(b'a' + u8::try_from(letters.below(26)).unwrap());
        (0..16).map(letter).collect::<String>()
    };
    let mut now: BTreeMap<usize, String> = (0..4).map(|who| (who, name())).collect();
    let mut all = vec![now.clone()];
    for version in 0..6 {
        for who in now.keys().copied().collect::<Vec<_>>() {
            match numbers.below(8) {
                0 => drop(now.remove(&who)),
                1..=4 => drop(now.insert(who, name())),
                _ => {}
            }
        }
        now.insert(100 + version, name());
        all.push(now.clone());
    }
    all
}

#[test]
fn whatever_was_recorded_over_the_versions_carries_every_environment_to_any_later_one() {
    let ids = |version: &BTreeMap<usize, String>| {
        version.values().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    for seed in 0..12 {
        let versions = versions(seed);
        let mut record = String::new();
        for (to, now) in versions.iter().enumerate() {
            if let Some(before) = to.checked_sub(1).map(|at| &versions[at]) {
                for (who, old) in before {
                    if let Some(new) = now.get(who).filter(|new| *new != old) {
                        let comma = if record.is_empty() { "" } else { ", " };
                        write!(record, "{comma}\"S.{old}\": \"S.{new}\"").unwrap();
                    }
                }
            }
            for was in &versions[..to] {
                let moved = was.iter().filter_map(|(who, old)| {
                    let new = now.get(who).filter(|new| *new != old)?;
                    Some(format!("S.{old} → S.{new}"))
                });
                let mut expected: Vec<String> = moved.collect();
                expected.sort();
                let told = story(&ids(was), &ids(now), &record);
                let found: Vec<&str> = told
                    .split("; ")
                    .filter(|one| one.contains(" → ") && !one.contains(".json"))
                    .collect();
                assert_eq!(found, expected, "{seed}: {told}\n{record}");
            }
        }
    }
}
