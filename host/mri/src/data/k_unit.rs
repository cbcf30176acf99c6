//! Units of positions in k-space.

use super::Extent;
use std::f64::consts::TAU;
use std::fmt;
use warpstride_core::text::significant;

/// A unit of positions in k-space: cycles or radians per length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KUnit {
    /// Radians rather than cycles.
    radians: bool,
    per: Per,
}

/// The length that a unit refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Per {
    /// A pixel of the image.
    Pixel,
    /// Two pixels of the image, so that the positions end at 1, the largest that the matrix needs.
    TwoPixels,
    /// The field of view.
    FieldOfView,
    /// So many metres.
    Metres(u8),
}

/// Centimetres and millimetres as powers of a tenth of a metre.
const METRE: Per = Per::Metres(0);
const CENTIMETRE: Per = Per::Metres(2);
const MILLIMETRE: Per = Per::Metres(3);

/// Largest |k| of a trajectory that a unit explains, cycles/pixel: Nyquist's 0.5 with what is lost
/// to rounding.
const NYQUIST: f64 = 0.5 * (1.0 + KUnit::ROUNDING);
/// A |k| from here to that one is what the matrix needs to the last step.
const EXACT: f64 = 0.49;
/// Half of it, for an image with pixels half as large as were measured. Anything between the two is
/// chance.
const HALF: std::ops::RangeInclusive<f64> = 0.2495..=0.2625;

impl KUnit {
    /// The unit of ISMRMRD, and of this library.
    pub const CYCLES_PER_PIXEL: Self = Self::new(false, Per::Pixel);
    /// The unit of BART.
    pub const CYCLES_PER_FOV: Self = Self::new(false, Per::FieldOfView);

    /// All units.
    pub const ALL: [Self; 11] = [
        Self::CYCLES_PER_PIXEL,
        Self::new(true, Per::Pixel),
        Self::CYCLES_PER_FOV,
        Self::new(true, Per::FieldOfView),
        Self::new(false, METRE),
        Self::new(true, METRE),
        Self::new(false, CENTIMETRE),
        Self::new(true, CENTIMETRE),
        Self::new(false, MILLIMETRE),
        Self::new(true, MILLIMETRE),
        Self::new(false, Per::TwoPixels),
    ];

    /// The names of all units, for messages.
    pub const NAMES: &str = "cycles- or radians-per-pixel, -fov, -m, -cm or -mm, such as cycles-per-fov, or fraction-of-kmax";

    /// A trajectory with a larger |k|, cycles/pixel, reaches as far as its matrix needs, 0.5.
    pub const FULL: f64 = 0.45;

    /// Relative error of a field of view in a header, by which |k| may exceed half a cycle a pixel.
    pub const ROUNDING: f64 = 2e-3;

    const fn new(radians: bool, per: Per) -> Self {
        Self { radians, per }
    }

    /// The unit with this [name](Self::name).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// The name of the option's value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.radians, self.per) {
            (false, Per::Pixel) => "cycles-per-pixel",
            (true, Per::Pixel) => "radians-per-pixel",
            (_, Per::TwoPixels) => "fraction-of-kmax",
            (false, Per::FieldOfView) => "cycles-per-fov",
            (true, Per::FieldOfView) => "radians-per-fov",
            (false, METRE) => "cycles-per-m",
            (true, METRE) => "radians-per-m",
            (false, CENTIMETRE) => "cycles-per-cm",
            (true, CENTIMETRE) => "radians-per-cm",
            (false, Per::Metres(_)) => "cycles-per-mm",
            (true, Per::Metres(_)) => "radians-per-mm",
        }
    }

    /// Whether it refers to a length in metres, so that the field of view must be known.
    #[must_use]
    pub fn needs_field_of_view(self) -> bool {
        matches!(self.per, Per::Metres(_))
    }

    /// Whether it refers to the field of view, so that the number of voxels follows from |k|.
    #[must_use]
    pub fn is_per_field_of_view(self) -> bool {
        self.per == Per::FieldOfView
    }

    /// One cycle a pixel in this unit, along an axis of so many voxels with pixels of this size, m;
    /// `None` if the size is needed and unknown.
    #[must_use]
    pub fn of_cycle(self, voxels: usize, pixel: Option<f64>) -> Option<f64> {
        let cycle = if self.radians { TAU } else { 1.0 };
        Some(match self.per {
            Per::Pixel => cycle,
            Per::TwoPixels => 2.0 * cycle,
            Per::FieldOfView => cycle * voxels.max(1) as f64,
            Per::Metres(tenths) => cycle / (pixel? * 10_f64.powi(i32::from(tenths))),
        })
    }

    /// One cycle a pixel in this unit, along kx, ky[, kz].
    #[must_use]
    pub fn of_cycles(self, extent: &Extent) -> Option<Vec<f64>> {
        let along = |axis: usize| {
            let voxels = extent.matrix[2 - axis];
            let pixel = (extent.field_of_view).map(|view| view[2 - axis] / voxels.max(1) as f64);
            self.of_cycle(voxels, pixel)
        };
        (0..extent.axes).map(along).collect()
    }

    /// The other units in which a trajectory with the largest |k| of `reach`, in this unit, would
    /// be sampled as its matrix needs, or half as far, with the largest |k| in cycles/pixel; the
    /// closest to 0.5 first.
    #[must_use]
    pub fn others(self, reach: &[f64], extent: &Extent) -> Vec<(Self, f64)> {
        let largest = |unit: Self| -> Option<f64> {
            let cycles = unit.of_cycles(extent)?;
            let each = reach.iter().zip(cycles).map(|(k, cycle)| k / cycle);
            Some(each.fold(0.0, f64::max))
        };
        let all = Self::ALL.into_iter().filter(|unit| *unit != self);
        let mut found: Vec<(Self, f64)> = all
            .filter_map(|unit| Some((unit, largest(unit)?)))
            .filter(|(unit, k)| {
                let is_half = HALF.contains(k) && unit.per != Per::TwoPixels;
                (Self::FULL..=NYQUIST).contains(k) || is_half
            })
            .collect();
        found.sort_by(|a, b| (0.5 - a.1).abs().total_cmp(&(0.5 - b.1).abs()));
        // Others are chance if there is one that explains all. So are those that explain whole
        // numbers of cycles in the field of view nearly: 3 would be 0.48 in radians per pixel.
        for least in [EXACT, Self::FULL] {
            let closest = found.first().is_some_and(|(_, k)| *k >= least);
            if closest || least == EXACT && self.is_per_field_of_view() {
                found.retain(|(_, k)| *k >= least);
            }
        }
        found
    }
}

impl fmt::Display for KUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `--k-unit cycles-per-fov would make it 0.5 cycles/pixel, --k-unit radians-per-cm 0.31`; empty
/// without units.
#[must_use]
pub fn advice(units: &[(KUnit, f64)]) -> String {
    let each = units.iter().enumerate().map(|(at, (unit, k))| {
        let (makes, unit_of_k) = match at {
            0 => (" would make it", " cycles/pixel"),
            _ => ("", ""),
        };
        format!("--k-unit {unit}{makes} {}{unit_of_k}", significant(*k, 3))
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn extent(side: usize, view: Option<f64>) -> Extent {
        Extent {
            matrix: [1, side, side],
            axes: 2,
            field_of_view: view.map(|view| [5e-3, view, view]),
        }
    }

    fn names(reach: f64, extent: &Extent) -> Vec<&'static str> {
        let found = KUnit::CYCLES_PER_PIXEL.others(&[reach, reach], extent);
        found.into_iter().map(|(unit, _)| unit.name()).collect()
    }

    #[test]
    fn names_are_parsed_and_differ() {
        for unit in KUnit::ALL {
            assert_eq!(KUnit::parse(unit.name()), Some(unit));
        }
        assert_eq!(KUnit::parse("cycles"), None);
        assert_eq!(
            KUnit::parse("cycles-per-mm")
                .unwrap()
                .of_cycle(64, Some(2e-3)),
            Some(0.5)
        );
    }

    #[test]
    fn the_unit_is_judged_by_the_largest_k() {
        let view = extent(64, Some(0.24));
        assert_eq!(names(32.0, &view), ["cycles-per-fov"]);
        assert_eq!(names(PI, &view)[0], "radians-per-pixel");
        assert_eq!(names(32.0 * TAU, &view), ["radians-per-fov"]);
        // N/(2 FOV)
        assert_eq!(names(133.33, &view)[0], "cycles-per-m");
        assert_eq!(names(1.3334, &view)[0], "cycles-per-cm");
        assert_eq!(names(0.13333, &view)[0], "cycles-per-mm");
        assert_eq!(names(0.13333 * TAU, &view)[0], "radians-per-mm");
        // Half as far as the matrix needs.
        assert_eq!(names(PI / 2.0, &extent(64, None)), ["radians-per-pixel"]);
        // Positions that were divided by the largest.
        assert_eq!(names(1.0, &extent(64, None)), ["fraction-of-kmax"]);
        assert_eq!(names(0.97, &extent(64, None)), ["fraction-of-kmax"]);
        assert_eq!(names(0.52, &extent(64, None)), [""; 0]);
        // Twice as far as the matrix needs.
        assert_eq!(names(2.0, &extent(64, None)), [""; 0]);
        // Radians in the field of view would reach 0.33, which is chance; cycles/m need a field of
        // view.
        assert_eq!(names(133.33, &extent(64, None)), [""; 0]);
        // Cycles/cm would reach 0.375, and 0.47 in a field of view of 30 cm.
        for view in [0.24, 0.3] {
            assert_eq!(names(1.0, &extent(64, Some(view))), ["fraction-of-kmax"]);
        }
    }

    /// Trajectories of BART have whole numbers of cycles in the field of view.
    #[test]
    fn small_trajectories_in_cycles_per_field_of_view_are_in_no_other_unit_by_chance() {
        let cycles = KUnit::CYCLES_PER_FOV;
        for half in 3..64 {
            let reach = f64::from(half) / 2.0;
            for view in [None, Some(0.24), Some(0.3)] {
                assert_eq!(cycles.others(&[reach], &extent(64, view)), [], "{reach}");
            }
        }
        let found = cycles.others(&[PI, PI], &extent(64, None));
        assert_eq!(found[0].0.name(), "radians-per-pixel");
    }

    #[test]
    fn advice_names_each_unit_with_its_largest_k() {
        let found = KUnit::CYCLES_PER_PIXEL.others(&[32.0], &extent(64, None));
        assert_eq!(
            advice(&found),
            "--k-unit cycles-per-fov would make it 0.500 cycles/pixel"
        );
        assert_eq!(advice(&[]), "");
    }
}
