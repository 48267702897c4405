//! The construct tree of a side, with the resources that its constructs are.
//!
//! What says which resource a construct is, in order of trust: the logical ID in the tree or, in
//! older assemblies, in the metadata; the path in the resource's own metadata. A resource without
//! either stands at `Stack/LogicalId`.

use std::collections::{HashMap, HashSet};

use super::tree::{Construct, Tree, TreeError};
use crate::model::{ConstructPath, Location, Object, ResourceType, Stack, Text, TreeNode, Value};

/// Returns the tree of the app as it is now.
pub(super) fn of_app<S>(nodes: &[TreeNode], stacks: &[Stack]) -> Result<Tree<S>, TreeError> {
    let mut tree = Tree::new("");
    let mut owners: HashMap<&ConstructPath, usize> = HashMap::new();
    for (at, stack) in stacks.iter().enumerate() {
        owners.extend(stack.constructs.iter().map(|path| (path, at)));
    }
    let mut taken: HashSet<Location> = HashSet::new();
    for node in nodes {
        let stack = owners.get(&node.path).map(|at| &stacks[*at]);
        let resource = stack.zip(node.logical_id.as_ref()).and_then(|(stack, id)| {
            let body = stack.template.resource(id.as_str())?;
            let location = Location { stack: stack.name.clone(), logical_id: id.clone() };
            taken.insert(location.clone()).then_some((location, kind(body)))
        });
        tree.add(Construct {
            path: node.path.clone(),
            class: node.class.clone(),
            resource,
            is_stage: node.is_stage,
        })?;
    }
    add_resources(&mut tree, stacks, &taken)?;
    Ok(tree)
}

/// Returns the tree of what is deployed: the constructs that templates name, with what the app as
/// it is now knows of those that are still there.
pub(super) fn of_templates<S>(nodes: &[TreeNode], stacks: &[Stack]) -> Result<Tree<S>, TreeError> {
    let mut tree = Tree::new("");
    add_resources(&mut tree, stacks, &HashSet::new())?;
    for node in nodes {
        if tree.construct(node.path.as_str()).is_some() {
            let (class, is_stage) = (node.class.clone(), node.is_stage);
            tree.add(Construct { class, is_stage, ..Construct::new(node.path.as_str()) })?;
        }
    }
    Ok(tree)
}

fn add_resources<S>(
    tree: &mut Tree<S>,
    stacks: &[Stack],
    taken: &HashSet<Location>,
) -> Result<(), TreeError> {
    for stack in stacks {
        for (id, body) in stack.template.resources() {
            let location = Location { stack: stack.name.clone(), logical_id: id.clone().into() };
            if taken.contains(&location) {
                continue;
            }
            let mut path = path_of(body)
                .filter(|path| !is_taken(tree, path))
                .unwrap_or_else(|| format!("{}/{id}", stack.display_name));
            while is_taken(tree, &path) {
                path.push('~');
            }
            let resource = Some((location, kind(body)));
            tree.add(Construct { resource, ..Construct::new(&path) })?;
        }
    }
    Ok(())
}

fn is_taken<S>(tree: &Tree<S>, path: &str) -> bool {
    tree.construct(path).is_some_and(|construct| construct.resource.is_some())
}

/// Returns the path that a resource carries.
fn path_of(body: &Object) -> Option<String> {
    let path = body.get("Metadata")?.get("aws:cdk:path")?.as_str()?;
    let path = path.trim_matches('/');
    (!path.is_empty()).then(|| path.to_owned())
}

/// Returns the type of a resource.
pub(super) fn kind(body: &Object) -> ResourceType {
    body.get("Type").and_then(Value::as_str).map_or_else(|| Text::default().into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template;

    fn stack(name: &str, constructs: &[&str], resources: &str) -> Stack {
        let text = format!(r#"{{"Resources":{resources}}}"#);
        let mut stack = Stack::new(name, template::parse(text.as_bytes()).unwrap());
        stack.constructs = constructs.iter().map(|path| ConstructPath::from(*path)).collect();
        stack
    }

    fn node(path: &str, class: &str, id: Option<&str>) -> TreeNode {
        TreeNode {
            class: Some(class.into()),
            logical_id: id.map(Into::into),
            ..TreeNode::new(path)
        }
    }

    fn resources(tree: &Tree<()>) -> Vec<String> {
        let with = tree
            .constructs()
            .filter_map(|one| Some(format!("{} {}", one.path, one.resource.as_ref()?.0)));
        with.collect()
    }

    #[test]
    fn the_tree_goes_before_the_metadata_of_a_resource_and_both_before_a_made_up_path() {
        let stacks = [stack(
            "S",
            &["S/A", "S/B"],
            r#"{"A1":{"Type":"T::A::A","Metadata":{"aws:cdk:path":"S/Elsewhere"}},
                "B1":{"Type":"T::B::B","Metadata":{"aws:cdk:path":"S/B/Resource"}},
                "C1":{"Type":"T::C::C"}}"#,
        )];
        let nodes = [node("S/A", "x.A", Some("A1")), node("S/B", "x.B", Some("None"))];
        let tree = of_app(&nodes, &stacks).unwrap();
        assert_eq!(resources(&tree), ["S/A S.A1", "S/B/Resource S.B1", "S/C1 S.C1"]);
        assert_eq!(tree.construct("S/B").unwrap().class.as_deref(), Some("x.B"));
    }

    #[test]
    fn two_resources_of_one_path_are_both_there() {
        let twice = r#"{"A":{"Type":"T::A::A","Metadata":{"aws:cdk:path":"S/X"}},
                        "B":{"Type":"T::A::A","Metadata":{"aws:cdk:path":"S/X"}}}"#;
        let tree = of_app(&[], &[stack("S", &[], twice)]).unwrap();
        assert_eq!(resources(&tree), ["S/X S.A", "S/B S.B"]);
    }

    #[test]
    fn what_is_deployed_learns_the_classes_of_what_is_still_there() {
        let text = r#"{"A":{"Type":"T::A::A","Metadata":{"aws:cdk:path":"P/S/X/Resource"}}}"#;
        let stage = TreeNode { is_stage: true, ..node("P", "aws-cdk-lib.Stage", None) };
        let nodes = [stage, node("P/S/X", "x.X", None), node("P/S/New", "x.New", None)];
        let tree: Tree<()> = of_templates(&nodes, &[stack("P-S", &[], text)]).unwrap();
        assert!(tree.construct("P").unwrap().is_stage);
        assert_eq!(tree.construct("P/S/X").unwrap().class.as_deref(), Some("x.X"));
        assert!(tree.construct("P/S/New").is_none());
        assert_eq!(resources(&tree), ["P/S/X/Resource P-S.A"]);
    }
}
