//! Which resources moved.

use std::collections::{BTreeMap, BTreeSet};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Error;
use super::account::{self, Connection};
use super::aspects::{Aspects, Judging};
use super::context;
use super::decisions::distribute;
use super::history::Followed;
use super::parameters::{self, Previous};
use super::selection::Selection;
use super::sources::{self, AGAINST, APP, Deployed, Sources};
use crate::aspects::{Compared, Influence, Level, Violation};
use crate::assembly::{Assembly, AssemblyStack, StackProperties};
use crate::compare::{Comparison, Decisions};
use crate::event::Host;
use crate::model::{DeployedEnvironment, Environment, Stack, StackName, TreeNode};
use crate::plan;
use crate::settings::Settings;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A comparison for each environment, sorted by account and region.
    pub environments: Vec<Comparison>,
    /// What may be wrong with the input or the result.
    pub warnings: Vec<String>,
    /// What the reader should know about the selection.
    pub notes: Vec<String>,
    /// What aspects had to do with the comparisons and what they say of them, for the environments
    /// in which they did something.
    pub influences: Vec<Influence>,
}

impl Outcome {
    /// How many resources moved and can be moved by CloudFormation. The others are replaced
    /// whatever anybody does.
    pub fn moves(&self) -> usize {
        let mappings = self.environments.iter().flat_map(|one| &one.mappings);
        mappings.filter(|mapping| mapping.blocked.is_none()).count()
    }

    /// Stops what aspects forbid.
    ///
    /// # Errors
    /// The violations, if one of them is an error.
    pub fn allowed(&self) -> Result<(), Error> {
        self.allowed_but(|_| false)
    }

    /// Stops what aspects forbid, but for what a forecast may see otherwise.
    ///
    /// # Errors
    /// The violations, if one of them is an error.
    pub(super) fn allowed_before_forecast(&self) -> Result<(), Error> {
        self.allowed_but(|violation| violation.is_replacement)
    }

    fn allowed_but(&self, is_open: impl Fn(&Violation) -> bool) -> Result<(), Error> {
        let all = self.influences.iter().flat_map(|one| &one.violations);
        let errors = all.filter(|one| one.level == Level::Error && !is_open(one));
        let errors: Vec<Violation> = errors.cloned().collect();
        if errors.is_empty() { Ok(()) } else { Err(Error::Forbidden(errors)) }
    }

    /// How many questions only a person can answer.
    pub fn ambiguities(&self) -> usize {
        self.environments.iter().map(|one| one.ambiguous.len()).sum()
    }
}

/// What was found, with what is needed to act on it.
pub(super) struct Detection {
    pub(super) outcome: Outcome,
    /// Both sides of every environment, those without a selected stack included.
    pub(super) environments: Vec<(Environment, Sides)>,
    /// The account, if the deployed side came from one.
    pub(super) connection: Option<Connection>,
    /// What is the same however often the sides are compared.
    pub(super) basis: Basis,
    /// The aspects that judge what was found.
    pub(super) aspects: Judging,
}

/// What is the same however often two sides are compared.
#[derive(Default)]
pub(super) struct Basis {
    /// The stacks that are looked at.
    selection: Selection,
    /// What may be wrong with the sources.
    warnings: Vec<String>,
}

impl Basis {
    /// Whether a stack was selected.
    pub(super) fn takes(&self, environment: &Environment, name: &StackName) -> bool {
        self.selection.takes(environment, name)
    }
}

/// Both sides of an environment.
#[derive(Default)]
pub(super) struct Sides {
    pub(super) deployed: Vec<Stack>,
    pub(super) local: Vec<Stack>,
    /// The construct tree of the whole app.
    pub(super) constructs: Arc<[TreeNode]>,
    /// What the app marks as not to be matched: locations and construct paths.
    pub(super) marks: Vec<String>,
    /// Everything that was read of the account, if the deployed side came from one.
    pub(super) account: Option<DeployedEnvironment>,
    /// What the manifest says of the stacks as they are now.
    pub(super) properties: BTreeMap<StackName, StackProperties>,
    /// Stacks of which the physical IDs were asked for.
    pub(super) asked: BTreeSet<BTreeSet<StackName>>,
    /// What the history decides, if there is one.
    pub(super) history: Option<Arc<Followed>>,
}

/// Finds the resources that moved, in every environment of the app.
///
/// # Errors
/// When an assembly or an account cannot be read, a selection or a decision fits nothing, or a
/// template cannot be compared.
pub(super) async fn detect(settings: &Settings, host: &dyn Host) -> Result<Detection, Error> {
    let sources = sources::load(settings, host).await?;
    let selection = Selection::new(&settings.stacks, &sources)?;
    let mut detection = Detection::of(settings, sources, Previous::Kept)?;
    detection.check_history(&selection)?;
    detection.narrow(selection)?;
    detection.find_obstacles(settings).await?;
    Ok(detection)
}

impl Detection {
    /// Compares the two sides of every environment.
    ///
    /// # Errors
    /// When a decision fits nothing, the history forbids it, or a template cannot be compared.
    pub(super) fn of(
        settings: &Settings,
        mut sources: Sources,
        kept: Previous,
    ) -> Result<Self, Error> {
        let mut warnings = warnings(&sources);
        let histories = sources.histories.take();
        let (mut environments, connection) = group(sources, kept);
        if let Some(histories) = histories {
            let named = &settings.account.additional_stacks;
            warnings.extend(histories.notes.iter().cloned());
            for (environment, sides) in &mut environments {
                let followed = histories.follow(environment, sides, named, &mut warnings)?;
                sides.history = followed.map(Arc::new);
            }
        }
        if settings.against.is_some() {
            warnings.extend(one_sided(&environments));
        }
        let basis = Basis { warnings, ..Basis::default() };
        let mut detection = Self {
            outcome: Outcome::default(),
            environments,
            connection,
            basis,
            aspects: Judging::default(),
        };
        detection.compare_all(settings)?;
        Ok(detection)
    }

    /// Compares the sides again, with all decisions of the settings, and keeps what touches a
    /// selected stack. Nothing is read.
    ///
    /// # Errors
    /// When a decision fits nothing, or contradicts another.
    pub(super) fn compare_again(&mut self, settings: &Settings) -> Result<(), Error> {
        self.compare_all(settings)?;
        let selection = std::mem::take(&mut self.basis.selection);
        self.narrow(selection)
    }

    /// Compares the sides of every environment as a whole, as the aspects show them.
    ///
    /// # Errors
    /// When a decision fits nothing, or contradicts another, or an aspect is malformed.
    pub(super) fn compare_all(&mut self, settings: &Settings) -> Result<(), Error> {
        let decisions = distribute(settings, &self.environments).map_err(Box::new)?;
        let aspects = Aspects::declared(settings)?;
        let compared = compare_all(&aspects, &self.environments, &decisions)?;
        for ((_, sides), one) in self.environments.iter().zip(&compared) {
            if let Some(followed) = &sides.history {
                followed.check_decided(&one.comparison, settings.only)?;
            }
        }
        self.outcome = Outcome { warnings: self.basis.warnings.clone(), ..Outcome::default() };
        self.aspects = aspects.seen(compared, &mut self.outcome);
        Ok(())
    }

    /// Refuses to move between selected stacks that somebody else has changed.
    ///
    /// # Errors
    /// When there is such a stack.
    pub(super) fn check_history(&self, selection: &Selection) -> Result<(), Error> {
        let followed = self.environments.iter().filter_map(|(_, sides)| sides.history.as_ref());
        for one in followed {
            one.check(|environment, name| selection.takes(environment, name))?;
        }
        Ok(())
    }

    /// Keeps what touches a selected stack.
    ///
    /// # Errors
    /// When aspects that judge the rest cannot be invoked.
    pub(super) fn narrow(&mut self, selection: Selection) -> Result<(), Error> {
        for mut comparison in std::mem::take(&mut self.outcome.environments) {
            let Some(others) = selection.apply(&mut comparison) else { continue };
            if !others.is_empty() {
                let others: Vec<_> = others.into_iter().collect();
                let environment = &comparison.environment;
                self.outcome.notes.push(format!(
                    "{environment}: the selected stacks share resources with others: {}",
                    others.join(", ")
                ));
            }
            let problems = comparison.problems.iter().map(|problem| problem.message.clone());
            self.outcome.warnings.extend(problems);
            self.outcome.environments.push(comparison);
        }
        self.basis.selection = selection;
        self.aspects.judge(&self.environments, &mut self.outcome)
    }

    /// Finds what stands in the way of moving, where something is to be moved.
    ///
    /// # Errors
    /// When AWS refuses.
    pub(super) async fn find_obstacles(&mut self, settings: &Settings) -> Result<(), Error> {
        let Some(connection) = &self.connection else { return Ok(()) };
        for comparison in &self.outcome.environments {
            let touched = touched(comparison);
            if touched.is_empty() {
                continue;
            }
            let of = |(environment, _): &&mut (Environment, Sides)| {
                *environment == comparison.environment
            };
            let Some((_, sides)) = self.environments.iter_mut().find(of) else { continue };
            let Some(deployed) = &mut sides.account else { continue };
            let properties = &sides.properties;
            let found = account::obstacles(connection, settings, deployed, &touched, properties);
            self.outcome.warnings.extend(found.await?);
        }
        Ok(())
    }
}

/// The stacks between which resources move.
fn touched(comparison: &Comparison) -> Vec<StackName> {
    let ends = comparison.mappings.iter().flat_map(|one| [&one.source, &one.destination]);
    let names: BTreeSet<_> = ends.map(|place| place.location.stack.clone()).collect();
    names.into_iter().collect()
}

fn warnings(sources: &Sources) -> Vec<String> {
    let mut all = Vec::new();
    let mut assembly = |flag: &str, assembly: &Assembly| {
        all.extend(assembly.warnings.iter().map(|warning| format!("{flag}: {warning}")));
        all.extend(context::lacking(flag, assembly));
    };
    assembly(APP, &sources.local);
    match &sources.deployed {
        Deployed::Assembly(deployed) => assembly(AGAINST, deployed),
        Deployed::Account(account) => all.extend(account.warnings.iter().cloned()),
    }
    all
}

/// Puts the stacks of both sides together by environment.
fn group(sources: Sources, kept: Previous) -> (Vec<(Environment, Sides)>, Option<Connection>) {
    let mut connection = None;
    let mut environments: BTreeMap<Environment, Sides> = BTreeMap::new();
    match sources.deployed {
        Deployed::Assembly(deployed) => {
            for stack in deployed.stacks {
                let sides = environments.entry(stack.environment.clone()).or_default();
                sides.marks.extend(marks(&stack));
                sides.deployed.push(stack.stack);
                sides.deployed.extend(stack.nested);
            }
        }
        Deployed::Account(account) => {
            connection = Some(account.connection);
            for deployed in account.environments {
                let sides = environments.entry(deployed.environment.clone()).or_default();
                // What was deployed with a name that it kept is what the app said it to be.
                sides.deployed.extend(deployed.stacks.iter().map(|stack| {
                    let mut stack = stack.stack.clone();
                    plan::as_the_app_says(&mut stack.template);
                    stack
                }));
                sides.account = Some(deployed);
            }
        }
    }
    let constructs: Arc<[TreeNode]> = sources.local.constructs.into();
    for stack in sources.local.stacks {
        let sides = environments.entry(stack.environment.clone()).or_default();
        sides.constructs = Arc::clone(&constructs);
        sides.marks.extend(marks(&stack));
        sides.properties.insert(stack.stack.name.clone(), stack.properties);
        sides.local.push(stack.stack);
        sides.local.extend(stack.nested);
    }
    for sides in environments.values_mut() {
        parameters::complete(sides, kept);
        sides.marks.sort();
        sides.marks.dedup();
    }
    (environments.into_iter().collect(), connection)
}

/// What the app excludes in a stack; bare logical IDs are those of the stack.
fn marks(stack: &AssemblyStack) -> Vec<String> {
    let mark = |what: &String| {
        let named = what.contains(['/', '.', ':']);
        if named { what.clone() } else { format!("{}.{what}", stack.stack.name) }
    };
    stack.do_not_refactor.iter().map(mark).collect()
}

fn one_sided(environments: &[(Environment, Sides)]) -> Vec<String> {
    let warning = |(environment, sides): &(Environment, Sides)| {
        let (has, has_not) = match (sides.deployed.is_empty(), sides.local.is_empty()) {
            (true, false) => (APP, AGAINST),
            (false, true) => (AGAINST, APP),
            _ => return None,
        };
        Some(format!(
            "{environment} is in the assembly of {has}, but not in that of {has_not}: nothing can \
             have moved there"
        ))
    };
    environments.iter().filter_map(warning).collect()
}

/// Compares all environments, as many at a time as there are processors.
fn compare_all(
    aspects: &Aspects,
    environments: &[(Environment, Sides)],
    decisions: &[Decisions],
) -> Result<Vec<Compared>, Error> {
    let one = |at: usize| {
        let (environment, sides) = &environments[at];
        aspects.compare(environment, sides, &decisions[at])
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(environments.len());
    if workers <= 1 {
        return (0..environments.len()).map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= environments.len() {
                return done;
            }
            done.push((at, one(at)));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Vec<_>>| {
            worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, comparison)| comparison).collect()
}
