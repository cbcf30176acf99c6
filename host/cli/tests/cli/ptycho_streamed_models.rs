//! Counts that stay in host memory, with each further part of the model, in the emulator: the
//! result is that of counts on the device, or the run is refused with one sentence.

use super::support::{Output, TestFolder};
use serde_json::Value;
use warpstride::ptycho::data::Reconstruction;
use warpstride::ptycho::io::results;

/// Batches of three of the frames.
const LSQML: [&str; 4] = ["--engine", "lsqml:3", "--set", "lsqml.batch=3"];
/// What a run says of its blocks.
const TRAVEL: &str = "counts stay in host memory and travel in blocks of up to";
const OBJECT_MODES: [&str; 2] = ["--set", "object_modes=2"];
const VARIATIONS: [&str; 4] = ["--set", "opr_modes=2", "--set", "opr_from=1"];
/// The same path for all frames.
const POINTS: [&str; 4] = ["--set", "fly.points=2", "--set", "fly.shift=[0.0,4e-8]"];
const SLICES: [&str; 4] = ["--set", "slices.distance=2e-5", "--set", "slices.count=2"];

/// A folder with `scan.cxi`, twelve frames of 32 × 32 whose counts need 16 bits.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let size = ["--frame", "32", "--positions", "12", "--photons", "1e6"];
    folder.simulate("scan.cxi", &size);
    folder
}

/// A limit that is a little too small for all counts of the folder's scan.
fn limit(folder: &TestFolder, options: &[&str]) -> String {
    let output = folder.run(&[&["ptycho", "info", "scan.cxi", "--json"], options].concat());
    output.well();
    let info: Value = serde_json::from_str(&output.out).unwrap();
    let needed = info["memory"]["gpu_device_bytes"].as_u64().unwrap();
    (needed - 1000).to_string()
}

fn run(folder: &TestFolder, options: &[&str]) -> Output {
    folder.reconstruct_on("emulator", &[&["--no-pictures"], options].concat())
}

/// The results with all counts on the device, and with the limit.
#[track_caller]
fn both(options: &[&str]) -> [Reconstruction; 2] {
    let folder = folder();
    let limit = limit(&folder, options);
    let limited = [options, &["--device-memory", &limit]].concat();
    [options, &limited].map(|options| {
        let output = run(&folder, options);
        output.well();
        let streams = options.contains(&"--device-memory");
        assert_eq!(output.out.contains(TRAVEL), streams, "{}", output.out);
        results::read(&folder.path("out.h5")).unwrap()
    })
}

#[test]
fn mini_batches_have_the_same_bits_with_each_part_that_streams() {
    for part in [&OBJECT_MODES[..], &VARIATIONS, &POINTS] {
        let [all, found] = both(&[&LSQML[..], part].concat());
        assert_eq!(
            (&found.object, &found.probe),
            (&all.object, &all.probe),
            "{part:?}"
        );
        assert_eq!(found.parts, all.parts, "{part:?}");
        assert!(
            found.parts != warpstride::ptycho::data::ModelParts::default(),
            "{part:?}"
        );
    }
}

#[test]
fn what_does_not_stream_is_refused_with_one_sentence() {
    let folder = folder();
    let scan = ["--set", "fly.points=2", "--set", "fly.path=scan"];
    for (engine, part, sentence) in [
        (
            &LSQML[..],
            &SLICES[..],
            "slices: expected enough device memory",
        ),
        (
            &LSQML,
            &scan,
            "several object modes or points of an exposure: expected",
        ),
    ] {
        let options = [engine, part].concat();
        let limit = limit(&folder, &options);
        let output = run(
            &folder,
            &[&options[..], &["--device-memory", &limit]].concat(),
        );
        output.refused(1, &[sentence]);
        assert_eq!(output.err.trim_end().lines().count(), 1, "{}", output.err);
        run(&folder, &options).well();
    }
    // Exit waves of several object modes or points do not travel.
    for part in [&OBJECT_MODES[..], &POINTS] {
        let options = [&["--engine", "dm:2"], part].concat();
        let limit = limit(&folder, &options);
        let output = run(
            &folder,
            &[&options[..], &["--device-memory", &limit]].concat(),
        );
        assert_eq!(output.code, Some(1), "{output:?}");
        let sentences = [
            "several object modes or points of an exposure",
            "device memory",
        ];
        assert!(
            sentences.iter().any(|s| output.err.contains(s)),
            "{}",
            output.err
        );
        assert_eq!(output.err.trim_end().lines().count(), 1, "{}", output.err);
    }
}
