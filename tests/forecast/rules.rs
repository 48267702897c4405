//! What is foretold of single resources, and what is called dangerous.

use std::collections::BTreeSet;

use cdkr::model::Stack;
use cdkr::plan::{
    Allowed, Effect, EffectKind, ForecastRequest, PlannedChange, Severity, Staying, forecast, judge,
};
use cdkr::template;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::deployment::{App, now, send};
use crate::generate::build::app as recipe;
use crate::generate::render::render;
use crate::world::world;

fn effects_of(before: &str, after: &str, staying: &[Staying]) -> (Vec<Effect>, Vec<String>) {
    let world = world();
    let whole = |resources: &str| format!(r#"{{"Resources":{{{resources}}}}}"#);
    send(&world, &world.region(), "A", &whole(before)).unwrap();
    let app = App::new(&[("A", whole(after))], &[]);
    let (now, selected) = (now(&world, &app.environment), app.roots());
    let mut all = forecast(&ForecastRequest { staying, ..app.request(&now, &selected) });
    let findings = all.findings.into_iter().map(|finding| finding.message).collect();
    (all.stacks.remove(0).effects, findings)
}

fn effects(before: &str, after: &str) -> Vec<Effect> {
    effects_of(before, after, &[]).0
}

const KEEP: &str = r#""Keep":{"Type":"AWS::SNS::Topic"}"#;

fn resource(id: &str, kind: &str, rest: &str) -> String {
    format!(r#"{KEEP},"{id}":{{"Type":"{kind}"{rest}}}"#)
}

#[test]
fn what_is_stateful_and_goes_away_is_dangerous_unless_it_is_retained() {
    for (policy, kind, danger) in [
        ("", EffectKind::Remove, Some("It is deleted with all that it holds.")),
        (r#","DeletionPolicy":"Retain""#, EffectKind::Retain, None),
        (r#","DeletionPolicy":"RetainExceptOnCreate""#, EffectKind::Retain, None),
    ] {
        let found = effects(&resource("B", "AWS::S3::Bucket", policy), KEEP);
        assert_eq!((&found[0].kind, found[0].danger.as_deref()), (&kind, danger));
    }
    assert_eq!(effects(&resource("P", "AWS::IAM::Role", ""), KEEP)[0].danger, None);
    let database = effects(&resource("D", "AWS::RDS::DBCluster", ""), KEEP);
    assert!(database[0].danger.as_ref().unwrap().contains("left in a snapshot"));
}

#[test]
fn on_removal_the_deployed_policy_counts_and_on_replacement_the_new_one() {
    let name = |name: &str, policy: &str| {
        let rest =
            format!(r#","Properties":{{"BucketName":"{name}"}},"UpdateReplacePolicy":"{policy}""#);
        resource("B", "AWS::S3::Bucket", &rest)
    };
    let found = effects(&name("a", "Delete"), &name("b", "Retain"));
    assert_eq!(
        found[0].kind,
        EffectKind::Replace {
            certain: true,
            properties: vec!["Properties.BucketName".to_owned()],
            cause: None
        }
    );
    let danger = found[0].danger.as_ref().unwrap();
    assert!(danger.contains("the old one stays in the account"), "{danger}");
    let found = effects(&name("a", "Retain"), &name("b", "Delete"));
    assert!(found[0].danger.as_ref().unwrap().ends_with("all that it holds is deleted."));
}

#[test]
fn a_resource_that_could_not_move_begins_empty_elsewhere() {
    let staying = Staying {
        resource_type: "AWS::S3::Bucket".to_owned(),
        source: "A.B".to_owned(),
        destination: "Z.B".to_owned(),
        reason: String::new(),
        consequence: String::new(),
        dangerous: true,
        hand_over: cdkr::plan::HandOver::None,
        physical_id: None,
        names: std::collections::BTreeMap::new(),
    };
    let before = resource("B", "AWS::S3::Bucket", r#","DeletionPolicy":"Retain""#);
    let (found, _) = effects_of(&before, KEEP, &[staying]);
    assert_eq!(
        found[0].danger.as_deref(),
        Some("It stays in the account, outside of any stack, and `Z.B` begins empty.")
    );
}

#[test]
fn what_refers_to_a_replaced_resource_may_be_replaced_and_the_cause_is_named() {
    let network = |block: &str| {
        format!(
            r#"{KEEP},"V":{{"Type":"AWS::EC2::VPC","Properties":{{"CidrBlock":"{block}"}}}},
            "S":{{"Type":"AWS::EC2::Subnet","Properties":{{"VpcId":{{"Ref":"V"}},"CidrBlock":"10.0.0.0/24"}}}},
            "P":{{"Type":"AWS::SSM::Parameter","Properties":{{"Type":"String","Value":{{"Ref":"S"}}}}}}"#
        )
    };
    let found = effects(&network("10.0.0.0/16"), &network("10.0.0.0/8"));
    let kinds: Vec<_> =
        found.iter().map(|effect| (effect.logical_id.as_str(), &effect.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("P", &EffectKind::Update { properties: vec!["Properties.Value".to_owned()] }),
            (
                "S",
                &EffectKind::Replace {
                    certain: false,
                    properties: vec!["Properties.VpcId".to_owned()],
                    cause: Some("`A.V` is replaced".to_owned()),
                }
            ),
            (
                "V",
                &EffectKind::Replace {
                    certain: true,
                    properties: vec!["Properties.CidrBlock".to_owned()],
                    cause: None
                }
            ),
        ]
    );
}

#[test]
fn what_cloudformation_does_not_tell_apart_is_no_change() {
    let before = resource(
        "Q",
        "AWS::SQS::Queue",
        r#","Properties":{"DelaySeconds":"30","FifoQueue":"true","Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]},"Metadata":{"aws:cdk:path":"A/Q"}"#,
    );
    let after = resource(
        "Q",
        "AWS::SQS::Queue",
        r#","DependsOn":"Keep","Properties":{"Tags":[{"Key":"b","Value":"2"},{"Key":"a","Value":1}],"FifoQueue":true,"DelaySeconds":30},"Metadata":{"aws:cdk:path":"B/Q"}"#,
    );
    assert_eq!(effects(&before, &after), []);
}

#[test]
fn another_type_under_the_same_logical_id_is_a_replacement_that_is_refused() {
    let (found, findings) = effects_of(
        &resource("X", "AWS::SQS::Queue", ""),
        &resource("X", "AWS::S3::Bucket", ""),
        &[],
    );
    assert!(
        matches!(&found[0].kind, EffectKind::Replace { certain: true, properties, .. } if properties == &["Type"])
    );
    assert!(findings[0].contains("never changes the type"), "{findings:?}");
}

#[test]
fn a_named_resource_cannot_be_replaced_under_its_name() {
    let table = |key: &str| {
        resource(
            "T",
            "AWS::Kinesis::Stream",
            &format!(
                r#","Properties":{{"Name":"n","StreamModeDetails":{{"StreamMode":"{key}"}}}}"#
            ),
        )
    };
    assert!(effects_of(&table("A"), &table("B"), &[]).1.is_empty(), "it is changed in place");
    let group = |path: &str| {
        resource(
            "R",
            "AWS::IAM::Role",
            &format!(
                r#","Properties":{{"RoleName":"n","Path":"{path}","AssumeRolePolicyDocument":{{}}}}"#
            ),
        )
    };
    let (_, findings) = effects_of(&group("/a/"), &group("/b/"), &[]);
    assert!(findings[0].contains("under the name that it has"), "{findings:?}");
}

fn change(action: &str, kind: &str, replacement: &str, policy: &str) -> PlannedChange {
    PlannedChange {
        action: action.to_owned(),
        logical_id: "X".to_owned(),
        resource_type: kind.to_owned(),
        physical_id: Some("x-1".to_owned()),
        replacement: replacement.to_owned(),
        policy_action: policy.to_owned(),
    }
}

#[test]
fn a_change_set_is_judged_by_what_it_would_lose() {
    let changes = [
        change("Remove", "AWS::S3::Bucket", "", "Delete"),
        change("Remove", "AWS::S3::Bucket", "", "Retain"),
        change("Modify", "AWS::DynamoDB::Table", "True", "ReplaceAndDelete"),
        change("Modify", "AWS::KMS::Key", "Conditional", "ReplaceAndRetain"),
        change("Modify", "AWS::S3::Bucket", "False", ""),
        change("Remove", "AWS::IAM::Role", "", "Delete"),
        change("Add", "AWS::S3::Bucket", "", ""),
    ];
    assert_eq!(
        judge("A", &changes, &Allowed::default()),
        [
            "`A.X` (AWS::S3::Bucket, x-1) would be deleted: all that it holds would be lost",
            "`A.X` (AWS::DynamoDB::Table, x-1) would be replaced: all that it holds would be lost",
            "`A.X` (AWS::KMS::Key, x-1) may be replaced: the old one would stay in the account, \
             outside of any stack",
        ]
    );
}

#[test]
fn what_was_allowed_or_foreseen_is_not_held_against_a_change_set() {
    let template = r#"{"Resources":{"X":{"Type":"AWS::S3::Bucket","Metadata":{"aws:cdk:path":"A/Data/Bucket/Resource"}}}}"#;
    let stack = Stack::new("A", template::parse(template.as_bytes()).unwrap());
    let changes = [change("Remove", "AWS::S3::Bucket", "", "Delete")];
    let refused = |entries: &[&str], stack: &Stack| {
        let mut allowed = Allowed::parse(entries.iter().copied()).unwrap();
        allowed.know([stack]);
        judge("A", &changes, &allowed).len()
    };
    for entry in [
        "A.X",
        "A.*",
        "A/Data/Bucket",
        "A/Data/Bucket/Resource",
        "A/**",
        "AWS::S3::Bucket",
        "AWS::S3::*",
    ] {
        assert_eq!(refused(&[entry], &stack), 0, "{entry}");
    }
    for entry in ["A.Y", "B.X", "A/Data", "A/*", "AWS::S3", "Data"] {
        assert_eq!(refused(&[entry], &stack), 1, "{entry}");
    }
    for entry in ["", "A.[", "{a"] {
        assert!(Allowed::parse([entry]).is_err(), "{entry}");
    }
    let found = effects(&resource("X", "AWS::S3::Bucket", ""), KEEP);
    let mut allowed = Allowed::default();
    assert_eq!(allowed.refused(&found).len(), 1);
    allowed.foresee(&found[0]);
    assert_eq!(judge("A", &changes, &allowed).len() + allowed.refused(&found).len(), 0);
}

#[test]
fn an_app_that_is_deployed_as_it_is_has_no_effects() {
    let config = Config {
        cases: 150,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&recipe(1), |recipe| {
        let stacks = render(&recipe.build()).stacks;
        let deployed = crate::deployment::as_deployed(&stacks);
        let roots: BTreeSet<String> = stacks
            .iter()
            .filter(|stack| stack.parent.is_none())
            .map(|stack| stack.name.to_string())
            .collect();
        let needs = roots.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
        let found = forecast(&ForecastRequest {
            now: &deployed,
            local: &stacks,
            selected: &roots,
            needs: &needs,
            comparison: None,
            staying: &[],
            keep_names: true,
        });
        for stack in &found.stacks {
            assert!(stack.effects.is_empty(), "{:#?}", stack.effects);
            assert!(stack.holding.is_none() && stack.template.is_none());
        }
        let errors = found.findings.iter().filter(|each| each.severity == Severity::Error);
        assert_eq!(errors.count(), 0, "{:#?}", found.findings);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
