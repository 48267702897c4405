//! What makes Git keep the history: hooks that check, and a driver that merges.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::git::Git;
use super::repository_error::RepositoryError;
use super::store::{HISTORY_FILE, TEMPLATES, inside, read, unwritable};
use crate::toolkit::{Error, files};

/// The hooks that check. Git runs the second one, and not the first, before it commits a merge
/// without conflicts.
const HOOKS: [&str; 2] = ["pre-commit", "pre-merge-commit"];
/// How our hooks begin.
const HEADER: &str = "#!/bin/sh\n# Written by `cdkr history install-hook`.\n";
/// The name of the merge driver.
const DRIVER: &str = "cdkr-history";

/// What was installed.
#[derive(Clone, Debug, Default)]
pub struct Hooked {
    /// The files that were written; none if everything was there.
    pub written: Vec<PathBuf>,
    /// Where hooks were kept that were replaced.
    pub replaced: Vec<PathBuf>,
}

/// Has Git check before each commit that the state of the app is recorded, and merge logs. What is
/// there already stays as it is.
///
/// # Errors
/// When the project is in no working tree of Git, or when somebody else has written such a hook
/// and it is not to be replaced: then nothing was changed.
pub fn install_hook(project: &Path, app: Option<&str>, force: bool) -> Result<Hooked, Error> {
    let git = Git::of(project);
    let prefix = git.text(&["rev-parse", "--show-prefix"])?;
    let block = block(prefix.trim_end_matches('/'), app);
    let mut hooks = Vec::new();
    for name in HOOKS {
        let file = git.own_path(&format!("hooks/{name}"))?;
        let there = read(&file)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let is_ours = there.as_ref().is_none_or(|text| text.starts_with(HEADER));
        let has_it = there.as_ref().is_some_and(|text| text.contains(&block));
        if !is_ours && !has_it && !force {
            return Err(RepositoryError::ForeignHook { file, lines: block }.into());
        }
        if !has_it {
            hooks.push((file, there, is_ours));
        }
    }
    let mut hooked = Hooked::default();
    for (file, there, is_ours) in hooks {
        if !is_ours {
            let kept = kept(&file);
            fs::rename(&file, &kept).map_err(unwritable(&file))?;
            hooked.replaced.push(kept);
        }
        let before = there.filter(|_| is_ours).unwrap_or_else(|| HEADER.to_owned());
        write_executable(&file, &(without(&before, &block) + &block))?;
        hooked.written.push(file);
    }
    git.text(&["config", &format!("merge.{DRIVER}.name"), "logs of cdkr"])?;
    let driver = "cdkr history merge-driver %O %A %B %P";
    git.text(&["config", &format!("merge.{DRIVER}.driver"), driver])?;
    hooked.written.extend(attributes(project)?);
    Ok(hooked)
}

/// What a hook does for a project: it stops the commit if the app is not as the log says, or if
/// the log is not in the commit.
fn block(prefix: &str, app: Option<&str>) -> String {
    let directory = if prefix.is_empty() { ".".to_owned() } else { quoted(prefix) };
    let inside = |name: &str| match prefix {
        "" => name.to_owned(),
        prefix => quoted(&format!("{prefix}/{name}")),
    };
    let files = format!("{} {}", inside(HISTORY_FILE), inside(TEMPLATES));
    let app = app.map(|app| format!(" --app {}", quoted(app))).unwrap_or_default();
    // What Git says of itself to a hook holds for the directory in which the hook begins.
    format!(
        "# cdkr: begin {directory}\n\
         ( unset GIT_DIR GIT_WORK_TREE; cd {directory} && cdkr history record --check --quiet{app} ) || exit 1\n\
         if ! git diff --quiet -- {files} ||\n\
         \x20  git ls-files --others --exclude-standard -- {files} | grep -q .; then\n\
         \x20 echo 'cdkr: the history is not in this commit: git add {HISTORY_FILE} {TEMPLATES}' >&2\n\
         \x20 exit 1\n\
         fi\n\
         # cdkr: end {directory}\n"
    )
}

/// A hook without what an earlier call has written for the same project.
fn without(hook: &str, block: &str) -> String {
    let begin = block.lines().next().unwrap_or_default();
    let end = block.lines().last().unwrap_or_default();
    let mut out = String::new();
    let mut is_inside = false;
    for line in hook.split_inclusive('\n') {
        is_inside |= line.trim_end() == begin;
        if !is_inside {
            out.push_str(line);
        }
        is_inside &= line.trim_end() != end;
    }
    out
}

/// Where a hook is kept that is replaced.
fn kept(file: &Path) -> PathBuf {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers = (0..).map(|number| match number {
        0 => format!("{name}.replaced"),
        number => format!("{name}.replaced.{number}"),
    });
    let mut free = numbers.map(|name| file.with_file_name(name)).filter(|path| !path.exists());
    free.next().unwrap_or_else(|| file.with_extension("replaced"))
}

/// A text as a shell takes it for one word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn write_executable(file: &Path, text: &str) -> Result<(), RepositoryError> {
    files::write(file, text.as_bytes()).map_err(unwritable(file))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(unwritable(file))?;
    }
    Ok(())
}

/// Tells Git how our files are merged. Returns the file if it had to be written.
fn attributes(project: &Path) -> Result<Option<PathBuf>, RepositoryError> {
    let file = inside(project, ".gitattributes");
    let before = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(source) => return Err(RepositoryError::Unreadable { file, source }),
    };
    let lines = [
        format!("{HISTORY_FILE} -text merge={DRIVER}"),
        format!("{TEMPLATES}/*.json -text merge={DRIVER} linguist-generated"),
    ];
    let mut text = before.clone();
    for line in lines {
        if !before.lines().any(|there| there.trim() == line) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
    if text == before {
        return Ok(None);
    }
    files::write(&file, text.as_bytes()).map_err(unwritable(&file))?;
    Ok(Some(file))
}
