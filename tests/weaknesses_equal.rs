//! What is the same must be taken for the same. The ids `F1`… are those of a list of weaknesses
//! that were found in other tools.

mod literals;

use cdkr::compare::Evidence;
use literals::{
    PARAMETER, QUEUE, assert_changes, assert_moves, assert_replaced, bare, cdk, changes, compare,
    logical_id, mapping, nested, parameter, queue, resource, stack, stack_with, with,
};

const BUCKET: &str = "AWS::S3::Bucket";
const FUNCTION: &str = "AWS::Lambda::Function";

// F1
#[test]
fn references_in_a_sub_are_references() {
    for attribute in ["${Old.Arn}", "${Old}", "${ Old.QueueName }"] {
        let app = |queue_id, id| {
            let text = attribute.replace("Old", queue_id);
            let value = format!(r#"{{"Fn::Sub":"arn:{text}/*/${{!Old}}/${{AWS::Region}}"}}"#);
            [stack("A", [queue(queue_id), parameter(id, &value)])]
        };
        let comparison = compare(&app("Old", "P"), &app("New", "P2"));
        assert_moves(&comparison, &[("A.Old", "A.New"), ("A.P", "A.P2")]);
        let in_place = compare(&app("Old", "P"), &app("New", "P"));
        assert_moves(&in_place, &[("A.Old", "A.New")]);
        assert_eq!(in_place.unchanged, 1);
    }
}

// F1
#[test]
fn references_in_the_variables_of_a_sub_are_references() {
    let app = |queue_id, id| {
        let value =
            format!(r#"{{"Fn::Sub":["${{Q}}/${{AWS::Region}}",{{"Q":{{"Ref":"{queue_id}"}}}}]}}"#);
        [stack("A", [queue(queue_id), parameter(id, &value)])]
    };
    let comparison = compare(&app("Old", "P"), &app("New", "P2"));
    assert_moves(&comparison, &[("A.Old", "A.New"), ("A.P", "A.P2")]);
}

// F1
#[test]
fn a_change_behind_a_sub_is_seen() {
    let app = |id, delay: u32| {
        let queue = resource("Q", QUEUE, &format!(r#"{{"DelaySeconds":{delay}}}"#));
        let other = resource("R", QUEUE, r#"{"DelaySeconds":9}"#);
        let target = if delay == 9 { "R" } else { "Q" };
        let value = format!(r#"{{"Fn::Sub":"x-${{{target}.Arn}}"}}"#);
        [stack("A", [queue, other, parameter(id, &value)])]
    };
    assert_moves(&compare(&app("Old", 1), &app("New", 2)), &[("A.Old", "A.New")]);
    let comparison = compare(&app("Old", 1), &app("New", 9));
    assert_moves(&comparison, &[]);
}

// F2
#[test]
fn the_order_of_keys_with_references_does_not_count() {
    let app = |id, value| [stack("A", [queue("X"), bare("Y", BUCKET), parameter(id, value)])];
    let before = app("Old", r#"{"One":{"Ref":"X"},"Two":{"Ref":"Y"}}"#);
    let after = app("New", r#"{"Two":{"Ref":"Y"},"One":{"Ref":"X"}}"#);
    assert_moves(&compare(&before, &after), &[("A.Old", "A.New")]);
}

// F3
#[test]
fn the_order_of_depends_on_does_not_count() {
    let app = |id, depends_on| {
        let dependent = with(parameter(id, r#""x""#), "DependsOn", depends_on);
        [stack("A", [queue("X"), bare("Y", BUCKET), dependent])]
    };
    let before = app("Old", r#"["X","Y"]"#);
    assert_moves(&compare(&before, &app("New", r#"["Y","X"]"#)), &[("A.Old", "A.New")]);
    assert_moves(&compare(&before, &app("New", r#"["Y","X","Y"]"#)), &[("A.Old", "A.New")]);
    assert_replaced(&compare(&before, &app("New", r#"["Y"]"#)), &["A.Old"], &["A.New"]);
    let single = compare(&app("Old", r#""X""#), &app("New", r#"["X"]"#));
    assert_moves(&single, &[("A.Old", "A.New")]);
}

// F4
#[test]
fn conditions_and_mappings_count_by_what_they_say_not_by_their_names() {
    let app = |name: &str, id| {
        let sections = format!(
            r#"{{"Conditions":{{
                    "{name}Region":{{"Fn::Equals":[{{"Ref":"AWS::Region"}},"eu-west-1"]}},
                    "{name}Both":{{"Fn::And":[{{"Condition":"{name}Region"}},
                        {{"Fn::Not":[{{"Condition":"{name}Region"}}]}}]}}}},
                "Mappings":{{"{name}Map":{{"eu":{{"size":"1"}}}}}}}}"#
        );
        let value = format!(
            r#"{{"Fn::If":["{name}Both",{{"Fn::FindInMap":["{name}Map","eu","size"]}},"y"]}}"#
        );
        let resource = with(parameter(id, &value), "Condition", &format!(r#""{name}Region""#));
        [stack_with("A", &sections, [resource])]
    };
    let comparison = compare(&app("Old", "Old"), &app("New", "New"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    assert_eq!(changes(&comparison.mappings[0]), Vec::<&str>::new());
    assert_eq!(compare(&app("Old", "P"), &app("New", "P")).unchanged, 1);
}

/// A producer that exports something of a resource, and a consumer of the export.
fn producer_and_consumer(
    id: &str,
    consumer: &str,
    value: &str,
    export: &str,
    import: &str,
) -> [cdkr::model::Stack; 2] {
    let outputs = format!(
        r#"{{"Outputs":{{"Export{id}":{{"Value":{value},"Export":{{"Name":{export}}}}}}}}}"#
    );
    let outputs = outputs.replace("ID", id);
    let import = format!(r#"{{"Fn::ImportValue":{import}}}"#).replace("ID", id);
    [
        stack_with("Producer", &outputs, [queue(id)]),
        stack("Consumer", [parameter(consumer, &import)]),
    ]
}

// F5
#[test]
fn an_export_whose_value_is_joined_is_followed() {
    for value in [
        r#"{"Fn::Join":["",["arn:",{"Ref":"ID"},"/*"]]}"#,
        r#"{"Fn::Sub":"${ID.Arn}/*"}"#,
        r#"{"Fn::Select":[0,[{"Ref":"ID"}]]}"#,
        r#"{"Fn::GetAtt":["ID","Arn"]}"#,
    ] {
        let name = r#""Producer:ExportID""#;
        let app = |id, consumer| producer_and_consumer(id, consumer, value, name, name);
        let comparison = compare(&app("Old", "P"), &app("New", "P2"));
        assert_moves(
            &comparison,
            &[("Consumer.P", "Consumer.P2"), ("Producer.Old", "Producer.New")],
        );
    }
}

// F6
#[test]
fn computed_names_of_exports_are_followed() {
    let literal = r#""Producer:ID""#;
    let sub = r#"{"Fn::Sub":"Producer:ID"}"#;
    let own = r#"{"Fn::Sub":"${AWS::StackName}:ID"}"#;
    let join = r#"{"Fn::Join":[":",[{"Ref":"AWS::StackName"},"ID"]]}"#;
    let import_join = r#"{"Fn::Join":[":",["Producer","ID"]]}"#;
    let regional = r#"{"Fn::Sub":"Producer:ID:${AWS::Region}"}"#;
    for (export, import) in [
        (literal, sub),
        (own, literal),
        (join, literal),
        (sub, import_join),
        (join, import_join),
        (regional, r#""Producer:ID:us-east-1""#),
        (regional, regional),
    ] {
        let value = r#"{"Ref":"ID"}"#;
        let app = |id, consumer| producer_and_consumer(id, consumer, value, export, import);
        let comparison = compare(&app("Old", "P"), &app("New", "P2"));
        assert_moves(
            &comparison,
            &[("Consumer.P", "Consumer.P2"), ("Producer.Old", "Producer.New")],
        );
    }
}

const WEAK: &str = r#"{"Fn::GetStackOutput":{"StackName":"Producer","OutputName":"ExportID"}}"#;

/// A producer with an export, and a consumer that refers to it as `reference` says.
fn referenced(id: &str, consumer: &str, reference: &str) -> [cdkr::model::Stack; 2] {
    let name = r#""Producer:ID""#;
    let [producer, _] = producer_and_consumer(id, consumer, r#"{"Ref":"ID"}"#, name, name);
    [producer, stack("Consumer", [parameter(consumer, &reference.replace("ID", id))])]
}

// F7
#[test]
fn weak_references_are_followed() {
    let regional = WEAK.replace("\"StackName\"", "\"Region\":\"us-east-1\",\"StackName\"");
    for reference in [WEAK, regional.as_str()] {
        let comparison =
            compare(&referenced("Old", "P", reference), &referenced("New", "P2", reference));
        assert_moves(
            &comparison,
            &[("Consumer.P", "Consumer.P2"), ("Producer.Old", "Producer.New")],
        );
        let in_place =
            compare(&referenced("Old", "P", reference), &referenced("New", "P", reference));
        assert_eq!(in_place.unchanged, 1);
    }
}

// F7
#[test]
fn weak_references_to_different_outputs_differ() {
    let app = |id, output| {
        let value = WEAK.replace("ExportID", output);
        let outputs = r#"{"Outputs":{"X":{"Value":{"Ref":"X"}},"Y":{"Value":{"Ref":"Y"}}}}"#;
        let producer = stack_with("Producer", outputs, [queue("X"), bare("Y", BUCKET)]);
        [producer, stack("Consumer", [parameter(id, &value)])]
    };
    let comparison = compare(&app("Old", "X"), &app("New", "Y"));
    assert_replaced(&comparison, &["Consumer.Old"], &["Consumer.New"]);
}

// F8
#[test]
fn a_switch_between_kinds_of_references_changes_nothing() {
    let strong = r#"{"Fn::ImportValue":"Producer:ID"}"#;
    for (before, after) in [(strong, WEAK), (WEAK, strong)] {
        let in_place = compare(&referenced("Q", "P", before), &referenced("Q", "P", after));
        assert_changes(&in_place, &[]);
        assert_eq!(in_place.unchanged, 2);
        let comparison = compare(&referenced("Q", "P", before), &referenced("Q", "P2", after));
        assert_moves(&comparison, &[("Consumer.P", "Consumer.P2")]);
        let comparison = compare(&referenced("Q", "P", before), &referenced("Q2", "P2", after));
        assert_moves(&comparison, &[("Consumer.P", "Consumer.P2"), ("Producer.Q", "Producer.Q2")]);
    }
}

// F8
#[test]
fn a_consumer_that_moves_next_to_its_producer_is_the_same() {
    let before = referenced("Q", "P", r#"{"Fn::ImportValue":"Producer:ID"}"#);
    let after =
        [stack("Producer", [queue("Q"), parameter("P", r#"{"Ref":"Q"}"#)]), stack("Consumer", [])];
    assert_moves(&compare(&before, &after), &[("Consumer.P", "Producer.P")]);
}

// F9: a selection of stacks is a matter of the report; the comparison has them all.
#[test]
fn the_consumer_of_a_renamed_export_has_not_changed() {
    let strong = r#"{"Fn::ImportValue":"Producer:ID"}"#;
    let comparison = compare(&referenced("Old", "P", strong), &referenced("New", "P", strong));
    assert_moves(&comparison, &[("Producer.Old", "Producer.New")]);
    assert_changes(&comparison, &[]);
    assert_eq!(comparison.unchanged, 1);
}

// F10
#[test]
fn path_metadata_on_one_side_only_does_not_count() {
    let with_path = |path: &str| cdk(path, QUEUE, r#"{"DelaySeconds":1}"#);
    let without = |id: &str| resource(id, QUEUE, r#"{"DelaySeconds":1}"#);
    for metadata in [None, Some("{}")] {
        let plain = |id: &str| match metadata {
            Some(metadata) => with(without(id), "Metadata", metadata),
            None => without(id),
        };
        let old = logical_id("A/Old/Resource");
        let comparison =
            compare(&[stack("A", [with_path("A/Old/Resource")])], &[stack("A", [plain("New")])]);
        assert_moves(&comparison, &[(&format!("A.{old}"), "A.New")]);
        let in_place =
            compare(&[stack("A", [with_path("A/Old/Resource")])], &[stack("A", [plain(&old)])]);
        assert_eq!(in_place.unchanged, 1);
    }
}

// F11
#[test]
fn the_place_of_an_asset_does_not_count() {
    let function = |id, path: &str| {
        let metadata = format!(
            r#"{{"aws:asset:path":"{path}","aws:asset:is-bundled":false,"aws:asset:property":"Code"}}"#
        );
        let function = resource(id, FUNCTION, r#"{"Code":{"S3Bucket":"b","S3Key":"k.zip"}}"#);
        [stack("A", [with(function, "Metadata", &metadata)])]
    };
    let comparison = compare(&function("Old", "asset.x"), &function("New", "../asset.x"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
}

// F12
#[test]
fn numbers_and_truth_values_may_be_written_as_text() {
    for (old, new) in [(r#""30""#, "30"), (r#""true""#, "true"), (r#""1.5""#, "1.5")] {
        let queue =
            |id, value: &str| [stack("A", [resource(id, QUEUE, &format!(r#"{{"X":{value}}}"#))])];
        assert_moves(&compare(&queue("Old", old), &queue("New", new)), &[("A.Old", "A.New")]);
    }
}

// F12
#[test]
fn the_order_of_tags_does_not_count() {
    let tagged = |id, tags: &str| {
        [stack("A", [resource(id, QUEUE, &format!(r#"{{"DelaySeconds":1,"Tags":{tags}}}"#))])]
    };
    let forward = r#"[{"Key":"a","Value":"1"},{"Key":"b","Value":{"Ref":"AWS::Region"}}]"#;
    let backward = r#"[{"Value":{"Ref":"AWS::Region"},"Key":"b"},{"Key":"a","Value":"1"}]"#;
    let comparison = compare(&tagged("Old", forward), &tagged("New", backward));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    assert_eq!(changes(&comparison.mappings[0]), Vec::<&str>::new());
    assert_eq!(compare(&tagged("Q", forward), &tagged("Q", backward)).unchanged, 1);
    let other = backward.replace("\"1\"", "\"2\"");
    assert_replaced(
        &compare(&tagged("Old", forward), &tagged("New", &other)),
        &["A.Old"],
        &["A.New"],
    );
}

/// A stack with a nested one.
fn with_nested(id: &str, hash: &str, child: &str) -> [cdkr::model::Stack; 2] {
    let properties = format!(r#"{{"TemplateURL":"https://s3/{hash}.json"}}"#);
    let metadata =
        format!(r#"{{"aws:asset:path":"{hash}.json","aws:asset:property":"TemplateURL"}}"#);
    let resource = resource(id, "AWS::CloudFormation::Stack", &properties);
    let resource = with(resource, "Metadata", &metadata);
    [
        stack("A", [resource]),
        nested(&format!("A.{id}"), [queue(child), bare("Topic", "AWS::SNS::Topic")]),
    ]
}

// F13
#[test]
fn a_nested_stack_is_the_same_whatever_its_template_is_called() {
    let comparison = compare(&with_nested("Old", "aaa", "Q"), &with_nested("New", "bbb", "Q"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    assert_eq!(changes(&comparison.mappings[0]), Vec::<&str>::new());
    let in_place = compare(&with_nested("N", "aaa", "Q"), &with_nested("N", "bbb", "Q"));
    assert_changes(&in_place, &[]);
    assert_eq!(in_place.unchanged, 3);
}

// F13
#[test]
fn what_moves_inside_of_a_nested_stack_is_found() {
    let comparison = compare(&with_nested("N", "aaa", "Old"), &with_nested("N", "bbb", "New"));
    assert_moves(&comparison, &[("A/N.Old", "A/N.New")]);
    assert_changes(&comparison, &[]);
}

// F14; adversaries: weaknesses_names.rs
#[test]
fn names_that_the_framework_derives_from_a_place_follow_the_place() {
    let app = |vpc: &str| {
        let subnet = format!("A/{vpc}/PublicSubnet1");
        let group = format!("A/{vpc}/Group");
        let role = format!("A/{vpc}/Role");
        let vpc_path = format!("A/{vpc}");
        let resource_path = |path: &str, last: &str| format!("{path}/{last}");
        let reference = |path: &str| format!(r#"{{"Ref":"{}"}}"#, logical_id(path));
        let policy = resource_path(&format!("{role}/DefaultPolicy"), "Resource");
        [stack(
            "A",
            [
                cdk(
                    &resource_path(&vpc_path, "Resource"),
                    "AWS::EC2::VPC",
                    &format!(
                        r#"{{"CidrBlock":"10.0.0.0/16","Tags":[{{"Key":"Name","Value":"{vpc_path}"}}]}}"#
                    ),
                ),
                cdk(
                    &resource_path(&subnet, "Subnet"),
                    "AWS::EC2::Subnet",
                    &format!(
                        r#"{{"VpcId":{},"Tags":[{{"Key":"Name","Value":"{subnet}"}}]}}"#,
                        reference(&resource_path(&vpc_path, "Resource"))
                    ),
                ),
                cdk(
                    &resource_path(&group, "Resource"),
                    "AWS::EC2::SecurityGroup",
                    &format!(r#"{{"GroupDescription":"{group}"}}"#),
                ),
                cdk(&resource_path(&role, "Resource"), "AWS::IAM::Role", r#"{"Path":"/x/"}"#),
                cdk(
                    &policy,
                    "AWS::IAM::Policy",
                    &format!(
                        r#"{{"PolicyName":"{}","Roles":[{}]}}"#,
                        logical_id(&policy),
                        reference(&resource_path(&role, "Resource"))
                    ),
                ),
            ],
        )]
    };
    let comparison = compare(&app("Old"), &app("New"));
    assert_eq!(comparison.mappings.len(), 5, "{comparison:#?}");
    assert!(comparison.ambiguous.is_empty() && comparison.removed.is_empty());
    let changed: Vec<_> = comparison.mappings.iter().flat_map(|m| &m.changes).collect();
    assert_eq!(changed.len(), 4, "{changed:#?}");
    assert!(changed.iter().all(|difference| difference.name_only), "{changed:#?}");
    let replacing: Vec<&str> =
        changed.iter().filter(|d| d.replaces).map(|d| d.property.as_str()).collect();
    assert_eq!(replacing, ["Properties.GroupDescription"]);
}

// F15
#[test]
fn a_physical_name_identifies_what_was_renamed_and_changed() {
    let bucket = |id, versioning: &str| {
        let properties = format!(
            r#"{{"BucketName":"the-bucket","VersioningConfiguration":{{"Status":"{versioning}"}}}}"#
        );
        [stack("A", [resource(id, BUCKET, &properties)])]
    };
    let comparison = compare(&bucket("Old", "Enabled"), &bucket("New", "Suspended"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    let mapping = &comparison.mappings[0];
    assert_eq!(mapping.evidence, Evidence::PhysicalId(vec!["BucketName".into()]));
    assert_eq!(changes(mapping), ["Properties.VersioningConfiguration.Status"]);
}

// F16
#[test]
fn a_deletion_policy_may_change_with_the_rename() {
    let properties = r#"{"BucketEncryption":{"Rule":"aws:kms"}}"#;
    let bucket = |id, policy: &str| {
        let policy = format!(r#""{policy}""#);
        let bucket = with(resource(id, BUCKET, properties), "DeletionPolicy", &policy);
        with(bucket, "UpdateReplacePolicy", &policy)
    };
    let user = |id, bucket| parameter(id, &format!(r#"{{"Ref":"{bucket}"}}"#));
    let before = [stack("A", [bucket("Old", "Delete"), user("P", "Old")])];
    let after = [stack("A", [bucket("New", "Retain"), user("P2", "New")])];
    let comparison = compare(&before, &after);
    assert_moves(&comparison, &[("A.Old", "A.New"), ("A.P", "A.P2")]);
    let mapping = mapping(&comparison, "A.Old");
    assert_eq!(changes(mapping), ["DeletionPolicy", "UpdateReplacePolicy"]);
    assert!(!mapping.by_names, "{mapping:?}");
}

// F16
#[test]
fn deletion_policies_decide_between_resources_that_are_equal_otherwise() {
    let bucket =
        |id, policy: &str| with(bare(id, BUCKET), "DeletionPolicy", &format!(r#""{policy}""#));
    let before = [stack("A", [bucket("X", "Delete"), bucket("Y", "Retain")])];
    let after = [stack("A", [bucket("V", "Retain"), bucket("W", "Delete")])];
    assert_moves(&compare(&before, &after), &[("A.X", "A.W"), ("A.Y", "A.V")]);
}

// F16
#[test]
fn additions_and_changes_elsewhere_do_not_hide_a_rename() {
    let stays = |policy: &str| with(bare("Stays", BUCKET), "DeletionPolicy", policy);
    let old = resource("Old", QUEUE, r#"{"DelaySeconds":1}"#);
    let new = resource("New", QUEUE, r#"{"DelaySeconds":1}"#);
    let before = [stack("A", [old, stays(r#""Delete""#), bare("Gone", "AWS::SNS::Topic")])];
    let after = [stack("A", [new, stays(r#""Retain""#), bare("Extra", PARAMETER)])];
    let comparison = compare(&before, &after);
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    assert_eq!(comparison.changed.len(), 1);
    assert_eq!((comparison.added.len(), comparison.removed.len()), (1, 1));
}

// F17
#[test]
fn a_logical_id_inside_of_a_text_follows_its_resource() {
    let app = |group: &str| {
        let path = format!("A/{group}/ASG");
        let id = logical_id(&path);
        let config = format!("A/{group}/LaunchConfig");
        let script = format!(
            r#"{{"UserData":{{"Fn::Base64":{{"Fn::Join":["",["cfn-signal --stack ",
                {{"Ref":"AWS::StackName"}}," --resource {id} --region ",{{"Ref":"AWS::Region"}}]]}}}}}}"#
        );
        let scaling = format!(r#"{{"MaxSize":"1","Launch":{{"Ref":"{}"}}}}"#, logical_id(&config));
        let metadata = format!(r#"{{"aws:cdk:path":"{path}","note":"see {id} first"}}"#);
        let scaling = cdk(&path, "AWS::AutoScaling::AutoScalingGroup", &scaling);
        let config = cdk(&config, "AWS::AutoScaling::LaunchConfiguration", &script);
        [stack("A", [config, with(scaling, "Metadata", &metadata)])]
    };
    let comparison = compare(&app("Old"), &app("New"));
    assert_eq!(comparison.mappings.len(), 2, "{comparison:#?}");
    assert!(comparison.mappings.iter().all(|mapping| mapping.by_names));
}
