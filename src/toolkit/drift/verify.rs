//! Whether moves have left the resources what they were.

use std::collections::{BTreeMap, BTreeSet};

use super::states::{Asked, Asking, standing};
use super::{Error, read};
use crate::aws::{ResourceRequest, ResourceState, Roles, Wanted};
use crate::event::Host;
use crate::model::{DeployedEnvironment, Location, ResourceType, Text};
use crate::plan::drift::{
    Declarations, Standing, States, Subject, Unverified, Verification, VerifiedMove, moved, schema,
};
use crate::settings::Account;
use crate::toolkit::account::Connection;
use crate::toolkit::carry_out::Carried;
use crate::toolkit::planning::{Planned, Prepared};

/// The states of resources before they move, by environment.
pub(in crate::toolkit) struct Before(Vec<Kept>);

/// What was read of an environment before something was moved in it.
struct Kept {
    roles: Roles,
    deployed: DeployedEnvironment,
    /// The resources that are going to move, by the places that they leave.
    subjects: BTreeMap<String, (Subject, Asked)>,
    states: States,
    /// The tags of stacks that moves create, by name.
    new_tags: BTreeMap<String, BTreeMap<Text, Text>>,
}

/// Reads the states of all resources that the plans move.
///
/// # Errors
/// When an account cannot be read. A resource that cannot be read is no error.
pub(in crate::toolkit) async fn before(
    prepared: &Prepared,
    account: &Account,
    host: &dyn Host,
) -> Result<Before, Error> {
    let mut kept = Vec::new();
    if let Some(connection) = &prepared.connection {
        for planned in prepared.plans.iter().filter(|one| !one.plan.steps.is_empty()) {
            kept.push(of_plan(connection, account, planned, host).await?);
        }
    }
    Ok(Before(kept))
}

async fn of_plan(
    connection: &Connection,
    account: &Account,
    planned: &Planned,
    host: &dyn Host,
) -> Result<Kept, Error> {
    let moves = planned.plan.net_moves();
    let ends = moves.iter().flat_map(|one| [one.source.as_str(), one.destination.as_str()]);
    let names: BTreeSet<&str> = ends.map(root).collect();
    let roles = planned.roles.clone();
    let wanted = |name: &&str| Wanted { name: (*name).to_owned(), roles: roles.clone() };
    let stacks = names.iter().map(wanted).collect();
    let (deployed, _) = read(connection, account, planned.plan.environment(), stacks, host).await?;
    let leaving: BTreeSet<&str> = moves.iter().map(|one| one.source.as_str()).collect();
    let declarations = Declarations::new(&deployed);
    let subjects: Vec<Subject> = declarations
        .subjects()
        .into_iter()
        .filter(|one| leaving.contains(one.location.to_string().as_str()))
        .collect();
    let asking = Asking { aws: &connection.aws, roles: &roles, host };
    let (asked, states) = asking.states(&deployed.environment, &declarations, &subjects).await?;
    let named =
        |(subject, asked): (Subject, Asked)| (subject.location.to_string(), (subject, asked));
    let subjects = subjects.into_iter().zip(asked).map(named).collect();
    let tags = planned.new_stacks.iter().map(|(name, new)| (name.clone(), new.tags.clone()));
    let new_tags = tags.collect();
    Ok(Kept { roles, deployed, subjects, states, new_tags })
}

/// The stack at the top of a place: `Parent/Nested.Id` is in `Parent`.
fn root(place: &str) -> &str {
    place.split(['/', '.']).next().unwrap_or(place)
}

/// Reads the states of what was moved again, and returns what became of it.
///
/// # Errors
/// When an account cannot be read.
pub(in crate::toolkit) async fn after(
    before: &Before,
    connection: &Connection,
    carried: &[Carried],
    host: &dyn Host,
) -> Result<Vec<Verification>, Error> {
    let mut found = Vec::new();
    for one in carried {
        let is_it = |kept: &&Kept| kept.deployed.environment == one.environment;
        let Some(kept) = before.0.iter().find(is_it) else { continue };
        let moves = kept.verified(one, connection, host).await?;
        found.push(Verification { environment: one.environment.clone(), moves });
    }
    Ok(found)
}

impl Kept {
    async fn verified(
        &self,
        carried: &Carried,
        connection: &Connection,
        host: &dyn Host,
    ) -> Result<Vec<VerifiedMove>, Error> {
        let moves = carried.plan.net_moves();
        let readable = moves.iter().filter_map(|one| self.request(&one.source));
        let requests: Vec<ResourceRequest> = readable.collect();
        let environment = &self.deployed.environment;
        let asking = Asking { aws: &connection.aws, roles: &self.roles, host };
        let told = |done: usize| asking.tell(environment, done, requests.len());
        let answers = connection.aws.resources(environment, &self.roles, &requests, &told).await?;
        let mut answers = answers.into_iter();
        let declarations = Declarations::new(&self.deployed);
        let mut verified = Vec::with_capacity(moves.len());
        for one in &moves {
            let answer = match self.request(&one.source) {
                Some(_) => answers.next(),
                None => None,
            };
            let standing = match (self.subjects.get(&one.source), answer) {
                (Some((subject, _)), Some(answer)) => {
                    self.compared(subject, &one.destination, answer, &declarations)
                }
                (Some((_, asked)), None) => {
                    // What did not exist before cannot be verified.
                    let gone = || Standing::Unverified(Unverified::GoneBefore);
                    standing(asked).filter(|one| !one.is_off()).unwrap_or_else(gone)
                }
                (None, _) if one.resource_type == "AWS::CloudFormation::Stack" => {
                    Standing::Unverified(Unverified::NestedStack)
                }
                (None, _) => Standing::Unverified(Unverified::GoneBefore),
            };
            verified.push(VerifiedMove {
                resource_type: ResourceType::from(one.resource_type.as_str()),
                source: one.source.clone(),
                destination: one.destination.clone(),
                standing,
            });
        }
        Ok(verified)
    }

    /// How a resource was read before, if it was.
    fn request(&self, source: &str) -> Option<ResourceRequest> {
        let (subject, asked) = self.subjects.get(source)?;
        let Asked::Answered(address, _) = asked else { return None };
        self.states.contains_key(&subject.location).then(|| ResourceRequest {
            resource_type: subject.resource_type.to_string(),
            identifier: address.identifier.clone(),
        })
    }

    fn compared(
        &self,
        subject: &Subject,
        destination: &str,
        answer: ResourceState,
        declarations: &Declarations<'_>,
    ) -> Standing {
        let after = match answer {
            ResourceState::Read(after) => after,
            ResourceState::NotFound => return Standing::Gone,
            ResourceState::Unsupported => return Standing::Unverified(Unverified::Unsupported),
            ResourceState::Denied(text) => return Standing::Unverified(Unverified::Denied(text)),
            ResourceState::Failed(text) => return Standing::Unverified(Unverified::Failed(text)),
        };
        let Some(before) = self.states.get(&subject.location) else { return Standing::InSync };
        let declared = declarations.declared(subject, &self.states);
        let tags = self.tags(destination);
        let name = &subject.resource_type;
        let found = moved(name, before, &after, &declared, &tags, &schema(name));
        if found.is_empty() { Standing::InSync } else { Standing::Drifted(found) }
    }

    /// The tags of the stack that a resource has now.
    fn tags(&self, destination: &str) -> BTreeMap<Text, Text> {
        let Ok(place) = destination.parse::<Location>() else { return BTreeMap::new() };
        let stacks = &self.deployed.stacks;
        let known = stacks.iter().find(|one| one.stack.name == place.stack);
        let known = known.map(|one| one.options.tags.clone());
        known.or_else(|| self.new_tags.get(place.stack.as_str()).cloned()).unwrap_or_default()
    }
}
