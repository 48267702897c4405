//! Why a resource is replaced, in words.

use std::collections::BTreeSet;

use super::fates::Fate;
use crate::analyze::model::{
    Certainty, Graph, Operation, OperationId, OperationKind, Side, dotted,
};

/// More causes than these, one because of the other, are not told.
const MOST_CAUSES: usize = 8;

/// Follows causes from one operation to the next.
pub(super) struct Causes<'g> {
    graph: &'g Graph,
}

impl<'g> Causes<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph }
    }

    /// Returns why the component of these operations is replaced, the nearest cause first.
    /// `blocked` says why it cannot be moved, if it should be.
    pub(super) fn of(
        &self,
        operations: &[OperationId],
        blocked: Option<&str>,
        fate: Option<&Fate>,
    ) -> Vec<String> {
        if let Some(reason) = blocked {
            return vec![format!("it {reason}")];
        }
        let replaces =
            |id: &&OperationId| self.graph.operations[**id].kind == OperationKind::Replace;
        let found = operations.iter().find(replaces).map(|id| self.chain(*id)).unwrap_or_default();
        if !found.is_empty() {
            return found;
        }
        let Some(fate) = fate else { return Vec::new() };
        let properties = fate.properties.iter();
        let properties = properties.map(|path| format!("`{path}` comes to another value"));
        fate.cause.iter().cloned().chain(properties).collect()
    }

    /// Returns what a property changes for, if that is not the app.
    pub(super) fn of_property(&self, operation: &Operation) -> Option<String> {
        let cause = &self.graph.operations[operation.cause?];
        self.replaced(cause)
    }

    fn chain(&self, replace: OperationId) -> Vec<String> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut certainty = self.graph.operations[replace].certainty;
        let mut next = self.graph.operations[replace].cause;
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            if found.len() == MOST_CAUSES {
                found.push("and so on".to_owned());
                break;
            }
            let operation = &self.graph.operations[id];
            match &operation.kind {
                OperationKind::Property { old, new, .. } => {
                    let path = new.as_ref().or(old.as_ref()).map(|path| dotted(path));
                    let path = path.unwrap_or_default();
                    let whose = if found.is_empty() {
                        String::new()
                    } else {
                        self.name(operation).map(|name| format!(" of `{name}`")).unwrap_or_default()
                    };
                    found.push(match certainty {
                        Certainty::Certain => {
                            format!("`{path}`{whose} changes, which cannot be done in place")
                        }
                        Certainty::Possible => {
                            format!("`{path}`{whose} changes, which may not be possible in place")
                        }
                    });
                }
                OperationKind::Replace => {
                    certainty = operation.certainty;
                    found.extend(self.replaced(operation));
                }
                OperationKind::Rename | OperationKind::Move => {
                    found.push("it has another name".to_owned());
                }
                OperationKind::Insert | OperationKind::Remove => {}
            }
            next = operation.cause;
        }
        found
    }

    fn replaced(&self, operation: &Operation) -> Option<String> {
        let verb = match operation.certainty {
            Certainty::Certain => "is",
            Certainty::Possible => "may be",
        };
        Some(format!("`{}` {verb} replaced", self.name(operation)?))
    }

    fn name(&self, operation: &Operation) -> Option<String> {
        let component = self.graph.side(Side::After).components.get(operation.after?)?;
        Some(format!("{}.{}", component.stack, component.name))
    }
}
