//! The request to create a refactor, and the end of its creation.

use std::collections::BTreeSet;

use super::judge::{Refusal, judge};
use super::{
    Definition, Phase, Refactor, RefactorInfo, ResourceLocation, ResourceMapping, actions, save,
};
use crate::local::error::{Answer, ServiceError};
use crate::local::events::set_status;
use crate::local::faults::{self, RefactorFault};
use crate::local::record::Stack;
use crate::local::stacks::{self, TemplateSource, find, new_stack};
use crate::local::state::{Region, Task, Tx};
use crate::local::templates;

/// The most stacks of a refactor.
const MOST_STACKS: usize = 5;

/// A stack with the template that it is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackDefinition {
    /// The name or the ARN.
    pub stack: Option<String>,
    /// The template.
    pub template: TemplateSource,
}

/// What to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateStackRefactor {
    /// What people say of it.
    pub description: Option<String>,
    /// Whether stacks that do not exist are created.
    pub enable_stack_creation: bool,
    /// Moves that are not to be guessed.
    pub mappings: Vec<ResourceMapping>,
    /// All stacks that change.
    pub definitions: Vec<StackDefinition>,
}

/// States in which a stack can take part. [I] The command line of CDK lists these and
/// `ROLLBACK_COMPLETE`, which holds nothing and can only be deleted.
const STABLE: &[&str] = &[
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
];

/// Refuses a stack that is not stable.
pub(super) fn check_stable(stack: &Stack) -> Answer<()> {
    let status = stack.info.status.as_str();
    if STABLE.contains(&status) {
        return Ok(());
    }
    Err(ServiceError::validation(format!(
        "Refactor cannot be performed on stacks with {status} status"
    )))
}

impl Region<'_> {
    /// Starts the creation of a stack refactor; returns its ID. Whether CloudFormation accepts
    /// it is seen by describing it.
    ///
    /// # Errors
    /// `ValidationError` for what is wrong with the request itself.
    pub fn create_stack_refactor(&self, request: &CreateStackRefactor) -> Answer<String> {
        self.transact(|tx| {
            check_shape(request)?;
            let mut definitions = Vec::new();
            for definition in &request.definitions {
                definitions.push(read(tx, request, definition)?);
            }
            check_distinct(&definitions)?;
            // Shells only come into being once nothing can be refused any more.
            for definition in &mut definitions {
                if definition.created {
                    definition.stack_id = shell(tx, &definition.stack_id)?;
                }
            }
            let refactor = Refactor {
                info: RefactorInfo {
                    id: tx.cloud.ambient.uuid(),
                    description: request.description.clone(),
                    stack_ids: definitions.iter().map(|each| each.stack_id.clone()).collect(),
                    status: "CREATE_IN_PROGRESS".to_owned(),
                    execution_status: "UNAVAILABLE".to_owned(),
                    ..RefactorInfo::default()
                },
                created_ms: tx.now,
                phase: Phase::Creating,
                mappings: mappings(tx, request, &definitions)?,
                definitions,
                actions: Vec::new(),
            };
            save(tx, &refactor)?;
            let delay = tx.cloud.options.delays.refactor_create;
            tx.schedule(delay, Task::Refactor(refactor.info.id.clone()))?;
            Ok(refactor.info.id)
        })
    }
}

/// [I] The texts of all of these but that of the length of a template.
fn check_shape(request: &CreateStackRefactor) -> Answer<()> {
    let count = request.definitions.len();
    if count == 0 || count > MOST_STACKS {
        let bound = if count == 0 {
            "greater than or equal to 1".to_owned()
        } else {
            format!("less than or equal to {MOST_STACKS}")
        };
        return Err(ServiceError::constraint(
            &format!("{count} items"),
            "stackDefinitions",
            &format!("Member must have length {bound}"),
        ));
    }
    if let Some(description) = &request.description
        && !(1..=1024).contains(&description.chars().count())
    {
        return Err(ServiceError::constraint(
            description,
            "description",
            "Member must have length less than or equal to 1024 and greater than or equal to 1",
        ));
    }
    for definition in &request.definitions {
        if definition.stack.as_ref().is_none_or(String::is_empty) {
            return Err(ServiceError::validation("StackName must be specified."));
        }
        if definition.template.is_empty() {
            return Err(ServiceError::validation(
                "Either Template URL or Template Body must be specified.",
            ));
        }
    }
    Ok(())
}

/// Reads a definition. That of a new stack has the name in place of the ARN for now.
fn read(
    tx: &Tx<'_>,
    request: &CreateStackRefactor,
    definition: &StackDefinition,
) -> Answer<Definition> {
    let name = definition.stack.clone().unwrap_or_default();
    let template = definition.template.read(tx)?;
    // A stack must not become empty: what has no resources is not a template.
    templates::read(&template)?;
    match find(tx, &name)? {
        Some(stack) => {
            check_stable(&stack)?;
            let (stack_id, revision) = (stack.info.id, stack.revision);
            Ok(Definition { stack_id, template, created: false, revision })
        }
        None if request.enable_stack_creation && !name.starts_with("arn:") => {
            Ok(Definition { stack_id: name, template, created: true, revision: 0 })
        }
        // [I] That this is refused at once.
        None => Err(ServiceError::no_stack(&name)),
    }
}

/// [I] A stack has one definition.
fn check_distinct(definitions: &[Definition]) -> Answer<()> {
    let mut seen = BTreeSet::new();
    match definitions.iter().find(|each| !seen.insert(&each.stack_id)) {
        None => Ok(()),
        Some(twice) => Err(ServiceError::validation(format!(
            "Duplicate StackDefinition for stack {}",
            twice.stack_id
        ))),
    }
}

/// Makes the empty stack that a refactor is to fill. It stays if that never happens.
fn shell(tx: &mut Tx<'_>, name: &str) -> Answer<String> {
    let mut stack = new_stack(tx, name)?;
    set_status(tx, &mut stack, "REVIEW_IN_PROGRESS", None)?;
    stacks::save(tx, &stack)?;
    Ok(stack.info.id)
}

/// Brings the mappings to ARNs.
fn mappings(
    tx: &Tx<'_>,
    request: &CreateStackRefactor,
    definitions: &[Definition],
) -> Answer<Vec<ResourceMapping>> {
    let invalid = || ServiceError::validation("ResourceMapping is invalid");
    let locate = |location: &ResourceLocation| -> Answer<ResourceLocation> {
        let stack = find(tx, &location.stack)?.ok_or_else(invalid)?.info.id;
        Ok(ResourceLocation { stack, logical_id: location.logical_id.clone() })
    };
    let (mut found, mut sources, mut destinations) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for mapping in &request.mappings {
        let source = locate(&mapping.source)?;
        let destination = locate(&mapping.destination)?;
        let defined = definitions.iter().any(|each| each.stack_id == destination.stack);
        // A resource goes to one place, and a place takes one resource.
        let fresh = sources.insert(source.clone()) && destinations.insert(destination.clone());
        if !defined || !fresh {
            return Err(invalid());
        }
        found.push(ResourceMapping { source, destination });
    }
    Ok(found)
}

/// Ends the creation of a refactor.
pub(super) fn conclude(tx: &mut Tx<'_>, mut refactor: Refactor) -> Answer<()> {
    let fault = faults::take_refactor(tx, |fault| {
        matches!(fault, RefactorFault::CreateFailed(_) | RefactorFault::Obsolete)
    })?;
    refactor.phase = Phase::Ready;
    let verdict = match &fault {
        Some(RefactorFault::CreateFailed(reason)) => Err(Refusal::bare(reason)),
        _ => judge(tx, &refactor)?,
    };
    match verdict {
        Err(refusal) => {
            "CREATE_FAILED".clone_into(&mut refactor.info.status);
            refactor.info.status_reason = Some(refusal.text());
        }
        Ok(verdict) => {
            refactor.actions = actions::of(&verdict, &refactor);
            "CREATE_COMPLETE".clone_into(&mut refactor.info.status);
            "AVAILABLE".clone_into(&mut refactor.info.execution_status);
        }
    }
    let updated = if fault == Some(RefactorFault::Obsolete) {
        refactor.info.stack_ids.first().cloned()
    } else {
        updated_since(tx, &refactor)?
    };
    if let Some(stack) = updated {
        "OBSOLETE".clone_into(&mut refactor.info.execution_status);
        refactor.info.execution_status_reason = Some(format!("{stack}: Stack was updated."));
    }
    save(tx, &refactor)
}

/// Returns a stack that was touched between the request and the end of the creation.
fn updated_since(tx: &Tx<'_>, refactor: &Refactor) -> Answer<Option<String>> {
    for definition in &refactor.definitions {
        let stack = find(tx, &definition.stack_id)?;
        if stack.is_none_or(|stack| stack.revision != definition.revision) {
            return Ok(Some(definition.stack_id.clone()));
        }
    }
    Ok(None)
}
