//! Where the options of a recipe come from, so that an error names what the user has to change.

use super::beam_arguments::optics_origins;
use super::given::{given_and_missing, given_with};
use super::{detector_arguments, layer_arguments, scan_arguments, slice_arguments};
use crate::args::{LayerArgs, PrecisionArg, RecipeArgs, ScanArgs, SliceArgs};
use crate::failure::Failure;
use clap::ValueEnum;
use std::path::Path;
use warpstride::io::IoError;
use warpstride::ptycho::data::PositionError;
use warpstride::ptycho::{PositionRemedy, ProblemError, RecipeError};
use warpstride::text::shortest;

/// Options that scale positions, so that they may define no object.
const OF_POSITIONS: [&str; 5] = [
    "data.affine",
    "data.units.positions",
    "data.paths.position_unit",
    "data.positions.unit",
    "data.raster.step",
];

/// Options that scale object pixels.
const OF_PIXELS: [&str; 7] = [
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
    /// Paths of options that flags set, each with the flag; later ones count.
    flags: Vec<(String, String)>,
    /// Those that `--set` sets, in the place of a recipe's; later ones count.
    set: Vec<(String, String)>,
    /// Options of the engines and the precision that flags set; errors in them name the option.
    computation: Vec<(String, String)>,
}

/// An option, and the argument that sets it.
fn given<T>(
    option: &str,
    value: Option<T>,
    flag: impl Fn(T) -> String,
) -> Option<(String, String)> {
    value.map(|value| (option.to_owned(), flag(value)))
}

impl RecipeOrigin {
    /// The sources of `ptycho reconstruct`, which may resume a run with its recipe.
    pub(super) fn new(args: &RecipeArgs, resume: Option<&Path>) -> Self {
        let file = args.recipe.as_deref().or(resume);
        let stop = args.stop.and_then(|stop| stop.to_possible_value());
        let methods: Vec<String> = (args.refine_positions.iter())
            .filter_map(|method| Some(method.to_possible_value()?.get_name().to_owned()))
            .collect();
        let methods = (!methods.is_empty()).then(|| methods.join(","));
        let flags = [
            given("seed", args.seed, |seed| format!("--seed {seed}")),
            given("stop", stop, |stop| format!("--stop {}", stop.get_name())),
            given("metrics_every", args.metrics_every, |every| {
                format!("--metrics-every {every}")
            }),
            given("positions.refine", methods, |names| {
                format!("--refine-positions {names}")
            }),
            given(
                "fit_frame_scales",
                args.fit_frame_scales.then_some(()),
                |()| "--fit-frame-scales".to_owned(),
            ),
            given("start.result", args.start.as_ref(), |path| {
                format!("--start {}", path.display())
            }),
            given("start.object", args.start_object.as_ref(), |name| {
                format!("--start-object {name}")
            }),
            given("free_pixels", args.free_pixels, |share| {
                format!("--free-pixels {}", shortest(share))
            }),
            given(
                "slices.refine_distance",
                args.refine_slice_distance.then_some(()),
                |()| "--refine-slice-distance".to_owned(),
            ),
        ];
        Self::of(file, &args.set)
            .with(flags.into_iter().flatten())
            .with(optics_origins(&args.optics))
            .with_reading(&args.scan)
            .with_model(
                (args.probe_modes, args.opr_modes),
                &args.layers,
                &args.slices,
            )
            .with_computation(&args.engine, args.precision)
            .with(detector_arguments::origins(&args.detector))
    }

    /// A recipe from a file, or the default one, with options that `--set` sets.
    pub(super) fn of(file: Option<&Path>, set: &[String]) -> Self {
        let set = set.iter().map(|assignment| {
            let path = assignment.split('=').next().unwrap_or_default();
            (path.trim().to_owned(), format!("--set {assignment}"))
        });
        Self {
            file: file.map(|path| path.display().to_string()),
            flags: Vec::new(),
            set: set.collect(),
            computation: Vec::new(),
        }
    }

    /// Adds flags.
    pub(super) fn with(mut self, flags: impl IntoIterator<Item = (String, String)>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Adds the flags that say how a scan is read.
    pub(super) fn with_reading(self, args: &ScanArgs) -> Self {
        self.with(scan_arguments::origins(args))
    }

    /// Adds the flags of the model: probe modes, variations of the first one, object modes, fly
    /// scans and slices.
    pub(super) fn with_model(
        self,
        (probe_modes, opr_modes): (Option<usize>, Option<usize>),
        layers: &LayerArgs,
        slices: &SliceArgs,
    ) -> Self {
        self.with(given("probe_modes", probe_modes, |n| {
            format!("--probe-modes {n}")
        }))
        .with(given("opr_modes", opr_modes, |n| {
            format!("--opr-modes {n}")
        }))
        .with(layer_arguments::origins(layers))
        .with(slice_arguments::origins(slices))
    }

    /// Adds `--engine` and `--precision`.
    pub(super) fn with_computation(
        mut self,
        engines: &[String],
        precision: Option<PrecisionArg>,
    ) -> Self {
        let flags: Vec<String> = (engines.iter())
            .map(|engine| format!("--engine {engine}"))
            .collect();
        let all = (!engines.is_empty()).then(|| flags.join(" "));
        let iterations = engines.iter().filter_map(|engine| {
            let (name, _) = engine.split_once(':')?;
            Some((format!("{name}.iterations"), format!("--engine {engine}")))
        });
        let precision = precision.and_then(|precision| precision.to_possible_value());
        let precision = given("precision", precision, |name| {
            format!("--precision {}", name.get_name())
        });
        let all = given("engines", all, |flags| flags);
        self.computation = all.into_iter().chain(iterations).chain(precision).collect();
        self
    }

    /// Refuses an option that has its value from a flag and from `--set`, or from a flag and from
    /// `--set` of its table, which replaces the table. Which of them counts is not for the program
    /// to choose, even if the values are the same.
    ///
    /// # Errors
    /// An error of usage that names both.
    pub(super) fn check_single(&self) -> Result<(), Failure> {
        for (path, set) in &self.set {
            let mut flags = self.flags.iter().chain(&self.computation);
            let both = flags.find(|(option, _)| within(path, option));
            if let Some((option, flag)) = both {
                return Err(Failure::usage(format!(
                    "{flag}: expected {option} from one argument, found it in {set} too"
                )));
            }
        }
        Ok(())
    }

    /// Names the argument that has set the option in the place of any other.
    pub(super) fn name(&mut self, option: &str, argument: String) {
        self.set.push((option.to_owned(), argument));
    }

    /// The argument that sets the option, or a table that has it.
    fn argument(&self, option: &str) -> Option<(bool, &str)> {
        let mut arguments = self.set.iter().rev().chain(self.flags.iter().rev());
        let (path, argument) = arguments.find(|(path, _)| within(path, option))?;
        Some((path == option, argument.as_str()))
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
        match &error {
            IoError::Option {
                file,
                option,
                reason,
            } => self.with_scan(option, file, reason),
            IoError::Pairing {
                remedy: Some(remedy),
                ..
            }
            | IoError::MissingFiles {
                remedy: Some(remedy),
                ..
            } => Failure::failed(format!("{error}: {}", given_with(remedy.arguments))),
            IoError::Incomplete { arguments, .. } => Failure::failed(format!(
                "{error}; with the values of the measurement in the place of these, this runs: {}",
                given_and_missing(arguments)
            )),
            IoError::WrongAndIncomplete { error, missing } => {
                let text = |text: String| format!("{text}; missing as well: {missing}");
                match self.of_reading((**error).clone()) {
                    Failure::Failed(reason) => Failure::Failed(text(reason)),
                    Failure::Usage(reason) => Failure::Usage(text(reason)),
                    other => other,
                }
            }
            _ => error.into(),
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
            ProblemError::Positions { error, remedy } => self.of_positions(scan, error, remedy),
            other => Failure::failed(format!("{scan}: {other}")),
        }
    }

    /// The arguments that set some of these options.
    fn arguments_of(&self, options: &[&str]) -> Vec<&str> {
        let of_option = options.iter().filter_map(|option| {
            let (_, argument) = self.argument(option)?;
            // A table has other options too, and a list of maps may only exchange and invert axes.
            let named = option.rsplit('.').next()?;
            argument.contains(named).then_some(argument)
        });
        let mut arguments: Vec<&str> = of_option.collect();
        arguments.dedup();
        arguments
    }

    /// The error of positions that define no object. Arguments that scale them are named, if there
    /// are any, and those that scale the object pixel if no other unit of the positions explains
    /// it.
    fn of_positions(&self, scan: &str, error: &PositionError, remedy: &PositionRemedy) -> Failure {
        let of_unit = matches!(remedy, PositionRemedy::Unit(_));
        let outlying = matches!(remedy, PositionRemedy::Exclude(_));
        let mut likely = self.arguments_of(&OF_POSITIONS);
        let of_pixels = self.arguments_of(&OF_PIXELS);
        // A unit of the file explains it as well, unlike a voltage, which changes the wavelength
        // little.
        if likely.is_empty() && of_unit {
            let lengths: Vec<&str> = (of_pixels.into_iter())
                .filter(|argument| !argument.contains("voltage"))
                .collect();
            let unless = match lengths.is_empty() {
                true => String::new(),
                false => format!(", unless {} is wrong", lengths.join(" or ")),
            };
            return Failure::failed(format!("{scan}: {error}{remedy}{unless}"));
        }
        likely.extend(of_pixels);
        let cause = match likely.len() {
            1 => "the option is",
            _ => "the options are",
        };
        match error {
            PositionError::TooLarge { .. } | PositionError::NoMovement { .. }
                if !likely.is_empty() && !outlying =>
            {
                let likely = likely.join(", ");
                let remedy = match of_unit {
                    true => remedy.to_string(),
                    false => String::new(),
                };
                Failure::usage(format!(
                    "{likely}: {scan}: {error}; {cause} the likely cause{remedy}"
                ))
            }
            _ => Failure::failed(format!("{scan}: {error}{remedy}")),
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
            (Some((_, argument)), _) => {
                // Further files of a scan are no option, and an option that names the file itself
                // does so once.
                let further = !argument.starts_with("--");
                let of_dataset = format!("{scan}:/");
                let mut words = argument.split(' ');
                let named = words.any(|word| word == scan || word.starts_with(&of_dataset));
                Failure::usage(match (further, named) {
                    (true, _) => format!("{scan}: {reason}"),
                    (false, true) => format!("{argument}: {reason}"),
                    (false, false) => format!("{argument}: {scan}: {reason}"),
                })
            }
            (None, Some(file)) => Failure::failed(format!("{file}: {option}: {scan}: {reason}")),
            (None, None) => Failure::failed(format!("{scan}: {option}: {reason}")),
        }
    }
}

/// Whether `option` is `path`, or in the table `path`.
fn within(path: &str, option: &str) -> bool {
    option
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_argument_that_sets_an_option_is_named() {
        let origin = RecipeOrigin {
            file: Some("beam.toml".to_owned()),
            ..RecipeOrigin::of(
                None,
                &["data={frames=[0, 9]}", "data.frames=[0,8]"].map(str::to_owned),
            )
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

    #[test]
    fn a_file_is_named_once() {
        let mut args = RecipeArgs::default();
        args.scan.positions.more = vec!["p0.npy".into()];
        args.scan.positions.positions = Some("q.h5:/y".to_owned());
        let origin = RecipeOrigin::new(&args, None);
        for (option, scan, said) in [
            ("data.files", "p0.npy", "p0.npy: found twice"),
            (
                "data.positions.unit",
                "q.h5",
                "--positions q.h5:/y: found twice",
            ),
            (
                "data.positions.unit",
                "h5",
                "--positions q.h5:/y: h5: found twice",
            ),
        ] {
            let failure = origin.with_scan(option, scan, "found twice");
            assert_eq!(failure.to_string(), said);
        }
    }

    #[test]
    fn an_option_from_a_flag_and_from_set_is_refused() {
        let refused = |set: &str, args: RecipeArgs| {
            let args = RecipeArgs {
                set: vec![set.to_owned()],
                ..args
            };
            let checked = RecipeOrigin::new(&args, None).check_single();
            checked.err().map(|error| error.to_string())
        };
        let text = |text: &str| Some(text.to_owned());
        let mut args = RecipeArgs {
            seed: Some(3),
            engine: vec!["lsqml:10".to_owned()],
            ..RecipeArgs::default()
        };
        args.scan.transform_positions = text("swap");
        args.scan.beam.pixel_size = text("75um");
        args.scan.positions.positions = text("a.csv");
        for (set, flag) in [
            ("seed=3", "--seed 3: expected seed from one argument"),
            (
                "data.constants.pixel_size=[5e-5,5e-5]",
                "--pixel-size 75um: ",
            ),
            ("data.constants={distance=2.0}", "--pixel-size 75um: "),
            ("data={}", "--positions a.csv: "),
            ("data.flip_rows=true", "--transform-positions swap: "),
            ("data.positions.file=\"b.csv\"", "--positions a.csv: "),
            ("engines=[]", "--engine lsqml:10: "),
            ("lsqml.iterations=20", "--engine lsqml:10: "),
        ] {
            let error = refused(set, args.clone()).unwrap();
            assert!(error.starts_with(flag), "{error}");
            assert!(error.contains(&format!("--set {set}")), "{error}");
        }
        for set in [
            "data.positions.unit=\"um\"",
            "data.constants.distance=2.0",
            "lsqml.batch=20",
            "seeds=3",
        ] {
            assert_eq!(refused(set, args.clone()), None, "{set}");
        }
    }
}
