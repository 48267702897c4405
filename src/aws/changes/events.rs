//! Events of stacks.

use std::time::SystemTime;

use aws_sdk_cloudformation::primitives::{DateTime, DateTimeFormat};

use super::text;
use crate::aws::{AwsError, Session};

/// An event of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackEvent {
    /// Its ID, unique for the stack.
    pub id: String,
    /// When: `2026-11-21T08:47:39.123Z`.
    pub at: String,
    /// The resource, or the stack itself.
    pub logical_id: String,
    /// Its physical ID.
    pub physical_id: String,
    /// Its type.
    pub resource_type: String,
    /// What happened, such as `IMPORT_COMPLETE`.
    pub status: String,
    /// Why.
    pub reason: String,
}

impl Session {
    /// Returns what happened to a stack after an event, oldest first; without an event, all that
    /// happened. CloudFormation tells the newest first: no more is read than is needed.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn events_since(
        &self,
        stack: &str,
        known: Option<&str>,
    ) -> Result<Vec<StackEvent>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        'pages: loop {
            let page = self.events_page(stack, token.as_deref()).await?;
            for event in page.0 {
                if known == Some(event.id.as_str()) {
                    break 'pages;
                }
                found.push(event);
            }
            token = page.1;
            if token.is_none() {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Returns what happened to a stack from a time on, oldest first; the time is written as in
    /// [`StackEvent::at`].
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn events_from(&self, stack: &str, at: &str) -> Result<Vec<StackEvent>, AwsError> {
        let mut found = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let (events, next) = self.events_page(stack, token.as_deref()).await?;
            let before = found.len() + events.len();
            found.extend(events.into_iter().take_while(|event| event.at.as_str() >= at));
            token = next;
            if token.is_none() || found.len() < before {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Returns the ID of the newest event of a stack; `None` if there is no stack, or no event.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn newest_event(&self, stack: &str) -> Result<Option<String>, AwsError> {
        match self.events_page(stack, None).await {
            Ok((events, _)) => Ok(events.into_iter().next().map(|event| event.id)),
            Err(error) if error.is_missing_stack() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn events_page(
        &self,
        stack: &str,
        token: Option<&str>,
    ) -> Result<(Vec<StackEvent>, Option<String>), AwsError> {
        let page =
            Box::pin(self.cloudformation().call("DescribeStackEvents", Some(stack), |sdk| {
                let token = token.map(str::to_owned);
                sdk.describe_stack_events().stack_name(stack).set_next_token(token).send()
            }))
            .await?;
        let events = page.stack_events.unwrap_or_default().into_iter().map(|event| StackEvent {
            status: text(event.resource_status.as_ref()),
            id: event.event_id.unwrap_or_default(),
            at: event.timestamp.as_ref().map(written).unwrap_or_default(),
            logical_id: event.logical_resource_id.unwrap_or_default(),
            physical_id: event.physical_resource_id.unwrap_or_default(),
            resource_type: event.resource_type.unwrap_or_default(),
            reason: event.resource_status_reason.unwrap_or_default(),
        });
        Ok((events.collect(), page.next_token.filter(|token| !token.is_empty())))
    }
}

/// Returns the time as AWS writes it, always to the millisecond, so that times can be compared as
/// texts: `2026-11-21T08:47:39.120Z`.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    written(&DateTime::from_millis(millis))
}

fn written(time: &DateTime) -> String {
    // Fails for years beyond 9999 only.
    let whole = DateTime::from_secs(time.secs()).fmt(DateTimeFormat::DateTime).unwrap_or_default();
    format!("{}.{:03}Z", whole.trim_end_matches('Z'), time.subsec_nanos() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_even_if_they_are_round() {
        assert_eq!(written(&DateTime::from_millis(1_795_250_859_000)), "2026-11-21T08:47:39.000Z");
        assert_eq!(written(&DateTime::from_millis(1_795_250_859_120)), "2026-11-21T08:47:39.120Z");
    }
}
