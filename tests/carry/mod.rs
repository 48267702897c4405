//! Plans carried out by the embedded CloudFormation: what is deployed is read as it would be from
//! AWS, every step is checked against what the plan says, and every resource has to stay the same
//! thing.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part of this")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};

use cdkr::compare::{Comparison, Decisions, compare};
use cdkr::local::{
    ChangeSetType, Cloud, CreateChangeSet, CreateStackRefactor, ManualClock, ParameterInput,
    Region, ResourceLocation, ResourceMapping, StackDefinition, StackDetail, TemplateSource,
    TemplateStage, UpdateStack,
};
use cdkr::model::{
    DeployedEnvironment, DeployedResource, DeployedStack, Environment, Export, Location, Object,
    Stack, StackOptions, StackStatus, StatusKind, Text, Value,
};
use cdkr::plan::{Action, Batch, Change, Choices, Plan, Purpose, Step, body_digest, plan};
use cdkr::template::{self, json};

const FILLER: &str = "AWS::CloudFormation::WaitConditionHandle";

/// Everything that is deployed in an environment.
pub fn deployed_from(region: &Region<'_>, environment: &Environment) -> DeployedEnvironment {
    let all = pages(|token| region.describe_stacks(None, token).unwrap());
    let exports = pages(|token| region.list_exports(token).unwrap());
    let mut found: Vec<DeployedStack> = Vec::new();
    let mut empty = Vec::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    // A nested stack that outlived its parent, or was retained by it, belongs to nobody. Neither
    // do those in it.
    let mut open = all;
    loop {
        let ids: BTreeSet<String> = open.iter().map(|each| each.info.id.clone()).collect();
        let before = open.len();
        open.retain(|each| {
            let (info, parent) = (&each.info, each.info.parent_id.as_ref());
            parent.is_none_or(|id| ids.contains(id) && is_in(region, id, &info.id))
        });
        if open.len() == before {
            break;
        }
    }
    while !open.is_empty() {
        let (ready, later): (Vec<_>, Vec<_>) = open
            .into_iter()
            .partition(|each| each.info.parent_id.as_ref().is_none_or(|id| names.contains_key(id)));
        open = later;
        for detail in ready {
            let info = &detail.info;
            let parent = info.parent_id.as_ref().map(|id| {
                let resources = pages(|token| region.list_stack_resources(id, token).unwrap());
                let own = resources.into_iter().find(|each| each.resource.physical_id == info.id);
                Some(Location::new(&names[id], &own?.resource.logical_id))
            });
            // One that was retained when its resource left the parent belongs to nobody, too.
            let parent = match parent {
                None => None,
                Some(None) => continue,
                known => known.flatten(),
            };
            let name = parent.as_ref().map_or_else(
                || info.name.clone(),
                |parent| format!("{}/{}", parent.stack, parent.logical_id),
            );
            names.insert(info.id.clone(), name.clone());
            let status = StackStatus(info.status.as_str().into());
            if status.kind() == StatusKind::Empty {
                empty.push((name.as_str().into(), status));
                continue;
            }
            found.push(stack(region, &detail, (&name, parent), &exports));
        }
    }
    found.sort_by(|left, right| left.stack.name.cmp(&right.stack.name));
    DeployedEnvironment { environment: environment.clone(), stacks: found, empty }
}

/// Whether a stack has a resource of this physical ID.
fn is_in(region: &Region<'_>, stack: &str, physical_id: &str) -> bool {
    let resources = pages(|token| region.list_stack_resources(stack, token).unwrap());
    resources.iter().any(|each| each.resource.physical_id == physical_id)
}

/// A stack that is not empty, under the name that it has in plans.
fn stack(
    region: &Region<'_>,
    detail: &StackDetail,
    (name, parent): (&str, Option<Location>),
    exports: &[cdkr::local::Export],
) -> DeployedStack {
    let info = &detail.info;
    let body = region.get_template(Some(&info.id), None, TemplateStage::Original).unwrap();
    let mut stack = Stack::new(name, template::parse(body.as_bytes()).unwrap());
    stack.parent = parent;
    stack.is_returned = true;
    for (key, parameter) in &detail.parameters {
        stack.parameters.insert(key.as_str().into(), parameter.value.as_str().into());
    }
    let resources = pages(|token| region.list_stack_resources(&info.id, token).unwrap());
    let importers = |name: &str| -> Vec<Text> {
        let Ok(first) = region.list_imports(name, None) else { return Vec::new() };
        first.items.iter().map(|name| name.as_str().into()).collect()
    };
    let own = exports.iter().filter(|export| export.stack_id == info.id);
    let outputs = info.outputs.iter();
    DeployedStack {
        id: info.id.as_str().into(),
        status: StackStatus(info.status.as_str().into()),
        stack,
        body: body.into(),
        resources: resources.into_iter().map(|each| resource(&each.resource)).collect(),
        exports: own
            .map(|export| Export {
                name: export.name.as_str().into(),
                value: export.value.as_str().into(),
                importers: importers(&export.name),
            })
            .collect(),
        outputs: outputs
            .map(|output| (output.key.as_str().into(), output.value.as_str().into()))
            .collect(),
        has_policy: region.get_stack_policy(&info.id).unwrap().is_some(),
        options: StackOptions {
            capabilities: detail.capabilities.iter().map(|c| c.as_str().into()).collect(),
            ..StackOptions::default()
        },
    }
}

fn resource(found: &cdkr::local::Resource) -> (Text, DeployedResource) {
    let resource = DeployedResource {
        resource_type: found.resource_type.as_str().into(),
        physical_id: Some(found.physical_id.as_str().into()),
        status: found.status.as_str().into(),
        changed_at: None,
    };
    (found.logical_id.as_str().into(), resource)
}

fn pages<T>(mut get: impl FnMut(Option<&str>) -> cdkr::local::Page<T>) -> Vec<T> {
    let (mut all, mut token) = (Vec::new(), None);
    loop {
        let page = get(token.as_deref());
        all.extend(page.items);
        match page.next_token {
            None => return all,
            next => token = next,
        }
    }
}

/// Compares and plans.
pub fn planned(deployed: &DeployedEnvironment, local: &[Stack]) -> (Comparison, Plan) {
    planned_with(deployed, local, &Choices::default())
}

pub fn planned_with(
    deployed: &DeployedEnvironment,
    local: &[Stack],
    choices: &Choices,
) -> (Comparison, Plan) {
    let stacks: Vec<Stack> = deployed.stacks.iter().map(|stack| stack.stack.clone()).collect();
    let comparison = compare(&deployed.environment, &stacks, local, &Decisions::default()).unwrap();
    let plan = plan(deployed, local, &comparison, choices);
    (comparison, plan)
}

/// The templates that a plan sends last, with all of their characters.
pub fn sent(plan: &Plan) -> Vec<Stack> {
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for step in &plan.steps {
        match &step.action {
            Action::Change(change) => drop(last.insert(&change.stack, &change.template)),
            Action::Refactor(batch) => {
                last.extend(batch.stacks.iter().map(|one| (&*one.name, &*one.template)));
            }
        }
    }
    let stack =
        |(name, text): (&str, &str)| Stack::new(name, template::parse(text.as_bytes()).unwrap());
    last.into_iter().map(stack).collect()
}

/// Everything that exists: type and physical ID, with what makes it the same thing, and where.
pub type Things = BTreeMap<(String, String), (u64, u64, String)>;

pub fn things(region: &Region<'_>, environment: &DeployedEnvironment) -> Things {
    let mut things = Things::new();
    for stack in &environment.stacks {
        for (id, resource) in &stack.resources {
            let kind = resource.resource_type.to_string();
            if kind == "AWS::CloudFormation::WaitConditionHandle" && id.starts_with("Cdkr") {
                continue;
            }
            let physical = resource.physical_id.clone().unwrap().to_string();
            let thing = region.physical_resource(&kind, &physical).unwrap();
            let mark = thing.map_or((0, 0), |thing| (thing.generation, thing.updates));
            things.insert((kind, physical), (mark.0, mark.1, format!("{}.{id}", stack.stack.name)));
        }
    }
    things
}

/// Carries out a plan step by step.
pub struct Runner<'a> {
    pub cloud: &'a Cloud,
    pub clock: &'a ManualClock,
    pub environment: &'a Environment,
    /// The ARNs of stacks by the names in the plan.
    ids: BTreeMap<String, String>,
}

impl<'a> Runner<'a> {
    pub fn new(cloud: &'a Cloud, clock: &'a ManualClock, environment: &'a Environment) -> Self {
        Self { cloud, clock, environment, ids: BTreeMap::new() }
    }

    pub fn region(&self) -> Region<'a> {
        self.cloud.region(self.environment)
    }

    /// Carries out all steps in the order of the plan.
    pub fn run(&mut self, plan: &Plan) {
        assert!(!plan.is_refused(), "{:#?}", plan.findings);
        for (number, Step { after, action }) in plan.steps.iter().enumerate() {
            assert!(after.iter().all(|earlier| *earlier < number));
            match action {
                Action::Change(change) => self.change(change),
                Action::Refactor(batch) => drop(self.refactor(batch)),
            }
        }
    }

    fn upload(&self, text: &str) -> TemplateSource {
        let key = body_digest(text);
        self.cloud.put_object("templates", &key, text.as_bytes()).unwrap();
        TemplateSource::url(&format!("https://templates.s3.amazonaws.com/{key}"))
    }

    fn check_before(&self, name: &str, id: &str, before: Option<&String>) {
        let now = self.region().get_template(Some(id), None, TemplateStage::Original).unwrap();
        assert_eq!(Some(&body_digest(&now)), before, "{name}: another template is there");
    }

    fn change(&mut self, change: &Change) {
        let region = self.region();
        let creates = change.purpose == Purpose::Create;
        let id = self.id(&change.stack, change.id.as_ref());
        if !creates {
            self.check_before(&change.stack, &id, change.before.as_ref());
        }
        let template = template::parse(change.template.as_bytes()).unwrap();
        let declared = template.section("Parameters").into_iter().flat_map(Object::iter);
        let given = |name: &str| change.parameters.iter().find(|(key, _)| key == name);
        let parameters = declared
            .filter(|(name, _)| !creates || given(name).is_some())
            .map(|(name, _)| ParameterInput {
                key: name.to_string(),
                value: given(name).map(|(_, value)| value.clone()),
                use_previous: given(name).is_none(),
            })
            .collect();
        let set = region
            .create_change_set(&CreateChangeSet {
                name: format!("cdkr-{}", cdkr::local::Clock::now_ms(self.clock)),
                kind: if creates { ChangeSetType::Create } else { ChangeSetType::Update },
                update: UpdateStack {
                    name: if creates { change.stack.clone() } else { id },
                    template: self.upload(&change.template),
                    parameters,
                    capabilities: change.capabilities.clone(),
                    ..UpdateStack::default()
                },
                description: None,
            })
            .unwrap();
        let detail = region.describe_change_set(None, &set.id, None).unwrap();
        assert_eq!(detail.info.status, "CREATE_COMPLETE", "{:?}", detail.info.status_reason);
        let (policies, fillers): (Vec<_>, Vec<_>) =
            detail.info.changes.iter().partition(|each| each.action == "Modify");
        let changes: Vec<_> = fillers
            .iter()
            .map(|each| (each.action.as_str(), each.resource_type.as_str()))
            .collect();
        let only_the_filler = match change.purpose {
            Purpose::RemoveFiller => changes == [("Remove", FILLER)],
            Purpose::Retain | Purpose::Release => {
                changes == [("Add", FILLER)] || changes == [("Remove", FILLER)]
            }
            _ => changes == [("Add", FILLER)],
        };
        assert!(only_the_filler, "nothing but the filler changes in {}: {changes:?}", change.stack);
        let changed: BTreeSet<_> = policies.iter().map(|each| each.logical_id.as_str()).collect();
        assert_eq!(changed, change.retained.iter().map(String::as_str).collect());
        assert!(policies.iter().all(|each| each.scope == ["DeletionPolicy"]), "{policies:?}");
        region.execute_change_set(None, &set.id, false).unwrap();
        self.clock.advance(10_000);
        let status =
            &region.describe_stacks(Some(&set.stack_id), None).unwrap().items[0].info.status;
        assert!(["CREATE_COMPLETE", "UPDATE_COMPLETE"].contains(&status.as_str()), "{status}");
        self.ids.insert(change.stack.clone(), set.stack_id);
    }

    fn id(&self, name: &str, id: Option<&String>) -> String {
        id.or_else(|| self.ids.get(name)).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn refactor(&mut self, batch: &Batch) -> String {
        let region = self.region();
        assert!((1..=5).contains(&batch.stacks.len()));
        let mut definitions = Vec::new();
        for stack in &batch.stacks {
            let id = self.id(&stack.name, stack.id.as_ref());
            if stack.before.is_some() {
                self.check_before(&stack.name, &id, stack.before.as_ref());
            }
            definitions
                .push(StackDefinition { stack: Some(id), template: self.upload(&stack.template) });
        }
        let ids: BTreeMap<String, String> = batch
            .stacks
            .iter()
            .map(|stack| (stack.name.clone(), self.id(&stack.name, stack.id.as_ref())))
            .collect();
        let place = |text: &str| {
            let place: Location = text.parse().unwrap();
            let stack = ids[place.stack.as_str()].clone();
            ResourceLocation { stack, logical_id: place.logical_id.to_string() }
        };
        let id = region
            .create_stack_refactor(&CreateStackRefactor {
                enable_stack_creation: batch.stacks.iter().any(|stack| stack.before.is_none()),
                mappings: batch
                    .moves
                    .iter()
                    .map(|each| ResourceMapping {
                        source: place(&each.source),
                        destination: place(&each.destination),
                    })
                    .collect(),
                definitions,
                ..CreateStackRefactor::default()
            })
            .unwrap();
        let info = region.describe_stack_refactor(&id).unwrap();
        assert_eq!(info.status, "CREATE_COMPLETE", "{:?}\n{batch:#?}", info.status_reason);
        self.check_actions(batch, &id);
        region.execute_stack_refactor(&id).unwrap();
        self.clock.advance(10_000);
        let info = region.describe_stack_refactor(&id).unwrap();
        assert_eq!(info.execution_status, "EXECUTE_COMPLETE", "{:?}", info.execution_status_reason);
        for stack in &batch.stacks {
            let id = &ids[&stack.name];
            let found = region.describe_stacks(Some(id), None).unwrap().items.remove(0);
            self.ids.insert(stack.name.clone(), found.info.id);
        }
        id
    }

    /// What the service says that it will do is what the plan says.
    fn check_actions(&self, batch: &Batch, refactor: &str) {
        let region = self.region();
        let actions =
            pages(|token| region.list_stack_refactor_actions(refactor, None, token).unwrap());
        let created = actions.iter().filter(|each| each.entity == "STACK").count();
        assert_eq!(created, batch.stacks.iter().filter(|stack| stack.before.is_none()).count());
        let moved: BTreeSet<(String, String, Option<String>)> = actions
            .into_iter()
            .filter(|each| each.entity == "RESOURCE")
            .map(|each| {
                assert_eq!(each.detection, "MANUAL");
                let mapping = each.mapping.unwrap();
                (mapping.source.logical_id, mapping.destination.logical_id, each.physical_id)
            })
            .collect();
        let id_of = |text: &str| text.parse::<Location>().unwrap().logical_id.to_string();
        let planned: BTreeSet<(String, String, Option<String>)> = batch
            .moves
            .iter()
            .map(|each| (id_of(&each.source), id_of(&each.destination), each.physical_id.clone()))
            .collect();
        assert_eq!(moved, planned);
    }
}

/// A value with its keys in order, to be shown.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(object) => {
            let mut members: Vec<_> =
                object.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(Object::from_iter(members))
        }
        other => other.clone(),
    }
}

/// Fails at the first line that differs.
pub fn same(expected: &Value, found: &Value, what: &str) {
    let (expected, found) = (json::to_pretty(&sorted(expected)), json::to_pretty(&sorted(found)));
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    if let Some((at, _)) = lines.find(|(_, (left, right))| left != right) {
        let around = |text: &str| -> String {
            let lines: Vec<&str> = text.lines().skip(at.saturating_sub(6)).take(14).collect();
            lines.join("\n")
        };
        panic!(
            "{what} line {at}\n--- expected\n{}\n--- found\n{}",
            around(&expected),
            around(&found)
        );
    }
    assert_eq!(expected.lines().count(), found.lines().count(), "{what}");
}
