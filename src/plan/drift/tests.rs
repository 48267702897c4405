use super::*;
use crate::model::{DeployedResource, Stack, StackOptions, StackStatus};
use crate::plan::forecast::Properties;
use crate::template::{self, json};

fn declared(text: &str, secrets: &[&str]) -> Declared {
    let properties = Properties {
        value: json::parse(text).unwrap(),
        secret: secrets.iter().map(|text| text.parse().unwrap()).collect(),
        ..Properties::default()
    };
    let tags = BTreeMap::from([("team".into(), "shop".into())]);
    Declared { properties, tags }
}

/// What would put a resource right, as `op path: current, declared`.
fn drift(kind: &str, state: &str, wanted: &str, secrets: &[&str]) -> Vec<String> {
    let kind = ResourceType::from(kind);
    let declared = declared(wanted, secrets);
    let state = json::parse(state).unwrap();
    let (standing, _) = compare(&kind, &state, &declared, &schema(&kind));
    match standing {
        Standing::InSync => Vec::new(),
        Standing::Drifted(found) => texts(&found),
        other => panic!("{other:?}"),
    }
}

fn texts(found: &[Divergence]) -> Vec<String> {
    let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), json::to_compact);
    let each = found.iter().map(|one| {
        let hidden = if one.is_hidden { " hidden" } else { "" };
        let (current, declared) = (text(&one.current), text(&one.declared));
        format!("{} {}: {current}, {declared}{hidden}", one.kind.as_str(), one.path)
    });
    each.collect()
}

const QUEUE: &str = "AWS::SQS::Queue";

#[test]
fn what_the_service_adds_is_no_drift() {
    let state = r#"{"QueueName":"q","VisibilityTimeout":30,"Arn":"arn:aws:sqs:x","DelaySeconds":0,
        "Tags":[{"Key":"aws:cloudformation:stack-name","Value":"Shop"},{"Key":"team","Value":"shop"}]}"#;
    assert!(drift(QUEUE, state, r#"{"VisibilityTimeout":"30"}"#, &[]).is_empty());
    assert!(drift(QUEUE, state, r#"{"Tags":[]}"#, &[]).is_empty());
    let wanted = r#"{"Tags":[{"Key":"team","Value":"shop"}]}"#;
    assert!(drift(QUEUE, state, wanted, &[]).is_empty());
}

#[test]
fn what_somebody_changed_is_told_with_both_values() {
    let state = r#"{"VisibilityTimeout":45,"Tags":[{"Key":"a","Value":"2"},{"Key":"b","Value":"3"}],
        "FifoQueue":false}"#;
    let wanted = r#"{"VisibilityTimeout":"30","FifoQueue":"true","KmsMasterKeyId":"k",
        "Tags":[{"Key":"a","Value":"1"}]}"#;
    assert_eq!(
        drift(QUEUE, state, wanted, &[]),
        [
            "replace /FifoQueue: false, true",
            r#"add /KmsMasterKeyId: -, "k""#,
            r#"replace /Tags/0/Value: "2", "1""#,
            r#"remove /Tags/1: {"Key":"b","Value":"3"}, -"#,
            "replace /VisibilityTimeout: 45, 30",
        ]
    );
}

#[test]
fn a_tag_of_the_stack_that_has_another_value_is_told_only_where_tags_are_declared() {
    let state = r#"{"Tags":[{"Key":"team","Value":"other"},{"Key":"a","Value":"1"}]}"#;
    assert!(drift(QUEUE, state, "{}", &[]).is_empty());
    assert_eq!(
        drift(QUEUE, state, r#"{"Tags":[{"Key":"a","Value":"1"}]}"#, &[]),
        [r#"remove /Tags/0: {"Key":"team","Value":"other"}, -"#]
    );
}

#[test]
fn what_is_only_written_differently_is_no_drift() {
    for (state, wanted) in [
        (r#"{"V":1.0,"B":true}"#, r#"{"V":"1","B":"true"}"#),
        (r#"{"D":"{\"a\": 1, \"b\": [2]}"}"#, r#"{"D":"{\"b\":[2],\"a\":1}"}"#),
        (r#"{"D":"{\"a\": 1}"}"#, r#"{"D":{"a":"1"}}"#),
        (r#"{"D":{"a":1}}"#, r#"{"D":"{\"a\": 1}"}"#),
        (r#"{"Description":"Größe"}"#, r#"{"Description":"Gr??e"}"#),
        ("{}", r#"{"Description":"","L":[],"O":{"P":[]}}"#),
    ] {
        assert!(drift("AWS::S3::Bucket", state, wanted, &[]).is_empty(), "{state} {wanted}");
    }
}

#[test]
fn what_cannot_be_read_back_is_left_out() {
    let kind = ResourceType::from("AWS::Lambda::Function");
    let declared = declared(r#"{"Code":{"S3Bucket":"b","S3Key":"k"},"MemorySize":"128"}"#, &[]);
    let state = json::parse(r#"{"MemorySize":128}"#).unwrap();
    let (standing, left_out) = compare(&kind, &state, &declared, &schema(&kind));
    assert_eq!(standing, Standing::InSync);
    assert_eq!(left_out.unreadable, ["/Code".parse().unwrap()]);
}

#[test]
fn no_value_is_shown_beside_a_secret() {
    let state = r#"{"ContainerDefinitions":[{"Name":"a","Environment":[{"Name":"P","Value":"s3cr3t"}]}],
        "Cpu":"512"}"#;
    let wanted =
        r#"{"ContainerDefinitions":[{"Name":"b","Environment":[{"Name":"P"}]}],"Cpu":"256"}"#;
    let secrets = ["/ContainerDefinitions/0/Environment/0/Value"];
    let found = drift("AWS::ECS::TaskDefinition", state, wanted, &secrets);
    assert_eq!(
        found,
        [r#"replace /ContainerDefinitions/0/Name: "a", "b""#, r#"replace /Cpu: "512", "256""#]
    );
    let state = state.replace("[{\"Name\":\"P\"", "[{\"Name\":\"Q\"");
    let found = drift("AWS::ECS::TaskDefinition", &state, wanted, &secrets);
    assert!(!found.join("\n").contains("s3cr3t"), "{found:?}");
    let state = r#"{"ContainerDefinitions":[{"Environment":[{"Name":"P","Value":"s3cr3t"}]},
        {"Environment":[{"Name":"P","Value":"s3cr3t"}]}]}"#;
    let wanted = r#"{"ContainerDefinitions":[{"Environment":[{"Name":"P"}]}]}"#;
    assert_eq!(
        drift("AWS::ECS::TaskDefinition", state, wanted, &secrets),
        ["remove /ContainerDefinitions/1: -, - hidden"]
    );
}

#[test]
fn a_move_changes_nothing_but_the_tags_of_cloudformation() {
    let kind = ResourceType::from(QUEUE);
    let state = |stack: &str, more: &str| {
        json::parse(&format!(
            r#"{{"QueueUrl":"q"{more},"Tags":[{{"Key":"a","Value":"1"}},
            {{"Key":"team","Value":"{stack}"}},
            {{"Key":"aws:cloudformation:stack-name","Value":"{stack}"}}]}}"#
        ))
        .unwrap()
    };
    let between = |after: &Value| {
        let declared = declared("{}", &[]);
        let tags = BTreeMap::from([("team".into(), "New".into())]);
        texts(&moved(&kind, &state("shop", ""), after, &declared, &tags, &schema(&kind)))
    };
    assert!(between(&state("New", "")).is_empty());
    assert_eq!(between(&state("New", r#","DelaySeconds":5"#)), ["remove /DelaySeconds: 5, -"]);
    let untagged = json::parse(r#"{"QueueUrl":"q"}"#).unwrap();
    assert_eq!(between(&untagged), [r#"add /Tags: -, [{"Key":"a","Value":"1"}]"#]);
}

/// A stack with its template, physical IDs and outputs.
fn deployed(
    name: &str,
    template: &str,
    physical: &[(&str, &str)],
    outputs: &[(&str, &str)],
) -> DeployedStack {
    let template = template::parse(template.as_bytes()).unwrap();
    let resource = |(id, physical): &(&str, &str)| {
        let kind = template.resource(id).and_then(|body| body.get("Type")?.as_str());
        let found = DeployedResource {
            resource_type: kind.unwrap_or("AWS::SQS::Queue").into(),
            physical_id: Some((*physical).into()),
            status: "CREATE_COMPLETE".into(),
            changed_at: None,
        };
        (Text::from(*id), found)
    };
    let resources = physical.iter().map(resource).collect();
    let outputs = outputs.iter().map(|(key, value)| (Text::from(*key), Text::from(*value)));
    let mut stack = Stack::new(name, template.clone());
    stack.parent = name.rsplit_once('/').map(|(parent, id)| Location::new(parent, id));
    DeployedStack {
        id: format!("arn:aws:cloudformation:eu-west-1:111111111111:stack/{name}/1").into(),
        status: StackStatus("CREATE_COMPLETE".into()),
        stack,
        body: Text::default(),
        resources,
        exports: Vec::new(),
        outputs: outputs.collect(),
        has_policy: false,
        options: StackOptions::default(),
    }
}

fn environment(stacks: Vec<DeployedStack>) -> DeployedEnvironment {
    let environment = Environment::new("111111111111", "eu-west-1");
    DeployedEnvironment { environment, stacks, empty: Vec::new() }
}

#[test]
fn references_are_told_by_states_outputs_and_nested_stacks() {
    let shop = r#"{"Resources": {
        "Key": {"Type": "AWS::KMS::Key", "Properties": {}},
        "Role": {"Type": "AWS::IAM::Role", "Properties": {}},
        "Inner": {"Type": "AWS::CloudFormation::Stack", "Properties": {}},
        "Stage": {"Type": "AWS::ApiGateway::Stage", "Properties": {"RestApiId": "a", "StageName": "prod"}},
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {
            "A": {"Fn::GetAtt": ["Key", "Arn"]}, "B": {"Fn::GetAtt": ["Role", "Arn"]},
            "C": {"Fn::GetAtt": ["Inner", "Outputs.Name"]}, "D": {"Ref": "Stage"},
            "E": {"Fn::ImportValue": "base"}, "F": {"Fn::ImportValue": "nowhere"}}}},
        "Outputs": {"Role": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}}}}"#;
    let base = r#"{"Resources": {"T": {"Type": "AWS::SNS::Topic", "Properties": {}}},
        "Outputs": {"T": {"Value": {"Fn::GetAtt": ["T", "TopicName"]}, "Export": {"Name": "base"}}}}"#;
    let deployed = environment(vec![
        deployed("Base", base, &[("T", "arn:aws:sns:eu-west-1:1:t")], &[("T", "t")]),
        deployed(
            "Shop",
            shop,
            &[("Key", "k"), ("Role", "r"), ("Inner", "arn:i"), ("Stage", "prod"), ("Queue", "q")],
            &[("Role", "arn:aws:iam::1:role/r")],
        ),
        deployed("Shop/Inner", r#"{"Resources": {}}"#, &[], &[("Name", "n")]),
    ]);
    let declarations = Declarations::new(&deployed);
    let find = |id: &str| {
        let subjects = declarations.subjects();
        subjects.into_iter().find(|one| one.location.logical_id.as_str() == id).unwrap()
    };
    let mut states = States::new();
    let state = |text: &str| json::parse(text).unwrap();
    states.insert(Location::new("Shop", "Key"), state(r#"{"Arn": "arn:key"}"#));
    states.insert(Location::new("Shop", "Stage"), state(r#"{"StageName": "prod"}"#));
    let queue = declarations.declared(&find("Queue"), &states).properties;
    assert_eq!(
        json::to_compact(&queue.value),
        r#"{"A":"arn:key","B":"arn:aws:iam::1:role/r","C":"n","D":"prod","E":"t"}"#
    );
    assert_eq!(queue.unknown, ["/F".parse().unwrap()]);
    let stage = find("Stage");
    let address = declarations.address(&stage, &declarations.declared(&stage, &states));
    assert_eq!(address.unwrap().identifier, "a|prod");
    let ids: Vec<String> =
        declarations.subjects().iter().map(|one| one.location.to_string()).collect();
    assert_eq!(ids, ["Base.T", "Shop.Key", "Shop.Queue", "Shop.Role", "Shop.Stage"]);
}

#[test]
fn nothing_is_asked_of_what_cannot_be_told() {
    let template = r#"{"Resources": {
        "Custom": {"Type": "Custom::Thing", "Properties": {}},
        "Policy": {"Type": "AWS::IAM::Policy", "Properties": {}},
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {}}}}"#;
    let serverless = r#"{"Transform": "AWS::Serverless-2016-10-31", "Resources": {
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}}"#;
    let all = [("Custom", "c"), ("Policy", "p"), ("Queue", "q"), ("Made", "m")];
    let deployed = environment(vec![
        deployed("Plain", template, &all, &[]),
        deployed("Serverless", serverless, &[("Table", "t")], &[]),
    ]);
    let declarations = Declarations::new(&deployed);
    let subjects = declarations.subjects();
    let found: Vec<(&str, Option<Unverified>)> = subjects
        .iter()
        .map(|one| (one.location.logical_id.as_str(), declarations.hindrance(one)))
        .collect();
    assert_eq!(
        found,
        [
            ("Custom", Some(Unverified::Custom)),
            ("Made", Some(Unverified::Macro)),
            ("Policy", Some(Unverified::Unsupported)),
            ("Queue", None),
            ("Table", Some(Unverified::Macro)),
        ]
    );
}
