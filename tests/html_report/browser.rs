//! A real browser, where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's Chromium, Node.js and axe-core.
pub(crate) struct Browser {
    program: PathBuf,
    modules: PathBuf,
}

/// Returns what pages are looked at with, or says what is missing.
pub(crate) fn found() -> Option<Browser> {
    let named = std::env::var_os("CDKR_CHROMIUM").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("/usr/bin/chromium"));
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/browser");
    let node = Command::new("node").arg("--version").output();
    let missing = if !program.exists() {
        format!("no browser at `{}`: apt-get install chromium", program.display())
    } else if !node.is_ok_and(|output| output.status.success()) {
        "no Node.js".to_owned()
    } else if !modules.join("node_modules/axe-core/axe.min.js").exists() {
        "no axe-core: mkdir -p target/browser && cp tests/browser/package*.json target/browser/ && \
         npm ci --ignore-scripts --prefix target/browser"
            .to_owned()
    } else {
        return Some(Browser { program, modules });
    };
    eprintln!("skipped: {missing}");
    None
}

impl Browser {
    /// Looks at pages as a person would. They, and pictures of them, are left in a directory of
    /// `target`, for people.
    pub(crate) fn check(&self, pages: &[(&str, String)]) {
        let directory = self.modules.join("pages");
        std::fs::create_dir_all(&directory).unwrap();
        for (name, page) in pages {
            std::fs::write(directory.join(name).with_extension("html"), page).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.mjs");
        let output = Command::new("node")
            .arg(script)
            .args([&self.program, &self.modules, &directory])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        eprintln!("{text}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
    }
}
