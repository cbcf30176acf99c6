//! The command of a science, as `science_commands` lists it.

use super::demo::DemoFn;
use super::failure::Failure;
use super::usage::sentence;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};

/// The command of a science.
#[derive(Debug)]
pub(crate) struct ScienceCommand {
    /// Its options or subcommands, under the science's name.
    pub(crate) definition: Command,
    /// Runs the command with its options.
    pub(crate) run: fn(&ArgMatches) -> Result<(), Failure>,
    /// Computes the science's part of the demo.
    pub(crate) demo: DemoFn,
}

/// A command that requires one of the subcommands `C`.
pub(crate) fn with_subcommands<C: Subcommand>(
    name: &'static str,
    description: &'static str,
) -> Command {
    C::augment_subcommands(Command::new(name).about(description))
        .subcommand_required(true)
        .arg_required_else_help(true)
}

/// The options that clap has parsed, as the struct or enum that defines them.
pub(crate) fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|error| Failure::usage(sentence(&error)))
}
