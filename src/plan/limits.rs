//! What CloudFormation allows ("CloudFormation quotas", and the guide of stack refactoring).

/// The most stacks of one refactor.
pub(super) const MOST_STACKS: usize = 5;

/// The most resources of a template.
pub(super) const MOST_RESOURCES: usize = 500;

/// The most outputs of a template.
pub(super) const MOST_OUTPUTS: usize = 200;

/// The longest template, in bytes.
pub(super) const MOST_BYTES: usize = 1_000_000;
