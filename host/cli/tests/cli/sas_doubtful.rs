//! Doubtful data and options of `sas`: what cannot be decided is refused, noted or warned of.

mod columns;
mod headers;
mod nxcansas;
mod options;
mod pictures;

use super::support::{Output, TestFolder};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A sphere of 50 Å with uncertainties of 3 %: (q, I, σ).
fn sphere() -> Vec<[f64; 3]> {
    (1..41)
        .map(|i| {
            let q = 0.005 * f64::from(i);
            let x = q * 50.0;
            let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
            let intensity = 100.0 * f * f + 0.1;
            [q, intensity, 0.03 * intensity]
        })
        .collect()
}

/// Writes a file of three columns after a header.
fn write(folder: &TestFolder, name: &str, header: &str, row: impl Fn([f64; 3]) -> String) {
    let rows: String = sphere().into_iter().map(|r| row(r) + "\n").collect();
    std::fs::write(folder.path(name), format!("{header}{rows}")).unwrap();
}

fn columns([q, i, s]: [f64; 3]) -> String {
    format!("{q} {i} {s}")
}

fn info(folder: &TestFolder, name: &str) -> Value {
    let output = folder.run(&["sas", "info", name, "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    json(&output.out)
}

/// Notes and problems of `sas info`.
fn remarks(folder: &TestFolder, name: &str) -> String {
    let found = info(folder, name);
    format!("{} {}", found["notes"], found["problems"])
}

fn fit(folder: &TestFolder, data: &str, options: &[&str]) -> Output {
    let fixed = ["sas", "fit", "sphere", data, "--backend", "cpu"];
    folder.run(&[&fixed, options].concat())
}

fn evaluate(folder: &TestFolder, model: &str, options: &[&str]) -> Output {
    let fixed = [
        "sas",
        "evaluate",
        model,
        "--backend",
        "cpu",
        "--points",
        "0.01",
    ];
    folder.run(&[&fixed, options].concat())
}

#[track_caller]
fn says(output: &Output, words: &[&str]) {
    for word in words {
        assert!(output.err.contains(word), "{word:?} is missing: {output:?}");
    }
}

#[test]
fn only_names_of_columns_make_an_image() {
    let folder = TestFolder::new();
    write(
        &folder,
        "hint.txt",
        "# radial average of the Qx Qy image\n",
        columns,
    );
    let found = info(&folder, "hint.txt");
    assert_eq!(found["kind"], "curve");
    assert!(remarks(&folder, "hint.txt").contains("mentions Qx and Qy"));
    for header in [
        "# Qx Qy I\n",
        "Data columns Qx - Qy - I(Qx,Qy)\n",
        "qx,qy,intensity\n",
    ] {
        write(&folder, "image.txt", header, columns);
        assert_eq!(info(&folder, "image.txt")["kind"], "image", "{header}");
    }
}

#[test]
fn columns_in_another_order_are_used_in_that_order() {
    let folder = TestFolder::new();
    write(&folder, "usual.txt", "# q I sigma\n", columns);
    write(&folder, "sigma.txt", "# sigma I q\n", |[q, i, s]| {
        format!("{s} {i} {q}")
    });
    write(&folder, "dq.txt", "# q dq I dI\n", |[q, i, s]| {
        format!("{q} {} {i} {s}", 0.02 * q)
    });
    write(&folder, "unknown.txt", "# temperature q I\n", columns);
    write(&folder, "angle.txt", "2theta(deg) I s\n", columns);
    let usual = info(&folder, "usual.txt");
    for name in ["sigma.txt", "dq.txt"] {
        let found = info(&folder, name);
        for key in ["q", "intensity", "relative_uncertainty"] {
            assert_eq!(found[key], usual[key], "{name} {key}");
        }
        assert!(
            remarks(&folder, name).contains("as the header names them"),
            "{name}"
        );
    }
    assert_eq!(info(&folder, "dq.txt")["resolution"]["kind"], "pinhole");
    let said = remarks(&folder, "unknown.txt");
    assert!(said.contains("as the header names them, q is column 2, I is column 3"));
    assert!(
        said.contains("column 1 (temperature) is not used"),
        "{said}"
    );
    let output = folder.run(&["sas", "info", "angle.txt"]);
    output.refused(1, &["angle.txt: column 1: expected q", "found an angle"]);
}

#[test]
fn units_in_headers_are_noted() {
    let folder = TestFolder::new();
    for (header, unit) in [
        ("# Q (um-1) I (1/cm)\n", "um-1"),
        ("q(m^-1) I\n", "m^-1"),
        ("# q in inverse nanometers\n", "inverse nanometers"),
        ("# Q (\u{b5}m-1)\n", "\u{b5}m-1"),
        ("# q [1/A] I [1/m]\n", "intensities in 1/m"),
    ] {
        write(&folder, "a.txt", header, columns);
        assert!(remarks(&folder, "a.txt").contains(unit), "{header}");
    }
    write(&folder, "a.txt", "", columns);
    let rows = std::fs::read_to_string(folder.path("a.txt")).unwrap();
    std::fs::write(folder.path("a.txt"), rows + "# q in nm^-1\n").unwrap();
    assert!(remarks(&folder, "a.txt").contains("nm^-1"));
}

#[test]
fn decimal_commas_are_refused_by_name() {
    let folder = TestFolder::new();
    for separator in [" ", "\t", ";"] {
        write(&folder, "a.txt", "", |row| {
            row.map(|v| format!("{v:.6}").replace('.', ","))
                .join(separator)
        });
        for command in ["info", "fit"] {
            let typed: &[&str] = match command {
                "fit" => &["sas", "fit", "sphere", "a.txt", "--fit", "radius"],
                _ => &["sas", "info", "a.txt"],
            };
            folder.run(typed).refused(
                1,
                &["a.txt: line 1, column 1:", "decimal commas in \"0,005"],
            );
        }
    }
}

#[test]
fn a_given_unit_that_a_file_contradicts_is_noted() {
    let folder = TestFolder::new();
    let rows: String = sphere()
        .iter()
        .map(|[q, i, s]| {
            format!("<Idata><Q unit=\"1/A\">{q}</Q><I unit=\"1/cm\">{i}</I><Idev unit=\"1/cm\">{s}</Idev></Idata>")
        })
        .collect();
    let xml = format!("<SASroot><SASentry><SASdata>{rows}</SASdata></SASentry></SASroot>");
    std::fs::write(folder.path("a.xml"), xml).unwrap();
    write(&folder, "a.txt", "# q (1/A) I sigma\n", columns);
    for (name, words) in [
        ("a.xml", "is not used: the file states 1/A"),
        ("a.txt", "mentions 1/A"),
    ] {
        let output = folder.run(&["sas", "info", name, "--q-unit", "1/nm"]);
        assert!(output.out.contains(words), "{output:?}");
        let output = folder.run(&["sas", "info", name, "--q-unit", "1/A"]);
        assert!(!output.out.contains(words), "{output:?}");
    }
}

#[test]
fn a_fit_warns_of_doubtful_data_and_of_a_model_that_does_not_describe_them() {
    let folder = TestFolder::new();
    write(&folder, "nm.txt", "", |[q, i, s]| {
        columns([100.0 * q, i, s])
    });
    let files = ["--summary", "s.json", "--report", "r.html"];
    let output = fit(
        &folder,
        "nm.txt",
        &[&["--fit", "radius=0.1:2"], &files[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    says(&output, &["warning: the largest q is 20"]);
    let output = fit(
        &folder,
        "nm.txt",
        &[&["--fit", "radius=20:200"], &files[..]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    says(
        &output,
        &[
            "warning: the largest q",
            "warning: the model does not describe the data: χ²",
        ],
    );
    let summary = json(&std::fs::read_to_string(folder.path("s.json")).unwrap());
    assert_eq!(
        summary["problems"].as_array().unwrap().len(),
        2,
        "{summary}"
    );
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("Doubtful data") && page.contains("does not describe the data"));
    write(&folder, "good.txt", "", columns);
    let output = fit(
        &folder,
        "good.txt",
        &[&["--fit", "radius=20:200"], &files[..]].concat(),
    );
    assert!(!output.err.contains("warning"), "{output:?}");
}

#[test]
fn uncertainties_of_intensities_that_are_zero_are_described() {
    let folder = TestFolder::new();
    write(&folder, "zero.txt", "", |[q, _, s]| columns([q, 0.0, s]));
    let output = folder.run(&["sas", "info", "zero.txt"]);
    output.well();
    assert!(
        !output.out.contains("none") || output.out.contains("uncertainties  0."),
        "{output:?}"
    );
    assert!(
        !output.out.contains("there are no uncertainties"),
        "{output:?}"
    );
    std::fs::write(folder.path("one.txt"), "0.01 1 0.1\n").unwrap();
    let output = folder.run(&["sas", "info", "one.txt"]);
    assert!(
        output.out.contains("expected 5 points or more"),
        "{output:?}"
    );
}

/// A model that diverges at q = 0 has an infinite intensity in the file that `-o` writes.
#[test]
fn files_with_an_infinite_intensity_at_the_origin_are_read_back() {
    let folder = TestFolder::new();
    for name in ["a.csv", "a.h5"] {
        let points = ["--points", "0,0.1,0.2,0.3", "-o", name];
        let output = folder.run(&[&["sas", "evaluate", "power_law"], &points[..]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(info(&folder, name)["points"], 3);
    }
}
