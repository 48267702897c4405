//! Trouble on demand: what is armed here goes wrong once, as often as it says.

use serde::{Deserialize, Serialize};

use super::error::Answer;
use super::record::Json;
use super::state::{Region, Tx};

/// How a refactor fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefactorFault {
    /// Creation ends in `CREATE_FAILED` with this reason.
    CreateFailed(String),
    /// Execution ends in `EXECUTE_FAILED` with this reason, and nothing is undone.
    ExecuteFailed(String),
    /// Execution ends in `ROLLBACK_COMPLETE` with this reason.
    RollbackComplete(String),
    /// Execution ends in `ROLLBACK_FAILED` with this reason.
    RollbackFailed(String),
    /// The refactor is `OBSOLETE` as soon as it is created.
    Obsolete,
    /// Execution succeeds, but a property of every resource that moves has another value afterwards,
    /// which the stacks do not know. AWS does not do that; whoever verifies must notice.
    Alters {
        /// The property, at the top.
        property: String,
        /// Its value.
        value: Json,
    },
}

/// A resource that cannot be created or updated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceFault {
    /// Only in this stack.
    pub stack: Option<String>,
    /// Only this logical ID.
    pub logical_id: Option<String>,
    /// Only resources of this type.
    pub resource_type: Option<String>,
    /// What the handler of the resource says.
    pub message: String,
}

/// What is armed in an environment (the file `faults.json`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Faults {
    /// How many of the next requests are throttled.
    pub throttle: u32,
    /// What happens to the next refactors, in this order.
    pub refactors: Vec<RefactorFault>,
    /// Resources that fail in the next create or update that meets them, each once.
    pub resources: Vec<ResourceFault>,
}

const FILE: &str = "faults.json";

impl Region<'_> {
    /// Arms faults in this environment; what was armed before is forgotten.
    pub fn arm(&self, faults: &Faults) -> Answer<()> {
        self.unthrottled(|tx| tx.put(FILE, faults))
    }

    /// Returns what is still armed.
    pub fn armed(&self) -> Answer<Faults> {
        self.unthrottled(|tx| Ok(tx.get(FILE)?.unwrap_or_default()))
    }
}

/// Whether the next request is to be throttled.
pub(crate) fn throttles(tx: &Tx<'_>) -> Answer<bool> {
    Ok(tx.get::<Faults>(FILE)?.is_some_and(|faults| faults.throttle > 0))
}

/// Whether this request is to be throttled; counts down.
pub(crate) fn take_throttle(tx: &mut Tx<'_>) -> Answer<bool> {
    let Some(mut faults) = tx.get::<Faults>(FILE)? else { return Ok(false) };
    if faults.throttle == 0 {
        return Ok(false);
    }
    faults.throttle -= 1;
    tx.put(FILE, &faults)?;
    Ok(true)
}

/// Takes the next fault of refactors if it is one of those that happen now.
pub(crate) fn take_refactor(
    tx: &mut Tx<'_>,
    now: impl Fn(&RefactorFault) -> bool,
) -> Answer<Option<RefactorFault>> {
    let Some(mut faults) = tx.get::<Faults>(FILE)? else { return Ok(None) };
    if !faults.refactors.first().is_some_and(now) {
        return Ok(None);
    }
    let fault = faults.refactors.remove(0);
    tx.put(FILE, &faults)?;
    Ok(Some(fault))
}

/// Takes the fault that is armed for a resource and returns what its handler says.
pub(crate) fn take_resource(
    tx: &mut Tx<'_>,
    stack: &str,
    logical_id: &str,
    resource_type: &str,
) -> Answer<Option<String>> {
    let Some(mut faults) = tx.get::<Faults>(FILE)? else { return Ok(None) };
    let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|w| w == found);
    let met = faults.resources.iter().position(|fault| {
        is(&fault.stack, stack)
            && is(&fault.logical_id, logical_id)
            && is(&fault.resource_type, resource_type)
    });
    let Some(at) = met else { return Ok(None) };
    let fault = faults.resources.remove(at);
    tx.put(FILE, &faults)?;
    Ok(Some(fault.message))
}
