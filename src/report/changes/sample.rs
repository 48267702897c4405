//! A change as it happens: a service is cut out of an old stack, with what goes wrong in it.

use crate::analyze::model::{Certainty, ComponentKind, PropertyChange};
use crate::analyze::{
    Action, ChangeEffect, ChangePlace, ChangeReport, ComponentChange, EnvironmentReport,
    PermissionChange, PermissionKind, PropertyReport, Risk, StackFate, StackReport,
};
use crate::model::{Environment, Value};
use crate::template::json::parse;

/// A place from `Stack.LogicalId`; the construct path is `Stack/LogicalId/Resource`.
pub(super) fn place(text: &str) -> ChangePlace {
    let (stack, id) = text.split_once('.').unwrap();
    let path = Some(format!("{stack}/{id}/Resource").into());
    ChangePlace { stack: stack.into(), logical_id: id.into(), path }
}

/// A change of a resource, of unknown risk, between two places; an empty one stands for none.
pub(super) fn change(
    kind: &str,
    before: &str,
    after: &str,
    effect: ChangeEffect,
) -> ComponentChange {
    let place = |text: &str| (!text.is_empty()).then(|| place(text));
    ComponentChange {
        kind: ComponentKind::Resource,
        subtype: Some(kind.into()),
        before: place(before),
        after: place(after),
        physical_id: None,
        effect,
        certainty: Certainty::Certain,
        evidence: None,
        risk: Risk::Unknown,
        rule: None,
        action: None,
        danger: None,
        causes: Vec::new(),
        properties: Vec::new(),
    }
}

/// Values are JSON; an empty text stands for one that is not there.
pub(super) fn property(path: &str, old: &str, new: &str) -> PropertyReport {
    let value = |text: &str| -> Option<Value> { (!text.is_empty()).then(|| parse(text).unwrap()) };
    let path = |text: &str| (!text.is_empty()).then(|| path.to_owned());
    PropertyReport {
        change: match (old, new) {
            ("", _) => PropertyChange::Insert,
            (_, "") => PropertyChange::Remove,
            _ => PropertyChange::Update,
        },
        old_path: path(old),
        new_path: path(new),
        old: value(old),
        new: value(new),
        name_only: false,
        replaces: None,
        cause: None,
        risk: Risk::Unknown,
        broadens_permissions: false,
    }
}

fn kind(kind: ComponentKind, subtype: Option<&str>, change: ComponentChange) -> ComponentChange {
    ComponentChange { kind, subtype: subtype.map(Into::into), ..change }
}

fn moves() -> Vec<ComponentChange> {
    let moved = |kind: &str, id: &str| {
        let (old, new) = (format!("Legacy.Orders{id}"), format!("Orders.{id}"));
        let moved = change(kind, &old, &new, ChangeEffect::Nothing);
        ComponentChange { evidence: Some("equal content".into()), ..moved }
    };
    let mut bucket = moved("AWS::S3::Bucket", "Invoices5A1F");
    bucket.physical_id = Some("orders-invoices".into());
    let mut function = moved("AWS::Lambda::Function", "Handler77B0");
    function.effect = ChangeEffect::Update;
    function.properties = vec![
        property("Properties.MemorySize", "256", "512"),
        property("Properties.Environment.Variables.TABLE", "", "{\"Ref\":\"Table9C21\"}"),
    ];
    vec![bucket, moved("AWS::SQS::Queue", "Inbox0D3E"), function]
}

/// A table that is replaced, and what follows from that.
fn replaced() -> Vec<ComponentChange> {
    let mut table = change(
        "AWS::DynamoDB::Table",
        "Legacy.OrdersTable9C21",
        "Orders.Table9C21",
        ChangeEffect::Replace,
    );
    table.physical_id = Some("orders-prod".into());
    table.risk = Risk::High;
    table.rule = Some("data or an identity is lost".into());
    table.danger = Some("It is replaced by an empty one, and all that it holds is deleted.".into());
    table.causes = vec!["`Properties.KeySchema.0.AttributeName` cannot be changed in place".into()];
    let key = property("Properties.KeySchema.0.AttributeName", "\"id\"", "\"orderId\"");
    let certain = Some(Certainty::Certain);
    table.properties = vec![
        PropertyReport { replaces: certain, risk: Risk::High, ..key },
        property("Properties.BillingMode", "\"PROVISIONED\"", "\"PAY_PER_REQUEST\""),
    ];
    let reference = "{\"Ref\":\"Table9C21\"}";
    let cause = Some("`Orders.Table9C21` is replaced".to_owned());
    let mut policy =
        change("AWS::IAM::Policy", "Orders.Policy1B", "Orders.Policy1B", ChangeEffect::Update);
    policy.causes.extend(cause.clone());
    let one = property("Properties.PolicyDocument.Statement.0.Resource", reference, reference);
    policy.properties = vec![PropertyReport { cause: cause.clone(), ..one }];
    let mut scaling = change(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        "Orders.Scaling2C",
        "Orders.Scaling2C",
        ChangeEffect::Replace,
    );
    scaling.causes = vec![
        "`Properties.ResourceId` changes and cannot be changed in place".into(),
        "`Orders.Table9C21` is replaced".into(),
    ];
    let one = property("Properties.ResourceId", reference, reference);
    scaling.properties = vec![PropertyReport { replaces: certain, cause, ..one }];
    vec![table, policy, scaling]
}

fn widened() -> ComponentChange {
    let mut role = change("AWS::IAM::Role", "Web.Role1A2B", "Web.Role1A2B", ChangeEffect::Update);
    role.risk = Risk::High;
    role.rule = Some("permissions become broader".into());
    role.action = Some(Action::Reject);
    role.physical_id = Some("web-role".into());
    let one = property(
        "Properties.Policies.0.PolicyDocument.Statement.0.Action",
        "[\"s3:GetObject\",\"s3:ListBucket\"]",
        "[\"s3:GetObject\",\"s3:ListBucket\",\"s3:PutObject\",\"s3:DeleteObject\"]",
    );
    role.properties = vec![PropertyReport { risk: Risk::High, broadens_permissions: true, ..one }];
    role
}

fn possible() -> ComponentChange {
    let mut instance =
        change("AWS::EC2::Instance", "Search.Node4F", "Search.Node4F", ChangeEffect::Replace);
    instance.certainty = Certainty::Possible;
    let one = property("Properties.InstanceType", "\"t3.small\"", "\"t3.large\"");
    instance.properties = vec![
        PropertyReport { replaces: Some(Certainty::Possible), ..one },
        property("Properties.Tags.1.Value", "\"small\"", "\"large\""),
    ];
    instance
}

/// Forty queues that carry their own names in their properties.
fn name_only() -> Vec<ComponentChange> {
    let queue = |n: usize| {
        let stack = ["Billing", "Shipping", "Stock", "Mail"][n % 4];
        let id = format!("{stack}.Retry{n:02}");
        let old = format!("{stack}.Again{n:02}");
        let name = |what: &str| format!("\"{stack}/{what}{n:02}\"");
        let one = property("Properties.Tags.0.Value", &name("Again"), &name("Retry"));
        ComponentChange {
            properties: vec![PropertyReport { name_only: true, ..one }],
            ..change("AWS::SQS::Queue", &old, &id, ChangeEffect::Update)
        }
    };
    (0..40).map(queue).collect()
}

fn others() -> Vec<ComponentChange> {
    let mut runtime: Vec<ComponentChange> = (0..6)
        .map(|n| {
            let id = format!("Web.Handler{n}");
            let one = property("Properties.Runtime", "\"nodejs18.x\"", "\"nodejs22.x\"");
            ComponentChange {
                properties: vec![one],
                ..change("AWS::Lambda::Function", &id, &id, ChangeEffect::Update)
            }
        })
        .collect();
    let topic = change("AWS::SNS::Topic", "", "Alerts.Topic6D", ChangeEffect::Add);
    let mut alarm = change("AWS::CloudWatch::Alarm", "Web.Alarm8E", "", ChangeEffect::Remove);
    alarm.risk = Risk::Low;
    let logs = change("AWS::Logs::LogGroup", "Web.Logs9F", "", ChangeEffect::Retain);
    let mut order =
        change("AWS::ECS::Service", "Web.Service3C", "Web.Service3C", ChangeEffect::TemplateOnly);
    order.properties = vec![property("DependsOn", "\"Listener\"", "[\"Listener\",\"Rule\"]")];
    runtime.extend([topic, alarm, logs, order]);
    runtime
}

fn parts() -> Vec<ComponentChange> {
    let update = |id: &str, properties: Vec<PropertyReport>| ComponentChange {
        properties,
        ..change("", id, id, ChangeEffect::Update)
    };
    let size = update("Search.Size", vec![property("Default", "\"small\"", "\"large\"")]);
    let output = change("", "", "Orders.ExportsOutputRefTable9C21", ChangeEffect::Add);
    let old = change("", "Legacy.ExportsOutputRefOrdersTable", "", ChangeEffect::Remove);
    vec![
        kind(ComponentKind::Parameter, Some("String"), size),
        kind(ComponentKind::Output, None, output),
        kind(ComponentKind::Output, None, old),
    ]
}

fn permission(added: bool, broadens: bool, text: [&str; 5]) -> PermissionChange {
    PermissionChange {
        stack: "Web".to_owned(),
        logical_id: "Role1A2B".to_owned(),
        resource_type: "AWS::IAM::Role".to_owned(),
        kind: PermissionKind::Statement,
        added,
        broadens,
        text: text.iter().map(|cell| (*cell).to_owned()).collect(),
    }
}

pub(super) fn environment() -> EnvironmentReport {
    let stack = |name: &str, fate, resources| StackReport { name: name.into(), fate, resources };
    let kept = |name: &str| stack(name, StackFate::Kept, (20, 20));
    let mut stacks = vec![
        kept("Alerts"),
        kept("Billing"),
        kept("Legacy"),
        kept("Mail"),
        kept("Network"),
        stack("Old", StackFate::Left, (3, 0)),
        stack("Orders", StackFate::New, (0, 9)),
    ];
    stacks.extend(["Search", "Shipping", "Stock", "Users", "Web"].map(kept));
    let mut changes = moves();
    changes.extend(replaced());
    changes.push(widened());
    changes.push(possible());
    changes.extend(name_only());
    changes.extend(others());
    changes.extend(parts());
    let actions = "s3:DeleteObject\ns3:PutObject";
    EnvironmentReport {
        environment: Environment::new("111111111111", "eu-west-1"),
        stacks,
        changes,
        unchanged: vec![("AWS::EC2::VPC".into(), place("Network.Vpc8B"))],
        permissions: vec![
            permission(true, true, ["Allow", actions, "${Web.Files}/*", "AWS:${Web.Role1A2B}", ""]),
            permission(false, false, ["Allow", "sns:Publish", "*", "AWS:${Web.Role1A2B}", ""]),
        ],
    }
}

pub(super) fn report() -> ChangeReport {
    ChangeReport { environments: vec![environment()], ..ChangeReport::default() }
}

/// Nothing happens there.
pub(super) fn quiet() -> EnvironmentReport {
    EnvironmentReport {
        environment: Environment::new("222222222222", "us-east-1"),
        stacks: vec![StackReport { name: "Web".into(), fate: StackFate::Kept, resources: (1, 1) }],
        changes: Vec::new(),
        unchanged: vec![("AWS::S3::Bucket".into(), place("Web.Files"))],
        permissions: Vec::new(),
    }
}
