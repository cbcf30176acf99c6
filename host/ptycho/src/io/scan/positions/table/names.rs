//! Names of the columns of a table, and numbers in columns that may be those of frames.

use crate::io::scan::found_positions::{FrameNumbers, Texts};
use crate::io::scan::numbered_names::varying;
use crate::session::read_options::si_units;
use warpstride_core::text::Dimension;

/// Names of the row coordinate, without their unit.
pub(super) const ROWS: [&str; 8] = [
    "y",
    "row",
    "rows",
    "pos_y",
    "posy",
    "position_y",
    "y_position",
    "translation_y",
];
/// Names of the column coordinate.
pub(super) const COLUMNS: [&str; 9] = [
    "x",
    "column",
    "columns",
    "col",
    "pos_x",
    "posx",
    "position_x",
    "x_position",
    "translation_x",
];
/// Names of a column with the number of the frame, of which only letters and digits are compared.
pub(super) const FRAMES: [&str; 6] = [
    "frame",
    "frameno",
    "framenr",
    "framenumber",
    "frameid",
    "index",
];
/// Such names that may also be those of something else, as the numbers in the column show.
pub(super) const LIKELY_FRAMES: [&str; 7] = [
    "nr",
    "no",
    "number",
    "image",
    "imageno",
    "imagenr",
    "imagenumber",
];

/// A name without the unit in it.
fn without_unit(name: &str) -> (String, Option<String>) {
    let lower = name.trim();
    for [open, close] in [["(", ")"], ["[", "]"]] {
        if let Some(rest) = lower.strip_suffix(close)
            && let Some((base, unit)) = rest.split_once(open)
        {
            return (
                base.trim().to_ascii_lowercase(),
                Some(unit.trim().to_owned()),
            );
        }
    }
    for separator in ['_', ' ', '/'] {
        if let Some((base, unit)) = lower.rsplit_once(separator)
            && si_units(Dimension::Length, unit).is_some()
        {
            return (base.trim().to_ascii_lowercase(), Some(unit.to_owned()));
        }
    }
    (lower.to_ascii_lowercase(), None)
}

/// The letters and digits of a name, without the unit in it.
pub(super) fn letters(name: &str) -> String {
    let (base, _) = without_unit(name);
    base.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The least and the greatest of at least three whole numbers from 0, each once, that fill at least
/// half of their range, as numbers of frames do.
pub(super) fn dense(values: &[f64]) -> Option<[f64; 2]> {
    let whole = |value: &f64| value.fract() == 0.0 && (0.0..9e15).contains(value);
    if values.len() < 3 || !values.iter().all(whole) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let once = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    (once && most - least < 2.0 * values.len() as f64).then_some([least, most])
}

/// The numbers in texts that differ in nothing else and are not in the order of the lines, such as
/// `im_0`, `im_1`, `im_10`, `im_2`: they may be those of frames.
pub(super) fn numbers_in(texts: &Texts) -> Option<FrameNumbers> {
    let names: Vec<&str> = texts.values.iter().map(String::as_str).collect();
    let found = varying(&names).filter(|found| found.alone)?;
    let values: Vec<f64> = found.values.iter().map(|number| *number as f64).collect();
    let is_likely = dense(&values).is_some() && !values.is_sorted();
    is_likely.then(|| FrameNumbers {
        column: format!("{} (numbers in its texts)", texts.column),
        doubtful: true,
        is_path: false,
        values,
        lines: texts.lines.clone(),
    })
}

/// Whether a column of this name has times at which something was measured.
pub(super) fn is_time(name: &str) -> bool {
    let letters = letters(name);
    letters.starts_with("time")
        || letters.ends_with("timestamp")
        || ["t", "date", "datetime", "epoch"].contains(&letters.as_str())
}

pub(super) fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.contains(&without_unit(name).0.as_str())
}

pub(super) fn unit_in(name: &str) -> Option<String> {
    without_unit(name).1
}
