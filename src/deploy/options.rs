//! How stacks are deployed, and what that makes of each of them. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::error::DeployError;
use super::stage::Stage;
use crate::assembly::{AssemblyStack, SelectError, select};
use crate::settings::Method;

/// How stacks are deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployOptions {
    /// By what means.
    pub method: Method,
    /// The name of change sets (`--change-set-name`); `None`: one that nobody else has. A change
    /// set of this name that is there already is deleted first.
    pub change_set_name: Option<String>,
    /// Values of parameters (`--parameters`): by the hierarchical ID, the name or a pattern of
    /// stacks; by the empty text for all stacks that have the parameter. They count more than
    /// those of the app, those of a name more than those for all.
    pub parameters: BTreeMap<String, Vec<(String, String)>>,
    /// Whether a parameter that nobody gives a value keeps the one that it has
    /// (`--previous-parameters`); else it gets its default.
    pub use_previous_parameters: bool,
    /// Tags that take the place of those of the app (`--tags`), unless there are none.
    pub tags: BTreeMap<String, String>,
    /// Topics that get the events of stacks (`--notification-arns`), in addition to those of the
    /// app.
    pub notification_arns: Vec<String>,
    /// The pause between two looks at something that goes on.
    pub interval: Duration,
    /// The longest time for anything that goes on.
    pub limit: Duration,
    /// How many stacks are deployed at once.
    pub concurrency: usize,
    /// How many assets are uploaded at once.
    pub upload_concurrency: usize,
    /// How many container images are built and pushed at once.
    pub image_concurrency: usize,
    /// Whether images are built and pushed; `None`: unless AWS is another one than the real one
    /// ([`crate::aws::Access::endpoint`]). Where they are not, the registry is told that they are
    /// there: that of the embedded server takes no layers.
    pub push_images: Option<bool>,
    /// The program that builds and pushes images; `None`: what the environment variable
    /// `CDK_DOCKER` says, or `docker`.
    pub docker: Option<PathBuf>,
    /// The role that CloudFormation works with, instead of the one that the assembly names.
    pub role_arn: Option<String>,
    /// Whether a change set is made even where nothing seems to have changed.
    pub force: bool,
    /// Whether a failure is rolled back.
    pub rollback: bool,
}

impl Default for DeployOptions {
    fn default() -> Self {
        Self {
            method: Method::default(),
            change_set_name: None,
            parameters: BTreeMap::new(),
            use_previous_parameters: true,
            tags: BTreeMap::new(),
            notification_arns: Vec::new(),
            interval: Duration::from_secs(3),
            // Databases and distributions take long; nothing is lost by waiting.
            limit: Duration::from_hours(6),
            concurrency: 1,
            upload_concurrency: 8,
            // A build uses all of the machine by itself (the default of the CDK CLI).
            image_concurrency: 1,
            push_images: None,
            docker: None,
            role_arn: None,
            force: false,
            rollback: true,
        }
    }
}

/// What a stack is to be besides its template: the app's will, then that of the options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Values of parameters; the template need not have them.
    pub parameters: BTreeMap<String, String>,
    /// Whether other parameters keep their values.
    pub keeps_parameters: bool,
    pub tags: BTreeMap<String, String>,
    /// `None`: whatever it has.
    pub notification_arns: Option<Vec<String>>,
    /// May hold placeholders.
    pub role_arn: Option<String>,
}

impl Wanted {
    pub(super) fn of(stack: &AssemblyStack, options: &DeployOptions, schema: u64) -> Self {
        let properties = &stack.properties;
        let mut parameters = properties.parameters.clone();
        // The empty text, for all stacks, comes first.
        for (pattern, given) in &options.parameters {
            if pattern.is_empty() || matches(stack, pattern, schema) == Ok(true) {
                parameters.extend(given.iter().cloned());
            }
        }
        let mut notification_arns = properties.notification_arns.clone();
        for arn in &options.notification_arns {
            let arns = notification_arns.get_or_insert_default();
            if !arns.contains(arn) {
                arns.push(arn.clone());
            }
        }
        let tags = if options.tags.is_empty() { &stack.tags } else { &options.tags };
        let role_arn = options.role_arn.as_ref().or(properties.execution_role_arn.as_ref());
        Self {
            parameters,
            keeps_parameters: options.use_previous_parameters,
            tags: tags.clone(),
            notification_arns,
            role_arn: role_arn.cloned(),
        }
    }
}

/// Whether a pattern means a stack; why it is none.
fn matches(stack: &AssemblyStack, pattern: &str, schema: u64) -> Result<bool, String> {
    match select(std::slice::from_ref(stack), &[pattern.to_owned()], schema) {
        Ok(found) => Ok(!found.is_empty()),
        Err(error @ SelectError::InvalidPattern { .. }) => Err(error.to_string()),
        Err(_) => Ok(false),
    }
}

/// Checks that there is a use for each parameter that was given.
///
/// # Errors
/// The first that no stack has: a misspelt name would leave the stack with another value.
pub(super) fn check_parameters(
    stages: &[Stage<'_>],
    options: &DeployOptions,
    schema: u64,
) -> Result<(), DeployError> {
    let has = |stack: &AssemblyStack, key: &str| {
        stack.stack.template.section("Parameters").is_some_and(|all| all.get(key).is_some())
    };
    for (pattern, given) in &options.parameters {
        let mut meant = Vec::new();
        for stage in stages {
            let is_meant = pattern.is_empty()
                || matches(stage.stack, pattern, schema)
                    .map_err(|message| DeployError::ParameterPattern { message })?;
            if is_meant {
                meant.push(stage.stack);
            }
        }
        for (key, _) in given {
            if !meant.iter().any(|stack| has(stack, key)) {
                let stacks: BTreeSet<_> =
                    meant.iter().map(|stack| stack.hierarchical_id.clone()).collect();
                let (key, pattern) = (key.clone(), pattern.clone());
                let stacks = stacks.into_iter().collect();
                return Err(DeployError::NoSuchParameter { key, pattern, stacks });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::stage::tests::stack;
    use super::*;
    use crate::template;

    fn with_parameter(id: &str, name: &str) -> AssemblyStack {
        let mut stack = stack(id, &[]);
        let text = format!(r#"{{"Parameters":{{"{name}":{{"Type":"String"}}}},"Resources":{{}}}}"#);
        stack.stack.template = template::parse(text.as_bytes()).unwrap();
        stack
    }

    fn given(pattern: &str, key: &str) -> DeployOptions {
        let pairs = vec![(key.to_owned(), "given".to_owned())];
        DeployOptions { parameters: [(pattern.to_owned(), pairs)].into(), ..Default::default() }
    }

    fn check(options: &DeployOptions) -> Result<(), String> {
        let stacks = [with_parameter("Shop/Web", "Size"), with_parameter("Shop/Db", "Disk")];
        let stages = stacks.iter().map(|stack| Stage {
            stack,
            template: None,
            after: Vec::new(),
            title: None,
        });
        check_parameters(&stages.collect::<Vec<_>>(), options, 36).map_err(|it| it.to_string())
    }

    #[test]
    fn a_parameter_that_no_selected_stack_has_is_an_error_that_names_it() {
        assert_eq!(check(&given("", "Size")), Ok(()));
        assert_eq!(check(&given("Shop/*", "Size")), Ok(()));
        let error = check(&given("", "Sise")).unwrap_err();
        assert!(error.contains("`Sise`") && error.contains("Shop/Db, Shop/Web"), "{error}");
        let error = check(&given("Shop/Db", "Size")).unwrap_err();
        assert!(error.contains("`Size`") && error.contains("`Shop/Db`"), "{error}");
        let error = check(&given("Other", "Size")).unwrap_err();
        assert!(error.contains("`Other`"), "{error}");
    }

    #[test]
    fn a_parameter_for_a_stack_counts_more_than_one_for_all_and_both_more_than_the_app() {
        let mut web = with_parameter("Web", "Size");
        web.properties.parameters.insert("Size".to_owned(), "app".to_owned());
        let value =
            |options: &DeployOptions| Wanted::of(&web, options, 36).parameters["Size"].clone();
        assert_eq!(value(&DeployOptions::default()), "app");
        let mut options = given("", "Size");
        assert_eq!(value(&options), "given");
        let own = vec![("Size".to_owned(), "own".to_owned())];
        options.parameters.insert("Web".to_owned(), own);
        assert_eq!(value(&options), "own");
        assert_eq!(value(&given("Other", "Size")), "app");
    }

    #[test]
    fn given_tags_take_the_place_of_the_apps_and_topics_are_added() {
        let mut web = stack("Web", &[]);
        web.tags.insert("team".to_owned(), "shop".to_owned());
        let options = DeployOptions {
            tags: [("stage".to_owned(), "beta".to_owned())].into(),
            notification_arns: vec!["b".to_owned()],
            ..DeployOptions::default()
        };
        let wanted = Wanted::of(&web, &options, 36);
        assert_eq!(wanted.tags, options.tags);
        assert_eq!(wanted.notification_arns, Some(vec!["b".to_owned()]));
        web.properties.notification_arns = Some(vec!["a".to_owned(), "b".to_owned()]);
        let arns = Wanted::of(&web, &options, 36).notification_arns.unwrap();
        assert_eq!(arns, ["a", "b"]);
        let plain = Wanted::of(&web, &DeployOptions::default(), 36);
        assert_eq!(plain.tags, web.tags);
    }
}
