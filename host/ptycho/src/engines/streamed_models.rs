//! Counts that stay in host memory, with each further part of the model, on the emulator:
//! mini-batches have the bits of counts on the device, `ml` differs by rounding, and what does not
//! travel in blocks is refused.

use super::cuda::GpuEngine;
use crate::data::Propagation;
use crate::{
    Engine, EngineError, EngineName, EngineSpec, FlyOptions, FlyPath, GpuWaves, PositionMethod,
    PositionOptions, Problem, Recipe, SimulateOptions, Step, StreamPlan, UpdateVersion, simulate,
};
use num_complex::Complex;
use warpstride_cuda::gpu::EmulatedDevice;

const FRAMES: usize = 7;
const SIDE: usize = 16;

/// A part of the model, far or near field.
fn problem(part: impl Fn(&mut Recipe), propagation: Propagation) -> Problem {
    let options = SimulateOptions {
        frame: SIDE,
        positions: FRAMES,
        photons: 1e6,
        position_error: 0.3,
        propagation,
        ..SimulateOptions::default()
    };
    let mut recipe = Recipe {
        free_pixels: 0.05,
        fit_frame_scales: true,
        positions: PositionOptions {
            refine: vec![PositionMethod::Gradient],
            start: 2,
            ..PositionOptions::default()
        },
        ..Recipe::default()
    };
    part(&mut recipe);
    Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
}

fn object_modes(recipe: &mut Recipe) {
    recipe.object_modes = 2;
}

/// Points of a path that is the same for all frames.
fn points(recipe: &mut Recipe) {
    recipe.fly = FlyOptions {
        points: 2,
        shift: Some([1e-8, 3e-8]),
        ..FlyOptions::default()
    };
}

/// Points of paths that differ between frames.
fn own_paths(recipe: &mut Recipe) {
    recipe.fly = FlyOptions {
        points: 2,
        path: FlyPath::Scan,
        ..FlyOptions::default()
    };
}

fn variable_probe(recipe: &mut Recipe) {
    (recipe.opr_modes, recipe.opr_from) = (2, 1);
}

fn spec(name: EngineName) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 4);
    spec.batch = spec.batch.map(|_| 3);
    spec
}

fn plan(problem: &Problem) -> StreamPlan {
    StreamPlan::new([FRAMES, SIDE * SIDE], 3, 2, problem.magnitudes.codes())
}

fn engine(
    problem: &Problem,
    plan: Option<StreamPlan>,
) -> Result<GpuEngine<EmulatedDevice>, EngineError> {
    GpuEngine::streamed(EmulatedDevice::new(), problem, UpdateVersion::Tiled, plan)
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
    }
}

#[test]
fn each_part_that_streams_has_the_result_of_counts_on_the_device() {
    let near = Propagation::NearField {
        focus_to_sample: None,
    };
    let parts: [fn(&mut Recipe); 3] = [object_modes, points, variable_probe];
    for (number, part) in parts.into_iter().enumerate() {
        for field in [Propagation::FarField, near] {
            let problem = problem(part, field);
            for name in [EngineName::Lsqml, EngineName::Rpie] {
                let label = format!("{number} {field:?} {name:?}");
                let [mut whole, mut blocks] =
                    [None, Some(plan(&problem))].map(|plan| engine(&problem, plan).unwrap());
                for engine in [&mut whole, &mut blocks] {
                    run(engine, &spec(name), &problem, 1, 3);
                }
                assert_eq!(
                    blocks.object_layers().unwrap(),
                    whole.object_layers().unwrap(),
                    "{label}"
                );
                assert_eq!(blocks.probe().unwrap(), whole.probe().unwrap(), "{label}");
                assert_eq!(
                    blocks.model_parts().unwrap(),
                    whole.model_parts().unwrap(),
                    "{label}"
                );
                assert_eq!(blocks.frames(), whole.frames(), "{label}");
                let [a, b] = [&mut whole, &mut blocks].map(|e| e.metrics().unwrap());
                assert_eq!(a, b, "{label}");
                for engine in [&mut whole, &mut blocks] {
                    run(engine, &spec(EngineName::Ml), &problem, 4, 5);
                }
                let [a, b] = [&mut whole, &mut blocks].map(|e| e.object_layers().unwrap());
                let square = |sum: f64, v: Complex<f64>| sum + v.norm_sqr();
                let difference = a.iter().zip(&b).map(|(a, b)| a - b).fold(0.0, square);
                let power = a.iter().copied().fold(0.0, square);
                assert!(
                    (difference / power).sqrt() < 1e-4,
                    "{label}: {difference} {power}"
                );
            }
        }
    }
}

#[test]
fn what_does_not_stream_is_refused() {
    let refused = |part: fn(&mut Recipe), with_waves: bool| {
        let problem = problem(part, Propagation::FarField);
        let plan = match with_waves {
            true => plan(&problem).with_waves(2, GpuWaves::F32, 2),
            false => plan(&problem),
        };
        engine(&problem, Some(plan)).err()
    };
    for part in [object_modes as fn(&mut Recipe), points] {
        assert!(matches!(
            refused(part, true),
            Some(EngineError::LayeredBlocks)
        ));
        assert!(refused(part, false).is_none());
    }
    assert!(matches!(
        refused(own_paths, false),
        Some(EngineError::LayeredBlocks)
    ));
    let thick = |recipe: &mut Recipe| {
        *recipe = Recipe {
            engines: vec![spec(EngineName::Lsqml)],
            ..Recipe::default()
        };
        recipe.set("slices.distance=2e-5").unwrap();
        recipe.set("slices.count=2").unwrap();
    };
    assert!(matches!(
        refused(thick, false),
        Some(EngineError::StreamedSlices)
    ));
}
