//! `warpstride mri simulate`.

use crate::cli::args::{MriSimulateTyped, TrajectoryWord};
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say};
use std::path::PathBuf;
use warpstride::io::ismrmrd::{self, Recording};
use warpstride::io::{self, Bytes, Memory};
use warpstride::mri::trajectory::Path;
use warpstride::mri::{Coverage, SimulateOptions, simulate};
use warpstride::report::significant;

/// Voxels along each axis, of a plane and of a volume.
const MATRIX: [usize; 2] = [256, 64];

/// A checked simulation.
#[derive(Debug)]
pub(crate) struct Simulate {
    out: PathBuf,
    options: SimulateOptions,
}

impl Simulate {
    /// Checks every option, the memory and the output.
    pub(crate) fn from_typed(typed: &MriSimulateTyped) -> Result<Self, Failure> {
        let options = SimulateOptions {
            path: match typed.trajectory {
                TrajectoryWord::Radial => Path::Radial,
                TrajectoryWord::Golden => Path::Golden,
                TrajectoryWord::Spiral => Path::Spiral,
            },
            matrix: typed.matrix.unwrap_or(MATRIX[usize::from(typed.volume)]),
            spokes: typed.spokes,
            samples: typed.samples,
            coils: typed.coils,
            snr: typed.noise,
            volume: typed.volume,
            seed: typed.seed,
        };
        options.check().map_err(Failure::usage)?;
        let (needed, available) = (options.memory(), u128::from(Memory::available().limit()));
        if needed > available {
            return Err(Failure::failed(format!(
                "the simulation needs {} of memory, but {} may be used; take a smaller --matrix, fewer --spokes or fewer --coils",
                Bytes(needed),
                Bytes(available)
            )));
        }
        io::atomic::check(&typed.out)?;
        Ok(Self {
            out: typed.out.clone(),
            options,
        })
    }

    /// Simulates, writes and says what was made.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let made = simulate(&self.options)?;
        ismrmrd::write(
            &self.out,
            &Recording {
                kspace: &made.kspace,
                trajectory: match self.options.path {
                    Path::Radial => "radial",
                    Path::Golden => "goldenangle",
                    Path::Spiral => "spiral",
                },
                steps: &made.steps,
                truth: Some(&made.truth),
            },
        )?;
        let [slices, rows, columns] = made.kspace.extent().matrix;
        let matrix = if self.options.volume {
            format!("{slices} x {rows} x {columns}")
        } else {
            format!("{rows} x {columns}")
        };
        let coverage = Coverage::new(&made.kspace);
        say(&facts(&[
            ("samples", self.out.display().to_string()),
            ("matrix", matrix),
            ("coils", self.options.coils.to_string()),
            (
                "readouts",
                format!(
                    "{} of {} samples",
                    made.kspace.readouts().len(),
                    self.options.samples()
                ),
            ),
            (
                "undersampled",
                format!("{} times", significant(coverage.undersampling, 3)),
            ),
            (
                "noise",
                self.options.snr.map_or_else(
                    || "none".to_owned(),
                    |snr| format!("SNR {}", significant(snr, 4)),
                ),
            ),
            ("seed", self.options.seed.to_string()),
        ]))
    }
}
