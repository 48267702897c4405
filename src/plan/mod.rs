//! The plan: which steps turn the deployed stacks into those in which every moved resource has
//! its new place.
//!
//! In: what is deployed, the stacks as they are now, the mappings between them, and what people
//! and the service say about types ([`Choices`]). Out: a [`Plan`], a value that can be shown,
//! saved and carried out. Called by `toolkit`; carried out by `run`. Pure: it reads no account
//! and changes nothing.
//!
//! The way through this room: the deployed templates become a `world` (with the characters that
//! CloudFormation does not give back restored by `characters`); `wishes` decides which mappings
//! are moves and which resources stay, `hand_over` what the deployment does to these (for which
//! `same` compares what both sides come to), `sections` what moves need in new stacks; `order`
//! cuts the moves into refactors; `build` carries them out on the world, one after the other, by
//! `apply` and `outputs`, which ask the `guide` for the names of exports; on the way back `past`
//! writes references as they were; `preflight` tells what CloudFormation would refuse.
//!
//! `forecast` tells what the deployment that follows does to each resource, and which templates are
//! to be sent so that nothing is lost that need not be. `drift` tells whether resources still are as
//! the deployed templates say.
//!
//! Stacks may import from each other between the moves and the deployment, because a resource
//! that cannot move stays behind: the references between *resources* never form a circle, and
//! CloudFormation only looks at those. To keep more resources behind would break the circle and
//! lose the resources; so it is said in a finding, and the preview has the last word.

mod apply;
mod build;
mod characters;
mod choices;
pub mod drift;
mod forecast;
mod guard;
mod guide;
mod hand_over;
mod limits;
mod literal;
mod order;
mod outputs;
mod past;
mod preflight;
mod reverse;
mod same;
mod sections;
mod seen;
mod site;
mod steps;
mod wishes;
mod world;

pub use choices::{Choices, Refused, uncertain_types};
pub use forecast::{
    Allowed, AllowedError, Effect, EffectKind, Forecast, ForecastRequest, HeldExport, Holding,
    PlannedChange, StackForecast, after, as_the_app_says, forecast, judge, kept_ids,
};
pub use guard::guarded;
pub use reverse::{Past, reverse};
pub use steps::{
    Action, Batch, BatchStack, Change, Finding, HandOver, Move, Plan, Purpose, Severity, Staying,
    Step, body_digest,
};

use std::collections::BTreeSet;

use crate::compare::Comparison;
use crate::model::{DeployedEnvironment, Stack, Text, Value};
use build::{Builder, Policies};
use guide::Guide;
use wishes::{Counterparts, Sources};
use world::World;

/// Makes the plan of an environment.
///
/// `deployed` is what CloudFormation has, `local` the stacks as they are now, nested ones
/// included, and `comparison` the comparison of the two. The result does not depend on the order
/// of anything in them.
pub fn plan(
    deployed: &DeployedEnvironment,
    local: &[Stack],
    comparison: &Comparison,
    choices: &Choices,
) -> Plan {
    let sources = Sources { deployed, local, comparison, choices };
    let (templates, doubts) = characters::restore(deployed, local, comparison);
    let mut world = World::new(&deployed.environment, &deployed.stacks, templates);
    let parts = Counterparts::new(&mut world, &sources);
    let wishes = wishes::decide(&world, &sources, &parts);
    let guide = Guide::new(&world, &parts.pairs(local));
    let retain =
        |ids: BTreeSet<Text>| ids.into_iter().map(|id| (id, Some(Value::from("Retain")))).collect();
    let by_stack = wishes.retained.into_iter().map(|(at, ids)| (at, retain(ids)));
    let policies = Policies { by_stack: by_stack.collect(), release: false };
    let mut builder = Builder::new(world, guide, &deployed.stacks, wishes.additions, policies);
    builder.carry_out(&wishes.moves);
    finish(deployed, builder, wishes.staying, wishes.findings, &doubts)
}

/// Puts the plan together.
fn finish(
    deployed: &DeployedEnvironment,
    builder: Builder<'_>,
    mut staying: Vec<Staying>,
    mut findings: Vec<Finding>,
    doubts: &[characters::Doubt],
) -> Plan {
    let involved = builder.involved();
    findings.extend(preflight::check(&builder.world, deployed, &involved, builder.refactored()));
    let concerned = |doubt: &&characters::Doubt| {
        builder.world.at(&doubt.stack).is_some_and(|at| involved.contains(&at))
    };
    findings.extend(doubts.iter().filter(concerned).map(characters::Doubt::finding));
    findings.extend(builder.findings);
    let key = |f: &Finding| {
        (std::cmp::Reverse(f.severity), f.stack.clone(), f.resource.clone(), f.message.clone())
    };
    findings.sort_by_key(key);
    findings.dedup();
    staying.sort_by(|left, right| left.source.cmp(&right.source));
    Plan {
        account: deployed.environment.account.to_string(),
        region: deployed.environment.region.to_string(),
        steps: builder.steps,
        staying,
        findings,
    }
}
