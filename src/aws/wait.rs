//! Waiting for stacks in which something is going on.

use std::time::Duration;

use super::error::AwsError;
use super::facts::Detail;
use super::reading::{Place, Reading};
use crate::event::Event;
use crate::model::StatusKind;

/// How to wait for stacks in which something is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The pause between two looks.
    pub interval: Duration,
    /// The longest time, from the beginning.
    pub limit: Duration,
}

impl Default for Wait {
    fn default() -> Self {
        Self { interval: Duration::from_secs(5), limit: Duration::from_hours(1) }
    }
}

impl Reading<'_> {
    /// Looks until nothing is going on any more; returns how it ended, or how it still is when
    /// waiting is not wanted or has taken too long; nothing if the stack is gone.
    pub(super) async fn settle(
        &self,
        place: &Place<'_>,
        detail: &Detail,
    ) -> Result<Option<Detail>, AwsError> {
        let mut last = detail.clone();
        let mut told = None;
        let Some(wait) = self.wait else { return Ok(Some(last)) };
        while last.status.kind() == StatusKind::Busy && self.begin.elapsed() < wait.limit {
            if told.as_ref() != Some(&last.status) {
                self.host.tell(&Event::Waiting {
                    environment: self.environment.clone(),
                    stack: place.name.clone(),
                    status: last.status.clone(),
                });
                told = Some(last.status.clone());
            }
            tokio::time::sleep(wait.interval).await;
            match place.session.detail(&last.id).await? {
                Some(next) => last = next,
                None => return Ok(None),
            }
        }
        Ok(Some(last))
    }
}
