//! Computed or measured scattering as NXcanSAS HDF5; a file is absent or complete.

use super::shorten;
use super::write::{Computed, one_line};
use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use crate::points::grid;
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2};
use std::path::Path;
use warpstride_files::{IoError, output};

/// Writes NXcanSAS: `/sasentry01/sasdata01` with Q (or Qx, Qy), I, and uncertainties and resolution
/// if available. The datasets of an image have rows and columns: those of its grid, with a mask if
/// pixels are missing, or of its runs of ascending qx or qy, otherwise one row.
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
    group
        .new_attr_builder()
        .with_data(&[0_i64, 1])
        .create("Q_indices")?;
    let layout = Layout::of(image);
    let unit = "1/angstrom";
    for (name, values, missing) in [
        ("Qx", &image.qx, layout.qx.as_slice()),
        ("Qy", &image.qy, &layout.qy),
    ] {
        let dataset = layout.write(group, name, unit, values, missing)?;
        if image.resolution.is_some() {
            attribute(&dataset, "resolutions", "dQx,dQy")?;
        }
    }
    let nothing = vec![f64::NAN; layout.pixels()];
    let intensity = layout.write(group, "I", "1/cm", &image.intensity, &nothing)?;
    if let Some(sigma) = &image.sigma {
        attribute(&intensity, "uncertainties", "Idev")?;
        layout.write(group, "Idev", "1/cm", sigma, &nothing)?;
    }
    if let Some((along, across)) = &image.resolution {
        let zeros = vec![0.0; layout.pixels()];
        layout.write(group, "dQx", unit, along, &zeros)?;
        layout.write(group, "dQy", unit, across, &zeros)?;
    }
    let mut mask = vec![1_u8; layout.pixels()];
    for cell in &layout.cells {
        mask[*cell] = 0;
    }
    if mask.contains(&1) {
        attribute(group, "mask", "mask")?;
        output::array(group, "mask", &layout.table(mask))?;
    }
    Ok(())
}

/// The places of an image's pixels in arrays of rows and columns.
struct Layout {
    rows: usize,
    columns: usize,
    /// The cell of each pixel.
    cells: Vec<usize>,
    /// qx and qy of every cell, 1/Å.
    qx: Vec<f64>,
    qy: Vec<f64>,
}

/// The length of the ascending runs of which the values consist, if all have one length.
fn run(values: &[f64]) -> Option<usize> {
    let falls = |at: usize| values[at] < values[at - 1];
    let length = (1..values.len()).find(|at| falls(*at))?;
    let even = (1..values.len()).all(|at| falls(at) == at.is_multiple_of(length));
    (length > 1 && even && values.len().is_multiple_of(length)).then_some(length)
}

impl Layout {
    fn of(image: &ScatteringImage) -> Self {
        let Some(grid) = grid(image) else {
            // A curved detector has rows, too.
            let pixels = image.qx.len();
            let columns = run(&image.qx).or_else(|| run(&image.qy)).unwrap_or(pixels);
            return Self {
                rows: pixels / columns.max(1),
                columns,
                cells: (0..pixels).collect(),
                qx: image.qx.clone(),
                qy: image.qy.clone(),
            };
        };
        let (rows, columns) = (grid.qy.len(), grid.qx.len());
        Self {
            rows,
            columns,
            cells: grid.cells.iter().map(|cell| *cell as usize).collect(),
            qx: (0..rows * columns)
                .map(|cell| grid.qx[cell % columns])
                .collect(),
            qy: (0..rows * columns)
                .map(|cell| grid.qy[cell / columns])
                .collect(),
        }
    }

    fn pixels(&self) -> usize {
        self.rows * self.columns
    }

    fn table<T: Clone + Default>(&self, values: Vec<T>) -> Array2<T> {
        Array2::from_shape_vec((self.rows, self.columns), values).unwrap_or_default()
    }

    /// Writes the values of the pixels, and those of `missing` in the cells without a pixel.
    fn write(
        &self,
        group: &hdf5::Group,
        name: &str,
        unit: &str,
        values: &[f64],
        missing: &[f64],
    ) -> hdf5::Result<hdf5::Dataset> {
        let mut all = missing.to_vec();
        for (cell, value) in self.cells.iter().zip(values) {
            all[*cell] = *value;
        }
        output::array(group, name, &self.table(all))?;
        let dataset = group.dataset(name)?;
        attribute(&dataset, "units", unit)?;
        Ok(dataset)
    }
}
