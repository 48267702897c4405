//! The table of resource types, searched where it lies: nothing is parsed when the program
//! starts.
//!
//! The data comes from the registry schemas of CloudFormation (`data/README.md`). Its format is
//! described in `data/generate.py`, which writes it.

use std::cmp::Ordering;

use super::path::covers;

/// One type per line, sorted by bytes; a first line with the source, which sorts before them.
static TABLE: &str = include_str!("../../data/resource-types.tsv");

/// What the registry says of a resource type. Properties are paths below `Properties`, their
/// segments separated by `/`; `*` stands for any index or key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    line: &'static str,
}

/// Returns what is known of a type; `None` for custom resources, third-party types and types
/// that are newer than the data.
pub fn lookup(resource_type: &str) -> Option<TypeInfo> {
    let (mut low, mut high) = (0, TABLE.len());
    while low < high {
        let middle = low + (high - low) / 2;
        // The table is ASCII, so that every byte is a character of its own.
        let start = TABLE.get(low..middle)?.rfind('\n').map_or(low, |at| low + at + 1);
        let rest = TABLE.get(start..high)?;
        let line = rest.split('\n').next()?;
        match line.split('\t').next()?.cmp(resource_type) {
            Ordering::Less => low = start + line.len() + 1,
            Ordering::Greater => high = start,
            Ordering::Equal if line.starts_with('#') => return None,
            Ordering::Equal => return Some(TypeInfo { line }),
        }
    }
    None
}

/// Returns the names of all types that are known, in their order.
pub fn type_names() -> impl Iterator<Item = &'static str> {
    let lines = TABLE.split('\n').filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split('\t').next()).filter(|name| !name.is_empty())
}

/// Returns where the data comes from, with version and date.
pub fn source() -> &'static str {
    let first = TABLE.split('\n').next().unwrap_or_default();
    first.trim_start_matches(['#', ' '])
}

impl TypeInfo {
    fn field(self, at: usize) -> &'static str {
        self.line.split('\t').nth(at).unwrap_or_default()
    }

    fn list(self, at: usize) -> impl Iterator<Item = &'static str> {
        self.field(at).split(',').filter(|path| !path.is_empty())
    }

    /// Returns the name of the type.
    pub fn name(self) -> &'static str {
        self.field(0)
    }

    /// Returns the properties whose values together identify a resource of this type.
    pub fn primary_identifier(self) -> impl Iterator<Item = &'static str> {
        self.list(1)
    }

    /// Returns the properties that cannot be changed without a replacement.
    pub fn create_only(self) -> impl Iterator<Item = &'static str> {
        self.list(2)
    }

    /// Returns the properties that cannot always be changed without a replacement.
    pub fn conditionally_create_only(self) -> impl Iterator<Item = &'static str> {
        self.list(3)
    }

    /// Returns the properties that cannot be set: the service assigns them.
    pub fn read_only(self) -> impl Iterator<Item = &'static str> {
        self.list(4)
    }

    /// Returns the properties that cannot be read back.
    pub fn write_only(self) -> impl Iterator<Item = &'static str> {
        self.list(5)
    }

    /// Returns the initials of the handlers that the type has: create, read, update, delete,
    /// list.
    pub fn handlers(self) -> &'static str {
        self.field(6)
    }

    /// Returns the property that holds the tags.
    pub fn tag_property(self) -> Option<&'static str> {
        Some(self.field(7)).filter(|path| !path.is_empty())
    }

    /// Returns the properties that should not be used any more.
    pub fn deprecated(self) -> impl Iterator<Item = &'static str> {
        self.list(8)
    }

    /// Returns the order in which a replacement happens, where the type prescribes one:
    /// `create_then_delete` or `delete_then_create`.
    pub fn replacement_strategy(self) -> Option<&'static str> {
        Some(self.field(9)).filter(|strategy| !strategy.is_empty())
    }

    /// Returns other groups of properties, each of which identifies a resource as well.
    pub fn additional_identifiers(self) -> Vec<Vec<&'static str>> {
        let groups = self.field(10).split(';').filter(|group| !group.is_empty());
        groups.map(|group| group.split(',').collect()).collect()
    }

    /// Whether a change of the property at this path (below `Properties`, `Tags/0/Value`)
    /// replaces the resource.
    pub fn is_create_only(self, path: &str) -> bool {
        self.create_only().any(|schema| covers(schema, path))
    }

    /// Whether a change of the property at this path may replace the resource.
    pub fn is_conditionally_create_only(self, path: &str) -> bool {
        self.conditionally_create_only().any(|schema| covers(schema, path))
    }

    /// Whether the service assigns the property at this path.
    pub fn is_read_only(self, path: &str) -> bool {
        self.read_only().any(|schema| covers(schema, path))
    }

    /// Returns the primary identifier if a template can set all of it: then two resources with
    /// the same values are the same resource. `None` if the service assigns a part of it.
    pub fn settable_identifier(self) -> Option<Vec<&'static str>> {
        let identifier: Vec<_> = self.primary_identifier().collect();
        let settable = |path: &&str| !self.is_read_only(path);
        (!identifier.is_empty() && identifier.iter().all(settable)).then_some(identifier)
    }

    /// Whether resources of this type can be created, read, updated and deleted through the
    /// registry (`ProvisioningType` is `FULLY_MUTABLE`).
    pub fn fully_mutable(self) -> bool {
        "crud".chars().all(|handler| self.handlers().contains(handler))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str) -> TypeInfo {
        lookup(name).unwrap_or_else(|| panic!("{name} is unknown"))
    }

    #[test]
    fn every_type_of_the_table_is_found() {
        let mut count = 0;
        let mut last = "";
        for line in TABLE.lines().skip(1) {
            let name = line.split('\t').next().unwrap();
            assert_eq!(info(name).name(), name);
            assert!(last < name, "{name} is out of order");
            last = name;
            count += 1;
        }
        assert_eq!(count, 1898);
    }

    #[test]
    fn what_is_not_in_the_table_is_not_found() {
        for name in ["", "A", "AWS::S3::Bucke", "AWS::S3::Buckets", "Custom::X", "zzz", "#"] {
            assert_eq!(lookup(name), None, "{name}");
        }
        assert_eq!(lookup(&format!("# {}", source())), None);
    }

    #[test]
    fn the_table_is_made_of_the_committed_data() {
        let text = include_str!("../../data/resource-types.json");
        let data: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(data["source"], source());
        let types = data["types"].as_object().unwrap();
        assert_eq!(types.len(), 1898);
        for (name, expected) in types {
            let info = info(name);
            let same = |key: &str, found: Vec<&str>| {
                let expected: Vec<_> = expected[key].as_array().into_iter().flatten().collect();
                assert_eq!(found, expected, "{name}: {key}");
            };
            same("p", info.primary_identifier().collect());
            same("c", info.create_only().collect());
            same("x", info.conditionally_create_only().collect());
            same("r", info.read_only().collect());
            same("w", info.write_only().collect());
            same("d", info.deprecated().collect());
            assert_eq!(info.handlers(), expected["h"]);
            assert_eq!(info.tag_property(), expected["t"].as_str());
            assert_eq!(info.replacement_strategy(), expected["s"].as_str());
            let groups = expected["ai"].as_array().into_iter().flatten();
            let groups: Vec<_> = groups.map(|group| group.as_array().unwrap()).collect();
            assert_eq!(info.additional_identifiers().len(), groups.len());
            for (found, expected) in info.additional_identifiers().iter().zip(groups) {
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_bucket_is_identified_by_the_name_that_a_template_may_set() {
        assert_eq!(info("AWS::S3::Bucket").settable_identifier(), Some(vec!["BucketName"]));
        assert_eq!(info("AWS::SQS::Queue").settable_identifier(), None);
        assert_eq!(info("AWS::ApiGateway::Deployment").settable_identifier(), None);
        assert_eq!(info("AWS::SSM::Parameter").settable_identifier(), Some(vec!["Name"]));
    }

    #[test]
    fn names_that_the_cdk_writes_into_properties_are_create_only() {
        assert!(info("AWS::EC2::SecurityGroup").is_create_only("GroupDescription"));
        assert!(!info("AWS::EC2::SecurityGroup").is_create_only("Tags/0/Value"));
        assert!(info("AWS::ECS::TaskDefinition").is_create_only("Family"));
        assert!(
            info("AWS::ECS::TaskDefinition").is_create_only("ContainerDefinitions/0/Name"),
            "a container covers what is in it"
        );
        assert!(info("AWS::Lambda::Function").is_conditionally_create_only("DurableConfig/X"));
    }

    #[test]
    fn only_what_can_be_read_and_updated_is_fully_mutable() {
        assert!(info("AWS::S3::Bucket").fully_mutable());
        assert!(!info("AWS::IAM::Policy").fully_mutable());
        assert!(!info("AWS::Lambda::Permission").fully_mutable());
    }
}
