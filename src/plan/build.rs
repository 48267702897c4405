//! Makes steps of moves: every refactor is tried on the templates as the steps before leave them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::apply::{self, Applied, Relocation};
use super::guide::Guide;
use super::limits::{MOST_BYTES, MOST_OUTPUTS, MOST_RESOURCES};
use super::sections::Additions;
use super::steps::{Action, Batch, BatchStack, Change, Finding, Move, Purpose, Severity, Step};
use super::world::{At, FILLER, FILLER_TYPE, Spot, World};
use super::{order, past};
use crate::model::{DeployedStack, Object, ResourceType, Template, Text, Value};
use crate::template::function_call;

/// Steps in the making.
pub(super) struct Builder<'a> {
    pub(super) world: World,
    pub(super) guide: Guide,
    deployed: HashMap<&'a str, &'a DeployedStack>,
    additions: BTreeMap<At, Additions>,
    pub(super) steps: Vec<Step>,
    pub(super) findings: Vec<Finding>,
    /// The last step that changes each stack.
    last: BTreeMap<At, usize>,
    /// Resources that were moved, by where they are now: where they were at first.
    origins: HashMap<Spot, Spot>,
    /// Deletion policies to be set in the end.
    policies: Policies,
    /// Stacks that take part in a refactor.
    refactored: BTreeSet<At>,
}

/// Deletion policies, by stack and logical ID; `None` is none. They retain, or release again.
#[derive(Default)]
pub(super) struct Policies {
    pub(super) by_stack: BTreeMap<At, BTreeMap<Text, Option<Value>>>,
    pub(super) release: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        world: World,
        guide: Guide,
        deployed: &'a [DeployedStack],
        additions: BTreeMap<At, Additions>,
        policies: Policies,
    ) -> Self {
        Self {
            world,
            guide,
            deployed: deployed.iter().map(|stack| (stack.stack.name.as_str(), stack)).collect(),
            additions,
            steps: Vec::new(),
            findings: Vec::new(),
            last: BTreeMap::new(),
            origins: HashMap::default(),
            policies,
            refactored: BTreeSet::new(),
        }
    }

    /// Makes all steps for moves.
    pub(super) fn carry_out(&mut self, moves: &[Relocation]) {
        for batches in order::batches(&self.world, moves) {
            for batch in batches {
                self.refactor(&batch);
            }
        }
        self.tidy();
    }

    /// Stacks that a step changes.
    pub(super) fn involved(&self) -> BTreeSet<At> {
        self.last.keys().copied().collect()
    }

    /// Stacks that take part in a refactor.
    pub(super) fn refactored(&self) -> &BTreeSet<At> {
        &self.refactored
    }

    fn refactor(&mut self, moves: &[Relocation]) {
        let goals: BTreeSet<At> = moves.iter().map(|each| each.to.0).collect();
        for at in goals {
            self.prepare(at);
        }
        let applied = loop {
            let applied = apply::apply(&self.world, &self.guide, moves);
            let empty = |template: &Template| template.resources().next().is_none();
            let emptied = applied.templates.iter().find(|(_, template)| empty(template));
            match emptied.map(|(at, _)| *at) {
                Some(at) if self.world.sites[at].filler.is_none() => self.fill(at),
                _ => break applied,
            }
        };
        let stacks: BTreeSet<At> = applied.templates.keys().copied().collect();
        self.refactored.extend(&stacks);
        let mut near = self.near(&stacks);
        let Applied { templates, kept_exports } = applied;
        self.note_kept(&kept_exports);
        let mut batch = Batch { stacks: Vec::new(), moves: Vec::new() };
        for each in moves {
            batch.moves.push(self.moved(each));
        }
        batch.moves.sort_by(|left, right| left.source.cmp(&right.source));
        let before: Vec<(At, Option<String>)> =
            stacks.iter().map(|at| (*at, self.world.digest(*at))).collect();
        self.world.follow(moves.iter().map(|each| (each.from.clone(), each.to.clone())));
        for (at, template) in templates {
            self.world.set(at, template);
        }
        past::restore(&mut self.world, &self.guide, &stacks);
        for (at, before) in before {
            self.check_limits(at);
            let site = &self.world.sites[at];
            batch.stacks.push(BatchStack {
                name: site.name.to_string(),
                id: site.id.clone().map(String::from),
                before,
                template: site.text.clone().unwrap_or_default().into(),
            });
        }
        batch.stacks.sort_by(|left, right| left.name.cmp(&right.name));
        near.extend(self.near(&stacks));
        self.push(&stacks, &near, Action::Refactor(batch));
    }

    /// The stacks whose steps have to come before a step that changes these.
    fn near(&self, stacks: &BTreeSet<At>) -> BTreeSet<At> {
        let neighbours = stacks.iter().flat_map(|at| self.world.neighbours(*at));
        neighbours.chain(stacks.iter().copied()).collect()
    }

    fn push(&mut self, stacks: &BTreeSet<At>, near: &BTreeSet<At>, action: Action) {
        let after: BTreeSet<usize> =
            near.iter().filter_map(|at| self.last.get(at)).copied().collect();
        let number = self.steps.len();
        self.last.extend(stacks.iter().map(|at| (*at, number)));
        self.steps.push(Step { after: after.into_iter().collect(), action });
    }

    fn moved(&mut self, each: &Relocation) -> Move {
        let origin = self.origins.remove(&each.from).unwrap_or_else(|| each.from.clone());
        let place = self.world.location(&origin);
        let deployed = self
            .deployed
            .get(place.stack.as_str())
            .and_then(|stack| stack.resources.get(place.logical_id.as_str()));
        let body = self.world.resource(&each.from);
        let kind =
            body.and_then(|body| body.get("Type")).and_then(Value::as_str).unwrap_or_default();
        self.origins.insert(each.to.clone(), origin);
        Move::new(
            &ResourceType::from(kind),
            deployed.and_then(|resource| resource.physical_id.as_deref()),
            &self.world.location(&each.from),
            &self.world.location(&each.to),
        )
    }

    /// Gives a stack what it needs before something can move into it.
    fn prepare(&mut self, at: At) {
        let Some(additions) = self.additions.remove(&at) else { return };
        let exists = self.world.sites[at].text.is_some();
        let template = additions.added_to(&self.world.sites[at].template);
        let purpose = if exists { Purpose::Prepare } else { Purpose::Create };
        let parameters = additions.values.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let parameters = parameters.collect();
        for (name, value) in additions.values {
            self.world.sites[at].parameters.insert(name, value);
        }
        self.change_with_filler(at, template, purpose, parameters, Vec::new());
    }

    fn fill(&mut self, at: At) {
        let template = self.world.sites[at].template.clone();
        self.change_with_filler(at, template, Purpose::Fill, Vec::new(), Vec::new());
    }

    fn change_with_filler(
        &mut self,
        at: At,
        mut template: Template,
        purpose: Purpose,
        parameters: Vec<(String, String)>,
        retained: Vec<String>,
    ) {
        let mut id = Text::from(FILLER);
        while template.resource(&id).is_some() {
            id.push('X');
        }
        let filler = function_call("Type", Value::from(FILLER_TYPE));
        match template.sections.get_mut("Resources") {
            Some(Value::Object(resources)) => drop(resources.insert(id.clone(), filler)),
            _ => {
                let resources = Object::from_iter([(id.clone(), filler)]);
                template.sections.insert("Resources".into(), Value::Object(resources));
            }
        }
        self.world.sites[at].filler = Some(id);
        self.change(at, template, purpose, parameters, retained);
    }

    fn change(
        &mut self,
        at: At,
        template: Template,
        purpose: Purpose,
        parameters: Vec<(String, String)>,
        retained: Vec<String>,
    ) {
        let stacks = BTreeSet::from([at]);
        let near = self.near(&stacks);
        let before = self.world.digest(at);
        let text = self.world.set(at, template);
        self.check_limits(at);
        let site = &self.world.sites[at];
        let deployed = self.deployed.get(site.name.as_str());
        let given = deployed.map(|stack| &stack.options.capabilities).into_iter().flatten();
        let mut capabilities: BTreeSet<String> = given.map(Text::to_string).collect();
        if may_need_iam(&site.template) {
            capabilities.extend(["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"].map(str::to_owned));
        }
        let change = Change {
            stack: site.name.to_string(),
            id: site.id.clone().map(String::from),
            purpose,
            before,
            template: text.into(),
            parameters,
            capabilities: capabilities.into_iter().collect(),
            retained,
        };
        self.push(&stacks, &near, Action::Change(change));
    }

    /// Sets deletion policies, takes fillers away where something else is, and tells of stacks
    /// that hold nothing else.
    fn tidy(&mut self) {
        let policies = std::mem::take(&mut self.policies);
        let mut changed = self.involved();
        changed.extend(policies.by_stack.keys());
        for at in changed {
            match policies.by_stack.get(&at) {
                Some(own) => self.set_policies(at, own, policies.release),
                None => self.tidy_filler(at),
            }
        }
    }

    /// Changes deletion policies in a stack: with the removal of its filler if it has one, else
    /// with the addition of one, since CloudFormation does not change policies alone. What a
    /// stack has retained goes with its next deployment, and the filler with it; where that is
    /// undone, the filler goes at once.
    fn set_policies(&mut self, at: At, own: &BTreeMap<Text, Option<Value>>, release: bool) {
        let mut template = self.world.sites[at].template.clone();
        let filler = self.world.sites[at].filler.take();
        if let Some(Value::Object(resources)) = template.sections.get_mut("Resources") {
            for (id, policy) in own {
                let Some(Value::Object(body)) = resources.get_mut(id) else { continue };
                match policy {
                    Some(policy) => drop(body.insert("DeletionPolicy".into(), policy.clone())),
                    None => drop(body.remove("DeletionPolicy")),
                }
            }
            if let Some(filler) = &filler {
                resources.remove(filler);
            }
        }
        let retained = own.keys().map(Text::to_string).collect();
        let purpose = if release { Purpose::Release } else { Purpose::Retain };
        if filler.is_some() {
            self.change(at, template, purpose, Vec::new(), retained);
            return;
        }
        self.change_with_filler(at, template, purpose, Vec::new(), retained);
        if release {
            self.tidy_filler(at);
        }
    }

    fn tidy_filler(&mut self, at: At) {
        let Some(filler) = self.world.sites[at].filler.clone() else { return };
        if self.world.count(at) == 1 {
            let name = self.world.sites[at].name.to_string();
            self.findings.push(Finding {
                severity: Severity::Note,
                message: format!("{name} holds nothing but a filler after the moves."),
                remedy: "Delete the stack when it is not needed any more.".to_owned(),
                stack: name,
                resource: None,
            });
            return;
        }
        let mut template = self.world.sites[at].template.clone();
        if let Some(Value::Object(resources)) = template.sections.get_mut("Resources") {
            resources.remove(&filler);
        }
        self.world.sites[at].filler = None;
        self.change(at, template, Purpose::RemoveFiller, Vec::new(), Vec::new());
    }

    fn note_kept(&mut self, kept: &[(Spot, BTreeSet<Text>)]) {
        for (output, importers) in kept {
            let importers: Vec<&str> = importers.iter().map(Text::as_str).collect();
            let stack = self.world.sites[output.0].name.to_string();
            self.findings.push(Finding {
                severity: Severity::Note,
                message: format!(
                    "The export of output `{}` stays in {stack} with the same value, since it is \
                     used by {}.",
                    output.1,
                    importers.join(", ")
                ),
                remedy: "Deploy these stacks with the new import before the export is taken away."
                    .to_owned(),
                stack,
                resource: None,
            });
        }
    }

    fn check_limits(&mut self, at: At) {
        let template = &self.world.sites[at].template;
        let resources = template.resources().count();
        let outputs = template.section("Outputs").map_or(0, Object::len);
        let bytes = super::world::write(template).len();
        let limits = [
            (resources, MOST_RESOURCES, "resources"),
            (outputs, MOST_OUTPUTS, "outputs"),
            (bytes, MOST_BYTES, "bytes"),
        ];
        for (count, most, what) in limits {
            if count > most {
                let stack = self.world.sites[at].name.to_string();
                self.findings.push(Finding {
                    severity: Severity::Error,
                    message: format!(
                        "The template of {stack} would have {count} {what}; CloudFormation takes \
                         at most {most}."
                    ),
                    remedy: "Move fewer resources into this stack.".to_owned(),
                    stack,
                    resource: None,
                });
            }
        }
    }
}

/// Whether an update of a template may have to acknowledge IAM resources: a nested stack may hold
/// some, too. A stack that a refactor created has acknowledged none.
fn may_need_iam(template: &Template) -> bool {
    template
        .resources()
        .filter_map(|(_, body)| body.get("Type")?.as_str())
        .any(|kind| kind.starts_with("AWS::IAM::") || kind == "AWS::CloudFormation::Stack")
}
