//! Trajectories through k-space, cycles/pixel.

use ndarray::Array2;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// π divided by the golden ratio: 111.246…°.
pub const GOLDEN_ANGLE: f64 = PI * 0.618_033_988_749_894_9;

/// The two-dimensional golden means: R. W. Chan et al., Magn. Reson. Med. 61 (2009) 354.
pub const GOLDEN_MEANS: [f64; 2] = [0.465_571_231_876_768, 0.682_327_803_828_019_3];

/// Samples along a spiral's arc per Nyquist step.
const SAMPLES_PER_STEP: f64 = 1.25;
/// Approximate number of turns of one interleave of a spiral.
const TURNS: f64 = 8.0;

/// A type of trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Full spokes through the origin, evenly spread: angles π s/S; in a volume on Vogel's spiral
    /// over the half sphere.
    Radial,
    /// Full spokes, each [`GOLDEN_ANGLE`] after the previous one; in a volume by [`GOLDEN_MEANS`].
    Golden,
    /// Interleaved Archimedean spirals from the origin, evenly sampled along their arcs, so that
    /// k-space is covered with uniform density; in a volume one set for each slice of k-space.
    Spiral,
}

/// Readouts of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    /// (sample, axis): kx, ky[, kz].
    pub positions: Array2<f64>,
    /// Samples per readout.
    pub length: usize,
    /// Spoke or interleave, and slice of k-space, of each readout.
    pub steps: Vec<[usize; 2]>,
}

impl Path {
    /// Number of spokes or interleaves that meets Nyquist's criterion for `matrix` voxels per side.
    #[must_use]
    pub fn nyquist_spokes(self, matrix: usize, volume: bool) -> usize {
        let n = matrix as f64;
        let count = match (self, volume) {
            (Self::Spiral, _) => n / (2.0 * TURNS),
            (_, false) => FRAC_PI_2 * n,
            (_, true) => FRAC_PI_2 * n * n,
        };
        (count.ceil() as usize).max(1)
    }

    /// Samples per readout that meet Nyquist's criterion, twice that on a spoke.
    #[must_use]
    pub fn nyquist_samples(self, matrix: usize, spokes: usize) -> usize {
        match self {
            Self::Radial | Self::Golden => 2 * matrix,
            Self::Spiral => {
                let n = matrix as f64;
                let arc = Arc::new(n / (2.0 * spokes as f64));
                (SAMPLES_PER_STEP * n * arc.length()).ceil().max(2.0) as usize
            }
        }
    }

    /// `spokes` readouts of `samples` each, for `matrix` voxels per side; a stack of spirals has as
    /// many for each of `matrix` slices.
    #[must_use]
    pub fn trajectory(
        self,
        matrix: usize,
        spokes: usize,
        samples: usize,
        volume: bool,
    ) -> Trajectory {
        match (self, volume) {
            (Self::Spiral, _) => spirals(matrix, spokes, samples, volume),
            (_, false) => {
                let angle = |spoke: usize| match self {
                    Self::Radial => PI * spoke as f64 / spokes as f64,
                    _ => spoke as f64 * GOLDEN_ANGLE,
                };
                let directions = (0..spokes).map(|s| {
                    let (sine, cosine) = angle(s).sin_cos();
                    [cosine, sine, 0.0]
                });
                through_origin(directions, spokes, samples, 2)
            }
            (_, true) => {
                let directions = (0..spokes).map(|s| {
                    let (height, azimuth) = match self {
                        Self::Radial => (
                            1.0 - (s as f64 + 0.5) / spokes as f64,
                            2.0 * s as f64 * GOLDEN_ANGLE,
                        ),
                        _ => (
                            (s as f64 * GOLDEN_MEANS[0]).fract(),
                            TAU * (s as f64 * GOLDEN_MEANS[1]).fract(),
                        ),
                    };
                    let (sine, cosine) = azimuth.sin_cos();
                    let flat = (1.0 - height * height).max(0.0).sqrt();
                    [flat * cosine, flat * sine, height]
                });
                through_origin(directions, spokes, samples, 3)
            }
        }
    }
}

/// k = (j − S/2)/S along each direction: it includes the origin and half a cycle per pixel at one
/// end.
fn through_origin(
    directions: impl Iterator<Item = [f64; 3]>,
    spokes: usize,
    samples: usize,
    axes: usize,
) -> Trajectory {
    let mut positions = Array2::zeros((spokes * samples, axes));
    for (spoke, direction) in directions.enumerate() {
        for j in 0..samples {
            let k = (j as f64 - (samples / 2) as f64) / samples as f64;
            for axis in 0..axes {
                positions[[spoke * samples + j, axis]] = k * direction[axis];
            }
        }
    }
    Trajectory {
        positions,
        length: samples,
        steps: (0..spokes).map(|s| [s, 0]).collect(),
    }
}

fn spirals(matrix: usize, spokes: usize, samples: usize, volume: bool) -> Trajectory {
    let axes = if volume { 3 } else { 2 };
    let slices = if volume { matrix } else { 1 };
    let arc = Arc::new(matrix as f64 / (2.0 * spokes as f64));
    let points: Vec<[f64; 2]> = (0..samples)
        .map(|j| arc.at(j as f64 / (samples.max(2) - 1) as f64))
        .collect();
    let mut positions = Array2::zeros((slices * spokes * samples, axes));
    let mut steps = Vec::with_capacity(slices * spokes);
    for slice in 0..slices {
        for spoke in 0..spokes {
            let (sine, cosine) = (TAU * spoke as f64 / spokes as f64).sin_cos();
            for (j, [x, y]) in points.iter().enumerate() {
                let at = (slice * spokes + spoke) * samples + j;
                positions[[at, 0]] = cosine * x - sine * y;
                positions[[at, 1]] = sine * x + cosine * y;
                if volume {
                    positions[[at, 2]] = (slice as f64 - (slices / 2) as f64) / slices as f64;
                }
            }
            steps.push([spoke, slice]);
        }
    }
    Trajectory {
        positions,
        length: samples,
        steps,
    }
}

/// An Archimedean spiral from the origin to |k| = 0.5.
struct Arc {
    /// |k| per radian.
    pitch: f64,
    /// Its last angle.
    end: f64,
}

impl Arc {
    fn new(turns: f64) -> Self {
        let end = TAU * turns;
        Self {
            pitch: 0.5 / end,
            end,
        }
    }

    /// Arc length from the origin to `angle`: (p/2)(θ √(1 + θ²) + asinh θ).
    fn until(&self, angle: f64) -> f64 {
        let root = (1.0 + angle * angle).sqrt();
        0.5 * self.pitch * (angle * root + angle.asinh())
    }

    fn length(&self) -> f64 {
        self.until(self.end)
    }

    /// The point at a fraction of the length.
    fn at(&self, share: f64) -> [f64; 2] {
        let length = share * self.length();
        // The length is convex and increasing: Newton's method from the end converges
        // monotonically.
        let mut angle = self.end;
        for _ in 0..60 {
            let slope = self.pitch * (1.0 + angle * angle).sqrt();
            let step = (self.until(angle) - length) / slope;
            angle -= step;
            if step.abs() <= 1e-14 * self.end {
                break;
            }
        }
        let angle = angle.clamp(0.0, self.end);
        let (sine, cosine) = angle.sin_cos();
        [self.pitch * angle * cosine, self.pitch * angle * sine]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radius(trajectory: &Trajectory, sample: usize) -> f64 {
        let row = trajectory.positions.row(sample);
        row.iter().map(|k| k * k).sum::<f64>().sqrt()
    }

    #[test]
    fn every_path_stays_within_half_a_cycle_and_reaches_it() {
        for path in [Path::Radial, Path::Golden, Path::Spiral] {
            for volume in [false, true] {
                let spokes = path.nyquist_spokes(16, false);
                let samples = path.nyquist_samples(16, spokes);
                let t = path.trajectory(16, spokes, samples, volume);
                assert_eq!(t.positions.nrows(), t.steps.len() * t.length);
                assert!(
                    t.positions.iter().all(|k| k.abs() <= 0.5),
                    "{path:?} {volume}"
                );
                let largest = (0..t.positions.nrows())
                    .map(|s| radius(&t, s))
                    .fold(0.0, f64::max);
                assert!(largest > 0.499, "{path:?} {volume}: {largest}");
            }
        }
    }

    #[test]
    fn golden_spokes_are_111_degrees_apart_and_spread_evenly() {
        assert!((GOLDEN_ANGLE.to_degrees() - 111.246_117_974_981_08).abs() < 1e-12);
        let t = Path::Golden.trajectory(32, 34, 64, false);
        let mut angles: Vec<f64> = (0..34)
            .map(|s| {
                let first = t.positions.row(s * 64);
                first[1].atan2(first[0]).rem_euclid(PI)
            })
            .collect();
        angles.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = angles.windows(2).map(|w| w[1] - w[0]).collect();
        // A Fibonacci number of golden angles leaves gaps of two widths, in the golden ratio.
        let smallest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = gaps.iter().copied().fold(0.0, f64::max);
        assert!(
            (largest / smallest - 1.618_033_988_75).abs() < 1e-6,
            "{}",
            largest / smallest
        );
    }

    #[test]
    fn a_spiral_has_even_steps_and_turns_one_nyquist_step_apart() {
        let (matrix, spokes) = (32, 2);
        let samples = Path::Spiral.nyquist_samples(matrix, spokes);
        let t = Path::Spiral.trajectory(matrix, spokes, samples, false);
        let steps: Vec<f64> = (1..samples)
            .map(|j| {
                let d = &t.positions.row(j) - &t.positions.row(j - 1);
                d.iter().map(|v| v * v).sum::<f64>().sqrt()
            })
            .collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        assert!(mean < 1.0 / matrix as f64);
        // Chords of the first turn are shorter than their arcs.
        let after = &steps[samples / 8..];
        assert!(after.iter().all(|s| (s / mean - 1.0).abs() < 0.05));
        // One turn of an interleave spans as many turns of the whole set as there are interleaves.
        let arc = Arc::new(matrix as f64 / (2.0 * spokes as f64));
        let spacing = arc.pitch * TAU / spokes as f64;
        assert!((spacing * matrix as f64 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn spokes_of_a_volume_cover_the_half_sphere_evenly() {
        for path in [Path::Radial, Path::Golden] {
            let spokes = 2000;
            let t = path.trajectory(16, spokes, 2, true);
            let heights = (0..spokes).map(|s| (2.0 * t.positions[[2 * s, 2]]).abs());
            // Uniform on the half sphere: heights are uniform in 0 … 1.
            let mean = heights.clone().sum::<f64>() / spokes as f64;
            let below = heights.filter(|h| *h < 0.25).count();
            assert!(
                (mean - 0.5).abs() < 0.01 && below.abs_diff(500) < 20,
                "{mean} {below}"
            );
        }
    }
}
