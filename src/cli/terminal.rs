//! The two streams: the answer on one, the conversation on the other.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Color, Style};

use super::failure::Failure;
use super::host::TerminalHost;
use crate::report::plain;

const ERROR: Style = bold(AnsiColor::Red);
const WARNING: Style = bold(AnsiColor::Yellow);
const NOTE: Style = bold(AnsiColor::Green);
const HINT: Style = bold(AnsiColor::Cyan);

const fn bold(color: AnsiColor) -> Style {
    Style::new().bold().fg_color(Some(Color::Ansi(color)))
}

/// The standard streams, colours only where they are wanted: never with `--no-color`; otherwise
/// as `NO_COLOR`, `CLICOLOR_FORCE` and the kind of the stream say.
pub(super) struct Terminal {
    choice: ColorChoice,
    /// Whether warnings and notes are told at all.
    pub(super) quiet: bool,
    /// Whether nobody watches: nothing is drawn or asked.
    pub(super) ci: bool,
    /// Whether warnings and notes go with the answer.
    pub(super) together: bool,
}

impl Terminal {
    pub(super) fn new(no_color: bool) -> Self {
        let choice = if no_color { ColorChoice::Never } else { ColorChoice::Auto };
        Self { choice, quiet: false, together: false, ci: false }
    }

    /// Returns the same terminal as a host, for what happens meanwhile.
    pub(super) fn host(&self) -> TerminalHost {
        TerminalHost::new(self.choice, self.quiet, self.ci)
    }

    /// Writes the answer.
    ///
    /// # Errors
    /// When it cannot be written; a reader that went away is an error too.
    pub(super) fn answer(&mut self, text: &str) -> io::Result<()> {
        let mut out = AutoStream::new(io::stdout(), self.choice).lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Says what may be wrong.
    pub(super) fn warning(&mut self, text: &str) {
        self.tell(WARNING, "warning", text);
    }

    /// Says what the reader should know.
    pub(super) fn note(&mut self, text: &str) {
        self.tell(NOTE, "note", text);
    }

    /// Says what went wrong, why, and what to do about it.
    pub(super) fn failure(&mut self, failure: &Failure) {
        let mut chain = failure.chain().into_iter();
        self.err(&line(ERROR, "error", &chain.next().unwrap_or_default()));
        for cause in chain {
            self.err(&format!("  caused by: {}\n", lines(&cause)));
        }
        if let Some(hint) = failure.hint() {
            self.err(&line(HINT, "hint", &hint));
        }
    }

    fn tell(&mut self, style: Style, word: &str, text: &str) {
        if self.quiet {
            return;
        }
        let text = line(style, word, text);
        if self.together {
            // Whoever cannot read this cannot read the answer either, and that is told.
            self.answer(&text).ok();
        } else {
            self.err(&text);
        }
    }

    /// When nobody listens there is nobody to tell.
    fn err(&self, text: &str) {
        let mut err = AutoStream::new(io::stderr(), self.choice).lock();
        err.write_all(text.as_bytes()).ok();
    }
}

fn line(style: Style, word: &str, text: &str) -> String {
    format!("{style}{word}{style:#}: {}\n", lines(text))
}

/// The text, line by line, with what a terminal would obey spelt out.
fn lines(text: &str) -> String {
    text.lines().map(|line| plain(line)).collect::<Vec<_>>().join("\n")
}
