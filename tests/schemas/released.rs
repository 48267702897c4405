//! Released schemas: what they promise is kept (RFC 0111).
//!
//! `fixtures/schemas/VERSION` holds the schemas of a release. A release that changes one adds its
//! directory; none is ever edited.

use std::fs;
use std::path::{Path, PathBuf};

use cdkr::toolkit::schema::check_schema;
use serde_json::Value as Json;

use super::program::Place;
use super::{NAMES, schema};

fn released() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas");
    let mut all: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Whether readers of these documents pass over what they do not know, or the documents are
/// written by people and have no version.
fn may_have_more(schema: &Json, versioned: bool) -> bool {
    let said = schema["description"].as_str().unwrap();
    !versioned || said.contains("may be added without a new version")
}

#[test]
fn todays_schemas_keep_what_released_ones_promise() {
    let mut checked = 0;
    for file in released().iter().flat_map(|release| fs::read_dir(release).unwrap()) {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let old: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert!(NAMES.contains(&name), "{name} is gone: programs and people ask for it");
        let new = schema(name);
        let check = check_schema(&old, &new);
        let broken: Vec<_> = check.broken().collect();
        // With a new version of the documents more may change, if the older ones are read still.
        let is_new = check.versions.0.is_some() && check.versions.1 > check.versions.0;
        assert!(
            broken.is_empty() || is_new,
            "{name} breaks what {} promises: {broken:#?}",
            file.display()
        );
        assert!(
            may_have_more(&new, check.versions.0.is_some()) || !check.lacks_version(),
            "any change of {name} is a new version of its documents: {:#?}",
            check.differences
        );
        checked += 1;
    }
    assert_eq!(checked, NAMES.len() * released().len(), "every release has every schema");
}

/// The places of all objects with members that a schema describes.
fn described(schema: &Json, at: &str, found: &mut Vec<String>) {
    if schema.get("properties").is_some() {
        found.push(at.to_owned());
    }
    for (key, value) in schema.as_object().into_iter().flatten() {
        let mut each = |name: &str, schema| described(schema, &format!("{at}/{key}{name}"), found);
        match (key.as_str(), value) {
            ("properties" | "$defs", Json::Object(all)) => {
                all.iter().for_each(|(name, one)| each(&format!("/{name}"), one));
            }
            ("anyOf" | "oneOf" | "allOf", Json::Array(all)) => {
                all.iter().enumerate().for_each(|(number, one)| each(&format!("/{number}"), one));
            }
            ("items" | "additionalProperties", one) => each("", one),
            _ => {}
        }
    }
}

/// Whatever is taken out of a schema, at any place of it.
#[test]
fn nothing_goes_away_from_a_schema_unnoticed() {
    let mut tried = 0;
    for name in NAMES {
        let whole = schema(name);
        let mut places = Vec::new();
        described(&whole, "", &mut places);
        for place in places {
            let properties = whole.pointer(&place).unwrap()["properties"].as_object().unwrap();
            for member in properties.keys() {
                let mut less = whole.clone();
                let at = less.pointer_mut(&place).unwrap();
                at["properties"].as_object_mut().unwrap().remove(member);
                let check = check_schema(&whole, &less);
                assert!(check.broken().next().is_some(), "{name}{place}: without {member}");

                let mut free = whole.clone();
                let required = free.pointer_mut(&format!("{place}/required"));
                let Some(list) = required.and_then(Json::as_array_mut) else { continue };
                let count = list.len();
                list.retain(|one| one != member);
                if list.len() < count {
                    let check = check_schema(&free, &whole);
                    assert!(check.broken().next().is_some(), "{name}{place}: {member} required");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 200, "{tried}");
}

#[test]
fn a_check_tells_by_its_exit_code_what_it_found() {
    let place = Place::new();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    let seen = |arguments: &[&str]| {
        let output = place.run(&[&["schema", "check"], arguments].concat());
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        format!("{text}exit code {}\n", output.status.code().unwrap())
    };
    let version = r#""version": {"const": 1}"#;
    write("old.json", &format!(r#"{{"properties": {{{version}, "a": {{"type": "string"}}}}}}"#));
    write(
        "more.json",
        &format!(r#"{{"properties": {{{version}, "a": {{"type": "string"}}, "b": {{}}}}}}"#),
    );
    write(
        "next.json",
        r#"{"properties": {"version": {"const": 2}, "a": {"type": "string"}, "b": {}}}"#,
    );
    write(
        "less.json",
        &format!(r#"{{"properties": {{{version}, "b": {{}}}}, "required": ["b"]}}"#),
    );
    let mut text = String::new();
    for arguments in [
        &["history", "history"][..],
        &["old.json", "more.json"],
        &["old.json", "more.json", "--additions"],
        &["old.json", "next.json"],
        &["old.json", "less.json"],
        &["old.json", "none.json"],
    ] {
        let call = arguments.join(" ");
        text += &["$ cdkr schema check ", &call, "\n", &seen(arguments), "\n"].concat();
    }
    insta::assert_snapshot!(text);
}
