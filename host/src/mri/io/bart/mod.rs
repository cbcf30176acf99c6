//! Samples of k-space in BART's arrays: one pair of files with the samples, one with the trajectory.
//!
//! The samples have the dimensions (1, sample, readout, coil), the trajectory (3, sample, readout), both with further
//! dimensions for several images. Positions are in cycles per field of view. `docs/formats.md` has the rules.

mod layout;
mod matrix_size;

pub(super) use layout::{COUNTERS, SLICE};
pub use matrix_size::MatrixSize;

use super::ismrmrd::{KSpaceFile, LeftOut, Selection};
use crate::data::{Extent, ImageIndex, KSpace, Readout};
use crate::io::IoError;
use crate::io::cfl::{CflFile, widened};
use crate::system::Memory;
use crate::text::count;
use layout::Blocks;
use ndarray::Array2;
use num_complex::Complex;
use std::path::PathBuf;

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

/// Reads the samples of the image that `files` select, or of one of several, which must fit into `memory`.
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
    let (blocks, left_out) = Blocks::choose(&samples, &files.select, image, memory, &mut notes)?;
    let matrix = match files.matrix {
        Some(matrix) => matrix,
        None => matrix_size::resolved(&mut trajectory, &mut notes)?,
    };
    let coils = samples.dimensions()[layout::COIL];
    let count = blocks.samples().saturating_mul(blocks.count());
    let positions = positions(&mut trajectory, &blocks, matrix)?;
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
    let readouts: Vec<Readout> = (0..count / length)
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
    let all = layout::readouts(samples.dimensions());
    if !left_out.is_empty() {
        notes.push(left_out_note(readouts.len(), all, &left_out));
    }
    let kspace = KSpace::new(extent, positions, values, readouts);
    let kspace = kspace.map_err(|error| IoError::KSpace {
        file: samples.name().to_owned(),
        dataset: "the array".to_owned(),
        source: Box::new(error),
    })?;
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

fn left_out_note(used: usize, all: usize, left_out: &[LeftOut]) -> String {
    let list: Vec<String> = left_out
        .iter()
        .map(|left| format!("{} {}", left.acquisitions, left.what))
        .collect();
    format!(
        "{used} of {all} readouts are used; left out: {}",
        list.join(", ")
    )
}

/// Positions (sample, axis) of the blocks, cycles/pixel.
fn positions(
    trajectory: &mut CflFile,
    blocks: &Blocks,
    matrix: MatrixSize,
) -> Result<Array2<f64>, IoError> {
    let sides = matrix.along_k();
    let mut positions = Array2::zeros((blocks.samples() * blocks.count(), matrix.axes));
    let mut wrong: Option<(usize, usize, Complex<f32>)> = None;
    let mut sample = 0;
    for block in blocks.of(trajectory.dimensions()) {
        let mut axis = 0;
        trajectory.read(block, 3 * blocks.samples(), |value| {
            let k = f64::from(value.re);
            let fits = if axis < matrix.axes {
                let side = sides[axis] as f64;
                positions[[sample, axis]] = k / side;
                k.abs() <= side / 2.0 * (1.0 + 2.0 * KSpace::ROUNDING)
            } else {
                k == 0.0
            };
            if !(fits && value.im == 0.0) && wrong.is_none() {
                wrong = Some((sample, axis, value));
            }
            axis += 1;
            if axis == 3 {
                (sample, axis) = (sample + 1, 0);
            }
        })?;
    }
    let Some((sample, axis, value)) = wrong else {
        return Ok(positions);
    };
    let expected = if value.im != 0.0 {
        "a real number (the dimensions of a trajectory are 3, samples, readouts)".to_owned()
    } else if axis < matrix.axes {
        let most = sides[axis] as f64 / 2.0;
        format!(
            "−{most} to {most} cycles per field of view, as the matrix has {} along it (--matrix)",
            count(sides[axis], ["voxel", "voxels"])
        )
    } else {
        "0, as the matrix has no slices (--matrix SLICESxROWSxCOLUMNS for a volume)".to_owned()
    };
    Err(IoError::Value {
        file: trajectory.name().to_owned(),
        dataset: format!("{} of sample {sample}", AXES[axis]),
        found: if value.im == 0.0 {
            value.re.to_string()
        } else {
            value.to_string()
        },
        expected,
    })
}

#[cfg(test)]
mod tests;
