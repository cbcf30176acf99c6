//! Samples of acquisitions, joined, at the positions that the file gives.

use super::super::acquisition::{Arrays, Head};
use super::super::header::{Header, Space};
use super::third_column::ThirdColumn;
use crate::data::{Extent, KSpace, KUnit, Readout};
use ndarray::{Array2, Axis};
use num_complex::Complex;
use warpstride_core::text::significant;
use warpstride_files::IoError;
use warpstride_files::records::Records;
use warpstride_files::source::Source;

/// Names of the axes in the header.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Pixels whose sizes have a smaller relative difference count as equal.
const SAME_PIXEL: f64 = 1e-4;

/// The samples at the positions that the file gives.
pub(super) struct RawSamples {
    /// (sample, axis), cycles per pixel of the encoded space.
    pub(super) trajectory: Array2<f64>,
    /// (coil, sample).
    pub(super) samples: Array2<Complex<f64>>,
    pub(super) readouts: Vec<Readout>,
    /// Whether kz is that of the partitions' numbers.
    pub(super) partitions: bool,
    /// The third column of trajectories for a plane.
    third: ThirdColumn,
}

impl RawSamples {
    #[expect(clippy::too_many_arguments, reason = "one reading, all of it needed")]
    pub(super) fn read(
        source: &Source,
        records: &Records<'_>,
        heads: &[Head],
        chosen: &[usize],
        axes: usize,
        header: &Header,
        encoded: Space,
        notes: &mut Vec<String>,
    ) -> Result<Self, IoError> {
        let coils = usize::from(heads[chosen[0]].active_channels);
        let count: usize = chosen
            .iter()
            .map(|number| heads[*number].used_samples())
            .sum();
        // Both arrays, and one more trajectory for the check.
        records.fits(count as u128 * (16 * coils as u128 + 16 * axes as u128))?;
        let limit = source.memory().limit();
        // HDF5 takes the memory for a sequence before it looks whether the file has one so long.
        let lengths = records.sequence_lengths(["traj", "data"])?;
        for &number in chosen {
            let found = lengths[number].map(|length| length as usize);
            if let Some((what, found, expected)) = wrong_length(&heads[number], coils, found) {
                let found = format!("{found} numbers in its {what}");
                return Err(records.wrong(number, found, &expected));
            }
        }
        let mut raw = Self {
            trajectory: Array2::zeros((count, axes)),
            samples: Array2::zeros((coils, count)),
            readouts: Vec::with_capacity(chosen.len()),
            partitions: false,
            third: ThirdColumn::default(),
        };
        let centre = header
            .centre_partition
            .unwrap_or((encoded.matrix[2] / 2) as f64);
        let mut extra = 0;
        // A variable-length sequence is at most as long as the file.
        let batch = (limit / 4 / source.length().max(1)).clamp(1, 4096) as usize;
        let mut begin = 0;
        for part in chosen.chunks(batch) {
            // Acquisitions that are adjacent in the file are read at once.
            for run in part.chunk_by(|a, b| a + 1 == *b) {
                let (first, last) = (run[0], run[run.len() - 1]);
                let read: Vec<Arrays> = records.read(first..last + 1)?;
                for (&number, arrays) in run.iter().zip(&read) {
                    let head = &heads[number];
                    let dimensions = usize::from(head.trajectory_dimensions);
                    let partition = (dimensions < axes).then(|| {
                        let step = f64::from(head.idx.kspace_encode_step_2);
                        (step - centre) / encoded.matrix[2] as f64
                    });
                    raw.partitions |= partition.is_some();
                    extra = extra.max(dimensions.saturating_sub(axes));
                    begin = raw.append(begin, number, head, arrays, partition).map_err(
                        |(what, found, expected)| {
                            let found = format!("{found} numbers in its {what}");
                            records.wrong(number, found, &expected)
                        },
                    )?;
                }
            }
        }
        if let Some([low, high]) = raw.third.as_kz() {
            let [x, y, _] = encoded.matrix;
            return Err(IoError::Value {
                file: source.name().to_owned(),
                dataset: records.path().to_owned(),
                found: format!(
                    "a third column with kz from {} to {}",
                    significant(low, 3),
                    significant(high, 3)
                ),
                expected: format!(
                    "kx and ky, as the header's matrix has z = 1 (--matrix SLICESxROWSxCOLUMNS makes a volume of them, such as --matrix {}x{y}x{x})",
                    x.max(y)
                ),
            });
        }
        let step = |number: &usize| heads[*number].idx.kspace_encode_step_2;
        let steps = [chosen.iter().map(step).min(), chosen.iter().map(step).max()];
        if let [Some(low), Some(high)] = steps
            && axes == 2
            && low != high
        {
            let [x, y, _] = encoded.matrix;
            return Err(IoError::Value {
                file: source.name().to_owned(),
                dataset: records.path().to_owned(),
                found: format!("kspace_encode_step_2 from {low} to {high}"),
                expected: format!(
                    "a single partition, as the header's matrix has z = 1 (--matrix SLICESxROWSxCOLUMNS makes a volume of them, such as --matrix {}x{y}x{x})",
                    u32::from(high) + 1
                ),
            });
        }
        if raw.partitions {
            notes.push(format!(
                "kz is derived from kspace_encode_step_2: {} partitions centred at {centre}",
                encoded.matrix[2]
            ));
        }
        if extra > 0 {
            notes.push(format!(
                "the trajectory has {extra} column{} in addition to {}, possibly density weights: not used (--density computes weights)",
                if extra == 1 { "" } else { "s" },
                if axes == 3 { "kx, ky, kz" } else { "kx, ky of a single slice" }
            ));
        }
        let mut lengths: Vec<usize> = raw.readouts.iter().map(|r| r.samples.len()).collect();
        lengths.sort_unstable();
        if let (Some(short), Some(long)) = (lengths.first(), lengths.last())
            && short != long
        {
            notes.push(format!(
                "the readouts have from {short} to {long} samples: all of them are used"
            ));
        }
        Ok(raw)
    }

    /// Adds an acquisition's samples at index `begin` and returns the index of the next ones; or,
    /// for an array of the wrong length, its name, its length and the expected length.
    fn append(
        &mut self,
        begin: usize,
        number: usize,
        head: &Head,
        arrays: &Arrays,
        partition: Option<f64>,
    ) -> Result<usize, (&'static str, usize, String)> {
        let samples = usize::from(head.number_of_samples);
        let (coils, axes) = (self.samples.nrows(), self.trajectory.ncols());
        let dimensions = usize::from(head.trajectory_dimensions);
        let found = [arrays.traj.len(), arrays.data.len()];
        if let Some(wrong) = wrong_length(head, coils, found) {
            return Err(wrong);
        }
        let used_samples = head.used_samples();
        let skipped = usize::from(head.discard_pre);
        for j in 0..used_samples {
            let position = &arrays.traj[(skipped + j) * dimensions..][..dimensions];
            if let ([x, y, third, ..], 2) = (position, axes) {
                self.third.see(j == 0, [*x, *y, *third].map(f64::from));
            }
            for axis in 0..axes {
                self.trajectory[[begin + j, axis]] = match position.get(axis) {
                    Some(k) => f64::from(*k),
                    None => partition.unwrap_or(0.0),
                };
            }
            for coil in 0..coils {
                let at = 2 * (coil * samples + skipped + j);
                let [re, im] = [arrays.data[at], arrays.data[at + 1]].map(f64::from);
                self.samples[[coil, begin + j]] = Complex::new(re, im);
            }
        }
        self.readouts.push(Readout {
            samples: begin..begin + used_samples,
            acquisition: number,
            interval: f64::from(head.sample_time_us) * 1e-6,
            discarded: skipped,
        });
        Ok(begin + used_samples)
    }

    /// Converts the trajectory from `unit` to cycles per pixel of the encoded space; `None` if the
    /// size of a pixel is needed and unknown. The field of view is that of the image, `recon`.
    pub(super) fn convert(&mut self, unit: KUnit, recon: Space, encoded: Space) -> Option<()> {
        let measured = self.trajectory.ncols() - usize::from(self.partitions);
        for (axis, mut column) in self
            .trajectory
            .axis_iter_mut(Axis(1))
            .enumerate()
            .take(measured)
        {
            let mut cycle = unit.of_cycle(recon.matrix[axis], encoded.pixel(axis))?;
            if unit.is_per_field_of_view() {
                let pixels = [encoded, recon].map(|space| space.pixel(axis));
                if let [Some(encoded), Some(recon)] = pixels {
                    cycle *= recon / encoded;
                }
            }
            if cycle != 1.0 {
                column.mapv_inplace(|k| k / cycle);
            }
        }
        Some(())
    }

    /// The size of the image, and the factor of each axis of the trajectory.
    ///
    /// Positions are in cycles per pixel of the encoded space. The image has the size of
    /// reconSpace, or of the encoded space if the pixels of reconSpace are larger than the
    /// resolution of the trajectory. A matrix that `is_given` is that of the image in any case.
    pub(super) fn extent(
        &self,
        header: &Header,
        encoded: Space,
        axes: usize,
        is_given: bool,
        notes: &mut Vec<String>,
    ) -> (Extent, [f64; 3]) {
        let recon = header.recon.unwrap_or(encoded);
        let mut factor = [1.0; 3];
        for (axis, factor) in factor.iter_mut().enumerate().take(axes) {
            if let (Some(image), Some(measured)) = (recon.pixel(axis), encoded.pixel(axis)) {
                let ratio = image / measured;
                if (ratio - 1.0).abs() > SAME_PIXEL {
                    *factor = ratio;
                }
            } else if is_given {
                *factor = encoded.matrix[axis] as f64 / recon.matrix[axis] as f64;
            }
        }
        let most = |axis: usize| {
            let column = self.trajectory.column(axis);
            column.iter().fold(0.0, |most: f64, k| most.max(k.abs()))
        };
        let beyond = (0..axes).find(|axis| {
            let reached = most(*axis);
            reached <= 0.5 + KSpace::ROUNDING && reached * factor[*axis] > 0.5 + KSpace::ROUNDING
        });
        let beyond = beyond.filter(|_| !is_given);
        let flat_recon = recon.matrix[2] == 1 && axes == 3;
        let taken = match beyond {
            Some(axis) => {
                notes.push(format!(
                    "the image has the size of encodedSpace ({}): the pixels of reconSpace along {} are larger than the measured resolution",
                    sizes(encoded), AXES[axis]
                ));
                factor = [1.0; 3];
                encoded
            }
            None if flat_recon => {
                notes.push(format!(
                    "the image has the size of encodedSpace ({}): reconSpace has no third axis",
                    sizes(encoded)
                ));
                factor = [1.0; 3];
                encoded
            }
            None => {
                if factor != [1.0; 3] {
                    notes.push(format!(
                        "the trajectory is in pixels of encodedSpace, but the image ({}) has those of reconSpace: the trajectory is multiplied by {:?}",
                        sizes(recon), &factor[..axes]
                    ));
                } else if recon.matrix != encoded.matrix {
                    notes.push(format!(
                        "encodedSpace is oversampled ({}): the image has the size of reconSpace ({}) with the same pixels",
                        sizes(encoded), sizes(recon)
                    ));
                }
                recon
            }
        };
        if taken.field_of_view.is_none() {
            notes.push(
                "the size of a pixel is unknown: the header has no fieldOfView_mm of finite lengths above 0".to_owned(),
            );
        }
        let [x, y, z] = taken.matrix;
        let extent = Extent {
            matrix: [if axes == 3 { z } else { 1 }, y, x],
            axes,
            field_of_view: taken.field_of_view.map(|[x, y, z]| [z, y, x]),
        };
        (extent, factor)
    }
}

/// For an acquisition whose trajectory or data have the wrong length: the array's name, its length
/// and the expected length.
fn wrong_length(
    head: &Head,
    coils: usize,
    [traj, data]: [usize; 2],
) -> Option<(&'static str, usize, String)> {
    let samples = usize::from(head.number_of_samples);
    let dimensions = usize::from(head.trajectory_dimensions);
    let lengths = [
        (
            "trajectory",
            traj,
            samples * dimensions,
            dimensions,
            "dimensions",
        ),
        (
            "data",
            data,
            2 * samples * coils,
            coils,
            "coils, real and imaginary",
        ),
    ];
    lengths
        .into_iter()
        .find(|(_, found, expected, ..)| found != expected)
        .map(|(what, found, expected, of, unit)| {
            let expected = format!("{expected} ({samples} samples of {of} {unit})");
            (what, found, expected)
        })
}

fn sizes(space: Space) -> String {
    let [x, y, z] = space.matrix;
    format!("{x} x {y} x {z}")
}
