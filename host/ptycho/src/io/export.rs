//! What a result has, in the formats of other programs: TIFF images, NumPy arrays, and positions as
//! a table.

use crate::data::Reconstruction;
use ndarray::{ArrayD, Axis};
use num_complex::Complex;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use warpstride_core::system::atomic_file;
use warpstride_files::{IoError, npy};
use warpstride_formats::tiff_image::{self, Pixels};

/// A part of a result that is an image or a stack of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Complex transmission (row, column); of several modes or slices (layer, row, column).
    Object,
    /// Its modulus.
    Modulus,
    /// Its phase, rad.
    Phase,
    /// Probe modes (mode, row, column), √photons.
    Probe,
}

impl Part {
    fn values(self, result: &Reconstruction) -> ArrayD<Complex<f64>> {
        if self == Self::Probe {
            return result.probe.clone().into_dyn();
        }
        if let Some(stack) = &result.parts.slices {
            return stack.slices.clone().into_dyn();
        }
        match &result.parts.object_modes {
            None => result.object.clone().into_dyn(),
            Some(modes) => {
                let mut all = result.object.clone().insert_axis(Axis(0));
                for mode in modes.further() {
                    // Modes have one shape.
                    let _ = all.push(Axis(0), mode.view());
                }
                all.into_dyn()
            }
        }
    }
}

/// Writes a part of a result as a NumPy array if the name ends in `.npy`, else as TIFF, atomically.
/// The object and the probe are complex numbers (complex64, or complex128 of a reconstruction in
/// double precision), modulus and phase are f32.
///
/// # Errors
/// [`IoError::Write`].
pub fn write(path: &Path, result: &Reconstruction, part: Part) -> Result<(), IoError> {
    let values = part.values(result);
    let real = match part {
        Part::Object | Part::Probe => None,
        Part::Modulus => Some(values.mapv(|v| v.norm() as f32)),
        Part::Phase => Some(values.mapv(|v| v.arg() as f32)),
    };
    let is_npy = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
    match (real, is_npy) {
        (None, true) => npy::complex::write(path, values.view(), result.double_precision),
        (Some(real), true) => npy::write(path, real.view()),
        (real, false) => tiff(path, result, &values, real.as_ref(), part),
    }
}

fn tiff(
    path: &Path,
    result: &Reconstruction,
    values: &ArrayD<Complex<f64>>,
    real: Option<&ArrayD<f32>>,
    part: Part,
) -> Result<(), IoError> {
    let shape = match *values.shape() {
        [rows, columns] => [1, rows, columns],
        [pages, rows, columns] => [pages, rows, columns],
        _ => [0; 3],
    };
    let [height, width] = result.pixel;
    let description = format!(
        "{} of a ptychographic reconstruction, pixel {height:e} m x {width:e} m (row x column)",
        match part {
            Part::Object => "complex transmission",
            Part::Modulus => "modulus of the transmission",
            Part::Phase => "phase of the transmission, rad,",
            Part::Probe => "probe modes, square roots of photons,",
        }
    );
    let single: Vec<[f32; 2]>;
    let double: Vec<[f64; 2]>;
    let pixels = match real {
        Some(real) => Pixels::Real(real.as_slice().unwrap_or_default()),
        None if result.double_precision => {
            double = values.iter().map(|v| [v.re, v.im]).collect();
            Pixels::ComplexDouble(&double)
        }
        None => {
            single = values.iter().map(|v| [v.re as f32, v.im as f32]).collect();
            Pixels::Complex(&single)
        }
    };
    atomic_file::write(path, |temporary| {
        let fill = || {
            let mut to = BufWriter::new(File::create(temporary)?);
            tiff_image::write(&mut to, shape, pixels, &description)?;
            to.flush()
        };
        fill().map_err(|e| atomic_file::refusal::<IoError>(path, &e))
    })
}

/// Writes a table of the positions, m, one line for each frame: those of the result, those recorded
/// in the scan, and the factor on the frame's intensities. `--positions` reads it.
///
/// # Errors
/// [`IoError::Write`].
pub fn positions(path: &Path, result: &Reconstruction) -> Result<(), IoError> {
    let mut text = String::from("frame,y_m,x_m,recorded_y_m,recorded_x_m,intensity_scale\n");
    let all = result.positions.rows().into_iter();
    let recorded = result.recorded_positions.rows();
    for (frame, (now, before)) in all.zip(recorded).enumerate() {
        let scale = result.frame_scales.get(frame).copied().unwrap_or(1.0);
        let _ = writeln!(
            text,
            "{frame},{:e},{:e},{:e},{:e},{scale}",
            now[0], now[1], before[0], before[1]
        );
    }
    atomic_file::write(path, |temporary| {
        std::fs::write(temporary, &text).map_err(|e| atomic_file::refusal::<IoError>(path, &e))
    })
}
