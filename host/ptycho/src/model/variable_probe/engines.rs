//! Variable probes on both back ends: they agree, blocks of frames and saved states change no bit,
//! ranks neither.

use crate::data::{ModelParts, Propagation};
use crate::engines::cpu::{CpuEngine, disc};
use crate::engines::cuda::GpuEngine;
use crate::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Ranks, Recipe,
    SimulateOptions, Step, StreamPlan, UpdateVersion, simulate,
};
use ndarray::{Array2, Array3, Dimension};
use num_complex::Complex;
use std::sync::Arc;
use warpstride_cuda::gpu::EmulatedDevice;
use warpstride_fft::Real;
use warpstride_ranks::threads;

const FRAMES: usize = 7;

/// Frames of `side`² with a drifting probe; positions are refined from the third iteration on.
fn problem(side: usize, modes: usize) -> Problem {
    problem_in(side, modes, Propagation::FarField)
}

fn problem_in(side: usize, modes: usize, propagation: Propagation) -> Problem {
    let options = SimulateOptions {
        frame: side,
        positions: FRAMES,
        photons: 1e6,
        probe_modes: modes,
        probe_drift: 0.05,
        position_error: 0.3,
        propagation,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        probe_modes: modes,
        opr_modes: 3,
        opr_from: 2,
        positions: PositionOptions {
            refine: vec![PositionMethod::Gradient, PositionMethod::Annealing],
            start: 3,
            ..PositionOptions::default()
        },
        ..Recipe::default()
    };
    Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
}

fn spec(name: EngineName, exact: bool) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 5);
    spec.subpixel = Some(exact);
    spec.batch = spec.batch.map(|size| size.min(3));
    spec
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
    }
}

fn emulated(problem: &Problem, plan: Option<StreamPlan>) -> Box<dyn Engine> {
    let device = EmulatedDevice::new();
    Box::new(GpuEngine::streamed(device, problem, UpdateVersion::Tiled, plan).unwrap())
}

/// Makes an engine.
type Make<'a> = dyn Fn() -> Box<dyn Engine> + 'a;

/// What `ended` returns on each of two emulated devices that compute together.
fn on_two_devices<R: Send>(problem: &Problem, ended: impl Fn(&Make<'_>) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let begun: Vec<_> = (threads(2).into_iter())
            .map(|rank| {
                let ended = &ended;
                scope.spawn(move || {
                    let ranks = Ranks::of(Arc::new(rank));
                    ended(&|| {
                        let (device, among) = (EmulatedDevice::new(), (ranks.clone(), None));
                        let version = UpdateVersion::Tiled;
                        Box::new(GpuEngine::among(device, problem, version, None, among).unwrap())
                    })
                })
            })
            .collect();
        begun.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// An engine's method with its first and last iteration.
type Part<'a> = (&'a EngineSpec, usize, usize);

/// Object and model after the parts `before`, and one that another engine computes from the state
/// that the first has saved.
fn saved_between(
    make: &Make<'_>,
    problem: &Problem,
    before: &[Part<'_>],
    (spec, from, to): Part<'_>,
) -> (Array2<Complex<f64>>, ModelParts) {
    let mut first = make();
    for (spec, from, to) in before {
        run(first.as_mut(), spec, problem, *from, *to);
    }
    let state = first.save().unwrap();
    drop(first);
    let mut second = make();
    second.restore(&state).unwrap();
    run(second.as_mut(), spec, problem, from, to);
    let parts = second.model_parts().unwrap();
    assert!(parts.variable_probe.is_some());
    (second.object().unwrap(), parts)
}

/// Gives a problem the variations of an earlier run, which has `modes` of them.
fn take_earlier(problem: &mut Problem, spec: &EngineSpec, modes: usize) {
    let wanted = std::mem::replace(&mut problem.opr_modes, modes);
    let mut earlier = cpu::<f64>(problem);
    run(earlier.as_mut(), spec, problem, 1, 4);
    problem.start_variations = earlier.model_parts().unwrap().variable_probe;
    problem.opr_modes = wanted;
}

fn cpu<T: Real>(problem: &Problem) -> Box<dyn Engine> {
    Box::new(CpuEngine::<T>::new(problem))
}

fn distance<D: Dimension>(
    a: &ndarray::Array<Complex<f64>, D>,
    b: &ndarray::Array<Complex<f64>, D>,
) -> f64 {
    let sum = |values: &mut dyn Iterator<Item = Complex<f64>>| -> f64 {
        values.map(|v| v.norm_sqr()).sum()
    };
    let difference = sum(&mut a.iter().zip(b).map(|(a, b)| a - b));
    (difference / sum(&mut b.iter().copied())).sqrt()
}

/// The first probe modes of all frames.
fn probes(engine: &mut dyn Engine) -> Array3<Complex<f64>> {
    let mean = engine.probe().unwrap();
    let variable = engine.model_parts().unwrap().variable_probe.unwrap();
    let (_, rows, columns) = mean.dim();
    let mut all = Array3::zeros((FRAMES, rows, columns));
    for (frame, mut to) in all.outer_iter_mut().enumerate() {
        let own: Array2<_> = variable.of_frame(frame, mean.index_axis(ndarray::Axis(0), 0));
        to.assign(&own);
    }
    all
}

/// Shapes of nearly equal power may turn among each other, but the frames' probes agree; so do the
/// metrics.
#[test]
fn the_emulator_agrees_with_the_cpu() {
    let near = Propagation::NearField {
        focus_to_sample: None,
    };
    for (side, modes, field) in [
        (16, 1, Propagation::FarField),
        (16, 2, Propagation::FarField),
        (16, 1, near),
        (64, 1, Propagation::FarField),
    ] {
        let problem = problem_in(side, modes, field);
        for exact in [true, false] {
            let names: &[EngineName] = match side {
                64 => &[EngineName::Lsqml],
                _ => &[EngineName::Lsqml, EngineName::Rpie, EngineName::Epie],
            };
            for name in names {
                let spec = spec(*name, exact);
                let ml = EngineSpec::new(EngineName::Ml, 2);
                let [mut a, mut b] = [cpu::<f64>(&problem), emulated(&problem, None)];
                let last = if side == 64 { 3 } else { 5 };
                for engine in [&mut a, &mut b] {
                    run(engine.as_mut(), &spec, &problem, 1, last);
                    run(engine.as_mut(), &ml, &problem, last + 1, last + 1);
                }
                let label = format!("{side} {modes} {exact} {name:?}");
                let [found, expected] = [&mut b, &mut a].map(|e| e.metrics().unwrap().r_factor);
                assert!(
                    (found / expected - 1.0).abs() < 2e-3,
                    "{label}: {found} {expected}"
                );
                let object = distance(&b.object().unwrap(), &a.object().unwrap());
                let probe = distance(&probes(b.as_mut()), &probes(a.as_mut()));
                assert!(object < 2e-3 && probe < 2e-3, "{label}: {object} {probe}");
                let parts =
                    [&mut a, &mut b].map(|e| e.model_parts().unwrap().variable_probe.unwrap());
                assert!(parts.iter().all(|of| of.power()[0] > 0.0), "{label}");
            }
        }
    }
}

/// Supports hold for the probe of every frame, and object, probe and variations move together.
#[test]
fn supports_and_centring_hold_with_variations() {
    let problem = problem(16, 1);
    for exact in [true, false] {
        let mut spec = spec(EngineName::Lsqml, exact);
        spec.probe_support = Some(0.7);
        let inside = disc(16, 16, 0.7);
        for fourier in [None, Some(0.9)] {
            spec.probe_fourier_support = fourier;
            spec.probe_centre_tolerance = fourier.map(|_| 0.5);
            let [mut a, mut b] = [cpu::<f64>(&problem), emulated(&problem, None)];
            for engine in [&mut a, &mut b] {
                run(engine.as_mut(), &spec, &problem, 1, 4);
                if fourier.is_none() {
                    let probes = probes(engine.as_mut());
                    let mut lit = probes.iter().zip(inside.iter().cycle());
                    assert!(lit.all(|(p, inside)| *inside > 0.0 || p.norm() == 0.0));
                }
            }
            let object = distance(&b.object().unwrap(), &a.object().unwrap());
            let probe = distance(&probes(b.as_mut()), &probes(a.as_mut()));
            assert!(
                object < 2e-3 && probe < 2e-3,
                "{exact} {fourier:?}: {object} {probe}"
            );
        }
    }
}

#[test]
fn blocks_of_frames_change_no_bit() {
    let problem = problem(16, 2);
    for (exact, codes) in [(true, problem.magnitudes.codes()), (false, None)] {
        for name in [EngineName::Lsqml, EngineName::Rpie] {
            let spec = spec(name, exact);
            let plan = StreamPlan::new([FRAMES, 16 * 16], 3, 2, codes);
            let [mut whole, mut blocks] = [None, Some(plan)].map(|plan| emulated(&problem, plan));
            for engine in [&mut whole, &mut blocks] {
                run(engine.as_mut(), &spec, &problem, 1, 5);
            }
            assert_eq!(blocks.object().unwrap(), whole.object().unwrap());
            assert_eq!(blocks.probe().unwrap(), whole.probe().unwrap());
            assert_eq!(blocks.model_parts().unwrap(), whole.model_parts().unwrap());
            assert_eq!(blocks.frames(), whole.frames());
            let [a, b] = [&mut whole, &mut blocks].map(|e| e.metrics().unwrap());
            assert_eq!(a, b);
        }
    }
}

#[test]
fn saved_states_go_on_with_the_same_bits_on_the_emulator() {
    let problem = problem(16, 1);
    for exact in [true, false] {
        let spec = spec(EngineName::Lsqml, exact);
        let mut whole = emulated(&problem, None);
        run(whole.as_mut(), &spec, &problem, 1, 5);
        for saved in [1, 2, 4] {
            let mut first = emulated(&problem, None);
            run(first.as_mut(), &spec, &problem, 1, saved);
            let state = first.save().unwrap();
            let mut second = emulated(&problem, None);
            second.restore(&state).unwrap();
            run(second.as_mut(), &spec, &problem, saved + 1, 5);
            assert_eq!(second.object().unwrap(), whole.object().unwrap());
            assert_eq!(second.model_parts().unwrap(), whole.model_parts().unwrap());
        }
    }
}

/// Projections have one probe for all frames.
#[test]
fn a_projection_ends_the_variations() {
    let problem = problem(16, 1);
    for mut engine in [cpu::<f32>(&problem), emulated(&problem, None)] {
        run(
            engine.as_mut(),
            &spec(EngineName::Lsqml, true),
            &problem,
            1,
            3,
        );
        assert!(engine.model_parts().unwrap().variable_probe.is_some());
        run(engine.as_mut(), &spec(EngineName::Dm, true), &problem, 4, 4);
        assert!(engine.model_parts().unwrap().variable_probe.is_none());
        assert!(engine.save().unwrap().added.is_empty());
    }
}

#[test]
fn ranks_change_no_bit() {
    let options = SimulateOptions {
        frame: 16,
        positions: 25,
        probe_drift: 0.05,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        opr_modes: 2,
        opr_from: 2,
        ..Recipe::default()
    };
    let plain = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    let mut spec = EngineSpec::new(EngineName::Lsqml, 4);
    spec.batch = Some(13);
    // One variation of an earlier result, beside which the other is formed.
    let mut started = plain.clone();
    take_earlier(&mut started, &spec, 1);
    for problem in [plain, started] {
        let ended = |engine: &mut dyn Engine| {
            run(engine, &spec, &problem, 1, 4);
            (engine.object().unwrap(), engine.model_parts().unwrap())
        };
        let expected = ended(cpu::<f32>(&problem).as_mut());
        assert_eq!(expected.1.variable_probe.as_ref().unwrap().count(), 2);
        for count in [2, 3] {
            std::thread::scope(|scope| {
                let begun: Vec<_> = (threads(count).into_iter())
                    .map(|rank| {
                        let (ended, problem) = (&ended, &problem);
                        scope.spawn(move || {
                            let ranks = Ranks::of(Arc::new(rank));
                            ended(&mut CpuEngine::<f32>::among(problem, ranks).unwrap())
                        })
                    })
                    .collect();
                for rank in begun {
                    assert!(rank.join().unwrap() == expected, "{count} ranks");
                }
            });
        }
    }
}

/// Devices that divide projections compute the iterations of a variable probe each by itself, also
/// from a saved state.
#[test]
fn several_devices_compute_what_one_does() {
    let problem = problem(16, 1);
    let [dm, lsqml] = [EngineName::Dm, EngineName::Lsqml].map(|name| spec(name, false));
    let ended = |make: &Make<'_>| {
        saved_between(
            make,
            &problem,
            &[(&dm, 1, 1), (&lsqml, 2, 3)],
            (&lsqml, 4, 5),
        )
    };
    let expected = ended(&|| emulated(&problem, None));
    let found = on_two_devices(&problem, ended);
    assert!(found[0] == found[1]);
    // Projections with separate kernels are those of one device but for rounding.
    let object = distance(&found[0].0, &expected.0);
    assert!(object < 1e-4, "{object}");
    let [own, one] =
        [&found[0].1, &expected.1].map(|of| of.variable_probe.as_ref().unwrap().power());
    for (own, one) in own.iter().zip(&one) {
        assert!((own - one).abs() < 1e-3 * expected.1.variable_probe.as_ref().unwrap().power()[0]);
    }
}

/// Variations from which a run starts end with the first projection, on several devices too.
#[test]
fn variations_of_the_start_do_not_come_back_on_several_devices() {
    let mut problem = problem(16, 1);
    let [dm, lsqml] = [EngineName::Dm, EngineName::Lsqml].map(|name| spec(name, false));
    take_earlier(&mut problem, &lsqml, 3);
    assert!(problem.start_variations.is_some());
    let ended = |engine: &mut dyn Engine| {
        run(engine, &lsqml, &problem, 2, 2);
        assert!(engine.model_parts().unwrap().variable_probe.is_some());
        run(engine, &dm, &problem, 3, 3);
        assert!(engine.model_parts().unwrap().variable_probe.is_none());
        run(engine, &lsqml, &problem, 4, 4);
        engine.object().unwrap()
    };
    let expected = ended(emulated(&problem, None).as_mut());
    for found in on_two_devices(&problem, |make| ended(make().as_mut())) {
        let object = distance(&found, &expected);
        assert!(object < 1e-4, "{object}");
    }
}

/// A problem that starts from one variation of an earlier run, of three that it wants.
fn started(modes: usize) -> Problem {
    let mut problem = problem(16, modes);
    take_earlier(&mut problem, &spec(EngineName::Lsqml, true), 1);
    problem
}

/// Those that the result does not have are formed in the first iteration that updates variations;
/// both back ends agree.
#[test]
fn variations_beyond_those_of_a_result_are_formed() {
    for (modes, exact) in [(1, true), (2, false)] {
        let problem = started(modes);
        for name in [EngineName::Lsqml, EngineName::Rpie] {
            let mut spec = spec(name, exact);
            spec.probe_support = Some(0.9);
            let ml = EngineSpec::new(EngineName::Ml, 2);
            let label = format!("{modes} {exact} {name:?}");
            let [mut a, mut b] = [cpu::<f64>(&problem), emulated(&problem, None)];
            for engine in [&mut a, &mut b] {
                let count = |engine: &mut Box<dyn Engine>| {
                    let parts = engine.model_parts().unwrap();
                    parts.variable_probe.unwrap().count()
                };
                run(engine.as_mut(), &spec, &problem, 1, 1);
                assert_eq!(count(engine), 1);
                run(engine.as_mut(), &spec, &problem, 2, 2);
                assert_eq!(count(engine), 3);
                run(engine.as_mut(), &spec, &problem, 3, 5);
                run(engine.as_mut(), &ml, &problem, 6, 6);
                let parts = engine.model_parts().unwrap().variable_probe.unwrap();
                let power = parts.power();
                assert!(
                    power.iter().all(|p| *p > 1e-6 * power[0]),
                    "{label}: {power}"
                );
            }
            let [found, expected] = [&mut b, &mut a].map(|e| e.metrics().unwrap().r_factor);
            assert!(
                (found / expected - 1.0).abs() < 2e-3,
                "{label}: {found} {expected}"
            );
            let object = distance(&b.object().unwrap(), &a.object().unwrap());
            let probe = distance(&probes(b.as_mut()), &probes(a.as_mut()));
            assert!(object < 2e-3 && probe < 2e-3, "{label}: {object} {probe}");
        }
    }
}

/// With the further variations R falls below that with the result's own.
#[test]
fn further_variations_lower_the_residual() {
    let mut problem = started(1);
    let lsqml = spec(EngineName::Lsqml, true);
    let mut ended = |modes: usize| {
        problem.opr_modes = modes;
        let mut engine = cpu::<f64>(&problem);
        run(engine.as_mut(), &lsqml, &problem, 1, 30);
        engine.metrics().unwrap().r_factor
    };
    let (own, more) = (ended(1), ended(3));
    assert!(more < 0.9 * own, "{more} {own}");
}

#[test]
fn saved_states_go_on_before_and_after_further_variations_are_formed() {
    let problem = started(1);
    let spec = spec(EngineName::Lsqml, true);
    let both = |problem: &Problem| [cpu::<f32>(problem), emulated(problem, None)];
    for (mut whole, number) in both(&problem).into_iter().zip(0..) {
        run(whole.as_mut(), &spec, &problem, 1, 4);
        let expected = (whole.object().unwrap(), whole.model_parts().unwrap());
        for saved in [1, 2, 3] {
            let [mut first, mut second] = [(); 2].map(|()| {
                let [of_cpu, of_emulator] = both(&problem);
                if number == 0 { of_cpu } else { of_emulator }
            });
            run(first.as_mut(), &spec, &problem, 1, saved);
            second.restore(&first.save().unwrap()).unwrap();
            run(second.as_mut(), &spec, &problem, saved + 1, 4);
            let found = (second.object().unwrap(), second.model_parts().unwrap());
            assert!(found == expected, "{number} {saved}");
        }
    }
}

#[test]
fn blocks_of_frames_form_the_same_further_variations() {
    let problem = started(1);
    let spec = spec(EngineName::Lsqml, true);
    let plan = StreamPlan::new([FRAMES, 16 * 16], 3, 2, problem.magnitudes.codes());
    let [whole, blocks] = [None, Some(plan)].map(|plan| {
        let mut engine = emulated(&problem, plan);
        run(engine.as_mut(), &spec, &problem, 1, 4);
        (engine.object().unwrap(), engine.model_parts().unwrap())
    });
    assert!(whole == blocks);
}

/// Each device forms them by itself, as all iterations of a variable probe, from a saved state too.
#[test]
fn several_devices_form_the_same_further_variations() {
    let problem = started(1);
    let lsqml = spec(EngineName::Lsqml, true);
    let ended = |make: &Make<'_>| saved_between(make, &problem, &[(&lsqml, 1, 1)], (&lsqml, 2, 3));
    let expected = ended(&|| emulated(&problem, None));
    assert_eq!(expected.1.variable_probe.as_ref().unwrap().count(), 3);
    for found in on_two_devices(&problem, ended) {
        let object = distance(&found.0, &expected.0);
        assert!(object < 1e-4, "{object}");
        assert_eq!(found.1.variable_probe.unwrap().count(), 3);
    }
}
