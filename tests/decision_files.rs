//! Files of decisions, from the text to what moves.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use program::{Place, app, edited, text};
use serde_json::Value as Json;

/// A place with files.
fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

/// What a dry run says of a fixture: exit code, answer, and the standard error stream.
fn dry_run(place: &Place, fixture: &str, more: &[&str]) -> (i32, Json, String) {
    let (after, before) = (app(fixture, "after"), app(fixture, "before"));
    let arguments = ["refactor", "--dry-run", "--app", &after, "--against", &before];
    let output = place.run(&[&arguments, more, &["--output", "json"]].concat());
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), answer, text(&output.stderr))
}

fn error(place: &Place, fixture: &str, more: &[&str]) -> String {
    let (code, _, error) = dry_run(place, fixture, more);
    assert_eq!(code, 1, "{error}");
    error
}

/// `source → destination by evidence` of every mapping.
fn mappings(answer: &Json) -> Vec<String> {
    let end = |end: &Json| {
        format!("{}.{}", end["stack"].as_str().unwrap(), end["logicalId"].as_str().unwrap())
    };
    let list = answer["environments"][0]["mappings"].as_array().unwrap().iter();
    list.map(|one| {
        let evidence = one["evidence"].as_str().unwrap();
        format!("{} → {} by {evidence}", end(&one["source"]), end(&one["destination"]))
    })
    .collect()
}

const CONSTRUCT: &str = r#"{"mappings": {"Shop/Orders/**": "Shop/Purchases/**"}}"#;

#[test]
fn one_line_about_a_construct_tells_twins_apart() {
    for (name, flags) in
        [("cdkr.decisions.json", &[][..]), ("moves.json", &["--override-file", "moves.json"])]
    {
        let place = place(&[(name, CONSTRUCT)]);
        let (code, answer, _) = dry_run(&place, "twins", &[flags, &["--check"]].concat());
        assert_eq!(code, 4, "{answer:#}");
        let found = mappings(&answer);
        assert_eq!(found.len(), 14);
        let decided: Vec<&String> =
            found.iter().filter(|one| one.ends_with("by decision")).collect();
        assert_eq!(decided.len(), 6, "{found:#?}");
        assert!(
            decided[0].starts_with("Shop.OrdersConsumer9C162605 → Shop.PurchasesConsumer5A8F770B")
        );
    }
    let map = ["--map", "Shop/Orders/**:Shop/Purchases/**", "--check"];
    assert_eq!(dry_run(&place(&[]), "twins", &map).0, 4);
}

#[test]
fn what_is_left_to_be_replaced_is_not_asked_about_again() {
    let left = r#"{"mappings": {"Shop/Orders/**": null, "Shop/Payments/**": null}}"#;
    let place = place(&[("cdkr.decisions.json", left)]);
    let (code, answer, _) = dry_run(&place, "twins", &["--check"]);
    assert_eq!(code, 0, "{answer:#}");
    let environment = &answer["environments"][0];
    assert_eq!(environment["ambiguous"].as_array().unwrap().len(), 0);
    let removed = environment["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 14);
    assert_eq!(removed[0]["excluded"], "left to be replaced: cdkr.decisions.json:1:15");
}

#[test]
fn an_error_names_line_and_column_and_what_may_have_been_meant() {
    let with = |text: &str| {
        let place = place(&[("moves.json", text)]);
        error(&place, "twins", &["--override-file", "moves.json"])
    };
    let named = |text: &str| {
        let text = format!("{{\n  \"mappings\": {{\n    {text}\n  }}\n}}\n");
        with(&text)
    };
    insta::assert_snapshot!(named(r#""Shop.OrdersQueueC538DD4X": "Shop.PurchasesQueue6580000E""#), @r"
    error: moves.json:3:5: `Shop.OrdersQueueC538DD4X` is not deployed
    hint: did you mean `Shop.OrdersQueueC538DD4C`?
    ");
    insta::assert_snapshot!(named(r#""Shop/Orders/Queue": "Shop/Purchase/Queue""#), @r"
    error: moves.json:3:5: `Shop/Purchase/Queue` is not in the app as it is now
    hint: did you mean `Shop/Purchases/Queue`?
    ");
    insta::assert_snapshot!(named(r#""Shop/Orders": "Shop/Purchases""#), @r"
    error: moves.json:3:5: `Shop/Orders` is a construct and not a resource
    hint: `Shop/Orders/**` names all that is below it, on both sides
    ");
    insta::assert_snapshot!(named(r#""Shop/Orders/**": "Shop/Purchases/Queue""#), @r"
    error: moves.json:3:5: `Shop/Orders/**` and `Shop/Purchases/Queue` must have the same wildcards in the same order
    hint: wildcards: `Web.Old*:Web.New*`, or `Old/Website/**:Web/Site/**` for all that is below a construct
    ");
    insta::assert_snapshot!(
        named("\"Shop/Orders/Queue\": \"Shop/Purchases/Queue\",\n    \"Shop.OrdersQueueC538DD4C\": \"Shop.InvoicesQueue8037813D\""),
        @r"
    error: two decisions about `Shop.OrdersQueueC538DD4C`: Shop/Orders/Queue → Shop/Purchases/Queue (moves.json:3:5), and Shop.OrdersQueueC538DD4C → Shop.InvoicesQueue8037813D (moves.json:4:5)
    hint: keep one of them
    "
    );
    assert!(with("{\n  \"mappings\": {},\n}").starts_with("error: moves.json:3:1: trailing comma"));
    assert!(
        with("{\n  \"mapping\": {}\n}")
            .starts_with("error: moves.json:2:3: unknown field `mapping`")
    );
}

#[test]
fn a_skip_file_takes_wildcards_and_names_its_errors() {
    let with = |text: &str| place(&[("skip.json", text)]);
    let place = with(r#"["Shop/*/Consumer/**", "AWS::SQS::*"]"#);
    let (code, answer, _) = dry_run(&place, "twins", &["--skip-file", "skip.json", "--check"]);
    assert_eq!((code, mappings(&answer).len()), (0, 0), "{answer:#}");
    let error = error(&with("[\n  \"Shop/Nothing/**\"\n]"), "twins", &["--skip-file", "skip.json"]);
    assert!(error.starts_with("error: skip.json:2:3: there is no `Shop/Nothing/**`"), "{error}");
}

#[test]
fn a_refactor_file_allows_its_moves_and_tells_of_others() {
    let allowed = r#"{"mappings": {"Shop/Orders/Table": "Shop/Purchases/Table"}}"#;
    let place = place(&[("allowed.json", allowed), ("cdkr.decisions.json", CONSTRUCT)]);
    let (after, before) = (app("rename", "after"), app("rename", "before"));
    let arguments = ["refactor", "--dry-run", "--app", &after, "--against", &before];
    let (_, answer, _) = dry_run(&place, "rename", &["--refactor-file", "allowed.json"]);
    assert_eq!(
        mappings(&answer),
        ["Shop.OrdersTable1F8332C7 → Shop.PurchasesTable090EA98E by decision"]
    );
    let output = place.run(&[&arguments[..], &["--refactor-file", "allowed.json"]].concat());
    let told = text(&output.stderr);
    let flag = "--map Shop.OrdersQueueC538DD4C:Shop.PurchasesQueue6580000E";
    assert!(told.contains("warning: `Shop.OrdersQueueC538DD4C` seems to have moved"), "{told}");
    assert!(told.contains(flag), "{told}");
    let more: Vec<&str> = flag.split(' ').chain(["--refactor-file", "allowed.json"]).collect();
    assert_eq!(mappings(&dry_run(&place, "rename", &more).1).len(), 2);
}

#[test]
fn an_environment_that_missed_a_version_is_carried_over_it_and_nothing_is_done_twice() {
    let third = edited(&app("twins", "after"), "Purchases", "Sales");
    let third = third.path().to_str().unwrap();
    let record = r#"{"mappings": {
      "Shop/Orders/**": "Shop/Purchases/**",
      "Shop/Purchases/**": "Shop/Sales/**"}}"#;
    let generation =
        |place: &Place, id: &str| place.resources().get(&format!("us-east-1 Shop.{id}")).copied();
    let refactor =
        |place: &Place, app: &str| place.out(&["refactor", "--local", "--yes", "--app", app]);
    for versions in [&[third][..], &[&app("twins", "after"), third]] {
        let place = place(&[("cdkr.decisions.json", record)]);
        place.seed(&app("twins", "before"));
        let (orders, payments) = (
            generation(&place, "OrdersQueueC538DD4C").unwrap(),
            generation(&place, "PaymentsQueueC485226B").unwrap(),
        );
        for version in versions {
            refactor(&place, version);
        }
        assert_eq!(generation(&place, "SalesQueue6580000E"), Some(orders));
        assert_eq!(generation(&place, "InvoicesQueue8037813D"), Some(payments));
        let again = place.run(&["refactor", "--local", "--dry-run", "--app", third, "--check"]);
        assert_ne!(again.status.code(), Some(3), "{}", text(&again.stdout));
        assert_eq!(text(&again.stderr).matches("decisions.json").count(), 0);
    }
}

#[test]
fn decisions_are_written_where_the_project_reads_them() {
    let place = Place::new();
    place.seed(&app("rename", "before"));
    let config = serde_json::json!({"app": app("rename", "after"), "overrideFile": "kept.json"});
    std::fs::write(place.path().join("cdk.json"), config.to_string()).unwrap();
    std::fs::write(place.path().join("kept.json"), r#"{"mappings": {}}"#).unwrap();
    let output = place.run(&["refactor", "--local", "--yes", "--write-decisions"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("nothing was added to"), "{said}");
    assert!(said.contains("kept.json") && !said.contains("cdkr.decisions.json"), "{said}");
}
