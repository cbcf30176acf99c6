//! Fly scans: the specimen moves during each exposure, which the model divides into points (Deng et
//! al., Opt. Express 23, 5438 (2015); Huang et al., Sci. Rep. 5, 9074 (2015); Pelz et al., Appl.
//! Phys. Lett. 105, 251101 (2014)).
//!
//! A frame with the path p and S points has the exit waves S_f[P]·O/√S of every point, mutually
//! incoherent, f the fraction of the frame's position plus (s − (S−1)/2)/S · p.

use crate::data::{Exposures, Scan};
use crate::session::recipe::{FlyOptions, FlyPath, FlyPositions};

/// The paths of the frames during their exposures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlyPaths {
    /// Points of each exposure, at least 1.
    points: usize,
    /// (frame): path (row, column), object pixels; empty with one point.
    paths: Vec<[f64; 2]>,
}

impl Default for FlyPaths {
    /// A step scan.
    fn default() -> Self {
        Self {
            points: 1,
            paths: Vec::new(),
        }
    }
}

impl FlyPaths {
    /// Those of `scan`, whose object has pixels of `pixel` (row, column), m.
    pub(crate) fn new(scan: &Scan, options: &FlyOptions, pixel: [f64; 2]) -> Self {
        let points = options.points.max(1);
        if points == 1 {
            return Self::default();
        }
        let in_pixels = |path: [f64; 2]| [0, 1].map(|axis| path[axis] / pixel[axis]);
        let paths = paths(scan, options).into_iter().map(in_pixels).collect();
        Self { points, paths }
    }

    /// The same `points` for given paths (frame), object pixels.
    #[cfg(test)]
    pub(crate) fn given(points: usize, paths: Vec<[f64; 2]>) -> Self {
        Self { points, paths }
    }

    /// The same path (row, column), object pixels, for each of `frames` frames.
    pub(crate) fn along(points: usize, path: [f64; 2], frames: usize) -> Self {
        match points {
            0 | 1 => Self::default(),
            points => Self {
                points,
                paths: vec![path; frames],
            },
        }
    }

    /// Points of each exposure.
    pub(crate) fn points(&self) -> usize {
        self.points
    }

    /// What a result says of them; nothing of a step scan.
    pub(crate) fn exposures(&self) -> Option<Exposures> {
        (self.points > 1).then(|| Exposures {
            points: self.points,
            paths: self.paths.clone(),
        })
    }

    /// Those of a result of `frames` frames; `None` if they are of others.
    pub(crate) fn of_result(exposures: Option<&Exposures>, frames: usize) -> Option<Self> {
        match exposures {
            None => Some(Self::default()),
            Some(of) => (of.paths.len() == frames && of.points > 0).then(|| Self {
                points: of.points,
                paths: of.paths.clone(),
            }),
        }
    }

    /// Path of each frame (row, column), object pixels; empty with one point.
    pub(crate) fn paths(&self) -> &[[f64; 2]] {
        &self.paths
    }

    /// Root of the share of the light that each point has.
    pub(crate) fn root(&self) -> f64 {
        if self.points == 1 {
            1.0
        } else {
            (1.0 / self.points as f64).sqrt()
        }
    }

    /// By how much the probe is shifted at a point of a frame whose position has this fraction,
    /// pixels.
    pub(crate) fn at(&self, frame: usize, point: usize, fraction: [f64; 2]) -> [f64; 2] {
        if self.points == 1 {
            return fraction;
        }
        let count = self.points as f64;
        let part = (point as f64 - (count - 1.0) / 2.0) / count;
        [0, 1].map(|axis| part.mul_add(self.paths[frame][axis], fraction[axis]))
    }
}

/// From the recorded positions to the middles of the exposures (frame, (row, column)), m.
pub(crate) fn to_middles(scan: &Scan, options: &FlyOptions) -> Option<Vec<[f64; 2]>> {
    let half = match options.positions {
        _ if options.points <= 1 => return None,
        FlyPositions::Middle => return None,
        FlyPositions::Start => 0.5,
        FlyPositions::End => -0.5,
    };
    let paths = paths(scan, options).into_iter();
    Some(paths.map(|path| path.map(|v| half * v)).collect())
}

/// The paths (frame, (row, column)), m.
fn paths(scan: &Scan, options: &FlyOptions) -> Vec<[f64; 2]> {
    match options.path {
        FlyPath::Shift => vec![options.shift.unwrap_or_default(); scan.shape()[0]],
        FlyPath::Scan => {
            let exposed = |step: [f64; 2]| step.map(|v| v * options.exposure);
            scan.travel().into_iter().map(exposed).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metres in the place of micrometres, say.
    #[test]
    fn paths_longer_than_the_window_are_refused() {
        use crate::{Problem, ProblemError, Recipe, SimulateOptions, simulate};
        let options = SimulateOptions {
            frame: 16,
            positions: 4,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        let mut recipe = Recipe::default();
        recipe.fly.points = 3;
        recipe.fly.shift = Some([0.05, 0.0]);
        let refused = Problem::prepare(&scan, &recipe).unwrap_err();
        assert!(matches!(refused, ProblemError::LongPath { .. }));
        assert!(refused.to_string().contains("fly.shift"), "{refused}");
        recipe.fly.shift = Some([0.0, -15.0 * scan.object_pixel()[1]]);
        assert!(Problem::prepare(&scan, &recipe).is_ok());
    }

    #[test]
    fn points_are_around_the_middle_of_the_path() {
        let fly = FlyPaths::given(3, vec![[3.0, -6.0]]);
        let at: Vec<[f64; 2]> = (0..3).map(|s| fly.at(0, s, [0.25, 0.0])).collect();
        assert_eq!(at, [[-0.75, 2.0], [0.25, 0.0], [1.25, -2.0]]);
        assert!((fly.root() * fly.root() * 3.0 - 1.0).abs() < 1e-15);
        assert_eq!(FlyPaths::default().at(0, 0, [0.25, 0.5]), [0.25, 0.5]);
    }
}
