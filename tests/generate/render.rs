//! From an app to the templates that the CDK would synthesize for it.

use std::collections::BTreeMap;

use cdkr::model::{Location, Number, Object, Stack, Value};
use cdkr::template;

use super::model::{
    App, Border, Key, NameForm, PARAMETERS, Prop, RefForm, Reference, Whose, unique_id,
};

/// The stacks of an app and where its resources are.
pub struct Rendered {
    pub stacks: Vec<Stack>,
    pub locations: BTreeMap<Key, Location>,
}

/// Where a resource is: number of the stack, logical ID.
pub type Places = BTreeMap<Key, (usize, String)>;

/// Synthesizes an app.
pub fn render(app: &App) -> Rendered {
    render_at(app, &BTreeMap::new())
}

/// Synthesizes an app with some resources in other places than those that follow from their
/// constructs. Whatever refers to them follows; names written into properties do not.
pub fn render_at(app: &App, places: &Places) -> Rendered {
    let mut all: Places = app
        .resources
        .keys()
        .map(|key| (*key, (app.resource_place(*key).0, app.logical_id(*key))))
        .collect();
    all.extend(places.clone());
    let names = (0..app.stacks.len()).map(|stack| stack_name(app, &all, stack)).collect();
    let mut renderer = Renderer {
        app,
        places: all,
        names,
        sections: (0..app.stacks.len()).map(|_| Sections::default()).collect(),
    };
    renderer.resources();
    renderer.finish()
}

fn stack_name(app: &App, places: &Places, stack: usize) -> String {
    match app.stacks[stack].nested {
        Some((_, key)) if app.resources.contains_key(&key) => {
            let (parent, logical_id) = &places[&key];
            format!("{}/{logical_id}", stack_name(app, places, *parent))
        }
        _ => app.top_name(stack),
    }
}

#[derive(Default)]
struct Sections {
    resources: BTreeMap<String, Value>,
    parameters: BTreeMap<String, Value>,
    passed: BTreeMap<String, Value>,
    conditions: BTreeMap<String, Value>,
    mappings: BTreeMap<String, Value>,
    outputs: BTreeMap<String, Value>,
}

struct Renderer<'m> {
    app: &'m App,
    places: Places,
    names: Vec<String>,
    sections: Vec<Sections>,
}

pub fn text(text: &str) -> Value {
    Value::from(text)
}

pub fn object(members: impl IntoIterator<Item = (impl AsRef<str>, Value)>) -> Value {
    Value::Object(
        members.into_iter().map(|(key, value)| (key.as_ref().into(), value)).collect::<Object>(),
    )
}

impl Renderer<'_> {
    fn resources(&mut self) {
        // A nested stack's own resource shows what is passed to it: it comes last.
        let (nested, own): (Vec<Key>, Vec<Key>) =
            self.app.resources.keys().partition(|key| self.app.resources[*key].makes.is_some());
        for key in own.into_iter().chain(nested) {
            let body = self.body(key);
            let (stack, logical_id) = self.places[&key].clone();
            self.sections[stack].resources.insert(logical_id, body);
        }
    }

    fn body(&mut self, key: Key) -> Value {
        let resource = &self.app.resources[&key];
        let stack = self.places[&key].0;
        let mut properties: BTreeMap<String, Value> = resource
            .properties
            .iter()
            .map(|(name, prop)| (name.clone(), self.value(stack, key, prop)))
            .collect();
        let mut body = vec![("Type", text(resource.kind))];
        let path = self.app.resource_path(key).join("/");
        let mut metadata = Vec::new();
        if self.app.with_paths {
            metadata.push(("aws:cdk:path", path.clone()));
        }
        if let Some(nested) = resource.makes {
            let url = format!("https://assets/{}.json", path.replace('/', "-"));
            properties.insert("TemplateURL".into(), text(&url));
            let passed = self.sections[nested].passed.clone();
            if !passed.is_empty() {
                properties.insert("Parameters".into(), object(passed));
            }
            metadata.push(("aws:asset:path", format!("{}.template.json", path.replace('/', ""))));
            metadata.push(("aws:asset:property", "TemplateURL".into()));
        }
        if !properties.is_empty() {
            body.push(("Properties", object(properties)));
        }
        if !metadata.is_empty() {
            let metadata = metadata.iter().map(|(key, value)| (*key, text(value)));
            body.push(("Metadata", object(metadata)));
        }
        let depends_on: Vec<Value> = self
            .app
            .rendered_depends_on(key)
            .into_iter()
            .filter(|target| self.places[target].0 == stack)
            .map(|target| text(&self.places[&target].1))
            .collect();
        match depends_on.as_slice() {
            [] => {}
            [only] if resource.depends_on_as_text => body.push(("DependsOn", only.clone())),
            _ => body.push(("DependsOn", Value::Array(depends_on))),
        }
        if let Some(condition) = resource.condition {
            body.push(("Condition", text(&self.condition(stack, key, condition))));
        }
        if resource.retain {
            body.push(("DeletionPolicy", text("Retain")));
            body.push(("UpdateReplacePolicy", text("Retain")));
        }
        object(body)
    }

    fn value(&mut self, stack: usize, owner: Key, prop: &Prop) -> Value {
        match prop {
            Prop::Number(number) => Value::Number(Number::from_text(&number.to_string())),
            Prop::Flag(flag) => Value::Bool(*flag),
            Prop::Text(literal) => text(literal),
            Prop::Name(whose, form) => text(&self.name(owner, *whose, *form)),
            Prop::NameInside(whose, form) => {
                text(&format!("from {}:80", self.name(owner, *whose, *form)))
            }
            Prop::Reference(reference) => self.reference(stack, reference),
            Prop::If(condition, yes, no) => {
                let name = self.condition(stack, owner, *condition);
                let (yes, no) = (self.value(stack, owner, yes), self.value(stack, owner, no));
                object([("Fn::If", Value::Array(vec![text(&name), yes, no]))])
            }
            Prop::FindInMap(number) => {
                let name = self.mapping(stack, owner, *number);
                let keys = vec![text(&name), text("first"), text("second")];
                object([("Fn::FindInMap", Value::Array(keys))])
            }
            Prop::Parameter(name) => {
                self.parameter(stack, name);
                object([("Ref", text(name))])
            }
            Prop::Pseudo(name) => object([("Ref", text(name))]),
            Prop::LiteralSub => object([("Fn::Sub", text("a-${!Literal}-${AWS::Region}"))]),
            Prop::Object(members) => {
                object(members.iter().map(|(key, prop)| (key, self.value(stack, owner, prop))))
            }
            Prop::List(items) => {
                Value::Array(items.iter().map(|item| self.value(stack, owner, item)).collect())
            }
            Prop::Tags(tags) => {
                let tag = |(key, prop): &(String, Prop)| {
                    object([("Key", text(key)), ("Value", self.value(stack, owner, prop))])
                };
                Value::Array(tags.iter().map(tag).collect())
            }
        }
    }

    fn name(&self, owner: Key, whose: Whose, form: NameForm) -> String {
        match whose {
            Whose::Own => self.app.name(owner, form),
            Whose::Of(key) => self.app.name(key, form),
        }
    }

    fn reference(&mut self, stack: usize, reference: &Reference) -> Value {
        let is_local = self.places[&reference.target].0 == stack;
        let value = self.reach(stack, reference);
        match reference.form {
            RefForm::Plain | RefForm::GetAttText => value,
            RefForm::Join => {
                let parts = Value::Array(vec![text("arn:"), value, text("/*")]);
                object([("Fn::Join", Value::Array(vec![text(""), parts]))])
            }
            RefForm::SubText if is_local => {
                let name = &self.places[&reference.target].1;
                let variable = match reference.attribute {
                    Some(attribute) => format!("{name}.{attribute}"),
                    None => name.clone(),
                };
                object([("Fn::Sub", text(&format!("pre-${{!Own}}-${{{variable}}}/post")))])
            }
            RefForm::SubText | RefForm::SubList => {
                let variables = object([("Theirs", value)]);
                let pattern = text("pre-${!Own}-${Theirs}/post");
                object([("Fn::Sub", Value::Array(vec![pattern, variables]))])
            }
        }
    }

    /// Returns an expression for what is referred to that is valid in a stack, across all borders
    /// that lie between.
    fn reach(&mut self, stack: usize, reference: &Reference) -> Value {
        let (mut at, logical_id) = self.places[&reference.target].clone();
        let label = format!("{logical_id}{}", reference.attribute.unwrap_or("Ref"));
        let mut value = match reference.attribute {
            None => object([("Ref", text(&logical_id))]),
            Some(attribute) if reference.form == RefForm::GetAttText => {
                object([("Fn::GetAtt", text(&format!("{logical_id}.{attribute}")))])
            }
            Some(attribute) => {
                let items = vec![text(&logical_id), text(attribute)];
                object([("Fn::GetAtt", Value::Array(items))])
            }
        };
        if at == stack {
            return value;
        }
        if let Some((parent, nested)) = self.around(at) {
            let key = format!("{}{label}", self.names[at].replace(['/', '-'], ""));
            self.sections[at].outputs.insert(key.clone(), object([("Value", value)]));
            let items = vec![text(&nested), text(&format!("Outputs.{key}"))];
            value = object([("Fn::GetAtt", Value::Array(items))]);
            at = parent;
        }
        let around = self.around(stack);
        let top = around.as_ref().map_or(stack, |(parent, _)| *parent);
        if at != top {
            value = self.export(at, value, reference.border);
        }
        if around.is_some() {
            let name = format!("referenceto{}{label}", self.names[at].replace(['/', '-'], ""));
            self.sections[stack].passed.insert(name.clone(), value);
            let declaration = object([("Type", text("String"))]);
            self.sections[stack].parameters.insert(name.clone(), declaration);
            value = object([("Ref", text(&name))]);
        }
        value
    }

    /// Returns the parent of a nested stack and the logical ID of the resource that makes it.
    fn around(&self, stack: usize) -> Option<(usize, String)> {
        let (_, key) = self.app.stacks[stack].nested?;
        self.places.get(&key).cloned()
    }

    /// Exports a value from a stack and returns what imports it.
    fn export(&mut self, stack: usize, value: Value, border: Border) -> Value {
        let written = format!("Output{}", template::json::to_compact(&value));
        let id = unique_id(&["Exports".to_owned(), written]);
        let name = format!("{}:{id}", self.names[stack]);
        let stack_name = text(&self.names[stack]);
        let mut output = vec![("Value", value)];
        if border != Border::StackOutput {
            output.push(("Export", object([("Name", text(&name))])));
        }
        let outputs = &mut self.sections[stack].outputs;
        if border != Border::StackOutput || !outputs.contains_key(&id) {
            outputs.insert(id.clone(), object(output));
        }
        match border {
            Border::Import => object([("Fn::ImportValue", text(&name))]),
            Border::ImportBySub => {
                object([("Fn::ImportValue", object([("Fn::Sub", text(&name))]))])
            }
            Border::ImportByJoin => {
                let parts = Value::Array(vec![stack_name, text(&id)]);
                let join = object([("Fn::Join", Value::Array(vec![text(":"), parts]))]);
                object([("Fn::ImportValue", join)])
            }
            Border::StackOutput => {
                let arguments = object([("StackName", stack_name), ("OutputName", text(&id))]);
                object([("Fn::GetStackOutput", arguments)])
            }
        }
    }

    fn parameter(&mut self, stack: usize, name: &str) {
        let declaration = object([("Type", text("String")), ("Default", text("dev"))]);
        self.sections[stack].parameters.insert(name.into(), declaration);
    }

    /// Conditions and mappings belong to the outermost construct around their user: their logical
    /// IDs follow its name.
    fn definition_name(&self, owner: Key, id: &str) -> String {
        let (_, below) = self.app.resource_place(owner);
        unique_id(&[below[0].clone(), id.to_owned()])
    }

    fn condition(&mut self, stack: usize, owner: Key, number: usize) -> String {
        let name = self.definition_name(owner, &format!("Condition{number}"));
        let definition = match number {
            0 => {
                self.parameter(stack, "Stage");
                let items = vec![object([("Ref", text("Stage"))]), text("prod")];
                object([("Fn::Equals", Value::Array(items))])
            }
            1 => {
                let inner = self.condition(stack, owner, 0);
                let items = vec![object([("Condition", text(&inner))])];
                object([("Fn::Not", Value::Array(items))])
            }
            _ => {
                let items = vec![object([("Ref", text("AWS::Region"))]), text("eu-west-1")];
                object([("Fn::Equals", Value::Array(items))])
            }
        };
        self.sections[stack].conditions.insert(name.clone(), definition);
        name
    }

    fn mapping(&mut self, stack: usize, owner: Key, number: usize) -> String {
        let name = self.definition_name(owner, &format!("Map{number}"));
        let inner = object([("second", text(&format!("value {number}")))]);
        self.sections[stack].mappings.insert(name.clone(), object([("first", inner)]));
        name
    }

    fn finish(self) -> Rendered {
        let locations = self
            .places
            .iter()
            .map(|(key, (stack, id))| (*key, Location::new(self.names[*stack].as_str(), id)))
            .collect();
        let mut stacks = Vec::new();
        for (at, mut sections) in self.sections.into_iter().enumerate() {
            let nested = self.app.stacks[at].nested;
            if nested.is_some_and(|(_, key)| !self.app.resources.contains_key(&key)) {
                continue;
            }
            if nested.is_none() {
                let path = format!("{}/CDKMetadata/Default", self.app.stack_path(at).join("/"));
                let metadata = object([("aws:cdk:path", text(&path))]);
                let body = [("Type", text("AWS::CDK::Metadata")), ("Metadata", metadata)];
                sections.resources.insert("CDKMetadata".into(), object(body));
            }
            let template = object(
                [
                    ("Resources", sections.resources),
                    ("Parameters", sections.parameters),
                    ("Conditions", sections.conditions),
                    ("Mappings", sections.mappings),
                    ("Outputs", sections.outputs),
                ]
                .into_iter()
                .filter(|(name, section)| *name == "Resources" || !section.is_empty())
                .map(|(name, section)| (name, object(section))),
            );
            let mut stack = Stack::new(&self.names[at], template::check(template).unwrap());
            if let Some((parent, id)) = nested.and_then(|(_, key)| self.places.get(&key)) {
                stack.parent = Some(Location::new(self.names[*parent].as_str(), id));
            }
            for (name, value) in PARAMETERS {
                if let Some(value) = value {
                    stack.parameters.insert(name.into(), value.into());
                }
            }
            stacks.push(stack);
        }
        Rendered { stacks, locations }
    }
}
