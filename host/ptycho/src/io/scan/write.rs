//! Writer of scans as CXI 1.60.

use super::truth;
use crate::data::{Mask, Scan};
use crate::io::nexus_attributes;
use crate::io::provenance::{self, Process};
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, CowArray, Ix3, arr1, arr2};
use std::path::Path;
use warpstride_files::{IoError, output};

/// Bit of an invalid pixel in CXI: `CXI_PIXEL_IS_INVALID`.
const INVALID: u32 = 1;

/// Writes `scan` to `path` atomically. Counts are stored as u16 or u32 if all are integers,
/// otherwise as f32; the truth of a simulation is stored under `/simulation`.
///
/// # Errors
/// Returns [`IoError::Write`] if the file cannot be written.
pub fn write(path: &Path, scan: &Scan) -> Result<(), IoError> {
    write_with(path, scan, &[])
}

/// Like [`write()`], with the runs that have made the scan, the first one first, in groups of the
/// class NXprocess.
///
/// # Errors
/// As [`write()`].
pub fn write_with(path: &Path, scan: &Scan, processes: &[Process]) -> Result<(), IoError> {
    let frames = scan.frames()?;
    output::write(path, |file| {
        output::number(file, "cxi_version", 160_i64)?;
        output::number(file, "number_of_entries", 1_i64)?;
        let entry = file.create_group("entry_1")?;
        detector(&entry, scan, &frames)?;
        source(&entry, scan)?;
        let positions = scan.positions();
        let mut translation = Array2::zeros((positions.nrows(), 3));
        translation.column_mut(0).assign(&positions.column(1));
        translation.column_mut(1).assign(&positions.column(0));
        output::array(&entry, "sample_1/geometry_1/translation", &translation)?;
        let data = entry.create_group("data_1")?;
        let detector = "/entry_1/instrument_1/detector_1";
        data.link_soft(&format!("{detector}/data"), "data")?;
        data.link_soft("/entry_1/sample_1/geometry_1/translation", "translation")?;
        file.group(detector)?
            .link_soft("/entry_1/sample_1/geometry_1/translation", "translation")?;
        nexus_attributes::of_scan(file)?;
        provenance::write(file, processes)?;
        match scan.simulation() {
            None => Ok(()),
            Some(simulation) => {
                let group = file.create_group(truth::GROUP)?;
                output::array(&group, "object", &simulation.object)?;
                output::array(&group, "probe", &simulation.probe)?;
                output::array(&group, "positions", &simulation.positions)?;
                output::array(&group, "origin", &arr1(&simulation.origin))?;
                if let Some(stack) = &simulation.slices {
                    output::array(&group, "slices", &stack.slices)?;
                    let distances = Array1::from(stack.distances.clone());
                    output::array(&group, "slice_distances", &distances)?;
                }
                output::number(&group, "seed", simulation.seed)
            }
        }
    })
}

fn detector(entry: &hdf5::Group, scan: &Scan, frames: &CowArray<'_, f32, Ix3>) -> hdf5::Result<()> {
    let group = entry.create_group("instrument_1/detector_1")?;
    let whole = frames.iter().all(|v| v.fract() == 0.0);
    let largest = frames.iter().copied().fold(0.0, f32::max);
    // 2³² is the smallest f32 value that does not fit into u32.
    if whole && largest <= f32::from(u16::MAX) {
        output::array(&group, "data", &frames.mapv(|v| v as u16))?;
    } else if whole && largest < 4_294_967_296.0 {
        output::array(&group, "data", &frames.mapv(|v| v as u32))?;
    } else {
        output::array(&group, "data", frames)?;
    }
    let bits = |valid: bool| if valid { 0 } else { INVALID };
    match scan.mask() {
        Mask::Shared(m) => output::array(&group, "mask", &m.mapv(bits))?,
        Mask::PerFrame(m) => output::array(&group, "mask", &m.mapv(bits))?,
    }
    let geometry = scan.geometry();
    let [rows, columns] = geometry.pixel_size;
    output::number(&group, "distance", geometry.distance)?;
    if geometry.is_near_field() {
        output::number(&group, "near_field", 1_u8)?;
    }
    output::number(&group, "y_pixel_size", rows)?;
    output::number(&group, "x_pixel_size", columns)?;
    // Rows run along −y and columns along −x, as in files from beamlines.
    let basis = arr2(&[[0.0, -columns], [-rows, 0.0], [0.0, 0.0]]);
    output::array(&group, "basis_vectors", &basis)
}

fn source(entry: &hdf5::Group, scan: &Scan) -> hdf5::Result<()> {
    let group = entry.create_group("instrument_1/source_1")?;
    let geometry = scan.geometry();
    output::number(&group, "wavelength", geometry.wavelength)?;
    match scan.voltage() {
        Some(volts) => output::number(&group, "voltage", volts)?,
        None => output::number(&group, "energy", geometry.energy())?,
    }
    if let Some(z1) = geometry.focus_to_sample() {
        output::number(&group, "focus_to_sample", z1)?;
    }
    match scan.probe() {
        None => Ok(()),
        Some(probe) => output::array(&group, "illumination", probe),
    }
}
