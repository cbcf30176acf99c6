//! Summaries of what a refinement changed: the frames' positions and intensity scales.

use super::frame_parameters::LARGEST_SCALE;
use crate::AffineFit;
use crate::data::{Reconstruction, Scan};
use serde::Serialize;
use std::fmt;
use warpstride_core::text::{count, length, ranges, significant};

/// Distances of the refined positions from the recorded ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Displacements {
    /// Root of the mean square, object pixels.
    pub rms_pixels: f64,
    /// Largest, object pixels.
    pub largest_pixels: f64,
    /// Root of the mean square, m.
    pub rms: f64,
    /// Largest, m.
    pub largest: f64,
}

impl Displacements {
    /// The displacements in `of`; `None` if every position is the recorded one.
    #[must_use]
    pub fn new(of: &Reconstruction) -> Option<Self> {
        if of.positions.dim() != of.recorded_positions.dim() {
            return None;
        }
        let moved = &of.positions - &of.recorded_positions;
        if moved.iter().all(|v| *v == 0.0) {
            return None;
        }
        let [rms_pixels, largest_pixels] = rms_and_largest(
            moved
                .rows()
                .into_iter()
                .map(|d| (d[0] / of.pixel[0]).hypot(d[1] / of.pixel[1])),
        );
        let [rms, largest] = rms_and_largest(moved.rows().into_iter().map(|d| d[0].hypot(d[1])));
        Some(Self {
            rms_pixels,
            largest_pixels,
            rms,
            largest,
        })
    }
}

/// The affine map, in metres, that takes the recorded to the refined positions; `None` if every
/// position is the recorded one.
pub(crate) fn affine_fit(of: &Reconstruction) -> Option<AffineFit> {
    Displacements::new(of)?;
    let points = |positions: &ndarray::Array2<f64>| -> Vec<[f64; 2]> {
        positions.rows().into_iter().map(|p| [p[0], p[1]]).collect()
    };
    AffineFit::fit(&points(&of.recorded_positions), &points(&of.positions))
}

fn rms_and_largest(values: impl ExactSizeIterator<Item = f64>) -> [f64; 2] {
    let count = values.len().max(1) as f64;
    let (squares, largest) = values.fold((0.0, 0.0_f64), |(sum, largest), v| {
        (sum + v * v, largest.max(v))
    });
    [(squares / count).sqrt(), largest]
}

/// `0.62 pixels (12.4 nm) RMS, at most 1.90 pixels (38.0 nm)`.
impl fmt::Display for Displacements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both =
            |pixels, metres| format!("{} pixels ({})", significant(pixels, 3), length(metres, 3));
        let rms = both(self.rms_pixels, self.rms);
        let largest = both(self.largest_pixels, self.largest);
        write!(f, "{rms} RMS, at most {largest}")
    }
}

/// Range and spread of the frames' intensity scales.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScaleSpread {
    /// Smallest and largest scale.
    pub range: [f64; 2],
    /// Standard deviation of the scales.
    pub standard_deviation: f64,
    /// Frames whose scales ended at a limit of the fit.
    pub at_limit: Vec<usize>,
}

impl ScaleSpread {
    /// The spread of `scales`; `None` if all of them are 1, as they are unless they were fitted.
    #[must_use]
    pub fn new(scales: &[f64]) -> Option<Self> {
        if scales.iter().all(|scale| *scale == 1.0) {
            return None;
        }
        let number = scales.len() as f64;
        let mean = scales.iter().sum::<f64>() / number;
        let variance = scales.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / number;
        let range = scales
            .iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], s| {
                [low.min(*s), high.max(*s)]
            });
        Some(Self {
            range,
            standard_deviation: variance.sqrt(),
            at_limit: (0..scales.len())
                .filter(|frame| is_limit(scales[*frame]))
                .collect(),
        })
    }

    /// With the numbers that the frames of `scan` have in its file.
    #[must_use]
    pub fn of_frames(mut self, scan: &Scan) -> Self {
        self.at_limit = scan.stored_frames(&self.at_limit);
        self
    }

    /// A sentence on the frames whose scales ended at a limit.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        (!self.at_limit.is_empty()).then(|| {
            format!(
                "the fitted scales of {} ({}) ended at a limit, {} or {}: look at them, --exclude leaves them out",
                count(self.at_limit.len(), ["frame", "frames"]),
                ranges(&self.at_limit),
                1.0 / LARGEST_SCALE,
                LARGEST_SCALE
            )
        })
    }
}

/// Whether a fitted scale is at its limit, also if it was stored in single precision, or beyond it,
/// as scales that were limited before they were divided by their mean.
fn is_limit(scale: f64) -> bool {
    let least = LARGEST_SCALE * (1.0 - 1e-6);
    scale >= least || scale * least <= 1.0
}

/// `0.931 to 1.08, standard deviation 0.0210`.
impl fmt::Display for ScaleSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.range.map(|scale| significant(scale, 3));
        let deviation = significant(self.standard_deviation, 3);
        write!(f, "{low} to {high}, standard deviation {deviation}")
    }
}

#[cfg(all(test, feature = "plots"))]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn displacements_are_measured_in_pixels_of_each_axis() {
        let mut of = sample::reconstruction();
        assert_eq!(Displacements::new(&of), None);
        of.pixel = [2e-8, 1e-8];
        of.positions[[0, 0]] += 6e-8;
        of.positions[[0, 1]] += 4e-8;
        let found = Displacements::new(&of).unwrap();
        // 3 and 4 pixels in one frame of three.
        assert!((found.largest_pixels - 5.0).abs() < 1e-9, "{found:?}");
        assert!((found.rms_pixels - 5.0 / 3_f64.sqrt()).abs() < 1e-9);
        assert!((found.largest / 52_f64.sqrt() / 1e-8 - 1.0).abs() < 1e-9);
        assert_eq!(
            found.to_string(),
            "2.89 pixels (41.6 nm) RMS, at most 5.00 pixels (72.1 nm)"
        );
    }

    #[test]
    fn the_affine_map_is_that_of_the_refined_positions() {
        let mut of = sample::reconstruction();
        assert_eq!(affine_fit(&of), None);
        of.recorded_positions = ndarray::arr2(&[[0.0, 0.0], [0.0, 2e-6], [1e-6, 0.0]]);
        of.positions = of.recorded_positions.map(|v| 1.25 * v + 1e-7);
        let found = affine_fit(&of).unwrap();
        let expected = "scale 1.25000 (rows), 1.25000 (columns), rotation 0.0000°, shear 0.00000";
        assert!(found.to_string().starts_with(expected), "{found}");
    }

    #[test]
    fn scales_have_a_range_and_a_deviation() {
        assert_eq!(ScaleSpread::new(&[]), None);
        assert_eq!(ScaleSpread::new(&[1.0; 4]), None);
        let found = ScaleSpread::new(&[0.9, 1.1, 0.9, 1.1]).unwrap();
        assert_eq!(found.range, [0.9, 1.1]);
        assert!((found.standard_deviation - 0.1).abs() < 1e-12);
        assert_eq!(found.to_string(), "0.900 to 1.10, standard deviation 0.100");
        assert_eq!(found.problem(), None);
        let found = ScaleSpread::new(&[1.2, 0.25, 1.1, 4.0, 1.0]).unwrap();
        assert_eq!(found.at_limit, [1, 3]);
        assert!([4.97, 4.0, 0.25, 0.2].into_iter().all(is_limit));
        assert!(![3.9, 1.0, 0.26].into_iter().any(is_limit));
        let problem = found.problem().unwrap();
        assert!(
            problem.contains("2 frames (1,3) ended at a limit, 0.25 or 4:"),
            "{problem}"
        );
    }
}
