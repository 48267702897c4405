//! The answer does not depend on the order of keys, resources, stacks, `DependsOn` or tags, and
//! the reversed comparison gives the inverse mapping.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod literals;
mod support;

use cdkr::compare::{Comparison, Decisions};
use cdkr::model::Stack;
use literals::{
    assert_same, canonical, cdk, compare, logical_id, nested, pairs, parameter, queue, resource,
    run, shuffles, stack_with, with,
};

/// An app with something of everything: twins that stay apart, twins that nothing tells apart,
/// exports, a nested stack, names, tags, conditions, an addition, a removal, a change.
fn app(shop: &str, twins: [&str; 2], extra: &str, delay: u32) -> Vec<Stack> {
    let table = format!("Data/{shop}/Table/Resource");
    let role = format!("Data/{shop}/Role/Resource");
    let policy = format!("Data/{shop}/Role/DefaultPolicy/Resource");
    let id = |path: &str| logical_id(path);
    let outputs = format!(
        r#"{{"Conditions":{{"{shop}C":{{"Fn::Equals":[{{"Ref":"AWS::Region"}},"x"]}}}},
            "Outputs":{{"{shop}O":{{"Value":{{"Fn::GetAtt":["{0}","Arn"]}},
                "Export":{{"Name":"Data:{0}"}}}}}}}}"#,
        id(&table)
    );
    let tagged = format!(
        r#"{{"BillingMode":"x","Tags":[{{"Key":"Name","Value":"Data/{shop}/Table"}},
            {{"Key":"Team","Value":"t{delay}"}},{{"Key":"a","Value":{{"Ref":"AWS::Region"}}}}]}}"#
    );
    let statement = format!(
        r#"{{"PolicyName":"{}","Roles":[{{"Ref":"{}"}}],"Table":{{"Fn::Sub":"${{{}.Arn}}/*"}}}}"#,
        id(&policy),
        id(&role),
        id(&table)
    );
    let twin = |name: &str| cdk(&format!("Data/{name}/Queue/Resource"), literals::QUEUE, "{}");
    let used = |name: &str| {
        let queue = id(&format!("Data/{name}/Queue/Resource"));
        let path = format!("Data/{name}/Policy/Resource");
        cdk(&path, "AWS::SQS::QueuePolicy", &format!(r#"{{"Queues":[{{"Ref":"{queue}"}}]}}"#))
    };
    let after = format!(r#"["{}","{}"]"#, id(&role), id(&table));
    let data = stack_with(
        "Data",
        &outputs,
        [
            with(
                cdk(&table, "AWS::DynamoDB::Table", &tagged),
                "Condition",
                &format!(r#""{shop}C""#),
            ),
            cdk(&role, "AWS::IAM::Role", r#"{"Path":"/"}"#),
            cdk(&policy, "AWS::IAM::Policy", &statement),
            twin(twins[0]),
            twin(twins[1]),
            used(twins[0]),
            used(twins[1]),
            with(parameter(extra, r#""late""#), "DependsOn", &after),
            resource("Stays", literals::QUEUE, &format!(r#"{{"DelaySeconds":{delay}}}"#)),
            parameter(&format!("Only{delay}"), &delay.to_string()),
            resource("Nest", "AWS::CloudFormation::Stack", r#"{"TemplateURL":"x"}"#),
        ],
    );
    let import = format!(r#"{{"Fn::ImportValue":"Data:{}"}}"#, id(&table));
    let web = stack_with("Web", "{}", [parameter(extra, &import), parameter("P", &import)]);
    vec![
        data,
        web,
        nested("Data.Nest", [queue(extra), parameter("In", r#"{"Ref":"AWS::Region"}"#)]),
    ]
}

#[test]
fn an_app_with_something_of_everything_is_compared_alike_in_every_order() {
    let before = app("Shop", ["Left", "Right"], "Old", 1);
    for after in [
        app("Store", ["Left", "Right"], "New", 1),
        app("Store", ["One", "Two"], "New", 2),
        app("Shop/Inner", ["Right", "Third"], "Old", 2),
        app("Shop", ["Right", "Left"], "New", 1),
    ] {
        let comparison = compare(&before, &after);
        assert!(!comparison.mappings.is_empty());
    }
}

#[test]
fn many_orders_at_once_give_the_same_answer() {
    let before = app("Shop", ["Left", "Right"], "Old", 1);
    let after = app("Store", ["One", "Two"], "New", 2);
    let expected = canonical(&run(&before, &after, &Decisions::default()).unwrap());
    for mask in 0..1 << (2 * shuffles().len()) {
        let shuffled = |stacks: &[Stack], mask: usize| {
            let chosen = shuffles().into_iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
            chosen.fold(stacks.to_vec(), |stacks, (_, (_, shuffle))| shuffle(&stacks))
        };
        let (old, new) = (shuffled(&before, mask & 15), shuffled(&after, mask >> 4));
        let other = canonical(&run(&old, &new, &Decisions::default()).unwrap());
        assert_same(&other, &expected, &format!("{mask:b}"));
    }
}

/// What a comparison of real constructs says, without what repeats the input.
fn answer(comparison: &Comparison) -> String {
    let evidence: Vec<_> =
        comparison.mappings.iter().map(|m| (&m.evidence, m.indistinct)).collect();
    format!("{:?} {evidence:?} {:?}", pairs(comparison), comparison.ambiguous)
}

#[test]
fn real_constructs_are_compared_alike_in_every_order() {
    for construct in support::corpus().iter().step_by(7) {
        for (before, after) in
            [("base", "wrap"), ("moveBefore", "moveRename"), ("twinsBefore", "twinsSwapped")]
        {
            let Some((old, new)) = construct.situation(before, after) else { continue };
            let expected = support::compare_variants(old, new);
            for (order, shuffle) in shuffles() {
                let other = run(&shuffle(&old.stacks), &new.stacks, &Decisions::default()).unwrap();
                let name = format!("{} {before} {after}: the order of {order}", construct.name);
                assert_eq!(answer(&other), answer(&expected), "{name}");
            }
        }
    }
}
