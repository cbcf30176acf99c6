//! The kernel in the emulator, against points of the set that are known.

use mandelbrot_kernels::MandelbrotCounts;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};

#[test]
fn known_points() {
    // c = -2, -1, 0, 1: the first three never escape; 1 has z = 0, 1, 2, 5.
    let mut counts = Memory::try_poisoned(4).expect("memory");
    let launch = MandelbrotCounts {
        counts: counts.write(),
        rows: 1,
        columns: 4,
        limit: 50,
        left: -2.0,
        top: 0.0,
        step: 1.0,
    };
    let config = LaunchConfig::linear(&launch, 1, 32);
    emulator::launch_in(&launch, config, Order::Ascending).expect("a launch");
    assert_eq!(counts.check_canaries(), Ok(()));
    assert_eq!(counts.as_slice(), [50, 50, 50, 3]);
}

#[test]
fn a_buffer_that_is_too_short_is_refused() {
    let mut counts = Memory::try_poisoned(3).expect("memory");
    let launch = MandelbrotCounts {
        counts: counts.write(),
        rows: 1,
        columns: 4,
        limit: 50,
        left: -2.0,
        top: 0.0,
        step: 1.0,
    };
    let config = LaunchConfig::linear(&launch, 1, 32);
    assert!(emulator::launch_in(&launch, config, Order::Ascending).is_err());
}
