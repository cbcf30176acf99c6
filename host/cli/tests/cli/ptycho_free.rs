//! Free pixels and R_free, with the real program.

use super::support::TestFolder;
use warpstride::ptycho::Recipe;
use warpstride::ptycho::io::results;

/// The summary of a reconstruction.
fn summary(folder: &TestFolder, options: &[&str]) -> serde_json::Value {
    let fixed = ["-o", "out.h5", "--summary", "s.json", "--report", "r.html"];
    folder.reconstruct(&[&fixed, options].concat()).well();
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn r_free_is_in_summary_history_report_and_result() {
    let folder = TestFolder::with_scan();
    let engines = [
        "--engine",
        "dm:12",
        "--engine",
        "raar:6",
        "--engine",
        "ap:3",
        "--metrics-every",
        "1",
    ];
    let with = |options: &[&str]| summary(&folder, &[&engines, options].concat());
    let none = with(&[]);
    assert!(none["r_free"].is_null());
    assert!(none["history"][0].get("r_free").is_none());
    assert!(
        !std::fs::read_to_string(folder.path("r.html"))
            .unwrap()
            .contains("R_free")
    );
    let found = with(&["--free-pixels", "0.02"]);
    assert_eq!(found["engine"], "dm:12,raar:6,ap:3");
    let history = found["history"].as_array().unwrap();
    assert_eq!(history.len(), 21);
    for entry in history {
        let [r, r_free] = ["r_factor", "r_free"].map(|key| entry[key].as_f64().unwrap());
        assert!(r_free > 0.2 * r && r_free < 20.0 * r, "{entry}");
    }
    assert_eq!(found["r_free"], history[20]["r_free"]);
    assert!(found["r_free"].as_f64() < history[0]["r_free"].as_f64());
    // The engine sees fewer pixels, and others with another seed.
    assert_ne!(found["r_factor"], none["r_factor"]);
    assert_ne!(
        with(&["--free-pixels", "0.02", "--seed", "1"])["r_free"],
        found["r_free"]
    );
    assert_eq!(with(&["--free-pixels", "0.02"])["r_free"], found["r_free"]);
    assert!(
        std::fs::read_to_string(folder.path("r.html"))
            .unwrap()
            .contains("R_free = ")
    );
    let result = warpstride::ptycho::io::results::read(&folder.path("out.h5")).unwrap();
    assert_eq!(result.history[20].r_free, found["r_free"].as_f64());
    assert!(
        result.recipe.contains("free_pixels = 0.02"),
        "{}",
        result.recipe
    );
    let output = folder.reconstruct(&["-o", "out.h5", "--engine", "dm:2", "--free-pixels", "0.1"]);
    output.well();
    assert!(output.out.contains("R_free"), "{}", output.out);
}

/// Few photons, fitted without a bound: R_free falls, then rises.
#[test]
fn a_rising_r_free_ends_an_engine() {
    let folder = TestFolder::new();
    folder.simulate(
        "scan.cxi",
        &["--frame", "48", "--positions", "40", "--photons", "2e3"],
    );
    let with = |options: &[&str]| {
        let fixed = [
            "--engine",
            "ap:300",
            "--set",
            "ap.power_bound=off",
            "--free-pixels",
            "0.05",
        ];
        summary(&folder, &[&fixed, options].concat())
    };
    let (all, stopped) = (with(&[]), with(&["--stop", "auto"]));
    // The rule needs R_free of every iteration, and has it.
    let sparse = with(&["--stop", "auto", "--metrics-every", "50"]);
    assert_eq!(sparse["iterations"], stopped["iterations"]);
    assert_eq!(sparse["r_free"], stopped["r_free"]);
    assert!(stopped["history"][6]["r_free"].is_f64() && all["history"][6].get("r_free").is_none());
    let done = stopped["iterations"].as_u64().unwrap();
    assert_eq!(all["iterations"], 300);
    assert!((30..290).contains(&done), "{done}");
    let r_free = |of: &serde_json::Value| of["r_free"].as_f64().unwrap();
    assert!(
        r_free(&stopped) < r_free(&all),
        "{} {}",
        r_free(&stopped),
        r_free(&all)
    );
    folder
        .reconstruct(&["-o", "out.h5", "--engine", "dm:3", "--stop", "auto"])
        .refused(2, &["--stop auto: expected", "free_pixels above 0"]);
}

/// Without engines and recipe, 5 % of the pixels of a small scan are free; with either, none.
#[test]
fn the_automatic_recipe_has_free_pixels() {
    let folder = TestFolder::with_scan();
    let free = |options: &[&str]| {
        folder
            .reconstruct(&[&["-o", "out.h5", "--no-pictures"], options].concat())
            .well();
        let result = results::read(&folder.path("out.h5")).unwrap();
        let recipe = Recipe::from_toml(&result.recipe).unwrap();
        let last = result.history.last().unwrap();
        assert_eq!(last.r_free.is_some(), recipe.free_pixels > 0.0);
        recipe.free_pixels
    };
    let short = [
        "--set",
        "lsqml.iterations=2",
        "--set",
        "ml.iterations=2",
        "--probe-modes",
        "1",
    ];
    assert_eq!(free(&short), 0.05);
    assert_eq!(free(&["--free-pixels", "0"]), 0.0);
    assert_eq!(free(&["--engine", "dm:2"]), 0.0);
    std::fs::write(folder.path("r.toml"), "seed = 3\n").unwrap();
    assert_eq!(free(&["--recipe", "r.toml"]), 0.0);
}

#[test]
fn shares_out_of_range_are_refused() {
    let folder = TestFolder::with_scan();
    for (share, found) in [("0.6", "0.6"), ("-0.1", "-0.1"), ("nan", "NaN")] {
        folder
            .reconstruct(&["-o", "out.h5", "--free-pixels", share])
            .refused(2, &[&format!("--free-pixels {found}: expected 0 to 0.5")]);
    }
    folder
        .reconstruct(&["-o", "out.h5", "--set", "ap.beta=1", "--engine", "ap:2"])
        .refused(2, &["ap.beta", "an option of ap (beta is one of raar)"]);
    assert_eq!(folder.names(), ["scan.cxi"]);
}
