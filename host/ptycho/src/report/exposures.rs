//! The motion during exposures, in words.

use crate::data::Reconstruction;
use warpstride_core::text::{length, trimmed};

/// Paths that differ by less than this part of a pixel are the same.
const SAME: f64 = 1e-6;

/// How the specimen moves during the exposures of a result: the points and the paths of its frames,
/// or that it does not.
pub(super) fn exposures(of: &Reconstruction) -> String {
    let Some(exposures) = &of.parts.exposures else {
        return "step scan, the specimen rests during each exposure".to_owned();
    };
    let points = exposures.points;
    let Some(first) = exposures.paths.first() else {
        return format!("fly scan, {points} points of each exposure");
    };
    let near = |path: &[f64; 2]| (0..2).all(|axis| (path[axis] - first[axis]).abs() < SAME);
    if exposures.paths.iter().all(near) {
        let [rows, columns] = first.map(|v| trimmed(v, 4));
        let [y, x] = [0, 1].map(|axis| length(first[axis] * of.pixel[axis], 4));
        return format!(
            "fly scan, {points} points of each exposure, path of all frames {rows} rows, {columns} columns ({y}, {x})"
        );
    }
    let in_pixels = || exposures.paths.iter().map(|[y, x]| y.hypot(*x));
    let in_metres =
        || (exposures.paths.iter()).map(|[y, x]| (y * of.pixel[0]).hypot(x * of.pixel[1]));
    let range = |values: &dyn Fn() -> Vec<f64>| {
        let values = values();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.into_iter().fold(0.0, f64::max))
    };
    let (low, high) = range(&|| in_pixels().collect());
    let (shortest, longest) = range(&|| in_metres().collect());
    format!(
        "fly scan, {points} points of each exposure, paths of {} to {} pixels ({} to {}), each frame with its own",
        trimmed(low, 4),
        trimmed(high, 4),
        length(shortest, 4),
        length(longest, 4)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Exposures;
    use crate::report::sample;

    #[test]
    fn paths_are_given_in_pixels_and_metres() {
        let mut of = sample::reconstruction();
        assert!(exposures(&of).starts_with("step scan"));
        of.pixel = [2e-8, 1e-8];
        let mut with = |paths: Vec<[f64; 2]>| {
            of.parts.exposures = Some(Exposures { points: 4, paths });
            exposures(&of)
        };
        let same = with(vec![[0.0, 3.0]; 5]);
        assert!(
            same.contains("4 points") && same.contains("0 rows, 3 columns"),
            "{same}"
        );
        assert!(same.contains("30.00 nm"), "{same}");
        let each = with(vec![[0.0, 3.0], [4.0, 3.0]]);
        assert!(
            each.contains("paths of 3 to 5 pixels (30.00 nm to 85.44 nm)"),
            "{each}"
        );
    }
}
