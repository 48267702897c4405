//! Stacks that are resources of other stacks.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};

use super::error::AwsError;
use super::facts::Resources;
use super::reading::{Outcome, Place, Reading};
use crate::model::{DeployedResource, Location, Text};

/// How deep stacks may be nested, as in `assembly`.
const MAX_DEPTH: usize = 32;
/// The type of resources that are stacks.
pub(super) const STACK_TYPE: &str = "AWS::CloudFormation::Stack";

impl Reading<'_> {
    /// Reads the resources of a stack, if they are needed and not known, and the stacks that they
    /// are. Boxed, since stacks are nested in nested ones.
    pub(super) fn below<'b>(
        &'b self,
        place: &'b Place<'_>,
        id: &'b str,
        known: Option<Resources>,
        needed: bool,
    ) -> BoxFuture<'b, Result<(Resources, Vec<Outcome>), AwsError>> {
        async move {
            let resources = match known {
                Some(known) => known,
                None if needed => place.session.resources(id).await?,
                None => Resources::new(),
            };
            let nested = self.nested(place, &resources).await?;
            Ok((resources, nested))
        }
        .boxed()
    }

    async fn nested(
        &self,
        place: &Place<'_>,
        resources: &Resources,
    ) -> Result<Vec<Outcome>, AwsError> {
        let is_stack = |(_, resource): &(&Text, &DeployedResource)| {
            resource.resource_type.as_str() == STACK_TYPE && resource.status != "DELETE_COMPLETE"
        };
        let stacks = resources.iter().filter(is_stack).filter_map(|(logical_id, resource)| {
            let key = resource.physical_id.as_deref()?;
            Some(self.child(place, logical_id, key))
        });
        let stacks: Vec<_> = stacks.collect();
        self.known.fetch_add(stacks.len(), Ordering::Relaxed);
        try_join_all(stacks).await
    }

    async fn child(
        &self,
        parent: &Place<'_>,
        logical_id: &str,
        key: &str,
    ) -> Result<Outcome, AwsError> {
        if parent.depth >= MAX_DEPTH {
            return Err(AwsError::TooDeep {
                environment: self.environment.clone(),
                stack: parent.name.clone(),
                limit: MAX_DEPTH,
            });
        }
        let name = format!("{}/{logical_id}", parent.name);
        let place = Place {
            session: parent.session,
            key,
            name: name.as_str().into(),
            parent: Some(Location::new(parent.name.as_str(), logical_id)),
            depth: parent.depth + 1,
        };
        let outcome = Box::pin(self.stack(place)).await?;
        if matches!(outcome, Outcome::Missing | Outcome::Empty(..)) {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.push(format!("nested stack `{name}` holds nothing: somebody has deleted {key}"));
            return Ok(Outcome::Missing);
        }
        Ok(outcome)
    }
}
