//! `--transform-positions`: a list of maps of the positions, and the options of a recipe that it
//! becomes.

use crate::failure::Failure;
use warpstride::ptycho::{Degrees, Orientation, ReadOptions};

type Matrix = [[f64; 2]; 2];

/// What a list may have, for messages.
const EXPECTED: &str =
    "swap, flip-rows, flip-columns, rotate=30deg or affine=[a,b,c,d], separated by commas, or none";

/// Puts the maps of `list`, one after the other, in the place of the options of `data` that
/// transform the positions.
///
/// # Errors
/// An error of usage that names the map which is not one.
pub(super) fn transform_positions(list: &str, data: &mut ReadOptions) -> Result<(), Failure> {
    let refuse = |expected: &str| {
        Failure::usage(format!("--transform-positions {list}: expected {expected}"))
    };
    let (mut affine, mut orientation) = (None, Orientation::default());
    let maps = parts(list);
    let none = maps.as_slice() == ["none"];
    for map in maps.iter().filter(|_| !none) {
        let matrix = matrix(map).map_err(|expected| {
            refuse(&match maps.len() {
                1 => expected,
                _ => format!("{expected}, found {map}"),
            })
        })?;
        // Flips and swaps at the end of the list are options of their own.
        match Orientation::of_matrix(matrix) {
            Some(last) => orientation = last.after(orientation),
            None => {
                let before = product(orientation.matrix(), affine.unwrap_or(IDENTITY));
                affine = Some(product(matrix, before));
                orientation = Orientation::default();
            }
        }
    }
    data.affine = affine;
    orientation.set(data);
    Ok(())
}

const IDENTITY: Matrix = [[1.0, 0.0], [0.0, 1.0]];

/// The product of two matrices: first `right`, then `left`.
fn product(left: Matrix, right: Matrix) -> Matrix {
    let element = |row: usize, column: usize| {
        left[row][0] * right[0][column] + left[row][1] * right[1][column]
    };
    [0, 1].map(|row| [0, 1].map(|column| element(row, column)))
}

/// The parts between the commas that are outside brackets, without spaces around them.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let separates = |letter: char| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    list.split(separates).map(str::trim).collect()
}

/// The matrix of a map, or what was expected.
fn matrix(map: &str) -> Result<Matrix, String> {
    let (name, value) = match map.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (map, None),
    };
    match (name, value) {
        ("swap", None) => Ok([[0.0, 1.0], [1.0, 0.0]]),
        ("flip-rows", None) => Ok([[-1.0, 0.0], [0.0, 1.0]]),
        ("flip-columns", None) => Ok([[1.0, 0.0], [0.0, -1.0]]),
        ("rotate", Some(angle)) => {
            let degrees = angle.strip_suffix("deg").map(str::trim);
            let degrees = degrees.and_then(|text| text.parse::<f64>().ok());
            let degrees = degrees.filter(|angle| angle.is_finite());
            degrees
                .map(|angle| Degrees(angle).rotation())
                .ok_or_else(|| "an angle in degrees, such as rotate=30deg".to_owned())
        }
        ("affine", Some(list)) => four(list)
            .map(|[a, b, c, d]| [[a, b], [c, d]])
            .ok_or_else(|| "four numbers in brackets, such as affine=[1,0.02,0,1]".to_owned()),
        _ => Err(EXPECTED.to_owned()),
    }
}

/// Four numbers in brackets.
fn four(list: &str) -> Option<[f64; 4]> {
    let inside = list.strip_prefix('[')?.strip_suffix(']')?;
    let numbers = inside.split(',').map(|number| number.trim().parse());
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn of(list: &str) -> Result<ReadOptions, String> {
        let mut data = ReadOptions {
            flip_rows: true,
            affine: Some([[2.0, 0.0], [0.0, 2.0]]),
            ..ReadOptions::default()
        };
        transform_positions(list, &mut data).map_err(|failure| failure.to_string())?;
        Ok(data)
    }

    /// The maps of a list act one after the other, and replace the options that were there.
    #[test]
    fn maps_act_in_the_order_given() {
        let options = |swap_axes, flip_rows, flip_columns| ReadOptions {
            swap_axes,
            flip_rows,
            flip_columns,
            ..ReadOptions::default()
        };
        for (list, expected) in [
            ("none", options(false, false, false)),
            ("swap", options(true, false, false)),
            ("swap,flip-rows", options(true, true, false)),
            // A flip before the exchange is one of the other axis after it.
            ("flip-rows,swap", options(true, false, true)),
            ("flip-rows , flip-rows", options(false, false, false)),
            ("rotate=180deg", options(false, true, true)),
            ("rotate=-270deg", options(true, true, false)),
            ("affine=[0,1,1,0]", options(true, false, false)),
        ] {
            assert_eq!(of(list), Ok(expected), "{list}");
        }
        let turned = of("flip-rows,rotate=30deg,flip-columns").unwrap();
        let (s, c) = 30_f64.to_radians().sin_cos();
        assert_eq!(turned.affine, Some([[-c, -s], [-s, c]]));
        assert!(turned.flip_columns && !turned.flip_rows && !turned.swap_axes);
    }

    /// A point to the right, turned by 90°, is above: counterclockwise in pictures.
    #[test]
    fn rotations_are_counterclockwise_in_pictures() {
        let right = array![[0.0, 1.0]];
        let orientation = Orientation::of(&of("rotate=90deg").unwrap());
        assert_eq!(orientation.applied_to(&right), array![[-1.0, 0.0]]);
        let [[_, row], [_, column]] = Degrees(60.0).rotation();
        assert!(row < -0.8 && (column - 0.5).abs() < 1e-12);
    }

    #[test]
    fn other_texts_are_refused() {
        for (list, expected) in [
            (
                "turn",
                "--transform-positions turn: expected swap, flip-rows",
            ),
            ("", "--transform-positions : expected swap"),
            ("swap,", "expected swap, flip-rows"),
            ("swap,none", "or none, found none"),
            ("swap=1", "expected swap"),
            (
                "rotate=30",
                "expected an angle in degrees, such as rotate=30deg",
            ),
            (
                "swap,rotate=xdeg",
                "such as rotate=30deg, found rotate=xdeg",
            ),
            ("rotate=infdeg", "expected an angle in degrees"),
            ("affine=1,0,0,1", "expected four numbers in brackets"),
            ("affine=[1,0,0]", "expected four numbers in brackets"),
        ] {
            let found = of(list).unwrap_err();
            assert!(found.contains(expected), "{list}: {found}");
        }
    }
}
