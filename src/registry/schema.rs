//! What a resource type says of its properties, from the table or from a schema of the registry.

use super::path::covers_tokens;
use super::pointer::Pointer;
use super::table::lookup;
use crate::model::{Object, Text, Value};

/// A path in a schema, split; `*` stands for any index or key.
type Pattern = Vec<Text>;

/// How deep definitions of a schema are followed: deeper than any that exists, and an end to those
/// that contain themselves.
const DEEPEST: usize = 24;

/// What a resource type says of its properties. What is said of a container holds for all that is
/// in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    create_only: Vec<Pattern>,
    conditionally_create_only: Vec<Pattern>,
    read_only: Vec<Pattern>,
    write_only: Vec<Pattern>,
    /// Lists whose order means nothing.
    unordered: Vec<Pattern>,
    updates: Updates,
}

/// Whether resources of a type can be updated at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Updates {
    #[default]
    Possible,
    /// There is no handler for it.
    Never,
    /// Nothing is known of the type.
    Unknown,
}

impl Schema {
    /// Returns what the table in the program says of a type: of lists, only that tags have no
    /// order. `None` for custom resources, third-party types and types newer than the table; see
    /// [`Schema::unknown`] and [`Schema::from_registry`].
    pub fn of(resource_type: &str) -> Option<Self> {
        let info = lookup(resource_type)?;
        let patterns = |paths: &mut dyn Iterator<Item = &'static str>| -> Vec<Pattern> {
            paths.map(|path| path.split('/').map(Text::from).collect()).collect()
        };
        let handlers = info.handlers();
        let never = !handlers.is_empty() && !handlers.contains('u');
        Some(Self {
            create_only: patterns(&mut info.create_only()),
            conditionally_create_only: patterns(&mut info.conditionally_create_only()),
            read_only: patterns(&mut info.read_only()),
            write_only: patterns(&mut info.write_only()),
            unordered: patterns(&mut info.tag_property().into_iter()),
            updates: if never { Updates::Never } else { Updates::Possible },
        })
    }

    /// Returns the schema of a type of which nothing is known: any change may replace.
    pub fn unknown() -> Self {
        Self { updates: Updates::Unknown, ..Self::default() }
    }

    /// Reads a schema of the registry, as `DescribeType` returns it. What it does not say is taken
    /// to be unrestricted; a schema without `handlers` is taken to have all of them.
    pub fn from_registry(schema: &Value) -> Self {
        let patterns = |key: &str| -> Vec<Pattern> {
            let texts = schema.get(key).and_then(Value::as_array).unwrap_or_default().iter();
            texts.filter_map(Value::as_str).filter_map(below_properties).collect()
        };
        let handlers = schema.get("handlers").and_then(Value::as_object);
        let never = handlers.is_some_and(|handlers| !handlers.contains_key("update"));
        let mut unordered = Vec::new();
        collect_unordered(schema, schema, &mut Vec::new(), DEEPEST, &mut unordered);
        let tags = schema.get("tagging").and_then(|tagging| tagging.get("tagProperty"));
        unordered.extend(tags.and_then(Value::as_str).and_then(below_properties));
        unordered.sort_unstable();
        unordered.dedup();
        Self {
            create_only: patterns("createOnlyProperties"),
            conditionally_create_only: patterns("conditionalCreateOnlyProperties"),
            read_only: patterns("readOnlyProperties"),
            write_only: patterns("writeOnlyProperties"),
            unordered,
            updates: if never { Updates::Never } else { Updates::Possible },
        }
    }

    /// Whether a change of the property replaces the resource, whatever else is said of it.
    pub fn is_create_only(&self, path: &[Text]) -> bool {
        any(&self.create_only, path)
    }

    /// Whether a change of the property may replace the resource.
    pub fn is_conditionally_create_only(&self, path: &[Text]) -> bool {
        any(&self.conditionally_create_only, path)
    }

    /// Whether the service assigns the property.
    pub fn is_read_only(&self, path: &[Text]) -> bool {
        any(&self.read_only, path)
    }

    /// Whether the property cannot be read back.
    pub fn is_write_only(&self, path: &[Text]) -> bool {
        any(&self.write_only, path)
    }

    /// Whether the order of the list at this path means nothing.
    pub fn is_unordered(&self, path: &[Text]) -> bool {
        let matches = |(wanted, found): (&Text, &Text)| wanted == "*" || wanted == found;
        self.unordered
            .iter()
            .any(|pattern| pattern.len() == path.len() && pattern.iter().zip(path).all(matches))
    }

    /// Whether there is no way to update a resource of this type.
    pub fn is_never_updated(&self) -> bool {
        self.updates == Updates::Never
    }

    /// Whether nothing is known of the type.
    pub fn is_unknown(&self) -> bool {
        self.updates == Updates::Unknown
    }
}

fn any(patterns: &[Pattern], path: &[Text]) -> bool {
    let path = path.iter().map(Text::as_str);
    patterns.iter().any(|pattern| covers_tokens(pattern.iter().map(Text::as_str), path.clone()))
}

/// Reads `/properties/A/*/B`.
fn below_properties(text: &str) -> Option<Pattern> {
    let pointer: Pointer = text.parse().ok()?;
    let mut tokens = pointer.tokens();
    let is_below = tokens.next() == Some("properties") && tokens.len() > 0;
    is_below.then(|| tokens.map(Text::from).collect())
}

/// Finds lists with `insertionOrder: false`, definitions followed.
fn collect_unordered(
    whole: &Value,
    part: &Value,
    path: &mut Pattern,
    depth: usize,
    found: &mut Vec<Pattern>,
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(target) = part.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|text| text.parse::<Pointer>().ok());
        if let Some(target) = target.as_ref().and_then(|target| target.of(whole)) {
            collect_unordered(whole, target, path, depth, found);
        }
    }
    if part.get("insertionOrder") == Some(&Value::Bool(false)) {
        found.push(path.clone());
    }
    let object = |key: &str| part.get(key).and_then(Value::as_object);
    for (name, property) in object("properties").into_iter().flat_map(Object::iter) {
        path.push(name.clone());
        collect_unordered(whole, property, path, depth, found);
        path.pop();
    }
    let members = object("patternProperties").into_iter().flat_map(Object::iter);
    let members = members.map(|(_, member)| member).chain(part.get("items"));
    for member in members {
        path.push("*".into());
        collect_unordered(whole, member, path, depth, found);
        path.pop();
    }
    for alternatives in ["oneOf", "anyOf", "allOf"] {
        let parts = part.get(alternatives).and_then(Value::as_array).unwrap_or_default();
        for part in parts {
            collect_unordered(whole, part, path, depth, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::samples::json;

    fn path(text: &str) -> Vec<Text> {
        text.split('.').map(Text::from).collect()
    }

    #[test]
    fn the_table_and_a_schema_of_the_registry_say_the_same() {
        let text = r#"{
            "primaryIdentifier": ["/properties/Name"],
            "createOnlyProperties": ["/properties/Name"],
            "readOnlyProperties": ["/properties/Endpoint", "/properties/Rules/*/Arn"],
            "writeOnlyProperties": ["/properties/Secret~1Key"],
            "conditionalCreateOnlyProperties": ["/properties/Size"],
            "handlers": {"create": {}, "read": {}, "update": {}, "delete": {}},
            "tagging": {"tagProperty": "/properties/Tags"}
        }"#;
        let schema = Schema::from_registry(&json::parse(text).unwrap());
        assert!(schema.is_create_only(&path("Name")) && !schema.is_create_only(&path("Names")));
        assert!(schema.is_read_only(&path("Endpoint.Address")), "a container covers");
        assert!(
            schema.is_read_only(&path("Rules.3.Arn")) && !schema.is_read_only(&path("Rules.3"))
        );
        assert!(schema.is_write_only(&path("Secret/Key")));
        assert!(schema.is_conditionally_create_only(&path("Size")));
        assert!(schema.is_unordered(&path("Tags")) && !schema.is_unordered(&path("Tags.0")));
        assert!(!schema.is_never_updated());

        let bucket = Schema::of("AWS::S3::Bucket").unwrap();
        assert!(bucket.is_create_only(&path("BucketName")) && bucket.is_unordered(&path("Tags")));
        assert!(Schema::of("AWS::Lambda::Permission").unwrap().is_never_updated());
        assert_eq!(Schema::of("Custom::Thing"), None);
    }

    #[test]
    fn lists_without_an_order_are_found_through_definitions() {
        let text = r##"{
            "definitions": {
                "Rule": {"properties": {
                    "Ids": {"type": "array", "insertionOrder": false},
                    "Inner": {"$ref": "#/definitions/Rule"}}}
            },
            "properties": {
                "Rules": {"type": "array", "items": {"$ref": "#/definitions/Rule"}},
                "Names": {"type": "array", "insertionOrder": false},
                "Map": {"patternProperties": {".*": {"insertionOrder": false}}}
            }
        }"##;
        let schema = Schema::from_registry(&json::parse(text).unwrap());
        for unordered in ["Names", "Rules.7.Ids", "Rules.0.Inner.Ids", "Map.key"] {
            assert!(schema.is_unordered(&path(unordered)), "{unordered}");
        }
        for ordered in ["Rules", "Rules.7", "Map", "Names.0"] {
            assert!(!schema.is_unordered(&path(ordered)), "{ordered}");
        }
    }
}
