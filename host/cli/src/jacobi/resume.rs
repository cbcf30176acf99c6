//! Continuing a relaxation from a saved field: its precision, and the options that a run needs to
//! continue another one.

use super::inputs::Inputs;
use crate::args::PrecisionArg;
use crate::failure::Failure;
use std::path::Path;
use warpstride::io::npy;
use warpstride::jacobi::{Boundary, Stopping};
use warpstride::text::{shell_quoted, shortest};

/// The precision of a run, and a note if the start field has another one.
///
/// # Errors
/// The start field cannot be read.
pub(super) fn precision(
    given: Option<PrecisionArg>,
    restart: Option<&Path>,
) -> Result<(PrecisionArg, Option<String>), Failure> {
    let Some(path) = restart else {
        return Ok((given.unwrap_or(PrecisionArg::F32), None));
    };
    let saved = match npy::is_double(path)? {
        true => PrecisionArg::F64,
        false => PrecisionArg::F32,
    };
    let precision = given.unwrap_or(saved);
    let differs = match (saved, precision) {
        (PrecisionArg::F64, PrecisionArg::F32) => "has f64 values, which --precision f32 rounds",
        (PrecisionArg::F32, PrecisionArg::F64) => {
            "has f32 values, from which --precision f64 continues in f64"
        }
        _ => return Ok((precision, None)),
    };
    let note = format!("{}: {differs}", path.display());
    Ok((precision, Some(note)))
}

/// The options of a run that continues one from the field in `path`: all that differ from
/// their defaults and change the result.
pub(super) fn options(
    inputs: &Inputs,
    stopping: Stopping,
    path: &Path,
    sweeps: usize,
    precision: &str,
) -> String {
    let mut options = vec![
        format!("--iterations {sweeps}"),
        format!("--restart {}", shell_quoted(&path.to_string_lossy())),
        format!("--precision {precision}"),
    ];
    match inputs.boundary {
        Boundary::Textbook => {}
        Boundary::Dirichlet => options.push("--boundary dirichlet".to_owned()),
        Boundary::Periodic => options.push("--boundary periodic".to_owned()),
    }
    if let Some(source) = &inputs.source {
        let source = source.to_string_lossy();
        options.push(format!("--source {}", shell_quoted(&source)));
    }
    let tolerance = shortest(stopping.tolerance);
    if tolerance != shortest(DEFAULT_TOLERANCE) {
        options.push(format!("--tolerance {tolerance}"));
    }
    if stopping.check_every != 1 {
        options.push(format!("--check-every {}", stopping.check_every));
    }
    options.join(" ")
}

/// The default of `--tolerance`.
const DEFAULT_TOLERANCE: f64 = 1e-8;
