//! `tree.json`: the paths of all constructs, with and without resources.
//!
//! Paths, classes and logical IDs are kept; other attributes, which are most of the file, are
//! skipped while reading. The tree of a very large app is cut into `trees-N.json` files, to which nodes refer by file and
//! id.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::confine::{Confined, Mention, Root};
use super::error::AssemblyError;
use super::manifest::read_json;
use crate::model::{LogicalId, Text, TreeNode};

/// The paths that were found, and why there may be too few of them.
#[derive(Debug, Default)]
pub(super) struct Constructs {
    /// The paths, without the empty one of the root.
    pub paths: BTreeSet<String>,
    /// The constructs in the order of the file; one whose subtree is in another file twice.
    pub nodes: Vec<TreeNode>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// A tree without the subtrees that are in other files.
#[derive(Debug, Default)]
struct Part {
    nodes: Vec<TreeNode>,
    elsewhere: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct TreeFile {
    tree: Part,
}

#[derive(Deserialize)]
struct ForestFile {
    forest: BTreeMap<String, Part>,
}

/// Reads a construct tree and all files that it refers to. What is broken is left out with a
/// warning: the tree only helps, nothing depends on it.
pub(super) fn read(root: &Root, file: &Confined) -> Constructs {
    let mut constructs = Constructs::default();
    let mut open = match read_json::<TreeFile>(&file.path) {
        Ok(TreeFile { tree }) => constructs.take(tree),
        Err(error) => {
            constructs.warn(&file.path.display(), &error);
            return constructs;
        }
    };
    let Some(directory) = file.path.parent() else { return constructs };
    let mut forests: BTreeMap<String, BTreeMap<String, Part>> = BTreeMap::new();
    while let Some((name, id)) = open.pop() {
        if !forests.contains_key(&name) {
            let mention = Mention { file: &file.path, what: "`fileName` of a subtree" };
            let forest = match root
                .resolve(directory, &name, mention)
                .and_then(|forest| read_json::<ForestFile>(&forest.path))
            {
                Ok(file) => file.forest,
                Err(error) => {
                    constructs.warn(&name, &error);
                    BTreeMap::new()
                }
            };
            forests.insert(name.clone(), forest);
        }
        // Taking the part out makes sure that every one is visited only once.
        if let Some(part) = forests.get_mut(&name).and_then(|forest| forest.remove(&id)) {
            open.extend(constructs.take(part));
        }
    }
    constructs
}

impl Constructs {
    fn take(&mut self, part: Part) -> Vec<(String, String)> {
        self.paths.extend(part.nodes.iter().map(|node| node.path.to_string()));
        self.nodes.extend(part.nodes);
        part.elsewhere
    }

    fn warn(&mut self, file: &dyn fmt::Display, error: &AssemblyError) {
        self.warnings.push(format!("the construct tree `{file}` is left out: {error}"));
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut part = Self::default();
        Node(&mut part).deserialize(deserializer)?;
        Ok(part)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Field {
    Path,
    Children,
    FileName,
    TreeId,
    Attributes,
    ConstructInfo,
    #[serde(other)]
    Other,
}

/// A node that adds itself and everything below it to a part. `serde_json` bounds the depth.
struct Node<'a>(&'a mut Part);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node of the construct tree")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut file, mut id) = (None, None);
        let (mut node, mut class, mut logical_id) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Path => {
                    let path: String = map.next_value()?;
                    if !path.is_empty() {
                        node = Some(self.0.nodes.len());
                        self.0.nodes.push(TreeNode::new(&path));
                    }
                }
                Field::Attributes => logical_id = map.next_value::<Attributes>()?.0,
                Field::ConstructInfo => {
                    let info: serde_json::Value = map.next_value()?;
                    class = info.get("fqn").and_then(|name| name.as_str()).map(Text::from);
                }
                Field::Children => map.next_value_seed(Children(&mut *self.0))?,
                Field::FileName => file = map.next_value::<Option<String>>()?,
                Field::TreeId => id = map.next_value::<Option<String>>()?,
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        // Both stand after the children.
        if let Some(node) = node.and_then(|at| self.0.nodes.get_mut(at)) {
            node.is_stage = class.as_ref().is_some_and(|class| {
                matches!(class.as_str(), "aws-cdk-lib.Stage" | "@aws-cdk/core.Stage")
            });
            node.class = class;
            node.logical_id = logical_id;
        }
        self.0.elsewhere.extend(file.zip(id));
        Ok(())
    }
}

/// The attributes of a node: of interest is only the logical ID, which recent versions give.
struct Attributes(Option<LogicalId>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttributesVisitor;
        impl<'de> Visitor<'de> for AttributesVisitor {
            type Value = Attributes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the attributes of a construct")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut id = None;
                while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    if key == "aws:cdk:cloudformation:logicalId" {
                        let value: serde_json::Value = map.next_value()?;
                        id = value.as_str().map(LogicalId::from);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Attributes(id))
            }
        }
        deserializer.deserialize_map(AttributesVisitor)
    }
}

/// The children of a node: by id, or a list as releases before 1.20 wrote it.
struct Children<'a>(&'a mut Part);

impl<'de> DeserializeSeed<'de> for Children<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Children<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the children of a node of the construct tree")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Node(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Node(&mut *self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_files(files: &[(&str, &str)]) -> Constructs {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let root = Root::new(directory.path()).unwrap();
        let mention = Mention { file: directory.path(), what: "the tree" };
        let file = root.resolve(directory.path(), "tree.json", mention).unwrap();
        read(&root, &file)
    }

    fn paths(constructs: &Constructs) -> Vec<&str> {
        constructs.paths.iter().map(String::as_str).collect()
    }

    #[test]
    fn constructs_without_resources_are_found() {
        let found = read_files(&[(
            "tree.json",
            r#"{"version":"tree-0.1","tree":{"id":"App","path":"","children":{
                "S":{"id":"S","path":"S","attributes":{"x":[[[{}]]]},"children":{
                    "A":{"id":"A","path":"S/A"}}}}}}"#,
        )]);
        assert_eq!(paths(&found), ["S", "S/A"]);
        assert!(found.warnings.is_empty());
    }

    #[test]
    fn children_that_are_a_list_are_found_as_well() {
        let found = read_files(&[(
            "tree.json",
            r#"{"version":"tree-0.1","tree":{"id":"App","path":"","children":[
                {"id":"Tree","path":"Tree"},
                {"id":"S","path":"S","children":[{"id":"A","path":"S/A"}]}]}}"#,
        )]);
        assert_eq!(paths(&found), ["S", "S/A", "Tree"]);
        assert_eq!(found.warnings, Vec::<String>::new());
    }

    #[test]
    fn class_and_logical_id_of_a_construct_are_read_wherever_they_stand() {
        let found = read_files(&[(
            "tree.json",
            r#"{"tree":{"path":"","children":{
                "P":{"path":"P","constructInfo":{"fqn":"aws-cdk-lib.Stage","version":"2"},"children":{
                    "A":{"path":"P/A","children":{"B":{"path":"P/A/B"}},"attributes":{
                        "aws:cdk:cloudformation:props":{"x":{}},
                        "aws:cdk:cloudformation:logicalId":"A1"},
                        "constructInfo":{"fqn":"aws-cdk-lib.aws_s3.CfnBucket"}}}}}}}"#,
        )]);
        let [stage, a, b] = found.nodes.as_slice() else { panic!("{:?}", found.nodes) };
        assert!(stage.is_stage && !a.is_stage);
        assert_eq!(a.class.as_deref(), Some("aws-cdk-lib.aws_s3.CfnBucket"));
        assert_eq!(a.logical_id, Some("A1".into()));
        assert_eq!(b, &TreeNode::new("P/A/B"));
    }

    #[test]
    fn a_split_tree_is_put_together_and_a_cycle_ends() {
        let found = read_files(&[
            (
                "tree.json",
                r#"{"tree":{"path":"","children":{
                    "S":{"path":"S","fileName":"trees-1.json","treeId":"t0"}}}}"#,
            ),
            (
                "trees-1.json",
                r#"{"forest":{"orphan":{"path":"X"},"t0":{"path":"S","children":{
                    "A":{"path":"S/A","fileName":"trees-1.json","treeId":"t0"}}}}}"#,
            ),
        ]);
        assert_eq!(paths(&found), ["S", "S/A"]);
    }

    #[test]
    fn a_broken_tree_is_a_warning() {
        for text in ["{", r#"{"tree":[]}"#, r#"{"tree":{"children":{"A":1}}}"#] {
            let found = read_files(&[("tree.json", text)]);
            assert_eq!(found.warnings.len(), 1);
            assert!(found.warnings[0].contains("tree.json"), "{}", found.warnings[0]);
        }
    }

    #[test]
    fn a_missing_or_outside_part_is_a_warning_and_the_rest_is_kept() {
        for name in ["trees-9.json", "../trees-1.json"] {
            let tree = format!(
                r#"{{"tree":{{"path":"","children":{{"S":{{"path":"S","fileName":"{name}","treeId":"t"}}}}}}}}"#
            );
            let found = read_files(&[("tree.json", &tree)]);
            assert_eq!(paths(&found), ["S"]);
            assert_eq!(found.warnings.len(), 1);
            assert!(found.warnings[0].contains(name), "{}", found.warnings[0]);
        }
    }

    #[test]
    fn a_tree_of_ten_thousand_levels_is_a_warning() {
        let tree = format!(
            r#"{{"tree":{}{{}}{}}}"#,
            r#"{"children":{"a":"#.repeat(10_000),
            "}}".repeat(10_000)
        );
        assert_eq!(read_files(&[("tree.json", &tree)]).warnings.len(), 1);
    }
}
