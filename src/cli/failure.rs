//! Why a command fails, and the exit code of each kind.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use crate::event::Unanswered;
use crate::settings::SettingsError;
use crate::toolkit;
use crate::toolkit::local::LocalError;
use crate::toolkit::{ReportFileError, RulesError};

/// The exit code of wrong usage, the same that clap gives.
pub(super) const USAGE: u8 = 2;
/// The exit code of what could not be done.
pub(super) const FAILED: u8 = 1;
/// The exit code of what a person has to decide.
pub(super) const STOPPED: u8 = 3;
/// The exit code of a shell for what Ctrl-C has ended.
pub(super) const INTERRUPTED: u8 = 130;

/// Why a command fails.
#[derive(Debug)]
pub(super) enum Failure {
    /// There are no settings.
    Settings(SettingsError),
    /// The use case failed.
    Toolkit(toolkit::Error),
    /// The system gives us no threads or sockets.
    Runtime(io::Error),
    /// The plan has findings that forbid it; they are shown with it.
    PlanRefused,
    /// Nobody is there to answer.
    Unanswered(Unanswered),
    /// Somebody said not to go on.
    Stopped(String),
    /// Something would be lost to which nobody has agreed.
    Loss,
    /// Rules reject so many changes; they are shown.
    Rejected(usize),
    /// So many resources are not what they were before they were moved.
    Altered(usize),
    /// Resources were moved, but not read again.
    NotVerified(Box<toolkit::Error>),
    /// Nobody reads the answer any more.
    Reader,
    /// The answer cannot be written.
    Output(io::Error),
}

impl Failure {
    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Settings(error) if error.is_usage() => USAGE,
            Self::Toolkit(toolkit::Error::Local(LocalError::Fault(_))) => USAGE,
            Self::Unanswered(_) | Self::Toolkit(toolkit::Error::Unanswered(_)) => USAGE,
            Self::Toolkit(toolkit::Error::Run { source, .. }) if source.is_cancelled() => {
                INTERRUPTED
            }
            Self::Toolkit(toolkit::Error::Deployment(error)) if error.is_cancelled() => INTERRUPTED,
            Self::Toolkit(toolkit::Error::Deployment(error)) if error.is_stopped() => STOPPED,
            Self::Toolkit(toolkit::Error::WhichStacks { .. } | toolkit::Error::Ignore(_)) => USAGE,
            Self::Toolkit(toolkit::Error::Forbidden(_)) => STOPPED,
            Self::Loss | Self::Rejected(_) => STOPPED,
            Self::PlanRefused | Self::Stopped(_) | Self::Altered(_) => FAILED,
            Self::NotVerified(_) => FAILED,
            Self::Settings(_) | Self::Toolkit(_) | Self::Output(_) | Self::Runtime(_) => FAILED,
            Self::Reader => 0,
        })
    }

    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::Settings(error) => error.hint(),
            Self::Unanswered(error) | Self::Toolkit(toolkit::Error::Unanswered(error)) => {
                Some(format!("nothing was changed; `{}` goes on without a question", error.flag))
            }
            Self::Toolkit(error) => error.hint(),
            Self::PlanRefused => {
                Some("nothing was changed; the findings above say what to do".to_owned())
            }
            Self::Altered(_) => Some(
                "everything was moved, and CloudFormation takes it for unchanged; the differences \
                 are above. `cdkr revert` moves it back, but does not change a resource"
                    .to_owned(),
            ),
            Self::NotVerified(_) => Some(
                "everything was moved; `cdkr drift` compares what is there with the templates"
                    .to_owned(),
            ),
            Self::Loss => Some(
                "nothing was changed; `--keep-names` keeps what can stay under its name, and \
                 `--allow-replacement` with a location, a construct path or a type allows the rest"
                    .to_owned(),
            ),
            Self::Rejected(_) => Some(
                "nothing was changed; a rule with `action: none` or `approve` after those of \
                 `--rules` has the last word"
                    .to_owned(),
            ),
            Self::Reader | Self::Output(_) | Self::Runtime(_) | Self::Stopped(_) => None,
        }
    }

    /// What went wrong and, one after the other, why.
    pub(super) fn chain(&self) -> Vec<String> {
        let mut current: Option<&dyn Error> = match self {
            Self::Settings(error) => Some(error),
            Self::Toolkit(error) => Some(error),
            Self::Output(error) | Self::Runtime(error) => Some(error),
            Self::Unanswered(error) => Some(error),
            Self::NotVerified(error) => Some(&**error),
            Self::Reader | Self::PlanRefused | Self::Stopped(_) => None,
            Self::Loss | Self::Rejected(_) | Self::Altered(_) => None,
        };
        let mut chain = Vec::new();
        match self {
            Self::Altered(number) => chain.push(match number {
                1 => "1 resource is not what it was before it was moved".to_owned(),
                _ => format!("{number} resources are not what they were before they were moved"),
            }),
            Self::NotVerified(_) => {
                chain.push("what was moved could not be read again".to_owned());
            }
            Self::Stopped(text) => chain.push(text.clone()),
            Self::Loss => chain
                .push("data or identity would be lost, or the deployment would fail".to_owned()),
            Self::Rejected(number) => {
                let changes = crate::report::count(*number, "change");
                chain.push(format!("rules reject {changes}, shown above"));
            }
            _ => {}
        }
        if matches!(self, Self::PlanRefused) {
            chain.push("the plan cannot be carried out".to_owned());
        }
        if matches!(self, Self::Output(_)) {
            chain.push("cannot write the answer".to_owned());
        }
        if matches!(self, Self::Runtime(_)) {
            chain.push("cannot work with the network".to_owned());
        }
        while let Some(error) = current {
            chain.push(error.to_string());
            current = error.source();
        }
        chain
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<toolkit::Error> for Failure {
    fn from(error: toolkit::Error) -> Self {
        Self::Toolkit(error)
    }
}

impl From<RulesError> for Failure {
    fn from(error: RulesError) -> Self {
        Self::Toolkit(error.into())
    }
}

impl From<ReportFileError> for Failure {
    fn from(error: ReportFileError) -> Self {
        Self::Toolkit(error.into())
    }
}

impl From<Unanswered> for Failure {
    fn from(error: Unanswered) -> Self {
        Self::Unanswered(error)
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        Self::Toolkit(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Reader,
            _ => Self::Output(error),
        }
    }
}
