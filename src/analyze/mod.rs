//! stub
use crate::model::Stack;
/// stub
#[derive(Clone, Debug)]
pub struct PermissionChange {
    /// stub
    pub broadens: bool,
}
/// stub
pub fn permissions(_: &[Stack], _: &[Stack]) -> Vec<PermissionChange> {
    Vec::new()
}
