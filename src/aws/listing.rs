//! All stacks of an environment, page after page, for as long as somebody needs them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::error::AwsError;
use super::facts::Detail;
use super::session::Session;

/// Stacks that `DescribeStacks` has listed so far, by name and by ARN.
#[derive(Debug, Default)]
pub(super) struct Listing(Mutex<HashMap<String, Detail>>);

impl Listing {
    /// Lists all stacks, page after page in one place among the requests. A failure ends it:
    /// whoever misses a stack then asks for it by name, and meets the error itself. A role may be
    /// allowed to describe its stacks and not all.
    pub(super) async fn run(&self, session: &Session) {
        let client = session.cloudformation();
        let place = client.place().await;
        let mut token = None;
        loop {
            let answer = client.call_in(&place, "DescribeStacks", None, |sdk| {
                sdk.describe_stacks().set_next_token(token).send()
            });
            let Ok(answer) = answer.await else { return };
            {
                let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                for detail in answer.stacks.into_iter().flatten().map(Detail::of) {
                    let Ok(detail) = detail else { continue };
                    known.insert(detail.id.clone(), detail.clone());
                    known.insert(detail.name.clone(), detail);
                }
            }
            token = answer.next_token;
            if token.is_none() {
                return;
            }
        }
    }

    /// Describes a stack: from the listing if that has reached it when its turn comes, else by
    /// a call of its own. Nothing if there is none.
    pub(super) async fn detail(
        &self,
        session: &Session,
        stack: &str,
    ) -> Result<Option<Detail>, AwsError> {
        if let Some(known) = self.known(stack) {
            return Ok(Some(known));
        }
        let place = session.cloudformation().place().await;
        match self.known(stack) {
            Some(known) => Ok(Some(known)),
            None => session.detail_in(&place, stack).await,
        }
    }

    fn known(&self, stack: &str) -> Option<Detail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(stack).cloned()
    }
}
