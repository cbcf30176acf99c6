//! Phases in addition to those of the trajectory, from a file.

use crate::failure::Failure;
use ndarray::s;
use std::fmt;
use std::path::{Path, PathBuf};
use warpstride::mri::FieldBasis;
use warpstride::mri::data::KSpace;
use warpstride::mri::io::images;
use warpstride::system::Memory;
use warpstride::text::{shortest, significant};

/// Phases in addition to those of the trajectory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldSource {
    OffResonance(PathBuf),
    Basis(PathBuf),
}

/// As an option: `--off-resonance hertz.npy`
impl fmt::Display for FieldSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = match self {
            Self::OffResonance(_) => "--off-resonance",
            Self::Basis(_) => "--field",
        };
        write!(f, "{option} {}", self.file().display())
    }
}

impl FieldSource {
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::OffResonance(path) | Self::Basis(path) => path,
        }
    }
}

/// Phases from a file. Off-resonance f gives exp(−2πi f t), with t the time since the readout
/// began.
pub(super) fn phases(
    field: &FieldSource,
    kspace: &KSpace,
    memory: Memory,
) -> Result<FieldBasis, Failure> {
    let [slices, rows, columns] = kspace.extent().matrix;
    let voxels = slices * rows * columns;
    let name = field.file().display();
    let wrong = |found: &[usize], expected: &str| {
        Failure::failed(format!(
            "{name}: field: expected {expected}, found shape {found:?}"
        ))
    };
    let image = [slices, rows, columns];
    match field {
        FieldSource::OffResonance(path) => {
            let map = images::read_off_resonance(path, memory)?;
            if map.shape() != image {
                return Err(wrong(
                    map.shape(),
                    &format!("shape {image:?} (slice, row, column)"),
                ));
            }
            let times = kspace.times().ok_or_else(|| {
                Failure::failed(format!(
                    "{field}: expected samples with their times (sample_time_us), which give the phases, found none"
                ))
            })?;
            let count = times.len();
            plausible(
                field,
                FieldBasis {
                    coefficients: times.into_shape_with_order((count, 1))?,
                    maps: map.into_shape_with_order((1, voxels))?,
                },
            )
        }
        FieldSource::Basis(path) => {
            let read = images::read_field(path, memory)?;
            let maps = read.maps;
            if maps.shape()[1..] != image {
                let expected = format!("shape {image:?} (slice, row, column) for each function");
                return Err(wrong(&maps.shape()[1..], &expected));
            }
            if read.coefficients.nrows() != kspace.count() {
                return Err(wrong(
                    read.coefficients.shape(),
                    &format!("shape (sample, function) with {} samples", kspace.count()),
                ));
            }
            let functions = maps.dim().0;
            let maps = maps.slice(s![.., .., .., ..]).to_owned();
            plausible(
                field,
                FieldBasis {
                    coefficients: read.coefficients,
                    maps: maps.into_shape_with_order((functions, voxels))?,
                },
            )
        }
    }
}

/// `basis`, unless a product of a coefficient and a map is no plausible phase.
fn plausible(field: &FieldSource, basis: FieldBasis) -> Result<FieldBasis, Failure> {
    let cycles = basis.largest_phase();
    if cycles <= FieldBasis::MAX_CYCLES {
        return Ok(basis);
    }
    Err(Failure::failed(format!(
        "{}: field: expected phases of at most {} cycles, found {}",
        field.file().display(),
        shortest(FieldBasis::MAX_CYCLES),
        significant(cycles, 3)
    )))
}
