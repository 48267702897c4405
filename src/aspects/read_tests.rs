use super::*;
use crate::template::json;

fn parse(text: &str) -> Result<Declarations, DeclareErrors> {
    Declarations::parse(&json::parse(text).unwrap(), &|file| match file {
        "./org.json" => {
            Ok(json::parse(r#"{"aspects":[{"id":"org","do":[{"ignoreTags":["cost"]}]}]}"#).unwrap())
        }
        _ => Err("there is no such file".to_owned()),
    })
}

fn wrong(aspect: &str) -> String {
    parse(&format!(r#"{{"aspects":[{aspect}]}}"#)).unwrap_err().to_string()
}

fn of_people(declarations: &Declarations) -> Vec<&Declaration> {
    declarations.iter().filter(|one| !one.is_preset).collect()
}

#[test]
fn the_aspects_of_a_team_are_read() {
    let read = parse(
        r#"{
      "overrideFile": "somebody else's",
      "aspects": [
        { "id": "asset-urls", "kind": "mutating", "match": { "type": "AWS::CloudFormation::Stack" },
          "do": [ { "ignore": "/Properties/TemplateURL" }, { "ignore": "/Metadata/aws:asset:path" } ] },
        { "id": "lambda-code", "kind": "mutating", "priority": 210,
          "match": { "type": "AWS::Lambda::Function", "class": "aws-cdk-lib.aws_lambda.*" },
          "do": [ { "replace": "/Properties/Code/S3Key", "with": "<asset>" }, { "assets": "hashes" } ] },
        { "id": "team-tags", "scope": "Prod/**", "kind": "mutating",
          "do": [ { "ignore": "/Properties/Tags/*", "where": { "Key": "git-sha" } },
                  { "sort": "/Properties/Tags", "by": "Key" } ] },
        { "id": "no-db-moves", "kind": "readonly", "match": { "type": "AWS::RDS::*" },
          "forbid": { "operation": ["move"], "crossStack": true }, "level": "error" },
        { "id": "retain-moved", "kind": "readonly", "match": { "stateful": true },
          "require": { "/DeletionPolicy": ["Retain", "RetainExceptOnCreate", "Snapshot"] },
          "level": "warning" }
      ],
      "use": [ "builtin:asset-locations", "./org.json" ],
      "overrides": { "builtin:asset-locations": { "priority": 0 }, "no-db-moves": { "level": "info" },
                     "builtin:numbers-in-strings": { "enabled": false } }
    }"#,
    )
    .unwrap();
    let said: Vec<String> = read
        .iter()
        .map(|one| match &one.work {
            Work::Change(operations) => format!("{} {} {}", one.id, one.priority, operations.len()),
            Work::Look(rules, level) => format!("{} {} {} {level}", one.id, one.priority, rules[0]),
        })
        .collect();
    assert_eq!(
        said,
        [
            "builtin:asset-locations 0 2",
            "builtin:nested-template-urls 200 1",
            "builtin:policy-statement-order 200 8",
            "org 500 1",
            "asset-urls 200 2",
            "lambda-code 210 2",
            "team-tags 200 2",
            "no-db-moves 1000 no move to another stack info",
            "retain-moved 1000 what moves has DeletionPolicy Retain or RetainExceptOnCreate or Snapshot \
         warning",
        ]
    );
}

#[test]
fn what_is_mistyped_is_told_with_what_was_meant() {
    for (aspect, expected) in [
        (
            r#"{"id":"a","kind":"mutatng","do":[{"ignore":"/Properties/A"}]}"#,
            "aspect `a`: `mutatng` is no kind of aspect; did you mean `mutating`?",
        ),
        (
            r#"{"id":"a","do":[{"ingore":"/Properties/A"}]}"#,
            "aspect `a`: do[0]: `ingore` means nothing here; did you mean `ignore`?",
        ),
        (
            r#"{"id":"a","mach":{},"do":[{"ignore":"A"}]}"#,
            "aspect `a`: `mach` means nothing here; did you mean `match`?",
        ),
        (
            r#"{"id":"a","forbid":{"operation":["moves"]}}"#,
            "aspect `a`: forbid: `moves` is no operation; did you mean `move`?",
        ),
        (
            r#"{"id":"a","do":[{"ignore":"/Propertys/A"}]}"#,
            "aspect `a`: do[0]: ignore: `/Propertys/A` is no pattern: it has to begin with one of",
        ),
        (
            r#"{"id":"a","forbid":{"operation":["move"]},"level":"fatal"}"#,
            "aspect `a`: `fatal` is no level; there are: `error`, `warning`, `info`",
        ),
        (r#"{"do":[{"ignore":"A"}]}"#, "refactor.aspects[0]: its name, `id` is missing"),
        (r#"{"id":"a"}"#, "aspect `a`: what it does: `do`, `forbid`"),
        (r#"{"id":"a","do":{"ignore":"A"}}"#, "aspect `a`: do: has to be a list, not an object"),
        (r#"{"id":"a","apply":["tag"],"do":[]}"#, "aspect `a`: apply: `tag` is no aspect"),
        (
            r#"{"id":"a","require":{"/DeletionPolicy":["Keep"]}}"#,
            "`Keep` is no value of a deletion policy",
        ),
    ] {
        let error = wrong(aspect);
        assert!(error.starts_with(expected) || error.contains(expected), "{error}");
    }
}

#[test]
fn priorities_have_to_fit_what_an_aspect_does() {
    for (priority, expected) in [
        ("-5", "priority: has to be a whole number from 0 on, not -5"),
        ("1.5", "priority: has to be a whole number from 0 on, not 1.5"),
        ("\"high\"", "priority: has to be a whole number from 0 on, not `high`"),
        ("1000", "an aspect that changes things needs a priority below 1000"),
    ] {
        let error =
            wrong(&format!(r#"{{"id":"a","priority":{priority},"do":[{{"ignore":"A"}}]}}"#));
        assert!(error.contains(expected), "{error}");
    }
    let error = wrong(r#"{"id":"a","priority":500,"limit":{"moves":3}}"#);
    assert!(error.contains("needs a priority of 1000 or more"), "{error}");
}

#[test]
fn names_that_name_nothing_are_told() {
    for (refactor, expected) in [
        (
            r#"{"overrides":{"builtin:asset-location":{"enabled":false}}}"#,
            "refactor.overrides: `builtin:asset-location` is no aspect; did you mean \
             `builtin:asset-locations`?",
        ),
        (
            r#"{"overrides":{"builtin:generated-names":{"priority":3}}}"#,
            "`builtin:generated-names`: it is part of the comparison itself and has no priority",
        ),
        (r#"{"use":["builtin:numbers"]}"#, "`builtin:numbers` is no aspect that is built in"),
        (r#"{"use":["./none.json"]}"#, "`./none.json` cannot be used: there is no such file"),
        (r#"{"aspect":[]}"#, "refactor: `aspect` means nothing here; did you mean `aspects`?"),
        (
            r#"{"aspects":[{"id":"a","do":[{"ignore":"A"}]},{"id":"a","do":[{"ignore":"B"}]}]}"#,
            "two aspects are called `a`: refactor.aspects[0] and refactor.aspects[1]",
        ),
    ] {
        let error = parse(refactor).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let errors = parse(
        r#"{"aspects":[{"id":"a","kind":"x","do":[{}]},{"id":"builtin:b","limit":{"moves":-1}},7]}"#,
    )
    .unwrap_err();
    assert_eq!(errors.0.len(), 5, "{errors}");
}

#[test]
fn one_that_is_only_applied_by_another_is_not_added_to_the_root() {
    let read = parse(
        r#"{"aspects":[{"id":"a","match":{"type":"T::A::*"},"apply":["b"]},
                       {"id":"b","do":[{"ignore":"X"}]}]}"#,
    )
    .unwrap();
    let [a, b] = of_people(&read)[..] else { panic!() };
    assert!(!a.is_applied && b.is_applied);
    let error = parse(
        r#"{"aspects":[{"id":"a","do":[{"ignore":"X"}],"apply":["b"]},{"id":"b","limit":{"moves":1}}]}"#,
    );
    assert!(error.unwrap_err().to_string().contains("`b` is of the other kind"));
}
