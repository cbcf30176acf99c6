//! `warpstride ptycho simulate`.

use super::near_field_arguments::{positive, propagation};
use crate::args::{NearFieldArgs, PatternArg, SimulateArgs};
use crate::failure::Failure;
use crate::output::{facts, say};
use crate::paths::{self, OutputFile};
use std::path::PathBuf;
use warpstride::ptycho::quantities::Measure;
use warpstride::ptycho::{Pattern, SimulateError, SimulateOptions, simulate};
use warpstride::system::Bytes;
use warpstride::system::Memory;
use warpstride::text::{length, significant};

/// `ROWS,COLUMNS` in pixels; zeros without a value.
fn pixels(option: &str, value: Option<&str>) -> Result<[f64; 2], Failure> {
    let Some(text) = value else {
        return Ok([0.0; 2]);
    };
    let parsed: Option<Vec<f64>> = text.split(',').map(|v| v.trim().parse().ok()).collect();
    match parsed.as_deref() {
        Some(&[rows, columns]) => Ok([rows, columns]),
        _ => Err(Failure::usage(format!(
            "{option} {text}: expected ROWS,COLUMNS in object pixels, such as 0,3"
        ))),
    }
}

/// Distance between slices without another one, m.
const SLICE_DISTANCE: f64 = 20e-6;
/// The same for electrons.
const ELECTRON_SLICE_DISTANCE: f64 = 30e-9;

/// The distance between slices, m.
fn slice_distance(args: &SimulateArgs) -> Result<f64, Failure> {
    match &args.slice_distance {
        None if args.electrons => Ok(ELECTRON_SLICE_DISTANCE),
        None => Ok(SLICE_DISTANCE),
        Some(text) => positive(text, Measure::Path)
            .map_err(|wrong| Failure::usage(format!("--slice-distance {text}: expected {wrong}"))),
    }
}

/// A checked simulation.
#[derive(Debug)]
pub(crate) struct Simulate {
    out: PathBuf,
    options: SimulateOptions,
}

impl Simulate {
    /// Checks every option, the memory and the output.
    pub(crate) fn from_args(args: &SimulateArgs) -> Result<Self, Failure> {
        if args.fly_points == Some(0) {
            return Err(Failure::usage("--fly-points 0: expected 1 to 1024"));
        }
        let slices = args.slices.unwrap_or(1);
        if let (Some(distance), 1) = (&args.slice_distance, slices) {
            return Err(Failure::usage(format!(
                "--slice-distance {distance}: expected a thick specimen (--slices of at least 2) beside it, found a thin one"
            )));
        }
        let near_field = NearFieldArgs {
            near_field: args.near_field,
            focus_to_sample: args.focus_to_sample.clone(),
        };
        let options = SimulateOptions {
            frame: args.frame,
            positions: args.positions,
            pattern: match args.pattern {
                PatternArg::Fermat => Pattern::Fermat,
                PatternArg::Raster => Pattern::Raster,
                PatternArg::Round => Pattern::Round,
            },
            overlap: args.overlap,
            photons: args.photons,
            probe_modes: args.probe_modes,
            object_modes: args.object_modes,
            fly_shift: pixels("--fly-shift", args.fly_shift.as_deref())?,
            fly_points: args.fly_points.unwrap_or(0),
            probe_drift: args.probe_drift,
            position_error: args.position_error,
            noise: !args.no_noise,
            propagation: propagation(&near_field)?,
            blur: args.blur,
            background: args.background,
            seed: args.seed,
            slices,
            slice_distance: slice_distance(args)?,
            electrons: args.electrons,
        };
        options.check().map_err(|error| match error {
            SimulateError::Option { .. } => Failure::usage(error),
            _ => Failure::failed(error),
        })?;
        let available = Memory::available().limit();
        let check_memory = |needed: usize| {
            let needed = needed as u128;
            if needed <= u128::from(available) {
                return Ok(());
            }
            Err(Failure::failed(format!(
                "the scan needs {} of memory, but {} is available; use fewer --positions, a smaller --frame or more --overlap",
                Bytes(needed),
                Bytes(u128::from(available))
            )))
        };
        // Frames first: finding the object's size takes memory itself.
        check_memory(options.memory())?;
        check_memory(options.memory().saturating_add(options.object_memory()?))?;
        paths::check(&[OutputFile::new("", &args.out, &[paths::SCAN])], &[])?;
        Ok(Self {
            out: args.out.clone(),
            options,
        })
    }

    /// Simulates the scan, writes it and prints a summary.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let scan = simulate(&self.options)?;
        warpstride::ptycho::io::scan::write(&self.out, &scan)?;
        let [frames, rows, columns] = scan.shape();
        let (counts, max) = (scan.sums().total(), scan.sums().largest);
        let object = scan.simulation().map_or((0, 0), |s| s.object.dim());
        let mut lines = vec![
            ("scan", self.out.display().to_string()),
            ("frames", format!("{frames} of {rows} x {columns} pixels")),
            (
                "object",
                format!(
                    "{} x {} pixels of {}",
                    object.0,
                    object.1,
                    length(scan.object_pixel()[0], 3)
                ),
            ),
            (
                "counts",
                format!(
                    "{} in total, {} at most in a pixel",
                    significant(counts, 4),
                    significant(f64::from(max), 4)
                ),
            ),
            (
                "slices",
                match self.options.slices {
                    1 => String::new(),
                    n => format!("{n}, {} apart", length(self.options.slice_distance, 3)),
                },
            ),
            ("seed", self.options.seed.to_string()),
        ];
        lines.retain(|(_, value)| !value.is_empty());
        say(&facts(&lines))
    }
}
