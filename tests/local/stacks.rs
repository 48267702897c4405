//! Creation, change and deletion of stacks.

use cdkr::local::{
    CreateStack, DeleteStack, Faults, ParameterInput, ResourceFault, TemplateSource, TemplateStage,
    UpdateStack,
};

use crate::world::*;

fn delete(world: &World, name: &str) {
    world
        .region()
        .delete_stack(&DeleteStack { name: name.to_owned(), ..DeleteStack::default() })
        .unwrap();
}

fn failing(world: &World, logical_id: &str) {
    let fault = ResourceFault {
        logical_id: Some(logical_id.to_owned()),
        message: "no luck".to_owned(),
        ..ResourceFault::default()
    };
    world.region().arm(&Faults { resources: vec![fault], ..Faults::default() }).unwrap();
}

#[test]
fn a_stack_is_created_with_values_for_everything() {
    let world = world();
    world.deploy(
        "Shop",
        &with_outputs(
            r#""Queue":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":{"Fn::Sub":"${AWS::StackName}-q"}}},
               "Policy":{"Type":"AWS::SQS::QueuePolicy","Properties":{"Queues":[{"Ref":"Queue"}]}}"#,
            r#""Arn":{"Value":{"Fn::GetAtt":["Queue","Arn"]},"Export":{"Name":"q"}}"#,
        ),
    );
    assert_eq!(world.output("Shop", "Arn"), "arn:aws:sqs:us-east-1:111111111111:Shop-q");
    let policy = world.thing("Shop", "Policy");
    assert_eq!(
        policy.properties["Queues"][0],
        "https://sqs.us-east-1.amazonaws.com/111111111111/Shop-q"
    );
    let exports = world.region().list_exports(None).unwrap().items;
    assert_eq!(exports[0].value, "arn:aws:sqs:us-east-1:111111111111:Shop-q");
    assert_eq!(world.history("Shop", "Shop"), ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]);
    assert_eq!(
        world.history("Shop", "Queue"),
        ["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    );
}

#[test]
fn the_states_of_an_operation_can_be_seen_if_it_takes_time() {
    let world = slow_world();
    world.create("Shop", &template(QUEUE)).unwrap();
    assert_eq!(world.status("Shop"), "CREATE_IN_PROGRESS");
    assert!(
        message(world.update("Shop", &template(TOPIC))).ends_with("state and can not be updated.")
    );
    world.clock.advance(1000);
    assert_eq!(world.status("Shop"), "CREATE_COMPLETE");
    world.update("Shop", &template(TOPIC)).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_IN_PROGRESS");
    world.clock.advance(1000);
    assert_eq!(world.status("Shop"), "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS");
    world.clock.advance(1000);
    assert_eq!(world.status("Shop"), "UPDATE_COMPLETE");
    assert_eq!(world.history("Shop", "Queue").last().unwrap(), "DELETE_COMPLETE");
}

#[test]
fn an_update_in_place_keeps_the_thing_and_a_replacement_does_not() {
    let group = |description: &str, tag: &str| {
        template(&format!(
            r#""Group":{{"Type":"AWS::EC2::SecurityGroup","Properties":{{"GroupDescription":"{description}","Tags":[{{"Key":"k","Value":"{tag}"}}]}}}},
               "Rule":{{"Type":"AWS::EC2::SecurityGroupIngress","Properties":{{"GroupId":{{"Fn::GetAtt":["Group","GroupId"]}}}}}}"#
        ))
    };
    let world = world();
    world.deploy("Shop", &group("a", "1"));
    let first = world.thing("Shop", "Group");
    world.deploy("Shop", &group("a", "2"));
    let second = world.thing("Shop", "Group");
    assert_eq!((&first.physical_id, first.generation), (&second.physical_id, second.generation));
    assert_eq!((second.updates, &second.properties["Tags"][0]["Value"]), (1, &"2".into()));
    let rule = world.thing("Shop", "Rule");
    world.deploy("Shop", &group("b", "2"));
    let third = world.thing("Shop", "Group");
    assert!(third.generation > second.generation);
    assert_ne!(third.physical_id, second.physical_id);
    assert_ne!(world.thing("Shop", "Rule").generation, rule.generation, "its group is another");
    let old = world.region().physical_resource("AWS::EC2::SecurityGroup", &first.physical_id);
    assert_eq!(old.unwrap(), None);
}

#[test]
fn a_failed_update_restores_everything() {
    let queue = |size: u32| {
        template(&format!(
            r#""Queue":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":{size}}}}},
               "Topic":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":"{size}"}},"DependsOn":"Queue"}}"#
        ))
    };
    let world = world();
    world.deploy("Shop", &queue(1));
    let before = world.thing("Shop", "Queue");
    failing(&world, "Topic");
    world.update("Shop", &queue(2)).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_ROLLBACK_COMPLETE");
    assert_eq!(world.thing("Shop", "Queue"), before);
    assert_eq!(
        world.history("Shop", "Shop")[2..],
        [
            "UPDATE_IN_PROGRESS",
            "UPDATE_ROLLBACK_IN_PROGRESS",
            "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
            "UPDATE_ROLLBACK_COMPLETE"
        ]
    );
    assert!(world.history("Shop", "Topic").contains(&"UPDATE_FAILED".to_owned()));
    world.deploy("Shop", &queue(2));
}

#[test]
fn a_failed_creation_leaves_nothing_or_everything() {
    let both = template(
        r#""Queue":{"Type":"AWS::SQS::Queue"},"Topic":{"Type":"AWS::SNS::Topic","DependsOn":"Queue"}"#,
    );
    let world = world();
    failing(&world, "Topic");
    world.create("Shop", &both).unwrap();
    assert_eq!(world.status("Shop"), "ROLLBACK_COMPLETE");
    assert!(world.region().physical_resources("AWS::SQS::Queue").unwrap().is_empty());
    assert!(message(world.update("Shop", &both)).contains("is in ROLLBACK_COMPLETE state"));
    delete(&world, "Shop");
    failing(&world, "Topic");
    let request = CreateStack {
        name: "Shop".to_owned(),
        template: TemplateSource::body(&both),
        disable_rollback: true,
        ..CreateStack::default()
    };
    world.region().create_stack(&request).unwrap();
    assert_eq!(world.status("Shop"), "CREATE_FAILED");
    assert_eq!(world.reason("Shop"), "The following resource(s) failed to create: [Topic]. ");
    assert_eq!(world.region().physical_resources("AWS::SQS::Queue").unwrap().len(), 1);
}

#[test]
fn explicit_names_collide() {
    let bucket = |id: &str| {
        template(&format!(
            r#""{id}":{{"Type":"AWS::S3::Bucket","DeletionPolicy":"Retain","Properties":{{"BucketName":"mine"}}}}"#
        ))
    };
    let world = world();
    world.deploy("A", &bucket("X"));
    world.create("B", &bucket("Y")).unwrap();
    assert_eq!(world.status("B"), "ROLLBACK_COMPLETE");
    let events = world.region().describe_stack_events("B", None).unwrap().items;
    let failed = events.iter().find(|event| event.status == "CREATE_FAILED").unwrap();
    let owner = world.stack("A").info.id;
    assert_eq!(failed.reason, Some(format!("mine already exists in stack {owner}")));
    delete(&world, "A");
    delete(&world, "B");
    world.create("C", &bucket("Z")).unwrap();
    assert_eq!(world.status("C"), "ROLLBACK_COMPLETE", "the bucket was retained");
    assert_eq!(world.thing_of("AWS::S3::Bucket", "mine").stack_id, None);
}

impl World {
    fn thing_of(&self, kind: &str, id: &str) -> cdkr::local::Physical {
        self.region().physical_resource(kind, id).unwrap().unwrap()
    }
}

#[test]
fn exports_in_use_can_neither_go_nor_change() {
    let producer = |outputs: &str| {
        with_outputs(
            r#""Queue":{"Type":"AWS::SQS::Queue"},"Topic":{"Type":"AWS::SNS::Topic"}"#,
            outputs,
        )
    };
    let export = |id: &str| format!(r#""O":{{"Value":{{"Ref":"{id}"}},"Export":{{"Name":"e"}}}}"#);
    let consumer = template(
        r#""P":{"Type":"AWS::SSM::Parameter","Properties":{"Value":{"Fn::ImportValue":"e"}}}"#,
    );
    let world = world();
    world.create("Early", &consumer).unwrap();
    assert_eq!(world.status("Early"), "ROLLBACK_COMPLETE");
    assert!(world.history("Early", "Early").contains(&"ROLLBACK_IN_PROGRESS".to_owned()));
    world.deploy("A", &producer(&export("Queue")));
    world.deploy("B", &consumer);
    assert_eq!(world.region().list_imports("e", None).unwrap().items, ["B"]);
    let failed = |template: &str| {
        world.update("A", template).unwrap();
        let events = world.region().describe_stack_events("A", None).unwrap().items;
        let first = events.into_iter().find(|event| event.status == "UPDATE_ROLLBACK_IN_PROGRESS");
        first.unwrap().reason.unwrap()
    };
    assert_eq!(failed(&producer("")), "Export e cannot be deleted as it is in use by B");
    assert_eq!(failed(&producer(&export("Topic"))), "Cannot update export e as it is in use by B");
    delete(&world, "A");
    assert_eq!(world.status("A"), "UPDATE_ROLLBACK_COMPLETE");
    assert_eq!(world.reason("A"), "Delete canceled. Cannot delete export e as it is in use by B.");
    world.create("C", &producer(&export("Queue"))).unwrap();
    assert_eq!(world.status("C"), "ROLLBACK_COMPLETE");
    delete(&world, "B");
    delete(&world, "A");
    assert!(!world.region().stack_exists("A").unwrap());
    assert!(message(world.region().list_imports("e", None)).contains("is not imported"));
}

#[test]
fn nested_stacks_are_created_updated_and_deleted_with_their_parent() {
    let world = world();
    let child = |delay: u32| {
        format!(
            r#"{{"Parameters":{{"Topic":{{"Type":"String"}}}},
                "Resources":{{"Queue":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":{delay},"Tags":[{{"Key":"t","Value":{{"Ref":"Topic"}}}}]}}}}}},
                "Outputs":{{"Url":{{"Value":{{"Ref":"Queue"}}}}}}}}"#
        )
    };
    let parent = |key: &str| {
        with_outputs(
            &format!(
                r#"{TOPIC},"Child":{{"Type":"AWS::CloudFormation::Stack","Properties":{{
                    "TemplateURL":{{"Fn::Sub":"https://s3.${{AWS::Region}}.${{AWS::URLSuffix}}/staging/{key}.json"}},
                    "Parameters":{{"Topic":{{"Ref":"Topic"}}}}}}}}"#
            ),
            r#""Url":{"Value":{"Fn::GetAtt":["Child","Outputs.Url"]}}"#,
        )
    };
    world.cloud.put_object("staging", "one.json", child(1).as_bytes()).unwrap();
    world.cloud.put_object("staging", "two.json", child(2).as_bytes()).unwrap();
    world.deploy("Shop", &parent("one"));
    let nested = world.id("Shop", "Child");
    let name = world.stack(&nested).info.name;
    assert!(name.starts_with("Shop-Child-"), "{name}");
    assert_eq!(world.stack(&nested).info.parent_id, Some(world.stack("Shop").info.id));
    let queue = world.thing(&name, "Queue");
    assert_eq!(queue.properties["Tags"][0]["Value"], world.id("Shop", "Topic"));
    assert_eq!(world.output("Shop", "Url"), queue.physical_id);
    world.deploy("Shop", &parent("two"));
    assert_eq!(world.id("Shop", "Child"), nested);
    assert_eq!(world.thing(&name, "Queue").generation, queue.generation);
    assert_eq!(world.thing(&name, "Queue").properties["DelaySeconds"], 2);
    failing(&world, "Queue");
    world.update("Shop", &parent("one")).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_ROLLBACK_COMPLETE");
    assert_eq!(world.thing(&name, "Queue").properties["DelaySeconds"], 2);
    delete(&world, "Shop");
    assert_eq!(world.status(&nested), "DELETE_COMPLETE");
    assert!(world.region().physical_resources("AWS::SQS::Queue").unwrap().is_empty());
}

#[test]
fn a_nested_stack_that_fails_takes_its_parent_down() {
    let world = world();
    world.cloud.put_object("staging", "c.json", template(QUEUE).as_bytes()).unwrap();
    let parent = template(
        r#""Child":{"Type":"AWS::CloudFormation::Stack","Properties":{"TemplateURL":"https://staging.s3.amazonaws.com/c.json"}}"#,
    );
    failing(&world, "Queue");
    world.create("Shop", &parent).unwrap();
    assert_eq!(world.status("Shop"), "ROLLBACK_COMPLETE");
    let missing = parent.replace("c.json", "no.json");
    world.create("Other", &missing).unwrap();
    let events = world.region().describe_stack_events("Other", None).unwrap().items;
    let failed = events.iter().find(|event| event.status == "CREATE_FAILED").unwrap();
    assert!(failed.reason.as_ref().unwrap().starts_with("S3 error: The specified key"));
}

#[test]
fn an_update_without_changes_is_refused() {
    let world = world();
    world.deploy("Shop", &template(QUEUE));
    for same in [
        template(QUEUE),
        format!(r#"{{"Description":"other","Resources":{{{QUEUE}}}}}"#),
        "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n".to_owned(),
    ] {
        assert_eq!(message(world.update("Shop", &same)), "No updates are to be performed.");
    }
    let outputs = with_outputs(QUEUE, r#""O":{"Value":"v"}"#);
    world.deploy("Shop", &outputs);
    assert_eq!(world.output("Shop", "O"), "v");
}

#[test]
fn parameters_conditions_and_hidden_values_work_together() {
    let world = world();
    let text = r#"{"Parameters":{"Stage":{"Type":"String"},"Secret":{"Type":"String","NoEcho":true,"Default":"s"},
            "BootstrapVersion":{"Type":"AWS::SSM::Parameter::Value<String>","Default":"/cdk-bootstrap/hnb659fds/version"}},
        "Conditions":{"IsProd":{"Fn::Equals":[{"Ref":"Stage"},"prod"]}},
        "Resources":{"Queue":{"Type":"AWS::SQS::Queue"},"Topic":{"Type":"AWS::SNS::Topic","Condition":"IsProd"}},
        "Outputs":{"V":{"Value":{"Ref":"BootstrapVersion"}},
            "T":{"Condition":"IsProd","Value":{"Ref":"Topic"}}}}"#;
    assert_eq!(message(world.create("Shop", text)), "Parameters: [Stage] must have values");
    let stage = |value: &str| ParameterInput {
        key: "Stage".to_owned(),
        value: Some(value.to_owned()),
        use_previous: false,
    };
    let request = CreateStack {
        name: "Shop".to_owned(),
        template: TemplateSource::body(text),
        parameters: vec![stage("dev")],
        ..CreateStack::default()
    };
    world.region().create_stack(&request).unwrap();
    assert_eq!(world.output("Shop", "V"), "32");
    assert_eq!(world.stack("Shop").info.outputs.len(), 1);
    assert_eq!(world.stack("Shop").parameters["Secret"].value, "****");
    let request = UpdateStack {
        name: "Shop".to_owned(),
        use_previous_template: true,
        parameters: vec![stage("prod")],
        ..UpdateStack::default()
    };
    world.region().update_stack(&request).unwrap();
    assert_eq!(world.output("Shop", "T"), world.id("Shop", "Topic"));
}

#[test]
fn stacks_that_are_not_there_or_protected_are_refused() {
    let world = world();
    assert_eq!(
        message(world.region().describe_stacks(Some("No"), None)),
        "Stack with id No does not exist"
    );
    world.deploy("Shop", &template(QUEUE));
    let twice = world.create("Shop", &template(QUEUE)).unwrap_err();
    assert_eq!(
        (twice.code.as_str(), twice.message.as_str()),
        ("AlreadyExistsException", "Stack [Shop] already exists")
    );
    world.region().update_termination_protection("Shop", true).unwrap();
    let request = DeleteStack { name: "Shop".to_owned(), ..DeleteStack::default() };
    assert_eq!(
        message(world.region().delete_stack(&request)),
        "Stack [Shop] cannot be deleted while TerminationProtection is enabled"
    );
    let role = template(r#""R":{"Type":"AWS::IAM::Role"}"#);
    let request = CreateStack {
        name: "Iam".to_owned(),
        template: TemplateSource::body(&role),
        ..CreateStack::default()
    };
    let refused = world.region().create_stack(&request).unwrap_err();
    assert_eq!(refused.code, "InsufficientCapabilitiesException");
    assert!(message(world.create("1x", &role)).contains("at 'stackName' failed to satisfy"));
    let big = template(&format!(r#""R":{{"Type":"T","Metadata":"{}"}}"#, "x".repeat(51_200)));
    assert!(message(world.create("Big", &big)).ends_with(
        "at 'templateBody' failed to satisfy constraint: Member must have length less than or \
         equal to 51200"
    ));
}

#[test]
fn a_deleted_stack_is_known_by_its_arn_only() {
    let world = world();
    world.deploy("Shop", &template(QUEUE));
    let id = world.stack("Shop").info.id;
    delete(&world, "Shop");
    assert_eq!(world.status(&id), "DELETE_COMPLETE");
    assert!(world.region().describe_stacks(Some("Shop"), None).is_err());
    let all = world.region().list_stacks(&[], None).unwrap().items;
    assert_eq!(all.len(), 1);
    let live = world.region().list_stacks(&["CREATE_COMPLETE".to_owned()], None).unwrap().items;
    assert!(live.is_empty());
    world.deploy("Shop", &template(QUEUE));
}

#[test]
fn templates_come_back_as_submitted_but_in_ascii() {
    let world = world();
    let text = format!("{{\n  \"Description\": \"Größe €\", \"Resources\": {{{QUEUE}}}}}");
    world.deploy("Shop", &text);
    let back = world.region().get_template(Some("Shop"), None, TemplateStage::Original).unwrap();
    assert_eq!(back, text.replace(['ö', 'ß', '€'], "?"));
    assert_eq!(world.stack("Shop").info.description.unwrap(), "Größe €");
}

#[test]
fn a_throttled_request_is_refused_and_the_next_is_not() {
    let world = world();
    world.region().arm(&Faults { throttle: 1, ..Faults::default() }).unwrap();
    let refused = world.region().list_stacks(&[], None).unwrap_err();
    assert_eq!((refused.code.as_str(), refused.message.as_str()), ("Throttling", "Rate exceeded"));
    assert!(world.region().list_stacks(&[], None).is_ok());
}

#[test]
fn outputs_of_other_stacks_are_read_across_regions() {
    let world = world();
    let there = cdkr::model::Environment::new("111111111111", "eu-west-1");
    let request = CreateStack {
        name: "Data".to_owned(),
        template: TemplateSource::body(&with_outputs(QUEUE, r#""Q":{"Value":"far"}"#)),
        ..CreateStack::default()
    };
    world.cloud.region(&there).create_stack(&request).unwrap();
    world.cloud.region(&there).describe_stacks(None, None).unwrap();
    world.deploy(
        "Api",
        &with_outputs(
            QUEUE,
            r#""X":{"Value":{"Fn::GetStackOutput":{"StackName":"Data","Region":"eu-west-1","OutputName":"Q"}}}"#,
        ),
    );
    assert_eq!(world.output("Api", "X"), "far");
    assert_eq!(world.cloud.environments().unwrap().len(), 2);
}

#[test]
fn an_inline_policy_is_shared_by_all_stacks_that_write_it() {
    let world = world();
    let policy = |retain: &str| {
        format!(
            r#""P":{{"Type":"AWS::IAM::Policy"{retain},"Properties":{{"PolicyName":"p","Roles":["r"],"PolicyDocument":{{}}}}}}"#
        )
    };
    let exists = || !world.region().physical_resources("AWS::IAM::Policy").unwrap().is_empty();
    world.deploy("Old", &template(&format!("{QUEUE},{}", policy(""))));
    world.deploy("New", &template(&policy("")));
    world.deploy("Old", &template(QUEUE));
    assert!(!exists(), "the old stack has deleted the policy of the new one");
    delete(&world, "New");
    let kept = policy(r#","DeletionPolicy":"Retain""#);
    world.deploy("Old", &template(&format!("{QUEUE},{kept}")));
    world.deploy("New", &template(&policy("")));
    world.deploy("Old", &template(QUEUE));
    assert!(exists());
    assert_eq!(world.thing("New", "P").stack_id, Some(world.stack("New").info.id));
}

#[test]
fn a_deletion_policy_changes_only_along_with_something_else() {
    let world = world();
    let kept = QUEUE.replacen("\"Type\"", "\"DeletionPolicy\":\"Retain\",\"Type\"", 1);
    world.deploy("A", &template(QUEUE));
    let alone = world.update("A", &template(&kept));
    assert_eq!(message(alone), "No updates are to be performed.");
    world.deploy("A", &template(&format!("{kept},{TOPIC}")));
    world.deploy("A", &template(TOPIC));
    assert_eq!(world.region().physical_resources("AWS::SQS::Queue").unwrap().len(), 1);
}

#[test]
fn queues_and_topics_have_one_policy_each() {
    let world = world();
    let policy = |id: &str| {
        format!(
            r#""{id}":{{"Type":"AWS::SQS::QueuePolicy","Properties":{{"Queues":["q"],"PolicyDocument":{{}}}}}}"#
        )
    };
    world.deploy("A", &template(&format!("{QUEUE},{}", policy("One"))));
    world.deploy("B", &template(&policy("Two")));
    world.deploy("A", &template(QUEUE));
    assert!(world.region().physical_resources("AWS::SQS::QueuePolicy").unwrap().is_empty());
}

#[test]
fn templates_types_and_parameters_are_described() {
    let world = world();
    let text = r#"{"Description":"d","Parameters":{"P":{"Type":"Number","Default":3}},
        "Resources":{"R":{"Type":"AWS::IAM::Role"},"Q":{"Type":"AWS::SQS::Queue"}}}"#;
    let region = world.region();
    let summary = region.validate_template(&TemplateSource::body(text)).unwrap();
    assert_eq!(summary.capabilities, ["CAPABILITY_IAM"]);
    assert_eq!(summary.resource_types, ["AWS::IAM::Role", "AWS::SQS::Queue"]);
    assert_eq!(summary.parameters[0].default.as_deref(), Some("3"));
    for (kind, expected) in [
        ("AWS::S3::Bucket", "FULLY_MUTABLE"),
        ("AWS::Lambda::Permission", "IMMUTABLE"),
        ("AWS::IAM::Policy", "NON_PROVISIONABLE"),
    ] {
        assert_eq!(region.describe_type(kind).unwrap().provisioning_type, expected);
    }
    assert_eq!(region.describe_type("No::No::No").unwrap_err().code, "TypeNotFoundException");
    assert_eq!(region.get_parameter("/cdk-bootstrap/hnb659fds/version").unwrap(), "32");
    region.put_parameter("/cdk-bootstrap/hnb659fds/version", Some("21")).unwrap();
    assert_eq!(region.get_parameter("/cdk-bootstrap/hnb659fds/version").unwrap(), "21");
    region.put_parameter("/cdk-bootstrap/hnb659fds/version", None).unwrap();
    let gone = region.get_parameter("/cdk-bootstrap/hnb659fds/version").unwrap_err();
    assert_eq!(gone.code, "ParameterNotFound");
    assert!(region.get_stack_policy("No").is_err());
}

#[test]
fn a_resource_that_cannot_be_deleted_can_be_left_behind() {
    let world = world();
    world.deploy("Shop", &template(&format!("{QUEUE},{TOPIC}")));
    let queue = world.id("Shop", "Queue");
    failing(&world, "Queue");
    delete(&world, "Shop");
    assert_eq!(world.status("Shop"), "DELETE_FAILED");
    assert_eq!(world.reason("Shop"), "The following resource(s) failed to delete: [Queue]. ");
    let request = DeleteStack { name: "Shop".to_owned(), retain: vec!["Queue".to_owned()] };
    world.region().delete_stack(&request).unwrap();
    assert!(!world.region().stack_exists("Shop").unwrap());
    assert_eq!(world.thing_of("AWS::SQS::Queue", &queue).stack_id, None);
}
