//! A relaxation gives the same field, bit for bit, on the CPU and in the emulator, for any number
//! of devices, every scheme and every number of sweeps per pass.

use warpstride::gpu::EmulatedDeviceGroup;
use warpstride::jacobi::cuda::{Plan, Scheme};
use warpstride::jacobi::{Boundary, Stopping};
use warpstride_tests::jacobi::{Case, compare, plans};

const BOUNDARIES: [Boundary; 3] = [Boundary::Textbook, Boundary::Dirichlet, Boundary::Periodic];

const CASE: Case = Case {
    shape: [19, 13],
    boundary: Boundary::Textbook,
    start: true,
    source: false,
    rule: rule(11, 0.0, 1),
};

const fn rule(iterations: usize, tolerance: f64, check_every: usize) -> Stopping {
    Stopping {
        iterations,
        tolerance,
        check_every,
    }
}

fn with_shape(shape: [usize; 2]) -> Case {
    Case { shape, ..CASE }
}

fn on_emulators(cases: &[Case], plans: &[Plan], devices: &[usize]) -> usize {
    let groups: Vec<EmulatedDeviceGroup> = devices
        .iter()
        .map(|n| EmulatedDeviceGroup::new(*n))
        .collect();
    compare(cases, plans, &groups).unwrap()
}

/// Plans that send halos through the host.
fn plans_through_the_host() -> Vec<Plan> {
    let shallow = |plan: &Plan| plan.scheme != Scheme::Temporal || plan.time_block % 3 == 2;
    let staged = |plan: Plan| Plan {
        p2p: Some(false),
        ..plan
    };
    plans().into_iter().filter(shallow).map(staged).collect()
}

#[test]
fn the_field_is_the_same_at_odd_sizes() {
    // Columns: at most one vector, around one window (128, 64) and its margins, and just above two
    // windows.
    let shapes = [[19, 13], [11, 131], [9, 257], [30, 64], [29, 3], [12, 121]];
    let cases = shapes.map(with_shape);
    assert_eq!(on_emulators(&cases, &plans(), &[1, 2, 3]), 6 * 13 * 3 * 2);
}

#[test]
fn the_field_is_the_same_with_every_boundary_start_and_source() {
    let mut cases = Vec::new();
    for boundary in BOUNDARIES {
        for (start, source) in [(true, false), (false, true), (true, true), (false, false)] {
            cases.push(Case {
                shape: [20, 67],
                boundary,
                start,
                source,
                rule: rule(10, 0.0, 1),
            });
        }
    }
    assert_eq!(on_emulators(&cases, &plans(), &[1, 2, 3]), 12 * 13 * 3 * 2);
}

#[test]
fn the_field_is_the_same_if_devices_have_few_rows() {
    // Blocks of 1, 1 and 2, 2 and 3 rows …: outer rows are adjacent, and a pass extends across a
    // block.
    let mut cases = Vec::new();
    for boundary in BOUNDARIES {
        for ny in [3, 4, 5, 6, 7, 9, 13] {
            cases.push(Case {
                boundary,
                ..with_shape([ny, 17])
            });
        }
    }
    assert!(on_emulators(&cases, &plans(), &[1, 2, 3, 5]) > 1500);
}

#[test]
fn the_field_is_the_same_when_it_stops_inside_a_pass_or_batch() {
    let mut cases = Vec::new();
    for tolerance in [0.4, 0.1] {
        for check_every in [1, 3, 7] {
            cases.push(Case {
                start: false,
                rule: rule(40, tolerance, check_every),
                ..with_shape([16, 11])
            });
        }
    }
    // Norms are needed after every possible number of sweeps of a pass, and at the end in a shorter
    // pass.
    for check_every in [2, 3, 5, 7, 100] {
        cases.push(Case {
            boundary: Boundary::Dirichlet,
            source: true,
            rule: rule(23, 0.0, check_every),
            ..with_shape([14, 9])
        });
    }
    // Several batches, the last one shorter; and a batch that ends before its first check.
    cases.push(Case {
        rule: rule(131, 0.0, 100),
        ..with_shape([8, 5])
    });
    assert_eq!(on_emulators(&cases, &plans(), &[1, 3]), 12 * 13 * 2 * 2);
}

#[test]
fn the_field_is_the_same_when_halos_go_through_the_host() {
    let cases = [
        with_shape([19, 13]),
        with_shape([7, 133]),
        Case {
            boundary: Boundary::Dirichlet,
            source: true,
            ..with_shape([11, 20])
        },
        Case {
            boundary: Boundary::Periodic,
            start: false,
            source: true,
            rule: rule(40, 0.3, 3),
            ..with_shape([30, 15])
        },
    ];
    assert_eq!(
        on_emulators(&cases, &plans_through_the_host(), &[2, 3, 4]),
        4 * 8 * 3 * 2
    );
}
