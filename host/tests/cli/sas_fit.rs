//! `sas fit` as a user has it: what was put into a curve comes out of it.

use super::sas::shared;
use super::support::{Place, Said};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn summary(place: &Place) -> Value {
    json(&std::fs::read_to_string(place.path("s.json")).unwrap())
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

fn evaluate(place: &Place, model: &str, options: &[&str]) {
    let fixed = ["sas", "evaluate", model, "--backend", "cpu"];
    place.run(&[&fixed, options].concat()).well();
}

/// Fits on the CPU with a summary.
fn fit(place: &Place, model: &str, data: &str, options: &[&str]) -> Said {
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
    place.run(&[&fixed, options].concat())
}

/// Text of a curve with uncertainties of 1 %, from one without.
fn with_uncertainties(place: &Place, from: &str, to: &str) {
    let text = std::fs::read_to_string(place.path(from)).unwrap();
    let rows: String = text
        .lines()
        .filter_map(|line| {
            let (q, i) = line.split_once(',')?;
            let (q, i): (f64, f64) = (q.parse().ok()?, i.parse().ok()?);
            Some(format!("{q:e} {i:e} {:e}\n", 0.01 * i))
        })
        .collect();
    std::fs::write(place.path(to), rows).unwrap();
}

#[test]
fn what_was_put_in_comes_out() {
    let place = Place::new();
    let truth = "radius=47.3,scale=0.02,background=0.3,sld=2,sld_solvent=6";
    evaluate(
        &place,
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
    with_uncertainties(&place, "c.csv", "c.txt");
    let said = fit(
        &place,
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
    said.well();
    for words in ["radius_pd", "χ²/point", "20 to 100", "f.html"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let found = summary(&place);
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
        place.names(),
        ["c.csv", "c.txt", "f.csv", "f.html", "f.png", "s.json"]
    );
    assert!(image::open(place.path("f.png")).is_ok());
    let page = std::fs::read_to_string(place.path("f.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("radius_pd"));

    // The fitted curve is data again, and has the same parameters.
    let again = fit(
        &place,
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

/// A start in the wrong valley needs others; both ways find the same minimum, and a seed the same way.
#[test]
fn starts_and_populations_find_what_one_start_misses() {
    let place = Place::new();
    evaluate(
        &place,
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
    with_uncertainties(&place, "c.csv", "c.txt");
    let search = |options: &[&str]| {
        let wish = [
            "--set",
            "radius=30",
            "--fit",
            "radius=10:300",
            "--fit",
            "scale,background",
            "--quiet",
        ];
        fit(&place, "sphere", "c.txt", &[&wish, options].concat()).well();
        summary(&place)
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
fn a_fit_smears_the_model_as_it_is_told() {
    let place = Place::new();
    evaluate(
        &place,
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
    with_uncertainties(&place, "c.csv", "c.txt");
    let chi2 = |options: &[&str]| {
        let wish = [
            "--fit",
            "radius=60:100",
            "--fit",
            "scale,background",
            "--quiet",
        ];
        fit(&place, "sphere", "c.txt", &[&wish, options].concat()).well();
        let found = summary(&place);
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
    // The same, said by the file: its fourth column is σ of q.
    let text = std::fs::read_to_string(place.path("c.txt")).unwrap();
    let with_dq: String = text
        .lines()
        .map(|line| {
            let q: f64 = line.split(' ').next().unwrap().parse().unwrap();
            format!("{line} {:e}\n", 0.08 * q)
        })
        .collect();
    std::fs::write(place.path("c.txt"), with_dq).unwrap();
    let (said, _) = chi2(&[]);
    assert!(said < 1e-6, "{said}");
    let (ignored, _) = chi2(&["--resolution", "none"]);
    assert!(ignored > 10.0, "{ignored}");
}

#[test]
fn a_range_of_q_limits_what_takes_part() {
    let place = Place::new();
    evaluate(&place, "sphere", &["--q", "0.01:0.2:20", "-o", "c.csv"]);
    let said = fit(
        &place,
        "sphere",
        "c.csv",
        &["--fit", "scale", "--qrange", "0.05:0.1", "--json-progress"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let events: Vec<Value> = said.out.lines().map(json).collect();
    assert_eq!(events[0]["event"], "start");
    assert!(events[1]["chi2_per_point"].is_number(), "{events:?}");
    let found = summary(&place);
    assert_eq!(found["points"], 6);
    near(&found, "scale", 1.0, 1e-9);
}

#[test]
fn an_image_gives_the_orientation_of_its_particles() {
    let place = Place::new();
    evaluate(
        &place,
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
    let said = fit(
        &place,
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
    said.well();
    let found = summary(&place);
    near(&found, "phi", 25.0, 1e-3);
    near(&found, "theta", 80.0, 1e-3);
    assert!(image::open(place.path("i.png")).is_ok());
}

#[test]
fn what_stops_at_a_bound_says_so() {
    let place = Place::new();
    evaluate(
        &place,
        "sphere",
        &["--set", "radius=60", "--q", "0.01:0.2:40", "-o", "c.csv"],
    );
    with_uncertainties(&place, "c.csv", "c.txt");
    let said = fit(
        &place,
        "sphere",
        "c.txt",
        &["--fit", "radius=55:58", "--set", "scale=1,background=0.001"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("at its greatest"), "{}", said.out);
    assert_eq!(summary(&place)["parameters"][0]["at_bound"], "greatest");
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_best_so_far() {
    let place = Place::new();
    evaluate(
        &place,
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
    with_uncertainties(&place, "c.csv", "c.txt");
    let mut command = place.command();
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
    let said = place.interrupt_at(&mut command, "\"iteration\":3,");
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(
        said.err.contains("s.json") && said.err.contains("stopped"),
        "{said:?}"
    );
    let found = summary(&place);
    assert_eq!(found["converged"], false);
    assert_eq!(found["stop"], "interrupted");
    assert!(place.path("f.csv").exists());
}

/// The figures of the specification: spheres with Schulz's distribution, to half a percent.
#[test]
fn measured_spheres_have_the_known_size() {
    let Some(path) = shared("fit of PolySpheres.txt", "PolySpheres.txt") else {
        return;
    };
    let place = Place::new();
    let said = fit(
        &place,
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
    said.well();
    let found = summary(&place);
    near(&found, "radius", 59.995, 5e-3);
    near(&found, "radius_pd", 0.2002, 5e-3);
}
