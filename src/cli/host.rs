//! Whoever we work for, seen from the inside: progress and questions on the terminal, plain
//! lines elsewhere.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use dialoguer::Select;
use dialoguer::console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write as _};

use super::work;
use crate::event::{Event, Host, Question, Unanswered};
use crate::report::{self, plain, squeezed, wrapped};

/// How often the line of progress moves.
const TICK: Duration = Duration::from_millis(120);

/// The narrowest terminal that questions are made for, in columns.
const NARROWEST: usize = 40;

/// The terminal as a host.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct TerminalHost {
    choice: ColorChoice,
    quiet: bool,
    /// Whether somebody can answer.
    interactive: bool,
    bar: Mutex<Option<ProgressBar>>,
    /// Whether progress is drawn.
    live: bool,
    /// Whether what happens goes to the standard output, a line of JSON for each event.
    json: bool,
}

impl TerminalHost {
    /// Returns a host for the standard streams. With `ci` nothing is drawn or asked.
    pub(super) fn new(choice: ColorChoice, quiet: bool, ci: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            choice,
            quiet,
            interactive: terminal && io::stdin().is_terminal() && !ci,
            bar: Mutex::new(None),
            live: terminal && !quiet && !ci,
            json: false,
        }
    }

    /// Whether somebody can answer.
    pub(super) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Returns the host that tells a program what happens.
    pub(super) fn for_programs(self) -> Self {
        Self { json: true, live: false, interactive: false, ..self }
    }

    /// Takes the line of progress away.
    pub(super) fn clear(&self) {
        if let Ok(mut bar) = self.bar.lock()
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    fn progress(&self, done: usize, of: usize, text: String) {
        if !self.live {
            return;
        }
        let Ok(mut bar) = self.bar.lock() else { return };
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} {msg} {pos}/{len} ({elapsed})")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        });
        bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
        bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
        bar.set_message(text);
        if done >= of {
            bar.finish_and_clear();
        }
    }

    /// Changes the text of the line of progress, if there is one.
    fn message(&self, text: String) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = bar.as_ref()
        {
            bar.set_message(text);
        }
    }

    fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        self.clear();
        let mut err = AutoStream::new(io::stderr(), self.choice).lock();
        // When nobody listens there is nobody to tell.
        writeln!(err, "{}", plain(text)).ok();
    }
}

impl Host for TerminalHost {
    fn tell(&self, event: &Event) {
        match event {
            Event::Reading { environment, done, of } => {
                self.progress(*done, *of, format!("reading {environment}"));
            }
            // The line of progress says it all.
            Event::Output { line, .. } if self.live => {
                self.message(plain(line).into_owned());
                return;
            }
            _ => {}
        }
        if self.json {
            if let Some(line) = report::event_json(event) {
                let mut out = AutoStream::new(io::stdout(), self.choice).lock();
                // A reader that went away does not stop what was begun.
                writeln!(out, "{line}").ok();
            }
        } else if let Some(line) = report::event_line(event) {
            self.line(&line);
        }
        // Below the line, which takes the one before away.
        if let Event::Asset { environment, done, of, .. } = event {
            self.progress(*done, *of, format!("publishing to {environment}"));
        }
    }

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        self.clear();
        let unanswered =
            || Unanswered { question: question.text.clone(), flag: question.flag.clone() };
        if !self.interactive {
            return Err(unanswered());
        }
        let width = usize::from(Term::stderr().size().1).max(NARROWEST);
        let text = plain(&question.text);
        let fits = text.chars().count() + 2 <= width;
        self.help(question, width, !fits);
        // A longer line would take several, and the dialogue takes away only one.
        let choices: Vec<String> =
            question.choices.iter().map(|choice| squeezed(&plain(choice), width - 3)).collect();
        work::watch_interrupts();
        let select = Select::new().items(&choices).default(question.default).report(true);
        let prompt = if fits { &*text } else { "Your answer" };
        match select.with_prompt(prompt).interact_opt() {
            Ok(answer) => answer.ok_or_else(unanswered),
            Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => {
                work::interrupted()
            }
            Err(_) => Err(unanswered()),
        }
    }
}

impl TerminalHost {
    /// Shows what helps to answer a question, with the question itself if it does not fit into a
    /// line.
    fn help(&self, question: &Question, width: usize, with_text: bool) {
        let mut err = AutoStream::new(io::stderr(), self.choice).lock();
        let text = with_text.then_some(&question.text);
        if !question.help.is_empty() {
            writeln!(err).ok();
        }
        for line in question.help.iter().chain(text) {
            let style = if line.starts_with(' ') { Style::new() } else { Style::new().bold() };
            for part in wrapped(&plain(line), width) {
                // When nobody listens there is nobody to tell.
                writeln!(err, "{style}{part}{style:#}").ok();
            }
        }
    }
}
