//! What users see: the whole program on the fixtures, its two streams and its exit code.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A call of the program in a cleared environment.
struct Call {
    command: Command,
    home: TempDir,
}

impl Call {
    fn new(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdkr"));
        command.args(arguments).env_clear().env("HOME", home.path()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("COLUMNS", "100").current_dir(env!("CARGO_MANIFEST_DIR"));
        Self { command, home }
    }

    /// Compares the two assemblies of a fixture.
    fn fixture(name: &str, arguments: &[&str]) -> Self {
        let (after, before) = (side(name, "after"), side(name, "before"));
        let mut all = vec!["refactor", "--dry-run", "--app", &after, "--against", &before];
        all.extend(arguments);
        Self::new(&all)
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn within(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    fn run(mut self) -> Answer {
        let output = self.command.output().unwrap();
        drop(self.home);
        Answer {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Answer {
    /// All that there is to see, as one text.
    fn seen(&self) -> String {
        let mut text = self.out.clone();
        if !self.err.is_empty() {
            write!(text, "--- standard error stream ---\n{}", self.err).unwrap();
        }
        if self.code != Some(0) {
            writeln!(text, "--- exit code {:?} ---", self.code.unwrap_or(-1)).unwrap();
        }
        text
    }
}

fn side(name: &str, side: &str) -> String {
    format!("fixtures/apps/{name}/{side}")
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file with the given text, for as long as the directory lives.
fn file(text: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.json");
    fs::write(&path, text).unwrap();
    (directory, path.to_str().unwrap().to_owned())
}

#[test]
fn the_help_says_what_there_is() {
    insta::assert_snapshot!("help", Call::new(&["--help"]).run().seen());
    insta::assert_snapshot!("help-deploy", Call::new(&["deploy", "--help"]).run().out);
    insta::assert_snapshot!("help-drift", Call::new(&["drift", "--help"]).run().out);
    insta::assert_snapshot!("help-local-drift", Call::new(&["local", "drift", "--help"]).run().out);
    insta::assert_snapshot!("help-history", Call::new(&["history", "--help"]).run().out);
    let record = Call::new(&["history", "record", "--help"]).run().out;
    insta::assert_snapshot!("help-history-record", record);
    insta::assert_snapshot!("help-refactor", Call::new(&["refactor", "--help"]).run().seen());
    insta::assert_snapshot!("help-refactor-short", Call::new(&["refactor", "-h"]).run().seen());
}

#[test]
fn the_example_of_the_rfc_is_a_table_of_moves() {
    insta::assert_snapshot!("rfc", Call::fixture("rfc-0162", &[]).run().seen());
    insta::assert_snapshot!("rfc-paths", Call::fixture("rfc-0162", &["--paths"]).run().seen());
}

#[test]
fn the_example_of_the_rfc_is_explained() {
    insta::assert_snapshot!("rfc-explain", Call::fixture("rfc-0162", &["--explain"]).run().seen());
}

#[test]
fn the_form_for_programs_is_all_that_is_on_the_standard_output() {
    let answer = Call::fixture("rfc-0162", &["--output", "json", "--ci"]).run();
    assert_eq!(answer.code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(report["version"], 1);
    let environment = &report["environments"][0];
    assert_eq!(environment["account"], "111111111111");
    let bucket = environment["mappings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|mapping| mapping["type"] == "AWS::S3::Bucket")
        .unwrap();
    assert_eq!(bucket["source"]["stack"], "MyStack");
    assert_eq!(bucket["destination"]["path"], "Web/Website/Origin/Resource");
}

#[test]
fn twins_are_a_question_that_one_decision_answers() {
    insta::assert_snapshot!("twins", Call::fixture("twins", &[]).run().seen());
    let decision = ["--map", "Shop/Orders/Queue:Shop/Purchases/Queue", "--check"];
    let answer = Call::fixture("twins", &decision).run();
    assert!(!answer.out.contains("Ambiguous"), "{}", answer.out);
    assert_eq!(answer.code, Some(4));
}

#[test]
fn an_override_file_decides_in_each_of_its_forms() {
    let pair = r#"{"Shop/Orders/Queue": "Shop/Purchases/Queue"}"#;
    let scope = r#""account": "111111111111", "region": "us-east-1""#;
    for text in [
        format!(r#"{{"environments": [{{{scope}, "resources": {pair}}}]}}"#),
        format!(r#"{{"mappings": [{{{scope}, "resources": {pair}}}]}}"#),
        format!(r#"{{"mappings": {pair}}}"#),
    ] {
        let (_directory, path) = file(&text);
        let answer = Call::fixture("twins", &["--override-file", &path, "--check"]).run();
        assert_eq!(answer.code, Some(4), "{text}\n{}", answer.seen());
    }
}

#[test]
fn what_a_skip_file_lists_is_left_alone() {
    let (_directory, path) = file(r#"["AWS::S3::Bucket", "MyStack/Bucket/Policy"]"#);
    let answer = Call::fixture("rfc-0162", &["--skip-file", &path, "--output", "json"]).run();
    let report: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    let types = |list: &str| -> Vec<String> {
        let list = report["environments"][0][list].as_array().unwrap();
        list.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!types("mappings").contains(&"AWS::S3::Bucket".to_owned()));
    assert!(types("removed").contains(&"AWS::S3::Bucket".to_owned()));
    assert!(types("removed").contains(&"AWS::S3::BucketPolicy".to_owned()));
}

#[test]
fn a_selection_reports_what_touches_it_and_names_the_rest() {
    let answer = Call::fixture("rfc-0162", &["Service"]).run();
    assert!(answer.out.contains("Service.Function76856677"), "{}", answer.out);
    assert!(!answer.out.contains("AWS::S3::Bucket"), "{}", answer.out);
    insta::assert_snapshot!(
        answer.err,
        @"note: aws://111111111111/us-east-1: the selected stacks share resources with others: MyStack"
    );
    let quiet = Call::fixture("rfc-0162", &["Service", "--quiet"]).run();
    assert_eq!((quiet.out, &*quiet.err), (answer.out, ""));
    let deployed_only = Call::fixture("rfc-0162", &["MyStack"]).run();
    assert!(deployed_only.out.contains("AWS::S3::Bucket"), "{}", deployed_only.out);
}

#[test]
fn missing_context_is_a_warning_and_the_moves_are_shown_nevertheless() {
    let directory = tempfile::tempdir().unwrap();
    let (app, lacking) = (side("vpc", "after"), directory.path().to_str().unwrap().to_owned());
    for entry in fs::read_dir(root(&app)).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), directory.path().join(entry.file_name())).unwrap();
        }
    }
    let file = directory.path().join("manifest.json");
    let missing = r#""missing": [{"key": "availability-zones:account=111111111111:region=us-east-1",
        "provider": "availability-zones", "props": {}}], "artifacts""#;
    let manifest = fs::read_to_string(&file).unwrap().replacen("\"artifacts\"", missing, 1);
    fs::write(&file, manifest).unwrap();
    let before = side("vpc", "before");
    let answer =
        Call::new(&["refactor", "--dry-run", "--app", &lacking, "--against", &before]).run();
    assert_eq!(answer.code, Some(0));
    assert!(answer.out.contains("AWS::EC2::VPC"), "{}", answer.out);
    insta::assert_snapshot!("missing-context", answer.err);
}

#[test]
fn the_conversation_goes_with_the_answer_where_there_is_only_one_log() {
    let answer = Call::fixture("rfc-0162", &["Service", "--ci"]).run();
    assert!(answer.out.starts_with("note: aws://"), "{}", answer.out);
    assert_eq!(answer.err, "");
}

#[test]
fn a_check_tells_moves_and_questions_by_its_exit_code() {
    let code = |name: &str, arguments: &[&str]| Call::fixture(name, arguments).run().code;
    assert_eq!(code("rfc-0162", &[]), Some(0));
    assert_eq!(code("rfc-0162", &["--check"]), Some(4));
    assert_eq!(code("twins", &["--strict"]), Some(0));
    assert_eq!(code("twins", &["--check"]), Some(3));
    let same = side("twins", "before");
    let unchanged = ["refactor", "--dry-run", "--app", &same, "--against", &same, "--check"];
    let answer = Call::new(&unchanged).run();
    assert_eq!((answer.code, &*answer.out), (Some(0), "Nothing to refactor.\n"));
}

#[test]
fn wrong_usage_says_what_is_wrong_and_exits_with_2() {
    let seen = |arguments: &[&str]| {
        let answer = Call::new(arguments).run();
        assert_eq!(answer.code, Some(2));
        answer.seen()
    };
    let before = side("rfc-0162", "before");
    // Without an account there is nothing to carry out.
    insta::assert_snapshot!("usage-no-account", seen(&["refactor", "--against", &before]));
    insta::assert_snapshot!("usage-no-app", seen(&["refactor", "--dry-run", "--against", &before]));
    insta::assert_snapshot!(
        "usage-map",
        seen(&["refactor", "--dry-run", "--against", &before, "--app", &before, "--map", "A.X"])
    );
    insta::assert_snapshot!("usage-flag", seen(&["refactor", "--dryrun"]));
}

#[test]
fn a_failure_says_what_which_and_why_and_exits_with_1() {
    let seen = |arguments: &[&str]| {
        let answer = Call::fixture("rfc-0162", arguments).run();
        assert_eq!((answer.code, &*answer.out), (Some(1), ""));
        answer.seen()
    };
    insta::assert_snapshot!("failure-stack", seen(&["Nope"]));
    insta::assert_snapshot!("failure-map", seen(&["--map", "MyStack.X:Web.Y"]));
    insta::assert_snapshot!(
        "failure-type",
        seen(&["--map", "MyStack.Bucket83908E77:Web.WebsiteOriginPolicyA535D2BB"])
    );
    let none = Call::new(&["refactor", "--dry-run", "--app", "src", "--against", "src"]).run();
    insta::assert_snapshot!("failure-assembly", none.seen());
}

#[test]
fn a_malformed_file_is_named_with_the_line() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cdk.json"), "{\n  \"app\": \"x\"\n  \"output\": \"y\"\n}\n")
        .unwrap();
    let answer = Call::new(&["refactor", "--dry-run", "--against", "x"]).within(directory.path());
    insta::assert_snapshot!("failure-cdk-json", answer.run().seen());
}

#[cfg(unix)]
#[test]
fn an_app_of_cdk_json_is_run_and_its_context_handed_over() {
    let directory = tempfile::tempdir().unwrap();
    let app = format!(
        "echo \"$CDK_CONTEXT_JSON\" > context.json; echo working; cp -R {}/. \"$CDK_OUTDIR\"",
        root(&side("rfc-0162", "after")).display()
    );
    let config = serde_json::json!({"app": app, "output": "synthesized", "context": {"a": 1}});
    fs::write(directory.path().join("cdk.json"), config.to_string()).unwrap();
    let before = root(&side("rfc-0162", "before"));
    let arguments = [
        "refactor",
        "--dry-run",
        "-c",
        "stage=beta",
        "--output",
        "json",
        "--against",
        before.to_str().unwrap(),
    ];
    let answer = Call::new(&arguments).within(directory.path()).run();
    assert_eq!(answer.code, Some(0), "{}", answer.seen());
    assert_eq!(answer.err, "working\n");
    assert!(directory.path().join("synthesized/manifest.json").exists());
    let context = fs::read_to_string(directory.path().join("context.json")).unwrap();
    let context: serde_json::Value = serde_json::from_str(&context).unwrap();
    assert_eq!((&context["a"], &context["stage"]), (&1.into(), &"beta".into()));
    assert!(serde_json::from_str::<serde_json::Value>(&answer.out).is_ok());
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let call = Call::fixture("rfc-0162", arguments);
        let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
        call.run().out.contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["--no-color"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut call = Call::fixture("rfc-0162", &["--output", "json", "--explain"]);
    let mut child = call.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn there_are_completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let answer = Call::new(&["completions", shell]).run();
        assert_eq!(answer.code, Some(0));
        assert!(answer.out.contains("refactor") && answer.out.contains("against"), "{shell}");
    }
}

#[test]
fn the_version_says_on_which_data_verdicts_rest_if_somebody_asks() {
    assert!(!Call::new(&["--version"]).run().out.contains("resource types"));
    let said = Call::new(&["--version", "--verbose"]).run().out;
    assert!(said.contains("resource types: cfn-lint ") && said.contains("schema_date"), "{said}");
    assert!(said.contains("schema up to 55.x.x"), "{said}");
}
