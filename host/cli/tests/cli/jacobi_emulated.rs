//! `warpstride jacobi` on several emulated devices.

use super::jacobi::jacobi;
use super::support::{Output, TestFolder};
use ndarray::Array2;
use warpstride::io::npy;

const SCHEMES: [&str; 6] = [
    "default-stream",
    "streams",
    "events",
    "overlap",
    "graphs",
    "temporal",
];

fn emulated(folder: &TestFolder, options: &[&str]) -> Output {
    jacobi(folder, &[options, &["--backend", "emulator"]].concat())
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn any_number_of_devices_with_any_scheme_gives_the_field_of_the_cpu() {
    let folder = TestFolder::new();
    let fixed = ["--nx", "37", "--ny", "23", "--iterations", "11"];
    for (precision, rungs) in [("f32", &SCHEMES[..]), ("f64", &SCHEMES[4..])] {
        let fixed = [&fixed[..], &["--precision", precision]].concat();
        let cpu = jacobi(
            &folder,
            &[&fixed[..], &["-o", "cpu.npy", "--json"]].concat(),
        );
        cpu.well();
        let expected = std::fs::read(folder.path("cpu.npy")).unwrap();
        let norms = json(&cpu.out)["norms"].clone();
        for (rung, scheme) in rungs.iter().enumerate() {
            // Each scheme runs with another number of devices.
            let devices = ["0", "0,1", "0,1,2", "0,1,2,3", "0,1,2,3,4"][rung % 5];
            let options = [
                "--scheme",
                scheme,
                "--devices",
                devices,
                "-o",
                "e.npy",
                "--json",
            ];
            let output = emulated(&folder, &[&fixed[..], &options].concat());
            output.well();
            let found = std::fs::read(folder.path("e.npy")).unwrap();
            assert_eq!(found, expected, "{precision}, {scheme}");
            let of = json(&output.out);
            assert_eq!(
                (of["scheme"].as_str(), of["backend"].as_str()),
                (Some(*scheme), Some("emulator"))
            );
            let count = devices.split(',').count();
            assert_eq!(of["devices"].as_array().unwrap().len(), count);
            assert_eq!(of["device"].as_str().unwrap().split(", ").count(), count);
            for (found, expected) in of["norms"]
                .as_array()
                .unwrap()
                .iter()
                .zip(norms.as_array().unwrap())
            {
                assert_eq!(found["sweep"], expected["sweep"]);
                let [found, expected] = [found, expected].map(|n| n["norm"].as_f64().unwrap());
                // The same squares are added in another order.
                assert!(
                    (found / expected - 1.0).abs() < 1e-6,
                    "{scheme}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn every_boundary_with_source_restart_and_tolerance_agrees_on_several_devices() {
    let folder = TestFolder::new();
    let field = |scale: f64| {
        Array2::from_shape_fn((17, 21), |(y, x)| {
            scale * ((y * 7 + x * 13) % 11) as f64 - 1.5 * scale
        })
    };
    npy::write(&folder.path("start.npy"), field(0.3).view()).unwrap();
    npy::write(&folder.path("source.npy"), field(0.01).view()).unwrap();
    for boundary in ["textbook", "dirichlet", "periodic"] {
        let fixed = [
            "--boundary",
            boundary,
            "--restart",
            "start.npy",
            "--source",
            "source.npy",
            "--precision",
            "f64",
            "--iterations",
            "200",
            "--tolerance",
            "0.4",
            "--check-every",
            "3",
            "--json",
        ];
        // The source does not sum to 0, which a periodic boundary needs for a solution.
        let ended = |output: &Output| match boundary {
            "periodic" => assert!(output.err.contains("there is no solution"), "{output:?}"),
            _ => output.well(),
        };
        let cpu = jacobi(&folder, &[&fixed[..], &["-o", "cpu.npy"]].concat());
        ended(&cpu);
        let expected = json(&cpu.out);
        // It converges, and not in the last sweep of a pass of 8.
        let sweeps = expected["iterations"].as_u64().unwrap();
        assert!(expected["converged"] == true && sweeps > 1 && !sweeps.is_multiple_of(8));
        for (scheme, devices) in [("events", "0,1"), ("overlap", "0,1,2"), ("auto", "0,1,2,3")] {
            let options = ["--scheme", scheme, "--devices", devices, "-o", "e.npy"];
            let output = emulated(&folder, &[&fixed[..], &options].concat());
            ended(&output);
            let found = json(&output.out);
            for metric in ["iterations", "converged", "boundary", "tolerance"] {
                assert_eq!(found[metric], expected[metric], "{boundary}, {scheme}");
            }
            let best = if scheme == "auto" { "temporal" } else { scheme };
            assert_eq!(found["scheme"], best);
            let [a, b] = ["e.npy", "cpu.npy"].map(|name| std::fs::read(folder.path(name)).unwrap());
            assert!(a == b, "{boundary}, {scheme}");
        }
    }
}

#[test]
fn a_pass_deeper_than_the_blocks_is_reduced_with_a_note() {
    let folder = TestFolder::new();
    let options = ["--nx", "20", "--ny", "10", "--iterations", "8"];
    let deep = ["--devices", "0,1,2", "--time-block", "5", "--json"];
    let output = emulated(&folder, &[&options[..], &deep].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let of = json(&output.out);
    assert_eq!(of["time_block"], 2);
    let notes = of["notes"].as_array().unwrap();
    let expected = "time block 2 instead of 5: the smallest block has 2 rows";
    assert!(notes.iter().any(|note| note == expected), "{notes:?}");
}

#[test]
fn the_depth_of_a_pass_and_the_route_of_halos_are_as_requested() {
    let folder = TestFolder::new();
    let fixed = [
        "--nx",
        "40",
        "--ny",
        "30",
        "--iterations",
        "10",
        "--devices",
        "0,1",
    ];
    jacobi(&folder, &[&fixed[..6], &["-o", "cpu.npy"]].concat()).well();
    let expected = std::fs::read(folder.path("cpu.npy")).unwrap();
    for (option, p2p) in [("--p2p", true), ("--no-p2p", false)] {
        for depth in [1, 3, 8] {
            let depth = depth.to_string();
            let options = [option, "--time-block", &depth, "-o", "e.npy", "--json"];
            let output = emulated(&folder, &[&fixed[..], &options].concat());
            output.well();
            let of = json(&output.out);
            assert_eq!(
                (of["p2p"].as_bool(), of["time_block"].to_string()),
                (Some(p2p), depth)
            );
            assert_eq!(of["scheme"], "temporal");
            assert_eq!(std::fs::read(folder.path("e.npy")).unwrap(), expected);
        }
    }
}

#[test]
fn a_timeline_has_every_device_and_no_emulated_times_are_printed() {
    let folder = TestFolder::new();
    let fixed = [
        "--nx",
        "40",
        "--ny",
        "30",
        "--iterations",
        "6",
        "--devices",
        "0,1,2",
    ];
    let options = [
        "--scheme",
        "overlap",
        "--profile",
        "t.json",
        "--efficiency",
        "--json",
    ];
    let output = emulated(&folder, &[&fixed[..], &options].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let of = json(&output.out);
    // What the emulator's times would be turned into says nothing about a GPU.
    let meaningless = [
        "floor_seconds",
        "share_of_floor",
        "single_seconds",
        "efficiency",
        "idle_gap_us",
    ];
    for name in meaningless {
        assert!(of[name].is_null(), "{name}: {}", of[name]);
    }
    assert!(output.err.contains("note: --efficiency: "), "{output:?}");
    let printed = emulated(&folder, &[&fixed[..], &options[..5]].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for name in ["efficiency  ", "idle gap", "memory floor"] {
        assert!(!printed.out.contains(name), "{printed:?}");
    }

    let trace = json(&std::fs::read_to_string(folder.path("t.json")).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let work: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    for device in 0..3 {
        let own = work.iter().filter(|e| e["pid"] == device);
        assert!(own.clone().count() >= 6, "device {device}");
        assert!(own.clone().all(|e| e["dur"].as_f64().unwrap() >= 0.0));
        let named = |kind: &str| {
            let mut of = events.iter().filter(|e| e["pid"] == device);
            of.any(|e| e["ph"] == "M" && e["name"] == kind)
        };
        assert!(named("process_name") && named("thread_name"));
    }
    assert!(trace["otherData"].get("idle_gap_us").is_none());

    // There is nothing to compare one device with.
    let one = [&fixed[..6], &["--efficiency", "--json"]].concat();
    let output = emulated(&folder, &one);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.err.starts_with("note: --efficiency: "), "{output:?}");
    assert!(json(&output.out)["efficiency"].is_null());
}
