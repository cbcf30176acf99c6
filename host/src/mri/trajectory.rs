//! Paths through k-space, cycles/pixel.

use ndarray::Array2;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// π over the golden ratio: 111.246…°.
pub const GOLDEN_ANGLE: f64 = PI * 0.618_033_988_749_894_9;

/// The two-dimensional golden means: R. W. Chan et al., Magn. Reson. Med. 61 (2009) 354.
pub const GOLDEN_MEANS: [f64; 2] = [0.465_571_231_876_768, 0.682_327_803_828_019_3];

/// Samples along a spiral's arc per pixel of Nyquist's step.
const ALONG_ARC: f64 = 1.25;
/// Turns of one interleave of a spiral, about.
const TURNS: f64 = 8.0;

/// A family of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Whole spokes through the origin, evenly spread: angles π s/S; in a volume on Vogel's spiral
    /// over the half sphere.
    Radial,
    /// Whole spokes, each [`GOLDEN_ANGLE`] after the one before; in a volume by [`GOLDEN_MEANS`].
    Golden,
    /// Interleaved spirals of Archimedes from the origin, evenly spaced along their arcs, so that k-space
    /// is covered with uniform density; in a volume one set for each slice of k-space.
    Spiral,
}

/// Readouts of equal length.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    /// (sample, axis): kx, ky[, kz].
    pub places: Array2<f64>,
    /// Samples of a readout.
    pub length: usize,
    /// Of each readout: spoke or interleave, and slice of k-space.
    pub steps: Vec<[usize; 2]>,
}

impl Path {
    /// Spokes, or interleaves, that meet Nyquist's criterion for `matrix` voxels a side.
    #[must_use]
    pub fn enough_spokes(self, matrix: usize, volume: bool) -> usize {
        let n = matrix as f64;
        let count = match (self, volume) {
            (Self::Spiral, _) => n / (2.0 * TURNS),
            (_, false) => FRAC_PI_2 * n,
            (_, true) => FRAC_PI_2 * n * n,
        };
        (count.ceil() as usize).max(1)
    }

    /// Samples of a readout that meet it, twice over on a spoke.
    #[must_use]
    pub fn enough_samples(self, matrix: usize, spokes: usize) -> usize {
        match self {
            Self::Radial | Self::Golden => 2 * matrix,
            Self::Spiral => {
                let n = matrix as f64;
                let arc = Arc::new(n / (2.0 * spokes as f64));
                (ALONG_ARC * n * arc.length()).ceil().max(2.0) as usize
            }
        }
    }

    /// `spokes` readouts of `samples` each, for `matrix` voxels a side; a stack of spirals has that
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

/// k = (j − S/2)/S along each direction: half a cycle a pixel at one end, the origin among them.
fn through_origin(
    directions: impl Iterator<Item = [f64; 3]>,
    spokes: usize,
    samples: usize,
    axes: usize,
) -> Trajectory {
    let mut places = Array2::zeros((spokes * samples, axes));
    for (spoke, direction) in directions.enumerate() {
        for j in 0..samples {
            let k = (j as f64 - (samples / 2) as f64) / samples as f64;
            for axis in 0..axes {
                places[[spoke * samples + j, axis]] = k * direction[axis];
            }
        }
    }
    Trajectory {
        places,
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
    let mut places = Array2::zeros((slices * spokes * samples, axes));
    let mut steps = Vec::with_capacity(slices * spokes);
    for slice in 0..slices {
        for spoke in 0..spokes {
            let (sine, cosine) = (TAU * spoke as f64 / spokes as f64).sin_cos();
            for (j, [x, y]) in points.iter().enumerate() {
                let at = (slice * spokes + spoke) * samples + j;
                places[[at, 0]] = cosine * x - sine * y;
                places[[at, 1]] = sine * x + cosine * y;
                if volume {
                    places[[at, 2]] = (slice as f64 - (slices / 2) as f64) / slices as f64;
                }
            }
            steps.push([spoke, slice]);
        }
    }
    Trajectory {
        places,
        length: samples,
        steps,
    }
}

/// A spiral of Archimedes from the origin to |k| = 0.5.
struct Arc {
    /// |k| a radian.
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

    /// Length from the origin to `angle`: (p/2)(θ √(1 + θ²) + asinh θ).
    fn until(&self, angle: f64) -> f64 {
        let root = (1.0 + angle * angle).sqrt();
        0.5 * self.pitch * (angle * root + angle.asinh())
    }

    fn length(&self) -> f64 {
        self.until(self.end)
    }

    /// The place at a share of the length.
    fn at(&self, share: f64) -> [f64; 2] {
        let wanted = share * self.length();
        // Convex and increasing: Newton's steps from the end come down to it.
        let mut angle = self.end;
        for _ in 0..60 {
            let slope = self.pitch * (1.0 + angle * angle).sqrt();
            let step = (self.until(angle) - wanted) / slope;
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
        let row = trajectory.places.row(sample);
        row.iter().map(|k| k * k).sum::<f64>().sqrt()
    }

    #[test]
    fn every_path_stays_within_half_a_cycle_and_reaches_it() {
        for path in [Path::Radial, Path::Golden, Path::Spiral] {
            for volume in [false, true] {
                let spokes = path.enough_spokes(16, false);
                let samples = path.enough_samples(16, spokes);
                let t = path.trajectory(16, spokes, samples, volume);
                assert_eq!(t.places.nrows(), t.steps.len() * t.length);
                assert!(t.places.iter().all(|k| k.abs() <= 0.5), "{path:?} {volume}");
                let most = (0..t.places.nrows())
                    .map(|s| radius(&t, s))
                    .fold(0.0, f64::max);
                assert!(most > 0.499, "{path:?} {volume}: {most}");
            }
        }
    }

    #[test]
    fn golden_spokes_are_111_degrees_apart_and_spread_evenly() {
        assert!((GOLDEN_ANGLE.to_degrees() - 111.246_117_974_981_08).abs() < 1e-12);
        let t = Path::Golden.trajectory(32, 34, 64, false);
        let mut angles: Vec<f64> = (0..34)
            .map(|s| {
                let first = t.places.row(s * 64);
                first[1].atan2(first[0]).rem_euclid(PI)
            })
            .collect();
        angles.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = angles.windows(2).map(|w| w[1] - w[0]).collect();
        // A Fibonacci number of golden angles leaves two gaps, in the golden ratio.
        let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
        let most = gaps.iter().copied().fold(0.0, f64::max);
        assert!(
            (most / least - 1.618_033_988_75).abs() < 1e-6,
            "{}",
            most / least
        );
    }

    #[test]
    fn a_spiral_is_walked_in_even_steps_and_its_turns_are_a_pixel_apart() {
        let (matrix, spokes) = (32, 2);
        let samples = Path::Spiral.enough_samples(matrix, spokes);
        let t = Path::Spiral.trajectory(matrix, spokes, samples, false);
        let steps: Vec<f64> = (1..samples)
            .map(|j| {
                let d = &t.places.row(j) - &t.places.row(j - 1);
                d.iter().map(|v| v * v).sum::<f64>().sqrt()
            })
            .collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        assert!(mean < 1.0 / matrix as f64);
        // Chords of the first turn are shorter than their arcs.
        let after = &steps[samples / 8..];
        assert!(after.iter().all(|s| (s / mean - 1.0).abs() < 0.05));
        // One turn of an interleave takes it so many turns of all of them further.
        let arc = Arc::new(matrix as f64 / (2.0 * spokes as f64));
        let apart = arc.pitch * TAU / spokes as f64;
        assert!((apart * matrix as f64 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn spokes_of_a_volume_cover_the_half_sphere_evenly() {
        for path in [Path::Radial, Path::Golden] {
            let spokes = 2000;
            let t = path.trajectory(16, spokes, 2, true);
            let heights = (0..spokes).map(|s| (2.0 * t.places[[2 * s, 2]]).abs());
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
