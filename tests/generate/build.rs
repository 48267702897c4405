//! Random apps. A recipe is plain numbers, so that `proptest` can shrink it; every recipe gives
//! an app without circles: a resource refers only to those that were made before it.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{
    App, Border, Construct, Home, Key, NameForm, Prop, RefForm, Reference, Resource, StackModel,
    Whose,
};

/// What an app is made of.
#[derive(Clone, Debug)]
pub struct AppRecipe {
    pub stacks: Vec<(u8, bool)>,
    pub nested: Option<u8>,
    pub constructs: Vec<(u8, u8)>,
    pub resources: Vec<ResourceRecipe>,
    /// Constructs of which there is a second one, just the same.
    pub copies: Vec<u8>,
    pub with_paths: bool,
}

/// What a resource is made of.
#[derive(Clone, Debug)]
pub struct ResourceRecipe {
    pub kind: u8,
    pub home: u8,
    pub parts: Vec<(u8, u16, u16)>,
    pub depends_on: Vec<u16>,
    pub condition: Option<u8>,
    pub twin_of: Option<u16>,
}

/// Any resource.
pub fn resource() -> impl Strategy<Value = ResourceRecipe> {
    (
        any::<u8>(),
        any::<u8>(),
        vec((any::<u8>(), any::<u16>(), any::<u16>()), 0..=4),
        vec(any::<u16>(), 0..=2),
        proptest::option::weighted(0.1, any::<u8>()),
        proptest::option::weighted(0.1, any::<u16>()),
    )
        .prop_map(|(kind, home, parts, depends_on, condition, twin_of)| ResourceRecipe {
            kind,
            home,
            parts,
            depends_on,
            condition,
            twin_of,
        })
}

/// Any app; `copies` says how many constructs exist twice at most.
pub fn app(copies: usize) -> impl Strategy<Value = AppRecipe> {
    (
        vec((any::<u8>(), proptest::bool::weighted(0.2)), 1..=4),
        proptest::option::weighted(0.3, any::<u8>()),
        vec((any::<u8>(), any::<u8>()), 1..=12),
        // Mostly small: what goes wrong goes wrong there too.
        prop_oneof![3 => vec(resource(), 1..=10), 1 => vec(resource(), 10..=40)],
        vec(any::<u8>(), 0..=copies),
        proptest::bool::weighted(0.9),
    )
        .prop_map(|(stacks, nested, constructs, resources, copies, with_paths)| AppRecipe {
            stacks,
            nested,
            constructs,
            resources,
            copies,
            with_paths,
        })
}

/// Ids of constructs. Some are traps: they also occur as literal texts.
pub const IDS: [&str; 10] =
    ["Orders", "Queue", "Table", "Web", "Handler", "Store", "A", "Default1", "Dlq", "MyQueue"];

const KINDS: [&str; 9] = [
    "AWS::SQS::Queue",
    "AWS::SNS::Topic",
    "AWS::IAM::Role",
    "AWS::IAM::Policy",
    "AWS::Lambda::Function",
    "AWS::DynamoDB::Table",
    "AWS::SSM::Parameter",
    "AWS::EC2::SecurityGroup",
    "AWS::S3::Bucket",
];

const TEXTS: [&str; 8] =
    ["Orders", "Queue", "Table", "Web", "nodejs22.x", "orders/queue", "ключ", "Web-Orders"];

const LEAVES: [&str; 8] =
    ["Resource", "Default", "Policy", "Role", "Topic", "Bucket", "Parameter", "Group"];

const SLOTS: [&str; 6] = ["Description", "Target", "Source", "Notes", "Settings", "Extra"];

pub fn pick<T: Copy>(from: &[T], number: impl Into<usize>) -> T {
    from[number.into() % from.len()]
}

/// Returns an id that no sibling has.
fn distinct(id: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{id}{number}"));
    std::iter::once(id.to_owned()).chain(numbered).find(|id| !taken(id)).unwrap()
}

impl AppRecipe {
    /// Makes the app.
    pub fn build(&self) -> App {
        let mut app = App {
            stacks: Vec::new(),
            constructs: Vec::new(),
            resources: BTreeMap::new(),
            with_paths: self.with_paths,
        };
        for (id, staged) in &self.stacks {
            let id = format!("{}Stack", pick(&IDS, *id));
            let id = distinct(&id, |id| app.stacks.iter().any(|stack| stack.id == id));
            let stage = staged.then(|| "Prod".to_owned());
            app.stacks.push(StackModel { id, stage, nested: None });
        }
        if let Some(parent) = self.nested {
            let home = Home::Stack(usize::from(parent) % app.stacks.len());
            app.add_nested_stack("Inner", home);
        }
        for (id, parent) in &self.constructs {
            let homes = app.stacks.len() + app.constructs.len();
            let at = usize::from(*parent) % homes;
            let home = match at.checked_sub(app.stacks.len()) {
                Some(construct) => Home::Construct(construct),
                None => Home::Stack(at),
            };
            let id = distinct(pick(&IDS, *id), |id| app.is_taken(home, id));
            app.constructs.push(Construct { id, home });
        }
        // Every second nested stack is somewhere in a construct of an ordinary stack.
        if let Some(parent) = self.nested.filter(|parent| parent % 2 == 1) {
            let construct = usize::from(parent / 2) % app.constructs.len();
            let (stack, _) = app.place(Home::Construct(construct));
            if app.stacks[stack].nested.is_none() {
                let nested = app.stacks.last_mut().and_then(|stack| stack.nested.as_mut());
                nested.unwrap().0 = Home::Construct(construct);
            }
        }
        for resource in &self.resources {
            app.add_resource(resource);
        }
        for construct in &self.copies {
            app.copy(usize::from(*construct) % app.constructs.len());
        }
        app
    }
}

impl App {
    /// Whether something directly below has this id.
    pub fn is_taken(&self, home: Home, id: &str) -> bool {
        self.constructs.iter().any(|construct| construct.home == home && construct.id == id)
            || self.stacks.iter().any(|stack| {
                stack.id == id && stack.nested.is_some_and(|(parent, _)| parent == home)
            })
    }

    pub fn next_key(&self) -> Key {
        self.resources.keys().last().map_or(0, |last| last + 1)
    }

    fn add_nested_stack(&mut self, id: &str, home: Home) {
        let key = self.next_key();
        let nested = self.stacks.len();
        self.stacks.push(StackModel { id: id.to_owned(), stage: None, nested: Some((home, key)) });
        let resource = Resource {
            kind: "AWS::CloudFormation::Stack",
            construct: usize::MAX,
            leaf: "",
            properties: BTreeMap::new(),
            depends_on: Vec::new(),
            depends_on_as_text: false,
            condition: None,
            retain: true,
            makes: Some(nested),
        };
        self.resources.insert(key, resource);
    }

    /// Adds a resource to one of the constructs; returns its key, if there is room for it.
    pub fn add_resource(&mut self, recipe: &ResourceRecipe) -> Option<Key> {
        let construct = usize::from(recipe.home) % self.constructs.len();
        let leaf = self.free_leaf(construct)?;
        let key = self.next_key();
        // What is referred to: anything that exists already, but not what makes nested stacks.
        let targets: Vec<Key> =
            self.resources.keys().copied().filter(|k| self.resources[k].makes.is_none()).collect();
        let twin = recipe.twin_of.filter(|_| !targets.is_empty());
        let mut resource = if let Some(of) = twin {
            self.resources[&pick(&targets, of)].clone()
        } else {
            let kind = pick(&KINDS, recipe.kind);
            let mut properties = BTreeMap::new();
            for (slot, part) in recipe.parts.iter().enumerate() {
                let (name, prop) = property(kind, slot, *part, &targets, self.with_paths);
                properties.insert(name, prop);
            }
            // The CDK names a policy by its logical ID, which always has a hash.
            if kind == "AWS::IAM::Policy" && self.with_paths && leaf != "Default" {
                let name = Prop::Name(Whose::Own, NameForm::LogicalId);
                properties.insert("PolicyName".into(), name);
            }
            let is_role = |key: &&Key| self.resources[*key].kind == "AWS::IAM::Role";
            let roles: Vec<Key> = targets.iter().filter(is_role).copied().collect();
            if kind == "AWS::IAM::Policy" && !roles.is_empty() {
                let role = reference(&roles, recipe.home.into(), 0);
                properties.insert("Roles".into(), Prop::List(vec![role]));
            }
            Resource {
                kind,
                construct,
                leaf,
                properties,
                depends_on: Vec::new(),
                depends_on_as_text: recipe.kind.is_multiple_of(2),
                condition: recipe.condition.map(|number| usize::from(number) % 3),
                retain: recipe.home.is_multiple_of(3),
                makes: None,
            }
        };
        if twin.is_none() && !targets.is_empty() {
            resource.depends_on = recipe.depends_on.iter().map(|t| pick(&targets, *t)).collect();
        }
        if leaf == "Default" {
            resource.properties.remove("PolicyName");
        }
        (resource.construct, resource.leaf) = (construct, leaf);
        self.resources.insert(key, resource);
        Some(key)
    }

    fn free_leaf(&self, construct: usize) -> Option<&'static str> {
        let is_used = |leaf: &str| {
            self.resources
                .values()
                .any(|r| r.makes.is_none() && r.construct == construct && r.leaf == leaf)
        };
        LEAVES.into_iter().find(|leaf| !is_used(leaf))
    }

    /// Makes a second construct like this one beside it, with everything in it. References
    /// inside of the construct become references inside of the copy.
    fn copy(&mut self, original: usize) {
        let inside = self.subtree(original);
        let home = self.constructs[original].home;
        let id = distinct(&self.constructs[original].id.clone(), |id| self.is_taken(home, id));
        let mut constructs = BTreeMap::new();
        for old in &inside {
            let mut construct = self.constructs[*old].clone();
            construct.home = match construct.home {
                Home::Construct(parent) if *old != original => Home::Construct(constructs[&parent]),
                home => home,
            };
            if *old == original {
                construct.id.clone_from(&id);
            }
            constructs.insert(*old, self.constructs.len());
            self.constructs.push(construct);
        }
        let mut keys = BTreeMap::new();
        for (key, resource) in self.resources.clone() {
            let Some(construct) = constructs.get(&resource.construct) else { continue };
            let copy = self.next_key();
            keys.insert(key, copy);
            let mut resource = Resource { construct: *construct, ..resource };
            // A physical name exists only once.
            resource.properties.remove(PHYSICAL_NAME);
            let renumber = |key: &mut Key| *key = keys.get(key).copied().unwrap_or(*key);
            resource.depends_on.iter_mut().for_each(renumber);
            resource.properties.values_mut().for_each(|prop| prop.for_each_key(&mut { renumber }));
            self.resources.insert(copy, resource);
        }
    }

    /// Returns a construct and all those below it, parents first.
    pub fn subtree(&self, root: usize) -> Vec<usize> {
        let mut inside = vec![root];
        let mut at = 0;
        while at < inside.len() {
            let parent = Home::Construct(inside[at]);
            inside
                .extend((0..self.constructs.len()).filter(|c| self.constructs[*c].home == parent));
            at += 1;
        }
        inside
    }
}

/// A property whose value names the resource in the account.
pub const PHYSICAL_NAME: &str = "TableName";

fn property(
    kind: &str,
    slot: usize,
    (what, x, y): (u8, u16, u16),
    targets: &[Key],
    with_names: bool,
) -> (String, Prop) {
    let name = SLOTS[slot].to_owned();
    let number = Prop::Number(u32::from(x % 3) * 30);
    let whose = |number: u16| match targets {
        [] => Whose::Own,
        _ if number.is_multiple_of(2) => Whose::Own,
        _ => Whose::Of(pick(targets, number / 2)),
    };
    let form = pick(&[NameForm::Path, NameForm::UniqueId, NameForm::ShortAddress], y);
    let prop = match what % 24 {
        0 | 1 => number,
        2 => Prop::Text(pick(&TEXTS, x).to_owned()),
        3 => Prop::Flag(x % 2 == 0),
        4 if kind == "AWS::DynamoDB::Table" => {
            return (PHYSICAL_NAME.to_owned(), Prop::Text(format!("table-{x}-{y}")));
        }
        5 | 6 if with_names => Prop::Name(Whose::Own, form),
        7 if with_names => Prop::Name(whose(x), form),
        8 if with_names => Prop::NameInside(whose(x), form),
        9 if with_names => {
            let label = Prop::Text(pick(&TEXTS, y).to_owned());
            let name = Prop::Name(Whose::Own, NameForm::Path);
            return (
                "Tags".to_owned(),
                Prop::Tags(vec![("Name".into(), name), ("Of".into(), label)]),
            );
        }
        10 => Prop::Pseudo(pick(&["AWS::Region", "AWS::AccountId", "AWS::Partition"], x)),
        11 => Prop::Parameter(pick(&["Stage", "Limit"], x)),
        12 => Prop::FindInMap(usize::from(x % 2)),
        13 => Prop::LiteralSub,
        14 => Prop::If(usize::from(x % 3), Box::new(number), Box::new(reference(targets, x, y))),
        15 => Prop::List(vec![reference(targets, x, y), Prop::Text("x".into())]),
        16 => {
            let inner = [("Inside".to_owned(), reference(targets, x, y))];
            Prop::Object(inner.into_iter().collect())
        }
        17..=23 => reference(targets, x, y),
        _ => Prop::Text(format!("value {}", x % 4)),
    };
    (name, prop)
}

const FORMS: [RefForm; 5] =
    [RefForm::Plain, RefForm::GetAttText, RefForm::SubText, RefForm::SubList, RefForm::Join];

fn reference(targets: &[Key], x: u16, y: u16) -> Prop {
    if targets.is_empty() {
        return Prop::Pseudo("AWS::StackName");
    }
    Prop::Reference(Reference {
        target: pick(targets, x),
        attribute: pick(&[None, Some("Arn"), Some("Name")], y % 8),
        form: pick(&FORMS, y / 8 % 8),
        border: pick(
            &[Border::Import, Border::ImportBySub, Border::ImportByJoin, Border::StackOutput],
            y / 64,
        ),
    })
}

impl Prop {
    /// Applies a function to every resource that is named or referred to.
    pub fn for_each_key(&mut self, change: &mut dyn FnMut(&mut Key)) {
        match self {
            Self::Name(Whose::Of(key), _) | Self::NameInside(Whose::Of(key), _) => change(key),
            Self::Reference(reference) => change(&mut reference.target),
            Self::If(_, yes, no) => {
                yes.for_each_key(change);
                no.for_each_key(change);
            }
            Self::Object(members) => {
                for prop in members.values_mut() {
                    prop.for_each_key(change);
                }
            }
            Self::List(items) => items.iter_mut().for_each(|prop| prop.for_each_key(change)),
            Self::Tags(tags) => tags.iter_mut().for_each(|(_, prop)| prop.for_each_key(change)),
            _ => {}
        }
    }
}
