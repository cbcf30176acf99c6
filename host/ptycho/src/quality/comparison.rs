//! Metrics of a reconstruction compared with a reference.

use super::{LitRegion, QualityError, Ring, WeightedImage, align, correlate, largest_rectangle};
use crate::data::{ModelParts, Reconstruction, Simulation};
use ndarray::{Array2, s};
use num_complex::Complex;
use serde::Serialize;

/// Reference with which a reconstruction is compared.
#[derive(Debug, Clone, Copy)]
pub enum Reference<'a> {
    /// Another reconstruction; compared where both were lit.
    Reconstruction(&'a Reconstruction),
    /// The ground truth of a simulated scan; compared where the reconstruction was lit.
    Truth {
        /// The ground truth.
        simulation: &'a Simulation,
        /// Object pixel of the truth (row, column), m.
        pixel: [f64; 2],
    },
}

/// Metrics of a comparison after removal of translation, ramp and scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Relative distance ‖w (A − B)‖ / ‖w B‖.
    pub relative_l2: f64,
    /// Displacement of B relative to A beyond that implied by the origins of the two grids, (row,
    /// column), pixels.
    pub shift_pixels: [f64; 2],
    /// Phase ramp of A relative to B, (row, column), rad per pixel.
    pub ramp: [f64; 2],
    /// Modulus of the factor by which A was multiplied to match B.
    pub scale_modulus: f64,
    /// Phase of the factor by which A was multiplied to match B, rad.
    pub scale_phase: f64,
    /// Number of pixels compared.
    pub weight_pixels: usize,
    /// Shape (rows, columns) of the rectangle inside the lit region used for the ring correlation.
    pub frc_shape: [usize; 2],
    /// Fourier ring correlation, by ascending frequency.
    pub frc: Vec<Ring>,
    /// Half period, m, at which the curve falls below the half-bit threshold; one pixel if it never
    /// does, `None` if it never exceeds the threshold.
    pub resolution_half_bit: Option<f64>,
    /// The same for the one-bit threshold.
    pub resolution_one_bit: Option<f64>,
}

/// Compares the slices of `a` with those of `b`, each for itself; none if one of them has none, or
/// they have different numbers.
///
/// # Errors
/// Returns [`QualityError`] if they cannot be compared.
pub fn compare_slices(
    a: &Reconstruction,
    b: Reference<'_>,
) -> Result<Vec<Comparison>, QualityError> {
    let of_b = match b {
        Reference::Reconstruction(b) => b.parts.slices.as_ref(),
        Reference::Truth { simulation, .. } => simulation.slices.as_ref(),
    };
    let (Some(own), Some(other)) = (&a.parts.slices, of_b) else {
        return Ok(Vec::new());
    };
    if own.slices.dim().0 != other.slices.dim().0 {
        return Ok(Vec::new());
    }
    let mut a = Reconstruction {
        parts: ModelParts::default(),
        ..a.clone()
    };
    let pairs = own.slices.outer_iter().zip(other.slices.outer_iter());
    pairs
        .map(|(slice, of_b)| {
            a.object.assign(&slice);
            match b {
                Reference::Reconstruction(b) => {
                    let mut b = b.clone();
                    b.object.assign(&of_b);
                    compare(&a, Reference::Reconstruction(&b))
                }
                Reference::Truth { simulation, pixel } => {
                    let mut simulation = simulation.clone();
                    simulation.object.assign(&of_b);
                    let simulation = &simulation;
                    compare(&a, Reference::Truth { simulation, pixel })
                }
            }
        })
        .collect()
}

/// Allowed relative difference of pixel sizes: a tenth of a pixel over 1000 pixels.
const PIXEL_TOLERANCE: f64 = 1e-4;

/// Compares `a` with `b` where both were lit.
///
/// # Errors
/// Returns [`QualityError`] if they cannot be compared.
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
        WeightedImage {
            values: &a.object,
            weight: &weight_a,
        },
        WeightedImage {
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
    use crate::data::Propagation;
    use ndarray::Array3;

    const PIXEL: [f64; 2] = [2e-8, 3e-8];

    /// A smooth specimen sampled from `first` (row, column) on.
    fn specimen(shape: (usize, usize), first: [f64; 2]) -> Array2<Complex<f64>> {
        Array2::from_shape_fn(shape, |(r, c)| {
            let (y, x) = (r as f64 + first[0], c as f64 + first[1]);
            let phase = (0.31 * y).sin() * (0.23 * x).cos() + (0.011 * y * x).sin();
            Complex::from_polar(0.8 + 0.1 * (0.2 * y + 0.37 * x).sin(), 0.5 * phase)
        })
    }

    /// A reconstruction of `specimen` at `first`, with an error of `origin_error` pixels in the
    /// origin of its grid.
    fn reconstruction(first: [f64; 2], origin_error: [f64; 2]) -> Reconstruction {
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
            recorded_positions: Array2::zeros((1, 2)),
            corners: vec![[8, 8]],
            fractions: vec![[0.0; 2]],
            frame_scales: vec![1.0],
            origin: [0, 1].map(|axis| 5e-6 + (first[axis] + origin_error[axis]) * PIXEL[axis]),
            fluence,
            history: Vec::new(),
            recipe: String::new(),
            backend: "cpu".to_owned(),
            device: String::new(),
            plan: String::new(),
            trials: String::new(),
            version: String::new(),
            source: String::new(),
            wavelength: 1e-10,
            voltage: None,
            distance: 1.0,
            propagation: Propagation::FarField,
            double_precision: true,
            parts: crate::data::ModelParts::default(),
        }
    }

    fn truth() -> Simulation {
        Simulation {
            object: specimen((120, 130), [0.0, 0.0]),
            probe: Array3::ones((1, 16, 16)),
            positions: Array2::zeros((1, 2)),
            origin: [5e-6, 5e-6],
            seed: 0,
            slices: None,
        }
    }

    #[test]
    fn a_truth_on_a_larger_grid_is_located_by_the_origins() {
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
    fn two_reconstructions_are_compared_where_both_were_lit() {
        let a = reconstruction([30.0, 41.0], [0.0, 0.0]);
        let b = reconstruction([42.0, 35.0], [0.0, 0.0]);
        let found = compare(&a, Reference::Reconstruction(&b)).unwrap();
        assert!(found.relative_l2 < 5e-3, "{found:?}");
        assert_eq!(found.weight_pixels, (46 - 12) * (40 - 6));
    }

    #[test]
    fn different_pixels_or_a_wrong_fluence_shape_are_refused() {
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
