//! What a team's aspects do to a comparison, by the program itself.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use program::{Place, text};
use serde_json::{Value as Json, json};

fn side(name: &str) -> String {
    format!("{}/fixtures/aspects/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The file of the team, changed.
fn team(place: &Place, change: impl FnOnce(&mut Json)) {
    let file = std::fs::read_to_string(side("cdk.json")).unwrap();
    let mut file: Json = serde_json::from_str(&file).unwrap();
    change(&mut file["refactor"]);
    std::fs::write(place.path().join("cdk.json"), file.to_string()).unwrap();
}

/// The exit code and both streams of a comparison of the fixture.
fn compared(place: &Place, more: &[&str]) -> (Option<i32>, String, String) {
    let (after, before) = (side("after"), side("before"));
    let start = ["refactor", "--dry-run", "--app", &after, "--against", &before];
    let output = place.run(&[&start[..], more].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn moves(place: &Place) -> Vec<String> {
    let (_, out, err) = compared(place, &["--output", "json"]);
    let found: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let mappings = found["environments"][0]["mappings"].as_array().unwrap();
    mappings.iter().map(|one| one["destination"]["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn five_aspects_of_a_team_find_what_moved_and_forbid_what_must_not() {
    let place = Place::new();
    let plain = moves(&place);
    assert!(!plain.contains(&"Shop/Checkout/Orders/Resource".to_owned()), "{plain:?}");
    team(&place, |_| {});
    let with = moves(&place);
    for path in [
        "Shop/Checkout/Orders/Resource",
        "Shop/Checkout/Handler/Resource",
        "Shop/Overview",
        "Media/Images/Resource",
    ] {
        assert!(with.contains(&path.to_owned()), "{path}: {with:?}");
    }
    assert!(plain.iter().all(|path| with.contains(path)), "{plain:?} {with:?}");
    let (code, out, err) = compared(&place, &["--explain"]);
    assert_eq!(code, Some(3), "{err}");
    // What is hidden changes nevertheless, and is said.
    for expected in [
        "Properties.Description: \"Takes orders, build 117\" → \"Takes orders, build 118\" (hidden by the \
         aspect `build-number`)",
        "only thanks to the aspects `build-number`, `git-sha`",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    assert!(out.contains("6 of them also change:"), "{out}");
    for expected in [
        "`Shop.OrdersA9B65338` is `Shop.CheckoutOrders704AABEE` only thanks to the aspect `git-sha`",
        "only thanks to the aspects `build-number`, `git-sha`",
        "only thanks to the aspects `dashboards`, `git-sha`",
        "warning: aspect `retained`: `Media/Images/Resource` (Media.Images2D38C313): it would move, \
         and its `DeletionPolicy` as it is deployed is `Delete`",
        "error: aspect `buckets-stay`: `Media/Images/Resource` (Media.Images2D38C313): it would move \
         from `Shop.Images2D38C313` to `Media.Images2D38C313`",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
}

#[test]
fn programs_and_reviewers_are_told_what_aspects_did() {
    let place = Place::new();
    team(&place, |_| {});
    let (_, out, err) = compared(&place, &["--output", "json", "--explain"]);
    let found: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let environment = &found["environments"][0];
    let mapping = |path: &str| {
        let mappings = environment["mappings"].as_array().unwrap();
        mappings.iter().find(|one| one["destination"]["path"] == path).unwrap()
    };
    let policy = mapping("Shop/Checkout/Handler/ServiceRole/DefaultPolicy/Resource");
    assert_eq!(policy["thanksTo"], json!({"aspects": ["git-sha"], "indirect": true}));
    let handler = mapping("Shop/Checkout/Handler/Resource");
    assert_eq!(handler["thanksTo"]["aspects"], json!(["build-number", "git-sha"]));
    assert_eq!(handler["differences"][0]["hiddenBy"], json!(["build-number"]));
    let hidden = environment["aspects"]["hidden"].as_array().unwrap();
    let expected = json!({"stack": "Shop", "logicalId": "Overview",
        "property": "Properties.DashboardBody", "aspects": ["dashboards"]});
    assert!(hidden.contains(&expected), "{hidden:?}");
    let violations = environment["aspects"]["violations"].as_array().unwrap();
    let level = |one: &Json| (one["aspect"].clone(), one["level"].clone());
    let levels: Vec<_> = violations.iter().map(level).collect();
    assert_eq!(
        levels,
        [(json!("buckets-stay"), json!("error")), (json!("retained"), json!("warning"))]
    );
    let (_, out, _) = compared(&place, &["--output", "markdown", "--explain"]);
    for expected in [
        "| `Shop.OrdersA9B65338` | `Shop.CheckoutOrders704AABEE` | only thanks to the aspect \\`git-sha\\` |",
        "- **error**: `buckets-stay`: `Media.Images2D38C313` it would move from",
        "- `Shop.Overview` `Properties.DashboardBody`: `dashboards`",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

/// Writes a cloud assembly of one stack.
fn assembly(place: &Place, side: &str, resources: &Json) -> String {
    let directory = place.path().join(side);
    std::fs::create_dir_all(&directory).unwrap();
    let template = json!({"Resources": resources});
    std::fs::write(directory.join("App.template.json"), template.to_string()).unwrap();
    let manifest = json!({"version": "36.0.0", "artifacts": {"App": {
        "type": "aws:cloudformation:stack",
        "environment": "aws://111111111111/us-east-1",
        "properties": {"templateFile": "App.template.json"}}}});
    std::fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
    directory.to_str().unwrap().to_owned()
}

#[test]
fn a_replacement_that_only_the_forecast_sees_is_forbidden_too() {
    let place = Place::new();
    // A new name replaces the topic, and that replaces what is subscribed to it.
    let app = |name: &str| {
        json!({
            "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": name}},
            "Subscription": {"Type": "AWS::SNS::Subscription", "Properties": {
                "TopicArn": {"Ref": "Topic"}, "Protocol": "email", "Endpoint": "a@example.com"}},
        })
    };
    let (before, after) = (app("old"), app("new"));
    place.seed(&assembly(&place, "before", &before));
    let after = assembly(&place, "after", &after);
    let known = place.resources();
    let aspect = |kind: &str| {
        let forbid =
            json!({"id": "keep", "match": {"type": kind}, "forbid": {"operation": "replace"}});
        let file = json!({"refactor": {"aspects": [forbid]}});
        std::fs::write(place.path().join("cdk.json"), file.to_string()).unwrap();
    };
    aspect("AWS::SNS::Subscription");
    for command in [
        ["refactor", "--local", "--dry-run", "--app", &after],
        ["refactor", "--local", "--yes", "--app", &after],
        ["deploy", "--local", "--all", "--app", &after],
    ] {
        let err = place.err(&command, 3);
        assert!(
            err.contains(
                "error: aspect `keep`: `App/Subscription` (App.Subscription): the deployment may \
                 replace it, since `App.Topic` is replaced"
            ),
            "{err}"
        );
        assert_eq!(place.resources(), known);
    }
    aspect("AWS::SQS::*");
    place.out(&["refactor", "--local", "--dry-run", "--app", &after]);
}

#[test]
fn whoever_does_not_move_what_moved_is_told_that_it_must_not_be_replaced() {
    let place = Place::new();
    let queue = json!({"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 3}});
    place.seed(&assembly(&place, "before", &json!({"Old": queue})));
    let after = assembly(&place, "after", &json!({"New": queue}));
    let known = place.resources();
    let forbid = json!({"id": "keep", "match": {"type": "AWS::SQS::*"},
        "forbid": {"operation": "replace"}});
    let file = json!({"refactor": {"aspects": [forbid]}});
    std::fs::write(place.path().join("cdk.json"), file.to_string()).unwrap();
    let deploy = ["deploy", "--local", "--all", "--yes", "--app", &after];
    let without = ["--refactoring", "DEPLOY_WITHOUT_REFACTORING"];
    let err = place.err(&[&deploy[..], &without].concat(), 3);
    assert!(
        err.contains(
            "error: aspect `keep`: `App/New` (App.New): it was `App.Old`, and is not moved: the \
             deployment would recreate it"
        ),
        "{err}"
    );
    assert_eq!(place.resources(), known);
    place.out(&deploy);
    assert_eq!(place.resources()["us-east-1 App.New"], known["us-east-1 App.Old"]);
}

#[test]
fn what_an_aspect_forbids_is_not_done_and_nothing_is_changed() {
    let place = Place::new();
    team(&place, |_| {});
    place.seed(&side("before"));
    let before = place.resources();
    let after = side("after");
    for command in [
        ["refactor", "--local", "--yes", "--app", &after],
        ["deploy", "--local", "--all", "--app", &after],
    ] {
        let err = place.err(&command, 3);
        assert!(err.contains("aspect `buckets-stay`"), "{err}");
        assert_eq!(place.resources(), before);
    }
    // The bucket may move now; everything keeps what it has.
    team(&place, |refactor| {
        refactor["overrides"] = json!({"buckets-stay": {"level": "info"}});
    });
    place.out(&["refactor", "--local", "--yes", "--app", &after]);
    let after = place.resources();
    let at = |resources: &std::collections::BTreeMap<String, u64>, place: &str| {
        resources[&format!("us-east-1 {place}")]
    };
    for (old, new) in [
        ("Shop.OrdersA9B65338", "Shop.CheckoutOrders704AABEE"),
        ("Shop.Handler886CB40B", "Shop.CheckoutHandler1B3301FC"),
        ("Shop.Images2D38C313", "Media.Images2D38C313"),
    ] {
        assert_eq!(at(&before, old), at(&after, new));
    }
}

#[test]
fn one_aspect_for_one_run_is_given_on_the_command_line() {
    let place = Place::new();
    let (code, out, err) = compared(&place, &["--ignore", "tag:AWS::SQS::Queue:git-sha"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("CheckoutOrders704AABEE"), "{out}");
    assert!(
        err.contains("only thanks to the aspect `--ignore tag:AWS::SQS::Queue:git-sha`"),
        "{err}"
    );
    let (code, _, err) = compared(&place, &["--ignore", "tags:*:git-sha"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("did you mean `tag`?"), "{err}");
}

#[test]
fn aspects_that_are_mistyped_or_find_nothing_are_told() {
    let place = Place::new();
    team(&place, |refactor| refactor["aspects"][0]["do"][0] = json!({"ignoreTag": ["git-sha"]}));
    let (code, _, err) = compared(&place, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("aspect `git-sha`: do[0]: `ignoreTag` means nothing here; did you mean"),
        "{err}"
    );
    team(&place, |refactor| {
        refactor["aspects"][1]["match"]["type"] = json!("AWS::Lamda::Function");
        refactor["aspects"][0]["do"] =
            json!([{"ignoreTags": ["git-sha"]}, {"ignore": "Descripton"}]);
    });
    let (_, _, err) = compared(&place, &[]);
    for expected in [
        "warning: the aspect `build-number` (refactor.aspects[1]) matches no resource",
        "warning: the aspect `git-sha` (refactor.aspects[0]) finds nothing to do for `ignore \
         /Properties/Descripton`",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
}

#[test]
fn aspects_are_listed_with_what_they_do() {
    let place = Place::new();
    team(&place, |refactor| {
        refactor["overrides"] = json!({"builtin:numbers-in-strings": {"enabled": false}});
    });
    let said = place.out(&["aspects", "list"]);
    for expected in [
        "builtin:asset-locations (priority 200; built in)",
        "builtin:numbers-in-strings (off; built in)",
        "builtin:generated-names (on; built in)",
        "git-sha (priority 200; refactor.aspects[0])\n  every resource: ignore the tags git-sha",
        "retained (priority 1000; refactor.aspects[3])\n  stateful: warning: what moves has \
         DeletionPolicy Retain or RetainExceptOnCreate or Snapshot",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
}
