//! What templates are made of: JSON values, with numbers and the order of keys as written.

use std::fmt;

use rustc_hash::FxHashMap;

/// A string that keeps short content without an allocation of its own.
pub type Text = compact_str::CompactString;

/// A JSON value. Unlike `serde_json::Value` it keeps numbers exactly as they are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, digit for digit.
    Number(Number),
    /// A string.
    String(Text),
    /// A list.
    Array(Vec<Self>),
    /// An object, its keys in the order of the text.
    Object(Object),
}

/// A number, digit for digit as it stands in the text: no precision is lost.
#[derive(Clone, PartialEq, Eq)]
pub struct Number(Text);

impl Number {
    /// Takes the text of a JSON number. The caller vouches that it is one.
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the text of the number.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Objects with more keys than this keep an index from key to position.
const INDEXED_FROM: usize = 24;

/// The members of a JSON object: unique keys, in the order of the text.
///
/// A key that is given twice keeps its first place and its last value, as in JavaScript and in
/// CloudFormation.
#[derive(Clone, Default)]
pub struct Object {
    members: Vec<(Text, Value)>,
    index: Option<Box<Index>>,
}

/// Positions by key. In a box of its own: most objects are small and have none.
#[derive(Clone, Default)]
struct Index(FxHashMap<Text, usize>);

impl Object {
    /// Returns an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an object of its members.
    ///
    /// # Errors
    /// The first key that is given twice.
    pub fn from_unique(members: Vec<(Text, Value)>) -> Result<Self, Text> {
        let mut object = Self { members, index: None };
        object.reindex();
        let members = &object.members;
        let is_repeated = |at: usize| match &object.index {
            Some(index) => index.0.get(&members[at].0) != Some(&at),
            None => members[..at].iter().any(|(other, _)| *other == members[at].0),
        };
        let repeats = object.index.as_ref().is_none_or(|index| index.0.len() < members.len());
        match (0..members.len()).find(|at| repeats && is_repeated(*at)) {
            Some(at) => Err(members[at].0.clone()),
            None => Ok(object),
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).map(|at| &self.members[at].1)
    }

    /// Returns the value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).map(|at| &mut self.members[at].1)
    }

    /// Whether there is a member with this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Sets the value of a key; a new key goes to the end. Returns the value that was there.
    pub fn insert(&mut self, key: Text, value: Value) -> Option<Value> {
        if let Some(at) = self.position(&key) {
            return Some(std::mem::replace(&mut self.members[at].1, value));
        }
        if let Some(index) = &mut self.index {
            index.0.insert(key.clone(), self.members.len());
        }
        self.members.push((key, value));
        if self.index.is_none() && self.members.len() > INDEXED_FROM {
            self.reindex();
        }
        None
    }

    /// Makes the index anew, if there are enough members for one.
    fn reindex(&mut self) {
        self.index = (self.members.len() > INDEXED_FROM).then(|| {
            let keys = self.members.iter().enumerate();
            Box::new(Index(keys.map(|(at, (key, _))| (key.clone(), at)).collect()))
        });
    }

    /// Takes a member out; the order of the others stays.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.position(key)?;
        let (_, value) = self.members.remove(at);
        self.reindex();
        Some(value)
    }

    /// Returns the members in the order of the text.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Text, &Value)> + ExactSizeIterator {
        self.members.iter().map(|(key, value)| (key, value))
    }

    /// Returns the members in the order of the text, their values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut Value)> {
        self.members.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Returns the member if it is the only one: the shape of an intrinsic function.
    pub fn single(&self) -> Option<(&Text, &Value)> {
        match self.members.as_slice() {
            [(key, value)] => Some((key, value)),
            _ => None,
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.0.get(key).copied(),
            None => self.members.iter().position(|(other, _)| other == key),
        }
    }
}

impl PartialEq for Object {
    /// Two objects are equal when they have the same keys with equal values, in any order.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().all(|(key, value)| other.get(key).is_some_and(|theirs| theirs == value))
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(Text, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (Text, Value)>>(members: I) -> Self {
        let mut object = Self::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    }
}

impl Value {
    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the members of an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the elements of a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a key, if `self` is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Returns what kind of value this is, as a reader would call it: `a string`, `an object`…
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> Object {
        (0..count)
            .map(|n| (format!("k{n}").into(), Value::Number(Number::from_text(&n.to_string()))))
            .collect()
    }

    #[test]
    fn small_and_large_objects_find_their_members() {
        for count in [0, 1, INDEXED_FROM, INDEXED_FROM + 1, 500] {
            let object = numbered(count);
            assert_eq!(object.len(), count);
            for n in 0..count {
                assert!(object.contains_key(&format!("k{n}")));
            }
            assert!(!object.contains_key("other"));
        }
    }

    #[test]
    fn a_repeated_key_keeps_its_first_place_and_its_last_value() {
        let mut object = numbered(3);
        object.insert("k0".into(), Value::Null);
        assert_eq!(object.iter().next(), Some((&"k0".into(), &Value::Null)));
        assert_eq!(object.len(), 3);
    }

    #[test]
    fn removing_keeps_the_order_and_the_index_right() {
        let mut object = numbered(60);
        assert!(object.remove("k10").is_some());
        assert!(object.remove("k10").is_none());
        assert_eq!(object.get("k59"), Some(&Value::Number(Number::from_text("59"))));
        assert_eq!(object.iter().nth(10).map(|(key, _)| key.as_str()), Some("k11"));
    }

    #[test]
    fn equality_ignores_the_order_of_keys() {
        let forward: Object = numbered(3);
        let backward: Object = forward.iter().rev().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(forward, backward);
    }
}
