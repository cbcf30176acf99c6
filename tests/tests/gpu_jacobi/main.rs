//! A relaxation gives the field of the CPU, bit for bit, on up to 8 CUDA devices, with every
//! scheme, every number of sweeps per pass, and with and without peer copies.

mod endurance;
mod repetition;

use std::time::Duration;
use warpstride::cuda::list_devices;
use warpstride::gpu::CudaDeviceGroup;
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

/// The numbers of devices to test; empty if there is no device.
fn counts() -> Vec<usize> {
    let found = list_devices().map_or(0, |devices| devices.len());
    [1, 2, 3, 4, 8]
        .into_iter()
        .filter(|count| *count <= found)
        .collect()
}

/// Runs `test` with the numbers of devices to test, under a time limit. Contexts stay alive from
/// one group to the next.
fn with_counts(what: &str, test: impl FnOnce(&[usize]) + Send + 'static) {
    let counts = counts();
    let Some(most) = counts.last().copied() else {
        return skipped(what, &"no CUDA device");
    };
    within(Duration::from_secs(300), move || {
        let all: Vec<usize> = (0..most).collect();
        let alive = CudaDeviceGroup::new(&all, &warpstride::cuda::Kernels::default()).unwrap();
        test(&counts);
        drop(alive);
    });
}

/// The first `count` devices with the kernels of the relaxation.
fn group(count: usize) -> warpstride::gpu::Result<CudaDeviceGroup> {
    let ordinals: Vec<usize> = (0..count).collect();
    CudaDeviceGroup::new(
        &ordinals,
        &warpstride::selftest::kernels().only(|name| name.starts_with("jacobi_")),
    )
}

fn on_devices(cases: &[Case], plans: &[Plan]) {
    let (cases, plans) = (cases.to_vec(), plans.to_vec());
    with_counts("gpu_jacobi", move |counts| {
        let groups: Vec<CudaDeviceGroup> =
            counts.iter().map(|count| group(*count).unwrap()).collect();
        let compared = compare(&cases, &plans, &groups);
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
