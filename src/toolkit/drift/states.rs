//! The states of resources, in as many rounds as it takes to know what they are called.

use super::Error;
use crate::aws::{Aws, ResourceRequest, ResourceState, Roles};
use crate::event::{Event, Host};
use crate::model::Environment;
use crate::plan::drift::{Declarations, Standing, States, Subject, Unverified};
use crate::registry::{Address, NoAddress};

/// Who is asked, and who hears of it.
pub(super) struct Asking<'a> {
    pub(super) aws: &'a Aws,
    pub(super) roles: &'a Roles,
    pub(super) host: &'a dyn Host,
}

/// What became of the question for a resource.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// It was not asked for.
    Not(Unverified),
    /// Under this identifier it is what the answer says. The state itself is kept elsewhere.
    Answered(Address, Answer),
}

/// What Cloud Control said.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Read,
    NotFound,
    Unsupported,
    Denied(String),
    Failed(String),
}

/// Returns how a resource stands if that follows from the answer alone.
pub(super) fn standing(asked: &Asked) -> Option<Standing> {
    Some(match asked {
        Asked::Not(why) => Standing::Unverified(why.clone()),
        Asked::Answered(address, answer) => match answer {
            Answer::Read => return None,
            Answer::NotFound if address.is_certain => Standing::Gone,
            Answer::NotFound => {
                let why = Unverified::NotFoundPerhaps(address.identifier.clone());
                Standing::Unverified(why)
            }
            Answer::Unsupported => Standing::Unverified(Unverified::Unsupported),
            Answer::Denied(text) => Standing::Unverified(Unverified::Denied(text.clone())),
            Answer::Failed(text) => Standing::Unverified(Unverified::Failed(text.clone())),
        },
    })
}

impl Asking<'_> {
    /// Reads the states of resources: first of those whose identifiers are known, then of those
    /// whose identifiers these states tell, and on. Returns what became of each, in their order.
    pub(super) async fn states(
        &self,
        environment: &Environment,
        declarations: &Declarations<'_>,
        subjects: &[Subject],
    ) -> Result<(Vec<Asked>, States), Error> {
        let mut asked: Vec<Option<Asked>> = subjects
            .iter()
            .map(|subject| declarations.hindrance(subject).map(Asked::Not))
            .collect();
        let mut states = States::new();
        let mut done = asked.iter().flatten().count();
        loop {
            let mut next: Vec<(usize, Address)> = Vec::new();
            let mut open: Vec<(usize, NoAddress)> = Vec::new();
            for (at, subject) in subjects.iter().enumerate() {
                if asked[at].is_some() {
                    continue;
                }
                let declared = declarations.declared(subject, &states);
                match declarations.address(subject, &declared) {
                    Ok(address) => next.push((at, address)),
                    Err(error) => open.push((at, error)),
                }
            }
            if next.is_empty() {
                for (at, error) in open {
                    asked[at] = Some(Asked::Not(error.into()));
                }
                break;
            }
            let requests: Vec<ResourceRequest> = next
                .iter()
                .map(|(at, address)| ResourceRequest {
                    resource_type: subjects[*at].resource_type.to_string(),
                    identifier: address.identifier.clone(),
                })
                .collect();
            let told = |more: usize| self.tell(environment, done + more, subjects.len());
            let found = self.aws.resources(environment, self.roles, &requests, &told).await?;
            done += next.len();
            for ((at, address), found) in next.into_iter().zip(found) {
                let answer = match found {
                    ResourceState::Read(state) => {
                        states.insert(subjects[at].location.clone(), state);
                        Answer::Read
                    }
                    ResourceState::NotFound => Answer::NotFound,
                    ResourceState::Unsupported => Answer::Unsupported,
                    ResourceState::Denied(text) => Answer::Denied(text),
                    ResourceState::Failed(text) => Answer::Failed(text),
                };
                asked[at] = Some(Asked::Answered(address, answer));
            }
        }
        self.tell(environment, subjects.len(), subjects.len());
        Ok((asked.into_iter().flatten().collect(), states))
    }

    pub(super) fn tell(&self, environment: &Environment, done: usize, of: usize) {
        self.host.tell(&Event::Reading { environment: environment.clone(), done, of });
    }
}
