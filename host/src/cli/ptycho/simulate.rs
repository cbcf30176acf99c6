//! `warpstride ptycho simulate`.

use super::near_field_arguments::propagation;
use crate::cli::args::{PatternArg, SimulateArgs};
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say};
use crate::cli::paths::{self, OutputFile};
use crate::ptycho::{Pattern, SimulateError, SimulateOptions, simulate};
use crate::system::Bytes;
use crate::system::Memory;
use crate::text::{length, significant};
use std::path::PathBuf;

/// A checked simulation.
#[derive(Debug)]
pub(crate) struct Simulate {
    out: PathBuf,
    options: SimulateOptions,
}

impl Simulate {
    /// Checks every option, the memory and the output.
    pub(crate) fn from_args(args: &SimulateArgs) -> Result<Self, Failure> {
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
            position_error: args.position_error,
            noise: !args.no_noise,
            propagation: propagation(&args.near_field)?,
            blur: args.blur,
            background: args.background,
            seed: args.seed,
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
        crate::ptycho::io::scan::write(&self.out, &scan)?;
        let [frames, rows, columns] = scan.shape();
        let (counts, max) = (scan.sums().total(), scan.sums().largest);
        let object = scan.simulation().map_or((0, 0), |s| s.object.dim());
        say(&facts(&[
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
            ("seed", self.options.seed.to_string()),
        ]))
    }
}
