//! The commands of `warpstride ptycho`.

mod automatic;
mod backend;
mod beam_arguments;
mod coarse_to_fine;
mod compare;
mod demo;
mod detector_arguments;
mod device_group;
mod export;
mod files;
mod find_orientation;
mod find_rotation;
mod given;
mod import;
mod info;
mod interruption;
mod layer_arguments;
mod near_field_arguments;
mod position_arguments;
mod predict;
mod prepare_arguments;
mod recipe_arguments;
mod recipe_origin;
mod reconstruct;
mod resolution;
mod results;
mod scan_arguments;
mod simulate;
mod slice_arguments;
mod transform_positions;
mod trial_device;
mod unknown_layout;

use super::args::PtychoCommand;
use super::failure::Failure;
use super::output::complain;
use super::processes;
use super::science_command::{ScienceCommand, parsed, with_subcommands};
use coarse_to_fine::CoarseToFine;
use compare::Compare;
use export::Export;
use import::Import;
use info::Info;
use predict::Predict;
use recipe_arguments::{check_coarse, check_single};
use reconstruct::Reconstruct;
use resolution::Resolution;
use simulate::Simulate;
use warpstride::ptycho::SCIENCE;

/// The command.
pub(super) fn command() -> ScienceCommand {
    ScienceCommand {
        definition: with_subcommands::<PtychoCommand>(SCIENCE.name, SCIENCE.description),
        run: |options| run(parsed(options)?),
        demo: demo::demo,
    }
}

/// Runs a subcommand.
fn run(command: PtychoCommand) -> Result<(), Failure> {
    match command {
        PtychoCommand::Simulate(args) => Simulate::from_args(&args)?.run(),
        PtychoCommand::Info(args) => Info::from_args(*args)?.run(),
        PtychoCommand::Reconstruct(args) => {
            let ranks = processes::ranks()?;
            let single = check_single(&args.recipe);
            let done = if args.coarse.is_empty() {
                let checked = single.and_then(|()| Reconstruct::from_args(*args));
                processes::common(&ranks, checked)?.run(&ranks)
            } else {
                let checked = single
                    .and_then(|()| check_coarse(&args.recipe, &args.coarse))
                    .and_then(|()| CoarseToFine::from_args(&args));
                processes::common(&ranks, checked)?.run(&ranks)
            };
            match done {
                Err(failure @ Failure::OfRank(_)) if ranks.size() > 1 => {
                    complain(&failure.to_string());
                    ranks.fail(&failure.to_string());
                    Err(failure)
                }
                done => done,
            }
        }
        PtychoCommand::Resolution(args) => {
            check_single(&args.recipe)?;
            Resolution::from_args(*args)?.run()
        }
        PtychoCommand::Import(args) => Import::from_args(*args)?.run(),
        PtychoCommand::Compare(args) => Compare::from_args(args).run(),
        PtychoCommand::Predict(args) => Predict::from_args(args)?.run(),
        PtychoCommand::Export(args) => Export::from_args(args)?.run(),
    }
}
