//! What is wrong is said, with its cause. The ids `M1`… are those of a list of weaknesses that
//! were found in other tools.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;

use cdkr::compare::{CompareError, Decisions, compare as compare_once};
use cdkr::template;
use literals::{
    assert_changes, assert_moves, bare, cdk, changes, compare, environment, logical_id, mapping,
    parameter, queue, resource, run, stack,
};

const SUBNET: &str = "AWS::EC2::Subnet";

// M1
#[test]
fn a_circle_of_references_is_an_error_that_names_its_members() {
    let fine = [stack("A", [queue("Q")])];
    let circle = [stack(
        "A",
        [
            queue("Q"),
            parameter("X", r#"{"Ref":"Y"}"#),
            parameter("Y", r#"{"Fn::Sub":"${Z}"}"#),
            literals::with(parameter("Z", r#""z""#), "DependsOn", r#"["X"]"#),
            parameter("Dependent", r#"{"Ref":"X"}"#),
        ],
    )];
    for (old, new) in [(&fine, &circle), (&circle, &fine)] {
        for order in literals::shuffles() {
            let error = run(&order.1(old), &order.1(new), &Decisions::default()).unwrap_err();
            let CompareError::Cycle(members) = &*error else { panic!("{error}") };
            let mut members: Vec<String> = members.iter().map(ToString::to_string).collect();
            members.sort_unstable();
            assert_eq!(members, ["A.X", "A.Y", "A.Z"]);
            assert!(error.to_string().contains("`A.X`"), "{error}");
        }
    }
}

// M1
#[test]
fn a_resource_that_refers_to_itself_is_a_circle() {
    let circle = [stack("A", [parameter("X", r#"{"Fn::GetAtt":["X","Value"]}"#)])];
    let error = run(&circle, &circle, &Decisions::default()).unwrap_err();
    assert!(matches!(&*error, CompareError::Cycle(members) if members.len() == 1), "{error}");
}

// M1
#[test]
fn definitions_without_an_end_are_an_error_that_names_the_resource() {
    let endless = |outputs: &str, sections: &str, value: &str| {
        let sections = format!(r#"{{"Outputs":{{{outputs}}},{sections}}}"#);
        [literals::stack_with("A", &sections, [parameter("P", value)])]
    };
    let export = r#""O":{"Value":{"Fn::ImportValue":"x"},"Export":{"Name":"x"}}"#;
    let condition = r#""Conditions":{"C":{"Fn::Not":[{"Condition":"C"}]}}"#;
    for stacks in [
        endless(export, r#""Conditions":{}"#, r#"{"Fn::ImportValue":"x"}"#),
        endless("", condition, r#"{"Fn::If":["C","a","b"]}"#),
    ] {
        let error = run(&stacks, &stacks, &Decisions::default()).unwrap_err();
        assert!(error.to_string().contains("`A.P`"), "{error}");
    }
}

// M2
#[test]
fn an_edited_vpc_is_the_only_change_while_its_subnets_are_renamed() {
    let app = |cidr: &str, subnet: &str| {
        let vpc = resource("Vpc", "AWS::EC2::VPC", &format!(r#"{{"CidrBlock":"{cidr}"}}"#));
        let subnets = (1..=5).map(|n| {
            let properties = format!(r#"{{"VpcId":{{"Ref":"Vpc"}},"CidrBlock":"10.0.{n}.0/24"}}"#);
            resource(&format!("{subnet}{n}"), SUBNET, &properties)
        });
        [stack("A", std::iter::once(vpc).chain(subnets))]
    };
    let vpc = ("A.Vpc", ["Properties.CidrBlock"].as_slice());
    let in_place = compare(&app("10.0.0.0/16", "S"), &app("10.0.0.0/8", "S"));
    assert_changes(&in_place, &[vpc]);
    assert_eq!(in_place.unchanged, 5);
    let renamed = compare(&app("10.0.0.0/16", "S"), &app("10.0.0.0/8", "T"));
    assert_changes(&renamed, &[vpc]);
    assert_moves(
        &renamed,
        &[("A.S1", "A.T1"), ("A.S2", "A.T2"), ("A.S3", "A.T3"), ("A.S4", "A.T4"), ("A.S5", "A.T5")],
    );
    assert!(renamed.mappings.iter().all(|mapping| mapping.changes.is_empty()));
}

// M2
#[test]
fn a_chain_of_dependents_has_one_cause() {
    let app = |value: &str, name: &str| {
        let first = parameter(&format!("{name}0"), value);
        let chain = (1..6).map(|n| {
            parameter(
                &format!("{name}{n}"),
                &format!(r#"{{"Link{n}":{{"Ref":"{name}{}"}}}}"#, n - 1),
            )
        });
        [stack("A", std::iter::once(first).chain(chain))]
    };
    let comparison = compare(&app(r#""a""#, "P"), &app(r#""b""#, "P"));
    assert_changes(&comparison, &[("A.P0", &["Properties.Value"])]);
    assert_eq!(comparison.unchanged, 5);
}

// M2
#[test]
#[ignore = "nothing proves the renaming: every part of the construct refers to what was edited"]
fn a_vpc_that_is_renamed_and_edited_takes_its_subnets_along() {
    let app = |name: &str, dns: bool| {
        let path = format!("A/{name}/Resource");
        let properties = format!(r#"{{"CidrBlock":"10.0.0.0/16","EnableDnsSupport":{dns}}}"#);
        let vpc = cdk(&path, "AWS::EC2::VPC", &properties);
        let id = logical_id(&path);
        let parts = (1..=5).map(move |n| {
            let properties = format!(r#"{{"VpcId":{{"Ref":"{id}"}},"CidrBlock":"10.0.{n}.0/24"}}"#);
            cdk(&format!("{}/Subnet{n}/Subnet", path.replace("/Resource", "")), SUBNET, &properties)
        });
        [stack("A", std::iter::once(vpc).chain(parts))]
    };
    let comparison = compare(&app("Old", true), &app("New", false));
    assert_eq!(comparison.mappings.len(), 6, "{comparison:#?}");
    let vpc = mapping(&comparison, &format!("A.{}", logical_id("A/Old/Resource")));
    assert_eq!(changes(vpc), ["Properties.EnableDnsSupport"]);
    let changed = comparison.mappings.iter().filter(|mapping| !mapping.changes.is_empty());
    assert_eq!(changed.count(), 1);
}

// M3
#[test]
fn a_loop_is_not_moved() {
    let parse = |name: &str| {
        let text = format!(
            r#"{{"Transform":"AWS::LanguageExtensions","Resources":{{
                "Fn::ForEach::{name}":["N",["a","b"],{{"Topic${{N}}":{{"Type":"AWS::SNS::Topic"}}}}],
                "{name}":{{"Type":"AWS::SQS::Queue"}}}}}}"#
        );
        [cdkr::model::Stack::new("A", template::parse(text.as_bytes()).unwrap())]
    };
    let comparison = compare(&parse("Old"), &parse("New"));
    assert_moves(&comparison, &[("A.Old", "A.New")]);
    assert!(comparison.removed.is_empty() && comparison.added.is_empty(), "{comparison:#?}");
}

// M4
#[test]
fn a_resource_that_is_null_is_an_error_that_names_it() {
    for (text, part) in [
        (
            r#"{"Resources":{"Fine":{"Type":"T"},"Null":null}}"#,
            "`Null` must be an object, it is null",
        ),
        (r#"{"Resources":{"List":[]}}"#, "`List` must be an object, it is a list"),
        (r#"{"Resources":{"Typeless":{}}}"#, "`Typeless` has no `Type`"),
        (r#"{"Resources":{"Typeless":{"Type":null}}}"#, "`Typeless` has no `Type`"),
        (r#"{"Resources":null}"#, "`Resources` must be an object, it is null"),
    ] {
        let error = template::parse(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

// M4
#[test]
fn odd_values_inside_of_resources_are_compared_as_they_are() {
    let odd = |id| {
        let text = format!(
            r#"{{"Outputs":null,"Conditions":[],"Parameters":{{"P":null}},"Resources":{{"{id}":{{
                "Type":"AWS::SQS::Queue","Properties":null,"Metadata":null,"DependsOn":{{"a":1}},
                "Condition":7,"Other":{{"Ref":null,"Fn::GetAtt":[],"Fn::Sub":[],"x":{{"Fn::If":[]}}}}}}}}}}"#
        );
        [cdkr::model::Stack::new("A", template::parse(text.as_bytes()).unwrap())]
    };
    assert_moves(&compare(&odd("Old"), &odd("New")), &[("A.Old", "A.New")]);
}

#[test]
fn two_stacks_of_one_name_are_an_error_that_names_it() {
    let twice = [stack("A", [queue("Q")]), stack("A", [bare("K", SUBNET)])];
    let error = compare_once(&environment(), &twice, &[], &Decisions::default()).unwrap_err();
    assert_eq!(error.to_string(), "two stacks of one environment are called `A`");
}
