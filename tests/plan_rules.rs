//! Plans of special cases, carried out by the embedded CloudFormation: the tables E and N13, N14 of
//! what goes wrong elsewhere, RFC 0162's example, large moves, swaps, borders and their exports.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod carry;
#[path = "local/mod.rs"]
mod world;

use std::collections::BTreeSet;

use carry::{Runner, deployed_from, planned, planned_with, same, sent, things};
use cdkr::local::{CreateStack, TemplateSource};
use cdkr::model::{DeployedEnvironment, Environment, Stack, Value};
use cdkr::plan::{Action, Batch, Change, Choices, Move, Past, Plan, Purpose, Severity, reverse};
use cdkr::template;
use world::{World, capabilities, world};

fn environment() -> Environment {
    Environment::new("111111111111", "us-east-1")
}

fn stack(name: &str, text: &str) -> Stack {
    Stack::new(name, template::parse(text.as_bytes()).unwrap())
}

fn stacks(all: &[(&str, &str)]) -> Vec<Stack> {
    all.iter().map(|(name, text)| stack(name, text)).collect()
}

/// The same with a value for a parameter.
fn stacks_with(all: &[(&str, &str)], (key, value): (&str, &str)) -> Vec<Stack> {
    let mut stacks = stacks(all);
    for stack in &mut stacks {
        stack.parameters.insert(key.into(), value.into());
    }
    stacks
}

/// A queue with its own delay, so that it is like no other.
fn queue(id: &str, delay: u32) -> String {
    format!(r#""{id}":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":{delay}}}}}"#)
}

fn topic(id: &str, name: &str) -> String {
    format!(r#""{id}":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":{name}}}}}"#)
}

fn resources(bodies: &[String]) -> String {
    format!(r#"{{"Resources":{{{}}}}}"#, bodies.join(","))
}

fn with(section: &str, content: &str, bodies: &[String]) -> String {
    format!(r#"{{"Resources":{{{}}},"{section}":{{{content}}}}}"#, bodies.join(","))
}

struct Case {
    world: World,
    deployed: DeployedEnvironment,
    plan: Plan,
}

fn case(deployed: &[(&str, &str)], local: &[(&str, &str)]) -> Case {
    case_with(deployed, local, &Choices::default())
}

fn case_with(before: &[(&str, &str)], local: &[(&str, &str)], choices: &Choices) -> Case {
    let world = world();
    for (name, text) in before {
        world.deploy(name, text);
    }
    let deployed = deployed_from(&world.region(), &environment());
    let (_, plan) = planned_with(&deployed, &stacks(local), choices);
    Case { world, deployed, plan }
}

impl Case {
    fn batches(&self) -> Vec<&Batch> {
        let batches = self.plan.steps.iter().filter_map(|step| match &step.action {
            Action::Refactor(batch) => Some(batch),
            Action::Change(_) => None,
        });
        batches.collect()
    }

    fn changes(&self) -> Vec<(&str, Purpose)> {
        let changes = self.plan.steps.iter().filter_map(|step| match &step.action {
            Action::Change(Change { stack, purpose, .. }) => Some((stack.as_str(), *purpose)),
            Action::Refactor(_) => None,
        });
        changes.collect()
    }

    fn moves(&self) -> Vec<Move> {
        self.plan.moves().cloned().collect()
    }

    fn stacks_of(&self, batch: usize) -> Vec<&str> {
        self.batches()[batch].stacks.iter().map(|stack| stack.name.as_str()).collect()
    }

    fn worst(&self) -> Option<Severity> {
        self.plan.findings.iter().map(|finding| finding.severity).max()
    }

    /// Carries the plan out; nothing is touched. Returns what is there then.
    fn run(&self) -> DeployedEnvironment {
        let environment = environment();
        let was = things(&self.world.region(), &self.deployed);
        let mut runner = Runner::new(&self.world.cloud, &self.world.clock, &environment);
        runner.run(&self.plan);
        let now = deployed_from(&self.world.region(), &environment);
        let mut is = things(&self.world.region(), &now);
        // Stacks that were not looked at are none of our business.
        is.retain(|_, (_, _, place)| !place.starts_with("Foreign."));
        let marks = |things: &carry::Things| -> Vec<_> {
            things.iter().map(|(key, (made, updated, _))| (key.clone(), *made, *updated)).collect()
        };
        assert_eq!(marks(&was), marks(&is));
        now
    }

    /// Carries the plan out and undoes it: the resources are what they were.
    fn run_and_undo(&self) -> DeployedEnvironment {
        let now = self.run();
        let before: Vec<Stack> =
            self.deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
        let back = reverse(
            &now,
            &self.moves(),
            Past { before: &before, sent: &sent(&self.plan), retained: &self.plan.retained() },
        );
        let environment = environment();
        let mut runner = Runner::new(&self.world.cloud, &self.world.clock, &environment);
        runner.run(&back);
        let end = deployed_from(&self.world.region(), &environment);
        for stack in &self.deployed.stacks {
            let found = end.stacks.iter().find(|other| other.id == stack.id).unwrap();
            for section in ["Resources", "Outputs"] {
                let of = |stack: &Stack| {
                    stack.template.sections.get(section).cloned().unwrap_or(Value::Null)
                };
                same(&of(&stack.stack), &of(&found.stack), section);
            }
        }
        now
    }
}

fn template_of<'a>(now: &'a DeployedEnvironment, name: &str) -> &'a cdkr::model::Template {
    &now.stacks.iter().find(|stack| stack.stack.name.as_str() == name).unwrap().stack.template
}

#[test]
fn seven_stacks_move_in_refactors_of_five() {
    let name = |number: usize| format!("S{number}");
    let before: Vec<(String, String)> = (0..7)
        .map(|n| {
            let keep = topic("Keep", &format!("\"k{n}\""));
            let user =
                topic("User", r#"{"Fn::GetAtt":["Old","QueueName"]}"#).replace("Keep", "User");
            let own = queue("Old", u32::try_from(n).unwrap() + 1);
            (name(n), resources(&[keep, user, own]))
        })
        .collect();
    // Every queue goes to the next stack; what uses it stays.
    let after: Vec<(String, String)> = (0..7)
        .map(|n| {
            let keep = topic("Keep", &format!("\"k{n}\""));
            let import = format!("Next:{n}");
            let user = topic("User", &format!(r#"{{"Fn::ImportValue":"{import}"}}"#));
            let from = (n + 6) % 7;
            let own = queue("New", u32::try_from(from).unwrap() + 1);
            let output = format!(
                r#""Out":{{"Value":{{"Fn::GetAtt":["New","QueueName"]}},"Export":{{"Name":"Next:{from}"}}}}"#
            );
            (name(n), with("Outputs", &output, &[keep, user, own]))
        })
        .collect();
    let before: Vec<(&str, &str)> = before.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let after: Vec<(&str, &str)> = after.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let case = case(&before, &after);
    assert!(case.batches().len() > 1);
    assert_eq!(case.moves().len(), 7);
    let now = case.run();
    for (name, text) in &after {
        let expected = template::parse(text.as_bytes()).unwrap();
        for section in ["Resources", "Outputs"] {
            let of =
                |template: &cdkr::model::Template| template.sections.get(section).cloned().unwrap();
            same(&of(&expected), &of(template_of(&now, name)), name);
        }
    }
}

#[test]
fn two_resources_swap_their_names_by_way_of_a_third() {
    let user = |one: &str| topic("User", &format!(r#"{{"Fn::GetAtt":["{one}","QueueName"]}}"#));
    let case = case(
        &[("A", &resources(&[queue("X", 1), queue("Y", 2), user("X")]))],
        &[("A", &resources(&[queue("Y", 1), queue("X", 2), user("Y")]))],
    );
    assert_eq!(case.batches().len(), 2);
    let net: Vec<(String, String)> =
        case.plan.net_moves().into_iter().map(|each| (each.source, each.destination)).collect();
    assert_eq!(net, [("A.X".into(), "A.Y".into()), ("A.Y".into(), "A.X".into())]);
    let now = case.run_and_undo();
    let template = template_of(&now, "A");
    let delay = |id: &str| {
        template
            .resource(id)
            .unwrap()
            .get("Properties")
            .unwrap()
            .get("DelaySeconds")
            .unwrap()
            .clone()
    };
    assert_eq!(format!("{:?} {:?}", delay("X"), delay("Y")), "Number(2) Number(1)");
}

#[test]
fn a_chain_of_names_makes_way_first() {
    let case = case(
        &[("A", &resources(&[queue("X", 1), queue("Y", 2), topic("Keep", "\"k\"")]))],
        &[("A", &resources(&[queue("Y", 1), queue("Z", 2), topic("Keep", "\"k\"")]))],
    );
    let moves: Vec<(String, String)> =
        case.moves().into_iter().map(|each| (each.source, each.destination)).collect();
    assert_eq!(moves, [("A.Y".into(), "A.Z".into()), ("A.X".into(), "A.Y".into())]);
    case.run_and_undo();
}

#[test]
fn a_place_that_is_taken_until_the_deployment_takes_nothing() {
    let case = case(
        &[("A", &resources(&[queue("X", 1), topic("Y", "\"old\"")]))],
        &[("A", &resources(&[queue("Y", 1)]))],
    );
    assert_eq!(case.plan.steps, []);
    let [staying] = case.plan.staying.as_slice() else { panic!("{:#?}", case.plan) };
    assert!(staying.reason.contains("taken by another resource"), "{}", staying.reason);
    assert!(staying.dangerous);
}

#[test]
fn what_cannot_move_stays_and_still_refers_to_what_moved() {
    let role = r#""Role":{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Statement":[]}}}"#;
    let policy = |role: &str| {
        format!(
            r#""Policy":{{"Type":"AWS::IAM::Policy","Properties":{{"PolicyName":"p","PolicyDocument":{{"Statement":[]}},"Roles":[{role}]}}}}"#
        )
    };
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let case = case(
        &[
            ("A", &resources(&[keep("a"), role.to_owned(), policy(r#"{"Ref":"Role"}"#)])),
            ("B", &resources(&[keep("b")])),
        ],
        &[
            ("A", &resources(&[keep("a")])),
            ("B", &resources(&[keep("b"), role.to_owned(), policy(r#"{"Ref":"Role"}"#)])),
        ],
    );
    let [staying] = case.plan.staying.as_slice() else { panic!("{:#?}", case.plan) };
    assert_eq!(staying.source, "A.Policy");
    assert!(!staying.dangerous && staying.reason.contains("no read handler"));
    let now = case.run_and_undo();
    let policy = template_of(&now, "A").resource("Policy").unwrap();
    assert!(format!("{policy:?}").contains("Fn::ImportValue"), "{policy:?}");
}

#[test]
fn a_resource_that_names_its_stack_stays_there_but_may_be_renamed() {
    let named = |id: &str| topic(id, r#"{"Fn::Sub":"of ${AWS::StackName}"}"#);
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let moved = case(
        &[("A", &resources(&[keep("a"), named("X")])), ("B", &resources(&[keep("b")]))],
        &[("A", &resources(&[keep("a")])), ("B", &resources(&[keep("b"), named("X")]))],
    );
    assert_eq!(moved.plan.steps, []);
    assert!(moved.plan.staying[0].reason.contains("AWS::StackName"));
    let renamed = case(&[("A", &resources(&[named("X")]))], &[("A", &resources(&[named("Y")]))]);
    assert_eq!(renamed.moves().len(), 1);
    renamed.run_and_undo();
}

#[test]
fn only_stacks_whose_templates_change_take_part() {
    let user = |name: &str| topic("User", &format!(r#"{{"Fn::ImportValue":"{name}"}}"#));
    let output = |id: &str, name: &str| {
        format!(
            r#""O":{{"Value":{{"Fn::GetAtt":["{id}","QueueName"]}},"Export":{{"Name":"{name}"}}}}"#
        )
    };
    let case = case(
        &[
            ("A", &with("Outputs", &output("X", "queue"), &[queue("X", 1)])),
            ("B", &resources(&[user("queue")])),
        ],
        &[
            ("A", &with("Outputs", &output("Y", "queue"), &[queue("Y", 1)])),
            ("B", &with("Outputs", r#""New":{"Value":"1"}"#, &[user("queue")])),
        ],
    );
    assert_eq!(case.stacks_of(0), ["A"]);
    case.run_and_undo();
}

#[test]
fn an_export_with_a_foreign_importer_stays_with_its_value() {
    let user = |name: &str| topic("User", &format!(r#"{{"Fn::ImportValue":"{name}"}}"#));
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let output = |id: &str, name: &str| {
        format!(
            r#""O":{{"Value":{{"Fn::GetAtt":["{id}","QueueName"]}},"Export":{{"Name":"{name}"}}}}"#
        )
    };
    let world = world();
    world.deploy("A", &with("Outputs", &output("X", "A:x"), &[keep("a"), queue("X", 1)]));
    world.deploy("B", &resources(&[keep("b")]));
    world.deploy("Foreign", &resources(&[user("A:x")]));
    let mut deployed = deployed_from(&world.region(), &environment());
    // The foreign stack is not one of those that are compared.
    deployed.stacks.retain(|stack| stack.stack.name.as_str() != "Foreign");
    let local = stacks(&[
        ("A", &resources(&[keep("a")])),
        ("B", &with("Outputs", &output("X", "B:x"), &[keep("b"), queue("X", 1)])),
    ]);
    let (_, plan) = planned(&deployed, &local);
    let note = plan.findings.iter().find(|f| f.severity == Severity::Note).unwrap();
    assert!(note.message.contains("Foreign"), "{}", note.message);
    let case = Case { world, deployed, plan };
    case.run();
    let exports = case.world.region().list_exports(None).unwrap().items;
    let value =
        |name: &str| exports.iter().find(|export| export.name == name).unwrap().value.clone();
    assert_eq!(value("A:x"), value("B:x"));
}

#[test]
fn the_stacks_of_rfc_0162_come_into_being_and_the_old_one_keeps_a_filler() {
    let bucket = r#""Bucket":{"Type":"AWS::S3::Bucket","Properties":{"BucketName":{"Fn::Sub":"site-${AWS::AccountId}"}}}"#;
    let distribution = |bucket: &str| topic("Distribution", bucket);
    let function = queue("Function", 7);
    let export = r#""O":{"Value":{"Fn::GetAtt":["Bucket","Arn"]},"Export":{"Name":"Web:bucket"}}"#;
    let case = case(
        &[(
            "MyStack",
            &resources(&[
                bucket.to_owned(),
                distribution(r#"{"Fn::GetAtt":["Bucket","Arn"]}"#),
                function.clone(),
            ]),
        )],
        &[
            ("Web", &with("Outputs", export, &[bucket.to_owned()])),
            (
                "Service",
                &resources(&[distribution(r#"{"Fn::ImportValue":"Web:bucket"}"#), function]),
            ),
        ],
    );
    assert_eq!(case.changes(), [("MyStack", Purpose::Fill)]);
    assert_eq!(case.stacks_of(0), ["MyStack", "Service", "Web"]);
    let new: Vec<_> = case.batches()[0].stacks.iter().map(|stack| stack.id.is_none()).collect();
    assert_eq!(new, [false, true, true]);
    assert!(case.plan.findings.iter().any(|f| f.message.contains("nothing but a filler")));
    let now = case.run_and_undo();
    same(
        &Value::Object(
            template::parse(with("Outputs", export, &[bucket.to_owned()]).as_bytes())
                .unwrap()
                .sections,
        ),
        &Value::Object(template_of(&now, "Web").sections.clone()),
        "Web",
    );
}

#[test]
fn conditions_mappings_and_parameters_go_ahead_of_a_resource() {
    let sections = r#""Parameters":{"Stage":{"Type":"String","Default":"dev"}},"Conditions":{"IsDev":{"Fn::Equals":[{"Ref":"Stage"},"test"]}},"Mappings":{"M":{"a":{"b":"5"}}}"#;
    let own = r#""X":{"Type":"AWS::SQS::Queue","Condition":"IsDev","Properties":{"DelaySeconds":{"Fn::FindInMap":["M","a","b"]},"QueueName":{"Fn::Sub":"q-${Stage}"}}}"#;
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let text =
        |bodies: &[String]| format!(r#"{{"Resources":{{{}}},{sections}}}"#, bodies.join(","));
    for exists in [true, false] {
        let world = world();
        world
            .region()
            .create_stack(&CreateStack {
                name: "A".to_owned(),
                template: TemplateSource::body(&text(&[keep("a"), own.to_owned()])),
                capabilities: capabilities(),
                parameters: vec![cdkr::local::ParameterInput {
                    key: "Stage".to_owned(),
                    value: Some("test".to_owned()),
                    use_previous: false,
                }],
                ..CreateStack::default()
            })
            .unwrap();
        if exists {
            world.deploy("B", &resources(&[keep("b")]));
        }
        let deployed = deployed_from(&world.region(), &environment());
        let local = [("A", &*resources(&[keep("a")])), ("B", &*text(&[keep("b"), own.to_owned()]))];
        let local = stacks_with(&local, ("Stage", "test"));
        let (_, plan) = planned(&deployed, &local);
        let case = Case { world, deployed, plan };
        let first = if exists { Purpose::Prepare } else { Purpose::Create };
        assert_eq!(case.changes(), [("B", first), ("B", Purpose::RemoveFiller)]);
        let now = case.run();
        assert!(template_of(&now, "B").resource("X").is_some());
        assert_eq!(case.world.id("B", "X").rsplit('/').next(), Some("q-test"));
    }
}

#[test]
fn a_parameter_with_another_value_is_refused_with_a_remedy() {
    let text = |bodies: &[String], value: &str| {
        format!(
            r#"{{"Resources":{{{}}},"Parameters":{{"P":{{"Type":"String","Default":"{value}"}}}}}}"#,
            bodies.join(",")
        )
    };
    let own = topic("X", r#"{"Ref":"P"}"#);
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let world = world();
    world.deploy("A", &text(&[keep("a"), own.clone()], "1"));
    world.deploy("B", &text(&[keep("b")], "2"));
    let deployed = deployed_from(&world.region(), &environment());
    let local = [("A", &*text(&[keep("a")], "1")), ("B", &*text(&[keep("b"), own], "1"))];
    let (_, plan) = planned(&deployed, &stacks_with(&local, ("P", "1")));
    let case = Case { world, deployed, plan };
    assert!(case.plan.is_refused(), "{:#?}", case.plan);
    assert!(case.plan.findings[0].message.contains("parameter `P`"));
    assert!(case.plan.findings[0].remedy.contains("Deploy B"));
}

#[test]
fn characters_that_are_not_given_back_are_sent_as_they_were() {
    let named = |id: &str| topic(id, "\"Größe\"");
    let other = topic("Other", "\"Übung\"");
    let case = case(
        &[("A", &resources(&[named("X"), other.clone()]))],
        &[("A", &resources(&[named("Y"), other]))],
    );
    let sent = &case.batches()[0].stacks[0].template;
    assert!(sent.contains("Größe") && sent.contains("Übung"), "{sent}");
    assert_eq!(case.worst(), None);
    case.run();
}

#[test]
fn a_question_mark_that_nobody_can_explain_is_told() {
    let case = case(
        &[("A", &resources(&[queue("X", 1), topic("Gone", "\"Größe\"")]))],
        &[("A", &resources(&[queue("Y", 1)]))],
    );
    assert_eq!(case.worst(), Some(Severity::Warning));
    assert_eq!(case.plan.findings[0].resource.as_deref(), Some("Gone"));
    case.run();
}

#[test]
fn what_forbids_a_refactor_is_found_before_anything_is_done() {
    let world = world();
    world.deploy("A", &resources(&[queue("X", 1)]));
    world.region().set_stack_policy("A", r#"{"Statement":[]}"#).unwrap();
    let mut deployed = deployed_from(&world.region(), &environment());
    let local = stacks(&[("A", &resources(&[queue("Y", 1)]))]);
    let (_, plan) = planned(&deployed, &local);
    assert!(plan.is_refused() && plan.findings[0].message.contains("stack policy"));
    deployed.stacks[0].has_policy = false;
    deployed.stacks[0].status = cdkr::model::StackStatus("UPDATE_ROLLBACK_FAILED".into());
    let (_, plan) = planned(&deployed, &local);
    assert!(plan.is_refused() && plan.findings[0].message.contains("UPDATE_ROLLBACK_FAILED"));
    deployed.stacks[0].status = cdkr::model::StackStatus("UPDATE_COMPLETE".into());
    deployed.empty.push(("B".into(), cdkr::model::StackStatus("REVIEW_IN_PROGRESS".into())));
    let local = stacks(&[("B", &resources(&[queue("X", 1)]))]);
    let (_, plan) = planned(&deployed, &local);
    assert!(plan.is_refused() && plan.findings[0].remedy.contains("Delete the stack B"));
    deployed.environment = Environment::new("111111111111", "mx-central-1");
    deployed.empty.clear();
    let (_, plan) = planned(&deployed, &local);
    assert!(
        plan.findings
            .iter()
            .any(|f| f.severity == Severity::Warning && f.message.contains("mx-central-1"))
    );
}

#[test]
fn a_template_with_macros_takes_no_part() {
    let macros = |bodies: &[String]| {
        format!(
            r#"{{"Transform":"AWS::Serverless-2016-10-31","Resources":{{{}}}}}"#,
            bodies.join(",")
        )
    };
    let world = world();
    world.deploy("A", &resources(&[queue("X", 1)]));
    let mut deployed = deployed_from(&world.region(), &environment());
    deployed.stacks[0].stack = stack("A", &macros(&[queue("X", 1)]));
    let (_, plan) = planned(&deployed, &stacks(&[("A", &macros(&[queue("Y", 1)]))]));
    assert_eq!(plan.steps, []);
    assert!(plan.staying[0].reason.contains("macros"), "{:#?}", plan.staying);
}

#[test]
fn the_order_of_the_input_says_nothing() {
    let keep = |name: &str| topic("Keep", &format!("\"{name}\""));
    let user = topic("User", r#"{"Fn::GetAtt":["X","QueueName"]}"#);
    let case = case(
        &[
            ("A", &resources(&[keep("a"), queue("X", 1), user.clone()])),
            ("B", &resources(&[keep("b")])),
            ("C", &resources(&[queue("Q", 3)])),
        ],
        &[
            ("A", &resources(&[keep("a")])),
            ("B", &resources(&[keep("b"), queue("X", 1), user.clone()])),
            ("C", &resources(&[queue("R", 3)])),
        ],
    );
    let mut reversed = case.deployed.clone();
    reversed.stacks.reverse();
    let local = stacks(&[
        ("C", &resources(&[queue("R", 3)])),
        ("B", &resources(&[user, queue("X", 1), keep("b")])),
        ("A", &resources(&[keep("a")])),
    ]);
    let (_, plan) = planned(&reversed, &local);
    assert_eq!(plan, case.plan);
    let independent: BTreeSet<usize> = plan.steps.iter().map(|step| step.after.len()).collect();
    assert_eq!(independent, BTreeSet::from([0]));
}

fn keep(name: &str) -> String {
    topic("Keep", &format!("\"{name}\""))
}

#[test]
fn types_that_cannot_move_stay_with_what_that_means() {
    let all = |suffix: &str| {
        let bodies = [
            ("Method", "AWS::ApiGateway::Method", r#""HttpMethod":"GET""#),
            ("Record", "AWS::Route53::RecordSet", r#""Name":"a.example.com","Type":"A""#),
            (
                "Custom",
                "Custom::Thing",
                r#""ServiceToken":"arn:aws:lambda:us-east-1:111111111111:function:f""#,
            ),
            ("Launch", "AWS::EC2::LaunchTemplate", r#""LaunchTemplateName":"l""#),
            (
                "Table",
                "AWS::DynamoDB::GlobalTable",
                r#""TableName":"t","AttributeDefinitions":[],"KeySchema":[],"Replicas":[]"#,
            ),
            ("Queue", "AWS::SQS::Queue", r#""DelaySeconds":9"#),
        ];
        let body = |(id, kind, properties): (&str, &str, &str)| {
            format!(r#""{id}{suffix}":{{"Type":"{kind}","Properties":{{{properties}}}}}"#)
        };
        resources(&bodies.map(body))
    };
    let case = case(&[("A", &all("Old"))], &[("A", &all("New"))]);
    assert_eq!(case.moves().len(), 1);
    let staying: Vec<(&str, bool)> =
        case.plan.staying.iter().map(|one| (one.source.as_str(), one.dangerous)).collect();
    assert_eq!(
        staying,
        [
            ("A.CustomOld", false),
            ("A.LaunchOld", false),
            ("A.MethodOld", false),
            ("A.RecordOld", false),
            ("A.TableOld", true)
        ]
    );
    case.run_and_undo();
}

#[test]
fn what_the_service_refused_stays_and_the_rest_moves() {
    let refused = cdkr::plan::Refused::Type("AWS::SNS::Topic".into());
    let choices = Choices {
        refused: [(refused, "Stack Refactor does not support it.".to_owned())].into(),
        ..Choices::default()
    };
    let case = case_with(
        &[("A", &resources(&[queue("X", 1), topic("T", "\"t\"")]))],
        &[("A", &resources(&[queue("Y", 1), topic("U", "\"t\"")]))],
        &choices,
    );
    assert_eq!(case.moves().len(), 1);
    assert!(case.plan.staying[0].reason.contains("does not support it"));
}

#[test]
fn new_parameters_mappings_and_outputs_wait_for_the_deployment() {
    let after = format!(
        r#"{{"Resources":{{{}}},"Parameters":{{"P":{{"Type":"String","Default":"x"}}}},"Mappings":{{"M":{{"a":{{"b":"c"}}}}}},"Outputs":{{"O":{{"Value":"1"}}}}}}"#,
        queue("Y", 1)
    );
    let case = case(&[("A", &resources(&[queue("X", 1)]))], &[("A", &after)]);
    let now = case.run_and_undo();
    let sections: Vec<&str> =
        template_of(&now, "A").sections.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(sections, ["Resources"]);
}

#[test]
fn the_metadata_of_the_cdk_stays_as_it_is_deployed_and_keeps_a_stack_from_being_empty() {
    let metadata = |analytics: &str| {
        format!(
            r#""CDKMetadata":{{"Type":"AWS::CDK::Metadata","Condition":"Here","Properties":{{"Analytics":"{analytics}"}}}}"#
        )
    };
    let here = r#""Here":{"Fn::Equals":[{"Ref":"AWS::Region"},"us-east-1"]}"#;
    let case = case(
        &[
            ("A", &with("Conditions", here, &[queue("X", 1), metadata("old")])),
            ("B", &with("Conditions", here, &[keep("b"), metadata("old")])),
        ],
        &[
            ("A", &with("Conditions", here, &[metadata("new")])),
            ("B", &resources(&[keep("b"), queue("X", 1)])),
        ],
    );
    assert_eq!(case.changes(), []);
    let now = case.run_and_undo();
    for name in ["A", "B"] {
        let metadata = template_of(&now, name).resource("CDKMetadata").unwrap();
        assert!(format!("{metadata:?}").contains("old"));
    }
}

#[test]
fn a_reference_in_a_text_crosses_a_border_and_comes_back() {
    let user = |bucket: &str| {
        topic(
            "User",
            &format!(
                r#"{{"Fn::Sub":"a-${{{bucket}.QueueName}}-${{!X.QueueName}}-${{AWS::Region}}"}}"#
            ),
        )
    };
    let case = case(
        &[("A", &resources(&[user("X"), queue("X", 1)])), ("B", &resources(&[keep("b")]))],
        &[
            ("A", &resources(&[topic("User", "\"other\"")])),
            ("B", &resources(&[keep("b"), queue("X", 1)])),
        ],
    );
    let sent = &case.batches()[0].stacks[0].template;
    assert!(sent.contains("a-${CdkrXQueueName}-${!X.QueueName}-${AWS::Region}"), "{sent}");
    assert!(sent.contains("B:ExportsOutputFnGetAttXQueueName"), "{sent}");
    case.run_and_undo();
}

#[test]
fn a_stack_that_is_not_ready_is_not_taken_along_for_its_imports() {
    let user = |name: &str| topic("User", &format!(r#"{{"Fn::ImportValue":"{name}"}}"#));
    let output = |id: &str, name: &str| {
        format!(
            r#""{id}Out":{{"Value":{{"Fn::GetAtt":["{id}","QueueName"]}},"Export":{{"Name":"{name}"}}}}"#
        )
    };
    let world = world();
    world.deploy("A", &with("Outputs", &output("X", "A:x"), &[queue("X", 1)]));
    world.deploy("B", &resources(&[user("A:x")]));
    let local = stacks(&[
        ("A", &with("Outputs", &output("Y", "A:y"), &[queue("Y", 1)])),
        ("B", &resources(&[user("A:y")])),
    ]);
    let mut deployed = deployed_from(&world.region(), &environment());
    let (_, plan) = planned(&deployed, &local);
    let names = |plan: &Plan| -> Vec<String> {
        let Action::Refactor(batch) = &plan.steps[0].action else { panic!("{plan:#?}") };
        batch.stacks.iter().map(|stack| stack.name.clone()).collect()
    };
    assert_eq!(names(&plan), ["A", "B"]);
    deployed.stacks[1].has_policy = true;
    let (_, plan) = planned(&deployed, &local);
    assert!(!plan.is_refused());
    assert_eq!(names(&plan), ["A"]);
    Case { world, deployed, plan }.run_and_undo();
}

#[test]
fn who_reads_an_output_that_is_exported_follows_it_and_comes_back() {
    let user = |stack: &str| {
        let read = format!(
            r#"{{"Fn::GetStackOutput":{{"StackName":"{stack}","OutputName":"{stack}Out"}}}}"#
        );
        let import = format!(r#"{{"Fn::ImportValue":"{stack}:x"}}"#);
        resources(&[topic("Reads", &read), topic("Imports", &import)])
    };
    let home = |stack: &str| {
        let output = format!(
            r#""{stack}Out":{{"Value":{{"Fn::GetAtt":["X","QueueName"]}},"Export":{{"Name":"{stack}:x"}}}}"#
        );
        with("Outputs", &output, &[keep(stack), queue("X", 1)])
    };
    let case = case(
        &[("A", &home("A")), ("B", &resources(&[keep("B")])), ("C", &user("A"))],
        &[("A", &resources(&[keep("A")])), ("B", &home("B")), ("C", &user("B"))],
    );
    let now = case.run_and_undo();
    let expected = template::parse(user("B").as_bytes()).unwrap();
    let of =
        |template: &cdkr::model::Template| template.sections.get("Resources").cloned().unwrap();
    same(&of(&expected), &of(template_of(&now, "C")), "C");
}
