//! Options of the slices of a thick specimen.

use serde::{Deserialize, Serialize};

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
}
