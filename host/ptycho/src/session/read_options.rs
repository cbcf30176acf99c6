//! Options for reading a scan file: the `[data]` table of a recipe.

mod check;
mod constants;
mod datasets;
mod other_files;
mod pairing;
mod positions;
pub(crate) mod prepare;
mod units;

pub use constants::Constants;
pub(crate) use constants::{VOLTAGES, WAVELENGTHS};
pub use datasets::{Datasets, PositionUnit};
pub(crate) use datasets::{is_pixel, si_units};
pub use pairing::{FileOrder, Pair};
pub use positions::{PositionFile, Raster, RasterStep};
pub use units::Units;
pub(crate) use units::noun;

use crate::Orientation;
use ndarray::Array2;
use prepare::is_default;
pub use prepare::{
    BadFrameSetting, Centre, CentreSetting, FaultSetting, FrameTransform, HotPixelSetting,
    HotPixels, NegativeCounts, Saturation,
};
use serde::{Deserialize, Serialize};

/// Largest factor on the object pixel of a coarse reconstruction.
pub const MAX_COARSE: usize = 64;

/// How to read a scan; the defaults read CXI and PtyPy files unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadOptions {
    /// Layout of the file; detected by default.
    pub format: Format,
    /// The array of an `.npz` file, or the dataset of a NeXus file or of one without a known
    /// layout, that has the frames, where several do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The axes of the dataset of frames, from 0, are frame, row and column: `[0, 1, 2]` by
    /// default, `[0, 2, 1]` for transposed frames. Masks and probes are transposed as the frames
    /// are. Only for MATLAB files and `paths`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_axes: Option<[usize; 3]>,
    /// Files with further frames, which follow those of the scan's file in this order; each has a
    /// part of the frames, of the same size and in the same layout. Masks and geometry are those of
    /// the scan's file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The order of the frames of several files; it has to be stated if the files are not in the
    /// order of the numbers in their names, and one set of positions is that of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<FileOrder>,
    /// Range of frames `[first, end]`, `end` excluded; all frames by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<[usize; 2]>,
    /// One half of the scan, 1 or 2: one frame of each pair of neighbours. All frames by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half: Option<usize>,
    /// Uses one of so many frames of the range, beginning with its first; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<usize>,
    /// Numbers of frames in the file, from 0, that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<usize>,
    /// Maps of the frames' rows and columns, one after the other; pixel sizes, masks, and a probe
    /// in the file are turned with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transform_frames: Vec<FrameTransform>,
    /// Counts without beam, (row, column) or (frame, row, column) as stored, which are averaged and
    /// subtracted: a dataset of the file, or FILE:/DATASET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dark: Option<String>,
    /// Counts of a uniform illumination, with shape and name as those of `dark`, by which counts
    /// are divided after division by their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flat: Option<String>,
    /// A mask (row, column) as stored, beside that of the file, with a name as that of `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<String>,
    /// Meaning of the non-zero pixels of `mask`; by default they are bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask_marks: Option<MaskPolarity>,
    /// Meaning of the non-zero pixels of the mask in the scan's file, if it is another than that of
    /// the file's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_mask_marks: Option<MaskPolarity>,
    /// What to do about negative counts on pixels that are not masked.
    #[serde(skip_serializing_if = "is_default")]
    pub negative: NegativeCounts,
    /// What to do about pixels that count without light, or never count.
    #[serde(skip_serializing_if = "is_default")]
    pub hot_pixels: HotPixels,
    /// What to do about pixels with the largest count that a detector can have.
    #[serde(skip_serializing_if = "is_default")]
    pub saturation: Saturation,
    /// Brightness of the beam in each frame of the file, with a name as that of `dark`: counts are
    /// divided by it, after division by its mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// The pixel of the zero frequency; by default that at (rows/2, columns/2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centre: Option<Centre>,
    /// Rows and columns to keep around the zero frequency; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<[usize; 2]>,
    /// Rows and columns after masked pixels have been added on all sides, so that object pixels are
    /// smaller; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<[usize; 2]>,
    /// Adds the counts of so many rows and columns to those of one pixel; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin: Option<usize>,
    /// Keeps this part of the rows and columns around the zero frequency, so that object pixels are
    /// as many times larger; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarse: Option<usize>,
    /// Whether frames are near fields, whatever the file says; by default only if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_field: Option<bool>,
    /// Distance from the focus of a cone beam to the specimen, m, for near fields, infinite for a
    /// parallel beam; by default that in the file, and a parallel beam without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_to_sample: Option<f64>,
    /// Reads frames that have no positions, to describe them: each is 1 m from the one before. No
    /// option of a recipe.
    #[serde(skip)]
    pub without_positions: bool,
    /// Reads frames to describe them, whose zero frequency may be elsewhere. No option of a recipe.
    #[serde(skip)]
    pub describes_only: bool,
    /// Matrix [[a, b], [c, d]] that is applied to the positions before axes are exchanged and
    /// flipped: row' = a·row + b·column, column' = c·row + d·column.
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
    /// What to do about frames that are no measurements of the specimen in the beam.
    #[serde(skip_serializing_if = "is_default")]
    pub bad_frames: BadFrameSetting,
    /// Positions in a file of their own, in the place of those in the file of the frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionFile>,
    /// How frames and positions are paired if there is not one position for each frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Positions of a raster, in the place of those in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raster: Option<Raster>,
    /// Follows links to files outside the folder of the scan, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follow_links: bool,
    /// Reads numbers of which the file stores almost nothing, too: frames that were never written,
    /// and those that are almost all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sparse: bool,
    /// Values that replace those of the file.
    pub constants: Constants,
    /// Units of the numbers of a file that does not state them.
    #[serde(skip_serializing_if = "Units::is_empty")]
    pub units: Units,
    /// Paths of the datasets in a plain HDF5 file (`format = "hdf5"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
}

impl ReadOptions {
    /// Whether the options say that frames are near fields; those of a run have been completed from
    /// the file.
    #[must_use]
    pub fn is_near_field(&self) -> bool {
        self.near_field == Some(true)
    }

    /// How the frames' axes are exchanged and inverted.
    #[must_use]
    pub fn frame_orientation(&self) -> Orientation {
        let maps = self.transform_frames.iter();
        maps.fold(Orientation::default(), |first, map| {
            map.orientation().after(first)
        })
    }

    /// Whether the pixels of the frames are others than those of the file, or have other counts or
    /// masks, apart from those that `crop` and `coarse` leave out.
    #[must_use]
    pub fn prepares_pixels(&self) -> bool {
        let plain = Self {
            crop: self.crop,
            coarse: self.coarse,
            ..Self::default()
        };
        let own = Self {
            crop: self.crop,
            coarse: self.coarse,
            transform_frames: self.transform_frames.clone(),
            dark: self.dark.clone(),
            flat: self.flat.clone(),
            mask: self.mask.clone(),
            negative: self.negative,
            hot_pixels: self.hot_pixels,
            saturation: self.saturation,
            monitor: self.monitor.clone(),
            centre: self.centre,
            pad: self.pad,
            bin: self.bin,
            ..Self::default()
        };
        own != plain
    }

    /// Whether only some of the range of frames are used.
    #[must_use]
    pub fn selects_frames(&self) -> bool {
        self.every.is_some_and(|every| every > 1) || !self.exclude.is_empty()
    }

    /// Meaning of the mask in the file of the scan, which in its format is `marks`.
    pub(crate) fn file_mask(&self, marks: MaskPolarity) -> MaskPolarity {
        self.file_mask_marks.unwrap_or(marks)
    }
}

impl ReadOptions {
    /// Whether the positions are those of another file, or of a raster.
    pub(crate) fn has_other_positions(&self) -> bool {
        self.positions.is_some() || self.raster.is_some() || self.without_positions
    }

    /// Whether the positions are not those of the file.
    #[must_use]
    pub fn transforms_positions(&self) -> bool {
        self.affine.is_some() || self.swap_axes || self.flip_rows || self.flip_columns
    }

    /// Transforms positions (frame, (row, column)) of the file.
    pub(crate) fn transform(&self, positions: &Array2<f64>) -> Array2<f64> {
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
    /// These counts, in every frame that has them: one or several numbers, or `"nan"`.
    Values(#[serde(deserialize_with = "counts")] Vec<f64>),
}

/// One count or several; NaN may be a text, as JSON has no number for it.
fn counts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Count {
        Number(f64),
        Text(String),
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Counts {
        Several(Vec<Count>),
        One(Count),
    }
    let all = match Counts::deserialize(deserializer)? {
        Counts::Several(all) => all,
        Counts::One(one) => vec![one],
    };
    let number = |count| match count {
        Count::Number(number) => Ok(number),
        Count::Text(text) if text.eq_ignore_ascii_case("nan") => Ok(f64::NAN),
        Count::Text(text) => Err(serde::de::Error::custom(format!(
            "expected counts or \"nan\", found \"{text}\""
        ))),
    };
    all.into_iter().map(number).collect()
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
    /// They are masked if half of the frames have 100 counts or more: a shutter was closed, or the
    /// beam was lost.
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
    /// `hdf5` if `paths` is given, otherwise as the contents show.
    #[default]
    Auto,
    /// CXI 1.x.
    Cxi,
    /// PtyPy's `.ptyd`.
    Ptyd,
    /// Any HDF5 file, by `paths`.
    Hdf5,
    /// MATLAB 7.3, by the names of its arrays.
    Matlab,
    /// NeXus, by the classes of its groups.
    Nexus,
    /// EMD, as py4DSTEM writes it.
    Emd,
    /// The master file of a DECTRIS detector.
    Dectris,
    /// A file of frames alone: Merlin's `.mib`, EMPAD's `.raw` or `.xml`, TIFF, `.npy` or `.npz`.
    Frames,
}

/// Paths of the datasets in a plain HDF5 file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// Counts (frame, row, column); zero frequency at (rows/2, columns/2).
    pub frames: String,
    /// Positions (frame, coordinate) or (coordinate, frame), or two datasets: those of the rows and
    /// of the columns; `data.positions` and `data.raster` take their place.
    #[serde(default, skip_serializing_if = "Datasets::is_empty")]
    pub positions: Datasets,
    /// Indices of the row and column coordinates: `[0, 1]`, or `[1, 0]` for (x, y, z).
    #[serde(default = "row_column")]
    pub position_order: [usize; 2],
    /// Unit of the positions: its name, such as `um` or `pixel`, or the metres in it, such as 1e-6.
    /// By default the unit that the file states, or else the only plausible one; metres if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_unit: Option<PositionUnit>,
    /// Mask (row, column) or (frame, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<String>,
    /// Meaning of non-zero mask pixels.
    #[serde(default)]
    pub mask_marks: MaskPolarity,
    /// Probe (row, column) or (mode, row, column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// Wavelength: one number, in m if neither the file nor `units` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wavelength: Option<String>,
    /// Energy: one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<String>,
    /// Distance from the specimen to the detector: one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<String>,
    /// Detector pixel: one number, or two (row direction, column direction), in one dataset or in
    /// two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pixel_size: Option<Datasets>,
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
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let several = [
            ("positions", Some(&self.positions)),
            ("pixel_size", self.pixel_size.as_ref()),
        ];
        let several = several.into_iter().flat_map(|(option, of)| {
            let paths = of.map_or(&[][..], Datasets::paths);
            paths.iter().map(move |path| (option, path.as_str()))
        });
        std::iter::once(("frames", self.frames.as_str()))
            .chain(several)
            .chain(optional)
    }

    /// The unit of the positions, if it is given as a number.
    fn metres_per_unit(&self) -> Option<f64> {
        match self.position_unit {
            Some(PositionUnit::Metres(metres)) => Some(metres),
            _ => None,
        }
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
    #[serde(alias = "good")]
    Valid,
}

impl MaskPolarity {
    /// The name in a recipe.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Valid => "valid",
        }
    }

    /// The other meaning.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Bad => Self::Valid,
            Self::Valid => Self::Bad,
        }
    }

    /// Whether a pixel with this mask value is valid; NaN is bad.
    pub(crate) fn is_valid(self, value: f32) -> bool {
        match self {
            Self::Bad => value == 0.0,
            Self::Valid => value != 0.0 && !value.is_nan(),
        }
    }
}

fn row_column() -> [usize; 2] {
    [0, 1]
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
        assert_eq!(paths.position_unit, Some(PositionUnit::Metres(1e-6)));
        let again: ReadOptions = toml::from_str(&toml::to_string(&options).unwrap()).unwrap();
        assert_eq!(again, options);
        let no_data = |value: &str| {
            let text = format!("no_data = {value}");
            toml::from_str::<ReadOptions>(&text).map(|options| options.no_data)
        };
        assert_eq!(no_data("-9999").unwrap(), NoData::Values(vec![-9999.0]));
        let NoData::Values(values) = no_data("[\"nan\", -1]").unwrap() else {
            panic!("no values");
        };
        assert!(values[0].is_nan() && values[1] == -1.0);
        assert!(no_data("\"none\"").is_err());
        let named = text.replace("position_unit = 1e-6", "position_unit = \"furlong\"");
        let named: ReadOptions = toml::from_str(&named).unwrap();
        let e = named.check().unwrap_err().to_string();
        assert!(
            e.contains("data.paths.position_unit") && e.contains("furlong"),
            "{e}"
        );
        let e = toml::from_str::<ReadOptions>("flip_row = true").unwrap_err();
        assert!(e.to_string().contains("flip_row"), "{e}");
        assert_eq!(
            toml::from_str::<ReadOptions>("").unwrap(),
            ReadOptions::default()
        );
    }
}
