//! The story that the README tells: two developers, three environments in two accounts, revisions
//! that an environment skips, equal queues that were renamed. What one developer decides once
//! holds for everybody and everywhere, and production is deployed without a question.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use program::{Place, text};
use serde_json::Value as Json;

/// What says which of the two queues is which, in all environments.
const DECISION: &str = "*/Shop/Orders/**:*/Shop/Purchases/**";

/// The repository of an app, in which two developers work.
struct Repository(Place);

impl Repository {
    fn new() -> Self {
        let repository = Self(Place::new());
        let app = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/story/app.sh");
        let config = serde_json::json!({"app": format!("sh {}", app.display())});
        repository.write("cdk.json", &config.to_string());
        repository.write(".gitignore", "cdk.out\n.cdkr\n");
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.git(&["config", "user.name", "Ann"]);
        repository.git(&["config", "user.email", "ann@example.com"]);
        repository
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// What the developers have made of the app.
    fn edit(&self, ann: u8, bob: u8) {
        self.write("ann", &format!("{ann}\n"));
        self.write("bob", &format!("{bob}\n"));
    }

    fn try_git(&self, arguments: &[&str]) -> Output {
        let programs = PathBuf::from(env!("CARGO_BIN_EXE_cdkr"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", programs.parent().unwrap().display());
        let mut git = Command::new("git");
        git.args(arguments).env_clear().env("HOME", self.0.path()).env("PATH", path);
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_MERGE_AUTOEDIT", "no");
        git.current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "git {arguments:?}: {said}");
        said
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Deploys an environment, or all of them, where nobody can answer.
    fn deploy(&self, stacks: &str) -> String {
        self.0.out(&["deploy", stacks, "--local", "--ci", "--require-approval", "never"])
    }

    /// The physical ID of every resource of an environment, by its logical ID without the hash.
    fn resources(&self, stack: &str) -> BTreeMap<String, String> {
        let shown = self.0.json(&["local", "show", stack, "--output", "json"]);
        let resources = shown["stacks"][0]["resources"].as_array().unwrap();
        let of = |one: &Json, key: &str| one[key].as_str().unwrap().to_owned();
        let named = |id: String| id[..id.len() - 8].to_owned();
        let pairs =
            resources.iter().map(|one| (named(of(one, "logicalId")), of(one, "physicalId")));
        pairs.collect()
    }
}

/// Whether Git is there; without it nobody has hooks and branches.
fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok()
}

#[test]
fn what_one_developer_decides_once_holds_in_every_environment() {
    if !has_git() {
        return;
    }
    let shop = Repository::new();
    let same = |before: &BTreeMap<String, String>, stack: &str, names: [(&str, &str); 3]| {
        let after = shop.resources(stack);
        for (old, new) in names {
            assert_eq!(before[old], after[new], "{stack}: {old} → {new}");
        }
    };

    // Revision 1 is deployed everywhere, and the history begins.
    shop.edit(1, 0);
    shop.0.out(&["history", "record"]);
    shop.0.out(&["history", "install-hook"]);
    shop.commit("Begin");
    shop.deploy("**");
    let [dev, test, prod] = ["Dev-Shop", "Test-Shop", "Prod-Shop"].map(|one| shop.resources(one));

    // Ann renames both queues. The hook reminds her; nothing but she can tell them apart.
    shop.git(&["checkout", "--quiet", "-b", "ann"]);
    shop.edit(2, 0);
    shop.git(&["add", "--all"]);
    let refused = shop.try_git(&["commit", "--quiet", "--message", "Rename the queues"]);
    assert!(!refused.status.success(), "the hook lets a change pass that was not recorded");
    let question = shop.0.run(&["history", "record", "--ci"]);
    assert_eq!(question.status.code(), Some(3), "{}", text(&question.stderr));
    shop.0.out(&["history", "record", "--map", DECISION]);
    let late = shop.0.err(&["history", "record", "--map", DECISION], 1);
    assert!(late.contains("comes too late"), "{late}");
    shop.commit("Rename the queues");
    shop.deploy("Dev/*");
    same(
        &dev,
        "Dev-Shop",
        [("Orders", "Purchases"), ("Payments", "Invoices"), ("Customers", "Customers")],
    );

    // She renames one of them once more. The test environment skips revision 2.
    shop.edit(3, 0);
    shop.0.out(&["history", "record", "--ci"]);
    shop.commit("Call it sales, and put the customers into a construct");
    shop.deploy("Dev/*");
    shop.deploy("Test/*");
    let names = [("Orders", "Sales"), ("Payments", "Invoices"), ("Customers", "DataCustomers")];
    same(&dev, "Dev-Shop", names);
    same(&test, "Test-Shop", names);

    // Bob, on a branch of his own from the beginning, adds a topic.
    shop.git(&["checkout", "--quiet", "main"]);
    shop.git(&["checkout", "--quiet", "-b", "bob"]);
    shop.edit(1, 1);
    shop.0.out(&["history", "record", "--ci"]);
    shop.commit("Alert somebody");

    // Both are merged. A log with two ends is refused until they have met.
    shop.git(&["checkout", "--quiet", "main"]);
    shop.git(&["merge", "--quiet", "ann"]);
    shop.try_git(&["merge", "--quiet", "bob"]);
    let branched = shop.0.run(&["deploy", "Prod/*", "--local", "--ci"]);
    assert_eq!(branched.status.code(), Some(1), "{}", text(&branched.stderr));
    assert!(text(&branched.stderr).contains("cdkr history merge"), "{}", text(&branched.stderr));
    shop.0.out(&["history", "merge", "--ci"]);
    shop.commit("Merge what Ann and Bob have done");

    // Production goes from revision 1 to revision 4, and nobody is asked.
    shop.deploy("Prod/*");
    same(&prod, "Prod-Shop", names);
    assert!(shop.resources("Prod-Shop").contains_key("Alerts"));
    shop.deploy("**");
    same(&dev, "Dev-Shop", names);
    same(&test, "Test-Shop", names);
    shop.0.out(&["history", "record", "--check"]);
}

#[test]
fn without_the_history_production_has_to_ask() {
    let shop = Repository::new();
    shop.edit(1, 0);
    shop.deploy("**");
    shop.edit(3, 1);
    let asked = shop.0.run(&["deploy", "Prod/*", "--local", "--ci"]);
    assert_eq!(asked.status.code(), Some(3), "{}", text(&asked.stderr));
}
