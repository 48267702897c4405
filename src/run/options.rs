//! How a run waits, and what it needs besides the plan.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::aws::{Role, TOOLKIT_STACK};
use crate::model::StackOptions;

/// When a [`CallHook`] is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a call is made.
    Before,
    /// After it was answered, before the answer is looked at.
    After,
}

/// Called before and after each call with the name of the operation; `false` stops there and
/// then, as if the process had been killed.
pub type CallHook = Arc<dyn Fn(Moment, &'static str) -> bool + Send + Sync>;

/// How a run waits, and what it needs besides the plan.
#[derive(Clone)]
pub struct RunOptions {
    /// How long to pause between two looks at something that goes on.
    pub interval: Duration,
    /// How long to wait for anything that goes on.
    pub limit: Duration,
    /// How often a step is tried whose preview goes stale or whose request gets lost.
    pub attempts: usize,
    /// The bootstrap stack, whose output says which bucket is for staging.
    pub toolkit_stack: String,
    /// The qualifier of the bootstrap resources.
    pub qualifier: String,
    /// The role that may write to the staging bucket; `None`: the one that `cdk bootstrap` makes.
    pub publishing_role: Option<Role>,
    /// What new stacks get besides their templates, by name.
    pub new_stacks: BTreeMap<String, StackOptions>,
    /// Becomes `true` when the run is to stop at the next safe point.
    pub cancel: Option<watch::Receiver<bool>>,
    /// A hook for tests of crashes.
    pub on_call: Option<CallHook>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(3),
            // Executions of two minutes were seen; a stack may hold 500 resources.
            limit: Duration::from_hours(1),
            attempts: 3,
            toolkit_stack: TOOLKIT_STACK.to_owned(),
            qualifier: "hnb659fds".to_owned(),
            publishing_role: None,
            new_stacks: BTreeMap::new(),
            cancel: None,
            on_call: None,
        }
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("interval", &self.interval)
            .field("limit", &self.limit)
            .field("attempts", &self.attempts)
            .field("toolkit_stack", &self.toolkit_stack)
            .finish_non_exhaustive()
    }
}
