//! What people decide goes before what the evidence says; what they say by mistake is an error.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;

use cdkr::compare::{Decisions, Evidence};
use literals::{
    assert_moves, assert_question, bare, cdk, compare, decide, decided, logical_id, mapping, pairs,
    parameter, queue, resource, run, skipping, stack, with,
};

const TABLE: &str = "AWS::DynamoDB::Table";

#[track_caller]
fn error(decisions: &Decisions) -> String {
    let before = [stack("A", [queue("X"), queue("Y"), bare("T", TABLE), bare("Gone", TABLE)])];
    let after = [stack("A", [queue("Y"), queue("Z"), bare("T", TABLE)])];
    run(&before, &after, decisions).unwrap_err().to_string()
}

// N10; without a decision: weaknesses_unequal.rs
#[test]
fn a_decision_overrules_that_an_identical_sibling_stayed() {
    let before = [stack("A", [queue("X"), queue("Y")])];
    let after = [stack("A", [queue("Y"), queue("Z")])];
    let decisions = decided(&[("A.X", "A.Y"), ("A.Y", "A.Z")]);
    let comparison = decide(&before, &after, &decisions);
    assert_moves(&comparison, &[("A.X", "A.Y"), ("A.Y", "A.Z")]);
    for mapping in &comparison.mappings {
        assert_eq!(mapping.evidence, Evidence::Decision("--map".into()));
        assert!(!mapping.indistinct && mapping.identical_stayed.is_empty());
    }
}

// N10
#[test]
fn one_decision_moves_an_identical_sibling_and_leaves_the_rest_to_the_evidence() {
    let before = [stack("A", [queue("X"), queue("Y")])];
    let after = [stack("A", [queue("Y"), queue("Z")])];
    for pair in [("A.X", "A.Y"), ("A.Y", "A.Z")] {
        let comparison = decide(&before, &after, &decided(&[pair]));
        assert_moves(&comparison, &[("A.X", "A.Y"), ("A.Y", "A.Z")]);
    }
    let comparison = decide(&before, &after, &decided(&[("A.X", "A.Z")]));
    assert_moves(&comparison, &[("A.X", "A.Z")]);
}

#[test]
fn a_decision_answers_a_question() {
    let before = [stack("A", [queue("X"), queue("Y")])];
    let after = [stack("A", [queue("V"), queue("W")])];
    assert_question(&compare(&before, &after), &["A.X", "A.Y"], &["A.V", "A.W"]);
    let comparison = decide(&before, &after, &decided(&[("A.X", "A.W")]));
    assert_moves(&comparison, &[("A.X", "A.W"), ("A.Y", "A.V")]);
}

#[test]
fn a_decision_pairs_what_has_different_contents() {
    let old = resource("X", TABLE, r#"{"BillingMode":"a"}"#);
    let new = resource("Z", TABLE, r#"{"BillingMode":"b"}"#);
    let (before, after) = ([stack("A", [old])], [stack("A", [new])]);
    assert_moves(&compare(&before, &after), &[]);
    let comparison = decide(&before, &after, &decided(&[("A.X", "A.Z")]));
    assert_moves(&comparison, &[("A.X", "A.Z")]);
    assert_eq!(literals::changes(&comparison.mappings[0]), ["Properties.BillingMode"]);
}

#[test]
fn a_decision_may_name_constructs() {
    let app = |names: [&str; 2]| {
        let queue = |name| cdk(&format!("A/{name}/Resource"), "AWS::SQS::Queue", "{}");
        [stack("A", names.map(queue))]
    };
    let id = |name: &str| format!("A.{}", logical_id(&format!("A/{name}/Resource")));
    for pair in [("A/Left", "A/Two"), ("A/Left/Resource", "A/Two/Resource")] {
        let comparison = decide(&app(["Left", "Right"]), &app(["One", "Two"]), &decided(&[pair]));
        assert_moves(&comparison, &[(&id("Left"), &id("Two")), (&id("Right"), &id("One"))]);
    }
}

#[test]
fn a_decision_about_something_unknown_is_an_error() {
    assert_eq!(error(&decided(&[("A.Nothing", "A.Z")])), "--map: `A.Nothing` is not deployed");
    assert_eq!(error(&decided(&[("B.X", "A.Z")])), "--map: `B.X` is not deployed");
    assert_eq!(
        error(&decided(&[("A.X", "A.Nothing")])),
        "--map: `A.Nothing` is not in the app as it is now"
    );
    assert_eq!(error(&decided(&[("A.X", "A.X")])), "--map: `A.X` is not in the app as it is now");
    assert_eq!(error(&decided(&[("A/No/Path", "A.Z")])), "--map: `A/No/Path` is not deployed");
}

#[test]
fn contradicting_decisions_are_an_error() {
    let text = error(&decided(&[("A.X", "A.Y"), ("A.X", "A.Z")]));
    for part in ["`A.X`", "A.X → A.Y", "A.X → A.Z", "--map"] {
        assert!(text.contains(part), "{text}");
    }
    let text = error(&decided(&[("A.X", "A.Z"), ("A.Y", "A.Z")]));
    assert!(text.contains("`A.Z`") && text.contains("A.Y → A.Z"), "{text}");
}

#[test]
fn the_same_decision_twice_is_one_decision() {
    let (before, after) = ([stack("A", [queue("X")])], [stack("A", [queue("Z")])]);
    let comparison = decide(&before, &after, &decided(&[("A.X", "A.Z"), ("A.X", "A.Z")]));
    assert_moves(&comparison, &[("A.X", "A.Z")]);
}

#[test]
fn a_decision_that_changes_the_type_is_an_error() {
    let text = error(&decided(&[("A.X", "A.T")]));
    for part in ["`A.X`", "`AWS::SQS::Queue`", "`A.T`", "`AWS::DynamoDB::Table`", "--map"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_path_that_names_several_resources_is_an_error() {
    let twice = |id: &str| {
        let metadata = r#"{"aws:cdk:path":"A/Twice"}"#;
        with(queue(id), "Metadata", metadata)
    };
    let before = [stack("A", [twice("One"), twice("Two")])];
    let after = [stack("A", [queue("Z")])];
    let text = run(&before, &after, &decided(&[("A/Twice", "A.Z")])).unwrap_err().to_string();
    assert_eq!(text, "--map: `A/Twice` names several resources: `A.One`, `A.Two`");
}

#[test]
fn an_unknown_skip_entry_is_an_error() {
    for unknown in ["A.Nothing", "A/No/Path", "AWS::S3::Bucket", ""] {
        let text = error(&skipping(&[unknown]));
        assert!(text.contains(&format!("`{unknown}`")) && text.contains("skip.json"), "{text}");
    }
}

/// A table in a construct with a function that uses it.
fn shop(name: &str, table_metadata: &str) -> [cdkr::model::Stack; 1] {
    let table = format!("A/{name}/Table/Resource");
    let function = format!("A/{name}/Function/Resource");
    let environment = format!(r#"{{"Handler":"h","Table":{{"Ref":"{}"}}}}"#, logical_id(&table));
    let (id, body) = cdk(&table, TABLE, r#"{"BillingMode":"x"}"#);
    let metadata = format!(r#"{{"aws:cdk:path":"{table}"{table_metadata}}}"#);
    let table = with((id, body), "Metadata", &metadata);
    [stack("A", [table, cdk(&function, "AWS::Lambda::Function", &environment)])]
}

fn table_of(name: &str) -> String {
    format!("A.{}", logical_id(&format!("A/{name}/Table/Resource")))
}

fn function_of(name: &str) -> String {
    format!("A.{}", logical_id(&format!("A/{name}/Function/Resource")))
}

#[test]
fn what_is_skipped_is_not_moved_but_serves_as_context() {
    let everything = compare(&shop("Old", ""), &shop("New", ""));
    assert_eq!(everything.mappings.len(), 2);
    for entry in [&table_of("Old"), &table_of("New"), "A/Old/Table", "A/New/Table/Resource", TABLE]
    {
        let comparison = decide(&shop("Old", ""), &shop("New", ""), &skipping(&[entry]));
        assert_moves(&comparison, &[(&function_of("Old"), &function_of("New"))]);
        assert_eq!(comparison.removed[0].place.location.to_string(), table_of("Old"));
        assert_eq!(comparison.added[0].place.location.to_string(), table_of("New"));
        let reasons = [&comparison.removed[0].excluded, &comparison.added[0].excluded];
        assert!(reasons.iter().any(|reason| reason.as_deref() == Some("excluded by skip.json")));
    }
}

#[test]
fn skipping_a_construct_skips_all_that_is_below_it() {
    let comparison = decide(&shop("Old", ""), &shop("New", ""), &skipping(&["A/Old"]));
    assert_moves(&comparison, &[]);
    let text = run(&shop("Old", ""), &shop("New", ""), &skipping(&["A/Ol"])).unwrap_err();
    assert!(text.to_string().contains("`A/Ol`"), "{text}");
}

#[test]
fn the_app_can_mark_what_is_not_to_be_moved() {
    for key in ["aws:cdk:do-not-refactor", "aws:cdk:skip-refactor"] {
        let mark = format!(r#","{key}":true"#);
        for (old_mark, new_mark) in [(mark.as_str(), mark.as_str()), ("", &mark), (&mark, "")] {
            let comparison = compare(&shop("Old", old_mark), &shop("New", new_mark));
            assert_moves(&comparison, &[(&function_of("Old"), &function_of("New"))]);
            let reasons = [&comparison.removed[0].excluded, &comparison.added[0].excluded];
            assert!(
                reasons
                    .iter()
                    .any(|reason| { reason.as_ref().is_some_and(|reason| reason.contains(key)) })
            );
        }
        let not = format!(r#","{key}":false"#);
        assert_eq!(compare(&shop("Old", &not), &shop("New", &not)).mappings.len(), 2);
    }
}

#[test]
fn a_mark_in_place_changes_nothing() {
    let mark = r#","aws:cdk:do-not-refactor":true"#;
    let comparison = compare(&shop("Old", ""), &shop("Old", mark));
    assert_moves(&comparison, &[]);
    assert!(comparison.removed.is_empty() && comparison.added.is_empty(), "{comparison:#?}");
}

#[test]
fn a_decision_goes_before_a_skip_entry() {
    let decisions = Decisions {
        skip: skipping(&[TABLE]).skip,
        ..decided(&[(&table_of("Old"), &table_of("New"))])
    };
    let comparison = decide(&shop("Old", ""), &shop("New", ""), &decisions);
    assert_eq!(pairs(&comparison).len(), 2);
}

#[test]
fn resources_that_exchange_their_contents_moved_and_it_is_said() {
    let app = |one: &str, two: &str| [stack("A", [parameter("P", one), parameter("Q", two)])];
    let comparison = compare(&app(r#""a""#, r#""b""#), &app(r#""b""#, r#""a""#));
    assert_moves(&comparison, &[("A.P", "A.Q"), ("A.Q", "A.P")]);
    let messages: Vec<&str> = comparison.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(messages.len(), 2);
    for (message, location) in messages.iter().zip(["`A.P`", "`A.Q`"]) {
        assert!(message.starts_with(location), "{message}");
    }
    let stay = decided(&[("A.P", "A.P"), ("A.Q", "A.Q")]);
    let comparison = decide(&app(r#""a""#, r#""b""#), &app(r#""b""#, r#""a""#), &stay);
    assert_moves(&comparison, &[]);
    assert_eq!(comparison.changed.len(), 2);
    assert!(comparison.problems.is_empty());
}

#[test]
fn a_content_that_was_overwritten_was_changed_not_moved() {
    let app = |one: &str, two: &str| [stack("A", [parameter("P", one), parameter("Q", two)])];
    let comparison = compare(&app(r#""a""#, r#""b""#), &app(r#""b""#, r#""c""#));
    assert_moves(&comparison, &[]);
    assert_eq!(comparison.changed.len(), 2, "{comparison:#?}");
}

#[test]
fn contents_that_went_round_in_a_circle_moved() {
    let app = |values: [&str; 3]| {
        let ids = ["P", "Q", "R"];
        let parameters = ids.iter().zip(values).map(|(id, v)| parameter(id, &format!(r#""{v}""#)));
        [stack("A", parameters)]
    };
    let comparison = compare(&app(["a", "b", "c"]), &app(["c", "a", "b"]));
    assert_moves(&comparison, &[("A.P", "A.Q"), ("A.Q", "A.R"), ("A.R", "A.P")]);
    assert_eq!(comparison.problems.len(), 3);
}

#[test]
fn strict_asks_about_nothing_that_is_supported() {
    let strict = Decisions { strict: true, ..Decisions::default() };
    let comparison = decide(&shop("Old", ""), &shop("New", ""), &strict);
    assert_eq!(comparison.mappings.len(), 2);
    assert!(!mapping(&comparison, &table_of("Old")).indistinct);
}
