//! Checks of the options that do not depend on the scan.

use super::datasets::{is_pixel, si_units};
use super::prepare::{Centre, HotPixels, MAX_BIN, MAX_EXCLUDED, MAX_PAD, NO_CENTRE, Saturation};
use super::{Format, MAX_COARSE, NoData, Paths, PositionUnit, ReadOptions};
use crate::RecipeError;
use warpstride_core::text::{Dimension, shortest};

/// Most counts that `no_data` may name.
const MAX_NO_DATA: usize = 64;

impl ReadOptions {
    /// Checks what does not depend on the scan.
    ///
    /// # Errors
    /// Returns an error that names the first option out of range.
    pub(crate) fn check(&self) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: &str, found: String| {
            Err(RecipeError::new(format!("data.{option}"), expected, found))
        };
        if let Some(axes) = self.frame_axes {
            let mut sorted = axes;
            sorted.sort_unstable();
            if sorted != [0, 1, 2] {
                let [frame, row, column] = axes;
                let found = format!("[{frame}, {row}, {column}]");
                return refuse("frame_axes", FRAME_AXES, found);
            }
        }
        self.units.check()?;
        if self.files.iter().any(String::is_empty) {
            return refuse("files", "names of files", "\"\"".to_owned());
        }
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
        self.check_preparing()?;
        self.check_order()?;
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
        let near_field = self.is_near_field();
        self.constants.check(near_field)?;
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
            (
                "paths.position_unit",
                self.paths.as_ref().and_then(Paths::metres_per_unit),
            ),
        ] {
            if let Some(value) = value
                && !(value.is_finite() && value > 0.0)
            {
                return refuse(option, "a finite number above 0", shortest(value));
            }
        }
        if let Some(PositionUnit::Name(unit)) =
            self.paths.as_ref().and_then(|p| p.position_unit.as_ref())
            && si_units(Dimension::Length, unit).is_none()
            && !is_pixel(unit)
        {
            let expected = format!(
                "a unit of length ({}), pixel, or metres per unit",
                Dimension::Length.names()
            );
            return refuse("paths.position_unit", &expected, format!("\"{unit}\""));
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
        for (option, path) in self.paths.iter().flat_map(Paths::named) {
            // Positions may be given elsewhere, by arguments too; without any, reading says so.
            if path.is_empty() && option != "positions" {
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
            (Format::Auto | Format::Hdf5, _) | (_, None) => Ok(()),
            (other, Some(_)) => refuse(
                "format",
                "hdf5, as data.paths names the datasets",
                format!("\"{}\"", format!("{other:?}").to_lowercase()),
            ),
        }
    }

    /// Checks the options by which frames are prepared.
    fn check_preparing(&self) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: &str, found: String| {
            Err(RecipeError::new(format!("data.{option}"), expected, found))
        };
        if self.every == Some(0) {
            return refuse("every", "a whole number, 1 or more", "0".to_owned());
        }
        if self.exclude.len() > MAX_EXCLUDED {
            let found = format!("{} frames", self.exclude.len());
            return refuse("exclude", &format!("at most {MAX_EXCLUDED} frames"), found);
        }
        for (option, name) in [
            ("dark", &self.dark),
            ("flat", &self.flat),
            ("mask", &self.mask),
            ("monitor", &self.monitor),
        ] {
            if name.as_deref().is_some_and(|name| name.trim().is_empty()) {
                let expected = "a dataset of the scan, or FILE:/DATASET";
                return refuse(option, expected, "\"\"".to_owned());
            }
        }
        if self.mask.is_none() && self.mask_marks.is_some() {
            let expected =
                "data.mask beside it (data.file_mask_marks is for the mask in the scan's file)";
            return refuse("mask_marks", expected, "none".to_owned());
        }
        if self
            .dataset
            .as_deref()
            .is_some_and(|name| name.trim().is_empty())
        {
            let expected = "the name of a dataset, or of an array of an .npz file";
            return refuse("dataset", expected, "\"\"".to_owned());
        }
        if let HotPixels::Times(times) = self.hot_pixels
            && !(times.is_finite() && times > 1.0)
        {
            return refuse("hot_pixels", "a finite number above 1", shortest(times));
        }
        if let Saturation::Counts(counts) = self.saturation
            && !(counts.is_finite() && counts > 0.0)
        {
            return refuse("saturation", "a finite number above 0", shortest(counts));
        }
        if let Some(Centre::At([row, column])) = self.centre
            && ![row, column].iter().all(|at| at.is_finite() && *at >= 0.0)
        {
            let found = format!("[{}, {}]", shortest(row), shortest(column));
            return refuse("centre", "finite numbers, 0 or more", found);
        }
        if let Some([rows, columns]) = self.pad
            && ![rows, columns].iter().all(|n| (1..=MAX_PAD).contains(n))
        {
            let expected = format!("[rows, columns] of 1 to {MAX_PAD} each");
            return refuse("pad", &expected, format!("[{rows}, {columns}]"));
        }
        if let Some(bin) = self.bin
            && !(1..=MAX_BIN).contains(&bin)
        {
            return refuse("bin", &format!("1 to {MAX_BIN}"), bin.to_string());
        }
        if let (Some(centre), true) = (self.centre, self.is_near_field()) {
            return refuse("centre", NO_CENTRE, centre.to_string());
        }
        Ok(())
    }

    /// Checks the order of several files.
    fn check_order(&self) -> Result<(), RecipeError> {
        match self.order {
            Some(_) if self.files.is_empty() => Err(RecipeError::new(
                "data.order",
                "further files of frames beside it, whose order it states",
                "none".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// What `frame_axes` has to be.
const FRAME_AXES: &str =
    "the axes of frame, row and column: an order of 0, 1 and 2, such as [0, 2, 1]";

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
