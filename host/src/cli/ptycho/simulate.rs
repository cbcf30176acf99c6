//! `warpstride ptycho simulate`.

use crate::cli::args::{PatternWord, SimulateTyped};
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say};
use std::path::PathBuf;
use warpstride::io::{self, Bytes, Memory};
use warpstride::ptycho::{Pattern, SimulateError, SimulateOptions, simulate};
use warpstride::report::{length, significant};

/// A checked simulation.
#[derive(Debug)]
pub(crate) struct Simulate {
    out: PathBuf,
    options: SimulateOptions,
}

impl Simulate {
    /// Checks every option, the memory and the output.
    pub(crate) fn from_typed(typed: &SimulateTyped) -> Result<Self, Failure> {
        let options = SimulateOptions {
            frame: typed.frame,
            positions: typed.positions,
            pattern: match typed.pattern {
                PatternWord::Fermat => Pattern::Fermat,
                PatternWord::Raster => Pattern::Raster,
                PatternWord::Round => Pattern::Round,
            },
            overlap: typed.overlap,
            photons: typed.photons,
            probe_modes: typed.probe_modes,
            position_error: typed.position_error,
            noise: !typed.no_noise,
            seed: typed.seed,
        };
        options.check().map_err(|error| match error {
            SimulateError::Option { .. } => Failure::usage(error),
            _ => Failure::failed(error),
        })?;
        let available = Memory::available().limit();
        let fits = |needed: usize| {
            let needed = needed as u128;
            if needed <= u128::from(available) {
                return Ok(());
            }
            Err(Failure::failed(format!(
                "the scan needs {} of memory, but {} may be used; take fewer --positions, a smaller --frame or more --overlap",
                Bytes(needed),
                Bytes(u128::from(available))
            )))
        };
        // First what is known at once: the object's size takes memory to find out.
        fits(options.memory())?;
        fits(options.memory().saturating_add(options.object_memory()?))?;
        io::atomic::check(&typed.out)?;
        Ok(Self {
            out: typed.out.clone(),
            options,
        })
    }

    /// Simulates, writes and says what was made.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let scan = simulate(&self.options)?;
        io::scan::write(&self.out, &scan)?;
        let [frames, rows, columns] = scan.shape();
        let counts: f64 = scan.frames().iter().map(|v| f64::from(*v)).sum();
        let max = scan.frames().iter().copied().fold(0.0, f32::max);
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
                    "{} in all, {} at most in a pixel",
                    significant(counts, 4),
                    significant(f64::from(max), 4)
                ),
            ),
            ("seed", self.options.seed.to_string()),
        ]))
    }
}
