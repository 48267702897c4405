//! Large apps as text: templates as the CDK writes them, with realistic references.

use md5::{Digest, Md5};
use serde_json::{Map, Value, json};

/// Resources of one copy of the pattern below.
const RESOURCES_PER_PATTERN: usize = 10;

/// Copies of the pattern in one stack: CloudFormation allows 500 resources.
const PATTERNS_PER_STACK: usize = 48;

/// The logical ID of a construct below its stack, as the CDK makes it.
fn logical_id(path: &[&str]) -> String {
    let hash = Md5::digest(path.join("/").as_bytes());
    let id: String = path
        .iter()
        .filter(|part| **part != "Resource")
        .flat_map(|part| part.chars().filter(char::is_ascii_alphanumeric))
        .collect();
    hash[..4].iter().fold(id, |id, byte| format!("{id}{byte:02X}"))
}

/// Something like the hash of an asset: 64 hexadecimal digits.
fn asset_hash(at: usize) -> String {
    let hash = Md5::digest(at.to_string().as_bytes());
    let digits = hash.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
    digits.repeat(2)
}

/// A worker: queue with dead letters, table, function with role and policy, topic.
fn pattern(
    resources: &mut Map<String, Value>,
    stack: &str,
    at: usize,
    name: &str,
    import: Option<&str>,
) {
    let parts: Vec<&str> = name.split('/').collect();
    let id = |rest: &[&str]| logical_id(&[parts.as_slice(), rest].concat());
    let path = |rest: &str| json!({ "aws:cdk:path": format!("{stack}/{name}/{rest}") });
    let dead = id(&["DeadLetters", "Resource"]);
    let queue = id(&["Queue", "Resource"]);
    let table = id(&["Table", "Resource"]);
    let role = id(&["Worker", "ServiceRole", "Resource"]);
    let policy = id(&["Worker", "ServiceRole", "DefaultPolicy", "Resource"]);
    let function = id(&["Worker", "Resource"]);
    let source = id(&["Worker", "SqsEventSource", "Resource"]);
    let topic = id(&["Topic", "Resource"]);
    let subscription = id(&["Queue", "Subscription", "Resource"]);
    let queue_policy = id(&["Queue", "Policy", "Resource"]);
    let upstream = import.map_or_else(|| json!("none"), |name| json!({ "Fn::ImportValue": name }));
    let mut add = |id: &str, kind: &str, rest: &str, properties: Value| {
        resources.insert(
            id.to_owned(),
            json!({ "Type": kind, "Properties": properties, "Metadata": path(rest) }),
        );
    };
    add(
        &dead,
        "AWS::SQS::Queue",
        "DeadLetters/Resource",
        json!({ "MessageRetentionPeriod": 1_209_600 }),
    );
    add(
        &queue,
        "AWS::SQS::Queue",
        "Queue/Resource",
        json!({
            "VisibilityTimeout": 30 + at,
            "RedrivePolicy": { "deadLetterTargetArn": { "Fn::GetAtt": [dead, "Arn"] }, "maxReceiveCount": 3 }
        }),
    );
    add(
        &table,
        "AWS::DynamoDB::Table",
        "Table/Resource",
        json!({
            "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
            "BillingMode": "PAY_PER_REQUEST",
            "Tags": [{ "Key": "team", "Value": format!("team-{}", at % 17) }]
        }),
    );
    add(
        &role,
        "AWS::IAM::Role",
        "Worker/ServiceRole/Resource",
        json!({
            "AssumeRolePolicyDocument": {
                "Statement": [{ "Action": "sts:AssumeRole", "Effect": "Allow", "Principal": { "Service": "lambda.amazonaws.com" } }],
                "Version": "2012-10-17"
            },
            "ManagedPolicyArns": [{ "Fn::Join": ["", ["arn:", { "Ref": "AWS::Partition" }, ":iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]] }]
        }),
    );
    add(
        &policy,
        "AWS::IAM::Policy",
        "Worker/ServiceRole/DefaultPolicy/Resource",
        json!({
            "PolicyDocument": {
                "Statement": [
                    { "Action": ["sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage"], "Effect": "Allow", "Resource": { "Fn::GetAtt": [queue, "Arn"] } },
                    { "Action": ["dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:Query"], "Effect": "Allow",
                      "Resource": [{ "Fn::GetAtt": [table, "Arn"] }, { "Fn::Sub": format!("${{{table}.Arn}}/index/*") }] }
                ],
                "Version": "2012-10-17"
            },
            "PolicyName": policy,
            "Roles": [{ "Ref": role }]
        }),
    );
    add(
        &function,
        "AWS::Lambda::Function",
        "Worker/Resource",
        json!({
            "Code": { "S3Bucket": "cdk-hnb659fds-assets-111111111111-us-east-1", "S3Key": format!("{}.zip", asset_hash(at)) },
            "Environment": { "Variables": { "TABLE": { "Ref": table }, "TOPIC": { "Ref": topic }, "UPSTREAM": upstream } },
            "Handler": "index.handler",
            "MemorySize": 256,
            "Role": { "Fn::GetAtt": [role, "Arn"] },
            "Runtime": "nodejs22.x"
        }),
    );
    add(
        &source,
        "AWS::Lambda::EventSourceMapping",
        "Worker/SqsEventSource/Resource",
        json!({
            "BatchSize": 10, "EventSourceArn": { "Fn::GetAtt": [queue, "Arn"] }, "FunctionName": { "Ref": function }
        }),
    );
    add(
        &topic,
        "AWS::SNS::Topic",
        "Topic/Resource",
        json!({ "DisplayName": format!("{stack}/{name}/Topic") }),
    );
    add(
        &subscription,
        "AWS::SNS::Subscription",
        "Queue/Subscription/Resource",
        json!({
            "Endpoint": { "Fn::GetAtt": [queue, "Arn"] }, "Protocol": "sqs", "TopicArn": { "Ref": topic }
        }),
    );
    add(
        &queue_policy,
        "AWS::SQS::QueuePolicy",
        "Queue/Policy/Resource",
        json!({
            "PolicyDocument": { "Statement": [{
                "Action": "sqs:SendMessage", "Condition": { "ArnEquals": { "aws:SourceArn": { "Ref": topic } } },
                "Effect": "Allow", "Principal": { "Service": "sns.amazonaws.com" }, "Resource": { "Fn::GetAtt": [queue, "Arn"] }
            }], "Version": "2012-10-17" },
            "Queues": [{ "Ref": queue }]
        }),
    );
    if let Some(Value::Object(body)) = resources.get_mut(&function) {
        body.insert("DependsOn".into(), json!([policy, role]));
    }
}

/// Stack names with their templates. With `wrap`, every `wrap`-th copy of the pattern is wrapped
/// in a parent construct.
pub(crate) fn workers(resources: usize, wrap: Option<usize>) -> Vec<(String, String)> {
    let patterns = resources / RESOURCES_PER_PATTERN;
    let name = |at: usize| match wrap {
        Some(every) if at.is_multiple_of(every) => format!("Domain/Service{at}"),
        _ => format!("Service{at}"),
    };
    let export = |stack: &str, at: usize| {
        let name = name(at);
        let parts: Vec<&str> = name.split('/').collect();
        let table = logical_id(&[parts.as_slice(), &["Table", "Resource"]].concat());
        (format!("{stack}:ExportsOutputRef{table}"), table)
    };
    (0..patterns)
        .step_by(PATTERNS_PER_STACK)
        .enumerate()
        .map(|(number, first)| {
            let stack = format!("Stack{number:04}");
            let mut resources = Map::new();
            let import = first
                .checked_sub(PATTERNS_PER_STACK)
                .map(|previous| export(&format!("Stack{:04}", number - 1), previous).0);
            for at in first..patterns.min(first + PATTERNS_PER_STACK) {
                pattern(&mut resources, &stack, at, &name(at), import.as_deref());
            }
            let (export, table) = export(&stack, first);
            let template = json!({
                "Resources": resources,
                "Outputs": { "Export": { "Value": { "Ref": table }, "Export": { "Name": export } } }
            });
            (stack, template_text(&template))
        })
        .collect()
}

/// The same after a release that changes every function, in which no aspect sees a difference less.
pub(crate) fn released(texts: Vec<(String, String)>) -> Vec<(String, String)> {
    replaced(texts, &[("\"MemorySize\": 256", "\"MemorySize\": 512")])
}

/// The same as another release of the framework might write it: assets elsewhere, numbers as
/// strings. Nothing that is built in lets that count.
pub(crate) fn rewritten(texts: Vec<(String, String)>) -> Vec<(String, String)> {
    replaced(
        texts,
        &[
            ("cdk-hnb659fds-assets-", "cdk-other-assets-"),
            ("\"MessageRetentionPeriod\": 1209600", "\"MessageRetentionPeriod\": \"1209600\""),
        ],
    )
}

fn replaced(texts: Vec<(String, String)>, what: &[(&str, &str)]) -> Vec<(String, String)> {
    let replaced = |text: String| what.iter().fold(text, |text, (old, new)| text.replace(old, new));
    texts.into_iter().map(|(name, text)| (name, replaced(text))).collect()
}

/// Identical queues, `prefix` and a number their names.
pub(crate) fn identical(count: usize, prefix: &str) -> Vec<(String, String)> {
    let queues: Map<String, Value> = (0..count)
        .map(|at| {
            let name = format!("{prefix}{at}");
            let body = json!({
                "Type": "AWS::SQS::Queue",
                "Properties": { "VisibilityTimeout": 30 },
                "Metadata": { "aws:cdk:path": format!("App/{name}/Resource") }
            });
            (logical_id(&[&name, "Resource"]), body)
        })
        .collect();
    vec![("App".to_owned(), template_text(&json!({ "Resources": queues })))]
}

/// Queues that have almost everything in common but for one tag; if `edited`, under other names
/// and with two properties changed.
pub(crate) fn alike(count: usize, edited: bool) -> Vec<(String, String)> {
    let queues: Map<String, Value> = (0..count)
        .map(|at| {
            let name = format!("{}{at}", if edited { "Jobs" } else { "Worker" });
            let mut body = json!({
                "Type": "AWS::SQS::Queue",
                "Properties": {
                    "MessageRetentionPeriod": 1_209_600,
                    "ReceiveMessageWaitTimeSeconds": 20,
                    "SqsManagedSseEnabled": true,
                    "VisibilityTimeout": 30,
                    "Tags": [
                        { "Key": "service", "Value": format!("service-{at}") },
                        { "Key": "team", "Value": format!("team-{}", at % 17) }
                    ]
                },
                "Metadata": { "aws:cdk:path": format!("App/{name}/Resource") }
            });
            if edited {
                body["Properties"]["VisibilityTimeout"] = json!(60);
                body["Properties"]["DelaySeconds"] = json!(at % 900);
            }
            (logical_id(&[&name, "Resource"]), body)
        })
        .collect();
    vec![("App".to_owned(), template_text(&json!({ "Resources": queues })))]
}

/// The CDK writes templates with an indent of one blank.
fn template_text(template: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(template, &mut serializer).expect("a value can be written");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}
