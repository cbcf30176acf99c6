//! Near fields whose geometry does not suit the positions of the scan.

use crate::data::{Geometry, PositionError};
use crate::positions::overlap::Overlap;
use warpstride_core::text::{length, significant};

/// What to do about it.
const ADVICE: &str = "distances or pixel size are wrong, or it is a far-field scan, which is reconstructed without --near-field";

/// A near field in whose geometry the positions define no object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{option}: {reason}")]
pub struct NearFieldMisfit {
    /// The option of a recipe that determines the geometry.
    pub option: &'static str,
    /// What was expected and found.
    pub reason: String,
}

impl NearFieldMisfit {
    /// That of positions which are refused; `None` in the far field, and if other pixels would not
    /// help.
    pub(crate) fn new(error: &PositionError, geometry: &Geometry) -> Option<Self> {
        if !geometry.is_near_field() {
            return None;
        }
        let (expected, found) = match error {
            PositionError::NoMovement { frames, span, .. } => (
                "positions that are more than an effective pixel apart",
                format!("all {frames} within {}", length(*span, 3)),
            ),
            PositionError::TooLarge {
                span_rows,
                span_columns,
                limit,
                ..
            } => (
                "an object with fewer effective pixels",
                format!(
                    "positions over {}, more than {limit:.0} pixels",
                    length(span_rows.max(*span_columns), 3)
                ),
            ),
            PositionError::Unresolved { .. } => return None,
        };
        Some(Self {
            option: match geometry.focus_to_sample() {
                Some(_) => "data.focus_to_sample",
                None => "data.near_field",
            },
            reason: format!(
                "expected {expected}, found {found}, and {}: {ADVICE}",
                described(geometry)
            ),
        })
    }
}

/// The problem that neighbouring positions are less than an effective pixel apart, so that their
/// frames hardly differ. Positions that are all within a pixel (`extent` is theirs on the longer
/// axis, m) are refused besides.
pub(crate) fn small_steps(
    geometry: &Geometry,
    extent: f64,
    overlap: Option<&Overlap>,
) -> Option<String> {
    let step = overlap?.step;
    let pixel = geometry.object_pixel(1, 1);
    let (finer, coarser) = (pixel[0].min(pixel[1]), pixel[0].max(pixel[1]));
    let small = step > 0.0 && step < finer && extent >= coarser;
    (geometry.is_near_field() && small).then(|| {
        format!(
            "neighbouring positions are {} apart, expected more than an effective pixel, found {}: {ADVICE}",
            length(step, 3),
            described(geometry)
        )
    })
}

/// Effective pixel, effective distance and Fresnel number of a near field, and of what beam they
/// are.
fn described(geometry: &Geometry) -> String {
    let both = |values: [String; 2]| match values {
        [rows, columns] if rows == columns => rows,
        [rows, columns] => format!("{rows} x {columns}"),
    };
    let distance = length(geometry.distance, 4);
    let magnification = significant(geometry.magnification(), 4);
    let beam = match geometry.focus_to_sample() {
        None => "a parallel beam, which does not magnify".to_owned(),
        Some(z1) if z1 > geometry.distance => format!(
            "a focus {} before the specimen, farther away than the detector behind it ({distance}), so that the beam is magnified by {magnification} only",
            length(z1, 4)
        ),
        Some(z1) => format!(
            "a focus {} before the specimen and the detector {distance} behind it, magnified by {magnification}",
            length(z1, 4)
        ),
    };
    format!(
        "an effective pixel of {}, an effective distance of {} and a Fresnel number of {} ({beam})",
        both(geometry.object_pixel(1, 1).map(|side| length(side, 4))),
        length(geometry.effective_distance(), 4),
        both(geometry.fresnel_number(1, 1).map(|n| significant(n, 3)))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{PixelPositions, Propagation};
    use ndarray::Array2;

    fn geometry(focus_to_sample: Option<f64>) -> Geometry {
        Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::NearField { focus_to_sample },
        }
    }

    /// The misfit of six frames in a line, `step` apart (m).
    fn misfit(geometry: &Geometry, step: f64) -> Option<NearFieldMisfit> {
        let positions = Array2::from_shape_fn((6, 2), |(frame, axis)| (frame * axis) as f64 * step);
        let pixel = geometry.object_pixel(1, 1);
        let error = PixelPositions::new(&positions, pixel, [32, 32], 0).err()?;
        NearFieldMisfit::new(&error, geometry)
    }

    #[test]
    fn the_geometry_is_named_and_not_the_unit_of_the_positions() {
        // 1 m : 4 mm magnifies 251 times.
        let cone = geometry(Some(4e-3));
        assert_eq!(misfit(&cone, 4e-6), None);
        for (geometry, step, option, texts) in [
            (cone, 1e-8, "data.focus_to_sample", ["398.4 nm", "by 251.0"]),
            (
                cone,
                0.1,
                "data.focus_to_sample",
                ["more than 8192 pixels", "far-field scan"],
            ),
            (
                geometry(Some(30.0)),
                4e-6,
                "data.focus_to_sample",
                ["farther away than the detector", "by 1.033 only"],
            ),
            (
                geometry(None),
                4e-6,
                "data.near_field",
                ["parallel beam", "effective pixel of 100.0"],
            ),
        ] {
            let found = misfit(&geometry, step).unwrap();
            assert_eq!(found.option, option);
            for text in texts {
                assert!(found.reason.contains(text), "{text}: {}", found.reason);
            }
            assert!(!found.reason.contains("in metres"), "{}", found.reason);
        }
        let far = Geometry {
            propagation: Propagation::FarField,
            ..cone
        };
        let same = PositionError::NoMovement {
            frames: 2,
            span: 0.0,
            pixel: 1e-6,
        };
        assert_eq!(NearFieldMisfit::new(&same, &far), None);
    }

    #[test]
    fn steps_below_a_pixel_are_doubtful() {
        let overlap = |step: f64| {
            let positions = Array2::from_shape_fn((9, 2), |(frame, axis)| {
                [frame / 3, frame % 3][axis] as f64 * step
            });
            Overlap::estimate(&positions, None, [32, 32], [4e-7; 2])
        };
        let cone = geometry(Some(4e-3));
        assert_eq!(small_steps(&cone, 1e-6, overlap(4.1e-7).as_ref()), None);
        let text = small_steps(&cone, 1e-6, overlap(3.9e-7).as_ref()).unwrap();
        assert!(
            text.contains("390 nm apart") && text.contains("Fresnel number"),
            "{text}"
        );
        assert_eq!(small_steps(&cone, 1e-7, overlap(1e-8).as_ref()), None);
        let far = Geometry {
            propagation: Propagation::FarField,
            ..cone
        };
        assert_eq!(small_steps(&far, 1e-6, overlap(3.9e-7).as_ref()), None);
    }
}
