//! `sas fit` on several emulated devices: the same fit to the bit, whatever their number.

use super::support::{Output, TestFolder, skipped};
use serde_json::Value;

/// A curve that is not that of a sphere, so that a fit has many steps.
fn curve() -> String {
    let row = |i: u32| {
        let q = 0.01 * f64::from(i);
        let intensity = 10.0 / (1.0 + (50.0 * q).powi(4)) + 0.1;
        format!("{q} {intensity} {}\n", 0.02 * intensity)
    };
    (1..12).map(row).collect()
}

fn fit(folder: &TestFolder, options: &[&str]) -> Output {
    std::fs::write(folder.path("curve.txt"), curve()).unwrap();
    let fixed = ["sas", "fit", "sphere", "curve.txt", "--fit", "radius=20:80"];
    folder.run(&[&fixed, options].concat())
}

/// The summary without what is of the run: its devices and times.
fn summary(folder: &TestFolder, options: &[&str]) -> Value {
    let json = ["--backend", "emulator", "--json", "-o", "f.csv"];
    let output = fit(folder, &[options, &json].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let mut found: Value = serde_json::from_str(&output.out).unwrap();
    for of_run in ["device", "seconds", "setup_seconds"] {
        found.as_object_mut().unwrap().remove(of_run).unwrap();
    }
    found
}

/// The fitted curve, without the header, which names the devices.
fn rows(folder: &TestFolder) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path("f.csv")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(str::to_owned).collect()
}

#[test]
fn any_number_of_devices_gives_the_same_fit() {
    let folder = TestFolder::new();
    // A descent asks for one to five sets of parameters at once, a population for 24: more devices
    // than sets, and divisions that are not even.
    let population = ["--method", "de", "--iterations", "4", "--seed", "5"];
    let starts = ["--starts", "3", "--iterations", "4", "--precision", "f32"];
    for search in [&population[..], &starts[..]] {
        let expected = summary(&folder, search);
        let curve = rows(&folder);
        assert!(expected["evaluations"].as_u64() > Some(20), "{expected}");
        for devices in ["0", "0,1", "0,1,2", "0,1,2,3,4,5,6"] {
            let found = summary(&folder, &[search, &["--devices", devices]].concat());
            assert_eq!(found, expected, "{devices}");
            assert_eq!(rows(&folder), curve);
        }
    }
}

#[test]
fn the_devices_are_in_summary_and_table() {
    let folder = TestFolder::new();
    let options = ["--backend", "emulator", "--devices", "0,1,2"];
    let output = fit(&folder, &[&options[..], &["--summary", "s.json"]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.out.contains("3 x emulator"), "{}", output.out);
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let devices = found["device"].as_str().unwrap();
    assert_eq!(devices.split(", ").count(), 3, "{devices}");
}

#[test]
fn wrong_devices_are_refused() {
    let folder = TestFolder::new();
    let emulator = ["--backend", "emulator"];
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--devices", ""], &["--devices", "commas"]),
        (&["--devices", "0,x"], &["--devices 0,x: expected all, or"]),
        (&["--devices", "0,-1"], &["--devices 0,-1", "commas"]),
        (
            &["--devices", "0,1,0"],
            &["expected each device once, found 0 twice"],
        ),
        (&["--devices", "3"], &["--devices 3: expected 0,1,2"]),
        (&["--devices", "1,0"], &["--devices 1,0: expected 0,1,2"]),
        (&["--devices", "all"], &["--devices all: expected a list"]),
        (
            &["--devices", "0", "--device", "0"],
            &["cannot be used with"],
        ),
        (&["--device", "0"], &["--device 0: expected --backend cuda"]),
    ];
    for (options, words) in cases {
        let output = fit(&folder, &[&emulator, options].concat());
        output.refused(2, words);
        assert_eq!(output.out, "");
    }
    for devices in ["0", "0,1", "all", "2"] {
        fit(&folder, &["--backend", "cpu", "--devices", devices]).refused(
            2,
            &["--devices: expected --backend cuda or emulator, found --backend cpu"],
        );
    }
}

#[test]
fn devices_ask_for_gpus() {
    let folder = TestFolder::new();
    let devices = folder.run(&["devices", "--json"]);
    devices.well();
    let listing: Value = serde_json::from_str(&devices.out).unwrap();
    if listing["reason"].is_null() {
        skipped("sas fit without a driver", "this machine has a driver");
        return;
    }
    for devices in ["3", "0,1", "all"] {
        let option = format!("--devices {devices}: ");
        fit(&folder, &["--devices", devices]).refused(1, &[&option, "driver"]);
    }
}
