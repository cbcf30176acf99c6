//! The summaries of all sciences: the fields that they have in common, with one type and one
//! meaning.

use super::support::TestFolder;
use serde_json::Value;

/// A field's name, and whether a value has its type.
type Field = (&'static str, fn(&Value) -> bool);

/// The fields of every summary.
const FIELDS: [Field; 9] = [
    ("backend", Value::is_string),
    ("device", Value::is_string),
    ("precision", Value::is_string),
    ("inputs", is_list_of_strings),
    ("outputs", is_list_of_strings),
    ("seconds", is_time),
    ("setup_seconds", is_time),
    ("notes", is_list_of_strings),
    ("version", Value::is_string),
];
/// Fields that summaries had under other names.
const FORMER: [&str; 8] = [
    "source",
    "file",
    "sweeps",
    "written",
    "first_malformed",
    "device_names",
    "available_host_bytes",
    "total_seconds",
];

fn is_list_of_strings(value: &Value) -> bool {
    let list = value.as_array();
    list.is_some_and(|list| list.iter().all(Value::is_string))
}

fn is_time(value: &Value) -> bool {
    value.as_f64().is_some_and(|seconds| seconds >= 0.0)
}

/// A command that writes a summary.
struct Case {
    command: &'static [&'static str],
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
    /// Whether it has iterations.
    iterates: bool,
}

const CASES: [Case; 7] = [
    Case {
        command: &[
            "ptycho",
            "reconstruct",
            "scan.cxi",
            "-o",
            "object.h5",
            "--engine",
            "dm:1",
            "--no-pictures",
            "--summary",
            "s.json",
        ],
        inputs: &["scan.cxi"],
        outputs: &["object.h5", "s.json"],
        iterates: true,
    },
    Case {
        command: &[
            "mri",
            "reconstruct",
            "raw.h5",
            "-o",
            "image.h5",
            "--reference",
            "raw.h5",
            "--iterations",
            "2",
            "--summary",
            "s.json",
        ],
        inputs: &["raw.h5"],
        outputs: &["image.h5", "s.json"],
        iterates: true,
    },
    Case {
        command: &[
            "sas",
            "evaluate",
            "sphere",
            "--q",
            "0.01:0.2:20",
            "-o",
            "again.csv",
            "--json",
        ],
        inputs: &[],
        outputs: &["again.csv"],
        iterates: false,
    },
    Case {
        command: &[
            "sas",
            "fit",
            "sphere",
            "curve.csv",
            "--fit",
            "radius=10:90",
            "--summary",
            "s.json",
        ],
        inputs: &["curve.csv"],
        outputs: &["s.json"],
        iterates: true,
    },
    Case {
        command: &[
            "series",
            "resample",
            "points.csv",
            "-o",
            "rows.csv",
            "--summary",
            "s.json",
        ],
        inputs: &["points.csv"],
        outputs: &["rows.csv", "s.json"],
        iterates: false,
    },
    Case {
        command: &[
            "series",
            "ingest",
            "points.store",
            "points.csv",
            "--policy",
            "low",
            "--summary",
            "s.json",
        ],
        inputs: &["points.csv"],
        outputs: &["points.store", "s.json"],
        iterates: false,
    },
    Case {
        command: &[
            "jacobi",
            "--nx",
            "40",
            "--ny",
            "30",
            "--iterations",
            "5",
            "-o",
            "field.npy",
            "--json",
        ],
        inputs: &[],
        outputs: &["field.npy"],
        iterates: true,
    },
];

impl Case {
    fn name(&self) -> String {
        self.command[..2].join(" ")
    }

    /// Runs the command; returns its summary and what it printed.
    fn run(&self, folder: &TestFolder, backend: &str) -> (Value, String) {
        let output = folder.run(&[self.command, &["--backend", backend]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        let summary = if self.command.contains(&"--json") {
            output.out.clone()
        } else {
            std::fs::read_to_string(folder.path("s.json")).unwrap()
        };
        (serde_json::from_str(&summary).unwrap(), output.out)
    }
}

/// A folder with small inputs of every science.
fn folder() -> TestFolder {
    let folder = TestFolder::with_scan();
    let raw = ["mri", "simulate", "raw.h5", "--matrix", "16"];
    let raw = folder.run(&[&raw[..], &["--spokes", "12", "--coils", "2"]].concat());
    assert_eq!(raw.code, Some(0), "{raw:?}");
    let curve = ["sas", "evaluate", "sphere", "--q", "0.01:0.2:20"];
    let curve = folder.run(&[&curve[..], &["-o", "curve.csv"]].concat());
    assert_eq!(curve.code, Some(0), "{curve:?}");
    let points = "timestamp,value\n1700000000,1.5\n1700000030,2.5\n";
    std::fs::write(folder.path("points.csv"), points).unwrap();
    folder
}

#[test]
fn every_summary_has_the_same_fields_with_the_same_types() {
    let folder = folder();
    let mut devices = Vec::new();
    for case in &CASES {
        let (summary, _) = case.run(&folder, "cpu");
        let name = case.name();
        for (field, has_type) in FIELDS {
            assert!(has_type(&summary[field]), "{name}: {field}: {summary}");
        }
        for field in FORMER {
            assert!(summary.get(field).is_none(), "{name}: {field}: {summary}");
        }
        assert_eq!(summary["backend"], "cpu", "{name}");
        assert_eq!(summary["inputs"], serde_json::json!(case.inputs), "{name}");
        assert_eq!(
            summary["outputs"],
            serde_json::json!(case.outputs),
            "{name}"
        );
        let iterations = summary.get("iterations").and_then(Value::as_u64);
        assert_eq!(iterations.is_some(), case.iterates, "{name}: {summary}");
        devices.push(summary["device"].as_str().unwrap().to_owned());
    }
    assert!(devices[0].contains("thread"), "{devices:?}");
    assert!(
        devices.iter().all(|name| *name == devices[0]),
        "{devices:?}"
    );
}

/// The reason is in the file, whether or not this computer has a GPU.
#[test]
fn every_summary_has_the_reason_why_auto_chose_the_back_end() {
    let folder = folder();
    for case in &CASES {
        let (summary, _) = case.run(&folder, "auto");
        let reason = match summary["backend"].as_str() {
            Some("cpu") => "falling back to the CPU: ",
            _ => "computing on the GPU: ",
        };
        let notes = summary["notes"].as_array().unwrap().iter();
        let found = notes.filter(|note| note.as_str().unwrap().starts_with(reason));
        assert_eq!(found.count(), 1, "{}: {summary}", case.name());
    }
}

#[test]
fn every_table_names_the_back_end_in_one_form() {
    let folder = folder();
    for case in &CASES {
        let (summary, _) = case.run(&folder, "cpu");
        let word = |field: &str| summary[field].as_str().unwrap();
        let expected = format!("cpu ({}), {}", word("device"), word("precision"));
        let table: Vec<&str> = case
            .command
            .iter()
            .filter(|w| **w != "--json")
            .copied()
            .collect();
        let output = folder.run(&[&table[..], &["--backend", "cpu"]].concat());
        let line = output
            .out
            .lines()
            .find_map(|line| line.strip_prefix("back end "));
        assert_eq!(line.map(str::trim), Some(&*expected), "{output:?}");
    }
}

#[test]
fn every_estimate_of_memory_has_the_same_fields() {
    let folder = folder();
    let memory = |arguments: [&str; 4]| {
        let output = folder.run(&arguments);
        let info: Value = serde_json::from_str(&output.out).unwrap();
        info["memory"].clone()
    };
    let ptycho = memory(["ptycho", "info", "scan.cxi", "--json"]);
    let mri = memory(["mri", "info", "raw.h5", "--json"]);
    let operators = mri.as_array().unwrap();
    assert_eq!(operators.len(), 3);
    let fields = [
        "cpu_bytes",
        "gpu_host_bytes",
        "gpu_device_bytes",
        "available_host_bytes",
    ];
    for estimate in operators.iter().chain([&ptycho]) {
        for field in fields {
            assert!(estimate[field].is_u64(), "{field}: {estimate}");
        }
    }
}

/// The seconds of the whole run are a number; those of its stages have their own field.
#[test]
fn stages_of_time_series_have_their_own_seconds() {
    let folder = folder();
    for case in CASES.iter().filter(|case| case.command[0] == "series") {
        let (summary, _) = case.run(&folder, "cpu");
        for stage in ["read", "compute", "write"] {
            let seconds = &summary["stage_seconds"][stage];
            assert!(is_time(seconds), "{stage}: {summary}");
            assert!(seconds.as_f64() <= summary["seconds"].as_f64(), "{summary}");
        }
        assert!(summary["malformed"]["rows"].is_u64(), "{summary}");
    }
}
