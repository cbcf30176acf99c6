//! Where the options of a recipe come from, so that an error names what the user has to change.

use super::beam_arguments::{beam_origins, optics_origins};
use super::detector_arguments;
use super::layer_arguments;
use super::near_field_arguments::origins;
use super::position_arguments;
use super::prepare_arguments::origins as preparation_origins;
use super::slice_arguments::origins as slice_origins;
use crate::cli::args::{
    BeamArgs, DetectorArgs, LayerArgs, LinkArgs, NearFieldArgs, PositionArgs, PrepareArgs,
    RecipeArgs, SliceArgs, StopArg,
};
use crate::cli::failure::Failure;
use crate::data::PositionError;
use crate::io::IoError;
use crate::ptycho::{ProblemError, RecipeError};
use crate::text::shortest;
use clap::ValueEnum;
use std::path::Path;

/// Options that scale positions or object pixels, so that the positions may define no object.
const SCALES: [&str; 9] = [
    "data.affine",
    "data.paths.position_unit",
    "data.constants.distance",
    "data.constants.pixel_size",
    "data.constants.energy",
    "data.constants.wavelength",
    "data.constants.voltage",
    "data.constants.pixel_angle",
    "data.constants.pixel_frequency",
];

/// The sources of a recipe's options.
#[derive(Debug, Default)]
pub(super) struct RecipeOrigin {
    /// The file with the recipe.
    file: Option<String>,
    /// Paths of options that the command line sets, each with the argument; later ones count.
    arguments: Vec<(String, String)>,
}

impl RecipeOrigin {
    /// The sources of `ptycho reconstruct`, which may resume a run with its recipe.
    pub(super) fn new(args: &RecipeArgs, resume: Option<&Path>) -> Self {
        let file = args.recipe.as_deref().or(resume);
        let stop = match args.stop {
            Some(StopArg::Auto) => Some("--stop auto"),
            Some(StopArg::Plateau) => Some("--stop plateau"),
            Some(StopArg::Off) | None => None,
        };
        let methods: Vec<String> = (args.refine_positions.iter())
            .filter_map(|method| Some(method.to_possible_value()?.get_name().to_owned()))
            .collect();
        let methods = (!methods.is_empty()).then(|| methods.join(","));
        // The option, and the argument that sets it.
        let table = [
            ("seed", args.seed.map(|seed| format!("--seed {seed}"))),
            ("stop", stop.map(str::to_owned)),
            (
                "metrics_every",
                (args.metrics_every).map(|every| format!("--metrics-every {every}")),
            ),
            (
                "positions.refine",
                methods.map(|names| format!("--refine-positions {names}")),
            ),
            (
                "fit_frame_scales",
                (args.fit_frame_scales).then(|| "--fit-frame-scales".to_owned()),
            ),
            (
                "start.result",
                (args.start.as_ref()).map(|path| format!("--start {}", path.display())),
            ),
            (
                "start.object",
                (args.start_object.as_ref()).map(|name| format!("--start-object {name}")),
            ),
            (
                "free_pixels",
                (args.free_pixels).map(|share| format!("--free-pixels {}", shortest(share))),
            ),
            (
                "slices.refine_distance",
                (args.refine_slice_distance).then(|| "--refine-slice-distance".to_owned()),
            ),
        ];
        let given = table.into_iter();
        let given = given.filter_map(|(option, argument)| Some((option.to_owned(), argument?)));
        let mut origin = Self::of(file, args.probe_modes, &args.set)
            .with_transform(args.transform_positions.as_deref());
        origin.arguments.splice(0..0, given);
        (origin.arguments).splice(0..0, optics_origins(&args.optics));
        origin
            .with_beam(&args.beam)
            .with_detector(&args.detector)
            .with_slices(&args.slices)
            .with_variations(args.opr_modes)
            .with_links(&args.links)
            .with_positions(&args.positions)
            .with_near_field(&args.near_field)
            .with_preparation(&args.prepare)
            .with_layers(&args.layers)
    }

    /// Adds `--slices` and `--slice-distance`, which `--set` may replace.
    pub(super) fn with_slices(mut self, args: &SliceArgs) -> Self {
        self.arguments.splice(0..0, slice_origins(args));
        self
    }

    /// Adds `--blur` and `--background`, which `--set` may replace.
    pub(super) fn with_detector(mut self, args: &DetectorArgs) -> Self {
        (self.arguments).splice(0..0, detector_arguments::origins(args));
        self
    }

    /// Adds `--opr-modes`, which `--set` may replace.
    pub(super) fn with_variations(mut self, modes: Option<usize>) -> Self {
        let argument = modes.map(|n| ("opr_modes".to_owned(), format!("--opr-modes {n}")));
        self.arguments.splice(0..0, argument);
        self
    }

    /// Adds `--object-modes`, `--fly-points` and `--fly-shift`, which `--set` may replace.
    pub(super) fn with_layers(mut self, args: &LayerArgs) -> Self {
        self.arguments.splice(0..0, layer_arguments::origins(args));
        self
    }

    /// Adds `--voltage` and the other arguments of the beam and the detector's pixels, which `--set` may replace.
    pub(super) fn with_beam(mut self, args: &BeamArgs) -> Self {
        self.arguments.splice(0..0, beam_origins(args));
        self
    }

    /// Adds `--follow-links`, which `--set` may replace.
    pub(super) fn with_links(mut self, args: &LinkArgs) -> Self {
        let given = (args.follow_links)
            .then(|| ("data.follow_links".to_owned(), "--follow-links".to_owned()));
        self.arguments.splice(0..0, given);
        self
    }

    /// Adds `--positions`, `--raster` and what belongs to them, which `--set` may replace.
    pub(super) fn with_positions(mut self, args: &PositionArgs) -> Self {
        (self.arguments).splice(0..0, position_arguments::origins(args));
        self
    }

    /// Adds `--near-field` and `--focus-to-sample`, which `--set` may replace.
    pub(super) fn with_near_field(mut self, args: &NearFieldArgs) -> Self {
        self.arguments.splice(0..0, origins(args));
        self
    }

    /// Adds the arguments by which frames are prepared, which `--set` may replace.
    pub(super) fn with_preparation(mut self, args: &PrepareArgs) -> Self {
        self.arguments.splice(0..0, preparation_origins(args));
        self
    }

    /// A recipe from a file, or the default one, with options that the command line sets.
    pub(super) fn of(file: Option<&Path>, probe_modes: Option<usize>, set: &[String]) -> Self {
        let modes = probe_modes.map(|n| ("probe_modes".to_owned(), format!("--probe-modes {n}")));
        let set = set.iter().map(|assignment| {
            let path = assignment.split('=').next().unwrap_or_default();
            (path.trim().to_owned(), format!("--set {assignment}"))
        });
        Self {
            file: file.map(|path| path.display().to_string()),
            arguments: modes.into_iter().chain(set).collect(),
        }
    }

    /// Adds `--transform-positions`, which `--set` may replace.
    pub(super) fn with_transform(mut self, list: Option<&str>) -> Self {
        if let Some(list) = list {
            let argument = format!("--transform-positions {list}");
            self.arguments
                .insert(0, ("data.affine".to_owned(), argument));
        }
        self
    }

    /// Names the argument that has set the option in the place of any other.
    pub(super) fn name(&mut self, option: &str, argument: String) {
        self.arguments.push((option.to_owned(), argument));
    }

    /// The argument that sets the option, or a table that has it.
    fn argument(&self, option: &str) -> Option<(bool, &str)> {
        let mut arguments = self.arguments.iter().rev();
        arguments.find_map(|(path, argument)| {
            let rest = option.strip_prefix(path.as_str())?;
            (rest.is_empty() || rest.starts_with('.')).then_some((rest.is_empty(), &**argument))
        })
    }

    /// The error of a value out of range.
    pub(super) fn failure(&self, error: &RecipeError) -> Failure {
        match (self.argument(error.option()), &self.file) {
            (Some((true, argument)), _) => Failure::usage(error.of_argument(argument)),
            (Some((false, argument)), _) => Failure::usage(format!("{argument}: {error}")),
            (None, Some(file)) => Failure::failed(format!("{file}: {error}")),
            (None, None) => Failure::usage(error),
        }
    }

    /// The error of reading a scan, which may be in an option.
    pub(super) fn of_reading(&self, error: IoError) -> Failure {
        match error {
            IoError::Option {
                file,
                option,
                reason,
            } => self.with_scan(option, &file, &reason),
            other => other.into(),
        }
    }

    /// The error of preparing `scan`, which may be in an option.
    pub(super) fn of_problem(&self, scan: &str, error: &ProblemError) -> Failure {
        match error {
            ProblemError::Start(start) => self.with_scan(start.option(), scan, &start.reason()),
            ProblemError::NearPositions(misfit) => {
                // A parallel beam may have been asked for by it.
                let focus = Some("data.focus_to_sample");
                let given = focus.filter(|option| self.argument(option).is_some());
                self.with_scan(given.unwrap_or(misfit.option), scan, &misfit.reason)
            }
            ProblemError::Positions(error) => self.of_positions(scan, error),
            other => Failure::failed(format!("{scan}: {other}")),
        }
    }

    /// The error of positions that define no object. Arguments that scale them or the object pixel are named, if there are any.
    fn of_positions(&self, scan: &str, error: &PositionError) -> Failure {
        let scaling = SCALES.into_iter().filter_map(|option| {
            let (_, argument) = self.argument(option)?;
            // A table has other options too, and a list of maps may only exchange and invert axes.
            let named = option.rsplit('.').next()?;
            argument.contains(named).then_some(argument)
        });
        let mut likely: Vec<&str> = scaling.collect();
        likely.dedup();
        let cause = match likely.len() {
            1 => "the option is",
            _ => "the options are",
        };
        match error {
            PositionError::TooLarge { .. } | PositionError::NoMovement { .. }
                if !likely.is_empty() =>
            {
                let likely = likely.join(", ");
                Failure::usage(format!(
                    "{likely}: {scan}: {error}; {cause} the likely cause"
                ))
            }
            _ => Failure::failed(format!("{scan}: {error}")),
        }
    }

    /// The error of an option that a command does not take.
    pub(super) fn not_taken(&self, option: &str, reason: &str) -> Failure {
        match (self.argument(option), &self.file) {
            (Some((_, argument)), _) => Failure::usage(format!("{argument}: {reason}")),
            (None, Some(file)) => Failure::failed(format!("{file}: {option}: {reason}")),
            (None, None) => Failure::usage(format!("{option}: {reason}")),
        }
    }

    /// The error of an option that does not fit the scan.
    fn with_scan(&self, option: &str, scan: &str, reason: &str) -> Failure {
        match (self.argument(option), &self.file) {
            (Some((_, argument)), _) => Failure::usage(format!("{argument}: {scan}: {reason}")),
            (None, Some(file)) => Failure::failed(format!("{file}: {option}: {scan}: {reason}")),
            (None, None) => Failure::failed(format!("{scan}: {option}: {reason}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_argument_that_sets_an_option_is_named() {
        let origin = RecipeOrigin {
            file: Some("beam.toml".to_owned()),
            arguments: [
                ("data", "--set data={frames=[0, 9]}"),
                ("data.frames", "--set data.frames=[0,8]"),
                ("seed", "--seed 3"),
            ]
            .map(|(path, argument)| (path.to_owned(), argument.to_owned()))
            .to_vec(),
        };
        let named = |option: &str| {
            origin
                .with_scan(option, "a.cxi", "expected 1, found 2")
                .to_string()
        };
        for (option, start) in [
            ("data.frames", "--set data.frames=[0,8]: a.cxi: expected 1"),
            ("data.crop", "--set data={frames=[0, 9]}: a.cxi: "),
            ("database", "beam.toml: database: a.cxi: "),
            ("probe.source", "beam.toml: probe.source: a.cxi: "),
        ] {
            assert!(named(option).starts_with(start), "{}", named(option));
        }
    }
}
