//! Change sets: what an update would do, to be carried out later or not at all.

use serde::{Deserialize, Serialize};

use super::error::{Answer, ServiceError};
use super::evaluate::partition;
use super::events::set_status;
use super::record::{Input, Stack};
use super::stacks::engine::{Engine, NESTED, Stop};
use super::stacks::{
    self, Page, Preview, ResourceChange, UpdateStack, find, new_stack, start_creation,
    start_update, unique_part, update_target,
};
use super::state::{Region, Task, Tx, file_name};

/// What a change set is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeSetType {
    /// A stack that does not exist.
    Create,
    /// A stack that exists.
    #[default]
    Update,
    /// Resources that exist outside of any stack. Not supported.
    Import,
}

/// What to compute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateChangeSet {
    /// The name of the change set.
    pub name: String,
    /// What it is for.
    pub kind: ChangeSetType,
    /// The stack, and what it is to become.
    pub update: UpdateStack,
    /// What people say of it.
    pub description: Option<String>,
}

/// A change set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSetInfo {
    /// The name.
    pub name: String,
    /// The ARN.
    pub id: String,
    /// The name of the stack.
    pub stack_name: String,
    /// The ARN of the stack.
    pub stack_id: String,
    /// What people say of it.
    pub description: Option<String>,
    /// When it was created.
    pub created_ms: u64,
    /// `CREATE_PENDING`, `CREATE_COMPLETE` or `FAILED`.
    pub status: String,
    /// Why it has failed.
    pub status_reason: Option<String>,
    /// `UNAVAILABLE`, `AVAILABLE`, `EXECUTE_IN_PROGRESS`, `EXECUTE_COMPLETE`, `EXECUTE_FAILED`
    /// or `OBSOLETE`.
    pub execution_status: String,
    /// What it would do, in the order in which it would be done.
    pub changes: Vec<ResourceChange>,
    /// Whether nested stacks have change sets of their own.
    #[serde(default)]
    pub with_nested: bool,
    /// For the change set of a nested stack: the ARN of that of its parent.
    #[serde(default)]
    pub parent_id: Option<String>,
}

/// Everything that `DescribeChangeSet` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSetDetail {
    /// The change set, with a page of its changes.
    pub info: ChangeSetInfo,
    /// What the stack would be made of.
    pub input: Input,
    /// What to ask for more changes with.
    pub next_token: Option<String>,
}

/// The two names by which an execution is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSetCreated {
    /// The ARN of the change set.
    pub id: String,
    /// The ARN of the stack.
    pub stack_id: String,
}

/// A change set (a file below `change-sets/`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ChangeSet {
    info: ChangeSetInfo,
    input: Input,
    /// Whether it creates the stack.
    creates: bool,
}

const NO_CHANGES: &str = "The submitted information didn't contain changes. Submit different \
                          information to create a change set.";

fn path(id: &str) -> String {
    format!("change-sets/{}.json", file_name(unique_part(id)))
}

fn all(tx: &Tx<'_>) -> Answer<Vec<ChangeSet>> {
    let mut found = Vec::new();
    for path in tx.list("change-sets")? {
        found.extend(tx.get(&path)?);
    }
    Ok(found)
}

fn of_stack(tx: &Tx<'_>, stack_id: &str) -> Answer<Vec<ChangeSet>> {
    let mut found = all(tx)?;
    found.retain(|set| set.info.stack_id == stack_id);
    found.sort_by(|a, b| (a.info.created_ms, &a.info.name).cmp(&(b.info.created_ms, &b.info.name)));
    Ok(found)
}

/// Finds a change set by ARN, or by name with its stack.
fn lookup(tx: &Tx<'_>, stack: Option<&str>, name: &str) -> Answer<Option<ChangeSet>> {
    if name.starts_with("arn:") {
        return tx.get(&path(name));
    }
    let stack = stack.ok_or_else(|| {
        ServiceError::validation(
            "StackName must be specified if ChangeSetName is not specified as an ARN.",
        )
    })?;
    let found = stacks::find_any(tx, stack)?
        .ok_or_else(|| ServiceError::validation(format!("Stack [{stack}] does not exist")))?;
    Ok(of_stack(tx, &found.info.id)?.into_iter().find(|set| set.info.name == name))
}

fn get(tx: &Tx<'_>, stack: Option<&str>, name: &str) -> Answer<ChangeSet> {
    lookup(tx, stack, name)?.ok_or_else(|| {
        ServiceError::new("ChangeSetNotFound", 404, format!("ChangeSet [{name}] does not exist"))
    })
}

fn save(tx: &mut Tx<'_>, set: &ChangeSet) -> Answer<()> {
    tx.put(&path(&set.info.id), set)
}

/// Returns the template of a change set.
pub(crate) fn template(tx: &Tx<'_>, stack: Option<&str>, name: &str) -> Answer<String> {
    Ok(get(tx, stack, name)?.input.template)
}

/// Forgets the change sets of a stack that is gone.
pub(crate) fn forget(tx: &mut Tx<'_>, stack_id: &str) -> Answer<()> {
    for set in of_stack(tx, stack_id)? {
        tx.remove(&path(&set.info.id));
    }
    Ok(())
}

/// Notes how the execution of a change set ended, if one is being executed on this stack.
pub(crate) fn executed(tx: &mut Tx<'_>, stack: &Stack, success: bool) -> Answer<()> {
    let Some(id) = &stack.info.change_set_id else { return Ok(()) };
    let Some(mut set) = tx.get::<ChangeSet>(&path(id))? else { return Ok(()) };
    if set.info.execution_status == "EXECUTE_IN_PROGRESS" {
        let status = if success { "EXECUTE_COMPLETE" } else { "EXECUTE_FAILED" };
        status.clone_into(&mut set.info.execution_status);
        save(tx, &set)?;
    }
    Ok(())
}

/// Computes a change set.
pub(crate) fn step(tx: &mut Tx<'_>, id: &str) -> Answer<()> {
    let Some(mut set) = tx.get::<ChangeSet>(&path(id))? else { return Ok(()) };
    let Some(stack) = find(tx, &set.info.stack_id)? else { return Ok(()) };
    let mut preview = stack.clone();
    let mut engine = Engine::new(tx, true)?;
    let result = engine.converge(&mut preview, &set.input);
    let mut changes = std::mem::take(&mut engine.changes);
    let fail = |set: &mut ChangeSet, reason: String| {
        "FAILED".clone_into(&mut set.info.status);
        set.info.status_reason = Some(reason);
    };
    match result {
        Err(Stop::Service(error)) => return Err(error),
        Err(Stop::Failed(failure)) => fail(&mut set, failure.reason),
        Ok(()) => {
            let same = changes.iter().all(ResourceChange::is_only_a_deletion_policy)
                && preview.info.outputs == stack.info.outputs
                && preview.imports == stack.imports
                && set.input.tags == stack.input.tags;
            let nested = if set.info.with_nested {
                add_nested(tx, &set, &preview, &mut changes)?
            } else {
                Ok(())
            };
            if let Err(reason) = nested {
                fail(&mut set, reason);
            } else if same && !set.creates {
                fail(&mut set, NO_CHANGES.to_owned());
            } else {
                "CREATE_COMPLETE".clone_into(&mut set.info.status);
                "AVAILABLE".clone_into(&mut set.info.execution_status);
                set.info.changes = changes;
            }
        }
    }
    save(tx, &set)
}

/// Makes change sets for the nested stacks that would change, and names them in the changes.
/// Returns why one of them cannot be made. New ones get none.
fn add_nested(
    tx: &mut Tx<'_>,
    parent: &ChangeSet,
    preview: &Stack,
    changes: &mut [ResourceChange],
) -> Answer<Result<(), String>> {
    for change in changes.iter_mut().filter(|change| change.resource_type == NESTED) {
        let Some(wanted) = preview.resources.get(&change.logical_id) else { continue };
        let found = stacks::preview_nested(tx, &parent.input, wanted)?;
        let Some(Preview { child, input, changes }) = found else { continue };
        let name = format!("{}-{}", parent.info.name, tx.cloud.ambient.token(8));
        let id = new_id(tx, &name);
        let mut info = ChangeSetInfo {
            stack_name: child.name,
            stack_id: child.id,
            created_ms: tx.now,
            status: "FAILED".to_owned(),
            execution_status: "UNAVAILABLE".to_owned(),
            with_nested: true,
            parent_id: Some(parent.info.id.clone()),
            name,
            id: id.clone(),
            ..ChangeSetInfo::default()
        };
        let mut failure = None;
        match changes {
            Ok(changes) if changes.is_empty() => info.status_reason = Some(NO_CHANGES.to_owned()),
            Ok(changes) => {
                "CREATE_COMPLETE".clone_into(&mut info.status);
                "AVAILABLE".clone_into(&mut info.execution_status);
                info.changes = changes;
            }
            Err(reason) => {
                info.status_reason = Some(reason);
                let text = "was not successfully created: Currently in FAILED.";
                failure = Some(format!("Nested change set {id} {text}"));
            }
        }
        save(tx, &ChangeSet { info, input, creates: false })?;
        change.change_set_id = Some(id);
        if let Some(reason) = failure {
            return Ok(Err(reason));
        }
    }
    Ok(Ok(()))
}

/// Forgets a change set with those of nested stacks.
fn remove(tx: &mut Tx<'_>, set: &ChangeSet) -> Answer<()> {
    remove_nested(tx, set)?;
    tx.remove(&path(&set.info.id));
    Ok(())
}

fn remove_nested(tx: &mut Tx<'_>, set: &ChangeSet) -> Answer<()> {
    if set.info.with_nested {
        for other in all(tx)? {
            if other.info.parent_id.as_ref() == Some(&set.info.id) {
                tx.remove(&path(&other.info.id));
            }
        }
    }
    Ok(())
}

fn new_id(tx: &Tx<'_>, name: &str) -> String {
    let environment = &tx.environment;
    let (partition, _) = partition(&environment.region);
    format!(
        "arn:{partition}:cloudformation:{}:{}:changeSet/{name}/{}",
        environment.region,
        environment.account,
        tx.cloud.ambient.uuid()
    )
}

/// The stack that a change set is for: a new one, to be reviewed, if it is to be created.
fn stack_for(tx: &mut Tx<'_>, request: &CreateChangeSet) -> Answer<Stack> {
    let name = &request.update.name;
    let found = find(tx, name)?;
    match (request.kind, found) {
        (ChangeSetType::Import, _) => Err(ServiceError::validation(
            "Change sets of type IMPORT are not supported by the embedded CloudFormation",
        )),
        (ChangeSetType::Update, None) => {
            Err(ServiceError::validation(format!("Stack [{name}] does not exist")))
        }
        (ChangeSetType::Update, Some(stack)) => {
            stacks::check_updatable(&stack)?;
            Ok(stack)
        }
        (ChangeSetType::Create, None) => {
            let mut stack = new_stack(tx, name)?;
            let reason = Some("User Initiated".to_owned());
            set_status(tx, &mut stack, "REVIEW_IN_PROGRESS", reason)?;
            stacks::save(tx, &stack)?;
            Ok(stack)
        }
        (ChangeSetType::Create, Some(stack)) if stack.info.status == "REVIEW_IN_PROGRESS" => {
            Ok(stack)
        }
        (ChangeSetType::Create, Some(_)) => Err(ServiceError::validation(format!(
            "Stack [{name}] already exists and cannot be created again with the changeSet [{}].",
            request.name
        ))),
    }
}

impl Region<'_> {
    /// Starts the computation of a change set.
    ///
    /// # Errors
    /// `AlreadyExistsException`, `InsufficientCapabilitiesException`, `ValidationError`.
    pub fn create_change_set(&self, request: &CreateChangeSet) -> Answer<ChangeSetCreated> {
        self.start_change_set(request, false)
    }

    /// The same, with change sets for the nested stacks that would change.
    ///
    /// # Errors
    /// `AlreadyExistsException`, `InsufficientCapabilitiesException`, `ValidationError`.
    pub fn create_change_set_with_nested(
        &self,
        request: &CreateChangeSet,
    ) -> Answer<ChangeSetCreated> {
        self.start_change_set(request, true)
    }

    fn start_change_set(
        &self,
        request: &CreateChangeSet,
        with_nested: bool,
    ) -> Answer<ChangeSetCreated> {
        self.transact(|tx| {
            let stack = stack_for(tx, request)?;
            let name = &request.name;
            if of_stack(tx, &stack.info.id)?.iter().any(|set| set.info.name == *name) {
                return Err(ServiceError::new(
                    "AlreadyExistsException",
                    409,
                    format!("ChangeSet {name} already exists"),
                ));
            }
            let input = update_target(tx, &stack, &request.update)?;
            let id = new_id(tx, name);
            let set = ChangeSet {
                info: ChangeSetInfo {
                    name: name.clone(),
                    id: id.clone(),
                    stack_name: stack.info.name.clone(),
                    stack_id: stack.info.id.clone(),
                    description: request.description.clone(),
                    created_ms: tx.now,
                    status: "CREATE_PENDING".to_owned(),
                    execution_status: "UNAVAILABLE".to_owned(),
                    with_nested,
                    ..ChangeSetInfo::default()
                },
                input,
                creates: stack.info.status == "REVIEW_IN_PROGRESS",
            };
            save(tx, &set)?;
            tx.schedule(tx.cloud.options.delays.change_set, Task::ChangeSet(id.clone()))?;
            Ok(ChangeSetCreated { id, stack_id: stack.info.id })
        })
    }

    /// Describes a change set, a page of changes at a time.
    ///
    /// # Errors
    /// `ChangeSetNotFound`, `ValidationError`.
    pub fn describe_change_set(
        &self,
        stack: Option<&str>,
        name: &str,
        token: Option<&str>,
    ) -> Answer<ChangeSetDetail> {
        self.read(|tx| {
            let ChangeSet { mut info, mut input, .. } = get(tx, stack, name)?;
            let changes = std::mem::take(&mut info.changes);
            let page = stacks::page(changes, self.cloud.options.page_size, token)?;
            info.changes = page.items;
            for parameter in input.parameters.values_mut().filter(|parameter| parameter.no_echo) {
                "****".clone_into(&mut parameter.value);
            }
            Ok(ChangeSetDetail { info, input, next_token: page.next_token })
        })
    }

    /// Starts what a change set says. The others of its stack become obsolete and go away.
    ///
    /// # Errors
    /// `ChangeSetNotFound`, `InvalidChangeSetStatus`, `ValidationError`.
    pub fn execute_change_set(
        &self,
        stack: Option<&str>,
        name: &str,
        disable_rollback: bool,
    ) -> Answer<()> {
        self.transact(|tx| {
            let mut set = get(tx, stack, name)?;
            if set.info.parent_id.is_some() {
                return Err(ServiceError::validation(format!(
                    "ChangeSet [{}] belongs to a nested stack: only the root change set can be \
                     executed",
                    set.info.id
                )));
            }
            if set.info.execution_status != "AVAILABLE" {
                return Err(ServiceError::new(
                    "InvalidChangeSetStatus",
                    400,
                    format!(
                        "ChangeSet [{}] cannot be executed in its current status of [{}]",
                        set.info.id, set.info.status
                    ),
                ));
            }
            let mut stack = stacks::get(tx, &set.info.stack_id)?;
            if !set.creates {
                stacks::check_updatable(&stack)?;
            }
            "EXECUTE_IN_PROGRESS".clone_into(&mut set.info.execution_status);
            save(tx, &set)?;
            remove_nested(tx, &set)?;
            for other in of_stack(tx, &set.info.stack_id)? {
                if other.info.id != set.info.id {
                    remove(tx, &other)?;
                }
            }
            stack.info.change_set_id = Some(set.info.id);
            let mut input = set.input;
            input.disable_rollback = disable_rollback;
            if set.creates {
                start_creation(tx, stack, input)
            } else {
                start_update(tx, stack, input)
            }
        })
    }

    /// Deletes a change set; it need not be there.
    ///
    /// # Errors
    /// `ValidationError` when its stack does not exist, `InvalidChangeSetStatus` while it is
    /// being executed.
    pub fn delete_change_set(&self, stack: Option<&str>, name: &str) -> Answer<()> {
        self.transact(|tx| {
            let Some(set) = lookup(tx, stack, name)? else { return Ok(()) };
            if set.info.execution_status == "EXECUTE_IN_PROGRESS" {
                return Err(ServiceError::new(
                    "InvalidChangeSetStatus",
                    400,
                    format!(
                        "ChangeSet [{}] cannot be deleted in its current status of [{}]",
                        set.info.id, set.info.status
                    ),
                ));
            }
            remove(tx, &set)
        })
    }

    /// Lists the change sets of a stack.
    ///
    /// # Errors
    /// `ValidationError` when there is no such stack.
    pub fn list_change_sets(
        &self,
        stack: &str,
        token: Option<&str>,
    ) -> Answer<Page<ChangeSetInfo>> {
        self.read(|tx| {
            let found = find(tx, stack)?.ok_or_else(|| {
                ServiceError::validation(format!("Stack [{stack}] does not exist"))
            })?;
            let sets = of_stack(tx, &found.info.id)?.into_iter().map(|set| set.info).collect();
            stacks::page(sets, self.cloud.options.page_size, token)
        })
    }
}
