//! `cdkr deploy`, by the program itself against the embedded CloudFormation.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "deploy_cli/guards.rs"]
mod guards;
mod program;

use std::collections::{BTreeMap, BTreeSet};

use program::{Place, app, text};
use serde_json::{Value as Json, json};

fn deploy<'a>(app: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let deploy = ["deploy", "--all", "--local", "--require-approval", "never", "--app", app];
    [&deploy[..], more].concat()
}

/// Deploys an app as it was.
fn deployed(name: &str) -> Place {
    let place = Place::new();
    place.out(&deploy(&app(name, "before"), &[]));
    place
}

/// The answers of a deployment that succeeds, a value for each line.
fn lines(place: &Place, arguments: &[&str]) -> Vec<Json> {
    let said = place.out(&[arguments, &["--output", "json"]].concat());
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(lines: &'a [Json], event: &str) -> &'a Json {
    lines.iter().find(|line| line["event"] == event).unwrap_or_else(|| panic!("{event}: {lines:?}"))
}

/// The templates of all stacks as they are deployed, by region and name.
fn templates(place: &Place) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    let root = place.path().join(".cdkr/local");
    for account in std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(regions) = std::fs::read_dir(&account) else { continue };
        for region in regions.map(|entry| entry.unwrap().path()) {
            let Ok(stacks) = std::fs::read_dir(region.join("stacks")) else { continue };
            for stack in stacks.map(|entry| entry.unwrap().path()) {
                let stack: Json = serde_json::from_slice(&std::fs::read(&stack).unwrap()).unwrap();
                let name = stack["info"]["name"].as_str().unwrap();
                let body = stack["input"]["template"].as_str().unwrap();
                let key = format!("{} {name}", region.file_name().unwrap().to_str().unwrap());
                found.insert(key, serde_json::from_str(body).unwrap());
            }
        }
    }
    found
}

/// Lets the next creation or change of a resource fail.
fn fail(place: &Place, stack: &str, logical_id: &str) {
    let fault = json!({"resources": [
        {"stack": stack, "logical_id": logical_id, "message": "Out of luck"}]});
    let file = place.path().join(".cdkr/local/111111111111/us-east-1/faults.json");
    std::fs::write(file, fault.to_string()).unwrap();
}

/// Stacks that the app had before and does not have any more, as options.
fn old_stacks(name: &str) -> Vec<&'static str> {
    match name {
        "rfc-0162" => vec!["--additional-stack-name", "MyStack"],
        "stack-rename" => vec!["--additional-stack-name", "shop-prod"],
        _ => Vec::new(),
    }
}

/// What somebody has to agree to, or to decide, in an app.
fn losses(name: &str) -> Vec<&'static str> {
    let allowed: &[&str] = match name {
        "commerce" => &["Events/Newsletter/**", "Orders/Carts/**"],
        "embrace" => &["Data/Files/**"],
        // A topic goes away.
        "rename-add-change" => &["Shop/Orders/Changes/**"],
        // Nobody can tell them apart: somebody has to.
        "twins" => return vec!["--map", "Shop/Orders/Queue:Shop/Purchases/Queue"],
        _ => &[],
    };
    allowed.iter().flat_map(|one| ["--allow-replacement", one]).collect()
}

#[test]
fn every_app_of_the_fixtures_is_deployed_and_everything_that_moved_is_still_the_same() {
    let apps = std::fs::read_dir(format!("{}/fixtures/apps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut apps: Vec<String> =
        apps.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    apps.sort();
    for name in apps.iter().filter(|name| *name != "replaced" && *name != "stack-rename") {
        let place = deployed(name);
        let after = app(name, "after");
        let more = [&["--ignore-ambiguous-refactoring"][..], &old_stacks(name), &losses(name)];
        let more = more.concat();
        let keeping = [&more[..], &["--keep-names"]].concat();
        let said = lines(&place, &deploy(&after, &keeping));
        for moved in of(&said, "finished")["moved"].as_array().unwrap() {
            assert_eq!(moved["same"], true, "{name}: {moved}");
        }
        // What was kept once is kept without a word.
        let again = lines(&place, &deploy(&after, &more));
        for stack in of(&again, "finished")["stacks"].as_array().unwrap() {
            assert_eq!(stack["outcome"], "unchanged", "{name}: {stack}");
        }
    }
}

#[test]
fn what_can_neither_move_nor_be_made_anew_beside_itself_stops_the_deployment() {
    let place = deployed("stack-rename");
    let before = place.resources();
    let old = old_stacks("stack-rename");
    let output = place.run(&deploy(&app("stack-rename", "after"), &old));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("shop-prod.VpcPublicSubnet1RouteTableAssociation97140677"), "{said}");
    assert!(said.contains("a new one cannot be created while the old one exists"), "{said}");
    assert_eq!(place.resources(), before);
}

#[test]
fn what_a_retention_policy_keeps_is_no_loss() {
    let place = deployed("replaced");
    let said = place.out(&deploy(&app("replaced", "after"), &["--verbose"]));
    assert!(said.contains("stays in the account without a stack"), "{said}");
    assert!(place.resources().contains_key("us-east-1 Shop.InvoicesBucketB61C805D"));
}

#[test]
fn without_refactoring_what_moved_is_replaced_once_somebody_allows_it() {
    let place = deployed("rename");
    let before = place.resources();
    let after = app("rename", "after");
    let replace = ["--refactoring", "DEPLOY_WITHOUT_REFACTORING"];
    let output = place.run(&deploy(&after, &[&replace[..], &["--yes"]].concat()));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("Data or identity would be lost"), "{said}");
    assert!(said.contains("Shop.OrdersQueueC538DD4C"), "{said}");
    assert_eq!(place.resources(), before);
    let allowed = [&replace[..], &["--allow-replacement", "AWS::*"]].concat();
    place.out(&deploy(&after, &allowed));
    let now = place.resources();
    let table = now["us-east-1 Shop.PurchasesTable090EA98E"];
    assert_ne!(table, before["us-east-1 Shop.OrdersTable1F8332C7"]);
}

#[test]
fn to_quit_changes_nothing_and_is_no_success() {
    let place = deployed("rename");
    let before = place.resources();
    place.err(&deploy(&app("rename", "after"), &["--refactoring", "QUIT"]), 1);
    assert_eq!(place.resources(), before);
}

#[test]
fn the_file_of_the_project_says_what_is_done_about_moves() {
    let place = deployed("rename");
    std::fs::write(place.path().join("cdk.json"), r#"{"refactoring": "QUIT"}"#).unwrap();
    let after = app("rename", "after");
    place.err(&deploy(&after, &[]), 1);
    place.out(&deploy(&after, &["--refactoring", "EXECUTE_AND_DEPLOY"]));
}

#[test]
fn to_ask_without_a_terminal_is_an_error_that_names_the_flag() {
    let place = deployed("rename");
    let error = place.err(&deploy(&app("rename", "after"), &["--refactoring", "ASK"]), 2);
    assert!(error.contains("--refactoring"), "{error}");
}

#[test]
fn what_cannot_be_told_apart_stops_unless_somebody_says_otherwise() {
    let place = deployed("twins");
    let before = place.resources();
    let after = app("twins", "after");
    let error = place.err(&deploy(&after, &[]), 3);
    assert!(error.contains("--ignore-ambiguous-refactoring"), "{error}");
    assert_eq!(place.resources(), before);
    let ignored = ["--ignore-ambiguous-refactoring"];
    place.err(&deploy(&after, &ignored), 3);
    assert_eq!(
        place.resources(),
        before,
        "what is ignored would be lost, and that is another question"
    );
    place.out(&deploy(
        &after,
        &["--ignore-ambiguous-refactoring", "--allow-replacement", "Shop/**"],
    ));
}

#[test]
fn a_failure_in_any_stack_of_a_chain_takes_back_what_is_not_deployed() {
    for (at, failing) in ["Base", "Middle", "Top"].into_iter().enumerate() {
        let place = deployed("chain");
        let (before, known) = (place.resources(), templates(&place));
        fail(&place, failing, "Version6A868472");
        let after = app("chain", "after");
        let error = place.err(&deploy(&after, &[]), 1);
        assert!(error.contains("Out of luck"), "{failing}: {error}");
        assert!(error.contains("taken back"), "{failing}: {error}");
        let now = place.resources();
        for stack in ["Base", "Middle", "Top"].into_iter().skip(at) {
            let of = |all: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
                let prefix = format!("us-east-1 {stack}.");
                let mine = all.iter().filter(|(name, _)| name.starts_with(&prefix));
                mine.map(|(name, generation)| (name.clone(), *generation)).collect()
            };
            assert_eq!(of(&now), of(&before), "{failing} failed: {stack}");
        }
        if at == 0 {
            // Nothing was deployed, so that no export has another name either.
            assert_eq!(templates(&place), known);
        }
        let generations: BTreeSet<_> = before.values().collect();
        let left: BTreeSet<u64> = place.resources().into_values().collect();
        assert!(generations.into_iter().all(|one| left.contains(one)), "{failing}: lost something");
        // The next one succeeds, with everything that was there from the start.
        place.out(&deploy(&after, &[]));
        let left: BTreeSet<u64> = place.resources().into_values().collect();
        assert!(before.values().all(|one| left.contains(one)), "{failing}: replaced something");
    }
}

#[test]
fn without_rollback_the_moves_stay_and_the_next_deployment_goes_on_from_there() {
    let place = deployed("chain");
    let before = place.resources();
    fail(&place, "Middle", "Version6A868472");
    let after = app("chain", "after");
    let error = place.err(&deploy(&after, &["--no-rollback"]), 1);
    assert!(error.contains("UPDATE_FAILED"), "{error}");
    assert!(error.contains("4 moves stay"), "{error}");
    assert!(error.contains("`cdkr deploy --no-rollback` goes on from here"), "{error}");
    let error = place.err(&deploy(&after, &[]), 1);
    assert!(error.contains("`cdkr deploy --no-rollback`"), "{error}");
    place.out(&deploy(&after, &["--no-rollback"]));
    let now: BTreeSet<u64> = place.resources().into_values().collect();
    assert!(before.values().all(|one| now.contains(one)), "{now:?}");
    let said = lines(&place, &deploy(&after, &[]));
    for stack in of(&said, "finished")["stacks"].as_array().unwrap() {
        assert_eq!(stack["outcome"], "unchanged", "{stack}");
    }
}

#[test]
fn what_is_handed_over_is_not_taken_away_by_a_deployment_that_fails() {
    // The policy of a function goes with it to another stack, and cannot be moved.
    let place = deployed("move");
    let after = app("move", "after");
    let said = lines(&place, &deploy(&after, &[]));
    let deployed: Vec<&str> = said
        .iter()
        .filter(|line| line["event"] == "deploying")
        .map(|line| line["stack"].as_str().unwrap())
        .collect();
    assert_eq!(deployed, ["Storage", "Ingest", "Storage"], "{said:?}");
    let now = Json::from_iter(templates(&place)).to_string();
    assert_eq!(now.matches("CdkrFiller").count(), 0, "{now}");
}

#[test]
fn the_deadly_embrace_needs_one_deployment() {
    let place = deployed("embrace");
    let after = app("embrace", "after");
    let allowed = ["--allow-replacement", "Data/Files/**"];
    let said = lines(&place, &deploy(&after, &allowed));
    let held: Vec<&Json> = of(&said, "outlook")["stacks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|stack| stack["heldExports"].as_array().unwrap())
        .collect();
    assert_eq!(held.len(), 1, "{held:?}");
    let stacks = of(&said, "finished")["stacks"].as_array().unwrap();
    let stacks: Vec<&str> = stacks.iter().map(|stack| stack["id"].as_str().unwrap()).collect();
    assert_eq!(stacks, ["Api", "Data"], "each once, although one was deployed twice");
    let now = templates(&place);
    assert!(!now["us-east-1 Data"].to_string().contains("Files"), "{now:?}");
    assert!(!now["us-east-1 Data"].to_string().contains("CdkrFiller"), "{now:?}");
}

#[test]
fn a_reference_becomes_weak_in_one_deployment() {
    let place = deployed("strong-to-weak");
    let before = place.resources();
    place.out(&deploy(&app("strong-to-weak", "after"), &[]));
    let now = templates(&place);
    assert!(!now["us-east-1 Data"].to_string().contains("\"Export\""), "{now:?}");
    let left: BTreeSet<u64> = place.resources().into_values().collect();
    assert!(before.values().all(|one| left.contains(one)));
}

#[test]
fn what_a_selection_needs_and_shares_resources_with_is_deployed_as_well() {
    let place = deployed("chain");
    let after = app("chain", "after");
    let arguments = ["deploy", "Top", "--local", "--require-approval", "never", "--app", &after];
    let output = place.run(&arguments);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Middle is deployed as well"), "{said}");
    assert!(said.contains("Base is deployed as well"), "{said}");
}

#[test]
fn exclusively_other_stacks_are_not_deployed() {
    let place = deployed("strong-references");
    let known = templates(&place);
    let after = app("strong-references", "after");
    let arguments =
        ["deploy", "Data", "-e", "--local", "--require-approval", "never", "--app", &after];
    place.out(&arguments);
    let now = templates(&place);
    assert!(now["us-east-1 Data"].to_string().contains("Purchases"));
    assert!(!known["us-east-1 Api"].is_null());
}

#[test]
fn several_stacks_are_deployed_only_if_somebody_says_which() {
    let place = Place::new();
    let error = place.err(&["deploy", "--local", "--app", &app("chain", "before")], 2);
    assert!(error.contains("Base, Middle, Top"), "{error}");
    assert!(error.contains("--all"), "{error}");
}

#[test]
fn outputs_are_written_to_a_file_by_stack() {
    let place = Place::new();
    place.out(&deploy(&app("rest-api", "before"), &["--outputs-file", "out/outputs.json"]));
    let text = std::fs::read_to_string(place.path().join("out/outputs.json")).unwrap();
    let outputs: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&text).unwrap();
    assert!(outputs.values().flatten().count() > 0, "{outputs:?}");
}

#[test]
fn a_value_for_a_parameter_that_no_stack_has_is_refused() {
    let place = Place::new();
    let after = app("rename", "before");
    let error = place.err(&deploy(&after, &["--parameters", "Shop:Nothing=1"]), 1);
    assert!(error.contains("--parameters Shop:Nothing=…"), "{error}");
}

/// The commands of a step of the recipe for GitHub Actions.
#[cfg(unix)]
fn recipe(step: &str) -> String {
    let file = format!("{}/fixtures/ci/github-actions.yml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let (_, rest) = text.split_once(&format!("- name: {step}\n")).unwrap();
    let (_, rest) = rest.split_once("run: |\n").unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("          "));
    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
}

#[cfg(unix)]
fn run_recipe(place: &Place, step: &str) -> std::process::Output {
    let script = recipe(step);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_cdkr")).parent().unwrap();
    let path = std::env::join_paths(
        [program.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    // As the runner does it.
    let mut bash = std::process::Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script]);
    bash.env("CDKR_LOCAL", "1").env("CI", "true").env("PATH", path.unwrap());
    bash.env("HOME", place.path()).current_dir(place.path()).stdin(std::process::Stdio::null());
    bash.output().unwrap()
}

#[cfg(unix)]
#[test]
fn the_recipe_for_github_actions_works_as_it_is_written() {
    let place = Place::new();
    let use_app = |side: &str| {
        let link = place.path().join("cdk.out");
        drop(std::fs::remove_file(&link));
        std::os::unix::fs::symlink(app("rename", side), link).unwrap();
    };
    use_app("before");
    let first = run_recipe(&place, "Deploy");
    assert!(first.status.success(), "{}", text(&first.stderr));
    let before = place.resources();
    use_app("after");
    let look = run_recipe(&place, "Look");
    assert!(look.status.success(), "{}", text(&look.stderr));
    assert!(text(&look.stdout).contains("Shop.PurchasesTable090EA98E"), "{}", text(&look.stdout));
    let second = run_recipe(&place, "Deploy");
    assert!(second.status.success(), "{}", text(&second.stderr));
    let now = place.resources();
    assert!(before.values().all(|one| now.values().any(|other| other == one)), "{now:?}");
    assert!(place.path().join("outputs.json").exists());
}
