//! Times by the devices' clocks against the host's, in recordings and outside of them.

use std::time::Instant;

use warpstride::gpu::{Fleet, Lane, Stretch};

use super::MINUTE;
use super::ring::Ring;
use super::support::{fleet, scale, within};

/// How far clocks may be apart: the start of a device, and what the driver's events resolve.
const SLACK_US: f64 = 200.0;

/// A kernel that takes some microseconds on every device: it moves 128 MB.
const LONG: usize = 1 << 24;

fn expect_plausible(stretches: &[Stretch], from_us: f64, to_us: f64) {
    for stretch in stretches {
        assert!(
            stretch.start_us >= from_us - SLACK_US && stretch.end_us <= to_us + SLACK_US,
            "{stretch:?} is not in {from_us}..{to_us}"
        );
        assert!(stretch.end_us >= stretch.start_us, "{stretch:?}");
    }
    // What is queued in one lane happens in that order.
    for (at, later) in stretches.iter().enumerate() {
        let same = |earlier: &&Stretch| {
            (earlier.device, earlier.lane) == (later.device, later.lane) && later.lane != "relay"
        };
        if let Some(earlier) = stretches[..at].iter().rev().find(same) {
            assert!(
                later.start_us >= earlier.end_us - 1.0,
                "{earlier:?}, then {later:?}"
            );
        }
    }
}

#[test]
fn gpu_times_increase_and_agree_with_the_hosts_clock() {
    within(MINUTE, "timeline", || {
        let Some(fleet) = fleet("timeline", 1) else {
            return;
        };
        let mut ring = Ring::new(&fleet, |device| device % 2 == 0);
        let mut data: Vec<_> = (0..fleet.devices())
            .map(|device| fleet.alloc::<f32>(device, "data", LONG).unwrap())
            .collect();
        let mut turn = || {
            ring.step(&fleet)?;
            for (device, data) in data.iter_mut().enumerate() {
                scale(&fleet, (device, Lane::Bulk), data, 0..LONG, 2.0)?;
            }
            ring.step(&fleet)
        };
        turn().unwrap();
        fleet.drain().unwrap();
        assert_eq!(fleet.stretches().unwrap(), []);

        fleet.profile().unwrap();
        let clock = Instant::now();
        let now = || 1e6 * clock.elapsed().as_secs_f64();
        turn().unwrap();
        fleet.drain().unwrap();
        let plain = fleet.stretches().unwrap();
        expect_plausible(&plain, 0.0, now());
        assert_eq!(fleet.stretches().unwrap(), []);
        // Two steps of two kernels and two pushes on each device, and the long kernel.
        let named = |name| plain.iter().filter(|one| one.name == name).count();
        assert_eq!(named("scale"), 5 * fleet.devices());
        assert_eq!(named("push") + named("push to host"), 4 * fleet.devices());
        assert_eq!(named("push to host"), named("push from host"));
        assert!(named("push") > 0 && named("push to host") > 0);
        let kernels = |all: &[Stretch]| -> Vec<f64> {
            let kernels = all.iter().filter(|one| one.name == "scale");
            kernels.map(|one| one.end_us - one.start_us).collect()
        };
        let long = |all: &[Stretch]| kernels(all).iter().filter(|took| **took > 5.0).count();
        assert!(kernels(&plain).iter().all(|took| *took > 0.0));
        assert!(long(&plain) >= fleet.devices(), "{plain:?}");

        let recorded = fleet.capture(&mut turn);
        let mut recording = recorded.unwrap().unwrap();
        assert_eq!(fleet.stretches().unwrap(), []);
        let mut begin = now();
        for _ in 0..3 {
            fleet.replay(&mut recording).unwrap();
            fleet.drain().unwrap();
            let replayed = fleet.stretches().unwrap();
            let end = now();
            assert_eq!(replayed.len(), plain.len());
            expect_plausible(&replayed, begin, end);
            assert!(kernels(&replayed).iter().all(|took| *took > 0.0));
            assert!(long(&replayed) >= fleet.devices());
            begin = end;
        }
    });
}
