//! What a team declared about comparisons, and what it says of one.

use std::collections::BTreeSet;

use super::Error;
use super::detect::{Outcome, Sides};
use crate::aspects::{
    self, AspectError, CheckRequest, Compared, Coverage, Declarations, DeclareError, DeclareErrors,
    Hidden, Level, Matcher, Thanks, Violation, Work, parse_ignore, presets,
};
use crate::compare::{self, Comparison, Decisions};
use crate::model::{Environment, Location, Value};
use crate::settings::Settings;
use crate::template::json;

/// What aspects had to do with the comparison of an environment.
#[derive(Clone, Debug)]
pub struct Influence {
    /// The account and region.
    pub environment: Environment,
    /// Mappings that only exist thanks to aspects.
    pub thanks: Vec<Thanks>,
    /// Differences that aspects hid.
    pub hidden: Vec<Hidden>,
}

/// The aspects of a run.
pub(super) struct Aspects {
    declared: Declarations,
    explain: bool,
}

/// The aspects of a run, and what they found so far.
#[derive(Default)]
pub(super) struct Judging {
    declared: Declarations,
    coverage: Coverage,
    /// Whether the reader wants to know what was hidden.
    explain: bool,
}

impl Aspects {
    /// Reads what is declared in `cdk.json` and on the command line.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(super) fn declared(settings: &Settings) -> Result<Self, Error> {
        let mut declared = match &settings.refactor {
            None => Declarations::default(),
            Some(refactor) => {
                let file = |name: &str| read(&settings.project.join(name));
                json::parse(&refactor.value.to_string())
                    .map_err(|error| {
                        let at = "refactor".to_owned();
                        let message = error.to_string();
                        DeclareErrors(vec![DeclareError::Contradiction { at, message }])
                    })
                    .and_then(|value| Declarations::parse(&value, &file))
                    .map_err(|source| Error::Aspects {
                        origin: refactor.origin.to_string(),
                        source: Box::new(source),
                    })?
            }
        };
        for text in &settings.ignore {
            let ignored = parse_ignore(text);
            declared.push(ignored.map_err(|error| Error::Ignore(Box::new(error)))?);
        }
        Ok(Self { declared, explain: settings.explain })
    }

    /// Compares the two sides of an environment.
    ///
    /// # Errors
    /// When they cannot be compared, or the aspects not be invoked.
    pub(super) fn compare(
        &self,
        environment: &Environment,
        sides: &Sides,
        decisions: &Decisions,
    ) -> Result<Compared, Error> {
        let Sides { constructs, deployed, local, .. } = sides;
        // The presets belong to what a team declares; by themselves they are not looked at.
        if self.declared.iter().all(|one| one.is_preset) {
            let compared = compare::compare(environment, deployed, local, decisions);
            return compared
                .map(Compared::plain)
                .map_err(|error| failed(environment, error.into()));
        }
        let both = aspects::Sides { constructs, deployed, local };
        aspects::compare(&self.declared, environment, both, decisions)
            .map_err(|error| failed(environment, error))
    }

    /// Takes the comparisons into an outcome, with what aspects had to do with them.
    pub(super) fn seen(self, compared: Vec<Compared>, outcome: &mut Outcome) -> Judging {
        let mut coverage = Coverage::default();
        for one in compared {
            coverage.merge(one.coverage);
            outcome.warnings.extend(one.notes);
            if !one.thanks.is_empty() || !one.hidden.is_empty() {
                outcome.influences.push(Influence {
                    environment: one.comparison.environment.clone(),
                    thanks: one.thanks,
                    hidden: one.hidden,
                });
            }
            outcome.environments.push(one.comparison);
        }
        Judging { declared: self.declared, coverage, explain: self.explain }
    }
}

impl Judging {
    /// Judges what is left of the comparisons after the selection, and tells which aspects found
    /// nothing anywhere.
    ///
    /// # Errors
    /// When the aspects cannot be invoked.
    pub(super) fn judge(
        &mut self,
        environments: &[(Environment, Sides)],
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        for (environment, sides) in environments {
            let of = |one: &&Comparison| one.environment == *environment;
            let Some(comparison) = outcome.environments.iter().find(of) else { continue };
            let request = CheckRequest {
                aspects: &self.declared,
                constructs: &sides.constructs,
                deployed: &sides.deployed,
                local: &sides.local,
                comparison,
                replacements: &[],
            };
            let checked = aspects::check(&request).map_err(|error| failed(environment, error))?;
            self.coverage.merge(checked.coverage);
            outcome.violations.extend(checked.violations);
        }
        for violation in &outcome.violations {
            match violation.level {
                Level::Error => {}
                Level::Warning => outcome.warnings.push(sentence(violation)),
                Level::Info => outcome.notes.push(sentence(violation)),
            }
        }
        for influence in &mut outcome.influences {
            let environment = &influence.environment;
            let of = |one: &&Comparison| one.environment == *environment;
            match outcome.environments.iter().find(of) {
                Some(comparison) => influence.narrow(comparison),
                None => (influence.thanks, influence.hidden) = (Vec::new(), Vec::new()),
            }
            outcome.notes.extend(influence.thanks.iter().map(thanks));
            if self.explain {
                outcome.notes.extend(influence.hidden.iter().map(hidden));
            }
        }
        outcome.influences.retain(|one| !one.thanks.is_empty() || !one.hidden.is_empty());
        for idle in self.coverage.idle(&self.declared) {
            let name = match idle.origin.as_str() {
                "--ignore" => format!("`{}`", idle.aspect),
                origin => format!("the aspect `{}` ({origin})", idle.aspect),
            };
            outcome.warnings.push(format!("{name} {}", idle.reason));
        }
        Ok(())
    }
}

impl Influence {
    /// Keeps what is about resources of a comparison.
    fn narrow(&mut self, comparison: &Comparison) {
        let moved: BTreeSet<&Location> =
            comparison.mappings.iter().map(|one| &one.destination.location).collect();
        let changed = comparison.changed.iter().map(|one| &one.place.location);
        self.thanks.retain(|one| moved.contains(&one.destination));
        let present: BTreeSet<&Location> = changed.chain(moved).collect();
        self.hidden.retain(|one| present.contains(&one.location));
    }
}

fn sentence(violation: &Violation) -> String {
    let Violation { aspect, construct, location, reason, .. } = violation;
    format!("aspect `{aspect}`: `{construct}` ({location}): {reason}")
}

fn thanks(thanks: &Thanks) -> String {
    let Thanks { source, destination, aspects, is_indirect } = thanks;
    let how = if *is_indirect { ", by what it refers to" } else { "" };
    format!("`{source}` is `{destination}` only thanks to {}{how}", names(aspects))
}

fn hidden(hidden: &Hidden) -> String {
    let Hidden { location, difference, aspects } = hidden;
    format!("`{location}`: {} hides a change of {}", names(aspects), difference.property)
}

fn names(aspects: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = aspects.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    format!("the aspect{} {}", if aspects.len() == 1 { "" } else { "s" }, quoted.join(", "))
}

fn failed(environment: &Environment, error: AspectError) -> Error {
    let environment = environment.clone();
    match error {
        AspectError::Compare(source) => Error::Comparison { environment, source: Box::new(source) },
        other => Error::Invoke { environment, source: Box::new(other) },
    }
}

fn read(file: &std::path::Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    json::parse(&text).map_err(|error| error.to_string())
}

/// An aspect as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAspect {
    /// What people know it by.
    pub name: String,
    /// When it is invoked; `None`: it is part of the comparison.
    pub priority: Option<String>,
    /// Where it was declared.
    pub origin: String,
    /// Whether it is switched on.
    pub is_on: bool,
    /// What it is about.
    pub about: String,
    /// What it does.
    pub does: String,
}

/// Lists the aspects that are built in and those that are declared, in that order.
///
/// # Errors
/// When something is wrong with the declarations.
pub fn list_aspects(settings: &Settings) -> Result<Vec<ListedAspect>, Error> {
    let Aspects { declared, .. } = Aspects::declared(settings)?;
    let built_in = presets().into_iter().map(|preset| {
        let active = declared.iter().find(|one| one.id == preset.name);
        ListedAspect {
            name: preset.name.to_owned(),
            priority: active.map(|one| one.priority.to_string()),
            origin: "built in".to_owned(),
            is_on: preset.declaration.is_none() || active.is_some(),
            about: "every resource".to_owned(),
            does: preset.description.to_owned(),
        }
    });
    let of_people = declared.iter().filter(|one| !one.is_preset).map(|one| ListedAspect {
        name: one.id.to_string(),
        priority: Some(one.priority.to_string()),
        origin: one.origin.to_string(),
        is_on: true,
        about: about(&one.matcher, one.scope.as_ref().map(aspects::PathPattern::as_str)),
        does: match &one.work {
            Work::Change(operations) => texts(operations),
            Work::Look(rules, level) => format!("{level}: {}", texts(rules)),
        },
    });
    Ok(built_in.chain(of_people).collect())
}

fn texts(all: &[impl ToString]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn about(matcher: &Matcher, scope: Option<&str>) -> String {
    let path = matcher.path.as_ref().map(|path| format!("path {}", path.as_str()));
    let kind = matcher.resource_type.as_ref().map(|kind| format!("type {kind}"));
    let class = matcher.class.as_ref().map(|class| format!("class {class}"));
    let stateful = matcher.stateful.map(|it| if it { "stateful" } else { "stateless" }.to_owned());
    let scope = scope.map(|scope| format!("in {scope}"));
    let parts: Vec<String> = [path, kind, class, stateful, scope].into_iter().flatten().collect();
    if parts.is_empty() { "every resource".to_owned() } else { parts.join(", ") }
}
