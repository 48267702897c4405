//! Who exports what, and who imports it: an index derived from the stacks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::Answer;
use super::record::{Output, Stack};
use super::state::Tx;

const FILE: &str = "exports.json";

/// A value that stacks of the environment can import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
    /// The stack that exports it.
    pub stack_id: String,
}

/// The index (the file `exports.json`; it is made anew from the stacks if it is not there).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Index {
    pub(crate) exports: BTreeMap<String, Export>,
    /// Names of exports with the names of the stacks that import them.
    pub(crate) imports: BTreeMap<String, BTreeSet<String>>,
}

impl Index {
    pub(crate) fn load(tx: &Tx<'_>) -> Answer<Self> {
        if let Some(index) = tx.get(FILE)? {
            return Ok(index);
        }
        let mut index = Self::default();
        for path in tx.list("stacks")? {
            if let Some(stack) = tx.get::<Stack>(&path)? {
                index.put(&stack);
            }
        }
        Ok(index)
    }

    fn forget(&mut self, stack: &Stack) {
        self.exports.retain(|_, export| export.stack_id != stack.info.id);
        self.imports.retain(|_, importers| {
            importers.remove(&stack.info.name);
            !importers.is_empty()
        });
    }

    fn put(&mut self, stack: &Stack) {
        self.forget(stack);
        for output in &stack.info.outputs {
            if let Some(name) = &output.export {
                let export = Export {
                    name: name.clone(),
                    value: output.value.clone(),
                    stack_id: stack.info.id.clone(),
                };
                self.exports.insert(name.clone(), export);
            }
        }
        for name in &stack.imports {
            self.imports.entry(name.clone()).or_default().insert(stack.info.name.clone());
        }
    }

    /// `A, B and C`: the stacks that import a name.
    fn users(&self, name: &str, except: &str) -> Option<String> {
        let users: Vec<&str> = self.imports.get(name)?.iter().map(String::as_str).collect();
        let users: Vec<&str> = users.into_iter().filter(|user| *user != except).collect();
        match users.as_slice() {
            [] => None,
            [only] => Some((*only).to_owned()),
            [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
        }
    }

    /// Whether a stack may have these outputs now. A preview does not look at who imports them:
    /// change sets that lose or change such an export are made, and fail when they are executed
    /// (seen in the output of `cdk deploy`, issues 8671 of aws-cdk and 630 of linz/geostore).
    ///
    /// # Errors
    /// The reason that CloudFormation gives.
    pub(crate) fn check(
        &self,
        stack: &Stack,
        outputs: &[Output],
        preview: bool,
    ) -> Result<(), String> {
        let id = &stack.info.id;
        let mut new: BTreeMap<&str, &str> = BTreeMap::new();
        for output in outputs {
            let Some(name) = &output.export else { continue };
            if new.insert(name, &output.value).is_some() {
                return Err(format!("Duplicate Export names are not allowed: {name}"));
            }
            if let Some(other) = self.exports.get(name).filter(|other| other.stack_id != *id) {
                let owner = super::stacks::name_part(&other.stack_id);
                return Err(format!(
                    "Export with name {name} is already exported by stack {owner}"
                ));
            }
        }
        if preview {
            return Ok(());
        }
        let old = self.exports.values().filter(|export| export.stack_id == *id);
        for export in old {
            let Some(users) = self.users(&export.name, &stack.info.name) else { continue };
            match new.get(export.name.as_str()) {
                None => {
                    return Err(format!(
                        "Export {} cannot be deleted as it is in use by {users}",
                        export.name
                    ));
                }
                Some(value) if *value != export.value => {
                    return Err(format!(
                        "Cannot update export {} as it is in use by {users}",
                        export.name
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Why a stack cannot be deleted.
    pub(crate) fn check_deletion(&self, stack: &Stack) -> Result<(), String> {
        let own = self.exports.values().filter(|export| export.stack_id == stack.info.id);
        for export in own {
            if let Some(users) = self.users(&export.name, &stack.info.name) {
                return Err(format!(
                    "Delete canceled. Cannot delete export {} as it is in use by {users}.",
                    export.name
                ));
            }
        }
        Ok(())
    }
}

/// Brings the index up to date with a stack that is about to be written or has gone.
pub(crate) fn update(tx: &mut Tx<'_>, stack: &Stack, exists: bool) -> Answer<()> {
    let stored = tx.get::<Index>(FILE)?;
    let before = Index::load(tx)?;
    let mut after = before.clone();
    if exists {
        after.put(stack);
    } else {
        after.forget(stack);
    }
    // An index that is only in the head would be made anew again and again.
    if stored.is_none() || after != before {
        tx.put(FILE, &after)?;
    }
    Ok(())
}
