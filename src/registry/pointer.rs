//! JSON pointers (RFC 6901).

use std::fmt;
use std::str::FromStr;

use crate::model::{Text, Value};

/// A path into a JSON value: the keys and indices from the outside to the inside.
///
/// Its text form begins every token with `/` and writes `~1` for a slash in a key and `~0` for a
/// tilde; the empty text is the whole value. Whether a token is a key or an index only shows in the
/// value that it is used on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Vec<Text>);

/// The text is not a JSON pointer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a JSON pointer: it must be empty or begin with `/`, and `~` must be written `~0`"
)]
pub struct PointerError(String);

impl Pointer {
    /// Returns the pointer to the whole value.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns a pointer of its tokens, which are not escaped.
    pub fn from_tokens(tokens: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        Self(tokens.into_iter().map(Into::into).collect())
    }

    /// Returns the pointer to a member or an element of what `self` points to.
    #[must_use]
    pub fn child(&self, token: impl Into<Text>) -> Self {
        Self(self.0.iter().cloned().chain([token.into()]).collect())
    }

    /// Returns the tokens, not escaped.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(Text::as_str)
    }

    /// Returns the last token and the pointer to what it is in; `None` for the whole value.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let (last, rest) = self.0.split_last()?;
        Some((Self(rest.to_vec()), last))
    }

    /// Whether what `other` points to is inside of what `self` points to.
    pub fn is_proper_ancestor_of(&self, other: &Self) -> bool {
        other.0.len() > self.0.len() && other.0.starts_with(&self.0)
    }

    /// Returns what the pointer points to.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, token| match value {
            Value::Object(object) => object.get(token),
            Value::Array(items) => items.get(index(token)?),
            _ => None,
        })
    }
}

/// Reads a token as an index: digits without leading zeros.
pub(super) fn index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with('0');
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    token.parse().ok().filter(|_| is_plain && digits)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| {
            f.write_str("/")?;
            token.chars().try_for_each(|c| match c {
                '~' => f.write_str("~0"),
                '/' => f.write_str("~1"),
                c => fmt::Write::write_char(f, c),
            })
        })
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let tokens = text.strip_prefix('/').map(|rest| rest.split('/').map(unescape));
        let tokens = tokens.and_then(Iterator::collect::<Option<_>>);
        tokens.map(Self).ok_or_else(|| PointerError(text.to_owned()))
    }
}

fn unescape(token: &str) -> Option<Text> {
    let mut out = Text::default();
    let mut rest = token.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '~' => match rest.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::samples::json;

    #[test]
    fn a_pointer_reads_back_as_it_is_written() {
        for text in ["", "/", "/a", "/a~1b/0", "/~01", "//", "/é"] {
            assert_eq!(text.parse::<Pointer>().unwrap().to_string(), text);
        }
        assert_eq!("/~01".parse::<Pointer>().unwrap(), Pointer::from_tokens(["~1"]));
    }

    #[test]
    fn a_malformed_pointer_is_refused_with_its_text() {
        for text in ["a", "a/b", "/~", "/~2", "/a~"] {
            let error = text.parse::<Pointer>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn the_examples_of_the_standard_point_where_it_says() {
        let text = r#"{"":0," ":7,"a/b":1,"c%d":2,"foo":["bar","baz"],"m~n":8}"#;
        let value = json::parse(text).unwrap();
        for (pointer, expected) in [
            ("", text),
            ("/foo", r#"["bar","baz"]"#),
            ("/foo/0", r#""bar""#),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/m~0n", "8"),
            ("/ ", "7"),
        ] {
            let found = pointer.parse::<Pointer>().unwrap().of(&value).map(json::to_compact);
            assert_eq!(found.as_deref(), Some(expected), "{pointer}");
        }
        for missing in ["/bar", "/foo/2", "/foo/00", "/foo/-", "/foo/+1", "/a~1b/c"] {
            assert_eq!(missing.parse::<Pointer>().unwrap().of(&value), None, "{missing}");
        }
    }
}
