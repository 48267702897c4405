use super::*;
use crate::compare::{
    Ambiguity, Change, Comparison, Difference, Evidence, Mapping, Place, Problem, Similar, Unpaired,
};
use crate::model::{ConstructPath, Environment, Location, Value};
use crate::template::json::parse;

fn place(location: &str, path: &str) -> Place {
    let path = (!path.is_empty()).then(|| ConstructPath::from(path));
    Place { location: location.parse().unwrap(), path }
}

fn mapping(kind: &str, source: Place, destination: Place, evidence: Evidence) -> Mapping {
    Mapping {
        resource_type: kind.into(),
        source,
        destination,
        evidence,
        by_names: false,
        changes: Vec::new(),
        indistinct: false,
        identical_stayed: Vec::new(),
        blocked: None,
    }
}

/// Old and new value are JSON; an empty text stands for a property that is not there.
fn difference(property: &str, old: &str, new: &str) -> Difference {
    let value = |text: &str| (!text.is_empty()).then(|| parse(text).unwrap());
    Difference {
        property: property.into(),
        old: value(old),
        new: value(new),
        name_only: false,
        replaces: false,
    }
}

fn nothing(account: &str, region: &str) -> Comparison {
    Comparison {
        environment: Environment::new(account, region),
        mappings: Vec::new(),
        ambiguous: Vec::new(),
        similar: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        unchanged: 3,
        problems: Vec::new(),
    }
}

fn unpaired(kind: &str, location: &str) -> Unpaired {
    Unpaired {
        resource_type: kind.into(),
        place: place(location, ""),
        nearest: None,
        excluded: None,
    }
}

/// The example of RFC 0162, with a remark on each row that can have one.
fn moved() -> Comparison {
    let path = |old: &str, new: &str| Evidence::Path(old.into(), new.into());
    let mut bucket = mapping(
        "AWS::S3::Bucket",
        place("MyStack.Bucket83908E77", "MyStack/Bucket/Resource"),
        place("Web.WebsiteOrigin5E1A2B3C", "Web/Website/Origin/Resource"),
        Evidence::Digest,
    );
    bucket.identical_stayed = vec![Location::new("Web", "LogsAAAA1111")];
    let mut policy = mapping(
        "AWS::S3::BucketPolicy",
        place("MyStack.BucketPolicyE9A3008A", "MyStack/Bucket/Policy/Resource"),
        place("Web.WebsiteOriginPolicyBBBB2222", "Web/Website/Origin/Policy/Resource"),
        path("MyStack/Bucket", "Web/Website/Origin"),
    );
    policy.blocked =
        Some("cannot be moved by CloudFormation, since the type has no read handler".into());
    let mut distribution = mapping(
        "AWS::CloudFront::Distribution",
        place("MyStack.Distribution830FAC52", "MyStack/Distribution/Resource"),
        place("Web.WebsiteDistributionCCCC3333", "Web/Website/Distribution/Resource"),
        Evidence::Structure,
    );
    distribution.changes = vec![
        difference("Properties.DistributionConfig.Comment", "\"old\"", "\"new\""),
        Difference {
            name_only: true,
            ..difference("Properties.Tags.0.Value", "\"MyStack\"", "\"Web\"")
        },
    ];
    distribution.indistinct = true;
    distribution.by_names = true;
    let mut role = mapping(
        "AWS::IAM::Role",
        place("MyStack.Role1", "MyStack/Role/Resource"),
        place("Service.Role2", "Service/Role/Resource"),
        Evidence::Decision("--map".into()),
    );
    role.changes = vec![Difference {
        replaces: true,
        name_only: true,
        ..difference("Properties.RoleName", "\"a\"", "\"b\"")
    }];
    Comparison {
        mappings: vec![bucket, policy, distribution, role],
        ..nothing("111111111111", "us-east-1")
    }
}

/// What is left of a deployment, and what might be taken.
fn rest() -> Comparison {
    let mut added = unpaired("AWS::SQS::Queue", "App.New");
    added.nearest = Some((
        place("App.Old", "App/Old/Resource"),
        vec![
            difference("Properties.VisibilityTimeout", "30", ""),
            difference("Properties.Policy", &format!("{{\"a\": [\"{}\"]}}", "x".repeat(200)), "{}"),
        ],
    ));
    let mut version = unpaired("AWS::Lambda::Version", "App.FnVersion1");
    version.excluded = Some("made to be replaced".into());
    Comparison {
        similar: vec![Similar {
            resource_type: "AWS::SQS::Queue".into(),
            source: place("App.Old", "App/Old/Resource"),
            destination: place("App.New", "App/New/Resource"),
            score: 83,
            differences: vec![difference("Properties.VisibilityTimeout", "30", "")],
        }],
        added: vec![added, unpaired("AWS::SNS::Topic", "App.Topic")],
        removed: vec![version],
        changed: vec![Change {
            resource_type: "AWS::Lambda::Function".into(),
            place: place("App.Fn", "App/Fn/Resource"),
            differences: ["Code", "Environment", "Handler", "Runtime", "Timeout"]
                .map(|name| difference(&format!("Properties.{name}"), "1", "2"))
                .into(),
        }],
        problems: vec![Problem { message: "a sentence".into() }],
        ..nothing("111111111111", "us-east-1")
    }
}

fn ambiguous() -> Comparison {
    let queue = |sources: &[&str], destinations: &[&str], group| Ambiguity {
        resource_type: "AWS::SQS::Queue".into(),
        sources: sources.iter().map(|text| place(text, "")).collect(),
        destinations: destinations.iter().map(|text| place(text, "")).collect(),
        group,
        constructs: (Vec::new(), Vec::new()),
        referrers: (Vec::new(), Vec::new()),
    };
    let part = |kind: &str, name: &str| Ambiguity {
        resource_type: kind.into(),
        sources: ["A", "B"]
            .map(|id| place(&format!("S.Orders{id}{name}"), &format!("S/Orders{id}/{name}")))
            .into(),
        destinations: ["C", "D"]
            .map(|id| place(&format!("S.Orders{id}{name}"), &format!("S/Orders{id}/{name}")))
            .into(),
        group: 1,
        constructs: (
            vec!["S/OrdersA".into(), "S/OrdersB".into()],
            vec!["S/OrdersC".into(), "S/OrdersD".into()],
        ),
        referrers: (Vec::new(), Vec::new()),
    };
    Comparison {
        ambiguous: vec![
            queue(
                &["Stack.Queue1A4198146", "Stack.Queue2B0BA5D32"],
                &["Stack.Queue3C7606C37", "Stack.Queue4D681F510"],
                0,
            ),
            part("AWS::SQS::Queue", "Queue"),
            part("AWS::SNS::Topic", "Topic"),
        ],
        ..nothing("111111111111", "us-east-1")
    }
}

/// The table as it is where there are no colours.
fn terminal(environments: &[Comparison], style: Style) -> String {
    let text = table(environments, &[], style);
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn moves_are_a_table_with_remarks_below_it() {
    insta::assert_snapshot!(terminal(&[moved()], Style::default()));
}

#[test]
fn construct_paths_are_shown_on_request() {
    let style = Style { paths: true, ..Style::default() };
    insta::assert_snapshot!(terminal(&[moved()], style));
}

#[test]
fn every_mapping_is_explained_on_request() {
    let style = Style { explain: true, ..Style::default() };
    insta::assert_snapshot!(terminal(&[moved()], style));
}

#[test]
fn what_a_deployment_would_do_besides_is_summed_up() {
    insta::assert_snapshot!(terminal(&[rest()], Style::default()));
}

#[test]
fn what_was_added_or_removed_is_explained_on_request() {
    let style = Style { explain: true, verbose: true, ..Style::default() };
    insta::assert_snapshot!(terminal(&[rest()], style));
}

#[test]
fn ambiguities_are_tables_one_for_each_question() {
    insta::assert_snapshot!(terminal(&[ambiguous()], Style::default()));
}

#[test]
fn several_environments_have_headings() {
    let both = [nothing("111111111111", "eu-west-1"), moved()];
    let text = terminal(&both, Style::default());
    assert!(text.starts_with("aws://111111111111/eu-west-1\n\nNothing to refactor.\n\naws://1"));
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let one = [nothing("111111111111", "eu-west-1")];
    assert_eq!(terminal(&one, Style::default()), "Nothing to refactor.\n");
    assert_eq!(terminal(&[], Style::default()), "Nothing to refactor.\n");
    assert_eq!(markdown(&[], &[], &[], Style::default()), "Nothing to refactor.\n");
}

#[test]
fn long_lists_are_cut_unless_the_reader_wants_all() {
    let added = (0..25).map(|n| unpaired("AWS::SQS::Queue", &format!("App.Q{n}"))).collect();
    let one = [Comparison { added, ..nothing("1", "r") }];
    let text = terminal(&one, Style::default());
    assert!(text.contains("… and 15 more (--verbose lists them)"), "{text}");
    let text = terminal(&one, Style { verbose: true, ..Style::default() });
    assert!(text.contains("App.Q24") && !text.contains("more"), "{text}");
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\r\n| x |";
    let place = Place {
        location: Location::new(hostile, hostile),
        path: Some(ConstructPath::from(hostile)),
    };
    let mut one = mapping(hostile, place.clone(), place.clone(), Evidence::Digest);
    one.blocked = Some(hostile.into());
    one.changes = vec![Difference {
        property: hostile.into(),
        old: Some(hostile.into()),
        ..difference("", "", "")
    }];
    one.identical_stayed = vec![place.location.clone()];
    let comparison = Comparison {
        environment: Environment::new(hostile, hostile),
        mappings: vec![one],
        ..nothing("", "")
    };
    let both = [comparison.clone(), comparison];
    for paths in [false, true] {
        let style = Style { paths, explain: true, verbose: true, asks: false };
        for text in
            [terminal(&both, style), json(&both, &[], &[], style), markdown(&both, &[], &[], style)]
        {
            let found: Vec<_> =
                text.chars().filter(|c| *c != '\n' && text::is_hostile(*c)).collect();
            assert!(found.is_empty(), "{found:?}");
        }
        let parsed = parse(&json(&both, &[], &[], style)).unwrap();
        let environments = parsed.get("environments").and_then(Value::as_array).unwrap();
        assert_eq!(environments[0].get("account"), Some(&Value::from(hostile)));
    }
}

#[test]
fn the_form_for_programs_is_the_contract() {
    let mut all = moved();
    all.ambiguous = ambiguous().ambiguous;
    let rest = rest();
    all.similar = rest.similar;
    all.added = rest.added;
    all.removed = rest.removed;
    all.changed = rest.changed;
    all.problems = rest.problems;
    insta::assert_snapshot!(json(&[all], &[], &[], Style::default()));
}

#[test]
fn the_form_for_programs_carries_reasons_on_request() {
    let mut all = rest();
    all.mappings = vec![moved().mappings.remove(3)];
    insta::assert_snapshot!(json(&[all], &[], &[], Style { explain: true, ..Style::default() }));
}

#[test]
fn the_form_for_pull_requests_is_markdown() {
    let mut all = moved();
    all.ambiguous = ambiguous().ambiguous;
    all.added = rest().added;
    insta::assert_snapshot!(markdown(&[all], &[], &[], Style::default()));
}

#[test]
fn every_kind_of_evidence_has_its_sentence() {
    let path = ConstructPath::from;
    let all = [
        Evidence::Decision("overrides.json".into()),
        Evidence::PhysicalId(vec!["BucketName".into()]),
        Evidence::Digest,
        Evidence::Structure,
        Evidence::Path(path("A/X"), path("B/Y")),
        Evidence::LogicalId,
        Evidence::RelativePath(path("A"), path("B")),
        Evidence::MovedAndChanged { from: path("A"), to: path("B"), proven: 3, of: 4 },
        Evidence::NestedStack,
    ];
    let lines: Vec<_> = all
        .iter()
        .map(|evidence| format!("{}: {}", explain::code(evidence), explain::evidence(evidence)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
