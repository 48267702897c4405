//! What the state directory holds, for people: stacks with their resources and markers.

use super::error::Answer;
use super::record::{Physical, Resource, StackInfo};
use super::resources;
use super::stacks::Page;
use super::state::{Cloud, Region};
use crate::model::Environment;

/// A stack with everything in it.
#[derive(Clone, Debug)]
pub struct StackView {
    /// The account and region.
    pub environment: Environment,
    /// Names, status, times and outputs.
    pub info: StackInfo,
    /// The resources by logical ID, each with what exists under its physical ID.
    pub resources: Vec<(Resource, Option<Physical>)>,
}

impl Cloud {
    /// Returns all stacks of all environments, by account, region and name.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    pub fn stack_views(&self) -> Answer<Vec<StackView>> {
        let mut views = Vec::new();
        for environment in self.environments()? {
            let region = self.region(&environment);
            for info in region.all_stacks()? {
                let resources = region.resources_of(&info.id)?;
                views.push(StackView { environment: environment.clone(), info, resources });
            }
        }
        views.sort_by(|a, b| (&a.environment, &a.info.name).cmp(&(&b.environment, &b.info.name)));
        Ok(views)
    }
}

impl Region<'_> {
    /// Returns all stacks of the environment that exist.
    fn all_stacks(&self) -> Answer<Vec<StackInfo>> {
        let pages = every_page(|token| self.describe_stacks(None, token))?;
        Ok(pages.into_iter().map(|stack| stack.info).collect())
    }

    /// Returns the resources of a stack, each with what exists under its physical ID.
    fn resources_of(&self, stack: &str) -> Answer<Vec<(Resource, Option<Physical>)>> {
        let found = every_page(|token| self.list_stack_resources(stack, token))?;
        let mut resources = Vec::new();
        for one in found {
            let resource = one.resource;
            let physical = self.unthrottled(|tx| {
                resources::find(tx, &resource.resource_type, &resource.physical_id)
            })?;
            resources.push((resource, physical));
        }
        Ok(resources)
    }
}

/// Collects all pages of a list.
fn every_page<T>(mut ask: impl FnMut(Option<&str>) -> Answer<Page<T>>) -> Answer<Vec<T>> {
    let mut items = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let page = ask(token.as_deref())?;
        items.extend(page.items);
        match page.next_token {
            Some(next) => token = Some(next),
            None => return Ok(items),
        }
    }
}
