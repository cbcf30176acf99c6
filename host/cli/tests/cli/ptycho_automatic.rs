//! The automatic recipe, with the real program.

use super::support::{STARTING, TestFolder};
use serde_json::Value;
use std::sync::PoisonError;
use warpstride::ptycho::data::{Reconstruction, Scan};
use warpstride::ptycho::io::{results, scan};
use warpstride::ptycho::{AutomaticRecipe, ReadOptions, Recipe, StopRule};

/// Options of a simulated scan that takes little time.
const SMALL: [&str; 4] = ["--frame", "32", "--positions", "36"];
/// So few iterations that the run is short; the trials are as they are.
const SHORT: [&str; 6] = [
    "--set",
    "lsqml.iterations=20",
    "--set",
    "ml.iterations=20",
    "--no-pictures",
    "-o",
];

/// Answers that leave little to try.
const DECIDED: [&str; 6] = [
    "--set",
    "positions.refine=[]",
    "--set",
    "fit_frame_scales=false",
    "--set",
    "ml.regulariser=0",
];

fn simulated(options: &[&str]) -> TestFolder {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &[&SMALL, options].concat());
    folder
}

fn read(folder: &TestFolder, name: &str) -> Reconstruction {
    results::read(&folder.path(name)).unwrap()
}

/// The recipe that a run without engines has chosen, its result, and what was printed.
#[track_caller]
fn chosen(folder: &TestFolder, options: &[&str]) -> (Recipe, Reconstruction, String) {
    let output = folder.reconstruct(&[&SHORT[..], &["out.h5"], options].concat());
    output.well();
    let result = read(folder, "out.h5");
    let recipe = Recipe::from_toml(&result.recipe).unwrap();
    (recipe, result, output.out)
}

/// What was tried, in the result.
fn trials(result: &Reconstruction) -> AutomaticRecipe {
    AutomaticRecipe::from_json(&result.trials).unwrap()
}

#[test]
fn a_coherent_scan_keeps_one_mode_and_says_what_was_tried() {
    let folder = simulated(&[]);
    let files = ["--summary", "s.json", "--report", "r.html"];
    let (recipe, result, printed) = chosen(&folder, &files);
    assert_eq!(recipe.probe_modes, 1);
    assert!(recipe.positions.refine.is_empty() && !recipe.fit_frame_scales);
    assert_eq!(recipe.stop, StopRule::Plateau);
    assert_eq!(recipe.free_pixels, 0.05);
    let last = result.history.last().unwrap();
    assert!(last.r_free.unwrap() < 0.02, "{last:?}");
    let tried = trials(&result);
    assert!(
        tried.tried.len() >= 6 && tried.untried.is_none(),
        "{tried:?}"
    );
    assert!(printed.starts_with("tried "), "{printed}");
    assert!(
        printed.contains("note: automatic recipe: dm:40 lsqml:20 "),
        "{printed}"
    );
    let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let listed = summary["automatic"]["tried"].as_array().unwrap();
    assert_eq!(listed.len(), tried.tried.len());
    assert!(
        listed
            .iter()
            .any(|t| t["name"] == "2 probe modes" && t["kept"] == false)
    );
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("<h2>Automatic recipe</h2>") && page.contains("<td>2 probe modes</td>"));

    // The stored recipe repeats the run bit for bit, without trials.
    std::fs::write(folder.path("r.toml"), &result.recipe).unwrap();
    let again = ["-o", "again.h5", "--recipe", "r.toml", "--no-pictures"];
    let output = folder.reconstruct(&again);
    output.well();
    assert!(!output.out.contains("automatic"), "{}", output.out);
    let repeated = read(&folder, "again.h5");
    assert_eq!(repeated.object, result.object);
    assert_eq!(repeated.probe, result.probe);
    assert!(repeated.trials.is_empty());

    // So do the trials; progress has a line for each of them.
    let options = ["third.h5", "--json-progress", "--engine", "auto"];
    let output = folder.reconstruct(&[&SHORT[..], &options].concat());
    output.well();
    let lines: Vec<Value> = (output.out.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events = lines.iter().filter(|line| line["event"] == "trial");
    assert_eq!(events.count(), tried.tried.len());
    let third = read(&folder, "third.h5");
    assert_eq!(third.object, result.object);
    assert_eq!(third.recipe, result.recipe);
    assert_eq!(trials(&third).tried, tried.tried);
}

#[test]
fn partial_coherence_is_found_unless_the_number_of_modes_is_given() {
    let folder = simulated(&["--probe-modes", "2"]);
    let (recipe, ..) = chosen(&folder, &[]);
    assert!(
        (2..=3).contains(&recipe.probe_modes),
        "{}",
        recipe.probe_modes
    );
    let given = ["--set", "probe_modes=1"];
    let (recipe, result, _) = chosen(&folder, &[&given[..], &DECIDED].concat());
    assert_eq!(recipe.probe_modes, 1);
    let names = trials(&result).tried;
    assert!(
        names.iter().all(|t| !t.name.ends_with("probe modes")),
        "{names:?}"
    );
}

#[test]
fn errors_of_positions_are_found() {
    let folder = simulated(&["--position-error", "1.5"]);
    let (recipe, result, _) = chosen(&folder, &[&["--probe-modes", "1"], &DECIDED[2..]].concat());
    assert!(!recipe.positions.refine.is_empty(), "{:?}", trials(&result));
    let given = ["--refine-positions", "annealing", "--probe-modes", "1"];
    let (recipe, ..) = chosen(&folder, &[&given, &DECIDED[2..]].concat());
    assert_eq!(recipe.positions.refine.len(), 1);
    assert!(
        recipe
            .to_toml()
            .unwrap()
            .contains("refine = [\"annealing\"]")
    );
}

/// The frames' intensities are multiplied by 0.7 to 1.3.
#[test]
fn fluctuating_intensities_are_found() {
    let folder = simulated(&[]);
    let options = ReadOptions::default();
    let read = scan::read(&folder.path("scan.cxi"), &options).unwrap().scan;
    let mut frames = read.frames().unwrap().into_owned();
    for (number, mut frame) in frames.outer_iter_mut().enumerate() {
        let factor = 1.0 + 0.3 * (1.7 * number as f32).sin();
        frame.mapv_inplace(|count| (count * factor).round());
    }
    let mask = Some(read.mask().clone());
    let positions = read.positions().clone();
    let probe = read.probe().cloned();
    let changed = Scan::new(frames, mask, positions, *read.geometry(), probe).unwrap();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        scan::write(&folder.path("scan.cxi"), &changed).unwrap();
    }
    let (recipe, result, _) = chosen(&folder, &[&["--probe-modes", "1"], &DECIDED[4..]].concat());
    assert!(recipe.fit_frame_scales, "{:?}", trials(&result));
    let [low, high] = [f64::min, f64::max].map(|pick| {
        let scales = result.frame_scales.iter().copied();
        scales.reduce(pick).unwrap()
    });
    assert!(low < 0.8 && high > 1.2, "{low} {high}");
}

#[test]
fn scans_too_small_for_trials_are_reconstructed_without() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "3"]);
    let (recipe, result, printed) = chosen(&folder, &[]);
    assert_eq!((recipe.probe_modes, recipe.engines.len()), (1, 3));
    assert!(trials(&result).tried.is_empty());
    let note = "note: automatic recipe: nothing was tried, as the scan has 3 frames with counts, fewer than 8";
    assert!(printed.contains(note), "{printed}");
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "12"]);
    // Without free pixels there is nothing to choose by.
    let options = ["--set", "dm.iterations=3", "--set", "raar.iterations=2"];
    let without = ["-o", "out.h5", "--free-pixels", "0", "--no-pictures"];
    folder
        .reconstruct(&[&without[..], &options].concat())
        .well();
    assert_eq!(read(&folder, "out.h5").history.len(), 5);
    let named = ["--engine", "auto"];
    let refused = folder.reconstruct(&[&without[..], &named].concat());
    refused.refused(2, &["--engine auto: expected free pixels"]);
}

/// Ctrl-C as soon as it is handled: while the scan is read, or while a probe is searched for.
#[cfg(target_os = "linux")]
fn stopped_in_the_first_trial(folder: &TestFolder) {
    std::fs::copy(folder.path("scan.cxi"), folder.path("bare.cxi")).unwrap();
    {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5_metno::File::open_rw(folder.path("bare.cxi")).unwrap();
        file.unlink("/entry_1/instrument_1/source_1/illumination")
            .unwrap();
        file.close().unwrap();
    }
    for search in [&[][..], &["--find-rotation"], &["--find-orientation"]] {
        let mut command = folder.command();
        command
            .args(["ptycho", "reconstruct", "bare.cxi", "-o", "out.h5"])
            .args(["--backend", "cpu", "--no-pictures"])
            .args(search);
        let output = folder.interrupt_when_handled(&mut command);
        assert_eq!(output.code, Some(130), "{output:?}");
        assert!(output.err.contains("nothing was written"), "{output:?}");
        assert_eq!(folder.names(), ["bare.cxi", "scan.cxi"]);
    }
    std::fs::remove_file(folder.path("bare.cxi")).unwrap();
}

/// In its trials a run has nothing to save; after them it is a run like any other.
#[cfg(unix)]
#[test]
fn ctrl_c_and_resume() {
    let folder = simulated(&["--probe-modes", "2"]);
    let mut command = folder.command();
    command
        .args(["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"])
        .args(["--backend", "cpu", "--json-progress", "--no-pictures"]);
    let output = folder.interrupt_at(&mut command, "\"trial\"");
    assert_eq!(output.code, Some(130), "{output:?}");
    let said = "stopped in the trials of the automatic recipe; nothing was written; kept so far: ";
    assert!(output.err.contains(said), "{output:?}");
    assert_eq!(folder.names(), ["scan.cxi"]);
    #[cfg(target_os = "linux")]
    stopped_in_the_first_trial(&folder);

    let (recipe, whole, _) = chosen(&folder, &DECIDED);
    let mut command = folder.command();
    command
        .args(["ptycho", "reconstruct", "scan.cxi", "--backend", "cpu"])
        .args(["--json-progress"])
        .args(DECIDED)
        .args(SHORT)
        .arg("part.h5");
    let output = folder.interrupt_at(&mut command, "\"iteration\":10,");
    assert_eq!(output.code, Some(130), "{output:?}");
    assert_eq!(
        trials(&read(&folder, "part.h5")).tried,
        trials(&whole).tried
    );
    let resumed = [
        "-o",
        "part.h5",
        "--resume",
        "part.checkpoint",
        "--no-pictures",
    ];
    folder.reconstruct(&resumed).well();
    let part = read(&folder, "part.h5");
    assert_eq!(part.object, whole.object);
    assert_eq!(Recipe::from_toml(&part.recipe).unwrap(), recipe);
    assert_eq!(trials(&part).tried, trials(&whole).tried);
}

#[test]
fn info_says_what_would_be_tried() {
    let folder = simulated(&[]);
    for options in [&[][..], &["--engine", "auto"]] {
        let output = folder.run(&[&["ptycho", "info", "scan.cxi"], options].concat());
        output.well();
        let note = "reconstruct without --engine is automatic: at most";
        assert!(output.out.contains(note), "{}", output.out);
        assert!(output.out.contains("on 36 frames choose"), "{}", output.out);
    }
    let output = folder.run(&["ptycho", "info", "scan.cxi", "--engine", "dm:2"]);
    assert!(!output.out.contains("automatic"), "{}", output.out);
}

/// The emulator makes the same trials; those that are left take few iterations.
#[test]
fn the_emulator_tries_the_same() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "16", "--positions", "8"]);
    let mut options = vec!["--no-pictures", "--free-pixels", "0.2"];
    for set in [
        "lsqml.iterations=2",
        "dm.iterations=2",
        "ml.iterations=2",
        "ml.regulariser=10",
        "positions.refine=[]",
        "fit_frame_scales=false",
        "probe_modes=1",
    ] {
        options.extend(["--set", set]);
    }
    let found = |backend: &str| {
        folder.reconstruct_on(backend, &options).well();
        let result = read(&folder, "out.h5");
        (result.recipe.clone(), trials(&result).tried)
    };
    let [(recipe, tried), (expected, of_cpu)] = ["emulator", "cpu"].map(found);
    assert_eq!(tried.len(), 4, "{tried:?}");
    assert_eq!(recipe, expected);
    for (one, other) in tried.iter().zip(&of_cpu) {
        assert_eq!((&one.name, one.kept), (&other.name, other.kept));
    }
}

/// Engines in `--set` are the user's, as those of `--engine`; an earlier result may have been
/// fitted to free pixels.
#[test]
fn engines_and_earlier_results_make_no_trials() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "16", "--positions", "12"]);
    for (engines, count) in [
        ("engines=[{name=\"dm\",iterations=3}]", 3),
        (
            "engines=[{name=\"dm\",iterations=1},{name=\"ap\",iterations=1},{name=\"ml\",iterations=2}]",
            4,
        ),
    ] {
        let options = ["-o", "first.h5", "--no-pictures", "--set", engines];
        folder.reconstruct(&options).well();
        let result = read(&folder, "first.h5");
        assert_eq!(result.history.len(), count);
        assert!(result.trials.is_empty());
        let both = [&options[..], &["--engine", "auto"]].concat();
        folder
            .reconstruct(&both)
            .refused(2, &["--engine auto: expected engines from one argument"]);
        folder
            .run(&["ptycho", "info", "scan.cxi", "--set", engines])
            .well();
    }
    let named = ["--engine", "auto", "-o", "out.h5"];
    for (options, why) in [
        (["--start", "first.h5"], "without an earlier result"),
        (
            ["--set", "start.result=first.h5"],
            "without an earlier result",
        ),
        (["--coarse", "2,1"], "without --coarse"),
    ] {
        let refused = folder.reconstruct(&[&named[..], &options].concat());
        refused.refused(2, &["--engine auto: expected a run", why]);
        let short = ["--set", "dm.iterations=3", "--set", "raar.iterations=2"];
        let unnamed = ["-o", "out.h5", "--no-pictures"];
        let output = folder.reconstruct(&[&unnamed[..], &short, &options].concat());
        output.well();
        assert!(output.out.contains("note: no trials: "), "{}", output.out);
        let result = read(&folder, "out.h5");
        assert_eq!(result.history.len(), 5);
        assert!(result.trials.is_empty());
    }
}

/// A trial goes on with the probe of the one before it, also if the first one began with that of an
/// optic.
#[test]
fn trials_keep_their_probe_whatever_its_source() {
    let folder = simulated(&[]);
    let optic = ["probe.source=aperture", "probe.aperture=0.3"];
    let mut options = vec!["--probe-modes", "1"];
    for set in optic {
        options.extend(["--set", set]);
    }
    let (recipe, result, _) = chosen(&folder, &[&options[..], &DECIDED].concat());
    assert_eq!(recipe.probe_modes, 1);
    let tried = trials(&result).tried;
    let r_free = |name: &str| {
        let found = tried.iter().find(|t| t.name.starts_with(name));
        found.and_then(|t| t.r_free).unwrap()
    };
    // Without the probe of the first trial it would be far worse.
    assert!(
        r_free("1 probe mode") < 1.05 * r_free("first object"),
        "{tried:?}"
    );
}

/// What a recipe names is kept, also where it is the default; without free pixels of its own they
/// are chosen.
#[test]
fn a_recipe_keeps_what_it_names() {
    let folder = TestFolder::new();
    folder.simulate("scan.cxi", &["--frame", "32", "--positions", "16"]);
    let text = "probe_modes = 1\nfit_frame_scales = false\nstop = \"off\"\nfree_pixels = 0.0\n\
                [positions]\nrefine = []\n";
    let text = format!("{text}[[engines]]\nname = \"dm\"\niterations = 2\n");
    std::fs::write(folder.path("given.toml"), text).unwrap();
    let options = ["--recipe", "given.toml", "--engine", "auto"];
    let (recipe, result, _) = chosen(&folder, &[&options[..], &DECIDED[4..]].concat());
    let tried = trials(&result);
    assert!(
        tried.untried.is_none() && tried.tried.len() >= 3,
        "{tried:?}"
    );
    for one in &tried.tried {
        let asks = ["positions", "scales", "probe modes"];
        assert!(asks.iter().all(|what| !one.name.contains(what)), "{one:?}");
    }
    assert_eq!(recipe.stop, StopRule::Off);
    assert_eq!((recipe.probe_modes, recipe.free_pixels), (1, 0.05));
}

/// Near fields, and start probes from the optics.
#[test]
fn near_fields_and_probes_of_optics_have_trials() {
    let small = ["--frame", "31", "--positions", "20", "--overlap", "0.8"];
    let optic = [
        "--set",
        "probe.source=zone-plate",
        "--set",
        "probe.diameter=50e-6",
        "--set",
        "probe.outermost_zone=47.6e-9",
    ];
    for (beam, probe) in [(&["--near-field"][..], &[][..]), (&[], &optic)] {
        let folder = TestFolder::new();
        folder.simulate("scan.cxi", &[&small, beam].concat());
        let modes = ["--probe-modes", "1"];
        let options = [&modes[..], probe, &DECIDED].concat();
        let (_, result, _) = chosen(&folder, &options);
        let tried = trials(&result).tried;
        assert!(tried.len() >= 4, "{tried:?}");
        assert!(tried.iter().all(|one| one.failed.is_none()), "{tried:?}");
    }
}
