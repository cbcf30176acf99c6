//! Samples of k-space in BART's arrays: one pair of files with the samples, one with the
//! trajectory.
//!
//! The samples have the dimensions (1, sample, readout, coil), the trajectory (3, sample, readout),
//! both with further dimensions for several images. Positions are in cycles per field of view.
//! `docs/formats.md` has the rules.

mod layout;
mod matrix_size;

pub(super) use layout::{COUNTERS, SLICE};
pub use matrix_size::MatrixSize;

use super::excluded_coils::ExcludedCoils;
use super::faulty_readouts::{self, far, farther};
use super::ismrmrd::{KSpaceFile, LeftOut, Selection, unit_note};
use crate::data::{Extent, Given, ImageIndex, KSpace, KUnit, Readout, k_unit_advice};
use layout::Blocks;
use ndarray::{Array2, Axis};
use num_complex::Complex;
use std::path::PathBuf;
use warpstride_core::system::Memory;
use warpstride_core::text::count;
use warpstride_files::IoError;
use warpstride_files::cfl::{CflFile, widened};

/// Names of the axes of k-space.
const AXES: [&str; 3] = ["kx", "ky", "kz"];

/// The files to read, and which image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BartFiles {
    /// The samples, `.cfl`.
    pub samples: PathBuf,
    /// The trajectory, `.cfl`.
    pub trajectory: PathBuf,
    /// Voxels of the image; `None`: as many as the trajectory resolves.
    pub matrix: Option<MatrixSize>,
    /// The images to read, if the files hold several.
    pub select: Selection,
    /// The unit of the trajectory; `None`: cycles per field of view.
    pub k_unit: Option<KUnit>,
    /// Coils to leave out, numbered from 0.
    pub exclude_coils: Vec<usize>,
}

/// The images that `files` select, sorted.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn images(files: &BartFiles) -> Result<Vec<ImageIndex>, IoError> {
    let samples = CflFile::open(&files.samples)?;
    layout::check(&samples, &CflFile::open(&files.trajectory)?)?;
    layout::images(&samples, &files.select)
}

/// Reads the samples of the image that `files` select, or of one of several, which must fit into
/// `memory`.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_within(
    files: &BartFiles,
    image: Option<ImageIndex>,
    memory: Memory,
) -> Result<KSpaceFile, IoError> {
    let mut samples = CflFile::open(&files.samples)?;
    let mut trajectory = CflFile::open(&files.trajectory)?;
    layout::check(&samples, &trajectory)?;
    let mut notes = Vec::new();
    let (blocks, mut left_out) =
        Blocks::choose(&samples, &files.select, image, memory, &mut notes)?;
    let matrix = match files.matrix {
        Some(matrix) => matrix,
        None => matrix_size::resolved(&mut trajectory, files.k_unit, &mut notes)?,
    };
    let unit = files.k_unit.unwrap_or(KUnit::CYCLES_PER_FOV);
    let coils = samples.dimensions()[layout::COIL];
    let excluded = ExcludedCoils::new(&files.exclude_coils, coils, samples.name())?;
    let count = blocks.samples().saturating_mul(blocks.count());
    let mut positions = positions(&mut trajectory, &blocks, matrix, unit)?;
    let mut values = Array2::zeros((coils, count));
    for (block, begin) in blocks.of(samples.dimensions()).into_iter().zip(0..) {
        let (mut coil, mut sample, each) = (0, 0, blocks.samples());
        samples.read(block, each * coils, |value| {
            values[[coil, begin * each + sample]] = widened(value);
            sample += 1;
            if sample == each {
                (coil, sample) = (coil + 1, 0);
            }
        })?;
    }
    let length = samples.dimensions()[layout::PHS1];
    let mut readouts: Vec<Readout> = (0..count / length)
        .map(|number| Readout {
            samples: number * length..(number + 1) * length,
            acquisition: number,
            interval: 0.0,
            discarded: 0,
        })
        .collect();
    let extent = Extent {
        matrix: matrix.shape,
        axes: matrix.axes,
        field_of_view: None,
    };
    excluded.clear(&mut values);
    notes.extend(faulty_readouts::silence_coils(
        &mut values,
        &readouts,
        &excluded,
    ));
    let removed = faulty_readouts::remove(&mut positions, &mut values, &mut readouts);
    left_out.extend(removed.left_out("readouts"));
    notes.extend(removed.notes());
    let all = layout::readouts(samples.dimensions());
    let used = count / length - removed.acquisitions.len();
    notes.extend(LeftOut::note(used, all, "readouts", &left_out));
    if files.k_unit.is_some() {
        notes.extend(unit_note(unit, &positions, matrix.axes));
    }
    let is_stated = files.k_unit.is_some();
    let kspace = KSpace::given_as(
        Given::new(unit, is_stated),
        extent,
        positions,
        values,
        readouts,
    );
    let kspace = kspace.map_err(|error| IoError::Invalid {
        file: samples.name().to_owned(),
        dataset: "the array".to_owned(),
        reason: error.to_string(),
    })?;
    let (kspace, note) = excluded.remove(kspace);
    notes.extend(note);
    Ok(KSpaceFile {
        kspace,
        placement: None,
        slice: blocks.slice(),
        trajectory: files.trajectory.display().to_string(),
        acquisitions: all,
        left_out,
        notes,
    })
}

/// Positions (sample, axis) of the blocks, cycles/pixel.
fn positions(
    trajectory: &mut CflFile,
    blocks: &Blocks,
    matrix: MatrixSize,
    unit: KUnit,
) -> Result<Array2<f64>, IoError> {
    let extent = Extent {
        matrix: matrix.shape,
        axes: matrix.axes,
        field_of_view: None,
    };
    let wrong = |trajectory: &CflFile, dataset: String, found: String, expected: String| {
        Err(IoError::Value {
            file: trajectory.name().to_owned(),
            dataset,
            found,
            expected,
        })
    };
    let Some(cycles) = unit.of_cycles(&extent) else {
        return wrong(
            trajectory,
            "the unit of the trajectory".to_owned(),
            format!("--k-unit {unit}"),
            "a unit per pixel or fov, as BART's arrays have no field of view in metres".to_owned(),
        );
    };
    // The positions as the file has them, and the first that is no real number.
    let mut raw = Array2::zeros((blocks.samples() * blocks.count(), 3));
    let mut complex: Option<(usize, usize, Complex<f32>)> = None;
    let mut sample = 0;
    for block in blocks.of(trajectory.dimensions()) {
        let mut axis = 0;
        trajectory.read(block, 3 * blocks.samples(), |value| {
            // A readout with NaN is left out.
            raw[[sample, axis]] = if value.is_finite() {
                f64::from(value.re)
            } else {
                f64::NAN
            };
            if value.is_finite() && value.im != 0.0 {
                complex.get_or_insert((sample, axis, value));
            }
            axis += 1;
            if axis == 3 {
                (sample, axis) = (sample + 1, 0);
            }
        })?;
    }
    let cycle = |axis: usize| cycles[axis.min(matrix.axes - 1)];
    let in_cycles = |((_, axis), k): ((usize, usize), &f64)| k / cycle(axis);
    let length = trajectory.dimensions()[layout::PHS1];
    let readouts = raw.axis_chunks_iter(Axis(0), length);
    let reaches: Vec<f64> = readouts
        .map(|readout| readout.indexed_iter().map(in_cycles).fold(0.0, farther))
        .collect();
    let limit = far(reaches.clone(), 0.5);
    let mut positions = Array2::zeros((raw.nrows(), matrix.axes));
    // The first value that is wrong in any case, and the first beyond the matrix.
    let mut invalid = complex;
    let mut beyond = None;
    let mut reach = vec![0.0_f64; matrix.axes];
    for ((sample, axis), k) in raw.indexed_iter() {
        let at = (sample, axis, Complex::new(*k as f32, 0.0));
        if k.is_nan() || reaches[sample / length] > limit {
            // The readout is left out, also for a kz that the image does not have.
            let value = if k.is_nan() { f64::NAN } else { f64::MAX };
            positions[[sample, axis.min(matrix.axes - 1)]] = value;
        } else if axis >= matrix.axes && *k != 0.0 {
            invalid.get_or_insert(at);
        } else if axis < matrix.axes {
            positions[[sample, axis]] = k / cycles[axis];
            reach[axis] = reach[axis].max(k.abs());
            let most = 0.5 * (1.0 + 2.0 * KSpace::ROUNDING);
            if positions[[sample, axis]].abs() > most {
                beyond.get_or_insert(at);
            }
        }
    }
    let Some((sample, axis, value)) = invalid.or(beyond) else {
        return Ok(positions);
    };
    let expected = if value.im != 0.0 {
        "a real number (the dimensions of a trajectory are 3, samples, readouts)".to_owned()
    } else if axis < matrix.axes {
        let others = k_unit_advice(&unit.others(&reach, &extent));
        format!(
            "−{most} to {most} {unit}, as the matrix has {} along it (--matrix{}{others})",
            count(matrix.along_k()[axis], ["voxel", "voxels"]),
            if others.is_empty() { "" } else { ", or: " },
            most = 0.5 * cycles[axis],
        )
    } else {
        "0, as the matrix has no slices (--matrix SLICESxROWSxCOLUMNS for a volume)".to_owned()
    };
    let found = match value.im {
        0.0 => value.re.to_string(),
        _ => value.to_string(),
    };
    wrong(
        trajectory,
        format!("{} of sample {sample}", AXES[axis]),
        found,
        expected,
    )
}

#[cfg(test)]
mod tests;
