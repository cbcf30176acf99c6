//! The profile of an engine's device, against the launches that the device recorded.

use crate::recording_device::RecordingDevice;
use std::collections::BTreeMap;
use warpstride::gpu::ProfileSpan;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    Problem, Reconstructor, SimulateOptions, StreamPlan, UpdateVersion, simulate,
};
use warpstride_tests::recipe;

const FRAMES: usize = 9;
const FRAME: usize = 32;

/// The profile of the second and the third iteration of an engine, and the kernels launched in
/// them. With `blocks`, counts stay in host memory and blocks of three frames travel to two slots.
fn profiled(engine: &str, blocks: bool) -> (Vec<ProfileSpan>, Vec<&'static str>) {
    let mut recipe = recipe(&[engine]).unwrap();
    recipe.engines[0].batch = blocks.then_some(3);
    let options = SimulateOptions {
        frame: FRAME,
        positions: FRAMES,
        photons: 1e6,
        ..SimulateOptions::default()
    };
    let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    let codes = problem.magnitudes.codes();
    assert!(codes.is_some());
    let plan = blocks.then(|| StreamPlan::new([FRAMES, FRAME * FRAME], 3, 2, codes));
    let device = RecordingDevice::default();
    let launched = device.launched();
    let engine = GpuEngine::streamed(device, &problem, UpdateVersion::Tiled, plan).unwrap();
    let mut run = Reconstructor::new(Box::new(engine), &problem, &recipe);
    run.advance().unwrap();
    launched.lock().unwrap().clear();
    run.engine().start_profile().unwrap();
    run.advance().unwrap();
    run.advance().unwrap();
    run.flush().unwrap();
    let names = launched.lock().unwrap().clone();
    let spans = run.engine().take_profile().unwrap();
    run.advance().unwrap();
    assert_eq!(run.engine().take_profile().unwrap(), []);
    (spans, names)
}

/// Checks that the kernels of the profile are those that were launched, in this order, and that no
/// span of a stream begins before the one before has ended.
fn check((spans, launched): &(Vec<ProfileSpan>, Vec<&'static str>)) {
    let kernels = spans.iter().filter(|span| span.name.starts_with("ptycho_"));
    let kernels: Vec<_> = kernels.map(|span| span.name).collect();
    assert!(!launched.is_empty());
    assert_eq!(&kernels, launched);
    let mut ends: BTreeMap<&str, f64> = BTreeMap::new();
    for span in spans {
        assert_eq!(span.device, 0);
        let end = ends.entry(span.stream).or_default();
        assert!(span.start_us >= *end && span.end_us >= span.start_us);
        *end = span.end_us;
    }
}

#[test]
fn a_profile_has_the_launches_of_the_engine_in_their_order() {
    for engine in ["dm:4", "lsqml:4", "epie:4", "ml:4"] {
        let profile = profiled(engine, false);
        check(&profile);
        assert!(
            profile.0.iter().all(|span| span.stream == "work"),
            "{engine}"
        );
    }
}

#[test]
fn a_profile_has_the_counts_that_travel_in_a_stream_of_their_own() {
    let profile = profiled("lsqml:4", true);
    check(&profile);
    let copies: Vec<_> = profile.0.iter().filter(|s| s.stream == "copies").collect();
    assert!(!copies.is_empty());
    for copy in &copies {
        // A block of three frames, in codes of 16 bits.
        let bytes = Some(3 * FRAME * FRAME * 2);
        assert_eq!((copy.name, copy.bytes), ("send", bytes));
    }
    // There are three blocks, and two slots: at least one block travels in each iteration, at most
    // all.
    assert!((2..=6).contains(&copies.len()), "{}", copies.len());
}
