//! Assembly of k-space from acquisitions.

use super::acquisition::{Arrays, Head};
use super::geometry::placement;
use super::header::{Header, Space};
use super::select::absent;
use super::{Choice, Counter, KSpaceFile, LeftOut, ReadOptions};
use crate::data::{Extent, Given, ImageIndex, KSpace, KSpaceError, KUnit, Readout};
use crate::io::IoError;
use crate::io::records::Records;
use crate::io::source::Source;
use crate::mri::io::bart::MatrixSize;
use crate::mri::io::excluded_coils::ExcludedCoils;
use crate::mri::io::not_finite;
use crate::text::significant;
use ndarray::{Array2, Axis};
use num_complex::Complex;

/// Names of the axes in the header.
const AXES: [&str; 3] = ["x", "y", "z"];

/// How acquisitions without a trajectory are refused, and what to do about them.
const CARTESIAN: &str = "a trajectory, kx and ky of every sample (Cartesian data need none: Gadgetron, or BART's fft and pics, reconstruct them; for this program, write kx = (sample − center_sample)/number_of_samples and ky = (kspace_encode_step_1 − its centre)/y of encodedSpace to traj)";

/// Pixels whose sizes have a smaller relative difference count as equal.
const SAME_PIXEL: f64 = 1e-4;

/// Reads and joins the acquisitions that `options` select.
pub(super) fn assemble(
    source: &Source,
    records: &Records<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<KSpaceFile, IoError> {
    let mut notes = Vec::new();
    let heads = Head::read_all(records)?;
    let (mut chosen, mut left_out) = choose(source, records, &heads, options, false, &mut notes)?;
    check(source, records, &heads, &chosen)?;
    let mut columns = chosen
        .iter()
        .map(|number| heads[*number].trajectory_dimensions);
    let has_kz = columns.all(|columns| columns > 2);
    let header = &with_matrix(header, options.matrix, has_kz, &mut notes);
    if header.encodings > 1 {
        notes.push(format!(
            "the header has {} encodings: the first one is used",
            header.encodings
        ));
    }
    let encoded = header.encoded.or(header.recon);
    let Some(encoded) = encoded else {
        return Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "<reconSpace> or <encodedSpace> in the header".to_owned(),
            tried: vec![format!("/{}/xml", options.group.trim_matches('/'))],
        });
    };
    let axes = if encoded.matrix[2] > 1 { 3 } else { 2 };
    let coils = usize::from(heads[chosen[0]].active_channels);
    let excluded = ExcludedCoils::new(&options.exclude_coils, coils, source.name())?;
    let mut raw = RawSamples::read(
        source, records, &heads, &chosen, axes, header, encoded, &mut notes,
    )?;
    excluded.clear(&mut raw.samples);
    notes.extend(not_finite::silence_coils(
        &mut raw.samples,
        &raw.readouts,
        &excluded,
    ));
    let removed = not_finite::remove(&mut raw.trajectory, &mut raw.samples, &mut raw.readouts);
    chosen.retain(|number| removed.acquisitions.binary_search(number).is_err());
    left_out.extend(removed.left_out("acquisitions"));
    let placement = placement(records, &chosen, &mut notes)?;
    let is_given = options.matrix.is_some();
    let unit = options.k_unit.unwrap_or(KUnit::CYCLES_PER_PIXEL);
    raw.convert(unit, header.recon.unwrap_or(encoded), encoded)
        .ok_or_else(|| IoError::Missing {
            file: source.name().to_owned(),
            what: format!("<fieldOfView_mm> in the header, which --k-unit {unit} needs"),
            tried: vec![format!("/{}/xml", options.group.trim_matches('/'))],
        })?;
    let (extent, factor) = raw.extent(header, encoded, axes, is_given, &mut notes);
    let mut trajectory = raw.trajectory;
    for (mut column, factor) in trajectory.axis_iter_mut(Axis(1)).zip(factor) {
        if factor != 1.0 {
            column.mapv_inplace(|k| k * factor);
        }
    }
    notes.extend(unit_note(unit, &trajectory, axes));
    let given = Given {
        pixels: factor,
        ..Given::new(unit, options.k_unit.is_some())
    };
    let kspace = KSpace::given_as(given, extent, trajectory, raw.samples, raw.readouts);
    let kspace = kspace.map_err(|error| match error {
        KSpaceError::Outside {
            acquisition,
            axis: "kz",
            value,
            ..
        } if raw.partitions => records.wrong(
            acquisition,
            format!("{value} of its kspace_encode_step_2"),
            "a kz of −0.5 to 0.5 cycles/pixel (the centre and the number of partitions are in the header)",
        ),
        other => IoError::KSpace {
            file: source.name().to_owned(),
            dataset: records.path().to_owned(),
            source: Box::new(other),
        },
    })?;
    let (kspace, note) = excluded.remove(kspace);
    notes.extend(note);
    if !left_out.is_empty() {
        let list: Vec<String> = left_out.iter().map(LeftOut::to_string).collect();
        let of_one = if options.image.is_some() {
            " for one image"
        } else {
            ""
        };
        notes.push(format!(
            "{} of {} acquisitions are used{of_one}; left out: {}",
            chosen.len(),
            heads.len(),
            list.join(", ")
        ));
    }
    Ok(KSpaceFile {
        kspace,
        placement,
        slice: heads[chosen[0]].idx.slice,
        trajectory: header.trajectory.clone(),
        acquisitions: heads.len(),
        left_out,
        notes,
    })
}

/// A header with this matrix of the image. The fields of view stay. If the header does not encode z, kz of the trajectory, if it
/// has one, is in pixels as large as those of x; without one, there are as many partitions as the image has slices.
pub(super) fn with_matrix(
    header: &Header,
    matrix: Option<MatrixSize>,
    has_kz: bool,
    notes: &mut Vec<String>,
) -> Header {
    let mut header = header.clone();
    if let (Some(matrix), Some(mut encoded)) = (matrix, header.encoded.or(header.recon)) {
        let mut recon = header.recon.unwrap_or(encoded);
        let [x, y, z] = matrix.along_k();
        if matrix.axes == 2 || !has_kz && encoded.matrix[2] == 1 {
            encoded.matrix[2] = z;
        } else if encoded.matrix[2] == 1 && z > 1 {
            let mut is_thin = false;
            for space in [&mut encoded, &mut recon] {
                is_thin |= space.thicken();
            }
            encoded.matrix[2] = match (encoded.field_of_view, encoded.pixel(0)) {
                (Some(view), Some(pixel)) => (view[2] / pixel).round() as usize,
                _ => encoded.matrix[0],
            };
            let as_thick = if is_thin {
                ", and the volume is as thick as it is wide, as the header has the thickness of a slice"
            } else {
                ""
            };
            notes.push(format!(
                "the header's matrix has z = 1: kz is taken to be in pixels as large as those of x ({} in the field of view){as_thick}",
                encoded.matrix[2]
            ));
        }
        header.encoded = Some(encoded);
        header.recon = Some(Space {
            matrix: [x, y, z],
            ..recon
        });
    }
    header
}

/// A note on positions that were converted to cycles/pixel.
pub(in crate::mri::io) fn unit_note(
    unit: KUnit,
    trajectory: &Array2<f64>,
    axes: usize,
) -> Option<String> {
    let largest = trajectory.iter().fold(0.0_f64, |most, k| most.max(k.abs()));
    (unit != KUnit::CYCLES_PER_PIXEL).then(|| {
        format!(
            "{} are converted from {unit}: the largest is {} cycles/pixel",
            if axes == 3 {
                "kx, ky and kz"
            } else {
                "kx and ky"
            },
            significant(largest, 4)
        )
    })
}

/// The images that `options` select, sorted.
pub(super) fn images(
    source: &Source,
    records: &Records<'_>,
    options: &ReadOptions,
) -> Result<Vec<ImageIndex>, IoError> {
    let heads = Head::read_all(records)?;
    let (chosen, _) = choose(source, records, &heads, options, true, &mut Vec::new())?;
    let index = |number: &usize| {
        let mut index = ImageIndex::default();
        for counter in Counter::ALL {
            // What is joined has no value of its own.
            if options.select.of(counter) != Some(Choice::Combined) {
                counter.set(&mut index, counter.of(&heads[*number].idx));
            }
        }
        index
    };
    let mut images: Vec<ImageIndex> = chosen.iter().map(index).collect();
    images.sort_unstable();
    images.dedup();
    Ok(images)
}

/// The acquisitions of the image, or of `every` image that is selected, in the order of the file, and the kinds of the
/// others.
fn choose(
    source: &Source,
    records: &Records<'_>,
    heads: &[Head],
    options: &ReadOptions,
    every: bool,
    notes: &mut Vec<String>,
) -> Result<(Vec<usize>, Vec<LeftOut>), IoError> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut leave_out = |what: &str| match left_out.iter_mut().find(|l| l.what == what) {
        Some(known) => known.acquisitions += 1,
        None => left_out.push(LeftOut {
            what: what.to_owned(),
            acquisitions: 1,
        }),
    };
    let mut chosen = Vec::new();
    for (number, head) in heads.iter().enumerate() {
        if let Some(what) = head.left_out().or_else(|| head.empty()) {
            leave_out(what);
        } else if head.encoding_space_ref != 0 {
            leave_out("acquisitions of other encodings");
        } else {
            chosen.push(number);
        }
    }
    for counter in Counter::ALL {
        let of = |number: &usize| counter.of(&heads[*number].idx);
        let (Some(low), Some(high)) = (chosen.iter().map(of).min(), chosen.iter().map(of).max())
        else {
            break;
        };
        let range = [low, high];
        let is_own = options.select.of(counter) == Some(Choice::All);
        if every && is_own {
            continue;
        }
        let image = options.image;
        let Some(value) = options.select.value(counter, range, image, notes) else {
            continue;
        };
        if !chosen.iter().any(|number| of(number) == value) {
            return Err(absent(source.name(), counter, value, range));
        }
        chosen.retain(|number| {
            let taken = of(number) == value;
            if !taken && !is_own {
                leave_out(&format!("acquisitions of another {counter}"));
            }
            taken
        });
    }
    if chosen.is_empty() {
        let found: Vec<String> = left_out.iter().map(LeftOut::to_string).collect();
        return Err(IoError::Value {
            file: source.name().to_owned(),
            dataset: records.path().to_owned(),
            expected: "imaging acquisitions".to_owned(),
            found: if found.is_empty() {
                "no acquisitions".to_owned()
            } else {
                found.join(", ")
            },
        });
    }
    Ok((chosen, left_out))
}

/// Rejects headers that cannot be read or are inconsistent.
fn check(
    source: &Source,
    records: &Records<'_>,
    heads: &[Head],
    chosen: &[usize],
) -> Result<(), IoError> {
    let mut coils: Option<(usize, u16)> = None;
    for &number in chosen {
        let head = &heads[number];
        let wrong = |found: String, expected: &str| Err(records.wrong(number, found, expected));
        if head.compressed() {
            return wrong(
                "compressed ones".to_owned(),
                "uncompressed samples (convert the file without compression)",
            );
        }
        match head.trajectory_dimensions {
            0 => {
                return wrong("none (trajectory_dimensions is 0)".to_owned(), CARTESIAN);
            }
            1 => {
                return wrong(
                    "a trajectory of 1 dimension".to_owned(),
                    "kx, ky and, for volumes, kz",
                );
            }
            _ => {}
        }
        let (first, common) = *coils.get_or_insert((number, head.active_channels));
        if head.active_channels != common {
            return wrong(
                format!("{} coils", head.active_channels),
                &format!("{common} coils, like acquisition {first}"),
            );
        }
        let claimed = head.claimed();
        if claimed > source.length() {
            return wrong(
                format!("{claimed}, which it claims (the file is truncated or damaged)"),
                &format!("at most the {} bytes of the file", source.length()),
            );
        }
    }
    Ok(())
}

/// The samples at the positions that the file gives.
struct RawSamples {
    /// (sample, axis), cycles per pixel of the encoded space.
    trajectory: Array2<f64>,
    /// (coil, sample).
    samples: Array2<Complex<f64>>,
    readouts: Vec<Readout>,
    /// Whether kz is that of the partitions' numbers.
    partitions: bool,
    /// The third column of trajectories for a plane.
    third: ThirdColumn,
}

impl RawSamples {
    #[expect(clippy::too_many_arguments, reason = "one reading, all of it needed")]
    fn read(
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

    /// Converts the trajectory from `unit` to cycles per pixel of the encoded space; `None` if the size of a pixel is needed and
    /// unknown. The field of view is that of the image, `recon`.
    fn convert(&mut self, unit: KUnit, recon: Space, encoded: Space) -> Option<()> {
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
    fn extent(
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

/// The third column of the trajectories of a plane: weights of the samples, or kz.
#[derive(Debug, Default)]
struct ThirdColumn {
    readouts: Vec<Column>,
}

/// The third column of a readout.
#[derive(Debug, Clone, Copy)]
struct Column {
    low: f64,
    high: f64,
    /// Largest distance from the origin in the plane, and with the third column as kz.
    reach: [f64; 2],
}

impl ThirdColumn {
    /// Adds a sample, of a further readout or of the last.
    fn see(&mut self, first: bool, [x, y, third]: [f64; 3]) {
        if first {
            self.readouts.push(Column {
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
                reach: [0.0; 2],
            });
        }
        if let Some(of) = self.readouts.last_mut() {
            (of.low, of.high) = (of.low.min(third), of.high.max(third));
            let flat = x.hypot(y);
            of.reach = [of.reach[0].max(flat), of.reach[1].max(flat.hypot(third))];
        }
    }

    /// The smallest and the largest kz if the column is kz: it has negative values; or is the same in each readout, as in a stack;
    /// or makes readouts equally long that are not in the plane, as spokes of a volume are.
    fn as_kz(&self) -> Option<[f64; 2]> {
        let all = |of: fn(&Column) -> f64| self.readouts.iter().map(of);
        let ends = |of: fn(&Column) -> f64| {
            let low = all(of).fold(f64::INFINITY, f64::min);
            [low, all(of).fold(f64::NEG_INFINITY, f64::max)]
        };
        let ([low, _], [lowest_end, high]) = (ends(|of| of.low), ends(|of| of.high));
        if !(low.is_finite() && high.is_finite()) {
            return None;
        }
        let small = 1e-6 * high.abs().max(low.abs());
        let is_stack =
            all(|of| of.high - of.low).all(|width| width <= small) && high - lowest_end > small;
        let is_ball = {
            let ([flat, most_flat], [long, longest]) =
                (ends(|of| of.reach[0]), ends(|of| of.reach[1]));
            flat < 0.9 * most_flat && long > 0.98 * longest
        };
        (low < -small || is_stack || is_ball).then_some([low, high])
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
