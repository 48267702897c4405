//! The nodes of an app's construct tree.

use super::{ConstructPath, LogicalId, Text};

/// A construct of the app, as far as a cloud assembly tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Where it is, without the root.
    pub path: ConstructPath,
    /// The class that the framework knows it by, such as `aws-cdk-lib.aws_s3.Bucket`: that of a
    /// class of the app itself is the nearest one of a library.
    pub class: Option<Text>,
    /// The logical ID, if the construct is a resource, parameter or the like of a template.
    pub logical_id: Option<LogicalId>,
    /// The construct is a stage: it has an assembly of its own.
    pub is_stage: bool,
}

impl TreeNode {
    /// Returns a construct of which only the path is known.
    pub fn new(path: &str) -> Self {
        Self { path: path.into(), class: None, logical_id: None, is_stage: false }
    }
}
