//! CloudFormation.

use aws_sdk_cloudformation::types::{
    ChangeSetType, ResourceLocation, ResourceMapping, StackDefinition, StackStatus, TemplateStage,
};
use cdkr::local::Options;

use crate::client::*;

const TWO: &str =
    r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"},"Topic":{"Type":"AWS::SNS::Topic"}}}"#;
const TOPIC: &str = r#"{"Resources":{"Topic":{"Type":"AWS::SNS::Topic"}}}"#;
const INBOX: &str = r#"{"Resources":{"Inbox":{"Type":"AWS::SQS::Queue"}}}"#;

fn location(stack: &str, id: &str) -> ResourceLocation {
    ResourceLocation::builder().stack_name(stack).logical_resource_id(id).build()
}

fn definition(stack: &str, template: &str) -> StackDefinition {
    StackDefinition::builder().stack_name(stack).template_body(template).build()
}

#[test]
fn a_resource_moves_to_a_new_stack() {
    let world = world();
    world.create("Shop", TWO);
    let client = world.cloudformation();
    let mapping = ResourceMapping::builder()
        .source(location("Shop", "Queue"))
        .destination(location("Mail", "Inbox"))
        .build();
    let request = client
        .create_stack_refactor()
        .description("a <description> & more")
        .enable_stack_creation(true)
        .resource_mappings(mapping)
        .stack_definitions(definition("Shop", TOPIC))
        .stack_definitions(definition("Mail", INBOX));
    let id = world.run(request.send()).unwrap().stack_refactor_id.unwrap();
    let describe = || world.run(client.describe_stack_refactor().stack_refactor_id(&id).send());
    let info = describe().unwrap();
    assert_eq!(info.status.unwrap().as_str(), "CREATE_COMPLETE", "{:?}", info.status_reason);
    assert_eq!(info.description.unwrap(), "a <description> & more");
    assert_eq!(info.stack_ids.unwrap().len(), 2);
    let actions = client.list_stack_refactor_actions().stack_refactor_id(&id).send();
    let actions = world.run(actions).unwrap().stack_refactor_actions.unwrap();
    assert_eq!(actions.len(), 2);
    world.run(client.execute_stack_refactor().stack_refactor_id(&id).send()).unwrap();
    assert_eq!(describe().unwrap().execution_status.unwrap().as_str(), "EXECUTE_COMPLETE");
    assert_eq!(world.status("Mail"), "CREATE_COMPLETE");
    let listed = world.run(client.list_stack_refactors().send()).unwrap();
    assert_eq!(listed.stack_refactor_summaries.unwrap()[0].stack_refactor_id, Some(id));
}

#[test]
fn a_stack_is_created_updated_and_deleted() {
    let world = world();
    let id = world.create("Shop", TOPIC);
    let client = world.cloudformation();
    let stack = world.stack("Shop");
    assert_eq!(stack.stack_id, Some(id.clone()));
    assert_eq!(stack.stack_status, Some(StackStatus::CreateComplete));
    let update = |text: &str| client.update_stack().stack_name("Shop").template_body(text).send();
    world.run(update(TWO)).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_COMPLETE");
    let (code, message, status) = refusal(&world.run(update(TWO)).unwrap_err());
    assert_eq!(
        (code.as_str(), message.as_str(), status),
        ("ValidationError", "No updates are to be performed.", 400)
    );
    world.run(client.delete_stack().stack_name("Shop").send()).unwrap();
    let gone = world.run(client.describe_stacks().stack_name("Shop").send()).unwrap_err();
    assert_eq!(refusal(&gone).1, "Stack with id Shop does not exist");
    let by_arn = world.run(client.describe_stacks().stack_name(id).send()).unwrap();
    assert_eq!(by_arn.stacks.unwrap()[0].stack_status, Some(StackStatus::DeleteComplete));
}

#[test]
fn a_template_comes_back_as_it_was_submitted() {
    let world = world();
    let text = "{ \"Description\": \"<&> \\u0001\",\r\n\t\"Resources\":\r{\"T\":{\"Type\":\"AWS::SNS::Topic\"}} }";
    world.create("Shop", text);
    let client = world.cloudformation();
    let stage = TemplateStage::Original;
    let request = client.get_template().stack_name("Shop").template_stage(stage);
    assert_eq!(world.run(request.send()).unwrap().template_body.unwrap(), text);
}

#[test]
fn outputs_parameters_and_tags_are_told() {
    let world = world();
    let client = world.cloudformation();
    let text = r#"{"Parameters":{"P":{"Type":"String"},"S":{"Type":"String","NoEcho":true}},
        "Resources":{"T":{"Type":"AWS::SNS::Topic"}},
        "Outputs":{"O":{"Value":{"Ref":"P"},"Description":"d","Export":{"Name":"name"}}}}"#;
    let parameter = |key: &str, value: &str| {
        aws_sdk_cloudformation::types::Parameter::builder()
            .parameter_key(key)
            .parameter_value(value)
            .build()
    };
    let tag = aws_sdk_cloudformation::types::Tag::builder().key("team").value("a&b").build();
    let request = client
        .create_stack()
        .stack_name("Shop")
        .template_body(text)
        .parameters(parameter("P", "value"))
        .parameters(parameter("S", "secret"))
        .tags(tag)
        .enable_termination_protection(true);
    world.run(request.send()).unwrap();
    let stack = world.stack("Shop");
    let output = &stack.outputs()[0];
    assert_eq!((output.output_value(), output.export_name()), (Some("value"), Some("name")));
    let shown: Vec<_> = stack.parameters().iter().map(|p| p.parameter_value().unwrap()).collect();
    assert_eq!(shown, ["value", "****"]);
    assert_eq!(stack.tags()[0].value(), Some("a&b"));
    assert_eq!(stack.enable_termination_protection(), Some(true));
    let refused = world.run(client.delete_stack().stack_name("Shop").send()).unwrap_err();
    assert!(refusal(&refused).1.contains("TerminationProtection is enabled"));
    let exports = world.run(client.list_exports().send()).unwrap();
    assert_eq!(exports.exports()[0].name(), Some("name"));
    let unused = world.run(client.list_imports().export_name("name").send()).unwrap_err();
    assert_eq!(refusal(&unused).1, "Export 'name' is not imported by any stack.");
}

#[test]
fn a_failed_creation_rolls_back_and_says_why() {
    let world = world();
    let text = r#"{"Resources":{"T":{"Type":"AWS::SNS::Topic",
        "Properties":{"DisplayName":{"Fn::ImportValue":"nothing"}}}}}"#;
    world.create("Shop", text);
    let stack = world.stack("Shop");
    assert_eq!(stack.stack_status, Some(StackStatus::RollbackComplete));
    let events = world.cloudformation().describe_stack_events().stack_name("Shop").send();
    let events = world.run(events).unwrap().stack_events.unwrap();
    let told = |event: &&aws_sdk_cloudformation::types::StackEvent| {
        event.resource_status_reason().is_some_and(|why| why.contains("No export named nothing"))
    };
    assert!(events.iter().any(|event| told(&event)), "{events:?}");
}

#[test]
fn errors_have_the_codes_by_which_the_sdk_tells_them_apart() {
    let world = world();
    world.create("Shop", TOPIC);
    let client = world.cloudformation();
    let again = client.create_stack().stack_name("Shop").template_body(TOPIC).send();
    let again = world.run(again).unwrap_err();
    assert!(again.as_service_error().unwrap().is_already_exists_exception());
    let unknown = client.describe_stack_refactor().stack_refactor_id("x").send();
    let unknown = world.run(unknown).unwrap_err();
    assert_eq!(refusal(&unknown).2, 404);
    assert!(unknown.as_service_error().unwrap().is_stack_refactor_not_found_exception());
    let user = r#"{"Resources":{"U":{"Type":"AWS::IAM::User"}}}"#;
    let user = client.create_stack().stack_name("Users").template_body(user).send();
    let user = world.run(user).unwrap_err();
    assert!(user.as_service_error().unwrap().is_insufficient_capabilities_exception());
    let set = client.describe_change_set().stack_name("Shop").change_set_name("x").send();
    let set = world.run(set).unwrap_err();
    assert!(set.as_service_error().unwrap().is_change_set_not_found_exception());
    let missing = world.run(client.list_stack_resources().send()).unwrap_err();
    assert_eq!(
        refusal(&missing).1,
        "1 validation error detected: Value null at 'stackName' failed to satisfy constraint: \
         Member must not be null"
    );
    let other = client.detect_stack_drift().stack_name("Shop").send();
    let (code, message, _) = refusal(&world.run(other).unwrap_err());
    assert_eq!(code, "InvalidAction");
    assert_eq!(message, "Could not find operation DetectStackDrift for version 2010-05-15");
    let long = "x".repeat(51_201);
    let long = client.create_stack().stack_name("Long").template_body(long).send();
    let (_, message, _) = refusal(&world.run(long).unwrap_err());
    assert!(message.ends_with("Member must have length less than or equal to 51200"));
    let none = client.create_stack_refactor().set_stack_definitions(Some(Vec::new())).send();
    assert!(refusal(&world.run(none).unwrap_err()).1.contains("'stackDefinitions'"));
}

#[test]
fn lists_are_paged_through() {
    let world = world_with(Options { page_size: 2, ..Options::default() });
    for name in ["A", "B", "C", "D", "E"] {
        world.create(name, TWO);
    }
    let client = world.cloudformation();
    let names = world.run(async {
        let mut pages = client.list_stacks().into_paginator().send();
        let (mut names, mut count) = (Vec::new(), 0);
        while let Some(page) = pages.next().await {
            count += 1;
            let page = page.unwrap();
            names.extend(page.stack_summaries().iter().map(|s| s.stack_name().unwrap().to_owned()));
        }
        assert_eq!(count, 3);
        names.sort();
        names
    });
    assert_eq!(names, ["A", "B", "C", "D", "E"]);
    let ids = world.run(async {
        let pages = client.list_stack_resources().stack_name("A").into_paginator().items().send();
        pages.collect::<Result<Vec<_>, _>>().await.unwrap()
    });
    assert_eq!(ids.len(), 2);
    let wanted = client.list_stacks().stack_status_filter(StackStatus::DeleteComplete).send();
    assert!(world.run(wanted).unwrap().stack_summaries().is_empty());
}

#[test]
fn a_change_set_is_created_described_and_executed() {
    let world = world();
    let client = world.cloudformation();
    let request = client
        .create_change_set()
        .stack_name("Shop")
        .change_set_name("change")
        .change_set_type(ChangeSetType::Create)
        .template_body(TWO);
    let id = world.run(request.send()).unwrap().id.unwrap();
    let set = world.run(client.describe_change_set().change_set_name(&id).send()).unwrap();
    assert_eq!(set.changes().len(), 2);
    let change = set.changes()[0].resource_change().unwrap();
    assert_eq!(change.action().unwrap().as_str(), "Add");
    world.run(client.execute_change_set().change_set_name(&id).send()).unwrap();
    assert_eq!(world.status("Shop"), "CREATE_COMPLETE");
    world.run(client.delete_change_set().change_set_name(&id).send()).unwrap();
}

#[test]
fn events_are_told_by_operation() {
    use aws_sdk_cloudformation::types::{EventFilter, ListHookResultsTargetType, OperationEvent};

    let world = world();
    let client = world.cloudformation();
    world.create("Shop", TWO);
    let twice = r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"a"}},
        "Again":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"a"}}}}"#;
    world.run(client.update_stack().stack_name("Shop").template_body(twice).send()).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_ROLLBACK_COMPLETE");

    let all = world.run(client.describe_events().stack_name("Shop").send()).unwrap();
    let kind = |event: &OperationEvent| event.operation_type().unwrap().to_string();
    let mut kinds: Vec<String> = all.operation_events().iter().map(kind).collect();
    kinds.dedup();
    assert_eq!(kinds, ["ROLLBACK", "UPDATE_STACK", "CREATE_STACK"], "the newest first");
    let stack = world.run(client.describe_stack_events().stack_name("Shop").send()).unwrap();
    let ids: Vec<_> = stack.stack_events().iter().map(|event| event.operation_id()).collect();
    let told: Vec<_> = all.operation_events().iter().map(|event| event.operation_id()).collect();
    assert_eq!(ids, told);

    let update = all.operation_events().iter().find(|event| kind(event) == "UPDATE_STACK").unwrap();
    let failed = client
        .describe_events()
        .operation_id(update.operation_id().unwrap())
        .filters(EventFilter::builder().failed_events(true).build());
    let failed = world.run(failed.send()).unwrap();
    let statuses: Vec<_> =
        failed.operation_events().iter().map(|event| event.resource_status()).collect();
    assert!(!statuses.is_empty());
    assert!(statuses.iter().all(|status| status.unwrap().as_str().ends_with("_FAILED")));

    let unknown = client.describe_events().operation_id("none").send();
    assert_eq!(refusal(&world.run(unknown).unwrap_err()).1, "Operation ID does not exist");
    let nameless = client.describe_events().change_set_name("change").send();
    let (_, message, _) = refusal(&world.run(nameless).unwrap_err());
    assert_eq!(message, "One of ChangeSetName, OperationId or StackName must be specified");
    let gone = client.describe_events().stack_name("Shop").change_set_name("change").send();
    assert_eq!(refusal(&world.run(gone).unwrap_err()).0, "ChangeSetNotFound");
    let hooks = client
        .list_hook_results()
        .target_type(ListHookResultsTargetType::ChangeSet)
        .target_id("arn:aws:cloudformation:us-east-1:111111111111:changeSet/change/1");
    assert!(world.run(hooks.send()).unwrap().hook_results().is_empty());
}

#[test]
fn a_refused_refactor_says_why() {
    let world = world();
    world.create("Shop", TWO);
    world.create("Mail", INBOX);
    let client = world.cloudformation();
    let changed = r#"{"Resources":{"Inbox":{"Type":"AWS::SQS::Queue"},
        "Queue":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":5}}}}"#;
    let request = client
        .create_stack_refactor()
        .stack_definitions(definition("Shop", TOPIC))
        .stack_definitions(definition("Mail", changed));
    let id = world.run(request.send()).unwrap().stack_refactor_id.unwrap();
    let info = world.run(client.describe_stack_refactor().stack_refactor_id(&id).send()).unwrap();
    assert_eq!(info.status().unwrap().as_str(), "CREATE_FAILED");
    let reason = info.status_reason().unwrap();
    assert!(reason.ends_with("does not match the destination resource's properties."), "{reason}");
    let execution = client.execute_stack_refactor().stack_refactor_id(&id).send();
    assert!(refusal(&world.run(execution).unwrap_err()).1.contains("[UNAVAILABLE]"));
    let half = ResourceMapping::builder().source(location("Shop", "Queue")).build();
    let half = client
        .create_stack_refactor()
        .resource_mappings(half)
        .stack_definitions(definition("Shop", TOPIC))
        .send();
    let (_, message, _) = refusal(&world.run(half).unwrap_err());
    assert!(message.contains("'resourceMappings.1.member.destination'"), "{message}");
}

#[test]
fn policies_types_and_summaries_are_told() {
    let world = world();
    world.create("Shop", TWO);
    let client = world.cloudformation();
    let policy = r#"{"Statement":[]}"#;
    let set = client.set_stack_policy().stack_name("Shop").stack_policy_body(policy).send();
    world.run(set).unwrap();
    let found = world.run(client.get_stack_policy().stack_name("Shop").send()).unwrap();
    assert_eq!(found.stack_policy_body(), Some(policy));
    let summary = world.run(client.get_template_summary().stack_name("Shop").send()).unwrap();
    assert_eq!(summary.resource_types(), ["AWS::SNS::Topic", "AWS::SQS::Queue"]);
    let kind = client.describe_type().type_name("AWS::SQS::Queue").send();
    let kind = world.run(kind).unwrap();
    assert_eq!(kind.provisioning_type().unwrap().as_str(), "FULLY_MUTABLE");
    let found = client.describe_stack_resource().stack_name("Shop").logical_resource_id("Queue");
    let found = world.run(found.send()).unwrap().stack_resource_detail.unwrap();
    assert!(found.physical_resource_id().unwrap().starts_with("https://sqs."));
}
