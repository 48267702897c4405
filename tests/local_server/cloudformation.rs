//! CloudFormation.

use aws_sdk_cloudformation::types::{ResourceLocation, ResourceMapping, StackDefinition};

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
