//! What an assembly holds, as the rest of the program sees it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::model::{ConstructPath, Environment, Stack, TreeNode};

/// A cloud assembly with everything that was read from it.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The directory, as it was given.
    pub directory: PathBuf,
    /// The schema version of the outermost manifest, such as `55.0.0`.
    pub version: String,
    /// The major part of the version.
    pub schema_major: u64,
    /// All stacks: those of the outermost assembly first, then those of nested ones level by
    /// level; in each assembly by artifact id.
    pub stacks: Vec<AssemblyStack>,
    /// The context values that the app lacked, each key once: it was synthesized with made-up ones
    /// and has to be synthesized again.
    pub missing: Vec<Missing>,
    /// The constructs of the app that the tree or the metadata tell of, each once, in the order
    /// of the tree.
    pub constructs: Vec<TreeNode>,
    /// What was passed over, a sentence each: artifacts of unknown types, nested stacks without a
    /// template, a broken construct tree.
    pub warnings: Vec<String>,
}

/// A context value that an app lacked (cloud assembly schema, `MissingContext`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The key under which the app looks for it.
    pub key: String,
    /// Who knows it, such as `vpc-provider`.
    pub provider: String,
    /// What the provider has to be told: account and region, the role to look up with, and what
    /// is looked for.
    pub props: BTreeMap<String, Json>,
}

impl Assembly {
    /// Returns the keys of the context values that the app lacked.
    pub fn missing_keys(&self) -> Vec<String> {
        self.missing.iter().map(|missing| missing.key.clone()).collect()
    }
}

/// A stack of an assembly.
#[derive(Clone, Debug)]
pub struct AssemblyStack {
    /// The key of the artifact in its manifest.
    pub artifact_id: String,
    /// What patterns match: the display name (`Stage/Stack`), or the artifact id.
    pub hierarchical_id: String,
    /// Where the stack goes.
    pub environment: Environment,
    /// Name, template and constructs.
    pub stack: Stack,
    /// All nested stacks below it, parents before children. A nested stack is called
    /// `Parent/LogicalId`.
    pub nested: Vec<Stack>,
    /// Whether the stack is in the outermost assembly, not in a stage.
    pub top_level: bool,
    /// The tags of the stack.
    pub tags: BTreeMap<String, String>,
    /// Hierarchical ids of the stacks that have to be deployed before this one.
    pub dependencies: Vec<String>,
    /// What the app excludes from refactoring (metadata `aws:cdk:do-not-refactor` or
    /// `aws:cdk:skip-refactor` in the assembly): construct paths, and the logical IDs of the
    /// same constructs where they are known. Marks in templates are not repeated here.
    pub do_not_refactor: Vec<String>,
    /// The path of the stack's own construct, where it can be told.
    pub construct_path: Option<ConstructPath>,
    /// The rest of what the manifest says.
    pub properties: StackProperties,
}

/// Properties of a stack in the manifest (cloud assembly schema,
/// `AwsCloudFormationStackProperties`). ARNs and URLs may hold the placeholders
/// `${AWS::Partition}`, `${AWS::AccountId}` and `${AWS::Region}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackProperties {
    /// The file of the template.
    pub template_file: PathBuf,
    /// Whether the stack is to be protected from deletion; `None`: leave it as it is.
    pub termination_protection: Option<bool>,
    /// The role to deploy with.
    pub assume_role_arn: Option<String>,
    /// The external id that this role wants.
    pub assume_role_external_id: Option<String>,
    /// Further parameters of its session (`assumeRoleAdditionalOptions`), such as `Tags`.
    pub assume_role_options: BTreeMap<String, Json>,
    /// The role that CloudFormation works with.
    pub execution_role_arn: Option<String>,
    /// The role to look things up with.
    pub lookup_role: Option<LookupRole>,
    /// Values of parameters of the template.
    pub parameters: BTreeMap<String, String>,
    /// Where the template is uploaded to, `s3://bucket/key`.
    pub template_asset_url: Option<String>,
    /// The least version of the bootstrap stack.
    pub requires_bootstrap_version: Option<u64>,
    /// The SSM parameter that holds the version of the bootstrap stack.
    pub bootstrap_version_parameter: Option<String>,
    /// Topics that get the events of the stack; `None`: leave them as they are.
    pub notification_arns: Option<Vec<String>>,
}

/// The role to look things up with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupRole {
    /// Its ARN.
    pub arn: String,
    /// The external id that it wants.
    pub external_id: Option<String>,
    /// Further parameters of its session (`assumeRoleAdditionalOptions`).
    pub options: BTreeMap<String, Json>,
    /// The least version of the bootstrap stack that has it.
    pub requires_bootstrap_version: Option<u64>,
    /// The SSM parameter that holds the version of the bootstrap stack.
    pub bootstrap_version_parameter: Option<String>,
}

impl AssemblyStack {
    /// Returns the stack and then its nested stacks.
    pub fn all(&self) -> impl Iterator<Item = &Stack> {
        std::iter::once(&self.stack).chain(&self.nested)
    }

    /// Returns what people see: the hierarchical id, and the name if it is another one.
    pub fn label(&self) -> String {
        if self.stack.name.as_str() == self.hierarchical_id {
            self.hierarchical_id.clone()
        } else {
            format!("{} ({})", self.hierarchical_id, self.stack.name)
        }
    }
}
