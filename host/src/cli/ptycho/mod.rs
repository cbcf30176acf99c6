//! The commands of `warpstride ptycho`.

mod backend;
mod compare;
mod demo;
mod files;
mod info;
mod overlap;
mod recipe_origin;
mod reconstruct;
mod results;
mod simulate;

pub(crate) use demo::demo;

use super::Failure;
use super::args::PtychoCommand;
use compare::Compare;
use info::Info;
use reconstruct::Reconstruct;
use simulate::Simulate;

/// Runs the command.
pub(crate) fn run(command: PtychoCommand) -> Result<(), Failure> {
    match command {
        PtychoCommand::Simulate(typed) => Simulate::from_args(&typed)?.run(),
        PtychoCommand::Info(typed) => Info::from_args(typed)?.run(),
        PtychoCommand::Reconstruct(typed) => Reconstruct::from_args(*typed)?.run(),
        PtychoCommand::Compare(typed) => Compare::from_args(typed).run(),
    }
}
