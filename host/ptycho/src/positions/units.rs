//! Units in which the positions of a scan are plausible, and positions that are far from the
//! others.

use crate::data::{PositionError, PositionUnitOrigin, Scan};
use crate::session::quantities::Measure;
use crate::session::read_options::si_units;
use ndarray::Array2;
use warpstride_core::text::{Dimension, length, ranges};

/// Steps of a scan that are plausible, in object pixels; the largest is a frame.
const SMALLEST_STEP: f64 = 2.0;
/// The smallest step, in object pixels, with which a unit is offered instead of one that makes no
/// sense: electron microscopes take such.
const SMALLEST_OFFERED: f64 = 0.1;
/// The most likely step, in frames.
const USUAL_STEP: f64 = 0.1;
/// The most likely step of a scan whose frames are not known, m.
const USUAL_METRES: f64 = 3e-7;
/// Part of the positions that is not regarded on each side where they extend the whole by more than
/// so many times.
const OUTLYING: (f64, f64) = (0.05, 5.0);

/// Object pixels in a step of `step` of the unit.
fn in_pixels(unit: &str, step: f64, pixel: f64) -> f64 {
    match unit {
        "pixel" => step,
        unit => si_units(Dimension::Length, unit).map_or(0.0, |metres| metres * step / pixel),
    }
}

/// How far a step is from the usual one.
fn unlikeliness(step: f64, usual: f64) -> f64 {
    (step / usual).ln().abs()
}

/// All units of positions, the likeliest first, and object pixels last.
pub(crate) fn by_likelihood(
    step: f64,
    pixel: [f64; 2],
    [rows, columns]: [usize; 2],
) -> Vec<&'static str> {
    let pixel_size = pixel[0].max(pixel[1]);
    let usual = USUAL_STEP * rows.max(columns) as f64;
    let mut units = Measure::Positions.units().to_vec();
    // Electrons, whose object pixels are smaller than an atom, or nearly.
    if pixel_size < 1e-9 {
        units.push("A");
    }
    let unlikely = |unit: &str| unlikeliness(in_pixels(unit, step, pixel_size), usual);
    units.sort_by(|a, b| unlikely(a).total_cmp(&unlikely(b)));
    units.push("pixel");
    units
}

/// Units in which steps of `step` are between two object pixels and a frame, the likeliest first.
pub(crate) fn plausible_units(step: f64, pixel: [f64; 2], frame: [usize; 2]) -> Vec<&'static str> {
    units_above(SMALLEST_STEP, step, pixel, frame)
}

/// Units in which steps of `step` are between so many object pixels and a frame, the likeliest
/// first.
fn units_above(smallest: f64, step: f64, pixel: [f64; 2], frame: [usize; 2]) -> Vec<&'static str> {
    let pixel_size = pixel[0].max(pixel[1]);
    let pixels = smallest..=frame[0].max(frame[1]) as f64;
    (by_likelihood(step, pixel, frame).into_iter())
        .filter(|unit| pixels.contains(&in_pixels(unit, step, pixel_size)))
        .collect()
}

/// Units of positions for frames that are not known, the likeliest first.
pub(crate) fn likely_units(step: f64) -> Vec<&'static str> {
    let mut units = Measure::Positions.units().to_vec();
    let unlikely = |unit: &str| unlikeliness(in_pixels(unit, step, 1.0), USUAL_METRES);
    units.sort_by(|a, b| unlikely(a).total_cmp(&unlikely(b)));
    units
}

/// The least and the greatest of the finite numbers of a column, without single ones that are far
/// away, if there are any.
fn extent(positions: &Array2<f64>, axis: usize) -> Option<[f64; 2]> {
    let column = positions.column(axis);
    let mut ordered: Vec<f64> = column.iter().copied().filter(|at| at.is_finite()).collect();
    ordered.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*ordered.first()?, *ordered.last()?);
    let (part, times) = OUTLYING;
    let left_out = (part * ordered.len() as f64).ceil() as usize;
    let inner = ordered.get(left_out..ordered.len().saturating_sub(left_out));
    let inner = inner.and_then(|inner| Some([*inner.first()?, *inner.last()?]));
    Some(match inner {
        Some([first, last]) if last > first && high - low > times * (last - first) => [first, last],
        _ => [low, high],
    })
}

/// Distance of neighbours that `positions` (frame, (row, column)) have on average if they fill
/// their extent, without single ones that are far away.
pub(crate) fn typical_step(positions: &Array2<f64>) -> f64 {
    let count = positions.nrows().max(1) as f64;
    let [height, width] = [0, 1].map(|axis| {
        let [first, last] = extent(positions, axis).unwrap_or_default();
        (last - first).max(0.0)
    });
    (height * width / count)
        .sqrt()
        .max(height.max(width) / count)
}

/// The frames whose positions are far from those of most others.
fn outlying(positions: &Array2<f64>) -> Vec<usize> {
    let within = |axis: usize, at: f64| {
        extent(positions, axis).is_none_or(|[first, last]| {
            let more = last - first;
            (first - more..=last + more).contains(&at)
        })
    };
    (positions.outer_iter().enumerate())
        .filter(|(_, position)| !(within(0, position[0]) && within(1, position[1])))
        .map(|(frame, _)| frame)
        .collect()
}

/// What can be done about positions that define no object: clauses that follow the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PositionRemedy {
    /// Nothing is known.
    None,
    /// Some frames are left out, whose positions are far from the others.
    Exclude(String),
    /// Their unit is stated, as another one would be plausible.
    Unit(String),
    /// No unit is plausible, so that the geometry may be wrong.
    Geometry,
}

impl std::fmt::Display for PositionRemedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Exclude(how) | Self::Unit(how) => write!(f, "; {how}"),
            Self::Geometry => f.write_str(
                "; no unit makes them plausible, so that the wavelength, the distance or the pixel size may be wrong",
            ),
        }
    }
}

impl PositionRemedy {
    /// That of positions of `scan` which are too far apart, or not far enough.
    pub(crate) fn new(error: &PositionError, scan: &Scan) -> Self {
        if matches!(error, PositionError::Unresolved { .. }) {
            return Self::None;
        }
        let (pixel, [_, rows, columns]) = (scan.object_pixel(), scan.shape());
        let step = typical_step(scan.positions());
        let far = outlying(scan.positions());
        if !far.is_empty() && plausible_units(step, pixel, [rows, columns]).contains(&"m") {
            let frames = ranges(&scan.stored_frames(&far));
            return Self::Exclude(match far.len() {
                1 => format!(
                    "the position of frame {frames} is far from the others: --exclude {frames} (data.exclude) leaves it out"
                ),
                _ => format!(
                    "the positions of frames {frames} are far from the others: --exclude {frames} (data.exclude) leaves them out"
                ),
            });
        }
        match scan.position_unit() {
            Some(unit) if unit.option == "data.raster.step" => {
                let side = pixel[0].max(pixel[1]);
                Self::Unit(format!(
                    "steps from {} to {} would be plausible (--step, data.raster.step)",
                    length(SMALLEST_STEP * side, 2),
                    length(side * rows.max(columns) as f64, 2)
                ))
            }
            unit => Self::of_unit(unit, step, pixel, [rows, columns]),
        }
    }

    /// Other units than that of the file, or metres, with which steps of `step` metres would be
    /// plausible.
    fn of_unit(
        unit: Option<PositionUnitOrigin>,
        step: f64,
        pixel: [f64; 2],
        frame: [usize; 2],
    ) -> Self {
        let metres = unit
            .and_then(|unit| unit.metres)
            .filter(|metres| *metres > 0.0);
        let metres = metres.unwrap_or(1.0);
        let option = unit.map(|unit| unit.option);
        let of_table = option == Some("data.positions.unit");
        let is_other = |unit: &&str| match *unit {
            "pixel" => !of_table && (metres / pixel[0] - 1.0).abs() > 1e-6,
            unit => si_units(Dimension::Length, unit)
                .is_some_and(|unit| (unit / metres - 1.0).abs() > 1e-6),
        };
        let others: Vec<&str> = (units_above(SMALLEST_OFFERED, step / metres, pixel, frame)
            .into_iter())
        .filter(is_other)
        .collect();
        let numbers = others.join(" or ");
        match (others.first(), option) {
            (None, _) if step > 0.0 => Self::Geometry,
            (None, _) => Self::None,
            (Some(_), None) => Self::Unit(format!(
                "they would be plausible as numbers in {numbers}, which have to be converted to metres"
            )),
            (Some(best), Some(_)) if of_table => Self::Unit(format!(
                "they would be plausible in {numbers}: --position-unit {best} (data.positions.unit)"
            )),
            (Some(best), Some(option)) => Self::Unit(format!(
                "they would be plausible in {numbers}: --set '{option}=\"{best}\"' ({option})"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_tell_the_unit() {
        let positions = Array2::from_shape_fn((100, 2), |(j, k)| {
            0.25 * (if k == 0 { j / 10 } else { j % 10 }) as f64
        });
        let step = typical_step(&positions);
        assert!((step - 0.225).abs() < 0.01, "{step}");
        assert!(outlying(&positions).is_empty());
        let mut glitch = positions.clone();
        glitch[[2, 0]] = 250.0;
        assert!((typical_step(&glitch) / step - 1.0).abs() < 0.2);
        assert_eq!(outlying(&glitch), [2]);
        glitch[[2, 0]] = f64::NAN;
        assert!((typical_step(&glitch) / step - 1.0).abs() < 0.2);
        let pixel = [1e-8; 2];
        let frame = [128, 128];
        assert_eq!(plausible_units(step, pixel, frame), ["um"]);
        assert_eq!(plausible_units(step * 1e-6, pixel, frame), ["m"]);
        assert_eq!(plausible_units(step * 1e-3, pixel, frame), ["mm"]);
        // 22.5 object pixels, 22.5 nm or, with larger object pixels, 22.5 Å.
        assert_eq!(plausible_units(100.0 * step, pixel, frame), ["nm", "pixel"]);
        let electrons = plausible_units(100.0 * step, [7e-10; 2], frame);
        assert_eq!(electrons, ["nm", "A", "pixel"]);
        // The likeliest first: 60 Å are a tenth of the frame, and 60 nm nearly all of it.
        let electrons = plausible_units(60.0, [5e-10; 2], frame);
        assert_eq!(electrons, ["A", "nm", "pixel"]);
        assert!(plausible_units(0.0, pixel, frame).is_empty());
    }

    #[test]
    fn sizes_alone_order_the_units() {
        for (step, unit) in [(0.2, "um"), (150.0, "nm"), (2e-7, "m"), (4e-4, "mm")] {
            assert_eq!(likely_units(step)[0], unit, "{step}");
        }
    }
}
