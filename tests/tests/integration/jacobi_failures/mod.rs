//! Failures of each call of a device group: the relaxation returns one error that names the device,
//! queues no more work, and waits for all pending work before memory is freed.

mod fault_injecting_group;

use fault_injecting_group::{Call, FIRST, Fault, FaultInjectingGroup};
use std::collections::HashMap;
use std::time::Duration;
use warpstride::gpu::GpuError;
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::cuda::{GroupEngine, Plan, Scheme};
use warpstride::jacobi::{Boundary, Engine, JacobiError, Problem, Stopping};
use warpstride_tests::jacobi::{relax, rough};
use warpstride_tests::within;

/// Sweeps until the tolerance is met, in the middle of a batch, which is then repeated without
/// norms.
const SWEEPS: usize = 2;

/// Stops after [`SWEEPS`] of 4 sweeps.
fn rule(problem: &Problem<f32>) -> Stopping {
    let all = Stopping {
        iterations: 4,
        tolerance: 0.0,
        check_every: 1,
    };
    let norms = relax(&mut CpuEngine::new(problem, all, 1).unwrap())
        .unwrap()
        .norms;
    Stopping {
        // The device group adds the squares in another order.
        tolerance: 1.000_001 * norms[SWEEPS - 1].norm,
        ..all
    }
}

fn run(
    group: &FaultInjectingGroup,
    problem: &Problem<f32>,
    rule: Stopping,
    plan: Plan,
) -> Result<usize, JacobiError> {
    let mut engine = GroupEngine::new(group, problem, rule, plan)?;
    while !engine.finished() {
        engine.advance()?;
    }
    engine.field()?;
    Ok(engine.sweeps())
}

/// Lets every call of one kind on every device fail in turn, and returns the number of failures.
fn fail_each(problem: &Problem<f32>, plan: Plan, devices: usize, call: Call) -> usize {
    let (rule, mut failures) = (rule(problem), 0);
    for device in 0..devices {
        for n in 1.. {
            let fault = Fault {
                call,
                device,
                n,
                lasting: n % 2 == 1,
            };
            let group = FaultInjectingGroup::new(devices, fault);
            let done = run(&group, problem, rule, plan);
            let log = group.log();
            assert_eq!(log.violations, [""; 0], "{fault:?}, {plan:?}");
            if !log.failed {
                assert_eq!(done.unwrap(), SWEEPS);
                break;
            }
            let error = done.expect_err(&format!("{fault:?}, {plan:?}"));
            let text = error.to_string();
            assert!(
                matches!(
                    &error,
                    JacobiError::Gpu(GpuError::OnDevice { device: named, .. }) if *named == device
                ),
                "{text}: {fault:?}, {plan:?}"
            );
            assert!(text.contains(FIRST), "{text}: {fault:?}, {plan:?}");
            assert_eq!(text.matches("GPU ").count(), 1, "{text}");
            let queued_more = log.after.iter().any(|call| *call != Call::Drain);
            assert!(!queued_more, "{:?} after {fault:?}, {plan:?}", log.after);
            failures += 1;
        }
    }
    failures
}

fn fail_everywhere(problem: &Problem<f32>, plan: Plan, devices: usize) -> HashMap<Call, usize> {
    let of = |call| (call, fail_each(problem, plan, devices, call));
    Call::ALL.into_iter().map(of).collect()
}

fn plan(scheme: Scheme) -> Plan {
    Plan {
        scheme,
        time_block: usize::from(scheme == Scheme::Temporal) + 1,
        ..Plan::default()
    }
}

#[test]
fn a_failure_of_any_call_in_any_scheme_is_one_error_after_all_work_is_done() {
    within(Duration::from_secs(300), || {
        let from_zero = Problem::new(6, 8, Boundary::Textbook).unwrap();
        let mut failures: HashMap<Call, usize> = HashMap::new();
        for scheme in Scheme::ALL {
            for (call, count) in fail_everywhere(&from_zero, plan(scheme), 2) {
                *failures.entry(call).or_default() += count;
            }
        }
        // These plans do not time the work.
        let not_called = [Call::Profile, Call::ProfileSpans];
        for call in Call::ALL {
            let tried = failures[&call] > 0;
            assert_eq!(tried, !not_called.contains(&call), "{call:?}");
        }
    });
}

#[test]
fn a_failure_is_one_error_with_start_values_sends_through_the_host_and_timing() {
    within(Duration::from_secs(300), || {
        let rough = rough::<f32>([5, 6], Boundary::Dirichlet, true, true).unwrap();
        let plan = Plan {
            p2p: Some(false),
            profile: true,
            ..plan(Scheme::Overlap)
        };
        let failures = fail_everywhere(&rough, plan, 3);
        for call in [Call::Profile, Call::ProfileSpans, Call::Upload, Call::Send] {
            assert!(failures[&call] > 0, "{call:?}");
        }
    });
}
