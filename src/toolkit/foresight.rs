//! What a deployment would replace, for aspects that forbid it.

use std::collections::{BTreeMap, BTreeSet};

use super::Error;
use super::aspects::Judging;
use super::detect::{Outcome, Sides};
use super::planning::Prepared;
use crate::aspects::Replacement;
use crate::compare::Comparison;
use crate::model::{Environment, Location};
use crate::plan::{self, EffectKind, Forecast, ForecastRequest, Plan, Staying};

impl Prepared {
    /// Judges what a deployment would replace after the moves, where the account was read and an
    /// aspect forbids it. What is told of the rest stays as it is.
    ///
    /// # Errors
    /// When the aspects cannot be invoked.
    pub(super) fn foresee(mut self) -> Result<Self, Error> {
        if !self.aspects.wants_forecasts() {
            return Ok(self);
        }
        for (environment, sides) in &self.environments {
            let Some(deployed) = &sides.account else { continue };
            let mut plans = self.plans.iter().map(|one| &one.plan);
            let plan = plans.find(|plan| plan.environment() == *environment);
            let moved = plan.map(|plan| plan::after(deployed, plan));
            let roots = sides.local.iter().filter(|stack| stack.parent.is_none());
            let selected = roots.filter(|stack| self.basis.takes(environment, &stack.name));
            let comparison = comparison(&self.outcome, environment);
            let forecast = plan::forecast(&ForecastRequest {
                now: moved.as_ref().unwrap_or(deployed),
                local: &sides.local,
                selected: &selected.map(|stack| stack.name.to_string()).collect(),
                // The order of the stacks decides what is held for others, not what is replaced.
                needs: &BTreeMap::new(),
                comparison,
                staying: plan.map(|plan| &*plan.staying).unwrap_or_default(),
                keep_names: false,
            });
            let found = replacements(&forecast, plan, comparison);
            self.aspects.foresee((environment, sides), &found, &mut self.outcome)?;
        }
        Ok(self)
    }
}

/// Judges a forecast of a deployment.
///
/// # Errors
/// When the aspects cannot be invoked.
pub(super) fn judge(
    aspects: &Judging,
    (forecast, plan): (&Forecast, Option<&Plan>),
    sides: &Sides,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let comparison = comparison(outcome, &forecast.environment);
    let found = replacements(forecast, plan, comparison);
    aspects.foresee((&forecast.environment, sides), &found, outcome)
}

/// Judges a forecast of a deployment before which nothing is moved: what would have moved is made
/// anew.
///
/// # Errors
/// When the aspects cannot be invoked.
pub(super) fn judge_unmoved(
    aspects: &Judging,
    forecast: &Forecast,
    sides: &Sides,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let comparison = comparison(outcome, &forecast.environment);
    let mut found = replacements(forecast, None, comparison);
    let moved = comparison.into_iter().flat_map(|one| &one.mappings).map(|one| Replacement {
        location: one.destination.location.clone(),
        reason: format!(
            "it was `{}`, and is not moved: the deployment would recreate it",
            one.source.location
        ),
    });
    found.extend(moved);
    aspects.foresee((&forecast.environment, sides), &found, outcome)
}

fn comparison<'o>(outcome: &'o Outcome, environment: &Environment) -> Option<&'o Comparison> {
    outcome.environments.iter().find(|one| one.environment == *environment)
}

/// Returns what a forecast says will, or may, be replaced: also what cannot be moved and does not
/// keep its logical ID. Places are those of the app as it is now.
fn replacements(
    forecast: &Forecast,
    plan: Option<&Plan>,
    comparison: Option<&Comparison>,
) -> Vec<Replacement> {
    let mut found: BTreeMap<Location, String> = BTreeMap::new();
    let mappings = comparison.into_iter().flat_map(|one| &one.mappings);
    let known: BTreeMap<&Location, &Location> =
        mappings.map(|one| (&one.source.location, &one.destination.location)).collect();
    let effects = forecast.stacks.iter().flat_map(|stack| &stack.effects);
    for effect in effects {
        let EffectKind::Replace { certain, properties, cause } = &effect.kind else { continue };
        let place = Location::new(&effect.stack, &effect.logical_id);
        // What keeps its logical ID has another one in the app.
        let is_kept = forecast.kept.contains(&place.to_string());
        let now = known.get(&place).filter(|_| is_kept).map_or(&place, |now| *now);
        let would = if *certain { "would" } else { "may" };
        let why = cause.clone().unwrap_or_else(|| match properties.as_slice() {
            [one] => format!("`{one}` changes"),
            several => format!("`{}` change", several.join("`, `")),
        });
        found.insert(now.clone(), format!("the deployment {would} replace it, since {why}"));
    }
    let blocked = comparison.into_iter().flat_map(|one| &one.mappings).filter_map(|mapping| {
        let (source, why) = (&mapping.source.location, mapping.blocked.as_deref()?);
        Some((source.clone(), mapping.destination.location.clone(), why))
    });
    let staying = plan.into_iter().flat_map(|plan| &plan.staying);
    let staying = staying.filter_map(ends);
    let recreated: BTreeSet<(Location, Location, &str)> = blocked.chain(staying).collect();
    for (source, destination, why) in recreated {
        if !forecast.kept.contains(&source.to_string()) {
            let reason = format!("the deployment would recreate it: it {why}");
            found.entry(destination).or_insert(reason);
        }
    }
    found.into_iter().map(|(location, reason)| Replacement { location, reason }).collect()
}

fn ends(staying: &Staying) -> Option<(Location, Location, &str)> {
    Some((staying.source.parse().ok()?, staying.destination.parse().ok()?, &staying.reason))
}
