//! What is not the same must not be taken for the same. The ids `N1`… are those of a list of
//! weaknesses that were found in other tools.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;

use cdkr::registry;
use literals::{
    PARAMETER, assert_changes, assert_moves, assert_question, assert_replaced, bare, cdk, changes,
    compare, decide, mapping, parameter, queue, resource, stack, stack_with, with,
};

const RULE: &str = "AWS::Events::Rule";

/// One parameter has one value before, another one has another value after.
#[track_caller]
fn assert_different(old: &str, new: &str) {
    let before = [stack("A", [queue("Q"), parameter("Old", old)])];
    let after = [stack("A", [queue("Q"), parameter("New", new)])];
    assert_replaced(&compare(&before, &after), &["A.Old"], &["A.New"]);
    let edited = [stack("A", [queue("Q"), parameter("Old", new)])];
    let comparison = compare(&before, &edited);
    assert_eq!(comparison.changed.len(), 1, "an edit in place is seen: {comparison:#?}");
}

// N1
#[test]
fn two_attributes_of_one_resource_differ() {
    assert_different(r#"{"Fn::GetAtt":["Q","Arn"]}"#, r#"{"Fn::GetAtt":["Q","QueueName"]}"#);
    assert_different(r#"{"Fn::GetAtt":["Q","Arn"]}"#, r#"{"Fn::GetAtt":"Q.QueueName"}"#);
    assert_different(r#"{"Fn::GetAtt":["Q","Arn"]}"#, r#"{"Ref":"Q"}"#);
    assert_different(r#"{"Fn::Sub":"${Q.Arn}"}"#, r#"{"Fn::Sub":"${Q.QueueName}"}"#);
}

// N1
#[test]
fn an_edited_attribute_is_a_change_of_that_property() {
    let with = |attribute| {
        let value = format!(r#"{{"Fn::GetAtt":["Q","{attribute}"]}}"#);
        [stack("A", [queue("Q"), parameter("P", &value)])]
    };
    let comparison = compare(&with("Arn"), &with("QueueName"));
    assert_moves(&comparison, &[]);
    assert_changes(&comparison, &[("A.P", &["Properties.Value"])]);
}

// N1
#[test]
fn attributes_tell_two_renamed_parameters_apart() {
    let with = |arn, name| {
        [stack(
            "A",
            [
                queue("Q"),
                parameter(arn, r#"{"Fn::GetAtt":["Q","Arn"]}"#),
                parameter(name, r#"{"Fn::GetAtt":["Q","QueueName"]}"#),
            ],
        )]
    };
    let comparison = compare(&with("P1", "P2"), &with("P4", "P3"));
    assert_moves(&comparison, &[("A.P1", "A.P4"), ("A.P2", "A.P3")]);
}

// N2
#[test]
fn two_pseudo_parameters_differ() {
    assert_different(r#"{"Ref":"AWS::Region"}"#, r#"{"Ref":"AWS::AccountId"}"#);
    assert_different(r#"{"Ref":"AWS::NoValue"}"#, r#"{"Ref":"AWS::StackName"}"#);
    assert_different(r#"{"Fn::Sub":"${AWS::Region}"}"#, r#"{"Fn::Sub":"${AWS::AccountId}"}"#);
}

// N2
#[test]
fn imports_of_different_pseudo_parameters_and_parameters_differ() {
    let producer = stack_with(
        "Producer",
        r#"{"Parameters":{"One":{"Type":"String"},"Two":{"Type":"String"}},"Outputs":{
            "Region":{"Value":{"Ref":"AWS::Region"},"Export":{"Name":"region"}},
            "Account":{"Value":{"Ref":"AWS::AccountId"},"Export":{"Name":"account"}},
            "One":{"Value":{"Ref":"One"},"Export":{"Name":"one"}},
            "Two":{"Value":{"Ref":"Two"},"Export":{"Name":"two"}}}}"#,
        [queue("Q")],
    );
    let consumer = |id, export| {
        let value = format!(r#"{{"Fn::ImportValue":"{export}"}}"#);
        [producer.clone(), stack("A", [queue("Q"), parameter(id, &value)])]
    };
    for (old, new) in [("region", "account"), ("one", "two"), ("region", "one")] {
        let comparison = compare(&consumer("Old", old), &consumer("New", new));
        assert_replaced(&comparison, &["A.Old"], &["A.New"]);
        let comparison = compare(&consumer("P", old), &consumer("P", new));
        assert_changes(&comparison, &[("A.P", &["Properties.Value"])]);
    }
    let comparison = compare(&consumer("Old", "region"), &consumer("New", "region"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
}

// N2
#[test]
fn the_imported_names_of_two_stacks_differ() {
    let producer = |name: &str| {
        let outputs = format!(
            r#"{{"Outputs":{{"Name":{{"Value":{{"Ref":"AWS::StackName"}},
                "Export":{{"Name":"{name}-name"}}}}}}}}"#
        );
        stack_with(name, &outputs, [queue("Q")])
    };
    let consumer = |id, value| {
        [producer("Left"), producer("Right"), stack("A", [queue("Q"), parameter(id, value)])]
    };
    let left = r#"{"Fn::ImportValue":"Left-name"}"#;
    let right = r#"{"Fn::ImportValue":"Right-name"}"#;
    let own = r#"{"Ref":"AWS::StackName"}"#;
    for (old, new) in [(left, right), (left, own)] {
        let comparison = compare(&consumer("Old", old), &consumer("New", new));
        assert_replaced(&comparison, &["A.Old"], &["A.New"]);
    }
}

// N3
#[test]
fn parameters_without_a_value_are_told_apart_by_their_names() {
    let parameters =
        r#"{"Parameters":{"OrdersName":{"Type":"String"},"UsersName":{"Type":"String"}}}"#;
    let table = |id, name| {
        let properties = format!(r#"{{"TableName":{{"Ref":"{name}"}}}}"#);
        resource(id, "AWS::DynamoDB::Table", &properties)
    };
    let app = |orders, users| {
        let resources = [table(orders, "OrdersName"), table(users, "UsersName")];
        [stack_with("A", parameters, resources)]
    };
    let comparison = compare(&app("T1", "T2"), &app("T2", "T3"));
    assert_moves(&comparison, &[("A.T1", "A.T2"), ("A.T2", "A.T3")]);
    let swapped = compare(&app("T1", "T2"), &app("T2", "T1"));
    assert_moves(&swapped, &[("A.T1", "A.T2"), ("A.T2", "A.T1")]);
    assert_eq!(swapped.problems.len(), 2, "{:#?}", swapped.problems);
}

// N3
#[test]
fn parameters_with_values_are_told_apart_by_their_values() {
    let app = |id, value: &str| {
        let mut stack = stack_with(
            "A",
            r#"{"Parameters":{"Name":{"Type":"String"}}}"#,
            [parameter(id, r#"{"Ref":"Name"}"#)],
        );
        stack.parameters.insert("Name".into(), value.into());
        [stack]
    };
    assert_replaced(&compare(&app("Old", "a"), &app("New", "b")), &["A.Old"], &["A.New"]);
    assert_moves(&compare(&app("Old", "a"), &app("New", "a")), &[("A.Old", "A.New")]);
}

// N4
#[test]
fn a_depends_on_inside_of_properties_is_a_property() {
    let task = |id, container| {
        let properties = format!(
            r#"{{"ContainerDefinitions":[{{"Name":"app","Image":"nginx","DependsOn":[
                {{"ContainerName":"{container}","Condition":"START"}}]}}]}}"#
        );
        [stack("A", [resource(id, "AWS::ECS::TaskDefinition", &properties)])]
    };
    assert_replaced(&compare(&task("Old", "init"), &task("New", "db")), &["A.Old"], &["A.New"]);
    let property = "Properties.ContainerDefinitions.0.DependsOn.0.ContainerName";
    assert_changes(&compare(&task("T", "init"), &task("T", "db")), &[("A.T", &[property])]);
    assert_moves(&compare(&task("Old", "init"), &task("New", "init")), &[("A.Old", "A.New")]);
}

// N5
#[test]
fn how_often_and_where_something_is_referred_to_counts() {
    let value = |refs: [&str; 3]| {
        let [a, b, c] = refs;
        format!(r#"{{"A":{{"Ref":"{a}"}},"B":{{"Ref":"{b}"}},"C":{{"Ref":"{c}"}}}}"#)
    };
    let app = |id, refs, [x, y]: [&str; 2]| {
        let named = |id, name| resource(id, "AWS::SNS::Topic", &format!(r#"{{"Name":"{name}"}}"#));
        [stack("A", [named(x, "x"), named(y, "y"), parameter(id, &value(refs))])]
    };
    let before = app("Old", ["X", "Y", "X"], ["X", "Y"]);
    let comparison = compare(&before, &app("New", ["X", "Y", "Y"], ["X", "Y"]));
    assert_replaced(&comparison, &["A.Old"], &["A.New"]);
    let comparison = compare(&before, &app("New", ["X2", "Y2", "Y2"], ["X2", "Y2"]));
    assert_moves(&comparison, &[("A.X", "A.X2"), ("A.Y", "A.Y2")]);
    let comparison = compare(&before, &app("New", ["X2", "Y2", "X2"], ["X2", "Y2"]));
    assert_moves(&comparison, &[("A.Old", "A.New"), ("A.X", "A.X2"), ("A.Y", "A.Y2")]);
}

// N6
#[test]
fn equal_roles_are_told_apart_by_who_uses_them_for_what() {
    let app = |task: &str, execution: &str| {
        let properties = format!(
            r#"{{"TaskRoleArn":{{"Fn::GetAtt":["{task}","Arn"]}},
                "ExecutionRoleArn":{{"Fn::GetAtt":["{execution}","Arn"]}}}}"#
        );
        let role = |id| resource(id, "AWS::IAM::Role", r#"{"Path":"/"}"#);
        let definition = resource("Task", "AWS::ECS::TaskDefinition", &properties);
        [stack("A", [role(task), role(execution), definition])]
    };
    let swapped = compare(&app("T", "E"), &app("E", "T"));
    assert_moves(&swapped, &[]);
    let properties: [&str; 2] =
        ["Properties.ExecutionRoleArn.Fn::GetAtt", "Properties.TaskRoleArn.Fn::GetAtt"];
    let changed: Vec<_> = swapped.changed.iter().flat_map(|change| &change.differences).collect();
    assert_eq!(changed.len(), 2, "{changed:#?}");
    for (difference, property) in changed.iter().zip(properties) {
        assert!(property.starts_with(&difference.property), "{difference:?}");
    }
    let renamed = compare(&app("T", "E"), &app("E2", "T2"));
    assert_moves(&renamed, &[("A.E", "A.T2"), ("A.T", "A.E2")]);
}

// N7
#[test]
fn no_two_different_values_are_read_alike() {
    for (old, new) in [
        (r#"[{"A":1},{"B":2}]"#, r#"[{"A":1,"B":2}]"#),
        (r#"{"ab":{"c":1}}"#, r#"{"a":{"bc":1}}"#),
        (r#"["a","b"]"#, r#"["astringb"]"#),
        (r#"["a","b"]"#, r#"["ab"]"#),
        (r#"{"A":{}}"#, r#"{"A":[]}"#),
        ("null", r#""null""#),
        (r#"[["a"],["b","c"]]"#, r#"[["a","b"],["c"]]"#),
        (r#"{"A":"1","B":"2"}"#, r#"{"A":"1B2"}"#),
        (r#"{"A":null}"#, "{}"),
        (r#""""#, "null"),
        ("[]", "[[]]"),
        (r#"{"A":"x","B":"y"}"#, r#"{"A":"y","B":"x"}"#),
    ] {
        assert_different(old, new);
    }
}

// N7
#[test]
fn one_pattern_of_two_conditions_is_not_a_choice_of_two_patterns() {
    let rule = |id, pattern: &str| {
        [stack("A", [resource(id, RULE, &format!(r#"{{"EventPattern":{pattern}}}"#))])]
    };
    let either = r#"{"$or":[{"detail-type":["a"]},{"source":["b"]}]}"#;
    let both = r#"{"$or":[{"detail-type":["a"],"source":["b"]}]}"#;
    assert_replaced(&compare(&rule("Old", either), &rule("New", both)), &["A.Old"], &["A.New"]);
}

// N8
#[test]
fn an_object_with_a_key_ref_among_others_is_no_reference() {
    let checkout = |id, branch: &str, repository: &str| {
        let properties = format!(
            r#"{{"ServiceToken":"arn:x","Ref":"{branch}","Repo":"{repository}",
                "Nested":{{"Ref":"{branch}","Depth":1}}}}"#
        );
        [stack("A", [queue("main"), resource(id, "Custom::GitCheckout", &properties)])]
    };
    for (branch, repository) in [("dev", "y"), ("dev", "x"), ("main", "y")] {
        let comparison =
            compare(&checkout("Old", "main", "x"), &checkout("New", branch, repository));
        assert_replaced(&comparison, &["A.Old"], &["A.New"]);
    }
    let comparison = compare(&checkout("C", "main", "x"), &checkout("C", "dev", "x"));
    assert_changes(&comparison, &[("A.C", &["Properties.Nested.Ref", "Properties.Ref"])]);
}

// N8
#[test]
fn properties_whose_only_key_is_ref_are_properties() {
    let checkout = |id, branch: &str| {
        let properties = format!(r#"{{"Ref":"{branch}"}}"#);
        [stack("A", [queue("Q"), queue("R"), resource(id, "Custom::GitCheckout", &properties)])]
    };
    assert_replaced(&compare(&checkout("Old", "Q"), &checkout("New", "R")), &["A.Old"], &["A.New"]);
    assert_changes(
        &compare(&checkout("C", "Q"), &checkout("C", "R")),
        &[("A.C", &["Properties.Ref"])],
    );
}

// N9
#[test]
fn the_definition_of_a_condition_counts() {
    let app = |id, value: &str| {
        let sections = format!(
            r#"{{"Conditions":{{"C":{{"Fn::Equals":[{{"Ref":"AWS::Region"}},"{value}"]}}}}}}"#
        );
        let resource = with(parameter(id, r#""x""#), "Condition", r#""C""#);
        [stack_with("A", &sections, [resource])]
    };
    assert_replaced(&compare(&app("Old", "a"), &app("New", "b")), &["A.Old"], &["A.New"]);
    assert_changes(&compare(&app("P", "a"), &app("P", "b")), &[("A.P", &["Condition"])]);
    let branch = |id, value: &str| {
        let sections = format!(
            r#"{{"Conditions":{{"C":{{"Fn::Equals":[{{"Ref":"AWS::Region"}},"{value}"]}}}}}}"#
        );
        [stack_with("A", &sections, [parameter(id, r#"{"Fn::If":["C","x","y"]}"#)])]
    };
    assert_replaced(&compare(&branch("Old", "a"), &branch("New", "b")), &["A.Old"], &["A.New"]);
    assert_changes(
        &compare(&branch("P", "a"), &branch("P", "b")),
        &[("A.P", &["Properties.Value"])],
    );
}

// N9
#[test]
fn the_content_of_a_mapping_counts() {
    let app = |id, value: &str| {
        let sections = format!(r#"{{"Mappings":{{"M":{{"eu":{{"size":"{value}"}}}}}}}}"#);
        [stack_with("A", &sections, [parameter(id, r#"{"Fn::FindInMap":["M","eu","size"]}"#)])]
    };
    assert_replaced(&compare(&app("Old", "1"), &app("New", "2")), &["A.Old"], &["A.New"]);
    assert_changes(&compare(&app("P", "1"), &app("P", "2")), &[("A.P", &["Properties.Value"])]);
}

// N10; a decision that overrules it: weaknesses_decisions.rs
#[test]
fn it_is_said_that_an_identical_sibling_stayed() {
    let before = [stack("A", [queue("X"), queue("Y")])];
    let after = [stack("A", [queue("Y"), queue("Z")])];
    let comparison = compare(&before, &after);
    assert_moves(&comparison, &[("A.X", "A.Z")]);
    let stayed: Vec<String> =
        comparison.mappings[0].identical_stayed.iter().map(ToString::to_string).collect();
    assert_eq!(stayed, ["A.Y"]);
    assert_eq!(comparison.unchanged, 1);
}

// N11
#[test]
fn what_is_made_to_be_replaced_is_not_moved() {
    for kind in ["AWS::ApiGateway::Deployment", "AWS::Lambda::Version"] {
        for metadata in ["{}", r#"{"aws:cdk:do-not-refactor":true}"#] {
            let made =
                |id| with(resource(id, kind, r#"{"Description":"d"}"#), "Metadata", metadata);
            let user = |id, made| parameter(id, &format!(r#"{{"Ref":"{made}"}}"#));
            let before = [stack("A", [made("DeploymentA1"), user("Old", "DeploymentA1")])];
            let after = [stack("A", [made("DeploymentB2"), user("New", "DeploymentB2")])];
            let comparison = compare(&before, &after);
            assert_moves(&comparison, &[("A.Old", "A.New")]);
            let removed = &comparison.removed[0];
            assert_eq!(removed.place.location.to_string(), "A.DeploymentA1");
            assert!(removed.excluded.as_ref().unwrap().contains(kind), "{removed:?}");
            assert!(comparison.added[0].excluded.is_some());
        }
    }
}

// N12
#[test]
fn a_default_resource_that_turns_up_elsewhere_is_marked_indistinct() {
    let before =
        [stack("A", [queue("Old"), bare("Keep", PARAMETER)]), stack("B", [bare("K", RULE)])];
    let after =
        [stack("A", [bare("Keep", PARAMETER)]), stack("B", [queue("New"), bare("K", RULE)])];
    let comparison = compare(&before, &after);
    assert_moves(&comparison, &[("A.Old", "B.New")]);
    assert!(comparison.mappings[0].indistinct);
    let strict = cdkr::compare::Decisions { strict: true, ..Default::default() };
    let comparison = decide(&before, &after, &strict);
    assert!(comparison.mappings.is_empty());
    assert_question(&comparison, &["A.Old"], &["B.New"]);
}

// N12
#[test]
fn what_a_property_a_name_or_a_user_supports_is_not_indistinct() {
    let not_indistinct = |before: &[_], after: &[_], from: &str| {
        let comparison = compare(before, after);
        assert!(!mapping(&comparison, from).indistinct, "{comparison:#?}");
    };
    let own = |id| resource(id, "AWS::SQS::Queue", r#"{"DelaySeconds":5}"#);
    not_indistinct(&[stack("A", [own("Old")])], &[stack("A", [own("New")])], "A.Old");
    not_indistinct(
        &[stack("A", [queue("Name"), bare("K", RULE)])],
        &[stack("A", [bare("K", RULE)]), stack("B", [queue("Name")])],
        "A.Name",
    );
    let user = |queue| parameter("User", &format!(r#"{{"Ref":"{queue}"}}"#));
    let before = [stack("A", [queue("Old"), user("Old")])];
    not_indistinct(&before, &[stack("A", [queue("New"), user("New")])], "A.Old");
}

// N13
#[test]
fn a_resource_that_names_its_stack_cannot_move_to_another_one() {
    for value in [
        r#"{"Ref":"AWS::StackName"}"#,
        r#"{"Ref":"AWS::StackId"}"#,
        r#"{"Fn::Sub":"${AWS::StackName}-x"}"#,
    ] {
        let before =
            [stack("A", [queue("Q"), parameter("P", value)]), stack("B", [bare("K", RULE)])];
        let after =
            [stack("A", [queue("Q")]), stack("B", [bare("K", RULE), parameter("P2", value)])];
        let comparison = compare(&before, &after);
        assert_moves(&comparison, &[("A.P", "B.P2")]);
        let blocked = comparison.mappings[0].blocked.as_ref();
        assert!(blocked.is_some_and(|why| why.contains("AWS::Stack")), "{blocked:?}");
        let renamed =
            [stack("A", [queue("Q"), parameter("P2", value)]), stack("B", [bare("K", RULE)])];
        assert_eq!(mapping(&compare(&before, &renamed), "A.P").blocked, None);
    }
}

// N14
#[test]
fn a_mapping_says_why_cloudformation_cannot_move_the_type() {
    for (kind, movable) in [
        ("AWS::ApiGateway::Method", false),
        ("AWS::Route53::RecordSet", false),
        ("Custom::Thing", false),
        ("AWS::EC2::LaunchTemplate", false),
        ("AWS::SQS::Queue", true),
    ] {
        let app = |id| [stack("A", [resource(id, kind, r#"{"Name":"x"}"#)])];
        let comparison = compare(&app("Old"), &app("New"));
        assert_moves(&comparison, &[("A.Old", "A.New")]);
        let blocked = &comparison.mappings[0].blocked;
        assert_eq!(*blocked, registry::refactor_block(kind));
        assert_eq!(blocked.is_none(), movable, "{kind}: {blocked:?}");
    }
}

/// Constructs of equal shape whose contents differ in a single value.
#[test]
fn one_different_value_keeps_equal_constructs_apart() {
    let app = |name: &str, delay: u32| {
        let queue = format!("A/{name}/Queue/Resource");
        let properties = format!(r#"{{"DelaySeconds":{delay},"KmsMasterKeyId":"alias/x"}}"#);
        [stack("A", [cdk(&queue, "AWS::SQS::Queue", &properties)])]
    };
    let comparison = compare(&app("Orders", 5), &app("Users", 6));
    assert_moves(&comparison, &[]);
    assert_eq!(comparison.removed.len(), 1);
    let same = compare(&app("Orders", 5), &app("Users", 5));
    assert_eq!(changes(&same.mappings[0]), Vec::<&str>::new());
}
