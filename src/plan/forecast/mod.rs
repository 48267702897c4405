//! The forecast: what a deployment would do to each resource, what would be lost, and which
//! templates are to be sent so that nothing is lost that need not be.
//!
//! In: what is deployed when the deployment begins ([`after`] says what moves leave), the stacks
//! of the app, what is going to be deployed. Out: a [`Forecast`]. Called by `toolkit`. Pure.
//!
//! The way through this part: `evaluate` and `functions` work out what the values of templates
//! come to (`symbol`), as far as that is known; `pair` holds both sides against each other and
//! tells what becomes of each resource; `effects` lists it, with what `danger` says of it. `keep`
//! and `same_id` put deployed names back where `--keep-names` asks for it, `hold` keeps outputs that others
//! still use (`users`), with what they need (`closure`).

mod after;
mod closure;
mod danger;
mod effects;
mod evaluate;
mod functions;
mod hold;
mod keep;
mod known;
mod pair;
mod same_id;
mod symbol;
mod users;

use std::collections::{BTreeMap, BTreeSet};

pub use after::after;
pub use danger::{Allowed, AllowedError, PlannedChange, judge};
pub use keep::as_the_app_says;
pub(in crate::plan) use known::{Properties, Templates};
pub use same_id::kept_ids;

use super::steps::{Finding, Staying};
use crate::compare::Comparison;
use crate::model::{DeployedEnvironment, Environment, Stack, Template, Value};
use crate::template::json;
use effects::Effects;
use pair::Pair;

/// What a forecast is made of.
#[derive(Clone, Copy, Debug)]
pub struct ForecastRequest<'a> {
    /// What is deployed when the deployment begins, after the moves. Templates are as
    /// CloudFormation has them, kept names included.
    pub now: &'a DeployedEnvironment,
    /// All stacks of the app in this environment, nested ones included, with the values of
    /// parameters filled in as far as they are known.
    pub local: &'a [Stack],
    /// Names of the root stacks that are going to be deployed.
    pub selected: &'a BTreeSet<String>,
    /// For each root stack the root stacks that are deployed before it (the dependencies of the
    /// app, transitively).
    pub needs: &'a BTreeMap<String, BTreeSet<String>>,
    /// The comparison, which tells what was moved and which differences follow from new names.
    pub comparison: Option<&'a Comparison>,
    /// What could not move: recreated by the deployment.
    pub staying: &'a [Staying],
    /// Whether deployed names are to be kept that would replace a resource if they changed.
    pub keep_names: bool,
}

/// What a deployment would do in one environment.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The account and region.
    pub environment: Environment,
    /// The root stacks that are deployed, by name.
    pub stacks: Vec<StackForecast>,
    /// The places of resources that cannot be moved and keep their deployed logical IDs,
    /// `Stack.LogicalId`.
    pub kept: BTreeSet<String>,
    /// What has to be known, or put right, before anything is deployed; the worst first.
    pub findings: Vec<Finding>,
}

/// What the deployment of a root stack would do.
#[derive(Clone, Debug)]
pub struct StackForecast {
    /// Its name.
    pub name: String,
    /// Sent first in place of the template of the app, with everything that others still use.
    pub holding: Option<Holding>,
    /// Sent in place of the template of the app, with kept names and with what has to be held for
    /// good; `None`: the template of the app.
    pub template: Option<String>,
    /// What happens to resources once all of it is deployed, nested stacks included, by place. A
    /// resource to which nothing happens has no effect; neither has one of which nothing but
    /// `Metadata` or `DependsOn` changes, since CloudFormation does not touch it.
    pub effects: Vec<Effect>,
}

/// A template that goes before another one, since others use what the other one lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The template.
    pub template: String,
    /// What is held.
    pub exports: Vec<HeldExport>,
    /// Root stacks that have to be deployed between the two. Empty: what is held is not released
    /// by this deployment, and this template is all that is sent.
    pub until: BTreeSet<String>,
    /// Those of `until` of which the first template still uses what is held, since they hold
    /// something themselves: their second template has to be deployed. For the others the first
    /// one, held or not, is enough.
    pub until_released: BTreeSet<String>,
}

/// An output that is held for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldExport {
    /// The name of the export; for an output without one (read by `Fn::GetStackOutput`) its key.
    pub name: String,
    /// The stacks that use it, by the names that CloudFormation has for them, sorted.
    pub importers: Vec<String>,
}

/// What a deployment does to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The stack; for a nested stack `Parent/LogicalId`.
    pub stack: String,
    /// The logical ID.
    pub logical_id: String,
    /// The type.
    pub resource_type: String,
    /// The physical ID before, if there is one.
    pub physical_id: Option<String>,
    /// What happens.
    pub kind: EffectKind,
    /// What is lost, if data or an identity is lost: one sentence about the resource.
    pub danger: Option<String>,
}

/// What happens to a resource. Properties are dotted paths from the resource's body, as in
/// [`crate::compare::Difference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectKind {
    /// It is created.
    Add,
    /// It is changed where it is.
    Update {
        /// What changes.
        properties: Vec<String>,
    },
    /// Another one takes its place.
    Replace {
        /// Whether that is certain; if not, it depends on values that are only known when they are
        /// deployed, or on what the registry does not tell.
        certain: bool,
        /// The properties that make it so.
        properties: Vec<String>,
        /// The resource that makes it so by what becomes of it: "`Stack.Id` is replaced".
        cause: Option<String>,
    },
    /// It is deleted.
    Remove,
    /// It leaves the template and stays in the account.
    Retain,
}

/// Returns what a deployment would do, and what is to be sent. The result does not depend on the
/// order of anything in the request.
pub fn forecast(request: &ForecastRequest<'_>) -> Forecast {
    let same = same_id::keep(request);
    let request = &ForecastRequest { local: &same.local, staying: &same.staying, ..*request };
    let mut forecast = of_templates(request);
    for stack in &mut forecast.stacks {
        let local = same.local.iter().find(|local| local.name.as_str() == stack.name);
        let local = local.filter(|_| same.changed.contains(&stack.name));
        if stack.template.is_none() {
            stack.template = local.map(|local| written(&local.template));
        }
    }
    forecast.findings.extend(same.findings);
    forecast.findings.sort_by_key(order);
    forecast.findings.dedup();
    forecast.kept = same.kept;
    forecast
}

fn order(each: &Finding) -> impl Ord + use<> {
    let place = (each.stack.clone(), each.resource.clone(), each.message.clone());
    (std::cmp::Reverse(each.severity), place)
}

/// What the deployment of the templates of the request would do.
fn of_templates(request: &ForecastRequest<'_>) -> Forecast {
    let nothing = BTreeMap::new();
    let plain = Pair::new(request, &nothing);
    let keep::Kept { templates: kept, mut findings } = keep::keep(&plain, request);
    let named;
    let pair = if kept.is_empty() {
        &plain
    } else {
        named = Pair::new(request, &kept);
        &named
    };
    let mut holds = hold::hold(pair, request);
    findings.append(&mut holds.findings);
    let mut last = kept.clone();
    last.append(&mut holds.last);
    let end;
    let pair = if last == kept {
        pair
    } else {
        end = Pair::new(request, &last);
        &end
    };
    let mut stacks = Vec::new();
    for site in pair.new.sites.iter().filter(|site| site.is_deployed && site.parent.is_none()) {
        let (effects, found) = Effects::new(pair, request).of(site.name);
        findings.extend(found);
        stacks.push(StackForecast {
            name: site.name.to_owned(),
            holding: holds.first.remove(site.name),
            template: last.get(site.name).map(written),
            effects,
        });
    }
    stacks.sort_by(|left, right| left.name.cmp(&right.name));
    let environment = request.now.environment.clone();
    Forecast { environment, stacks, kept: BTreeSet::new(), findings }
}

/// A template as the CDK writes it.
fn written(template: &Template) -> String {
    json::to_template(&Value::Object(template.sections.clone()))
}
