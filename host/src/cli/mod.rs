//! The command line. `args` defines the options; each command converts its arguments into a
//! checked struct, which then runs.

pub(crate) mod args;
mod backend;
pub(crate) mod demo;
mod devices;
pub(crate) mod failure;
#[cfg(feature = "jacobi")]
pub(crate) mod jacobi;
#[cfg(all(feature = "mri", feature = "hdf5"))]
pub(crate) mod mri;
pub(crate) mod output;
mod paths;
#[cfg(all(feature = "ptycho", feature = "hdf5"))]
pub(crate) mod ptycho;
#[cfg(feature = "sas")]
pub(crate) mod sas;
mod science_command;
mod selftest;
#[cfg(feature = "series")]
pub(crate) mod series;
mod threads;

pub(crate) use failure::Failure;
pub(crate) use science_command::{ScienceCommand, parsed, with_subcommands};

use crate::science::{Science, for_each_science};
use args::Tool;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Subcommand};
use std::process::ExitCode;

/// Exit code for wrong usage, as clap and most programs use.
const WRONG_USAGE: u8 = 2;
/// Exit code after Ctrl-C: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Parses the command line, runs the command and returns the exit code: 0, 1 for bad input or a
/// failure, 2 for wrong usage, 130 after Ctrl-C.
pub fn run() -> ExitCode {
    let sciences = science_commands();
    let matches = match program(&sciences).try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let (text, code) = match execute(&sciences, &matches) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(text)) => (text, ExitCode::FAILURE),
        Err(Failure::Usage(text)) => (text, ExitCode::from(WRONG_USAGE)),
        Err(Failure::Interrupted(text)) => (text, ExitCode::from(INTERRUPTED)),
    };
    output::complain(&text);
    code
}

/// The commands of the sciences, in the order of `--help`.
fn science_commands() -> Vec<ScienceCommand> {
    let mut commands = Vec::new();
    for_each_science!(|S| commands.extend(S::command().map(|command| {
        let definition = command.definition.about(S::DESCRIPTION);
        let command = ScienceCommand {
            definition,
            ..command
        };
        (S::HELP_POSITION, command)
    })));
    commands.sort_by_key(|(position, _)| *position);
    commands.into_iter().map(|(_, command)| command).collect()
}

/// The whole command line.
fn program(sciences: &[ScienceCommand]) -> Command {
    let definitions = sciences.iter().map(|science| science.definition.clone());
    let program = Command::new("warpstride")
        .version(env!("CARGO_PKG_VERSION"))
        .about(args::ABOUT)
        .subcommands(definitions);
    let program = Tool::augment_subcommands(program)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let after_help = available(args::AFTER_HELP, &program);
    program.about(args::ABOUT).after_help(after_help)
}

/// `text` without the examples of commands that `program` lacks.
fn available(text: &str, program: &Command) -> String {
    let kept = text.lines().filter(|line| {
        let example = line.strip_prefix("  warpstride ");
        let name = example.and_then(|example| example.split(' ').next());
        name.is_none_or(|name| program.find_subcommand(name).is_some())
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn execute(sciences: &[ScienceCommand], matches: &ArgMatches) -> Result<(), Failure> {
    if let Some((name, options)) = matches.subcommand() {
        let mut named = sciences.iter();
        if let Some(science) = named.find(|science| science.definition.get_name() == name) {
            return (science.run)(options);
        }
    }
    match parsed(matches)? {
        Tool::Devices { json } => devices::run(json),
        Tool::Selftest(options) => selftest::run(&options),
        Tool::Demo(options) => demo::run(&options, sciences),
    }
}

/// Prints help and version as clap does, and errors as one sentence.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // The reader may have closed the pipe, which is not an error.
            error.print().unwrap_or_default();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.print().unwrap_or_default(),
        _ => output::complain(&sentence(error)),
    }
    ExitCode::from(WRONG_USAGE)
}

/// The error and clap's tips as one sentence, without the usage table that follows.
fn sentence(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let one_line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts: Vec<String> = text
        .split("\n\n")
        .filter(|part| {
            let part = part.trim_start();
            !part.starts_with("Usage:") && !part.starts_with("For more information")
        })
        .map(one_line)
        .filter(|part| !part.is_empty())
        .collect();
    parts.push("see --help".to_owned());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_consistent() {
        program(&science_commands()).debug_assert();
    }

    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    #[test]
    fn wrong_usage_is_one_sentence_with_its_tip() {
        let arguments = ["warpstride", "ptycho", "simulate", "a.cxi", "--frames", "3"];
        let program = program(&science_commands());
        let text = sentence(&program.try_get_matches_from(arguments).unwrap_err());
        assert!(
            text.contains("'--frames'") && text.contains("'--frame'"),
            "{text}"
        );
        assert!(!text.contains('\n') && !text.contains("Usage"), "{text}");
    }

    #[test]
    fn only_examples_of_available_commands_are_shown() {
        let program = Command::new("warpstride").subcommand(Command::new("devices"));
        let text = "Examples:\n  warpstride absent a.npy\n  warpstride devices\n\nExit codes";
        let expected = "Examples:\n  warpstride devices\n\nExit codes";
        assert_eq!(available(text, &program), expected);
    }
}
