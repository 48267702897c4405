//! What a change of a property does to a resource, and what becomes of a resource by default.

use super::table::lookup;

/// Whether CloudFormation makes a new resource when a property changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replacement {
    /// The resource is changed where it is.
    Never,
    /// In some cases, which the registry does not tell.
    Sometimes,
    /// Always.
    Always,
}

/// Returns what a change of the property at a path (below `Properties`, `Tags/0/Value`) does to a
/// resource of a type. A type without an update handler is replaced by every change (registry,
/// "handlers"). Types that the registry does not know are changed where they are.
pub fn replacement(resource_type: &str, path: &str) -> Replacement {
    let Some(info) = lookup(resource_type) else { return Replacement::Never };
    let never_updated = !info.handlers().is_empty() && !info.handlers().contains('u');
    if never_updated || info.is_create_only(path) {
        Replacement::Always
    } else if info.is_conditionally_create_only(path) {
        Replacement::Sometimes
    } else {
        Replacement::Never
    }
}

/// Whether CloudFormation takes a snapshot of what it deletes when the template says nothing
/// (user guide, "`DeletionPolicy` attribute"): clusters of databases, and databases that belong to
/// none.
pub fn snapshots_by_default(resource_type: &str, is_in_cluster: bool) -> bool {
    match resource_type {
        "AWS::RDS::DBCluster" => true,
        "AWS::RDS::DBInstance" => !is_in_cluster,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_cannot_be_updated_is_replaced_by_every_change() {
        assert_eq!(replacement("AWS::Lambda::Permission", "Action"), Replacement::Always);
    }

    #[test]
    fn the_registry_tells_which_properties_replace() {
        assert_eq!(replacement("AWS::S3::Bucket", "BucketName"), Replacement::Always);
        assert_eq!(replacement("AWS::S3::Bucket", "Tags/0/Value"), Replacement::Never);
        assert_eq!(replacement("AWS::DynamoDB::Table", "KeySchema"), Replacement::Sometimes);
        assert_eq!(replacement("Custom::Thing", "Any"), Replacement::Never);
    }

    #[test]
    fn databases_leave_a_snapshot_unless_a_cluster_holds_their_data() {
        assert!(snapshots_by_default("AWS::RDS::DBCluster", false));
        assert!(snapshots_by_default("AWS::RDS::DBInstance", false));
        assert!(!snapshots_by_default("AWS::RDS::DBInstance", true));
        assert!(!snapshots_by_default("AWS::S3::Bucket", false));
    }
}
