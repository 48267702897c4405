//! All stacks of one side, and what the values in their templates come to.

use std::cell::Cell;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::symbol::{Fate, Piece, Symbol, Thing};
use crate::model::{DeployedStack, Environment, Object, Stack, Template, Text, Value};
use crate::plan::site::stack_name_of;
use crate::registry;

pub(super) const NESTED: &str = "AWS::CloudFormation::Stack";

/// How deep exports, parameters and conditions may stand for each other.
const DEEPEST: u32 = 60;

/// How a value that is not shown looks.
const HIDDEN: &str = "****";

/// A stack of one side.
#[derive(Clone)]
pub(super) struct Site<'a> {
    /// The name; for a nested stack `Parent/LogicalId`.
    pub(super) name: &'a str,
    pub(super) template: &'a Template,
    pub(super) parameters: &'a BTreeMap<Text, Text>,
    /// The number of the parent, and the resource there that makes it.
    pub(super) parent: Option<(usize, Text)>,
    /// The stack as it is deployed, if it is.
    pub(super) now: Option<&'a DeployedStack>,
    /// Whether the deployment changes it.
    pub(super) is_deployed: bool,
}

impl<'a> Site<'a> {
    pub(super) fn new(stack: &'a Stack, now: Option<&'a DeployedStack>) -> Self {
        Self {
            name: stack.name.as_str(),
            template: &stack.template,
            parameters: &stack.parameters,
            parent: None,
            now,
            is_deployed: false,
        }
    }

    /// The name that CloudFormation has for it; `None` for a nested stack that does not exist yet.
    pub(super) fn own_name(&self) -> Option<&'a str> {
        let real = self.now.and_then(|now| stack_name_of(&now.id));
        real.or_else(|| (!self.name.contains('/')).then_some(self.name))
    }
}

/// All stacks of one side.
pub(super) struct Universe<'a> {
    pub(super) environment: &'a Environment,
    pub(super) sites: Vec<Site<'a>>,
    by_name: HashMap<&'a str, usize>,
    children: HashMap<(usize, Text), usize>,
    /// Outputs by the names of their exports.
    exports: BTreeMap<String, Vec<(usize, &'a Text)>>,
    /// Characters outside ASCII are not known on one of the sides.
    folds: bool,
}

/// Tells what becomes of a resource.
pub(super) trait Fates {
    fn fate(&self, site: usize, id: &str) -> Fate;
}

/// Everything stays.
pub(super) struct Unchanged;

impl Fates for Unchanged {
    fn fate(&self, _: usize, _: &str) -> Fate {
        Fate::Same
    }
}

impl<'a> Universe<'a> {
    /// `parents` says for each stack which resource makes it.
    pub(super) fn new(
        environment: &'a Environment,
        sites: Vec<(Site<'a>, Option<&'a crate::model::Location>)>,
        folds: bool,
    ) -> Self {
        let by_name: HashMap<&str, usize> =
            sites.iter().enumerate().map(|(at, (site, _))| (site.name, at)).collect();
        let mut universe = Self {
            environment,
            sites: Vec::new(),
            children: HashMap::default(),
            exports: BTreeMap::new(),
            folds,
            by_name,
        };
        for (at, (mut site, parent)) in sites.into_iter().enumerate() {
            site.parent = parent.and_then(|place| {
                let parent = universe.by_name.get(place.stack.as_str())?;
                Some((*parent, Text::from(place.logical_id.as_str())))
            });
            universe.children.extend(site.parent.clone().map(|maker| (maker, at)));
            universe.sites.push(site);
        }
        let mut exports: BTreeMap<String, Vec<(usize, &Text)>> = BTreeMap::new();
        let reader = Reader::new(&universe, &Unchanged);
        for (at, site) in universe.sites.iter().enumerate() {
            for (key, output) in site.template.section("Outputs").into_iter().flat_map(Object::iter)
            {
                let body = output.as_object();
                let is_there = body.is_some_and(|body| reader.is_active(at, body) != Some(false));
                let name = export_name(&reader, at, output).filter(|_| is_there);
                if let Some(name) = name {
                    exports.entry(name).or_default().push((at, key));
                }
            }
        }
        universe.exports = exports;
        universe
    }

    pub(super) fn at(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the stack that CloudFormation calls so.
    pub(super) fn at_own_name(&self, name: &str) -> Option<usize> {
        self.sites.iter().position(|site| site.own_name() == Some(name))
    }

    /// Returns the stack that a resource makes.
    pub(super) fn child(&self, site: usize, id: &str) -> Option<usize> {
        self.children.get(&(site, Text::from(id))).copied()
    }

    /// Returns the outputs that export a name.
    pub(super) fn exporters(&self, name: &str) -> &[(usize, &'a Text)] {
        self.exports.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn output(&self, site: usize, key: &str) -> Option<&'a Value> {
        self.sites[site].template.section("Outputs")?.get(key)
    }

    pub(super) fn properties(&self, site: usize, id: &str) -> Option<&'a Value> {
        self.sites[site].template.resource(id)?.get("Properties")
    }

    /// Returns the text as CloudFormation gives it back, if one side comes from there.
    pub(super) fn folded(&self, text: &str) -> String {
        if self.folds && !text.is_ascii() {
            text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
        } else {
            text.to_owned()
        }
    }
}

/// Returns the name under which an output is exported, if it is and if it is known.
pub(super) fn export_name(reader: &Reader<'_, '_>, site: usize, output: &Value) -> Option<String> {
    let name = output.get("Export")?.get("Name")?;
    reader.value(site, name)?.known().map(str::to_owned)
}

/// Works out values.
pub(super) struct Reader<'u, 'a> {
    pub(super) universe: &'u Universe<'a>,
    fates: &'u dyn Fates,
    /// What is imported from, if nothing on this side exports it.
    pub(super) before: Option<&'u Universe<'a>>,
    /// Whether parameters that nobody may see are hidden even if their values are known.
    is_guarded: bool,
    depth: Cell<u32>,
}

impl<'u, 'a> Reader<'u, 'a> {
    pub(super) fn new(universe: &'u Universe<'a>, fates: &'u dyn Fates) -> Self {
        Self { universe, fates, before: None, is_guarded: false, depth: Cell::new(0) }
    }

    /// Hides the values of `NoEcho` parameters, wherever they come from.
    pub(super) fn guarded(self) -> Self {
        Self { is_guarded: true, ..self }
    }

    /// Imports what nothing exports any more from what is deployed.
    pub(super) fn after(self, before: &'u Universe<'a>) -> Self {
        Self { before: Some(before), ..self }
    }

    pub(super) fn literal(&self, text: &str) -> Symbol {
        Symbol::literal(&self.universe.folded(text))
    }

    /// Works something out that stands elsewhere; too deep a chain stays as it is.
    pub(super) fn deeper(&self, work: impl FnOnce() -> Option<Symbol>) -> Option<Symbol> {
        if self.depth.get() >= DEEPEST {
            return Some(Symbol::call("endless", Vec::new()));
        }
        self.depth.set(self.depth.get() + 1);
        let result = work();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Returns what a value in a stack comes to; `None` for `AWS::NoValue`.
    pub(super) fn value(&self, site: usize, value: &Value) -> Option<Symbol> {
        Some(match value {
            Value::Null => Symbol::Null,
            Value::Bool(flag) => self.literal(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.literal(number.as_str()),
            Value::String(text) => self.literal(text),
            Value::Array(items) => {
                Symbol::List(items.iter().filter_map(|item| self.value(site, item)).collect())
            }
            Value::Object(object) => match object.single() {
                Some((key, argument)) if key == "Ref" || key.starts_with("Fn::") => {
                    return self.function(site, key, argument);
                }
                _ => Symbol::Map(
                    object
                        .iter()
                        .filter_map(|(key, value)| Some((key.clone(), self.value(site, value)?)))
                        .collect(),
                ),
            },
        })
    }

    fn function(&self, site: usize, key: &str, argument: &Value) -> Option<Symbol> {
        let items = argument.as_array().unwrap_or_default();
        match (key, items) {
            ("Ref", _) => match argument.as_str() {
                Some(name) => self.name(site, name),
                None => Some(self.unknown(site, key, argument)),
            },
            ("Fn::GetAtt", _) => Some(self.get_att(site, argument)),
            ("Fn::If", [Value::String(name), yes, no]) => match self.condition(site, name) {
                Some(true) => self.value(site, yes),
                Some(false) => self.value(site, no),
                None => {
                    let choice = [self.definition(site, name)].into_iter();
                    let branch = |value| self.value(site, value).unwrap_or(Symbol::Null);
                    let branches = [yes, no].into_iter().map(branch);
                    Some(Symbol::call(key, choice.chain(branches).collect()))
                }
            },
            ("Fn::Sub", _) => Some(self.sub(site, argument)),
            ("Fn::Join", [separator, list]) => Some(self.join(site, argument, separator, list)),
            ("Fn::Select", [index, list]) => Some(self.select(site, argument, index, list)),
            ("Fn::FindInMap", [map, rest @ ..]) => {
                Some(self.find_in_map(site, map, rest, argument))
            }
            ("Fn::ImportValue", _) => {
                let name = self.value(site, argument).unwrap_or(Symbol::Null);
                self.import(name)
            }
            ("Fn::GetStackOutput", _) => self.stack_output(site, argument),
            ("Fn::Split", [separator, text]) => Some(self.split(site, argument, separator, text)),
            _ => Some(self.unknown(site, key, argument)),
        }
    }

    /// A function that is not worked out: the same function of the same arguments is the same.
    pub(super) fn unknown(&self, site: usize, key: &str, argument: &Value) -> Symbol {
        Symbol::call(key, self.value(site, argument).into_iter().collect())
    }

    /// Returns what `Ref` of a name comes to.
    pub(super) fn name(&self, site: usize, name: &str) -> Option<Symbol> {
        if name.starts_with("AWS::") {
            return self.pseudo(site, name);
        }
        let own = &self.universe.sites[site];
        if own.template.resource(name).is_none()
            && let Some(declaration) =
                own.template.section("Parameters").and_then(|all| all.get(name))
        {
            return Some(self.parameter(site, name, declaration));
        }
        Some(self.thing(site, name, None))
    }

    fn thing(&self, site: usize, id: &str, attribute: Option<Text>) -> Symbol {
        let own = &self.universe.sites[site];
        let found = own.now.and_then(|now| now.resources.get(id));
        // `Ref` of a stage is its name, which is only a part of what identifies it.
        let physical = found
            .filter(|found| found.resource_type.as_str() != "AWS::ApiGateway::Stage")
            .and_then(|found| found.physical_id.clone());
        let fate = self.fates.fate(site, id);
        let thing = Thing { stack: own.name.into(), id: id.into(), fate, physical };
        Symbol::Text(vec![Piece::Of(thing, attribute)])
    }

    fn pseudo(&self, site: usize, name: &str) -> Option<Symbol> {
        let environment = self.universe.environment;
        let region = environment.region.as_str();
        let own = &self.universe.sites[site];
        let (partition, suffix) = if region.starts_with("cn-") {
            ("aws-cn", "amazonaws.com.cn")
        } else if region.starts_with("us-gov-") {
            ("aws-us-gov", "amazonaws.com")
        } else {
            ("aws", "amazonaws.com")
        };
        let unknown = || Symbol::call(name, vec![Symbol::literal(own.name)]);
        Some(match name {
            "AWS::NoValue" => return None,
            "AWS::Region" => Symbol::literal(region),
            "AWS::AccountId" => Symbol::literal(&environment.account),
            "AWS::Partition" => Symbol::literal(partition),
            "AWS::URLSuffix" => Symbol::literal(suffix),
            "AWS::StackName" => own.own_name().map_or_else(unknown, Symbol::literal),
            "AWS::StackId" => own.now.map_or_else(unknown, |now| Symbol::literal(&now.id)),
            _ => unknown(),
        })
    }

    fn parameter(&self, site: usize, name: &str, declaration: &Value) -> Symbol {
        let own = &self.universe.sites[site];
        let kind = declaration.get("Type").and_then(Value::as_str).unwrap_or_default();
        if self.is_guarded && is_hidden(declaration) {
            return Symbol::call("hidden", vec![self.literal(own.name), self.literal(name)]);
        }
        let passed = own.parent.as_ref().and_then(|(parent, maker)| {
            let properties = self.universe.properties(*parent, maker)?;
            let value = properties.get("Parameters")?.get(name)?;
            self.deeper(|| self.value(*parent, value))
        });
        let symbol = passed.or_else(|| {
            let now = own.now.and_then(|now| now.stack.parameters.get(name));
            let given = own.parameters.get(name).or(now);
            if given.is_some_and(|value| value == HIDDEN) {
                return Some(Symbol::call(
                    "hidden",
                    vec![self.literal(own.name), self.literal(name)],
                ));
            }
            let given = given.map(|value| self.literal(value));
            given.or_else(|| self.value(site, declaration.get("Default")?))
        });
        let Some(symbol) = symbol else {
            return Symbol::call("parameter", vec![self.literal(own.name), self.literal(name)]);
        };
        if kind.starts_with("AWS::SSM::Parameter::") {
            return Symbol::call("parameter store", vec![symbol]);
        }
        if !kind.contains("List") || matches!(symbol, Symbol::List(_)) {
            return symbol;
        }
        match symbol.known() {
            Some(text) => {
                Symbol::List(text.split(',').map(|item| self.literal(item.trim())).collect())
            }
            None => Symbol::call("Fn::Split", vec![Symbol::literal(","), symbol]),
        }
    }

    fn get_att(&self, site: usize, argument: &Value) -> Symbol {
        let parts = match argument {
            Value::String(text) => {
                text.split_once('.').map(|(id, name)| (id, Some(name.to_owned())))
            }
            Value::Array(items) => match items.as_slice() {
                [Value::String(id), attribute] => {
                    let name = self.value(site, attribute);
                    Some((id.as_str(), name.as_ref().and_then(Symbol::known).map(str::to_owned)))
                }
                _ => None,
            },
            _ => None,
        };
        match parts {
            Some((id, Some(name))) => self.attribute(site, id, &name),
            _ => self.unknown(site, "Fn::GetAtt", argument),
        }
    }

    pub(super) fn attribute(&self, site: usize, id: &str, name: &str) -> Symbol {
        if let Some(key) = name.strip_prefix("Outputs.")
            && let Some(child) = self.universe.child(site, id)
            && let Some(value) =
                self.universe.output(child, key).and_then(|output| output.get("Value"))
            && let Some(symbol) = self.deeper(|| self.value(child, value))
        {
            return symbol;
        }
        let body = self.universe.sites[site].template.resource(id);
        let kind = body.and_then(|body| body.get("Type")?.as_str());
        // An attribute that the template sets has the value that it sets; what a provider or an
        // unknown service makes of a property is open.
        let set = name
            .split('.')
            .try_fold(body.and_then(|body| body.get("Properties")), |value, key| {
                value.map(|value| value.get(key))
            })
            .flatten();
        if let Some(value) = set.filter(|_| kind.and_then(registry::lookup).is_some())
            && let Some(symbol) = self.deeper(|| self.value(site, value))
        {
            return symbol;
        }
        self.thing(site, id, Some(name.into()))
    }
}

/// Whether the value of a parameter is never shown.
fn is_hidden(declaration: &Value) -> bool {
    match declaration.get("NoEcho") {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}
