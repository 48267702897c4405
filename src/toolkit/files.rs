//! Files that we write.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Lets nobody but the owner into a directory.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Keeps the directory of our records out of version control: it holds templates and the IDs of
/// an account. A file that is there already stays as it is.
pub(super) fn keep_out_of_git(records: &Path) -> io::Result<()> {
    let file = records.join(".gitignore");
    if file.exists() {
        return Ok(());
    }
    write_private(&file, b"*\n")?;
    make_private(records)
}

/// Whether a file can be written, without writing it. Its directory is made if it is not there.
pub(super) fn check_writable(file: &Path) -> io::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(directory)?;
    NamedTempFile::new_in(directory)?.close()
}

/// Writes a file as a whole or not at all, with the usual permissions: it is for others to read.
pub(super) fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    write_private(file, bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// Writes a file as a whole or not at all, readable by its owner only: it may hold account data.
/// Its directory is made if it is not there.
pub(super) fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(directory)?;
    // Temporary files are created with mode 0600.
    let mut temporary = NamedTempFile::new_in(directory)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}
