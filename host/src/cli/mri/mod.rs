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

pub(crate) use demo::demo;

use super::Failure;
use super::args::MriCommand;
use crate::mri::io::ismrmrd::{ReadOptions, Selection};
use info::Info;
use reconstruct::Reconstruct;
use simulate::Simulate;

/// Runs the command.
pub(crate) fn run(command: MriCommand) -> Result<(), Failure> {
    match command {
        MriCommand::Simulate(args) => Simulate::from_args(&args)?.run(),
        MriCommand::Info(args) => Info::from_args(args)?.run(),
        MriCommand::Reconstruct(args) => Reconstruct::from_args(*args)?.run(),
        MriCommand::Ladder(args) => ladder::run(&args),
    }
}

/// `--group`, `--select` and `--combine`.
fn read_options(
    group: &str,
    select: Option<&str>,
    combine: Option<&str>,
) -> Result<ReadOptions, Failure> {
    if group.trim_matches('/').is_empty() {
        return Err(Failure::usage(
            "--group: expected the name of a group in the file, found an empty one",
        ));
    }
    let mut chosen = match select {
        None => Selection::default(),
        Some(text) => {
            Selection::parse(text).map_err(|error| Failure::usage(format!("--select {error}")))?
        }
    };
    if let Some(text) = combine {
        let combined = chosen.combine(text);
        chosen = combined.map_err(|error| Failure::usage(format!("--combine {error}")))?;
    }
    Ok(ReadOptions {
        group: group.to_owned(),
        select: chosen,
        ..ReadOptions::default()
    })
}
