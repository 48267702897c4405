//! The vectors of the original with its defects mended, the errors, and the cost.

use super::*;
use crate::analyze::model::{Operation, OperationKind, PropertyChange, Side, dotted};
use crate::analyze::{Joining, diff, mark_permissions, permissions};
use crate::model::{Stack, Value};
use crate::template::{check, json};

fn stack(template: &Value) -> Stack {
    Stack::new("Stack", check(template.clone()).unwrap())
}

/// An operation with its verdict.
fn shown(graph: &Graph, operation: &Operation, verdict: &Verdict) -> String {
    let name = |side: Side| {
        let component = operation.on(side).map(|id| &graph.side(side).components[id]);
        component.map_or(String::new(), |component| component.name.to_string())
    };
    let what = match &operation.kind {
        OperationKind::Property { change, old, new } => {
            let kind = match change {
                PropertyChange::Insert => "INSERT",
                PropertyChange::Remove => "REMOVE",
                PropertyChange::Update => "UPDATE",
                PropertyChange::Move => "RENAME",
            };
            let path = |path: &Option<Vec<_>>| path.as_deref().map(dotted).unwrap_or_default();
            format!("{kind} {}>{}", path(old), path(new))
        }
        kind => format!("{kind:?} {}>{}", name(Side::Before), name(Side::After)).to_uppercase(),
    };
    let action = verdict.action.map(|action| format!(" {action:?}")).unwrap_or_default();
    format!("{what} {:?}{action}", verdict.risk)
}

fn judged(graph: &Graph, rules: &Rules) -> Vec<String> {
    let verdicts = rules.judge(graph);
    let shown =
        |(id, verdict): (&OperationId, &Verdict)| shown(graph, &graph.operations[*id], verdict);
    let mut all: Vec<_> = verdicts.iter().map(shown).collect();
    all.sort();
    all
}

/// An operation of a vector in the same form.
fn expected(found: &Value) -> String {
    let (operation, effect) = (found.get("op").unwrap(), found.get("effect").unwrap());
    let list = |key: &str| operation.get(key).and_then(Value::as_array).unwrap_or_default();
    let text = |from: &Value, key: &str| from.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = |key: &str| {
        let step =
            |step: &Value| step.as_str().map_or_else(|| json::to_compact(step), str::to_owned);
        list(key).iter().map(step).collect::<Vec<_>>().join(".")
    };
    let what = match (text(operation, "propOp"), list("comp")) {
        (Some(kind), _) => format!("{kind} {}>{}", path("p1"), path("p2")),
        (None, [before, after]) => {
            let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!("{} {}>{}", text(operation, "opType").unwrap(), name(before), name(after))
        }
        _ => panic!("{found:?}"),
    };
    let capital = |text: String| text[..1].to_uppercase() + &text[1..];
    let risk = capital(text(effect, "risk").unwrap());
    let action = text(effect, "action").map(|action| format!(" {}", capital(action)));
    format!("{what} {risk}{}", action.unwrap_or_default())
}

#[test]
fn the_vectors_hold_with_the_defects_mended() {
    let vectors = json::parse(include_str!("../../../fixtures/vectors/c2a-rules.json")).unwrap();
    let cases = vectors.as_array().unwrap();
    assert_eq!(cases.len(), 17);
    for case in cases {
        let get = |key: &str| case.get(key).unwrap();
        let name = get("name").as_str().unwrap();
        let (before, after) = ([stack(get("before"))], [stack(get("after"))]);
        let mut graph = diff(&before, &after, Joining::Contents);
        mark_permissions(&mut graph, &permissions(&before, &after));
        let rules = match get("rules") {
            Value::String(_) => Rules::built_in(),
            rules => match (Rules::parse(&json::to_compact(rules)), case.get("error")) {
                (Ok(rules), None) => rules,
                (found, expected) => {
                    let found = found.map(|_| ()).unwrap_err().to_string();
                    assert_eq!(Some(found.as_str()), expected.and_then(Value::as_str), "{name}");
                    continue;
                }
            },
        };
        let mut wanted: Vec<String> = match case.get("ours") {
            Some(ours) => {
                let ours = ours.as_array().unwrap().iter();
                ours.map(|one| one.as_str().unwrap().to_owned()).collect()
            }
            None => get("engine").as_array().unwrap().iter().map(expected).collect(),
        };
        wanted.sort();
        let mut found = judged(&graph, &rules);
        if matches!(get("rules"), Value::String(_)) {
            // The original says nothing of what is harmless.
            found.retain(|one| !one.ends_with(" Low"));
        }
        assert_eq!(found, wanted, "{name}");
    }
}

const BEFORE: &str = r#"{"Resources":{
    "Bk":{"Type":"AWS::S3::Bucket","Properties":{"Tags":[{"Key":"a","Value":"1"}]}},
    "Other":{"Type":"AWS::S3::Bucket","Properties":{"Size":1.5,"Dotted":{"a.b":"x"}}},
    "Policy":{"Type":"AWS::S3::BucketPolicy","Metadata":{"aws:cdk:path":"Stack/Site/Policy/Resource"},
              "Properties":{"Bucket":{"Ref":"Bk"}}}}}"#;

fn graph(after: &str) -> Graph {
    let of = |text: &str| [stack(&json::parse(text).unwrap())];
    diff(&of(BEFORE), &of(after), Joining::Contents)
}

fn changed() -> Graph {
    graph(&BEFORE.replace(r#""Value":"1""#, r#""Value":"2""#).replace("1.5", "2.5"))
}

fn fires(graph: &Graph, rule: &str) -> Vec<String> {
    let rules = Rules::parse(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
    judged(graph, &rules)
}

#[test]
fn names_are_tied_by_references_and_by_what_contains_what() {
    let graph = changed();
    let tag = "UPDATE Properties.Tags.0.Value>Properties.Tags.0.Value High";
    let rule = |condition: &str| {
        format!(
            "- let:\n    policy: {{Resource: AWS::S3::BucketPolicy}}\n    bucket: {{Resource: AWS::S3::Bucket}}\n    \
             change: {{change: {{}}, where: change appliesTo bucket.Properties.Tags.*.Value}}\n  \
             where: {condition}\n  effect: {{risk: high}}\n"
        )
    };
    for holds in [
        "policy -> bucket",
        "bucket <- policy",
        "policy.Properties.Bucket -> bucket",
        "policy.Properties -> bucket",
    ] {
        assert_eq!(fires(&graph, &rule(holds)), [tag], "{holds}");
    }
    for fails in ["bucket -> policy", "policy.Metadata -> bucket", "policy >> bucket"] {
        assert!(fires(&graph, &rule(fails)).is_empty(), "{fails}");
    }
    let contained = "- let:\n    site: {Construct: '*', name: Site}\n    policy: {Resource: '*'}\n    \
        stack: {Stack: '*'}\n    bucket: {Resource: '*'}\n    \
        change: {change: {propertyOperationType: UPDATE}}\n  where:\n  - site >> policy\n  - policy << stack\n  \
        - policy -> bucket\n  - change appliesTo bucket.Properties.Tags.0.Value\n  effect: {risk: high}\n";
    assert_eq!(fires(&graph, contained), [tag]);
    assert!(fires(&graph, &contained.replace("policy << stack", "stack << policy")).is_empty());
}

#[test]
fn a_name_can_stand_for_a_value_of_another_one() {
    let graph = changed();
    let rule = |key: &str| {
        format!(
            r#"[{{"let":{{"bucket":{{"Resource":"AWS::S3::Bucket"}},"tag":"bucket.Properties.Tags.*",
                "change":{{"change":{{}},"where":"change appliesTo tag.Value"}}}},
                "where":["tag.Key == '{key}'","change.new == 2","change.old == '1'"],
                "effect":{{"risk":"low"}}}}]"#
        )
    };
    let tag = "UPDATE Properties.Tags.0.Value>Properties.Tags.0.Value Low";
    assert_eq!(fires(&graph, &rule("a")), [tag]);
    assert!(fires(&graph, &rule("b")).is_empty());
    let from_path = rule("a")
        .replace(r#""bucket.Properties.Tags.*""#, r#"{"fromPath":"bucket.Properties.Tags.*"}"#);
    assert_eq!(fires(&graph, &from_path), [tag]);
}

#[test]
fn real_numbers_keys_with_dots_and_anything_are_understood() {
    let graph = changed();
    let rule = |condition: &str| {
        format!(
            "- let: {{b: {{Resource: AWS::S3::Bucket, name: Other}}, change: {{change: {{type: UPDATE}}}}}}\n  \
             where: [change appliesTo b.Properties.Size, \"{condition}\"]\n  effect: {{action: reject}}\n"
        )
    };
    let size = "UPDATE Properties.Size>Properties.Size Unknown Reject";
    for holds in [
        "change.old == 1.5",
        "1.50 == change.old",
        "change.new == 2.5",
        "b.Properties.Size == '*'",
        "b.Properties.Dotted.'a.b' == 'x'",
        "change.new == b.Properties.Size",
    ] {
        assert_eq!(fires(&graph, &rule(holds)), [size], "{holds}");
    }
    for fails in ["change.old == 1", "b.Properties.Colour == '*'", "change.new == change.old"] {
        assert!(fires(&graph, &rule(fails)).is_empty(), "{fails}");
    }
}

#[test]
fn a_rule_whose_names_stand_for_nothing_does_not_fire() {
    let rule = "- let: {queue: {Resource: AWS::SQS::Queue}, change: {change: {}}}\n  effect: {risk: high}\n";
    assert!(fires(&changed(), rule).is_empty());
    let rule = rule.replace("AWS::SQS::Queue", "AWS::S3::Bucket");
    assert!(!fires(&changed(), &rule).is_empty());
}

#[test]
fn a_component_can_be_selected_in_all_its_forms() {
    for selector in [
        "{Resource: AWS::S3::Bucket, name: Bk}",
        "{type: Resource, subtype: AWS::S3::Bucket, name: Bk}",
        "{component: {type: Resource, name: Bk}}",
        "{component: {}, where: bucket.Properties.Tags.0.Key == 'a'}",
    ] {
        let rule = format!(
            "- let: {{bucket: {selector}, change: {{change: {{propertyOperationType: UPDATE}}}}}}\n  \
             where: change appliesTo bucket.Properties.Tags.0.Value\n  effect: {{risk: low}}\n"
        );
        assert_eq!(fires(&changed(), &rule).len(), 1, "{selector}");
    }
}

#[test]
fn what_a_rule_says_of_a_property_holds_for_what_is_in_it_and_the_last_rule_counts() {
    let rules = "
- let: {b: {Resource: AWS::S3::Bucket, name: Bk}, change: {change: {}}}
  where: change appliesTo b.Properties.Tags
  effect: {risk: high}
  then:
  - {where: b.Properties.Tags.*.Key == 'a', effect: {action: approve}}
";
    assert_eq!(
        fires(&changed(), rules),
        [
            "UPDATE Properties.Tags.0.Value>Properties.Tags.0.Value High Approve",
            "UPDATE Properties.Tags.0>Properties.Tags.0 High Approve",
            "UPDATE Properties.Tags>Properties.Tags High Approve",
        ]
    );
}

/// Rule files, and how the error begins that each gives (or what is in it).
const MISTAKES: &[(&str, &str)] = &[
    (
        "- let: {change: {change: {}}}\n  where: change.new === 'x'\n  effect: {risk: high}",
        "`===` is no operator: it must be one of `==`, `appliesTo`, `->`, `<-`, `>>`, `<<` (line 2 column 21)",
    ),
    (
        "- where: queue.A == 1\n  effect: {risk: high}",
        "the name `queue` stands for nothing (no name is given here) (line 1 column 10)",
    ),
    (
        "- let: {change: {change: {}, where: change appliesTo later}, later: {component: {}}}\n  effect: {risk: low}",
        "the name `later` stands for nothing (known here: `change`) (line 1 column 54)",
    ),
    (
        "- let: {change: {change: {}}}\n  effect: {risk: high, target: chnage}",
        "the name `chnage` stands for nothing (known here: `change`) (line 2 column 32)",
    ),
    (
        "- let: {b: {component: {}}}\n  effect: {risk: high, target: b}",
        "an effect is for a change, and `b` is none (line 2 column 32)",
    ),
    (
        "- let: {change: {change: {}}}\n  where: change.new == 'a b\n  effect: {risk: high}",
        "the text that begins here has no end (line 2 column 24)",
    ),
    (
        "- let: {change: {change: {}}}\n  where: change.new == 'a' or true\n  effect: {risk: high}",
        "a condition is `left operator right`, each separated by blanks; this has 5 parts (line 2 column 28)",
    ),
    (
        "- let: {change: {change: {}}}\n  where: change.newer == 'a'\n  effect: {risk: high}",
        "a change has `old` and `new`, but no `newer` (line 2 column 10)",
    ),
    (
        "- let: {change: {change: {type: CREATE}}}\n  effect: {risk: high}",
        "`CREATE` is no type of a change: it must be one of `INSERT`, `REMOVE`, `REPLACE`, `RENAME`, `MOVE`, `UPDATE` (line 1 column 33)",
    ),
    (
        "- let: {change: {change: {kind: x}}}\n  effect: {risk: high}",
        "a change has no `kind`: it may have `type`, `propertyOperationType`, `certainty`, `broadensPermissions`, `losesData`, `repeatsNames`, `templateOnly` (line 1 column 27)",
    ),
    (
        "- let: {change: {change: {}}}\n  effects: {risk: high}",
        "a rule has no `effects`: it may have `description`, `let`, `where`, `then`, `effect` (line 2 column 3)",
    ),
    (
        "- let: {change: {change: {}}}\n  effect: {risk: medium}",
        "`medium` is no risk: it must be one of `low`, `high`, `unknown` (line 2 column 18)",
    ),
    ("- let: {change: {change: {}}}", "the rule has neither `effect` nor `then` (line 1 column 3)"),
    ("- let: {1st: {change: {}}}", "`1st` is no name"),
    (
        "- let: {c: {change: {}}, d: {component: {}}}\n  where: d appliesTo c\n  effect: {risk: low, target: c}",
        "the left side of `appliesTo` must be a change (line 2 column 10)",
    ),
    (
        "- let: {c: {change: {}}, d: {component: {}}}\n  where: d == 'x'\n  effect: {risk: low, target: c}",
        "this needs a path to be compared with a value (line 2 column 10)",
    ),
    (
        "- let: {c: {change: {}}}\n  where: 1 == 1\n  effect: {risk: low, target: c}",
        "one side of `==` must be a name with a path (line 2 column 12)",
    ),
    ("rules: []", "a rule file must be a list, this is an object (line 1 column 1)"),
    ("", "a rule file must be a list, this is nothing (line 1 column 1)"),
    ("- a: 1\n  a: 2", "the key `a` is given twice (line 2 column 3)"),
    ("- !Ref x", "tags cannot be used in rules (line 1"),
    ("- a: [1", "(line "),
    (
        "[\n\t{\"where\": \"x == 1\",\n\t \"effect\": {}}]",
        "the name `x` stands for nothing (no name is given here) (line 2 column 13)",
    ),
    ("[{\"effect\": {\"risk\": hihg}}]", "`hihg` is no value of JSON (line 1 column 22)"),
    ("[{\"effect\": {\"risk\": \"high\"}},]", "a value is missing"),
    (
        "[{\"let\": {\"a\": 1}}]",
        "what a name stands for must be an object, this is a number (line 1 column 16)",
    ),
];

#[test]
fn every_mistake_is_an_error_with_line_and_column() {
    for (rules, expected) in MISTAKES {
        let found = Rules::parse(rules).map(|_| ()).expect_err(rules).to_string();
        assert!(
            found.starts_with(expected) || found.contains(expected),
            "{rules}:\n{found}\n{expected}"
        );
    }
}

#[test]
fn json_and_yaml_say_the_same() {
    let yaml = "- description: é\n  let: {c: {change: {type: INSERT}}}\n  effect: {risk: low, target: c}\n";
    let json = "[{\"description\": \"\\u00e9\", \"let\": {\"c\": {\"change\": {\"type\": \"INSERT\"}}},\n\"effect\": {\"risk\": \"low\", \"target\": \"c\"}}]";
    let shown = |rules: &str| format!("{:?}", Rules::parse(rules).unwrap().queries);
    assert_eq!(shown(yaml), shown(json));
}

#[test]
fn the_rules_of_the_program_can_be_read() {
    assert!(!Rules::built_in().queries.is_empty());
}

#[test]
fn many_names_over_many_changes_are_not_multiplied_out() {
    let buckets = |value: u32| {
        let bucket = |n: u32| {
            format!(
                r#""B{n}":{{"Type":"AWS::S3::Bucket","Properties":{{"N":{value},"L":"g{}"}}}},
                   "P{n}":{{"Type":"AWS::S3::BucketPolicy","Properties":{{"Bucket":{{"Ref":"B{n}"}}}}}}"#,
                n % 10
            )
        };
        format!(r#"{{"Resources":{{{}}}}}"#, (0..1000).map(bucket).collect::<Vec<_>>().join(","))
    };
    let of = |text: &str| [stack(&json::parse(text).unwrap())];
    let graph = diff(&of(&buckets(1)), &of(&buckets(2)), Joining::Contents);
    // Six names over a thousand buckets: multiplied out that would be 10^18 scopes.
    let rule = "
- let:
    a: {Resource: AWS::S3::Bucket}
    b: {Resource: AWS::S3::Bucket}
    c: {Resource: AWS::S3::Bucket}
    p: {Resource: AWS::S3::BucketPolicy}
    q: {Resource: AWS::S3::BucketPolicy}
    change: {change: {}}
  then:
  - where:
    - change appliesTo a.Properties.N
    - a.Properties.L == b.Properties.L
    - p -> b
    - q -> c
    - c.Properties.L == 'nothing has this'
    effect: {risk: high}
  - where:
    - change appliesTo a.Properties.N
    - a.Properties.L == b.Properties.L
    - p -> b
    - q -> c
    - b.Properties.N == 2
    effect: {risk: low}
";
    let verdicts = Rules::parse(rule).unwrap().judge(&graph);
    assert_eq!(verdicts.len(), 1000);
    assert!(verdicts.values().all(|verdict| verdict.risk == Risk::Low));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_crash(text in "[-a:&*!|>'\"\\[\\]{},#.=% \n\t?<0-9é\\\\u]{0,60}") {
        drop(Rules::parse(&text));
        drop(Rules::parse(&format!("[{text}")));
    }

    #[test]
    fn no_condition_makes_the_reader_crash(text in "[-a.*'\"=> <0-9é]{0,20}") {
        let rule = Value::String(text.as_str().into());
        let rule = json::to_compact(&rule);
        drop(Rules::parse(&format!(
            r#"[{{"let":{{"a":{{"component":{{}}}}}},"where":{rule},"then":[]}}]"#
        )));
    }
}
