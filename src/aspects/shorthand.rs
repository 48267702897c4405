//! `--ignore KIND:TYPE:PATH`: one aspect for one run, as users of tfautomv know it.

use super::declaration::{Declaration, Matcher, Meaning, Operation, Work};
use super::error::{DeclareError, closest, list};
use super::pattern::PropertyPattern;
use super::priority::Priority;

/// What there is to ignore.
const KINDS: [&str; 10] = [
    "everything",
    "whitespace",
    "prefix",
    "json",
    "yaml",
    "order",
    "set",
    "scalars",
    "tag",
    "assets",
];

/// Reads the value of `--ignore`: `everything:AWS::S3::Bucket:Tags` (`*` for any type),
/// `whitespace:…`, `prefix:TYPE:PATH:PREFIX`, `json:…`, `yaml:…`, `order:…`, `set:…`,
/// `scalars:…`, `tag:TYPE:KEY`, `assets:TYPE`.
///
/// # Errors
/// When it is not of one of these forms.
pub fn parse_ignore(text: &str) -> Result<Declaration, DeclareError> {
    let at = format!("`--ignore {text}`");
    let missing = |what| DeclareError::Missing { at: at.clone(), what };
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    if !KINDS.contains(&kind) {
        return Err(DeclareError::UnknownWord {
            at: at.clone(),
            value: kind.to_owned(),
            what: "kind of what can be ignored",
            suggestion: closest(kind, KINDS),
            known: list(KINDS),
        });
    }
    let (resource_type, place) = split_type(rest);
    if resource_type.is_empty() {
        return Err(missing("the type, or `*` for all of them"));
    }
    let pattern = |text: &str| {
        PropertyPattern::new(text).map_err(|message| DeclareError::Pattern {
            at: at.clone(),
            pattern: text.to_owned(),
            message,
        })
    };
    let operations = match (kind, place) {
        ("assets", None) => vec![Operation::Assets { hashes: true }, Operation::AssetMetadata],
        ("assets", Some(_)) => {
            let message = "`assets` takes a type and nothing else".to_owned();
            return Err(DeclareError::Contradiction { at, message });
        }
        (_, None | Some("")) => return Err(missing("the property after the type")),
        ("tag", Some(key)) => vec![Operation::Tags(vec![key.into()])],
        ("prefix", Some(rest)) => {
            let (place, prefix) = rest.split_once(':').unwrap_or((rest, ""));
            if prefix.is_empty() {
                return Err(missing("the prefix after the property"));
            }
            vec![Operation::StripPrefix(pattern(place)?, prefix.into())]
        }
        (kind, Some(place)) => {
            let place = pattern(place)?;
            vec![match kind {
                "whitespace" => Operation::Text(place, Meaning::Whitespace),
                "json" => Operation::Text(place, Meaning::Json),
                "yaml" => Operation::Text(place, Meaning::Yaml),
                "order" => Operation::Unordered { place, by: None, is_set: false },
                "set" => Operation::Unordered { place, by: None, is_set: true },
                "scalars" => Operation::Scalars(place),
                _ => Operation::Ignore(place, None),
            }]
        }
    };
    Ok(Declaration {
        id: format!("--ignore {text}").into(),
        origin: "--ignore".into(),
        priority: Priority::MUTATING,
        scope: None,
        crosses_stages: true,
        matcher: Matcher { resource_type: Some(resource_type.into()), ..Matcher::default() },
        work: Work::Change(operations),
        applies: Vec::new(),
        is_applied: false,
        is_preset: false,
    })
}

/// Splits at the first colon that is not one of a pair.
fn split_type(text: &str) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b':', Some(b':')) => at += 2,
            (b':', _) => return (&text[..at], Some(&text[at + 1..])),
            _ => at += 1,
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match parse_ignore(text) {
            Err(error) => error.to_string(),
            Ok(Declaration { matcher, work: Work::Change(operations), .. }) => {
                format!("{}: {}", matcher.resource_type.unwrap_or_default(), operations[0])
            }
            Ok(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_reads_as_what_it_says() {
        for (text, expected) in [
            ("everything:AWS::S3::Bucket:Tags", "AWS::S3::Bucket: ignore /Properties/Tags"),
            ("everything:*:/Metadata/a:b", "*: ignore /Metadata/a:b"),
            (
                "prefix:AWS::SQS::Queue:QueueName:dev-",
                "AWS::SQS::Queue: /Properties/QueueName without `dev-`",
            ),
            (
                "whitespace:Custom::X:A.*",
                "Custom::X: white space in /Properties/A/* does not count",
            ),
            ("set:AWS::A::B:L", "AWS::A::B: /Properties/L is a set"),
            ("tag:*:git-sha", "*: ignore the tags git-sha"),
            (
                "assets:AWS::Lambda::Function",
                "AWS::Lambda::Function: ignore hashes and places of assets",
            ),
        ] {
            assert_eq!(read(text), expected);
        }
    }

    #[test]
    fn what_is_missing_or_mistyped_is_said() {
        for (text, expected) in [
            ("everthing:*:Tags", "did you mean `everything`?"),
            ("everything:AWS::S3::Bucket", "the property after the type is missing"),
            ("everything", "the type, or `*` for all of them is missing"),
            ("prefix:*:Name", "the prefix after the property is missing"),
            ("everything:*:/Typ/A", "has to begin with one of"),
        ] {
            let error = read(text);
            assert!(error.contains(expected) && error.contains(text), "{error}");
        }
    }
}
