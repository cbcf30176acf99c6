//! A reconstruction against a reference, in figures.

use super::{LitRegion, Ring, Weighted, align, correlate, largest_rectangle};
use crate::data::{Reconstruction, Simulation};
use ndarray::{Array2, s};
use num_complex::Complex;
use serde::Serialize;

/// What a reconstruction is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Reference<'a> {
    /// Another reconstruction; judged where both were lit.
    Reconstruction(&'a Reconstruction),
    /// What a scan was simulated from; judged where the reconstruction was lit.
    Truth {
        /// The truth.
        simulation: &'a Simulation,
        /// Its object pixel (row, column), m.
        pixel: [f64; 2],
    },
}

/// Figures of a comparison, translation, ramp and scale removed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// ‖w (A − B)‖ / ‖w B‖.
    pub relative_l2: f64,
    /// Displacement of B against A beyond what the origins of the two grids say, (row, column),
    /// pixels.
    pub shift_pixels: [f64; 2],
    /// Phase ramp of A over B, (row, column), rad a pixel.
    pub ramp: [f64; 2],
    /// Factor that brought A to B: modulus.
    pub scale_modulus: f64,
    /// Factor that brought A to B: phase, rad.
    pub scale_phase: f64,
    /// Pixels judged.
    pub weight_pixels: usize,
    /// Shape (rows, columns) of the rectangle inside the lit region that was correlated.
    pub frc_shape: [usize; 2],
    /// Fourier ring correlation, frequencies rising.
    pub frc: Vec<Ring>,
    /// Half period, m, at which the curve falls below the half-bit threshold; one pixel where it
    /// never does, `None` where it never exceeds it.
    pub resolution_half_bit: Option<f64>,
    /// The same for the one-bit threshold.
    pub resolution_one_bit: Option<f64>,
}

/// Why two objects cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QualityError {
    /// The pixels differ.
    #[error(
        "the object pixels differ: {a_rows:.6e} x {a_columns:.6e} m against {b_rows:.6e} x {b_columns:.6e} m; objects are compared pixel by pixel"
    )]
    PixelSize {
        /// A's pixel, m.
        a_rows: f64,
        /// A's pixel, m.
        a_columns: f64,
        /// B's pixel, m.
        b_rows: f64,
        /// B's pixel, m.
        b_columns: f64,
    },
    /// The fluence map is not the object's.
    #[error(
        "the fluence map has shape {found:?}, the object {expected:?}: one value a pixel is expected"
    )]
    FluenceShape {
        /// Shape of the fluence.
        found: [usize; 2],
        /// Shape of the object.
        expected: [usize; 2],
    },
    /// NaN or infinity.
    #[error("the object is not finite at row {row}, column {column}: the reconstruction diverged")]
    NotFinite {
        /// Where.
        row: usize,
        /// Where.
        column: usize,
    },
    /// No fluence.
    #[error("no pixel of the object was lit, so there is nothing to compare")]
    Unlit,
    /// No overlap or no contrast.
    #[error(
        "no displacement near ({:.1}, {:.1}) pixels makes the two objects alike: they do not overlap, or have no contrast", start[0], start[1]
    )]
    NothingCommon {
        /// Displacement expected from the origins, (row, column), pixels.
        start: [f64; 2],
    },
}

/// Pixel sizes may differ by this share; over 1000 pixels that is a tenth of a pixel.
const PIXEL_TOLERANCE: f64 = 1e-4;

/// Compares `a` with `b` where they were lit.
///
/// # Errors
/// [`QualityError`] where they cannot be compared.
pub fn compare(a: &Reconstruction, b: Reference<'_>) -> Result<Comparison, QualityError> {
    let region = LitRegion::default();
    let weight_a = lit(a, region)?;
    let (object, pixel, origin, weight_b) = match b {
        Reference::Reconstruction(b) => (&b.object, b.pixel, b.origin, lit(b, region)?),
        Reference::Truth { simulation, pixel } => {
            let everywhere = Array2::ones(simulation.object.dim());
            (&simulation.object, pixel, simulation.origin, everywhere)
        }
    };
    let same_pixel = |axis: usize| (a.pixel[axis] / pixel[axis] - 1.0).abs() <= PIXEL_TOLERANCE;
    if !(same_pixel(0) && same_pixel(1)) {
        return Err(QualityError::PixelSize {
            a_rows: a.pixel[0],
            a_columns: a.pixel[1],
            b_rows: pixel[0],
            b_columns: pixel[1],
        });
    }
    let start = [0, 1].map(|axis| (a.origin[axis] - origin[axis]) / pixel[axis]);
    let aligned = align(
        Weighted {
            values: &a.object,
            weight: &weight_a,
        },
        Weighted {
            values: object,
            weight: &weight_b,
        },
        start,
    )?;
    let [rows, columns] = largest_rectangle(&aligned.weight);
    let part =
        |image: &Array2<Complex<f64>>| image.slice(s![rows.clone(), columns.clone()]).to_owned();
    let frc = correlate(&part(&aligned.a), &part(&aligned.b), a.pixel);
    Ok(Comparison {
        relative_l2: aligned.relative_l2(),
        shift_pixels: [0, 1].map(|axis| aligned.shift[axis] - start[axis]),
        ramp: aligned.ramp,
        scale_modulus: aligned.scale.norm(),
        scale_phase: aligned.scale.arg(),
        weight_pixels: aligned.weight.iter().filter(|w| **w > 0.0).count(),
        frc_shape: [rows.len(), columns.len()],
        frc: frc.rings,
        resolution_half_bit: frc.half_bit.map(|r| r.half_period),
        resolution_one_bit: frc.one_bit.map(|r| r.half_period),
    })
}

fn lit(of: &Reconstruction, region: LitRegion) -> Result<Array2<f64>, QualityError> {
    let (found, expected) = (of.fluence.dim(), of.object.dim());
    if found != expected {
        return Err(QualityError::FluenceShape {
            found: found.into(),
            expected: expected.into(),
        });
    }
    Ok(region.weight(&of.fluence))
}
