//! `warpstride ptycho compare`.

use crate::cli::args::CompareTyped;
use crate::cli::failure::Failure;
use crate::cli::output::{facts, say, say_json};
use serde::Serialize;
use std::path::{Path, PathBuf};
use warpstride::data::{Reconstruction, Simulation};
use warpstride::io::scan::ReadOptions;
use warpstride::io::{self, IoError};
use warpstride::ptycho::quality::{Comparison, Reference, compare};
use warpstride::report::{length, significant};

/// Two files.
#[derive(Debug)]
pub(crate) struct Compare {
    a: PathBuf,
    b: PathBuf,
    json: bool,
}

/// What the second file holds.
enum Held {
    Result(Box<Reconstruction>),
    Truth {
        simulation: Box<Simulation>,
        pixel: [f64; 2],
    },
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    a: String,
    b: String,
    /// `result` or `truth`.
    against: &'static str,
    #[serde(flatten)]
    figures: &'a Comparison,
}

impl Compare {
    /// Nothing can be wrong before the files are read.
    pub(crate) fn from_typed(typed: CompareTyped) -> Self {
        Self {
            a: typed.a,
            b: typed.b,
            json: typed.json,
        }
    }

    /// Reads, compares and prints.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let a = io::results::read(&self.a)?;
        let b = held(&self.b)?;
        let (reference, against) = match &b {
            Held::Result(b) => (Reference::Reconstruction(b), "result"),
            Held::Truth { simulation, pixel } => (
                Reference::Truth {
                    simulation,
                    pixel: *pixel,
                },
                "truth",
            ),
        };
        let names = [&self.a, &self.b].map(|path| path.display().to_string());
        let found = compare(&a, reference)
            .map_err(|e| Failure::failed(format!("{} against {}: {e}", names[0], names[1])))?;
        if self.json {
            let [a, b] = names;
            return say_json(&Answer {
                a,
                b,
                against,
                figures: &found,
            });
        }
        say(&text(&found, a.pixel))
    }
}

/// A result is recognised by its object; anything else is read as a scan.
fn held(path: &Path) -> Result<Held, Failure> {
    let missing = match io::results::read(path) {
        Ok(result) => return Ok(Held::Result(Box::new(result))),
        Err(error @ IoError::Missing { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    match io::scan::read(path, &ReadOptions::default()) {
        Ok(file) => match file.scan.simulation() {
            Some(simulation) => Ok(Held::Truth {
                simulation: Box::new(simulation.clone()),
                pixel: file.scan.object_pixel(),
            }),
            None => Err(Failure::failed(format!(
                "{}: is a measured scan: a result, or a simulated scan with its truth at /simulation, is expected",
                path.display()
            ))),
        },
        Err(IoError::Missing { .. }) => Err(missing.into()),
        Err(error) => Err(error.into()),
    }
}

fn text(found: &Comparison, pixel: [f64; 2]) -> String {
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
    let at = |share: f64| {
        let ring = ((found.frc.len() as f64 * share) as usize).min(found.frc.len().max(1) - 1);
        found
            .frc
            .get(ring)
            .map_or_else(|| "-".to_owned(), |r| significant(r.correlation, 3))
    };
    facts(&[
        ("relative L2", significant(found.relative_l2, 4)),
        (
            "resolution, half bit",
            resolution(found.resolution_half_bit),
        ),
        ("resolution, one bit", resolution(found.resolution_one_bit)),
        (
            "ring correlation",
            format!(
                "{} / {} / {} at 1/4, 1/2, 3/4 of the highest frequency",
                at(0.25),
                at(0.5),
                at(0.75)
            ),
        ),
        (
            "judged",
            format!(
                "{} pixels; rings in {} x {}",
                found.weight_pixels, found.frc_shape[0], found.frc_shape[1]
            ),
        ),
        (
            "shift removed",
            format!("{} pixels (row, column)", pair(found.shift_pixels)),
        ),
        ("ramp removed", format!("{} rad a pixel", pair(found.ramp))),
        (
            "scale removed",
            format!(
                "{}, {} rad",
                significant(found.scale_modulus, 4),
                significant(found.scale_phase, 3)
            ),
        ),
    ])
}
