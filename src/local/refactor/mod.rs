//! Stack refactors: resources move between stacks without being touched.
//!
//! `create` takes the request, `judge` decides by the rules of AWS, `execute` moves, `read`
//! tells. What AWS does not say is marked [I], for inferred, here and in `BEHAVIOUR.md`.

mod actions;
mod create;
mod eligibility;
mod execute;
mod judge;
mod matching;
mod read;
mod sections;
mod values;

use serde::{Deserialize, Serialize};

use super::error::{Answer, ServiceError};
use super::record::Stack;
use super::state::{Tx, file_name};

pub use create::{CreateStackRefactor, StackDefinition};

/// A resource in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceLocation {
    /// The name or the ARN of the stack; always the ARN in answers.
    pub stack: String,
    /// The key in its template.
    pub logical_id: String,
}

/// Where a resource is, and where it is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceMapping {
    /// Where it is.
    pub source: ResourceLocation,
    /// Where it is to be.
    pub destination: ResourceLocation,
}

/// What `DescribeStackRefactor` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefactorInfo {
    /// The ID, a UUID.
    pub id: String,
    /// What people say of it.
    pub description: Option<String>,
    /// The ARNs of its stacks.
    pub stack_ids: Vec<String>,
    /// `CREATE_IN_PROGRESS`, `CREATE_COMPLETE` or `CREATE_FAILED`.
    pub status: String,
    /// Why it has failed.
    pub status_reason: Option<String>,
    /// `UNAVAILABLE`, `AVAILABLE`, `OBSOLETE`, `EXECUTE_*` or `ROLLBACK_*`.
    pub execution_status: String,
    /// Why it has this execution status.
    pub execution_status_reason: Option<String>,
}

/// What a refactor would do, or has done, to a resource or a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefactorAction {
    /// `MOVE` or `CREATE`.
    pub action: String,
    /// `RESOURCE` or `STACK`.
    pub entity: String,
    /// The physical ID of the resource.
    pub physical_id: Option<String>,
    /// What identifies the resource.
    pub identifier: Option<String>,
    /// A sentence.
    pub description: String,
    /// `AUTO` or `MANUAL`.
    pub detection: String,
    /// Why it was detected.
    pub detection_reason: Option<String>,
    /// The tags that the resource gets.
    pub tag_resources: Vec<(String, String)>,
    /// The keys of the tags that it loses.
    pub untag_resources: Vec<String>,
    /// Where it moves.
    pub mapping: Option<ResourceMapping>,
}

/// What a refactor waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// To be judged.
    #[default]
    Creating,
    /// To be executed, or nothing.
    Ready,
    /// To carry out its moves.
    Executing,
    /// To have rolled back, or to have failed to.
    RollingBack { succeeds: bool },
    /// Its stacks to become stable.
    Settling,
}

/// A stack of a refactor with its new template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Definition {
    stack_id: String,
    template: String,
    /// Whether the refactor creates the stack.
    created: bool,
    /// The state of the stack that was judged.
    revision: u64,
}

/// A refactor (a file below `refactors/`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Refactor {
    info: RefactorInfo,
    created_ms: u64,
    phase: Phase,
    definitions: Vec<Definition>,
    /// With the ARNs of stacks.
    mappings: Vec<ResourceMapping>,
    actions: Vec<RefactorAction>,
}

fn path(id: &str) -> String {
    format!("refactors/{}.json", file_name(id))
}

fn save(tx: &mut Tx<'_>, refactor: &Refactor) -> Answer<()> {
    tx.put(&path(&refactor.info.id), refactor)
}

fn get(tx: &Tx<'_>, id: &str) -> Answer<Refactor> {
    tx.get(&path(id))?.ok_or_else(|| {
        // [I] The text; the code and the status are documented.
        let message = format!("Stack refactor {id} does not exist");
        ServiceError::new("StackRefactorNotFoundException", 404, message)
    })
}

fn all(tx: &Tx<'_>) -> Answer<Vec<Refactor>> {
    let mut found: Vec<Refactor> = Vec::new();
    for path in tx.list("refactors")? {
        found.extend(tx.get(&path)?);
    }
    found.sort_by(|a, b| (a.created_ms, &a.info.id).cmp(&(b.created_ms, &b.info.id)));
    Ok(found)
}

/// A stack is being changed: previews that involve it do not hold any more.
pub(crate) fn obsolete(tx: &mut Tx<'_>, stack: &Stack) -> Answer<()> {
    obsolete_but(tx, &stack.info.id, "")
}

/// The same, sparing one refactor.
fn obsolete_but(tx: &mut Tx<'_>, stack_id: &str, spared: &str) -> Answer<()> {
    for mut refactor in all(tx)? {
        let involved = refactor.definitions.iter().any(|other| other.stack_id == stack_id);
        let waiting = matches!(refactor.phase, Phase::Ready)
            && matches!(refactor.info.execution_status.as_str(), "AVAILABLE" | "UNAVAILABLE");
        if involved && waiting && refactor.info.id != spared {
            "OBSOLETE".clone_into(&mut refactor.info.execution_status);
            let reason = format!("{stack_id}: Stack was updated.");
            refactor.info.execution_status_reason = Some(reason);
            save(tx, &refactor)?;
        }
    }
    Ok(())
}

/// Carries out what a refactor waits for.
pub(crate) fn step(tx: &mut Tx<'_>, id: &str) -> Answer<()> {
    let Some(refactor) = tx.get::<Refactor>(&path(id))? else { return Ok(()) };
    match refactor.phase {
        Phase::Creating => create::conclude(tx, refactor),
        Phase::Ready => Ok(()),
        Phase::Executing => execute::carry_out(tx, refactor),
        Phase::RollingBack { succeeds } => execute::rolled_back(tx, refactor, succeeds),
        Phase::Settling => execute::settle(tx, refactor),
    }
}
