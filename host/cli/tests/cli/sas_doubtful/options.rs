//! Parameters and distributions without effect, cut off, or beyond their limits.

use super::super::support::TestFolder;
use super::{columns, evaluate, says, write};

#[test]
fn negative_intensities_and_closures_without_solution_are_named() {
    let folder = TestFolder::new();
    let output = evaluate(&folder, "fractal", &["--set", "fractal_dim=6"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    says(&output, &["note: 1 of 1 intensities are negative"]);
    for (model, set) in [
        ("sphere@stickyhardsphere", "stickiness=0.08"),
        ("stickyhardsphere", "volfraction=0.3,stickiness=0.05"),
    ] {
        let output = evaluate(&folder, model, &["--set", set]);
        output.refused(1, &[model, "stickyhardsphere has a solution, found none"]);
    }
    evaluate(
        &folder,
        "sphere@stickyhardsphere",
        &["--set", "stickiness=0.2"],
    )
    .well();
}

#[test]
fn parameters_without_effect_are_noted() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("sizes.txt"), "40 1\n50 2\n60 1\n").unwrap();
    let array = ["--pd", "radius=array:sizes.txt"];
    evaluate(&folder, "sphere", &array).well();
    let output = evaluate(
        &folder,
        "sphere",
        &[&array[..], &["--set", "radius=70"]].concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    says(
        &output,
        &["note: --set radius: not used, because the file of --pd radius=array:"],
    );
    for (model, set, words) in [
        (
            "core_multi_shell",
            "n=1,thickness5=100",
            "--set thickness5: not used, because n=1",
        ),
        (
            "onion",
            "n_shells=2,sld_in3=1",
            "--set sld_in3: not used, because n_shells=2",
        ),
    ] {
        let output = evaluate(&folder, model, &["--set", set]);
        assert_eq!(output.code, Some(0), "{output:?}");
        says(&output, &["note: ", words]);
        assert_eq!(output.err.lines().count(), 1, "{output:?}");
    }
}

#[test]
fn numbers_of_shells_are_whole_and_values_of_a_file_are_within_limits() {
    let folder = TestFolder::new();
    for (model, set) in [
        ("core_multi_shell", "n=1.5"),
        ("linear_pearls", "num_pearls=2.5"),
    ] {
        let output = evaluate(&folder, model, &["--set", set]);
        output.refused(2, &[set, "expected an integer"]);
    }
    std::fs::write(folder.path("negative.txt"), "-40 1\n50 1\n").unwrap();
    let output = evaluate(&folder, "sphere", &["--pd", "radius=array:negative.txt"]);
    output.refused(
        1,
        &[
            "negative.txt: line 1: expected a value from 0 to inf",
            "found -40",
        ],
    );
    std::fs::write(folder.path("zero.txt"), "-40 0\n50 1\n").unwrap();
    evaluate(&folder, "sphere", &["--pd", "radius=array:zero.txt"]).well();
}

#[test]
fn a_distribution_that_is_cut_off_is_noted_with_the_share() {
    let folder = TestFolder::new();
    for (pd, words) in [
        (
            "radius=100",
            "% of the distribution of radius are beyond its limits, 0 to inf",
        ),
        ("radius=1", "of the distribution of radius are beyond"),
        (
            "radius=1e10:schulz",
            "the mesh does not resolve the distribution of radius",
        ),
    ] {
        let output = evaluate(&folder, "sphere", &["--pd", pd]);
        assert_eq!(output.code, Some(0), "{output:?}");
        says(&output, &["note: ", words]);
    }
    for pd in ["radius=0.3", "radius=0.5:schulz", "radius=0.4:lognormal"] {
        evaluate(&folder, "sphere", &["--pd", pd]).well();
    }
}

#[test]
fn the_help_example_of_a_population_runs() {
    let folder = TestFolder::new();
    write(&folder, "data.dat", "", columns);
    let help = folder.run(&["sas", "fit", "--help"]).out;
    let start = help.find("warpstride sas fit core_shell_sphere").unwrap();
    let example: Vec<&str> = help[start..]
        .split("warpstride ")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .collect();
    let typed: Vec<&str> = example.into_iter().filter(|word| *word != "\\").collect();
    let output = folder.run(&[&typed[..], &["--iterations", "1"]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[cfg(unix)]
#[test]
fn a_distribution_of_a_file_whose_name_is_not_utf_8_is_refused_by_its_option() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = TestFolder::new();
    let mut command = folder.command();
    command.args(["sas", "evaluate", "sphere", "--pd"]);
    command.arg(OsStr::from_bytes(b"radius=array:b\xff.txt"));
    let output = folder
        .start(command.stderr(std::process::Stdio::piped()))
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.starts_with("warpstride: --pd radius=array:b"),
        "{text}"
    );
}

/// The default numbers of points and standard deviations are also used as they are given.
#[test]
fn a_mesh_that_is_given_is_used_and_its_error_is_noted() {
    let folder = TestFolder::new();
    let of = |pd: &str| {
        let output = evaluate(&folder, "sphere", &["--pd", pd, "--json"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        let result: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        (result["intensity"][0].as_f64().unwrap(), output.err)
    };
    let (follows, note) = of("radius=1.0:schulz");
    assert_eq!(note, "");
    let (given, note) = of("radius=1.0:schulz:80:8");
    assert!((given / follows - 1.0).abs() > 0.01, "{given} {follows}");
    assert!(
        note.contains("18 % too small; leave out its points"),
        "{note}"
    );
    // A narrow distribution has the same mesh.
    assert_eq!(of("radius=0.2:schulz"), of("radius=0.2:schulz:80:8"));
}

#[test]
fn bounds_that_are_nearer_than_the_uncertainty_are_named() {
    let folder = TestFolder::new();
    write(&folder, "a.txt", "", columns);
    let fit = |bounds: &str| {
        let fit = [
            "sas", "fit", "sphere", "a.txt", "--fit", "scale", "--fit", bounds,
        ];
        let rest = ["--backend", "cpu", "-o", "o.csv", "--summary", "s.json"];
        let output = folder.run(&[&fit[..], &rest].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        output
    };
    for bounds in ["radius=49.995:50.005", "radius=49.9999:50.0001"] {
        let output = fit(bounds);
        says(
            &output,
            &[
                "the uncertainty of radius, 0.",
                "exceeds the distance of its bounds, 49.99",
            ],
        );
        assert!(!output.err.contains("stopped at a bound"), "{output:?}");
    }
    assert!(!fit("radius=40:60").err.contains("radius"));
}

/// The intensity depends on scale times squares of contrasts.
#[test]
fn a_scale_and_all_scattering_length_densities_are_not_determined() {
    let folder = TestFolder::new();
    let names = "scale,background,sld_core,sld_shell,sld_solvent";
    let set = [
        "--set",
        "radius=40,thickness=12,sld_core=1,sld_shell=2,sld_solvent=6",
    ];
    let made = [
        "sas",
        "evaluate",
        "core_shell_sphere",
        "--q",
        "0.005:0.2:40",
    ];
    let made = [&made[..], &set, &["-o", "m.csv", "--backend", "cpu"]].concat();
    folder.run(&made).well();
    let fit = ["sas", "fit", "core_shell_sphere", "m.csv", "--fit", names];
    let rest = ["-o", "o.csv", "--summary", "s.json", "--backend", "cpu"];
    let output = folder.run(&[&fit[..], &set, &rest].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    says(
        &output,
        &["do not determine scale, sld_core, sld_shell, sld_solvent"],
    );
    let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    for parameter in summary["parameters"].as_array().unwrap() {
        let is_known = parameter["name"] == "background";
        assert_eq!(parameter["uncertainty"].is_f64(), is_known, "{parameter}");
    }
}
