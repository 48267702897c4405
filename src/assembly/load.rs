//! From a directory to an [`Assembly`].

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::thread;

use super::confine::{Confined, Root};
use super::constructs::{self, Owner};
use super::error::AssemblyError;
use super::manifest::{FileArtifact, StackArtifact, read_json};
use super::metadata::{Entry, Metadata};
use super::nested::{self, Loaded};
use super::nodes;
use super::stack::{Assembly, AssemblyStack, LookupRole, StackProperties};
use super::tree::{self, Constructs};
use super::walk::{ASSEMBLY, Manifests, STACK, SubAssembly, TREE, read_manifests};
use crate::model::{ConstructPath, Environment, Stack};

/// How an assembly is read.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Reads manifests whatever their schema version. A newer one gives a warning.
    pub ignore_schema_version: bool,
}

/// A stack whose template is not read yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// The position of its assembly.
    pub assembly: usize,
    /// The key of the artifact.
    pub artifact_id: String,
    /// What patterns match.
    pub hierarchical_id: String,
    /// The path of the construct, if the manifest says it.
    pub display_name: Option<String>,
    /// The name in CloudFormation.
    pub name: String,
    /// Where the stack goes.
    pub environment: Environment,
    /// The file of the template.
    pub template: Confined,
    /// What constructs said.
    pub metadata: Metadata,
    /// The rest of what the manifest says.
    pub properties: StackArtifact,
    /// Hierarchical ids of other stacks.
    pub dependencies: Vec<String>,
}

/// Reads a cloud assembly with everything in it: stages, nested stacks, the construct tree.
/// Schema versions up to [`MAX_SCHEMA`](super::MAX_SCHEMA) are read, as far back as there are
/// any.
///
/// # Errors
/// When the directory is no cloud assembly, when a manifest or a template is malformed or
/// missing, when a path leaves the assembly, or when two stacks of one environment have the same
/// name. A nested stack without a template and a broken construct tree are only warnings.
pub fn load(directory: &Path, options: &LoadOptions) -> Result<Assembly, AssemblyError> {
    let root = Root::new(directory)?;
    let mut manifests = read_manifests(&root, options)?;
    let metadata = take_metadata(&mut manifests.assemblies);
    let stacks = pending(&root, &manifests.assemblies, metadata)?;
    refuse_duplicates(&stacks)?;
    let trees = tree_files(&root, &manifests.assemblies)?;
    // The tree is as large as the templates together, and independent of them.
    let (constructs, loaded) = thread::scope(|scope| {
        let constructs = scope.spawn(|| read_trees(&root, &trees));
        let loaded = nested::read_templates(&root, &manifests.assemblies, &stacks);
        match constructs.join() {
            Ok(constructs) => (constructs, loaded),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let (loaded, nested_warnings) = loaded?;
    Ok(assemble(directory, manifests, stacks, loaded, constructs, nested_warnings))
}

/// Metadata of artifacts by position of the assembly and id. It is by far the largest part of
/// old manifests: it is moved rather than copied.
type InlineMetadata = HashMap<(usize, String), Metadata>;

fn take_metadata(assemblies: &mut [SubAssembly]) -> InlineMetadata {
    let artifacts = assemblies.iter_mut().enumerate().flat_map(|(at, assembly)| {
        assembly.artifacts.iter_mut().map(move |(id, artifact)| (at, id, artifact))
    });
    artifacts
        .filter_map(|(at, id, artifact)| Some(((at, id.clone()), artifact.metadata.take()?)))
        .collect()
}

/// Reads what manifests say of their stacks.
fn pending(
    root: &Root,
    assemblies: &[SubAssembly],
    mut metadata: InlineMetadata,
) -> Result<Vec<Pending>, AssemblyError> {
    let order = Order::new(assemblies);
    let mut stacks = Vec::new();
    for (at, assembly) in assemblies.iter().enumerate() {
        for (id, artifact) in assembly.of_kind(STACK) {
            let invalid = |message: &str| {
                let text = format!("Invalid CloudFormation stack artifact. {message}");
                assembly.invalid(id, text)
            };
            let mut properties: StackArtifact =
                artifact.properties().map_err(|error| invalid(&error))?;
            let template = properties.template_file.as_deref().ok_or_else(|| {
                invalid("Missing \"templateFile\" property in cloud assembly manifest")
            })?;
            let template = assembly.resolve(root, id, "templateFile", template)?;
            check_role_options(&properties).map_err(|message| assembly.invalid(id, message))?;
            let environment =
                artifact.environment.as_deref().ok_or_else(|| invalid("Missing environment"))?;
            let environment =
                environment.parse().map_err(|error| AssemblyError::InvalidEnvironment {
                    manifest: assembly.manifest_file.clone(),
                    artifact: id.clone(),
                    error,
                })?;
            let mut metadata = metadata.remove(&(at, id.clone())).unwrap_or_default();
            if let Some(file) = &artifact.additional_metadata_file {
                let file = assembly.resolve(root, id, "additionalMetadataFile", file)?;
                metadata.prepend(read_json(&file.path)?);
            }
            stacks.push(Pending {
                assembly: at,
                artifact_id: id.clone(),
                hierarchical_id: artifact.display_name.clone().unwrap_or_else(|| id.clone()),
                display_name: artifact.display_name.clone(),
                name: properties.stack_name.take().unwrap_or_else(|| id.clone()),
                environment,
                template,
                metadata,
                properties,
                dependencies: order.of(at, artifact.dependencies.as_deref().unwrap_or_default()),
            });
        }
    }
    Ok(stacks)
}

/// The schema says so: role and external id have properties of their own.
fn check_role_options(properties: &StackArtifact) -> Result<(), String> {
    let lookup = properties.lookup_role.as_ref();
    let options = [
        properties.assume_role_additional_options.as_ref(),
        lookup.and_then(|role| role.assume_role_additional_options.as_ref()),
    ];
    for options in options.into_iter().flatten() {
        for key in ["RoleArn", "ExternalId"] {
            if options.contains_key(key) {
                return Err(format!("{key} is not allowed inside 'assumeRoleAdditionalOptions'"));
            }
        }
    }
    Ok(())
}

fn refuse_duplicates(stacks: &[Pending]) -> Result<(), AssemblyError> {
    let mut names: HashMap<(&Environment, &str), &Pending> = HashMap::new();
    for stack in stacks {
        if let Some(first) = names.insert((&stack.environment, &stack.name), stack) {
            return Err(AssemblyError::DuplicateStackName {
                name: stack.name.clone(),
                environment: stack.environment.to_string(),
                first: first.hierarchical_id.clone(),
                second: stack.hierarchical_id.clone(),
            });
        }
    }
    Ok(())
}

/// What artifacts depend on, in terms of stacks.
struct Order<'a> {
    assemblies: &'a [SubAssembly],
    /// For each assembly the stacks in it, at any depth.
    below: Vec<Vec<String>>,
    /// The position of a nested assembly by that of its parent and its id there.
    nested: HashMap<(usize, &'a str), usize>,
    /// For each assembly what all of it depends on.
    inherited: Vec<Vec<String>>,
}

impl<'a> Order<'a> {
    fn new(assemblies: &'a [SubAssembly]) -> Self {
        let stacks_of = |assembly: &SubAssembly| {
            let ids = assembly.of_kind(STACK);
            ids.map(|(id, artifact)| artifact.display_name.as_ref().unwrap_or(id).clone()).collect()
        };
        let mut below: Vec<Vec<String>> = assemblies.iter().map(stacks_of).collect();
        let mut nested = HashMap::new();
        // Parents stand before children.
        for (at, assembly) in assemblies.iter().enumerate().rev() {
            if let Some((parent, id)) = &assembly.parent {
                let stacks = below[at].clone();
                below[*parent].extend(stacks);
                nested.insert((*parent, id.as_str()), at);
            }
        }
        let mut order = Self { assemblies, below, nested, inherited: Vec::new() };
        for assembly in assemblies {
            let inherited = assembly.parent.as_ref().map_or_else(Vec::new, |(parent, id)| {
                let artifact = assemblies[*parent].artifacts.get(id);
                let ids = artifact.and_then(|artifact| artifact.dependencies.as_deref());
                order.of(*parent, ids.unwrap_or_default())
            });
            order.inherited.push(inherited);
        }
        order
    }

    /// Returns the stacks that the given artifacts of an assembly stand for, and those that the
    /// assembly as a whole depends on.
    fn of(&self, at: usize, artifact_ids: &[String]) -> Vec<String> {
        let mut stacks = self.inherited[at].clone();
        for id in artifact_ids {
            let Some(artifact) = self.assemblies[at].artifacts.get(id) else { continue };
            match artifact.kind.as_str() {
                STACK => stacks.push(artifact.display_name.as_ref().unwrap_or(id).clone()),
                ASSEMBLY => {
                    let nested = self.nested.get(&(at, id.as_str()));
                    stacks
                        .extend(nested.into_iter().flat_map(|nested| self.below[*nested].clone()));
                }
                _ => {}
            }
        }
        stacks.sort_unstable();
        stacks.dedup();
        stacks
    }
}

/// Finds the files of the construct trees.
fn tree_files(root: &Root, assemblies: &[SubAssembly]) -> Result<Vec<Confined>, AssemblyError> {
    let mut files = Vec::new();
    for assembly in assemblies {
        for (id, artifact) in assembly.of_kind(TREE) {
            let properties: FileArtifact =
                artifact.properties().map_err(|error| assembly.invalid(id, error))?;
            match assembly.resolve(root, id, "file", &properties.file.unwrap_or_default()) {
                Ok(file) => files.push(file),
                // Without a tree fewer names are known, and that is all.
                Err(AssemblyError::MissingFile { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(files)
}

fn read_trees(root: &Root, files: &[Confined]) -> Constructs {
    let mut all = Constructs::default();
    for file in files {
        let mut found = tree::read(root, file);
        all.paths.append(&mut found.paths);
        all.nodes.append(&mut found.nodes);
        all.warnings.append(&mut found.warnings);
    }
    all
}

/// Puts the parts together.
fn assemble(
    directory: &Path,
    manifests: Manifests,
    pending: Vec<Pending>,
    loaded: Vec<Loaded>,
    constructs: Constructs,
    nested_warnings: Vec<String>,
) -> Assembly {
    let stages: Vec<_> = manifests.assemblies.iter().map(|a| a.stage.as_deref()).collect();
    let paths: Vec<Option<String>> = pending
        .iter()
        .map(|stack| constructs::stack_path(stack, stages[stack.assembly], &constructs.paths))
        .collect();
    let owners: Vec<Owner<'_>> = loaded
        .iter()
        .map(|loaded| match &loaded.parent {
            None => Owner { path: paths[loaded.owner].as_deref(), stack: loaded.owner },
            Some(_) => Owner { path: loaded.construct.as_deref(), stack: loaded.owner },
        })
        .collect();
    let nodes = nodes::merged(constructs.nodes, &pending, &stages);
    let mut owned = constructs::distribute(&owners, constructs.paths, &pending);
    let mut stacks: Vec<AssemblyStack> = Vec::with_capacity(pending.len());
    let mut nested = Vec::new();
    let mut tops = pending.into_iter().zip(paths);
    for (loaded, constructs) in loaded.into_iter().zip(owned.drain(..)) {
        let owner = loaded.owner;
        let top = if loaded.parent.is_none() { tops.next() } else { None };
        match top {
            Some((pending, path)) => {
                stacks.push(finish(pending, path, loaded, constructs));
            }
            None => nested.push((owner, loaded.into_nested(constructs))),
        }
    }
    for (owner, stack) in nested {
        stacks[owner].nested.push(stack);
    }
    let mut warnings = manifests.warnings;
    warnings.extend(nested_warnings);
    warnings.extend(constructs.warnings);
    Assembly {
        directory: directory.to_owned(),
        version: manifests.version,
        schema_major: manifests.schema_major,
        stacks,
        missing: manifests.missing,
        constructs: nodes,
        warnings,
    }
}

fn finish(
    pending: Pending,
    path: Option<String>,
    loaded: Loaded,
    constructs: Vec<ConstructPath>,
) -> AssemblyStack {
    let mut stack = Stack::new(&pending.name, loaded.template);
    stack.display_name = pending.hierarchical_id.as_str().into();
    stack.constructs = constructs;
    let StackArtifact { parameters, tags, .. } = &pending.properties;
    stack.parameters = parameters
        .iter()
        .flatten()
        .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
        .collect();
    let tags = tags.clone().unwrap_or_else(|| tags_of(&pending.metadata));
    AssemblyStack {
        artifact_id: pending.artifact_id,
        hierarchical_id: pending.hierarchical_id,
        environment: pending.environment,
        stack,
        nested: Vec::new(),
        top_level: pending.assembly == 0,
        tags,
        dependencies: pending.dependencies,
        do_not_refactor: pending.metadata.excluded(),
        construct_path: path.map(|path| ConstructPath::from(path.as_str())),
        properties: properties(pending.properties, &pending.template),
    }
}

/// Before schema 6 tags are only in the metadata.
fn tags_of(metadata: &Metadata) -> BTreeMap<String, String> {
    let tags = metadata.entries().find_map(|(_, entry)| match entry {
        Entry::StackTags(tags) => Some(tags),
        _ => None,
    });
    tags.into_iter().flatten().cloned().collect()
}

fn properties(artifact: StackArtifact, template: &Confined) -> StackProperties {
    StackProperties {
        template_file: template.path.clone(),
        termination_protection: artifact.termination_protection,
        assume_role_arn: artifact.assume_role_arn,
        assume_role_external_id: artifact.assume_role_external_id,
        assume_role_options: artifact.assume_role_additional_options.unwrap_or_default(),
        execution_role_arn: artifact.cloud_formation_execution_role_arn,
        lookup_role: artifact.lookup_role.map(|role| LookupRole {
            arn: role.arn,
            external_id: role.assume_role_external_id,
            options: role.assume_role_additional_options.unwrap_or_default(),
            requires_bootstrap_version: role.requires_bootstrap_stack_version,
            bootstrap_version_parameter: role.bootstrap_stack_version_ssm_parameter,
        }),
        parameters: artifact.parameters.unwrap_or_default(),
        template_asset_url: artifact.stack_template_asset_object_url,
        requires_bootstrap_version: artifact.requires_bootstrap_stack_version,
        bootstrap_version_parameter: artifact.bootstrap_stack_version_ssm_parameter,
        notification_arns: artifact.notification_arns,
    }
}
