//! A client of a service: bounds the number of requests, repeats what may be repeated, and
//! translates errors.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_cloudformation::config::http::HttpResponse;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::call::translate;
use super::error::{AwsError, Call, CallError, Cause};
use crate::model::Environment;

/// How often a throttled request that must not be repeated otherwise is sent.
const ATTEMPTS: u32 = 8;
/// The longest pause between two of them.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// A client of a service in an environment.
#[derive(Clone, Debug)]
pub struct Client<C> {
    environment: Environment,
    gate: Arc<Semaphore>,
    pause: Duration,
    sdk: C,
    once: C,
}

/// A place among the requests that may be under way at once.
#[derive(Debug)]
pub(super) struct Place<'a> {
    _permit: Option<SemaphorePermit<'a>>,
}

impl<C> Client<C> {
    pub(super) fn new(
        environment: Environment,
        gate: Arc<Semaphore>,
        pause: Duration,
        sdk: C,
        once: C,
    ) -> Self {
        Self { environment, gate, pause, sdk, once }
    }

    /// Returns the account and region.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Makes a call that may be repeated: it reads, or doing it twice is the same as once. It
    /// waits for a place, and is repeated when it is throttled or meets a failure that passes.
    ///
    /// # Errors
    /// What the service or the network says in the end.
    pub async fn call<'a, T, E, F>(
        &'a self,
        operation: &'static str,
        stack: Option<&str>,
        request: impl FnOnce(&'a C) -> F,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let place = self.place().await;
        self.call_in(&place, operation, stack, request).await
    }

    /// Waits for a place among the requests, in the order of asking. Whoever holds one makes
    /// its calls one after another ([`Self::call_in`]), such as the pages of a listing.
    pub(super) async fn place(&self) -> Place<'_> {
        // The semaphore is never closed.
        Place { _permit: self.gate.acquire().await.ok() }
    }

    /// Makes a call that may be repeated in a place that is held already.
    pub(super) async fn call_in<'a, T, E, F>(
        &'a self,
        _: &Place<'_>,
        operation: &'static str,
        stack: Option<&str>,
        request: impl FnOnce(&'a C) -> F,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let answer = request(&self.sdk).await;
        answer.map_err(|error| translate(self.named(operation, stack), &error).into())
    }

    /// Makes a call that must not be repeated unless the service has refused to look at it
    /// (throttling): `CreateStackRefactor` knows no token that makes two requests one. After
    /// [`CallError::had_no_effect`] is false the caller has to look what happened.
    ///
    /// # Errors
    /// What the service or the network says.
    pub async fn call_once<'a, T, E, F>(
        &'a self,
        operation: &'static str,
        stack: Option<&str>,
        mut request: impl FnMut(&'a C) -> F,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let mut pause = self.pause;
        for attempt in 1.. {
            let answer = {
                let _place = self.place().await;
                request(&self.once).await
            };
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => translate(self.named(operation, stack), &error),
            };
            if !is_repeatable(&error) || attempt >= ATTEMPTS {
                return Err(error.into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        unreachable!("the loop has no end of its own")
    }

    /// Returns the name of a call, for errors.
    pub fn named(&self, operation: &'static str, stack: Option<&str>) -> Call {
        Call { operation, environment: self.environment.clone(), stack: stack.map(str::to_owned) }
    }
}

/// A throttled request was not looked at. A bare HTTP 429 of a proxy says as much.
fn is_repeatable(error: &CallError) -> bool {
    error.cause == Cause::Throttled
}
