//! Writing one image, or several of one size with a further axis.

use super::Written;
use super::nifti::{self, NiftiValues, is_nifti};
use crate::data::{ImageIndex, MriImage};
use crate::io::bart::COUNTERS;
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, ArrayD, ArrayViewD, Axis, IxDyn, arr1, arr2};
use num_complex::Complex;
use std::path::Path;
use warpstride_core::system::atomic_file;
use warpstride_files::cfl::{self, is_cfl};
use warpstride_files::{IoError, npy, output};

const IMAGE: &str = "/image";

/// Writes `result` to `path` atomically: as HDF5, or the image alone if the name ends in `.npy` or
/// `.cfl`, which has a `.hdr` beside it, or as NIfTI if it ends in `.nii` or `.nii.gz`.
///
/// # Errors
/// [`IoError::Write`].
pub fn write(path: &Path, result: &MriImage) -> Result<(), IoError> {
    let images = std::slice::from_ref(result);
    write_images(path, images, &[], NiftiValues::default()).map(drop)
}

/// Like [`write()`], for images of one size, sorted by their index, of the images `planned`: those
/// that are not there have not been computed, and are 0 in `.cfl`, whose dimensions are those of
/// `planned`. NIfTI files have these values of voxels, and one position each: images of several
/// positions are in several files, `OUT-slice3.nii` for `OUT.nii`.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_images(
    path: &Path,
    images: &[MriImage],
    planned: &[ImageIndex],
    values: NiftiValues,
) -> Result<Written, IoError> {
    let Some(first) = images.first() else {
        return Err(atomic_file::refusal(path, &"expected at least one image"));
    };
    if images
        .iter()
        .any(|image| image.image.dim() != first.image.dim())
    {
        return Err(atomic_file::refusal(path, &"expected images of one size"));
    }
    if let Some(gzip) = is_nifti(path) {
        return nifti::write(path, images, values, gzip);
    }
    let double = first.precision == "f64";
    if is_cfl(path) {
        write_cfl(path, images, planned)?;
    } else if super::is_npy(path) {
        npy::complex::write(path, voxels(images).view(), double)?;
    } else {
        write_hdf5(path, images, double)?;
    }
    Ok(Written {
        files: vec![path.to_owned()],
        notes: Vec::new(),
    })
}

/// Checks that the images `planned`, each of `matrix` (slices, rows, columns), can be written to
/// `path`.
///
/// # Errors
/// [`IoError::Write`]: a NIfTI file has at most 32 767 voxels or images along an axis, and `.cfl`
/// has an image for every combination of the counters.
pub fn check_images(
    path: &Path,
    planned: &[ImageIndex],
    matrix: [usize; 3],
) -> Result<(), IoError> {
    if is_nifti(path).is_some() {
        let sides = matrix.into_iter().chain([planned.len()]);
        return nifti::check(path, sides);
    }
    if is_cfl(path) && !planned.is_empty() {
        dimensions(path, planned)?;
    }
    Ok(())
}

/// The values of each counter of BART's dimensions.
type Values = [Vec<u16>; COUNTERS.len()];

/// The values of each counter, in the order of BART's dimensions, if all combinations are there.
fn dimensions(path: &Path, planned: &[ImageIndex]) -> Result<Values, IoError> {
    let values = COUNTERS.map(|(_, counter)| {
        let mut values: Vec<u16> = planned
            .iter()
            .map(|index| counter.of_index(index))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    });
    let combinations = values
        .iter()
        .fold(1, |n: usize, of| n.saturating_mul(of.len()));
    if combinations == planned.len() {
        return Ok(values);
    }
    Err(atomic_file::refusal(
        path,
        &format!(
            "expected an image for each of the {combinations} combinations of slice, contrast, phase, repetition and set, found {}; write .h5",
            planned.len()
        ),
    ))
}

fn write_cfl(path: &Path, images: &[MriImage], planned: &[ImageIndex]) -> Result<(), IoError> {
    let mut sides = [1; cfl::DIMENSIONS];
    let Some(first) = images.first() else {
        return Ok(());
    };
    let (slices, rows, columns) = first.image.dim();
    sides[..3].copy_from_slice(&[columns, rows, slices]);
    if first.index.is_none() {
        return cfl::write(path, &sides, first.image.iter().copied());
    }
    let values = dimensions(path, planned)?;
    for ((dimension, _), values) in COUNTERS.iter().zip(&values) {
        sides[*dimension] = values.len();
    }
    // The first dimension runs fastest.
    let image = |mut number: usize| {
        let mut index = ImageIndex::default();
        for ((_, counter), values) in COUNTERS.iter().zip(&values) {
            counter.set(&mut index, values[number % values.len()]);
            number /= values.len();
        }
        images.iter().find(|image| image.index == Some(index))
    };
    let voxels = first.image.len();
    let all = (0..planned.len()).flat_map(|number| {
        let found = image(number).map(|image| image.image.iter().copied());
        let absent = if found.is_some() { 0 } else { voxels };
        let zeros = std::iter::repeat_n(Complex::from(0.0), absent);
        found.into_iter().flatten().chain(zeros)
    });
    cfl::write(path, &sides, all)
}

/// The voxels of all images, with an axis of images if they have indices, and one of slices if they
/// are volumes.
fn voxels(images: &[MriImage]) -> ArrayD<Complex<f64>> {
    let plain = |image: &MriImage| {
        let view: ArrayD<Complex<f64>> = image.image.clone().into_dyn();
        if image.volume {
            view
        } else {
            view.index_axis_move(Axis(0), 0)
        }
    };
    match images {
        [single] if single.index.is_none() => plain(single),
        _ => {
            let shape = images
                .first()
                .map_or_else(Vec::new, |image| plain(image).shape().to_vec());
            let mut all = ArrayD::zeros(IxDyn(&[&[images.len()][..], &shape].concat()));
            for (mut to, image) in all.outer_iter_mut().zip(images) {
                to.assign(&plain(image));
            }
            all
        }
    }
}

fn write_hdf5(path: &Path, images: &[MriImage], double: bool) -> Result<(), IoError> {
    let Some(result) = images.first() else {
        return Ok(());
    };
    output::write(path, |file| {
        let group = file.create_group(IMAGE)?;
        complex(&group, "data", voxels(images).view(), double)?;
        let data = group.dataset("data")?;
        let axes = if result.volume {
            "slice, row, column"
        } else {
            "row, column"
        };
        let axes = match result.index {
            None => axes.to_owned(),
            Some(_) => format!("image, {axes}"),
        };
        attribute(&data, "axes", &axes)?;
        attribute(&data, "long_name", "image")?;
        if let Some(view) = result.field_of_view {
            output::array(&group, "field_of_view", &arr1(&view))?;
        }
        write_places(&group, images)?;
        let process = group.create_group("process_1")?;
        for (name, value) in [
            ("program", "warpstride"),
            ("version", &result.version),
            ("backend", &result.backend),
            ("device", &result.device),
            ("precision", &result.precision),
            ("operator", &result.operator),
            ("method", &result.method),
            ("source_file", &result.source),
            ("recipe", &result.recipe),
        ] {
            output::text(&process, name, value)?;
        }
        write_history(&group, images)?;
        match &result.coil_maps {
            None => Ok(()),
            Some(maps) => {
                let group = file.create_group("coil_maps")?;
                let mut maps = maps.view().into_dyn();
                if maps.shape()[0] == 1 {
                    maps = maps.index_axis_move(Axis(0), 0);
                }
                complex(&group, "data", maps, double)
            }
        }
    })
}

/// The index and the position of each image.
fn write_places(group: &hdf5::Group, images: &[MriImage]) -> hdf5::Result<()> {
    let Some(first) = images.first() else {
        return Ok(());
    };
    let placed: Option<Vec<_>> = images.iter().map(|image| image.placement).collect();
    if first.index.is_none() {
        if let Some(placement) = &first.placement {
            output::array(group, "position", &arr1(&placement.centre()))?;
            output::array(group, "directions", &arr2(&placement.directions()))?;
        }
        return Ok(());
    }
    let indices = group.create_group("index")?;
    let all: Vec<ImageIndex> = images.iter().filter_map(|image| image.index).collect();
    for (at, (name, _)) in ImageIndex::default().counters().into_iter().enumerate() {
        let values = all.iter().map(|index| u64::from(index.counters()[at].1));
        output::array(&indices, name, &values.collect::<Array1<u64>>())?;
    }
    if let Some(placed) = placed {
        let centres =
            Array2::from_shape_fn((placed.len(), 3), |(at, axis)| placed[at].centre()[axis]);
        output::array(group, "position", &centres)?;
        let directions = ndarray::Array3::from_shape_fn((placed.len(), 3, 3), |(at, of, axis)| {
            placed[at].directions()[of][axis]
        });
        output::array(group, "directions", &directions)?;
    }
    Ok(())
}

/// The residuals: of several images, NaN after the iterations of each.
fn write_history(group: &hdf5::Group, images: &[MriImage]) -> hdf5::Result<()> {
    let history = group.create_group("history")?;
    let lengths = images.iter().map(|image| image.residuals.len());
    let longest = lengths.clone().max().unwrap_or(0);
    let iterations: Array1<u64> = (1..=longest as u64).collect();
    output::array(&history, "iteration", &iterations)?;
    if let [single] = images
        && single.index.is_none()
    {
        let residuals = Array1::from_vec(single.residuals.clone());
        return output::array(&history, "residual", &residuals);
    }
    let done: Array1<u64> = lengths.map(|length| length as u64).collect();
    output::array(&history, "iterations", &done)?;
    let residuals = Array2::from_shape_fn((images.len(), longest), |(image, at)| {
        images[image].residuals.get(at).copied().unwrap_or(f64::NAN)
    });
    output::array(&history, "residual", &residuals)
}

/// (r, i) pairs of f64 or f32.
fn complex(
    group: &hdf5::Group,
    name: &str,
    values: ArrayViewD<'_, Complex<f64>>,
    double: bool,
) -> hdf5::Result<()> {
    if double {
        return output::array(group, name, &values);
    }
    let single = values.mapv(|v| Complex::new(v.re as f32, v.im as f32));
    output::array(group, name, &single)
}

fn attribute(data: &hdf5::Dataset, name: &str, value: &str) -> hdf5::Result<()> {
    use std::str::FromStr;
    let text = hdf5::types::VarLenUnicode::from_str(value)
        .map_err(|e| hdf5::Error::from(format!("{name} cannot be stored as text: {e:?}")))?;
    data.new_attr::<hdf5::types::VarLenUnicode>()
        .create(name)?
        .write_scalar(&text)
}
