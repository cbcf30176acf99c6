//! Pictures with captions, and the elements that pictures of all sciences share.

use super::canvas::{Canvas, INK, TEXT, width_of};
use super::colours::Map;
use std::path::Path;
use warpstride_core::system::{WriteError, write_whole};
use warpstride_core::text::significant;

/// A PNG picture with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Contents of the PNG file.
    pub png: Vec<u8>,
    /// Description in one or two sentences: colours, limits, size.
    pub caption: String,
}

impl Picture {
    /// Writes the file atomically.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_whole(path, &self.png)
    }
}

/// The reason why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The image is empty.
    #[error("the {what}: expected at least one pixel to draw, found shape {shape:?}")]
    Empty {
        /// `object`, `modes`, `field` or `image`.
        what: &'static str,
        /// Shape of the image.
        shape: Vec<usize>,
    },
    /// The picture would be too large.
    #[error(
        "a picture of {width} × {height} pixels (columns × rows) is too large: omit the picture and the report, and write only the image with -o"
    )]
    TooLarge {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The PNG encoder failed.
    #[error("the picture could not be encoded as PNG: {0}")]
    Encode(#[from] png::EncodingError),
}

/// Space between parts of a picture, pixels.
pub const GAP: usize = 12;
/// Width and height of a colour bar, pixels.
pub const BAR: [usize; 2] = [200, 14];
/// Least width of a picture, pixels, as needed by the text below it.
pub const LEAST_WIDTH: usize = 620;

/// Labels at the ends of a colour bar.
pub fn map_ends(map: Map) -> [String; 2] {
    let [low, high] = map.limits().map(|v| significant(v, 3));
    match map {
        Map::Cyclic => ["-π".to_owned(), "π rad".to_owned()],
        Map::Sequential { .. } => [low, format!("{high} rad")],
        Map::Grey { .. } | Map::Diverging { .. } => [low, high],
    }
}

/// Draws a colour bar with its upper left corner at `at` (column, row) and the labels `ends` below
/// its ends; of a label with a unit, the number is below the end.
pub fn colour_bar(canvas: &mut Canvas, at: [usize; 2], map: Map, ends: &[String; 2]) {
    let [start, row] = at;
    let text_row = row + BAR[1] + GAP / 2;
    let [low, high] = map.limits();
    for x in 0..BAR[0] {
        let value = low + (high - low) * (x as f64 + 0.5) / BAR[0] as f64;
        canvas.fill([start + x, row], [1, BAR[1]], map.colour(value));
    }
    for x in [start.saturating_sub(1), start + BAR[0]] {
        canvas.fill([x, row], [1, BAR[1] + 3], INK);
    }
    let [left, right] = ends;
    let number = right.split(' ').next().unwrap_or_default();
    canvas.text([start.saturating_sub(width_of(left) / 2), text_row], left);
    canvas.text([start + BAR[0] - width_of(number) / 2, text_row], right);
}

/// Height of a scale bar or colour bar with its labels, and of the space around them, pixels.
pub const FOOTER: usize = GAP + BAR[1] + GAP / 2 + TEXT + GAP;
