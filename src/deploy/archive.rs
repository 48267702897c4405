//! Directories as zip archives, byte by byte the same for the same content.
//!
//! The key of an asset is the digest of its content, so the object must not depend on when or
//! where it was packed: entries are sorted, all dates are the same, of the permissions only
//! "executable or not" is kept, and nothing tells the system that packed them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

/// How deep directories may lie: a bound for links that lead in a circle.
const MAX_DEPTH: usize = 128;

/// From this size on an entry needs the fields of Zip64.
const LARGE: u64 = 0xffff_0000;

/// Why a directory cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Something cannot be read or written.
    #[error("`{}`: {error}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A link leads out of the asset.
    #[error(
        "the link `{}` leads out of the asset, to `{}`: what is outside of an asset is not part of \
         its digest. Let the app copy it (`followSymlinks`), or leave the link out.",
        .path.display(), .target.display()
    )]
    Outside {
        /// The link.
        path: PathBuf,
        /// Where it leads to.
        target: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory, and cannot be packed", .0.display())]
    Special(PathBuf),
    /// A name that cannot be written into an archive.
    #[error("the name of `{}` cannot be written into an archive: it is not UTF-8, or has a `\\`", .0.display())]
    Name(PathBuf),
    /// Directories without an end.
    #[error("`{}` lies deeper than {MAX_DEPTH} directories: do links lead in a circle?", .0.display())]
    TooDeep(PathBuf),
    /// The archive cannot be written.
    #[error("the archive of `{}` cannot be written: {error}", .directory.display())]
    Archive {
        /// The directory.
        directory: PathBuf,
        /// Why.
        error: zip::result::ZipError,
    },
}

/// Packs a directory into an archive. Names in it are relative, with `/` between their parts.
/// Links are followed as long as they stay in the directory. Empty directories are left out.
///
/// # Errors
/// When something cannot be read, leads out of the directory or is no file, or when the archive
/// cannot be written.
pub fn pack<W: Write + Seek>(directory: &Path, archive: W) -> Result<W, ArchiveError> {
    let root = directory.canonicalize().map_err(io_at(directory))?;
    let mut files = BTreeMap::new();
    collect(&root, &root, "", 0, &mut files)?;
    let failed = |error| ArchiveError::Archive { directory: directory.to_owned(), error };
    let mut writer = ZipWriter::new(archive);
    for (name, path) in files {
        let mut file = File::open(&path).map_err(io_at(&path))?;
        let metadata = file.metadata().map_err(io_at(&path))?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(6))
            // 1 January 1980, the first day that the format knows.
            .last_modified_time(DateTime::default())
            .system(System::Unix)
            .unix_permissions(if is_executable(&metadata) { 0o755 } else { 0o644 })
            .large_file(metadata.len() >= LARGE);
        writer.start_file(name, options).map_err(failed)?;
        io::copy(&mut file, &mut writer).map_err(io_at(&path))?;
    }
    writer.finish().map_err(failed)
}

/// Lists the files below a directory by the names that they get.
fn collect(
    root: &Path,
    directory: &Path,
    prefix: &str,
    depth: usize,
    files: &mut BTreeMap<String, PathBuf>,
) -> Result<(), ArchiveError> {
    if depth > MAX_DEPTH {
        return Err(ArchiveError::TooDeep(directory.to_owned()));
    }
    for entry in fs::read_dir(directory).map_err(io_at(directory))? {
        let path = entry.map_err(io_at(directory))?.path();
        let part = path.file_name().and_then(|name| name.to_str());
        let part = part.filter(|name| !name.contains('\\'));
        let part = part.ok_or_else(|| ArchiveError::Name(path.clone()))?;
        let name = format!("{prefix}{part}");
        let target = path.canonicalize().map_err(io_at(&path))?;
        if !target.starts_with(root) {
            return Err(ArchiveError::Outside { path, target });
        }
        let metadata = fs::metadata(&target).map_err(io_at(&path))?;
        if metadata.is_dir() {
            collect(root, &path, &format!("{name}/"), depth + 1, files)?;
        } else if metadata.is_file() {
            files.insert(name, target);
        } else {
            return Err(ArchiveError::Special(path));
        }
    }
    Ok(())
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |error| ArchiveError::Io { path, error }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

/// Other systems do not say: what runs in the cloud has to be executable there.
#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn packed(directory: &Path) -> Result<Vec<u8>, ArchiveError> {
        Ok(pack(directory, Cursor::new(Vec::new()))?.into_inner())
    }

    fn listed(bytes: Vec<u8>) -> Vec<(String, u32, String)> {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut found = Vec::new();
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            let name = file.name().unwrap().into_owned();
            found.push((name, file.unix_mode().unwrap() & 0o777, text));
        }
        found
    }

    #[test]
    fn the_same_content_makes_the_same_archive_wherever_and_whenever_it_is_packed() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = ["b.js", "a/z.js", "a.js", "a/b/c.js"];
        for name in names {
            write(one.path(), name, name);
        }
        for name in names.iter().rev() {
            write(other.path(), name, name);
        }
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options()
            .append(true)
            .open(other.path().join("b.js"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        let bytes = packed(one.path()).unwrap();
        assert_eq!(bytes, packed(other.path()).unwrap());
        let listed: Vec<_> = listed(bytes).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(listed, ["a.js", "a/b/c.js", "a/z.js", "b.js"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_executable_stays_executable_and_nothing_else_of_the_permissions_is_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        for (name, mode) in [("bootstrap", 0o700), ("data", 0o600)] {
            write(directory.path(), name, name);
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(directory.path().join(name), permissions).unwrap();
        }
        let modes: Vec<_> = listed(packed(directory.path()).unwrap())
            .into_iter()
            .map(|(_, mode, _)| mode)
            .collect();
        assert_eq!(modes, [0o755, 0o644]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_inside_of_the_asset_is_followed_and_one_out_of_it_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let asset = parent.path().join("asset");
        write(&asset, "real/file", "content");
        std::os::unix::fs::symlink("real", asset.join("link")).unwrap();
        let found = listed(packed(&asset).unwrap());
        let found: Vec<_> = found.iter().map(|(name, _, text)| (&**name, &**text)).collect();
        assert_eq!(found, [("link/file", "content"), ("real/file", "content")]);
        write(parent.path(), "asset-secret", "outside");
        std::os::unix::fs::symlink("../asset-secret", asset.join("secret")).unwrap();
        let error = packed(&asset).unwrap_err();
        assert!(matches!(error, ArchiveError::Outside { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_circle_are_an_error_and_no_endless_archive() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(".", directory.path().join("again")).unwrap();
        assert!(packed(directory.path()).is_err());
    }
}
