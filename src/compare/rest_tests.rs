//! What is offered of resources that were renamed and edited at once, and what is not.

use super::{Comparison, Decisions, compare};
use crate::model::{Environment, Stack};
use crate::registry::Replacement;
use crate::template;

fn stack(name: &str, resources: &[String]) -> Stack {
    let text = format!("{{\"Resources\":{{{}}}}}", resources.join(","));
    Stack::new(name, template::parse(text.as_bytes()).unwrap())
}

fn resource(kind: &str, id: &str, properties: &str) -> String {
    let path = format!("{{\"aws:cdk:path\":\"App/{id}/Resource\"}}");
    format!("\"{id}\":{{\"Type\":\"{kind}\",\"Properties\":{{{properties}}},\"Metadata\":{path}}}")
}

fn queue(id: &str, properties: &str) -> String {
    resource("AWS::SQS::Queue", id, properties)
}

fn compared(old: &[String], new: &[String]) -> Comparison {
    let environment = Environment::new("111111111111", "us-east-1");
    let (old, new) = ([stack("App", old)], [stack("App", new)]);
    compare(&environment, &old, &new, &Decisions::default()).unwrap()
}

fn pairs(comparison: &Comparison) -> Vec<(String, String)> {
    let id = |place: &super::Place| place.location.logical_id.to_string();
    comparison.similar.iter().map(|pair| (id(&pair.source), id(&pair.destination))).collect()
}

/// The pairs that are offered; the other way round they have to be the inverse.
fn offered(old: &[String], new: &[String]) -> Vec<(String, String)> {
    let forward = pairs(&compared(old, new));
    let mut backward: Vec<_> =
        pairs(&compared(new, old)).into_iter().map(|(from, to)| (to, from)).collect();
    backward.sort();
    assert_eq!(forward, backward);
    forward
}

fn is(found: &[(String, String)], expected: &[(&str, &str)]) -> bool {
    found.iter().map(|(from, to)| (from.as_str(), to.as_str())).eq(expected.iter().copied())
}

#[test]
fn a_renamed_and_edited_resource_is_offered_with_its_score() {
    let old = [queue("Old", r#""VisibilityTimeout":30,"DelaySeconds":5,"FifoQueue":true"#)];
    let new = [queue("New", r#""VisibilityTimeout":60,"DelaySeconds":5,"FifoQueue":true"#)];
    assert!(is(&offered(&old, &new), &[("Old", "New")]));
    let similar = &compared(&old, &new).similar[0];
    // Two of three properties with a weight of three each, the third agrees in its key.
    assert_eq!(similar.score, 77);
    assert_eq!(similar.differences[0].property, "Properties.VisibilityTimeout");
    assert_eq!(similar.effect(), Replacement::Never);
}

#[test]
fn what_a_change_would_do_to_an_offered_resource_is_told() {
    let text = |name: &str| {
        format!(
            r#""BucketName":"{name}","AccessControl":"Private","ObjectLockEnabled":true,"Tags":[{{"Key":"team","Value":"orders"}}]"#
        )
    };
    let old = [resource("AWS::S3::Bucket", "Old", &text("orders-of-shop"))];
    let new = [resource("AWS::S3::Bucket", "New", &text("orders-of-shops"))];
    let comparison = compared(&old, &new);
    let similar = &comparison.similar[0];
    assert_eq!(similar.differences[0].effect(&similar.resource_type), Replacement::Always);
    assert_eq!(similar.effect(), Replacement::Always);
}

#[test]
fn two_unrelated_resources_of_little_content_are_not_offered() {
    for (old, new) in [
        (r#""VisibilityTimeout":30"#, r#""VisibilityTimeout":60"#),
        (r#""VisibilityTimeout":30"#, r#""DelaySeconds":30"#),
        (r#""FifoQueue":true"#, r#""SqsManagedSseEnabled":true"#),
        (
            r#""VisibilityTimeout":300,"MessageRetentionPeriod":100"#,
            r#""VisibilityTimeout":300,"MessageRetentionPeriod":200"#,
        ),
        ("", r#""VisibilityTimeout":60"#),
    ] {
        let found = offered(&[queue("Old", old)], &[queue("New", new)]);
        assert!(found.is_empty(), "{old} {new}");
    }
}

#[test]
fn names_of_constructs_alone_make_nothing_alike() {
    let group = |id: &str| {
        let properties = format!(r#""GroupDescription":"App/{id}/Resource","VpcId":"vpc-{id}1""#);
        resource("AWS::EC2::SecurityGroup", id, &properties)
    };
    assert!(offered(&[group("Orders")], &[group("Payments")]).is_empty());
}

#[test]
fn names_that_follow_from_the_renaming_do_not_count_against_a_pair() {
    let group = |id: &str, port: u32| {
        let properties = format!(
            r#""GroupDescription":"App/{id}/Resource","VpcId":"vpc-12345678","SecurityGroupIngress":[{{"CidrIp":"10.0.0.0/8","FromPort":{port},"IpProtocol":"tcp"}}]"#
        );
        resource("AWS::EC2::SecurityGroup", id, &properties)
    };
    let comparison = compared(&[group("Orders", 80)], &[group("Purchases", 81)]);
    // Weights 1 + 3 + (9 + 1): of a description that follows only the key counts.
    assert_eq!(comparison.similar[0].score, 85);
}

#[test]
fn of_two_that_are_as_much_alike_none_is_offered() {
    let body =
        |delay: u32| format!(r#""VisibilityTimeout":300,"FifoQueue":true,"DelaySeconds":{delay}"#);
    let old = [queue("Old", &body(1))];
    assert!(offered(&old, &[queue("One", &body(2)), queue("Two", &body(3))]).is_empty());
    let others = [queue("One", &body(2)), queue("Two", r#""MaximumMessageSize":2048"#)];
    assert!(is(&offered(&old, &others), &[("Old", "One")]));
}

/// `A` is most like `X`; but `B` is like `X` only, and `Y` is like `A` only.
#[test]
fn a_crossing_is_offered_by_the_best_total_and_not_by_the_best_pair() {
    let topic = |id: &str, values: &str| {
        let properties: Vec<String> =
            values.chars().enumerate().map(|(at, c)| format!("\"P{at}\":\"{c}\"")).collect();
        resource("AWS::SNS::Topic", id, &properties.join(","))
    };
    let old = [topic("A", "aaaaaaaaaa"), topic("B", "aaaaaaabbx")];
    let new = [topic("X", "aaaaaaaaax"), topic("Y", "yyaaaaaaaa")];
    assert!(is(&offered(&old, &new), &[("A", "Y"), ("B", "X")]));
}

#[test]
fn a_reference_counts_by_what_it_points_at() {
    let subscription = |id: &str, target: &str, policy: u32| {
        let properties = format!(
            r#""Protocol":"sqs","Endpoint":{{"Fn::GetAtt":["{target}","Arn"]}},"RawMessageDelivery":true,"FilterPolicy":{{"n":{policy}}}"#
        );
        resource("AWS::SNS::Subscription", id, &properties)
    };
    let target = |id: &str| queue(id, r#""QueueName":"orders","VisibilityTimeout":77"#);
    let other = |id: &str| queue(id, r#""QueueName":"else","VisibilityTimeout":99"#);
    let old = [target("Q1"), other("Q2"), subscription("S1", "Q1", 1)];
    let new = [target("R1"), other("R2"), subscription("T1", "R1", 2), subscription("T2", "R2", 2)];
    let comparison = compared(&old, &new);
    assert_eq!(comparison.mappings.len(), 2);
    assert!(is(&pairs(&comparison), &[("S1", "T1")]));
    // Three equal properties, and of the fourth two keys.
    assert_eq!(comparison.similar[0].score, 84);
}

#[test]
fn only_resources_of_one_type_are_offered_for_each_other() {
    let text = r#""DisplayName":"orders of the shop","Tags":[{"Key":"team","Value":"orders"}]"#;
    let old = [resource("AWS::SNS::Topic", "Old", text)];
    assert!(offered(&old, &[resource("AWS::SQS::Queue", "New", text)]).is_empty());
}

/// Queues that have most of what they are in common: each is known by one tag.
fn tagged(prefix: &str, count: usize, edited: bool) -> Vec<String> {
    let body = |at: usize| {
        let delay = if edited { format!("\"DelaySeconds\":{},", at % 900) } else { String::new() };
        let timeout = if edited { 60 } else { 30 };
        format!(
            r#"{delay}"VisibilityTimeout":{timeout},"MessageRetentionPeriod":1209600,"SqsManagedSseEnabled":true,"ReceiveMessageWaitTimeSeconds":20,"RedrivePolicy":{{"maxReceiveCount":{},"deadLetterTargetArn":"arn:aws:sqs:us-east-1:111111111111:dead"}},"Tags":[{{"Key":"team","Value":"team-{}"}},{{"Key":"service","Value":"service-{at}"}}]"#,
            at % 10,
            at % 17,
        )
    };
    (0..count).map(|at| queue(&format!("{prefix}{at}"), &body(at))).collect()
}

/// Queues of which no value is rare, but some values together are.
fn numbered(prefix: &str, count: usize, edited: bool) -> Vec<String> {
    let body = |at: usize| {
        let size = if edited { 2048 } else { 1024 };
        format!(
            r#""VisibilityTimeout":{},"DelaySeconds":{},"ReceiveMessageWaitTimeSeconds":{},"MessageRetentionPeriod":1209600,"MaximumMessageSize":{size}"#,
            at % 22,
            at / 22 % 22,
            at / 484,
        )
    };
    (0..count).map(|at| queue(&format!("{prefix}{at}"), &body(at))).collect()
}

fn number(id: &str) -> &str {
    id.trim_start_matches(|c: char| !c.is_ascii_digit())
}

#[test]
fn many_that_share_almost_everything_find_their_partners() {
    for make in [tagged, numbered] {
        let found = offered(&make("Old", 1_200, false), &make("New", 1_200, true));
        assert_eq!(found.len(), 1_200);
        assert!(found.iter().all(|(from, to)| number(from) == number(to)));
    }
}

#[test]
fn who_refers_to_the_candidates_of_a_question_is_told() {
    let alias = |id: &str, target: &str| {
        let properties = format!(r#""Of":{{"Ref":"{target}"}},"Name":"{id}""#);
        resource("AWS::SSM::Parameter", id, &properties)
    };
    let both = resource("AWS::SSM::Parameter", "All", r#""Of":[{"Ref":"A"},{"Ref":"B"}]"#);
    let mut old = vec![queue("A", ""), queue("B", ""), both];
    old.extend((1..=7).map(|n| alias(&format!("Of{n}"), "A")));
    let comparison = compared(&old, &[queue("C", ""), queue("D", "")]);
    let (of_sources, of_destinations) = &comparison.ambiguous[0].referrers;
    let ids = |at: usize| -> Vec<&str> {
        of_sources[at].iter().map(|location| location.logical_id.as_str()).collect()
    };
    assert_eq!(ids(0), ["Of1", "Of2", "Of3", "Of4", "Of5"]);
    assert_eq!(ids(1), ["All"]);
    assert_eq!(of_destinations, &[vec![], vec![]]);
}
