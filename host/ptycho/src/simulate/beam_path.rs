//! Geometry, beam and positions of a simulation.

use super::beam::{BeamChange, beam, diameter};
use super::constants::{DETECTOR_PIXEL, MICROSCOPE_PIXEL, NEAR, OBJECT_PIXEL, WAVELENGTH};
use super::options::{Pattern, SimulateError, SimulateOptions, near_pixel};
use crate::data::{Geometry, PixelPositions, Propagation};
use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::{PI, TAU};

/// Geometry, ideal beam and positions of a simulation.
pub(super) struct BeamPath {
    pub(super) geometry: Geometry,
    /// Object pixel (row, column), m.
    pub(super) pixel: [f64; 2],
    /// The beam without aberrations.
    pub(super) ideal: Array2<Complex<f64>>,
    /// Positions (frame, (row, column)), m, on whole pixels.
    pub(super) whole: Array2<f64>,
    pub(super) windows: PixelPositions,
}

impl BeamPath {
    pub(super) fn new(options: &SimulateOptions) -> Result<Self, SimulateError> {
        let n = options.frame;
        let geometry = geometry(options);
        let pixel = geometry.object_pixel(n, n);

        let ideal = beam(n, 0.0, BeamChange::default());
        let step = (diameter(&ideal) * (1.0 - options.overlap)).max(1.0);
        let points = path(options.pattern, options.positions, step);
        let whole = Array2::from_shape_fn((options.positions, 2), |(i, axis)| {
            points[i][axis].round() * pixel[axis]
        });
        let windows = PixelPositions::new(&whole, pixel, [n, n], 0)?;
        Ok(Self {
            geometry,
            pixel,
            ideal,
            whole,
            windows,
        })
    }
}

fn geometry(options: &SimulateOptions) -> Geometry {
    let n = options.frame as f64;
    let wavelength = options.wavelength();
    let (distance, pixel) = match options.propagation {
        Propagation::FarField if options.slices > 1 => {
            let distance = options.thick_pixel() * n * DETECTOR_PIXEL / wavelength;
            (distance, DETECTOR_PIXEL)
        }
        Propagation::FarField => {
            let distance = OBJECT_PIXEL * n * DETECTOR_PIXEL / WAVELENGTH;
            (distance, DETECTOR_PIXEL)
        }
        Propagation::NearField {
            focus_to_sample: None,
        } => {
            let distance = NEAR * n * MICROSCOPE_PIXEL * MICROSCOPE_PIXEL / WAVELENGTH;
            (distance, MICROSCOPE_PIXEL)
        }
        Propagation::NearField {
            focus_to_sample: Some(z1),
        } => {
            let magnification = DETECTOR_PIXEL / near_pixel(z1, options.frame);
            (z1 * (magnification - 1.0), DETECTOR_PIXEL)
        }
    };
    Geometry {
        wavelength,
        distance,
        pixel_size: [pixel; 2],
        propagation: options.propagation,
    }
}

/// Positions (row, column), pixels, `step` apart.
fn path(pattern: Pattern, count: usize, step: f64) -> Vec<[f64; 2]> {
    match pattern {
        Pattern::Fermat => {
            let golden = PI * (3.0 - 5.0_f64.sqrt());
            let scale = step / PI.sqrt();
            (0..count)
                .map(|i| {
                    let (r, angle) = (scale * (i as f64).sqrt(), golden * i as f64);
                    [r * angle.sin(), r * angle.cos()]
                })
                .collect()
        }
        Pattern::Raster => {
            let width = (count as f64).sqrt().ceil() as usize;
            (0..count)
                .map(|i| [(i / width) as f64 * step, (i % width) as f64 * step])
                .collect()
        }
        Pattern::Round => {
            let mut points = vec![[0.0, 0.0]];
            for ring in 1.. {
                if points.len() >= count {
                    break;
                }
                let on_ring = (TAU * ring as f64).floor() as usize;
                points.extend((0..on_ring).map(|k| {
                    // Each ring is rotated a little, so that the points do not form spokes.
                    let angle = TAU * (k as f64 / on_ring as f64 + 0.377 * ring as f64);
                    [
                        ring as f64 * step * angle.sin(),
                        ring as f64 * step * angle.cos(),
                    ]
                }));
            }
            points.truncate(count);
            points
        }
    }
}
