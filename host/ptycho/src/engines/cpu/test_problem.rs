//! What tests of gradients share: five frames of 7 × 10 pixels in which nothing is trivial, random
//! values, and differences in double precision.

use super::CpuEngine;
use crate::data::PixelPositions;
use crate::engines::likelihood::{LikelihoodMethod, Noise};
use crate::model::fly::FlyPaths;
use crate::{
    EngineName, EngineSpec, Magnitudes, NearField, Problem, Recipe, SimulateOptions, Smoothness,
    Step, simulate,
};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Rows and columns of a frame.
pub(super) const SHAPE: [usize; 2] = [7, 10];
/// Probe modes.
pub(super) const MODES: usize = 2;
/// All models of noise.
pub(super) const ALL: [Noise; 3] = [Noise::Gaussian, Noise::Poisson, Noise::Amplitude];

/// Random numbers from a seed.
pub(super) struct Random(Pcg64Mcg);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0.random::<f64>() - 0.5
    }

    pub(super) fn complex(&mut self) -> Complex<f64> {
        Complex::new(self.next(), self.next())
    }

    pub(super) fn vector(&mut self, n: usize) -> Vec<Complex<f64>> {
        (0..n).map(|_| self.complex()).collect()
    }
}

pub(super) fn random(seed: u64) -> Random {
    Random(Pcg64Mcg::seed_from_u64(seed))
}

/// Five frames of 7 × 10 pixels: two modes, fractions, masked and free pixels, an object of so many
/// layers. Layers after the first are around 0.
pub(super) fn problem(near_field: Option<NearField>, layers: usize, fly: FlyPaths) -> Problem {
    let [rows, columns] = SHAPE;
    let corners = vec![[0, 0], [2, 3], [4, 1], [1, 5], [5, 6]];
    let mut random = random(3);
    let frames = corners.len();
    let object_shape = [rows + 6, columns + 7];
    let options = SimulateOptions {
        frame: 16,
        positions: frames,
        ..SimulateOptions::default()
    };
    let other = Problem::prepare(&simulate(&options).unwrap(), &Recipe::default()).unwrap();
    let magnitudes = Array3::from_shape_fn((frames, rows, columns), |_| match random.next() {
        v if v < -0.45 => -1.0,
        v if v > 0.45 => -2.0 - 3.0 * v as f32,
        v => (4.0 * (v + 0.45)) as f32,
    });
    Problem {
        magnitudes: Magnitudes::Memory(magnitudes.into_shared()),
        positions: PixelPositions {
            fractions: (0..frames)
                .map(|_| [random.next(), random.next()])
                .collect(),
            corners,
            object_shape,
            ..other.positions.clone()
        },
        object: Array2::from_shape_fn(object_shape, |_| 1.0 + random.complex()),
        probe: Array3::from_shape_fn((MODES, rows, columns), |_| 2.0 * random.complex()),
        more_layers: Array3::from_shape_fn((layers - 1, object_shape[0], object_shape[1]), |_| {
            random.complex()
        }),
        fly,
        near_field,
        ..other
    }
}

/// The engine of a [`problem`], with the frames between pixels and other scales than 1.
pub(super) fn engine_of(problem: &Problem) -> CpuEngine<f64> {
    let mut engine = CpuEngine::new(problem);
    engine.layout.fractions = problem.positions.fractions.clone();
    engine.layout.scales = vec![0.7, 1.2, 1.0, 1.4, 0.8];
    engine
}

/// Maximum likelihood without smoothing and regulariser.
pub(super) fn method(noise: Noise) -> LikelihoodMethod {
    LikelihoodMethod {
        noise,
        preconditioner: true,
        smooth_gradient: 0.0,
        smooth_gradient_decay: 1.0,
        smoothness: Smoothness {
            weight: 0.0,
            edge: 0.0,
        },
    }
}

/// A step of this engine.
pub(super) fn step(name: EngineName) -> Step {
    let options = SimulateOptions {
        frame: 16,
        positions: 2,
        ..SimulateOptions::default()
    };
    let problem = Problem::prepare(&simulate(&options).unwrap(), &Recipe::default()).unwrap();
    Step::new(&EngineSpec::new(name, 3), &problem, 2)
}

/// The derivative of `objective` at 0, by central differences of the fourth order.
pub(super) fn difference(h: f64, mut objective: impl FnMut(f64) -> f64) -> f64 {
    let mut at = |t: f64| objective(t * h);
    (at(-2.0) - 8.0 * at(-1.0) + 8.0 * at(1.0) - at(2.0)) / (12.0 * h)
}
