//! A value as a list of its leaves, and back: nothing is lost on the way.

use rustc_hash::FxHashMap as HashMap;

use super::pointer::Pointer;
use crate::model::{Object, Text, Value};

/// One step into a value. A key that looks like an index is still a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The key of a member.
    Key(Text),
    /// The index of an element.
    Index(usize),
}

/// A leaf: a scalar, null, or a list or an object with nothing in it; and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The steps from the outside to the inside.
    pub path: Vec<Segment>,
    /// What is there.
    pub value: Value,
}

/// Why leaves do not make a value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnflattenError {
    /// There is no leaf.
    #[error("there is nothing to make a value of")]
    Nothing,
    /// Something is a leaf and has something in it, or is given twice.
    #[error("`{0}` has a value of its own and something in it, or is given twice")]
    Twice(Pointer),
    /// Something has keys and indices.
    #[error("`{0}` has both keys and indices")]
    Mixed(Pointer),
    /// A list lacks an element.
    #[error("the list `{0}` has no element {1}")]
    Gap(Pointer, usize),
}

impl Leaf {
    /// Returns the path as a JSON pointer.
    pub fn pointer(&self) -> Pointer {
        pointer(&self.path)
    }
}

fn pointer(path: &[Segment]) -> Pointer {
    Pointer::from_tokens(path.iter().map(|segment| match segment {
        Segment::Key(key) => key.clone(),
        Segment::Index(at) => Text::from(at.to_string()),
    }))
}

/// Returns the leaves of a value, in the order of its text.
pub fn flatten(value: &Value) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    walk(value, &mut Vec::new(), &mut leaves);
    leaves
}

fn walk(value: &Value, path: &mut Vec<Segment>, leaves: &mut Vec<Leaf>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object.iter() {
                path.push(Segment::Key(key.clone()));
                walk(value, path, leaves);
                path.pop();
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, value) in items.iter().enumerate() {
                path.push(Segment::Index(at));
                walk(value, path, leaves);
                path.pop();
            }
        }
        leaf => leaves.push(Leaf { path: path.clone(), value: leaf.clone() }),
    }
}

/// Returns the value that has these leaves. Their order only decides that of keys.
///
/// # Errors
/// When the leaves contradict each other, or when there is none.
pub fn unflatten(leaves: &[Leaf]) -> Result<Value, UnflattenError> {
    match leaves {
        [] => Err(UnflattenError::Nothing),
        leaves => build(&leaves.iter().collect::<Vec<_>>(), 0),
    }
}

/// Makes the value at a depth, of leaves that have a common path up to there.
fn build(leaves: &[&Leaf], depth: usize) -> Result<Value, UnflattenError> {
    // There is at least one leaf: the caller and the grouping below see to it.
    let here = || pointer(&leaves[0].path[..depth]);
    if leaves.iter().any(|leaf| leaf.path.len() == depth) {
        return match leaves {
            [only] => Ok(only.value.clone()),
            _ => Err(UnflattenError::Twice(here())),
        };
    }
    let mut groups: Vec<(&Segment, Vec<&Leaf>)> = Vec::new();
    let mut index: HashMap<&Segment, usize> = HashMap::default();
    for leaf in leaves {
        let segment = &leaf.path[depth];
        let at = *index.entry(segment).or_insert(groups.len());
        if at == groups.len() {
            groups.push((segment, Vec::new()));
        }
        groups[at].1.push(leaf);
    }
    let is_list = |segment: &Segment| matches!(segment, Segment::Index(_));
    let lists = groups.iter().filter(|(segment, _)| is_list(segment)).count();
    if lists == 0 {
        let member = |(segment, leaves): (&Segment, Vec<&Leaf>)| match segment {
            Segment::Key(key) => Ok((key.clone(), build(&leaves, depth + 1)?)),
            Segment::Index(_) => Err(UnflattenError::Mixed(here())),
        };
        return Ok(Value::Object(groups.into_iter().map(member).collect::<Result<Object, _>>()?));
    }
    if lists < groups.len() {
        return Err(UnflattenError::Mixed(here()));
    }
    groups.sort_by(|left, right| left.0.cmp(right.0));
    let element = |(at, (segment, leaves)): (usize, (&Segment, Vec<&Leaf>))| {
        if *segment == Segment::Index(at) {
            build(&leaves, depth + 1)
        } else {
            Err(UnflattenError::Gap(here(), at))
        }
    };
    Ok(Value::Array(groups.into_iter().enumerate().map(element).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::samples;
    use crate::registry::samples::json;

    fn shown(text: &str) -> Vec<String> {
        let leaves = flatten(&json::parse(text).unwrap());
        let shown = |leaf: &Leaf| format!("{} {}", leaf.pointer(), json::to_compact(&leaf.value));
        leaves.iter().map(shown).collect()
    }

    fn leaf(path: &[Segment], value: &str) -> Leaf {
        Leaf { path: path.to_vec(), value: json::parse(value).unwrap() }
    }

    #[test]
    fn lists_and_objects_are_taken_apart() {
        assert_eq!(
            shown(r#"{"A":{"B":{"C":"D"},"E":"F"},"L":[{"a":1},[2]]}"#),
            [r#"/A/B/C "D""#, r#"/A/E "F""#, "/L/0/a 1", "/L/1/0 2"]
        );
    }

    #[test]
    fn null_and_what_is_empty_are_leaves() {
        assert_eq!(shown(r#"{"A":null,"B":{},"C":[]}"#), ["/A null", "/B {}", "/C []"]);
        assert_eq!(shown("{}"), [" {}"]);
        assert_eq!(shown("[[]]"), ["/0 []"]);
    }

    #[test]
    fn a_slash_in_a_key_does_not_split_it() {
        assert_eq!(shown(r#"{"Labels":{"a/b~c":"x"}}"#), [r#"/Labels/a~1b~0c "x""#]);
        assert_eq!(shown(r#"{"/":{"":1}}"#), ["/~1/ 1"]);
    }

    #[test]
    fn every_template_of_the_vectors_is_the_same_afterwards() {
        for text in [
            r#"{"A":{"B":{"C":"D"},"E":"F"},"G":"H"}"#,
            r#"{"E":{"X":[1]},"L":[{"a":1},{"b":2}]}"#,
            r#"{"A":{},"B":1}"#,
            r#"{"A":null}"#,
            r#"{"a/b":1}"#,
            r#"{"Labels":{"app.kubernetes.io/name":"x"}}"#,
            r#"{"":{"":1}}"#,
            r#"{"0":"key","list":["element"]}"#,
            "null",
            "[]",
        ] {
            let value = json::parse(text).unwrap();
            let back = unflatten(&flatten(&value)).unwrap();
            assert_eq!(json::to_compact(&back), text);
        }
    }

    #[test]
    fn leaves_that_contradict_each_other_are_refused() {
        let key = |key: &str| Segment::Key(key.into());
        let (at, a, b) = (Segment::Index, key("A"), key("B"));
        let error = |leaves: &[Leaf]| unflatten(leaves).unwrap_err().to_string();
        assert_eq!(unflatten(&[]), Err(UnflattenError::Nothing));
        let both = [leaf(std::slice::from_ref(&a), "1"), leaf(&[a.clone(), b.clone()], "2")];
        assert!(error(&both).starts_with("`/A` has a value of its own"));
        let mixed = [leaf(&[a.clone(), b], "1"), leaf(&[a.clone(), at(0)], "2")];
        assert!(error(&mixed).starts_with("`/A` has both"));
        let gap = [leaf(&[a.clone(), at(0)], "1"), leaf(&[a, at(2)], "2")];
        assert!(error(&gap).contains("no element 1"));
    }

    #[test]
    fn elements_may_come_in_any_order() {
        let leaves = [leaf(&[Segment::Index(1)], "1"), leaf(&[Segment::Index(0)], "0")];
        assert_eq!(unflatten(&leaves).unwrap(), json::parse("[0,1]").unwrap());
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost(value in samples::values()) {
            let back = unflatten(&flatten(&value)).unwrap();
            proptest::prop_assert_eq!(&back, &value);
            proptest::prop_assert_eq!(json::to_compact(&back), json::to_compact(&value));
        }
    }
}
