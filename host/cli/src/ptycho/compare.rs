//! `warpstride ptycho compare`.

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::{facts, say, say_json};
use serde::Serialize;
use std::path::{Path, PathBuf};
use warpstride::io::IoError;
use warpstride::ptycho::data::{Reconstruction, Simulation};
use warpstride::ptycho::io::scan::ReadOptions;
use warpstride::ptycho::quality::{Comparison, Reference, compare, compare_slices};
use warpstride::text::{length, significant};

/// The two files to compare.
#[derive(Debug)]
pub(crate) struct Compare {
    a: PathBuf,
    b: PathBuf,
    json: bool,
}

/// Contents of the second file.
enum SecondInput {
    Result(Box<Reconstruction>),
    Truth {
        simulation: Box<Simulation>,
        pixel: [f64; 2],
    },
}

/// Output of `--json`.
#[derive(Serialize)]
struct JsonOutput<'a> {
    a: String,
    b: String,
    /// Kind of the second file: `result` or `truth`.
    against: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// Those of each slice, if both have as many.
    #[serde(skip_serializing_if = "<[Comparison]>::is_empty")]
    slices: &'a [Comparison],
}

impl Compare {
    /// Takes the options as they are; errors can occur only when the files are read.
    pub(crate) fn from_args(args: CompareArgs) -> Self {
        Self {
            a: args.a,
            b: args.b,
            json: args.json,
        }
    }

    /// Reads both files, compares them and prints the result.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let a = warpstride::ptycho::io::results::read(&self.a)?;
        let b = second_input(&self.b)?;
        let (reference, against) = match &b {
            SecondInput::Result(b) => (Reference::Reconstruction(b), "result"),
            SecondInput::Truth { simulation, pixel } => (
                Reference::Truth {
                    simulation,
                    pixel: *pixel,
                },
                "truth",
            ),
        };
        let names = [&self.a, &self.b].map(|path| path.display().to_string());
        let comparison = compare(&a, reference)
            .map_err(|e| Failure::failed(format!("{} against {}: {e}", names[0], names[1])))?;
        let slices = compare_slices(&a, reference)
            .map_err(|e| Failure::failed(format!("{} against {}: {e}", names[0], names[1])))?;
        if self.json {
            let [a, b] = names;
            return say_json(&JsonOutput {
                a,
                b,
                against,
                comparison: &comparison,
                slices: &slices,
            });
        }
        say(&text(&comparison, a.pixel))?;
        for (n, comparison) in slices.iter().enumerate() {
            say(&format!("\nslice {}\n", n + 1))?;
            say(&text(comparison, a.pixel))?;
        }
        Ok(())
    }
}

/// Reads a file that has an object as a result, and any other file as a scan.
fn second_input(path: &Path) -> Result<SecondInput, Failure> {
    let missing = match warpstride::ptycho::io::results::read(path) {
        Ok(result) => return Ok(SecondInput::Result(Box::new(result))),
        Err(error @ IoError::Missing { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    match warpstride::ptycho::io::scan::read(path, &ReadOptions::default()) {
        Ok(file) => match file.scan.simulation() {
            Some(simulation) => Ok(SecondInput::Truth {
                simulation: Box::new(simulation.clone()),
                pixel: file.scan.object_pixel(),
            }),
            None => Err(Failure::failed(format!(
                "{}: expected a result or a simulated scan with the truth at /simulation, found a measured scan",
                path.display()
            ))),
        },
        Err(IoError::Missing { .. }) => Err(missing.into()),
        Err(error) => Err(error.into()),
    }
}

fn text(comparison: &Comparison, pixel: [f64; 2]) -> String {
    let pair = |v: [f64; 2]| format!("{}, {}", significant(v[0], 3), significant(v[1], 3));
    let resolution = |half_period: Option<f64>| {
        half_period.map_or_else(
            || "none: the curve stays below the threshold".to_owned(),
            |m| {
                format!(
                    "{} half period ({} pixels)",
                    length(m, 3),
                    significant(m / pixel[0], 3)
                )
            },
        )
    };
    let correlation_at = |fraction: f64| {
        let ring = ((comparison.frc.len() as f64 * fraction) as usize)
            .min(comparison.frc.len().max(1) - 1);
        comparison
            .frc
            .get(ring)
            .map_or_else(|| "-".to_owned(), |r| significant(r.correlation, 3))
    };
    facts(&[
        ("relative L2", significant(comparison.relative_l2, 4)),
        (
            "resolution, half bit",
            resolution(comparison.resolution_half_bit),
        ),
        (
            "resolution, one bit",
            resolution(comparison.resolution_one_bit),
        ),
        (
            "ring correlation",
            format!(
                "{} / {} / {} at 1/4, 1/2, 3/4 of the highest frequency",
                correlation_at(0.25),
                correlation_at(0.5),
                correlation_at(0.75)
            ),
        ),
        (
            "compared",
            format!(
                "{} pixels; ring correlation over {} x {}",
                comparison.weight_pixels, comparison.frc_shape[0], comparison.frc_shape[1]
            ),
        ),
        (
            "shift removed",
            format!("{} pixels (row, column)", pair(comparison.shift_pixels)),
        ),
        (
            "ramp removed",
            format!("{} rad per pixel", pair(comparison.ramp)),
        ),
        (
            "scale removed",
            format!(
                "{}, {} rad",
                significant(comparison.scale_modulus, 4),
                significant(comparison.scale_phase, 3)
            ),
        ),
    ])
}
