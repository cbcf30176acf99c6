//! Checks of slices and of what does not go with them.

use super::slice_options::{LARGEST_DISTANCE, MOST_SLICES};
use super::{DetectorOptions, Recipe};
use crate::RecipeError;
use crate::engines::name::{EngineName, MAX_ITERATIONS};
use warpstride_core::text::shortest;

impl Recipe {
    /// Checks the options of slices, and others that slices do not go with.
    pub(super) fn check_slices(&self) -> Result<(), RecipeError> {
        let refused = |option: &str, expected: &str, found: String| {
            Err(RecipeError::new(option, expected, found))
        };
        if !(1..=MOST_SLICES).contains(&self.slices.count) {
            let found = self.slices.count.to_string();
            return refused("slices.count", &format!("1 to {MOST_SLICES}"), found);
        }
        if !(1..=MAX_ITERATIONS).contains(&self.slices.refine_from) {
            let expected = format!("iteration 1 to {MAX_ITERATIONS}");
            let found = self.slices.refine_from.to_string();
            return refused("slices.refine_from", &expected, found);
        }
        if !self.slices.are_on() {
            return Ok(());
        }
        let gaps = self.slices.count - 1;
        let expected = format!(
            "one distance above 0 m, or a list of {gaps}, of at most {} m, with slices.count = {}",
            shortest(LARGEST_DISTANCE),
            self.slices.count
        );
        let distances = self.slices.distances();
        if distances.len() != gaps {
            let found = match &self.slices.distance {
                None => "none (--slice-distance 20um sets one)".to_owned(),
                Some(_) => format!("a list of {}", distances.len()),
            };
            return refused("slices.distance", &expected, found);
        }
        let allowed = |d: &&f64| !(**d > 0.0 && **d <= LARGEST_DISTANCE);
        if let Some(wrong) = distances.iter().find(allowed) {
            return refused("slices.distance", &expected, shortest(*wrong));
        }
        let other = |name: EngineName| !matches!(name, EngineName::Lsqml | EngineName::Ml);
        if let Some(spec) = self.engines.iter().find(|spec| other(spec.name)) {
            return refused(
                "slices.count",
                "1, or only the engines lsqml and ml, which can compute slices (such as --engine lsqml:100)",
                format!("{} with {}", self.slices.count, spec.name.as_str()),
            );
        }
        let ideal = DetectorOptions::default();
        let unsupported = [
            ("data.near_field", self.data.is_near_field()),
            ("positions.refine", !self.positions.refine.is_empty()),
            ("fit_frame_scales", self.fit_frame_scales),
            ("object_modes", self.object_modes > 1),
            ("fly.points", self.fly.points > 1),
            ("opr_modes", self.opr_modes > 0),
            ("detector.blur", self.detector.blur != ideal.blur),
            (
                "detector.background",
                self.detector.background != ideal.background,
            ),
            ("detector.background_from", !self.detector.is_default()),
        ];
        if let Some((option, _)) = unsupported.iter().find(|(_, on)| *on) {
            let found = format!("{} slices with it", self.slices.count);
            return refused(option, "no slices (slices.count = 1)", found);
        }
        for spec in &self.engines {
            let unsupported = [
                ("regulariser", spec.regulariser.is_some_and(|w| w > 0.0)),
                (
                    "smooth_gradient",
                    spec.smooth_gradient.is_some_and(|w| w > 0.0),
                ),
                ("regions", spec.regions.is_some_and(|n| n > 1)),
            ];
            if let Some((option, _)) = unsupported.iter().find(|(_, on)| *on) {
                return refused(
                    &format!("{}.{option}", spec.name.as_str()),
                    "no slices (slices.count = 1)",
                    format!("{} slices with it", self.slices.count),
                );
            }
        }
        Ok(())
    }
}
