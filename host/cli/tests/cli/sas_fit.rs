//! `sas fit`: fits recover the parameters of simulated curves.

mod models_and_files;
mod wide;

use super::sas::shared;
use super::support::{Output, TestFolder, read_png};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn summary(folder: &TestFolder) -> Value {
    json(&std::fs::read_to_string(folder.path("s.json")).unwrap())
}

/// Value of a fitted parameter.
fn value(found: &Value, name: &str) -> f64 {
    let rows = found["parameters"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("{name} in {found}"))["value"]
        .as_f64()
        .unwrap()
}

#[track_caller]
fn near(found: &Value, name: &str, expected: f64, relative: f64) {
    let value = value(found, name);
    assert!(
        (value / expected - 1.0).abs() < relative,
        "{name}: {value}, {expected} expected; {found}"
    );
}

fn evaluate(folder: &TestFolder, model: &str, options: &[&str]) {
    let fixed = ["sas", "evaluate", model, "--backend", "cpu"];
    folder.run(&[&fixed, options].concat()).well();
}

/// Fits on the CPU and writes a summary.
fn fit(folder: &TestFolder, model: &str, data: &str, options: &[&str]) -> Output {
    let fixed = [
        "sas",
        "fit",
        model,
        data,
        "--backend",
        "cpu",
        "--summary",
        "s.json",
    ];
    folder.run(&[&fixed, options].concat())
}

/// Writes a curve with uncertainties of 1 % from one without.
fn with_uncertainties(folder: &TestFolder, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.path(from)).unwrap();
    let rows: String = text
        .lines()
        .filter_map(|line| {
            let (q, i) = line.split_once(',')?;
            let (q, i): (f64, f64) = (q.parse().ok()?, i.parse().ok()?);
            Some(format!("{q:e} {i:e} {:e}\n", 0.01 * i))
        })
        .collect();
    std::fs::write(folder.path(to), rows).unwrap();
}

#[test]
fn a_fit_recovers_the_simulated_parameters() {
    let folder = TestFolder::new();
    let truth = "radius=47.3,scale=0.02,background=0.3,sld=2,sld_solvent=6";
    evaluate(
        &folder,
        "sphere",
        &[
            "--set",
            truth,
            "--pd",
            "radius=0.15:schulz:30:5",
            "--q",
            "0.003:0.25:60:log",
            "-o",
            "c.csv",
        ],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let output = fit(
        &folder,
        "sphere",
        "c.txt",
        &[
            "--set",
            "sld=2,sld_solvent=6",
            "--pd",
            "radius=0.3:schulz:30:5",
            "--fit",
            "radius=20:100,radius_pd=0.02:0.6",
            "--fit",
            "scale",
            "--fit",
            "background",
            "-o",
            "f.csv",
            "--plot",
            "f.png",
            "--report",
            "f.html",
        ],
    );
    output.well();
    for words in ["radius_pd", "χ²/point", "20 to 100", "f.html"] {
        assert!(output.out.contains(words), "{words}: {}", output.out);
    }
    let found = summary(&folder);
    for (name, truth) in [
        ("radius", 47.3),
        ("radius_pd", 0.15),
        ("scale", 0.02),
        ("background", 0.3),
    ] {
        near(&found, name, truth, 1e-5);
    }
    assert!(found["chi2_per_point"].as_f64().unwrap() < 1e-6, "{found}");
    assert_eq!(found["converged"], true);
    assert_eq!(found["points"], 60);
    assert_eq!(found["covariance"].as_array().unwrap().len(), 4);
    for row in found["parameters"].as_array().unwrap() {
        assert!(row["uncertainty"].as_f64().unwrap() > 0.0, "{row}");
    }
    for key in ["q", "intensity", "sigma", "fit", "residual"] {
        assert_eq!(found["curves"][key].as_array().unwrap().len(), 60, "{key}");
    }
    assert_eq!(
        folder.names(),
        ["c.csv", "c.txt", "f.csv", "f.html", "f.png", "s.json"]
    );
    assert!(read_png(&folder.path("f.png")).width > 0);
    let page = std::fs::read_to_string(folder.path("f.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("radius_pd"));

    // The fitted curve can be fitted again, with the same result.
    let again = fit(
        &folder,
        "sphere",
        "f.csv",
        &[
            "--set",
            "sld=2,sld_solvent=6,radius=40",
            "--pd",
            "radius=0.15:schulz:30:5",
            "--fit",
            "radius=20:100",
            "--fit",
            "scale,background",
            "--json",
        ],
    );
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("no uncertainties"), "{again:?}");
    near(&json(&again.out), "radius", 47.3, 1e-4);
}

/// Several starts and a population find the minimum that a bad start misses, and the same seed
/// gives the same search.
#[test]
fn several_starts_and_populations_find_the_global_minimum() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "sphere",
        &[
            "--set",
            "radius=90,background=0.01",
            "--q",
            "0.005:0.2:80:log",
            "-o",
            "c.csv",
        ],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let search = |options: &[&str]| {
        let common = [
            "--set",
            "radius=30",
            "--fit",
            "radius=10:300",
            "--fit",
            "scale,background",
            "--quiet",
        ];
        fit(&folder, "sphere", "c.txt", &[&common, options].concat()).well();
        summary(&folder)
    };
    let several = search(&["--starts", "40", "--seed", "3"]);
    near(&several, "radius", 90.0, 1e-5);
    let population = search(&["--method", "de", "--seed", "3"]);
    near(&population, "radius", 90.0, 1e-5);
    assert_eq!(population["method"], "de");
    let again = search(&["--method", "de", "--seed", "3"]);
    assert_eq!(population["parameters"], again["parameters"]);
    assert_eq!(population["evaluations"], again["evaluations"]);
}

#[test]
fn a_fit_smears_the_model_with_the_given_resolution() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "sphere",
        &[
            "--set",
            "radius=80",
            "--resolution",
            "pinhole:0.08",
            "--q",
            "0.01:0.2:70:log",
            "-o",
            "c.csv",
        ],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let chi2 = |options: &[&str]| {
        let common = [
            "--fit",
            "radius=60:100",
            "--fit",
            "scale,background",
            "--quiet",
        ];
        fit(&folder, "sphere", "c.txt", &[&common, options].concat()).well();
        let found = summary(&folder);
        (
            found["chi2_per_point"].as_f64().unwrap(),
            value(&found, "radius"),
        )
    };
    let (smeared, radius) = chi2(&["--resolution", "pinhole:0.08"]);
    assert!(
        smeared < 1e-6 && (radius - 80.0).abs() < 1e-3,
        "{smeared} {radius}"
    );
    let (sharp, _) = chi2(&[]);
    assert!(sharp > 10.0, "{sharp}");
    // The same resolution in the file: its fourth column is σ of q.
    let text = std::fs::read_to_string(folder.path("c.txt")).unwrap();
    let with_dq: String = text
        .lines()
        .map(|line| {
            let q: f64 = line.split(' ').next().unwrap().parse().unwrap();
            format!("{line} {:e}\n", 0.08 * q)
        })
        .collect();
    std::fs::write(folder.path("c.txt"), with_dq).unwrap();
    let (output, _) = chi2(&[]);
    assert!(output < 1e-6, "{output}");
    let (ignored, _) = chi2(&["--resolution", "none"]);
    assert!(ignored > 10.0, "{ignored}");
}

#[test]
fn a_range_of_q_selects_the_fitted_points() {
    let folder = TestFolder::new();
    evaluate(&folder, "sphere", &["--q", "0.01:0.2:20", "-o", "c.csv"]);
    let output = fit(
        &folder,
        "sphere",
        "c.csv",
        &["--fit", "scale", "--qrange", "0.05:0.1", "--json-progress"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let events: Vec<Value> = output.out.lines().map(json).collect();
    assert_eq!(events[0]["event"], "start");
    assert!(events[1]["chi2_per_point"].is_number(), "{events:?}");
    let found = summary(&folder);
    assert_eq!(found["points"], 6);
    near(&found, "scale", 1.0, 1e-9);
}

#[test]
fn the_fit_of_an_image_finds_the_orientation() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "cylinder",
        &[
            "--set",
            "theta=80,phi=25,radius=15,length=60",
            "--q2d",
            "0.15:11",
            "-o",
            "i.csv",
        ],
    );
    let output = fit(
        &folder,
        "cylinder",
        "i.csv",
        &[
            "--set",
            "theta=70,phi=15,radius=15,length=60",
            "--fit",
            "theta=40:90,phi=0:50",
            "--fit",
            "scale",
            "--plot",
            "i.png",
            "--quiet",
        ],
    );
    output.well();
    let found = summary(&folder);
    near(&found, "phi", 25.0, 1e-3);
    near(&found, "theta", 80.0, 1e-3);
    assert!(read_png(&folder.path("i.png")).width > 0);
}

#[test]
fn parameters_at_a_bound_are_flagged() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "sphere",
        &["--set", "radius=60", "--q", "0.01:0.2:40", "-o", "c.csv"],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let output = fit(
        &folder,
        "sphere",
        "c.txt",
        &["--fit", "radius=55:58", "--set", "scale=1,background=0.001"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.out.contains("at its upper bound"), "{}", output.out);
    assert_eq!(summary(&folder)["parameters"][0]["at_bound"], "greatest");
}

/// The largest bound that can be written is none.
#[test]
fn a_huge_bound_is_no_scale_of_the_parameter() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "sphere",
        &[
            "--set",
            "radius=60,scale=0.002",
            "--q",
            "0.01:0.2:40",
            "-o",
            "c.csv",
        ],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let output = fit(
        &folder,
        "sphere",
        "c.txt",
        &[
            "--fit",
            "scale=0:1e308",
            "--fit",
            "radius=0:1e300",
            "--set",
            "radius=55,background=0.001",
        ],
    );
    output.well();
    let found = summary(&folder);
    near(&found, "radius", 60.0, 1e-3);
    near(&found, "scale", 0.002, 1e-3);
    for parameter in found["parameters"].as_array().unwrap() {
        assert!(parameter["at_bound"].is_null(), "{found}");
        assert!(parameter["uncertainty"].is_number(), "{found}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_best_so_far() {
    let folder = TestFolder::new();
    evaluate(
        &folder,
        "cylinder",
        &[
            "--pd",
            "radius=0.1:gaussian:9",
            "--q",
            "0.005:0.3:150:log",
            "-o",
            "c.csv",
        ],
    );
    with_uncertainties(&folder, "c.csv", "c.txt");
    let mut command = folder.command();
    command.args([
        "sas",
        "fit",
        "cylinder",
        "c.txt",
        "--backend",
        "cpu",
        "--pd",
        "radius=0.2:gaussian:9",
        "--fit",
        "radius=5:60,length=50:900,radius_pd=0.01:0.5,scale,background",
        "--method",
        "de",
        "--json-progress",
        "--summary",
        "s.json",
        "-o",
        "f.csv",
    ]);
    let output = folder.interrupt_at(&mut command, "\"iteration\":3,");
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(
        output.err.contains("s.json") && output.err.contains("stopped"),
        "{output:?}"
    );
    let found = summary(&folder);
    assert_eq!(found["converged"], false);
    assert_eq!(found["stop"], "interrupted");
    assert!(folder.path("f.csv").exists());
}

/// Simulated spheres with a Schulz distribution: the known parameters, to half a percent.
#[test]
fn measured_spheres_have_the_known_size() {
    let Some(path) = shared("fit of PolySpheres.txt", "PolySpheres.txt") else {
        return;
    };
    let folder = TestFolder::new();
    let output = fit(
        &folder,
        "sphere",
        path.to_str().unwrap(),
        &[
            "--pd",
            "radius=0.1:schulz",
            "--fit",
            "radius=20:200,radius_pd=0.01:0.6,scale,background",
            "--quiet",
        ],
    );
    output.well();
    let found = summary(&folder);
    near(&found, "radius", 59.995, 5e-3);
    near(&found, "radius_pd", 0.2002, 5e-3);
}
