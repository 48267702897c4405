//! Asking Git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::repository_error::RepositoryError;

/// A directory in a working tree of Git.
pub(super) struct Git<'a> {
    directory: &'a Path,
}

impl<'a> Git<'a> {
    /// Returns the Git of a directory, which may be in no working tree.
    pub(super) fn of(directory: &'a Path) -> Self {
        Self { directory }
    }

    /// Returns the working tree that a directory is in; `None` if it is in none, or if there is no
    /// Git.
    pub(super) fn around(directory: &'a Path) -> Option<Self> {
        let git = Self::of(directory);
        let inside = git.text(&["rev-parse", "--is-inside-work-tree"]).ok()?;
        (inside == "true").then_some(git)
    }

    /// Returns what Git answers, without the line break at its end.
    ///
    /// # Errors
    /// When Git cannot be run, or fails.
    pub(super) fn text(&self, arguments: &[&str]) -> Result<String, RepositoryError> {
        let bytes = self.bytes(arguments)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }

    fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>, RepositoryError> {
        let error =
            |message: String| RepositoryError::Git { command: arguments.join(" "), message };
        let output = Command::new("git")
            .args(arguments)
            .current_dir(self.directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| error(source.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(error(if said.is_empty() { output.status.to_string() } else { said }));
        }
        Ok(output.stdout)
    }

    /// Returns every version of the files below a directory of which Git knows, those of the
    /// given name first: `(name, contents)`, read as they are asked for.
    pub(super) fn versions(
        &self,
        directory: &str,
        first: &str,
    ) -> impl Iterator<Item = (String, Vec<u8>)> {
        // What a commit has that only the log of references remembers counts as well: a branch
        // may have been rebased or squashed.
        let listed = self.text(&["rev-list", "--all", "--reflog", "--objects", "--", directory]);
        let listed = listed.unwrap_or_default();
        let mut files: Vec<(String, String)> = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, path)| Path::new(path).extension().is_some_and(|end| end == "json"))
            .map(|(id, path)| (id.to_owned(), path.rsplit('/').next().unwrap_or(path).to_owned()))
            .collect();
        files.sort_by_key(|(_, name)| name != first);
        let read = |(id, name): (String, String)| {
            Some((name, self.bytes(&["cat-file", "blob", &id]).ok()?))
        };
        files.into_iter().filter_map(read)
    }

    /// Returns a path of Git's own, in the form in which we can use it.
    ///
    /// # Errors
    /// When Git fails.
    pub(super) fn own_path(&self, what: &str) -> Result<PathBuf, RepositoryError> {
        let path = self.text(&["rev-parse", "--git-path", what])?;
        Ok(super::store::inside(self.directory, &path))
    }
}
