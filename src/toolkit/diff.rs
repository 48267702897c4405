//! `cdkr diff`: what a deployment of the app would do, without changing anything.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{Changes, pretended, remark};
use super::detect::{Detection, Outcome, Sides};
use super::parameters::Previous;
use super::planning::{Prepared, Refusals};
use super::selection::Selection;
use super::{Error, sources};
use crate::analyze::{ChangeReport, Remark, Rules};
use crate::assembly::Assembly;
use crate::compare::Comparison;
use crate::event::Host;
use crate::model::{Environment, Text};
use crate::plan::{self, Choices, Finding, ForecastRequest, Plan};
use crate::report;
use crate::settings::{Deploying, Refactoring, Settings};

/// What a deployment would do.
#[derive(Clone, Debug)]
pub struct Differences {
    /// What changes.
    pub report: ChangeReport,
    /// The moves, what cannot be told apart, warnings and notes.
    pub outcome: Outcome,
    /// What has to be known, or put right, before this can be deployed.
    pub findings: Vec<(Environment, Finding)>,
}

/// Finds out what a deployment would do, and how dangerous that is. The moves count as carried out,
/// unless `deploying` says that they are not. Changes nothing.
///
/// # Errors
/// When an assembly or an account cannot be read, a selection or a decision fits nothing, or a
/// template cannot be compared.
pub async fn diff(
    settings: &Settings,
    deploying: &Deploying,
    rules: &Rules,
    strict: bool,
    host: &dyn Host,
) -> Result<Differences, Error> {
    let sources = sources::load(settings, host).await?;
    let order = Order::of(&sources.local);
    let selection = Selection::new(&settings.stacks, &sources)?;
    let mut detection = Detection::of(settings, sources, Previous::Kept)?;
    detection.check_history(&selection)?;
    let selected: BTreeMap<Environment, Option<BTreeSet<Text>>> = detection
        .environments
        .iter()
        .map(|(environment, sides)| (environment.clone(), chosen(&selection, environment, sides)))
        .collect();
    detection.narrow(selection)?;
    detection.find_obstacles(settings).await?;
    let prepared = Box::pin(Prepared::of(settings, detection, &Refusals::new())).await?;
    let mut differences = Differences {
        report: ChangeReport::default(),
        outcome: prepared.outcome.clone(),
        findings: Vec::new(),
    };
    for comparison in &prepared.outcome.environments {
        let environment = &comparison.environment;
        let sides = prepared.environments.iter().find(|(other, _)| other == environment);
        if let Some((_, sides)) = sides {
            let planned = prepared.plans.iter().map(|one| &one.plan);
            let plan = planned.into_iter().find(|plan| plan.environment() == *environment);
            let look = Look {
                comparison,
                sides,
                plan,
                needs: order.needs(environment),
                selected: selected.get(environment).and_then(Option::as_ref),
                rules,
                strict,
                moves: deploying
                    .refactoring
                    .as_ref()
                    .is_none_or(|choice| choice.value != Refactoring::DeployWithoutRefactoring),
                keep_names: deploying.keep_names,
            };
            look.add_to(&mut differences);
        }
    }
    Ok(differences)
}

/// The selected root stacks of an environment; `None`: all.
fn chosen(
    selection: &Selection,
    environment: &Environment,
    sides: &Sides,
) -> Option<BTreeSet<Text>> {
    if matches!(selection, Selection::All) {
        return None;
    }
    let all = sides.deployed.iter().chain(&sides.local).filter(|stack| stack.parent.is_none());
    let names = all.filter(|stack| selection.takes(environment, &stack.name));
    Some(names.map(|stack| Text::from(stack.name.as_str())).collect())
}

/// What one environment is looked at with.
struct Look<'a> {
    comparison: &'a Comparison,
    sides: &'a Sides,
    plan: Option<&'a Plan>,
    needs: BTreeMap<String, BTreeSet<String>>,
    selected: Option<&'a BTreeSet<Text>>,
    rules: &'a Rules,
    strict: bool,
    /// Whether the moves are carried out first.
    moves: bool,
    keep_names: bool,
}

impl Look<'_> {
    fn add_to(&self, differences: &mut Differences) {
        let environment = &self.comparison.environment;
        let assumed;
        let deployed = match &self.sides.account {
            Some(deployed) => deployed,
            None => {
                assumed = pretended(environment, &self.sides.deployed);
                &assumed
            }
        };
        let pretended_plan;
        let plan = match self.plan {
            None if self.sides.account.is_none() && !self.comparison.mappings.is_empty() => {
                let choices = Choices::default();
                pretended_plan = plan::plan(deployed, &self.sides.local, self.comparison, &choices);
                Some(&pretended_plan)
            }
            plan => plan,
        };
        let plan = plan.filter(|_| self.moves);
        let moved = plan.map(|plan| plan::after(deployed, plan));
        let roots = self.sides.local.iter().filter(|stack| stack.parent.is_none());
        let roots = roots.map(|stack| stack.name.to_string());
        let selected: BTreeSet<String> = roots
            .filter(|name| self.selected.is_none_or(|all| all.contains(name.as_str())))
            .collect();
        let forecast = plan::forecast(&ForecastRequest {
            now: moved.as_ref().unwrap_or(deployed),
            local: &self.sides.local,
            selected: &selected,
            needs: &self.needs,
            comparison: Some(self.comparison).filter(|_| self.moves),
            staying: plan.map(|plan| &*plan.staying).unwrap_or_default(),
            keep_names: self.keep_names,
        });
        let changes = Changes {
            sides: self.sides,
            comparison: self.comparison,
            deployed,
            plan,
            forecast: &forecast,
            rules: self.rules,
            selected: self.selected,
            moves: self.moves,
            strict: self.strict,
        };
        differences.report.environments.push(changes.report());
        let findings = plan.into_iter().flat_map(|plan| plan.findings.iter().cloned());
        let findings: Vec<Finding> = findings.chain(forecast.findings).collect();
        let report = &mut differences.report;
        report.remarks.extend(findings.iter().map(|one| remark(environment, one)));
        report.remarks.extend(open_questions(self.comparison));
        report.remarks.sort_by_key(|remark| !remark.is_error);
        differences.findings.extend(findings.into_iter().map(|one| (environment.clone(), one)));
    }
}

/// What only a person can decide. Until then it counts as removed and added.
fn open_questions(comparison: &Comparison) -> Option<Remark> {
    let (ambiguous, similar) = (comparison.ambiguous.len(), comparison.similar.len());
    let parts: Vec<String> = [
        (ambiguous, "of resources that cannot be told apart"),
        (similar, "of resources that are alike, but not enough so to be taken for the same"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", report::count(number, "group")))
    .collect();
    (!parts.is_empty()).then(|| Remark {
        environment: comparison.environment.clone(),
        is_error: false,
        text: format!(
            "{} count as removed and added until somebody decides: `cdkr diff` in a terminal shows \
             how.",
            parts.join(" and ")
        ),
    })
}

/// Which stacks are deployed before which.
struct Order {
    /// By hierarchical ID: environment, name, the stacks it depends on.
    stacks: BTreeMap<String, (Environment, String, Vec<String>)>,
}

impl Order {
    fn of(assembly: &Assembly) -> Self {
        let stacks = assembly.stacks.iter().map(|stack| {
            let needs = stack.dependencies.iter().map(ToString::to_string).collect();
            let own = (stack.environment.clone(), stack.stack.name.to_string(), needs);
            (stack.hierarchical_id.clone(), own)
        });
        Self { stacks: stacks.collect() }
    }

    /// For each stack of an environment the names of those that are deployed before it.
    fn needs(&self, environment: &Environment) -> BTreeMap<String, BTreeSet<String>> {
        let mine = self.stacks.values().filter(|(other, ..)| other == environment);
        let needed = mine.map(|(_, name, direct)| {
            let (mut seen, mut open): (BTreeSet<&str>, Vec<&String>) =
                (BTreeSet::new(), direct.iter().collect());
            while let Some(id) = open.pop() {
                if let Some((.., more)) = self.stacks.get(id)
                    && seen.insert(id)
                {
                    open.extend(more);
                }
            }
            let found = seen.into_iter().filter_map(|id| self.stacks.get(id));
            let here = found.filter(|(other, ..)| other == environment);
            (name.clone(), here.map(|(_, name, _)| name.clone()).collect())
        });
        needed.collect()
    }
}
