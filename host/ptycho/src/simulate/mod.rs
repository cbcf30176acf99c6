//! Simulation of scans: synthetic object and probe, exact model of the far or the near field,
//! Poisson counts.

use super::start;
use crate::data::{Scan, Simulation, SliceStack};
use crate::model::detector::{Kernel, blur};
use crate::model::fly::FlyPaths;
use crate::model::multislice::SlicePropagator;
use crate::model::near_field::{NearField, Propagator, ramp};
use crate::model::roll::roll;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use rand::RngExt;
use rand_distr::{Distribution, Normal, Poisson};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use warpstride_fft::Fft2;

mod beam;
mod beam_path;
mod constants;
mod options;
mod specimen;

pub use options::{Pattern, SimulateError, SimulateOptions};

use beam::{BeamChange, Drift, beam, diameter};
use beam_path::BeamPath;
use constants::{BEAM, generator};
use specimen::{make_grains, specimen};

/// Voltage that accelerates the electrons, V.
const ELECTRON_VOLTAGE: f64 = 3e5;
/// Exponent of the transmission of each slice.
const SLICE: f64 = 0.7;

impl SimulateOptions {
    /// Bytes needed to simulate the scan, without the object: counts, positions, work arrays of the
    /// threads, and the factors of the propagation between slices, which are computed once from as
    /// many values.
    #[must_use]
    pub fn memory(&self) -> usize {
        let pixels = self.frame.saturating_mul(self.frame);
        let threads = rayon::current_num_threads();
        let factors = if self.slices > 1 { 2 } else { 0 };
        let counts = self
            .positions
            .saturating_mul(pixels)
            .saturating_mul(2 * size_of::<f32>());
        counts
            .saturating_add(self.positions.saturating_mul(96))
            .saturating_add(
                pixels.saturating_mul(16 * (3 * threads + 4 * self.probe_modes + factors)),
            )
    }

    /// Bytes of the object, or of all slices of the truth and their product, which are in memory
    /// twice while they are written. This computes the beam and the positions, which needs part of
    /// [`Self::memory`].
    ///
    /// # Errors
    /// Returns [`SimulateError`] if an option is out of range.
    pub fn object_memory(&self) -> Result<usize, SimulateError> {
        self.check()?;
        let [rows, columns] = BeamPath::new(self)?.windows.object_shape;
        Ok(rows
            .saturating_mul(columns)
            .saturating_mul(
                self.object_modes
                    .max(self.slices + usize::from(self.slices > 1)),
            )
            .saturating_mul(2 * size_of::<Complex<f64>>()))
    }
}

/// Simulates a scan, including its ground truth. The scan's start probe is the ideal beam (aperture
/// and defocus), which an experimenter would know; the true probe has aberrations.
///
/// # Errors
/// Returns [`SimulateError`] if an option is out of range.
pub fn simulate(options: &SimulateOptions) -> Result<Scan, SimulateError> {
    options.check()?;
    let n = options.frame;
    let BeamPath {
        geometry,
        pixel,
        ideal,
        whole,
        windows,
    } = BeamPath::new(options)?;
    let fraction = if options.probe_modes > 1 {
        0.3 / (options.probe_modes - 1) as f64
    } else {
        0.0
    };
    let mut probe = start::with_modes(
        beam(n, 1.0, BeamChange::default()).insert_axis(Axis(0)),
        options.probe_modes,
        fraction,
    );
    let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
    probe.mapv_inplace(|v| v * (options.photons / power).sqrt());

    let slices = thick_specimen(options, windows.object_shape);
    let object = match &slices {
        Some(stack) => stack.product(),
        None => specimen(windows.object_shape, n, options.seed),
    };
    let plan = slices
        .as_ref()
        .map(|stack| stack.plan(geometry.wavelength, pixel));
    let of_slices = plan.map(|plan| SlicePropagator::new(&plan, [n, n]));
    let states = states(&object, options);
    let shares = state_shares(options.object_modes);
    let points = options.points();
    let fly = FlyPaths::along(points, options.fly_shift, options.positions);

    let drift = Drift::new(options, &probe, diameter(&ideal));
    let near = NearField::of(&geometry);
    let kernels =
        (options.blur > 0.0).then(|| [Kernel::new(options.blur, n), Kernel::new(options.blur, n)]);
    let mut frames = Array3::<f32>::zeros((options.positions, n, n));
    frames
        .axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .for_each(|(i, mut frame)| {
            let [top, left] = windows.corners[i].map(|v| v as usize);
            let window = object.slice(s![top..top + n, left..left + n]);
            let mut intensity = Array2::<f64>::zeros((n, n));
            let mut propagator = Propagator::new([n, n], near.as_ref());
            let mut through = of_slices.clone();
            if points == 1 && states.is_empty() {
                let own = drift.as_ref().map(|drift| drift.first_mode(i));
                for (number, mode) in probe.outer_iter().enumerate() {
                    let mode = match &own {
                        Some(own) if number == 0 => own.view(),
                        _ => mode,
                    };

                    let mut wave = match slices {
                        None => &mode * &window,
                        Some(_) => mode.to_owned(),
                    };
                    if let (Some(through), Some(stack)) = (&mut through, &slices)
                        && let Some(data) = wave.as_slice_mut()
                    {
                        through.make_exit_wave(data, &stack.slices, windows.corners[i]);
                    }
                    if let Some(data) = wave.as_slice_mut() {
                        propagator.propagate_to_detector(data, [0.0; 2]);
                    }
                    intensity.zip_mut_with(&wave, |sum, f| *sum += f.norm_sqr());
                }
            } else {
                for point in 0..points {
                    let by = fly.at(i, point, [0.0; 2]);
                    for mode in moved(&probe, by).outer_iter() {
                        let all = std::iter::once(&object).chain(&states);
                        for (state, share) in all.zip(&shares) {
                            let window = state.slice(s![top..top + n, left..left + n]);
                            let mut wave = &mode * &window;
                            if let Some(data) = wave.as_slice_mut() {
                                propagator.propagate_to_detector(data, by);
                            }
                            let share = share / points as f64;
                            intensity.zip_mut_with(&wave, |sum, f| *sum += share * f.norm_sqr());
                        }
                    }
                }
            }
            if let (Some(kernels), Some(values)) = (&kernels, intensity.as_slice_mut()) {
                blur(values, [n, n], kernels);
            }
            intensity.mapv_inplace(|value| value + options.background);
            let mut random = generator(options.seed, 1 + i as u64);
            let centred = roll(&intensity, n / 2, n / 2);
            for (count, expected) in frame.iter_mut().zip(&centred) {
                *count = if options.noise {
                    draw(*expected, &mut random)
                } else {
                    *expected as f32
                };
            }
        });

    let mut recorded = whole.clone();
    if options.position_error > 0.0 {
        let mut random = generator(options.seed, 0);
        for ((_, axis), value) in recorded.indexed_iter_mut() {
            let sigma = options.position_error * pixel[axis];
            if let Ok(normal) = Normal::new(0.0, sigma) {
                *value += normal.sample(&mut random);
            }
        }
    }
    let simulation = Simulation {
        object,
        probe,
        positions: whole,
        origin: windows.origin,
        seed: options.seed,
        slices,
    };
    let given = ideal.insert_axis(Axis(0));
    let scan = Scan::new(frames, None, recorded, geometry, Some(given))?;
    let voltage = options.electrons.then_some(ELECTRON_VOLTAGE);
    Ok(scan.with_simulation(simulation).with_voltage(voltage))
}

/// The share of the exposure in each of so many states: half as long in each as in the one before.
pub(super) fn state_shares(states: usize) -> Vec<f64> {
    let shares = (0..states).map(|n| 0.5_f64.powi(n as i32));
    let total: f64 = shares.clone().sum();
    shares.map(|share| share / total).collect()
}

/// The states of the specimen after the first, `object`: its phase shifts change in parts of it.
pub(super) fn states(
    object: &Array2<Complex<f64>>,
    options: &SimulateOptions,
) -> Vec<Array2<Complex<f64>>> {
    let (rows, columns) = object.dim();
    let lit = options.frame as f64 * BEAM;
    (1..options.object_modes)
        .map(|state| {
            let mut random = generator(options.seed, u64::MAX - state as u64);
            let spots: Vec<[f64; 4]> = (0..24)
                .map(|_| {
                    let mut next = || random.random::<f64>();
                    [
                        rows as f64 * (0.25 + 0.5 * next()),
                        columns as f64 * (0.25 + 0.5 * next()),
                        lit * (0.08 + 0.12 * next()),
                        1.6 * (next() - 0.5),
                    ]
                })
                .collect();
            Array2::from_shape_fn((rows, columns), |(row, column)| {
                let phase = spots.iter().map(|[r, c, width, phase]| {
                    let distance = (row as f64 - r).hypot(column as f64 - c) / width;
                    phase * (-distance * distance).exp()
                });
                object[[row, column]] * Complex::cis(phase.sum())
            })
        })
        .collect()
}

/// The modes shifted by `by` (rows, columns), pixels.
fn moved(probe: &Array3<Complex<f64>>, by: [f64; 2]) -> Array3<Complex<f64>> {
    let (_, rows, columns) = probe.dim();
    let [down, across] = [ramp(rows, by[0]), ramp(columns, by[1])];
    let mut fft = Fft2::<f64>::new(rows, columns);
    let mut moved = probe.as_standard_layout().into_owned();
    for mut mode in moved.outer_iter_mut() {
        if let Some(values) = mode.as_slice_mut() {
            fft.forward(values);
            for (at, value) in values.iter_mut().enumerate() {
                *value *= down[at / columns] * across[at % columns];
            }
            fft.inverse(values);
        }
    }
    moved
}

/// The slices of a thick specimen: a Siemens star, then grains, others in each; `None` for a thin
/// one.
fn thick_specimen(options: &SimulateOptions, shape: [usize; 2]) -> Option<SliceStack> {
    if options.slices < 2 {
        return None;
    }
    let mut slices = Array3::zeros((options.slices, shape[0], shape[1]));
    let each = slices.axis_iter_mut(Axis(0)).into_par_iter().enumerate();
    each.for_each(|(n, mut slice)| {
        match n {
            0 => slice.assign(&specimen(shape, options.frame, options.seed)),
            _ => {
                let seed = options.seed.wrapping_add(n as u64);
                make_grains(slice.view_mut(), options.frame, seed);
            }
        }
        slice.mapv_inplace(|v| v.powf(SLICE));
    });
    let distances = vec![options.slice_distance; options.slices - 1];
    Some(SliceStack {
        slices,
        start_distances: distances.clone(),
        distances,
    })
}

fn draw(expected: f64, random: &mut Pcg64Mcg) -> f32 {
    // Below this the probability of a photon is negligible, and the sampler refuses zero.
    const DARK: f64 = 1e-12;
    if expected < DARK {
        return 0.0;
    }
    Poisson::new(expected).map_or(0.0, |poisson| poisson.sample(random) as f32)
}

#[cfg(test)]
mod tests;
