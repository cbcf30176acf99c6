//! The subcommands of `warpstride series`.

mod backend;
mod demo;
mod ladder;
mod local_buckets;
mod plan;
mod points;
mod progress;
mod resample;
mod rows;
#[cfg(feature = "store")]
mod store;
mod summary;

use super::args::SeriesCommand;
use super::failure::Failure;
use super::science_command::{ScienceCommand, parsed, with_subcommands};
use ladder::Ladder;
use resample::Resampling;
use warpstride::series::SCIENCE;

/// The command.
pub(super) fn command() -> ScienceCommand {
    ScienceCommand {
        definition: with_subcommands::<SeriesCommand>(SCIENCE.name, SCIENCE.description),
        run: |options| run(parsed(options)?),
        demo: demo::demo,
    }
}

/// Runs a subcommand.
fn run(command: SeriesCommand) -> Result<(), Failure> {
    match command {
        SeriesCommand::Resample(args) => Resampling::from_args(&args)?.run(),
        SeriesCommand::Ladder(args) => Ladder::from_args(args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Ingest(args) => store::Ingest::from_args(&args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Query(args) => store::StoreQuery::from_args(*args)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Info(args) => store::info(&args),
    }
}
