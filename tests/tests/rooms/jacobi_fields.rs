//! A relaxation gives the same field, bit for bit, on the CPU and in the emulator, however many
//! devices share it, on every rung of the ladder and with every depth of a pass.

use warpstride::gpu::EmulatedFleet;
use warpstride::jacobi::{Boundary, Stopping};
use warpstride_tests::jacobi::{Case, compare, plans};

fn rule(iterations: usize, tolerance: f64, check_every: usize) -> Stopping {
    Stopping {
        iterations,
        tolerance,
        check_every,
    }
}

fn on_emulators(cases: &[Case], devices: &[usize]) -> usize {
    let fleets: Vec<EmulatedFleet> = devices.iter().map(|n| EmulatedFleet::new(*n)).collect();
    compare(cases, &plans(), &fleets).unwrap()
}

#[test]
fn the_field_is_the_same_at_odd_sizes() {
    let case = Case {
        shape: [19, 13],
        boundary: Boundary::Textbook,
        start: true,
        source: false,
        rule: rule(11, 0.0, 1),
    };
    let cases = [
        case,
        Case {
            shape: [5, 131],
            ..case
        },
        Case {
            shape: [3, 3],
            ..case
        },
    ];
    assert!(on_emulators(&cases, &[1, 2, 3]) > 100);
}
