//! A relaxation gives the CPU's field, bit for bit, on 1, 2 and 4 CUDA devices (as many as there
//! are), on every rung of the ladder, with every depth of a pass, with and without peer copies.

mod endurance;
mod repetition;

use std::time::Duration;
use warpstride::cuda::list_devices;
use warpstride::gpu::CudaFleet;
use warpstride::jacobi::cuda::Plan;
use warpstride::jacobi::{Boundary, Stopping};
use warpstride_tests::jacobi::{Case, compare, plans};
use warpstride_tests::{skipped, within};

fn rule(iterations: usize, tolerance: f64, check_every: usize) -> Stopping {
    Stopping {
        iterations,
        tolerance,
        check_every,
    }
}

/// Counts of devices to be tried; none: there is no device.
fn counts() -> Vec<usize> {
    let found = list_devices().map_or(0, |devices| devices.len());
    [1, 2, 3, 4, 8]
        .into_iter()
        .filter(|count| *count <= found)
        .collect()
}

/// Runs `test` with the counts of devices to be tried, under a time limit. Contexts stay alive from
/// one fleet to the next.
fn with_counts(what: &str, test: impl FnOnce(&[usize]) + Send + 'static) {
    let counts = counts();
    let Some(most) = counts.last().copied() else {
        return skipped(what, &"no CUDA device");
    };
    within(Duration::from_secs(300), move || {
        let all: Vec<usize> = (0..most).collect();
        let alive = CudaFleet::keeping(&all, |_| false).unwrap();
        test(&counts);
        drop(alive);
    });
}

/// The first `count` devices with the kernels of the relaxation.
fn fleet(count: usize) -> warpstride::gpu::Result<CudaFleet> {
    let ordinals: Vec<usize> = (0..count).collect();
    CudaFleet::keeping(&ordinals, |kernel| kernel.starts_with("jacobi_"))
}

fn on_devices(cases: &[Case], plans: &[Plan]) {
    let (cases, plans) = (cases.to_vec(), plans.to_vec());
    with_counts("gpu_jacobi", move |counts| {
        let fleets: Vec<CudaFleet> = counts.iter().map(|count| fleet(*count).unwrap()).collect();
        let compared = compare(&cases, &plans, &fleets);
        assert!(compared.unwrap() > 0);
    });
}

const CASE: Case = Case {
    shape: [203, 517],
    boundary: Boundary::Textbook,
    start: true,
    source: false,
    rule: Stopping {
        iterations: 45,
        tolerance: 0.0,
        check_every: 1,
    },
};

#[test]
fn gpu_jacobi_odd_sizes() {
    let shapes = [[203, 517], [1031, 129], [3, 3], [5, 4099], [6, 7], [67, 1]];
    let cases: Vec<Case> = shapes
        .into_iter()
        .filter(|[_, nx]| *nx > 2)
        .map(|shape| Case { shape, ..CASE })
        .collect();
    on_devices(&cases, &plans());
}

#[test]
fn gpu_jacobi_boundaries_and_sources() {
    let mut cases = Vec::new();
    for boundary in [Boundary::Textbook, Boundary::Dirichlet, Boundary::Periodic] {
        for (start, source) in [(true, false), (false, true), (true, true)] {
            cases.push(Case {
                shape: [61, 259],
                boundary,
                start,
                source,
                ..CASE
            });
        }
    }
    on_devices(&cases, &plans());
}

#[test]
fn gpu_jacobi_through_the_host() {
    let staged = |plan: Plan| Plan {
        p2p: Some(false),
        ..plan
    };
    let plans: Vec<Plan> = plans().into_iter().map(staged).collect();
    let low = Case {
        shape: [11, 300],
        ..CASE
    };
    on_devices(&[CASE, low], &plans);
}

#[test]
fn gpu_jacobi_stops_at_the_same_sweep() {
    let cases = [
        Case {
            start: false,
            rule: rule(4000, 0.05, 1),
            ..CASE
        },
        Case {
            shape: [40, 33],
            rule: rule(2000, 1e-3, 7),
            ..CASE
        },
        Case {
            rule: rule(1001, 0.0, 100),
            ..CASE
        },
    ];
    on_devices(&cases, &plans());
}
