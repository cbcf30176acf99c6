//! The axes of a datacube: coordinates at equal distances, as they are stored, rounded or not.

use super::super::units::attribute_unit;
use warpstride_core::text::shortest;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Largest distance of a coordinate from where equal steps have it, in steps, that means nothing.
const EQUAL: f64 = 0.01;
/// Coordinates of a scan are rounded copies of equal steps, and not those of a raster that leaves
/// out a row, if a step has two units of the last decimal place, or if so many steps are larger,
/// and as many smaller, than the mean.
const ROUNDED: f64 = 0.5;
const BOTH: usize = 3;
/// Most decimal places that coordinates are rounded to.
const MOST_DECIMALS: i32 = 12;
/// Relative error of numbers in single precision.
const SINGLE: f64 = 1.2e-7;
/// Difference of two steps, relative to one of them, from which on it is noted.
const NOTED: f64 = 0.01;

/// The step of an axis and its unit, if it has one.
#[derive(Debug, Clone)]
pub(super) struct AxisStep {
    pub(super) path: String,
    pub(super) step: f64,
    /// Without brackets and underscores, in which older files write units.
    pub(super) unit: String,
    /// Coordinates of the axis of a scan whose steps differ, from the first one on, in steps.
    pub(super) coordinates: Option<Vec<f64>>,
}

/// The steps between the coordinates of an axis.
#[derive(Debug, PartialEq)]
enum Steps {
    /// They are equal: (last − first)/(n − 1).
    Equal(f64),
    /// They are equal before the coordinates were rounded to multiples of the second number.
    Rounded(f64, f64),
    /// They differ, from the least to the greatest.
    Different(f64, f64),
}

impl Steps {
    /// Those of at least two coordinates, none of them infinite or NaN.
    fn of(coordinates: &[f64]) -> Self {
        let (first, last) = (coordinates[0], coordinates[coordinates.len() - 1]);
        let step = (last - first) / (coordinates.len() - 1) as f64;
        let off = (coordinates.iter().enumerate())
            .map(|(n, at)| (at - first - n as f64 * step).abs())
            .fold(0.0, f64::max);
        let largest = coordinates
            .iter()
            .fold(0.0, |most, at| f64::max(most, at.abs()));
        if off <= f64::max(EQUAL * step.abs(), SINGLE * largest) {
            return Self::Equal(step);
        }
        // The ends are rounded too: each is off by half of the last decimal place.
        match last_decimal(coordinates) {
            Some(decimal) if off <= 1.01 * decimal => Self::Rounded(step, decimal),
            _ => {
                let steps = coordinates.windows(2).map(|pair| pair[1] - pair[0]);
                let (least, greatest) = steps.fold((f64::MAX, f64::MIN), |(least, most), step| {
                    (least.min(step), most.max(step))
                });
                Self::Different(least, greatest)
            }
        }
    }
}

/// The largest power of ten of which all coordinates are multiples, up to rounding; `None` if they
/// have too many decimal places.
fn last_decimal(coordinates: &[f64]) -> Option<f64> {
    (-3..=MOST_DECIMALS).find_map(|places| {
        let scale = 10_f64.powi(places);
        let multiple = |at: &f64| {
            let scaled = at * scale;
            (scaled - scaled.round()).abs() <= 4.0 * SINGLE * scaled.abs().max(1.0)
        };
        coordinates.iter().all(multiple).then(|| scale.recip())
    })
}

/// Whether larger and smaller steps than `step`, the mean, are both found several times.
fn mixed(coordinates: &[f64], step: f64) -> bool {
    let steps = coordinates.windows(2).map(|pair| pair[1] - pair[0]);
    let larger = steps.filter(|one| one.abs() > step.abs()).count();
    larger.min(coordinates.len() - 1 - larger) >= BOTH
}

impl AxisStep {
    /// The axis `path` of `length` points, or with two coordinates; that of a scan may have steps
    /// that differ.
    pub(super) fn read(
        source: &Source,
        path: String,
        (length, of_scan): (usize, bool),
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, IoError> {
        let Some(numbers) = source.numbers(&path)? else {
            return Ok(None);
        };
        let all = numbers.reals()?;
        let coordinates: Vec<f64> = all.iter().copied().collect();
        if coordinates.len() < 2 {
            return Ok(None);
        }
        if coordinates.len() != length && coordinates.len() != 2 {
            let expected =
                format!("{length} coordinates, as the data have along this axis, or two");
            return Err(numbers.bad_shape(&expected));
        }
        if let Some(wrong) = coordinates.iter().find(|at| !at.is_finite()) {
            return Err(numbers.bad_value(wrong, "finite coordinates"));
        }
        let unit = attribute_unit(source, &path)?.unwrap_or_default();
        let mut axis = Self::new(path, coordinates[1] - coordinates[0], &unit);
        axis.set_steps(&coordinates, of_scan, &numbers, notes)?;
        Ok(Some(axis))
    }

    /// Sets the step from all coordinates.
    fn set_steps(
        &mut self,
        coordinates: &[f64],
        of_scan: bool,
        numbers: &Numbers<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(), IoError> {
        let first_step = self.step;
        let steps = Steps::of(coordinates);
        let (least, greatest) = match steps {
            Steps::Equal(step) => {
                self.step = step;
                return Ok(());
            }
            Steps::Rounded(step, decimal)
                if !of_scan || decimal <= ROUNDED * step.abs() || mixed(coordinates, step) =>
            {
                self.step = step;
                notes.push(self.rounding_note(decimal, first_step));
                return Ok(());
            }
            Steps::Rounded(..) => {
                let steps = coordinates.windows(2).map(|pair| pair[1] - pair[0]);
                steps.fold((f64::MAX, f64::MIN), |(least, most), step| {
                    (least.min(step), most.max(step))
                })
            }
            Steps::Different(least, greatest) => (least, greatest),
        };
        let found = format!(
            "steps from {} to {} {}",
            rounded(least),
            rounded(greatest),
            self.unit
        );
        if !of_scan {
            return Err(
                numbers.bad_value(found, "equal steps, as those of the pixels of a detector")
            );
        }
        notes.push(format!(
            "{}: {found}: its coordinates are used as positions",
            self.path
        ));
        // The unit of the positions; a step of 0 would have none.
        self.step = if first_step == 0.0 {
            greatest
        } else {
            first_step
        };
        let (first, step) = (coordinates[0], self.step);
        self.coordinates = Some(coordinates.iter().map(|at| (at - first) / step).collect());
        Ok(())
    }

    /// The note that the coordinates are taken for equal steps that were rounded.
    fn rounding_note(&self, decimal: f64, first_step: f64) -> String {
        let first = match (first_step - self.step).abs() > NOTED * self.step.abs() {
            true => format!(" (the first two are {} apart)", rounded(first_step)),
            false => String::new(),
        };
        format!(
            "{}: the coordinates are rounded to {}: the step is taken from the first to the last one, {} {}{first}",
            self.path,
            shortest(decimal),
            rounded(self.step),
            self.unit
        )
    }

    pub(super) fn new(path: String, step: f64, unit: &str) -> Self {
        let unit = unit.replace(['[', ']', '_'], "").trim().to_owned();
        Self {
            path,
            step,
            unit,
            coordinates: None,
        }
    }

    /// The same axis in a unit that the options state.
    pub(super) fn in_unit(mut self, stated: Option<&str>) -> Self {
        if let Some(unit) = stated {
            unit.clone_into(&mut self.unit);
        }
        self
    }

    /// The axis, or the step of the calibration if it counts pixels; a calibration that differs
    /// from the axis is noted.
    pub(super) fn or_calibrated(
        axis: Option<Self>,
        calibrated: Option<&Self>,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        let Some(calibrated) = calibrated else {
            return axis;
        };
        let (counted, axis) = match axis {
            Some(axis) if !axis.counts_pixels() => (None, Some(axis)),
            other => (other, None),
        };
        let Some(axis) = axis else {
            let mut of_pixels = calibrated.clone();
            // Coordinates that differ are in pixels of the calibration.
            if let Some((axis, coordinates)) =
                counted.and_then(|axis| Some((axis.step, axis.coordinates?)))
            {
                of_pixels.coordinates = Some(coordinates.iter().map(|at| at * axis).collect());
            }
            return Some(of_pixels);
        };
        let differs = (axis.step - calibrated.step).abs() > 0.01 * axis.step.abs();
        if axis.unit == calibrated.unit && differs {
            notes.push(format!(
                "{} has steps of {} {}, and {} has {}; the first is used",
                axis.path,
                shortest(axis.step),
                axis.unit,
                calibrated.path,
                shortest(calibrated.step)
            ));
        }
        Some(axis)
    }

    /// Whether it counts pixels, of whose size nothing is known.
    pub(super) fn counts_pixels(&self) -> bool {
        self.unit.is_empty() || self.unit.starts_with("pixel") || self.unit == "px"
    }
}

/// A number with 6 digits.
pub(super) fn rounded(value: f64) -> String {
    let digits = format!("{value:.5e}").parse().unwrap_or(value);
    shortest(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_noted_whatever_the_first_step() {
        let axis = AxisStep::new("/d".to_owned(), 0.2, "[nm]");
        let note = "/d: the coordinates are rounded to 0.1: the step is taken from the first to the last one, 0.2 nm";
        assert_eq!(axis.rounding_note(0.1, 0.2), note);
        let differs = format!("{note} (the first two are 0.3 apart)");
        assert_eq!(axis.rounding_note(0.1, 0.3), differs);
    }

    #[test]
    fn steps_are_those_of_all_coordinates() {
        let equal: Vec<f64> = (0..48).map(|n| f64::from(n) * 0.0116).collect();
        assert!(matches!(Steps::of(&equal), Steps::Equal(step) if (step - 0.0116).abs() < 1e-12));
        let to_hundredths = |at: &f64| (at * 100.0).round() / 100.0;
        let rounded: Vec<f64> = equal.iter().map(to_hundredths).collect();
        let Steps::Rounded(step, decimal) = Steps::of(&rounded) else {
            panic!("{rounded:?}");
        };
        assert!(
            (step - 0.0116).abs() < 0.0116 * 0.02 && decimal == 0.01,
            "{step} {decimal}"
        );
        // Single precision far from zero.
        let single: Vec<f64> = (0..6)
            .map(|n| f64::from(-7000.0_f32 + 0.4 * n as f32))
            .collect();
        assert!(matches!(Steps::of(&single), Steps::Equal(step) if (step - 0.4).abs() < 1e-3));
        let skipped = [0.0, 0.4, 0.8, 1.6, 2.0, 2.4];
        assert!(
            matches!(Steps::of(&skipped), Steps::Different(..)),
            "{:?}",
            Steps::of(&skipped)
        );
        assert!(matches!(
            Steps::of(&[0.0, -0.5, -1.0, -1.5]),
            Steps::Equal(-0.5)
        ));
        assert!(matches!(
            Steps::of(&[0.0, 1.0, 4.0, 9.0]),
            Steps::Different(1.0, 5.0)
        ));
    }
}
