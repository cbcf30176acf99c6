//! Selection of the data to read.

use super::Selection;
use crate::data::{ImageIndex, KUnit};
use crate::io::bart::MatrixSize;

/// The group name that most files use.
pub const DEFAULT_GROUP: &str = "dataset";

/// Selection of the data to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The group that holds `data` and `xml`.
    pub group: String,
    /// The images to read, if the file holds several.
    pub select: Selection,
    /// The image among them, where each value of a counter is an image of its own; `None`: the one
    /// with the lowest values.
    pub image: Option<ImageIndex>,
    /// Voxels of the image; `None`: those of the header.
    pub matrix: Option<MatrixSize>,
    /// The unit of the trajectory; `None`: cycles/pixel.
    pub k_unit: Option<KUnit>,
    /// Coils to leave out, numbered from 0.
    pub exclude_coils: Vec<usize>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            group: DEFAULT_GROUP.to_owned(),
            select: Selection::default(),
            image: None,
            matrix: None,
            k_unit: None,
            exclude_coils: Vec::new(),
        }
    }
}
