//! Change sets.

use cdkr::local::{
    ChangeSetDetail, ChangeSetType, CreateChangeSet, TemplateSource, TemplateStage, UpdateStack,
};

use crate::world::*;

fn request(stack: &str, kind: ChangeSetType, text: &str) -> CreateChangeSet {
    CreateChangeSet {
        name: "change".to_owned(),
        kind,
        update: UpdateStack {
            name: stack.to_owned(),
            template: TemplateSource::body(text),
            capabilities: capabilities(),
            ..UpdateStack::default()
        },
        description: None,
    }
}

fn describe(world: &World, stack: &str) -> ChangeSetDetail {
    world.region().describe_change_set(Some(stack), "change", None).unwrap()
}

const GROUP: &str =
    r#""Group":{"Type":"AWS::EC2::SecurityGroup","Properties":{"GroupDescription":"a"}}"#;

#[test]
fn a_stack_is_created_by_a_change_set() {
    let world = slow_world();
    let region = world.region();
    let created = region
        .create_change_set(&request("Shop", ChangeSetType::Create, &template(QUEUE)))
        .unwrap();
    assert_eq!(world.status("Shop"), "REVIEW_IN_PROGRESS");
    assert_eq!(describe(&world, "Shop").info.status, "CREATE_PENDING");
    world.clock.advance(1000);
    let set = describe(&world, "Shop").info;
    assert_eq!(
        (set.status.as_str(), set.execution_status.as_str()),
        ("CREATE_COMPLETE", "AVAILABLE")
    );
    assert_eq!((set.changes.len(), set.changes[0].action.as_str()), (1, "Add"));
    let text = region.get_template(None, Some(&created.id), TemplateStage::Original).unwrap();
    assert_eq!(text, template(QUEUE));
    region.execute_change_set(None, &created.id, false).unwrap();
    assert_eq!(world.status("Shop"), "CREATE_IN_PROGRESS");
    world.clock.advance(1000);
    assert_eq!(world.status("Shop"), "CREATE_COMPLETE");
    let set = region.describe_change_set(None, &created.id, None).unwrap().info;
    assert_eq!(set.execution_status, "EXECUTE_COMPLETE");
    assert_eq!(world.stack("Shop").info.change_set_id, Some(created.id));
    let again = region.create_change_set(&request("Shop", ChangeSetType::Create, &template(QUEUE)));
    assert!(message(again).contains("already exists and cannot be created again"));
}

#[test]
fn a_change_set_tells_additions_removals_updates_and_replacements() {
    let world = world();
    world.deploy("Shop", &template(&format!("{GROUP},{QUEUE},{TOPIC}")));
    let new = template(&format!(
        r#"{},"Topic":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":{{"Ref":"Group"}}}},"Metadata":{{"k":1}}}},
           "New":{{"Type":"AWS::SSM::Parameter","Properties":{{"Value":{{"Ref":"Topic"}}}}}}"#,
        GROUP.replace("\"a\"", "\"b\"")
    ));
    let region = world.region();
    region.create_change_set(&request("Shop", ChangeSetType::Update, &new)).unwrap();
    let changes = describe(&world, "Shop").info.changes;
    let of = |id: &str| changes.iter().find(|change| change.logical_id == id).unwrap();
    assert_eq!(of("Group").replacement.as_deref(), Some("True"));
    assert_eq!(of("Group").policy_action.as_deref(), Some("ReplaceAndDelete"));
    assert_eq!(of("Group").details[0].path.as_deref(), Some("/Properties/GroupDescription"));
    assert_eq!(of("Topic").replacement.as_deref(), Some("False"));
    assert_eq!(of("Topic").scope, ["Properties", "Metadata"]);
    assert_eq!(of("Topic").details[0].evaluation, "Dynamic");
    assert_eq!(
        (of("Queue").action.as_str(), of("Queue").policy_action.as_deref()),
        ("Remove", Some("Delete"))
    );
    assert_eq!((of("New").action.as_str(), &of("New").physical_id), ("Add", &None));
    assert_eq!(world.thing("Shop", "Topic").updates, 0, "nothing was done");
    region.execute_change_set(Some("Shop"), "change", false).unwrap();
    assert_eq!(world.status("Shop"), "UPDATE_COMPLETE");
    assert_eq!(world.thing("Shop", "Topic").updates, 1);
}

#[test]
fn a_change_set_without_changes_fails() {
    let world = world();
    world.deploy("Shop", &template(QUEUE));
    let region = world.region();
    region.create_change_set(&request("Shop", ChangeSetType::Update, &template(QUEUE))).unwrap();
    let set = describe(&world, "Shop").info;
    assert_eq!(set.status, "FAILED");
    assert_eq!(
        set.status_reason.unwrap(),
        "The submitted information didn't contain changes. Submit different information to create \
         a change set."
    );
    let refused = region.execute_change_set(Some("Shop"), "change", false).unwrap_err();
    assert_eq!(refused.code, "InvalidChangeSetStatus");
    let twice = region.create_change_set(&request("Shop", ChangeSetType::Update, &template(QUEUE)));
    assert_eq!(twice.unwrap_err().code, "AlreadyExistsException");
    assert_eq!(region.list_change_sets("Shop", None).unwrap().items.len(), 1);
    region.delete_change_set(Some("Shop"), "change").unwrap();
    region.delete_change_set(Some("Shop"), "change").unwrap();
    let gone = region.describe_change_set(Some("Shop"), "change", None).unwrap_err();
    assert_eq!((gone.code.as_str(), gone.http_status), ("ChangeSetNotFound", 404));
    let missing = region.create_change_set(&request("No", ChangeSetType::Update, &template(QUEUE)));
    assert_eq!(message(missing), "Stack [No] does not exist");
}

#[test]
fn an_unresolvable_import_fails_the_change_set() {
    let world = world();
    let text = template(
        r#""P":{"Type":"AWS::SSM::Parameter","Properties":{"Value":{"Fn::ImportValue":"no"}}}"#,
    );
    world.region().create_change_set(&request("Shop", ChangeSetType::Create, &text)).unwrap();
    assert_eq!(describe(&world, "Shop").info.status_reason.unwrap(), "No export named no found");
}

#[test]
fn a_change_set_that_takes_away_an_export_in_use_is_made_and_fails_when_it_is_executed() {
    let world = world();
    let exports = r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}},
        "Outputs":{"O":{"Value":{"Ref":"Queue"},"Export":{"Name":"e"}}}}"#;
    world.deploy("A", exports);
    world.deploy(
        "B",
        &template(
            r#""P":{"Type":"AWS::SSM::Parameter","Properties":{"Value":{"Fn::ImportValue":"e"}}}"#,
        ),
    );
    let region = world.region();
    region.create_change_set(&request("A", ChangeSetType::Update, &template(QUEUE))).unwrap();
    assert_eq!(describe(&world, "A").info.status, "CREATE_COMPLETE");
    region.execute_change_set(Some("A"), "change", false).unwrap();
    assert_eq!(world.status("A"), "UPDATE_ROLLBACK_COMPLETE");
    let events = region.describe_stack_events("A", None).unwrap().items;
    let reason = events.into_iter().find(|event| event.status == "UPDATE_ROLLBACK_IN_PROGRESS");
    assert_eq!(
        reason.unwrap().reason.as_deref(),
        Some("Export e cannot be deleted as it is in use by B")
    );
}
