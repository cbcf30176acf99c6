//! Pictures of scattering that cannot be drawn, or only in part.

use super::super::support::{TestFolder, read_png};
use super::{columns, evaluate, fit, json, says, write};

#[test]
fn a_picture_that_cannot_be_drawn_does_not_lose_the_fit() {
    let folder = TestFolder::new();
    write(&folder, "a.txt", "", |[q, i, s]| columns([q, -i, s]));
    let files = [
        "--plot",
        "n.png",
        "--report",
        "n.html",
        "--summary",
        "s.json",
    ];
    let set = [
        "--set",
        "background=-200,scale=0.001",
        "--fit",
        "radius=10:200",
    ];
    let output = fit(&folder, "a.txt", &[&set[..], &files[..]].concat());
    assert_eq!(output.code, Some(1), "{output:?}");
    says(
        &output,
        &["warpstride: --plot n.png: ", "no intensity is positive"],
    );
    assert!(
        output.out.contains("χ²/point") && output.out.contains("n.html"),
        "{output:?}"
    );
    assert!(!output.out.contains("n.png"), "{output:?}");
    assert_eq!(folder.names(), ["a.txt", "n.html", "s.json"]);
    let summary = json(&std::fs::read_to_string(folder.path("s.json")).unwrap());
    assert_eq!(summary["outputs"].as_array().unwrap().len(), 2, "{summary}");
    let output = evaluate(
        &folder,
        "sphere",
        &["--set", "background=-1e9", "--plot", "e.png"],
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    says(&output, &["warpstride: --plot e.png: "]);
    assert!(output.out.contains("1.000000000e-2"), "{output:?}");
}

#[test]
fn intensities_that_a_logarithmic_plot_leaves_out_are_noted() {
    let folder = TestFolder::new();
    let options = [
        "--set",
        "background=-1",
        "--q",
        "0.01:0.5:50",
        "--plot",
        "e.png",
    ];
    let output = folder.run(
        &[
            &["sas", "evaluate", "sphere", "--backend", "cpu"],
            &options[..],
        ]
        .concat(),
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    says(
        &output,
        &[
            "of 50 intensities are negative",
            "left out of the logarithmic plot",
        ],
    );
}

/// One point is a dot, in the colour of models; a fit has a legend in that colour above its axes.
#[test]
fn a_single_point_is_drawn_and_a_fit_has_a_legend() {
    let folder = TestFolder::new();
    let orange = |name: &str, from: u32, to: u32| {
        let png = read_png(&folder.path(name));
        let row = png.width as usize * png.samples;
        let rows = &png.bytes[from as usize * row..to as usize * row];
        rows.chunks(png.samples)
            .filter(|p| **p == [214, 120, 30])
            .count()
    };
    evaluate(&folder, "sphere", &["--plot", "one.png"]).well();
    assert!(orange("one.png", 0, 900) > 20);
    write(&folder, "a.txt", "", columns);
    let output = fit(
        &folder,
        "a.txt",
        &["--fit", "radius=20:200", "--plot", "fit.png"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(orange("fit.png", 0, 45) > 20);
}
