//! Options for reading a scan file: the `[data]` table of a recipe.

mod positions;
mod quantities;

pub use positions::{PositionFile, Raster, RasterStep};
pub use quantities::{Degrees, ShortLength};

use super::{Orientation, RecipeError};
use crate::text::shortest;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Plausible wavelengths of photons or electrons, m: from γ rays to the far infrared.
pub(super) const WAVELENGTHS: RangeInclusive<f64> = 1e-13..=1e-3;

/// Largest factor on the object pixel of a coarse reconstruction.
pub const MAX_COARSE: usize = 64;

/// Most counts that `no_data` may name.
const MAX_NO_DATA: usize = 64;

/// How to read a scan; the defaults read CXI and PtyPy files unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadOptions {
    /// Layout of the file; detected by default.
    pub format: Format,
    /// Range of frames `[first, end]`, `end` excluded; all frames by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<[usize; 2]>,
    /// One half of the scan, 1 or 2: one frame of each pair of neighbours. All frames by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half: Option<usize>,
    /// Rows and columns to keep around the zero frequency; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<[usize; 2]>,
    /// Keeps this part of the rows and columns around the zero frequency, so that object pixels are as many times larger; 1 by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse: Option<usize>,
    /// Whether frames are near fields, whatever the file says; by default only if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_field: Option<bool>,
    /// Distance from the focus of a cone beam to the specimen, m, for near fields, infinite for a parallel beam; by default that in
    /// the file, and a parallel beam without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_to_sample: Option<f64>,
    /// Matrix [[a, b], [c, d]] that is applied to the positions before axes are exchanged and flipped: row' = a·row + b·column,
    /// column' = c·row + d·column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affine: Option<[[f64; 2]; 2]>,
    /// Exchanges rows and columns of the positions, before any flip.
    pub swap_axes: bool,
    /// Inverts the sign of the positions' rows.
    pub flip_rows: bool,
    /// Inverts the sign of the positions' columns.
    pub flip_columns: bool,
    /// Counts that mean that a pixel has no data; such pixels are masked.
    pub no_data: NoData,
    /// What to do about frames without any counts.
    pub empty_frames: EmptyFrames,
    /// Positions in a file of their own, in the place of those in the file of the frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionFile>,
    /// Positions of a raster, in the place of those in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raster: Option<Raster>,
    /// Follows links to files outside the folder of the scan, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follow_links: bool,
    /// Values that replace those of the file.
    pub constants: Constants,
    /// Paths of the datasets in a plain HDF5 file (`format = "hdf5"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
}

impl ReadOptions {
    /// Whether the options say that frames are near fields; those of a run have been completed from the file.
    #[must_use]
    pub fn is_near_field(&self) -> bool {
        self.near_field == Some(true)
    }

    /// Checks what does not depend on the scan.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub(super) fn check(&self) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: &str, found: String| {
            Err(RecipeError::new(format!("data.{option}"), expected, found))
        };
        if let Some([first, end]) = self.frames
            && first >= end
        {
            let found = format!("[{first}, {end}]");
            return refuse("frames", "[first, end] with first below end", found);
        }
        if let Some(half) = self.half
            && !(1..=2).contains(&half)
        {
            return refuse("half", "1 or 2", half.to_string());
        }
        if let Some(coarse) = self.coarse
            && !(1..=MAX_COARSE).contains(&coarse)
        {
            let expected = format!("1 to {MAX_COARSE}");
            return refuse("coarse", &expected, coarse.to_string());
        }
        if let Some([rows, columns]) = self.crop
            && (rows == 0 || columns == 0)
        {
            let found = format!("[{rows}, {columns}]");
            return refuse("crop", "[rows, columns] of at least 1 each", found);
        }
        if let Some(matrix) = self.affine
            && !invertible(matrix)
        {
            let [[a, b], [c, d]] = matrix.map(|row| row.map(shortest));
            let found = format!("[[{a}, {b}], [{c}, {d}]]");
            return refuse("affine", AFFINE, found);
        }
        if let NoData::Values(values) = &self.no_data
            && values.len() > MAX_NO_DATA
        {
            let expected = format!("at most {MAX_NO_DATA} counts");
            return refuse("no_data", &expected, format!("{} counts", values.len()));
        }
        let Constants {
            wavelength,
            energy,
            distance,
            pixel_size,
        } = self.constants;
        if let Some(wavelength) = wavelength
            && !WAVELENGTHS.contains(&wavelength)
        {
            let expected = "a wavelength in metres between 1e-13 and 1e-3";
            return refuse("constants.wavelength", expected, shortest(wavelength));
        }
        if let (Some(_), Some(energy)) = (wavelength, energy) {
            let expected = "constants.wavelength or constants.energy, not both";
            return refuse("constants.energy", expected, shortest(energy));
        }
        let [height, width] = pixel_size.map_or([None; 2], |side| side.map(Some));
        let near_field = self.is_near_field();
        if let (Some(z1), false) = (self.focus_to_sample, near_field) {
            let expected = "data.near_field = true (--near-field) beside it";
            return refuse("focus_to_sample", expected, shortest(z1));
        }
        if let (Some(coarse), true) = (self.coarse.filter(|c| *c > 1), near_field) {
            let expected =
                "1 with data.near_field, as object pixels do not depend on the size of the frames";
            return refuse("coarse", expected, coarse.to_string());
        }
        for (option, value) in [
            (
                "focus_to_sample",
                self.focus_to_sample.filter(|z1| *z1 != f64::INFINITY),
            ),
            ("constants.energy", energy),
            ("constants.distance", distance),
            ("constants.pixel_size", height),
            ("constants.pixel_size", width),
            (
                "paths.position_unit",
                self.paths.as_ref().map(|paths| paths.position_unit),
            ),
        ] {
            if let Some(value) = value
                && !(value.is_finite() && value > 0.0)
            {
                return refuse(option, "a finite number above 0", shortest(value));
            }
        }
        if let Some(file) = &self.positions {
            file.check()?;
        }
        if let Some(raster) = &self.raster {
            raster.check()?;
            if let Some(file) = &self.positions {
                let expected = "none beside data.positions, which has the positions";
                let found = format!("both (data.positions.file = \"{}\")", file.file);
                return refuse("raster", expected, found);
            }
        }
        let elsewhere = self.positions.is_some() || self.raster.is_some();
        for (option, path) in self.paths.iter().flat_map(Paths::named) {
            if path.is_empty() && !(elsewhere && option == "positions") {
                let expected = "the path of a dataset";
                return refuse(&format!("paths.{option}"), expected, "\"\"".to_owned());
            }
        }
        match (self.format, &self.paths) {
            (Format::Hdf5, None) => refuse(
                "format",
                "the table data.paths with at least frames and positions beside \"hdf5\"",
                "\"hdf5\" alone".to_owned(),
            ),
            (Format::Cxi | Format::Ptyd | Format::Frames, Some(_)) => {
                let found = match self.format {
                    Format::Cxi => "cxi",
                    Format::Frames => "frames",
                    _ => "ptyd",
                };
                refuse(
                    "format",
                    "hdf5, as data.paths names the datasets",
                    format!("\"{found}\""),
                )
            }
            _ => Ok(()),
        }
    }
}

impl ReadOptions {
    /// Whether the positions are not those of the file.
    #[must_use]
    pub fn transforms_positions(&self) -> bool {
        self.affine.is_some() || self.swap_axes || self.flip_rows || self.flip_columns
    }

    /// Transforms positions (frame, (row, column)) of the file.
    pub(super) fn transform(&self, positions: &Array2<f64>) -> Array2<f64> {
        let mapped = match self.affine {
            Some([[a, b], [c, d]]) => {
                let mut mapped = positions.clone();
                for mut position in mapped.rows_mut() {
                    let (row, column) = (position[0], position[1]);
                    position[0] = a * row + b * column;
                    position[1] = c * row + d * column;
                }
                mapped
            }
            None => positions.clone(),
        };
        Orientation::of(self).applied_to(&mapped)
    }
}

/// What `affine` has to be.
const AFFINE: &str = "[[a, b], [c, d]] of finite numbers whose determinant is not 0";

/// Smallest determinant of a matrix, relative to the product of the lengths of its rows.
const FLATTEST: f64 = 1e-9;

/// Whether no direction of the positions is lost.
fn invertible([[a, b], [c, d]]: [[f64; 2]; 2]) -> bool {
    let lengths = a.hypot(b) * c.hypot(d);
    let determinant = a * d - b * c;
    lengths.is_finite() && lengths > 0.0 && determinant.abs() > FLATTEST * lengths
}

/// Named settings of [`NoData`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoDataSetting {
    /// Values that detectors and their software write where there are no data: 2³¹−1, 2³²−1, 2⁶³−1
    /// and 2⁶⁴−1 wherever they are found; −1, −2 and NaN, and 2¹⁵−1 and 2¹⁶−1 if no count is
    /// larger, where many frames have them.
    Auto,
    /// None.
    Off,
}

/// The counts that mean that a pixel has no data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"auto\", \"off\" or an array of counts"
)]
pub enum NoData {
    /// `"auto"` or `"off"`.
    Setting(NoDataSetting),
    /// These counts, in every frame that has them.
    Values(Vec<f64>),
}

impl Default for NoData {
    fn default() -> Self {
        Self::Setting(NoDataSetting::Auto)
    }
}

/// What to do about frames without any counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyFrames {
    /// They are masked if half of the frames have 100 counts or more: a shutter was closed, or the beam was lost.
    #[default]
    Auto,
    /// They are used, as measurements of no light.
    Keep,
    /// They are masked, whatever the other frames have.
    Mask,
}

/// Layout of a scan file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `hdf5` if `paths` is given, otherwise CXI or PtyPy, depending on the contents.
    #[default]
    Auto,
    /// CXI 1.x.
    Cxi,
    /// PtyPy's `.ptyd`.
    Ptyd,
    /// Any HDF5 file, by `paths`.
    Hdf5,
    /// A file of frames alone: Merlin's `.mib`, EMPAD's `.raw` or `.xml`, TIFF, `.npy` or `.npz`.
    Frames,
}

/// Geometry that replaces or completes that of the file.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Constants {
    /// Wavelength, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<f64>,
    /// Energy: in J if below 10⁻⁶, in keV if below 100, otherwise in eV; excludes `wavelength`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Distance from the specimen to the detector, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// Detector pixel (row direction, column direction), m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<[f64; 2]>,
}

/// Paths of the datasets in a plain HDF5 file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// Counts (frame, row, column); zero frequency at (rows/2, columns/2).
    pub frames: String,
    /// Positions (frame, coordinate); `data.positions` and `data.raster` take their place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub positions: String,
    /// Indices of the row and column coordinates: `[0, 1]`, or `[1, 0]` for (x, y, z).
    #[serde(default = "row_column")]
    pub position_order: [usize; 2],
    /// Unit of the positions in metres: 1e-6 for micrometres.
    #[serde(default = "one")]
    pub position_unit: f64,
    /// Mask (row, column) or (frame, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<String>,
    /// Meaning of non-zero mask pixels.
    #[serde(default)]
    pub mask_marks: MaskPolarity,
    /// Probe (row, column) or (mode, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// Wavelength: one number, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<String>,
    /// Energy: one number, in J if below 10⁻⁶, in keV if below 100, otherwise in eV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<String>,
    /// Distance from the specimen to the detector: one number, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<String>,
    /// Detector pixel: one number, or two (row direction, column direction), m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<String>,
}

impl Paths {
    /// The given paths, with their options.
    fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let optional = [
            ("mask", &self.mask),
            ("probe", &self.probe),
            ("wavelength", &self.wavelength),
            ("energy", &self.energy),
            ("distance", &self.distance),
            ("pixel_size", &self.pixel_size),
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(option, path)| Some((option, path.as_deref()?)));
        [
            ("frames", self.frames.as_str()),
            ("positions", self.positions.as_str()),
        ]
        .into_iter()
        .chain(optional)
    }
}

/// Meaning of non-zero mask pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskPolarity {
    /// Non-zero pixels are bad, as in CXI.
    #[default]
    Bad,
    /// Non-zero pixels are valid, as in PtyPy.
    Valid,
}

impl MaskPolarity {
    /// Whether a pixel with this mask value is valid; NaN is bad.
    pub(super) fn is_valid(self, value: f32) -> bool {
        match self {
            Self::Bad => value == 0.0,
            Self::Valid => value != 0.0 && !value.is_nan(),
        }
    }
}

fn row_column() -> [usize; 2] {
    [0, 1]
}

fn one() -> f64 {
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_toml_and_unknown_keys_are_refused() {
        let text = r#"
            format = "hdf5"
            frames = [3, 9]
            flip_rows = true
            no_data = [65535, -1]
            [constants]
            distance = 1.5
            [paths]
            frames = "/a/b"
            positions = "/c"
            position_order = [1, 0]
            position_unit = 1e-6
        "#;
        let options: ReadOptions = toml::from_str(text).unwrap();
        assert_eq!(options.constants.distance, Some(1.5));
        assert_eq!(options.no_data, NoData::Values(vec![65535.0, -1.0]));
        let paths = options.paths.as_ref().unwrap();
        assert_eq!(
            (paths.position_order, paths.mask_marks),
            ([1, 0], MaskPolarity::Bad)
        );
        let again: ReadOptions = toml::from_str(&toml::to_string(&options).unwrap()).unwrap();
        assert_eq!(again, options);
        let e = toml::from_str::<ReadOptions>("flip_row = true").unwrap_err();
        assert!(e.to_string().contains("flip_row"), "{e}");
        assert_eq!(
            toml::from_str::<ReadOptions>("").unwrap(),
            ReadOptions::default()
        );
    }
}
