//! What CloudFormation says of types of which our table is not sure: asked once, and kept for a
//! week in a file of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use super::files;
use crate::aws::{Aws, Roles};
use crate::model::{Environment, ResourceType};

/// The file, in the directory of our records.
const FILE: &str = "types.json";
/// How long an answer counts, in seconds: AWS makes types refactorable now and then.
const VALID: u64 = 7 * 24 * 3600;
const VERSION: u32 = 1;

/// The file of answers.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Known {
    version: u32,
    /// By account and region, then by type.
    environments: BTreeMap<String, BTreeMap<String, Answer>>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    fully_mutable: bool,
    /// Seconds since 1970-01-01T00:00:00Z.
    asked: u64,
}

/// Returns what CloudFormation says of types, and why it could not be asked of some: without an
/// answer the table counts.
pub(super) async fn described(
    aws: &Aws,
    environment: &Environment,
    roles: &Roles,
    types: &BTreeSet<ResourceType>,
    records: &Path,
) -> (BTreeMap<ResourceType, bool>, Vec<String>) {
    let file = records.join(FILE);
    let mut known = read(&file);
    let key = format!("{}/{}", environment.account, environment.region);
    let answers = known.environments.entry(key).or_default();
    let now = now();
    answers.retain(|_, answer| now.saturating_sub(answer.asked) < VALID);
    let open: Vec<&ResourceType> =
        types.iter().filter(|name| !answers.contains_key(name.as_str())).collect();
    let asked = join_all(
        open.iter().map(async |name| (*name, aws.is_fully_mutable(environment, roles, name).await)),
    );
    let mut warnings = Vec::new();
    for (name, answer) in asked.await {
        match answer {
            Ok(Some(fully_mutable)) => {
                answers.insert(name.to_string(), Answer { fully_mutable, asked: now });
            }
            Ok(None) => {}
            Err(error) => warnings.push(format!(
                "whether {name} can be moved is only known from the embedded table: {error}"
            )),
        }
    }
    let found = types
        .iter()
        .filter_map(|name| Some((name.clone(), answers.get(name.as_str())?.fully_mutable)))
        .collect();
    if !open.is_empty() {
        known.version = VERSION;
        // Without the file the question is asked again, that is all.
        drop(write(&file, &known));
    }
    (found, warnings)
}

/// A file that cannot be read, or that another version wrote, knows nothing.
fn read(file: &PathBuf) -> Known {
    let text = fs::read_to_string(file).unwrap_or_default();
    let known: Known = serde_json::from_str(&text).unwrap_or_default();
    if known.version == VERSION { known } else { Known::default() }
}

fn write(file: &Path, known: &Known) -> std::io::Result<()> {
    files::write_private(file, serde_json::to_string_pretty(known)?.as_bytes())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}
