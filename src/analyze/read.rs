//! Templates read as a graph of components.

use rustc_hash::FxHashMap as HashMap;

use super::model::{
    Component, ComponentId, ComponentKind, Model, Path, Relationship, RelationshipKind,
};
use crate::model::{Location, Object, Stack, Text, Value};
use crate::registry::Segment;
use crate::template::{Attribute, Intrinsic, Segment as SubSegment, parse_sub};

/// Reads the stacks of one side. References to what does not exist are passed over; so is
/// everything that is not of the shape that CloudFormation asks for.
pub(super) fn read(stacks: &[Stack]) -> Model {
    let mut reader = Reader::default();
    for stack in stacks {
        reader.components(stack);
    }
    for stack in stacks {
        reader.relationships(stack);
    }
    reader.model
}

/// A component as references name it: within one stack, resources and parameters share their
/// names; conditions and mappings have their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Space {
    Names,
    Conditions,
    Mappings,
    Outputs,
}

#[derive(Default)]
struct Reader {
    model: Model,
    named: HashMap<(Text, Space, Text), ComponentId>,
    stacks: HashMap<Text, ComponentId>,
    constructs: HashMap<Text, ComponentId>,
    /// Exports whose names are literal, by name.
    exports: HashMap<Text, ComponentId>,
}

const SECTIONS: [(&str, ComponentKind, Space); 5] = [
    ("Parameters", ComponentKind::Parameter, Space::Names),
    ("Mappings", ComponentKind::Mapping, Space::Mappings),
    ("Conditions", ComponentKind::Condition, Space::Conditions),
    ("Resources", ComponentKind::Resource, Space::Names),
    ("Outputs", ComponentKind::Output, Space::Outputs),
];

impl Reader {
    fn components(&mut self, stack: &Stack) {
        let name = Text::from(stack.name.as_str());
        let root = self.push(Component {
            kind: ComponentKind::Stack,
            subtype: None,
            name: name.clone(),
            stack: name.clone(),
            path: None,
            body: Value::Null,
        });
        self.stacks.insert(name.clone(), root);
        for (section, kind, space) in SECTIONS {
            for (id, body) in stack.template.section(section).into_iter().flat_map(Object::iter) {
                if id.starts_with("Fn::") {
                    continue;
                }
                let subtype = match kind {
                    ComponentKind::Resource | ComponentKind::Parameter => {
                        body.get("Type").and_then(Value::as_str).map(Text::from)
                    }
                    _ => None,
                };
                let (body, path) = without_path(body);
                let export = body.get("Export").and_then(|export| export.get("Name"));
                let export = export.and_then(Value::as_str).map(Text::from);
                let component = self.push(Component {
                    kind,
                    subtype,
                    name: id.clone(),
                    stack: name.clone(),
                    path: path.clone(),
                    body,
                });
                self.named.insert((name.clone(), space, id.clone()), component);
                if let Some(export) = export.filter(|_| kind == ComponentKind::Output) {
                    self.exports.insert(export, component);
                }
                match path {
                    Some(path) => self.inside(root, &name, &path, component),
                    None => self.contain(root, component),
                }
            }
        }
    }

    fn push(&mut self, component: Component) -> ComponentId {
        self.model.components.push(component);
        self.model.components.len() - 1
    }

    fn contain(&mut self, source: ComponentId, target: ComponentId) {
        let kind = RelationshipKind::Structural;
        self.model.relationships.push(Relationship { kind, source, target });
    }

    /// Puts a resource into its constructs, which are made where they are missing.
    fn inside(&mut self, root: ComponentId, stack: &Text, path: &str, component: ComponentId) {
        let mut outer = root;
        let parts = path.match_indices('/').map(|(at, _)| at);
        // The resource itself is the construct with the whole path.
        for end in parts {
            let prefix = Text::from(&path[..end]);
            let known = self.constructs.get(&prefix).copied();
            outer = known.unwrap_or_else(|| {
                let name = Text::from(prefix.rsplit('/').next().unwrap_or_default());
                let own = self.push(Component {
                    kind: ComponentKind::Construct,
                    subtype: None,
                    name,
                    stack: stack.clone(),
                    path: Some(prefix.clone()),
                    body: Value::Null,
                });
                self.contain(outer, own);
                self.constructs.insert(prefix, own);
                own
            });
        }
        self.contain(outer, component);
    }

    fn relationships(&mut self, stack: &Stack) {
        let name = Text::from(stack.name.as_str());
        if let Some(Location { stack: parent, logical_id }) = &stack.parent {
            let key = (Text::from(parent.as_str()), Space::Names, Text::from(logical_id.as_str()));
            if let (Some(outer), Some(inner)) = (self.named.get(&key), self.stacks.get(&name)) {
                let (outer, inner) = (*outer, *inner);
                self.contain(outer, inner);
                self.nested_parameters(stack, outer);
            }
        }
        for (section, _, space) in SECTIONS {
            for (id, body) in stack.template.section(section).into_iter().flat_map(Object::iter) {
                let key = (name.clone(), space, id.clone());
                let Some(source) = self.named.get(&key).copied() else { continue };
                let mut walk =
                    Walk { reader: self, stack: &name, source, path: Vec::new(), found: vec![] };
                if space == Space::Names && section == "Resources" {
                    walk.resource(body);
                } else {
                    walk.value(body);
                }
                let found = walk.found;
                self.model.relationships.extend(found);
            }
        }
    }

    /// The parameters of a nested stack get their values from the resource that makes it.
    fn nested_parameters(&mut self, stack: &Stack, outer: ComponentId) {
        let name = Text::from(stack.name.as_str());
        let path: Path = ["Properties", "Parameters"].map(|key| Segment::Key(key.into())).to_vec();
        let given = self.model.components[outer].value(&path).and_then(Value::as_object).cloned();
        for (parameter, _) in given.iter().flat_map(Object::iter) {
            let key = (name.clone(), Space::Names, parameter.clone());
            let Some(source) = self.named.get(&key).copied() else { continue };
            let kind = RelationshipKind::Dependency { path: Vec::new(), attribute: None };
            self.model.relationships.push(Relationship { kind, source, target: outer });
        }
    }
}

/// Takes the construct path out of a definition; it says where the resource is, not what.
fn without_path(body: &Value) -> (Value, Option<Text>) {
    let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
    let (Some(path), Value::Object(object)) = (path.and_then(Value::as_str), body) else {
        return (body.clone(), None);
    };
    let mut object = object.clone();
    if let Some(Value::Object(mut metadata)) = object.remove("Metadata") {
        metadata.remove("aws:cdk:path");
        if !metadata.is_empty() {
            object.insert("Metadata".into(), Value::Object(metadata));
        }
    }
    (Value::Object(object), Some(path.into()))
}

/// A definition, searched for references.
struct Walk<'r> {
    reader: &'r Reader,
    stack: &'r Text,
    source: ComponentId,
    path: Path,
    found: Vec<Relationship>,
}

impl Walk<'_> {
    fn resource(&mut self, body: &Value) {
        for (key, value) in body.as_object().into_iter().flat_map(Object::iter) {
            self.path.push(Segment::Key(key.clone()));
            match (key.as_str(), value) {
                ("DependsOn", Value::String(id)) => self.name(Space::Names, id, None),
                ("DependsOn", Value::Array(ids)) => {
                    for (at, id) in ids.iter().enumerate() {
                        self.path.push(Segment::Index(at));
                        if let Value::String(id) = id {
                            self.name(Space::Names, id, None);
                        }
                        self.path.pop();
                    }
                }
                ("Condition", Value::String(name)) => self.name(Space::Conditions, name, None),
                _ => self.value(value),
            }
            self.path.pop();
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.path.push(Segment::Index(at));
                    self.value(item);
                    self.path.pop();
                }
            }
            Value::Object(object) => {
                self.function(object);
                for (key, value) in object.iter() {
                    self.path.push(Segment::Key(key.clone()));
                    self.value(value);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, object: &Object) {
        match Intrinsic::of(object) {
            Some(Intrinsic::Ref(name)) => self.name(Space::Names, name, None),
            Some(Intrinsic::GetAtt(name, Attribute::Name(attribute))) => {
                self.name(Space::Names, name, Some(attribute));
            }
            Some(Intrinsic::GetAtt(name, Attribute::Computed(_))) => {
                self.name(Space::Names, name, None);
            }
            Some(Intrinsic::Sub(text, variables)) => {
                for segment in parse_sub(text).unwrap_or_default() {
                    let SubSegment::Variable(variable) = segment else { continue };
                    if variables.is_some_and(|variables| variables.contains_key(variable)) {
                        continue;
                    }
                    match variable.split_once('.') {
                        Some((name, attribute)) => self.name(Space::Names, name, Some(attribute)),
                        None => self.name(Space::Names, variable, None),
                    }
                }
            }
            Some(Intrinsic::If(condition, _)) => self.name(Space::Conditions, condition, None),
            Some(Intrinsic::FindInMap(map, _)) => self.name(Space::Mappings, map, None),
            Some(Intrinsic::ImportValue(Value::String(export))) => {
                self.refer(self.reader.exports.get(export).copied(), None);
            }
            Some(Intrinsic::ImportValue(_)) => {}
            Some(Intrinsic::GetStackOutput(Value::String(stack), key, _)) => {
                let key = (stack.clone(), Space::Outputs, Text::from(key));
                self.refer(self.reader.named.get(&key).copied(), None);
            }
            Some(Intrinsic::GetStackOutput(..)) => {}
            None => {
                if let Some((key, Value::String(name))) = object.single()
                    && key == "Condition"
                {
                    self.name(Space::Conditions, name, None);
                }
            }
        }
    }

    fn name(&mut self, space: Space, name: &str, attribute: Option<&str>) {
        let key = (self.stack.clone(), space, Text::from(name));
        self.refer(self.reader.named.get(&key).copied(), attribute);
    }

    fn refer(&mut self, target: Option<ComponentId>, attribute: Option<&str>) {
        let Some(target) = target else { return };
        let path = self.path.clone();
        let kind = RelationshipKind::Dependency { path, attribute: attribute.map(Text::from) };
        self.found.push(Relationship { kind, source: self.source, target });
    }
}
