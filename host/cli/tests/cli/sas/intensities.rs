//! Intensities of curves and images: textbook and published values, distributions, products,
//! resolution.

use super::super::support::TestFolder;
use super::{evaluate, evaluated, intensities, json, near, numbers, shared};
use serde_json::Value;

/// The textbook form factor (3 (sin x − x cos x)/x³)² on absolute scale: contrast 5, volume
/// fraction 1 %.
#[test]
fn spheres_match_the_textbook() {
    let folder = TestFolder::new();
    let found = evaluated(
        &folder,
        "sphere",
        &[
            "--set",
            "radius=60,scale=0.01",
            "--set",
            "background=0",
            "--q",
            "0.005:0.3:40:log",
        ],
    );
    let q = numbers(&found["q"]);
    assert_eq!((q.len(), q[0], q[39]), (40, 0.005, 0.3));
    let volume = 4.0 / 3.0 * std::f64::consts::PI * 60.0_f64.powi(3);
    let expected: Vec<f64> = q
        .iter()
        .map(|q| {
            let x = q * 60.0;
            let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
            0.01 * 1e-4 * 25.0 * volume * f * f
        })
        .collect();
    let found_intensity = numbers(&found["intensity"]);
    for (a, b) in found_intensity.iter().zip(&expected) {
        // Near its zeros the form factor is a difference of nearly equal numbers.
        assert!((a - b).abs() <= 1e-9 * b + 1e-12 * expected[0], "{a} {b}");
    }
    for key in [
        "backend",
        "precision",
        "seconds",
        "command",
        "version",
        "notes",
    ] {
        assert!(!found[key].is_null(), "{key}");
    }
    assert_eq!(found["model"], "sphere");
    assert_eq!(found["parameters"]["radius"], 60.0);
    assert_eq!(found["polydispersity"], Value::Array(Vec::new()));
}

/// A model that diverges is infinite at q = 0 on a curve and in an image; others have their limit
/// there.
#[test]
fn diverging_models_are_infinite_at_the_origin() {
    let folder = TestFolder::new();
    for model in ["power_law", "porod", "broad_peak", "guinier_porod"] {
        let output = evaluate(&folder, model, &["--points=0.1,0", "--json"]);
        let found = json(&output.out);
        assert!(found["intensity"][0].is_f64() && found["intensity"][1].is_null());
        assert!(
            output.err.contains("1 of 2 intensities are not finite"),
            "{model}: {output:?}"
        );
        let output = evaluate(&folder, model, &["--points=0:0,0.1:0"]);
        assert!(output.out.contains(" inf\n"), "{model}: {output:?}");
    }
    for model in ["sphere", "guinier", "dab", "mono_gauss_coil", "hardsphere"] {
        let output = evaluate(&folder, model, &["--points=0,1e-9", "--json"]);
        let found = numbers(&json(&output.out)["intensity"]);
        assert!(
            (found[0] / found[1] - 1.0).abs() < 1e-6,
            "{model}: {found:?}"
        );
    }
}

/// Published values, with the tolerance that the file defines, computed by the command: curves,
/// distributions, products, images, magnetism.
#[test]
fn published_values_are_reproduced() {
    let Some(path) = shared("published values", "published-values.json") else {
        return;
    };
    let published = json(&std::fs::read_to_string(path).unwrap());
    let folder = TestFolder::new();
    let mut checked = 0;
    for name in [
        "sphere",
        "cylinder",
        "ellipsoid",
        "parallelepiped",
        "vesicle",
        "hardsphere",
    ] {
        for test in published["models"][name]["tests"].as_array().unwrap() {
            let kind = test["kind"].as_str().unwrap();
            if kind == "Fq" {
                continue;
            }
            let (mut model, mut options) = (name.to_owned(), Vec::new());
            let settings = test["pars"].as_object().unwrap();
            for (key, value) in settings {
                if key == "@S" {
                    model = format!("{name}@{}", value.as_str().unwrap());
                } else if let Some(of) = key.strip_suffix("_pd") {
                    // Without a number of points sasmodels computes a single one.
                    if let Some(points) = settings.get(&format!("{key}_n")) {
                        options.push(format!("--pd={of}={value}:gaussian:{points}"));
                    }
                } else if !key.ends_with("_pd_n") {
                    options.push(format!("--set={key}={value}"));
                }
            }
            let points: Vec<String> = test["q"]
                .as_array()
                .unwrap()
                .iter()
                .map(|q| match q.as_array() {
                    Some(pair) => format!("{}:{}", pair[0], pair[1]),
                    None => q.to_string(),
                })
                .collect();
            options.push(format!("--points={}", points.join(",")));
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let output = evaluate(&folder, &model, &[&["--json"], &options[..]].concat());
            assert_eq!(output.code, Some(0), "{options:?} {output:?}");
            let found = numbers(&json(&output.out)["intensity"]);
            let expected = numbers(&test["I"]);
            for (a, b) in found.iter().zip(&expected) {
                let allowed = 1.5 * 10_f64.powf(b.abs().log10().ceil() - 5.0);
                assert!(
                    (a - b).abs() < allowed,
                    "{model} {options:?}: {a}, {b} expected"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 60, "{checked}");
}

/// Sums of images, computed by another program, without jitter and with jitter of two angles.
#[test]
fn sums_of_images_match_another_program() {
    let folder = TestFolder::new();
    let view = ["--q2d", "0.2:128", "--set", "theta=60,phi=30"];
    let sum = |options: &[&str]| -> f64 {
        intensities(&folder, "cylinder", &[&view, options].concat())
            .iter()
            .sum()
    };
    let plain = sum(&[]);
    assert!((plain / 135_081.131_3 - 1.0).abs() < 1e-6, "{plain}");
    let jitter = ["--pd", "theta=15:gaussian:15", "--pd", "phi=15:gaussian:15"];
    let turned = sum(&jitter);
    assert!((turned / 141_258.951_6 - 1.0).abs() < 1e-6, "{turned}");
}

#[test]
fn an_image_has_rows_of_pixels_from_the_bottom() {
    let folder = TestFolder::new();
    let found = evaluated(
        &folder,
        "cylinder",
        &["--q2d", "0.1:5", "--set", "phi=0,theta=90"],
    );
    let [qx, qy, intensity] = ["qx", "qy", "intensity"].map(|key| numbers(&found[key]));
    for (found, expected) in qx.iter().zip([-0.1, -0.05, 0.0, 0.05, 0.1]) {
        assert!((found - expected).abs() < 1e-15, "{qx:?}");
    }
    assert!(qy[..5].iter().all(|q| *q == -0.1));
    // The axis lies along x: intensity falls off along it and stays high across it.
    assert!(intensity[10] < 0.1 * intensity[2], "{intensity:?}");
    let pair = intensities(
        &folder,
        "cylinder",
        &["--points", "0.05:0.1", "--set", "phi=0,theta=90"],
    );
    near(&pair, &intensity[23..24], 1e-12);
}

/// An array gives the weighted average, and narrow distributions change nothing.
#[test]
fn distributions_are_averages() {
    let folder = TestFolder::new();
    std::fs::write(
        folder.path("sizes.txt"),
        "# Å, weight\n40 1\n60, 3 # more\n",
    )
    .unwrap();
    let at = ["--points", "0.01,0.05,0.1"];
    let of = |set: &str, options: &[&str]| {
        let set = ["--set", set, "--set", "background=0"];
        intensities(&folder, "sphere", &[&at[..], &set, options].concat())
    };
    let mixed = of("radius=50", &["--pd", "radius=array:sizes.txt"]);
    let again = of("radius=50", &["--pd", "radius=0.1:array:sizes.txt"]);
    assert_eq!(mixed, again);
    let (small, large) = (of("radius=40", &[]), of("radius=60", &[]));
    // I = Σ w F²/Σ w V, and each curve is F²/V.
    let (v, w) = (40.0_f64.powi(3), 3.0 * 60.0_f64.powi(3));
    let expected: Vec<f64> = small
        .iter()
        .zip(&large)
        .map(|(a, b)| (v * a + w * b) / (v + w))
        .collect();
    near(&mixed, &expected, 1e-12);
    let alone = of("radius=50", &[]);
    for kind in [
        "gaussian",
        "rectangle",
        "uniform",
        "lognormal",
        "schulz",
        "boltzmann",
    ] {
        near(
            &of("radius=50", &["--pd", &format!("radius=1e-5:{kind}")]),
            &alone,
            1e-5,
        );
        // A note says how much some of these meshes miss.
        let wide = format!("radius=0.2:{kind}:30");
        let wide = ["--set", "radius=50", "--pd", &wide, "--json"];
        let wide = evaluate(&folder, "sphere", &[&at[..], &wide].concat());
        assert_eq!(wide.code, Some(0), "{wide:?}");
        let wide = numbers(&json(&wide.out)["intensity"]);
        assert!(
            (wide[2] / alone[2] - 1.0).abs() > 0.05,
            "{kind}: {wide:?} {alone:?}"
        );
    }
}

#[test]
fn a_product_tends_to_its_form_factor_when_dilute() {
    let folder = TestFolder::new();
    let at = ["--q", "0.01:0.2:9"];
    let form = intensities(
        &folder,
        "sphere",
        &[&at[..], &["--set", "background=0,scale=1e-6"]].concat(),
    );
    for mode in ["0", "1"] {
        let set = format!("volfraction=1e-6,background=0,structure_factor_mode={mode}");
        let product = intensities(
            &folder,
            "sphere@hardsphere",
            &[&at[..], &["--set", &set]].concat(),
        );
        near(&product, &form, 1e-4);
    }
    let dense = intensities(
        &folder,
        "sphere@hardsphere",
        &[
            &at[..],
            &[
                "--set",
                "volfraction=0.3,background=0,scale=3.3333333333e-6",
            ],
        ]
        .concat(),
    );
    assert!(dense[0] < 0.2 * form[0], "{dense:?}");
}

/// Smearing leaves a constant unchanged and fills minima.
#[test]
fn smearing_preserves_constants_and_fills_minima() {
    let folder = TestFolder::new();
    let at = ["--points", "0.02,0.0749,0.1"];
    for resolution in ["pinhole:0.05", "slit:0.01,0", "slit:0.01", "slit:0,0.005"] {
        let smear = ["--resolution", resolution];
        let flat = ["--set", "scale=0,background=3"];
        near(
            &intensities(&folder, "sphere", &[&at[..], &smear, &flat].concat()),
            &[3.0; 3],
            1e-9,
        );
        // q R = 4.493 is the first zero of the form factor.
        let set = ["--set", "radius=60,background=0"];
        let sharp = intensities(&folder, "sphere", &[&at[..], &set].concat());
        let smeared = intensities(&folder, "sphere", &[&at[..], &set, &smear].concat());
        assert!(
            smeared[1] > 10.0 * sharp[1],
            "{resolution}: {sharp:?} {smeared:?}"
        );
    }
    let image = [
        "--q2d",
        "0.1:9",
        "--resolution",
        "pinhole:0.05",
        "--set",
        "scale=0,background=3",
    ];
    near(&intensities(&folder, "cylinder", &image), &[3.0; 81], 1e-9);
}

#[test]
fn single_precision_is_close_to_double() {
    let folder = TestFolder::new();
    let options = ["--q", "0.001:0.3:30:log", "--pd", "radius=0.1"];
    let double = intensities(&folder, "cylinder", &options);
    let found = evaluated(
        &folder,
        "cylinder",
        &[&options[..], &["--precision", "f32"]].concat(),
    );
    assert_eq!(found["precision"], "f32");
    near(&numbers(&found["intensity"]), &double, 1e-4);
}

/// Names and defaults of parameters are those of sasmodels.
#[test]
fn parameters_match_the_published_ones() {
    let Some(path) = shared("published parameters", "published-values.json") else {
        return;
    };
    let published = json(&std::fs::read_to_string(path).unwrap());
    let folder = TestFolder::new();
    let all = json(&folder.run(&["sas", "models", "--json"]).out);
    for model in all.as_array().unwrap() {
        let name = model["name"].as_str().unwrap();
        for row in published["models"][name]["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let length = row["length"].as_u64().unwrap_or(1);
            let stem = row["name"].as_str().unwrap().split('[').next().unwrap();
            let first = if length > 1 || row["name"].as_str().unwrap().contains('[') {
                format!("{stem}1")
            } else {
                stem.to_owned()
            };
            let ours = model["parameters"].as_array().unwrap();
            let found = ours.iter().find(|ours| ours["name"] == first.as_str());
            let found = found.unwrap_or_else(|| panic!("{name} has no {first}"));
            let (a, b) = (found["default"].as_f64(), row["default"].as_f64());
            assert_eq!(a, b, "{name} {first}");
        }
    }
}
