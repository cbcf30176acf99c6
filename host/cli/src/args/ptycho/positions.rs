//! Positions, and further frames, that are not in the file of the scan.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where positions and further frames are that the file of the scan does not have.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PositionArgs {
    /// Further files, each with a part of the frames, which follow those of the first in this
    /// order: frames_*.h5
    #[arg(value_name = "FILE", help_heading = None)]
    pub(crate) more: Vec<PathBuf>,
    /// Order of the frames of several files: by their names with numbers as numbers (im_2 before
    /// im_10), by the characters of their names (im_10 before im_2), or as the files are given
    #[arg(long, value_name = "ORDER", value_enum, requires = "more")]
    pub(crate) order: Option<FileOrderArg>,
    /// Pair frames and positions whose numbers differ: the first of each; by the numbers of frames
    /// in the column frame or index of the positions' table, or in the names of the files (g_1,
    /// g_2, g_4), from 0 or 1 as they show or as stated; or by the names of files in a column of
    /// the table
    #[arg(long, value_name = "HOW", value_enum)]
    pub(crate) pair: Option<PairArg>,
    /// File of the positions, in the place of those of the scan file: a table (text), an array
    /// (.npy), or HDF5 with a dataset
    #[arg(long, value_name = "FILE[:/DATASET]", conflicts_with = "raster")]
    pub(crate) positions: Option<String>,
    /// Its columns with the row and the column coordinate: names, numbers from 0, or two datasets
    /// [default: y,x or row,column]
    #[arg(long, value_name = "ROW,COLUMN", requires = "positions")]
    pub(crate) position_columns: Option<String>,
    /// Its unit, such as um [default: that in the names of the columns, as in y_um, or in the
    /// dataset's attribute units]
    #[arg(long, value_name = "UNIT", requires = "positions")]
    pub(crate) position_unit: Option<String>,
    /// Positions of a raster of so many rows and points in a row, such as 64x64 [default with --step:
    /// the raster in the file]
    #[arg(long, value_name = "SLOWxFAST")]
    pub(crate) raster: Option<String>,
    /// Distance of neighbouring points of the raster, such as 31.25A; two, separated by a comma:
    /// from row to row, and along a row
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        conflicts_with = "positions"
    )]
    pub(crate) step: Option<String>,
    /// Angle by which the raster is turned, from the frames' row axis to their column axis, such as -120deg
    /// [default: 0]
    #[arg(long, value_name = "ANGLE", allow_hyphen_values = true)]
    pub(crate) rotation: Option<String>,
    /// Every second row of the raster was scanned backwards
    #[arg(long)]
    pub(crate) snake: bool,
}

/// How frames and positions are paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PairArg {
    First,
    ByIndex,
    #[value(name = "by-index-from-0")]
    ByIndexFrom0,
    #[value(name = "by-index-from-1")]
    ByIndexFrom1,
    ByName,
}

/// The order of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileOrderArg {
    Natural,
    Name,
    Given,
}
