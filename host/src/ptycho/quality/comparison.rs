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

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;

    const PIXEL: [f64; 2] = [2e-8, 3e-8];

    /// Smooth blobs anywhere, at `first` (row, column).
    fn specimen(shape: (usize, usize), first: [f64; 2]) -> Array2<Complex<f64>> {
        Array2::from_shape_fn(shape, |(r, c)| {
            let (y, x) = (r as f64 + first[0], c as f64 + first[1]);
            let phase = (0.31 * y).sin() * (0.23 * x).cos() + (0.011 * y * x).sin();
            Complex::from_polar(0.8 + 0.1 * (0.2 * y + 0.37 * x).sin(), 0.5 * phase)
        })
    }

    /// What `specimen` shows at `first`; its grid's origin is there too, but for `known_wrong`
    /// pixels.
    fn reconstruction(first: [f64; 2], known_wrong: [f64; 2]) -> Reconstruction {
        let shape = (70, 64);
        let fluence = Array2::from_shape_fn(shape, |(r, c)| {
            f64::from((8..62).contains(&r) && (8..56).contains(&c))
        });
        let mut object = specimen(shape, first);
        for ((r, c), v) in object.indexed_iter_mut() {
            *v *= Complex::from_polar(3.0, 1.0 + 0.07 * r as f64 - 0.2 * c as f64);
        }
        Reconstruction {
            object,
            probe: Array3::ones((1, 16, 16)),
            mode_power: vec![1.0],
            pixel: PIXEL,
            positions: Array2::zeros((1, 2)),
            corners: vec![[8, 8]],
            origin: [0, 1].map(|axis| 5e-6 + (first[axis] + known_wrong[axis]) * PIXEL[axis]),
            fluence,
            history: Vec::new(),
            recipe: String::new(),
            backend: "cpu".to_owned(),
            device: String::new(),
            version: String::new(),
            source: String::new(),
            wavelength: 1e-10,
            distance: 1.0,
            double_precision: true,
        }
    }

    fn truth() -> Simulation {
        Simulation {
            object: specimen((120, 130), [0.0, 0.0]),
            probe: Array3::ones((1, 16, 16)),
            positions: Array2::zeros((1, 2)),
            origin: [5e-6, 5e-6],
            seed: 0,
        }
    }

    #[test]
    fn a_truth_on_a_larger_grid_is_found_by_the_origins() {
        let a = reconstruction([30.0, 41.0], [2.0, -3.0]);
        let simulation = truth();
        let found = compare(
            &a,
            Reference::Truth {
                simulation: &simulation,
                pixel: PIXEL,
            },
        )
        .unwrap();
        assert!(found.relative_l2 < 1e-3, "{found:?}");
        assert!((found.shift_pixels[0] + 2.0).abs() < 0.01, "{found:?}");
        assert!((found.shift_pixels[1] - 3.0).abs() < 0.01, "{found:?}");
        assert!((found.scale_modulus - 1.0 / 3.0).abs() < 1e-3);
        assert_eq!(found.frc_shape, [46, 40]);
        assert_eq!(found.weight_pixels, 46 * 40);
        assert!(found.frc[0].correlation > 0.999);
        assert!(
            serde_json::to_string(&found)
                .unwrap()
                .contains("\"frc\":[{\"frequency\"")
        );
    }

    #[test]
    fn two_reconstructions_are_judged_where_both_were_lit() {
        let a = reconstruction([30.0, 41.0], [0.0, 0.0]);
        let b = reconstruction([42.0, 35.0], [0.0, 0.0]);
        let found = compare(&a, Reference::Reconstruction(&b)).unwrap();
        assert!(found.relative_l2 < 5e-3, "{found:?}");
        assert_eq!(found.weight_pixels, (46 - 12) * (40 - 6));
    }

    #[test]
    fn other_pixels_or_a_wrong_fluence_are_refused() {
        let a = reconstruction([30.0, 41.0], [0.0, 0.0]);
        let simulation = truth();
        for pixel in [[2e-8, 2e-8], [f64::NAN, 3e-8], [0.0, 0.0]] {
            let reference = Reference::Truth {
                simulation: &simulation,
                pixel,
            };
            let refused = compare(&a, reference).unwrap_err();
            assert!(matches!(refused, QualityError::PixelSize { .. }));
        }
        let mut b = a.clone();
        b.fluence = Array2::zeros((3, 3));
        let refused = compare(&a, Reference::Reconstruction(&b)).unwrap_err();
        assert!(matches!(refused, QualityError::FluenceShape { .. }));
    }
}
