//! Tests in the emulator: every kernel and every engine agrees with its reference, the self-test
//! detects a kernel that does nothing, and kernels are launched only if they have work.

mod profile;
mod recording_device;

use recording_device::RecordingDevice;
use std::thread;
use warpstride::gpu::EmulatedDevice;
use warpstride::science;
use warpstride::selftest::{self, CaseResult, Size, kernels_without_case, report};
use warpstride::series::cuda::GpuEngine;
use warpstride::series::{Aggregate, Batch, Engine, Granularity, NanPolicy, Resample};
use warpstride_kernels::registry;

fn expect_passed(results: &[CaseResult]) {
    assert!(!results.is_empty());
    assert!(
        results.iter().all(|case| case.passed),
        "\n{}",
        report(results)
    );
}

/// The sciences at the same time, as each takes one thread.
#[test]
fn kernels_equal_their_definitions() {
    let of_science = |name: &str| {
        let only = [name.to_owned()];
        selftest::kernel_cases(&EmulatedDevice::new(), Size::Small, &only, &mut |_| ()).unwrap()
    };
    let results: Vec<CaseResult> = thread::scope(|scope| {
        let started: Vec<_> = (science::all().into_iter())
            .map(|science| scope.spawn(move || of_science(science.name)))
            .collect();
        let joined = started.into_iter().map(|science| science.join().unwrap());
        joined.flatten().collect()
    });
    expect_passed(&results);
    assert_eq!(
        kernels_without_case(&results),
        [""; 0],
        "kernels without a case"
    );
}

#[test]
fn engines_agree_with_the_cpu() {
    expect_passed(
        &selftest::engines(&EmulatedDevice::new(), Size::Small, &[], &mut |_| ()).unwrap(),
    );
}

#[test]
fn engines_agree_with_the_cpu_where_shared_memory_is_small() {
    let device = EmulatedDevice::with_shared_memory(48 << 10);
    expect_passed(&selftest::engines(&device, Size::Small, &[], &mut |_| ()).unwrap());
}

#[test]
fn a_kernel_that_does_nothing_fails() {
    let results =
        selftest::kernel_cases(&RecordingDevice::idle(), Size::Small, &[], &mut |_| ()).unwrap();
    for kernel in registry() {
        let mut cases = results.iter().filter(|case| case.kernel == kernel.entry);
        assert!(cases.any(|case| !case.passed), "{} passes", kernel.entry);
    }
    assert!(report(&results).contains("FAILED"));
}

/// The kernels launched for buckets of a minute with `longest` points each.
fn launched_for(longest: i64, aggregates: &[&str]) -> Vec<&'static str> {
    let device = RecordingDevice::default();
    let launched = device.launched();
    let aggregates = aggregates.iter().map(|name| name.parse().unwrap());
    let aggregates: Vec<Aggregate> = aggregates.collect();
    let minute = 60_000_000_000;
    let plan = Resample::new(
        vec![Granularity::Fixed(minute as u64)],
        aggregates,
        NanPolicy::Keep,
    );
    let mut engine = GpuEngine::new(device, plan.unwrap()).unwrap();
    let times: Vec<i64> = (0..3 * longest).map(|i| i * minute / longest).collect();
    let values = times.iter().map(|time| *time as f64).collect();
    let batch = Batch::single(times, values).unwrap();
    let found = engine.resample(&batch).unwrap();
    assert_eq!(found.buckets[0].starts, [0, minute, 2 * minute]);
    let launched = launched.lock().unwrap().clone();
    assert!(launched.contains(&"series_reduce_fixed"), "{launched:?}");
    launched
}

#[test]
fn kernels_for_long_buckets_are_launched_only_for_long_buckets() {
    let long = |kernel: &&str| ["series_reduce_long", "series_deviations"].contains(kernel);
    for (aggregates, expected) in [
        (vec!["mean"], vec!["series_reduce_long"]),
        (
            vec!["mean", "std"],
            vec!["series_reduce_long", "series_deviations"],
        ),
    ] {
        for (points, expected) in [(1, &[][..]), (32, &[]), (33, &expected)] {
            let mut found = launched_for(points, &aggregates);
            found.retain(long);
            assert_eq!(found, expected, "{aggregates:?} of {points} points");
        }
    }
}
