//! The files of a history: the log, and beside it the templates of its last state.
//!
//! `cdkr.history/` has one file for each stack, named after it and not after what is in it: so a
//! review shows what changed in a template, and two branches that change one stack change one
//! file. (Files that are named after their contents are "renamed" by each branch in its own way,
//! which Git cannot merge.) Older versions are found in Git's objects by the digest, and what was
//! not committed yet in our records.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::git::Git;
use super::repository_error::RepositoryError;
use crate::history::{Log, ParseError, Problem, Snapshot, StackKey, template_digest};
use crate::model::{Object, Template, Value};
use crate::template::{self, json};
use crate::toolkit::{files, planning};

/// The log, in the directory of the project.
pub const HISTORY_FILE: &str = "cdkr.history.jsonl";
/// The directory of the templates, beside the log.
pub const TEMPLATES: &str = "cdkr.history";
/// Where our records keep what is not in its place yet.
const KEPT: &str = "history";

/// The history of a project on the disk.
pub(super) struct Store {
    /// The directory of the project.
    pub(super) project: PathBuf,
    /// The log.
    pub(super) file: PathBuf,
}

impl Store {
    pub(super) fn new(project: &Path) -> Self {
        Self { project: project.to_owned(), file: inside(project, HISTORY_FILE) }
    }

    /// The text of the log; `None` if there is none.
    pub(super) fn text(&self) -> Result<Option<Vec<u8>>, RepositoryError> {
        read(&self.file)
    }

    /// Replaces the log, of which the text has been seen, and then brings the templates into their
    /// places. Whenever this ends, the templates of the log's last state are found.
    pub(super) fn write(
        &self,
        seen: Option<&[u8]>,
        log: &Log,
        state: &Templates,
    ) -> Result<(), RepositoryError> {
        let _held = self.lock()?;
        if self.text()?.as_deref() != seen {
            return Err(RepositoryError::Changed(self.file.clone()));
        }
        self.keep(state)?;
        let text = log.render();
        if seen != Some(text.as_bytes()) {
            files::write(&self.file, text.as_bytes()).map_err(unwritable(&self.file))?;
        }
        self.place(state)
    }

    /// Waits until nobody else writes.
    fn lock(&self) -> Result<File, RepositoryError> {
        let records = planning::records(&self.project);
        let file = records.join("history.lock");
        let locked = || -> io::Result<File> {
            fs::create_dir_all(&records)?;
            files::keep_out_of_git(&records)?;
            let lock = File::options().create(true).append(true).open(&file)?;
            lock.lock()?;
            Ok(lock)
        };
        locked().map_err(unwritable(&file))
    }

    fn directory(&self) -> PathBuf {
        self.file.with_file_name(TEMPLATES)
    }

    fn kept(&self) -> PathBuf {
        planning::records(&self.project).join(KEPT)
    }

    /// Keeps the templates that are not in their places yet in our records.
    fn keep(&self, state: &Templates) -> Result<(), RepositoryError> {
        for (key, name) in state.names() {
            let (template, digest) = &state.0[key];
            if !self.has(&name, digest)? {
                let file = self.kept().join(format!("{digest}.json"));
                files::write_private(&file, text(template).as_bytes())
                    .map_err(unwritable(&file))?;
            }
        }
        Ok(())
    }

    /// Brings the templates of a state into their places, and takes away what is no longer needed.
    fn place(&self, state: &Templates) -> Result<(), RepositoryError> {
        let names = state.names();
        for (key, name) in &names {
            let (template, digest) = &state.0[*key];
            if !self.has(name, digest)? {
                let file = self.directory().join(name);
                files::write(&file, text(template).as_bytes()).map_err(unwritable(&file))?;
            }
        }
        let wanted: BTreeSet<&String> = names.values().collect();
        for file in listed(&self.directory())? {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
            if !name.is_some_and(|name| wanted.contains(&name)) {
                fs::remove_file(&file).map_err(unwritable(&file))?;
            }
        }
        for file in listed(&self.kept())? {
            fs::remove_file(&file).map_err(unwritable(&file))?;
        }
        Ok(())
    }

    /// Whether a file has the template of a digest.
    fn has(&self, name: &str, digest: &str) -> Result<bool, RepositoryError> {
        let bytes = read(&self.directory().join(name))?;
        Ok(bytes.and_then(|bytes| template_of(&bytes, digest)).is_some())
    }

    /// Returns the stacks of a state whose templates are not in their places.
    pub(super) fn misplaced(&self, state: &Snapshot) -> Result<Vec<StackKey>, RepositoryError> {
        let names = names(state.stacks().map(|(key, _)| key));
        let mut missing = Vec::new();
        for (key, record) in state.stacks() {
            if !self.has(&names[key], &record.template)? {
                missing.push(key.clone());
            }
        }
        Ok(missing)
    }

    /// Returns the templates of a state, and the stacks of which there is none. They may also be
    /// beside another log.
    pub(super) fn templates(
        &self,
        state: &Snapshot,
        beside: Option<&Path>,
    ) -> Result<(Templates, Vec<StackKey>), RepositoryError> {
        let mut found = Templates::default();
        let names = names(state.stacks().map(|(key, _)| key));
        let mut directories = vec![self.directory(), self.kept()];
        directories.extend(beside.map(|log| log.with_file_name(TEMPLATES)));
        let mut missing = Vec::new();
        for (key, record) in state.stacks() {
            let digest = &record.template;
            let near = directories.iter().map(|directory| directory.join(&names[key]));
            let kept = self.kept().join(format!("{digest}.json"));
            match first(near.chain([kept]), digest)? {
                Some(template) => found.insert(key.clone(), template, digest.clone()),
                None => missing.push(key.clone()),
            }
        }
        if missing.is_empty() {
            return Ok((found, missing));
        }
        // Another file may have it: a stack got another account, or two names differ in case.
        let mut all = Vec::new();
        for directory in &directories {
            all.extend(listed(directory)?);
        }
        let git = Git::around(&self.project);
        let mut lost = Vec::new();
        for key in missing {
            let Some(digest) = state.stack(&key).map(|record| &record.template) else { continue };
            let old = || {
                let mut versions = git.iter().flat_map(|git| git.versions(TEMPLATES, &names[&key]));
                versions.find_map(|(_, bytes)| template_of(&bytes, digest))
            };
            match first(all.iter().cloned(), digest)?.or_else(old) {
                Some(template) => found.insert(key, template, digest.clone()),
                None => lost.push(key),
            }
        }
        Ok((found, lost))
    }
}

/// Templates with their digests, by stack.
#[derive(Clone, Default)]
pub(super) struct Templates(BTreeMap<StackKey, (Template, String)>);

impl Templates {
    pub(super) fn insert(&mut self, key: StackKey, template: Template, digest: String) {
        self.0.insert(key, (template, digest));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&StackKey, &Template)> {
        self.0.iter().map(|(key, (template, _))| (key, template))
    }

    fn names(&self) -> BTreeMap<&StackKey, String> {
        names(self.0.keys())
    }
}

/// A file in a directory, as people would write it.
pub(super) fn inside(directory: &Path, name: &str) -> PathBuf {
    if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) }
}

/// Parses a log.
pub(super) fn parsed(
    file: &Path,
    text: &[u8],
    parse: fn(&[u8]) -> Result<Log, ParseError>,
) -> Result<Log, RepositoryError> {
    let error = |source| RepositoryError::Log { file: file.to_owned(), problem: Box::new(source) };
    if text.is_empty() {
        return Err(error(ParseError { line: 1, column: 1, problem: Problem::Truncated }));
    }
    parse(text).map_err(error)
}

/// The names of the files of stacks: `Web.json`, `Web@111111111111@eu-west-1.json`, of a nested
/// stack `Web.Nested.json`. What is not a plain letter, and names that are equal but for the case
/// of letters, are told apart by a piece of a hash.
fn names<'a>(keys: impl Iterator<Item = &'a StackKey>) -> BTreeMap<&'a StackKey, String> {
    let keys: Vec<&StackKey> = keys.collect();
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for key in &keys {
        *taken.entry(plain_name(key).0.to_lowercase()).or_default() += 1;
    }
    let named = keys.into_iter().map(|key| {
        let (mut name, is_exact) = plain_name(key);
        if !is_exact || taken.get(&name.to_lowercase()) != Some(&1) {
            let hash = Sha256::digest(format!("{key}").as_bytes());
            for byte in &hash[..4] {
                // Writing to a string cannot fail.
                let _ = write!(name, "{byte:02x}");
            }
        }
        (key, name + ".json")
    });
    named.collect()
}

/// A name for a stack, and whether nothing in it was replaced.
fn plain_name(key: &StackKey) -> (String, bool) {
    let mut name = key.name.as_str().replace('/', ".");
    for part in [&key.scope.account, &key.scope.region].into_iter().flatten() {
        name.push('@');
        name.push_str(part);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let is_exact = plain == name && !key.name.as_str().contains('.') && plain.len() < 200;
    (plain.chars().take(200).collect(), is_exact)
}

/// The text of a template in a form that does not depend on the order in which an app says
/// things.
fn text(template: &Template) -> String {
    json::to_template(&sorted(&Value::Object(template.sections.clone()))) + "\n"
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut all: Vec<_> = members.iter().collect();
            all.sort_by(|a, b| a.0.cmp(b.0));
            let mut object = Object::new();
            for (key, member) in all {
                object.insert(key.clone(), sorted(member));
            }
            Value::Object(object)
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// The template that a text is, if it has the digest.
fn template_of(bytes: &[u8], digest: &str) -> Option<Template> {
    let template = template::parse(bytes).ok()?;
    (template_digest(&template) == digest).then_some(template)
}

/// The first of some files that has the template of a digest.
fn first(
    files: impl Iterator<Item = PathBuf>,
    digest: &str,
) -> Result<Option<Template>, RepositoryError> {
    for file in files {
        if let Some(template) = read(&file)?.and_then(|bytes| template_of(&bytes, digest)) {
            return Ok(Some(template));
        }
    }
    Ok(None)
}

/// The bytes of a file; `None` if it is not there.
pub(super) fn read(file: &Path) -> Result<Option<Vec<u8>>, RepositoryError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RepositoryError::Unreadable { file: file.to_owned(), source }),
    }
}

/// The templates in a directory; none if there is no such directory.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, RepositoryError> {
    let unreadable = |source| RepositoryError::Unreadable { file: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn unwritable(file: &Path) -> impl FnOnce(io::Error) -> RepositoryError {
    let file = file.to_owned();
    move |source| RepositoryError::Unwritable { file, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Scope;

    fn key(name: &str, account: Option<&str>) -> StackKey {
        let account = account.map(str::to_owned);
        StackKey { name: name.into(), scope: Scope { account, region: None } }
    }

    #[test]
    fn every_stack_has_a_file_of_its_own_on_every_system() {
        let keys = [
            key("Web", None),
            key("web", None),
            key("Web/Inner", None),
            key("Web.Inner", None),
            key("Api", None),
            key("Api", Some("111111111111")),
            key("${Token[1]}", None),
            key("../../etc", None),
            key(&"x".repeat(300), None),
        ];
        let names = names(keys.iter());
        let different: BTreeSet<String> = names.values().map(|name| name.to_lowercase()).collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(names[&keys[4]], "Api.json");
        assert_eq!(names[&keys[5]], "Api@111111111111.json");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        assert!(names.values().all(|name| name.chars().all(plain) && name.len() < 240));
    }

    #[test]
    fn a_log_that_somebody_else_has_written_meanwhile_is_not_overwritten() {
        let project = tempfile::tempdir().unwrap();
        let store = Store::new(project.path());
        fs::write(&store.file, "theirs").unwrap();
        let error = store.write(None, &Log::default(), &Templates::default()).unwrap_err();
        assert!(matches!(error, RepositoryError::Changed(_)), "{error}");
        assert_eq!(fs::read(&store.file).unwrap(), b"theirs");
    }
}
