//! Model intensities of a result.

use super::detector::{Kernel, blur};
use super::fly::FlyPaths;
use super::multislice::SlicePropagator;
use super::near_field::{NearField, Propagator, ramp};
use crate::Recipe;
use crate::data::{Geometry, Mask, ObjectModes, Reconstruction, Scan, ScanError, VariableProbe};
use crate::model::quadratic_phase::quadratic_phase;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_core::system::ScratchError;
use warpstride_fft::Fft2;

/// Why a result does not predict a scan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// Other frames than those of the scan.
    #[error(
        "expected a result of a scan of {scan:?} (frame, row, column), found one of {result:?}"
    )]
    Shape {
        /// Frames, rows and columns of the scan.
        scan: [usize; 3],
        /// Windows, rows and columns of the probe.
        result: [usize; 3],
    },
    /// The modes of the object, or the paths of the exposures, do not fit the object or the frames.
    #[error("expected object modes of the object's shape and a path for each frame, found others")]
    Parts,
    /// A window that leaves the object.
    #[error(
        "the window of frame {frame}: expected {rows} x {columns} pixels within the object of {object:?}, found the corner {corner:?}"
    )]
    Window {
        /// Number of the frame, from 0.
        frame: usize,
        /// Rows of the window.
        rows: usize,
        /// Columns of the window.
        columns: usize,
        /// First row and column.
        corner: [u32; 2],
        /// Rows and columns of the object.
        object: [usize; 2],
    },
    /// A background of another shape than the frames.
    #[error("the background of the result: expected {rows} x {columns} pixels, as the frames have, found {} x {}", .found[0], .found[1])]
    Background {
        /// Rows of the frames.
        rows: usize,
        /// Columns of the frames.
        columns: usize,
        /// Rows and columns of the background.
        found: [usize; 2],
    },
    /// Intensities that are not those of a scan, such as NaN.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The counts of the scan are in a temporary file that cannot be read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
}

/// What a result predicts of its scan.
#[derive(Debug)]
pub struct Prediction {
    /// The scan's geometry and positions with the model intensities G ∗ c Σ|D[S P·O]|² + b, over
    /// all modes and the points of an exposure, as frames, also where the scan is masked; no mask.
    /// D is the propagation to the detector, S the frame's subpixel shift, c its intensity scale, G
    /// the detector's blur and b its background.
    pub scan: Scan,
    /// R over the valid pixels, free ones included: Σ w (√I_model − √I)²/Σ w I; `None` without
    /// counts.
    pub r_factor: Option<f64>,
}

/// Computes the intensities that `result` predicts for the frames of `scan`, in double precision.
///
/// # Errors
/// [`PredictError`] if the result is not one of a scan of this shape.
pub fn predict(result: &Reconstruction, scan: &Scan) -> Result<Prediction, PredictError> {
    let [frames, rows, columns] = scan.shape();
    let (_, probe_rows, probe_columns) = result.probe.dim();
    let counts = [
        result.corners.len(),
        result.fractions.len(),
        result.frame_scales.len(),
    ];
    let variable = result.parts.variable_probe.as_ref();
    let varied = variable.map(|of| of.coefficients.nrows());
    let windows = counts
        .into_iter()
        .chain(varied)
        .find(|n| *n != frames)
        .unwrap_or(frames);
    let found = [windows, probe_rows, probe_columns];
    if found != scan.shape() {
        return Err(PredictError::Shape {
            scan: scan.shape(),
            result: found,
        });
    }
    let object = [result.object.nrows(), result.object.ncols()];
    for (frame, corner) in result.corners.iter().enumerate() {
        let inside = |axis: usize, size: usize| corner[axis] as usize + size <= object[axis];
        if !(inside(0, rows) && inside(1, columns)) {
            return Err(PredictError::Window {
                frame,
                rows,
                columns,
                corner: *corner,
                object,
            });
        }
    }
    let modes = (result.parts.object_modes.iter()).flat_map(ObjectModes::further);
    let objects: Vec<Array2<Complex<f64>>> = std::iter::once(result.object.clone())
        .chain(modes)
        .collect();
    let fly = FlyPaths::of_result(result.parts.exposures.as_ref(), frames);
    let fly = fly.filter(|_| objects.iter().all(|o| o.dim() == result.object.dim()));
    let Some(fly) = fly else {
        return Err(PredictError::Parts);
    };
    let share = 1.0 / fly.points() as f64;
    // That of the reconstruction, whatever the scan's file says.
    let near = near_field(result);
    let geometry = Geometry {
        propagation: result.propagation,
        ..*scan.geometry()
    };
    let (probe, variable) = model_probe(result);
    let probe = ShiftedProbe::new(probe);
    let shapes = variable
        .as_ref()
        .map(|of| ShiftedProbe::new(of.shapes.clone()));
    let coefficients = variable.as_ref().map(|of| of.coefficients.view());
    let detector = result.parts.detector.as_ref();
    let background = detector.and_then(|detector| detector.background.as_ref());
    if let Some(background) = background.filter(|b| b.dim() != (rows, columns)) {
        return Err(PredictError::Background {
            rows,
            columns,
            found: background.dim().into(),
        });
    }
    let kernels = (detector.map(|detector| detector.blur))
        .filter(|sigmas| sigmas.iter().any(|sigma| *sigma > 0.0))
        .map(|[down, across]| [Kernel::new(down, rows), Kernel::new(across, columns)]);
    let of_slices = result.parts.slices.as_ref().map(|stack| {
        let plan = stack.plan(result.wavelength, result.pixel);
        (stack, SlicePropagator::new(&plan, [rows, columns]))
    });
    let measured = scan.frames()?;
    let mut intensities = Array3::<f32>::zeros((frames, rows, columns));
    let sums: Vec<[f64; 2]> = (intensities.axis_iter_mut(Axis(0)).into_par_iter())
        .zip(&result.corners)
        .enumerate()
        .map_init(
            || {
                let fft = Fft2::<f64>::new(rows, columns);
                (
                    fft,
                    Propagator::new([rows, columns], near.as_ref()),
                    of_slices.clone(),
                )
            },
            |(fft, propagator, through), (frame, (mut intensity, corner))| {
                let [top, left] = corner.map(|v| v as usize);
                let mut model = vec![0.0; rows * columns];
                let scale = result.frame_scales[frame] * share;
                for (point, mode) in
                    (0..fly.points()).flat_map(|s| (0..probe.modes()).map(move |m| (s, m)))
                {
                    let fraction = fly.at(frame, point, result.fractions[frame]);
                    let mut shifted = probe.mode(mode, fraction, fft);
                    if let (0, Some(shapes), Some(coefficients)) = (mode, &shapes, coefficients) {
                        for (k, c) in coefficients.row(frame).iter().enumerate() {
                            let shape = shapes.mode(k, fraction, fft);
                            shifted
                                .iter_mut()
                                .zip(&shape)
                                .for_each(|(p, u)| *p += u * *c);
                        }
                    }
                    for object in &objects {
                        let window = object.slice(s![top..top + rows, left..left + columns]);
                        let mut wave = shifted.clone();
                        match through {
                            None => wave.iter_mut().zip(&window).for_each(|(p, o)| *p *= o),
                            Some((stack, through)) => {
                                through.make_exit_wave(&mut wave, &stack.slices, *corner);
                            }
                        }
                        propagator.propagate_to_detector(&mut wave, fraction);
                        for (sum, f) in model.iter_mut().zip(&wave) {
                            *sum += scale * f.norm_sqr();
                        }
                    }
                }
                if let Some(kernels) = &kernels {
                    blur(&mut model, [rows, columns], kernels);
                }
                let counts = measured.index_axis(Axis(0), frame);
                let [mut deviation, mut total] = [0.0; 2];
                for ((row, column), to) in intensity.indexed_iter_mut() {
                    // The zero frequency is at (0, 0) in the transform.
                    let [r, c] = [row + rows - rows / 2, column + columns - columns / 2];
                    let value = model[r % rows * columns + c % columns]
                        + background.map_or(0.0, |b| b[(row, column)]);
                    *to = value as f32;
                    let valid = match scan.mask() {
                        Mask::Shared(m) => m[(row, column)],
                        Mask::PerFrame(m) => m[(frame, row, column)],
                    };
                    if valid {
                        let count = f64::from(counts[(row, column)]);
                        deviation += (value.sqrt() - count.sqrt()).powi(2);
                        total += count;
                    }
                }
                [deviation, total]
            },
        )
        .collect();
    let [deviation, total] = [0, 1].map(|n| sums.iter().map(|sum| sum[n]).sum::<f64>());
    let positions = scan.positions().clone();
    let scan = Scan::new(intensities, None, positions, geometry, None)?;
    Ok(Prediction {
        scan: scan.with_voltage(result.voltage),
        r_factor: (total > 0.0).then(|| deviation / total),
    })
}

/// The propagation of a result, with its wavelength, distances and object pixel; `None` in the far
/// field.
fn near_field(result: &Reconstruction) -> Option<NearField> {
    let geometry = Geometry {
        wavelength: result.wavelength,
        distance: result.distance,
        pixel_size: result.pixel,
        propagation: result.propagation,
    };
    geometry.is_near_field().then(|| NearField {
        wavelength: result.wavelength,
        distance: geometry.effective_distance(),
        pixel: result.pixel,
    })
}

/// A probe (mode, row, column) and its spectra.
struct ShiftedProbe {
    probe: Array3<Complex<f64>>,
    /// (mode, row, column), zero frequency at (0, 0).
    spectra: Array3<Complex<f64>>,
}

impl ShiftedProbe {
    fn new(probe: Array3<Complex<f64>>) -> Self {
        let (_, rows, columns) = probe.dim();
        let mut spectra = probe.as_standard_layout().into_owned();
        let mut fft = Fft2::new(rows, columns);
        for mut mode in spectra.outer_iter_mut() {
            if let Some(values) = mode.as_slice_mut() {
                fft.forward(values);
            }
        }
        Self { probe, spectra }
    }

    fn modes(&self) -> usize {
        self.probe.dim().0
    }

    /// A mode (row, column), shifted by `fraction` (rows, columns), pixels.
    fn mode(&self, mode: usize, fraction: [f64; 2], fft: &mut Fft2<f64>) -> Vec<Complex<f64>> {
        if fraction == [0.0; 2] {
            return self
                .probe
                .index_axis(Axis(0), mode)
                .iter()
                .copied()
                .collect();
        }
        let (_, rows, columns) = self.probe.dim();
        let [down, across] = [ramp(rows, fraction[0]), ramp(columns, fraction[1])];
        let spectrum = self.spectra.index_axis(Axis(0), mode);
        let mut shifted: Vec<Complex<f64>> = spectrum
            .indexed_iter()
            .map(|((row, column), value)| value * down[row] * across[column])
            .collect();
        fft.inverse(&mut shifted);
        shifted
    }
}

/// The probe and its variations without the quadratic phase that `physical_probe` adds to results.
fn model_probe(result: &Reconstruction) -> (Array3<Complex<f64>>, Option<VariableProbe>) {
    let mut probe = result.probe.clone();
    let mut variable = result.parts.variable_probe.clone();
    if Recipe::from_toml(&result.recipe).is_ok_and(|recipe| recipe.physical_probe) {
        let geometry = Geometry {
            wavelength: result.wavelength,
            distance: result.distance,
            pixel_size: [0.0; 2],
            propagation: result.propagation,
        };
        quadratic_phase(&mut probe, result.pixel, &geometry, 1.0);
        if let Some(variable) = &mut variable {
            quadratic_phase(&mut variable.shapes, result.pixel, &geometry, 1.0);
        }
    }
    (probe, variable)
}
