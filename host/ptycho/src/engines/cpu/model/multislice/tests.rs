//! The propagations have their adjoints; every gradient is the derivative of the objective, whose
//! differences are taken in double precision; slices without distance are their product; runs
//! resume with the same bits; nothing is ever NaN.

use super::*;
use crate::Ranks;
use crate::engines::cpu::likelihood::loss;
use crate::engines::cpu::model::shift::spectra;
use crate::engines::cpu::test_problem::{
    self, ALL, MODES, SHAPE, difference, engine_of, method, random, step,
};
use crate::model::fly::FlyPaths;
use crate::model::multislice::{Distances, SlicePlan};
use crate::quality::{Reference, compare_slices};
use crate::{
    Engine, EngineName, EngineSpec, Magnitudes, Problem, Recipe, SimulateOptions, SliceDistance,
    SliceOptions, Step, simulate,
};
use ndarray::Array3;
use std::sync::Arc;
use warpstride_ranks::threads;

/// Object pixels, m: of the second, waves of the highest frequencies are evanescent.
const PIXELS: [[f64; 2]; 2] = [[2e-9, 1.6e-9], [0.5e-10, 0.6e-10]];

fn plan(pixel: [f64; 2], scale: f64) -> SlicePlan {
    SlicePlan {
        wavelength: 1e-10,
        pixel,
        distances: vec![1.3 * scale, 0.8 * scale],
        same: false,
        refine: true,
        refine_from: 1,
    }
}

/// The problem that tests of gradients share, with three slices.
fn problem(slices: SlicePlan) -> Problem {
    let thin = test_problem::problem(None, slices.count(), FlyPaths::default());
    Problem {
        more_layers: thin.more_layers.mapv(|v| 1.0 + v),
        slices: Some(slices),
        ..thin
    }
}

fn engine(slices: SlicePlan) -> CpuEngine<f64> {
    engine_of(&problem(slices))
}

fn inner(a: &[Complex<f64>], b: &[Complex<f64>]) -> Complex<f64> {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

/// ⟨A u, v⟩ = ⟨u, A⁻ v⟩, and A keeps the norm where no wave is evanescent.
#[test]
fn propagations_have_their_adjoints() {
    for (n, pixel) in PIXELS.into_iter().enumerate() {
        let engine = engine(plan(pixel, if n == 0 { 1e-7 } else { 1e-9 }));
        let slices = slices_of(&engine);
        assert_eq!(slices.kappa.iter().any(Option::is_none), n == 1);
        let mut scratch = Scratch::new(&engine.layout, &engine.fft);
        for gap in 0..2 {
            let mut random = random(7);
            let [u, v] = [0, 1].map(|_| random.vector(engine.layout.pixels()));
            let (mut of_u, mut of_v) = (u.clone(), v.clone());
            slices.forward(&mut of_u, gap, &mut medium(&mut scratch, &engine.fft));
            slices.adjoint(&mut of_v, gap, &mut medium(&mut scratch, &engine.fft));
            let [left, right] = [inner(&of_u, &v), inner(&u, &of_v)];
            assert!((left - right).norm() < 1e-12 * inner(&u, &u).norm());
            if n == 0 {
                let [before, after] = [inner(&u, &u).re, inner(&of_u, &of_u).re];
                assert!((after / before - 1.0).abs() < 1e-12);
            }
        }
    }
}

/// The first-order change of exit waves and the sums on slices and probe are adjoint to each other.
#[test]
fn the_change_of_exit_waves_and_the_gradients_are_adjoint() {
    for (n, pixel) in PIXELS.into_iter().enumerate() {
        let engine = engine(plan(pixel, if n == 0 { 1e-7 } else { 1e-9 }));
        let CpuEngine { layout, fft, .. } = &engine;
        let pixels = layout.pixels();
        let waves = MODES * pixels;
        let frames = [1_u32, 3, 4];
        let ramps: Vec<_> = (frames.iter())
            .map(|frame| {
                PointRamps::new(layout, *frame as usize, layout.fractions[*frame as usize])
            })
            .collect();
        let of_probe = spectra(&engine.probe, pixels, fft);
        let incident = incident(&engine, true, &of_probe, &frames, &ramps);
        let mut random = random(11);
        let object = random.vector(engine.object.len());
        let probes = random.vector(frames.len() * waves);
        let chi = random.vector(frames.len() * waves);
        let mut scratch = Scratch::new(layout, fft);
        let mut left = Complex::<f64>::default();
        for (n, frame) in frames.iter().enumerate() {
            for mode in 0..MODES {
                let at = n * waves + mode * pixels;
                let mut change = probes[at..at + pixels].to_vec();
                let waves = |slice: usize| &incident[slice][at..at + pixels];
                let corner = layout.corners[*frame as usize];
                let medium = &mut medium(&mut scratch, fft);
                exit_change(&engine, corner, waves, Some(&object), &mut change, medium);
                left += inner(&change, &chi[at..at + pixels]);
            }
        }
        let mut right = Complex::<f64>::default();
        let mut back = chi.clone();
        for slice in (0..3).rev() {
            for (n, frame) in frames.iter().enumerate() {
                let [top, start] = layout.corners[*frame as usize].map(|v| v as usize);
                for i in 0..waves {
                    let (row, column) = (i % pixels / SHAPE[1], i % SHAPE[1]);
                    let o = layer(layout, &object, slice)
                        [(top + row) * layout.object_shape[1] + start + column];
                    let at = n * waves + i;
                    right += (incident[slice][at] * o).conj() * back[at];
                }
            }
            if slice > 0 {
                let before = &incident[slice - 1];
                step_back(&engine, &frames, before, &mut back, slice - 1, false);
            }
        }
        for (n, frame) in frames.iter().enumerate() {
            let corner = layout.corners[*frame as usize];
            for wave in back[n * waves..][..waves].chunks_exact_mut(pixels) {
                multiply_conjugate(layout, corner, layer(layout, &engine.object, 0), wave);
            }
        }
        right += inner(&probes, &back);
        assert!(
            (left - right).norm() < 1e-12 * left.norm().max(1.0) * 10.0,
            "{left} {right}"
        );
    }
}

#[test]
fn gradients_of_slices_probe_and_distances_are_derivatives_of_the_likelihood() {
    let step = step(EngineName::Ml);
    for noise in ALL {
        for (n, pixel) in PIXELS.into_iter().enumerate() {
            let scale = if n == 0 { 1e-7 } else { 1e-9 };
            let mut engine = engine(plan(pixel, scale));
            let (found, _) = gradient(&mut engine, &step, &method(noise)).unwrap();
            let before = loss(&engine, &step, noise).unwrap();
            assert!((found.loss / before - 1.0).abs() < 1e-13);
            for which in 0..2 {
                let at = [engine.object.clone(), engine.probe.clone()];
                let h = random(5).vector(at[which].len());
                let expected = inner(&found.values[which], &h).re;
                let slope = difference(2e-4, |t| {
                    let moved = at[which].iter().zip(&h).map(|(v, h)| v + h * t).collect();
                    if which == 0 {
                        engine.object = moved;
                    } else {
                        engine.probe = moved;
                    }
                    loss(&engine, &step, noise).unwrap()
                });
                [engine.object, engine.probe] = at;
                let error = (slope / expected - 1.0).abs();
                assert!(error < 1e-6, "{noise:?} {which}: {slope} {expected}");
            }
            let sums = engine.slices.as_ref().unwrap().sums.clone();
            for (gap, [along, square]) in sums.into_iter().enumerate() {
                assert!(square > 0.0);
                let slope = difference(1e-4, |t| {
                    let slices = engine.slices.as_mut().unwrap();
                    slices.distances.values[gap] += t * scale;
                    slices.propagate_over_distances();
                    let loss = loss(&engine, &step, noise).unwrap();
                    engine.slices.as_mut().unwrap().distances.values[gap] -= t * scale;
                    loss
                }) / scale;
                let expected = -2.0 * along;
                let error = (slope / expected - 1.0).abs();
                assert!(error < 1e-6, "{noise:?} {gap}: {slope} {expected}");
            }
        }
    }
}

/// The linearised model gives the slope along a line.
#[test]
fn the_line_has_the_slope_of_the_objective() {
    let step = step(EngineName::Ml);
    for noise in ALL {
        let mut engine = engine(plan(PIXELS[0], 1e-7));
        let direction = [
            random(1).vector(engine.object.len()),
            random(2).vector(engine.probe.len()),
        ];
        let (found, _) = gradient(&mut engine, &step, &method(noise)).unwrap();
        let sums = line_sums(&engine, &step, noise, &direction).unwrap();
        let slope: f64 = (found.values.iter().zip(&direction))
            .map(|(g, h)| inner(g, h).re)
            .sum();
        assert!((sums[0] / found.loss - 1.0).abs() < 1e-12);
        assert!((sums[1] / slope - 1.0).abs() < 1e-10, "{noise:?}");
        assert!(sums[3] > 0.0);
    }
}

/// At vanishing distances the model is that of the product of the slices.
#[test]
fn slices_without_distance_are_their_product() {
    let thick = problem(plan(PIXELS[0], 1e-25));
    let stack = Distances::new(thick.slices.as_ref().unwrap());
    let mut layers = vec![thick.object.clone()];
    layers.extend(thick.more_layers.outer_iter().map(|layer| layer.to_owned()));
    let views: Vec<_> = layers.iter().map(|layer| layer.view()).collect();
    let product = stack
        .stack(ndarray::stack(ndarray::Axis(0), &views).unwrap())
        .product();
    let (rows, columns) = product.dim();
    let thin = Problem {
        object: product,
        more_layers: Array3::zeros((0, rows, columns)),
        slices: None,
        ..thick.clone()
    };
    let [thick, thin] = [thick, thin].map(|problem| {
        let mut engine = CpuEngine::<f64>::new(&problem);
        (engine.metrics().unwrap(), engine.object().unwrap())
    });
    assert!((thick.0.r_factor / thin.0.r_factor - 1.0).abs() < 1e-10);
    for (a, b) in thick.1.iter().zip(&thin.1) {
        assert!((a - b).norm() < 1e-14 * (1.0 + b.norm()));
    }
}

fn simulated(noise: bool, frame: usize, positions: usize) -> crate::data::Scan {
    let options = SimulateOptions {
        frame,
        positions,
        slices: 2,
        photons: 1e7,
        noise,
        overlap: 0.75,
        ..SimulateOptions::default()
    };
    simulate(&options).unwrap()
}

fn recipe(distance: f64, refine: bool, engines: &[(EngineName, usize)]) -> Recipe {
    let spec = |(name, iterations): &(EngineName, usize)| {
        let mut spec = EngineSpec::new(*name, *iterations);
        spec.batch = spec.batch.map(|_| 16);
        spec
    };
    Recipe {
        slices: SliceOptions {
            count: 2,
            distance: Some(SliceDistance::Same(distance)),
            refine_distance: refine,
            refine_from: 2,
        },
        engines: engines.iter().map(spec).collect(),
        ..Recipe::default()
    }
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
    }
}

/// The true slices and the true probe explain frames without noise.
#[test]
fn the_truth_explains_the_frames() {
    let scan = simulated(false, 32, 8);
    let simulation = scan.simulation().unwrap();
    let stack = simulation.slices.as_ref().unwrap();
    let engines = [(EngineName::Lsqml, 1)];
    let mut problem = Problem::prepare(&scan, &recipe(20e-6, false, &engines)).unwrap();
    problem
        .object
        .assign(&stack.slices.index_axis(ndarray::Axis(0), 0));
    problem
        .more_layers
        .assign(&stack.slices.slice(ndarray::s![1.., .., ..]));
    problem.probe.assign(&simulation.probe);
    let found = CpuEngine::<f64>::new(&problem).metrics().unwrap();
    assert!(found.r_factor < 1e-10, "{found:?}");
    let far = SlicePlan {
        distances: vec![26e-6],
        ..problem.slices.clone().unwrap()
    };
    problem.slices = Some(far);
    let other = CpuEngine::<f64>::new(&problem).metrics().unwrap();
    assert!(other.r_factor > 1e-3, "{other:?}");
}

/// Both slices agree with the truth over most of the frequencies, with both engines.
#[test]
fn both_engines_find_the_slices() {
    let scan = simulated(true, 32, 60);
    for engines in [
        &[(EngineName::Lsqml, 60)][..],
        &[(EngineName::Lsqml, 20), (EngineName::Ml, 60)],
    ] {
        let recipe = recipe(20e-6, false, engines);
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let mut engine = CpuEngine::<f32>::new(&problem);
        let mut first = 1;
        for spec in &recipe.engines {
            run(
                &mut engine,
                spec,
                &problem,
                first,
                first + spec.iterations - 1,
            );
            first += spec.iterations;
        }
        let found = engine.metrics().unwrap();
        assert!(found.r_factor < 2e-3, "{engines:?}: {found:?}");
        let parts = engine.model_parts().unwrap();
        let result = crate::data::Reconstruction {
            object: engine.object().unwrap(),
            probe: engine.probe().unwrap(),
            pixel: problem.pixel,
            origin: problem.positions.origin,
            fluence: crate::model::fluence::fluence(
                problem.object.dim(),
                &engine.probe().unwrap(),
                &engine.frames(),
            ),
            parts,
            ..crate::report::sample::reconstruction()
        };
        let truth = Reference::Truth {
            simulation: scan.simulation().unwrap(),
            pixel: problem.pixel,
        };
        for comparison in compare_slices(&result, truth).unwrap() {
            assert!(comparison.relative_l2 < 0.3, "{}", comparison.relative_l2);
            let high: Vec<_> = (comparison.frc.iter())
                .map(|ring| ring.correlation)
                .collect();
            let middle = high[high.len() / 4..high.len() / 2].iter().sum::<f64>()
                / (high.len() / 2 - high.len() / 4) as f64;
            assert!(middle > 0.7, "{high:?}");
        }
    }
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits() {
    let scan = simulated(true, 16, 8);
    for name in [EngineName::Lsqml, EngineName::Ml] {
        let recipe = recipe(26e-6, true, &[(name, 10)]);
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let spec = &recipe.engines[0];
        let mut whole = CpuEngine::<f32>::new(&problem);
        run(&mut whole, spec, &problem, 1, 7);
        let mut first = CpuEngine::<f32>::new(&problem);
        run(&mut first, spec, &problem, 1, 4);
        let state = first.save().unwrap();
        let mut second = CpuEngine::<f32>::new(&problem);
        second.restore(&state).unwrap();
        run(&mut second, spec, &problem, 5, 7);
        assert_eq!(
            second.object_layers().unwrap(),
            whole.object_layers().unwrap()
        );
        assert_eq!(second.probe().unwrap(), whole.probe().unwrap());
        let parts = whole.model_parts().unwrap();
        assert_eq!(second.model_parts().unwrap(), parts);
        let stack = parts.slices.unwrap();
        assert_ne!(stack.distances, stack.start_distances);
        let mut without = state.clone();
        without.added.clear();
        assert!(second.restore(&without).is_err());
    }
}

/// Frames without counts, a single frame, and far more iterations than are needed.
#[test]
fn nothing_becomes_nan() {
    let scan = simulated(true, 16, 3);
    for (name, frames, iterations) in [
        (EngineName::Lsqml, 3, 1000),
        (EngineName::Ml, 3, 300),
        (EngineName::Lsqml, 1, 100),
        (EngineName::Ml, 1, 100),
    ] {
        let numbers: Vec<usize> = (0..frames).collect();
        let scan = scan.clone().of_some(&numbers).unwrap();
        let recipe = recipe(26e-6, true, &[(name, iterations)]);
        let Ok(mut problem) = Problem::prepare(&scan, &recipe) else {
            // A single position does not define an object.
            continue;
        };
        if frames > 1 {
            let Magnitudes::Memory(magnitudes) = &problem.magnitudes else {
                panic!("magnitudes in memory");
            };
            let mut dark = magnitudes.to_owned();
            dark.index_axis_mut(ndarray::Axis(0), 1).fill(0.0);
            problem.magnitudes = Magnitudes::Memory(dark.into_shared());
        }
        let mut engine = CpuEngine::<f32>::new(&problem);
        run(&mut engine, &recipe.engines[0], &problem, 1, iterations);
        assert!(engine.metrics().unwrap().r_factor.is_finite(), "{name:?}");
        assert!(
            engine
                .object_layers()
                .unwrap()
                .iter()
                .all(|v| v.is_finite())
        );
        assert!(engine.probe().unwrap().iter().all(|v| v.is_finite()));
        let distance = engine.model_parts().unwrap().slices.unwrap().distances[0];
        assert!((13e-6..=52e-6).contains(&distance), "{distance}");
    }
}

/// Frames that are divided among ranks give the bits of one, distances included.
#[test]
fn several_ranks_have_the_bits_of_one() {
    let scan = simulated(true, 16, 13);
    for name in [EngineName::Lsqml, EngineName::Ml] {
        let recipe = recipe(26e-6, true, &[(name, 5)]);
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let of_ranks = |size: usize| {
            let one = |rank| {
                let ranks = Ranks::of(Arc::new(rank));
                let mut engine = CpuEngine::<f32>::among(&problem, ranks).unwrap();
                run(&mut engine, &recipe.engines[0], &problem, 1, 4);
                let parts = engine.model_parts().unwrap();
                (parts, engine.probe().unwrap(), engine.metrics().unwrap())
            };
            let found: Vec<_> = std::thread::scope(|scope| {
                let one = &one;
                let started: Vec<_> = (threads(size).into_iter())
                    .map(|rank| scope.spawn(move || one(rank)))
                    .collect();
                started.into_iter().map(|run| run.join().unwrap()).collect()
            });
            assert!(found.iter().all(|other| *other == found[0]));
            found.into_iter().next().unwrap()
        };
        assert_eq!(of_ranks(3), of_ranks(1), "{name:?}");
    }
}
