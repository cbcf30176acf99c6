//! `warpstride jacobi`.

mod backend;
mod demo;
mod display;
mod inputs;
mod relaxation;
mod resume;

use super::args::JacobiArgs;
use super::science_command::{ScienceCommand, parsed};
use clap::{Args, Command};
use relaxation::Relaxation;
use warpstride::jacobi::SCIENCE;

/// The command.
pub(super) fn command() -> ScienceCommand {
    let options = Command::new(SCIENCE.name).about(SCIENCE.description);
    ScienceCommand {
        definition: JacobiArgs::augment_args(options),
        run: |options| Relaxation::from_args(&parsed(options)?)?.run(),
        demo: demo::demo,
    }
}
