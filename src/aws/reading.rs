//! One reading: what is asked of each stack, and when.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{Either, select, try_join_all};
use tokio::time::Instant;

use super::error::AwsError;
use super::facts::{Detail, Policy, Resources};
use super::gaps::Gaps;
use super::listing::Listing;
use super::nested::STACK_TYPE;
use super::read::Depth;
use super::session::Session;
use super::wait::Wait;
use crate::event::{Event, Host};
use crate::model::{
    DeployedStack, Environment, Location, Stack, StackName, StackStatus, StatusKind, Template,
    Text, Value,
};

pub(super) struct Target<'a> {
    pub session: Session,
    pub name: &'a str,
    pub required: bool,
}

impl Target<'_> {
    pub(super) fn require(&mut self) {
        self.required = true;
    }
}

/// What became of a stack.
pub(super) enum Outcome {
    /// It does not exist.
    Missing,
    /// It holds nothing.
    Empty(StackName, StackStatus),
    /// Something is going on.
    Busy(StackName, StackStatus),
    /// Somebody has to repair it.
    Broken(StackName, StackStatus),
    /// It was read, and what is nested in it.
    Read(Box<DeployedStack>, Vec<Self>),
}

/// Where a stack is, and what it is called.
pub(super) struct Place<'a> {
    pub session: &'a Session,
    /// By what CloudFormation finds it: name or ARN.
    pub key: &'a str,
    pub name: StackName,
    pub parent: Option<Location>,
    pub depth: usize,
}

pub(super) struct Reading<'a> {
    pub environment: &'a Environment,
    pub host: &'a dyn Host,
    pub depth: Depth,
    pub wait: Option<Wait>,
    pub accepts_failed: bool,
    pub begin: Instant,
    pub listing: Option<Listing>,
    pub gaps: Gaps,
    pub known: AtomicUsize,
    pub done: AtomicUsize,
    pub notes: Mutex<Vec<String>>,
}

/// What is asked of a stack first.
struct First {
    body: Option<String>,
    detail: Option<Detail>,
    resources: Option<Resources>,
    policy: Option<Policy>,
}

impl Reading<'_> {
    pub(super) async fn run(&self, targets: &[Target<'_>]) -> Result<Vec<Outcome>, AwsError> {
        self.tell();
        let stacks = try_join_all(targets.iter().map(|target| self.top(target)));
        let (Some(listing), Some(first)) = (&self.listing, targets.first()) else {
            return stacks.await;
        };
        // The listing is no more needed when all stacks have been read.
        match select(Box::pin(listing.run(&first.session)), Box::pin(stacks)).await {
            Either::Left(((), stacks)) => stacks.await,
            Either::Right((outcomes, _)) => outcomes,
        }
    }

    async fn top(&self, target: &Target<'_>) -> Result<Outcome, AwsError> {
        let place = Place {
            session: &target.session,
            key: target.name,
            name: target.name.into(),
            parent: None,
            depth: 0,
        };
        let outcome = Box::pin(self.stack(place)).await?;
        if target.required && matches!(outcome, Outcome::Missing) {
            return Err(AwsError::NoSuchStack {
                environment: self.environment.clone(),
                stack: target.name.to_owned(),
            });
        }
        Ok(outcome)
    }

    /// Reads a stack, waiting until nothing is going on in it if that is wanted.
    pub(super) async fn stack(&self, place: Place<'_>) -> Result<Outcome, AwsError> {
        let mut first = Box::pin(self.first(&place)).await?;
        let outcome = loop {
            let Some(detail) = first.detail.take() else { break Outcome::Missing };
            let status = detail.status.clone();
            match status.kind() {
                StatusKind::Empty if status.0 == "DELETE_COMPLETE" => break Outcome::Missing,
                StatusKind::Empty => break Outcome::Empty(place.name, status),
                StatusKind::Broken if self.accepts_failed && status.0 == "UPDATE_FAILED" => {
                    break self.rest(&place, first, detail).await?;
                }
                StatusKind::Broken => break Outcome::Broken(place.name, status),
                StatusKind::Stable => break self.rest(&place, first, detail).await?,
                StatusKind::Busy => match self.settle(&place, &detail).await? {
                    Some(last) if last.status.kind() == StatusKind::Busy => {
                        break Outcome::Busy(place.name, last.status);
                    }
                    None => break Outcome::Missing,
                    // What was read before is out of date.
                    Some(detail) => {
                        let body = place.session.template(&detail.id).await?;
                        let detail = Some(detail);
                        first = First { body, detail, resources: None, policy: None };
                    }
                },
            }
        };
        self.done.fetch_add(1, Ordering::Relaxed);
        self.tell();
        Ok(outcome)
    }

    /// Asks what can be asked without knowing anything: all at once if no listing runs, else the
    /// template, so that the listing has time.
    async fn first(&self, place: &Place<'_>) -> Result<First, AwsError> {
        let Place { session, key, .. } = place;
        let complete = self.depth == Depth::Complete;
        let lists = self.depth != Depth::Comparison;
        if let Some(listing) = &self.listing {
            let body = session.template(key).await?;
            let detail = match &body {
                Some(_) => listing.detail(session, key).await?,
                None => None,
            };
            return Ok(First { body, detail, resources: None, policy: None });
        }
        let resources =
            async { if lists { session.resources(key).await.map(Some) } else { Ok(None) } };
        let policy = async {
            if complete { self.gaps.policy(session, key, &place.name).await } else { Ok(None) }
        };
        let (body, detail, resources, policy) = tokio::try_join!(
            session.template(key),
            session.detail(key),
            or_missing(resources),
            or_missing(policy)
        )?;
        Ok(First { body, detail, resources, policy })
    }

    /// Reads the rest of a stack that is deployed, and what is nested in it.
    async fn rest(
        &self,
        place: &Place<'_>,
        first: First,
        detail: Detail,
    ) -> Result<Outcome, AwsError> {
        if let (None, Some(parent)) = (&place.parent, &detail.parent) {
            return Err(AwsError::NamedNested {
                environment: self.environment.clone(),
                stack: place.name.to_string(),
                parent: parent.clone(),
            });
        }
        let id = detail.id.as_str();
        let body = Text::from(first.body.unwrap_or_default());
        let template = self.parse(place, body.clone()).await?;
        let complete = self.depth == Depth::Complete;
        let nests = template
            .resources()
            .any(|(_, resource)| resource.get("Type").and_then(Value::as_str) == Some(STACK_TYPE));
        let lists = self.depth != Depth::Comparison;
        let resources = self.below(place, id, first.resources, lists || nests);
        let policy = async {
            match first.policy {
                None if complete => self.gaps.policy(place.session, id, &place.name).await,
                known => Ok(known),
            }
        };
        let exports = async {
            if complete {
                self.gaps.importers(place.session, &place.name, detail.exports.clone()).await
            } else {
                Ok(detail.exports.clone())
            }
        };
        let ((resources, nested), policy, exports) = tokio::try_join!(resources, policy, exports)?;
        let mut stack = Stack::new(place.name.as_str(), template);
        stack.parent.clone_from(&place.parent);
        stack.is_returned = true;
        stack.parameters = detail.parameters;
        let read = DeployedStack {
            id: id.into(),
            status: detail.status,
            stack,
            body,
            resources,
            exports,
            outputs: detail.outputs,
            has_policy: policy.is_some_and(|policy| policy.is_attached),
            options: detail.options,
        };
        Ok(Outcome::Read(Box::new(read), nested))
    }

    /// Reads a template away from the thread that keeps the requests going.
    async fn parse(&self, place: &Place<'_>, body: Text) -> Result<Template, AwsError> {
        let parsing = tokio::task::spawn_blocking(move || crate::template::parse(body.as_bytes()));
        let parsed = match parsing.await {
            Ok(parsed) => parsed,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        parsed.map_err(|error| AwsError::Template {
            environment: self.environment.clone(),
            stack: place.name.clone(),
            error,
        })
    }

    fn tell(&self) {
        self.host.tell(&Event::Reading {
            environment: self.environment.clone(),
            done: self.done.load(Ordering::Relaxed),
            of: self.known.load(Ordering::Relaxed),
        });
    }
}

/// A stack that is not there has neither resources nor a policy; that it is missing is seen
/// elsewhere.
async fn or_missing<T>(
    answer: impl Future<Output = Result<Option<T>, AwsError>>,
) -> Result<Option<T>, AwsError> {
    match answer.await {
        Err(error) if error.is_missing_stack() => Ok(None),
        other => other,
    }
}
