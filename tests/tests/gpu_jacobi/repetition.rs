//! Repeated runs give the same bits, including the norms, with and without timing.

use super::{CASE, group, with_counts};
use std::collections::HashMap;
use warpstride::gpu::{DeviceGroup, EmulatedDeviceGroup};
use warpstride::jacobi::cuda::{GroupEngine, Plan, Scheme};
use warpstride::jacobi::{Engine, Problem, Span};
use warpstride_tests::jacobi::{Relaxed, plans, relax, rough};

/// Runs of the same problem.
const RUNS: usize = 20;
/// Microseconds by which successive times of a stream may seem to go back: the resolution of an
/// event.
const STEP_US: f64 = 1.0;

fn problem() -> Problem<f32> {
    rough(CASE.shape, CASE.boundary, CASE.start, CASE.source).unwrap()
}

fn run<G: DeviceGroup>(group: &G, problem: &Problem<f32>, plan: Plan) -> (Relaxed<f32>, Vec<Span>) {
    let mut engine = GroupEngine::new(group, problem, CASE.rule, plan).unwrap();
    let relaxed = relax(&mut engine).unwrap();
    (relaxed, engine.take_spans().unwrap())
}

/// Bits of the field and of the norms.
fn bits(relaxed: &Relaxed<f32>) -> (Vec<u32>, Vec<u64>) {
    let field = relaxed.field.iter().map(|value| value.to_bits());
    let norms = relaxed.norms.iter().map(|norm| norm.norm.to_bits());
    (field.collect(), norms.collect())
}

#[test]
fn gpu_jacobi_twenty_runs_give_the_same_bits() {
    with_counts("twenty runs", |counts| {
        let problem = problem();
        for count in counts {
            let group = group(*count).unwrap();
            for plan in plans() {
                let (first, _) = run(&group, &problem, plan);
                assert_eq!(first.norms.len(), CASE.rule.iterations);
                for _ in 1..RUNS {
                    let (again, _) = run(&group, &problem, plan);
                    assert!(bits(&again) == bits(&first), "{count} devices, {plan:?}");
                }
            }
        }
    });
}

/// Expects all operations of every stream in order.
fn expect_a_timeline(spans: &[Span], devices: usize, passes: usize, what: &str) {
    let mut last: HashMap<(usize, &str), f64> = HashMap::new();
    let mut computed = vec![0; devices];
    for span in spans {
        assert!(span.start_us <= span.end_us, "{what}: {span:?}");
        // Rows from the host arrive in separate streams, one per neighbour.
        if span.stream != "receive" {
            let before = last.insert((span.device, span.stream), span.end_us);
            let in_order = before.is_none_or(|end| span.start_us + STEP_US >= end);
            assert!(in_order, "{what}: {span:?} after {before:?}");
        }
        if span.name.starts_with("jacobi_laplace") && span.stream == "bulk" {
            computed[span.device] += 1;
        }
    }
    assert_eq!(computed, vec![passes; devices], "{what}");
}

/// Runs on two groups of `count` devices, one of which is timed.
fn time_all<G: DeviceGroup>(count: usize, group: impl Fn() -> G) {
    let (problem, plain, timed) = (problem(), group(), group());
    for (scheme, time_block) in [
        (Scheme::Overlap, 1),
        (Scheme::Graphs, 1),
        (Scheme::Temporal, 4),
    ] {
        for p2p in [None, Some(false)] {
            let plan = Plan {
                scheme,
                time_block,
                p2p,
                profile: false,
            };
            let what = format!("{count} devices, {plan:?}");
            let (expected, none) = run(&plain, &problem, plan);
            assert_eq!(none, [], "{what}");
            let with_times = Plan {
                profile: true,
                ..plan
            };
            let (relaxed, spans) = run(&timed, &problem, with_times);
            assert!(bits(&relaxed) == bits(&expected), "{what}");
            let passes = CASE.rule.iterations.div_ceil(time_block);
            expect_a_timeline(&spans, count, passes, &what);
        }
    }
}

#[test]
fn gpu_jacobi_timed_runs_have_a_timeline_and_the_same_field() {
    with_counts("timelines", |counts| {
        for count in counts {
            time_all(*count, || group(*count).unwrap());
        }
    });
}

#[test]
fn emulated_timed_runs_have_a_timeline_and_the_same_field() {
    time_all(2, || EmulatedDeviceGroup::new(2));
}
