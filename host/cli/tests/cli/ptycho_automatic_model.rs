//! The automatic recipe with each further part of the model, with the real program: it chooses a
//! chain that suits the part, and the terminal, the summary and the report say why.

use super::support::TestFolder;
use serde_json::Value;
use warpstride::ptycho::Recipe;
use warpstride::ptycho::io::results;

/// Frames so few and small that trials take little time.
const SMALL: [&str; 6] = ["--frame", "16", "--positions", "16", "--photons", "1e6"];
/// What leaves few trials, and short ones of the last engines.
const FEW: [&str; 8] = [
    "--probe-modes",
    "1",
    "--set",
    "lsqml.iterations=12",
    "--set",
    "ml.iterations=5",
    "--free-pixels",
    "0.1",
];
/// What is not tried besides.
const NEITHER: [&str; 6] = [
    "--set",
    "positions.refine=[]",
    "--set",
    "fit_frame_scales=false",
    "--set",
    "ml.regulariser=0",
];

/// A run without engines.
struct Chosen {
    folder: TestFolder,
    recipe: Recipe,
    /// Names of the trials, in their order.
    tried: Vec<String>,
    /// Notes of the automatic recipe.
    notes: String,
}

/// Simulates with `simulated`, reconstructs with `options`, and checks that terminal, summary and
/// report say the same.
#[track_caller]
fn chosen(simulated: &[&str], options: &[&str]) -> Chosen {
    chosen_for(&[&SMALL, simulated].concat(), options)
}

/// The same with all options of the simulation.
#[track_caller]
fn chosen_for(simulated: &[&str], options: &[&str]) -> Chosen {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", simulated);
    let files = [
        "-o",
        "out.h5",
        "--summary",
        "s.json",
        "--report",
        "r.html",
        "--no-pictures",
    ];
    let output = folder.reconstruct(&[&files, &FEW[..], options].concat());
    output.well();
    let result = results::read(&folder.path("out.h5")).unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    let summary: Value = serde_json::from_str(&text("s.json")).unwrap();
    let automatic = &summary["automatic"];
    let strings = |of: &Value, key: Option<&str>| -> Vec<String> {
        let list = of.as_array().into_iter().flatten();
        list.map(|one| key.map_or(one, |key| &one[key]))
            .map(|one| one.as_str().unwrap().to_owned())
            .collect()
    };
    let tried = strings(&automatic["tried"], Some("name"));
    let failed: Vec<&Value> = (automatic["tried"].as_array().unwrap().iter())
        .filter(|one| one.get("failed").is_some())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    let notes: Vec<String> = strings(&summary["notes"], None)
        .into_iter()
        .filter(|note| note.starts_with("automatic recipe: "))
        .collect();
    let page = text("r.html");
    for why in strings(&automatic["because"], None) {
        let note = format!("automatic recipe: {why}");
        assert!(notes.contains(&note), "{notes:?}");
        assert!(
            output.out.contains(&format!("note: {note}")),
            "{}",
            output.out
        );
        assert!(page.contains(&format!("{note}.")), "{note}");
    }
    Chosen {
        recipe: Recipe::from_toml(&result.recipe).unwrap(),
        folder,
        tried,
        notes: notes.join("\n"),
    }
}

impl Chosen {
    fn engines(&self) -> String {
        let names = self
            .recipe
            .engines
            .iter()
            .map(|engine| engine.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    }

    /// The run begins with `lsqml` and says that this is because of `part`.
    #[track_caller]
    fn begins_with_lsqml(&self, part: &str) {
        assert!(self.engines().starts_with("lsqml"), "{}", self.engines());
        assert!(
            self.tried[0].starts_with("first object by lsqml:"),
            "{:?}",
            self.tried
        );
        let why = format!("it begins with lsqml: with {part}");
        assert!(self.notes.contains(&why), "{}", self.notes);
    }

    /// No trial has one of these words in its name.
    #[track_caller]
    fn does_not_try(&self, words: &[&str]) {
        for name in &self.tried {
            assert!(words.iter().all(|word| !name.contains(word)), "{name}");
        }
    }
}

#[test]
fn slices_begin_with_lsqml_and_are_tried_with_nothing_that_they_refuse() {
    let distance = ["--slices", "2", "--slice-distance", "5um"];
    let found = chosen(&distance, &distance);
    found.begins_with_lsqml("slices (slices.count)");
    found.does_not_try(&["positions", "scales", "regulariser"]);
    assert!(
        found
            .notes
            .contains("are not tried, as slices do not go with them")
    );
    assert!(found.recipe.slices.are_on());
    assert!(found.recipe.positions.refine.is_empty() && !found.recipe.fit_frame_scales);
    let result = results::read(&found.folder.path("out.h5")).unwrap();
    assert_eq!(result.parts.slices.unwrap().slices.dim().0, 2);
    let last = result.history.last().unwrap();
    assert!(last.r_free.unwrap() < 0.1, "{last:?}");

    // Without trials the engines suit them too, in `reconstruct`, `resolution` and `info`.
    let without = ["-o", "free.h5", "--free-pixels", "0", "--no-pictures"];
    let short = ["--set", "lsqml.iterations=2", "--set", "ml.iterations=1"];
    let output = found
        .folder
        .reconstruct(&[&without[..], &distance, &short].concat());
    output.well();
    let free = results::read(&found.folder.path("free.h5")).unwrap();
    assert_eq!(free.history.len(), 3);
    let set = ["--set", "slices.distance=5e-6", "--set", "slices.count=2"];
    let output = found
        .folder
        .run(&[&["ptycho", "info", "scan.cxi"][..], &set].concat());
    output.well();
    assert!(output.out.contains("lsqml:140 ml:100"), "{}", output.out);
    // An engine that slices do not go with is refused as before.
    let output = found
        .folder
        .reconstruct(&[&without[..], &distance, &["--engine", "dm:2"]].concat());
    output.refused(2, &["--slices 2", "lsqml and ml"]);
}

#[test]
fn variable_probes_begin_with_lsqml_and_go_on_from_trial_to_trial() {
    let found = chosen(
        &["--probe-drift", "0.05"],
        &[&["--opr-modes", "2", "--set", "opr_from=5"], &NEITHER[..]].concat(),
    );
    found.begins_with_lsqml("a variable probe (opr_modes)");
    assert_eq!((found.recipe.opr_modes, found.recipe.opr_from), (2, 5));
    let result = results::read(&found.folder.path("out.h5")).unwrap();
    let power = result.parts.variable_probe.unwrap().power();
    assert!(power[0] > 0.0, "{power}");
}

#[test]
fn object_modes_begin_with_lsqml() {
    let found = chosen(
        &["--object-modes", "2"],
        &[&["--object-modes", "2"], &NEITHER[..]].concat(),
    );
    found.begins_with_lsqml("several object modes (object_modes)");
    assert!(
        found.notes.contains("a frame is 2 times the work"),
        "{}",
        found.notes
    );
    assert_eq!(found.recipe.object_modes, 2);
}

#[test]
fn fly_scans_begin_with_dm_and_have_fewer_trials() {
    let found = chosen(
        &["--fly-shift", "0,2", "--pattern", "raster"],
        &[
            &["--fly-points", "3", "--fly-shift", "0,40nm"],
            &NEITHER[..4],
        ]
        .concat(),
    );
    assert!(
        found.engines().starts_with("dm lsqml"),
        "{}",
        found.engines()
    );
    assert!(
        found.notes.contains("a frame is 3 times the work"),
        "{}",
        found.notes
    );
    found.does_not_try(&["regulariser 100", "regulariser 6400"]);
    assert_eq!(found.recipe.fly.points, 3);
}

/// A background is kept at its first estimate by the difference map, and fitted by the engines
/// after it.
#[test]
fn blur_begins_with_lsqml_and_a_background_with_dm() {
    let options = [&["--blur", "0.7"], &NEITHER[..]].concat();
    chosen(&["--blur", "0.7"], &options).begins_with_lsqml("blur of the detector (detector.blur)");
    let options = [&["--background", "uniform"], &NEITHER[..]].concat();
    // In frames of 16² there are not enough free pixels to find it.
    let dim = ["--frame", "32", "--positions", "20", "--photons", "1e5"];
    let found = chosen_for(&[&dim[..], &["--background", "2"]].concat(), &options);
    assert!(
        found.engines().starts_with("dm lsqml"),
        "{}",
        found.engines()
    );
    let result = results::read(&found.folder.path("out.h5")).unwrap();
    let detector = result.parts.detector.unwrap();
    let mean = detector.background.unwrap().mean().unwrap();
    assert!((0.5..4.0).contains(&mean), "{mean}");
}

/// With an earlier result there are no trials; the engines suit the model too.
#[test]
fn an_earlier_result_goes_on_with_engines_that_suit_the_model() {
    let folder = TestFolder::new();
    folder.simulate(
        "scan.cxi",
        &[&SMALL[..], &["--probe-drift", "0.05"]].concat(),
    );
    let quiet = ["--quiet", "--no-pictures"];
    folder
        .reconstruct(&[&["-o", "first.h5", "--engine", "lsqml:3"], &quiet[..]].concat())
        .well();
    let options = ["-o", "next.h5", "--start", "first.h5", "--opr-modes", "1"];
    let short = ["--set", "lsqml.iterations=12", "--set", "ml.iterations=1"];
    folder
        .reconstruct(&[&options[..], &short, &quiet].concat())
        .well();
    let next = results::read(&folder.path("next.h5")).unwrap();
    assert_eq!(next.history.len(), 13);
    assert!(next.parts.variable_probe.is_some());
}
