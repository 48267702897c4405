//! The engine: makes the resources of a stack what a template says, or tells what that would
//! change.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::change::{ResourceChange, describe, policy};
use super::diff::differences;
use super::surroundings::Surroundings;
use super::{nested, pseudo, teardown};
use crate::local::error::ServiceError;
use crate::local::evaluate::{Scope, references};
use crate::local::exports::Index;
use crate::local::record::{
    Attributes, Input, Json, Leaving, Output, Physical, Resource, Stack, StackEvent,
};
use crate::local::resources::{self, Creation, UNKNOWN};
use crate::local::state::Tx;
use crate::local::{events, faults, templates};
use crate::model::{Object, Template, Value};

pub(crate) const NESTED: &str = "AWS::CloudFormation::Stack";

/// Why the engine stopped.
pub(crate) enum Stop {
    /// The state directory failed, or a template cannot be read.
    Service(ServiceError),
    /// The stack cannot be brought to what its template says.
    Failed(Failure),
}

/// What a stack says of a failed operation.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The status reason of the stack.
    pub(crate) reason: String,
}

impl From<ServiceError> for Stop {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Failed(Failure { reason })
    }
}

/// One run over one stack.
pub(crate) struct Engine<'t, 'a> {
    pub(crate) tx: &'t mut Tx<'a>,
    /// Whether nothing is to be done, only told.
    pub(crate) preview: bool,
    pub(crate) events: Vec<StackEvent>,
    pub(crate) changes: Vec<ResourceChange>,
    /// What was replaced or removed, in the order in which it is to go away.
    pub(crate) leaving: Vec<Leaving>,
    index: Index,
    /// In a preview: outputs that nested stacks will have, by the ID of the stack.
    outputs_to_be: BTreeMap<String, Vec<Output>>,
}

impl<'t, 'a> Engine<'t, 'a> {
    pub(crate) fn new(tx: &'t mut Tx<'a>, preview: bool) -> Result<Self, ServiceError> {
        let index = Index::load(tx)?;
        let (events, changes, leaving) = (Vec::new(), Vec::new(), Vec::new());
        let outputs_to_be = BTreeMap::new();
        Ok(Self { tx, preview, events, changes, leaving, index, outputs_to_be })
    }

    /// Brings the resources, outputs and imports of `stack` to what `target` says. On failure
    /// `stack` holds what was done so far.
    pub(crate) fn converge(&mut self, stack: &mut Stack, target: &Input) -> Result<(), Stop> {
        let template = templates::parse(&target.template)?;
        let scope = Scope::new(&template, &target.parameters, pseudo(self.tx, stack, target));
        let imports = RefCell::default();
        let mut active = BTreeSet::new();
        for id in references::order(&template)? {
            let Some(body) = template.resource(&id) else { continue };
            if scope.is_active(body)? {
                let wanted = self.wanted(stack, &template, &scope, &id, &imports)?;
                match stack.resources.get(&id).filter(|found| is_live(found)).cloned() {
                    None => self.create(stack, target, wanted)?,
                    Some(before) => self.update(stack, target, &before, wanted)?,
                }
                active.insert(id);
            }
        }
        self.remove_others(stack, &active);
        let outputs = self.outputs(stack, &template, &scope, &imports)?;
        self.index.check(stack, &outputs, self.preview)?;
        stack.info.outputs = outputs;
        stack.info.description = templates::description(&template);
        stack.imports = imports.into_inner().into_iter().collect();
        Ok(())
    }

    /// Evaluates the body of a resource.
    fn wanted(
        &self,
        stack: &Stack,
        template: &Template,
        scope: &Scope<'_>,
        id: &str,
        imports: &RefCell<BTreeSet<String>>,
    ) -> Result<Resource, Stop> {
        let world = Surroundings {
            tx: self.tx,
            resources: &stack.resources,
            index: &self.index,
            outputs: &self.outputs_to_be,
            imports,
        };
        Ok(evaluate(template, scope, &world, id)?)
    }

    fn outputs(
        &self,
        stack: &Stack,
        template: &Template,
        scope: &Scope<'_>,
        imports: &RefCell<BTreeSet<String>>,
    ) -> Result<Vec<Output>, Stop> {
        let world = Surroundings {
            tx: self.tx,
            resources: &stack.resources,
            index: &self.index,
            outputs: &self.outputs_to_be,
            imports,
        };
        Ok(outputs(template, scope, &world)?)
    }

    fn create(
        &mut self,
        stack: &mut Stack,
        target: &Input,
        mut wanted: Resource,
    ) -> Result<(), Stop> {
        self.changes.push(ResourceChange {
            action: "Add".to_owned(),
            logical_id: wanted.logical_id.clone(),
            resource_type: wanted.resource_type.clone(),
            ..ResourceChange::default()
        });
        if self.preview {
            UNKNOWN.clone_into(&mut wanted.physical_id);
            stack.resources.insert(wanted.logical_id.clone(), wanted);
            return Ok(());
        }
        self.event(stack, &wanted, "CREATE_IN_PROGRESS", None);
        match self.bring_into_being(stack, target, &wanted)? {
            Ok(id) => wanted.physical_id = id,
            Err(Broken { physical_id, reason }) => {
                wanted.physical_id = physical_id;
                return self.fail(stack, wanted, "CREATE_FAILED", reason);
            }
        }
        self.event(stack, &wanted, "CREATE_IN_PROGRESS", Some("Resource creation Initiated"));
        self.done(stack, wanted, "CREATE_COMPLETE");
        Ok(())
    }

    fn update(
        &mut self,
        stack: &mut Stack,
        target: &Input,
        before: &Resource,
        mut wanted: Resource,
    ) -> Result<(), Stop> {
        wanted.physical_id.clone_from(&before.physical_id);
        if before.resource_type != wanted.resource_type {
            return Err(type_change(&wanted.logical_id).into());
        }
        let differing = differences(&before.properties, &wanted.properties);
        let change = describe(before, &wanted, &differing, target.tags != stack.input.tags);
        let Some(change) = change else {
            keep(stack, before, wanted);
            return Ok(());
        };
        let replaced = change.replacement.as_deref() == Some("True");
        self.changes.push(change);
        if self.preview {
            if replaced {
                UNKNOWN.clone_into(&mut wanted.physical_id);
            } else if wanted.resource_type == NESTED {
                let outputs = nested::outputs_to_be(self.tx, target, &wanted)?;
                let id = &wanted.physical_id;
                self.outputs_to_be.extend(outputs.map(|outputs| (id.clone(), outputs)));
            }
            stack.resources.insert(wanted.logical_id.clone(), wanted);
            return Ok(());
        }
        if differing.is_empty() {
            keep(stack, before, wanted);
            return Ok(());
        }
        if replaced {
            return self.replace(stack, target, before, wanted);
        }
        self.event(stack, &wanted, "UPDATE_IN_PROGRESS", None);
        match self.change_in_place(stack, target, &wanted)? {
            Ok(()) => {
                self.done(stack, wanted, "UPDATE_COMPLETE");
                Ok(())
            }
            // It is what it was: the next update has it to do again.
            Err(reason) => self.fail(stack, before.clone(), "UPDATE_FAILED", reason),
        }
    }

    fn replace(
        &mut self,
        stack: &mut Stack,
        target: &Input,
        before: &Resource,
        mut wanted: Resource,
    ) -> Result<(), Stop> {
        let why = "Requested update requires the creation of a new physical resource; hence \
                   creating one.";
        self.event(stack, &wanted, "UPDATE_IN_PROGRESS", Some(why));
        let explicit = creation(self.tx, stack, &wanted).explicit_id();
        if explicit.as_ref() == Some(&before.physical_id) {
            let reason = format!(
                "CloudFormation cannot update a stack when a custom-named resource requires \
                 replacing. Rename {} and update the stack again.",
                before.physical_id
            );
            return self.fail(stack, wanted, "UPDATE_FAILED", reason);
        }
        match self.bring_into_being(stack, target, &wanted)? {
            Ok(id) => wanted.physical_id = id,
            Err(broken) => return self.fail(stack, wanted, "UPDATE_FAILED", broken.reason),
        }
        self.event(stack, &wanted, "UPDATE_IN_PROGRESS", Some("Resource creation Initiated"));
        let retained = wanted.attributes.update_replace_policy.as_deref() == Some("Retain");
        self.leaving.push(Leaving { resource: before.clone(), retained });
        self.done(stack, wanted, "UPDATE_COMPLETE");
        Ok(())
    }

    /// Creates the thing that a resource stands for; returns its physical ID.
    fn bring_into_being(
        &mut self,
        stack: &Stack,
        target: &Input,
        wanted: &Resource,
    ) -> Result<Result<String, Broken>, Stop> {
        if let Some(reason) = self.fault(stack, wanted)? {
            return Ok(Err(Broken { physical_id: String::new(), reason }));
        }
        if wanted.resource_type == NESTED {
            return nested::create(self, stack, target, wanted);
        }
        let creation = creation(self.tx, stack, wanted);
        let explicit = creation.explicit_id();
        let id = explicit
            .clone()
            .or_else(|| creation.shared_id())
            .unwrap_or_else(|| creation.fresh_id(&self.tx.cloud.ambient));
        if explicit.is_some()
            && let Some(other) = resources::find(self.tx, &wanted.resource_type, &id)?
        {
            let reason = match &other.stack_id {
                Some(owner) if *owner != stack.info.id => {
                    format!("{id} already exists in stack {owner}")
                }
                _ => format!("{id} already exists"),
            };
            return Ok(Err(Broken { physical_id: String::new(), reason }));
        }
        let physical = Physical {
            resource_type: wanted.resource_type.clone(),
            physical_id: id.clone(),
            created_ms: self.tx.now,
            generation: resources::next_generation(self.tx)?,
            updates: 0,
            properties: wanted.properties.clone(),
            stack_id: Some(stack.info.id.clone()),
            logical_id: Some(wanted.logical_id.clone()),
        };
        resources::save(self.tx, &physical)?;
        Ok(Ok(id))
    }

    fn change_in_place(
        &mut self,
        stack: &Stack,
        target: &Input,
        wanted: &Resource,
    ) -> Result<Result<(), String>, Stop> {
        if let Some(reason) = self.fault(stack, wanted)? {
            return Ok(Err(reason));
        }
        if wanted.resource_type == NESTED {
            return nested::update(self, stack, target, wanted);
        }
        let found = resources::find(self.tx, &wanted.resource_type, &wanted.physical_id)?;
        let Some(mut physical) = found else {
            return Ok(Err(format!("{} does not exist", wanted.physical_id)));
        };
        physical.updates += 1;
        physical.properties = wanted.properties.clone();
        resources::save(self.tx, &physical)?;
        Ok(Ok(()))
    }

    fn fault(&mut self, stack: &Stack, wanted: &Resource) -> Result<Option<String>, Stop> {
        let (name, id) = (&stack.info.name, &wanted.logical_id);
        Ok(faults::take_resource(self.tx, name, id, &wanted.resource_type)?)
    }

    /// Lets go of what the template does not have any more, dependants first.
    fn remove_others(&mut self, stack: &mut Stack, active: &BTreeSet<String>) {
        let order = teardown::order(stack.resources.values());
        for id in order.into_iter().filter(|id| !active.contains(id)) {
            let Some(resource) = stack.resources.remove(&id).filter(is_live) else { continue };
            let retained = teardown::is_retained(&resource);
            self.changes.push(ResourceChange {
                action: "Remove".to_owned(),
                logical_id: id,
                physical_id: Some(resource.physical_id.clone()),
                resource_type: resource.resource_type.clone(),
                policy_action: Some(policy(resource.attributes.deletion_policy.as_deref(), "")),
                ..ResourceChange::default()
            });
            self.leaving.push(Leaving { resource, retained });
        }
    }

    pub(super) fn event(
        &mut self,
        stack: &Stack,
        resource: &Resource,
        status: &str,
        reason: Option<&str>,
    ) {
        let event = events::of_resource(self.tx, &stack.info, resource, status, reason);
        self.events.push(event);
    }

    fn done(&mut self, stack: &mut Stack, mut wanted: Resource, status: &str) {
        self.event(stack, &wanted, status, None);
        status.clone_into(&mut wanted.status);
        wanted.updated_ms = self.tx.now;
        stack.resources.insert(wanted.logical_id.clone(), wanted);
    }

    fn fail(
        &mut self,
        stack: &mut Stack,
        mut wanted: Resource,
        status: &str,
        reason: String,
    ) -> Result<(), Stop> {
        self.event(stack, &wanted, status, Some(&reason));
        let verb = if status.starts_with("CREATE") { "create" } else { "update" };
        let id = wanted.logical_id.clone();
        status.clone_into(&mut wanted.status);
        wanted.status_reason = Some(reason);
        wanted.updated_ms = self.tx.now;
        stack.resources.insert(id.clone(), wanted);
        Err(format!("The following resource(s) failed to {verb}: [{id}]. ").into())
    }
}

/// A thing that could not be created, or only in part.
pub(super) struct Broken {
    pub(super) physical_id: String,
    pub(super) reason: String,
}

fn is_live(resource: &Resource) -> bool {
    resource.status != "DELETE_COMPLETE"
}

/// Keeps a resource whose thing is not touched, with what the template now says of it.
fn keep(stack: &mut Stack, before: &Resource, wanted: Resource) {
    let kept = Resource {
        status: before.status.clone(),
        status_reason: before.status_reason.clone(),
        updated_ms: before.updated_ms,
        ..wanted
    };
    stack.resources.insert(kept.logical_id.clone(), kept);
}

pub(super) fn type_change(id: &str) -> String {
    format!(
        "Update of resource type is not permitted. The new template modifies resource type of the \
         following resources: [{id}]"
    )
}

fn creation<'c>(tx: &'c Tx<'_>, stack: &'c Stack, wanted: &'c Resource) -> Creation<'c> {
    Creation {
        environment: &tx.environment,
        stack_name: &stack.info.name,
        logical_id: &wanted.logical_id,
        resource_type: &wanted.resource_type,
        properties: &wanted.properties,
    }
}

/// Evaluates a resource of a template; it has no physical ID yet.
pub(crate) fn evaluate(
    template: &Template,
    scope: &Scope<'_>,
    world: &Surroundings<'_, '_>,
    id: &str,
) -> Result<Resource, String> {
    let nothing = Object::new();
    let body = template.resource(id).unwrap_or(&nothing);
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let value = |key: &str| -> Result<Option<Json>, String> {
        Ok(body.get(key).map(|value| scope.value(value, world)).transpose()?.flatten())
    };
    let mut other = BTreeMap::new();
    for key in ["CreationPolicy", "UpdatePolicy", "Version"] {
        if let Some(value) = value(key)? {
            other.insert(key.to_owned(), value);
        }
    }
    Ok(Resource {
        logical_id: id.to_owned(),
        resource_type: text("Type").unwrap_or_default(),
        properties: value("Properties")?.unwrap_or_else(|| Json::Object(serde_json::Map::new())),
        attributes: Attributes {
            deletion_policy: text("DeletionPolicy"),
            update_replace_policy: text("UpdateReplacePolicy"),
            metadata: value("Metadata")?.unwrap_or(Json::Null),
            other,
        },
        depends_on: references::needs(template, body).into_iter().collect(),
        ..Resource::default()
    })
}

/// Evaluates the outputs of a template.
pub(crate) fn outputs(
    template: &Template,
    scope: &Scope<'_>,
    world: &Surroundings<'_, '_>,
) -> Result<Vec<Output>, String> {
    let mut found = Vec::new();
    for (key, body) in template.section("Outputs").into_iter().flat_map(Object::iter) {
        let Some(output) = body.as_object() else { continue };
        if !scope.is_active(output)? {
            continue;
        }
        let Some(value) = output.get("Value") else {
            return Err(format!(
                "Template format error: Output {key} is malformed. Every Outputs member must \
                 contain a Value object"
            ));
        };
        let export = body.get("Export").and_then(|export| export.get("Name"));
        found.push(Output {
            key: key.to_string(),
            value: scope.text(value, world)?,
            description: body.get("Description").and_then(Value::as_str).map(str::to_owned),
            export: export.map(|name| scope.text(name, world)).transpose()?,
        });
    }
    Ok(found)
}
