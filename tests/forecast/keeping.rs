//! Names that are kept, so that a moved resource survives its deployment.

use std::collections::BTreeSet;

use cdkr::compare::{Decisions, compare};
use cdkr::model::{DeployedResource, Location, Object, Stack, Text, Value};
use cdkr::plan::{
    Choices, EffectKind, Forecast, ForecastRequest, after, as_the_app_says, forecast, plan,
};
use cdkr::template::{self, json};

use crate::carry::Runner;
use crate::deployment::{App, as_deployed, deploy, now, send};
use crate::fixtures::same_stacks;
use crate::world::{World, world};

/// A security group of a construct: its description repeats the construct's path.
fn app(construct: &str, description: &str, ingress: &str) -> App {
    let id = format!("{construct}Group");
    App::new(
        &[(
            "Shop",
            format!(
                r#"{{"Resources":{{
                "Vpc":{{"Type":"AWS::EC2::VPC","Properties":{{"CidrBlock":"10.0.0.0/16"}},"Metadata":{{"aws:cdk:path":"Shop/Vpc/Resource"}}}},
                "{id}":{{"Type":"AWS::EC2::SecurityGroup","Properties":{{"GroupDescription":"{description}","VpcId":{{"Ref":"Vpc"}},
                    "SecurityGroupIngress":[{{"IpProtocol":"tcp","CidrIp":"{ingress}"}}]}},
                    "Metadata":{{"aws:cdk:path":"Shop/{construct}/Group/Resource"}}}},
                "{construct}Topic":{{"Type":"AWS::SNS::Topic","Properties":{{"DisplayName":"d"}},"Metadata":{{"aws:cdk:path":"Shop/{construct}/Topic/Resource"}}}}}}}}"#
            ),
        )],
        &[],
    )
}

fn shop(construct: &str) -> App {
    app(construct, &format!("Shop/{construct}/Group"), "10.0.0.0/8")
}

/// Compares as the toolkit does, moves, and forecasts.
fn moved(world: &World, app: &App, keep_names: bool) -> Forecast {
    let deployed = now(world, &app.environment);
    let before: Vec<Stack> = deployed
        .stacks
        .iter()
        .map(|stack| {
            let mut stack = stack.stack.clone();
            as_the_app_says(&mut stack.template);
            stack
        })
        .collect();
    let comparison =
        compare(&app.environment, &before, &app.stacks, &Decisions::default()).unwrap();
    let plan = plan(&deployed, &app.stacks, &comparison, &Choices::default());
    let foretold = after(&deployed, &plan);
    Runner::new(&world.cloud, &world.clock, &app.environment).run(&plan);
    let now = now(world, &app.environment);
    same_stacks(&foretold, &now);
    let selected: BTreeSet<String> = app.roots();
    forecast(&ForecastRequest {
        comparison: Some(&comparison),
        keep_names,
        ..app.request(&now, &selected)
    })
}

fn kinds(forecast: &Forecast) -> Vec<(&str, &EffectKind)> {
    let effects = forecast.stacks.iter().flat_map(|stack| &stack.effects);
    effects.map(|effect| (effect.logical_id.as_str(), &effect.kind)).collect()
}

fn seeded() -> World {
    let world = world();
    send(&world, &world.region(), "Shop", &shop("Old").template("Shop")).unwrap();
    world
}

#[test]
fn a_moved_resource_keeps_the_name_that_would_replace_it() {
    let world = seeded();
    let forecast = moved(&world, &shop("New"), false);
    assert_eq!(
        kinds(&forecast),
        [(
            "NewGroup",
            &EffectKind::Replace {
                certain: true,
                properties: vec!["Properties.GroupDescription".to_owned()],
                cause: None
            }
        )]
    );
    assert!(forecast.findings[0].remedy.contains("--keep-names"), "{forecast:#?}");
    let world = seeded();
    let group = world.id("Shop", "OldGroup");
    let kept = moved(&world, &shop("New"), true);
    assert!(kinds(&kept).is_empty(), "{kept:#?}");
    let template = kept.stacks[0].template.as_ref().unwrap();
    let template = json::to_compact(&json::parse(template).unwrap());
    assert!(template.contains(r#""GroupDescription":"Shop/Old/Group""#), "{template}");
    assert!(
        template.contains(
            r#""Metadata":{"aws:cdk:path":"Shop/New/Group/Resource","cdkr:kept-names":{"GroupDescription":"Shop/New/Group"}}"#
        ),
        "{template}"
    );
    deploy(&world, &shop("New"), &kept, &mut |_, _| {}).unwrap();
    assert_eq!(world.id("Shop", "NewGroup"), group);
}

/// A shop in which `Old` was renamed to `New`, and kept its name.
fn kept() -> (World, String) {
    let world = seeded();
    let group = world.id("Shop", "OldGroup");
    let forecast = moved(&world, &shop("New"), true);
    deploy(&world, &shop("New"), &forecast, &mut |_, _| {}).unwrap();
    assert_eq!(world.id("Shop", "NewGroup"), group);
    (world, group)
}

#[test]
fn the_choice_is_made_again_by_the_next_deployment_with_or_without_the_flag() {
    let (world, group) = kept();
    for keep_names in [false, true] {
        let app = app("New", "Shop/New/Group", "10.0.0.0/16");
        let forecast = moved(&world, &app, keep_names);
        assert!(
            kinds(&forecast).iter().all(|(_, kind)| matches!(kind, EffectKind::Update { .. })),
            "{forecast:#?}"
        );
        assert!(forecast.stacks[0].template.as_ref().unwrap().contains("cdkr:kept-names"));
        deploy(&world, &app, &forecast, &mut |_, _| {}).unwrap();
        assert_eq!(world.id("Shop", "NewGroup"), group);
    }
}

#[test]
fn the_comparison_does_not_see_what_was_kept() {
    let (world, _) = kept();
    let app = shop("New");
    let mut before = now(&world, &app.environment).stacks.remove(0).stack;
    as_the_app_says(&mut before.template);
    let comparison =
        compare(&app.environment, &[before], &app.stacks, &Decisions::default()).unwrap();
    assert_eq!((comparison.unchanged, comparison.changed.len()), (3, 0));
}

#[test]
fn what_the_app_says_anew_wins_over_the_record() {
    let (world, group) = kept();
    let app = app("New", "for the shop", "10.0.0.0/8");
    let forecast = moved(&world, &app, false);
    assert!(matches!(
        kinds(&forecast)[..],
        [("NewGroup", EffectKind::Replace { certain: true, .. })]
    ));
    assert!(forecast.stacks[0].template.is_none());
    deploy(&world, &app, &forecast, &mut |_, _| {}).unwrap();
    assert_ne!(world.id("Shop", "NewGroup"), group);
}

#[test]
fn a_resource_that_is_moved_again_still_has_its_first_name() {
    let (world, group) = kept();
    let app = shop("Third");
    let forecast = moved(&world, &app, true);
    assert!(kinds(&forecast).is_empty(), "{forecast:#?}");
    deploy(&world, &app, &forecast, &mut |_, _| {}).unwrap();
    assert_eq!(world.id("Shop", "ThirdGroup"), group);
}

#[test]
fn a_resource_that_is_replaced_for_another_reason_gets_its_new_name() {
    let world = seeded();
    let mut app = shop("New");
    let text = app.template("Shop").replace("10.0.0.0/16", "10.1.0.0/16");
    app = App::new(&[("Shop", text)], &[]);
    let forecast = moved(&world, &app, true);
    let replaced: Vec<&str> = kinds(&forecast)
        .into_iter()
        .filter(|(_, kind)| matches!(kind, EffectKind::Replace { .. }))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(replaced, ["NewGroup", "Vpc"], "{forecast:#?}");
    assert!(forecast.stacks[0].template.is_none());
}

/// A shop whose group is in a nested stack.
fn nested(construct: &str) -> Vec<Stack> {
    let parent = r#"{"Resources":{"N":{"Type":"AWS::CloudFormation::Stack","Properties":{"TemplateURL":"u"},
        "Metadata":{"aws:cdk:path":"Mall/N/Resource"}}}}"#;
    let mut inner = shop(construct).stacks.remove(0);
    inner.name = "Mall/N".into();
    inner.parent = Some(Location::new("Mall", "N"));
    vec![Stack::new("Mall", template::parse(parent.as_bytes()).unwrap()), inner]
}

#[test]
fn in_a_nested_stack_no_name_can_be_kept_and_that_is_said() {
    let app = App { stacks: nested("New"), ..App::new(&[], &[]) };
    let old = nested("Old");
    let mut deployed = as_deployed(&old);
    for stack in &mut deployed.stacks {
        let resource = |(id, body): (&Text, &Object)| {
            let resource = DeployedResource {
                resource_type: body.get("Type").and_then(Value::as_str).unwrap().into(),
                physical_id: Some(format!("physical-{id}").into()),
                status: "CREATE_COMPLETE".into(),
                changed_at: None,
            };
            (id.clone(), resource)
        };
        stack.resources = stack.stack.template.resources().map(resource).collect();
    }
    let comparison = compare(&app.environment, &old, &app.stacks, &Decisions::default()).unwrap();
    let plan = plan(&deployed, &app.stacks, &comparison, &Choices::default());
    let (now, selected) = (after(&deployed, &plan), app.roots());
    let found = forecast(&ForecastRequest {
        comparison: Some(&comparison),
        keep_names: true,
        ..app.request(&now, &selected)
    });
    assert!(
        matches!(kinds(&found)[..], [("NewGroup", EffectKind::Replace { certain: true, .. })]),
        "{found:#?} {plan:#?}"
    );
    assert!(found.findings[0].message.contains("it is in a nested stack"), "{found:#?}");
}
