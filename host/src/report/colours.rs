//! Colour maps.

use super::canvas::Colour;
use std::f64::consts::{PI, TAU};

/// Marks values that are not finite; none of the maps has it.
pub(super) const NOT_FINITE: Colour = [255, 0, 255];

/// How numbers become colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Map {
    /// Black at the low limit, white at the high one.
    Grey { low: f64, high: f64 },
    /// Dark blue over green to yellow: of even brightness steps and safe for the colour-blind.
    Sequential { low: f64, high: f64 },
    /// Blue at −limit over white at 0 to red at limit.
    Diverging { limit: f64 },
    /// A closed circle of hues over −π…π.
    Cyclic,
}

impl Map {
    pub(super) fn limits(self) -> [f64; 2] {
        match self {
            Self::Grey { low, high } | Self::Sequential { low, high } => [low, high],
            Self::Diverging { limit } => [-limit, limit],
            Self::Cyclic => [-PI, PI],
        }
    }

    pub(super) fn colour(self, value: f64) -> Colour {
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

/// Hue by phase, brightness 0…1.
pub(super) fn hue(phase: f64, brightness: f64) -> Colour {
    if !phase.is_finite() || !brightness.is_finite() {
        return NOT_FINITE;
    }
    let turn = (phase + PI) / TAU;
    rgb(colorous::SINEBOW, turn - turn.floor())
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
    fn limits_are_the_ends_and_nothing_lies_beyond() {
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
