//! Whether an expression in a deployed stack and one in a stack as it is to be come to the same.
//!
//! Both are written in one form, in which every reference is the resource that it means, by the
//! place where that is deployed. References are followed through parameters of nested stacks,
//! outputs, exports and imports. What cannot be followed is not guessed.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::apply::Relocation;
use super::seen::{Seen, THING};
use super::wishes::{Counterparts, Sources};
use super::world::{At, Spot, World};
use crate::model::{Location, Object, Stack, Template, Text, Value};
use crate::template::{self, Attribute, Intrinsic, Segment, parse_sub};

/// How two expressions compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    Same,
    Different,
    /// A part of them is only known to CloudFormation.
    Unknown,
}

/// A stack on one of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// As it is deployed.
    Deployed(At),
    /// As it is to be: the position in the list.
    Local(usize),
}

/// The deepest chain of parameters, outputs and imports that is followed.
const DEEPEST: usize = 32;

/// Both sides.
pub(super) struct Sides<'a> {
    world: &'a World,
    local: Vec<(Option<At>, &'a Stack)>,
    by_name: HashMap<&'a str, usize>,
    /// The local stack that each deployed one becomes.
    by_at: HashMap<At, usize>,
    /// Values that local stacks export, by name.
    exports: HashMap<String, (usize, &'a Value)>,
    /// Local nested stacks by the resource that makes them.
    children: HashMap<(usize, &'a str), usize>,
    /// Where resources come from that move, by where they go.
    arrivals: HashMap<&'a Spot, &'a Spot>,
    leaving: HashSet<&'a Spot>,
    physical: HashMap<Spot, &'a str>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(
        world: &'a World,
        sources: &Sources<'a>,
        parts: &Counterparts<'_>,
        moves: &'a [Relocation],
    ) -> Self {
        let local: Vec<(Option<At>, &Stack)> =
            sources.local.iter().map(|stack| (parts.at(stack.name.as_str()), stack)).collect();
        let by_name: HashMap<&str, usize> =
            local.iter().enumerate().map(|(at, (_, stack))| (stack.name.as_str(), at)).collect();
        let of = |(at, (deployed, _)): (usize, &(Option<At>, _))| Some(((*deployed)?, at));
        let child = |(at, (_, stack)): (usize, &(_, &'a Stack))| {
            let parent = stack.parent.as_ref()?;
            Some(((*by_name.get(parent.stack.as_str())?, parent.logical_id.as_str()), at))
        };
        let mut physical = HashMap::default();
        for stack in &sources.deployed.stacks {
            let Some(at) = world.at(stack.stack.name.as_str()) else { continue };
            for (id, resource) in &stack.resources {
                let known = resource.physical_id.as_deref();
                physical.extend(known.map(|known| ((at, id.clone()), known)));
            }
        }
        let mut sides = Self {
            world,
            by_at: local.iter().enumerate().filter_map(of).collect(),
            children: local.iter().enumerate().filter_map(child).collect(),
            by_name,
            local,
            exports: HashMap::default(),
            arrivals: moves.iter().map(|each| (&each.to, &each.from)).collect(),
            leaving: moves.iter().map(|each| &each.from).collect(),
            physical,
        };
        let mut exports = HashMap::default();
        for (at, (_, stack)) in sides.local.iter().enumerate() {
            for (_, output) in stack.template.section("Outputs").into_iter().flat_map(Object::iter)
            {
                let name = output.get("Export").and_then(|export| export.get("Name"));
                let name = name.and_then(|name| sides.text(Side::Local(at), name));
                exports.extend(name.zip(output.get("Value")).map(|(name, it)| (name, (at, it))));
            }
        }
        sides.exports = exports;
        sides
    }

    /// The local stack that a deployed one becomes.
    pub(super) fn local_of(&self, at: At) -> Option<&'a Stack> {
        self.by_at.get(&at).map(|at| self.local[*at].1)
    }

    /// The side on which a local stack is.
    pub(super) fn local(&self, name: &str) -> Option<Side> {
        self.by_name.get(name).copied().map(Side::Local)
    }

    pub(super) fn physical_id(&self, spot: &Spot) -> Option<&'a str> {
        self.physical.get(spot).copied()
    }

    /// Returns the text that an expression comes to, if that is known.
    pub(super) fn text(&self, side: Side, value: &Value) -> Option<String> {
        self.look(side, value).text()
    }

    /// Returns an expression in the common form.
    pub(super) fn look(&self, side: Side, value: &Value) -> Seen {
        self.see(side, value, 0)
    }

    /// Returns the members of a list in the common form; anything else is one member.
    pub(super) fn members(&self, side: Side, value: &Value) -> Vec<Seen> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.look(side, item)).collect(),
            one => vec![self.look(side, one)],
        }
    }

    /// Compares two expressions in the common form, the deployed one first.
    pub(super) fn compare(&self, old: &Seen, new: &Seen) -> Sameness {
        if old.others > 0 || new.others > 0 {
            return Sameness::Different;
        }
        if !old.is_open && !new.is_open && old.value == new.value {
            return Sameness::Same;
        }
        if old.is_literal() && new.is_literal() {
            return Sameness::Different;
        }
        match (old.thing(), new.thing(), old.text(), new.text()) {
            (Some(_), Some(_), ..) => Sameness::Different,
            (Some(thing), _, _, Some(text)) | (_, Some(thing), Some(text), _)
                if self.is_called(thing, &text) =>
            {
                Sameness::Same
            }
            _ => Sameness::Unknown,
        }
    }

    /// Whether a text is the physical ID of a thing: what `Ref` gives for most of them.
    fn is_called(&self, thing: &str, text: &str) -> bool {
        let place = thing.parse::<Location>().ok();
        let spot = place.and_then(|place| {
            Some((self.world.at(place.stack.as_str())?, Text::from(place.logical_id.as_str())))
        });
        spot.is_some_and(|spot| self.physical_id(&spot) == Some(text))
    }

    fn see(&self, side: Side, value: &Value, depth: usize) -> Seen {
        if depth > DEEPEST {
            return Seen::open();
        }
        match value {
            Value::Array(items) => {
                let mut whole = Seen::default();
                let items = items.iter().map(|item| whole.take(self.see(side, item, depth)));
                let items = items.collect();
                Seen { value: Value::Array(items), ..whole }
            }
            Value::Object(object) => self.see_object(side, object, depth),
            // CloudFormation does not tell them apart.
            Value::Number(number) => Seen::literal(number.as_str()),
            Value::Bool(flag) => Seen::literal(if *flag { "true" } else { "false" }),
            other => Seen { value: other.clone(), ..Seen::default() },
        }
    }

    fn see_object(&self, side: Side, object: &Object, depth: usize) -> Seen {
        match Intrinsic::of(object) {
            Some(Intrinsic::Ref(name)) => self.see_name(side, name, None, depth),
            Some(Intrinsic::GetAtt(name, Attribute::Name(attribute))) => {
                self.see_name(side, name, Some(attribute), depth)
            }
            Some(Intrinsic::Sub(text, given)) => self.see_sub(side, text, given, depth),
            Some(Intrinsic::ImportValue(name)) => self.see_import(side, name, depth),
            Some(Intrinsic::GetStackOutput(stack, key, all)) => {
                self.see_output(side, stack, (key, all), depth)
            }
            Some(Intrinsic::GetAtt(..) | Intrinsic::If(..) | Intrinsic::FindInMap(..)) => {
                Seen::open()
            }
            None => self.see_others(side, object, depth),
        }
    }

    /// `Fn::Join`, other functions, and objects that are none.
    fn see_others(&self, side: Side, object: &Object, depth: usize) -> Seen {
        if let Some((key, argument)) = object.single()
            && key == "Fn::Join"
            && let Some([Value::String(separator), Value::Array(parts)]) = argument.as_array()
        {
            let mut joined = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    joined.push(Seen::literal(separator));
                }
                joined.push(self.see(side, part, depth + 1));
            }
            return Seen::joined(joined);
        }
        let mut whole = Seen::default();
        let mut members = Object::new();
        for (key, value) in object.iter() {
            whole.is_computed |= key.starts_with("Fn::");
            members.insert(key.clone(), whole.take(self.see(side, value, depth + 1)));
        }
        Seen { value: Value::Object(members), ..whole }
    }

    fn see_sub(&self, side: Side, text: &str, given: Option<&Object>, depth: usize) -> Seen {
        let Ok(segments) = parse_sub(text) else { return Seen::open() };
        let segment = |segment| match segment {
            Segment::Literal(literal) => Seen::literal(literal),
            Segment::Variable(name) => match given.and_then(|given| given.get(name)) {
                Some(value) => self.see(side, value, depth + 1),
                None => match name.split_once('.') {
                    Some((name, attribute)) => self.see_name(side, name, Some(attribute), depth),
                    None => self.see_name(side, name, None, depth),
                },
            },
        };
        Seen::joined(segments.into_iter().map(segment).collect())
    }

    /// Returns a resource of a stack.
    pub(super) fn resource(&self, side: Side, id: &str) -> Option<&Object> {
        self.template(side).resource(id)
    }

    fn template(&self, side: Side) -> &Template {
        match side {
            Side::Deployed(at) => &self.world.sites[at].template,
            Side::Local(at) => &self.local[at].1.template,
        }
    }

    fn see_name(&self, side: Side, name: &str, attribute: Option<&str>, depth: usize) -> Seen {
        if self.template(side).resource(name).is_some() {
            let output = attribute.and_then(|attribute| self.nested_output(side, name, attribute));
            return match output {
                Some((side, value)) => self.see(side, value, depth + 1),
                None => self.see_thing(side, name, attribute),
            };
        }
        if attribute.is_some() {
            return Seen::open();
        }
        match name {
            "AWS::Partition" | "AWS::URLSuffix" | "AWS::NoValue" => {
                let value = template::reference(name, None);
                return Seen { value, is_computed: true, ..Seen::default() };
            }
            _ => {}
        }
        if let Some((side, value)) = self.passed(side, name) {
            return self.see(side, value, depth + 1);
        }
        match self.known(side, name) {
            Some(text) => Seen::literal(&text),
            None => Seen::open(),
        }
    }

    /// What a parent passes to a parameter of a nested stack.
    fn passed(&self, side: Side, parameter: &str) -> Option<(Side, &Value)> {
        let (parent, body) = match side {
            Side::Deployed(at) => {
                let maker = self.world.maker(at)?;
                (Side::Deployed(maker.0), self.world.resource(maker)?)
            }
            Side::Local(at) => {
                let maker = self.local[at].1.parent.as_ref()?;
                let parent = *self.by_name.get(maker.stack.as_str())?;
                let template = &self.local[parent].1.template;
                (Side::Local(parent), template.resource(maker.logical_id.as_str())?)
            }
        };
        Some((parent, body.get("Properties")?.get("Parameters")?.get(parameter)?))
    }

    /// The value of a parameter or pseudo parameter.
    fn known(&self, side: Side, name: &str) -> Option<String> {
        let (at, local) = match side {
            Side::Deployed(at) => (at, None),
            Side::Local(at) => (self.local[at].0?, Some(self.local[at].1)),
        };
        let Some(stack) = local.filter(|_| !name.starts_with("AWS::")) else {
            return self.world.evaluate(at, &template::reference(name, None));
        };
        let default = || {
            let value = stack.template.section("Parameters")?.get(name)?.get("Default")?;
            value.as_str().map(str::to_owned)
        };
        stack.parameters.get(name).map(Text::to_string).or_else(default)
    }

    fn nested_output(&self, side: Side, name: &str, attribute: &str) -> Option<(Side, &Value)> {
        match side {
            Side::Deployed(at) => {
                let output = self.world.nested_output(at, name, Some(attribute))?;
                Some((Side::Deployed(output.0), self.world.output(&output)?.get("Value")?))
            }
            Side::Local(at) => {
                let key = attribute.strip_prefix("Outputs.")?;
                let child = *self.children.get(&(at, name))?;
                let output = self.local[child].1.template.section("Outputs")?.get(key)?;
                Some((Side::Local(child), output.get("Value")?))
            }
        }
    }

    fn see_import(&self, side: Side, name: &Value, depth: usize) -> Seen {
        let Some(name) = self.see(side, name, depth + 1).text() else { return Seen::open() };
        let local = match side {
            Side::Local(_) => self.exports.get(&name).map(|(at, value)| (Side::Local(*at), *value)),
            Side::Deployed(_) => None,
        };
        // An import from a stack that is not part of the app.
        let deployed = || {
            let output = self.world.export(&name)?;
            Some((Side::Deployed(output.0), self.world.output(output)?.get("Value")?))
        };
        match local.or_else(deployed) {
            Some((side, value)) => self.see(side, value, depth + 1),
            None => {
                let value = template::function_call("Fn::ImportValue", Value::from(name.as_str()));
                Seen { value, is_computed: true, ..Seen::default() }
            }
        }
    }

    fn see_output(
        &self,
        side: Side,
        stack: &Value,
        (key, all): (&str, &Object),
        depth: usize,
    ) -> Seen {
        let here = Value::String(self.world.environment.region.clone());
        let is_here = all.get("Region").is_none_or(|region| {
            self.see(side, region, depth + 1) == self.see(side, &here, depth + 1)
        });
        let name = self.see(side, stack, depth + 1).text().filter(|_| is_here);
        let found = name.and_then(|name| {
            let there = match side {
                Side::Local(_) => self.by_name.get(name.as_str()).copied().map(Side::Local),
                Side::Deployed(_) => None,
            };
            let there = there.or_else(|| self.world.at(&name).map(Side::Deployed))?;
            Some((there, self.template(there).section("Outputs")?.get(key)?.get("Value")?))
        });
        match found {
            Some((side, value)) => self.see(side, value, depth + 1),
            None => Seen::open(),
        }
    }

    fn see_thing(&self, side: Side, name: &str, attribute: Option<&str>) -> Seen {
        let spot = match side {
            Side::Deployed(at) => Some((at, Text::from(name))).filter(|spot| self.is_kept(spot)),
            Side::Local(at) => self.deployed_as(at, name),
        };
        let Some(spot) = spot else {
            return Seen { value: Value::from(THING), others: 1, ..Seen::default() };
        };
        let place = self.world.location(&spot).to_string();
        let attribute = attribute.map_or(Value::Null, Value::from);
        let items = vec![Value::from(place.as_str()), attribute];
        let value = template::function_call(THING, Value::Array(items));
        Seen { value, kept: 1, ..Seen::default() }
    }

    /// Whether a deployed thing is there after the deployment, too. What is in stacks that the
    /// app does not have is left alone.
    fn is_kept(&self, spot: &Spot) -> bool {
        let Some(local) = self.by_at.get(&spot.0) else { return true };
        let template = &self.local[*local].1.template;
        self.leaving.contains(spot) || kind(template, &spot.1) == self.kind(spot)
    }

    /// Where a resource of a local stack is deployed; `None` if it is new.
    fn deployed_as(&self, local: usize, name: &str) -> Option<Spot> {
        let (at, stack) = self.local[local];
        let spot = (at?, Text::from(name));
        if let Some(from) = self.arrivals.get(&spot) {
            return Some((*from).clone());
        }
        let is_it = !self.leaving.contains(&spot) && self.kind(&spot).is_some();
        (is_it && self.kind(&spot) == kind(&stack.template, name)).then_some(spot)
    }

    fn kind(&self, spot: &Spot) -> Option<&str> {
        kind(&self.world.sites[spot.0].template, &spot.1)
    }
}

fn kind<'t>(template: &'t Template, id: &str) -> Option<&'t str> {
    template.resource(id)?.get("Type")?.as_str()
}
