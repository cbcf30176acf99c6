//! Samples of k-space as plain, checked data.

use ndarray::{Array1, Array2, Array3, Array4};
use num_complex::Complex;
use std::ops::Range;

/// Samples that were taken one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Readout {
    /// Which samples.
    pub samples: Range<usize>,
    /// Its acquisition's number in the file, from 0.
    pub acquisition: usize,
    /// Time from a sample to the next, s; 0 where it is not known.
    pub interval: f64,
    /// Samples before the first one that were discarded.
    pub discarded: usize,
}

/// What the samples were measured for: the image's size.
#[derive(Debug, Clone, PartialEq)]
pub struct Extent {
    /// Voxels: slices, rows, columns.
    pub matrix: [usize; 3],
    /// Axes of k-space, 2 or 3; with 2 there is one slice.
    pub axes: usize,
    /// Slices, rows, columns together, m; where it is known.
    pub field_of_view: Option<[f64; 3]>,
}

/// Samples of k-space: at least one of at least one coil, all finite, each with its place in
/// −0.5 … 0.5 cycles/pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct KSpace {
    extent: Extent,
    trajectory: Array2<f64>,
    samples: Array2<Complex<f64>>,
    readouts: Vec<Readout>,
}

/// What simulated samples were made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// (slice, row, column).
    pub image: Array3<Complex<f64>>,
    /// (coil, slice, row, column).
    pub coil_maps: Array4<Complex<f64>>,
}

/// Why data are no samples of k-space. Whoever read them from a file adds the file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KSpaceError {
    /// Nothing was measured.
    #[error(
        "there are {samples} samples of {coils} coils: at least one sample of one coil is expected"
    )]
    Empty {
        /// Samples of a coil.
        samples: usize,
        /// Coils.
        coils: usize,
    },
    /// No image.
    #[error(
        "the matrix is {found:?} (slices, rows, columns): 1 to {most} along each axis, and one slice where kz is not encoded, are expected"
    )]
    Matrix {
        /// Found.
        found: [usize; 3],
        /// Most voxels along an axis.
        most: usize,
    },
    /// Parts that do not belong together.
    #[error("{what} has shape {found:?}: {expected:?} is expected")]
    Shape {
        /// Which array.
        what: &'static str,
        /// Found.
        found: Vec<usize>,
        /// Expected.
        expected: Vec<usize>,
    },
    /// NaN or infinity.
    #[error(
        "{what} of acquisition {acquisition}, sample {sample}, {axis} is {value}: finite numbers are expected"
    )]
    NotFinite {
        /// `the trajectory` or `the signal`.
        what: &'static str,
        /// Number in the file, from 0.
        acquisition: usize,
        /// Number in the acquisition, from 0.
        sample: usize,
        /// `kx`, `coil 3`.
        axis: String,
        /// What was found.
        value: String,
    },
    /// Beyond half a cycle a pixel.
    #[error(
        "the trajectory of acquisition {acquisition}, sample {sample} has {axis} = {}: −0.5 to 0.5 cycles/pixel are expected{}",
        *.value as f32,
        advice(*.value)
    )]
    Outside {
        /// Number in the file, from 0.
        acquisition: usize,
        /// Number in the acquisition, from 0.
        sample: usize,
        /// `kx`, `ky` or `kz`.
        axis: &'static str,
        /// What was found.
        value: f64,
    },
}

/// What other units look like.
fn advice(value: f64) -> &'static str {
    // Radians go to π, and files round.
    if value.abs() > 1.001 * std::f64::consts::PI {
        " (divide by the matrix size where they are in cycles per field of view)"
    } else {
        " (divide by 2π where they are in radians/pixel)"
    }
}

/// Names of the axes of k-space.
const AXES: [&str; 3] = ["kx", "ky", "kz"];

impl KSpace {
    /// Most voxels along an axis.
    pub const MOST: usize = 1 << 20;

    /// Rounding of single precision beyond ±0.5 that is taken for ±0.5.
    pub const ROUNDING: f64 = 1e-6;

    /// Checks and takes the parts. `trajectory`: (sample, axis), cycles/pixel, kx, ky[, kz];
    /// `samples`: (coil, sample); the readouts follow each other and cover all samples.
    ///
    /// # Errors
    /// [`KSpaceError`].
    pub fn new(
        extent: Extent,
        mut trajectory: Array2<f64>,
        samples: Array2<Complex<f64>>,
        readouts: Vec<Readout>,
    ) -> Result<Self, KSpaceError> {
        let (coils, count) = samples.dim();
        if coils == 0 || count == 0 {
            return Err(KSpaceError::Empty {
                samples: count,
                coils,
            });
        }
        let flat = extent.axes == 2 && extent.matrix[0] == 1;
        let sizes = extent.matrix.iter().all(|n| (1..=Self::MOST).contains(n));
        if !sizes || !(flat || extent.axes == 3) {
            return Err(KSpaceError::Matrix {
                found: extent.matrix,
                most: Self::MOST,
            });
        }
        let shape = |what, found: &[usize], expected: &[usize]| {
            if found == expected {
                return Ok(());
            }
            Err(KSpaceError::Shape {
                what,
                found: found.to_vec(),
                expected: expected.to_vec(),
            })
        };
        shape("the trajectory", trajectory.shape(), &[count, extent.axes])?;
        let mut end = 0;
        for readout in &readouts {
            shape("the list of readouts", &[readout.samples.start], &[end])?;
            if readout.samples.end < end {
                shape("the list of readouts", &[readout.samples.end], &[end])?;
            }
            end = readout.samples.end;
        }
        shape("the list of readouts", &[end], &[count])?;
        let place = |sample: usize| {
            let readout = readouts
                .partition_point(|r| r.samples.end <= sample)
                .min(readouts.len() - 1);
            let readout = &readouts[readout];
            let within = sample - readout.samples.start + readout.discarded;
            (readout.acquisition, within)
        };
        for ((sample, axis), k) in trajectory.indexed_iter_mut() {
            if (0.5..=0.5 + Self::ROUNDING).contains(&k.abs()) {
                *k = 0.5_f64.copysign(*k);
            }
            if k.abs() <= 0.5 {
                continue;
            }
            let (acquisition, sample) = place(sample);
            return Err(if k.is_finite() {
                KSpaceError::Outside {
                    acquisition,
                    sample,
                    axis: AXES[axis],
                    value: *k,
                }
            } else {
                KSpaceError::NotFinite {
                    what: "the trajectory",
                    acquisition,
                    sample,
                    axis: AXES[axis].to_owned(),
                    value: k.to_string(),
                }
            });
        }
        for ((coil, sample), value) in samples.indexed_iter() {
            if value.re.is_finite() && value.im.is_finite() {
                continue;
            }
            let (acquisition, sample) = place(sample);
            return Err(KSpaceError::NotFinite {
                what: "the signal",
                acquisition,
                sample,
                axis: format!("coil {coil}"),
                value: value.to_string(),
            });
        }
        Ok(Self {
            extent,
            trajectory,
            samples,
            readouts,
        })
    }

    /// The image's size.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// (sample, axis), cycles/pixel; axes kx, ky[, kz].
    #[must_use]
    pub fn trajectory(&self) -> &Array2<f64> {
        &self.trajectory
    }

    /// (coil, sample).
    #[must_use]
    pub fn samples(&self) -> &Array2<Complex<f64>> {
        &self.samples
    }

    /// Which samples belong together, in order.
    #[must_use]
    pub fn readouts(&self) -> &[Readout] {
        &self.readouts
    }

    /// Coils.
    #[must_use]
    pub fn coils(&self) -> usize {
        self.samples.nrows()
    }

    /// Samples of a coil.
    #[must_use]
    pub fn count(&self) -> usize {
        self.samples.ncols()
    }

    /// Time of each sample since the first of its readout was taken, s; `None` where an interval is
    /// not known.
    #[must_use]
    pub fn times(&self) -> Option<Array1<f64>> {
        let mut times = Array1::zeros(self.count());
        for readout in &self.readouts {
            if !(readout.interval.is_finite() && readout.interval > 0.0) {
                return None;
            }
            for (j, sample) in readout.samples.clone().enumerate() {
                times[sample] = (j + readout.discarded) as f64 * readout.interval;
            }
        }
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent() -> Extent {
        Extent {
            matrix: [1, 4, 4],
            axes: 2,
            field_of_view: None,
        }
    }

    fn two_readouts() -> Vec<Readout> {
        [(0..3, 4), (3..5, 7)]
            .map(|(samples, acquisition)| Readout {
                samples,
                acquisition,
                interval: 2e-6,
                discarded: 1,
            })
            .to_vec()
    }

    fn made(
        change: impl FnOnce(&mut Array2<f64>, &mut Array2<Complex<f64>>),
    ) -> Result<KSpace, KSpaceError> {
        let mut trajectory = Array2::from_elem((5, 2), 0.25);
        let mut samples = Array2::from_elem((2, 5), Complex::new(1.0, 0.0));
        change(&mut trajectory, &mut samples);
        KSpace::new(extent(), trajectory, samples, two_readouts())
    }

    #[test]
    fn faults_are_found_where_they_are_in_the_file() {
        let text = made(|k, _| k[[4, 1]] = 0.7).unwrap_err().to_string();
        assert!(
            text.contains("acquisition 7, sample 2 has ky = 0.7"),
            "{text}"
        );
        let text = made(|k, _| k[[1, 0]] = f64::NAN).unwrap_err().to_string();
        assert!(
            text.contains("acquisition 4, sample 2, kx is NaN"),
            "{text}"
        );
        let text = made(|_, d| d[[1, 3]].im = f64::INFINITY)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("signal of acquisition 7, sample 1, coil 1"),
            "{text}"
        );
    }

    #[test]
    fn rounding_at_the_edge_is_no_fault() {
        let edge = f64::from(0.5_f32 + f32::EPSILON);
        assert!(edge > 0.5);
        let k = made(|k, _| k[[2, 0]] = -edge).unwrap();
        assert_eq!(k.trajectory()[[2, 0]], -0.5);
    }

    #[test]
    fn times_begin_with_each_readout_and_count_what_was_discarded() {
        let times = made(|_, _| ()).unwrap().times().unwrap();
        assert_eq!(times.to_vec(), [2e-6, 4e-6, 6e-6, 2e-6, 4e-6]);
    }

    #[test]
    fn readouts_cover_all_samples() {
        let trajectory = Array2::zeros((6, 2));
        let samples = Array2::zeros((1, 6));
        let gap = KSpace::new(extent(), trajectory, samples, two_readouts());
        assert!(matches!(gap, Err(KSpaceError::Shape { .. })));
    }
}
