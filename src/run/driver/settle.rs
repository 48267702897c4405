//! Waits for stacks, says where they stand by their templates, and sweeps up empty shells.

use super::{Driver, LOOKS, Patience};
use crate::aws::StackState;
use crate::event::{Event, Remote};
use crate::model::StatusKind;
use crate::plan::body_digest;
use crate::run::error::Problem;
use crate::run::journal::{Before, Named};

/// Where stacks stand, by their templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// All have the template that they had.
    Before,
    /// All have the template that was sent.
    After,
    /// Neither, or one of them is not stable.
    Mixed,
}

/// What an attempt leaves on the stacks that it makes: they are known by it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trace<'a> {
    /// The refactor, if there is one, knows the ARNs of its stacks.
    Refactor(Option<&'a str>),
    /// The name of the change set, which is in its stack.
    ChangeSet(&'a str),
}

impl Driver<'_> {
    /// Waits until nothing goes on in stacks; returns them, those that are not there as `None`.
    /// `EXECUTE_COMPLETE` of a refactor was seen up to three seconds before that.
    pub(super) async fn settle(
        &self,
        stacks: &[Before],
    ) -> Result<Vec<(String, Option<StackState>)>, Problem> {
        let mut found = Vec::new();
        for stack in stacks {
            let mut patience = Patience::of(format!("an operation of stack `{}`", stack.name));
            let mut told = String::new();
            loop {
                let address = self.address(stack);
                let state =
                    self.ask("DescribeStacks", self.session.describe_stack(&address)).await?;
                let busy = state.as_ref().filter(|state| state.status.kind() == StatusKind::Busy);
                let Some(busy) = busy else {
                    found.push((stack.name.clone(), state));
                    break;
                };
                if told != busy.status.0 {
                    told = busy.status.0.to_string();
                    self.host.tell(&Event::Waiting {
                        environment: self.environment(),
                        stack: stack.name.as_str().into(),
                        status: busy.status.clone(),
                    });
                }
                self.pause(&mut patience).await?;
            }
        }
        Ok(found)
    }

    /// Says where settled stacks stand, by the templates that they have. `sent` are the templates
    /// that were to be sent, in the order of the stacks.
    pub(super) async fn standing(
        &self,
        before: &[Before],
        settled: &[(String, Option<StackState>)],
        sent: &[&str],
    ) -> Result<Standing, Problem> {
        let (mut all_before, mut all_after) = (true, true);
        for ((old, (_, state)), sent) in before.iter().zip(settled).zip(sent) {
            let stable = state.as_ref().filter(|state| state.status.kind() == StatusKind::Stable);
            let digest = match stable {
                Some(state) => {
                    let body = self.session.submitted_template(&state.id);
                    Some(body_digest(&self.ask("GetTemplate", body).await?))
                }
                None => None,
            };
            let gone = || match state {
                None => true,
                Some(state) => state.status.kind() == StatusKind::Empty,
            };
            all_before &= match &old.body {
                Some(body) => digest.as_deref() == Some(&body_digest(body)),
                None => gone(),
            };
            all_after &= digest.as_deref() == Some(&body_digest(sent));
        }
        Ok(match (all_before, all_after) {
            (_, true) => Standing::After,
            (true, false) => Standing::Before,
            (false, false) => Standing::Mixed,
        })
    }

    /// Deletes the empty shells that an attempt has left of stacks that did not exist before.
    /// Returns whether there is still a stack of such a name.
    pub(super) async fn sweep(&self, before: &[Before], trace: Trace<'_>) -> Result<bool, Problem> {
        let mut is_left = false;
        for stack in before.iter().filter(|stack| stack.body.is_none()) {
            let found = self.session.describe_stack(&stack.name);
            let Some(shell) = self.ask("DescribeStacks", found).await? else { continue };
            let status = shell.status.0.as_str();
            if !matches!(status, "REVIEW_IN_PROGRESS" | "ROLLBACK_COMPLETE") {
                is_left = true;
                continue;
            }
            let token = format!("cdkr-sweep-{}", self.state.begin.id);
            let deletion = self.session.delete_stack(&shell.id, &token);
            // A shell that stays does no harm but that its name is taken.
            let refused = match self.may_sweep(&shell, trace).await? {
                Ok(()) => self.call("DeleteStack", deletion).await?.err().map(|e| e.to_string()),
                Err(reason) => Some(reason),
            };
            if let Some(reason) = refused {
                self.note(format!(
                    "The empty stack `{}` ({status}) is left: {} Delete it before its name is \
                     used again.",
                    stack.name, reason
                ));
                is_left = true;
                continue;
            }
            self.host.tell(&Event::Remote {
                environment: self.environment(),
                what: Remote::Deletion,
                id: stack.name.clone(),
                status: "DELETE_IN_PROGRESS".to_owned(),
            });
            is_left |= self.wait_until_gone(&stack.name, &shell.id).await?.is_some();
        }
        Ok(is_left)
    }

    /// Whether a shell is ours and empty; if not, why. Somebody else may have begun to create a
    /// stack of this name in between: only what our request has left its trace on is ours. The
    /// deployment role of older bootstrap stacks may not list what a stack holds, so that is
    /// asked last.
    async fn may_sweep(
        &self,
        shell: &StackState,
        trace: Trace<'_>,
    ) -> Result<Result<(), String>, Problem> {
        let is_in_review = shell.status.0 == "REVIEW_IN_PROGRESS";
        let is_ours = match trace {
            Trace::Refactor(None) => false,
            Trace::Refactor(Some(id)) => {
                let state = self.session.describe_stack_refactor(id);
                let state = self.call("DescribeStackRefactor", state).await?;
                matches!(state, Ok(Some(state)) if state.stack_ids.contains(&shell.id))
            }
            Trace::ChangeSet(name) => {
                let state = self.session.describe_change_set(&shell.id, name);
                matches!(self.call("DescribeChangeSet", state).await?, Ok(Some(_)))
            }
        };
        if !is_ours {
            return Ok(Err("it may be somebody else's.".to_owned()));
        }
        if let Trace::ChangeSet(_) = trace {
            let sets = self.session.change_sets_of(&shell.id);
            let own = format!("cdkr-{}-", self.state.begin.id);
            match self.call("ListChangeSets", sets).await? {
                Ok(sets) if sets.iter().all(|set| set.starts_with(&own)) => {}
                Ok(_) => return Ok(Err("it has a change set of somebody else.".to_owned())),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        // What is in review was never created.
        if is_in_review {
            return Ok(Ok(()));
        }
        let holds = self.session.resources_of(&shell.id);
        Ok(match self.call("ListStackResources", holds).await? {
            Ok(holds) if holds.is_empty() => Ok(()),
            Ok(_) => Err("it still holds something.".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Waits until a stack is deleted; returns it if the deletion has ended otherwise.
    pub(super) async fn wait_until_gone(
        &self,
        name: &str,
        id: &str,
    ) -> Result<Option<StackState>, Problem> {
        let mut patience = Patience::of(format!("the deletion of stack `{name}`"));
        let mut looks = 0;
        loop {
            let found = self.ask("DescribeStacks", self.session.describe_stack(id)).await?;
            match found {
                None => return Ok(None),
                Some(state) if state.status.0 == "DELETE_COMPLETE" => return Ok(None),
                Some(state) if state.status.0 == "DELETE_IN_PROGRESS" => {}
                // That the deletion has begun may take a moment to show.
                Some(state) if !state.status.0.starts_with("DELETE_") && looks < LOOKS => {
                    looks += 1;
                }
                Some(state) => return Ok(Some(state)),
            }
            self.pause(&mut patience).await?;
        }
    }
}

/// The ARNs of stacks that are there.
pub(super) fn named(settled: &[(String, Option<StackState>)]) -> Vec<Named> {
    let there = settled.iter().filter_map(|(name, state)| {
        let id = state.as_ref()?.id.clone();
        Some(Named { name: name.clone(), id })
    });
    there.collect()
}
