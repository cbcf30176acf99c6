//! Samples of k-space as plain, validated data.

use super::{Extent, KUnit, k_unit_advice};
use ndarray::{Array1, Array2, Array3, Array4, Array5, ArrayView1, Axis};
use num_complex::Complex;
use std::ops::Range;
use warpstride_core::text::significant;

/// Samples acquired one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Readout {
    /// Range of samples.
    pub samples: Range<usize>,
    /// Number of the acquisition in the file, from 0.
    pub acquisition: usize,
    /// Time between samples, s; 0 if unknown.
    pub interval: f64,
    /// Number of samples discarded before the first one.
    pub discarded: usize,
}

/// How a trajectory was given before it was converted to cycles per pixel of the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// Its unit.
    pub unit: KUnit,
    /// Whether the user has stated the unit.
    pub is_stated: bool,
    /// Pixels of the image along kx, ky, kz in those that the file's unit refers to, for which it
    /// was measured.
    pub pixels: [f64; 3],
    /// Whether readouts of several images are joined, which may differ in strength.
    pub is_joined: bool,
}

impl Given {
    /// A trajectory in this unit, which the user has stated or not, for the pixels of the image.
    #[must_use]
    pub fn new(unit: KUnit, is_stated: bool) -> Self {
        Self {
            unit,
            is_stated,
            pixels: [1.0; 3],
            is_joined: false,
        }
    }

    /// The largest |k| of each axis in the unit of the file, the same in cycles per measured pixel,
    /// and the extent in such pixels; for `reach` in cycles/pixel of the image.
    pub(crate) fn measured(&self, reach: &[f64], extent: &Extent) -> Option<Measured> {
        let mut extent = extent.clone();
        for (axis, pixel) in self.pixels.iter().enumerate().take(extent.axes) {
            let voxels = &mut extent.matrix[2 - axis];
            *voxels = ((*voxels as f64 * pixel).round() as usize).max(1);
        }
        let cycles = self.unit.of_cycles(&extent)?;
        let reach: Vec<f64> = reach
            .iter()
            .zip(self.pixels)
            .map(|(k, pixel)| k / pixel)
            .collect();
        let given = reach.iter().zip(cycles).map(|(k, cycle)| k * cycle);
        Some(Measured {
            given: given.collect(),
            reach,
            extent,
        })
    }
}

/// The largest |k| of a trajectory as it was measured.
pub(crate) struct Measured {
    /// In the unit of the file, for each axis.
    pub(crate) given: Vec<f64>,
    /// Cycles per measured pixel, for each axis.
    pub(crate) reach: Vec<f64>,
    /// The extent in measured pixels.
    pub(crate) extent: Extent,
}

/// Samples of k-space: at least one sample of at least one coil, all values finite, all
/// coordinates within −0.5 … 0.5 cycles/pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct KSpace {
    extent: Extent,
    trajectory: Array2<f64>,
    samples: Array2<Complex<f64>>,
    readouts: Vec<Readout>,
    given: Given,
    coil_numbers: Vec<usize>,
    /// Number of coils that were measured.
    measured_coils: usize,
}

/// Ground truth of simulated samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// (slice, row, column).
    pub image: Array3<Complex<f64>>,
    /// (coil, slice, row, column).
    pub coil_maps: Array4<Complex<f64>>,
}

/// Why data are not valid samples of k-space. A reader adds the file's name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KSpaceError {
    /// There are no samples.
    #[error(
        "expected at least one sample of at least one coil, found {samples} samples of {coils} coils"
    )]
    Empty {
        /// Number of samples per coil.
        samples: usize,
        /// Number of coils.
        coils: usize,
    },
    /// The matrix does not define an image.
    #[error(
        "the matrix (slices, rows, columns): expected 1 to {max} along each axis, and one slice if kz is not encoded, found {found:?}"
    )]
    Matrix {
        /// Shape or size found.
        found: [usize; 3],
        /// Largest number of voxels along an axis.
        max: usize,
    },
    /// The shapes of two parts do not match.
    #[error("{what}: expected shape {expected:?}, found {found:?}")]
    Shape {
        /// The array.
        what: &'static str,
        /// Shape or size found.
        found: Vec<usize>,
        /// Shape expected.
        expected: Vec<usize>,
    },
    /// A value is NaN or infinite.
    #[error(
        "{what} of acquisition {acquisition}, sample {sample}, {axis}: expected a finite number, found {value}"
    )]
    NotFinite {
        /// `the trajectory` or `the signal`.
        what: &'static str,
        /// Number in the file, from 0.
        acquisition: usize,
        /// Number in the acquisition, from 0.
        sample: usize,
        /// Axis or coil, such as `kx` or `coil 3`.
        axis: String,
        /// What was found.
        value: String,
    },
    /// A coordinate lies outside ±0.5 cycles/pixel.
    #[error(
        "the trajectory of acquisition {acquisition}, sample {sample}, {axis}: expected −0.5 to 0.5 cycles/pixel, found {} ({cause})",
        *.value as f32
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
        /// The probable cause, with its remedy.
        cause: String,
    },
}

/// Share of the samples beyond ±0.5 cycles/pixel, up to which they are thought to be damaged; in
/// another unit, most samples are there.
const FEW: f64 = 0.1;
/// |k| above this is what a matrix needs, 0.5 cycles/pixel.
const EXACT: f64 = 0.49;
/// Largest |k|, cycles/pixel, that a matrix with too few voxels explains.
const MOST_VOXELS: f64 = 1.5;

/// Why `trajectory`, which was so given, lies outside ±0.5 cycles/pixel, and what to do.
fn cause_of_outside(trajectory: &Array2<f64>, extent: &Extent, given: &Given) -> String {
    let reach = reach_of(trajectory);
    let most = |reach: &[f64]| reach.iter().copied().fold(0.0, f64::max);
    let largest = most(&reach);
    let measured = given.measured(&reach, extent);
    // The unit is right if the trajectory fits the pixels for which it was measured.
    let fits = (measured.as_ref()).is_some_and(|m| most(&m.reach) <= 0.5 + KSpace::ROUNDING);
    let units = match &measured {
        Some(measured) if !fits => given.unit.others(&measured.given, &measured.extent),
        _ => Vec::new(),
    };
    let count = trajectory.nrows();
    let outside = |row: &ArrayView1<'_, f64>| row.iter().any(|k| k.abs() > 0.5);
    let beyond = (trajectory.rows().into_iter()).filter(outside).count();
    let is_exact = units.first().is_some_and(|(_, k)| *k > EXACT);
    if beyond as f64 <= FEW * count as f64 && !is_exact && !fits {
        return format!("{beyond} of {count} samples lie outside: these may be damaged");
    }
    let found = match &measured {
        Some(measured) if given.unit == KUnit::CYCLES_PER_PIXEL => {
            format!(
                "the largest |k| is {}",
                significant(most(&measured.given), 4)
            )
        }
        Some(measured) => format!(
            "the largest |k| is {} in {}",
            significant(most(&measured.given), 4),
            given.unit
        ),
        None => format!("the largest |k| is {}", significant(largest, 4)),
    };
    let mut remedies: Vec<String> = Vec::new();
    if !units.is_empty() {
        remedies.push(k_unit_advice(&units));
    }
    if largest <= MOST_VOXELS || fits {
        let voxels =
            |axis: usize| (2.0 * reach[axis].max(0.5) * extent.matrix[2 - axis] as f64).ceil();
        let sides: Vec<String> = (0..extent.axes)
            .rev()
            .map(|axis| voxels(axis).to_string())
            .collect();
        remedies.push(format!(
            "if the unit is right, the samples resolve more voxels (--matrix {})",
            sides.join("x")
        ));
    }
    if remedies.is_empty() {
        remedies.push("no unit (--k-unit) makes it 0.5 cycles/pixel, or half of that".to_owned());
    }
    format!("{found}: {}", remedies.join("; "))
}

/// Refuses a trajectory (sample, axis), cycles/pixel, with coordinates beyond ±0.5; it was given in
/// `unit`. The text says what was expected and found, the probable cause and its remedy.
///
/// # Errors
/// That text.
pub fn check_cycles(trajectory: &Array2<f64>, extent: &Extent, unit: KUnit) -> Result<(), String> {
    let most = 0.5 + KSpace::ROUNDING;
    match trajectory.indexed_iter().find(|(_, k)| k.abs() > most) {
        None => Ok(()),
        Some(((sample, axis), value)) => Err(format!(
            "expected −0.5 to 0.5 cycles/pixel, found {} in {} of sample {sample} ({})",
            *value as f32,
            AXES[axis],
            cause_of_outside(trajectory, extent, &Given::new(unit, false))
        )),
    }
}

/// Largest |k| along each axis; NaN does not count.
fn reach_of(trajectory: &Array2<f64>) -> Vec<f64> {
    let columns = trajectory.columns().into_iter();
    let largest =
        |column: ArrayView1<'_, f64>| column.iter().fold(0.0_f64, |most, k| most.max(k.abs()));
    columns.map(largest).collect()
}

/// Names of the axes of k-space.
const AXES: [&str; 3] = ["kx", "ky", "kz"];

impl KSpace {
    /// Largest number of voxels along an axis.
    pub const MOST: usize = 1 << 20;

    /// Coordinates beyond ±0.5 by at most this single-precision rounding error are set to ±0.5.
    pub const ROUNDING: f64 = 1e-6;

    /// Validates the parts. `trajectory` is (sample, axis), cycles/pixel, with axes kx, ky[, kz];
    /// `samples` is (coil, sample); the readouts are contiguous and cover all samples.
    ///
    /// # Errors
    /// Returns [`KSpaceError`] if the parts are invalid or do not match.
    pub fn new(
        extent: Extent,
        trajectory: Array2<f64>,
        samples: Array2<Complex<f64>>,
        readouts: Vec<Readout>,
    ) -> Result<Self, KSpaceError> {
        let given = Given::new(KUnit::CYCLES_PER_PIXEL, false);
        Self::given_as(given, extent, trajectory, samples, readouts)
    }

    /// [`Self::new`] for a trajectory that was so `given`, and has been converted to cycles/pixel.
    ///
    /// # Errors
    /// Like [`Self::new`].
    pub fn given_as(
        given: Given,
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
                max: Self::MOST,
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
        let source_of = |sample: usize| {
            let readout = readouts
                .partition_point(|r| r.samples.end <= sample)
                .min(readouts.len() - 1);
            let readout = &readouts[readout];
            let within = sample - readout.samples.start + readout.discarded;
            (readout.acquisition, within)
        };
        // The sizes of a header are rounded.
        let rounding = if given.unit.needs_field_of_view() {
            0.5 * KUnit::ROUNDING
        } else {
            Self::ROUNDING
        };
        for k in &mut trajectory {
            if (0.5..=0.5 + rounding).contains(&k.abs()) {
                *k = 0.5_f64.copysign(*k);
            }
        }
        for ((sample, axis), k) in trajectory.indexed_iter() {
            if k.abs() <= 0.5 {
                continue;
            }
            let (acquisition, sample) = source_of(sample);
            return Err(if k.is_finite() {
                KSpaceError::Outside {
                    acquisition,
                    sample,
                    axis: AXES[axis],
                    value: *k,
                    cause: cause_of_outside(&trajectory, &extent, &given),
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
            let (acquisition, sample) = source_of(sample);
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
            given,
            coil_numbers: (0..coils).collect(),
            measured_coils: coils,
        })
    }

    /// The samples of these coils alone.
    #[must_use]
    pub fn of_coils(mut self, coils: &[usize]) -> Self {
        self.samples = self.samples.select(Axis(0), coils);
        self.coil_numbers = coils.iter().map(|coil| self.coil_numbers[*coil]).collect();
        self
    }

    /// The number of each coil among those that were measured, from 0.
    #[must_use]
    pub fn coil_numbers(&self) -> &[usize] {
        &self.coil_numbers
    }

    /// The maps of the coils that are left, from maps (set, coil, slice, row, column) of all coils
    /// that were measured; all maps if there are as many as coils, or another number.
    #[must_use]
    pub fn maps_of_coils(&self, maps: Array5<Complex<f64>>) -> Array5<Complex<f64>> {
        let of_all = maps.dim().1 == self.measured_coils && maps.dim().1 > self.coils();
        match of_all {
            true => maps.select(Axis(1), &self.coil_numbers),
            false => maps,
        }
    }

    /// How the trajectory was given.
    #[must_use]
    pub fn given(&self) -> &Given {
        &self.given
    }

    /// Size of the image.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Coordinates (sample, axis), cycles/pixel; axes kx, ky[, kz].
    #[must_use]
    pub fn trajectory(&self) -> &Array2<f64> {
        &self.trajectory
    }

    /// Values (coil, sample).
    #[must_use]
    pub fn samples(&self) -> &Array2<Complex<f64>> {
        &self.samples
    }

    /// Readouts, in order.
    #[must_use]
    pub fn readouts(&self) -> &[Readout] {
        &self.readouts
    }

    /// Number of coils.
    #[must_use]
    pub fn coils(&self) -> usize {
        self.samples.nrows()
    }

    /// Number of samples per coil.
    #[must_use]
    pub fn count(&self) -> usize {
        self.samples.ncols()
    }

    /// Time of each sample since the start of its readout, s; `None` if an interval is unknown.
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

    fn kspace_with(
        change: impl FnOnce(&mut Array2<f64>, &mut Array2<Complex<f64>>),
    ) -> Result<KSpace, KSpaceError> {
        let mut trajectory = Array2::from_elem((5, 2), 0.25);
        let mut samples = Array2::from_elem((2, 5), Complex::new(1.0, 0.0));
        change(&mut trajectory, &mut samples);
        KSpace::new(extent(), trajectory, samples, two_readouts())
    }

    #[test]
    fn errors_name_the_acquisition_and_the_sample_in_the_file() {
        let text = kspace_with(|k, _| k[[4, 1]] = 0.7).unwrap_err().to_string();
        assert!(
            text.contains(
                "acquisition 7, sample 2, ky: expected −0.5 to 0.5 cycles/pixel, found 0.7"
            ),
            "{text}"
        );
        let text = kspace_with(|k, _| k[[1, 0]] = f64::NAN)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("acquisition 4, sample 2, kx: expected a finite number, found NaN"),
            "{text}"
        );
        let text = kspace_with(|_, d| d[[1, 3]].im = f64::INFINITY)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("signal of acquisition 7, sample 1, coil 1"),
            "{text}"
        );
    }

    #[test]
    fn units_are_judged_by_the_pixels_for_which_k_was_measured() {
        let cause = |largest: f64| {
            // The image has 16² pixels half as large as the 8² of the measurement.
            let mut given = Given::new(KUnit::CYCLES_PER_PIXEL, false);
            given.pixels = [0.5, 0.5, 1.0];
            let extent = Extent {
                matrix: [1, 16, 16],
                ..extent()
            };
            let trajectory = Array2::from_elem((5, 2), 0.5 * largest);
            let samples = Array2::from_elem((1, 5), Complex::new(1.0, 0.0));
            let found = KSpace::given_as(given, extent, trajectory, samples, two_readouts());
            found.unwrap_err().to_string()
        };
        let text = cause(4.0);
        assert!(
            text.contains("the largest |k| is 4.000: --k-unit cycles-per-fov would make it 0.5"),
            "{text}"
        );
        let text = cause(std::f64::consts::PI);
        assert!(
            text.contains("--k-unit radians-per-pixel would make it 0.5"),
            "{text}"
        );
    }

    #[test]
    fn rounding_errors_at_the_edge_are_accepted() {
        let edge = f64::from(0.5_f32 + f32::EPSILON);
        assert!(edge > 0.5);
        let k = kspace_with(|k, _| k[[2, 0]] = -edge).unwrap();
        assert_eq!(k.trajectory()[[2, 0]], -0.5);
    }

    #[test]
    fn times_restart_with_each_readout_and_include_discarded_samples() {
        let times = kspace_with(|_, _| ()).unwrap().times().unwrap();
        assert_eq!(times.to_vec(), [2e-6, 4e-6, 6e-6, 2e-6, 4e-6]);
    }

    #[test]
    fn readouts_that_leave_a_gap_are_refused() {
        let trajectory = Array2::zeros((6, 2));
        let samples = Array2::zeros((1, 6));
        let gap = KSpace::new(extent(), trajectory, samples, two_readouts());
        assert!(matches!(gap, Err(KSpaceError::Shape { .. })));
    }
}
