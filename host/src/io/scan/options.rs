//! What a user may say about a scan's file: the `[data]` table of a recipe.

use serde::{Deserialize, Serialize};

/// How to read a scan; the default reads CXI and PtyPy files as they are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadOptions {
    /// Which layout the file has; by default it is recognised.
    pub format: Format,
    /// Frames `[first, end]`, `end` itself not included; by default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<[usize; 2]>,
    /// Rows and columns to keep around the zero frequency; by default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<[usize; 2]>,
    /// Exchange rows and columns of the positions, before any flip.
    pub swap_axes: bool,
    /// Turn the sign of the positions' rows.
    pub flip_rows: bool,
    /// Turn the sign of the positions' columns.
    pub flip_columns: bool,
    /// Values that replace those of the file.
    pub constants: Constants,
    /// Where a plain HDF5 file (`format = "hdf5"`) keeps its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
}

/// Layout of a scan's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `hdf5` where `paths` is given, else CXI or PtyPy by what the file holds.
    #[default]
    Auto,
    /// CXI 1.x.
    Cxi,
    /// PtyPy's `.ptyd`.
    Ptyd,
    /// Any HDF5 file, by `paths`.
    Hdf5,
}

/// Geometry that replaces, or stands in for, the file's.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Constants {
    /// m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<f64>,
    /// J below 10⁻⁶, keV below 100, else eV; not together with `wavelength`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
    /// Specimen to detector, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// Detector pixel (row direction, column direction), m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<[f64; 2]>,
}

/// Datasets of a plain HDF5 file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// (frame, row, column), counts; zero frequency at (rows/2, columns/2).
    pub frames: String,
    /// (frame, coordinate).
    pub positions: String,
    /// Which coordinates are row and column: `[0, 1]`, or `[1, 0]` for (x, y, z).
    #[serde(default = "row_column")]
    pub position_order: [usize; 2],
    /// Metres in one unit of the positions: 1e-6 for micrometres.
    #[serde(default = "one")]
    pub position_unit: f64,
    /// (row, column) or (frame, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<String>,
    /// What a non-zero pixel of the mask is.
    #[serde(default)]
    pub mask_marks: Marks,
    /// (row, column) or (mode, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// One number, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<String>,
    /// One number: J below 10⁻⁶, keV below 100, else eV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<String>,
    /// One number, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<String>,
    /// One number, or two (row direction, column direction), m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<String>,
}

/// What a non-zero pixel of a mask is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Not to be used, as in CXI.
    #[default]
    Bad,
    /// To be used, as in PtyPy.
    Valid,
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
    fn a_table_survives_toml_and_unknown_keys_do_not() {
        let text = r#"
            format = "hdf5"
            frames = [3, 9]
            flip_rows = true
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
        let paths = options.paths.as_ref().unwrap();
        assert_eq!(
            (paths.position_order, paths.mask_marks),
            ([1, 0], Marks::Bad)
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
