//! What `deploy` needs to know besides what every command knows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::project::Project;
use super::{Origin, Refactoring, Setting, SettingsError, Surroundings};

/// What was typed for `deploy`, and nothing else.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct TypedDeploying {
    /// `--all`
    pub all: bool,
    /// `--exclusively`
    pub exclusively: bool,
    /// `--refactoring`
    pub refactoring: Option<Refactoring>,
    /// `--require-approval`
    pub require_approval: Option<Approval>,
    /// `--yes`
    pub yes: bool,
    /// `--allow-replacement`, as often as it was given.
    pub allow_replacement: Vec<String>,
    /// `--keep-names`
    pub keep_names: bool,
    /// `--parameters`, as often as it was given.
    pub parameters: Vec<String>,
    /// `--no-previous-parameters`
    pub no_previous_parameters: bool,
    /// `--tags`, as often as it was given.
    pub tags: Vec<String>,
    /// `--notification-arns`, as often as it was given.
    pub notification_arns: Vec<String>,
    /// `--method`
    pub method: Option<Method>,
    /// `--change-set-name`
    pub change_set_name: Option<String>,
    /// `--role-arn`
    pub role_arn: Option<String>,
    /// `--force`
    pub force: bool,
    /// `--rollback` or `--no-rollback`
    pub rollback: Option<bool>,
    /// `--concurrency`
    pub concurrency: Option<usize>,
    /// `--outputs-file`
    pub outputs_file: Option<PathBuf>,
    /// `--verify`
    pub verify: bool,
}

/// Which changes of permissions somebody has to approve (`--require-approval` of `cdk deploy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// None.
    Never,
    /// Those that let more in.
    #[default]
    Broadening,
    /// Any change of a stack.
    AnyChange,
}

/// By what means stacks are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// A change set is made, looked at and executed.
    #[default]
    ChangeSet,
    /// `CreateStack` or `UpdateStack`: a little faster, and **nobody can look at it before it
    /// happens**: only the forecast judges it. A stack that waits for its first change set is
    /// deployed by one nevertheless, since no other call can create it; and so is one with values
    /// that CloudFormation looks up.
    Direct,
    /// A change set is made and looked at, and left for somebody else to execute. New stacks are
    /// in `REVIEW_IN_PROGRESS` until then.
    PrepareChangeSet,
}

/// A value for a parameter of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The stack that it is for; every stack that has the parameter if nobody says.
    pub stack: Option<String>,
    /// The name.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Everything that `deploy` needs to know besides what every command knows.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Deploying {
    /// Whether all stacks are meant when no pattern is given.
    pub all: bool,
    /// Whether stacks that the selected ones need are left alone.
    pub exclusively: bool,
    /// What is done about moves, if somebody said so.
    pub refactoring: Option<Setting<Refactoring>>,
    /// Which changes of permissions somebody has to approve.
    pub require_approval: Setting<Approval>,
    /// Whether questions are answered as they are proposed. Never whether data may be lost.
    pub yes: bool,
    /// What may be replaced or deleted although it holds data: locations, construct paths, types.
    pub allow_replacement: Vec<String>,
    /// Whether moved resources keep names that they could only change by being replaced.
    pub keep_names: bool,
    /// Values of parameters.
    pub parameters: Vec<Parameter>,
    /// Whether parameters that nobody names keep the values that they have.
    pub previous_parameters: bool,
    /// Tags for every stack, in place of those of the app; none: those of the app.
    pub tags: BTreeMap<String, String>,
    /// Topics that get the events of every stack, besides those of the app.
    pub notification_arns: Vec<String>,
    /// How stacks are changed.
    pub method: Method,
    /// The name of change sets that are left for somebody else.
    pub change_set_name: Option<String>,
    /// The role that CloudFormation works with, in place of the one that the app names.
    pub role_arn: Option<String>,
    /// Whether stacks are changed even if nothing seems to have changed.
    pub force: bool,
    /// Whether what fails is rolled back, and the moves with it.
    pub rollback: bool,
    /// How many stacks are deployed at once.
    pub concurrency: usize,
    /// Where outputs are written to.
    pub outputs_file: Option<PathBuf>,
    /// Whether the state of what moves is read before and after the moves.
    pub verify: bool,
}

impl Deploying {
    /// Resolves what was typed with `cdk.json` and `~/.cdk.json`: flags win over the former, that
    /// over the latter.
    ///
    /// # Errors
    /// When a flag or a file is malformed.
    pub fn resolve(
        typed: &TypedDeploying,
        surroundings: &Surroundings,
    ) -> Result<Self, SettingsError> {
        let (project, user) = Project::both(surroundings)?;
        let flag = |value, name| Setting::new(value, Origin::Flag(name));
        let refactoring = typed.refactoring.map(|value| flag(value, "--refactoring"));
        let approval = typed.require_approval;
        let approval = approval
            .map(|value| Setting::new(value, Origin::Flag("--require-approval")))
            .or(project.require_approval)
            .or(user.require_approval);
        let concurrency = typed.concurrency.or(project.concurrency).or(user.concurrency);
        if concurrency == Some(0) {
            return Err(SettingsError::NoConcurrency);
        }
        let mut tags = user.tags;
        tags.extend(project.tags);
        for tag in &typed.tags {
            let (key, value) = pair(tag).ok_or_else(|| SettingsError::TagForm(tag.clone()))?;
            tags.insert(key, value);
        }
        let mut notification_arns = typed.notification_arns.clone();
        notification_arns
            .extend(project.notification_arns.or(user.notification_arns).into_iter().flatten());
        let outputs_file =
            typed.outputs_file.clone().or(project.outputs_file).or(user.outputs_file);
        Ok(Self {
            all: typed.all,
            exclusively: typed.exclusively,
            refactoring: refactoring.or(project.refactoring).or(user.refactoring),
            require_approval: approval
                .unwrap_or_else(|| Setting::new(Approval::default(), Origin::Default)),
            yes: typed.yes,
            allow_replacement: typed.allow_replacement.clone(),
            keep_names: typed.keep_names || project.keep_names.or(user.keep_names).unwrap_or(false),
            parameters: typed
                .parameters
                .iter()
                .map(|text| parameter(text))
                .collect::<Result<_, _>>()?,
            previous_parameters: !typed.no_previous_parameters,
            tags,
            notification_arns,
            method: typed.method.unwrap_or_default(),
            change_set_name: typed.change_set_name.clone(),
            role_arn: typed
                .role_arn
                .clone()
                .or_else(|| project.role_arn.or(user.role_arn).map(|setting| setting.value)),
            force: typed.force,
            rollback: typed.rollback.or(project.rollback).or(user.rollback).unwrap_or(true),
            concurrency: concurrency.unwrap_or(1),
            outputs_file: outputs_file.map(|file| surroundings.directory.join(file)),
            verify: typed.verify,
        })
    }
}

/// Reads `Key=Value` or `Stack:Key=Value`. Names of parameters have no colon, values may.
fn parameter(text: &str) -> Result<Parameter, SettingsError> {
    let (key, value) = pair(text).ok_or_else(|| SettingsError::ParameterForm(text.to_owned()))?;
    let (stack, key) = match key.rsplit_once(':') {
        Some((stack, key)) => (Some(stack.to_owned()), key.to_owned()),
        None => (None, key),
    };
    if key.is_empty() || stack.as_deref() == Some("") {
        return Err(SettingsError::ParameterForm(text.to_owned()));
    }
    Ok(Parameter { stack, key, value })
}

fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(typed: &TypedDeploying, file: &str) -> Result<Deploying, SettingsError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cdk.json"), file).unwrap();
        let surroundings =
            Surroundings { directory: directory.path().to_owned(), ..Surroundings::default() };
        Deploying::resolve(typed, &surroundings)
    }

    #[test]
    fn a_parameter_may_name_its_stack_and_its_value_may_have_colons_and_equal_signs() {
        let read = |text| parameter(text).unwrap();
        let url = read("Web:Url=https://a/?b=c");
        assert_eq!(
            (url.stack.as_deref(), &*url.key, &*url.value),
            (Some("Web"), "Url", "https://a/?b=c")
        );
        assert_eq!(read("Size=").value, "");
        for malformed in ["Size", "=1", "Web:=1", ":Size=1"] {
            assert!(parameter(malformed).is_err(), "{malformed}");
        }
    }

    #[test]
    fn flags_win_over_the_file_of_the_project() {
        let file = r#"{"refactoring": "QUIT", "requireApproval": "never", "rollback": false,
            "tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "1"}], "concurrency": 4}"#;
        let typed = TypedDeploying {
            refactoring: Some(Refactoring::ExecuteAndDeploy),
            tags: vec!["a=2".to_owned()],
            ..TypedDeploying::default()
        };
        let found = resolved(&typed, file).unwrap();
        assert_eq!(found.refactoring.map(|it| it.value), Some(Refactoring::ExecuteAndDeploy));
        assert_eq!(found.require_approval.value, Approval::Never);
        assert!(!found.rollback);
        assert_eq!(found.concurrency, 4);
        let tags: Vec<_> = found.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(tags, ["a=2", "b=1"]);
    }

    #[test]
    fn without_a_word_broadening_is_approved_and_failures_are_rolled_back() {
        let found = resolved(&TypedDeploying::default(), "{}").unwrap();
        assert_eq!(found.require_approval.value, Approval::Broadening);
        assert!(found.rollback && found.previous_parameters && found.refactoring.is_none());
        assert!(resolved(&TypedDeploying::default(), r#"{"requireApproval": "maybe"}"#).is_err());
    }
}
