//! Computed or measured scattering as NXcanSAS HDF5; a file is absent or complete.

use super::shorten;
use super::write::{Computed, one_line};
use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use crate::io::{IoError, output};
use hdf5_metno as hdf5;
use ndarray::Array1;
use std::path::Path;

/// Writes NXcanSAS: `/sasentry01/sasdata01` with Q (or Qx, Qy), I, and uncertainties and resolution
/// if available.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_hdf5(path: &Path, computed: &Computed<'_>) -> Result<(), IoError> {
    output::write(path, |file| {
        attribute(file, "default", "sasentry01")?;
        let entry = file.create_group("sasentry01")?;
        for (name, value) in [
            ("NX_class", "NXentry"),
            ("canSAS_class", "SASentry"),
            ("version", "1.1"),
            ("default", "sasdata01"),
        ] {
            attribute(&entry, name, value)?;
        }
        output::text(&entry, "definition", "NXcanSAS")?;
        let title = match computed.scattering {
            Scattering::Curve(curve) => &curve.title,
            Scattering::Image(image) => &image.title,
        };
        // Texts in HDF5 end at a zero byte.
        output::text(&entry, "title", &shorten(title))?;
        output::text(&entry, "run", "")?;
        let data = entry.create_group("sasdata01")?;
        attribute(&data, "NX_class", "NXdata")?;
        attribute(&data, "canSAS_class", "SASdata")?;
        attribute(&data, "signal", "I")?;
        match computed.scattering {
            Scattering::Curve(curve) => write_curve(&data, curve)?,
            Scattering::Image(image) => write_image(&data, image)?,
        }
        let process = entry.create_group("sasprocess01")?;
        attribute(&process, "NX_class", "NXprocess")?;
        attribute(&process, "canSAS_class", "SASprocess")?;
        output::text(&process, "name", "warpstride")?;
        let terms: Vec<String> = computed
            .process
            .iter()
            .map(|(name, value)| format!("{}: {}", one_line(name), one_line(value)))
            .collect();
        output::text(&process, "description", &terms.join("\n"))
    })
}

fn attribute(on: &hdf5::Location, name: &str, value: &str) -> hdf5::Result<()> {
    use std::str::FromStr;
    let text = hdf5::types::VarLenUnicode::from_str(value)
        .map_err(|e| hdf5::Error::from(format!("{name} cannot be stored as text: {e:?}")))?;
    on.new_attr::<hdf5::types::VarLenUnicode>()
        .create(name)?
        .write_scalar(&text)
}

/// A column with its unit.
fn column(
    group: &hdf5::Group,
    name: &str,
    unit: &str,
    values: &[f64],
) -> hdf5::Result<hdf5::Dataset> {
    output::array(group, name, &Array1::from(values.to_vec()))?;
    let dataset = group.dataset(name)?;
    attribute(&dataset, "units", unit)?;
    Ok(dataset)
}

fn write_intensity(group: &hdf5::Group, i: &[f64], sigma: Option<&[f64]>) -> hdf5::Result<()> {
    let dataset = column(group, "I", "1/cm", i)?;
    let Some(sigma) = sigma else {
        return Ok(());
    };
    attribute(&dataset, "uncertainties", "Idev")?;
    column(group, "Idev", "1/cm", sigma).map(drop)
}

fn write_curve(group: &hdf5::Group, curve: &Curve) -> hdf5::Result<()> {
    attribute(group, "I_axes", "Q")?;
    group
        .new_attr::<i64>()
        .create("Q_indices")?
        .write_scalar(&0_i64)?;
    let q = column(group, "Q", "1/angstrom", &curve.q)?;
    write_intensity(group, &curve.intensity, curve.sigma.as_deref())?;
    match &curve.smearing {
        None => Ok(()),
        Some(Smearing::Pinhole(width)) => {
            attribute(&q, "resolutions", "Qdev")?;
            column(group, "Qdev", "1/angstrom", width).map(drop)
        }
        Some(Smearing::Slit { length, width }) => {
            attribute(&q, "resolutions", "dQw,dQl")?;
            column(group, "dQw", "1/angstrom", width)?;
            column(group, "dQl", "1/angstrom", length).map(drop)
        }
    }
}

fn write_image(group: &hdf5::Group, image: &ScatteringImage) -> hdf5::Result<()> {
    attribute(group, "I_axes", "Qx,Qy")?;
    column(group, "Qx", "1/angstrom", &image.qx)?;
    column(group, "Qy", "1/angstrom", &image.qy)?;
    write_intensity(group, &image.intensity, image.sigma.as_deref())?;
    if let Some((along, across)) = &image.resolution {
        column(group, "dQx", "1/angstrom", along)?;
        column(group, "dQy", "1/angstrom", across)?;
    }
    Ok(())
}
