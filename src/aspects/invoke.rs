//! Invoking the aspects of a tree until nothing changes any more.
//!
//! The rules are those of `aws-cdk-lib` 2.276.0, run: at each construct all aspects in the order
//! of their priorities, inherited ones before its own where priorities are equal, then its
//! children, depth first; each aspect at most once at each construct. After a visit that changed
//! the set of aspects, the pass is abandoned and begins again at the root. One thing is ours: what
//! only looks waits until everything else has settled in the whole tree (RFC 0648 wants validators
//! to see the final state; the framework orders construct by construct).

use std::rc::Rc;
use std::sync::Arc;

use super::priority::Priority;
use super::tree::{Aspect, Tree, Visit, is_same};
use crate::model::ConstructPath;

/// How many passes may follow the first one; the last of them must find nothing to do.
const MOST_MORE_PASSES: usize = 101;

/// How aspects are invoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// First everything below [`Priority::READ_ONLY`] until it has settled in the whole tree, then
    /// the rest.
    LookLast,
    /// As the framework does: by priority at each construct, a parent before its children.
    PerConstruct,
    /// As the framework did once: a single pass, which ignores aspects that are added meanwhile.
    SinglePass,
}

/// Why invoking aspects ended early. The texts are those of the framework.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// An aspect would have to be invoked before one that already was.
    #[error(
        "Cannot invoke Aspect {aspect} with priority {priority} on node {construct}: an Aspect \
         {last} with a lower priority (added at {last_construct} with priority {last_priority}) \
         was already invoked on this node."
    )]
    TooLate {
        /// The aspect that comes too late.
        aspect: String,
        /// Its priority.
        priority: Priority,
        /// Where it would be invoked.
        construct: ConstructPath,
        /// The aspect that was invoked before.
        last: String,
        /// Where that one was added.
        last_construct: ConstructPath,
        /// Its priority.
        last_priority: Priority,
    },
    /// An aspect that changes things was added by one that only looks.
    #[error(
        "Cannot invoke Aspect {aspect} with priority {priority} on node {construct}: it was added \
         after all Aspects below priority 1000 had settled, when the Aspect {last} with priority \
         {last_priority} had already been invoked."
    )]
    AddedByReader {
        /// The aspect that comes too late.
        aspect: String,
        /// Its priority.
        priority: Priority,
        /// Where it would be invoked.
        construct: ConstructPath,
        /// The aspect that was invoked last.
        last: String,
        /// Its priority.
        last_priority: Priority,
    },
    /// Every pass found something to do.
    #[error(
        "We have detected a possible infinite loop while invoking Aspects. Please check your \
         Aspects and verify there is no configuration that would cause infinite Aspect or Node \
         creation."
    )]
    Endless,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invoked {
    /// How many aspects visited how many constructs.
    pub visits: usize,
    /// How many passes did something, over all stages.
    pub passes: usize,
    /// What should not go unsaid.
    pub warnings: Vec<String>,
}

/// What a pass did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Nothing,
    Invoked,
    /// The set of aspects changed: what is to be inherited is not what was computed.
    Abandoned,
}

/// Which applications take part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    All,
    Changing,
    /// Those that only look; what changes must have been there when they began.
    Looking {
        known: usize,
    },
}

/// A construct whose children are being visited.
struct Frame {
    /// The children that there were when the construct had been visited.
    children: std::vec::IntoIter<usize>,
    inherited: Rc<[usize]>,
}

/// A run over a tree.
struct Run<'t, S> {
    tree: &'t mut Tree<S>,
    state: &'t mut S,
    done: Invoked,
    /// The application that was invoked last.
    last: Option<usize>,
}

impl<S> Tree<S> {
    /// Invokes the aspects at the constructs of their scopes. Nested stages go before the stages
    /// and the app around them; each is a world of its own.
    ///
    /// # Errors
    /// When an aspect comes after one of a higher priority, or there is no end.
    pub fn invoke(&mut self, state: &mut S, mode: Mode) -> Result<Invoked, InvokeError> {
        let mut run = Run { tree: self, state, done: Invoked::default(), last: None };
        match mode {
            Mode::SinglePass => run.stages().into_iter().for_each(|root| run.single_pass(root)),
            Mode::PerConstruct => run.settle(Phase::All)?,
            Mode::LookLast => {
                run.settle(Phase::Changing)?;
                let known = run.tree.applications.len();
                run.settle(Phase::Looking { known })?;
            }
        }
        Ok(run.done)
    }
}

impl<S> Run<'_, S> {
    /// The roots of all stages and of the tree, inner ones first.
    fn stages(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            let node = &self.tree.nodes[at];
            if at == 0 || node.construct.is_stage {
                found.push(at);
            }
            pending.extend(&node.children);
        }
        found.reverse();
        found
    }

    /// Settles every stage, and again if what was done in one of them concerns another.
    fn settle(&mut self, phase: Phase) -> Result<(), InvokeError> {
        for _ in 0..=MOST_MORE_PASSES {
            let before = self.done.visits;
            for root in self.stages() {
                self.settle_stage(root, phase)?;
            }
            if self.done.visits == before {
                return Ok(());
            }
        }
        Err(InvokeError::Endless)
    }

    fn settle_stage(&mut self, root: usize, phase: Phase) -> Result<(), InvokeError> {
        for _ in 0..=MOST_MORE_PASSES {
            if self.pass(root, phase)? == Pass::Nothing {
                return Ok(());
            }
            self.done.passes += 1;
        }
        Err(InvokeError::Endless)
    }

    /// One pass over a stage, without those inside of it. Deep trees do not exhaust the stack.
    fn pass(&mut self, root: usize, phase: Phase) -> Result<Pass, InvokeError> {
        let mut outcome = Pass::Nothing;
        let mut pending = Vec::new();
        let mut next = Some((root, Rc::from([])));
        loop {
            if let Some((node, inherited)) = next.take() {
                let here = self.here(node, &inherited);
                match self.construct(node, &here, phase)? {
                    Pass::Abandoned => return Ok(Pass::Abandoned),
                    Pass::Invoked => outcome = Pass::Invoked,
                    Pass::Nothing => {}
                }
                let children = self.tree.nodes[node].children.clone().into_iter();
                pending.push(Frame { children, inherited: here });
            }
            let Some(frame) = pending.last_mut() else { return Ok(outcome) };
            match frame.children.next() {
                None => drop(pending.pop()),
                Some(child) if self.tree.nodes[child].construct.is_stage => {}
                Some(child) => next = Some((child, Rc::clone(&frame.inherited))),
            }
        }
    }

    /// The applications that hold for a construct, in their order.
    fn here(&self, node: usize, inherited: &Rc<[usize]>) -> Rc<[usize]> {
        let own = &self.tree.nodes[node].applied;
        if own.is_empty() {
            return Rc::clone(inherited);
        }
        let mut here: Vec<usize> = inherited.iter().chain(own).copied().collect();
        // Stable: inherited ones stay before its own.
        here.sort_by_key(|at| self.tree.applications[*at].priority);
        here.into()
    }

    fn construct(
        &mut self,
        node: usize,
        here: &[usize],
        phase: Phase,
    ) -> Result<Pass, InvokeError> {
        let revision = self.tree.revision;
        let mut outcome = Pass::Nothing;
        for &at in here {
            let priority = self.tree.applications[at].priority;
            if phase == Phase::Changing && priority.is_read_only() {
                break;
            }
            if self.was_here(node, at) {
                continue;
            }
            self.refuse_late(node, at, phase)?;
            self.visit(node, at);
            outcome = Pass::Invoked;
            if self.tree.revision != revision {
                return Ok(Pass::Abandoned);
            }
        }
        Ok(outcome)
    }

    fn was_here(&self, node: usize, application: usize) -> bool {
        let aspect = &self.tree.applications[application].aspect;
        let invoked = &self.tree.nodes[node].invoked;
        invoked.iter().any(|at| is_same(&self.tree.applications[*at].aspect, aspect))
    }

    fn visit(&mut self, node: usize, application: usize) {
        let aspect: Arc<dyn Aspect<S>> = Arc::clone(&self.tree.applications[application].aspect);
        aspect.visit(&mut Visit { state: &mut *self.state, tree: &mut *self.tree, node });
        self.tree.nodes[node].invoked.push(application);
        self.last = Some(application);
        self.done.visits += 1;
    }

    fn refuse_late(&self, node: usize, late: usize, phase: Phase) -> Result<(), InvokeError> {
        let application = &self.tree.applications[late];
        let (aspect, priority) = (application.aspect.name().to_owned(), application.priority);
        let construct = self.tree.nodes[node].construct.path.clone();
        let last = self.tree.nodes[node].invoked.last().map(|at| &self.tree.applications[*at]);
        if let Some(last) = last.filter(|last| last.priority > priority) {
            return Err(InvokeError::TooLate {
                aspect,
                priority,
                construct,
                last: last.aspect.name().to_owned(),
                last_construct: self.tree.nodes[last.node].construct.path.clone(),
                last_priority: last.priority,
            });
        }
        if let (Phase::Looking { known }, Some(last)) = (phase, self.last)
            && late >= known
            && !priority.is_read_only()
        {
            let last = &self.tree.applications[last];
            return Err(InvokeError::AddedByReader {
                aspect,
                priority,
                construct,
                last: last.aspect.name().to_owned(),
                last_priority: last.priority,
            });
        }
        Ok(())
    }

    /// The pass of old: what is added meanwhile to a construct that is being visited, or was, is
    /// ignored.
    fn single_pass(&mut self, root: usize) {
        let mut warned = false;
        let mut pending = vec![(root, Rc::from([]))];
        while let Some((node, inherited)) = pending.pop() {
            let here = self.here(node, &inherited);
            let count = self.tree.nodes[node].applied.len();
            for &at in here.iter() {
                if self.was_here(node, at) {
                    continue;
                }
                self.visit(node, at);
                if !warned && self.tree.nodes[node].applied.len() != count {
                    warned = true;
                    self.done.warnings.push(
                        "@aws-cdk/core:ignoredAspect: We detected an Aspect was added via another \
                         Aspect, and will not be applied"
                            .to_owned(),
                    );
                }
            }
            let children = self.tree.nodes[node].children.iter().rev();
            let inner = children.filter(|child| !self.tree.nodes[**child].construct.is_stage);
            pending.extend(inner.map(|child| (*child, Rc::clone(&here))));
        }
        self.done.passes += 1;
    }
}
