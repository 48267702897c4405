//! What is wrong with declared aspects.

use std::fmt;

use crate::model;

/// What is wrong with one place of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclareError {
    /// A key that means nothing there.
    #[error("{at}: `{key}` means nothing here{}", meant(.suggestion.as_deref(), .known))]
    UnknownKey {
        /// Where.
        at: String,
        /// The key.
        key: String,
        /// What may have been meant.
        suggestion: Option<String>,
        /// What there is.
        known: String,
    },
    /// A word that is none of those that there are.
    #[error("{at}: `{value}` is no {what}{}", meant(.suggestion.as_deref(), .known))]
    UnknownWord {
        /// Where.
        at: String,
        /// The word.
        value: String,
        /// What it should be.
        what: &'static str,
        /// What may have been meant.
        suggestion: Option<String>,
        /// What there is.
        known: String,
    },
    /// A value of another kind than expected.
    #[error("{at}: has to be {expected}, not {found}")]
    WrongKind {
        /// Where.
        at: String,
        /// What is expected.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Something that is needed is not there.
    #[error("{at}: {what} is missing")]
    Missing {
        /// Where.
        at: String,
        /// What.
        what: &'static str,
    },
    /// A pattern that cannot be read.
    #[error("{at}: `{pattern}` is no pattern: {message}")]
    Pattern {
        /// Where.
        at: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// Something that does not go together.
    #[error("{at}: {message}")]
    Contradiction {
        /// Where.
        at: String,
        /// What does not.
        message: String,
    },
    /// Two aspects of one name.
    #[error("two aspects are called `{id}`: {first} and {second}")]
    Duplicate {
        /// The name.
        id: String,
        /// Where the first one is.
        first: String,
        /// Where the second one is.
        second: String,
    },
    /// A file that cannot be used.
    #[error("{at}: `{file}` cannot be used: {message}")]
    File {
        /// Where it is named.
        at: String,
        /// Its name.
        file: String,
        /// Why not.
        message: String,
    },
}

/// All that is wrong with the declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DeclareErrors(pub Vec<DeclareError>);

impl fmt::Display for DeclareErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

fn meant(suggestion: Option<&str>, known: &str) -> String {
    match suggestion {
        Some(suggestion) => format!("; did you mean `{suggestion}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are: {known}"),
    }
}

/// Returns the word that is the least different from a text, unless all are very different.
pub(super) fn closest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    model::closest(text, words.into_iter()).map(str::to_owned)
}

/// Writes words for an enumeration.
pub(super) fn list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
