//! Declared aspects on a tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::declaration::Declaration;
use super::tree::{Aspect, Aspects, Tree, TreeError};
use crate::model::Text;

/// The aspects of a tree by name: one that is applied twice is one and the same.
pub(super) struct Bound<S> {
    by_name: BTreeMap<Text, Entry<S>>,
}

type Entry<S> = (Arc<dyn Aspect<S>>, Arc<Declaration>);

impl<S> Bound<S> {
    /// Makes an aspect of every declaration.
    pub(super) fn new(
        declarations: impl Iterator<Item = Arc<Declaration>>,
        make: impl Fn(Arc<Declaration>) -> Arc<dyn Aspect<S>>,
    ) -> Self {
        let bind = |one: Arc<Declaration>| (one.id.clone(), (make(Arc::clone(&one)), one));
        Self { by_name: declarations.map(bind).collect() }
    }

    /// Adds the aspect of a name to the construct at a path.
    ///
    /// # Errors
    /// When there is no such construct.
    pub(super) fn apply(
        &self,
        tree: &mut Tree<S>,
        name: &str,
        path: &str,
    ) -> Result<(), TreeError> {
        if let Some((aspect, declaration)) = self.by_name.get(name) {
            let mut aspects = Aspects::of(tree, path)?;
            aspects.add(Arc::clone(aspect), Some(declaration.priority));
        }
        Ok(())
    }
}

/// Adds aspects to the constructs of their scopes, in the order of their declarations.
///
/// # Errors
/// Never, in a tree whose constructs are asked here.
pub(super) fn attach<S>(
    tree: &mut Tree<S>,
    bound: &Bound<S>,
    declarations: &[Arc<Declaration>],
) -> Result<(), TreeError> {
    let paths: Vec<_> = tree.constructs().map(|one| (one.path.clone(), one.is_stage)).collect();
    for declaration in declarations.iter().filter(|one| !one.is_applied) {
        let mut scopes = Vec::new();
        for (at, (path, _)) in paths.iter().enumerate() {
            let is_scope = match &declaration.scope {
                None => at == 0,
                Some(_) => declaration.is_added_to(path),
            };
            if is_scope {
                scopes.push(path);
            }
        }
        if declaration.crosses_stages {
            let inside = paths.iter().filter(|(path, is_stage)| {
                *is_stage
                    && scopes
                        .iter()
                        .any(|scope| scope.as_str().is_empty() || path.is_within(scope.as_str()))
            });
            let inside: Vec<_> = inside.map(|(path, _)| path).collect();
            scopes.extend(inside);
        }
        for path in scopes {
            bound.apply(tree, &declaration.id, path.as_str())?;
        }
    }
    Ok(())
}
