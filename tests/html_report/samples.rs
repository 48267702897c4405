//! Change reports made by hand: a small one as a reviewer meets it, and a large one.

use std::fmt::Write as _;

use cdkr::analyze::model::{Certainty, ComponentKind, PropertyChange};
use cdkr::analyze::{
    Action, ChangeEffect, ChangePlace, ChangeReport, ComponentChange, EnvironmentReport,
    PermissionChange, PermissionKind, PropertyReport, Risk, StackFate, StackReport,
};
use cdkr::model::{Environment, Text, Value};
use cdkr::template::json::parse;

/// `Stack.LogicalId path`
pub(crate) fn place(text: &str) -> ChangePlace {
    let (location, path) = text.split_once(' ').unwrap_or((text, ""));
    let (stack, id) = location.split_once('.').unwrap();
    ChangePlace {
        stack: stack.into(),
        logical_id: id.into(),
        path: (!path.is_empty()).then(|| path.into()),
    }
}

/// A change of a resource between two places; an empty text stands for none.
pub(crate) fn change(
    kind: &str,
    before: &str,
    after: &str,
    effect: ChangeEffect,
) -> ComponentChange {
    let at = |text: &str| (!text.is_empty()).then(|| place(text));
    ComponentChange {
        kind: ComponentKind::Resource,
        subtype: Some(kind.into()),
        before: at(before),
        after: at(after),
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

/// A property of which old and new value are given as JSON; an empty text stands for none.
pub(crate) fn property(path: &str, old: &str, new: &str) -> PropertyReport {
    let value = |text: &str| (!text.is_empty()).then(|| parse(text).unwrap());
    let at = |text: &str| (!text.is_empty()).then(|| path.to_owned());
    PropertyReport {
        change: match (old, new) {
            ("", _) => PropertyChange::Insert,
            (_, "") => PropertyChange::Remove,
            _ => PropertyChange::Update,
        },
        old_path: at(old),
        new_path: at(new),
        old: value(old),
        new: value(new),
        name_only: false,
        replaces: None,
        cause: None,
        risk: Risk::Unknown,
        broadens_permissions: false,
    }
}

pub(crate) fn stack(name: &str, fate: StackFate, before: usize, after: usize) -> StackReport {
    StackReport { name: name.into(), fate, resources: (before, after) }
}

fn statement(place: &str, text: [&str; 5], added: bool, broadens: bool) -> PermissionChange {
    let (stack, id) = place.split_once('.').unwrap();
    PermissionChange {
        stack: stack.to_owned(),
        logical_id: id.to_owned(),
        resource_type: "AWS::IAM::Policy".to_owned(),
        kind: PermissionKind::Statement,
        added,
        broadens,
        text: text.iter().map(|cell| (*cell).to_owned()).collect(),
    }
}

fn unchanged(stack: &str, parts: &[(&str, &str)]) -> Vec<(Text, ChangePlace)> {
    let one = |(kind, path): &(&str, &str)| {
        let id: String = path.split('/').filter(|part| *part != "Resource").collect();
        (Text::from(*kind), place(&format!("{stack}.{id} {stack}/{path}")))
    };
    parts.iter().map(one).collect()
}

/// A shop that is taken apart into stacks, in two regions: moves, replacements, a table that
/// loses its data, a widened policy.
pub(crate) fn shop() -> ChangeReport {
    ChangeReport {
        environments: vec![shop_in_europe(), shop_in_america()],
        ..ChangeReport::default()
    }
}

fn shop_in_europe() -> EnvironmentReport {
    let mut same = unchanged(
        "Network",
        &[
            ("AWS::EC2::VPC", "Vpc/Resource"),
            ("AWS::EC2::InternetGateway", "Vpc/IGW"),
            ("AWS::EC2::Subnet", "Vpc/PublicSubnet1/Subnet"),
            ("AWS::EC2::RouteTable", "Vpc/PublicSubnet1/RouteTable"),
            ("AWS::EC2::Subnet", "Vpc/PrivateSubnet1/Subnet"),
            ("AWS::EC2::RouteTable", "Vpc/PrivateSubnet1/RouteTable"),
        ],
    );
    same.extend(unchanged(
        "Web",
        &[
            ("AWS::Lambda::Function", "Checkout/Resource"),
            ("AWS::IAM::Role", "Checkout/ServiceRole/Resource"),
            ("AWS::ApiGateway::RestApi", "Api/Resource"),
            ("AWS::ApiGateway::Resource", "Api/Default/orders/Resource"),
        ],
    ));
    EnvironmentReport {
        environment: Environment::new("111111111111", "eu-west-1"),
        stacks: vec![
            stack("Legacy", StackFate::Left, 4, 0),
            stack("Network", StackFate::Kept, 7, 7),
            stack("Orders", StackFate::New, 0, 6),
            stack("Shop", StackFate::Kept, 9, 4),
            stack("Web", StackFate::Kept, 8, 9),
        ],
        changes: europe(),
        unchanged: same,
        permissions: vec![
            statement(
                "Web.CheckoutServiceRoleDefaultPolicy",
                ["Allow", "dynamodb:*", "*", "AWS:${Web.CheckoutServiceRole}", ""],
                true,
                true,
            ),
            statement(
                "Web.CheckoutServiceRoleDefaultPolicy",
                [
                    "Allow",
                    "dynamodb:GetItem\ndynamodb:PutItem",
                    "${Orders.Table.Arn}",
                    "AWS:${Web.CheckoutServiceRole}",
                    "",
                ],
                false,
                false,
            ),
            PermissionChange {
                kind: PermissionKind::SecurityGroupRule,
                resource_type: "AWS::EC2::SecurityGroup".to_owned(),
                text: ["${Network.Bastion}", "In", "TCP 22", "0.0.0.0/0"].map(Into::into).into(),
                ..statement("Network.Bastion", [""; 5], true, true)
            },
        ],
    }
}

#[expect(clippy::too_many_lines, reason = "it is a list")]
fn europe() -> Vec<ComponentChange> {
    let mut all = Vec::new();
    let mut one = change(
        "AWS::S3::Bucket",
        "Legacy.Reports8F1A Legacy/Reports/Resource",
        "",
        ChangeEffect::Retain,
    );
    one.physical_id = Some("legacy-reports8f1a-1k2j3h4g5f".into());
    one.risk = Risk::Low;
    one.rule = Some("buckets that are let go on purpose".to_owned());
    all.push(one);
    let mut one = change(
        "AWS::EC2::SecurityGroup",
        "Network.Bastion Network/Bastion/Resource",
        "Network.Bastion Network/Bastion/Resource",
        ChangeEffect::Update,
    );
    one.risk = Risk::High;
    one.rule = Some("permissions become broader".to_owned());
    let mut cidr =
        property("Properties.SecurityGroupIngress.0.CidrIp", "\"10.0.0.0/8\"", "\"0.0.0.0/0\"");
    cidr.risk = Risk::High;
    cidr.broadens_permissions = true;
    one.properties = vec![cidr];
    all.push(one);
    for (kind, id, path) in [
        ("AWS::SQS::Queue", "Queue", "Queue/Resource"),
        ("AWS::SQS::Queue", "DeadLetters", "DeadLetters/Resource"),
        ("AWS::Lambda::Function", "Worker", "Worker/Resource"),
        ("AWS::IAM::Role", "WorkerRole", "Worker/ServiceRole/Resource"),
    ] {
        let mut one = change(
            kind,
            &format!("Shop.Orders{id}1B2C Shop/Orders/{path}"),
            &format!("Orders.{id}9D8E Orders/{path}"),
            ChangeEffect::Nothing,
        );
        one.physical_id = Some(format!("Shop-Orders{id}1B2C-AB12CD34").into());
        one.evidence = Some("equal content".to_owned());
        if id == "Worker" {
            one.effect = ChangeEffect::Update;
            one.evidence = Some("equal but for `Properties.MemorySize`".to_owned());
            one.properties = vec![
                property("Properties.MemorySize", "256", "512"),
                property("Properties.Environment.Variables.STAGE", "", "\"production\""),
            ];
        }
        all.push(one);
    }
    let mut one = change(
        "AWS::DynamoDB::Table",
        "Shop.OrdersTable7A Shop/Orders/Table/Resource",
        "Orders.Table0F Orders/Table/Resource",
        ChangeEffect::Replace,
    );
    one.physical_id = Some("Shop-OrdersTable7A-ZX81QL".into());
    one.evidence = Some("the only table of a construct that moved".to_owned());
    one.risk = Risk::High;
    one.rule = Some("data or an identity is lost".to_owned());
    one.danger = Some("It is replaced by an empty one, and all that it holds is deleted.".into());
    one.causes = vec!["`Properties.KeySchema` changes and cannot be changed in place".to_owned()];
    let mut schema = property(
        "Properties.KeySchema",
        r#"[{"AttributeName":"id","KeyType":"HASH"}]"#,
        r#"[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"day","KeyType":"RANGE"}]"#,
    );
    schema.replaces = Some(Certainty::Certain);
    schema.risk = Risk::High;
    let mut name = property("Properties.Tags.0.Value", "\"Shop/Orders\"", "\"Orders\"");
    name.name_only = true;
    one.properties = vec![schema, name];
    all.push(one);
    let mut one = change(
        "AWS::CloudWatch::Alarm",
        "",
        "Orders.Alarm Orders/Alarm/Resource",
        ChangeEffect::Add,
    );
    one.risk = Risk::Low;
    all.push(one);
    let mut one = change(
        "AWS::RDS::DBInstance",
        "Shop.Database Shop/Database/Resource",
        "Shop.Database Shop/Database/Resource",
        ChangeEffect::Replace,
    );
    one.certainty = Certainty::Possible;
    one.physical_id = Some("shop-database-1xyz".into());
    one.risk = Risk::High;
    one.rule = Some("data or an identity is lost".to_owned());
    one.danger = Some(
        "It may be replaced by an empty one; what it holds is left in a snapshot, its identity is \
         lost."
            .to_owned(),
    );
    one.causes = vec!["`Properties.EngineVersion` changes and may not be changed in place".into()];
    let mut version = property("Properties.EngineVersion", "\"15.4\"", "\"16.1\"");
    version.replaces = Some(Certainty::Possible);
    one.properties = vec![version];
    all.push(one);
    let mut one = change(
        "AWS::SNS::Topic",
        "Shop.Mail Shop/Mail/Resource",
        "Shop.Notifications Shop/Notifications/Resource",
        ChangeEffect::Nothing,
    );
    one.evidence = Some("equal content".to_owned());
    all.push(one);
    all.push(change(
        "AWS::SNS::Subscription",
        "Shop.MailOld Shop/Mail/Old/Resource",
        "",
        ChangeEffect::Remove,
    ));
    let mut one = change(
        "AWS::IAM::Policy",
        "Web.CheckoutServiceRoleDefaultPolicy Web/Checkout/ServiceRole/DefaultPolicy/Resource",
        "Web.CheckoutServiceRoleDefaultPolicy Web/Checkout/ServiceRole/DefaultPolicy/Resource",
        ChangeEffect::Update,
    );
    one.risk = Risk::High;
    one.rule = Some("permissions become broader".to_owned());
    let mut action = property(
        "Properties.PolicyDocument.Statement.0.Action",
        r#"["dynamodb:GetItem","dynamodb:PutItem"]"#,
        "\"dynamodb:*\"",
    );
    action.broadens_permissions = true;
    action.risk = Risk::High;
    let mut resource = property(
        "Properties.PolicyDocument.Statement.0.Resource",
        r#"{"Fn::ImportValue":"Orders:ExportsOutputTableArn"}"#,
        "\"*\"",
    );
    resource.broadens_permissions = true;
    resource.risk = Risk::High;
    one.properties = vec![action, resource];
    all.push(one);
    let mut one = change(
        "AWS::Lambda::Function",
        "Web.Mailer Web/Mailer/Resource",
        "Web.Mailer Web/Mailer/Resource",
        ChangeEffect::Update,
    );
    let mut table = property(
        "Properties.Environment.Variables.TABLE",
        r#"{"Ref":"Table7A"}"#,
        r#"{"Ref":"Table0F"}"#,
    );
    table.cause = Some("`Orders.Table0F` is replaced".to_owned());
    one.properties = vec![
        table,
        property(
            "Properties.Code.ZipFile",
            r#""exports.handler = async (event) => {\n  console.log(event);\n  return 1;\n};\n""#,
            r#""exports.handler = async (event) => {\n  console.log('mail', event);\n  return 1;\n};\n""#,
        ),
    ];
    all.push(one);
    let mut one = change(
        "AWS::Lambda::Permission",
        "Web.MailerAllow Web/Mailer/Allow",
        "Web.MailerAllow Web/Mailer/Allow",
        ChangeEffect::TemplateOnly,
    );
    one.properties = vec![property("DependsOn", "[\"A\"]", "[\"A\",\"B\"]")];
    all.push(one);
    let mut one = change("String", "", "Web.MailAddress", ChangeEffect::Add);
    one.kind = ComponentKind::Parameter;
    all.push(one);
    let mut one = change("", "Shop.ExportsOutputTable", "", ChangeEffect::Remove);
    one.kind = ComponentKind::Output;
    one.subtype = None;
    all.insert(all.len() - 4, one);
    all
}

fn shop_in_america() -> EnvironmentReport {
    let mut one = change(
        "AWS::S3::BucketPolicy",
        "Assets.Policy Assets/Bucket/Policy/Resource",
        "Assets.Policy Assets/Bucket/Policy/Resource",
        ChangeEffect::Update,
    );
    one.risk = Risk::High;
    one.action = Some(Action::Reject);
    one.rule = Some("nobody touches the policy of assets".to_owned());
    one.properties = vec![property("Properties.Bucket", "\"a\"", "\"b\"")];
    let nested = change(
        "AWS::SQS::Queue",
        "",
        "Assets/Scan.Queue Assets/Scan/Queue/Resource",
        ChangeEffect::Add,
    );
    EnvironmentReport {
        environment: Environment::new("111111111111", "us-east-1"),
        stacks: vec![
            stack("Assets", StackFate::Kept, 3, 3),
            stack("Assets/Scan", StackFate::New, 0, 1),
        ],
        changes: vec![one, nested],
        unchanged: unchanged(
            "Assets",
            &[
                ("AWS::S3::Bucket", "Bucket/Resource"),
                ("AWS::CloudFront::Distribution", "Cdn/Resource"),
            ],
        ),
        permissions: Vec::new(),
    }
}

/// Texts that would do harm if a page took them for markup, or a reader for something else.
pub(crate) const HOSTILE: [&str; 6] = [
    "<img src=x onerror=hit=1>",
    "</script><script>hit=1</script>",
    "\" onmouseover=\"hit=1\" x=\"",
    "</details></style></title><b><i>&lt;",
    "a\u{202e}drowssap\u{202c}b\u{200b}c\u{feff}",
    "<!--<script>\n' onfocus='hit=1",
];

/// A report in which everything that comes from a template is hostile.
pub(crate) fn hostile() -> ChangeReport {
    let bad = |at: usize| HOSTILE[at % HOSTILE.len()];
    let at = |n: usize| ChangePlace {
        stack: bad(n).into(),
        logical_id: format!("{}{n}", bad(n + 1)).into(),
        path: Some(format!("{}/{}/{n}", bad(n + 2), bad(n + 3)).into()),
    };
    let mut environment = EnvironmentReport {
        environment: Environment::new(bad(0), bad(1)),
        stacks: HOSTILE.iter().map(|name| stack(name, StackFate::Kept, 2, 2)).collect(),
        changes: Vec::new(),
        unchanged: (0..6).map(|n| (bad(n).into(), at(n + 100))).collect(),
        permissions: Vec::new(),
    };
    for n in 0..6 {
        let mut one = change(bad(n), "", "", ChangeEffect::Replace);
        one.before = Some(at(n + 6));
        one.after = Some(at(n));
        one.physical_id = Some(bad(n).into());
        one.evidence = Some(bad(n + 1).to_owned());
        one.rule = Some(bad(n + 2).to_owned());
        one.danger = Some(bad(n + 3).to_owned());
        one.causes = vec![format!("`{}` {}", bad(n + 4), bad(n + 5))];
        one.risk = Risk::High;
        let mut value = property("x", "1", "2");
        value.old_path = Some(bad(n).to_owned());
        value.new_path = Some(bad(n + 1).to_owned());
        value.cause = Some(bad(n + 2).to_owned());
        value.old = Some(Value::from(bad(n + 3)));
        value.new = Some(Value::from(bad(n + 4)));
        one.properties = vec![value];
        environment.changes.push(one);
        let text: Vec<String> = (0..5).map(|cell| bad(n + cell).to_owned()).collect();
        environment.permissions.push(PermissionChange {
            stack: bad(n).to_owned(),
            logical_id: bad(n + 1).to_owned(),
            resource_type: bad(n + 2).to_owned(),
            kind: PermissionKind::Statement,
            added: true,
            broadens: true,
            text,
        });
    }
    environment.stacks.sort_by(|a, b| a.name.cmp(&b.name));
    // What nobody expects is shown as well: a change without a place, a stack that is not listed.
    environment.changes.push(change("AWS::SQS::Queue", "", "", ChangeEffect::Update));
    environment.unchanged.push(("AWS::SQS::Queue".into(), place("Unlisted.Queue")));
    ChangeReport { environments: vec![environment], ..ChangeReport::default() }
}

/// A report without anything dangerous.
pub(crate) fn calm() -> ChangeReport {
    let mut report = shop();
    report.environments.truncate(1);
    let environment = &mut report.environments[0];
    environment.changes.retain(|one| one.risk != Risk::High);
    environment.permissions.clear();
    report
}

const TYPES: [&str; 8] = [
    "AWS::SQS::Queue",
    "AWS::Lambda::Function",
    "AWS::IAM::Role",
    "AWS::IAM::Policy",
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::Logs::LogGroup",
];

/// Twenty-five stacks with as many resources as are asked for, of which a share changes, in
/// percent: always the same.
pub(crate) fn large(resources: usize, changed: usize) -> ChangeReport {
    let stacks = 25;
    let each = resources / stacks;
    let mut environment = EnvironmentReport {
        environment: Environment::new("111111111111", "eu-west-1"),
        stacks: Vec::new(),
        changes: Vec::new(),
        unchanged: Vec::new(),
        permissions: Vec::new(),
    };
    for s in 0..stacks {
        let name = format!("Service{s:02}");
        environment.stacks.push(stack(&name, StackFate::Kept, each, each));
        for r in 0..each {
            let number = s * each + r;
            let kind = TYPES[r % TYPES.len()];
            let path = format!("{name}/Module{:02}/Part{}/{r:04}/Resource", r / 40, r / 8);
            let at = format!("{name}.Module{:02}Part{}{number:08X} {path}", r / 40, r / 8);
            if number * 37 % 100 < changed {
                environment.changes.push(large_change(number, kind, &at, stacks));
            } else {
                environment.unchanged.push((kind.into(), place(&at)));
            }
        }
    }
    ChangeReport { environments: vec![environment], ..ChangeReport::default() }
}

fn large_change(number: usize, kind: &str, at: &str, stacks: usize) -> ComponentChange {
    let effect = match number % 10 {
        0 => ChangeEffect::Add,
        1..=4 => ChangeEffect::Nothing,
        5 => ChangeEffect::Replace,
        6 => ChangeEffect::TemplateOnly,
        _ => ChangeEffect::Update,
    };
    let old = format!(
        "Service{:02}.Old{number:08X} Service{:02}/Old{}/{number:05}/Resource",
        number * 7 % stacks,
        number * 7 % stacks,
        number % 31
    );
    let before = match effect {
        ChangeEffect::Add => "",
        ChangeEffect::Nothing => old.as_str(),
        _ => at,
    };
    let mut one = change(kind, before, at, effect);
    if !before.is_empty() {
        one.physical_id = Some(format!("service-{number:08x}-Q1W2E3R4").into());
    }
    match effect {
        ChangeEffect::Nothing => one.evidence = Some("equal content".to_owned()),
        ChangeEffect::Replace => {
            let name = property("Properties.Name", "\"old-name\"", "\"new-name\"");
            one.properties = vec![PropertyReport { replaces: Some(Certainty::Certain), ..name }];
            one.causes = vec!["`Properties.Name` changes and cannot be changed in place".into()];
            if number.is_multiple_of(3) {
                one.risk = Risk::High;
                one.rule = Some("data or an identity is lost".to_owned());
                one.danger = Some(
                    "It is replaced by an empty one, and all that it holds is deleted.".into(),
                );
            }
        }
        ChangeEffect::Update => {
            let mut list = String::new();
            for entry in 0..8 {
                let _ = write!(list, "{}\"value-{entry}\"", if entry > 0 { "," } else { "" });
            }
            one.properties = vec![
                property("Properties.Timeout", "30", "45"),
                property("Properties.Values", &format!("[{list}]"), &format!("[{list},\"last\"]")),
            ];
        }
        ChangeEffect::TemplateOnly => {
            one.properties = vec![property("Metadata.Note", "1", "2")];
        }
        _ => {}
    }
    one
}
