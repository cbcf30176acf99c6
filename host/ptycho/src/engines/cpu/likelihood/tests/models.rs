//! Engines of the models that have gradients: both fields, layers, variations and the detector.

use super::super::gradient::loss;
use crate::data::VariableProbe;
use crate::engines::cpu::CpuEngine;
use crate::engines::cpu::model::detector::CpuDetector;
use crate::engines::cpu::model::variations::Variations;
use crate::engines::cpu::test_problem::{SHAPE, engine_of, problem, random, step};
use crate::engines::likelihood::Noise;
use crate::model::fly::FlyPaths;
use crate::{BackgroundFit, Detector, EngineName, NearField, Step};
use ndarray::{Array2, Array3};

const NEAR: NearField = NearField {
    wavelength: 1e-10,
    distance: 0.02,
    pixel: [1e-6, 0.8e-6],
};

/// One exit wave for each of two probe modes.
fn engine() -> CpuEngine<f64> {
    thin(None)
}

/// The same in a near field.
fn near_engine() -> CpuEngine<f64> {
    thin(Some(NEAR))
}

fn thin(near_field: Option<NearField>) -> CpuEngine<f64> {
    engine_of(&problem(near_field, 1, FlyPaths::default()))
}

/// Three modes of the object, and three points of each exposure.
fn layered_engine() -> CpuEngine<f64> {
    layered(None)
}

/// The same in a near field.
fn layered_near_engine() -> CpuEngine<f64> {
    layered(Some(NEAR))
}

fn layered(near_field: Option<NearField>) -> CpuEngine<f64> {
    let mut random = random(21);
    let paths = (0..5).map(|_| [3.0 * random.next(), 3.0 * random.next()]);
    let fly = FlyPaths::given(3, paths.collect());
    engine_of(&problem(near_field, 3, fly))
}

/// One exit wave a mode in either field, and several.
pub(super) const FIELDS: [fn() -> CpuEngine<f64>; 4] =
    [engine, near_engine, layered_engine, layered_near_engine];

/// The detector blurs, by more along columns' direction, and has a background.
fn softened(mut engine: CpuEngine<f64>) -> CpuEngine<f64> {
    let [rows, columns] = SHAPE;
    engine.detector = Some(CpuDetector::new(&Detector {
        blur: [0.7, 1.6],
        background: Array2::from_shape_fn((rows, columns), |(r, c)| {
            0.1 + 0.05 * ((r * 5 + c * 3) % 11) as f64
        }),
        fit: BackgroundFit::Pixels,
        from: 1,
        floor: 0.01,
        has_background: true,
    }));
    engine
}

/// The near field on a detector that blurs and has a background.
fn soft_engine() -> CpuEngine<f64> {
    softened(near_engine())
}

/// Either field with three variations of the first probe mode.
pub(in crate::engines::cpu) fn varied_engine(near: bool) -> CpuEngine<f64> {
    const COUNT: usize = 3;
    let mut engine = FIELDS[usize::from(near)]();
    let frames = engine.layout.corners.len();
    let mut random = random(21);
    let [rows, columns] = SHAPE;
    let variable = VariableProbe {
        shapes: Array3::from_shape_fn((COUNT, rows, columns), |_| random.complex()),
        coefficients: Array2::from_shape_fn((frames, COUNT), |_| random.next()),
    };
    engine.variation_count = COUNT;
    engine.variations = Some(Variations::of(&variable));
    engine
}

/// Fields, the detector, layers and variations, and the detector with layers and with variations.
pub(super) const MODELS: [fn() -> CpuEngine<f64>; 9] = [
    engine,
    near_engine,
    layered_engine,
    layered_near_engine,
    soft_engine,
    || varied_engine(false),
    || varied_engine(true),
    || softened(layered_engine()),
    || softened(varied_engine(false)),
];

/// A step of `ml`.
pub(in crate::engines::cpu) fn plain_step() -> Step {
    step(EngineName::Ml)
}

/// Σ(√I_model − √I)² over the valid pixels of all frames.
pub(in crate::engines::cpu) fn amplitude_loss(engine: &CpuEngine<f64>, step: &Step) -> f64 {
    loss(engine, step, Noise::Amplitude).unwrap()
}
