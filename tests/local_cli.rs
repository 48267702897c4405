//! A newcomer's first minute, by the program itself: seed, look, compare, forget.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use program::{Place, app, text};

#[test]
fn what_moved_since_an_app_was_seeded_is_found() {
    let place = Place::new();
    let (before, after) = (app("rename", "before"), app("rename", "after"));
    assert_eq!(
        place.out(&["local", "seed", "--app", &before]),
        "aws://111111111111/us-east-1  Shop  created\n"
    );
    let check = ["refactor", "--dry-run", "--check", "--local"];
    let nothing = place.run(&[&check[..], &["--app", &before]].concat());
    assert_eq!(nothing.status.code(), Some(0), "{}", text(&nothing.stdout));
    let moved = place.run(&[&check[..], &["--app", &after]].concat());
    assert_eq!(moved.status.code(), Some(4));
    assert!(text(&moved.stdout).contains("Shop.OrdersTable1F8332C7"));
}

#[test]
fn the_account_and_the_assembly_that_was_deployed_give_the_same_answer() {
    for name in ["rfc-0162", "nested-stack", "two-regions", "stages", "strong-references"] {
        let place = Place::new();
        let (before, after) = (app(name, "before"), app(name, "after"));
        place.out(&["local", "seed", "--app", &before, "--local", "state"]);
        let old = ["--additional-stack-name", "MyStack"];
        let old: &[&str] = if name == "rfc-0162" { &old } else { &[] };
        let dry = ["refactor", "--dry-run", "--app", &after, "--output", "json"];
        let mut account = place.json(&[&dry[..], &["--local", "state"], old].concat());
        let assembly = place.json(&[&dry[..], &["--against", &before]].concat());
        for environment in account["environments"].as_array_mut().unwrap() {
            // Only with an account there is something to be done.
            environment.as_object_mut().unwrap().remove("plan");
        }
        assert_eq!(account, assembly, "{name}");
    }
}

#[test]
fn an_app_seeded_again_changes_nothing_and_one_that_changed_is_updated() {
    let place = Place::new();
    let (before, after) = (app("rename", "before"), app("rename", "after"));
    place.out(&["local", "seed", "--app", &before]);
    let generation = |place: &Place| {
        let shown = place.out(&["local", "show", "Shop", "--output", "json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["stacks"][0]["resources"].clone()
    };
    let first = generation(&place);
    assert!(place.out(&["local", "seed", "--app", &before]).ends_with("Shop  unchanged\n"));
    assert_eq!(generation(&place), first);
    assert!(place.out(&["local", "seed", "--app", &after]).ends_with("Shop  updated\n"));
    assert_ne!(generation(&place), first);
}

#[test]
fn stacks_are_listed_and_shown_and_forgotten() {
    let place = Place::new();
    let error = place.err(&["local", "ls"], 1);
    assert!(error.contains("there is no embedded CloudFormation in `.cdkr/local`"), "{error}");
    place.out(&["local", "seed", "--app", &app("nested-stack", "before")]);
    let list = place.out(&["local", "ls"]);
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains("CREATE_COMPLETE"), "{list}");
    let shown = place.out(&["local", "show", "Shop"]);
    assert!(shown.contains("AWS::CloudFormation::Stack"), "{shown}");
    let error = place.err(&["local", "show", "Nope"], 1);
    assert!(error.contains("there is no stack `Nope`"), "{error}");
    assert!(place.out(&["local", "reset"]).starts_with("Forgot everything"));
    assert!(place.out(&["local", "reset"]).starts_with("There is nothing"));
}

#[test]
fn a_directory_that_is_somebody_elses_is_neither_used_nor_deleted() {
    let place = Place::new();
    let file = place.path().join("mine/thesis.txt");
    std::fs::create_dir(place.path().join("mine")).unwrap();
    std::fs::write(&file, "years of work").unwrap();
    let before = app("rename", "before");
    for arguments in [
        &["local", "reset", "--local", "mine"][..],
        &["local", "seed", "--local", "mine", "--app", &before],
    ] {
        let error = place.err(arguments, 1);
        assert!(
            error.contains("`mine` is not the directory of an embedded CloudFormation"),
            "{error}"
        );
    }
    assert!(file.exists());
}

#[test]
fn a_stack_that_is_nowhere_is_an_error_even_if_nothing_moved() {
    let place = Place::new();
    let before = app("rename", "before");
    place.out(&["local", "seed", "--app", &before]);
    let arguments =
        ["refactor", "--dry-run", "--local", "--app", &before, "--additional-stack-name", "Old"];
    let error = place.err(&arguments, 1);
    assert!(error.contains("`--additional-stack-name Old`"), "{error}");
}

#[test]
fn a_fault_that_is_none_is_wrong_usage_that_lists_what_there_is() {
    let place = Place::new();
    let error = place.err(&["local", "serve", "--port", "0", "--fault", "earthquake"], 2);
    assert!(error.contains("throttle=5"), "{error}");
}

#[test]
fn an_app_that_is_run_is_told_the_account_in_which_it_would_be_deployed() {
    let place = Place::new();
    let before = app("rename", "before");
    place.out(&["local", "seed", "--app", &before]);
    let command = format!(
        "echo \"$CDK_DEFAULT_ACCOUNT $CDK_DEFAULT_REGION\" > said; cp -r {before}/. $CDK_OUTDIR"
    );
    let arguments =
        ["refactor", "--dry-run", "--local", "--region", "eu-west-1", "--app", &command];
    place.out(&arguments);
    let said = std::fs::read_to_string(place.path().join("said")).unwrap();
    assert_eq!(said, "123456789012 eu-west-1\n");
}
