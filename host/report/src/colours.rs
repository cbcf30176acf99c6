//! Colour maps.

use super::canvas::Colour;
use std::f64::consts::{PI, TAU};

/// Colour of values that are not finite; no colour map contains it.
pub const NOT_FINITE: Colour = [255, 0, 255];

/// A colour map with its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Map {
    /// Black at the low limit, white at the high one.
    Grey {
        /// The value that is black.
        low: f64,
        /// The value that is white.
        high: f64,
    },
    /// Dark blue over green to yellow (viridis): perceptually uniform and safe for the
    /// colour-blind.
    Sequential {
        /// The value at the dark end.
        low: f64,
        /// The value at the bright end.
        high: f64,
    },
    /// Blue at −limit over white at 0 to red at limit.
    Diverging {
        /// The value that is red; positive.
        limit: f64,
    },
    /// A closed circle of hues from −π to π.
    Cyclic,
}

impl Map {
    /// The values at its two ends.
    #[must_use]
    pub fn limits(self) -> [f64; 2] {
        match self {
            Self::Grey { low, high } | Self::Sequential { low, high } => [low, high],
            Self::Diverging { limit } => [-limit, limit],
            Self::Cyclic => [-PI, PI],
        }
    }

    /// The colour of a value; values beyond the ends have the colours of the ends.
    #[must_use]
    pub fn colour(self, value: f64) -> Colour {
        if !value.is_finite() {
            return NOT_FINITE;
        }
        let [low, high] = self.limits();
        let share = (value - low) / (high - low);
        match self {
            Self::Grey { .. } => [(share.clamp(0.0, 1.0) * 255.0).round() as u8; 3],
            Self::Sequential { .. } => rgb(colorous::VIRIDIS, share.clamp(0.0, 1.0)),
            Self::Diverging { .. } => rgb(colorous::RED_BLUE, 1.0 - share.clamp(0.0, 1.0)),
            Self::Cyclic => rgb(colorous::SINEBOW, share - share.floor()),
        }
    }
}

/// A colour with its hue from `phase`, and `brightness` from 0 to 1.
pub fn hue(phase: f64, brightness: f64) -> Colour {
    if !phase.is_finite() || !brightness.is_finite() {
        return NOT_FINITE;
    }
    let fraction = (phase + PI) / TAU;
    rgb(colorous::SINEBOW, fraction - fraction.floor())
        .map(|v| (f64::from(v) * brightness.clamp(0.0, 1.0)).round() as u8)
}

fn rgb(gradient: colorous::Gradient, share: f64) -> Colour {
    gradient.eval_continuous(share).as_array()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_circle_closes() {
        let near = |a: Colour, b: Colour| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 2);
        assert!(near(Map::Cyclic.colour(-PI), Map::Cyclic.colour(PI)));
        assert!(near(Map::Cyclic.colour(0.4), Map::Cyclic.colour(0.4 - TAU)));
        assert!(near(hue(0.4, 1.0), Map::Cyclic.colour(0.4)));
        assert!(!near(Map::Cyclic.colour(0.0), Map::Cyclic.colour(PI)));
        assert_eq!(hue(1.0, 0.0), [0, 0, 0]);
    }

    #[test]
    fn values_beyond_the_limits_have_the_colours_of_the_limits() {
        let map = Map::Grey {
            low: 0.5,
            high: 1.5,
        };
        let found = [0.0, 0.5, 1.0, 1.5, 9.0].map(|v| map.colour(v)[0]);
        assert_eq!(found, [0, 0, 128, 255, 255]);
        assert_eq!(map.colour(f64::NAN), NOT_FINITE);
        let map = Map::Diverging { limit: 2.0 };
        let [below, zero, above] = [-9.0, 0.0, 2.0].map(|v| map.colour(v));
        assert!(below[2] > below[0] && above[0] > above[2]);
        assert!(zero.iter().all(|v| *v > 235), "{zero:?}");
    }
}
