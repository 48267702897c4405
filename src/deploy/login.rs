//! Logins to registries, in a configuration of Docker of their own.
//!
//! The tokens that ECR gives out are neither to stay on the machine nor to get into the user's
//! keychain. So `docker login` works on a copy of the user's configuration, which is deleted in
//! the end. It is a copy, and not an empty one, because the build may need the rest of it: other
//! registries and their credential helpers, the context in use, proxies, plug-ins.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::{Map, Value as Json, json};

/// The registries that were logged in to, and where the logins are.
#[derive(Default)]
pub(super) struct Login {
    /// Deleted when it is dropped.
    directory: Option<tempfile::TempDir>,
    registries: BTreeSet<String>,
}

impl Login {
    pub(super) fn has(&self, registry: &str) -> bool {
        self.registries.contains(registry)
    }

    pub(super) fn done(&mut self, registry: &str) {
        self.registries.insert(registry.to_owned());
    }

    /// The value of `DOCKER_CONFIG`; `None` if there was no login.
    pub(super) fn directory(&self) -> Option<OsString> {
        self.directory.as_ref().map(|directory| directory.path().into())
    }

    /// Makes the configuration ready for a login to a registry; returns its directory.
    pub(super) fn prepare(&mut self, registry: &str) -> io::Result<OsString> {
        let directory = match self.directory.take() {
            Some(directory) => directory,
            None => copied(users_directory().as_deref())?,
        };
        let file = directory.path().join("config.json");
        let config = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, with_login_in_file(&config, registry))?;
        let path = directory.path().into();
        self.directory = Some(directory);
        Ok(path)
    }
}

fn users_directory() -> Option<PathBuf> {
    let named = env::var_os("DOCKER_CONFIG").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".docker")))
}

/// Copies the configuration; what else is in the directory is linked, since it is large and may
/// be written to.
fn copied(from: Option<&Path>) -> io::Result<tempfile::TempDir> {
    let to = tempfile::Builder::new().prefix("cdkr-docker-").tempdir()?;
    let entries = from.and_then(|from| fs::read_dir(from).ok());
    for entry in entries.into_iter().flatten() {
        let entry = entry?;
        let target = to.path().join(entry.file_name());
        if entry.file_name() == "config.json" {
            fs::copy(entry.path(), target)?;
        } else {
            link(&fs::canonicalize(entry.path()).unwrap_or_else(|_| entry.path()), &target);
        }
    }
    Ok(to)
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    // Without it Docker works as without plug-ins and contexts.
    std::os::unix::fs::symlink(from, to).ok();
}

#[cfg(windows)]
fn link(from: &Path, to: &Path) {
    // Without it Docker works as without plug-ins and contexts.
    if from.is_dir() {
        std::os::windows::fs::symlink_dir(from, to).ok();
    }
}

/// Returns a configuration in which the login to a registry is kept in the file itself. An empty
/// name of a helper for the registry counts more than the helper for all (`credsStore`), and than
/// one that knows the registry but takes no passwords (`ecr-login`).
fn with_login_in_file(config: &str, registry: &str) -> String {
    let config = serde_json::from_str(config).unwrap_or_default();
    let mut config = match config {
        Json::Object(config) => config,
        _ => Map::new(),
    };
    match config.entry("credHelpers").or_insert_with(|| json!({})) {
        Json::Object(helpers) => drop(helpers.insert(registry.to_owned(), "".into())),
        other => *other = json!({ registry: "" }),
    }
    Json::Object(config).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_goes_to_the_copy_and_other_registries_keep_their_helpers() {
        let config = r#"{"credsStore":"desktop","currentContext":"x",
            "credHelpers":{"ghcr.io":"gh","1.dkr.ecr.eu-west-1.amazonaws.com":"ecr-login"}}"#;
        let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        assert_eq!(
            read(&with_login_in_file(config, "1.dkr.ecr.eu-west-1.amazonaws.com")),
            json!({"credsStore": "desktop", "currentContext": "x",
                "credHelpers": {"ghcr.io": "gh", "1.dkr.ecr.eu-west-1.amazonaws.com": ""}})
        );
        assert_eq!(read(&with_login_in_file("", "r")), json!({"credHelpers": {"r": ""}}));
        assert_eq!(read(&with_login_in_file("[]", "r")), json!({"credHelpers": {"r": ""}}));
    }

    #[cfg(unix)]
    #[test]
    fn plug_ins_are_there_and_the_users_own_configuration_stays_as_it_is() {
        let user = tempfile::tempdir().unwrap();
        fs::create_dir(user.path().join("cli-plugins")).unwrap();
        fs::write(user.path().join("cli-plugins/docker-buildx"), "x").unwrap();
        fs::write(user.path().join("config.json"), "{}").unwrap();
        let copy = copied(Some(user.path())).unwrap();
        assert!(copy.path().join("cli-plugins/docker-buildx").exists());
        fs::write(copy.path().join("config.json"), "changed").unwrap();
        assert_eq!(fs::read_to_string(user.path().join("config.json")).unwrap(), "{}");
        drop(copy);
        assert!(user.path().join("cli-plugins/docker-buildx").exists());
    }
}
