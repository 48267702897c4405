//! What a template being evaluated sees of the resources, the exports and the other stacks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::local::evaluate::World;
use crate::local::exports::Index;
use crate::local::record::{Json, Output, Resource, Stack};
use crate::local::resources::{self, UNKNOWN};
use crate::local::state::Tx;
use crate::model::Environment;

/// The resources of a stack, in the middle of its environment.
pub(crate) struct Surroundings<'w, 'a> {
    pub(crate) tx: &'w Tx<'a>,
    pub(crate) resources: &'w BTreeMap<String, Resource>,
    pub(crate) index: &'w Index,
    /// Outputs of stacks that are about to have others than those in their documents, by ID.
    pub(crate) outputs: &'w BTreeMap<String, Vec<Output>>,
    /// Collects the names that are imported.
    pub(crate) imports: &'w RefCell<BTreeSet<String>>,
}

impl Surroundings<'_, '_> {
    fn resource(&self, id: &str) -> Result<&Resource, String> {
        self.resources.get(id).filter(|found| found.status != "DELETE_COMPLETE").ok_or_else(|| {
            format!(
                "Template format error: Unresolved resource dependencies [{id}] in the Resources \
                 block of the template"
            )
        })
    }

    /// An output of a nested stack.
    fn nested(&self, resource: &Resource, output: &str) -> Result<Json, String> {
        if resource.physical_id == UNKNOWN {
            return Ok(UNKNOWN.into());
        }
        let stored;
        let outputs = if let Some(outputs) = self.outputs.get(&resource.physical_id) {
            outputs
        } else {
            let child = super::find(self.tx, &resource.physical_id);
            stored = child.map_err(|error| error.message)?.map(|child| child.info.outputs);
            stored.as_deref().unwrap_or_default()
        };
        let found = outputs.iter().find(|other| other.key == output);
        found.map(|found| found.value.as_str().into()).ok_or_else(|| {
            format!(
                "Template error: resource {} does not support attribute type Outputs.{output} in \
                 Fn::GetAtt",
                resource.logical_id
            )
        })
    }
}

impl World for Surroundings<'_, '_> {
    fn reference(&self, logical_id: &str) -> Result<Json, String> {
        let found = self.resource(logical_id)?;
        Ok(resources::reference(&found.resource_type, &found.physical_id))
    }

    fn attribute(&self, logical_id: &str, attribute: &str) -> Result<Json, String> {
        let found = self.resource(logical_id)?;
        match attribute.strip_prefix("Outputs.") {
            Some(output) if found.resource_type == "AWS::CloudFormation::Stack" => {
                self.nested(found, output)
            }
            _ => resources::attribute(
                &self.tx.environment,
                &found.resource_type,
                &found.physical_id,
                &found.properties,
                attribute,
            ),
        }
    }

    fn import(&self, name: &str) -> Result<Json, String> {
        self.imports.borrow_mut().insert(name.to_owned());
        match self.index.exports.get(name) {
            Some(export) => Ok(export.value.as_str().into()),
            None => Err(format!("No export named {name} found")),
        }
    }

    fn stack_output(
        &self,
        stack: &str,
        region: Option<&str>,
        output: &str,
    ) -> Result<Json, String> {
        let own = &self.tx.environment;
        let there = Environment::new(&own.account, region.unwrap_or(&own.region));
        let name = super::name_part(stack);
        let found: Option<Stack> =
            self.tx.get_elsewhere(&there, &super::path(name)).map_err(|error| error.message)?;
        let found = found.ok_or_else(|| format!("Stack with id {stack} does not exist"))?;
        let pending = self.outputs.get(&found.info.id);
        let outputs = pending.unwrap_or(&found.info.outputs);
        let value = outputs.iter().find(|other| other.key == output);
        value
            .map(|found| found.value.as_str().into())
            .ok_or_else(|| format!("Output {output} not found in stack {stack}"))
    }
}
