//! Options of the slices of a thick specimen.

use super::{DetectorOptions, Recipe};
use crate::RecipeError;
use crate::engines::name::{EngineName, MAX_ITERATIONS};
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

/// Most slices.
pub(crate) const MOST_SLICES: usize = 64;
/// Largest distance between slices, m.
pub(crate) const LARGEST_DISTANCE: f64 = 1.0;
/// First iteration after which distances are refined, unless a recipe says otherwise.
pub(crate) const REFINE_FROM: usize = 10;

/// Distances between slices, m.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a distance in metres, or a list of them"
)]
pub enum SliceDistance {
    /// The same between all neighbours.
    Same(f64),
    /// One for each two neighbours, in the order of the beam.
    Each(Vec<f64>),
}

/// Slices of a thick specimen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SliceOptions {
    /// Number of slices; 1: the specimen is thin.
    pub count: usize,
    /// Distances between them, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<SliceDistance>,
    /// Whether the distances are refined.
    pub refine_distance: bool,
    /// First iteration of the run, counted from 1, after which they are.
    pub refine_from: usize,
}

impl Default for SliceOptions {
    fn default() -> Self {
        Self {
            count: 1,
            distance: None,
            refine_distance: false,
            refine_from: REFINE_FROM,
        }
    }
}

impl SliceOptions {
    /// Whether all options have their defaults.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the specimen has several slices.
    #[must_use]
    pub fn are_on(&self) -> bool {
        self.count > 1
    }

    /// One sentence for each option that has no effect on a run of `planned` iterations.
    pub(crate) fn without_effect(&self, planned: usize) -> Option<String> {
        if !self.are_on() && !self.is_default() {
            return Some("slices have no effect: slices.count is 1".to_owned());
        }
        (self.are_on() && self.refine_distance && self.refine_from > planned).then(|| {
            format!(
                "slices.refine_from = {} is after the last iteration, which is {planned}: the distances are not refined",
                self.refine_from
            )
        })
    }

    /// The distances between neighbours, m.
    pub(crate) fn distances(&self) -> Vec<f64> {
        match &self.distance {
            Some(SliceDistance::Same(distance)) => vec![*distance; self.count.saturating_sub(1)],
            Some(SliceDistance::Each(distances)) => distances.clone(),
            None => Vec::new(),
        }
    }

    /// Checks the options and those of `recipe` that slices do not go with.
    pub(crate) fn check(&self, recipe: &Recipe) -> Result<(), RecipeError> {
        let refused = |option: &str, expected: &str, found: String| {
            Err(RecipeError::new(option, expected, found))
        };
        if !(1..=MOST_SLICES).contains(&self.count) {
            let found = self.count.to_string();
            return refused("slices.count", &format!("1 to {MOST_SLICES}"), found);
        }
        if !(1..=MAX_ITERATIONS).contains(&self.refine_from) {
            let expected = format!("iteration 1 to {MAX_ITERATIONS}");
            let found = self.refine_from.to_string();
            return refused("slices.refine_from", &expected, found);
        }
        if !self.are_on() {
            return Ok(());
        }
        let gaps = self.count - 1;
        let expected = format!(
            "one distance above 0 m, or a list of {gaps}, of at most {} m, with slices.count = {}",
            shortest(LARGEST_DISTANCE),
            self.count
        );
        let distances = self.distances();
        if distances.len() != gaps {
            let found = match &self.distance {
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
        if let Some(spec) = recipe.engines.iter().find(|spec| other(spec.name)) {
            return refused(
                "slices.count",
                "1, or only the engines lsqml and ml, which can compute slices (such as --engine lsqml:100)",
                format!("{} with {}", self.count, spec.name.as_str()),
            );
        }
        let ideal = DetectorOptions::default();
        let unsupported = [
            ("data.near_field", recipe.data.is_near_field()),
            ("positions.refine", !recipe.positions.refine.is_empty()),
            ("fit_frame_scales", recipe.fit_frame_scales),
            ("object_modes", recipe.object_modes > 1),
            ("fly.points", recipe.fly.points > 1),
            ("opr_modes", recipe.opr_modes > 0),
            ("detector.blur", recipe.detector.blur != ideal.blur),
            (
                "detector.background",
                recipe.detector.background != ideal.background,
            ),
            ("detector.background_from", !recipe.detector.is_default()),
        ];
        if let Some((option, _)) = unsupported.iter().find(|(_, on)| *on) {
            let found = format!("{} slices with it", self.count);
            return refused(option, "no slices (slices.count = 1)", found);
        }
        for spec in &recipe.engines {
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
                    format!("{} slices with it", self.count),
                );
            }
        }
        Ok(())
    }
}
