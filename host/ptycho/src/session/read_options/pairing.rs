//! The options that pair frames and positions whose numbers differ, and the order of several files.

use serde::{Deserialize, Serialize};

/// How frames and positions are paired if there is not one position for each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// The first frame with the first position, and so on; those that are left over are not used.
    First,
    /// By the number of the frame that the file of the positions has for each, or else by the
    /// numbers in the names of the frames' files, from 0 or 1 as the numbers show.
    ByIndex,
    /// By these numbers, of which the first frame has 0.
    #[serde(rename = "by-index-from-0")]
    ByIndexFrom0,
    /// By these numbers, of which the first frame has 1.
    #[serde(rename = "by-index-from-1")]
    ByIndexFrom1,
    /// By the name of the frame's file that the table of the positions has for each; names of other
    /// files are not used.
    ByName,
}

/// The order in which the frames of several files follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrder {
    /// As the files are given.
    Given,
    /// By their names, with numbers in them as numbers: `im_2` before `im_10`.
    Natural,
    /// By the characters of their names: `im_10` before `im_2`.
    Name,
}
