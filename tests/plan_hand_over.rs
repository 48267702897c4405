//! What cannot move and is made anew by the deployment, where it is the same thing: it has to be
//! there after every step, whichever stack is deployed first, and in the end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carry;
#[path = "local/mod.rs"]
mod world;

use carry::{Runner, deployed_from, planned, same, sent};
use cdkr::local::DeleteStack;
use cdkr::model::{DeployedEnvironment, Environment, Object, Stack, Template, Value};
use cdkr::plan::{Action, HandOver, Move, Past, Plan, Purpose, Severity, Staying, reverse};
use cdkr::template::{self, json};
use world::{World, world};

const ROLE: &str = r#""Role":{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Statement":[]}}}"#;
const POLICY: &str = "AWS::IAM::Policy";

fn environment() -> Environment {
    Environment::new("111111111111", "us-east-1")
}

fn policy(id: &str, name: &str, role: &str) -> String {
    format!(
        r#""{id}":{{"Type":"AWS::IAM::Policy","Properties":{{"PolicyName":"{name}","PolicyDocument":{{"Statement":["{name}"]}},"Roles":[{role}]}}}}"#
    )
}

fn topic(id: &str, name: &str) -> String {
    format!(r#""{id}":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":"{name}"}}}}"#)
}

fn resources(bodies: &[&str]) -> String {
    format!(r#"{{"Resources":{{{}}}}}"#, bodies.join(","))
}

fn parsed(text: &str) -> Template {
    template::parse(text.as_bytes()).unwrap()
}

struct Case {
    world: World,
    deployed: DeployedEnvironment,
    plan: Plan,
}

fn case(before: &[(&str, &str)], local: &[(&str, &str)]) -> Case {
    let world = world();
    for (name, text) in before {
        world.deploy(name, text);
    }
    let deployed = deployed_from(&world.region(), &environment());
    let local: Vec<Stack> =
        local.iter().map(|(name, text)| Stack::new(name, parsed(text))).collect();
    let (_, plan) = planned(&deployed, &local);
    Case { world, deployed, plan }
}

impl Case {
    fn changes(&self) -> Vec<(&str, Purpose, Vec<&str>)> {
        let changes = self.plan.steps.iter().filter_map(|step| match &step.action {
            Action::Change(change) => Some((
                change.stack.as_str(),
                change.purpose,
                change.retained.iter().map(String::as_str).collect(),
            )),
            Action::Refactor(_) => None,
        });
        changes.collect()
    }

    fn staying(&self, source: &str) -> &Staying {
        let found = self.plan.staying.iter().find(|one| one.source == source);
        found.unwrap_or_else(|| panic!("{:#?}", self.plan))
    }

    fn run(&self) -> DeployedEnvironment {
        let environment = environment();
        let mut runner = Runner::new(&self.world.cloud, &self.world.clock, &environment);
        runner.run(&self.plan);
        deployed_from(&self.world.region(), &environment)
    }

    /// Carries the plan out and undoes it, from the templates as they then are.
    fn run_and_undo(&self) {
        let now = self.run();
        let before: Vec<Stack> =
            self.deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
        let moves: Vec<Move> = self.plan.moves().cloned().collect();
        let (sent, retained) = (sent(&self.plan), self.plan.retained());
        let past = Past { before: &before, sent: &sent, retained: &retained };
        let back = reverse(&now, &moves, past);
        let environment = environment();
        Runner::new(&self.world.cloud, &self.world.clock, &environment).run(&back);
        let end = deployed_from(&self.world.region(), &environment);
        for (old, new) in self.deployed.stacks.iter().zip(&end.stacks) {
            let value = |stack: &Stack| Value::Object(stack.template.sections.clone());
            same(&value(&old.stack), &value(&new.stack), old.stack.name.as_str());
        }
    }

    /// The physical IDs of everything of a type.
    fn things(&self, kind: &str) -> Vec<String> {
        let found = self.world.region().physical_resources(kind).unwrap();
        found.into_iter().map(|thing| thing.physical_id).collect()
    }

    /// Deploys stacks one after the other; the things of a type are the same after each.
    fn deploy(&self, kind: &str, stacks: &[(&str, &str)]) {
        let things = self.things(kind);
        assert!(!things.is_empty());
        for (name, text) in stacks {
            self.world.deploy(name, text);
            assert_eq!(self.things(kind), things, "after the deployment of {name}");
            let told = self.world.region().describe_stack_events(name, None).unwrap().items;
            let gone = |event: &&cdkr::local::StackEvent| {
                event.resource_type == kind && event.status.starts_with("DELETE_IN")
            };
            assert_eq!(told.iter().find(gone).map(|event| &event.logical_id), None);
        }
    }

    /// A template with the outputs that its stack has, since they are still imported.
    fn with_exports(&self, name: &str, text: &str) -> String {
        let mut template = parsed(text);
        let now = deployed_from(&self.world.region(), &environment());
        let stack = now.stacks.iter().find(|stack| stack.stack.name.as_str() == name).unwrap();
        if let Some(outputs) = stack.stack.template.section("Outputs") {
            template.sections.insert("Outputs".into(), Value::Object(outputs.clone()));
        }
        json::to_template(&Value::Object(template.sections))
    }
}

fn policy_of<'t>(now: &'t DeployedEnvironment, stack: &str, id: &str) -> &'t Object {
    let found = now.stacks.iter().find(|other| other.stack.name.as_str() == stack).unwrap();
    found.stack.template.resource(id).unwrap()
}

/// A role and its inline policy go to another stack.
fn to_another_stack() -> (Case, String, String) {
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let own = policy("Policy", "PolicyA1", r#"{"Ref":"Role"}"#);
    let (a, b) = (resources(&[&here]), resources(&[&there, ROLE, &own]));
    let before = [("A", &*resources(&[&here, ROLE, &own])), ("B", &*resources(&[&there]))];
    let case = case(&before, &[("A", &a), ("B", &b)]);
    (case, a, b)
}

#[test]
fn a_policy_that_follows_its_role_to_another_stack_is_there_at_every_moment() {
    for old_first in [true, false] {
        let (case, a, b) = to_another_stack();
        assert_eq!(case.changes(), [("A", Purpose::Retain, vec!["Policy"])]);
        let staying = case.staying("A.Policy");
        assert_eq!(staying.hand_over, HandOver::Retained);
        assert_eq!(staying.names["PolicyName"], "PolicyA1");
        assert!(staying.physical_id.is_some());
        let now = case.run();
        assert_eq!(policy_of(&now, "A", "Policy").get("DeletionPolicy"), Some(&"Retain".into()));
        if old_first {
            case.deploy(POLICY, &[("A", &a), ("B", &b)]);
        } else {
            let with_exports = case.with_exports("B", &b);
            case.deploy(POLICY, &[("B", &with_exports), ("A", &a), ("B", &b)]);
        }
        let thing = case.world.thing("B", "Policy");
        assert_eq!(thing.logical_id.as_deref(), Some("Policy"));
    }
}

#[test]
fn a_policy_of_a_name_of_its_own_that_is_renamed_in_its_stack_is_there_in_the_end() {
    let of = |id: &str| resources(&[ROLE, &policy(id, "Fixed", r#"{"Ref":"Role"}"#)]);
    let case = case(&[("A", &of("Old"))], &[("A", &of("New"))]);
    assert_eq!(case.changes(), [("A", Purpose::Retain, vec!["Old"])]);
    assert_eq!(case.plan.moves().count(), 0);
    case.run();
    case.deploy(POLICY, &[("A", &of("New"))]);
    assert!(case.world.thing("A", "New").stack_id.is_some());
}

#[test]
fn a_policy_that_gets_another_name_is_another_policy() {
    let of = |id: &str| resources(&[ROLE, &policy(id, id, r#"{"Ref":"Role"}"#)]);
    let case = case(&[("A", &of("Old"))], &[("A", &of("New"))]);
    assert_eq!(case.plan.steps, []);
    assert!(case.plan.staying.iter().all(|one| one.hand_over == HandOver::None));
}

#[test]
fn a_stack_that_the_app_does_not_have_any_more_can_be_deleted_without_a_loss() {
    let own = policy("Policy", "PolicyA1", r#"{"Ref":"Role"}"#);
    let text = resources(&[&topic("Keep", "k"), ROLE, &own]);
    let case = case(&[("Old", &text)], &[("New", &text)]);
    assert_eq!(case.changes(), [("Old", Purpose::Retain, vec!["Policy"])]);
    case.run();
    let with_exports = case.with_exports("New", &text);
    case.deploy(POLICY, &[("New", &with_exports)]);
    let things = case.things(POLICY);
    let delete = DeleteStack { name: "Old".to_owned(), ..DeleteStack::default() };
    case.world.region().delete_stack(&delete).unwrap();
    assert!(!case.world.region().stack_exists("Old").unwrap());
    assert_eq!(case.things(POLICY), things);
    case.deploy(POLICY, &[("New", &text)]);
}

#[test]
fn two_policies_of_a_stack_are_retained_by_one_change() {
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let (one, two) =
        (policy("One", "One1", r#"{"Ref":"Role"}"#), policy("Two", "Two1", r#"{"Ref":"Role"}"#));
    let case = case(
        &[("A", &resources(&[&here, ROLE, &one, &two])), ("B", &resources(&[&there]))],
        &[("A", &resources(&[&here])), ("B", &resources(&[&there, ROLE, &one, &two]))],
    );
    assert_eq!(case.changes(), [("A", Purpose::Retain, vec!["One", "Two"])]);
    case.run_and_undo();
}

#[test]
fn the_filler_of_a_preparation_goes_with_the_retention() {
    let own = policy("Policy", "PolicyA1", r#"{"Ref":"Role"}"#);
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let mapped = r#""Q":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":{"Fn::FindInMap":["M","a","b"]}}}"#;
    let with = |bodies: &[&str]| {
        format!(
            r#"{{"Mappings":{{"M":{{"a":{{"b":"5"}}}}}},"Resources":{{{}}}}}"#,
            bodies.join(",")
        )
    };
    let case = case(
        &[("A", &resources(&[&here, ROLE, &own])), ("B", &with(&[&there, mapped]))],
        &[("A", &with(&[&here, mapped])), ("B", &resources(&[&there, ROLE, &own]))],
    );
    assert_eq!(
        case.changes(),
        [("A", Purpose::Prepare, vec![]), ("A", Purpose::Retain, vec!["Policy"])]
    );
    let now = case.run();
    let stack = now.stacks.iter().find(|stack| stack.stack.name.as_str() == "A").unwrap();
    let ids: Vec<&str> = stack.stack.template.resources().map(|(id, _)| id.as_str()).collect();
    assert!(!ids.iter().any(|id| id.starts_with("Cdkr")), "{ids:?}");
}

#[test]
fn a_retention_is_taken_back_with_the_moves() {
    to_another_stack().0.run_and_undo();
}

#[test]
fn only_our_own_retention_is_taken_back() {
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let own = policy("Policy", "PolicyA1", r#"{"Ref":"Role"}"#);
    let kept = own.replacen("\"Properties\"", "\"DeletionPolicy\":\"Retain\",\"Properties\"", 1);
    let case = case(
        &[("A", &resources(&[&here, ROLE, &kept])), ("B", &resources(&[&there]))],
        &[("A", &resources(&[&here])), ("B", &resources(&[&there, ROLE, &kept]))],
    );
    assert_eq!(case.changes(), []);
    assert_eq!(case.staying("A.Policy").hand_over, HandOver::Retained);
    case.run_and_undo();
}

#[test]
fn a_policy_of_a_role_that_is_made_anew_is_deleted_with_the_old_role() {
    let role = ROLE.replace("[]", r#"[{"Ref":"AWS::StackName"}]"#);
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let own = policy("Policy", "PolicyA1", r#"{"Ref":"Role"}"#);
    let case = case(
        &[("A", &resources(&[&here, &role, &own])), ("B", &resources(&[&there]))],
        &[("A", &resources(&[&here])), ("B", &resources(&[&there, &role, &own]))],
    );
    assert_eq!(case.staying("A.Policy").hand_over, HandOver::None);
    assert_eq!(case.changes(), []);
}

#[test]
fn a_policy_on_a_role_of_a_stack_that_is_not_part_of_the_app_is_retained() {
    let platform = format!(
        r#"{{"Resources":{{{ROLE}}},"Outputs":{{"O":{{"Value":{{"Ref":"Role"}},"Export":{{"Name":"role"}}}}}}}}"#
    );
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let own = policy("Policy", "PolicyA1", r#"{"Fn::ImportValue":"role"}"#);
    let (a, b) = (resources(&[&here]), resources(&[&there, &own]));
    for old_first in [true, false] {
        let case = case(
            &[
                ("Platform", &platform),
                ("A", &resources(&[&here, &own])),
                ("B", &resources(&[&there])),
            ],
            &[("A", &a), ("B", &b)],
        );
        assert_eq!(case.changes(), [("A", Purpose::Retain, vec!["Policy"])]);
        case.run();
        let mut order = [("A", &*a), ("B", &*b)];
        if !old_first {
            order.reverse();
        }
        case.deploy(POLICY, &order);
    }
}

#[test]
fn policies_of_queues_and_topics_are_there_at_every_moment() {
    let queue = r#""Queue":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":7}}"#;
    let own = r#""OfQueue":{"Type":"AWS::SQS::QueuePolicy","Properties":{"PolicyDocument":{"Statement":[]},"Queues":[{"Ref":"Queue"}]}},"OfTopic":{"Type":"AWS::SNS::TopicPolicy","Properties":{"PolicyDocument":{"Statement":[]},"Topics":[{"Ref":"Mine"}]}}"#;
    let (here, there, mine) = (topic("Here", "h"), topic("There", "t"), topic("Mine", "m"));
    let (a, b) = (resources(&[&here]), resources(&[&there, queue, &mine, own]));
    for kind in ["AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy"] {
        let case = case(
            &[("A", &resources(&[&here, queue, &mine, own])), ("B", &resources(&[&there]))],
            &[("A", &a), ("B", &b)],
        );
        assert_eq!(case.changes(), [("A", Purpose::Retain, vec!["OfQueue", "OfTopic"])]);
        case.run();
        let with_exports = case.with_exports("B", &b);
        case.deploy(kind, &[("B", &with_exports), ("A", &a), ("B", &b)]);
    }
}

#[test]
fn the_custom_resource_that_empties_a_bucket_is_not_deleted_while_the_bucket_is_there() {
    let bucket = |name: &str| {
        format!(
            r#""Bucket":{{"Type":"AWS::S3::Bucket","Properties":{{"Tags":[{{"Key":"of","Value":{name}}}]}}}}"#
        )
    };
    let own = r#""Empty":{"Type":"Custom::S3AutoDeleteObjects","Properties":{"ServiceToken":"arn:aws:lambda:us-east-1:111111111111:function:f","BucketName":{"Ref":"Bucket"}}}"#;
    let (here, there) = (topic("Here", "here"), topic("There", "there"));
    let plan = |bucket: &str| {
        case(
            &[("A", &resources(&[&here, bucket, own])), ("B", &resources(&[&there]))],
            &[("A", &resources(&[&here])), ("B", &resources(&[&there, bucket, own]))],
        )
    };
    let moves = plan(&bucket("\"x\""));
    assert_eq!(moves.changes(), [("A", Purpose::Retain, vec!["Empty"])]);
    moves.run_and_undo();
    // A bucket that does not move is emptied, so that the old stack can delete it.
    let stays = plan(&bucket(r#"{"Ref":"AWS::StackName"}"#));
    assert_eq!(stays.staying("A.Empty").hand_over, HandOver::None);
    assert_eq!(stays.changes(), []);
}

#[test]
fn what_cannot_be_created_while_it_exists_is_said() {
    let record = |id: &str, name: &str| {
        format!(
            r#""{id}":{{"Type":"AWS::Route53::RecordSet","Properties":{{"Name":"{name}","Type":"A","HostedZoneId":"Z1"}}}}"#
        )
    };
    let of = |id: &str| resources(&[&topic("Keep", "k"), &record(id, "a.example.com.")]);
    let case = case(&[("A", &of("Old"))], &[("A", &of("New"))]);
    assert_eq!(case.plan.steps, []);
    let staying = case.staying("A.Old");
    assert_eq!(staying.hand_over, HandOver::Exclusive);
    assert_eq!(staying.names["Name"], "a.example.com.");
    let [finding] = case.plan.findings.as_slice() else { panic!("{:#?}", case.plan) };
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("cannot create `A.New` while `A.Old` exists"));
    assert!(finding.message.contains("Name `a.example.com.`"), "{}", finding.message);
}

#[test]
fn nothing_is_planned_twice() {
    let (case, a, b) = to_another_stack();
    let now = case.run();
    let local = [Stack::new("A", parsed(&a)), Stack::new("B", parsed(&b))];
    assert_eq!(planned(&now, &local).1.steps, []);
}
