//! What a deployment will do, and how dangerous that is: the change report of an environment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::detect::Sides;
use super::files;
use crate::analyze::{
    Certainty, EnvironmentReport, Fate, FateKind, Fates, Remark, ReportRequest, RuleError, Rules,
    change_report, permissions,
};
use crate::compare::Comparison;
use crate::model::{
    DeployedEnvironment, DeployedResource, DeployedStack, Environment, Location, ResourceType,
    Stack, StackOptions, StackStatus, Text, Value,
};
use crate::plan::{self, EffectKind, Finding, Forecast, Plan, Severity, Staying};
use crate::report;
use crate::template::json;

/// Why a file of rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// It cannot be read.
    #[error("cannot read the rules `{}`", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is wrong.
    #[error("{}:{}:{}: {}", .file.display(), .mistake.place.line, .mistake.place.column, .mistake.message)]
    Parse {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        mistake: RuleError,
    },
}

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report `{}`", .file.display())]
pub struct ReportFileError {
    /// The file.
    pub file: PathBuf,
    /// What the system says.
    pub source: std::io::Error,
}

/// Tells whether a report can be written, without writing it.
///
/// # Errors
/// When it cannot.
pub fn check_report_file(file: &Path) -> Result<(), ReportFileError> {
    files::check_writable(file).map_err(|source| ReportFileError { file: file.to_owned(), source })
}

/// Writes a report, as a whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(file: &Path, text: &str) -> Result<(), ReportFileError> {
    files::write(file, text.as_bytes())
        .map_err(|source| ReportFileError { file: file.to_owned(), source })
}

/// Returns the rules that say what is dangerous: the built-in ones, then those of the files, which
/// have the last word.
///
/// # Errors
/// When a file cannot be read, or has a mistake.
pub fn rules(files: &[PathBuf]) -> Result<Rules, RulesError> {
    let mut rules = Rules::built_in();
    for file in files {
        let text = fs::read_to_string(file)
            .map_err(|source| RulesError::Read { file: file.clone(), source })?;
        let own = Rules::parse(&text)
            .map_err(|mistake| RulesError::Parse { file: file.clone(), mistake })?;
        rules = rules.then(own);
    }
    Ok(rules)
}

/// What a report of an environment is made of.
pub(super) struct Changes<'a> {
    pub(super) sides: &'a Sides,
    pub(super) comparison: &'a Comparison,
    /// What is deployed, before any move.
    pub(super) deployed: &'a DeployedEnvironment,
    /// The moves; `None`: there are none.
    pub(super) plan: Option<&'a Plan>,
    pub(super) forecast: &'a Forecast,
    pub(super) rules: &'a Rules,
    /// The root stacks that are reported; `None`: all.
    pub(super) selected: Option<&'a BTreeSet<Text>>,
    /// Whether the moves are carried out. Else all that moved is made anew.
    pub(super) moves: bool,
    /// Whether what the CDK writes for itself is reported.
    pub(super) strict: bool,
}

impl Changes<'_> {
    /// Returns the report.
    pub(super) fn report(&self) -> EnvironmentReport {
        let mut comparison = self.comparison.clone();
        let staying = self.plan.map(|plan| &*plan.staying).unwrap_or_default();
        self.block(&mut comparison, staying);
        let moved = self.plan.map(|plan| plan::after(self.deployed, plan));
        let now = moved.as_ref().unwrap_or(self.deployed);
        let before: Vec<Stack> = now.stacks.iter().map(|stack| stack.stack.clone()).collect();
        let reported = |stack: &&Stack| {
            let name = stack.name.as_str();
            let root = name.split_once('/').map_or(name, |(root, _)| root);
            self.selected.is_none_or(|selected| selected.contains(root))
        };
        let local: Vec<Stack> = self.sides.local.iter().filter(reported).cloned().collect();
        let names: BTreeSet<&str> = local.iter().map(|stack| stack.name.as_str()).collect();
        let before: Vec<Stack> =
            before.into_iter().filter(|stack| names.contains(stack.name.as_str())).collect();
        let evidence = comparison.mappings.iter();
        let evidence =
            evidence.map(|one| (one.destination.location.clone(), report::evidence(one))).collect();
        change_report(&ReportRequest {
            before: &self.sides.deployed,
            after: &self.sides.local,
            comparison: &comparison,
            fates: Some(&fates(self.forecast)),
            permissions: permissions(&before, &local),
            rules: self.rules,
            selected: self.selected,
            evidence: &evidence,
            strict: self.strict,
        })
    }

    /// Says of every mapping that is not carried out why.
    fn block(&self, comparison: &mut Comparison, staying: &[Staying]) {
        let reasons: BTreeMap<&str, &str> =
            staying.iter().map(|one| (one.destination.as_str(), one.reason.as_str())).collect();
        for mapping in &mut comparison.mappings {
            let place = mapping.destination.location.to_string();
            if let Some(reason) = reasons.get(place.as_str()) {
                mapping.blocked = Some((*reason).to_owned());
            } else if !self.moves && mapping.blocked.is_none() {
                let reason = "is not moved, since the deployment goes on without refactoring";
                mapping.blocked = Some(reason.to_owned());
            }
        }
    }
}

/// Returns a finding, as the report says it.
pub(super) fn remark(environment: &Environment, finding: &Finding) -> Remark {
    let place = match &finding.resource {
        Some(id) => format!("{}.{id}", finding.stack),
        None => finding.stack.clone(),
    };
    Remark {
        environment: environment.clone(),
        is_error: finding.severity == Severity::Error,
        text: format!("{place}: {} {}", finding.message, finding.remedy),
    }
}

/// Returns what a forecast says, as the report asks for it.
fn fates(forecast: &Forecast) -> Fates {
    let mut fates = Fates::default();
    for stack in &forecast.stacks {
        fates.stacks.insert(Text::from(stack.name.as_str()));
        for effect in &stack.effects {
            let (kind, properties, cause) = match &effect.kind {
                EffectKind::Add => (FateKind::Add, &[][..], None),
                EffectKind::Update { properties } => (FateKind::Update, &properties[..], None),
                EffectKind::Replace { certain, properties, cause } => {
                    let certainty = if *certain { Certainty::Certain } else { Certainty::Possible };
                    (FateKind::Replace(certainty), &properties[..], cause.clone())
                }
                EffectKind::Remove => (FateKind::Remove, &[][..], None),
                EffectKind::Retain => (FateKind::Retain, &[][..], None),
            };
            let fate = Fate {
                kind,
                physical_id: effect.physical_id.as_deref().map(Text::from),
                danger: effect.danger.clone(),
                properties: properties.to_vec(),
                cause,
            };
            fates.by_place.insert(Location::new(&effect.stack, &effect.logical_id), fate);
        }
    }
    fates
}

/// Returns the stacks of a cloud assembly as if they were deployed, of which nobody knows more than
/// the templates.
pub(super) fn pretended(environment: &Environment, stacks: &[Stack]) -> DeployedEnvironment {
    let deployed = |stack: &Stack| {
        let resources = stack.template.resources().map(|(id, body)| {
            let resource_type = body.get("Type").and_then(Value::as_str).unwrap_or_default();
            let resource = DeployedResource {
                resource_type: ResourceType::from(resource_type),
                physical_id: None,
                status: "CREATE_COMPLETE".into(),
                changed_at: None,
            };
            (id.clone(), resource)
        });
        DeployedStack {
            id: Text::from(stack.name.as_str()),
            status: StackStatus("CREATE_COMPLETE".into()),
            body: json::to_template(&Value::Object(stack.template.sections.clone())).into(),
            resources: resources.collect(),
            exports: Vec::new(),
            outputs: BTreeMap::new(),
            has_policy: false,
            options: StackOptions::default(),
            stack: stack.clone(),
        }
    };
    DeployedEnvironment {
        environment: environment.clone(),
        stacks: stacks.iter().map(deployed).collect(),
        empty: Vec::new(),
    }
}
