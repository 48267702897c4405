//! What `cdkr deploy` refuses, or does with care, so that nothing is lost and nothing is begun in
//! vain.

use serde_json::{Value as Json, json};

use super::deploy;
use super::program::{Place, text};

/// A hand-made app of one stack, `Web`.
fn written(template: &Json) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, json: &Json| {
        std::fs::write(directory.path().join(name), json.to_string()).unwrap();
    };
    write(
        "manifest.json",
        &json!({"version": "36.0.0", "artifacts": {"Web": {
            "type": "aws:cloudformation:stack",
            "environment": "aws://111111111111/us-east-1",
            "properties": {"templateFile": "Web.template.json"}}}}),
    );
    write("Web.template.json", template);
    directory
}

fn directory(app: &tempfile::TempDir) -> &str {
    app.path().to_str().unwrap()
}

fn queue(delay: u32) -> Json {
    json!({"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": delay}})
}

/// A table that there is only while a parameter says so, next to a queue.
fn table_on_demand(parameter: &Json, delay: u32) -> Json {
    json!({
        "Parameters": {"Keep": parameter},
        "Conditions": {"Keeps": {"Fn::Equals": [{"Ref": "Keep"}, "yes"]}},
        "Resources": {
            "Table": {"Type": "AWS::DynamoDB::Table", "Condition": "Keeps", "Properties": {
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST"}},
            "Queue": queue(delay)}})
}

#[test]
fn a_table_that_a_forgotten_parameter_kept_is_not_deleted_without_consent() {
    let place = Place::new();
    let parameter = json!({"Type": "String", "Default": "no"});
    let app = written(&table_on_demand(&parameter, 1));
    place.out(&deploy(directory(&app), &["--parameters", "Web:Keep=yes"]));
    let before = place.resources();
    assert!(before.contains_key("us-east-1 Web.Table"), "{before:?}");
    let app = written(&table_on_demand(&parameter, 2));
    for method in ["direct", "change-set"] {
        let forgetting = ["--no-previous-parameters", "--method", method];
        let output = place.run(&deploy(directory(&app), &forgetting));
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("Web.Table"), "{}", text(&output.stdout));
        assert_eq!(place.resources(), before);
    }
    place.out(&deploy(directory(&app), &["--method", "direct"]));
    assert_eq!(place.resources(), before);
    let allowed = ["--no-previous-parameters", "--allow-replacement", "Web.Table"];
    place.out(&deploy(directory(&app), &[&allowed[..], &["--method", "direct"]].concat()));
    assert!(!place.resources().contains_key("us-east-1 Web.Table"));
}

#[test]
fn a_table_that_depends_on_a_value_that_is_looked_up_is_not_deleted_directly() {
    let place = Place::new();
    let stored = |value: &str| {
        let file = place.path().join(".cdkr/local/111111111111/us-east-1/ssm");
        std::fs::create_dir_all(&file).unwrap();
        let file = file.join("keep.json");
        std::fs::write(file, json!(value).to_string()).unwrap();
    };
    // The embedded CloudFormation has to be there.
    place.out(&deploy(directory(&written(&json!({"Resources": {"Queue": queue(1)}}))), &[]));
    stored("yes");
    let parameter = json!({"Type": "AWS::SSM::Parameter::Value<String>", "Default": "keep"});
    let app = written(&table_on_demand(&parameter, 1));
    let direct = ["--method", "direct"];
    place.out(&deploy(directory(&app), &direct));
    let before = place.resources();
    assert!(before.contains_key("us-east-1 Web.Table"), "{before:?}");
    stored("no");
    let app = written(&table_on_demand(&parameter, 2));
    let error = place.err(&deploy(directory(&app), &direct), 3);
    assert!(error.contains("looks up parameters of stack `Web`"), "{error}");
    assert!(error.contains("Web.Table"), "{error}");
    assert_eq!(place.resources(), before);
    stored("yes");
    place.out(&deploy(directory(&app), &direct));
    assert_eq!(place.resources(), before);
}

#[test]
fn a_parameter_without_a_value_stops_the_deployment_before_it_begins() {
    let place = Place::new();
    let template = |delay: u32| {
        json!({
            "Parameters": {
                "Size": {"Type": "String"},
                "Secret": {"Type": "String", "NoEcho": true},
                "Other": {"Type": "String", "Default": "1"}},
            "Resources": {"Queue": queue(delay)}})
    };
    let app = written(&template(1));
    let error = place.err(&deploy(directory(&app), &["--parameters", "Size=1"]), 1);
    for part in ["stack `Web`", "`Secret`", "--parameters Web:Secret=", "Nothing was changed"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("`Size`") && !error.contains("`Other`"), "{error}");
    assert!(place.resources().is_empty());
    place.out(&deploy(directory(&app), &["--parameters", "Size=1", "--parameters", "Secret=2"]));
    // Both are kept, the hidden one too.
    let app = written(&template(2));
    let error = place.err(&deploy(directory(&app), &["--no-previous-parameters"]), 1);
    assert!(error.contains("`Secret`, `Size`"), "{error}");
    place.out(&deploy(directory(&app), &[]));
}

#[test]
fn a_stack_without_resources_stops_the_deployment_before_it_begins() {
    let place = Place::new();
    place.out(&deploy(directory(&written(&json!({"Resources": {"Queue": queue(1)}}))), &[]));
    let before = place.resources();
    for template in [json!({"Resources": {}}), json!({"Description": "nothing"})] {
        let error = place.err(&deploy(directory(&written(&template)), &[]), 1);
        assert!(error.contains("stack `Web` has no resources"), "{error}");
        assert_eq!(place.resources(), before);
    }
}

#[test]
fn without_refactoring_an_inline_policy_with_a_new_logical_id_is_still_there_afterwards() {
    let place = Place::new();
    let template = |policy: &str, name: &str| {
        let statement = json!({"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"});
        let mut resources = json!({});
        resources[name] = queue(1);
        resources[policy] = json!({"Type": "AWS::IAM::Policy", "Properties": {
            "PolicyName": "reads", "Roles": ["existing-role"],
            "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]}}});
        json!({"Resources": resources})
    };
    let app = written(&template("OldPolicy", "OldQueue"));
    place.out(&deploy(directory(&app), &[]));
    let before = place.resources();
    let app = written(&template("NewPolicy", "NewQueue"));
    let how = [
        "--refactoring",
        "DEPLOY_WITHOUT_REFACTORING",
        "--allow-replacement",
        "AWS::SQS::Queue",
        "--verbose",
    ];
    let output = place.run(&deploy(directory(&app), &how));
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    let now = place.resources();
    assert_ne!(now["us-east-1 Web.NewQueue"], before["us-east-1 Web.OldQueue"]);
    assert_eq!(now.keys().filter(|place| place.contains("Policy")).count(), 1, "{now:?}");
    // The thing itself, whatever stacks say of it.
    let things = ".cdkr/local/111111111111/us-east-1/resources/AWS.IAM.Policy";
    assert_eq!(std::fs::read_dir(place.path().join(things)).unwrap().count(), 1);
}
