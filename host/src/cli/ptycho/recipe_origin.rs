//! Where the options of a recipe come from, so that an error names what the user has to change.

use super::detector_arguments;
use super::layer_arguments;
use super::near_field_arguments::origins;
use super::slice_arguments::origins as slice_origins;
use crate::cli::args::{DetectorArgs, LayerArgs, NearFieldArgs, RecipeArgs, SliceArgs, StopArg};
use crate::cli::failure::Failure;
use crate::io::IoError;
use crate::ptycho::{ProblemError, RecipeError};
use crate::text::shortest;
use clap::ValueEnum;
use std::path::Path;

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
        let mut origin = Self::of(file, args.probe_modes, &args.set)
            .with_transform(args.transform_positions.as_deref());
        if let Some(seed) = args.seed {
            let argument = ("seed".to_owned(), format!("--seed {seed}"));
            origin.arguments.insert(0, argument);
        }
        let stop = match args.stop {
            Some(StopArg::Auto) => Some("--stop auto"),
            Some(StopArg::Plateau) => Some("--stop plateau"),
            Some(StopArg::Off) | None => None,
        };
        if let Some(argument) = stop {
            let argument = ("stop".to_owned(), argument.to_owned());
            origin.arguments.insert(0, argument);
        }
        if let Some(every) = args.metrics_every {
            let argument = format!("--metrics-every {every}");
            origin
                .arguments
                .insert(0, ("metrics_every".to_owned(), argument));
        }
        if !args.refine_positions.is_empty() {
            let names: Vec<String> = (args.refine_positions.iter())
                .filter_map(|method| Some(method.to_possible_value()?.get_name().to_owned()))
                .collect();
            let argument = format!("--refine-positions {}", names.join(","));
            origin
                .arguments
                .insert(0, ("positions.refine".to_owned(), argument));
        }
        if args.fit_frame_scales {
            let argument = "--fit-frame-scales".to_owned();
            origin
                .arguments
                .insert(0, ("fit_frame_scales".to_owned(), argument));
        }
        if let Some(path) = &args.start {
            let argument = format!("--start {}", path.display());
            origin
                .arguments
                .insert(0, ("start.result".to_owned(), argument));
        }
        if let Some(name) = &args.start_object {
            let argument = format!("--start-object {name}");
            origin
                .arguments
                .insert(0, ("start.object".to_owned(), argument));
        }
        if let Some(share) = args.free_pixels {
            let argument = format!("--free-pixels {}", shortest(share));
            origin
                .arguments
                .insert(0, ("free_pixels".to_owned(), argument));
        }
        if args.refine_slice_distance {
            let refined = ("slices.refine_distance", "--refine-slice-distance");
            let (option, argument) = (refined.0.to_owned(), refined.1.to_owned());
            origin.arguments.insert(0, (option, argument));
        }
        origin
            .with_detector(&args.detector)
            .with_slices(&args.slices)
            .with_variations(args.opr_modes)
            .with_near_field(&args.near_field)
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

    /// Adds `--near-field` and `--focus-to-sample`, which `--set` may replace.
    pub(super) fn with_near_field(mut self, args: &NearFieldArgs) -> Self {
        self.arguments.splice(0..0, origins(args));
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
            other => Failure::failed(format!("{scan}: {other}")),
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
