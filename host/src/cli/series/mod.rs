//! The subcommands of `warpstride series`.

mod backend;
mod demo;
mod ladder;
mod memory;
mod plan;
mod points;
mod progress;
mod resample;
mod rows;
#[cfg(feature = "store")]
mod store;
mod summary;

pub(crate) use demo::demo;

use super::Failure;
use super::args::SeriesCommand;
use ladder::Ladder;
use resample::Resampling;

/// Runs the command.
pub(crate) fn run(command: SeriesCommand) -> Result<(), Failure> {
    match command {
        SeriesCommand::Resample(typed) => Resampling::from_args(&typed)?.run(),
        SeriesCommand::Ladder(typed) => Ladder::from_args(typed)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Ingest(typed) => store::Ingest::from_args(&typed)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Query(typed) => store::StoreQuery::from_args(*typed)?.run(),
        #[cfg(feature = "store")]
        SeriesCommand::Info(typed) => store::info(&typed),
    }
}
