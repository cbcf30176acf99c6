//! Printed text and files that are written and read back: models, files, notes, help.

use super::super::support::{TestFolder, read_png};
use super::{evaluate, intensities, json, near, numbers, shared};

/// A file contains the command that made it, which produces the same numbers again.
#[test]
fn files_contain_the_command_that_reproduces_them() {
    let folder = TestFolder::new();
    let options = [
        "--set",
        "radius=33.3,length=210",
        "--pd",
        "radius=0.15:schulz:20",
        "--pd",
        "length=0.1",
        "--resolution",
        "pinhole:0.03",
        "--q",
        "0.01:0.2:15:log",
        "-o",
        "a.csv",
        "--plot",
        "a.png",
    ];
    let output = evaluate(&folder, "cylinder", &options);
    output.well();
    assert!(
        output.out.contains("a.csv") && output.out.contains("a.png"),
        "{}",
        output.out
    );
    let text = std::fs::read_to_string(folder.path("a.csv")).unwrap();
    let command = text
        .lines()
        .find_map(|line| line.strip_prefix("# command: warpstride "))
        .unwrap();
    let mut again: Vec<&str> = command.split_whitespace().collect();
    again.extend(["-o", "b.csv", "--quiet"]);
    let output = folder.run(&again);
    output.well();
    assert_eq!(output.out, "");
    assert_eq!(std::fs::read_to_string(folder.path("b.csv")).unwrap(), text);
    let picture = read_png(&folder.path("a.png"));
    assert!(picture.width >= 600);
    assert_eq!(folder.names(), ["a.csv", "a.png", "b.csv"]);
}

#[test]
fn curves_and_images_are_read_back_from_text_and_hdf5() {
    let folder = TestFolder::new();
    for name in ["c.csv", "c.h5"] {
        evaluate(&folder, "sphere", &["--q", "0.001:0.2:120:log", "-o", name]).well();
        let output = folder.run(&["sas", "info", name, "--json"]);
        output.well();
        let found = json(&output.out);
        assert_eq!(
            (&found["kind"], &found["points"]),
            (&"curve".into(), &120.into())
        );
        assert_eq!(numbers(&found["q"]), [0.001, 0.2]);
        // √(3/5) · 50 Å.
        let rg = found["guinier"]["rg"].as_f64().unwrap();
        assert!((rg / 38.73 - 1.0).abs() < 0.02, "{rg}");
        assert!(
            found["problems"].to_string().contains("no uncertainties"),
            "{found}"
        );
        folder.run(&["sas", "info", name]).well();
    }
    for name in ["i.csv", "i.h5"] {
        evaluate(&folder, "cylinder", &["--q2d", "0.1:12", "-o", name]).well();
        let output = folder.run(&["sas", "info", name, "--json"]);
        output.well();
        let found = json(&output.out);
        assert_eq!(
            (&found["kind"], &found["points"]),
            (&"image".into(), &144.into())
        );
        let q = numbers(&found["q"]);
        assert!((q[1] - 0.1 * 2.0_f64.sqrt()).abs() < 1e-12, "{q:?}");
    }
    evaluate(&folder, "cylinder", &["--q2d", "0.1:12", "--plot", "i.png"]).well();
    assert!(read_png(&folder.path("i.png")).width > 0);
}

#[test]
fn without_files_the_intensities_are_printed() {
    let folder = TestFolder::new();
    let output = evaluate(&folder, "sphere", &["--points", "0.01 0.2"]);
    output.well();
    let rows: Vec<Vec<f64>> = output
        .out
        .lines()
        .skip(1)
        .map(|line| {
            line.split_whitespace()
                .map(|w| w.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!((rows.len(), rows[0][0]), (2, 0.01));
    let json = intensities(&folder, "sphere", &["--points", "0.01,0.2"]);
    near(&[rows[0][1], rows[1][1]], &json, 1e-9);
    let image = evaluate(&folder, "sphere", &["--q2d", "0.1:3"]);
    assert_eq!(image.out.lines().count(), 10);
}

/// A note on standard error names options without effect.
#[test]
fn options_without_effect_are_noted() {
    let folder = TestFolder::new();
    for (model, set, word) in [
        ("cylinder", "theta=10", "directions"),
        (
            "sphere@hardsphere",
            "radius_effective=10",
            "radius_effective_mode=0",
        ),
        ("sphere", "sld_M0=2", "two dimensions"),
    ] {
        let output = evaluate(&folder, model, &["--set", set, "--points", "0.1"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(
            output.err.starts_with("note: ") && output.err.contains(word),
            "{output:?}"
        );
    }
}

#[test]
fn models_are_listed_and_described() {
    let folder = TestFolder::new();
    let list = folder.run(&["sas", "models"]);
    list.well();
    for words in [
        "shape:sphere\n",
        "structure-factor\n",
        "  cylinder ",
        "  hardsphere ",
    ] {
        assert!(list.out.contains(words), "{words}");
    }
    let all = json(&folder.run(&["sas", "models", "--json"]).out);
    let all = all.as_array().unwrap();
    assert!(all.len() >= 40, "{}", all.len());
    for model in all {
        for key in ["name", "category", "title", "formula", "source", "symmetry"] {
            assert!(!model[key].as_str().unwrap().is_empty(), "{key} of {model}");
        }
        for row in model["parameters"].as_array().unwrap() {
            assert!(!row["about"].as_str().unwrap().is_empty(), "{row}");
            assert!(
                row["default"].is_number() && row["limits"].is_array(),
                "{row}"
            );
        }
    }
    let text = folder.run(&["sas", "models", "cylinder"]);
    text.well();
    for words in [
        "radius",
        "length",
        "1e-6/Ang^2",
        "sin",
        "theta",
        "2-D",
        "equivalent volume",
    ] {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
    let product = json(
        &folder
            .run(&["sas", "models", "sphere@hardsphere", "--json"])
            .out,
    );
    assert_eq!(product["factors"][1]["name"], "hardsphere");
    let names: Vec<&str> = product["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    for name in [
        "radius",
        "volfraction",
        "radius_effective_mode",
        "structure_factor_mode",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn every_help_text_has_examples() {
    let folder = TestFolder::new();
    for command in ["models", "evaluate", "info", "fit"] {
        let help = folder.run(&["sas", command, "--help"]);
        help.well();
        let examples = help
            .out
            .matches(&format!("  warpstride sas {command}"))
            .count();
        assert!((3..=7).contains(&examples), "{command}: {examples}");
    }
    let help = folder.run(&["sas", "--help"]);
    help.well();
    assert!(help.out.contains("Examples:"));
}

/// Measured files, each with its known properties.
#[test]
fn measured_files_are_described() {
    for (name, points, resolution) in [
        ("PolySpheres.txt", 0, "none"),
        ("AOT_Microemulsion-Drop_Contrast.xml", 0, ""),
        ("latex_smeared.xml", 0, ""),
        ("apoferritin.txt", 0, ""),
    ] {
        let Some(path) = shared(name, name) else {
            return;
        };
        let output = TestFolder::new().run(&["sas", "info", path.to_str().unwrap(), "--json"]);
        output.well();
        let found = json(&output.out);
        assert_eq!(found["kind"], "curve", "{name}");
        assert!(found["points"].as_u64().unwrap() > 20 + points, "{name}");
        if !resolution.is_empty() {
            assert_eq!(found["resolution"]["kind"], resolution, "{name}");
        }
    }
}
