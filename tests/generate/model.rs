//! An app as its author thinks of it: stacks, a tree of constructs, resources with their
//! properties. Places, names and logical IDs are not stored: they follow from the tree.

use std::collections::BTreeMap;

use md5::{Digest as _, Md5};
use sha1::Sha1;

/// Who a resource is, wherever it is.
pub type Key = usize;

#[derive(Clone, Debug)]
pub struct App {
    pub stacks: Vec<StackModel>,
    pub constructs: Vec<Construct>,
    pub resources: BTreeMap<Key, Resource>,
    /// Templates carry `aws:cdk:path`.
    pub with_paths: bool,
}

#[derive(Clone, Debug)]
pub struct StackModel {
    pub id: String,
    pub stage: Option<String>,
    /// For a nested stack where it is, and the resource that makes it.
    pub nested: Option<(Home, Key)>,
}

/// What is directly above a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Stack(usize),
    Construct(usize),
}

#[derive(Clone, Debug)]
pub struct Construct {
    pub id: String,
    pub home: Home,
}

#[derive(Clone, Debug)]
pub struct Resource {
    pub kind: &'static str,
    /// The construct that it is in, and its own id there.
    pub construct: usize,
    pub leaf: &'static str,
    pub properties: BTreeMap<String, Prop>,
    pub depends_on: Vec<Key>,
    pub depends_on_as_text: bool,
    pub condition: Option<usize>,
    pub retain: bool,
    /// The nested stack that it makes.
    pub makes: Option<usize>,
}

/// Whose name is written into a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Own,
    Of(Key),
}

/// Which name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    Path,
    LogicalId,
    UniqueId,
    ShortAddress,
}

/// How a reference is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefForm {
    Plain,
    GetAttText,
    SubText,
    SubList,
    Join,
}

/// How a reference crosses the border between two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    Import,
    ImportBySub,
    ImportByJoin,
    StackOutput,
}

#[derive(Clone, Debug)]
pub struct Reference {
    pub target: Key,
    /// `None` for `Ref`.
    pub attribute: Option<&'static str>,
    pub form: RefForm,
    pub border: Border,
}

#[derive(Clone, Debug)]
pub enum Prop {
    Number(u32),
    Flag(bool),
    Text(String),
    Name(Whose, NameForm),
    /// A name between other text.
    NameInside(Whose, NameForm),
    Reference(Reference),
    If(usize, Box<Self>, Box<Self>),
    FindInMap(usize),
    Parameter(&'static str),
    Pseudo(&'static str),
    LiteralSub,
    Object(BTreeMap<String, Self>),
    List(Vec<Self>),
    /// `Tags`: name and value.
    Tags(Vec<(String, Self)>),
}

/// A parameter whose value is known, and one whose value is not.
pub const PARAMETERS: [(&str, Option<&str>); 2] = [("Stage", Some("prod")), ("Limit", None)];

impl App {
    /// Returns the stack that something is in, and its path below it.
    pub fn place(&self, home: Home) -> (usize, Vec<String>) {
        match home {
            Home::Stack(stack) => (stack, Vec::new()),
            Home::Construct(construct) => {
                let construct = &self.constructs[construct];
                let (stack, mut below) = self.place(construct.home);
                below.push(construct.id.clone());
                (stack, below)
            }
        }
    }

    /// Returns the components of the path of a stack.
    pub fn stack_path(&self, stack: usize) -> Vec<String> {
        let model = &self.stacks[stack];
        let mut path = match model.nested {
            Some((home, _)) => {
                let (parent, below) = self.place(home);
                let mut path = self.stack_path(parent);
                path.extend(below);
                path
            }
            None => model.stage.iter().cloned().collect(),
        };
        path.push(model.id.clone());
        path
    }

    /// Returns the name of a stack that is not nested.
    pub fn top_name(&self, stack: usize) -> String {
        self.stack_path(stack).join("-")
    }

    /// Returns the stack that a nested stack is in.
    pub fn parent(&self, stack: usize) -> Option<usize> {
        self.stacks[stack].nested.map(|(home, _)| self.place(home).0)
    }

    /// Returns the stack of a resource and its path below it.
    pub fn resource_place(&self, key: Key) -> (usize, Vec<String>) {
        let resource = &self.resources[&key];
        let Some(nested) = resource.makes else {
            let (stack, mut below) = self.place(Home::Construct(resource.construct));
            below.push(resource.leaf.to_owned());
            return (stack, below);
        };
        let model = &self.stacks[nested];
        let (home, _) = model.nested.unwrap();
        let (stack, mut below) = self.place(home);
        below.push(format!("{}.NestedStack", model.id));
        below.push(format!("{}.NestedStackResource", model.id));
        (stack, below)
    }

    pub fn resource_path(&self, key: Key) -> Vec<String> {
        let (stack, below) = self.resource_place(key);
        let mut path = self.stack_path(stack);
        path.extend(below);
        path
    }

    pub fn logical_id(&self, key: Key) -> String {
        unique_id(&self.resource_place(key).1)
    }

    /// Returns a name as a construct would write it: that of the construct around the resource.
    pub fn name(&self, key: Key, form: NameForm) -> String {
        let mut path = self.resource_path(key);
        if form == NameForm::LogicalId {
            return self.logical_id(key);
        }
        path.pop();
        match form {
            NameForm::Path | NameForm::LogicalId => path.join("/"),
            NameForm::UniqueId => unique_id(&path),
            NameForm::ShortAddress => short_address(&path),
        }
    }

    /// Returns the `DependsOn` that can be written: what is in another stack cannot.
    pub fn rendered_depends_on(&self, key: Key) -> Vec<Key> {
        let stack = self.resource_place(key).0;
        let is_here = |target: &&Key| {
            self.resources.contains_key(target) && self.resource_place(**target).0 == stack
        };
        let mut targets: Vec<Key> =
            self.resources[&key].depends_on.iter().filter(is_here).copied().collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Returns what a nested stack contains.
    pub fn children(&self, stack: usize) -> Vec<Key> {
        self.resources.keys().copied().filter(|key| self.resource_place(*key).0 == stack).collect()
    }
}

/// The unique id of some components, as aws-cdk-lib makes it.
pub fn unique_id(components: &[String]) -> String {
    let visible: Vec<&str> =
        components.iter().map(String::as_str).filter(|id| *id != "Default").collect();
    let alphanumeric =
        |id: &str| -> String { id.chars().filter(char::is_ascii_alphanumeric).collect() };
    if let [only] = visible.as_slice() {
        return alphanumeric(only);
    }
    let hash = Md5::digest(visible.join("/").as_bytes());
    let mut human = String::new();
    let mut previous = "";
    for id in visible {
        if previous.is_empty() || !previous.ends_with(id) {
            previous = id;
            if id != "Resource" {
                human.push_str(&alphanumeric(id));
            }
        }
    }
    human.truncate(240);
    format!("{human}{:02X}{:02X}{:02X}{:02X}", hash[0], hash[1], hash[2], hash[3])
}

/// The last eight digits of `node.addr`.
fn short_address(components: &[String]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(b"\n");
    for id in components.iter().filter(|id| *id != "Default") {
        hasher.update(format!("{id}\n").as_bytes());
    }
    let digest = hasher.finalize();
    format!("{:02x}{:02x}{:02x}{:02x}", digest[16], digest[17], digest[18], digest[19])
}
