//! Writes computed or measured scattering as CSV. A file is written completely
//! or not at all.

use super::IoError;
use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use std::fmt::Write as _;
use std::path::Path;
use warpstride_core::system::atomic_file;
use warpstride_core::text::visible;

/// Scattering to write, and its provenance.
#[derive(Debug, Clone, Copy)]
pub struct Computed<'a> {
    /// Curve or image.
    pub scattering: &'a Scattering,
    /// Names and values that describe the computation (model, parameters, program version), one
    /// line each.
    pub process: &'a [(String, String)],
}

/// Writes comma-separated columns: `q,intensity` or `qx,qy,intensity`, then `sigma` and `dq` if
/// available (for an image `qz` = 0, `dq_along`, `dq_across` and `shadow` = 1, as in files of
/// NIST). Every number reads back with the same bits. A slit has no column; HDF5 stores it.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_csv(path: &Path, computed: &Computed<'_>) -> Result<(), IoError> {
    let mut text = String::new();
    for (name, value) in computed.process {
        let _ = writeln!(text, "# {}: {}", one_line(name), one_line(value));
    }
    match computed.scattering {
        Scattering::Curve(curve) => curve_columns(&mut text, curve),
        Scattering::Image(image) => image_columns(&mut text, image),
    }
    atomic_file::write(path, |temporary| {
        std::fs::write(temporary, &text).map_err(|e| atomic_file::refusal(path, &e))
    })
}

pub(super) fn one_line(text: &str) -> String {
    visible(text).into_owned()
}

/// A header and rows; a column is a name and its values.
fn columns(text: &mut String, columns: &[(&str, &[f64])]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(text, "{}", names.join(","));
    let rows = columns.iter().map(|(_, c)| c.len()).min().unwrap_or(0);
    for row in 0..rows {
        for (i, (_, column)) in columns.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{:e}", column[row]);
        }
        text.push('\n');
    }
}

fn curve_columns(text: &mut String, curve: &Curve) {
    let mut all: Vec<(&str, &[f64])> = vec![("q", &curve.q), ("intensity", &curve.intensity)];
    // Zeros, which readers take for no uncertainties, so that dq stays the fourth column.
    let zeros = vec![0.0; curve.q.len()];
    let width = match &curve.smearing {
        Some(Smearing::Pinhole(width)) => Some(width),
        _ => None,
    };
    match (&curve.sigma, width) {
        (Some(sigma), _) => all.push(("sigma", sigma)),
        (None, Some(_)) => all.push(("sigma", &zeros)),
        (None, None) => {}
    }
    if let Some(width) = width {
        all.push(("dq", width));
    }
    columns(text, &all);
}

fn image_columns(text: &mut String, image: &ScatteringImage) {
    let zeros = vec![0.0; image.qx.len()];
    let ones = vec![1.0; image.qx.len()];
    let mut all: Vec<(&str, &[f64])> = vec![
        ("qx", &image.qx),
        ("qy", &image.qy),
        ("intensity", &image.intensity),
    ];
    match (&image.sigma, &image.resolution) {
        (Some(sigma), _) => all.push(("sigma", sigma)),
        (None, Some(_)) => all.push(("sigma", &zeros)),
        (None, None) => {}
    }
    if let Some((along, across)) = &image.resolution {
        all.push(("qz", &zeros));
        all.push(("dq_along", along));
        all.push(("dq_across", across));
        all.push(("shadow", &ones));
    }
    columns(text, &all);
}
