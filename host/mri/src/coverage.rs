//! How densely a trajectory covers k-space.

mod evenness;

pub use evenness::Uneven;
pub(crate) use evenness::widest_gap;

use super::{Grid, MriError};
use crate::data::KSpace;
use serde::Serialize;
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;
use warpstride_files::reserved;

/// A readout is straight if its points deviate from the line by less than this share of its length.
const STRAIGHTNESS: f64 = 1e-3;
/// Largest distance of a spoke from the origin, in Nyquist steps.
const MAX_DISTANCE: f64 = 1.0;

/// A trajectory compared with Nyquist's criterion for its matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coverage {
    /// Largest |k| along kx, ky[, kz], cycles/pixel.
    pub reach: Vec<f64>,
    /// Difference of the largest and the smallest k along each axis, cycles/pixel.
    pub span: Vec<f64>,
    /// Cells of 1/N cycles/pixel within the ellipsoid of this reach.
    pub cells: usize,
    /// Cells that hold a sample.
    pub visited: usize,
    /// Cells divided by visited cells: 1 if Nyquist's criterion is met everywhere.
    pub undersampling: f64,
    /// The spokes, if all readouts are straight lines through the origin.
    pub spokes: Option<Spokes>,
}

/// Spokes compared with Nyquist's criterion at their ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spokes {
    /// Whole spokes; one that begins at the origin counts as half.
    pub measured: f64,
    /// π/2 · n in a plane, π/2 · n² in a volume, with n = 2 |k| N the Nyquist steps across the
    /// trajectory: N the largest side, |k| the largest in the samples, cycles/pixel.
    pub nyquist: f64,
    /// Why |k| is not their density; `None` if it is.
    pub uneven: Option<Uneven>,
}

impl Coverage {
    /// The coverage of `kspace`'s trajectory for its own matrix.
    ///
    /// # Errors
    /// [`MriError::HostMemory`] if there is no memory for a mark in each cell.
    pub fn new(kspace: &KSpace) -> Result<Self, MriError> {
        let extent = kspace.extent();
        let [slices, rows, columns] = extent.matrix;
        let sides = &[columns, rows, slices][..extent.axes];
        let reach: Vec<f64> = (0..extent.axes)
            .map(|axis| {
                let column = kspace.trajectory().column(axis);
                column.iter().fold(0.0_f64, |most, k| most.max(k.abs()))
            })
            .collect();
        let span = kspace.trajectory().columns().into_iter().map(|column| {
            let ends = [f64::INFINITY, f64::NEG_INFINITY];
            let [low, high] =
                (column.iter()).fold(ends, |[low, high], k| [low.min(*k), high.max(*k)]);
            high - low
        });
        let span = span.collect();
        let count = sides
            .iter()
            .fold(1_usize, |n, side| n.saturating_mul(*side));
        let mut visited_cells: Vec<bool> = reserved(count).ok_or(MriError::HostMemory {
            what: "the comparison with Nyquist's criterion",
            needed: count,
        })?;
        visited_cells.resize(count, false);
        for position in kspace.trajectory().rows() {
            let cell = position.iter().zip(sides).rev().fold(0, |at, (k, n)| {
                let cell = (k * *n as f64).round() + (n / 2) as f64;
                at * n + (cell.max(0.0) as usize).min(n - 1)
            });
            visited_cells[cell] = true;
        }
        // Only cells that lie entirely inside count, so that cells cut by the rim need no sample.
        let half: Vec<f64> = reach
            .iter()
            .zip(sides)
            .map(|(k, n)| k * *n as f64)
            .collect();
        let (mut cells, mut visited) = (0, 0);
        for (at, has_sample) in visited_cells.iter().enumerate() {
            let (mut rest, mut distance) = (at, 0.0);
            for (n, half) in sides.iter().zip(&half) {
                let position = (rest % n) as f64 - (n / 2) as f64;
                rest /= n;
                let share = if *half > 0.0 {
                    position / half
                } else {
                    position.abs() * 2.0
                };
                distance += share * share;
            }
            if distance <= 1.0 || *has_sample {
                cells += 1;
                visited += usize::from(*has_sample);
            }
        }
        Ok(Self {
            reach,
            span,
            cells,
            visited,
            undersampling: cells as f64 / visited.max(1) as f64,
            spokes: Spokes::of(kspace, sides),
        })
    }
}

impl Spokes {
    fn of(kspace: &KSpace, sides: &[usize]) -> Option<Self> {
        let largest = *sides.iter().max()? as f64;
        let mut measured = 0.0;
        for readout in kspace.readouts() {
            measured += spoke(kspace, &readout.samples, MAX_DISTANCE / largest)?;
        }
        let square = |k: ndarray::ArrayView1<'_, f64>| k.iter().map(|k| k * k).sum::<f64>();
        let trajectory = kspace.trajectory().rows().into_iter();
        let reach = trajectory.map(square).fold(0.0, f64::max).sqrt();
        let nyquist = FRAC_PI_2 * (2.0 * reach * largest).powi(sides.len() as i32 - 1);
        let uneven = evenness::uneven(kspace, MAX_DISTANCE / largest);
        Some(Self {
            measured,
            nyquist,
            uneven,
        })
    }
}

/// 1 for a straight line on both sides of the origin, 0.5 on one side, `None` for anything else.
fn spoke(kspace: &KSpace, samples: &Range<usize>, near: f64) -> Option<f64> {
    let position = |sample: usize| kspace.trajectory().row(sample).to_vec();
    let last = samples.end.checked_sub(1)?;
    let (from, to) = (position(samples.start), position(last));
    let direction: Vec<f64> = from.iter().zip(&to).map(|(a, b)| b - a).collect();
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length <= near {
        return None;
    }
    let along = |point: &[f64]| {
        let steps = point.iter().zip(&from).zip(&direction);
        steps.map(|((p, a), d)| (p - a) * d).sum::<f64>() / (length * length)
    };
    let deviation = |point: &[f64]| {
        let share = along(point);
        let rest = point.iter().zip(&from).zip(&direction);
        rest.map(|((p, a), d)| (p - a - share * d).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let straight = samples
        .clone()
        .all(|s| deviation(&position(s)) <= STRAIGHTNESS * length);
    let origin = vec![0.0; from.len()];
    if !straight || deviation(&origin) > near {
        return None;
    }
    let at = along(&origin) * length;
    match (
        at > -near && at < near,
        at > length - near && at < length + near,
    ) {
        (true, _) | (_, true) => Some(0.5),
        _ if at > 0.0 && at < length => Some(1.0),
        _ => None,
    }
}

/// The grid of voxels that `kspace` was measured for.
#[must_use]
pub fn grid_of(kspace: &KSpace) -> Grid {
    let extent = kspace.extent();
    Grid {
        shape: extent.matrix,
        axes: extent.axes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Extent, Readout};
    use ndarray::Array2;
    use num_complex::Complex;
    use std::f64::consts::PI;

    fn kspace(positions: Vec<[f64; 2]>, length: usize, side: usize) -> KSpace {
        let count = positions.len();
        let readouts = (0..count / length)
            .map(|r| Readout {
                samples: r * length..(r + 1) * length,
                acquisition: r,
                interval: 0.0,
                discarded: 0,
            })
            .collect();
        KSpace::new(
            Extent {
                matrix: [1, side, side],
                axes: 2,
                field_of_view: None,
            },
            Array2::from(positions),
            Array2::from_elem((1, count), Complex::new(1.0, 0.0)),
            readouts,
        )
        .unwrap()
    }

    fn spokes(count: usize, samples: usize, side: usize, whole: bool) -> KSpace {
        let positions = (0..count).flat_map(|spoke| {
            let angle = PI * spoke as f64 / count as f64;
            (0..samples).map(move |j| {
                let k = if whole {
                    j as f64 / samples as f64 - 0.5
                } else {
                    0.5 * j as f64 / samples as f64
                };
                [k * angle.cos(), k * angle.sin()]
            })
        });
        kspace(positions.collect(), samples, side)
    }

    #[test]
    fn a_cartesian_grid_meets_nyquist_and_half_of_its_lines_undersample_twice() {
        let side = 16_usize;
        let line =
            |row: usize| (0..side).map(move |c| [c as f64 / 16.0 - 0.5, row as f64 / 16.0 - 0.5]);
        let all = Coverage::new(&kspace((0..side).flat_map(line).collect(), side, side)).unwrap();
        assert!((all.undersampling - 1.0).abs() < 1e-12);
        let half = (0..side).step_by(2).flat_map(line).collect();
        let half = Coverage::new(&kspace(half, side, side)).unwrap();
        assert!((1.7..2.3).contains(&half.undersampling), "{half:?}");
        assert_eq!(half.spokes, None);
    }

    /// Why the ramp is not the density of spokes at these angles, with these samples.
    fn uneven(angles: &[f64], k: impl Fn(usize, usize) -> f64) -> Option<Uneven> {
        let spoke = |(n, angle): (usize, &f64)| {
            let (sine, cosine) = angle.sin_cos();
            let each: Vec<[f64; 2]> = (0..128)
                .map(|j| k(n, j))
                .map(|k| [k * cosine, k * sine])
                .collect();
            each
        };
        let positions = angles.iter().enumerate().flat_map(spoke).collect();
        let found = Coverage::new(&kspace(positions, 128, 64))
            .unwrap()
            .spokes
            .unwrap();
        found.uneven
    }

    #[test]
    fn equal_spokes_in_even_directions_have_the_ramp_as_density() {
        let full = |_: usize, j: usize| j as f64 / 128.0 - 0.5;
        let half = |_: usize, j: usize| j as f64 / 256.0;
        let over = |angle: f64, count: usize| -> Vec<f64> {
            (0..count)
                .map(|n| angle * n as f64 / count as f64)
                .collect()
        };
        let steps = |angle: f64, count: usize| -> Vec<f64> {
            (0..count).map(|n| angle * n as f64).collect()
        };
        let golden = super::super::trajectory::GOLDEN_ANGLE;
        let twice = [over(PI, 50), over(PI, 50)].concat();
        for (angles, k) in [
            (over(PI, 101), &full as &dyn Fn(usize, usize) -> f64),
            (over(PI, 25), &full),
            (over(2.0 * PI, 50), &full),
            (over(2.0 * PI, 51), &full),
            (over(2.0 * PI, 200), &half),
            (twice.clone(), &full),
        ] {
            assert_eq!(uneven(&angles, k), None, "{}", angles.len());
        }
        let dense = |_: usize, j: usize| (j as f64 / 64.0 - 1.0).powi(3) / 2.0;
        let late = |_: usize, j: usize| (j as f64).powi(2) / 128_f64.powi(2) / 2.0;
        let short = |n: usize, j: usize| (j as f64 / 128.0 - 0.5) * if n == 3 { 0.8 } else { 1.0 };
        let partial = |_: usize, j: usize| j as f64 * 0.75 / 128.0 - 0.25;
        let mut again = over(PI, 50);
        again.push(again[7]);
        let mut missing = over(PI, 50);
        missing.drain(10..14);
        for (angles, k, expected) in [
            (
                over(PI, 101),
                &dense as &dyn Fn(usize, usize) -> f64,
                Uneven::Steps,
            ),
            (over(2.0 * PI, 200), &late, Uneven::Steps),
            (over(PI, 101), &short, Uneven::Lengths),
            (over(PI, 101), &partial, Uneven::Lengths),
            (again, &full, Uneven::Repeated),
            (twice[..70].to_vec(), &full, Uneven::Repeated),
            (missing, &full, Uneven::Directions),
            (over(PI, 100), &half, Uneven::Directions),
            (over(2.0, 60), &full, Uneven::Directions),
            (steps(golden, 55), &full, Uneven::Directions),
            (steps(golden, 7), &full, Uneven::Directions),
            (steps(golden, 400), &full, Uneven::Directions),
            (steps(2.399_963, 144), &half, Uneven::Directions),
        ] {
            assert_eq!(uneven(&angles, k), Some(expected), "{}", angles.len());
        }
    }

    /// Directions on a sphere, with spokes through the origin.
    fn on_sphere(directions: &[[f64; 3]]) -> Option<Uneven> {
        let (samples, side) = (8, 16);
        let positions: Vec<[f64; 3]> = (directions.iter())
            .flat_map(|d| (0..samples).map(move |j| d.map(|d| d * (j as f64 / 8.0 - 0.5))))
            .collect();
        let count = positions.len();
        let readouts = (0..directions.len()).map(|r| Readout {
            samples: r * samples..(r + 1) * samples,
            acquisition: r,
            interval: 0.0,
            discarded: 0,
        });
        let volume = KSpace::new(
            Extent {
                matrix: [side; 3],
                axes: 3,
                field_of_view: None,
            },
            Array2::from(positions),
            Array2::from_elem((1, count), Complex::new(1.0, 0.0)),
            readouts.collect(),
        );
        Coverage::new(&volume.unwrap())
            .unwrap()
            .spokes
            .unwrap()
            .uneven
    }

    #[test]
    fn spokes_of_a_volume_are_compared_on_the_sphere() {
        use super::super::trajectory::Path;
        for path in [Path::Radial, Path::Golden] {
            for count in [60, 403, 2000] {
                let spokes = path.trajectory(16, count, 2, true).positions;
                let mut directions: Vec<[f64; 3]> = (0..count)
                    .map(|s| [0, 1, 2].map(|axis| -2.0 * spokes[[2 * s, axis]]))
                    .collect();
                assert_eq!(on_sphere(&directions), None, "{path:?} {count}");
                directions.push(directions[5]);
                assert_eq!(on_sphere(&directions), Some(Uneven::Repeated));
            }
        }
        // Equal steps of both angles are dense at the poles.
        let grid: Vec<[f64; 3]> = (0..30 * 30)
            .map(|n| {
                let (polar, azimuth) = ((n / 30) as f64 + 0.5, (n % 30) as f64);
                let ((s, c), azimuth) = ((PI * polar / 30.0).sin_cos(), PI * azimuth / 30.0);
                [s * azimuth.cos(), s * azimuth.sin(), c]
            })
            .collect();
        assert_eq!(on_sphere(&grid), Some(Uneven::Directions));
    }

    #[test]
    fn cells_that_memory_cannot_hold_are_an_error() {
        let extent = Extent {
            matrix: [1 << 20; 3],
            axes: 3,
            field_of_view: None,
        };
        let readout = Readout {
            samples: 0..2,
            acquisition: 0,
            interval: 0.0,
            discarded: 0,
        };
        let trajectory = Array2::from(vec![[0.0; 3], [0.1; 3]]);
        let samples = Array2::from_elem((1, 2), Complex::new(1.0, 0.0));
        let huge = KSpace::new(extent, trajectory, samples, vec![readout]).unwrap();
        let refused = matches!(Coverage::new(&huge), Err(MriError::HostMemory { .. }));
        assert!(refused);
    }

    #[test]
    fn spokes_are_counted_against_the_circle_at_their_ends() {
        let enough = Coverage::new(&spokes(101, 128, 64, true)).unwrap();
        let found = enough.spokes.unwrap();
        assert_eq!(found.measured, 101.0);
        assert!((found.nyquist - 100.53).abs() < 0.01);
        assert!(enough.undersampling < 1.1, "{}", enough.undersampling);
        let few = Coverage::new(&spokes(10, 128, 64, true)).unwrap();
        assert!((4.0..10.1).contains(&few.undersampling), "{few:?}");
        // The same spokes of pixels half as large reach half as far, and need as many.
        let far = Coverage::new(&spokes(101, 128, 64, true)).unwrap();
        let mut near = spokes(101, 128, 128, true).trajectory().mapv(|k| k / 2.0);
        let positions = near.rows_mut().into_iter().map(|k| [k[0], k[1]]).collect();
        let near = Coverage::new(&kspace(positions, 128, 128)).unwrap();
        let nyquist = |of: &Coverage| of.spokes.as_ref().unwrap().nyquist;
        assert!((nyquist(&near) - nyquist(&far)).abs() < 1e-9);
        let half = Coverage::new(&spokes(10, 64, 64, false)).unwrap();
        assert_eq!(half.spokes.unwrap().measured, 5.0);
    }
}
