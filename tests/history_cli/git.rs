//! With a real Git.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::text;
use crate::project::Project;

/// A project in a working tree of Git, on the branch `main`.
struct Repository(Project);

impl Repository {
    /// `None`, with a message, if there is no Git.
    #[expect(clippy::print_stderr, reason = "whoever runs the tests has to know")]
    fn of(name: &str) -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("there is no git here: this was not tested");
            return None;
        }
        let repository = Self(Project::of(name));
        repository.git(&["init", "-q", "-b", "main", "."]);
        fs::write(repository.0.path().join(".gitignore"), "cdk.out\n").unwrap();
        Some(repository)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(&[]);
        let cdkr = Path::new(env!("CARGO_BIN_EXE_cdkr")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([cdkr].into_iter().chain(std::env::split_paths(&path)));
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.0.path()).env_clear();
        for (name, value) in command.get_envs() {
            git.env(name, value.unwrap_or_default());
        }
        git.env("PATH", path.unwrap()).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Dev").env(format!("GIT_{who}_EMAIL"), "d@e.f");
        }
        command.arg("");
        git
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {all}");
        all
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success(), "git {arguments:?}: {all}");
        all
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "A state"]);
    }

    /// Records the app, and commits it.
    fn record(&self, arguments: &[&str]) {
        self.0.record(arguments);
        self.commit();
    }

    fn heads(&self) -> usize {
        let graph = self.0.out(&["history", "graph"]);
        graph.matches("(head)").count()
    }
}

#[test]
fn the_hook_stops_a_commit_whose_state_is_not_recorded_or_not_in_it() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    project.record(&[]);
    let said = project.out(&["history", "install-hook"]);
    assert!(said.contains("pre-commit") && said.contains(".gitattributes"), "{said}");
    assert_eq!(project.out(&["history", "install-hook"]), "Everything is in place.\n");
    let error = repository.refused(&["commit", "--allow-empty", "-m", "x"]);
    assert!(error.contains("git add cdkr.history.jsonl"), "{error}");
    repository.commit();
    project.becomes("rename", "after");
    let error = repository.refused(&["commit", "--allow-empty", "-m", "x"]);
    assert!(error.contains("The app is not as the log says"), "{error}");
    project.record(&[]);
    repository.git(&["add", "cdkr.history.jsonl"]);
    let error = repository.refused(&["commit", "-m", "x"]);
    assert!(error.contains("git add cdkr.history.jsonl cdkr.history"), "{error}");
    repository.commit();
    let attributes = fs::read_to_string(project.path().join(".gitattributes")).unwrap();
    assert_eq!(attributes.lines().count(), 2, "{attributes}");
}

#[test]
fn a_hook_of_somebody_else_is_replaced_only_if_it_is_wanted() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    let hooks = project.path().join("hooks of ours");
    fs::create_dir(&hooks).unwrap();
    repository.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    let hook = hooks.join("pre-commit");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    let error = project.failing(&["history", "install-hook"], 1);
    assert!(error.contains("somebody else has written it"), "{error}");
    assert!(error.contains("cdkr history record --check"), "{error}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\nexit 0\n");
    assert!(!project.path().join(".gitattributes").exists());
    project.out(&["history", "install-hook", "--force"]);
    assert!(fs::read_to_string(&hook).unwrap().contains("cdkr history record --check"));
    let kept = fs::read_to_string(hooks.join("pre-commit.replaced")).unwrap();
    assert_eq!(kept, "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_hook_knows_several_projects_of_one_repository() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    let other = project.path().join("it's another");
    fs::create_dir(&other).unwrap();
    project.out(&["history", "install-hook"]);
    let mut install = project.command(&["history", "install-hook", "--app", "out put"]);
    assert!(install.current_dir(&other).output().unwrap().status.success());
    let hook = fs::read_to_string(project.path().join(".git/hooks/pre-commit")).unwrap();
    assert_eq!(hook.matches("record --check").count(), 2, "{hook}");
    assert!(
        hook.contains(
            r"cd 'it'\''s another' && cdkr history record --check --quiet --app 'out put'"
        )
    );
    project.record(&[]);
    repository.git(&["add", "."]);
    let error = repository.refused(&["commit", "-m", "x"]);
    assert!(error.contains("the app gave no cloud assembly") && error.contains("out put"));
}

/// Two branches: one renames a table, the other adds a queue.
fn two_branches(repository: &Repository) {
    let project = &repository.0;
    project.out(&["history", "record"]);
    project.out(&["history", "install-hook"]);
    repository.commit();
    repository.git(&["checkout", "-q", "-b", "theirs"]);
    project.edit("\"Resources\": {", "\"Resources\": {\"Jobs\": {\"Type\": \"AWS::SQS::Queue\"},");
    repository.record(&[]);
    repository.git(&["checkout", "-q", "main"]);
    project.becomes("rename", "after");
    repository.record(&[]);
}

/// What the app is once Git has merged both branches.
fn merged_app(project: &Project) {
    project.becomes("rename", "after");
    project.edit("\"Resources\": {", "\"Resources\": {\"Jobs\": {\"Type\": \"AWS::SQS::Queue\"},");
}

#[test]
fn git_merges_both_logs_and_the_hook_demands_that_they_meet() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    two_branches(&repository);
    merged_app(project);
    let error = repository.refused(&["merge", "theirs"]);
    assert!(error.contains("the log has branched"), "{error}");
    assert!(!error.contains("CONFLICT"), "{error}");
    assert_eq!(repository.heads(), 2);
    for command in ["record", "log", "show", "snapshot", "diff"] {
        let error = project.failing(&["history", command], 1);
        assert!(error.contains("Merge the branches with `cdkr history merge`"), "{error}");
    }
    assert!(repository.refused(&["commit", "-m", "x"]).contains("the log has branched"));
    let said = project.out(&["history", "merge"]);
    assert!(said.starts_with("2 branches merged"), "{said}");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "Merge"]);
    assert_eq!(repository.heads(), 1);
    assert_eq!(project.out(&["history", "merge"]), "There is nothing to merge.\n");
    let graph = super::without_chance(&project.out(&["history", "graph"]));
    insta::assert_snapshot!("graph-of-a-merge", graph);
    let log = project.out(&["history", "log", "--oneline"]);
    let hash = |at: usize| log.lines().nth(at).unwrap()[..12].to_owned();
    let diff = project.out(&["history", "diff", &hash(3), "HEAD"]);
    assert!(diff.contains("Moved") && diff.contains("+ AWS::SQS::Queue  Jobs"), "{diff}");
    let error = project.failing(&["history", "show", "HEAD~1"], 1);
    assert!(error.contains("each of them is the one before"), "{error}");
}

#[test]
fn what_the_merged_app_calls_otherwise_than_both_branches_is_found() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    two_branches(&repository);
    merged_app(project);
    project.edit("PurchasesTable", "BuysTable");
    repository.refused(&["merge", "theirs"]);
    let said = project.out(&["history", "merge"]);
    assert!(said.contains("BuysTable"), "{said}");
    let shown = project.out(&["history", "show"]);
    assert_eq!(shown.matches("→ Shop.BuysTable090EA98E  (detected: digest)").count(), 2, "{shown}");
    assert_eq!(project.out(&["history", "record", "--check"]), "The app is as the log says.\n");
}

#[test]
fn branches_that_give_one_resource_two_names_are_a_question() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    project.out(&["history", "record"]);
    project.out(&["history", "install-hook"]);
    repository.commit();
    repository.git(&["checkout", "-q", "-b", "theirs"]);
    project.edit("OrdersTable1F8332C7", "BuysTable12345678");
    repository.record(&[]);
    repository.git(&["checkout", "-q", "main"]);
    project.becomes("rename", "after");
    repository.record(&[]);
    let before = project.files();
    repository.refused(&["merge", "theirs"]);
    let error = project.failing(&["history", "merge"], 1);
    assert!(error.contains("the branches do not agree"), "{error}");
    let map = "--map Shop.BuysTable12345678:Shop.PurchasesTable090EA98E";
    assert!(error.contains(map), "{error}");
    assert_ne!(project.files(), before);
    let map = map.split(' ').collect::<Vec<_>>();
    project.out(&[&["history", "merge"], &map[..]].concat());
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "Merge"]);
}

#[test]
fn a_clone_without_the_driver_gets_marks_of_a_conflict_and_merges_nevertheless() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    two_branches(&repository);
    repository.git(&["config", "--remove-section", "merge.cdkr-history"]);
    repository.git(&["config", "merge.conflictStyle", "diff3"]);
    merged_app(project);
    assert!(repository.refused(&["merge", "theirs"]).contains("CONFLICT"));
    let error = project.failing(&["history", "log"], 1);
    assert!(error.contains("a mark of a merge conflict"), "{error}");
    let said = project.out(&["history", "merge"]);
    assert!(said.starts_with("2 branches merged"), "{said}");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "Merge"]);
    assert_eq!(project.out(&["history", "record", "--check"]), "The app is as the log says.\n");
}

#[test]
fn a_project_in_a_directory_of_its_own_is_checked_there() {
    let Some(repository) = Repository::of("rename") else { return };
    let (project, top) = (&repository.0, repository.0.path());
    let inside = top.join("infra");
    fs::create_dir(&inside).unwrap();
    for name in ["cdk.json", "cdk.out"] {
        fs::rename(top.join(name), inside.join(name)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let output = project.command(arguments).current_dir(&inside).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    };
    run(&["history", "record"]);
    run(&["history", "install-hook"]);
    let error = repository.refused(&["commit", "--allow-empty", "-m", "x"]);
    assert!(error.contains("the history is not in this commit"), "{error}");
    repository.commit();
    assert!(inside.join(".gitattributes").exists());
    fs::remove_dir_all(inside.join("cdkr.history")).unwrap();
    run(&["history", "record"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "y"]);
}

#[test]
fn templates_that_are_lost_are_found_in_git() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    repository.record(&[]);
    fs::remove_dir_all(project.path().join("cdkr.history")).unwrap();
    project.becomes("rename", "after");
    assert!(project.record(&[]).contains("3 resources moved"));
}

#[test]
fn another_log_is_merged_from_its_file() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    two_branches(&repository);
    let theirs = repository.git(&["show", "theirs:cdkr.history.jsonl"]);
    fs::write(project.path().join("theirs.jsonl"), theirs).unwrap();
    merged_app(project);
    let said = project.out(&["history", "merge", "theirs.jsonl"]);
    assert!(said.starts_with("2 branches merged"), "{said}");
    let said = project.out(&["history", "merge", "theirs.jsonl"]);
    assert_eq!(said, "There is nothing to merge.\n");
}

#[test]
fn logs_that_began_separately_stay_a_conflict() {
    let Some(repository) = Repository::of("rename") else { return };
    let project = &repository.0;
    project.out(&["history", "install-hook"]);
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "--no-verify", "-m", "Without a log"]);
    repository.git(&["checkout", "-q", "-b", "theirs"]);
    repository.record(&[]);
    repository.git(&["checkout", "-q", "main"]);
    project.becomes("rename", "after");
    repository.record(&[]);
    let error = repository.refused(&["merge", "theirs"]);
    assert!(error.contains("a second history begins here"), "{error}");
    assert!(error.contains("CONFLICT"), "{error}");
}
