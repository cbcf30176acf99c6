//! Options of fly scans.

use super::RecipeError;
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

/// Most points of an exposure.
pub(crate) const MAX_POINTS: usize = 64;
/// Longest path, m: a shift in other units is larger.
const LONGEST: f64 = 0.1;

/// Where the specimen goes during an exposure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlyPath {
    /// Along `shift`, the same for all frames.
    Shift,
    /// From each position towards the next one.
    Scan,
}

/// The place of a path at which the recorded positions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlyPositions {
    /// Its middle.
    Middle,
    /// Its start.
    Start,
    /// Its end.
    End,
}

/// Motion during each exposure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlyOptions {
    /// Points of the path, 1 to 64; 1: a step scan.
    pub points: usize,
    /// Where the path comes from.
    pub path: FlyPath,
    /// Path during an exposure (row, column), m, in the directions of the positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<[f64; 2]>,
    /// Share of the step to the next position during which the shutter is open.
    pub exposure: f64,
    /// The place of the path at which the recorded positions are.
    pub positions: FlyPositions,
}

impl Default for FlyOptions {
    fn default() -> Self {
        Self {
            points: 1,
            path: FlyPath::Shift,
            shift: None,
            exposure: 1.0,
            positions: FlyPositions::Middle,
        }
    }
}

impl FlyOptions {
    /// Whether all options have their defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether exposures have several points.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.points > 1
    }

    /// One sentence for each option that has no effect.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let default = Self::default();
        let given = [
            ("shift", self.shift.is_some()),
            ("path", self.path != default.path),
            ("exposure", self.exposure != default.exposure),
            ("positions", self.positions != default.positions),
        ];
        let along = |option: &str| match (option, self.path) {
            ("shift", FlyPath::Scan) => Some("fly.path is \"scan\""),
            ("exposure", FlyPath::Shift) => {
                Some("fly.path is \"shift\", and fly.shift is the path of a whole exposure")
            }
            _ => None,
        };
        let reason = |option: &str| match self.moves() {
            true => along(option),
            false => Some("fly.points is 1, a step scan"),
        };
        let given = given.into_iter().filter(|(_, given)| *given);
        given
            .filter_map(|(option, _)| Some((option, reason(option)?)))
            .map(|(option, reason)| format!("fly.{option} has no effect: {reason}"))
            .collect()
    }

    pub(super) fn check(&self) -> Result<(), RecipeError> {
        if !(1..=MAX_POINTS).contains(&self.points) {
            let expected = format!("1 to {MAX_POINTS}");
            return Err(RecipeError::new(
                "fly.points",
                expected,
                self.points.to_string(),
            ));
        }
        if let Some(wrong) = (self.shift.iter().flatten()).find(|v| v.is_nan() || v.abs() > LONGEST)
        {
            return Err(RecipeError::new(
                "fly.shift",
                "[row, column] of at most 0.1 m",
                shortest(*wrong),
            ));
        }
        if self.moves() && self.path == FlyPath::Shift && self.shift.is_none() {
            return Err(RecipeError::new(
                "fly.shift",
                "[row, column] in metres (--fly-shift 0,1.5um), or fly.path = \"scan\" (--fly-shift scan), if fly.points is above 1",
                "none",
            ));
        }
        if !(self.exposure > 0.0 && self.exposure <= 1.0) {
            return Err(RecipeError::new(
                "fly.exposure",
                "a share above 0, at most 1",
                shortest(self.exposure),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_effect_are_named() {
        let of = |change: &dyn Fn(&mut FlyOptions)| {
            let mut options = FlyOptions::default();
            change(&mut options);
            options.without_effect()
        };
        assert!(of(&|_| ()).is_empty());
        let step = of(&|o| (o.exposure, o.positions) = (0.5, FlyPositions::End));
        assert_eq!(step.len(), 2);
        assert!(step[0].contains("fly.exposure") && step[1].contains("fly.positions"));
        assert!(step.iter().all(|text| text.contains("fly.points is 1")));
        let along = of(&|o| (o.points, o.shift, o.exposure) = (3, Some([0.0, 1e-6]), 0.5));
        assert!(along.len() == 1 && along[0].contains("fly.exposure"));
        let scan = of(&|o| (o.points, o.shift, o.path) = (3, Some([0.0, 1e-6]), FlyPath::Scan));
        assert!(scan.len() == 1 && scan[0].contains("fly.shift"));
        let used = |o: &mut FlyOptions| {
            (o.points, o.path, o.exposure) = (3, FlyPath::Scan, 0.5);
            o.positions = FlyPositions::Start;
        };
        assert!(of(&used).is_empty());
    }
}
