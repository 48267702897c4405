//! Context that the app lacks: looked up, kept in `cdk.context.json`, and the app synthesized
//! again, until nothing is missing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use futures_util::future::join_all;

use super::Error;
use super::account::{self, Connection};
use super::sources::{self, APP};
use crate::assembly::{Assembly, Missing};
use crate::aws::{Aws, Found, Lookup, LookupError, LookupProblem, can_look_up};
use crate::event::{Event, Host};
use crate::model::{Object, Text, Value};
use crate::settings::{App, CONTEXT_FILE, Settings, with_looked_up};
use crate::template::json;

/// How often an app is synthesized again. Each time it has to lack something new, which real apps
/// do twice or three times.
const MOST_ROUNDS: usize = 20;

/// Refuses an assembly that was synthesized with made-up values: to deploy those would be wrong.
///
/// # Errors
/// [`Error::MissingContext`] with the keys that are missing.
pub fn require_context(assembly: &Assembly) -> Result<(), Error> {
    if assembly.missing.is_empty() {
        return Ok(());
    }
    let directory = assembly.directory.clone();
    Err(Error::MissingContext { directory, keys: assembly.missing_keys() })
}

/// Returns a warning if an assembly was synthesized with made-up values.
pub(super) fn lacking(flag: &str, assembly: &Assembly) -> Option<String> {
    let keys = assembly.missing_keys();
    (!keys.is_empty()).then(|| {
        format!(
            "{flag}: the assembly contains missing context, in place of which there are made-up \
             values; `cdk synth` looks it up. Missing context keys: '{}'",
            keys.join("', '")
        )
    })
}

/// Returns the assembly of the app with all context that it asks for. An assembly that comes from
/// a directory is returned as it is, with what it lacks: nobody can synthesize it again.
///
/// # Errors
/// When look-ups are not wanted, one fails or is not known here, the file cannot be written, the
/// app fails, or it does not find what was looked up.
pub(super) async fn complete(
    settings: &Settings,
    default: Option<(&str, &str)>,
    connection: Option<&Connection>,
    mut assembly: Assembly,
    host: &dyn Host,
) -> Result<Assembly, Error> {
    if assembly.missing.is_empty() || matches!(settings.app.value, App::Directory(_)) {
        return Ok(assembly);
    }
    if !settings.lookups {
        return Err(Error::NoLookups { keys: assembly.missing_keys() });
    }
    let own;
    let aws = match connection {
        Some(connection) => &connection.aws,
        None => {
            own = account::connect(&settings.account).await?;
            &own.aws
        }
    };
    let mut settings = settings.clone();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let keys = assembly.missing_keys();
        let lost: Vec<String> = keys.into_iter().filter(|key| known.contains(key)).collect();
        if !lost.is_empty() {
            return Err(Error::ContextNotTaken { keys: lost });
        }
        let found = look_up(aws, &assembly.missing, &settings, host).await?;
        for (key, value) in found {
            known.insert(key.to_string());
            settings.context.insert(key.to_string(), to_json(&value));
        }
        let directory = sources::app(&settings, default, host)?;
        assembly = sources::read(APP, &directory, &settings)?;
        if assembly.missing.is_empty() {
            return Ok(assembly);
        }
    }
    Err(Error::ContextNotTaken { keys: assembly.missing_keys() })
}

/// Looks everything up at the same time, and keeps what was found even if something else was not.
async fn look_up(
    aws: &Aws,
    missing: &[Missing],
    settings: &Settings,
    host: &dyn Host,
) -> Result<Vec<(Text, Value)>, Error> {
    let local = settings.account.local.as_ref().map(|local| local.value.clone());
    let unknown = missing.iter().filter(|one| !can_look_up(&one.provider));
    let mut failed: Vec<LookupError> = unknown.map(unknown_provider).collect();
    if !failed.is_empty() {
        return Err(Error::Lookup { failed, local: None });
    }
    let answers = join_all(missing.iter().map(async |one| {
        let lookup = Lookup { key: &one.key, provider: &one.provider, props: &one.props };
        (&one.key, aws.look_up(&lookup).await)
    }));
    let (mut found, mut warnings) = (Vec::new(), BTreeSet::new());
    for (key, answer) in answers.await {
        match answer {
            Ok(Found { value, warnings: more }) => {
                warnings.extend(more);
                found.push((Text::from(key.as_str()), value));
            }
            Err(error) => failed.push(error),
        }
    }
    for text in warnings {
        host.tell(&Event::Note { text });
    }
    if !found.is_empty() {
        let file = settings.project.join(CONTEXT_FILE);
        keep(&file, &found).map_err(|source| Error::ContextFile { file, source })?;
        for (key, _) in &found {
            let text = format!("`{key}` was looked up, and is kept in {CONTEXT_FILE}");
            host.tell(&Event::Note { text });
        }
    }
    if failed.is_empty() { Ok(found) } else { Err(Error::Lookup { failed, local }) }
}

fn unknown_provider(missing: &Missing) -> LookupError {
    let problem = LookupProblem::Provider(missing.provider.clone());
    LookupError { key: missing.key.clone(), problem }
}

fn to_json(value: &Value) -> serde_json::Value {
    // What is written as JSON is read as JSON.
    serde_json::from_str(&json::to_compact(value)).unwrap_or_default()
}

/// Adds values to the file, which appears as a whole or stays as it is.
fn keep(file: &Path, found: &[(Text, Value)]) -> io::Result<()> {
    // The link stays a link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let existing = match fs::read_to_string(&file) {
        Ok(text) => members(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Object::new(),
        Err(error) => return Err(error),
    };
    let merged = with_looked_up(existing, found.to_vec());
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    // It is committed with the app: as readable as any file, and as before if it was there.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = builder.tempfile_in(directory)?;
    if let Ok(before) = fs::metadata(&file) {
        temporary.as_file().set_permissions(before.permissions())?;
    }
    writeln!(temporary, "{}", json::to_pretty(&Value::Object(merged)))?;
    temporary.as_file().sync_all()?;
    temporary.persist(&file)?;
    Ok(())
}

fn members(text: &str) -> io::Result<Object> {
    let malformed = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match json::parse(text).map_err(|error| malformed(error.to_string()))? {
        Value::Object(members) => Ok(members),
        other => Err(malformed(format!("it is not an object but {}", other.kind()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn found(key: &str, text: &str) -> (Text, Value) {
        (key.into(), json::parse(text).unwrap())
    }

    #[test]
    fn the_file_is_made_and_then_added_to_as_the_cdk_writes_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(CONTEXT_FILE);
        keep(&file, &[found("z", r#"{"vpcId":"vpc-1","azs":[]}"#)]).unwrap();
        keep(&file, &[found("a", r#"["x"]"#), found("z", "1.50")]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, "{\n  \"z\": 1.50,\n  \"a\": [\n    \"x\"\n  ]\n}\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_a_link_stays_one_and_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.json"), directory.path().join("link"));
        fs::write(&real, "{\"kept\": 1}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        keep(&link, &[found("a", "2")]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"kept\": 1,\n  \"a\": 2\n}\n");
    }

    #[test]
    fn what_was_synthesized_with_made_up_values_is_not_to_be_deployed() {
        let missing = Missing {
            key: "zones".to_owned(),
            provider: "availability-zones".to_owned(),
            props: BTreeMap::new(),
        };
        let mut assembly = Assembly {
            constructs: Vec::new(),
            directory: "cdk.out".into(),
            version: "55.0.0".to_owned(),
            schema_major: 55,
            stacks: Vec::new(),
            missing: vec![missing],
            warnings: Vec::new(),
        };
        assert_eq!(
            require_context(&assembly).unwrap_err().to_string(),
            "the cloud assembly `cdk.out` contains missing context, in place of which there are \
             made-up values, and cannot be deployed. Missing context keys: 'zones'"
        );
        assembly.missing.clear();
        assert!(require_context(&assembly).is_ok());
    }

    #[test]
    fn a_file_that_is_no_object_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(CONTEXT_FILE);
        fs::write(&file, "[1]").unwrap();
        let error = keep(&file, &[found("a", "2")]).unwrap_err();
        assert_eq!(error.to_string(), "it is not an object but a list");
        assert_eq!(fs::read_to_string(&file).unwrap(), "[1]");
    }
}
