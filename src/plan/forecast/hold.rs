//! Outputs that others still use when their stack is deployed.
//!
//! CloudFormation refuses to delete an export that is in use. Whoever drops a reference between
//! two stacks, and with it the export, meets that: the producer is deployed before the consumer.
//! So the producer first gets the template of the app with the old output and everything that this
//! output needs; once all that use it are deployed, the template of the app follows. The same is
//! done for outputs that are read by `Fn::GetStackOutput`: nobody refuses to delete them, but a
//! reader whose deployment fails could not go back to its old template.

use std::collections::{BTreeMap, BTreeSet};

use super::closure::Closure;
use super::pair::{Pair, root_name};
use super::symbol::Kind;
use super::users::{Output, Users};
use super::{ForecastRequest, HeldExport, Holding, written};
use crate::model::{Object, Template, Text, Value};
use crate::plan::steps::{Finding, Severity};
use crate::template::{self, Reference};

/// What is held.
#[derive(Default)]
pub(super) struct Holds {
    /// What is sent first, by stack.
    pub(super) first: BTreeMap<String, Holding>,
    /// What is sent last in place of the template of the app, by stack.
    pub(super) last: BTreeMap<String, Template>,
    pub(super) findings: Vec<Finding>,
}

/// An output that has to be held.
struct Held {
    output: Output,
    importers: Vec<String>,
    /// Those that are deployed, and then use it no more.
    until: BTreeSet<String>,
    until_released: BTreeSet<String>,
    /// Somebody goes on using it.
    for_good: bool,
}

/// What is taken over into the first and into the last template of a stack brings along what it
/// uses of other stacks.
#[derive(Clone, Default, PartialEq, Eq)]
struct Brought {
    first: BTreeMap<String, BTreeSet<Output>>,
    last: BTreeMap<String, BTreeSet<Output>>,
}

/// Decides what is held.
pub(super) fn hold(pair: &Pair<'_>, request: &ForecastRequest<'_>) -> Holds {
    let users = Users::new(pair);
    let mut brought = Brought::default();
    // What is held may use what others hold: each round follows one more link of such a chain.
    for _ in 0..=pair.new.sites.len() {
        let (holds, next) = round(pair, request, &users, &brought);
        if next == brought {
            return holds;
        }
        brought = next;
    }
    round(pair, request, &users, &brought).0
}

fn round(
    pair: &Pair<'_>,
    request: &ForecastRequest<'_>,
    users: &Users,
    brought: &Brought,
) -> (Holds, Brought) {
    let (mut holds, mut next) = (Holds::default(), Brought::default());
    for (at, site) in pair.new.sites.iter().enumerate().filter(|(_, site)| site.is_deployed) {
        let Some(old) = pair.old.at(site.name) else { continue };
        let mut all = Vec::new();
        for output in users.outputs_of(old) {
            all.extend(Decision { pair, request, users, brought, at, old }.of(&output, &mut holds));
        }
        if !all.is_empty() {
            build(pair, (old, at), all, &mut holds, &mut next, users);
        }
    }
    (holds, next)
}

/// The decision about one output of a stack.
struct Decision<'d, 'a> {
    pair: &'d Pair<'a>,
    request: &'d ForecastRequest<'a>,
    users: &'d Users,
    brought: &'d Brought,
    at: usize,
    old: usize,
}

impl Decision<'_, '_> {
    fn of(&self, output: &Output, holds: &mut Holds) -> Option<Held> {
        let site = &self.pair.new.sites[self.at];
        let root = root_name(site.name);
        let by = self.users.of(output);
        let (own, others): (Vec<&String>, Vec<&String>) =
            by.iter().partition(|user| self.root_of(user) == root);
        holds.findings.extend(self.within(output, &own));
        let mut held = Held {
            output: output.clone(),
            importers: others.iter().map(|user| (*user).clone()).collect(),
            until: BTreeSet::new(),
            until_released: BTreeSet::new(),
            for_good: false,
        };
        let mut staying: Vec<&str> = Vec::new();
        for user in others {
            let user_root = self.root_of(user);
            if !self.is_released_by(user_root, output) {
                staying.push(user);
                continue;
            }
            let first = self.brought.first.get(user_root);
            let is_first_free = first.is_none_or(|all| !all.contains(output));
            let needs = self.request.needs.get(root);
            if needs.is_some_and(|needs| needs.contains(user_root)) && is_first_free {
                continue;
            }
            held.until.insert(user_root.to_owned());
            if !is_first_free {
                held.until_released.insert(user_root.to_owned());
            }
        }
        if (held.until.is_empty() && staying.is_empty()) || self.is_kept(output, &held, holds) {
            return None;
        }
        if !staying.is_empty() {
            held.for_good = true;
            let is_weak = matches!(output, Output::Read { .. });
            let deployed = |user: &&str| self.request.selected.contains(self.root_of(user));
            if is_weak && !staying.iter().any(deployed) && held.until.is_empty() {
                holds.findings.push(self.lost_later(output, &staying));
                return None;
            }
            if is_weak && !staying.iter().any(deployed) {
                held.for_good = false;
            } else {
                holds.findings.push(self.held_for_good(output, &staying));
            }
        }
        if site.parent.is_some() {
            holds.findings.push(self.in_nested(output, &held));
            return None;
        }
        Some(held)
    }

    /// Tells of an export of a nested stack that goes away while a stack around it imports it: the
    /// nested stack is updated first, and neither of the two can be held by itself.
    fn within(&self, output: &Output, own: &[&String]) -> Option<Finding> {
        let site = &self.pair.new.sites[self.at];
        let Output::Export(name) = output else { return None };
        let is_there = self.pair.new.exporters(name).iter().any(|(other, _)| *other == self.at);
        let old_name = self.pair.old.sites[self.old].own_name();
        let users: Vec<&&String> =
            own.iter().filter(|user| old_name != Some(user.as_str())).collect();
        if site.parent.is_none() || is_there || users.is_empty() {
            return None;
        }
        let users = listed(&users);
        Some(self.finding(
            Severity::Warning,
            format!(
                "The export `{name}` of the nested stack {} goes away in the same update in which \
                 {users} stops importing it: CloudFormation may refuse that.",
                site.name
            ),
            format!("Keep it in the app (`exportValue`) until {users} is deployed without it."),
        ))
    }

    /// The root of a user, who goes by the name that CloudFormation has for it.
    fn root_of<'u>(&'u self, user: &'u str) -> &'u str {
        let at = self.pair.old.at_own_name(user);
        at.map_or(user, |at| root_name(self.pair.old.sites[at].name))
    }

    /// Whether a root stack is deployed, and then uses an output no more.
    fn is_released_by(&self, root: &str, output: &Output) -> bool {
        let sites = self.pair.new.sites.iter().enumerate();
        let own: Vec<usize> = sites
            .filter(|(_, site)| site.is_deployed && root_name(site.name) == root)
            .map(|(at, _)| at)
            .collect();
        let brings = self.brought.last.get(root).is_some_and(|all| all.contains(output));
        !own.is_empty() && !brings && !own.iter().any(|at| self.users.new_uses(*at, output))
    }

    /// Whether the new template has the output as well, so that there is nothing to be held; tells
    /// if CloudFormation would refuse it nevertheless.
    fn is_kept(&self, output: &Output, held: &Held, holds: &mut Holds) -> bool {
        let name = match output {
            Output::Read { key, .. } => {
                return self.pair.new.output(self.at, key).is_some();
            }
            Output::Export(name) => name,
        };
        let exporters = self.pair.new.exporters(name);
        let Some((site, key)) = exporters.iter().find(|(site, _)| *site == self.at) else {
            if let Some((other, _)) = exporters.first() {
                let other = self.pair.new.sites[*other].name;
                holds.findings.push(self.taken_over(name, other, held));
                return true;
            }
            return false;
        };
        let old = self.users.key_of(self.old, name).and_then(|key| {
            let value = self.pair.old.output(self.old, key)?.get("Value")?;
            self.pair.before().value(self.old, value)
        });
        let new = self.pair.new.output(*site, key).and_then(|output| output.get("Value"));
        let new = new.and_then(|value| self.pair.after().value(*site, value));
        if let Some(kind) =
            old.zip(new).and_then(|(old, new)| super::symbol::difference(&old, &new))
        {
            holds.findings.push(self.changed(name, &kind, held));
        }
        true
    }

    fn finding(&self, severity: Severity, message: String, remedy: String) -> Finding {
        let stack = self.pair.new.sites[self.at].name.to_owned();
        Finding { severity, stack, resource: None, message, remedy }
    }

    fn changed(&self, name: &str, kind: &Kind, held: &Held) -> Finding {
        let stack = self.pair.new.sites[self.at].name;
        let users = listed(&held.importers);
        let (severity, verb) = match kind {
            Kind::Certain | Kind::Fresh(_) => (Severity::Error, "gets"),
            Kind::Perhaps(_) | Kind::Open => (Severity::Warning, "may get"),
        };
        self.finding(
            severity,
            format!(
                "The export `{name}` of {stack} {verb} another value while {users} still import it: \
                 CloudFormation refuses that."
            ),
            format!(
                "Give the output another export name in the app, or deploy {users} without the \
                 import first."
            ),
        )
    }

    fn taken_over(&self, name: &str, other: &str, held: &Held) -> Finding {
        let stack = self.pair.new.sites[self.at].name;
        let users = listed(&held.importers);
        self.finding(
            Severity::Error,
            format!(
                "The export `{name}` goes from {stack} to {other} while {users} still import it: \
                 CloudFormation refuses that."
            ),
            format!("Give the export of {other} another name in the app."),
        )
    }

    fn held_for_good(&self, output: &Output, staying: &[&str]) -> Finding {
        let stack = self.pair.new.sites[self.at].name;
        let users = listed(staying);
        self.finding(
            Severity::Warning,
            format!(
                "{} of {stack} is not in the app any more, but stays with everything that it needs, \
                 since {users} still use it.",
                output.described()
            ),
            format!("Deploy {users} without it; the next deployment of {stack} then removes it."),
        )
    }

    fn lost_later(&self, output: &Output, staying: &[&str]) -> Finding {
        let stack = self.pair.new.sites[self.at].name;
        let users = listed(staying);
        self.finding(
            Severity::Warning,
            format!(
                "{} of {stack} goes away, and {users}, which read it when they were deployed, are \
                 not deployed now.",
                output.described()
            ),
            format!("Deploy {users} as well."),
        )
    }

    fn in_nested(&self, output: &Output, held: &Held) -> Finding {
        let stack = self.pair.new.sites[self.at].name;
        let users = listed(&held.importers);
        self.finding(
            Severity::Error,
            format!(
                "{} of {stack} goes away while {users} still use it, and cannot be held: the \
                 template of a nested stack is an asset of the app.",
                output.described()
            ),
            format!("Keep it in the app (`exportValue`) until {users} are deployed without it."),
        )
    }
}

fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let mut names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Makes the templates of a stack that holds something.
fn build(
    pair: &Pair<'_>,
    (old, at): (usize, usize),
    all: Vec<Held>,
    holds: &mut Holds,
    next: &mut Brought,
    users: &Users,
) {
    let (site, deployed) = (&pair.new.sites[at], pair.old.sites[old].template);
    let mut first = Closure::new(deployed, site.template);
    let mut last = Closure::new(deployed, site.template);
    let mut holding = Holding {
        template: String::new(),
        exports: Vec::new(),
        until: BTreeSet::new(),
        until_released: BTreeSet::new(),
    };
    for held in all {
        let taken = taken_over(pair, (old, at), &held, &mut first).and_then(|()| {
            if held.for_good { taken_over(pair, (old, at), &held, &mut last) } else { Ok(()) }
        });
        if let Err(reason) = taken {
            holds.findings.push(Finding {
                severity: Severity::Error,
                stack: site.name.to_owned(),
                resource: None,
                message: format!(
                    "{} of {} goes away while {} still use it, and cannot be held: {reason}.",
                    held.output.described(),
                    site.name,
                    listed(&held.importers)
                ),
                remedy: "Keep it in the app (`exportValue`) until they are deployed without it."
                    .to_owned(),
            });
            continue;
        }
        if !held.for_good {
            holding.until.extend(held.until);
            holding.until_released.extend(held.until_released);
        }
        let name = held.output.name().to_owned();
        holding.exports.push(HeldExport { name, importers: held.importers });
    }
    if holding.exports.is_empty() {
        return;
    }
    holds.findings.extend(unknown_characters(pair, old, &first));
    let root = site.name.to_owned();
    let uses = |closure: &Closure<'_>| -> BTreeSet<Output> {
        closure.values().flat_map(|value| users.uses_in(pair, old, value)).collect()
    };
    next.first.insert(root.clone(), uses(&first));
    let template = last.template();
    if template != *site.template {
        next.last.insert(root.clone(), uses(&last));
        holds.last.insert(root.clone(), template);
    }
    holding.template = written(&first.template());
    holding.exports.sort_by(|left, right| left.name.cmp(&right.name));
    holds.first.insert(root, holding);
}

/// Takes an output over into the template of the app.
fn taken_over(
    pair: &Pair<'_>,
    (old, at): (usize, usize),
    held: &Held,
    closure: &mut Closure<'_>,
) -> Result<(), String> {
    let deployed = pair.old.sites[old].template;
    let key = match &held.output {
        Output::Export(name) => exporter(pair, old, name),
        Output::Read { key, .. } => Some(key.as_str()),
    };
    let body = key.and_then(|key| deployed.section("Outputs")?.get(key)?.as_object());
    let (Some(key), Some(body)) = (key, body) else {
        return Err("the template does not show where it comes from".to_owned());
    };
    let (key, body) = placed(pair, (old, at), key, body);
    let value = body.get("Value").cloned().unwrap_or_default();
    let before = closure.shared.clone();
    nested_outputs(pair, at, &value)?;
    closure.output(key, Value::Object(body))?;
    let is_replaced = |id: &&Text| matches!(pair.outcome(at, id).fate, super::symbol::Fate::New);
    let directly = |id: &&Text| {
        let mut found = false;
        template::visit(&value, &mut |reference| {
            found |= matches!(reference, Reference::Name(name, _) if name == id.as_str());
        });
        found
    };
    let mut shared = closure.shared.difference(&before).filter(is_replaced).filter(directly);
    match shared.next() {
        None => Ok(()),
        Some(id) => {
            Err(format!("`{}.{id}` is replaced, which changes its value", pair.new.sites[at].name))
        }
    }
}

fn exporter<'p>(pair: &'p Pair<'_>, old: usize, name: &str) -> Option<&'p str> {
    let mut all = pair.old.exporters(name).iter();
    all.find(|(site, _)| *site == old).map(|(_, key)| key.as_str())
}

/// Under which key an output is held, and as what. Where the app has the same output without the
/// export, it gets the export; where it has another one under that key, the old one gets a key of
/// its own.
fn placed(pair: &Pair<'_>, (old, at): (usize, usize), key: &str, body: &Object) -> (Text, Object) {
    let Some(own) = pair.new.output(at, key).and_then(Value::as_object) else {
        return (key.into(), body.clone());
    };
    let was = body.get("Value").and_then(|value| pair.before().value(old, value));
    let is = own.get("Value").and_then(|value| pair.after().value(at, value));
    let is_same =
        was.zip(is).is_some_and(|(was, is)| super::symbol::difference(&was, &is).is_none());
    if is_same && !own.contains_key("Export") {
        let mut merged = own.clone();
        if let Some(export) = body.get("Export") {
            merged.insert("Export".into(), export.clone());
        }
        return (key.into(), merged);
    }
    let mut other = format!("CdkrHeld{key}");
    while pair.new.output(at, &other).is_some() {
        other.push('X');
    }
    (other.into(), body.clone())
}

/// What a nested stack hands over cannot be held if the app's nested stack lacks it.
fn nested_outputs(pair: &Pair<'_>, at: usize, value: &Value) -> Result<(), String> {
    let mut lost = None;
    template::visit(value, &mut |reference| {
        if let Reference::Name(name, Some(attribute)) = reference
            && let Some(key) = attribute.strip_prefix("Outputs.")
            && let Some(child) = pair.new.child(at, name)
            && pair.new.output(child, key).is_none()
        {
            lost = Some(format!(
                "it comes from the output `{key}` of the nested stack {}, which goes away",
                pair.new.sites[child].name
            ));
        }
    });
    lost.map_or(Ok(()), Err)
}

/// CloudFormation gives back a `?` for every character outside ASCII: to send that is a change.
fn unknown_characters(pair: &Pair<'_>, old: usize, closure: &Closure<'_>) -> Vec<Finding> {
    let site = &pair.old.sites[old];
    if !site.now.is_some_and(|now| now.stack.is_returned) {
        return Vec::new();
    }
    let doubtful = |value: &Value| template::json::to_compact(value).contains('?');
    let found = closure.resources().filter(|(_, body)| doubtful(body));
    found
        .map(|(id, _)| Finding {
            severity: Severity::Warning,
            stack: site.name.to_owned(),
            resource: Some(id.to_string()),
            message: format!(
                "`{}.{id}` is held as it is deployed, but it has a `?` that may stand for a \
                 character outside of ASCII, which CloudFormation does not give back.",
                site.name
            ),
            remedy: "If that text matters, keep the resource in the app until it is not used any \
                     more."
                .to_owned(),
        })
        .collect()
}
