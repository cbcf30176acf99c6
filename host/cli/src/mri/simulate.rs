//! `warpstride mri simulate`.

use crate::args::{MriSimulateArgs, TrajectoryArg};
use crate::failure::Failure;
use crate::output::{facts, say};
use crate::paths::{self, OutputFile};
use std::path::PathBuf;
use warpstride::mri::io::ismrmrd::{self, Recording};
use warpstride::mri::trajectory::Path;
use warpstride::mri::{Coverage, SimulateOptions, simulate};
use warpstride::system::Bytes;
use warpstride::system::Memory;
use warpstride::text::significant;

/// Default voxels along each axis, of a plane and of a volume.
const MATRIX: [usize; 2] = [256, 64];

/// A checked simulation.
#[derive(Debug)]
pub(crate) struct Simulate {
    out: PathBuf,
    options: SimulateOptions,
    quiet: bool,
}

impl Simulate {
    /// Checks every option, the memory and the output.
    pub(crate) fn from_args(args: &MriSimulateArgs) -> Result<Self, Failure> {
        let options = SimulateOptions {
            path: match args.trajectory {
                TrajectoryArg::Radial => Path::Radial,
                TrajectoryArg::Golden => Path::Golden,
                TrajectoryArg::Spiral => Path::Spiral,
            },
            matrix: args.matrix.unwrap_or(MATRIX[usize::from(args.volume)]),
            spokes: args.spokes,
            samples: args.samples,
            coils: args.coils,
            snr: args.noise,
            volume: args.volume,
            seed: args.seed,
        };
        options.check().map_err(Failure::usage)?;
        let (needed, available) = (options.memory(), u128::from(Memory::available().limit()));
        if needed > available {
            return Err(Failure::failed(format!(
                "the simulation needs {} of memory, but {} is available; use a smaller --matrix, fewer --spokes or fewer --coils",
                Bytes(needed),
                Bytes(available)
            )));
        }
        paths::check(&[OutputFile::new("", &args.out, &[paths::ISMRMRD])], &[])?;
        Ok(Self {
            out: args.out.clone(),
            options,
            quiet: args.quiet,
        })
    }

    /// Simulates, writes the file and prints what it holds.
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
        if self.quiet {
            return Ok(());
        }
        let [slices, rows, columns] = made.kspace.extent().matrix;
        let matrix = if self.options.volume {
            format!("{slices} x {rows} x {columns}")
        } else {
            format!("{rows} x {columns}")
        };
        let coverage = Coverage::new(&made.kspace)?;
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
