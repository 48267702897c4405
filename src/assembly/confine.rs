//! Paths in manifests, kept inside the assembly: who hands us an assembly must not make us read
//! other files.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::error::AssemblyError;

/// The directory that no path leaves.
#[derive(Debug)]
pub(super) struct Root {
    directory: PathBuf,
    canonical: PathBuf,
}

/// Where a path stands, for errors.
#[derive(Clone, Copy)]
pub(super) struct Mention<'a> {
    /// The file in which the path stands.
    pub file: &'a Path,
    /// Whose path it is: `` `templateFile` of artifact `A` ``.
    pub what: &'a str,
}

/// A path inside the assembly.
#[derive(Clone, Debug)]
pub(super) struct Confined {
    /// As it is written, from the working directory: for errors.
    pub path: PathBuf,
    /// With all links followed: the identity of the file.
    pub canonical: PathBuf,
}

impl Root {
    /// Returns the root of an assembly.
    pub(super) fn new(directory: &Path) -> Result<Self, AssemblyError> {
        let canonical = match directory.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(AssemblyError::NoDirectory(directory.to_owned()));
            }
            Err(error) => return Err(AssemblyError::Read { file: directory.to_owned(), error }),
        };
        if !canonical.is_dir() {
            return Err(AssemblyError::NotADirectory(directory.to_owned()));
        }
        Ok(Self { directory: directory.to_owned(), canonical })
    }

    /// Returns the root itself as a place inside.
    pub(super) fn top(&self) -> Confined {
        Confined { path: self.directory.clone(), canonical: self.canonical.clone() }
    }

    /// Returns the file or directory that `name` means in `base`, a directory of the assembly.
    ///
    /// # Errors
    /// When the name is absolute, when it or a link on its way leads out of the assembly, or
    /// when nothing is there.
    pub(super) fn resolve(
        &self,
        base: &Path,
        name: &str,
        mention: Mention<'_>,
    ) -> Result<Confined, AssemblyError> {
        let leaves = || AssemblyError::LeavesAssembly {
            file: mention.file.to_owned(),
            what: mention.what.to_owned(),
            path: name.to_owned(),
        };
        let inside = base.strip_prefix(&self.directory).map_err(|_| leaves())?;
        let mut relative = inside.to_owned();
        for component in Path::new(name).components() {
            match component {
                Component::Normal(part) => relative.push(part),
                Component::CurDir => {}
                Component::ParentDir if relative.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(leaves());
                }
            }
        }
        let path = self.directory.join(relative);
        match path.canonicalize() {
            Ok(canonical) if canonical.starts_with(&self.canonical) => {
                Ok(Confined { path, canonical })
            }
            Ok(_) => Err(leaves()),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(AssemblyError::MissingFile {
                    file: mention.file.to_owned(),
                    what: mention.what.to_owned(),
                    path: name.to_owned(),
                })
            }
            Err(error) => Err(AssemblyError::Read { file: path, error }),
        }
    }
}

/// Reads a file. Devices and pipes are refused: reading them may never end.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, AssemblyError> {
    let failed = |error| AssemblyError::Read { file: file.to_owned(), error };
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err(AssemblyError::NotAFile(file.to_owned()));
    }
    std::fs::read(file).map_err(failed)
}

/// Which directories were entered already.
#[derive(Debug, Default)]
pub(super) struct Entered(HashSet<PathBuf>);

impl Entered {
    /// Notes a directory; `false` if it was noted before.
    pub(super) fn enter(&mut self, directory: &Confined) -> bool {
        self.0.insert(directory.canonical.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(root: &Root, base: &str, name: &str) -> Result<Confined, AssemblyError> {
        let mention = Mention { file: Path::new("manifest.json"), what: "`file` of artifact `A`" };
        root.resolve(&root.top().path.join(base), name, mention)
    }

    fn sample() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("out")).unwrap();
        std::fs::create_dir(directory.path().join("out/inner")).unwrap();
        std::fs::write(directory.path().join("out/a.json"), "{}").unwrap();
        std::fs::write(directory.path().join("secret.json"), "{}").unwrap();
        let root = Root::new(&directory.path().join("out")).unwrap();
        (directory, root)
    }

    #[test]
    fn a_nested_assembly_may_name_a_file_of_the_outer_one() {
        let (_directory, root) = sample();
        assert!(resolve(&root, "", "a.json").is_ok());
        assert!(resolve(&root, "inner", "../a.json").is_ok());
    }

    #[test]
    fn no_path_leaves_the_assembly() {
        let (directory, root) = sample();
        let absolute = directory.path().join("secret.json");
        for name in ["../secret.json", "inner/../../secret.json", absolute.to_str().unwrap()] {
            let error = resolve(&root, "", name).unwrap_err().to_string();
            assert!(error.contains("leaves the cloud assembly"), "{error}");
            assert!(error.contains(name), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leaves_the_assembly() {
        let (directory, root) = sample();
        let out = directory.path().join("out");
        std::os::unix::fs::symlink("../secret.json", out.join("link.json")).unwrap();
        let error = resolve(&root, "", "link.json").unwrap_err().to_string();
        assert!(error.contains("leaves the cloud assembly"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named_with_its_owner() {
        let (_directory, root) = sample();
        assert_eq!(
            resolve(&root, "", "b.json").unwrap_err().to_string(),
            "`file` of artifact `A` is `b.json`, which does not exist (in `manifest.json`)"
        );
    }
}
