//! Whatever call of a fleet fails, and whenever: the relaxation gives one error that names the
//! device, queues nothing more, and waits for everything before memory is given back.

mod booked_fleet;

use booked_fleet::{BookedFleet, Call, FIRST, Fault};
use std::collections::HashMap;
use std::time::Duration;
use warpstride::gpu::GpuError;
use warpstride::jacobi::cpu::CpuEngine;
use warpstride::jacobi::cuda::{FleetEngine, Plan, Scheme};
use warpstride::jacobi::{Boundary, Engine, JacobiError, Problem, Stopping};
use warpstride_tests::jacobi::{relax, rough};
use warpstride_tests::within;

/// Sweeps until the tolerance is met: in the middle of a batch, which is repeated without norms.
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
        // The fleet adds up in another order.
        tolerance: 1.000_001 * norms[SWEEPS - 1].norm,
        ..all
    }
}

fn run(
    fleet: &BookedFleet,
    problem: &Problem<f32>,
    rule: Stopping,
    plan: Plan,
) -> Result<usize, JacobiError> {
    let mut engine = FleetEngine::new(fleet, problem, rule, plan)?;
    while !engine.finished() {
        engine.advance()?;
    }
    engine.field()?;
    Ok(engine.sweeps())
}

/// Lets every call of that kind on every device fail in turn; how many there were.
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
            let fleet = BookedFleet::new(devices, fault);
            let done = run(&fleet, problem, rule, plan);
            let book = fleet.book();
            assert_eq!(book.wrongs, [""; 0], "{fault:?}, {plan:?}");
            if !book.failed {
                assert_eq!(done.unwrap(), SWEEPS);
                break;
            }
            let error = done.expect_err(&format!("{fault:?}, {plan:?}"));
            let words = error.to_string();
            assert!(
                matches!(
                    &error,
                    JacobiError::Gpu(GpuError::OnDevice { device: named, .. }) if *named == device
                ),
                "{words}: {fault:?}, {plan:?}"
            );
            assert!(words.contains(FIRST), "{words}: {fault:?}, {plan:?}");
            assert_eq!(words.matches("GPU ").count(), 1, "{words}");
            let queued_more = book.after.iter().any(|call| *call != Call::Drain);
            assert!(!queued_more, "{:?} after {fault:?}, {plan:?}", book.after);
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
fn a_failure_of_any_call_on_any_rung_is_one_error_after_all_has_ended() {
    within(Duration::from_secs(300), || {
        let from_zero = Problem::new(6, 8, Boundary::Textbook).unwrap();
        let mut failures: HashMap<Call, usize> = HashMap::new();
        for scheme in Scheme::ALL {
            for (call, count) in fail_everywhere(&from_zero, plan(scheme), 2) {
                *failures.entry(call).or_default() += count;
            }
        }
        // Emulators record nothing, and none of these is timed.
        let not_called = [Call::Profile, Call::Stretches];
        for call in Call::ALL {
            let tried = failures[&call] > 0;
            assert_eq!(tried, !not_called.contains(&call), "{call:?}");
        }
    });
}

#[test]
fn a_failure_is_one_error_also_with_values_through_the_host_and_timed() {
    within(Duration::from_secs(300), || {
        let rough = rough::<f32>([5, 6], Boundary::Dirichlet, true, true).unwrap();
        let plan = Plan {
            p2p: Some(false),
            profile: true,
            ..plan(Scheme::Overlap)
        };
        let failures = fail_everywhere(&rough, plan, 3);
        for call in [Call::Profile, Call::Stretches, Call::Upload, Call::Push] {
            assert!(failures[&call] > 0, "{call:?}");
        }
    });
}
