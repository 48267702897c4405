//! References between stacks that are dropped: one deployment is enough.

use std::collections::BTreeSet;

use cdkr::plan::{Forecast, Severity, StackForecast};
use cdkr::template;

use crate::deployment::{App, deploy, now, send};
use crate::world::{World, world};

const QUEUE: &str = r#""Q":{"Type":"AWS::SQS::Queue"}"#;
const TOPIC: &str = r#""T":{"Type":"AWS::SNS::Topic"}"#;

/// A stack with resources and outputs, both as JSON members.
fn stack(resources: &str, outputs: &str) -> String {
    format!(r#"{{"Resources":{{{resources}}},"Outputs":{{{outputs}}}}}"#)
}

fn export(key: &str, id: &str, name: &str) -> String {
    format!(r#""{key}":{{"Value":{{"Ref":"{id}"}},"Export":{{"Name":"{name}"}}}}"#)
}

/// A parameter that holds the value of an export.
fn importer(id: &str, name: &str) -> String {
    parameter(id, &format!(r#"{{"Fn::ImportValue":"{name}"}}"#))
}

fn parameter(id: &str, value: &str) -> String {
    format!(
        r#""{id}":{{"Type":"AWS::SSM::Parameter","Properties":{{"Type":"String","Value":{value}}}}}"#
    )
}

fn seeded(stacks: &[(&str, String)]) -> World {
    let world = world();
    for (name, text) in stacks {
        send(&world, &world.region(), name, text).unwrap();
    }
    world
}

/// Deploys and returns the forecast; afterwards there is nothing left to do.
fn deployed(world: &World, app: &App) -> Forecast {
    let forecast = app.forecast(&now(world, &app.environment));
    deploy(world, app, &forecast, &mut |_, _| {})
        .unwrap_or_else(|why| panic!("{why}\n{forecast:#?}"));
    forecast
}

fn finished(world: &World, app: &App) {
    let again = app.forecast(&now(world, &app.environment));
    for stack in &again.stacks {
        assert!(stack.effects.is_empty() && stack.holding.is_none(), "{stack:#?}");
    }
    assert!(again.findings.is_empty(), "{:#?}", again.findings);
}

fn of<'f>(forecast: &'f Forecast, name: &str) -> &'f StackForecast {
    forecast.stacks.iter().find(|stack| stack.name == name).unwrap()
}

fn names(set: &BTreeSet<String>) -> Vec<&str> {
    set.iter().map(String::as_str).collect()
}

/// `P` exports its queue, `C` imports it.
fn pair() -> [(&'static str, String); 2] {
    [
        ("P", stack(&format!("{QUEUE},{TOPIC}"), &export("O", "Q", "P:Q"))),
        ("C", stack(&format!("{},{TOPIC}", importer("I", "P:Q")), "")),
    ]
}

#[test]
fn an_export_that_nobody_needs_any_more_goes_in_one_deployment() {
    for resources in [format!("{QUEUE},{TOPIC}"), TOPIC.to_owned()] {
        let world = seeded(&pair());
        let app = App::new(&[("P", stack(&resources, "")), ("C", stack(TOPIC, ""))], &["C<P"]);
        let plain = send(&world, &world.region(), "P", &app.template("P")).unwrap_err();
        assert!(plain.contains("cannot be deleted as it is in use by C"), "{plain}");
        let forecast = deployed(&world, &app);
        let holding = of(&forecast, "P").holding.as_ref().unwrap();
        assert_eq!(names(&holding.until), ["C"]);
        assert_eq!(
            (holding.exports[0].name.as_str(), &*holding.exports[0].importers),
            ("P:Q", &["C".to_owned()][..])
        );
        assert!(of(&forecast, "P").template.is_none() && of(&forecast, "C").holding.is_none());
        finished(&world, &app);
    }
}

#[test]
fn a_consumer_that_is_deployed_first_anyway_holds_nothing() {
    let world = seeded(&pair());
    let app = App::new(&[("P", stack(TOPIC, "")), ("C", stack(TOPIC, ""))], &["P<C"]);
    let forecast = deployed(&world, &app);
    assert!(forecast.stacks.iter().all(|stack| stack.holding.is_none()));
    finished(&world, &app);
}

#[test]
fn a_consumer_that_is_not_deployed_keeps_the_export_for_good_and_is_named() {
    let world = seeded(&pair());
    let app = App::new(&[("P", stack(TOPIC, ""))], &[]);
    let forecast = deployed(&world, &app);
    let stack = of(&forecast, "P");
    let holding = stack.holding.as_ref().unwrap();
    assert!(holding.until.is_empty());
    assert_eq!(stack.template.as_ref(), Some(&holding.template));
    assert!(stack.effects.is_empty(), "the queue stays: {:?}", stack.effects);
    let finding = &forecast.findings[0];
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("`P:Q`") && finding.message.contains("since C still use it"));
    assert!(world.stack("P").info.outputs.iter().any(|output| output.key == "O"));
}

#[test]
fn a_reference_that_becomes_weak_needs_one_deployment() {
    let weak = |key: &str| {
        parameter(
            "I",
            &format!(r#"{{"Fn::GetStackOutput":{{"StackName":"P","OutputName":"{key}"}}}}"#),
        )
    };
    for key in ["O", "Other"] {
        let world = seeded(&pair());
        let output = format!(r#""{key}":{{"Value":{{"Ref":"Q"}}}}"#);
        let app = App::new(
            &[
                ("P", stack(&format!("{QUEUE},{TOPIC}"), &output)),
                ("C", stack(&format!("{},{TOPIC}", weak(key)), "")),
            ],
            &["C<P"],
        );
        let forecast = deployed(&world, &app);
        assert_eq!(names(&of(&forecast, "P").holding.as_ref().unwrap().until), ["C"]);
        assert!(forecast.stacks.iter().all(|stack| stack.effects.is_empty()), "{forecast:#?}");
        finished(&world, &app);
    }
}

#[test]
fn another_output_under_the_same_key_does_not_get_in_the_way() {
    let world = seeded(&pair());
    let other = r#""O":{"Value":{"Ref":"T"}}"#;
    let app = App::new(
        &[("P", stack(&format!("{QUEUE},{TOPIC}"), other)), ("C", stack(TOPIC, ""))],
        &["C<P"],
    );
    let forecast = deployed(&world, &app);
    let template = &of(&forecast, "P").holding.as_ref().unwrap().template;
    assert!(template.contains(r#""CdkrHeldO""#), "{template}");
    finished(&world, &app);
}

#[test]
fn two_producers_wait_for_one_consumer() {
    let world = seeded(&[
        ("P", stack(QUEUE, &export("O", "Q", "P:Q"))),
        ("R", stack(TOPIC, &export("O", "T", "R:T"))),
        ("C", stack(&format!("{},{}", importer("I", "P:Q"), importer("J", "R:T")), "")),
    ]);
    let keep = parameter("K", r#""k""#);
    let app = App::new(
        &[("P", stack(QUEUE, "")), ("R", stack(TOPIC, "")), ("C", stack(&keep, ""))],
        &["C<P", "C<R"],
    );
    let forecast = deployed(&world, &app);
    for name in ["P", "R"] {
        assert_eq!(names(&of(&forecast, name).holding.as_ref().unwrap().until), ["C"]);
    }
    finished(&world, &app);
}

/// Stacks that import from each other, as refactors may leave them.
fn ring() -> World {
    let world = seeded(&[
        ("A", stack(QUEUE, &export("O", "Q", "A:Q"))),
        ("B", stack(&format!("{TOPIC},{}", importer("I", "A:Q")), &export("O", "T", "B:T"))),
    ]);
    let both = stack(&format!("{QUEUE},{}", importer("I", "B:T")), &export("O", "Q", "A:Q"));
    send(&world, &world.region(), "A", &both).unwrap();
    world
}

#[test]
fn stacks_that_import_from_each_other_come_apart() {
    for needs in [&[][..], &["B<A"], &["A<B"]] {
        let world = ring();
        let app = App::new(&[("A", stack(QUEUE, "")), ("B", stack(TOPIC, ""))], needs);
        let forecast = deployed(&world, &app);
        let held = forecast.stacks.iter().filter(|stack| stack.holding.is_some()).count();
        assert_eq!(held, if needs.is_empty() { 2 } else { 1 });
        finished(&world, &app);
    }
}

#[test]
fn what_is_held_holds_what_it_needs_itself() {
    let world = seeded(&[
        ("P", stack(QUEUE, &export("O", "Q", "P:Q"))),
        ("M", stack(&importer("I", "P:Q"), &export("O", "I", "M:I"))),
        ("C", stack(&importer("J", "M:I"), "")),
    ]);
    let keep = parameter("K", r#""k""#);
    let app = App::new(
        &[("P", stack(TOPIC, "")), ("M", stack(TOPIC, "")), ("C", stack(&keep, ""))],
        &["M<P", "C<M", "C<P"],
    );
    let forecast = deployed(&world, &app);
    let holding = of(&forecast, "P").holding.as_ref().unwrap();
    assert_eq!((names(&holding.until), names(&holding.until_released)), (vec!["M"], vec!["M"]));
    finished(&world, &app);
}

#[test]
fn a_value_that_changes_under_the_same_name_is_refused_with_a_remedy() {
    let world = seeded(&pair());
    let app = App::new(
        &[("P", stack(&format!("{QUEUE},{TOPIC}"), &export("O", "T", "P:Q"))), pair()[1].clone()],
        &["C<P"],
    );
    let forecast = app.forecast(&now(&world, &app.environment));
    let finding = &forecast.findings[0];
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.message.contains("gets another value while C still import it"), "{finding:?}");
    let plain = send(&world, &world.region(), "P", &app.template("P")).unwrap_err();
    assert!(plain.contains("Cannot update export P:Q as it is in use by C"), "{plain}");
}

#[test]
fn an_output_that_is_read_stays_until_its_reader_is_deployed() {
    let read = parameter("I", r#"{"Fn::GetStackOutput":{"StackName":"P","OutputName":"O"}}"#);
    let world = seeded(&[
        ("P", stack(&format!("{QUEUE},{TOPIC}"), r#""O":{"Value":{"Ref":"Q"}}"#)),
        ("C", stack(&format!("{read},{TOPIC}"), "")),
    ]);
    let app = App::new(&[("P", stack(TOPIC, "")), ("C", stack(TOPIC, ""))], &["C<P"]);
    let forecast = deployed(&world, &app);
    let holding = of(&forecast, "P").holding.as_ref().unwrap();
    assert_eq!((holding.exports[0].name.as_str(), names(&holding.until)), ("O", vec!["C"]));
    finished(&world, &app);
}

#[test]
fn the_rest_of_the_template_stays_as_the_app_has_it() {
    let world = seeded(&pair());
    let text = r#"{"Resources":{"Z":{"Type":"AWS::SNS::Topic"},"A":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":1.50}}},"Rules":{"R":{}}}"#;
    let app = App::new(&[("P", text.to_owned()), ("C", stack(TOPIC, ""))], &["C<P"]);
    let forecast = app.forecast(&now(&world, &app.environment));
    let held = &of(&forecast, "P").holding.as_ref().unwrap().template;
    let held = template::json::to_compact(&template::json::parse(held).unwrap());
    assert_eq!(
        held,
        r#"{"Resources":{"Z":{"Type":"AWS::SNS::Topic"},"A":{"Type":"AWS::SQS::Queue","Properties":{"DelaySeconds":1.50}},"Q":{"Type":"AWS::SQS::Queue"}},"Rules":{"R":{}},"Outputs":{"O":{"Value":{"Ref":"Q"},"Export":{"Name":"P:Q"}}}}"#
    );
}

/// What is said of an app that cannot be deployed in one go.
fn refused(world: &World, app: &App) -> String {
    let forecast = app.forecast(&now(world, &app.environment));
    assert!(forecast.stacks.iter().all(|stack| stack.holding.is_none()), "{forecast:#?}");
    assert_eq!(forecast.findings.len(), 1, "{:#?}", forecast.findings);
    assert_eq!(forecast.findings[0].severity, Severity::Error);
    format!("{} {}", forecast.findings[0].message, forecast.findings[0].remedy)
}

#[test]
fn what_cannot_be_held_is_said_with_a_remedy() {
    let conditional = |condition: &str, resources: &str, outputs: &str| {
        format!(
            r#"{{"Conditions":{{"C":{{"Fn::Equals":[{condition}]}}}},"Resources":{{{resources}}},"Outputs":{{{outputs}}}}}"#
        )
    };
    let held = r#""Q":{"Type":"AWS::SQS::Queue","Condition":"C"}"#;
    let world = seeded(&[
        ("P", conditional("1,1", &format!("{held},{TOPIC}"), &export("O", "Q", "P:Q"))),
        pair()[1].clone(),
    ]);
    let app = App::new(&[("P", conditional("2,2", TOPIC, "")), ("C", stack(TOPIC, ""))], &["C<P"]);
    let said = refused(&world, &app);
    assert!(said.contains("the condition `C` is another one in the app"), "{said}");
    assert!(said.contains("`exportValue`"), "{said}");
}

#[test]
fn an_export_of_something_that_is_replaced_at_the_same_time_cannot_be_held() {
    let queue = |name: &str| {
        let rest = format!(r#""Properties":{{"QueueName":"{name}"}}"#);
        format!(r#""Q":{{"Type":"AWS::SQS::Queue",{rest}}},{TOPIC}"#)
    };
    let world = seeded(&[("P", stack(&queue("a"), &export("O", "Q", "P:Q"))), pair()[1].clone()]);
    let app = App::new(&[("P", stack(&queue("b"), "")), ("C", stack(TOPIC, ""))], &["C<P"]);
    let said = refused(&world, &app);
    assert!(said.contains("`P.Q` is replaced, which changes its value"), "{said}");
}

#[test]
fn an_export_that_another_stack_takes_over_is_refused() {
    let world = seeded(&pair());
    let app = App::new(
        &[
            ("N", stack(QUEUE, &export("O", "Q", "P:Q"))),
            ("P", stack(TOPIC, "")),
            pair()[1].clone(),
        ],
        &["C<P", "C<N"],
    );
    let said = refused(&world, &app);
    assert!(said.contains("goes from P to N while C still import it"), "{said}");
}
