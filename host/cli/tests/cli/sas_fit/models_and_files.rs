//! Fits of tied parameters, of sums of models, and of several files together.

use super::{evaluate, fit, json, near, summary, with_uncertainties};
use crate::support::TestFolder;

/// A tied fit through the command line: the terminal, the summary, the report, the saved curve; and
/// `evaluate` with the same tie.
#[test]
fn ties_hold_in_fits_and_evaluations() {
    let folder = TestFolder::new();
    let tie = ["--tie", "thickness = 0.2*radius + 3"];
    let q = ["--q", "0.003:0.25:60:log", "--set"];
    let tied = [&q[..], &["radius=50", "-o", "c.csv"], &tie].concat();
    evaluate(&folder, "core_shell_sphere", &tied);
    let set = [&q[..], &["radius=50,thickness=13", "-o", "d.csv"]].concat();
    evaluate(&folder, "core_shell_sphere", &set);
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let numbers = |name: &str| -> Vec<String> {
        let text = text(name);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(str::to_owned).collect()
    };
    assert_eq!(numbers("c.csv"), numbers("d.csv"));
    assert!(text("c.csv").contains("thickness = 0.2*radius + 3 = 13"));
    with_uncertainties(&folder, "c.csv", "c.txt");
    let files = [
        "-o",
        "f.csv",
        "--report",
        "f.html",
        "--fit",
        "radius=20:45:100,scale,background",
    ];
    let output = fit(
        &folder,
        "core_shell_sphere",
        "c.txt",
        &[&files[..], &tie].concat(),
    );
    output.well();
    assert!(output.out.contains("= 0.2*radius + 3"), "{}", output.out);
    let found = summary(&folder);
    near(&found, "radius", 50.0, 1e-5);
    let of = &found["tied"][0];
    assert!((of["value"].as_f64().unwrap() - 13.0).abs() < 1e-4, "{of}");
    let sigma = found["parameters"][0]["uncertainty"].as_f64().unwrap();
    let ratio = of["uncertainty"].as_f64().unwrap() / sigma;
    assert!((ratio - 0.2).abs() < 1e-6, "{ratio}");
    assert!(text("f.csv").contains("thickness = 0.2*radius + 3 = 1"));
    assert!(text("f.html").contains("Tied parameters"));
    // The command in the summary has the values, so it needs no tie.
    assert!(found["command"].as_str().unwrap().contains("thickness=1"));
}

/// A sum on the CPU, in the emulator and in a fit.
#[test]
fn sums_of_models_are_evaluated_and_fitted() {
    let folder = TestFolder::new();
    let set = [
        "--set",
        "background=0.05,A_scale=0.01,A_radius=43,B_scale=2e-6,B_power=3.3",
    ];
    let pd = ["--pd", "A_radius=0.1:gaussian:9"];
    let sum = "sphere+power_law";
    let q = ["--q", "0.004:0.2:40:log", "--json"];
    let intensities = |backend: &str| -> Vec<f64> {
        let fixed = ["sas", "evaluate", sum, "--backend", backend];
        let output = folder.run(&[&fixed[..], &set, &pd, &q].concat());
        output.well();
        let found = json(&output.out);
        let values = found["intensity"].as_array().unwrap();
        values.iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let (cpu, emulator) = (intensities("cpu"), intensities("emulator"));
    for (a, b) in cpu.iter().zip(&emulator) {
        assert!((a / b - 1.0).abs() < 1e-12, "{a}, {b}");
    }
    let curve = [&set[..], &pd, &q[..2], &["-o", "c.csv"]].concat();
    evaluate(&folder, sum, &curve);
    with_uncertainties(&folder, "c.csv", "c.txt");
    let options = [
        "--pd",
        "A_radius=0.2:gaussian:9",
        "--fit",
        "A_radius=20:100,A_radius_pd=0.02:0.4,B_power=2:4.5",
    ];
    let output = fit(&folder, sum, "c.txt", &options);
    assert_eq!(output.code, Some(0), "{output:?}");
    let note = "background, A_scale and B_scale are also fitted";
    assert!(output.err.contains(note), "{}", output.err);
    let found = summary(&folder);
    for (name, truth) in [
        ("A_radius", 43.0),
        ("A_radius_pd", 0.1),
        ("A_scale", 0.01),
        ("B_scale", 2e-6),
        ("B_power", 3.3),
        ("background", 0.05),
    ] {
        near(&found, name, truth, 1e-4);
    }
    let described = folder.run(&["sas", "models", "sphere@hardsphere+lamellar"]);
    described.well();
    for words in ["B: lamellar", "A_radius_effective", "B_scale"] {
        assert!(described.out.contains(words), "{}", described.out);
    }
}

/// Two contrasts of the same spheres, one of them smeared, with a shared radius.
#[test]
fn several_files_are_fitted_together() {
    let folder = TestFolder::new();
    let q = ["--q", "0.004:0.2:50:log"];
    let contrast = |solvent: &str, rest: &[&str]| {
        let set = format!("radius=47.3,sld=1,background=0.02,sld_solvent={solvent}");
        evaluate(
            &folder,
            "sphere",
            &[&q[..], &["--set", &set], rest].concat(),
        );
    };
    contrast("6", &["-o", "a.csv"]);
    contrast("3", &["-o", "b.csv", "--resolution", "pinhole:0.1"]);
    with_uncertainties(&folder, "a.csv", "a.txt");
    // The second file has its resolution in a fourth column.
    let text = std::fs::read_to_string(folder.path("b.csv")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (q, i) = line.split_once(',')?;
        let (q, i): (f64, f64) = (q.parse().ok()?, i.parse().ok()?);
        Some(format!("{q:e} {i:e} {:e} {:e}\n", 0.01 * i, 0.1 * q))
    });
    std::fs::write(folder.path("b.txt"), rows.collect::<String>()).unwrap();
    let files = ["-o", "f.csv", "--plot", "f.png", "--report", "f.html"];
    let options = [
        "b.txt",
        "--set",
        "sld=1,sld_solvent.1=6,sld_solvent.2=3",
        "--fit",
        "radius=20:42:100,scale,background",
        "--share",
        "radius",
    ];
    let output = fit(&folder, "sphere", "a.txt", &[&options[..], &files].concat());
    output.well();
    for words in [
        "1: a (a.txt), χ²/point",
        "2: b (b.txt)",
        "scale.2",
        "f.2.csv",
    ] {
        assert!(output.out.contains(words), "{words}: {}", output.out);
    }
    let found = summary(&folder);
    near(&found, "radius", 47.3, 1e-4);
    for name in ["scale.1", "scale.2"] {
        near(&found, name, 1.0, 1e-3);
    }
    assert_eq!(found["correlation"].as_array().unwrap().len(), 5);
    let [first, second] = &found["curves"].as_array().unwrap()[..] else {
        panic!("two curves in {found}")
    };
    assert!(first["resolution"].as_str().unwrap().starts_with("none"));
    assert_eq!(second["resolution"], "of the data");
    assert_eq!(second["file"], "b.txt");
    assert_eq!(second["residual"].as_array().unwrap().len(), 50);
    assert!(
        second["command"]
            .as_str()
            .unwrap()
            .contains("sld_solvent=3")
    );
    assert_eq!(found["data_sets"][0]["points"], 50);
    assert_eq!(found["inputs"], serde_json::json!(["a.txt", "b.txt"]));
    let page = std::fs::read_to_string(folder.path("f.html")).unwrap();
    assert!(page.contains("1. a: χ² per point") && page.contains("2. b: χ² per point"));
    let names = folder.names();
    for name in ["f.1.csv", "f.2.csv", "f.1.png", "f.2.png", "f.html"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    let header = std::fs::read_to_string(folder.path("f.2.csv")).unwrap();
    assert!(header.contains("b.txt") && header.contains("sld_solvent=3"));
}
