//! Times by the clocks of the devices against the clock of the host, in graphs and outside of them.

use std::time::Instant;

use warpstride_cuda::gpu::{DeviceGroup, ProfileSpan, StreamId};

use super::MINUTE;
use super::ring::Ring;
use super::support::{group, scale, with_time_limit};

/// Tolerance between the clocks: the start of a device, and the resolution of the driver's events.
const SLACK_US: f64 = 200.0;

/// Elements for a kernel that takes several microseconds on every device: it moves 128 MB.
const LONG: usize = 1 << 24;

fn expect_plausible(profile_spans: &[ProfileSpan], from_us: f64, to_us: f64) {
    for span in profile_spans {
        assert!(
            span.start_us >= from_us - SLACK_US && span.end_us <= to_us + SLACK_US,
            "{span:?} is not in {from_us}..{to_us}"
        );
        assert!(span.end_us >= span.start_us, "{span:?}");
    }
    // Work of one stream runs in the order of queueing.
    for (at, later) in profile_spans.iter().enumerate() {
        let same = |earlier: &&ProfileSpan| {
            (earlier.device, earlier.stream) == (later.device, later.stream)
                && later.stream != "receive"
        };
        if let Some(earlier) = profile_spans[..at].iter().rev().find(same) {
            assert!(
                later.start_us >= earlier.end_us - 1.0,
                "{earlier:?}, then {later:?}"
            );
        }
    }
}

#[test]
fn gpu_times_increase_and_agree_with_the_clock_of_the_host() {
    with_time_limit(MINUTE, "timeline", || {
        let Some(group) = group("timeline", 1) else {
            return;
        };
        let mut ring = Ring::new(&group, |device| device % 2 == 0);
        let mut data: Vec<_> = (0..group.devices())
            .map(|device| group.alloc::<f32>(device, "data", LONG).unwrap())
            .collect();
        let mut cycle = || {
            ring.step(&group)?;
            for (device, data) in data.iter_mut().enumerate() {
                scale(&group, (device, StreamId::Bulk), data, 0..LONG, 2.0)?;
            }
            ring.step(&group)
        };
        cycle().unwrap();
        group.drain().unwrap();
        assert_eq!(group.profile_spans().unwrap(), []);

        group.profile().unwrap();
        let clock = Instant::now();
        let now = || 1e6 * clock.elapsed().as_secs_f64();
        cycle().unwrap();
        group.drain().unwrap();
        let plain = group.profile_spans().unwrap();
        expect_plausible(&plain, 0.0, now());
        assert_eq!(group.profile_spans().unwrap(), []);
        // Two steps of two kernels and two sends on each device, and the long kernel.
        let named = |name| plain.iter().filter(|span| span.name == name).count();
        assert_eq!(named("scale"), 5 * group.devices());
        assert_eq!(named("send") + named("send to host"), 4 * group.devices());
        assert_eq!(named("send to host"), named("receive from host"));
        assert!(named("send") > 0 && named("send to host") > 0);
        let kernels = |all: &[ProfileSpan]| -> Vec<f64> {
            let kernels = all.iter().filter(|span| span.name == "scale");
            kernels.map(|span| span.end_us - span.start_us).collect()
        };
        let long = |all: &[ProfileSpan]| kernels(all).iter().filter(|took| **took > 5.0).count();
        assert!(kernels(&plain).iter().all(|took| *took > 0.0));
        assert!(long(&plain) >= group.devices(), "{plain:?}");

        let captured = group.capture(&mut cycle);
        let mut graph = captured.unwrap().unwrap();
        assert_eq!(group.profile_spans().unwrap(), []);
        let mut begin = now();
        for _ in 0..3 {
            group.replay(&mut graph).unwrap();
            group.drain().unwrap();
            let replayed = group.profile_spans().unwrap();
            let end = now();
            assert_eq!(replayed.len(), plain.len());
            expect_plausible(&replayed, begin, end);
            assert!(kernels(&replayed).iter().all(|took| *took > 0.0));
            assert!(long(&replayed) >= group.devices());
            begin = end;
        }
    });
}
