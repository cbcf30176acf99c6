//! Options by which frames are prepared: turned, corrected, centred, padded and binned.

use crate::Orientation;
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

/// Most pixels of a detector that become one.
pub(crate) const MAX_BIN: usize = 64;
/// Most rows and columns of padded frames.
pub(crate) const MAX_PAD: usize = 1 << 16;
/// Most frames that `exclude` may list.
pub(crate) const MAX_EXCLUDED: usize = 1 << 20;

/// A map of the frames' rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameTransform {
    /// Rows become columns.
    #[serde(rename = "transpose")]
    Transpose,
    /// The order of the rows is inverted.
    #[serde(rename = "flip-rows")]
    FlipRows,
    /// The order of the columns is inverted.
    #[serde(rename = "flip-columns")]
    FlipColumns,
    /// A quarter of a turn, counterclockwise where rows are drawn downwards and columns to the
    /// right.
    #[serde(rename = "rotate=90")]
    Rotate90,
    /// Half a turn.
    #[serde(rename = "rotate=180")]
    Rotate180,
    /// Three quarters of a turn, counterclockwise as above.
    #[serde(rename = "rotate=270")]
    Rotate270,
}

impl FrameTransform {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Transpose,
        Self::FlipRows,
        Self::FlipColumns,
        Self::Rotate90,
        Self::Rotate180,
        Self::Rotate270,
    ];

    /// The name in a recipe.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transpose => "transpose",
            Self::FlipRows => "flip-rows",
            Self::FlipColumns => "flip-columns",
            Self::Rotate90 => "rotate=90",
            Self::Rotate180 => "rotate=180",
            Self::Rotate270 => "rotate=270",
        }
    }

    /// How axes are exchanged and inverted by it.
    pub(super) fn orientation(self) -> Orientation {
        let (swap_axes, flip_rows, flip_columns) = match self {
            Self::Transpose => (true, false, false),
            Self::FlipRows => (false, true, false),
            Self::FlipColumns => (false, false, true),
            Self::Rotate90 => (true, true, false),
            Self::Rotate180 => (false, true, true),
            Self::Rotate270 => (true, false, true),
        };
        Orientation {
            swap_axes,
            flip_rows,
            flip_columns,
        }
    }
}

/// Named settings of [`Centre`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CentreSetting {
    /// Where the mean of the frames agrees best with its image inverted at that place.
    Auto,
    /// At the first pixel, as a Fourier transform has it: frames are shifted cyclically by half
    /// their size, masks with them.
    Shifted,
}

/// The pixel of the zero frequency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"auto\", \"shifted\" or [row, column], numbers of pixels"
)]
pub enum Centre {
    /// `"auto"` or `"shifted"`.
    Setting(CentreSetting),
    /// Row and column in the turned frames, before they are cut; whole numbers are the middles of
    /// pixels.
    At([f64; 2]),
}

/// Named settings of [`Saturation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultSetting {
    /// `ptycho info` and the reconstruction name such pixels, and nothing is masked.
    #[default]
    Report,
    /// They are masked.
    Mask,
}

/// Named settings of [`HotPixels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HotPixelSetting {
    /// Nothing is masked, also not what never counts.
    Keep,
    /// Pixels that never count within the light are masked; `ptycho info` and the reconstruction
    /// name those that count without.
    #[default]
    Report,
    /// Both are masked.
    Mask,
}

/// What to do about frames that are no measurements of the specimen in the beam.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadFrameSetting {
    /// Frames without beam, and those far too bright, are left out, with a note; doubtful ones are
    /// named.
    #[default]
    Mask,
    /// All are used; a note names them.
    Keep,
    /// They are an error.
    Error,
}

/// What to do about pixels that count without light, or never count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"keep\", \"report\", \"mask\" or a number of times the counts of the pixels around"
)]
pub enum HotPixels {
    /// `"keep"`, `"report"` or `"mask"`.
    Setting(HotPixelSetting),
    /// Pixels with so many times the counts of those around them are masked, and pixels that never
    /// count.
    Times(f64),
}

impl Default for HotPixels {
    fn default() -> Self {
        Self::Setting(HotPixelSetting::Report)
    }
}

/// What to do about pixels with the largest count that a detector can have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"report\", \"mask\" or the count of saturated pixels"
)]
pub enum Saturation {
    /// `"report"` or `"mask"`.
    Setting(FaultSetting),
    /// Pixels with this count or more are masked in the frames that have it.
    Counts(f64),
}

impl Default for Saturation {
    fn default() -> Self {
        Self::Setting(FaultSetting::Report)
    }
}

/// What to do about negative counts, which remain where a dark measurement has been subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NegativeCounts {
    /// They are refused.
    #[default]
    Error,
    /// They are set to 0.
    Clip,
}

/// Whether a value is that of a recipe without the option, which is not written.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Why near fields have no centre.
pub(crate) const NO_CENTRE: &str =
    "none in the near field, where the beam's place on the detector is measured";

/// As in a recipe.
impl std::fmt::Display for Centre {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(CentreSetting::Auto) => f.write_str("\"auto\""),
            Self::Setting(CentreSetting::Shifted) => f.write_str("\"shifted\""),
            Self::At([row, column]) => write!(f, "[{}, {}]", shortest(*row), shortest(*column)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;

    fn options(text: &str) -> Result<ReadOptions, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn options_are_read_and_written_and_defaults_are_not() {
        let text = r#"
            every = 2
            exclude = [3, 17]
            transform_frames = ["transpose", "rotate=90"]
            dark = "/entry/dark"
            hot_pixels = 12
            saturation = "mask"
            centre = [61.5, 66]
            pad = [256, 256]
            bin = 2
        "#;
        let read = options(text).unwrap();
        assert_eq!(read.hot_pixels, HotPixels::Times(12.0));
        assert_eq!(read.centre, Some(Centre::At([61.5, 66.0])));
        assert!(read.prepares_pixels() && read.selects_frames());
        read.check().unwrap();
        let written = toml::to_string(&read).unwrap();
        assert_eq!(options(&written).unwrap(), read);
        let auto = options("centre = \"auto\"").unwrap();
        assert_eq!(auto.centre, Some(Centre::Setting(CentreSetting::Auto)));
        let none = ReadOptions {
            crop: Some([4, 4]),
            frames: Some([0, 2]),
            ..ReadOptions::default()
        };
        assert!(!none.prepares_pixels() && !none.selects_frames());
        let written = toml::to_string(&none).unwrap();
        assert!(!written.contains("hot") && !written.contains("exclude"));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (text, named) in [
            ("every = 0", "data.every"),
            ("dark = \"\"", "data.dark"),
            ("hot_pixels = 1.0", "data.hot_pixels"),
            ("saturation = -1", "data.saturation"),
            ("centre = [-1, 3]", "data.centre"),
            ("centre = [nan, 3]", "data.centre"),
            ("pad = [0, 3]", "data.pad"),
            ("bin = 65", "data.bin"),
            ("near_field = true\ncentre = \"auto\"", "data.centre"),
        ] {
            let refused = options(text).unwrap().check().unwrap_err().to_string();
            assert!(refused.contains(named), "{text}: {refused}");
        }
        for (text, expected) in [
            (
                "centre = \"middle\"",
                "\"auto\", \"shifted\" or [row, column]",
            ),
            ("hot_pixels = \"off\"", "\"report\", \"mask\" or a number"),
            ("transform_frames = [\"turn\"]", "rotate=90"),
        ] {
            let refused = options(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    /// A point to the right is above after a quarter of a turn, as with `--transform-positions
    /// rotate=90deg`.
    #[test]
    fn maps_act_in_the_order_given() {
        let of = |maps: &[FrameTransform]| {
            let options = ReadOptions {
                transform_frames: maps.to_vec(),
                ..ReadOptions::default()
            };
            options.frame_orientation()
        };
        use FrameTransform::{FlipColumns, FlipRows, Rotate90, Rotate180, Rotate270, Transpose};
        assert_eq!(of(&[Rotate90]).matrix(), [[0.0, -1.0], [1.0, 0.0]]);
        assert_eq!(of(&[Rotate90, Rotate90]), of(&[Rotate180]));
        assert_eq!(of(&[Rotate180, Rotate90]), of(&[Rotate270]));
        assert_eq!(of(&[FlipRows, FlipColumns]), of(&[Rotate180]));
        assert_eq!(of(&[FlipRows, Transpose]), of(&[Rotate270]));
        assert_eq!(of(&[]), Orientation::default());
        for map in FrameTransform::ALL {
            let text = format!("transform_frames = [\"{}\"]", map.name());
            assert_eq!(options(&text).unwrap().transform_frames, [map]);
        }
    }
}
