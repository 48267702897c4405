//! Which permissions become broader: held against a model of how policies are evaluated, and
//! against the templates of the corpus.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;

use cdkr::analyze::{PermissionChange, permissions};
use cdkr::compare::{Decisions, compare};
use cdkr::model::{
    DeployedEnvironment, DeployedResource, DeployedStack, Object, Stack, StackOptions, StackStatus,
    Template, Value,
};
use cdkr::plan::{Action, Choices, plan};
use cdkr::template;
use proptest::prelude::*;
use proptest::sample::subsequence;
use support::{corpus, environment};

/// Patterns of actions and resources, and what exists. One question mark: it is read as itself.
const ACTIONS: [&str; 7] =
    ["*", "s3:*", "s3:Get*", "s3:GetObject", "S3:putobject", "*:List", "sqs:S*"];
const CONCRETE_ACTIONS: [&str; 6] =
    ["s3:getobject", "s3:getacl", "s3:putobject", "sqs:send", "sqs:list", "iam:list"];
const RESOURCES: [&str; 5] = ["*", "a", "a/*", "a/*/x", "b"];
const CONCRETE_RESOURCES: [&str; 5] = ["a", "a/1", "a/1/x", "a/x", "b"];
const CONTEXTS: [Option<&str>; 3] = [None, Some("one"), Some("two")];

/// A statement: whether it allows, actions, resources (negated or not), and a condition.
#[derive(Clone, Debug)]
struct Said {
    allows: bool,
    actions: (bool, Vec<&'static str>),
    resources: (bool, Vec<&'static str>),
    condition: Option<(&'static str, Vec<&'static str>)>,
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).any(|at| tail.is_char_boundary(at) && fits(rest, &tail[at..]))
        }),
    }
}

impl Said {
    fn json(&self) -> String {
        let list = |name: &str, (not, items): &(bool, Vec<&str>)| {
            format!(r#""{}{name}": {items:?}"#, if *not { "Not" } else { "" })
        };
        let condition = self.condition.as_ref().map_or(String::new(), |(operator, values)| {
            format!(r#", "Condition": {{"{operator}": {{"aws:Tag": {values:?}}}}}"#)
        });
        format!(
            r#"{{"Effect": "{}", {}, {} {condition}}}"#,
            if self.allows { "Allow" } else { "Deny" },
            list("Action", &self.actions),
            list("Resource", &self.resources)
        )
    }

    fn applies(&self, action: &str, resource: &str, tag: Option<&str>) -> bool {
        let (not, actions) = &self.actions;
        let action = actions.iter().any(|one| fits(&one.to_lowercase(), action)) != *not;
        let (not, resources) = &self.resources;
        let resource = resources.iter().any(|one| fits(one, resource)) != *not;
        let condition = match &self.condition {
            None => true,
            Some(("StringEquals", values)) => tag.is_some_and(|tag| values.contains(&tag)),
            Some(("StringEqualsIfExists", values)) => tag.is_none_or(|tag| values.contains(&tag)),
            Some((_, values)) => tag.is_none_or(|tag| !values.contains(&tag)),
        };
        action && resource && condition
    }
}

/// Whether everything that policies permit now they permitted before.
fn permits_more(before: &[Said], now: &[Said]) -> bool {
    let permits = |all: &[Said], action: &str, resource: &str, tag: Option<&str>| {
        let mut applying = all.iter().filter(|one| one.applies(action, resource, tag)).peekable();
        applying.peek().is_some() && applying.all(|one| one.allows)
    };
    CONCRETE_ACTIONS.iter().any(|action| {
        CONCRETE_RESOURCES.iter().any(|resource| {
            CONTEXTS.iter().any(|tag| {
                !permits(before, action, resource, *tag) && permits(now, action, resource, *tag)
            })
        })
    })
}

fn said() -> impl Strategy<Value = Said> {
    let operators =
        prop::sample::select(vec!["StringEquals", "StringEqualsIfExists", "StringNotEquals"]);
    let values = subsequence(vec!["one", "two"], 1..=2);
    (
        any::<bool>(),
        (prop::bool::weighted(0.2), subsequence(ACTIONS.to_vec(), 1..=3)),
        (prop::bool::weighted(0.2), subsequence(RESOURCES.to_vec(), 1..=2)),
        prop::option::weighted(0.4, (operators, values)),
    )
        .prop_map(|(allows, actions, resources, condition)| Said {
            allows,
            actions,
            resources,
            condition,
        })
}

/// The second statement, alike the first but for one part, or another altogether.
fn alike(old: &Said, new: &Said, part: usize) -> Said {
    let (old, new) = (old.clone(), new.clone());
    match part {
        0 => Said { condition: new.condition, ..old },
        1 => Said { actions: new.actions, ..old },
        2 => Said { resources: new.resources, ..old },
        3 => {
            let operator = old.condition.as_ref().map(|(operator, _)| *operator);
            let values = new.condition.map(|(_, values)| values);
            Said { condition: operator.zip(values), ..old }
        }
        _ => new,
    }
}

/// A state with these statements, spread over two policies of one role, or over its own.
fn state(said: &[Said], split: usize) -> Vec<Stack> {
    let list = |said: &[Said]| said.iter().map(Said::json).collect::<Vec<_>>().join(",");
    let (first, second) = said.split_at(split.min(said.len()));
    let text = format!(
        r#"{{"Resources": {{
            "Role": {{"Type": "AWS::IAM::Role", "Properties": {{"Policies": [
                {{"PolicyName": "p", "PolicyDocument": {{"Statement": [{}]}}}}]}}}},
            "Policy": {{"Type": "AWS::IAM::Policy", "Properties": {{
                "Roles": [{{"Ref": "Role"}}], "PolicyDocument": {{"Statement": [{}]}}}}}}}}}}"#,
        list(first),
        list(second)
    );
    vec![Stack::new("A", template::parse(text.as_bytes()).unwrap())]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn nothing_that_permits_more_goes_unmarked(
        kept in prop::collection::vec(said(), 0..2),
        old in prop::collection::vec(said(), 0..3),
        new in prop::collection::vec(said(), 0..3),
        parts in prop::collection::vec(0..5usize, 2),
        splits in (0..5usize, 0..5usize),
    ) {
        let before: Vec<Said> = kept.iter().chain(&old).cloned().collect();
        let mut now = kept.clone();
        for (at, new) in new.iter().enumerate() {
            now.push(old.get(at).map_or_else(|| new.clone(), |old| alike(old, new, parts[at])));
        }
        let changes = permissions(&state(&before, splits.0), &state(&now, splits.1));
        if permits_more(&before, &now) {
            prop_assert!(changes.iter().any(|change| change.broadens), "{changes:#?}");
        }
    }

    #[test]
    fn the_order_and_the_place_of_statements_do_not_matter(
        said in prop::collection::vec(said(), 0..5),
        splits in (0..5usize, 0..5usize),
    ) {
        let mut other = said.clone();
        other.reverse();
        for one in &mut other {
            one.actions.1.reverse();
            one.resources.1.reverse();
        }
        prop_assert_eq!(permissions(&state(&said, splits.0), &state(&other, splits.1)), []);
    }
}

/// A value with every list and every object the other way round. The order in lists means
/// nothing to permissions but for arguments of functions.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().rev().map(reversed).collect()),
        Value::Object(object) => Value::Object(
            object
                .iter()
                .rev()
                .map(|(key, value)| {
                    let keeps = key.starts_with("Fn::");
                    (key.clone(), if keeps { value.clone() } else { reversed(value) })
                })
                .collect::<Object>(),
        ),
        other => other.clone(),
    }
}

#[test]
fn real_templates_permit_the_same_as_themselves_in_any_order() {
    for construct in corpus() {
        for (name, variant) in &construct.variants {
            let mut other = variant.stacks.clone();
            other.reverse();
            for stack in &mut other {
                let sections = reversed(&Value::Object(stack.template.sections.clone()));
                stack.template = template::check(sections).unwrap();
            }
            let changes = permissions(&variant.stacks, &other);
            assert_eq!(changes, [], "{} {name}", construct.name);
        }
    }
}

#[test]
fn every_permission_of_a_new_app_is_found_and_none_of_a_deleted_one_broadens() {
    let (mut added, mut texts) = (0, 0);
    for construct in corpus() {
        for variant in construct.variants.values() {
            let there = permissions(&[], &variant.stacks);
            // A resource that is retained keeps the permissions that it has.
            let gone = permissions(&variant.stacks, &[]);
            assert!(gone.len() <= there.len(), "{}", construct.name);
            assert!(there.iter().all(|change| change.added), "{}", construct.name);
            let is_odd = |change: &&PermissionChange| {
                change.text.iter().any(|cell| cell.contains("computed"))
            };
            texts += there.iter().filter(is_odd).count();
            added += there.len();
        }
    }
    assert!(added > 1000, "{added}");
    assert!(texts * 50 < added, "{texts} of {added} are not understood");
}

/// A stack as an account has it.
fn deployed(stack: &Stack) -> DeployedStack {
    let resources = stack.template.resources().map(|(id, body)| {
        let kind = body.get("Type").and_then(Value::as_str).unwrap();
        let resource = DeployedResource {
            resource_type: kind.into(),
            physical_id: Some(format!("physical-{}-{id}", stack.name).as_str().into()),
            status: "CREATE_COMPLETE".into(),
            changed_at: None,
        };
        (id.clone(), resource)
    });
    DeployedStack {
        id: format!("arn:aws:cloudformation:us-east-1:111111111111:stack/{}/1", stack.name)
            .as_str()
            .into(),
        status: StackStatus("CREATE_COMPLETE".into()),
        stack: stack.clone(),
        body: template::json::to_template(&Value::Object(stack.template.sections.clone()))
            .as_str()
            .into(),
        resources: resources.collect(),
        exports: Vec::new(),
        outputs: BTreeMap::new(),
        has_policy: false,
        options: StackOptions::default(),
    }
}

/// The deployed stacks after the moves that lead to the local ones.
fn moved(before: &[Stack], now: &[Stack]) -> Vec<Stack> {
    let comparison = compare(&environment(), before, now, &Decisions::default()).unwrap();
    let deployed = DeployedEnvironment {
        environment: environment(),
        stacks: before.iter().map(deployed).collect(),
        empty: Vec::new(),
    };
    let plan = plan(&deployed, now, &comparison, &Choices::default());
    let mut stacks: BTreeMap<String, Stack> =
        before.iter().map(|stack| (stack.name.to_string(), stack.clone())).collect();
    let mut put = |name: &str, text: &str| {
        let template = template::parse(text.as_bytes()).unwrap();
        let stack =
            stacks.entry(name.to_owned()).or_insert_with(|| Stack::new(name, Template::default()));
        stack.template = template;
    };
    for step in &plan.steps {
        match &step.action {
            Action::Change(change) => put(&change.stack, &change.template),
            Action::Refactor(batch) => {
                batch.stacks.iter().for_each(|stack| put(&stack.name, &stack.template));
            }
        }
    }
    stacks.into_values().collect()
}

/// Constructs that do get new permissions when they move: CloudFormation cannot move all of what
/// they consist of, or a policy contains the name or the ID of the stack or of the construct.
const REPLACED: [&str; 14] = [
    "build-project",
    "build-project-vpc",
    "build-reports",
    "deploy-lambda",
    "instance-init",
    "nested-stack",
    "nested-stack-twice",
    "oidc-provider",
    "pipeline-cdk",
    "pipeline-s3",
    "rds-cluster-rotation",
    "scaling-group-signals",
    "table-replicas-legacy",
    "user-pool",
];

#[test]
fn what_merely_moves_broadens_no_permission() {
    for construct in corpus() {
        if REPLACED.contains(&construct.name.as_str()) {
            continue;
        }
        for (before, after) in [("base", "rename"), ("base", "wrap"), ("moveBefore", "moveAfter")] {
            let Some((before, now)) = construct.situation(before, after) else { continue };
            let changes = permissions(&moved(&before.stacks, &now.stacks), &now.stacks);
            let broader: Vec<_> = changes.iter().filter(|change| change.broadens).collect();
            assert!(broader.is_empty(), "{} {after}: {broader:#?}", construct.name);
        }
    }
}
