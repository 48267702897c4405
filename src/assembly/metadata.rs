//! What constructs said about themselves: the `metadata` of an artifact and its additional file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// Entries by construct path. The paths have a leading slash.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Metadata(BTreeMap<String, Vec<Entry>>);

/// An entry, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// `aws:cdk:logicalId`
    LogicalId(String),
    /// `aws:cdk:stack-tags`
    StackTags(Vec<(String, String)>),
    /// `aws:cdk:asset` of the legacy synthesizer.
    Asset {
        /// The file or directory, relative to the assembly.
        path: String,
        /// The parameters that say where it was uploaded to.
        parameters: Vec<String>,
    },
    /// `aws:cdk:templateFile`: the template of the stack or nested stack at this path.
    TemplateFile(String),
    /// `aws:cdk:do-not-refactor` or, in earlier designs, `aws:cdk:skip-refactor`.
    DoNotRefactor,
    /// Any other type, or data of an unexpected shape.
    Other,
}

impl Metadata {
    /// Puts the entries of another file before these, path by path.
    pub(super) fn prepend(&mut self, mut earlier: Self) {
        for (path, entries) in std::mem::take(&mut self.0) {
            earlier.0.entry(path).or_default().extend(entries);
        }
        *self = earlier;
    }

    /// Returns all entries with the path of their construct, without the leading slash.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0
            .iter()
            .flat_map(|(path, entries)| entries.iter().map(move |entry| (plain(path), entry)))
    }

    /// Returns the paths of all constructs that are mentioned, without the leading slash.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|path| plain(path))
    }

    /// Returns the entries of one construct, whose path is given without the leading slash.
    pub(super) fn of(&self, path: &str) -> &[Entry] {
        self.0.get(&format!("/{path}")).map_or(&[], Vec::as_slice)
    }

    /// Returns what is excluded from refactoring: construct paths, each followed by the logical
    /// ID of the construct if it has one.
    pub(super) fn excluded(&self) -> Vec<String> {
        let mut excluded = Vec::new();
        for (path, entries) in &self.0 {
            if entries.contains(&Entry::DoNotRefactor) {
                excluded.push(plain(path).to_owned());
                excluded.extend(entries.iter().filter_map(|entry| match entry {
                    Entry::LogicalId(id) => Some(id.clone()),
                    _ => None,
                }));
            }
        }
        excluded
    }
}

fn plain(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

impl Entry {
    fn new(kind: &str, data: Json) -> Self {
        let read = match (kind, data) {
            ("aws:cdk:logicalId", Json::String(id)) => Some(Self::LogicalId(id)),
            ("aws:cdk:templateFile", Json::String(file)) => Some(Self::TemplateFile(file)),
            ("aws:cdk:do-not-refactor" | "aws:cdk:skip-refactor", data) => {
                (data != Json::Bool(false)).then_some(Self::DoNotRefactor)
            }
            ("aws:cdk:stack-tags", Json::Array(tags)) => {
                tags.iter().map(tag).collect::<Option<_>>().map(Self::StackTags)
            }
            ("aws:cdk:asset", data) => asset(&data),
            _ => None,
        };
        read.unwrap_or(Self::Other)
    }

    /// Whether entries of this type matter; the data of others is not even kept.
    fn matters(kind: &str) -> bool {
        matches!(
            kind,
            "aws:cdk:logicalId"
                | "aws:cdk:templateFile"
                | "aws:cdk:do-not-refactor"
                | "aws:cdk:skip-refactor"
                | "aws:cdk:stack-tags"
                | "aws:cdk:asset"
        )
    }
}

/// Reads a tag: capital keys up to schema 3, small ones since.
fn tag(tag: &Json) -> Option<(String, String)> {
    let field =
        |new: &str, old: &str| tag.get(new).or_else(|| tag.get(old))?.as_str().map(str::to_owned);
    Some((field("key", "Key")?, field("value", "Value")?))
}

fn asset(data: &Json) -> Option<Entry> {
    let field = |name: &str| data.get(name).and_then(Json::as_str).map(str::to_owned);
    let parameters = ["s3BucketParameter", "s3KeyParameter", "artifactHashParameter"];
    Some(Entry::Asset {
        path: field("path")?,
        parameters: parameters.into_iter().filter_map(field).collect(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Field {
    Type,
    Data,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a metadata entry")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let mut kind: Option<String> = None;
                let mut data = Json::Null;
                while let Some(field) = map.next_key()? {
                    match field {
                        Field::Type => kind = Some(map.next_value()?),
                        // The type usually comes first, and most data is of no interest.
                        Field::Data if kind.as_deref().is_none_or(Entry::matters) => {
                            data = map.next_value()?;
                        }
                        Field::Data | Field::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Entry::new(&kind.unwrap_or_default(), data))
            }
        }
        deserializer.deserialize_map(EntryVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Metadata {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn tags_are_read_with_capital_and_with_small_keys() {
        let expected = [Entry::StackTags(vec![("team".into(), "core".into())])];
        for tag in [r#"{"Key":"team","Value":"core"}"#, r#"{"key":"team","value":"core"}"#] {
            let metadata =
                read(&format!(r#"{{"/S":[{{"type":"aws:cdk:stack-tags","data":[{tag}]}}]}}"#));
            assert_eq!(metadata.of("S"), expected.as_slice());
        }
    }

    #[test]
    fn a_marked_construct_is_excluded_by_path_and_by_logical_id() {
        let metadata = read(
            r#"{"/S/A/Resource":[{"type":"aws:cdk:logicalId","data":"A1"},
                                 {"data":true,"type":"aws:cdk:do-not-refactor"}],
                "/S/B":[{"type":"aws:cdk:skip-refactor"}],
                "/S/C":[{"type":"aws:cdk:do-not-refactor","data":false}]}"#,
        );
        assert_eq!(metadata.excluded(), ["S/A/Resource", "A1", "S/B"]);
    }

    #[test]
    fn unknown_types_and_unexpected_data_are_passed_over() {
        let metadata = read(
            r#"{"/S":[{"type":"aws:cdk:creationStack","data":["a"]},
                      {"type":"aws:cdk:logicalId","data":{"x":1}},
                      {"type":"aws:cdk:asset","data":7}, {}]}"#,
        );
        assert!(metadata.entries().all(|(path, entry)| path == "S" && *entry == Entry::Other));
    }

    #[test]
    fn the_additional_file_comes_before_the_inline_entries() {
        let mut inline = read(r#"{"/S":[{"type":"aws:cdk:logicalId","data":"B"}]}"#);
        inline.prepend(read(r#"{"/S":[{"type":"aws:cdk:logicalId","data":"A"}]}"#));
        let ids = [Entry::LogicalId("A".into()), Entry::LogicalId("B".into())];
        assert_eq!(inline.of("S"), ids.as_slice());
    }
}
