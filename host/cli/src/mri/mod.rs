//! The commands of `warpstride mri`.

mod backend;
mod coil_maps;
mod demo;
mod field;
mod info;
mod ladder;
mod prepare;
mod reconstruct;
mod results;
mod sample_source;
mod several;
mod shared;
mod simulate;

use super::args::MriCommand;
use super::failure::Failure;
use super::science_command::{ScienceCommand, parsed, with_subcommands};
use info::Info;
use reconstruct::Reconstruct;
use simulate::Simulate;
use warpstride::mri::SCIENCE;

/// The command.
pub(super) fn command() -> ScienceCommand {
    ScienceCommand {
        definition: with_subcommands::<MriCommand>(SCIENCE.name, SCIENCE.description),
        run: |options| run(parsed(options)?),
        demo: demo::demo,
    }
}

/// Runs a subcommand.
fn run(command: MriCommand) -> Result<(), Failure> {
    match command {
        MriCommand::Simulate(args) => Simulate::from_args(&args)?.run(),
        MriCommand::Info(args) => Info::from_args(args)?.run(),
        MriCommand::Reconstruct(args) => Reconstruct::from_args(*args)?.run(),
        MriCommand::Ladder(args) => ladder::run(&args),
    }
}
