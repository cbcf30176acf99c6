//! The arguments that say how a scan is read, for the commands that read one.

use super::beam_arguments::{beam, beam_origins};
use super::near_field_arguments::{self, near_field};
use super::position_arguments::{self, positions};
use super::prepare_arguments::{self, prepare};
use super::transform_positions::transform_positions;
use crate::args::ScanArgs;
use crate::failure::Failure;
use warpstride::ptycho::ReadOptions;

/// Options that `--transform-positions` sets.
const TRANSFORMATIONS: [&str; 4] = [
    "data.affine",
    "data.swap_axes",
    "data.flip_rows",
    "data.flip_columns",
];

/// Sets the options that were given.
pub(super) fn scan(args: &ScanArgs, options: &mut ReadOptions) -> Result<(), Failure> {
    if let Some(list) = &args.transform_positions {
        transform_positions(list, options)?;
    }
    beam(&args.beam, &mut options.constants)?;
    options.follow_links |= args.links.follow_links;
    positions(&args.positions, options)?;
    near_field(&args.near_field, options)?;
    prepare(&args.prepare, options)
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &ScanArgs) -> Vec<(String, String)> {
    let links = (args.links.follow_links)
        .then(|| ("data.follow_links".to_owned(), "--follow-links".to_owned()));
    let transformed = args.transform_positions.iter().flat_map(|list| {
        let argument = format!("--transform-positions {list}");
        TRANSFORMATIONS.map(|option| (option.to_owned(), argument.clone()))
    });
    (prepare_arguments::origins(&args.prepare).into_iter())
        .chain(near_field_arguments::origins(&args.near_field))
        .chain(position_arguments::origins(&args.positions))
        .chain(links)
        .chain(beam_origins(&args.beam))
        .chain(transformed)
        .collect()
}
