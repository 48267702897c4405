//! What a report says of changes between two templates.

use super::*;
use crate::analyze::{Rules, permissions};
use crate::compare::{Decisions, compare};
use crate::model::{Environment, Location, Stack};
use crate::template::{check, json};
use std::collections::BTreeMap;

fn stack(name: &str, resources: &str) -> Stack {
    let text = format!("{{\"Resources\": {resources}}}");
    Stack::new(name, check(json::parse(&text).unwrap()).unwrap())
}

fn fate(kind: FateKind, properties: &[&str]) -> Fate {
    let properties = properties.iter().map(|path| (*path).to_owned()).collect();
    Fate { kind, physical_id: None, danger: None, properties, cause: None }
}

fn report(before: &[Stack], after: &[Stack], fates: Option<&Fates>) -> EnvironmentReport {
    report_by(before, after, fates, &Rules::built_in())
}

fn report_by(
    before: &[Stack],
    after: &[Stack],
    fates: Option<&Fates>,
    rules: &Rules,
) -> EnvironmentReport {
    let environment = Environment::new("111111111111", "us-east-1");
    let comparison = compare(&environment, before, after, &Decisions::default()).unwrap();
    change_report(&ReportRequest {
        before,
        after,
        comparison: &comparison,
        fates,
        permissions: permissions(before, after),
        rules,
        selected: None,
        evidence: &BTreeMap::new(),
        strict: false,
    })
}

/// Place, effect, certainty and risk of each change.
fn shown(report: &EnvironmentReport) -> Vec<String> {
    let shown = |change: &ComponentChange| {
        let place = |place: &Option<Place>| {
            place.as_ref().map_or(String::new(), |one| format!("{}.{}", one.stack, one.logical_id))
        };
        let places = if change.is_moved() {
            format!("{}>{}", place(&change.before), place(&change.after))
        } else {
            place(&change.after.clone().or_else(|| change.before.clone()))
        };
        format!("{places} {:?} {:?} {:?}", change.effect, change.certainty, change.risk)
    };
    report.changes.iter().map(shown).collect()
}

fn known(stacks: &[&str], fates: &[(&str, &str, Fate)]) -> Fates {
    let by_place = fates.iter();
    let by_place = by_place.map(|(stack, id, fate)| (Location::new(stack, id), fate.clone()));
    let stacks = stacks.iter().map(|name| (*name).into()).collect();
    Fates { by_place: by_place.collect(), stacks }
}

const TABLE: &str = r#"{"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "a",
    "KeySchema": []}}, "Reader": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String",
    "Value": {"Ref": "Table"}}}}"#;

#[test]
fn a_move_is_a_move_and_of_low_risk() {
    let before = [stack("A", TABLE), stack("B", "{}")];
    let after = [stack("A", "{}"), stack("B", TABLE)];
    let found = report(&before, &after, Some(&known(&["A", "B"], &[])));
    let expected = ["A.Table>B.Table Nothing Certain Low", "A.Reader>B.Reader Nothing Certain Low"];
    assert_eq!(shown(&found), expected);
}

#[test]
fn a_replacement_names_the_property_and_everything_that_follows_names_the_replacement() {
    let after = TABLE.replace("\"a\"", "\"b\"");
    let fates = known(
        &["A"],
        &[
            ("A", "Table", fate(FateKind::Replace(Certainty::Certain), &["Properties.TableName"])),
            ("A", "Reader", fate(FateKind::Update, &["Properties.Value"])),
        ],
    );
    let found = report(&[stack("A", TABLE)], &[stack("A", &after)], Some(&fates));
    assert_eq!(
        shown(&found),
        ["A.Table Replace Certain Unknown", "A.Reader Update Certain Unknown"]
    );
    let causes = &found.changes[0].causes;
    assert_eq!(causes, &["`Properties.TableName` changes, which cannot be done in place"]);
    let follows = &found.changes[1].properties[0];
    assert_eq!(follows.path(), "Properties.Value");
    assert_eq!(follows.cause.as_deref(), Some("`A.Table` is replaced"));
}

#[test]
fn the_forecast_has_the_last_word_on_replacements() {
    // The templates differ in a property that replaces, but both values come to the same.
    let after = TABLE.replace("\"a\"", "{\"Fn::Sub\": \"a\"}");
    let found = report(&[stack("A", TABLE)], &[stack("A", &after)], Some(&known(&["A"], &[])));
    assert_eq!(shown(&found), ["A.Table TemplateOnly Certain Unknown"]);
    // And the other way round: nothing in the template says so.
    let lost = Fate {
        danger: Some("It is replaced by an empty one.".to_owned()),
        ..fate(FateKind::Replace(Certainty::Possible), &["Properties.TableName"])
    };
    let fates = known(&["A"], &[("A", "Table", lost)]);
    let found = report(&[stack("A", TABLE)], &[stack("A", TABLE)], Some(&fates));
    assert_eq!(shown(&found)[0], "A.Table Replace Possible High");
    assert_eq!(found.changes[0].causes, ["`Properties.TableName` comes to another value"]);
}

#[test]
fn what_refers_to_something_that_may_be_replaced_may_be_updated() {
    let key = r#"[{"AttributeName": "b", "KeyType": "HASH"}]"#;
    let after = TABLE.replace("\"KeySchema\": []", &format!("\"KeySchema\": {key}"));
    // The forecast says nothing of what follows only perhaps.
    let replaced = fate(FateKind::Replace(Certainty::Possible), &["Properties.KeySchema"]);
    let fates = known(&["A"], &[("A", "Table", replaced)]);
    let found = report(&[stack("A", TABLE)], &[stack("A", &after)], Some(&fates));
    assert_eq!(shown(&found)[1], "A.Reader Update Possible Unknown");
    let cause = found.changes[1].properties[0].cause.as_deref();
    assert_eq!(cause, Some("`A.Table` may be replaced"));
}

#[test]
fn what_refers_to_a_parameter_changes_only_if_the_forecast_says_so() {
    let stack = |allowed: &str| {
        let text = format!(
            r#"{{"Parameters": {{"P": {{"Type": "String", "AllowedValues": [{allowed}]}}}},
            "Resources": {{"Reader": {{"Type": "AWS::SSM::Parameter", "Properties":
            {{"Type": "String", "Value": {{"Ref": "P"}}}}}}}}}}"#
        );
        Stack::new("A", check(json::parse(&text).unwrap()).unwrap())
    };
    let (before, after) = ([stack(r#""a""#)], [stack(r#""a", "b""#)]);
    let found = report(&before, &after, Some(&known(&["A"], &[])));
    assert_eq!(shown(&found), ["A.P Update Certain Unknown"]);
    let fates = known(&["A"], &[("A", "Reader", fate(FateKind::Update, &["Properties.Value"]))]);
    let found = report(&before, &after, Some(&fates));
    assert_eq!(shown(&found)[0], "A.Reader Update Certain Unknown");
    assert_eq!(found.changes[0].properties[0].path(), "Properties.Value");
}

#[test]
fn what_is_in_a_stack_that_the_app_does_not_have_any_more_stays() {
    let before = [stack("A", TABLE), stack("Old", r#"{"Topic": {"Type": "AWS::SNS::Topic"}}"#)];
    let found = report(&before, &[stack("A", TABLE)], Some(&known(&["A"], &[])));
    assert_eq!(shown(&found), [""; 0]);
    assert_eq!(found.stacks[1].fate, StackFate::Left);
    assert_eq!(found.unchanged.len(), 3);
}

#[test]
fn what_the_cdk_writes_for_itself_is_left_out() {
    let own = |hash: &str| {
        format!(
            r#"{{"CDKMetadata": {{"Type": "AWS::CDK::Metadata", "Properties": {{"Analytics": "{hash}"}}}}}}"#
        )
    };
    let found = report(&[stack("A", &own("x"))], &[stack("A", &own("y"))], None);
    assert_eq!(shown(&found), [""; 0]);
    assert_eq!(found.stacks[0].resources, (0, 0));
}

#[test]
fn letting_a_table_be_deleted_is_of_high_risk_though_only_the_template_changes() {
    let kept =
        TABLE.replacen("\"Properties\"", "\"DeletionPolicy\": \"Retain\", \"Properties\"", 1);
    let found = report(&[stack("A", &kept)], &[stack("A", TABLE)], Some(&known(&["A"], &[])));
    assert_eq!(shown(&found), ["A.Table TemplateOnly Certain High"]);
    assert_eq!(found.changes[0].rule.as_deref(), Some("what kept the data on deletion goes"));
}

#[test]
fn a_broader_policy_is_of_high_risk_and_its_property_is_marked() {
    let policy = |action: &str| {
        format!(
            r#"{{"Policy": {{"Type": "AWS::IAM::ManagedPolicy", "Properties": {{"PolicyDocument":
            {{"Statement": [{{"Effect": "Allow", "Action": "{action}", "Resource": "*"}}]}}}}}}}}"#
        )
    };
    let found =
        report(&[stack("A", &policy("s3:GetObject"))], &[stack("A", &policy("s3:*"))], None);
    assert_eq!(shown(&found), ["A.Policy Update Certain High"]);
    assert!(found.changes[0].properties[0].broadens_permissions);
    assert!(!found.permissions.is_empty());
}

#[test]
fn elements_that_only_shift_are_no_changes_but_a_new_order_is() {
    let list = |items: &str| {
        format!(r#"{{"Thing": {{"Type": "Custom::Thing", "Properties": {{"List": {items}}}}}}}"#)
    };
    let paths = |before: &str, after: &str| -> Vec<(PropertyChange, String)> {
        let found = report(&[stack("A", &list(before))], &[stack("A", &list(after))], None);
        let properties = found.changes.iter().flat_map(|change| &change.properties);
        properties.map(|one| (one.change, one.path().to_owned())).collect()
    };
    assert_eq!(
        paths(r#"["one", "two"]"#, r#"["zero", "one", "two"]"#),
        [(PropertyChange::Insert, "Properties.List.0".to_owned())]
    );
    assert_eq!(paths(r#"["one", "two"]"#, r#"["two", "one"]"#).len(), 2);
}

#[test]
fn rules_of_a_team_have_the_last_word() {
    let rules = "
- description: parameters are ours
  let:
    parameter: {Resource: AWS::SSM::Parameter}
    change: {change: {}, where: change appliesTo parameter}
  effect: {risk: low, action: approve}
";
    let rules = Rules::built_in().then(Rules::parse(rules).unwrap());
    let after = TABLE.replace("\"String\"", "\"StringList\"");
    let found = report_by(&[stack("A", TABLE)], &[stack("A", &after)], None, &rules);
    assert_eq!(shown(&found), ["A.Reader Update Certain Low"]);
    assert_eq!(found.changes[0].action, Some(Action::Approve));
}

#[test]
fn values_of_parameters_without_echo_are_not_shown() {
    let stack = |secret: &str| {
        let text = format!(
            r#"{{"Parameters": {{"Password": {{"Type": "String", "NoEcho": true,
            "Default": "{secret}"}}}}}}"#
        );
        Stack::new("A", check(json::parse(&text).unwrap()).unwrap())
    };
    let found = report(&[stack("old-secret")], &[stack("new-secret")], None);
    let property = &found.changes[0].properties[0];
    assert_eq!(property.path(), "Default");
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
}

#[test]
fn a_report_does_not_depend_on_the_order_of_stacks() {
    let before = [stack("A", TABLE), stack("B", "{}"), stack("C", TABLE)];
    let after = [stack("A", "{}"), stack("B", TABLE), stack("C", TABLE)];
    let mut turned = (before.to_vec(), after.to_vec());
    turned.0.reverse();
    turned.1.reverse();
    let found = report(&before, &after, None);
    let again = report(&turned.0, &turned.1, None);
    assert_eq!(shown(&found), shown(&again));
}

#[test]
fn a_table_that_a_condition_takes_away_is_removed_and_its_loss_is_dangerous() {
    let text = r#"{"Table": {"Type": "AWS::DynamoDB::Table", "Condition": "Wanted"}}"#;
    let lost = Fate {
        danger: Some("It is deleted with all that it holds.".to_owned()),
        ..fate(FateKind::Remove, &[])
    };
    let fates = known(&["A"], &[("A", "Table", lost)]);
    let found = report(&[stack("A", text)], &[stack("A", text)], Some(&fates));
    assert_eq!(shown(&found), ["A.Table Remove Certain High"]);
}

#[test]
fn what_is_rejected_is_rejected_whatever_else_happens_to_the_resource() {
    let rules = |first: &str, second: &str| {
        let rule = |property: &str, effect: &str| {
            format!(
                "
- let:
    queue: {{Resource: AWS::SQS::Queue}}
    change: {{change: {{}}, where: change appliesTo queue.Properties.{property}}}
  effect: {effect}
"
            )
        };
        Rules::parse(&(rule("DelaySeconds", first) + &rule("VisibilityTimeout", second))).unwrap()
    };
    let queue = |delay: u8, timeout: u8| {
        let text = format!(
            r#"{{"Queue": {{"Type": "AWS::SQS::Queue", "Properties": {{"DelaySeconds": {delay},
            "VisibilityTimeout": {timeout}}}}}}}"#
        );
        [stack("A", &text)]
    };
    let action = |rules: &Rules| {
        let found = report_by(&queue(1, 30), &queue(2, 60), None, rules);
        found.changes[0].action
    };
    assert_eq!(action(&rules("{risk: high}", "{action: reject}")), Some(Action::Reject));
    let approved = "{risk: high, action: approve}";
    assert_eq!(action(&rules(approved, "{action: reject}")), Some(Action::Reject));
    assert_eq!(action(&rules(approved, "{risk: high}")), None, "half of it is approved");
    assert_eq!(action(&rules(approved, approved)), Some(Action::Approve));
}

#[test]
fn a_rule_on_a_property_sees_changes_inside_it() {
    let bucket = |status: &str| {
        let text = format!(
            r#"{{"Bucket": {{"Type": "AWS::S3::Bucket", "Properties":
            {{"VersioningConfiguration": {{"Status": "{status}"}}}}}}}}"#
        );
        [stack("A", &text)]
    };
    let rules = "
- let:
    bucket: {Resource: AWS::S3::Bucket}
    change: {change: {}, where: change appliesTo bucket.Properties.VersioningConfiguration}
  effect: {action: reject}
";
    let rules = Rules::parse(rules).unwrap();
    let found = report_by(&bucket("Enabled"), &bucket("Suspended"), None, &rules);
    assert_eq!(found.changes[0].action, Some(Action::Reject));
}

#[test]
fn passwords_in_templates_are_not_shown() {
    let user = |password: &str| {
        let text = format!(
            r#"{{"User": {{"Type": "AWS::IAM::User", "Properties": {{"LoginProfile":
            {{"Password": {password}, "PasswordResetRequired": true}}}}}}}}"#
        );
        [stack("A", &text)]
    };
    let old = r#""{{resolve:secretsmanager:first}}""#;
    let found = report(&user(old), &user("\"second-secret\""), None);
    let text = format!("{:?}", found.changes[0].properties);
    assert!(text.contains("{{resolve:secretsmanager:first}}"), "{text}");
    assert!(!text.contains("second-secret"), "{text}");
}

#[test]
fn what_is_in_a_nested_stack_goes_with_it_and_moves_with_it() {
    let nested = |name: &str| {
        let mut nested = stack(&format!("A/{name}"), TABLE);
        nested.parent = Some(Location::new("A", name));
        nested
    };
    let parent = |name: &str| {
        stack("A", &format!(r#"{{"{name}": {{"Type": "AWS::CloudFormation::Stack"}}}}"#))
    };
    let lost = Fate { danger: Some("It is deleted.".to_owned()), ..fate(FateKind::Remove, &[]) };
    let fates = known(&["A"], &[("A/Old", "Table", lost)]);
    let found = report(&[parent("Old"), nested("Old")], &[stack("A", "{}")], Some(&fates));
    assert!(shown(&found).contains(&"A/Old.Table Remove Certain High".to_owned()));
    assert!(found.stacks.iter().any(|one| one.fate == StackFate::Removed));
    let found = report(
        &[parent("Old"), nested("Old")],
        &[parent("New"), nested("New")],
        Some(&known(&["A"], &[])),
    );
    assert!(found.changes.iter().all(ComponentChange::is_moved), "{:?}", shown(&found));
    assert!(found.stacks.iter().all(|one| one.fate == StackFate::Kept), "{:?}", found.stacks);
}
