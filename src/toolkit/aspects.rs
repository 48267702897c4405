//! What a team declared about comparisons, and what it says of one.

use super::Error;
use super::detect::{Outcome, Sides};
use crate::aspects::{
    self, AspectError, CheckRequest, Checked, Compared, Coverage, Declarations, DeclareError,
    DeclareErrors, Influence, Level, Matcher, Replacement, Violation, Work, parse_ignore, presets,
};
use crate::compare::{Comparison, Decisions};
use crate::model::{Environment, Value};
use crate::report;
use crate::settings::Settings;
use crate::template::json;

/// The aspects of a run.
pub(super) struct Aspects {
    declared: Declarations,
}

/// The aspects of a run, and what they found so far.
#[derive(Default)]
pub(super) struct Judging {
    declared: Declarations,
    coverage: Coverage,
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
        Ok(Self { declared })
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
            let environment = one.comparison.environment.clone();
            let (thanks, hidden) = (one.thanks, one.hidden);
            let told = Influence { thanks, hidden, ..Influence::none(environment) };
            if !told.is_empty() {
                outcome.influences.push(told);
            }
            outcome.environments.push(one.comparison);
        }
        Judging { declared: self.declared, coverage }
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
        for influence in &mut outcome.influences {
            let environment = &influence.environment;
            match outcome.environments.iter().find(|one| one.environment == *environment) {
                Some(comparison) => influence.narrow(comparison),
                None => *influence = Influence::none(environment.clone()),
            }
        }
        for (environment, sides) in environments {
            if let Some(checked) = self.check(environment, sides, outcome, None)? {
                self.coverage.merge(checked.coverage);
                outcome.influence(environment).violations = checked.violations;
            }
        }
        outcome.influences.retain(|one| !one.is_empty());
        outcome.influences.sort_by(|left, right| left.environment.cmp(&right.environment));
        for influence in std::mem::take(&mut outcome.influences) {
            for one in &influence.thanks {
                let (source, destination) = (&one.source, &one.destination);
                let owed = report::thanks(one);
                outcome.notes.push(format!("`{source}` is `{destination}` {owed}"));
            }
            influence.violations.iter().for_each(|one| outcome.tell(one));
            outcome.influences.push(influence);
        }
        for idle in self.coverage.idle(&self.declared) {
            let name = match idle.origin.as_str() {
                "--ignore" => format!("`{}`", idle.aspect),
                origin => format!("the aspect `{}` ({origin})", idle.aspect),
            };
            outcome.warnings.push(format!("{name} {}", idle.reason));
        }
        Ok(())
    }

    fn check(
        &self,
        environment: &Environment,
        sides: &Sides,
        outcome: &Outcome,
        replacements: Option<&[Replacement]>,
    ) -> Result<Option<Checked>, Error> {
        let of = |one: &&Comparison| one.environment == *environment;
        let Some(comparison) = outcome.environments.iter().find(of) else { return Ok(None) };
        let request = CheckRequest {
            aspects: &self.declared,
            constructs: &sides.constructs,
            deployed: &sides.deployed,
            local: &sides.local,
            comparison,
            replacements,
        };
        aspects::check(&request).map(Some).map_err(|error| failed(environment, error))
    }

    /// Whether a forecast has anything to tell.
    pub(super) fn wants_forecasts(&self) -> bool {
        self.declared.forbid_replacements()
    }

    /// Judges an environment again, now that it is known what a deployment would replace.
    ///
    /// # Errors
    /// When the aspects cannot be invoked.
    pub(super) fn foresee(
        &self,
        (environment, sides): (&Environment, &Sides),
        replacements: &[Replacement],
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let checked = self.check(environment, sides, outcome, Some(replacements))?;
        let Some(Checked { violations, .. }) = checked else { return Ok(()) };
        let known =
            std::mem::replace(&mut outcome.influence(environment).violations, violations.clone());
        for gone in known.iter().filter(|one| !violations.contains(one)) {
            let text = report::violation(gone);
            outcome.warnings.retain(|other| *other != text);
            outcome.notes.retain(|other| *other != text);
        }
        violations.iter().filter(|one| !known.contains(one)).for_each(|one| outcome.tell(one));
        outcome.influences.retain(|one| !one.is_empty());
        outcome.influences.sort_by(|left, right| left.environment.cmp(&right.environment));
        Ok(())
    }
}

impl Outcome {
    /// What aspects had to do with an environment.
    fn influence(&mut self, environment: &Environment) -> &mut Influence {
        let at = self.influences.iter().position(|one| one.environment == *environment);
        let at = at.unwrap_or_else(|| {
            self.influences.push(Influence::none(environment.clone()));
            self.influences.len() - 1
        });
        &mut self.influences[at]
    }

    /// Tells of what is no error.
    fn tell(&mut self, violation: &Violation) {
        match violation.level {
            Level::Error => {}
            Level::Warning => self.warnings.push(report::violation(violation)),
            Level::Info => self.notes.push(report::violation(violation)),
        }
    }
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
    let Aspects { declared } = Aspects::declared(settings)?;
    let built_in = presets().into_iter().map(|preset| {
        let active = declared.iter().find(|one| one.id == preset.name);
        let is_on = declared.has(preset.name);
        ListedAspect {
            name: preset.name.to_owned(),
            priority: active.map(|one| one.priority.to_string()),
            origin: "built in".to_owned(),
            is_on,
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
