//! The coil maps of a reconstruction: estimated, or read from a file.

use crate::failure::Failure;
use ndarray::Array5;
use num_complex::Complex;
use std::path::{Path, PathBuf};
use warpstride::mri::coil_maps::CalibrationRegion;
use warpstride::mri::data::KSpace;
use warpstride::mri::io::images;
use warpstride::mri::{EstimatedMaps, MapDoubt, MapEstimation, Plans, grid_of};
use warpstride::system::Memory;
use warpstride::text::{shortest, significant};

/// Largest modulus of coil maps, at least: squares of smaller ones are 0 in single precision.
const MIN_MAP: f64 = 1e-15;

/// Source of the coil maps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CoilMapSource {
    Espirit,
    LowPass,
    Walsh,
    None,
    File(PathBuf),
}

/// The maps of a reconstruction.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CoilMaps {
    /// (set, coil, slice, row, column); `None`: every coil has its own image.
    pub(super) maps: Option<Array5<Complex<f64>>>,
    /// What the user should know of them.
    pub(super) notes: Vec<String>,
}

impl CoilMapSource {
    /// Parses `--coil-maps`.
    pub(super) fn from_arg(text: &str) -> Result<Self, Failure> {
        const NAMES: [&str; 4] = ["espirit", "low-pass", "walsh", "none"];
        let misspelt = NAMES
            .iter()
            .any(|name| *name != text && name.eq_ignore_ascii_case(text));
        if text.is_empty() || (misspelt && !Path::new(text).exists()) {
            return Err(Failure::usage(format!(
                "--coil-maps '{text}': expected espirit, low-pass, walsh, none or a file"
            )));
        }
        Ok(match text {
            "espirit" | "auto" => Self::Espirit,
            "low-pass" => Self::LowPass,
            "walsh" => Self::Walsh,
            "none" => Self::None,
            file => Self::File(PathBuf::from(file)),
        })
    }

    /// The name for summaries.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Espirit => "espirit".to_owned(),
            Self::LowPass => "low-pass".to_owned(),
            Self::Walsh => "walsh".to_owned(),
            Self::None => "none".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Whether the maps are computed from samples.
    pub(super) fn is_estimated(&self) -> bool {
        !matches!(self, Self::None | Self::File(_))
    }

    /// The file, if the maps come from one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    /// Estimates or reads the maps of an image, whose slice has the number `slice`, with the
    /// `plans` of earlier images. `file` is the name of the samples in messages; arrays from files
    /// must fit into `memory`.
    pub(super) fn find(
        &self,
        kspace: &KSpace,
        file: &str,
        slice: u16,
        memory: Memory,
        plans: &mut Plans,
    ) -> Result<CoilMaps, Failure> {
        let mut notes = Vec::new();
        let estimation = match self {
            Self::None => return Ok(CoilMaps::default()),
            Self::File(path) => {
                let maps = read_maps(path, kspace, slice, memory)?;
                return Ok(CoilMaps {
                    notes: several_sets(maps.dim().0).into_iter().collect(),
                    maps: Some(maps),
                });
            }
            Self::Espirit => MapEstimation::Espirit,
            Self::LowPass => MapEstimation::LowPass,
            Self::Walsh => MapEstimation::Walsh,
        };
        let EstimatedMaps { maps, doubts } = estimation.maps(kspace, plans)?;
        notes.extend(doubts.iter().map(|doubt| match doubt {
            MapDoubt::TooFewSamples(region) => too_few_samples(region),
            MapDoubt::TooFewCoils(coils) => too_few_coils(*coils),
        }));
        if maps.iter().all(|s| s.norm_sqr() == 0.0) {
            return Err(Failure::failed(format!(
                "{file}: coil maps ({}): expected signal in the centre of k-space, found none; use --coil-maps FILE or --coil-maps none",
                self.name()
            )));
        }
        let [slices, rows, columns] = grid_of(kspace).shape;
        let sets = maps.dim().0;
        let shaped = maps.into_shape_with_order((sets, kspace.coils(), slices, rows, columns))?;
        notes.extend(several_sets(sets));
        Ok(CoilMaps {
            maps: Some(shaped),
            notes,
        })
    }
}

/// A note on too few coils for ESPIRiT.
fn too_few_coils(coils: usize) -> String {
    format!(
        "the coil maps are those of --coil-maps walsh: {coils} coils are too few for espirit with a calibration region of this size"
    )
}

/// A note on maps whose calibration region is undersampled.
fn too_few_samples(region: &CalibrationRegion) -> String {
    let [slices, rows, columns] = region.shape;
    let cells = if slices == 1 {
        format!("{rows} x {columns}")
    } else {
        format!("{slices} x {rows} x {columns}")
    };
    format!(
        "the coil maps are inaccurate: {} % of the central {cells} cells of k-space hold a sample, and the calibration needs 90 % (maps from a better sampled scan: --coil-maps FILE)",
        significant(100.0 * region.coverage, 2)
    )
}

/// A note on several sets of maps.
fn several_sets(sets: usize) -> Option<String> {
    (sets > 1).then(|| {
        format!(
            "{sets} sets of coil maps, perhaps for an object larger than the field of view, parts of which fall on others, or for coils whose gain, sign or order changed during the scan: the image is the root sum of squares of the sets' images"
        )
    })
}

fn read_maps(
    path: &Path,
    kspace: &KSpace,
    slice: u16,
    memory: Memory,
) -> Result<Array5<Complex<f64>>, Failure> {
    let maps = kspace.maps_of_coils(images::read_coil_maps_of_slice(path, slice, memory)?);
    let [slices, rows, columns] = kspace.extent().matrix;
    let expected = [kspace.coils(), slices, rows, columns];
    if maps.shape()[1..] != expected || maps.dim().0 == 0 {
        return Err(Failure::failed(format!(
            "{}: coil maps: expected shape {expected:?} (coil, slice, row, column), or several sets of them, found {:?}",
            path.display(),
            &maps.shape()[usize::from(maps.dim().0 == 1)..]
        )));
    }
    let largest = maps.iter().map(|s| s.norm()).fold(0.0, f64::max);
    if largest < MIN_MAP {
        return Err(Failure::failed(format!(
            "{}: coil maps: expected a largest modulus of at least {}, found {}",
            path.display(),
            shortest(MIN_MAP),
            shortest(largest)
        )));
    }
    Ok(maps)
}
