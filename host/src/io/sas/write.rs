//! Computed or measured scattering as CSV and as NXcanSAS HDF5; a file is absent or whole.

use super::{IoError, shorten};
use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use crate::io::{atomic, output};
use hdf5_metno as hdf5;
use ndarray::Array1;
use std::fmt::Write as _;
use std::path::Path;

/// What is written, and how it came about.
#[derive(Debug, Clone, Copy)]
pub struct Computed<'a> {
    /// Curve or image.
    pub scattering: &'a Scattering,
    /// Names and values of what made it: model, parameters, program's version; a line each.
    pub process: &'a [(String, String)],
}

/// Writes columns with commas: `q,intensity` or `qx,qy,intensity`, then `sigma` and `dq` where there are any (an image
/// has `qz` = 0, `dq_along`, `dq_across` and `shadow` = 1 there, as at NIST). Every number reads back to the same bits.
/// A slit has no column and is left to HDF5.
///
/// # Errors
/// [`IoError::Write`].
pub fn write_csv(path: &Path, computed: &Computed<'_>) -> Result<(), IoError> {
    let mut text = String::new();
    for (name, value) in computed.process {
        let _ = writeln!(text, "# {}: {}", one_line(name), one_line(value));
    }
    match computed.scattering {
        Scattering::Curve(curve) => curve_columns(&mut text, curve),
        Scattering::Image(image) => image_columns(&mut text, image),
    }
    atomic::write(path, |temporary| {
        std::fs::write(temporary, &text).map_err(|e| atomic::refusal(path, &e))
    })
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A head and rows; a column is a name and its values.
fn columns(text: &mut String, columns: &[(&str, &[f64])]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(text, "{}", names.join(","));
    let rows = columns.iter().map(|(_, c)| c.len()).min().unwrap_or(0);
    for row in 0..rows {
        for (i, (_, column)) in columns.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{:e}", column[row]);
        }
        text.push('\n');
    }
}

fn curve_columns(text: &mut String, curve: &Curve) {
    let mut all: Vec<(&str, &[f64])> = vec![("q", &curve.q), ("intensity", &curve.intensity)];
    // Zeros say that there are none, so that dq stays the fourth column.
    let zeros = vec![0.0; curve.q.len()];
    let width = match &curve.smearing {
        Some(Smearing::Pinhole(width)) => Some(width),
        _ => None,
    };
    match (&curve.sigma, width) {
        (Some(sigma), _) => all.push(("sigma", sigma)),
        (None, Some(_)) => all.push(("sigma", &zeros)),
        (None, None) => {}
    }
    if let Some(width) = width {
        all.push(("dq", width));
    }
    columns(text, &all);
}

fn image_columns(text: &mut String, image: &ScatteringImage) {
    let zeros = vec![0.0; image.qx.len()];
    let ones = vec![1.0; image.qx.len()];
    let mut all: Vec<(&str, &[f64])> = vec![
        ("qx", &image.qx),
        ("qy", &image.qy),
        ("intensity", &image.intensity),
    ];
    match (&image.sigma, &image.resolution) {
        (Some(sigma), _) => all.push(("sigma", sigma)),
        (None, Some(_)) => all.push(("sigma", &zeros)),
        (None, None) => {}
    }
    if let Some((along, across)) = &image.resolution {
        all.push(("qz", &zeros));
        all.push(("dq_along", along));
        all.push(("dq_across", across));
        all.push(("shadow", &ones));
    }
    columns(text, &all);
}

/// Writes NXcanSAS: `/sasentry01/sasdata01` with Q (or Qx, Qy), I and what is known besides.
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
        // HDF5's texts end at a zero byte.
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
