//! Names in texts are taken for names only where a renaming explains them. Each test has a case
//! in which it does and cases in which it does not.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;

use cdkr::compare::Comparison;
use literals::{
    Entry, PARAMETER, address, assert_moves, bare, cdk, compare, logical_id, resource, stack,
    unique_id,
};

const TOPIC: &str = "AWS::SNS::Topic";
const ROLE: &str = "AWS::IAM::Role";
const POLICY: &str = "AWS::IAM::Policy";

/// A topic that says something.
fn topic(path: &str, text: &str) -> Entry {
    cdk(path, TOPIC, &format!(r#"{{"DisplayName":"{text}","FifoTopic":true}}"#))
}

/// Returns the construct paths of the mappings.
fn moved(comparison: &Comparison) -> Vec<(String, String)> {
    let path = |place: &cdkr::compare::Place| place.path.as_ref().unwrap().to_string();
    let pair =
        |mapping: &cdkr::compare::Mapping| (path(&mapping.source), path(&mapping.destination));
    let mut moved: Vec<_> = comparison.mappings.iter().map(pair).collect();
    moved.sort_unstable();
    moved
}

/// Makes sure that one resource is not taken for another, nor asked about.
#[track_caller]
fn assert_unrelated(old: Entry, new: Entry) {
    assert_moves(&compare(&[stack("A", [old])], &[stack("A", [new])]), &[]);
}

/// Makes sure that one resource is taken for another.
#[track_caller]
fn assert_same(old: Entry, new: Entry) {
    let comparison = compare(&[stack("A", [old])], &[stack("A", [new])]);
    assert_eq!(comparison.mappings.len(), 1, "{comparison:#?}");
    assert!(comparison.mappings[0].by_names);
}

// (a)
#[test]
fn words_that_look_like_ids_are_no_evidence() {
    for (was, is) in [("Orders", "Users"), ("Table", "Queue")] {
        for text in ["All {}", "{}", "s3://data/{}/raw", "{}-topic", "{}/Topic", "/{}/Topic"] {
            let old = topic(&format!("A/{was}/Topic/Resource"), &text.replace("{}", was));
            let new = topic(&format!("A/{is}/Topic/Resource"), &text.replace("{}", is));
            assert_unrelated(old, new);
        }
        let text = |id: &str| format!("the {id}");
        assert_unrelated(
            topic(&format!("A/{was}"), &text(was)),
            topic(&format!("A/{is}"), &text(is)),
        );
    }
}

// (a)
#[test]
fn the_name_of_the_own_stack_is_no_evidence() {
    let app = |name: &str, topic_id: &str| {
        [stack(name, [topic(&format!("{name}/{topic_id}/Resource"), &format!("of {name}"))])]
    };
    assert_moves(&compare(&app("Orders", "T"), &app("Users", "U")), &[]);
}

// (b)
#[test]
fn a_policy_called_after_itself_is_the_same_after_a_rename() {
    let app = |construct: &str| {
        let role = format!("A/{construct}/Role/Resource");
        let policy = format!("A/{construct}/Role/DefaultPolicy/Resource");
        let properties = format!(
            r#"{{"PolicyName":"{}","Roles":[{{"Ref":"{}"}}]}}"#,
            logical_id(&policy),
            logical_id(&role)
        );
        [stack("A", [cdk(&role, ROLE, "{}"), cdk(&policy, POLICY, &properties)])]
    };
    for after in ["New", "Parent/Old", "Parent/New/Deep"] {
        let comparison = compare(&app("Old"), &app(after));
        assert_eq!(
            moved(&comparison),
            [
                (
                    "A/Old/Role/DefaultPolicy/Resource".to_owned(),
                    format!("A/{after}/Role/DefaultPolicy/Resource")
                ),
                ("A/Old/Role/Resource".to_owned(), format!("A/{after}/Role/Resource")),
            ]
        );
        let policy = comparison.mappings.iter().find(|m| m.resource_type.as_str() == POLICY);
        let policy = policy.unwrap();
        assert!(policy.by_names);
        assert_eq!(literals::changes(policy), ["Properties.PolicyName"]);
        assert!(policy.changes[0].name_only);
    }
}

// (b)
#[test]
fn own_names_of_every_kind_are_evidence() {
    let names: [fn(&str) -> String; 7] = [
        |path| path.to_owned(),
        |path| logical_id(path),
        |path| unique_id(path),
        |path| unique_id(path).to_lowercase(),
        |path| format!("from {}:80", logical_id(path)),
        |path| address(path),
        |path| address(path)[34..].to_owned(),
    ];
    for name in names {
        let at = |construct: &str| {
            let path = format!("A/{construct}/Topic");
            topic(&format!("{path}/Resource"), &name(&path))
        };
        assert_same(at("Old"), at("New"));
        // A name of the same kind, but of another construct.
        let foreign = |construct: &str, other: &str| {
            topic(&format!("A/{construct}/Topic/Resource"), &name(&format!("A/{other}/Topic")))
        };
        assert_unrelated(foreign("Old", "Old"), foreign("New", "Other"));
        assert_unrelated(foreign("Old", "Other"), foreign("New", "Another"));
    }
}

// (c)
#[test]
fn two_pairs_do_not_support_each_other_in_a_circle() {
    let app = |queue: &str, table: &str| {
        let first = topic(&format!("A/{queue}/Resource"), &format!("for {table}"));
        let properties = format!(r#"{{"Type":"String","Value":"for {queue}"}}"#);
        let second = cdk(&format!("A/{table}/Resource"), PARAMETER, &properties);
        [stack("A", [first, second])]
    };
    let comparison = compare(&app("Queue", "Table"), &app("Stream", "Index"));
    assert_moves(&comparison, &[]);
}

// (c)
#[test]
fn a_circle_of_generated_names_is_no_support_either() {
    let app = |first: &str, second: &str| {
        let path = |id: &str| format!("A/{id}/Resource");
        let one = topic(&path(first), &format!("for {}", logical_id(&path(second))));
        let value = logical_id(&path(first));
        let properties = format!(r#"{{"Type":"String","Value":"for {value}"}}"#);
        [stack("A", [one, cdk(&path(second), PARAMETER, &properties)])]
    };
    assert_moves(&compare(&app("Queue", "Table"), &app("Stream", "Index")), &[]);
}

/// A topic that names another construct, and the resource of that construct, with its own
/// content.
fn with_named(topic_id: &str, named: &str, named_content: &str) -> [cdkr::model::Stack; 1] {
    let path = format!("A/{named}/Resource");
    let properties = format!(r#"{{"Type":"String","Value":"{named_content}"}}"#);
    let text = format!("from {}:80", logical_id(&path));
    let topic = topic(&format!("A/{topic_id}/Resource"), &text);
    [stack("A", [topic, cdk(&path, PARAMETER, &properties)])]
}

// (d)
#[test]
fn the_name_of_another_construct_needs_the_support_of_another_pair() {
    let supported = compare(&with_named("T", "Lb", "x"), &with_named("U", "Balancer", "x"));
    assert_eq!(supported.mappings.len(), 2, "{supported:#?}");
    let unsupported = compare(&with_named("T", "Lb", "x"), &with_named("U", "Balancer", "y"));
    assert_moves(&unsupported, &[]);
}

// (d)
#[test]
fn a_bare_id_needs_the_support_of_another_pair() {
    let app = |id: &str, content: &str| {
        let role =
            cdk(&format!("A/{id}/Role/Resource"), ROLE, &format!(r#"{{"Path":"/{content}/"}}"#));
        [stack("A", [topic(&format!("A/{id}/Topic/Resource"), &format!("{id}-cluster")), role])]
    };
    let supported = compare(&app("Orders", "x"), &app("Sales", "x"));
    assert_eq!(supported.mappings.len(), 2, "{supported:#?}");
    assert_moves(&compare(&app("Orders", "x"), &app("Sales", "y")), &[]);
}

// (e)
#[test]
fn keys_are_never_names() {
    for name in ["Orders", "A/Orders/Topic", &logical_id("A/Orders/Topic/Resource")] {
        let new_name = name.replace("Orders", "Sales").replace(
            name,
            &match name {
                "Orders" | "A/Orders/Topic" => name.replace("Orders", "Sales"),
                _ => logical_id("A/Sales/Topic/Resource"),
            },
        );
        let app = |id: &str, key: &str| {
            let properties = format!(r#"{{"Attributes":{{"{key}":"x"}}}}"#);
            let role = cdk(&format!("A/{id}/Role/Resource"), ROLE, r#"{"Path":"/x/"}"#);
            [stack("A", [cdk(&format!("A/{id}/Topic/Resource"), TOPIC, &properties), role])]
        };
        let comparison = compare(&app("Orders", name), &app("Sales", &new_name));
        assert_eq!(
            moved(&comparison),
            [("A/Orders/Role/Resource".to_owned(), "A/Sales/Role/Resource".to_owned())],
            "{name}"
        );
    }
}

// (f)
#[test]
fn the_generated_names_of_unmoved_constructs_are_plain_text() {
    let app = |topic_id: &str, named: &str| {
        let keep = |id: &str| bare_at(&format!("A/{id}/Resource"));
        let text = format!("from {}:80", logical_id(&format!("A/{named}/Resource")));
        [stack("A", [keep("Foo"), keep("Bar"), topic(&format!("A/{topic_id}/Resource"), &text)])]
    };
    assert_moves(&compare(&app("T", "Foo"), &app("U", "Bar")), &[]);
    assert_eq!(compare(&app("T", "Foo"), &app("U", "Foo")).mappings.len(), 1);
    // One of the two constructs does not exist on the other side.
    let app = |topic_id: &str, named: &str, other: &str| {
        let text = format!("from {}:80", logical_id(&format!("A/{named}/Resource")));
        let topic = topic(&format!("A/{topic_id}/Resource"), &text);
        let other = cdk(&format!("A/{other}/Resource"), PARAMETER, r#"{"Value":"o"}"#);
        [stack("A", [bare_at("A/Foo/Resource"), other, topic])]
    };
    let comparison = compare(&app("T", "Foo", "Old"), &app("U", "New", "New"));
    assert_eq!(moved(&comparison), [("A/Old/Resource".into(), "A/New/Resource".into())]);
}

fn bare_at(path: &str) -> Entry {
    cdk(path, "AWS::SQS::Queue", r#"{"DelaySeconds":1}"#)
}

/// A resource that was changed to name its own place in another way is not the same by names.
#[test]
fn different_kinds_of_names_do_not_stand_for_each_other() {
    let at = |construct: &str, text: &str| topic(&format!("A/{construct}/Resource"), text);
    let old = at("Old", &unique_id("A/Old"));
    assert_unrelated(old.clone(), at("New", &unique_id("A/New").to_lowercase()));
    assert_unrelated(old.clone(), at("New", "A/New"));
    assert_unrelated(old, at("New", &address("A/New")));
}

/// Two texts, each with its own name, that went the wrong way round.
#[test]
fn the_names_of_two_constructs_cannot_be_exchanged() {
    let app = |one: &str, two: &str, cross: bool| {
        let path = |id: &str| format!("A/{id}/Topic/Resource");
        let named = |id: &str| logical_id(&path(id));
        let (first, second) = if cross { (two, one) } else { (one, two) };
        [stack("A", [topic(&path(one), &named(first)), topic(&path(two), &named(second))])]
    };
    let straight = compare(&app("One", "Two", false), &app("Three", "Four", false));
    assert!(straight.mappings.is_empty(), "{straight:#?}");
    assert_eq!(straight.ambiguous.len(), 1, "each names itself: nothing tells them apart");
    let comparison = compare(&app("One", "Two", false), &app("Three", "Four", true));
    assert_moves(&comparison, &[]);
}

/// Numbers and words of eight hexadecimal digits are common; a hash counts only with its name.
#[test]
fn a_hash_without_its_name_is_plain_text() {
    let hash = |path: &str| {
        let id = logical_id(path);
        format!("build {}", &id[id.len() - 8..])
    };
    let at = |path: &str| topic(path, &hash(path));
    assert_unrelated(at("A/Old/Resource"), at("A/New/Resource"));
}

/// What a name is found in does not count for less than the name.
#[test]
fn the_text_around_a_name_counts() {
    let at = |id: &str, text: &str| {
        let path = format!("A/{id}/Resource");
        topic(&path, &text.replace("{}", &logical_id(&path)))
    };
    assert_same(at("Old", "a {} b"), at("New", "a {} b"));
    assert_unrelated(at("Old", "a {} b"), at("New", "a {} c"));
    assert_unrelated(at("Old", "a {} b"), at("New", "{} a b"));
    assert_unrelated(at("Old", "a {} b"), at("New", "a {} b {}"));
}

/// Bare resources stay bare: names elsewhere do not make them distinctive.
#[test]
fn a_helper_that_uses_no_names_is_not_touched_by_them() {
    let app = |id: &str| [stack("A", [cdk(&format!("A/{id}/R"), ROLE, "{}"), bare("K", TOPIC)])];
    let comparison = compare(&app("Old"), &app("New"));
    assert_eq!(comparison.mappings.len(), 1);
    assert!(!comparison.mappings[0].by_names);
}

/// A name that is literally the same on both sides explains nothing and hides nothing.
#[test]
fn an_old_name_that_was_kept_is_not_a_difference() {
    let name = unique_id("A/Old/Topic");
    let old = topic("A/Old/Topic/Resource", &name);
    let new = topic("A/New/Topic/Resource", &name);
    let comparison = compare(&[stack("A", [old])], &[stack("A", [new])]);
    assert_eq!(comparison.mappings.len(), 1);
    assert!(comparison.mappings[0].changes.is_empty());
    let swapped = resource("X", TOPIC, &format!(r#"{{"DisplayName":"{name}"}}"#));
    assert_unrelated(swapped, topic("A/New/Topic/Resource", &unique_id("A/New/Topic")));
}
