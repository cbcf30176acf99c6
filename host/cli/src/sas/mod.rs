//! The commands of `warpstride sas`.

mod backend;
mod demo;
mod evaluate;
mod files;
mod fit;
mod fit_parameters;
mod info;
mod model_config;
mod models;
mod names;
mod parameters;
mod points;
mod resolution;
mod results;
mod table;
mod values;

use super::args::SasCommand;
use super::failure::Failure;
use super::science_command::{ScienceCommand, parsed, with_subcommands};
use evaluate::Evaluate;
use fit::Fit;
use info::Info;
use models::Models;
use warpstride::sas::SCIENCE;

/// The command.
pub(super) fn command() -> ScienceCommand {
    ScienceCommand {
        definition: with_subcommands::<SasCommand>(SCIENCE.name, SCIENCE.description),
        run: |options| run(parsed(options)?),
        demo: demo::demo,
    }
}

/// Runs a subcommand.
fn run(command: SasCommand) -> Result<(), Failure> {
    match command {
        SasCommand::Models(args) => Models::from_args(&args)?.run(),
        SasCommand::Evaluate(args) => Evaluate::from_args(*args)?.run(),
        SasCommand::Info(args) => Info::from_args(args)?.run(),
        SasCommand::Fit(args) => Fit::from_args(*args)?.run(),
    }
}
