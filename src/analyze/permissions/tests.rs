use super::*;
use crate::model::Location;
use crate::template;

/// A stack whose resources are JSON members.
fn stack(name: &str, resources: &str) -> Stack {
    sections(name, &format!(r#""Resources": {{{resources}}}"#))
}

fn sections(name: &str, text: &str) -> Stack {
    Stack::new(name, template::parse(format!("{{{text}}}").as_bytes()).unwrap())
}

/// A role of which nothing is said, and a policy for it with these statements.
fn role_with(statements: &str) -> Stack {
    stack("A", &format!("{ROLE}, {}", policy("Policy", statements)))
}

const ROLE: &str = r#""Role": {"Type": "AWS::IAM::Role", "Properties": {}}"#;

fn policy(id: &str, statements: &str) -> String {
    format!(
        r#""{id}": {{"Type": "AWS::IAM::Policy", "Properties": {{
            "PolicyName": "{id}", "Roles": [{{"Ref": "Role"}}],
            "PolicyDocument": {{"Version": "2012-10-17", "Statement": [{statements}]}}}}}}"#
    )
}

fn allow(action: &str) -> String {
    format!(r#"{{"Effect": "Allow", "Action": {action}, "Resource": "*"}}"#)
}

fn deny(action: &str) -> String {
    format!(r#"{{"Effect": "Deny", "Action": {action}, "Resource": "*"}}"#)
}

fn resource(kind: &str, properties: &str) -> Stack {
    stack("A", &format!(r#""X": {{"Type": "{kind}", "Properties": {{{properties}}}}}"#))
}

/// For each change whether it was added, and whether it broadens.
fn found(before: &[Stack], now: &[Stack]) -> Vec<(bool, bool)> {
    permissions(before, now).iter().map(|change| (change.added, change.broadens)).collect()
}

fn one(before: Stack, now: Stack) -> Vec<(bool, bool)> {
    found(&[before], &[now])
}

const ADDED_BROADER: (bool, bool) = (true, true);
const ADDED: (bool, bool) = (true, false);
const REMOVED_BROADER: (bool, bool) = (false, true);
const REMOVED: (bool, bool) = (false, false);

#[test]
fn an_allowing_statement_that_comes_broadens_and_one_that_goes_does_not() {
    let (bare, more) = (role_with(""), role_with(&allow(r#""s3:GetObject""#)));
    assert_eq!(one(bare.clone(), more.clone()), [ADDED_BROADER]);
    assert_eq!(one(more, bare), [REMOVED]);
}

#[test]
fn a_denying_statement_that_goes_broadens_and_one_that_comes_does_not() {
    let (bare, more) = (role_with(""), role_with(&deny(r#""s3:*""#)));
    assert_eq!(one(more.clone(), bare.clone()), [REMOVED_BROADER]);
    assert_eq!(one(bare, more), [ADDED]);
}

#[test]
fn a_narrowed_allow_is_shown_and_does_not_broaden_but_a_widened_one_does() {
    let wide = role_with(&allow(r#"["s3:*", "sqs:*"]"#));
    let narrow = role_with(&allow(r#""s3:Get*""#));
    assert_eq!(one(wide.clone(), narrow.clone()), [REMOVED, ADDED]);
    assert_eq!(one(narrow, wide), [REMOVED, ADDED_BROADER]);
}

#[test]
fn a_narrowed_deny_broadens_and_a_widened_one_does_not() {
    let (wide, narrow) = (role_with(&deny(r#""s3:*""#)), role_with(&deny(r#""s3:Put*""#)));
    assert_eq!(one(wide.clone(), narrow.clone()), [REMOVED_BROADER, ADDED]);
    assert_eq!(one(narrow, wide), [REMOVED, ADDED]);
}

#[test]
fn a_deny_that_goes_with_what_it_protects_does_not_broaden() {
    let bucket = |policy: &str| {
        let text = format!(r#""Bucket": {{"Type": "AWS::S3::Bucket" {policy}}}"#);
        let protected = format!(
            r#"{text}, "Policy": {{"Type": "AWS::S3::BucketPolicy", "Properties": {{
                "Bucket": {{"Ref": "Bucket"}},
                "PolicyDocument": {{"Statement": [{}]}}}}}}"#,
            deny(r#""s3:*""#)
        );
        (stack("A", &text), stack("A", &protected))
    };
    let (bare, protected) = bucket("");
    assert_eq!(one(protected.clone(), bare), [REMOVED_BROADER]);
    assert_eq!(one(protected, stack("A", "")), [REMOVED]);
    let (_, retained) = bucket(r#", "DeletionPolicy": "Retain""#);
    assert_eq!(one(retained, stack("A", "")), [REMOVED_BROADER]);
}

#[test]
fn a_policy_that_is_made_again_for_the_same_role_is_no_change() {
    let statement = allow(r#""s3:GetObject""#);
    let before = stack("A", &format!("{ROLE}, {}", policy("Old", &statement)));
    let now = stack("A", &format!("{ROLE}, {}", policy("New", &statement)));
    assert_eq!(one(before, now), []);
}

#[test]
fn a_policy_that_is_made_again_in_another_stack_is_no_change() {
    let statement = r#"{"Effect": "Allow", "Action": "sqs:SendMessage",
        "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}"#;
    let queue = r#""Queue": {"Type": "AWS::SQS::Queue"}"#;
    let before = [
        stack("A", &format!("{ROLE}, {queue}, {}", policy("Old", statement))),
        sections("B", r#""Resources": {}"#),
    ];
    let exports = r#""Outputs": {
        "R": {"Value": {"Ref": "Role"}, "Export": {"Name": "A:R"}},
        "Q": {"Value": {"Fn::GetAtt": "Queue.Arn"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}:Q"}}}}"#;
    let moved = policy("New", statement)
        .replace(r#"{"Fn::GetAtt": ["Queue", "Arn"]}"#, r#"{"Fn::ImportValue": "A:Q"}"#)
        .replace(r#"{"Ref": "Role"}"#, r#"{"Fn::ImportValue": "A:R"}"#);
    let now = [
        sections("A", &format!(r#""Resources": {{{ROLE}, {queue}}}, {exports}"#)),
        stack("B", &moved),
    ];
    assert_eq!(found(&before, &now), []);
    assert_eq!(found(&now, &before), []);
}

#[test]
fn statements_that_are_merged_or_split_do_not_broaden() {
    let split = role_with(&[allow(r#""a:One""#), allow(r#""a:Two""#)].join(","));
    let merged = role_with(&allow(r#"["a:Two", "a:One"]"#));
    assert_eq!(one(split.clone(), merged.clone()), [REMOVED, REMOVED, ADDED]);
    assert_eq!(one(merged, split), [REMOVED, ADDED, ADDED]);
}

#[test]
fn a_condition_that_goes_broadens() {
    let guarded = r#"{"Effect": "Allow", "Action": "a:b", "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}"#;
    let bare = role_with(&allow(r#""a:b""#));
    assert_eq!(one(role_with(guarded), bare.clone()), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(bare, role_with(guarded)), [REMOVED, ADDED]);
}

#[test]
fn a_new_principal_of_a_role_broadens_and_one_less_does_not() {
    let trust = |principals: &str| {
        resource(
            "AWS::IAM::Role",
            &format!(
                r#""AssumeRolePolicyDocument": {{"Statement": {{"Effect": "Allow",
                    "Action": "sts:AssumeRole", "Principal": {{"Service": {principals}}}}}}}"#
            ),
        )
    };
    let (one_service, two) = (trust(r#""a.amazonaws.com""#), trust(r#"["a.amazonaws.com", "b"]"#));
    assert_eq!(one(one_service.clone(), two.clone()), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(two, one_service), [REMOVED, ADDED]);
}

#[test]
fn a_grant_to_somebody_else_is_not_covered_by_ones_own() {
    let other = r#", "Other": {"Type": "AWS::IAM::Role", "Properties": {}}"#;
    let statement = allow(r#""a:b""#);
    let text = format!("{ROLE} {other}, {}", policy("P", &statement));
    let moved = text.replace(r#"{"Ref": "Role"}"#, r#"{"Ref": "Other"}"#);
    assert_eq!(one(stack("A", &text), stack("A", &moved)), [REMOVED, ADDED_BROADER]);
}

#[test]
fn what_only_cloudformation_can_compute_broadens_when_it_differs() {
    let with = |value: &str, region: &str| {
        let statement = format!(
            r#"{{"Effect": "Allow", "Action": "a:b", "Resource": {{"Fn::If": ["C", "x", "{value}"]}}}}"#
        );
        sections(
            "A",
            &format!(
                r#""Conditions": {{"C": {{"Fn::Equals": [{{"Ref": "AWS::Region"}}, "{region}"]}}}},
                "Resources": {{{ROLE}, {}}}"#,
                policy("Policy", &statement)
            ),
        )
    };
    assert_eq!(one(with("y", "eu-west-1"), with("y", "eu-west-1")), []);
    assert_eq!(one(with("y", "eu-west-1"), with("z", "eu-west-1")), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(with("y", "eu-west-1"), with("y", "us-east-1")), [REMOVED, ADDED_BROADER]);
}

#[test]
fn a_policy_that_is_computed_as_a_whole_broadens_both_ways() {
    let computed = r#""PolicyDocument": {"Fn::If": ["C", {"Statement": []}, {"Ref": "AWS::NoValue"}]},
        "Queues": ["q"]"#;
    let plain = r#""PolicyDocument": {"Statement": []}, "Queues": ["q"]"#;
    let kind = "AWS::SQS::QueuePolicy";
    assert_eq!(one(resource(kind, computed), resource(kind, plain)), [REMOVED_BROADER]);
    assert_eq!(one(resource(kind, plain), resource(kind, computed)), [ADDED_BROADER]);
}

#[test]
fn a_resource_that_loses_its_condition_exists_more_often() {
    let conditional = |condition: &str| {
        let text = policy("Policy", &allow(r#""a:b""#));
        let text = text.replace(r#""Type""#, &format!(r#"{condition} "Type""#));
        sections(
            "A",
            &format!(
                r#""Conditions": {{"C": {{"Fn::Equals": ["a", "b"]}}}}, "Resources": {{{ROLE}, {text}}}"#
            ),
        )
    };
    let (sometimes, always) = (conditional(r#""Condition": "C","#), conditional(""));
    assert_eq!(one(sometimes.clone(), always.clone()), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(always, sometimes), [REMOVED, ADDED]);
}

#[test]
fn attached_policies_broaden_when_they_come() {
    let with =
        |arns: &str| resource("AWS::IAM::Role", &format!(r#""ManagedPolicyArns": [{arns}]"#));
    let arn = r#""arn:aws:iam::aws:policy/ReadOnlyAccess""#;
    assert_eq!(one(with(""), with(arn)), [ADDED_BROADER]);
    assert_eq!(one(with(arn), with("")), [REMOVED]);
    let denying = r#""arn:aws:iam::aws:policy/AWSDenyAll""#;
    assert_eq!(one(with(denying), with("")), [REMOVED_BROADER]);
}

#[test]
fn a_managed_policy_of_the_app_that_is_made_again_for_the_same_role_does_not_broaden() {
    let managed = |id: &str, action: &str| {
        let text = format!(
            r#"{ROLE}, "{id}": {{"Type": "AWS::IAM::ManagedPolicy", "Properties": {{
                "Roles": [{{"Ref": "Role"}}], "PolicyDocument": {{"Statement": [{}]}}}}}}"#,
            allow(action)
        );
        stack("A", &text)
    };
    let (old, new) = (managed("Old", r#""a:b""#), managed("New", r#""a:b""#));
    assert!(found(std::slice::from_ref(&old), &[new]).iter().all(|(_, broadens)| !broadens));
    let wider = managed("New", r#""a:*""#);
    assert!(found(&[old], &[wider]).iter().any(|(_, broadens)| *broadens));
}

#[test]
fn a_boundary_that_goes_or_changes_broadens() {
    let with = |boundary: &str| resource("AWS::IAM::Role", boundary);
    let (bare, bound) = (with(""), with(r#""PermissionsBoundary": "arn:one""#));
    assert_eq!(one(bound.clone(), bare.clone()), [REMOVED_BROADER]);
    assert_eq!(one(bare, bound.clone()), [ADDED]);
    let other = with(r#""PermissionsBoundary": "arn:two""#);
    assert_eq!(one(bound, other), [REMOVED_BROADER, ADDED]);
}

#[test]
fn the_permission_of_a_function_is_a_statement_about_it() {
    let with = |arn: &str| {
        let text = format!(
            r#""Function": {{"Type": "AWS::Lambda::Function"}}, "P": {{
                "Type": "AWS::Lambda::Permission", "Properties": {{
                "FunctionName": {{"Fn::GetAtt": ["Function", "Arn"]}}, "Action": "lambda:InvokeFunction",
                "Principal": "events.amazonaws.com" {arn}}}}}"#
        );
        stack("A", &text)
    };
    let (guarded, open) = (with(r#", "SourceArn": "arn:x""#), with(""));
    assert_eq!(one(guarded.clone(), open.clone()), [REMOVED, ADDED_BROADER]);
    let changes = permissions(&[stack("A", "")], &[guarded]);
    assert_eq!(
        changes[0].text,
        [
            "Allow",
            "lambda:InvokeFunction",
            "${A.Function.Arn}",
            "Service:events.amazonaws.com",
            "ArnLike aws:SourceArn = arn:x"
        ]
    );
    assert_eq!(one(open, stack("A", "")), [REMOVED]);
}

#[test]
fn rules_of_security_groups_are_the_same_inside_and_beside_the_group() {
    let rule = r#""IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.0.0.0/8""#;
    let group = |rules: &str| {
        format!(
            r#""G": {{"Type": "AWS::EC2::SecurityGroup", "Properties": {{"SecurityGroupIngress": [{rules}]}}}}"#
        )
    };
    let inside = stack("A", &group(&format!(r#"{{{rule}, "Description": "x"}}"#)));
    let beside = format!(
        r#"{}, "R": {{"Type": "AWS::EC2::SecurityGroupIngress", "Properties": {{
            "GroupId": {{"Fn::GetAtt": ["G", "GroupId"]}}, {rule}}}}}"#,
        group("")
    );
    assert_eq!(one(inside.clone(), stack("A", &beside)), []);
    let wider = stack("A", &beside.replace("10.0.0.0/8", "0.0.0.0/0"));
    assert_eq!(one(inside.clone(), wider.clone()), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(wider, inside), [ADDED, REMOVED]);
}

#[test]
fn a_group_whose_rules_for_outgoing_traffic_go_lets_everything_out() {
    let group = |rules: &str| resource("AWS::EC2::SecurityGroup", rules);
    let shut = group(
        r#""SecurityGroupEgress": [{"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86,
            "CidrIp": "255.255.255.255/32"}]"#,
    );
    assert_eq!(one(shut.clone(), group("")), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(group(""), shut.clone()), [REMOVED, ADDED]);
    assert_eq!(one(stack("A", ""), shut), [ADDED]);
}

#[test]
fn settings_that_open_something_to_the_public_broaden() {
    let url = |kind: &str| resource("AWS::Lambda::Url", &format!(r#""AuthType": "{kind}""#));
    assert_eq!(one(url("AWS_IAM"), url("NONE")), [ADDED_BROADER]);
    assert_eq!(one(url("NONE"), url("AWS_IAM")), [REMOVED]);
    assert_eq!(one(stack("A", ""), url("NONE")), [ADDED_BROADER]);
    let database = |text: &str| resource("AWS::RDS::DBInstance", text);
    let (shut, unsaid) = (database(r#""PubliclyAccessible": "false""#), database(""));
    assert_eq!(one(shut.clone(), unsaid.clone()), [ADDED_BROADER]);
    assert_eq!(one(unsaid.clone(), shut), []);
    assert_eq!(one(stack("A", ""), unsaid), []);
}

#[test]
fn a_public_access_block_that_is_loosened_broadens() {
    let bucket = |text: &str| resource("AWS::S3::Bucket", text);
    let block = |flag: &str| {
        bucket(&format!(
            r#""PublicAccessBlockConfiguration": {{"BlockPublicAcls": true, "BlockPublicPolicy": {flag},
                "IgnorePublicAcls": true, "RestrictPublicBuckets": true}}"#
        ))
    };
    assert_eq!(one(block("true"), block("false")), [ADDED_BROADER]);
    assert_eq!(one(block("false"), block("true")), [REMOVED]);
    assert_eq!(found(&[block("true")], &[bucket("")]).len(), 4);
    assert_eq!(one(stack("A", ""), bucket("")), []);
}

#[test]
fn an_endpoint_whose_policy_goes_is_open_to_everybody() {
    let endpoint = |text: &str| resource("AWS::EC2::VPCEndpoint", text);
    let guarded = endpoint(
        r#""PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:*",
            "Resource": "*"}]}"#,
    );
    assert_eq!(one(guarded.clone(), endpoint("")), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(endpoint(""), guarded), [REMOVED, ADDED]);
    assert_eq!(one(stack("A", ""), endpoint("")), []);
}

#[test]
fn a_policy_that_is_written_as_text_is_read_all_the_same() {
    let text = r#"{\"Statement\": [{\"Effect\": \"Allow\", \"Action\": \"logs:*\", \"Resource\": \"*\"}]}"#;
    let set =
        |policy: &str| resource("AWS::SSO::PermissionSet", &format!(r#""InlinePolicy": {policy}"#));
    let written = set(&format!(r#""{text}""#));
    let as_object = set(&text.replace('\\', ""));
    assert_eq!(one(written.clone(), as_object), []);
    assert_eq!(one(stack("A", ""), written), [ADDED_BROADER]);
}

#[test]
fn rules_of_a_firewall_are_no_statements_of_a_policy() {
    let firewall = r#""Rules": [{"Name": "x", "Statement": {"ManagedRuleGroupStatement": {}}}]"#;
    assert_eq!(one(stack("A", ""), resource("AWS::WAFv2::WebACL", firewall)), []);
}

#[test]
fn a_nested_stack_is_read_with_what_its_parent_passes() {
    let nested = |text: &str| {
        let mut nested = sections(
            "A/Nested",
            &format!(r#""Parameters": {{"Role": {{"Type": "String"}}}}, "Resources": {{{text}}}"#),
        );
        nested.parent = Some(Location::new("A", "Nested"));
        let parent = format!(
            r#"{ROLE}, "Nested": {{"Type": "AWS::CloudFormation::Stack", "Properties": {{
                "Parameters": {{"Role": {{"Ref": "Role"}}}}}}}}"#
        );
        [stack("A", &parent), nested]
    };
    let policy = policy("P", &allow(r#""a:b""#));
    let inside = nested(&policy);
    let mut beside = nested("");
    beside[0] = stack(
        "A",
        &format!(r#"{ROLE}, {policy}, "Nested": {{"Type": "AWS::CloudFormation::Stack"}}"#),
    );
    assert_eq!(found(&inside, &beside), []);
    let changes = permissions(&[], &inside);
    assert_eq!((changes.len(), changes[0].text[3].as_str()), (1, "AWS:${A.Role}"));
}

#[test]
fn known_values_of_parameters_count_and_hidden_ones_are_not_shown() {
    let with = |value: &str, declared: &str| {
        let statement = r#"{"Effect": "Allow", "Action": "a:b", "Resource": {"Ref": "P"}}"#;
        let mut stack = sections(
            "A",
            &format!(
                r#""Parameters": {{"P": {{"Type": "String" {declared}}}}},
                "Resources": {{{ROLE}, {}}}"#,
                policy("Policy", statement)
            ),
        );
        stack.parameters.insert("P".into(), value.into());
        stack
    };
    assert_eq!(one(with("x", ""), with("y", "")), [REMOVED, ADDED_BROADER]);
    assert_eq!(one(with("x", ""), with("x", r#", "Default": "z""#)), []);
    let hidden = permissions(&[], &[with("secret", r#", "NoEcho": true"#)]);
    assert_eq!(hidden[0].text[2], "${A.P}");
}

#[test]
fn a_loop_that_may_make_permissions_is_not_overlooked() {
    let with = |action: &str| {
        stack(
            "A",
            &format!(
                r#""Fn::ForEach::Roles": ["N", ["a", "b"], {{"R${{N}}": {{
                    "Type": "AWS::IAM::ManagedPolicy", "Properties": {{
                    "PolicyDocument": {{"Statement": [{}]}}}}}}}}]"#,
                allow(action)
            ),
        )
    };
    assert_eq!(one(with(r#""a:b""#), with(r#""a:b""#)), []);
    assert_eq!(one(with(r#""a:b""#), with(r#""a:c""#)), [REMOVED_BROADER, ADDED_BROADER]);
}

#[test]
fn exports_that_define_each_other_come_to_an_end() {
    let endless = |name: &str, other: &str| {
        sections(
            name,
            &format!(
                r#""Resources": {{{ROLE}, {}}}, "Outputs": {{"O": {{
                    "Value": {{"Fn::ImportValue": "{other}"}}, "Export": {{"Name": "{name}"}}}}}}"#,
                policy(
                    "P",
                    &format!(
                        r#"{{"Effect": "Allow", "Action": "a:b", "Resource": {{"Fn::ImportValue": "{other}"}}}}"#
                    )
                )
            ),
        )
    };
    let stacks = [endless("A", "B"), endless("B", "A")];
    let changes = permissions(&stacks, &stacks);
    assert!(changes.iter().any(|change| change.broadens), "what is not known counts as broader");
}
