//! What the deployment does to each resource.

use std::collections::BTreeSet;

use super::danger::{self, Leaving};
use super::evaluate::NESTED;
use super::pair::{Pair, root_name};
use super::{Effect, EffectKind, ForecastRequest};
use crate::model::{DeployedStack, Object, Text, Value};
use crate::plan::steps::{Finding, Severity, Staying};
use crate::registry;

/// Works out the effects on one root stack and those nested in it.
pub(super) struct Effects<'p, 'a> {
    pair: &'p Pair<'a>,
    staying: &'a [Staying],
    pub(super) found: Vec<Effect>,
    pub(super) findings: Vec<Finding>,
}

impl<'p, 'a> Effects<'p, 'a> {
    pub(super) fn new(pair: &'p Pair<'a>, request: &ForecastRequest<'a>) -> Self {
        Self { pair, staying: request.staying, found: Vec::new(), findings: Vec::new() }
    }

    /// Collects the effects on a root stack and on what is nested in it, sorted by place.
    pub(super) fn of(mut self, root: &str) -> (Vec<Effect>, Vec<Finding>) {
        for (at, site) in self.pair.new.sites.iter().enumerate() {
            if root_name(site.name) == root && site.is_deployed && self.is_there(at) {
                self.changes(at);
            }
        }
        let gone: BTreeSet<&str> = self.gone(root);
        for site in &self.pair.old.sites {
            let Some(now) = site.now else { continue };
            if root_name(site.name) == root && !gone.contains(site.name) {
                let new = self.pair.new.at(site.name).filter(|at| self.is_there(*at));
                self.removals(now, new);
            }
        }
        self.found.sort_by(|left, right| {
            (&left.stack, &left.logical_id).cmp(&(&right.stack, &right.logical_id))
        });
        (self.found, self.findings)
    }

    /// Whether a stack of the new side is made: nested ones only where the resource that makes them
    /// is, which a condition may forbid.
    fn is_there(&self, at: usize) -> bool {
        let mut at = at;
        while let Some((parent, maker)) = &self.pair.new.sites[at].parent {
            let body = self.pair.new.sites[*parent].template.resource(maker);
            let is_active =
                body.is_some_and(|body| self.pair.after().is_active(*parent, body) != Some(false));
            if !is_active {
                return false;
            }
            at = *parent;
        }
        true
    }

    /// What is added, changed or replaced in a stack.
    fn changes(&mut self, at: usize) {
        let site = &self.pair.new.sites[at];
        let existing = |id: &str| site.now.and_then(|now| now.resources.get(id));
        for (id, body) in site.template.resources() {
            self.open_condition(at, id, body);
            let Some(kind) = self.pair.outcome(at, id).kind else { continue };
            let physical_id = existing(id)
                .filter(|_| kind != EffectKind::Add)
                .and_then(|found| found.physical_id.as_ref());
            let resource_type = type_of(body);
            let danger = match &kind {
                EffectKind::Replace { certain, .. } => {
                    self.refusals(at, id, body, &kind);
                    danger::of_replacement(&Leaving::new(resource_type, body), *certain)
                }
                _ => None,
            };
            self.found.push(Effect {
                stack: site.name.to_owned(),
                logical_id: id.to_string(),
                resource_type: resource_type.to_owned(),
                physical_id: physical_id.map(ToString::to_string),
                kind,
                danger,
            });
        }
    }

    /// What leaves a stack. `new` is the stack as it is to be; without it everything leaves.
    fn removals(&mut self, now: &'a DeployedStack, new: Option<usize>) {
        let template = &now.stack.template;
        let stays = |id: &str| {
            new.is_some_and(|at| {
                let body = self.pair.new.sites[at].template.resource(id);
                body.is_some_and(|body| self.pair.after().is_active(at, body) != Some(false))
            })
        };
        let Some(old) = self.pair.old.at(now.stack.name.as_str()) else { return };
        let defined = template.resources().map(|(id, _)| id.as_str());
        let ids: BTreeSet<&str> = defined.chain(now.resources.keys().map(Text::as_str)).collect();
        let ids = ids.into_iter().filter(|id| self.pair.is_deployed(old, now, id));
        let leaving: Vec<&str> = ids.filter(|id| !stays(id)).collect();
        for id in leaving {
            let nothing = Object::new();
            let body = template.resource(id).unwrap_or(&nothing);
            let resource = now.resources.get(id);
            let resource_type =
                resource.map_or(type_of(body), |resource| resource.resource_type.as_str());
            let leaving = Leaving::new(resource_type, body);
            let place = format!("{}.{id}", now.stack.name);
            let elsewhere = self.staying.iter().find(|staying| staying.source == place);
            let elsewhere = elsewhere.map(|staying| staying.destination.as_str());
            // What is in a nested stack is told one by one.
            let is_opened = resource_type == NESTED && self.pair.old.child(old, id).is_some();
            self.found.push(Effect {
                stack: now.stack.name.to_string(),
                logical_id: id.to_owned(),
                resource_type: resource_type.to_owned(),
                physical_id: resource
                    .and_then(|resource| resource.physical_id.as_ref())
                    .map(ToString::to_string),
                kind: if leaving.is_retained() { EffectKind::Retain } else { EffectKind::Remove },
                danger: danger::of_removal(&leaving, elsewhere).filter(|_| !is_opened),
            });
        }
    }

    /// Nested stacks that are retained as they are when their resources leave the template.
    fn gone(&self, root: &str) -> BTreeSet<&'p str> {
        let mut gone: BTreeSet<&str> = BTreeSet::new();
        let mut sites: Vec<usize> = (0..self.pair.old.sites.len()).collect();
        sites.sort_by_key(|at| self.pair.old.sites[*at].name.matches('/').count());
        for at in sites {
            let site = &self.pair.old.sites[at];
            let Some((parent, maker)) = &site.parent else { continue };
            if root_name(site.name) != root {
                continue;
            }
            let parent = &self.pair.old.sites[*parent];
            let body = parent.template.resource(maker);
            let is_retained = body.is_some_and(|body| Leaving::new(NESTED, body).is_retained());
            let new = self.pair.new.at(parent.name);
            let stays = new.is_some_and(|new| {
                let body = self.pair.new.sites[new].template.resource(maker);
                body.is_some_and(|body| self.pair.after().is_active(new, body) != Some(false))
            });
            if gone.contains(parent.name) || (is_retained && !stays) {
                gone.insert(site.name);
            }
        }
        gone
    }

    /// Tells of changes that CloudFormation refuses.
    fn refusals(&mut self, at: usize, id: &str, body: &Object, kind: &EffectKind) {
        let EffectKind::Replace { certain: true, properties, .. } = kind else { return };
        let site = &self.pair.new.sites[at];
        let place = format!("{}.{id}", site.name);
        let (severity, message, remedy) = if properties == &["Type"] {
            (
                Severity::Error,
                format!(
                    "`{place}` becomes a `{}`: CloudFormation never changes the type of a resource.",
                    type_of(body)
                ),
                "Give the construct another name, so that the new resource gets a logical ID of its own.",
            )
        } else if self.keeps_its_name(at, id, body) {
            (
                Severity::Warning,
                format!(
                    "`{place}` would be replaced under the name that it has: CloudFormation refuses that."
                ),
                "Give the resource another name, or none, in the app.",
            )
        } else {
            return;
        };
        self.findings.push(Finding {
            severity,
            stack: site.name.to_owned(),
            resource: Some(id.to_owned()),
            message,
            remedy: remedy.to_owned(),
        });
    }

    /// Whether the template sets all that identifies the resource, and does not change it.
    fn keeps_its_name(&self, at: usize, id: &str, body: &Object) -> bool {
        let Some(identifier) =
            registry::lookup(type_of(body)).and_then(registry::TypeInfo::settable_identifier)
        else {
            return false;
        };
        let site = &self.pair.new.sites[at];
        let Some(old) = self.pair.old.at(site.name) else { return false };
        let was = self.pair.old.properties(old, id);
        let is = self.pair.new.properties(at, id);
        identifier.iter().all(|name| {
            let old = was.and_then(|all| self.pair.before().value(old, all.get(name)?));
            let new = is.and_then(|all| self.pair.after().value(at, all.get(name)?));
            let known = |symbol: &Option<super::symbol::Symbol>| {
                symbol.as_ref().and_then(|symbol| symbol.known().map(str::to_owned))
            };
            known(&old).is_some() && known(&old) == known(&new)
        })
    }

    /// Tells of a resource of which nobody knows whether it stays.
    fn open_condition(&mut self, at: usize, id: &str, body: &Object) {
        let site = &self.pair.new.sites[at];
        let Some(name) = body.get("Condition").and_then(Value::as_str) else { return };
        if self.pair.after().condition(at, name).is_some() || !self.pair.exists(at, id) {
            return;
        }
        let old = self.pair.old.at(site.name);
        let before = old.and_then(|old| {
            let was = self.pair.old.sites[old].template.resource(id)?.get("Condition")?;
            Some(self.pair.before().definition(old, was.as_str()?))
        });
        if before == Some(self.pair.after().definition(at, name)) {
            return;
        }
        self.findings.push(Finding {
            severity: Severity::Warning,
            stack: site.name.to_owned(),
            resource: Some(id.to_owned()),
            message: format!(
                "Whether `{}.{id}` stays depends on the condition `{name}`, whose outcome is not \
                 known before the deployment.",
                site.name
            ),
            remedy: "Look at the change set before it is executed.".to_owned(),
        });
    }
}

fn type_of(body: &Object) -> &str {
    body.get("Type").and_then(Value::as_str).unwrap_or_default()
}
