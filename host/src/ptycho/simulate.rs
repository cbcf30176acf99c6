//! Simulation of scans: synthetic object and probe, exact model of the far or the near field, Poisson counts.

use super::detector::{Kernel, blur};
use super::fly::FlyPaths;
use super::multislice::{MOST_SLICES, SlicePropagator};
use super::near_field::{NearField, Propagator, ramp};
use super::start;
use crate::data::{
    Geometry, PixelPositions, PositionError, Propagation, Scan, ScanError, Simulation, SliceStack,
};
use crate::fft::Fft2;
use crate::text::shortest;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal, Poisson};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

mod beam;
mod specimen;

use beam::{BeamChange, Drift, beam, diameter};
use specimen::{grains, specimen};

/// Scan pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Fermat spiral: uniform density without a grid.
    Fermat,
    /// Rows and columns.
    Raster,
    /// Concentric rings.
    Round,
}

/// Options of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Rows and columns of a frame.
    pub frame: usize,
    /// Number of frames.
    pub positions: usize,
    /// Scan pattern.
    pub pattern: Pattern,
    /// Linear overlap of neighbouring positions, 1 − step/(probe diameter).
    pub overlap: f64,
    /// Photons in the probe, that is, per exposure.
    pub photons: f64,
    /// Number of mutually incoherent probe modes.
    pub probe_modes: usize,
    /// Number of mutually incoherent states of the specimen, between which it changes during each exposure.
    pub object_modes: usize,
    /// Path of the specimen's displacement during each exposure (row, column), object pixels.
    pub fly_shift: [f64; 2],
    /// Points of the path; 0: four for each pixel, at least 8.
    pub fly_points: usize,
    /// By which part of its width the beam changes from frame to frame: its place in rows and in columns, its defocus and its
    /// astigmatism, each by a random share of it, -1 to 1.
    pub probe_drift: f64,
    /// Standard deviation of the recorded from the true positions along each axis, object pixels.
    pub position_error: f64,
    /// Whether counts have Poisson noise; otherwise they are expected values.
    pub noise: bool,
    /// How waves travel to the detector. Distances of near fields follow from the number of pixels and the distance from the focus.
    pub propagation: Propagation,
    /// Standard deviation of the Gaussian by which the detector blurs intensities, pixels.
    pub blur: f64,
    /// Background of the detector, photons in each pixel of each frame.
    pub background: f64,
    /// Seed of the random number generator.
    pub seed: u64,
    /// Slices of the specimen; of more than one the object pixel is chosen for the distance from the first to the last.
    pub slices: usize,
    /// Distance between neighbours, m, of several slices.
    pub slice_distance: f64,
    /// Whether the beam is one of 300 kV electrons, for several slices, and not of X-rays at 10 keV.
    pub electrons: bool,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self {
            frame: 128,
            positions: 100,
            pattern: Pattern::Fermat,
            overlap: 0.7,
            photons: 1e8,
            probe_modes: 1,
            object_modes: 1,
            fly_shift: [0.0; 2],
            fly_points: 0,
            probe_drift: 0.0,
            position_error: 0.0,
            noise: true,
            propagation: Propagation::FarField,
            blur: 0.0,
            background: 0.0,
            seed: 0,
            slices: 1,
            slice_distance: 20e-6,
            electrons: false,
        }
    }
}

/// Why a scan cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// An option is out of range.
    #[error("{option} {found}: expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value found.
        found: String,
        /// Description of the expected values.
        expected: &'static str,
    },
    /// The positions do not define an object.
    #[error(transparent)]
    Positions(#[from] PositionError),
    /// The result is not a valid scan (too few photons for a single count).
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Wavelength at 10 keV, m.
const WAVELENGTH: f64 = 1.239_841_984e-10;
/// Wavelength of 300 kV electrons, m.
const ELECTRON_WAVELENGTH: f64 = 1.968_749e-12;
/// λz/(nΔ²) over the distance z from the first slice to the last.
const THICKNESS: f64 = 0.45;
/// Exponent of the transmission of each slice.
const SLICE: f64 = 0.7;
/// Pixel of a common hybrid pixel detector, m.
const DETECTOR_PIXEL: f64 = 75e-6;
/// Object pixel, m; the distance follows from it.
const OBJECT_PIXEL: f64 = 20e-9;
/// Pixel of a detector with a scintillator and a microscope, m: that of a parallel beam's near field.
const MICROSCOPE_PIXEL: f64 = 1e-6;
/// λz/(nΔ²) of a near field, so that its transfer function is sampled finely enough and the beam stays inside the frame.
const NEAR: f64 = 0.3;
/// Lit fraction of the detector's width.
const APERTURE: f64 = 0.42;
/// Diameter of the defocused beam, as a fraction of the frame's width.
const BEAM: f64 = 0.36;

impl SimulateOptions {
    /// Checks all options.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub fn check(&self) -> Result<(), SimulateError> {
        let option = |ok: bool, option, found: String, expected| {
            if ok {
                Ok(())
            } else {
                Err(SimulateError::Option {
                    option,
                    found,
                    expected,
                })
            }
        };
        option(
            (8..=8192).contains(&self.frame),
            "--frame",
            self.frame.to_string(),
            "8 to 8192 pixels",
        )?;
        let count = self.positions;
        option(
            (1..=10_000_000).contains(&count),
            "--positions",
            count.to_string(),
            "1 to 10000000",
        )?;
        option(
            (0.0..=0.99).contains(&self.overlap),
            "--overlap",
            shortest(self.overlap),
            "0 to 0.99",
        )?;
        let photons = self.photons;
        option(
            (1.0..=1e15).contains(&photons),
            "--photons",
            shortest(photons),
            "1 to 1e15",
        )?;
        let modes = self.probe_modes;
        option(
            (1..=64).contains(&modes),
            "--probe-modes",
            modes.to_string(),
            "1 to 64",
        )?;
        let states = self.object_modes;
        option(
            (1..=16).contains(&states),
            "--object-modes",
            states.to_string(),
            "1 to 16",
        )?;
        let longest = self.frame as f64 / 2.0;
        if let Some(wrong) = self
            .fly_shift
            .iter()
            .find(|v| v.is_nan() || v.abs() > longest)
        {
            return Err(SimulateError::Option {
                option: "--fly-shift",
                found: shortest(*wrong),
                expected: "at most half a frame on each axis, in pixels",
            });
        }
        option(
            self.fly_points <= 1024,
            "--fly-points",
            self.fly_points.to_string(),
            "1 to 1024",
        )?;
        let drift = self.probe_drift;
        option(
            (0.0..=0.5).contains(&drift),
            "--probe-drift",
            shortest(drift),
            "0 to 0.5 of the beam's width",
        )?;
        let error = self.position_error;
        option(
            (0.0..=100.0).contains(&error),
            "--position-error",
            shortest(error),
            "0 to 100 pixels",
        )?;
        if let Propagation::NearField {
            focus_to_sample: Some(z1),
        } = self.propagation
        {
            // All frequencies of the frames travel to the detector.
            let pixels = WAVELENGTH * FRAC_1_SQRT_2..0.5 * DETECTOR_PIXEL;
            option(
                z1.is_finite() && z1 > 0.0 && pixels.contains(&near_pixel(z1, self.frame)),
                "--focus-to-sample",
                shortest(z1),
                "a length for which the beam is magnified at least twice on the detector and object pixels are at least the wavelength divided by the root of 2",
            )?;
        }
        self.check_slices()?;
        option(
            (0.0..=100.0).contains(&self.blur),
            "--blur",
            shortest(self.blur),
            "0 to 100 pixels",
        )?;
        option(
            (0.0..=1e9).contains(&self.background),
            "--background",
            shortest(self.background),
            "0 to 1e9 photons in a pixel",
        )?;
        let seed = self.seed;
        option(
            i64::try_from(seed).is_ok(),
            "--seed",
            seed.to_string(),
            "at most 9223372036854775807",
        )
    }

    /// Points of each exposure.
    fn points(&self) -> usize {
        let [rows, columns] = self.fly_shift;
        let length = rows.hypot(columns);
        match self.fly_points {
            _ if length == 0.0 => 1,
            0 => ((4.0 * length).ceil() as usize).clamp(8, 1024),
            points => points,
        }
    }

    fn check_slices(&self) -> Result<(), SimulateError> {
        let refused = |option, found: String, expected| {
            Err(SimulateError::Option {
                option,
                found,
                expected,
            })
        };
        let count = self.slices;
        if !(1..=MOST_SLICES).contains(&count) {
            return refused("--slices", count.to_string(), "1 to 64");
        }
        if count == 1 {
            if self.electrons {
                return refused(
                    "--electrons",
                    String::new(),
                    "--slices of at least 2 beside it",
                );
            }
            return Ok(());
        }
        if self.propagation != Propagation::FarField {
            return refused("--slices", count.to_string(), "1 with --near-field");
        }
        let distance = self.slice_distance;
        // All frequencies of the frames travel from slice to slice.
        let least = self.wavelength() * FRAC_1_SQRT_2;
        if !(distance.is_finite() && (least..1e-5).contains(&thick_pixel(self))) {
            return refused(
                "--slice-distance",
                shortest(distance),
                "a length in m for which object pixels of the root of 2.2 λz/n, z from the first slice to the last, are between the wavelength divided by the root of 2 and 10 µm",
            );
        }
        Ok(())
    }

    fn wavelength(&self) -> f64 {
        if self.electrons {
            ELECTRON_WAVELENGTH
        } else {
            WAVELENGTH
        }
    }

    /// Bytes needed to simulate the scan, without the object: counts, positions, and work arrays of
    /// the threads.
    #[must_use]
    pub fn memory(&self) -> usize {
        let pixels = self.frame.saturating_mul(self.frame);
        let threads = rayon::current_num_threads();
        let counts = self
            .positions
            .saturating_mul(pixels)
            .saturating_mul(2 * size_of::<f32>());
        counts
            .saturating_add(self.positions.saturating_mul(96))
            .saturating_add(pixels.saturating_mul(16 * (3 * threads + 4 * self.probe_modes)))
    }

    /// Bytes of the object, which is in memory twice while it is written. This computes the beam
    /// and the positions, which needs part of [`Self::memory`].
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
            let mut through = plan.as_ref().map(|plan| SlicePropagator::new(plan, [n, n]));
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
            let centred = start::roll(&intensity, n / 2, n / 2);
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
    Ok(Scan::new(frames, None, recorded, geometry, Some(given))?.with_simulation(simulation))
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

/// Geometry, ideal beam and positions of a simulation.
struct BeamPath {
    geometry: Geometry,
    /// Object pixel (row, column), m.
    pixel: [f64; 2],
    /// The beam without aberrations.
    ideal: Array2<Complex<f64>>,
    /// Positions (frame, (row, column)), m, on whole pixels.
    whole: Array2<f64>,
    windows: PixelPositions,
}

impl BeamPath {
    fn new(options: &SimulateOptions) -> Result<Self, SimulateError> {
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

/// Object pixel, m, of the near field of a cone beam whose focus is `z1` m before the specimen: λ z1 = 0.3 n Δ², where the
/// effective distance is z1 but for the magnification.
fn near_pixel(z1: f64, n: usize) -> f64 {
    (WAVELENGTH * z1 / (NEAR * n as f64)).sqrt()
}

/// Object pixel, m, of a specimen with slices.
fn thick_pixel(options: &SimulateOptions) -> f64 {
    let thickness = options.slice_distance * (options.slices - 1) as f64;
    (options.wavelength() * thickness / (THICKNESS * options.frame as f64)).sqrt()
}

/// The slices of a thick specimen: a Siemens star, then grains, others in each; `None` for a thin one.
fn thick_specimen(options: &SimulateOptions, shape: [usize; 2]) -> Option<SliceStack> {
    if options.slices < 2 {
        return None;
    }
    let mut slices = Array3::zeros((options.slices, shape[0], shape[1]));
    for (n, mut slice) in slices.outer_iter_mut().enumerate() {
        slice.assign(&match n {
            0 => specimen(shape, options.frame, options.seed),
            _ => grains(shape, options.frame, options.seed.wrapping_add(n as u64)),
        });
        slice.mapv_inplace(|v| v.powf(SLICE));
    }
    let distances = vec![options.slice_distance; options.slices - 1];
    Some(SliceStack {
        slices,
        start_distances: distances.clone(),
        distances,
    })
}

fn geometry(options: &SimulateOptions) -> Geometry {
    let n = options.frame as f64;
    let wavelength = options.wavelength();
    let (distance, pixel) = match options.propagation {
        Propagation::FarField if options.slices > 1 => {
            let distance = thick_pixel(options) * n * DETECTOR_PIXEL / wavelength;
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

/// A separate generator for each frame, so that the counts do not depend on the threads.
fn generator(seed: u64, stream: u64) -> Pcg64Mcg {
    // The increment of SplitMix64 separates neighbouring streams.
    Pcg64Mcg::seed_from_u64(seed.wrapping_add(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

fn draw(expected: f64, random: &mut Pcg64Mcg) -> f32 {
    // Below this the probability of a photon is negligible, and the sampler refuses zero.
    const DARK: f64 = 1e-12;
    if expected < DARK {
        return 0.0;
    }
    Poisson::new(expected).map_or(0.0, |poisson| poisson.sample(random) as f32)
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

#[cfg(test)]
mod tests;
