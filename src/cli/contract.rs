//! The command line as a contract: what scripts may count on, a line for each promise.

use clap::builder::ValueRange;
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::failure::{FAILED, INTERRUPTED, STOPPED, USAGE};
use super::{Arguments, Exit};

/// Returns what scripts may count on: commands, options with their short forms, aliases, values,
/// defaults and environment variables, what has to be given and what excludes each other, and
/// exit codes. Sorted, one promise a line, so that two versions of the program can be compared:
/// a line that is gone is a promise that is broken, and so is one more restriction (`must be
/// given`, `not together with`) of what was there before.
///
/// Which options need another one is not told: clap does not say.
pub fn contract() -> Vec<String> {
    let mut command = Arguments::command();
    command.build();
    let mut lines: Vec<String> =
        exit_codes().iter().map(|(code, what)| format!("exit code {code}: {what}")).collect();
    describe(&command, "cdkr", &mut lines);
    lines.sort();
    lines.dedup();
    lines
}

fn exit_codes() -> [(u8, &'static str); 6] {
    [
        (Exit::Done.code(), "done, or nothing to do"),
        (FAILED, "failed"),
        (USAGE, "wrong usage, or nobody there to answer"),
        (STOPPED, "somebody has to decide"),
        (Exit::Moves.code(), "a check found something"),
        (INTERRUPTED, "interrupted"),
    ]
}

fn describe(command: &Command, name: &str, lines: &mut Vec<String>) {
    lines.push(name.to_owned());
    // Every command has these two.
    let own = |argument: &&Arg| {
        name == "cdkr" || !["help", "version"].contains(&argument.get_id().as_str())
    };
    for argument in command.get_arguments().filter(own) {
        let of = format!("{name} {}", label(argument));
        for promise in promises(argument) {
            lines.push(format!("{of}{promise}"));
        }
        for other in command.get_arg_conflicts_with(argument) {
            lines.push(format!("{of}: not together with {}", label(other)));
        }
    }
    for group in command.get_groups().filter(|group| group.is_required_set()) {
        let members = group.get_args().filter_map(|id| {
            command.get_arguments().find(|argument| argument.get_id() == id).map(label)
        });
        let members: Vec<String> = members.collect();
        lines.push(format!("{name} {}: one of them must be given", members.join(" ")));
    }
    for child in command.get_subcommands() {
        let path = format!("{name} {}", child.get_name());
        lines.extend(child.get_all_aliases().map(|alias| format!("{path}: also {alias}")));
        describe(child, &path, lines);
    }
}

/// What an argument is called: `--option`, or `<NAME>` for one that is told by its position.
fn label(argument: &Arg) -> String {
    match argument.get_long() {
        Some(long) => format!("--{long}"),
        None => format!("<{}>", argument.get_id().as_str().to_uppercase()),
    }
}

/// The ends of the lines that begin with an argument.
fn promises(argument: &Arg) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut say = |what: String| found.push(format!(": {what}"));
    if let Some(position) = argument.get_index() {
        say(format!("argument {position}"));
    }
    for short in argument
        .get_short()
        .into_iter()
        .chain(argument.get_all_short_aliases().into_iter().flatten())
    {
        say(format!("also -{short}"));
    }
    for alias in argument.get_all_aliases().into_iter().flatten() {
        say(format!("also --{alias}"));
    }
    say(takes(argument).to_owned());
    if repeats(argument) {
        say("may be repeated".to_owned());
    }
    let need = if argument.is_required_set() { "must be given" } else { "may be left out" };
    say(need.to_owned());
    for value in argument.get_possible_values() {
        say(format!("takes {}", value.get_name()));
        for alias in value.get_name_and_aliases().filter(|alias| *alias != value.get_name()) {
            say(format!("takes {alias}"));
        }
    }
    let defaults = argument.get_default_values().iter();
    for default in defaults.filter(|_| takes(argument) != FLAG) {
        say(format!("is {} by default", default.to_string_lossy()));
    }
    if let Some(variable) = argument.get_env() {
        say(format!("is the variable {} by default", variable.to_string_lossy()));
    }
    found
}

/// What is said of an option without a value, which is off by default.
const FLAG: &str = "takes no value";

fn takes(argument: &Arg) -> &'static str {
    let values = argument.get_num_args().unwrap_or(ValueRange::SINGLE);
    match argument.get_action() {
        ArgAction::Set | ArgAction::Append if values.min_values() == 0 => "may take a value",
        ArgAction::Set | ArgAction::Append => "takes a value",
        _ => FLAG,
    }
}

fn repeats(argument: &Arg) -> bool {
    let many = argument.get_num_args().is_some_and(|values| values.max_values() > 1);
    many || matches!(argument.get_action(), ArgAction::Append | ArgAction::Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_tells_every_exit_code() {
        let help = Arguments::command().get_after_help().map(ToString::to_string).unwrap();
        for (code, _) in exit_codes() {
            assert!(help.contains(&format!("\n  {code:<5}")), "{code}: {help}");
        }
    }

    #[test]
    fn an_option_is_told_in_all_of_its_parts() {
        let lines = contract();
        for line in [
            "cdkr refactor",
            "cdkr refactor <STACKS>: argument 1",
            "cdkr refactor <STACKS>: may be repeated",
            "cdkr refactor --yes: also -y",
            "cdkr refactor --yes: also --force",
            "cdkr refactor --output: takes json",
            "cdkr refactor --output: is table by default",
            "cdkr refactor --dry-run: may be left out",
            "cdkr refactor --against: not together with --local",
            "exit code 3: somebody has to decide",
        ] {
            assert!(lines.iter().any(|one| one == line), "{line}\n{}", lines.join("\n"));
        }
    }
}
