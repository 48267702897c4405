//! Deciding at the terminal what the evidence does not: somebody is asked, one question after the
//! other, and the sides are compared again with every answer.
//!
//! In: a [`Detection`] with its sides, and a host that can answer. Out: the detection as it is with
//! the decisions, and settings that know them. Called by `refactor` and `deploy` before anything is
//! changed. The account is not read again, but for the physical IDs of what is asked about.

mod hints;
mod keep;
mod questions;
#[cfg(test)]
mod tests;

pub use keep::{KeepError, check_decision_file, keep_decisions};
pub use questions::{Decided, Subjects};

use std::collections::BTreeSet;

use super::Error;
use super::account;
use super::detect::{Detection, Outcome, Sides};
use super::planning::{Prepared, Refusals};
use crate::compare::{Comparison, Place};
use crate::event::{Event, Host, Question};
use crate::model::{Environment, Location, StackName, Text};
use crate::registry;
use crate::report::{self, Candidate, Known, Style, Which};
use crate::settings::{Left, Named, Pair, Said, Scope, Settings};
use questions::{Answer, Next, Open, Questioning, Subject, pairs, within};

/// Where a decision comes from that was made in answer to a question.
const ORIGIN: &str = "the terminal";

/// What came of the questions.
pub enum Deciding<T> {
    /// Somebody said to stop. Nothing was changed.
    Stopped,
    /// Nothing is open any more.
    Settled(Box<Settled<T>>),
}

/// What is known when nothing is open any more.
pub struct Settled<T> {
    /// What was found, compared again with the decisions.
    pub found: T,
    /// The settings with the decisions: whatever is prepared again knows them.
    pub settings: Settings,
    /// The decisions, by environment.
    pub decided: Vec<(Environment, Decided)>,
    /// What may still be asked about: somebody may have said that nobody wants to know.
    pub subjects: Subjects,
}

impl Outcome {
    /// Whether something is open that somebody could decide.
    pub fn has_questions(&self, subjects: Subjects) -> bool {
        let open = |one: &Comparison| {
            (subjects.ambiguous && !one.ambiguous.is_empty())
                || (subjects.similar && !one.similar.is_empty())
        };
        self.environments.iter().any(open)
    }
}

impl Prepared {
    /// Asks about what is open, and plans again with the answers.
    ///
    /// # Errors
    /// When nobody answers, or the answers contradict other decisions.
    pub async fn decide(
        self,
        settings: &Settings,
        subjects: Subjects,
        style: Style,
        host: &dyn Host,
    ) -> Result<Deciding<Self>, Error> {
        let asked = decide(self.into_detection(), settings, subjects, style, host).await?;
        let Deciding::Settled(settled) = asked else {
            return Ok(Deciding::Stopped);
        };
        let Settled { found: mut detection, settings, decided, subjects } = *settled;
        detection.find_obstacles(&settings).await?;
        let found = Box::pin(Self::of(&settings, detection, &Refusals::new())).await?.foresee()?;
        Ok(Deciding::Settled(Box::new(Settled { found, settings, decided, subjects })))
    }
}

/// Asks about what is open in a detection until nothing is.
///
/// # Errors
/// When nobody answers, or the answers contradict other decisions.
pub(super) async fn decide(
    mut detection: Detection,
    settings: &Settings,
    subjects: Subjects,
    style: Style,
    host: &dyn Host,
) -> Result<Deciding<Detection>, Error> {
    let (before, mut settings) = (settings, settings.clone());
    let mut questioning = Questioning::new(subjects);
    loop {
        let comparisons = std::mem::take(&mut detection.outcome.environments);
        let goes_on = match questioning.next(&comparisons) {
            Next::Done => {
                detection.outcome.environments = comparisons;
                let (decided, subjects) = questioning.end();
                let found = detection;
                return Ok(Deciding::Settled(Box::new(Settled {
                    found,
                    settings,
                    decided,
                    subjects,
                })));
            }
            Next::Compare => true,
            Next::Ask(open) => {
                detection.identify(&open, host).await;
                let question = question(&open, detection.sides(open.environment), style);
                let answer = answer(&open, host.ask(&question)?);
                questioning.answer(&open, answer)
            }
        };
        if !goes_on {
            return Ok(Deciding::Stopped);
        }
        settings = with(before.clone(), &questioning);
        detection.compare_again(&settings)?;
    }
}

/// Settings with everything that was decided so far.
fn with(mut settings: Settings, questioning: &Questioning) -> Settings {
    for (environment, decided) in questioning.decided() {
        let scope = Scope {
            account: Some(environment.account.to_string()),
            region: Some(environment.region.to_string()),
        };
        settings.pairs.extend(decided.pairs.iter().map(|(source, destination)| Pair {
            source: Named::Location(source.clone()),
            destination: Named::Location(destination.clone()),
            said: Said::Now,
            scope: scope.clone(),
            origin: ORIGIN.to_owned(),
        }));
        settings.left.extend(decided.left.iter().map(|location| Left {
            what: Named::Location(location.clone()),
            scope: scope.clone(),
            origin: ORIGIN.to_owned(),
            said: Said::Now,
        }));
    }
    settings
}

impl Detection {
    fn sides(&self, environment: &Environment) -> Option<&Sides> {
        let found = self.environments.iter().find(|(other, _)| other == environment);
        found.map(|(_, sides)| sides)
    }

    /// Reads the physical IDs of the deployed resources that a question is about, if they are not
    /// known. They merely help to answer: what cannot be read is told, and left out.
    async fn identify(&mut self, open: &Open<'_>, host: &dyn Host) {
        let Some(connection) = &self.connection else { return };
        let of = |one: &&mut (Environment, Sides)| one.0 == *open.environment;
        let Some((_, sides)) = self.environments.iter_mut().find(of) else { return };
        let Some(deployed) = &mut sides.account else { return };
        let unknown = |location: &&&Location| {
            let stack = deployed.stacks.iter().find(|stack| stack.stack.name == location.stack);
            stack.is_some_and(|stack| !stack.resources.contains_key(location.logical_id.as_str()))
        };
        let sources = open.sources();
        let stacks: BTreeSet<StackName> =
            sources.iter().filter(unknown).map(|location| location.stack.clone()).collect();
        if stacks.is_empty() || !sides.asked.insert(stacks.clone()) {
            return;
        }
        let first = stacks.iter().find_map(|name| sides.properties.get(name));
        let first = first.or_else(|| sides.properties.values().next());
        let roles = first.and_then(|stack| account::roles(stack).ok()).unwrap_or_default();
        let stacks: Vec<_> = stacks.into_iter().collect();
        if let Err(error) = connection.aws.complete(deployed, &stacks, &roles).await {
            let text = format!("{}: the physical IDs are not known: {error}", open.environment);
            host.tell(&Event::Note { text });
        }
    }
}

impl Open<'_> {
    /// The deployed resources that the question is about.
    fn sources(&self) -> Vec<&Location> {
        match &self.subject {
            Subject::Resource { ambiguity, .. } => {
                ambiguity.sources.iter().map(|place| &place.location).collect()
            }
            Subject::Construct { group, .. } => {
                group.iter().flat_map(|one| &one.sources).map(|place| &place.location).collect()
            }
            Subject::Similar(pair) => vec![&pair.source.location],
        }
    }
}

/// Puts an open question into words.
fn question(open: &Open<'_>, sides: Option<&Sides>, style: Style) -> Question {
    let known = |of: fn(&Sides, &Location) -> Known| {
        move |place: &Place| sides.map(|sides| of(sides, &place.location)).unwrap_or_default()
    };
    let (old, new) = (known(deployed), known(present));
    let environment = open.environment;
    match &open.subject {
        Subject::Resource { ambiguity, source, destinations, proposed } => Which {
            environment,
            resource_type: Some(&ambiguity.resource_type),
            source: Candidate::resource(source, &old(source), style),
            candidates: destinations
                .iter()
                .map(|place| Candidate::resource(place, &new(place), style))
                .collect(),
            proposed: *proposed,
            example: destinations.first().map(|first| (*source, *first)),
            sources: ambiguity.sources.len(),
        }
        .question(style),
        Subject::Construct { group, old: was, new: may_be, proposed } => {
            let construct = |path, places: Vec<&Place>, known: &dyn Fn(&Place) -> Known| {
                let inside: Vec<_> =
                    places.into_iter().map(|place| (place, known(place))).collect();
                Candidate::construct(path, &inside)
            };
            // What holds data tells more than what does not.
            let mut group = group.clone();
            group.sort_by_key(|one| !registry::is_stateful(one.resource_type.as_str()));
            let sources = within(group.iter().flat_map(|one| &one.sources), was);
            let present = |path| {
                let inside = within(group.iter().flat_map(|one| &one.destinations), path);
                construct(path, inside, &new)
            };
            Which {
                environment,
                resource_type: None,
                source: construct(was, sources, &old),
                candidates: may_be.iter().map(|path| present(path)).collect(),
                proposed: *proposed,
                example: may_be.first().and_then(|is| pairs(&group, was, is).first().copied()),
                sources: group[0].constructs.0.len(),
            }
            .question(style)
        }
        Subject::Similar(pair) => {
            let was = Candidate::resource(&pair.source, &old(&pair.source), style);
            let is = Candidate::resource(&pair.destination, &new(&pair.destination), style);
            report::same(environment, pair, (&was, &is), style)
        }
    }
}

/// What is known of a deployed resource.
fn deployed(sides: &Sides, location: &Location) -> Known {
    let stacks = sides.account.iter().flat_map(|account| &account.stacks);
    let stack = stacks.into_iter().find(|stack| stack.stack.name == location.stack);
    let resource = stack.and_then(|stack| stack.resources.get(location.logical_id.as_str()));
    let text = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
    Known {
        physical_id: resource.and_then(|resource| text(&resource.physical_id)),
        changed_at: resource.and_then(|resource| text(&resource.changed_at)),
        referrers: hints::referrers(&sides.deployed, location),
    }
}

/// What is known of a resource as it is now.
fn present(sides: &Sides, location: &Location) -> Known {
    Known { referrers: hints::referrers(&sides.local, location), ..Known::default() }
}

/// The answer that a choice stands for, in the order in which `report` puts them.
fn answer(open: &Open<'_>, choice: usize) -> Answer {
    let (candidates, sources) = match &open.subject {
        Subject::Resource { ambiguity, destinations, .. } => {
            (destinations.len(), ambiguity.sources.len())
        }
        Subject::Construct { group, new, .. } => (new.len(), group[0].constructs.0.len()),
        Subject::Similar(_) => {
            return match choice {
                0 => Answer::Same(0),
                1 => Answer::Leave,
                2 => Answer::Skip,
                _ => Answer::Stop,
            };
        }
    };
    match choice {
        at if at < candidates => Answer::Same(at),
        at if at == candidates => Answer::Leave,
        at if at == candidates + 1 && sources > 1 => Answer::LeaveAll,
        _ => Answer::Stop,
    }
}
