use std::path::{Path, PathBuf};

use super::*;
use crate::assembly::{Assembly, LoadOptions, load};
use crate::compare::Decisions;
use crate::model::{Environment, Location, Stack, Text, TreeNode};
use crate::template::{self, json};

fn stack(name: &str, resources: &str) -> Stack {
    let text = format!(r#"{{"Resources":{resources}}}"#);
    Stack::new(name, template::parse(text.as_bytes()).unwrap())
}

/// A queue with a path and properties.
fn queue(id: &str, path: &str, properties: &str) -> String {
    format!(
        r#""{id}":{{"Type":"AWS::SQS::Queue","Properties":{properties},
           "Metadata":{{"aws:cdk:path":"{path}"}}}}"#
    )
}

fn declared(aspects: &str) -> Declarations {
    let refactor = json::parse(&format!(r#"{{"aspects":[{aspects}]}}"#)).unwrap();
    let mut all = Declarations::parse(&refactor, &|_| Err("no files".to_owned())).unwrap();
    // The tests are about what is declared, unless they say otherwise.
    all.list.retain(|one| !one.is_preset);
    all
}

fn environment() -> Environment {
    Environment::new("111111111111", "eu-west-1")
}

fn run(aspects: &Declarations, deployed: &[Stack], local: &[Stack]) -> Compared {
    with_tree(aspects, &[], deployed, local)
}

fn with_tree(
    aspects: &Declarations,
    constructs: &[TreeNode],
    deployed: &[Stack],
    local: &[Stack],
) -> Compared {
    let sides = Sides { constructs, deployed, local };
    compare(aspects, &environment(), sides, &Decisions::default()).unwrap()
}

fn moves(compared: &Compared) -> Vec<String> {
    let mappings = compared.comparison.mappings.iter();
    mappings.map(|it| format!("{} {}", it.source.location, it.destination.location)).collect()
}

/// A queue that moved to another stack while a tag and the order of a list changed.
fn moved() -> ([Stack; 2], [Stack; 2]) {
    let old = r#"{"Tags":[{"Key":"sha","Value":"1"}],"QueueName":"orders","Delay":30}"#;
    let new = r#"{"Tags":[{"Key":"sha","Value":"2"}],"QueueName":"orders-x","Delay":30}"#;
    let stays = queue("Keep", "A/Keep/Resource", r#"{"Delay":1}"#);
    (
        [stack("A", &format!("{{{stays},{}}}", queue("Q", "A/Q/Resource", old))), stack("B", "{}")],
        [
            stack("A", &format!("{{{stays}}}")),
            stack("B", &format!("{{{}}}", queue("Q2", "B/Other/Resource", new))),
        ],
    )
}

const IGNORING: &str = r#"{"id":"sha","match":{"type":"AWS::SQS::*"},"do":[{"ignoreTags":"sha"}]},
    {"id":"name","do":[{"ignore":"QueueName"}]}"#;

#[test]
fn a_move_is_found_thanks_to_aspects_which_are_named_and_the_real_changes_are_told() {
    let (deployed, local) = moved();
    assert!(run(&Declarations::none(), &deployed, &local).comparison.mappings.is_empty());
    let compared = run(&declared(IGNORING), &deployed, &local);
    assert_eq!(moves(&compared), ["A.Q B.Q2"]);
    let thanks = &compared.thanks[0];
    assert_eq!(thanks.aspects, ["name", "sha"]);
    assert!(!thanks.is_indirect);
    let mapping = &compared.comparison.mappings[0];
    let changes: Vec<&str> = mapping.changes.iter().map(|it| it.property.as_str()).collect();
    assert_eq!(changes, ["Properties.QueueName", "Properties.Tags.0.Value"]);
    let hidden: Vec<String> = compared
        .hidden
        .iter()
        .map(|it| format!("{} {}", it.difference.property, it.aspects.join(",")))
        .collect();
    assert_eq!(hidden, ["Properties.QueueName name", "Properties.Tags.0.Value sha"]);
    assert!(compared.comparison.added.is_empty() && compared.comparison.removed.is_empty());
}

#[test]
fn what_an_aspect_hides_is_never_said_to_follow_from_names() {
    let side = |path: &str, sha: &str| {
        let body = format!(
            r#"{{"Tags":[{{"Key":"sha","Value":"{sha}"}},{{"Key":"Name","Value":"{path}"}}],"Delay":3}}"#
        );
        let id = path.replace('/', "");
        [stack("A", &format!("{{{}}}", queue(&id, &format!("{path}/Resource"), &body)))]
    };
    let aspects = declared(r#"{"id":"sha","do":[{"ignoreTags":["sha"]}]}"#);
    let compared = run(&aspects, &side("A/Old", "1"), &side("A/New", "2"));
    let changes: Vec<(&str, bool)> = compared.comparison.mappings[0]
        .changes
        .iter()
        .map(|it| (it.property.as_str(), it.name_only))
        .collect();
    assert_eq!(changes, [("Properties.Tags.1.Value", true), ("Properties.Tags.0.Value", false)]);
}

#[test]
fn hiding_a_property_that_cannot_change_is_warned_of() {
    let (deployed, local) = moved();
    let compared = run(&declared(IGNORING), &deployed, &local);
    assert_eq!(
        compared.notes,
        ["the aspect `name` hides `Properties.QueueName` of `AWS::SQS::Queue`: a deployment that \
         changes it replaces the resource"]
    );
}

#[test]
fn the_stacks_themselves_stay_as_they_are() {
    let (deployed, local) = moved();
    let aspects = declared(IGNORING);
    let request = ViewRequest {
        aspects: &aspects,
        constructs: &[],
        deployed: &deployed,
        local: &local,
        settled: &[],
    };
    let views = views(&request).unwrap();
    assert!(deployed[0].template.resource("Q").unwrap().get("Properties").is_some());
    let seen = views.deployed[0].template.resource("Q").unwrap().get("Properties").unwrap();
    assert_eq!(seen, &json::parse(r#"{"Delay":30}"#).unwrap());
    let edits: Vec<String> = views
        .edits
        .iter()
        .map(|it| format!("{:?} {} {}", it.side, it.aspect, it.property))
        .collect();
    assert_eq!(
        edits,
        [
            "Local sha Properties.Tags.0",
            "Local name Properties.QueueName",
            "Deployed sha Properties.Tags.0",
            "Deployed name Properties.QueueName",
        ]
    );
}

#[test]
fn an_aspect_for_one_path_does_not_set_apart_what_moved_into_it() {
    let body = r#"{"Tags":[{"Key":"sha","Value":"1"}],"Delay":30}"#;
    let deployed =
        [stack("A", &format!("{{{}}}", queue("Q", "A/Q/Resource", body))), stack("B", "{}")];
    let local =
        [stack("A", "{}"), stack("B", &format!("{{{}}}", queue("Q", "B/Q/Resource", body)))];
    let aspects = declared(r#"{"id":"sha","match":{"path":"B/**"},"do":[{"ignoreTags":"sha"}]}"#);
    let compared = run(&aspects, &deployed, &local);
    assert_eq!(moves(&compared), ["A.Q B.Q"]);
    assert!(compared.thanks.is_empty());
}

#[test]
fn ignoring_what_tells_resources_apart_neither_undoes_a_move_nor_swaps_what_stays() {
    let both = |one: &str, two: &str| {
        format!(
            "{{{},{}}}",
            queue("X", "A/X/Resource", &format!(r#"{{"QueueName":"x","Delay":{one}}}"#)),
            queue("Y", "A/Y/Resource", &format!(r#"{{"QueueName":"y","Delay":{two}}}"#))
        )
    };
    let aspects = declared(r#"{"id":"name","do":[{"ignore":"QueueName"}]}"#);
    let (deployed, local) = ([stack("A", &both("1", "2"))], [stack("A", &both("2", "1"))]);
    let compared = run(&aspects, &deployed, &local);
    assert!(compared.comparison.mappings.is_empty());
    assert_eq!(compared.comparison.changed.len(), 2);
}

#[test]
fn what_is_alike_in_a_view_is_offered_with_what_really_differs() {
    let side = |id: &str, name: &str, delay: &str, moved: &str, sha: &str| {
        let tags = r#"{"Key":"a","Value":"b"},{"Key":"c","Value":"d"},{"Key":"e","Value":"f"}"#;
        let body = format!(r#"{{"QueueName":"{name}","Delay":{delay},"Size":7,"Tags":[{tags}]}}"#);
        let other = format!(r#"{{"Tags":[{{"Key":"sha","Value":"{sha}"}}],"Other":3}}"#);
        let queues = [
            queue(id, &format!("A/{id}/Resource"), &body),
            queue(moved, &format!("A/{moved}/Resource"), &other),
        ];
        [stack("A", &format!("{{{}}}", queues.join(",")))]
    };
    let aspects = declared(r#"{"id":"name","do":[{"ignore":"QueueName"},{"ignoreTags":["sha"]}]}"#);
    let deployed = side("Old", "one", "1", "From", "1");
    let compared = run(&aspects, &deployed, &side("New", "two", "2", "To", "2"));
    assert_eq!(moves(&compared), ["A.From A.To"]);
    let pair = &compared.comparison.similar[0];
    let differs: Vec<&str> = pair.differences.iter().map(|it| it.property.as_str()).collect();
    assert_eq!(differs, ["Properties.Delay", "Properties.QueueName"]);
    assert!(pair.differences[1].replaces);
}

#[test]
fn a_tag_that_only_one_side_has_can_be_ignored() {
    let tagged = |id: &str, tags: &str| {
        let body = format!(r#"{{"Tags":[{tags}]}}"#);
        [stack("A", &format!("{{{}}}", queue(id, &format!("A/{id}/Resource"), &body)))]
    };
    let deployed = tagged("X", r#"{"Key":"sha","Value":"1"},{"Key":"team","Value":"x"}"#);
    let local = tagged("Y", r#"{"Key":"team","Value":"x"}"#);
    let aspects = declared(r#"{"id":"sha","do":[{"ignoreTags":["sha"]}]}"#);
    assert_eq!(moves(&run(&aspects, &deployed, &local)), ["A.X A.Y"]);
    assert_eq!(moves(&run(&aspects, &local, &deployed)), ["A.Y A.X"]);
}

#[test]
fn twins_that_an_aspect_makes_become_a_question_and_no_guess() {
    let tagged = |id: &str, sha: &str| {
        let body = format!(r#"{{"Tags":[{{"Key":"sha","Value":"{sha}"}}]}}"#);
        queue(id, &format!("A/{id}/Resource"), &body)
    };
    let deployed = [stack("A", &format!("{{{},{}}}", tagged("X", "1"), tagged("Y", "2")))];
    let local = [stack("A", &format!("{{{},{}}}", tagged("V", "3"), tagged("W", "4")))];
    let aspects = declared(r#"{"id":"sha","do":[{"ignoreTags":["sha"]}]}"#);
    let compared = run(&aspects, &deployed, &local);
    assert!(compared.comparison.mappings.is_empty());
    assert_eq!(compared.comparison.ambiguous.len(), 1);
}

#[test]
fn twins_that_only_a_preset_makes_are_no_question() {
    let number = |id: &str, value: &str| {
        queue(id, &format!("A/{id}/Resource"), &format!(r#"{{"Delay":{value}}}"#))
    };
    let side = |one: &str, two: &str| [stack("A", &format!("{{{one},{two}}}"))];
    let policy = |id: &str, order: &str| {
        queue(id, &format!("A/{id}/Resource"), &format!(r#"{{"Statement":[{order}]}}"#))
    };
    // Told apart by the order of their statements, which does not count.
    let deployed = side(&policy("X", r#""a","b","c""#), &policy("Y", r#""b","a","c""#));
    let local = side(&policy("V", r#""c","b","a""#), &policy("W", r#""c","a","b""#));
    let compared = run(&Declarations::default(), &deployed, &local).comparison;
    assert!(compared.ambiguous.is_empty() && compared.mappings.is_empty());
    assert_eq!((compared.added.len(), compared.removed.len()), (2, 2));
    let local = side(&policy("V", r#""c","b","a""#), &number("W", "1"));
    let deployed = side(&policy("X", r#""a","b","c""#), &number("W", "1"));
    let compared = run(&Declarations::default(), &deployed, &local);
    assert_eq!(moves(&compared), ["A.X A.V"]);
    assert_eq!(compared.thanks[0].aspects, ["builtin:policy-statement-order"]);
}

#[test]
fn what_an_earlier_comparison_found_proves_no_more_than_it_did() {
    let (before, after) = (
        load(&fixture("apps/replaced/before"), &LoadOptions::default()).unwrap(),
        load(&fixture("apps/replaced/after"), &LoadOptions::default()).unwrap(),
    );
    let (deployed, local) = (stacks(&before), stacks(&after));
    let plain = run(&Declarations::none(), &deployed, &local);
    let with = with_tree(&Declarations::default(), &after.constructs, &deployed, &local);
    assert_eq!(moves(&plain), moves(&with));
    assert!(with.thanks.is_empty());
}

#[test]
fn the_class_of_what_is_new_decides_about_what_left_if_all_agree() {
    let node =
        |path: &str, class: &str| TreeNode { class: Some(class.into()), ..TreeNode::new(path) };
    let (deployed, local) = moved();
    let aspects = declared(
        r#"{"id":"sha","match":{"class":"lib.Special"},"do":[{"ignoreTags":["sha"]},{"ignore":"QueueName"}]}"#,
    );
    let tree = [
        node("B/Other", "lib.Special"),
        node("B/Other/Resource", "aws-cdk-lib.aws_sqs.CfnQueue"),
        node("A/Keep", "lib.Plain"),
        node("A/Keep/Resource", "aws-cdk-lib.aws_sqs.CfnQueue"),
    ];
    let compared = with_tree(&aspects, &tree, &deployed, &local);
    assert_eq!(moves(&compared), ["A.Q B.Q2"]);
    // Without a tree nobody knows.
    let compared = run(&aspects, &deployed, &local);
    assert!(compared.comparison.mappings.is_empty());
    let idle = compared.coverage.idle(&aspects);
    assert!(idle[0].reason.contains("by class"), "{idle:?}");
}

#[test]
fn an_aspect_that_finds_nothing_is_told_with_what_may_help() {
    let (deployed, local) = moved();
    let aspects = declared(
        r#"{"id":"typo","match":{"type":"AWS::SQS::Qeue"},"do":[{"ignore":"QueueName"}]},
           {"id":"place","match":{"type":"AWS::SQS::*"},"do":[{"ignore":"QueName"},{"ignore":"Delay"}]},
           {"id":"scope","scope":"Prod","do":[{"ignore":"Delay"}]},
           {"id":"limit","match":{"type":"AWS::RDS::*"},"limit":{"moves":1}}"#,
    );
    let compared = run(&aspects, &deployed, &local);
    let mut coverage = compared.coverage;
    let request = CheckRequest {
        aspects: &aspects,
        constructs: &[],
        deployed: &deployed,
        local: &local,
        comparison: &compared.comparison,
        replacements: None,
    };
    coverage.merge(check(&request).unwrap().coverage);
    let idle: Vec<String> =
        coverage.idle(&aspects).iter().map(|it| format!("{}: {}", it.aspect, it.reason)).collect();
    assert_eq!(
        idle,
        [
            "typo: matches no resource; did you mean `AWS::SQS::Queue`?",
            "place: finds nothing to do for `ignore /Properties/QueName` in 4 resources that it \
             matches; did you mean `/Properties/QueueName`?",
            "scope: matches no resource in its scope, but 2 resources elsewhere",
            "limit: matches no resource",
        ]
    );
}

#[test]
fn what_was_mistyped_is_told_with_the_nearest_name() {
    let (deployed, local) = moved();
    let class = TreeNode { class: Some("lib.Special".into()), ..TreeNode::new("B/Other") };
    for (aspect, expected) in [
        (r#""match":{"path":"B/Othr/**"}"#, "did you mean `B/Other/**`?"),
        (r#""match":{"class":"lib.Specal"}"#, "of 2 resources; did you mean `lib.Special`?"),
        (r#""match":{"type":"AWS::SQQS::*"}"#, "did you mean `AWS::SQS::*`?"),
        (r#""match":{"type":"AWS::DynamoDB::Tabel"}"#, "did you mean `AWS::DynamoDB::Table`?"),
        (r#""match":{"type":"AWS::DynamoDB::Table"}"#, "matches no resource"),
        (r#""scope":"B/Othr""#, "elsewhere; did you mean `B/Other`?"),
    ] {
        let aspects = declared(&format!(r#"{{"id":"x",{aspect},"do":[{{"ignore":"Delay"}}]}}"#));
        let tree = std::slice::from_ref(&class);
        let compared = with_tree(&aspects, tree, &deployed, &local);
        let idle = compared.coverage.idle(&aspects);
        assert!(idle[0].reason.ends_with(expected), "{aspect}: {idle:?}");
    }
}

#[test]
fn stages_are_entered_only_where_an_aspect_says_so() {
    let (deployed, local) = moved();
    let stage = |path: &str| TreeNode { is_stage: true, ..TreeNode::new(path) };
    let tree = [stage("A"), stage("B")];
    let outside = declared(r#"{"id":"t","do":[{"ignore":"Delay"}]}"#);
    let compared = with_tree(&outside, &tree, &deployed, &local);
    let idle = compared.coverage.idle(&outside);
    assert_eq!(
        idle[0].reason,
        "matches no resource outside of stages, but 2 resources in stages: `\"crossStages\": true` \
         lets it in"
    );
    let inside = declared(r#"{"id":"t","crossStages":true,"do":[{"ignore":"Delay"}]}"#);
    let compared = with_tree(&inside, &tree, &deployed, &local);
    assert!(compared.coverage.idle(&inside).is_empty());
}

#[test]
fn an_aspect_that_others_apply_works_only_there() {
    let (deployed, local) = moved();
    let aspects = declared(
        r#"{"id":"outer","match":{"path":"B/**"},"apply":["inner"]},
           {"id":"inner","kind":"mutating","priority":600,"do":[{"ignore":"Delay"}]}"#,
    );
    let settled = [(Location::new("A", "Q"), Location::new("B", "Q2"))];
    let request = ViewRequest {
        aspects: &aspects,
        constructs: &[],
        deployed: &deployed,
        local: &local,
        settled: &settled,
    };
    let edits: Vec<String> = views(&request)
        .unwrap()
        .edits
        .iter()
        .map(|it| format!("{} {}", it.location, it.aspect))
        .collect();
    assert_eq!(edits, ["B.Q2 inner", "A.Q inner"]);
    let late = declared(
        r#"{"id":"outer","kind":"mutating","match":{"path":"B/**"},"apply":["inner"],"priority":300},
           {"id":"inner","kind":"mutating","priority":100,"do":[{"ignore":"Delay"}]}"#,
    );
    let error = views(&ViewRequest { aspects: &late, ..request }).unwrap_err().to_string();
    assert!(error.starts_with("Cannot invoke Aspect inner with priority 100 on node B/Other"));
    assert!(error.contains("an Aspect outer with a lower priority (added at  with priority 300)"));
}

fn checked(aspects: &str, replacements: Option<&[Replacement]>) -> Vec<String> {
    let (deployed, local) = moved();
    let ignoring = format!("{IGNORING},{aspects}");
    let aspects = declared(&ignoring);
    let comparison = run(&aspects, &deployed, &local).comparison;
    let request = CheckRequest {
        aspects: &aspects,
        constructs: &[],
        deployed: &deployed,
        local: &local,
        comparison: &comparison,
        replacements,
    };
    let checked = check(&request).unwrap();
    let violations = checked.violations.iter();
    violations
        .map(|it| format!("{} {} {}: {}", it.level, it.aspect, it.construct, it.reason))
        .collect()
}

#[test]
fn rules_that_do_not_hold_name_the_aspect_the_construct_and_the_reason() {
    for (aspect, expected) in [
        (
            r#"{"id":"m","match":{"type":"AWS::SQS::*"},"forbid":{"operation":"move"}}"#,
            "error m B/Other/Resource: it would move from `A.Q` to `B.Q2`",
        ),
        (
            r#"{"id":"m","forbid":{"outOf":["A*"]},"level":"warning"}"#,
            "warning m B/Other/Resource: it would move from `A.Q` to `B.Q2`",
        ),
        (
            r#"{"id":"m","match":{"path":"A/**"},"forbid":{"crossStack":true}}"#,
            "error m B/Other/Resource: it would move from `A.Q` to `B.Q2`",
        ),
        (
            r#"{"id":"m","limit":{"moves":0}}"#,
            "error m B/Other/Resource: more than 0 resources would move; it is the next one",
        ),
        (
            r#"{"id":"m","require":{"/DeletionPolicy":["Retain","Snapshot"]}}"#,
            "error m B/Other/Resource: it would move, and its `DeletionPolicy` as it is deployed is \
             none, not `Retain` or `Snapshot`",
        ),
        (
            r#"{"id":"m","match":{"stateful":true},"require":{"decision":true},"level":"info"}"#,
            "info m B/Other/Resource: it would move from `A.Q` to `B.Q2`, and nobody has decided so: \
             `--map` or a mapping file can",
        ),
        (
            r#"{"id":"m","forbid":{"operation":["replace"]}}"#,
            "error m B/Other/Resource: the deployment would replace it, since \
             `Properties.QueueName` changes",
        ),
    ] {
        assert_eq!(checked(aspect, None), [expected], "{aspect}");
    }
}

#[test]
fn rules_that_hold_say_nothing_and_the_plan_may_know_of_more_replacements() {
    for aspect in [
        r#"{"id":"m","forbid":{"outOf":["B*"]}}"#,
        r#"{"id":"m","limit":{"moves":1}}"#,
        r#"{"id":"m","match":{"path":"A/Keep/**"},"forbid":{"operation":["move","replace"]}}"#,
    ] {
        assert_eq!(checked(aspect, None), Vec::<String>::new(), "{aspect}");
    }
    let planned = Replacement { location: Location::new("A", "Keep"), reason: "it is".to_owned() };
    let rule = r#"{"id":"m","match":{"path":"A/**/Resource","stateful":true},"forbid":{"operation":"replace"}}"#;
    let said = checked(rule, Some(&[planned]));
    assert_eq!(said, ["error m A/Keep/Resource: it is"]);
    // A forecast goes before what the comparison fears: here it says that nothing is replaced.
    let rule = r#"{"id":"m","forbid":{"operation":["replace"]}}"#;
    assert_eq!(checked(rule, Some(&[])), Vec::<String>::new());
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn assembly(name: &str) -> Assembly {
    load(&fixture(&format!("assemblies/{name}")), &LoadOptions::default()).unwrap()
}

fn stacks(assembly: &Assembly) -> Vec<Stack> {
    let name = |stack: &Stack| stack.name.clone();
    let mut all: Vec<Stack> =
        assembly.stacks.iter().flat_map(|one| one.all().cloned().collect::<Vec<_>>()).collect();
    all.sort_by_key(name);
    all
}

#[test]
fn an_upgrade_of_the_framework_changes_nothing_in_the_view_of_an_aspect_for_template_urls() {
    let (old, new) = (assembly("v1-1.204.0"), assembly("v2-2.276.0"));
    let (deployed, mut local) = (stacks(&old), stacks(&new));
    // Nested templates that are compared where they are make no difference: what is left of the
    // nested stack is its resource.
    local.retain(|stack| stack.parent.is_none());
    let deployed: Vec<Stack> =
        deployed.into_iter().filter(|stack| stack.parent.is_none()).collect();
    let before = run(&Declarations::none(), &deployed, &local).comparison;
    let urls: Vec<&str> = before
        .changed
        .iter()
        .flat_map(|change| &change.differences)
        .map(|difference| difference.property.as_str())
        .filter(|property| property.starts_with("Properties.TemplateURL"))
        .collect();
    assert!(!urls.is_empty());
    let compared = with_tree(&Declarations::default(), &new.constructs, &deployed, &local);
    let hidden: Vec<&str> =
        compared.hidden.iter().map(|it| it.difference.property.as_str()).collect();
    assert!(urls.iter().all(|url| hidden.contains(url)), "{hidden:?}");
    let aspects: Vec<&Text> = compared.hidden.iter().flat_map(|it| &it.aspects).collect();
    assert!(aspects.iter().any(|id| *id == "builtin:nested-template-urls"));
}

#[test]
fn a_tree_in_several_files_tells_classes_and_logical_ids_like_one_in_one_file() {
    let class = |name: &str, path: &str| {
        let nodes = assembly(name).constructs;
        let node = nodes.into_iter().find(|node| node.path.as_str() == path).unwrap();
        (node.class.unwrap_or_default(), node.logical_id.is_some())
    };
    for (name, path, expected, has_id) in [
        ("v2-2.276.0", "Beta/Producer/Data/Resource", "aws-cdk-lib.aws_s3.CfnBucket", true),
        ("v2-2.276.0", "Beta", "aws-cdk-lib.Stage", false),
        // Here the logical ID is that of the metadata.
        ("v1-1.204.0", "Beta/Producer/Data/Resource", "@aws-cdk/aws-s3.CfnBucket", true),
        ("v2-2.276.0-forest", "S/A/1", "aws-cdk-lib.CfnResource", true),
        ("v2-2.276.0-forest", "S/B", "constructs.Construct", false),
    ] {
        assert_eq!(class(name, path), (expected.into(), has_id), "{name} {path}");
    }
    assert!(assembly("v2-2.276.0").constructs.iter().any(|node| node.is_stage));
}

#[test]
fn every_resource_is_one_construct_whichever_framework_wrote_the_assembly() {
    for name in
        ["v0-0.38.0", "v1-1.20.0", "v1-1.204.0", "v2-2.0.0", "v2-2.276.0", "v2-2.276.0-forest"]
    {
        let assembly = assembly(name);
        let stacks = stacks(&assembly);
        let tree: Tree<()> = constructs::of_app(&assembly.constructs, &stacks).unwrap();
        let mut found: Vec<&Location> =
            tree.constructs().filter_map(|one| Some(&one.resource.as_ref()?.0)).collect();
        let count = found.len();
        found.sort();
        found.dedup();
        let expected: usize = stacks.iter().map(|stack| stack.template.resources().count()).sum();
        assert_eq!((found.len(), count), (expected, expected), "{name}");
    }
}

#[test]
fn policy_statements_are_compared_without_their_order() {
    let policy = |statements: &str| {
        stack(
            "A",
            &format!(
                r#"{{"P":{{"Type":"AWS::SQS::QueuePolicy","Properties":{{"PolicyDocument":{{"Statement":[{statements}]}}}}}}}}"#
            ),
        )
    };
    let one = r#"{"Sid":"1","Action":["a","b"]}"#;
    let two = r#"{"Sid":"2","Action":"c"}"#;
    let turned = r#"{"Sid":"1","Action":["b","a"]}"#;
    let deployed = [policy(&format!("{one},{two}"))];
    let local = [policy(&format!("{two},{turned}"))];
    let compared = run(&Declarations::default(), &deployed, &local);
    assert_eq!(compared.comparison.changed.len(), 1);
    assert!(!compared.hidden.is_empty());
    assert!(compared.hidden.iter().all(|it| it.aspects == ["builtin:policy-statement-order"]));
    let all = compared.comparison.changed[0].differences.len();
    assert_eq!(compared.hidden.len(), all);
}

fn switched_off(name: &str) -> Declarations {
    let refactor = format!(r#"{{"overrides":{{"{name}":{{"enabled":false}}}}}}"#);
    let refactor = json::parse(&refactor).unwrap();
    Declarations::parse(&refactor, &|_| Err("no files".to_owned())).unwrap()
}

#[test]
fn every_built_in_aspect_can_be_switched_off() {
    let side = |id: &str, order: &str, delay: &str, name: &str, bucket: &str| {
        let queue = queue(
            id,
            &format!("A/{id}/Resource"),
            &format!(
                r#"{{"Delay":{delay},"Name":"{name}","Code":{{"Bucket":"cdk-{bucket}-assets-1-2"}}}},"DependsOn":[{order}]"#
            ),
        );
        let rest = r#""X":{"Type":"AWS::SNS::Topic","Properties":{"DisplayName":"x"}},
            "Y":{"Type":"AWS::SNS::Topic","Properties":{"DisplayName":"y"}}"#;
        [stack("A", &format!("{{{queue},{rest}}}"))]
    };
    let deployed = side("Old", r#""X","Y""#, "30", "n", "a");
    for (name, local) in [
        ("builtin:depends-on-order", side("New", r#""Y","X""#, "30", "n", "a")),
        ("builtin:numbers-in-strings", side("New", r#""X","Y""#, r#""30""#, "n", "a")),
        ("builtin:asset-locations", side("New", r#""X","Y""#, "30", "n", "b")),
    ] {
        assert_eq!(moves(&run(&Declarations::default(), &deployed, &local)), ["A.Old A.New"]);
        let off = run(&switched_off(name), &deployed, &local);
        assert_eq!(moves(&off), Vec::<String>::new(), "{name}");
    }
    let named = |id: &str| side(id, r#""X","Y""#, "30", &format!("A/{id}"), "a");
    let (deployed, local) = (named("Old"), named("New"));
    assert_eq!(moves(&run(&Declarations::default(), &deployed, &local)), ["A.Old A.New"]);
    let off = run(&switched_off("builtin:generated-names"), &deployed, &local);
    assert_eq!(moves(&off), Vec::<String>::new());
}

#[test]
fn the_order_of_depends_on_is_told_where_it_counts() {
    let side = |order: &str| {
        let queue = format!(r#""Q":{{"Type":"AWS::SQS::Queue","DependsOn":[{order}]}}"#);
        let topics = r#""X":{"Type":"AWS::SNS::Topic"},"Y":{"Type":"AWS::SNS::Topic"}"#;
        [stack("A", &format!("{{{queue},{topics}}}"))]
    };
    let (deployed, local) = (side(r#""X","Y""#), side(r#""Y","X""#));
    let on = run(&Declarations::default(), &deployed, &local).comparison;
    assert!(on.changed.is_empty());
    let off = run(&switched_off("builtin:depends-on-order"), &deployed, &local).comparison;
    assert_eq!(off.changed[0].differences[0].property, "DependsOn");
}

#[test]
fn a_second_comparison_is_made_only_where_values_of_both_sides_become_one() {
    let side = |id: &str, delay: &str, order: &str| {
        let body = format!(r#"{{"Delay":{delay},"P":{{"Statement":[{order}]}}}}"#);
        [stack("A", &format!("{{{}}}", queue(id, &format!("A/{id}/Resource"), &body)))]
    };
    let tells = |deployed: &[Stack], local: &[Stack]| {
        let first = run(&Declarations::none(), deployed, local).comparison;
        let presets = Declarations::default();
        bearing::Open::of(&first).is_told_by_types(&presets.list, deployed, local)
    };
    let old = side("Old", "30", r#""b","a""#);
    // Numbers on both sides, lists in the same order: whatever is done to them tells nothing.
    assert!(!tells(&old, &side("New", "31", r#""b","a""#)));
    assert!(!tells(&old, &side("Old", "31", r#""b","a""#)));
    assert!(tells(&old, &side("New", r#""30""#, r#""b","a","c""#)));
    assert!(tells(&old, &side("New", "31", r#""a","b""#)));
    assert!(tells(&old, &side("Old", r#""30""#, r#""b","a""#)));
}
