//! Samples of the phantom as measured by several coils, without discretisation.

use super::phantom::Phantom;
use super::trajectory::Path;
use crate::data::{Extent, KSpace, Readout, Truth};
use ndarray::{Array2, Array3, Array4, Axis};
use num_complex::Complex;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use std::f64::consts::TAU;
use warpstride_core::text::shortest;

/// Options of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Type of trajectory.
    pub path: Path,
    /// Voxels along each axis.
    pub matrix: usize,
    /// Number of spokes or interleaves; `None`: by Nyquist's criterion.
    pub spokes: Option<usize>,
    /// Samples per readout; `None`: by Nyquist's criterion, twice that on a spoke.
    pub samples: Option<usize>,
    /// Number of coils.
    pub coils: usize,
    /// Signal-to-noise ratio: the largest value of the truth over the standard deviation that the
    /// real and imaginary parts of a voxel would have if one coil of sensitivity 1 had sampled the
    /// matrix once on a Cartesian grid; `None`: no noise.
    pub snr: Option<f64>,
    /// A volume of `matrix` slices.
    pub volume: bool,
    /// Seed of the noise.
    pub seed: u64,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self {
            path: Path::Radial,
            matrix: 256,
            spokes: None,
            samples: None,
            coils: 8,
            snr: None,
            volume: false,
            seed: 0,
        }
    }
}

/// Why a simulation was rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{option} {found}: expected {expected}")]
pub struct SimulateError {
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub found: String,
    /// The values that it may have.
    pub expected: String,
}

/// Simulated samples with the phantom and maps they were made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The samples, rounded to single precision as files hold them.
    pub kspace: KSpace,
    /// Image and coil maps.
    pub truth: Truth,
    /// Spoke or interleave, and slice of k-space, of each readout.
    pub steps: Vec<[usize; 2]>,
}

/// Field of view and thickness of a single slice, m.
const FIELD_OF_VIEW: f64 = 0.22;
const SLICE_THICKNESS: f64 = 0.005;
/// Time from one sample to the next, s.
const SAMPLE_INTERVAL: f64 = 4e-6;
/// Largest number of samples per readout: files count them in 16 bits.
const MAX_SAMPLES: usize = 65_535;
/// Points per voxel along each axis over which the truth is averaged, in a plane and in a volume.
const POINTS_PER_VOXEL: [usize; 2] = [4, 3];
/// Samples that one task of the thread pool computes.
const CHUNK: usize = 256;

impl SimulateOptions {
    /// Number of spokes or interleaves.
    #[must_use]
    pub fn spokes(&self) -> usize {
        self.spokes
            .unwrap_or_else(|| self.path.nyquist_spokes(self.matrix, self.volume))
    }

    /// Number of samples per readout.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
            .unwrap_or_else(|| self.path.nyquist_samples(self.matrix, self.spokes().max(1)))
    }

    fn readouts(&self) -> usize {
        let stacked = self.volume && self.path == Path::Spiral;
        let slices = if stacked { self.matrix } else { 1 };
        self.spokes().saturating_mul(slices)
    }

    /// Checks all options.
    ///
    /// # Errors
    /// [`SimulateError`].
    pub fn check(&self) -> Result<(), SimulateError> {
        let within = |option, found: usize, least: usize, most: usize| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            Err(SimulateError {
                option,
                found: found.to_string(),
                expected: format!("{least} to {most}"),
            })
        };
        within(
            "--matrix",
            self.matrix,
            8,
            if self.volume { 512 } else { 4096 },
        )?;
        within("--coils", self.coils, 1, 256)?;
        within("--spokes", self.spokes(), 1, 1 << 24)?;
        within("--samples", self.samples(), 2, MAX_SAMPLES)?;
        match self.snr {
            Some(snr) if !(1e-6..=1e12).contains(&snr) => Err(SimulateError {
                option: "--noise",
                found: shortest(snr),
                expected: "a signal-to-noise ratio of 1e-6 to 1e12".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Memory in bytes for simulating and writing.
    #[must_use]
    pub fn memory(&self) -> u128 {
        let side = self.matrix as u128;
        let voxels = if self.volume {
            side.pow(3)
        } else {
            side.pow(2)
        };
        let samples = self.readouts() as u128 * self.samples() as u128;
        let coils = self.coils as u128;
        // Twice each: the arrays, and the file in memory before it is written.
        2 * (samples * (16 * coils + 24) + voxels * (16 * coils + 16))
    }
}

/// Simulates the samples. The result depends on the seed only, not on the number of threads.
///
/// # Errors
/// An option out of range.
pub fn simulate(options: &SimulateOptions) -> Result<Simulated, SimulateError> {
    options.check()?;
    let (matrix, axes) = (options.matrix, if options.volume { 3 } else { 2 });
    let phantom = Phantom::shepp_logan(axes);
    let coils = Coils::ring(options.coils, axes);
    let length = options.samples();
    let path = options
        .path
        .trajectory(matrix, options.spokes(), length, options.volume);
    // The trajectory rounded to the precision of the file.
    let positions = path.positions.mapv(|k| f64::from(k as f32));
    let truth = truth(&phantom, &coils, matrix, axes);
    let mut samples = measured(&phantom, &coils, &positions, matrix);
    if let Some(snr) = options.snr {
        let largest = truth.image.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let deviation = largest * (matrix as f64).powf(axes as f64 / 2.0) / snr;
        let mut random = Pcg64::seed_from_u64(options.seed);
        for value in &mut samples {
            let [re, im]: [f64; 2] = [(); 2].map(|()| StandardNormal.sample(&mut random));
            *value += Complex::new(re, im) * deviation;
        }
    }
    samples.mapv_inplace(|v| Complex::new(f64::from(v.re as f32), f64::from(v.im as f32)));
    let slices = if options.volume { matrix } else { 1 };
    let thickness = if options.volume {
        FIELD_OF_VIEW
    } else {
        SLICE_THICKNESS
    };
    let extent = Extent {
        matrix: [slices, matrix, matrix],
        axes,
        field_of_view: Some([thickness, FIELD_OF_VIEW, FIELD_OF_VIEW]),
    };
    let readouts = (0..path.steps.len())
        .map(|readout| Readout {
            samples: readout * length..(readout + 1) * length,
            acquisition: readout,
            interval: SAMPLE_INTERVAL,
            discarded: 0,
        })
        .collect();
    let kspace = KSpace::new(extent, positions, samples, readouts).map_err(|e| SimulateError {
        option: "the simulation",
        found: e.to_string(),
        expected: "a valid trajectory".to_owned(),
    })?;
    Ok(Simulated {
        kspace,
        truth,
        steps: path.steps,
    })
}

/// (coil, sample), in units in which the Fourier transform of a Cartesian grid of samples is the
/// image.
///
/// The maps are trigonometric polynomials, so that each coil's signal is a sum of the phantom's own
/// transform at shifted positions: ∫ e^{2πi q·x/L} ρ e^{−2πi k·x} dx = P(k − q/L).
fn measured(
    phantom: &Phantom,
    coils: &Coils,
    positions: &Array2<f64>,
    matrix: usize,
) -> Array2<Complex<f64>> {
    let axes = positions.ncols();
    let half = matrix as f64 / 2.0;
    let volume = half.powi(axes as i32);
    let count = positions.nrows();
    // (sample, coil) during the computation, so that every task writes its own part.
    let mut made = Array2::zeros((count, coils.count()));
    made.axis_chunks_iter_mut(Axis(0), CHUNK)
        .into_par_iter()
        .enumerate()
        .for_each(|(chunk, mut part)| {
            let mut shifted = vec![Complex::new(0.0, 0.0); coils.shifts.len()];
            for (j, mut row) in part.outer_iter_mut().enumerate() {
                let position = positions.row(chunk * CHUNK + j);
                for (value, shift) in shifted.iter_mut().zip(&coils.shifts) {
                    let mut k = [0.0; 3];
                    for axis in 0..axes {
                        // y points up, rows go down.
                        let sign = if axis == 1 { -1.0 } else { 1.0 };
                        k[axis] = sign * position[axis] * half - shift[axis] / PERIOD;
                    }
                    *value = phantom.transform(&k[..axes]) * volume;
                }
                for (value, weights) in row.iter_mut().zip(coils.weights.rows()) {
                    *value = weights.iter().zip(&shifted).map(|(w, p)| w * p).sum();
                }
            }
        });
    made.reversed_axes().as_standard_layout().into_owned()
}

/// Means of the phantom over voxels, and the maps at their centres.
fn truth(phantom: &Phantom, coils: &Coils, matrix: usize, axes: usize) -> Truth {
    let slices = if axes == 3 { matrix } else { 1 };
    let parts = POINTS_PER_VOXEL[axes - 2];
    let step = 2.0 / matrix as f64;
    let middle = |n: usize| (n as f64 - (matrix / 2) as f64) * step;
    let position = |slice: usize, row: usize, column: usize| {
        [
            middle(column),
            -middle(row),
            if axes == 3 { middle(slice) } else { 0.0 },
        ]
    };
    let offset = |part: usize| ((part as f64 + 0.5) / parts as f64 - 0.5) * step;
    let mut image = Array3::zeros((slices, matrix, matrix));
    let mut maps = Array4::zeros((slices, matrix, matrix, coils.count()));
    let rows = matrix;
    image
        .as_slice_mut()
        .unwrap_or_default()
        .par_chunks_mut(matrix)
        .zip(
            maps.as_slice_mut()
                .unwrap_or_default()
                .par_chunks_mut(matrix * coils.count()),
        )
        .enumerate()
        .for_each(|(line, (voxels, maps))| {
            let (slice, row) = (line / rows, line % rows);
            for (column, voxel) in voxels.iter_mut().enumerate() {
                let at = position(slice, row, column);
                let mut sum = 0.0;
                for part in 0..parts.pow(axes as u32) {
                    let mut inner = at;
                    let mut rest = part;
                    for coordinate in inner.iter_mut().take(axes) {
                        *coordinate += offset(rest % parts);
                        rest /= parts;
                    }
                    sum += phantom.value(&inner[..axes]);
                }
                *voxel = Complex::new(sum / parts.pow(axes as u32) as f64, 0.0);
                let here = &mut maps[column * coils.count()..][..coils.count()];
                coils.at(&at[..axes], here);
            }
        });
    Truth {
        image,
        coil_maps: maps
            .permuted_axes([3, 0, 1, 2])
            .as_standard_layout()
            .into_owned(),
    }
}

/// Period of the maps, in half fields of view: longer than twice the distance from a coil to the
/// far side.
const PERIOD: f64 = 4.5;
/// Distance of the coils' centres from the axis, in half fields of view.
const DISTANCE: f64 = 1.1;
/// Height of the two rings of coils of a volume above and below the centre.
const HEIGHT: f64 = 0.5;
/// Imaginary part of a map: the phase changes by about this many radians towards its edge.
const PHASE_AMPLITUDE: f64 = 0.4;

/// Maps Σ_q w_cq e^{2πi q·x/L}, q ∈ {−1, 0, 1}^axes: products of raised cosines about each coil's
/// centre, ½ + ½ cos u + ½ i t sin u with u = 2π(x − p)/L along each axis.
struct Coils {
    /// q, at most three axes.
    shifts: Vec<[f64; 3]>,
    /// (coil, shift).
    weights: Array2<Complex<f64>>,
}

impl Coils {
    /// Coils evenly around the object, with root sum of squares 1 in its centre; a single coil has
    /// a uniform sensitivity.
    fn ring(count: usize, axes: usize) -> Self {
        if count == 1 {
            return Self {
                shifts: vec![[0.0; 3]],
                weights: Array2::from_elem((1, 1), Complex::new(1.0, 0.0)),
            };
        }
        let shifts: Vec<[f64; 3]> = (0..3_usize.pow(axes as u32))
            .map(|number| {
                let digit = |axis: u32| (number / 3_usize.pow(axis) % 3) as f64 - 1.0;
                [digit(0), digit(1), if axes == 3 { digit(2) } else { 0.0 }]
            })
            .collect();
        let mut weights = Array2::from_shape_fn((count, shifts.len()), |(coil, shift)| {
            let angle = TAU * coil as f64 / count as f64;
            let height = if coil % 2 == 0 { HEIGHT } else { -HEIGHT };
            let middle = [DISTANCE * angle.cos(), DISTANCE * angle.sin(), height];
            let factors = (0..axes).map(|axis| {
                let q = shifts[shift][axis];
                if q == 0.0 {
                    Complex::new(0.5, 0.0)
                } else {
                    Complex::from_polar(
                        0.25 * (1.0 + q * PHASE_AMPLITUDE),
                        -TAU * q * middle[axis] / PERIOD,
                    )
                }
            });
            factors.fold(Complex::cis(angle), |product, factor| product * factor)
        });
        let unscaled = Self {
            shifts: shifts.clone(),
            weights: weights.clone(),
        };
        let mut middle = vec![Complex::new(0.0, 0.0); count];
        unscaled.at(&[0.0; 3][..axes], &mut middle);
        let root = middle.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt();
        weights.mapv_inplace(|w| w / root);
        Self { shifts, weights }
    }

    fn count(&self) -> usize {
        self.weights.nrows()
    }

    /// The value of each coil's map at `position`.
    fn at(&self, position: &[f64], values: &mut [Complex<f64>]) {
        let waves: Vec<Complex<f64>> = self
            .shifts
            .iter()
            .map(|shift| {
                let cycles: f64 = position
                    .iter()
                    .zip(shift)
                    .map(|(x, q)| x * q / PERIOD)
                    .sum();
                Complex::cis(TAU * cycles)
            })
            .collect();
        for (value, weights) in values.iter_mut().zip(self.weights.rows()) {
            *value = weights.iter().zip(&waves).map(|(w, e)| w * e).sum();
        }
    }
}

#[cfg(test)]
mod tests;
