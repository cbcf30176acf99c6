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

pub(crate) use demo::demo;

use super::Failure;
use super::args::SasCommand;
use evaluate::Evaluate;
use fit::Fit;
use info::Info;
use models::Models;

/// Runs the command.
pub(crate) fn run(command: SasCommand) -> Result<(), Failure> {
    match command {
        SasCommand::Models(args) => Models::from_args(&args)?.run(),
        SasCommand::Evaluate(args) => Evaluate::from_args(*args)?.run(),
        SasCommand::Info(args) => Info::from_args(args)?.run(),
        SasCommand::Fit(args) => Fit::from_args(*args)?.run(),
    }
}
