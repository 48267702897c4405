//! `--override-file`: pairs that people decided, in the forms that tools for the CDK have used.
//!
//! ```json
//! {"environments": [{"account": "111111111111", "region": "us-east-1",
//!                    "resources": {"Stack.Old": "Stack.New"}}]}
//! {"mappings": [{"account": "111111111111", "region": "us-east-1",
//!                "resources": {"Stack.Old": "Stack.New"}}]}
//! {"mappings": {"Stack.Old": "Stack.New"}}
//! {"mappings": [{"source": "Stack.Old", "destination": "Stack.New"}]}
//! ```
//!
//! Whatever else stands in the file is an error, for an entry that is ignored is a resource that
//! is replaced.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};

use super::decisions::{Pair, Scope, pair};
use super::{SettingsError, project};

/// What a valid file looks like.
pub(super) const SHAPE: &str = "an override file looks like {\"environments\": [{\"account\": \
                                \"111111111111\", \"region\": \"us-east-1\", \"resources\": \
                                {\"Stack.Old\": \"Stack.New\"}}]} or {\"mappings\": \
                                {\"Stack.Old\": \"Stack.New\"}}";

/// Why an override file says nothing that we understand.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .file.display())]
pub struct OverrideError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    environments: Option<Vec<Entry>>,
    mappings: Option<Mappings>,
}

/// An entry of either list; which keys belong together is checked afterwards, so that the
/// message can say what is missing.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    account: Option<String>,
    region: Option<String>,
    resources: Option<Names>,
    source: Option<String>,
    destination: Option<String>,
}

enum Mappings {
    Names(Names),
    Entries(Vec<Entry>),
}

/// An object of strings, in the order of the text, repeated keys kept.
struct Names(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names_;
        impl<'de> Visitor<'de> for Names_ {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of old names and new names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    names.push(entry);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Names_)
    }
}

impl<'de> Deserialize<'de> for Mappings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Mappings;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of old names and new names, or a list")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Mappings, A::Error> {
                Names::deserialize(value::MapAccessDeserializer::new(map)).map(Mappings::Names)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Mappings, A::Error> {
                Vec::deserialize(value::SeqAccessDeserializer::new(seq)).map(Mappings::Entries)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Reads an override file.
pub fn read(directory: &Path, file: &Path) -> Result<Vec<Pair>, SettingsError> {
    let wire: Wire = project::required(&directory.join(file), "override file")?;
    let wrong = |problem: String| OverrideError { file: file.to_owned(), problem };
    let origin = file.display().to_string();
    let (key, entries) = match (wire.environments, wire.mappings) {
        (Some(entries), None) => ("environments", entries),
        (None, Some(Mappings::Entries(entries))) => ("mappings", entries),
        (None, Some(Mappings::Names(names))) => {
            let everything = Entry { resources: Some(names), ..Entry::default() };
            ("mappings", vec![everything])
        }
        (None, None) => {
            return Err(wrong("it has neither `environments` nor `mappings`".into()).into());
        }
        (Some(_), Some(_)) => {
            return Err(wrong("it has both `environments` and `mappings`".into()).into());
        }
    };
    let mut pairs = Vec::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let scope = Scope { account: entry.account, region: entry.region };
        let names = match (entry.resources, entry.source, entry.destination) {
            (Some(Names(names)), None, None) => names,
            (None, Some(source), Some(destination)) => vec![(source, destination)],
            _ => {
                let problem = format!(
                    "entry {} of `{key}` must have either `resources` or both `source` and \
                     `destination`",
                    at + 1
                );
                return Err(wrong(problem).into());
            }
        };
        for (source, destination) in names {
            pairs.push(pair(&source, &destination, &scope, &origin)?);
        }
    }
    Ok(pairs)
}
