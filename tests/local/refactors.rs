//! Stack refactors: what they do, and each rule by which they are refused.

use cdkr::local::{
    CreateStackRefactor, DeleteStack, Faults, RefactorFault, StackDefinition, TemplateSource,
    TemplateStage,
};

use crate::world::*;

/// Two stacks: `A` with a queue, a topic and a parameter, `B` with a topic.
fn two() -> World {
    prepare(world())
}

fn prepare(world: World) -> World {
    for (name, text) in [("A", a("")), ("B", b(""))] {
        world.create(name, &text).unwrap();
        world.clock.advance(10_000);
        assert_eq!(world.status(name), "CREATE_COMPLETE");
    }
    world
}

const MOVED: &str = r#""Queue":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":5},"Metadata":{"aws:cdk:path":"A/Queue"}}"#;
const STAYS: &str = r#""Topic":{"Type":"AWS::SNS::Topic","Properties":{"DisplayName":"a"}}"#;
const THERE: &str = r#""Other":{"Type":"AWS::SNS::Topic"}"#;

fn a(more: &str) -> String {
    template(&format!("{MOVED},{STAYS}{more}"))
}

fn b(more: &str) -> String {
    template(&format!("{THERE}{more}"))
}

/// What is left of `A` when the queue has gone.
fn left() -> String {
    template(STAYS)
}

fn arrived() -> String {
    b(&format!(",{MOVED}"))
}

#[test]
fn a_resource_moves_with_everything_that_it_is() {
    let world = two();
    let before = world.thing("A", "Queue");
    let renamed =
        b(&format!(",{}", MOVED.replace("\"Queue\"", "\"Inbox\"").replace("A/Queue", "B/Inbox")));
    let id = world.carry_out(&refactor(&[("A", &left()), ("B", &renamed)], &["A.Queue>B.Inbox"]));
    let after = world.thing("B", "Inbox");
    assert_eq!(after.physical_id, before.physical_id);
    assert_eq!(
        (after.created_ms, after.generation, after.updates),
        (before.created_ms, before.generation, before.updates)
    );
    assert_eq!(after.stack_id, Some(world.stack("B").info.id));
    assert_eq!(
        (world.status("A"), world.status("B")),
        ("UPDATE_COMPLETE".into(), "UPDATE_COMPLETE".into())
    );
    assert!(
        message(world.region().describe_stack_resource("A", "Queue")).contains("does not exist")
    );
    assert_eq!(world.history("B", "Inbox"), ["IMPORT_IN_PROGRESS", "IMPORT_COMPLETE"]);
    assert_eq!(world.history("A", "Queue")[3..], ["EXPORT_IN_PROGRESS", "EXPORT_COMPLETE"]);
    let actions = world.region().list_stack_refactor_actions(&id, None, None).unwrap().items;
    assert_eq!(actions.len(), 1);
    assert_eq!((actions[0].action.as_str(), actions[0].detection.as_str()), ("MOVE", "MANUAL"));
    assert_eq!(actions[0].mapping.as_ref().unwrap().source.stack, world.stack("A").info.id);
    assert!(
        actions[0]
            .tag_resources
            .contains(&("aws:cloudformation:logical-id".into(), "Inbox".into()))
    );
    assert_eq!(message(world.update("B", &renamed)), "No updates are to be performed.");
}

#[test]
fn an_equal_logical_id_needs_no_mapping() {
    let world = two();
    let info = world.preview(&refactor(&[("A", &left()), ("B", &arrived())], &[]));
    assert_eq!(
        (info.status.as_str(), info.execution_status.as_str()),
        ("CREATE_COMPLETE", "AVAILABLE")
    );
    let actions = world.region().list_stack_refactor_actions(&info.id, None, None).unwrap().items;
    assert_eq!(actions[0].detection, "AUTO");
    assert_eq!(world.status("A"), "CREATE_COMPLETE", "a preview changes nothing");
}

#[test]
fn a_rename_in_one_stack_and_a_swap_are_moves_too() {
    let world = two();
    let renamed = template(&format!("{},{STAYS}", MOVED.replace("\"Queue\"", "\"New\"")));
    let queue = world.thing("A", "Queue");
    world.carry_out(&refactor(&[("A", &renamed)], &["A.Queue>A.New"]));
    assert_eq!(world.thing("A", "New").generation, queue.generation);
    let world = self::world();
    let pair = |x: u32, y: u32| {
        template(&format!(
            r#""X":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":{x}}}}},
               "Y":{{"Type":"AWS::SQS::Queue","Properties":{{"DelaySeconds":{y}}}}}"#
        ))
    };
    world.deploy("S", &pair(1, 2));
    let (x, y) = (world.thing("S", "X"), world.thing("S", "Y"));
    world.carry_out(&refactor(&[("S", &pair(2, 1))], &["S.X>S.Y", "S.Y>S.X"]));
    assert_eq!(world.thing("S", "X").generation, y.generation);
    assert_eq!(world.thing("S", "Y").generation, x.generation);
}

#[test]
fn a_reference_may_become_an_import_in_the_same_refactor() {
    let user = |reference: &str| {
        format!(
            r#""User":{{"Type":"AWS::SSM::Parameter","Properties":{{"Type":"String","Value":{reference}}}}}"#
        )
    };
    let world = world();
    world.deploy("A", &template(&format!("{QUEUE},{}", user(r#"{"Fn::GetAtt":["Queue","Arn"]}"#))));
    world.deploy("B", &template(TOPIC));
    let new_a = template(&user(r#"{"Fn::ImportValue":"queue"}"#));
    let new_b = with_outputs(
        &format!("{QUEUE},{TOPIC}"),
        r#""O":{"Value":{"Fn::GetAtt":["Queue","Arn"]},"Export":{"Name":"queue"}}"#,
    );
    world.carry_out(&refactor(&[("A", &new_a), ("B", &new_b)], &["A.Queue>B.Queue"]));
    assert_eq!(world.region().list_imports("queue", None).unwrap().items, ["A"]);
    assert_eq!(world.thing("A", "User").updates, 0);
    // And back again, which takes the export away together with its only user.
    let old_a = template(&format!("{QUEUE},{}", user(r#"{"Fn::GetAtt":["Queue","Arn"]}"#)));
    let back = [("A", old_a.as_str()), ("B", &template(TOPIC))];
    world.carry_out(&refactor(&back, &["B.Queue>A.Queue"]));
    assert!(world.region().list_exports(None).unwrap().items.is_empty());
}

#[test]
fn a_new_stack_comes_into_being() {
    let world = two();
    let new = template(MOVED);
    let definitions = [("A", left()), ("New", new)];
    let definitions: Vec<(&str, &str)> =
        definitions.iter().map(|(n, t)| (*n, t.as_str())).collect();
    let mut request = refactor(&definitions, &[]);
    assert_eq!(
        message(world.region().create_stack_refactor(&request)),
        "Stack with id New does not exist"
    );
    request.enable_stack_creation = true;
    let info = world.preview(&request);
    assert_eq!(info.status, "CREATE_COMPLETE", "{info:?}");
    assert_eq!(world.status("New"), "REVIEW_IN_PROGRESS");
    let actions = world.region().list_stack_refactor_actions(&info.id, None, None).unwrap().items;
    assert_eq!(
        (actions[1].entity.as_str(), actions[1].description.clone()),
        ("STACK", format!("Stack {} created.", world.stack("New").info.id))
    );
    world.region().execute_stack_refactor(&info.id).unwrap();
    world.clock.advance(1000);
    assert_eq!(world.status("New"), "CREATE_COMPLETE");
    assert_eq!(
        world.history("New", "New"),
        ["REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
    );
}

#[test]
fn the_shell_of_a_refused_new_stack_stays_until_it_is_deleted() {
    let world = two();
    let new = format!(
        r#"{{"Conditions":{{"C":{{"Fn::Equals":[1,1]}}}},"Rules":{{"R":{{"Assertions":[]}}}},"Resources":{{{MOVED}}}}}"#
    );
    let mut request = refactor(&[("A", &left()), ("New", &new)], &[]);
    request.enable_stack_creation = true;
    assert_eq!(
        world.refusal(&request),
        "Following template sections are not allowed when creating a stack while refactoring: \
         Conditions, Rules"
    );
    assert_eq!(world.status("New"), "REVIEW_IN_PROGRESS");
    assert_eq!(
        message(world.region().create_stack_refactor(&request)),
        "Refactor cannot be performed on stacks with REVIEW_IN_PROGRESS status"
    );
    world
        .region()
        .delete_stack(&DeleteStack { name: "New".into(), ..DeleteStack::default() })
        .unwrap();
    assert!(!world.region().stack_exists("New").unwrap());
}

#[test]
fn the_states_of_a_refactor_can_be_seen_and_the_stacks_are_stable_last() {
    let world = prepare(slow_world());
    let region = world.region();
    let id =
        region.create_stack_refactor(&refactor(&[("A", &left()), ("B", &arrived())], &[])).unwrap();
    let seen = || {
        let info = region.describe_stack_refactor(&id).unwrap();
        format!("{} {} {}", info.status, info.execution_status, world.status("A"))
    };
    assert_eq!(seen(), "CREATE_IN_PROGRESS UNAVAILABLE CREATE_COMPLETE");
    assert!(message(region.execute_stack_refactor(&id)).contains("[UNAVAILABLE]"));
    world.clock.advance(1000);
    assert_eq!(seen(), "CREATE_COMPLETE AVAILABLE CREATE_COMPLETE");
    region.execute_stack_refactor(&id).unwrap();
    assert_eq!(seen(), "CREATE_COMPLETE EXECUTE_IN_PROGRESS UPDATE_IN_PROGRESS");
    assert_eq!(world.reason("A"), format!("Refactor {id} initiated"));
    assert_eq!(
        message(region.create_stack_refactor(&refactor(&[("A", &left())], &[]))),
        "Refactor cannot be performed on stacks with UPDATE_IN_PROGRESS status"
    );
    assert!(message(region.execute_stack_refactor(&id)).contains("[EXECUTE_IN_PROGRESS]"));
    world.clock.advance(1000);
    assert_eq!(seen(), "CREATE_COMPLETE EXECUTE_COMPLETE UPDATE_IN_PROGRESS");
    assert!(message(world.update("A", &a(""))).contains("is in UPDATE_IN_PROGRESS state"));
    world.clock.advance(1000);
    assert_eq!(seen(), "CREATE_COMPLETE EXECUTE_COMPLETE UPDATE_COMPLETE");
}

#[test]
fn an_update_makes_a_preview_obsolete() {
    let world = two();
    let request = refactor(&[("A", &left()), ("B", &arrived())], &[]);
    let info = world.preview(&request);
    world.deploy("B", &b(&format!(",{QUEUE}").replace("Queue\":", "More\":")));
    let after = world.region().describe_stack_refactor(&info.id).unwrap();
    assert_eq!(after.execution_status, "OBSOLETE");
    let id = world.stack("B").info.id;
    assert_eq!(after.execution_status_reason.unwrap(), format!("{id}: Stack was updated."));
    assert!(message(world.region().execute_stack_refactor(&info.id)).contains("[OBSOLETE]"));
    assert!(world.region().list_stack_refactors(&[], None, None).unwrap().items.is_empty());
    let obsolete = ["OBSOLETE".to_owned()];
    assert_eq!(world.region().list_stack_refactors(&obsolete, None, None).unwrap().items.len(), 1);
}

/// A refusal with the definitions that lead to it.
fn refused(world: &World, definitions: &[(&str, &str)], mappings: &[&str]) -> String {
    world.refusal(&refactor(definitions, mappings))
}

#[test]
fn a_moved_resource_must_keep_its_resolved_properties() {
    let world = two();
    let changed = arrived().replace("\"DelaySeconds\":5", "\"DelaySeconds\":6");
    let id = world.stack("A").info.id;
    assert_eq!(
        refused(&world, &[("A", &left()), ("B", &changed)], &["A.Queue>B.Queue"]),
        format!(
            "Resource Queue in stack {id} does not match the destination resource's properties."
        )
    );
    for same in ["\"5\"", "{\"Fn::Select\":[0,[5]]}"] {
        let same = arrived().replace("\"DelaySeconds\":5", &format!("\"DelaySeconds\":{same}"));
        let info = world.preview(&refactor(&[("A", &left()), ("B", &same)], &[]));
        assert_eq!(info.status, "CREATE_COMPLETE", "{info:?}");
    }
    let retained = arrived().replace("\"Metadata\"", "\"DeletionPolicy\":\"Retain\",\"Metadata\"");
    assert!(refused(&world, &[("A", &left()), ("B", &retained)], &[]).contains("does not match"));
}

#[test]
fn nothing_may_be_added_removed_or_modified() {
    let world = two();
    let modified = left().replace("\"a\"", "\"b\"");
    let not_permitted = "Found an action type that is not permitted during refactor operations: ";
    assert_eq!(
        refused(&world, &[("A", &modified), ("B", &arrived())], &[]),
        format!("{not_permitted}Modify")
    );
    assert_eq!(
        refused(&world, &[("A", &left()), ("B", &b(""))], &[]),
        format!("{not_permitted}Remove")
    );
    let id = world.stack("B").info.id;
    assert_eq!(
        refused(&world, &[("A", &a("")), ("B", &b(&format!(",{TOPIC}")))], &[]),
        format!(
            "Could not find any source stacks for Logical ID and Stack ID pairs: Topic -> {id}"
        )
    );
    let metadata = left().replace("\"Properties\"", "\"Metadata\":{\"k\":1},\"Properties\"");
    assert_eq!(
        refused(&world, &[("A", &metadata), ("B", &arrived())], &[]),
        format!("{not_permitted}Modify")
    );
    let path = left().replace(
        "\"Properties\"",
        "\"DependsOn\":[],\"Metadata\":{\"aws:cdk:path\":\"x\"},\"Properties\"",
    );
    let info = world.preview(&refactor(&[("A", &path), ("B", &arrived())], &[]));
    assert_eq!(info.status, "CREATE_COMPLETE", "{info:?}");
}

#[test]
fn a_mapping_must_be_a_move() {
    let world = two();
    assert_eq!(
        refused(&world, &[("A", &a("")), ("B", &arrived())], &["A.Queue>B.Queue"]),
        "The resource Queue defined in the resources mapping did no move from its original stack \
         A. Review your stack template desired state."
    );
    assert!(refused(&world, &[("B", &arrived())], &["A.Queue>B.Queue"]).contains("did no move"));
    assert!(
        refused(&world, &[("A", &left()), ("B", &b(""))], &["A.Queue>B.Queue"])
            .contains("does not match")
    );
    for invalid in
        [&["No.Queue>B.Queue"][..], &["A.Queue>No.Queue"], &["A.Queue>B.X", "A.Queue>B.Y"]]
    {
        let request = refactor(&[("A", &left()), ("B", &arrived())], invalid);
        assert_eq!(
            message(world.region().create_stack_refactor(&request)),
            "ResourceMapping is invalid"
        );
    }
}

#[test]
fn types_that_cannot_move_are_refused() {
    for (kind, text) in [
        ("AWS::IAM::Policy", "Stack Refactor does not support AWS::IAM::Policy."),
        ("AWS::CDK::Metadata", "Stack Refactor does not support AWS::CDK::Metadata."),
        (
            "AWS::EC2::KeyPair",
            "Stack Refactor does not support AWS::EC2::KeyPair because the resource type does not \
             allow tag updates after creation.",
        ),
    ] {
        let world = world();
        let body = format!(r#""X":{{"Type":"{kind}"}}"#);
        world.deploy("A", &template(&format!("{body},{QUEUE}")));
        world.deploy("B", &template(TOPIC));
        let there = template(&format!("{TOPIC},{body}"));
        assert_eq!(refused(&world, &[("A", &template(QUEUE)), ("B", &there)], &[]), text);
    }
    let world = world();
    let metadata = r#""CDKMetadata":{"Type":"AWS::CDK::Metadata"}"#;
    world.deploy("A", &template(&format!("{QUEUE},{TOPIC},{metadata}")));
    world.deploy("B", &template(THERE));
    let there = template(&format!("{THERE},{QUEUE}"));
    let info = world.preview(&refactor(
        &[("A", &template(&format!("{TOPIC},{metadata}"))), ("B", &there)],
        &[],
    ));
    assert_eq!(info.status, "CREATE_COMPLETE", "what stays as it is does no harm: {info:?}");
    assert_eq!(
        refused(&world, &[("A", &template(TOPIC)), ("B", &there)], &[]),
        "Stack Refactor does not support AWS::CDK::Metadata."
    );
}

#[test]
fn a_type_with_a_strange_tag_schema_fails_when_it_moves() {
    let world = world();
    let image = r#""X":{"Type":"AWS::Lambda::MicrovmImage"}"#;
    world.deploy("A", &template(&format!("{image},{QUEUE}")));
    world.deploy("B", &template(TOPIC));
    let there = template(&format!("{TOPIC},{image}"));
    let info = world.preview(&refactor(&[("A", &template(QUEUE)), ("B", &there)], &[]));
    world.region().execute_stack_refactor(&info.id).unwrap();
    let info = world.region().describe_stack_refactor(&info.id).unwrap();
    assert_eq!(info.execution_status, "ROLLBACK_COMPLETE");
    assert!(info.execution_status_reason.unwrap().ends_with("defines an unsupported tag schema."));
    assert_eq!(world.status("A"), "UPDATE_ROLLBACK_COMPLETE");
    assert!(world.region().describe_stack_resource("A", "X").is_ok());
}

#[test]
fn one_to_five_stacks_take_part() {
    let world = two();
    let all: Vec<(&str, String)> = ["A", "B", "C", "D", "E", "F"].map(|name| (name, left())).into();
    let all: Vec<(&str, &str)> = all.iter().map(|(n, t)| (*n, t.as_str())).collect();
    let text = message(world.region().create_stack_refactor(&refactor(&all, &[])));
    assert!(text.ends_with("Member must have length less than or equal to 5"), "{text}");
    assert!(world.region().create_stack_refactor(&refactor(&[], &[])).is_err());
    let twice = refactor(&[("A", &left()), ("A", &left())], &[]);
    assert!(message(world.region().create_stack_refactor(&twice)).contains("Duplicate"));
}

#[test]
fn a_stack_must_not_become_empty() {
    let world = world();
    world.deploy("A", &template(QUEUE));
    world.deploy("B", &template(TOPIC));
    let there = template(&format!("{TOPIC},{QUEUE}"));
    let empty = refactor(&[("A", "{\"Resources\":{}}"), ("B", &there)], &[]);
    assert_eq!(
        message(world.region().create_stack_refactor(&empty)),
        "Template format error: At least one Resources member must be defined."
    );
}

#[test]
fn parameters_conditions_and_mappings_must_not_change() {
    let world = world();
    let with =
        |sections: &str, resources: &str| format!(r#"{{{sections}"Resources":{{{resources}}}}}"#);
    let parameters = r#""Parameters":{"P":{"Type":"String","Default":"x"}},"#;
    let both = format!("{QUEUE},{TOPIC}");
    world.deploy("A", &with(parameters, &both));
    world.deploy("B", &template(THERE));
    let there = template(&format!("{THERE},{QUEUE}"));
    assert_eq!(
        refused(&world, &[("A", &with("", TOPIC)), ("B", &there)], &[]),
        "Parameter values specified for a template which does not require them"
    );
    for (section, text) in [
        ("Parameters", parameters.replace("\"x\"", "\"y\"")),
        ("Conditions", format!(r#"{parameters}"Conditions":{{"C":{{"Fn::Equals":[1,1]}}}},"#)),
        ("Mappings", format!(r#"{parameters}"Mappings":{{"M":{{"a":{{"b":"c"}}}}}},"#)),
    ] {
        let reason = refused(&world, &[("A", &with(&text, TOPIC)), ("B", &there)], &[]);
        assert!(reason.ends_with(&format!("while refactoring: {section}")), "{reason}");
    }
    let fine = format!(r#"{parameters}"Rules":{{"R":{{"Assertions":[]}}}},"Description":"d","#);
    let info = world.preview(&refactor(&[("A", &with(&fine, TOPIC)), ("B", &there)], &[]));
    assert_eq!(info.status, "CREATE_COMPLETE", "{info:?}");
}

#[test]
fn a_stack_policy_a_pseudo_parameter_and_a_dangling_reference_are_refused() {
    let world = two();
    world.region().set_stack_policy("B", r#"{"Statement":[]}"#).unwrap();
    assert!(refused(&world, &[("A", &left()), ("B", &arrived())], &[]).contains("stack policy"));

    let world = self::world();
    let named = r#""Q":{"Type":"AWS::SQS::Queue","Properties":{"Tags":[{"Key":"k","Value":{"Fn::Sub":"${AWS::StackName}"}}]}}"#;
    let literal = named.replace(r#"{"Fn::Sub":"${AWS::StackName}"}"#, "\"A\"");
    world.deploy("A", &template(&format!("{named},{TOPIC}")));
    world.deploy("B", &template(THERE));
    for body in [named, &literal] {
        let there = template(&format!("{THERE},{body}"));
        assert!(
            refused(&world, &[("A", &template(TOPIC)), ("B", &there)], &[])
                .contains("does not match")
        );
    }
    let region = named.replace("AWS::StackName", "AWS::Region");
    world.deploy("C", &template(&format!("{region},{TOPIC}")));
    let there = template(&format!("{THERE},{region}"));
    let info = world.preview(&refactor(&[("C", &template(TOPIC)), ("B", &there)], &[]));
    assert_eq!(info.status, "CREATE_COMPLETE", "{info:?}");

    let dangling = template(&format!(
        r#"{TOPIC},"U":{{"Type":"AWS::SSM::Parameter","Properties":{{"Value":{{"Fn::GetAtt":["Q","Arn"]}}}}}}"#
    ));
    assert_eq!(
        message(world.region().create_stack_refactor(&refactor(&[("A", &dangling)], &[]))),
        "Template error: instance of Fn::GetAtt references undefined resource Q"
    );
}

#[test]
fn long_templates_must_lie_in_a_bucket() {
    let world = two();
    let long =
        arrived().replacen('{', &format!("{{\"Description\":\"{}\",", "x".repeat(51_200)), 1);
    let mut request = refactor(&[("A", &left()), ("B", &long)], &[]);
    assert!(message(world.region().create_stack_refactor(&request)).ends_with(
        "at 'templateBody' failed to satisfy constraint: Member must have length less than or \
         equal to 51200"
    ));
    world.cloud.put_object("b", "k.json", long.as_bytes()).unwrap();
    let url = TemplateSource::url("https://b.s3.us-east-1.amazonaws.com/k.json");
    request.definitions[1].template = url;
    assert_eq!(world.preview(&request).status, "CREATE_COMPLETE");
    let neither = CreateStackRefactor {
        definitions: vec![StackDefinition {
            stack: Some("A".into()),
            ..StackDefinition::default()
        }],
        ..CreateStackRefactor::default()
    };
    assert!(world.region().create_stack_refactor(&neither).is_err());
}

#[test]
fn exports_that_others_use_must_stay() {
    let world = world();
    let output = r#""O":{"Value":{"Ref":"Queue"},"Export":{"Name":"q"}}"#;
    world.deploy("A", &with_outputs(&format!("{QUEUE},{TOPIC}"), output));
    world.deploy("B", &template(THERE));
    let user =
        r#""U":{"Type":"AWS::SSM::Parameter","Properties":{"Value":{"Fn::ImportValue":"q"}}}"#;
    world.deploy("User", &template(user));
    let there = format!("{THERE},{QUEUE}");
    assert_eq!(
        refused(&world, &[("A", &template(TOPIC)), ("B", &template(&there))], &[]),
        "Export q cannot be deleted as it is in use by User"
    );
    let info = world
        .preview(&refactor(&[("A", &template(TOPIC)), ("B", &with_outputs(&there, output))], &[]));
    assert_eq!(info.status, "CREATE_COMPLETE", "the export moves along: {info:?}");
}

#[test]
fn faults_are_met_once() {
    for (fault, status, execution, a, new) in [
        (RefactorFault::CreateFailed("x".into()), "CREATE_FAILED", "", "", ""),
        (RefactorFault::Obsolete, "CREATE_COMPLETE", "OBSOLETE", "", ""),
        (
            RefactorFault::ExecuteFailed("x".into()),
            "CREATE_COMPLETE",
            "EXECUTE_FAILED",
            "UPDATE_FAILED",
            "CREATE_FAILED",
        ),
        (
            RefactorFault::RollbackComplete("x".into()),
            "CREATE_COMPLETE",
            "ROLLBACK_COMPLETE",
            "UPDATE_ROLLBACK_COMPLETE",
            "ROLLBACK_COMPLETE",
        ),
        (
            RefactorFault::RollbackFailed("x".into()),
            "CREATE_COMPLETE",
            "ROLLBACK_FAILED",
            "UPDATE_ROLLBACK_FAILED",
            "ROLLBACK_FAILED",
        ),
    ] {
        let world = two();
        world.region().arm(&Faults { refactors: vec![fault], ..Faults::default() }).unwrap();
        let mut request = refactor(&[("A", &left()), ("New", &template(MOVED))], &[]);
        request.enable_stack_creation = true;
        let info = world.preview(&request);
        assert_eq!(info.status, status);
        if !a.is_empty() {
            world.region().execute_stack_refactor(&info.id).unwrap();
            assert_eq!((world.status("A").as_str(), world.status("New").as_str()), (a, new));
            assert!(world.region().describe_stack_resource("A", "Queue").is_ok());
        }
        if !execution.is_empty() {
            let info = world.region().describe_stack_refactor(&info.id).unwrap();
            assert_eq!(info.execution_status, execution);
        }
        assert_eq!(world.region().armed().unwrap(), Faults::default());
    }
}

#[test]
fn an_unknown_refactor_is_not_found() {
    let world = world();
    let error = world.region().describe_stack_refactor("no").unwrap_err();
    assert_eq!((error.code.as_str(), error.http_status), ("StackRefactorNotFoundException", 404));
    assert!(world.region().execute_stack_refactor("no").is_err());
    assert!(world.region().list_stack_refactor_actions("no", None, None).is_err());
}

#[test]
fn an_update_before_the_preview_is_ready_makes_it_obsolete_too() {
    let world = prepare(slow_world());
    let request = refactor(&[("A", &left()), ("B", &arrived())], &[]);
    let id = world.region().create_stack_refactor(&request).unwrap();
    world.update("B", &b(&format!(",{QUEUE}").replace("Queue\":", "More\":"))).unwrap();
    world.clock.advance(10_000);
    let info = world.region().describe_stack_refactor(&id).unwrap();
    assert_eq!(info.execution_status, "OBSOLETE");
}

/// A parent with two nested stacks, the first with two queues.
fn nested() -> World {
    let world = world();
    let outputs = r#""Url":{"Value":{"Ref":"Queue"}}"#;
    let one = with_outputs(&format!("{QUEUE},{STAYS}"), outputs);
    world.cloud.put_object("s", "one", one.as_bytes()).unwrap();
    world.cloud.put_object("s", "two", template(THERE).as_bytes()).unwrap();
    let child = |id: &str, key: &str| {
        format!(
            r#""{id}":{{"Type":"AWS::CloudFormation::Stack","Properties":{{"TemplateURL":"https://s.s3.amazonaws.com/{key}"}}}}"#
        )
    };
    let user = r#""User":{"Type":"AWS::SSM::Parameter","Properties":{"Value":{"Fn::GetAtt":["One","Outputs.Url"]}}}"#;
    let parent = template(&format!("{},{},{user}", child("One", "one"), child("Two", "two")));
    world.deploy("Parent", &parent);
    world
}

#[test]
fn a_resource_moves_between_nested_stacks_and_the_parent_stays_as_it_is() {
    let world = nested();
    let (one, two) = (world.id("Parent", "One"), world.id("Parent", "Two"));
    let queue = world.thing(&one, "Queue");
    // The parent uses the output, so that the first stack must go on to give its value.
    let imported = with_outputs(STAYS, r#""Url":{"Value":{"Fn::ImportValue":"queue"}}"#);
    let there = with_outputs(
        &format!("{THERE},{QUEUE}"),
        r#""Q":{"Value":{"Ref":"Queue"},"Export":{"Name":"queue"}}"#,
    );
    let mapping = format!("{one}.Queue>{two}.Queue");
    let info = world.preview(&refactor(&[(&one, &imported), (&two, &there)], &[&mapping]));
    assert_eq!(info.status, "CREATE_COMPLETE", "{:?}", info.status_reason);
    world.region().execute_stack_refactor(&info.id).unwrap();
    world.clock.advance(10_000);
    assert_eq!(world.thing(&two, "Queue").generation, queue.generation);
    assert_eq!(world.output(&one, "Url"), queue.physical_id);
    assert_eq!(world.status("Parent"), "CREATE_COMPLETE");
}

#[test]
fn a_nested_stack_moves_with_all_that_is_in_it() {
    let world = nested();
    world.deploy("Other", &template(TOPIC));
    let two = world.id("Parent", "Two");
    let topic = world.thing(&two, "Other");
    let old = world.region().get_template(Some("Parent"), None, TemplateStage::Original).unwrap();
    let start = old.find(",\"Two\"").unwrap();
    let end = start + old[start + 1..].find(",\"User\"").unwrap() + 1;
    let (parent, other) =
        (old.replace(&old[start..end], ""), template(&format!("{TOPIC}{}", &old[start..end])));
    world
        .carry_out(&refactor(&[("Parent", &parent), ("Other", &other)], &["Parent.Two>Other.Two"]));
    assert_eq!(world.id("Other", "Two"), two);
    assert_eq!(world.stack(&two).info.parent_id, Some(world.stack("Other").info.id));
    assert_eq!(world.thing(&two, "Other"), topic);
}
