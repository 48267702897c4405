//! Templates of stacks and of the stacks nested in them.
//!
//! Where the template of a nested stack is has changed with the framework: the resource's own
//! metadata (`aws:asset:path`, since 1.150), else the asset that its `TemplateURL` names through
//! parameters (legacy synthesizer) or through an object key (modern synthesizer).

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::assets::AssetManifest;
use super::confine::{Confined, Mention, Root};
use super::error::AssemblyError;
use super::load::Pending;
use super::manifest::{FileArtifact, read_json};
use super::metadata::{Entry, Metadata};
use super::templates::{Job, read_all};
use super::walk::{ASSETS, SubAssembly};
use crate::model::{ConstructPath, Location, Object, Stack, StackName, Template, Value};

/// How deep stacks may be nested. A bound against malformed input, far beyond real apps.
const MAX_DEPTH: usize = 32;
/// How many nested stacks there may be. CloudFormation allows 2,000 stacks in an account.
const MAX_NESTED: usize = 10_000;

/// A stack with its template; nested ones know where they are nested.
#[derive(Debug)]
pub(super) struct Loaded {
    /// The position of the stack that it is, or in which it is nested.
    pub owner: usize,
    /// For a nested stack: the position of the stack that directly contains it, and the resource.
    pub parent: Option<(usize, Location)>,
    /// The name.
    pub name: StackName,
    /// For a nested stack: the path of its construct.
    pub construct: Option<String>,
    /// The template.
    pub template: Template,
    file: Confined,
    depth: usize,
}

impl Loaded {
    /// Makes a nested stack of it.
    pub(super) fn into_nested(self, constructs: Vec<ConstructPath>) -> Stack {
        let mut stack = Stack::new(self.name.as_str(), self.template);
        stack.parent = self.parent.map(|(_, location)| location);
        stack.constructs = constructs;
        stack
    }
}

/// Reads the templates of all stacks, then level by level those of nested stacks: parents stand
/// before children, and the first entries are the given stacks in their order. The second part
/// are warnings about nested stacks without a template.
///
/// # Errors
/// When a template is missing or malformed, when a path leaves the assembly, or when stacks
/// contain themselves.
pub(super) fn read_templates(
    root: &Root,
    assemblies: &[SubAssembly],
    stacks: &[Pending],
) -> Result<(Vec<Loaded>, Vec<String>), AssemblyError> {
    let assets: Vec<OnceCell<Assets>> = assemblies.iter().map(|_| OnceCell::new()).collect();
    let mut warnings = Vec::new();
    let mut loaded: Vec<Loaded> = Vec::new();
    let mut found: Vec<Found> = stacks
        .iter()
        .enumerate()
        .map(|(owner, stack)| Found {
            owner,
            parent: None,
            name: StackName::from(stack.name.as_str()),
            label: stack.hierarchical_id.clone(),
            construct: None,
            file: stack.template.clone(),
            depth: 0,
        })
        .collect();
    while !found.is_empty() {
        let jobs: Vec<Job> = found
            .iter()
            .map(|found| Job { stack: found.label.clone(), file: found.file.path.clone() })
            .collect();
        let templates = read_all(&jobs)?;
        let start = loaded.len();
        loaded.extend(found.into_iter().zip(templates).map(|(found, read)| found.loaded(read)));
        found = Vec::new();
        for at in start..loaded.len() {
            let stack = &stacks[loaded[at].owner];
            let assembly = &assemblies[stack.assembly];
            let cell = &assets[stack.assembly];
            let search = Search { root, assembly, stack, assets: cell };
            found.extend(search.nested_in(&loaded, at, &mut warnings)?);
            if loaded.len() + found.len() > stacks.len() + MAX_NESTED {
                let stack = stack.hierarchical_id.clone();
                return Err(AssemblyError::TooManyNestedStacks { stack, limit: MAX_NESTED });
            }
        }
    }
    Ok((loaded, warnings))
}

/// A stack whose template is to be read next.
struct Found {
    owner: usize,
    parent: Option<(usize, Location)>,
    name: StackName,
    label: String,
    construct: Option<String>,
    file: Confined,
    depth: usize,
}

impl Found {
    fn loaded(self, template: Template) -> Loaded {
        Loaded {
            owner: self.owner,
            parent: self.parent,
            name: self.name,
            construct: self.construct,
            template,
            file: self.file,
            depth: self.depth,
        }
    }
}

/// Where templates of nested stacks are looked for.
struct Search<'a> {
    root: &'a Root,
    assembly: &'a SubAssembly,
    stack: &'a Pending,
    assets: &'a OnceCell<Assets>,
}

impl Search<'_> {
    /// Finds the stacks that are directly nested in the stack at a position.
    fn nested_in(
        &self,
        loaded: &[Loaded],
        at: usize,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Found>, AssemblyError> {
        let parent = &loaded[at];
        let mut nested = Vec::new();
        for (id, body) in parent.template.resources() {
            if body.get("Type").and_then(Value::as_str) != Some("AWS::CloudFormation::Stack") {
                continue;
            }
            let name = format!("{}/{id}", parent.name);
            let what = format!("the template of nested stack `{name}`");
            let mention = Mention { file: &parent.file.path, what: &what };
            let Some(file) = self.template_of(body, mention)? else {
                warnings.push(format!(
                    "nested stack `{name}` is left out: its template is not in the assembly"
                ));
                continue;
            };
            if contains(loaded, at, &file) {
                return Err(AssemblyError::NestedStackCycle { stack: name, file: file.path });
            }
            if parent.depth >= MAX_DEPTH {
                return Err(AssemblyError::TooManyNestedStacks { stack: name, limit: MAX_DEPTH });
            }
            nested.push(Found {
                owner: parent.owner,
                parent: Some((at, Location::new(parent.name.as_str(), id))),
                name: StackName::from(name.as_str()),
                label: name,
                construct: path_of(body).and_then(nested_construct),
                file,
                depth: parent.depth + 1,
            });
        }
        Ok(nested)
    }

    /// Finds the template of a nested stack, given its resource.
    fn template_of(
        &self,
        body: &Object,
        mention: Mention<'_>,
    ) -> Result<Option<Confined>, AssemblyError> {
        let Some(path) = self.path_of_template(body) else { return Ok(None) };
        match self.root.resolve(&self.assembly.directory.path, &path, mention) {
            Ok(file) => Ok(Some(file)),
            Err(AssemblyError::MissingFile { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path_of_template(&self, body: &Object) -> Option<String> {
        let metadata = body.get("Metadata").and_then(Value::as_object);
        let text = |key: &str| metadata?.get(key)?.as_str();
        if let Some(path) = text("aws:asset:path")
            && text("aws:asset:property").is_none_or(|property| property == "TemplateURL")
        {
            return Some(path.to_owned());
        }
        let construct = path_of(body).and_then(nested_construct);
        if let Some(file) = construct.and_then(|path| template_file(&self.stack.metadata, &path)) {
            return Some(file);
        }
        let mut url = Url::default();
        url.collect(body.get("Properties")?.get("TemplateURL")?);
        url.legacy_asset(&self.stack.metadata).or_else(|| {
            self.assets.get_or_init(|| Assets::read(self.root, self.assembly)).named_in(&url)
        })
    }
}

/// Whether the stack at a position, or one that it is nested in, has this template.
fn contains(loaded: &[Loaded], at: usize, file: &Confined) -> bool {
    let chain = std::iter::successors(Some(&loaded[at]), |stack| {
        stack.parent.as_ref().map(|(parent, _)| &loaded[*parent])
    });
    chain.into_iter().any(|stack| stack.file.canonical == file.canonical)
}

/// Returns the path of the construct of a resource.
fn path_of(body: &Object) -> Option<&str> {
    body.get("Metadata")?.get("aws:cdk:path")?.as_str()
}

/// Returns the construct of the nested stack that a resource makes: the resource of `P/Inner`
/// is `P/Inner.NestedStack/Inner.NestedStackResource`.
fn nested_construct(path: &str) -> Option<String> {
    let (holder, _) = path.rsplit_once('/')?;
    holder.strip_suffix(".NestedStack").map(str::to_owned)
}

fn template_file(metadata: &Metadata, construct: &str) -> Option<String> {
    metadata.of(construct).iter().find_map(|entry| match entry {
        Entry::TemplateFile(file) => Some(file.clone()),
        _ => None,
    })
}

/// What a `TemplateURL` is made of.
#[derive(Default)]
struct Url<'a> {
    parameters: Vec<&'a str>,
    literals: Vec<&'a str>,
}

impl<'a> Url<'a> {
    fn collect(&mut self, value: &'a Value) {
        match value {
            Value::String(text) => self.literals.push(text),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(object) => match object.single() {
                Some((key, Value::String(name))) if key == "Ref" => self.parameters.push(name),
                _ => object.iter().for_each(|(_, value)| self.collect(value)),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the file of the asset whose parameters stand in the URL.
    fn legacy_asset(&self, metadata: &Metadata) -> Option<String> {
        metadata.entries().find_map(|(_, entry)| match entry {
            Entry::Asset { path, parameters }
                if parameters.iter().any(|name| self.parameters.contains(&name.as_str())) =>
            {
                Some(path.clone())
            }
            _ => None,
        })
    }
}

/// File assets of the modern synthesizer: file by object key.
#[derive(Debug, Default)]
struct Assets(BTreeMap<String, String>);

impl Assets {
    /// Reads the asset manifests of an assembly. Malformed ones only lead to nothing: they are
    /// the business of whoever publishes assets.
    fn read(root: &Root, assembly: &SubAssembly) -> Self {
        let mut files = BTreeMap::new();
        for (id, artifact) in assembly.of_kind(ASSETS) {
            let Ok(FileArtifact { file: Some(name) }) = artifact.properties() else { continue };
            let Ok(file) = assembly.resolve(root, id, "file", &name) else { continue };
            let Ok(manifest) = read_json::<AssetManifest>(&file.path) else { continue };
            for asset in manifest.files.into_values() {
                let Some(path) = asset.source.path else { continue };
                let keys = asset.destinations.into_values().filter_map(|to| to.object_key);
                files.extend(keys.map(|key| (key, path.clone())));
            }
        }
        Self(files)
    }

    /// Returns the file whose object key ends a part of the URL.
    fn named_in(&self, url: &Url<'_>) -> Option<String> {
        let keys = url.literals.iter().filter_map(|text| text.rsplit('/').next());
        keys.filter(|key| !key.is_empty()).find_map(|key| {
            let exact = self.0.get(key);
            let ending = || {
                let of_key = |name: &&String| name.rsplit('/').next() == Some(key);
                self.0.keys().find(of_key).and_then(|name| self.0.get(name))
            };
            exact.or_else(ending).cloned()
        })
    }
}
