//! Attributes by which NeXus programs (silx, DAWN, …) know what the datasets of scans and results
//! are, and which of them to draw.
//!
//! NeXus: <https://manual.nexusformat.org/> (NX_class, default, signal, axes, units).

use crate::data::Reconstruction;
use hdf5_metno as hdf5;
use ndarray::Array1;
use warpstride_files::output;

const ENTRY: &str = "entry_1";
/// Group of the plot that programs show first.
const PLOT: &str = "entry_1/object_phase";

/// Classes of the groups that a file of a scan or a result has.
const CLASSES: [(&str, &str); 5] = [
    (ENTRY, "NXentry"),
    ("entry_1/instrument_1", "NXinstrument"),
    ("entry_1/instrument_1/source_1", "NXbeam"),
    ("entry_1/instrument_1/detector_1", "NXdetector"),
    ("entry_1/sample_1", "NXsample"),
];

/// Units of datasets, which a file need not all have.
const UNITS: [(&str, &str); 13] = [
    ("entry_1/instrument_1/source_1/wavelength", "m"),
    ("entry_1/instrument_1/source_1/energy", "J"),
    ("entry_1/instrument_1/source_1/voltage", "V"),
    ("entry_1/instrument_1/source_1/focus_to_sample", "m"),
    ("entry_1/instrument_1/detector_1/distance", "m"),
    ("entry_1/instrument_1/detector_1/y_pixel_size", "m"),
    ("entry_1/instrument_1/detector_1/x_pixel_size", "m"),
    ("entry_1/sample_1/geometry_1/translation", "m"),
    ("entry_1/sample_1/geometry_1/translation_recorded", "m"),
    ("entry_1/image_1/y_pixel_size", "m"),
    ("entry_1/image_1/x_pixel_size", "m"),
    ("entry_1/image_1/origin", "m"),
    ("entry_1/image_1/slice_distances", "m"),
];

/// What scans and results have in common.
fn common(file: &hdf5::File) -> hdf5::Result<()> {
    output::attribute(file, "default", ENTRY)?;
    output::attribute(file, "NX_class", "NXroot")?;
    for (path, class) in CLASSES {
        if file.group(path).is_ok() {
            output::class(file, path, class)?;
        }
    }
    for (path, unit) in UNITS {
        if file.dataset(path).is_ok() {
            output::unit(file, path, unit)?;
        }
    }
    Ok(())
}

/// Describes a scan: the plot is the frames.
pub(super) fn of_scan(file: &hdf5::File) -> hdf5::Result<()> {
    common(file)?;
    let entry = file.group(ENTRY)?;
    output::attribute(&entry, "default", "data_1")?;
    let data = file.group("entry_1/data_1")?;
    output::attribute(&data, "NX_class", "NXdata")?;
    output::attribute(&data, "signal", "data")
}

/// Describes a result, and adds a plot: the phase of the object over positions.
pub(super) fn of_result(file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    common(file)?;
    let entry = file.group(ENTRY)?;
    output::attribute(&entry, "default", "object_phase")?;
    let data = file.group("entry_1/data_1")?;
    output::attribute(&data, "NX_class", "NXdata")?;
    output::attribute(&data, "signal", "data")?;
    let plot = file.create_group(PLOT)?;
    output::attribute(&plot, "NX_class", "NXdata")?;
    output::attribute(&plot, "signal", "phase")?;
    output::attribute_list(&plot, "axes", &["y", "x"])?;
    output::array(&plot, "phase", &result.object.mapv(|v| v.arg() as f32))?;
    output::unit(&plot, "phase", "rad")?;
    for (axis, name) in ["y", "x"].into_iter().enumerate() {
        let (length, pixel) = (result.object.shape()[axis], result.pixel[axis]);
        // µm, which plots can label.
        let values: Array1<f64> = (0..length).map(|n| n as f64 * pixel * 1e6).collect();
        output::array(&plot, name, &values)?;
        output::unit(&plot, name, "um")?;
    }
    Ok(())
}
