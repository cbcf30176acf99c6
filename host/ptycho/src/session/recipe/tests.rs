//! Recipes: defaults, settings, and what is refused.

use super::*;
use crate::{PowerBound, PowerBoundSetting};

#[test]
fn a_resolved_recipe_reads_back_equal() {
    let recipe = Recipe::default();
    assert_eq!(
        Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(),
        recipe
    );
}

#[test]
fn set_reaches_engines_sections_and_top() {
    let mut recipe = Recipe::default();
    recipe.set("dm.alpha=0.9").unwrap();
    recipe.set("raar.power_bound=off").unwrap();
    recipe.set("dm.clip_object=[0.1, 1.2]").unwrap();
    recipe.set("probe.source=mean-pattern").unwrap();
    recipe.set("gpu.updates=atomic").unwrap();
    recipe.set("gpu.waves=bf16").unwrap();
    recipe.set("data.constants.wavelength=1e-10").unwrap();
    recipe.set("seed = 7").unwrap();
    assert_eq!(recipe.engines[0].alpha, Some(0.9));
    assert_eq!(recipe.engines[0].clip_object, Some([0.1, 1.2]));
    assert_eq!(
        recipe.engines[1].power_bound,
        Some(PowerBound::Setting(PowerBoundSetting::Off))
    );
    assert_eq!(
        (recipe.probe.source, recipe.seed),
        (ProbeSource::MeanPattern, 7)
    );
    assert_eq!(recipe.gpu.updates, Updates::Atomic);
    assert_eq!(recipe.gpu.waves, GpuWaves::Bf16);
    assert_eq!(recipe.data.constants.wavelength, Some(1e-10));
    recipe.check().unwrap();
}

#[test]
fn assignments_are_refused_with_what_was_expected() {
    for (wrong, text) in [
        (
            "dm.gamma=1",
            "expected one of the keys name, iterations, alpha",
        ),
        ("foo=1", "expected one of the keys seed, precision"),
        ("dm.alpha", "expected OPTION=VALUE, such as dm.alpha=0.9"),
        ("=3", "expected OPTION=VALUE"),
        (
            "probe.x=2",
            "expected one of the keys source, aperture, defocus, mode_power, shape, aperture_height",
        ),
        (
            "probe.source=lens",
            "expected auto, file, mean-pattern, aperture, zone-plate, gaussian or aberrations",
        ),
        ("gpu.waves=f16", "expected f32 or bf16"),
        ("dm.alpha=high", "expected a number"),
        (
            "dm.power_bound=[1]",
            "expected \"poisson\", \"off\" or a number of counts",
        ),
        ("seed=-1", "expected a whole number, 0 or more"),
        ("a.b.c=1", "expected one of the keys seed, precision"),
        (
            "seed.b=1",
            "expected a section before the dot, and seed is none",
        ),
        ("data.frames=5", "expected an array of 2 values"),
        (
            "data.frames=[0, 1, 2]",
            "expected an array with fewer values",
        ),
        (
            "data.no_data=none",
            "expected \"auto\", \"off\" or an array of counts",
        ),
    ] {
        let error = Recipe::default().set(wrong).unwrap_err();
        let shown = error.of_option(&format!("--set {wrong}"));
        let start = format!("--set {wrong}: {text}");
        assert!(shown.starts_with(&start), "{shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
    let mut recipe = Recipe::default();
    recipe.engines.truncate(1);
    assert_eq!(
        recipe
            .set("raar.beta=0.5")
            .unwrap_err()
            .of_option("--set raar.beta=0.5"),
        "--set raar.beta=0.5: expected an engine of the recipe, which does not run raar"
    );
    for (wrong, expected) in [
        (
            "foo:3",
            "engine: expected dm, raar, ap, lsqml, epie, rpie or ml before the colon, found foo:3",
        ),
        (
            "dm",
            "engine: expected NAME:ITERATIONS, such as dm:100, found dm",
        ),
        (
            "dm:-3",
            "engine: expected 1 to 10000000 iterations, found dm:-3",
        ),
        (
            "dm:0",
            "engine: expected 1 to 10000000 iterations, found dm:0",
        ),
    ] {
        assert_eq!(EngineSpec::parse(wrong).unwrap_err().to_string(), expected);
    }
}

#[test]
fn an_option_of_the_other_engine_is_refused() {
    let mut recipe = Recipe::default();
    recipe.set("dm.beta=0.5").unwrap();
    assert_eq!(
        recipe.check().unwrap_err().to_string(),
        "dm.beta: expected an option of dm (beta is one of raar), found 0.5"
    );
}

#[test]
fn the_edge_of_a_regulariser_needs_its_weight() {
    let mut recipe = Recipe {
        engines: vec![EngineSpec::parse("ml:5").unwrap()],
        ..Recipe::default()
    };
    recipe.set("ml.regulariser_edge=0.1").unwrap();
    assert_eq!(
        recipe.check().unwrap_err().to_string(),
        "ml.regulariser_edge: expected 0, or ml.regulariser above 0, which uses it, found 0.1"
    );
    recipe.set("ml.regulariser=2").unwrap();
    recipe.check().unwrap();
}

#[test]
fn regions_are_one_or_four_and_have_no_regulariser() {
    let refused = |engine: &str, options: &[&str]| {
        let mut recipe = Recipe {
            engines: vec![EngineSpec::parse(engine).unwrap()],
            ..Recipe::default()
        };
        for option in options {
            recipe.set(option).unwrap();
        }
        recipe.check().err().map(|error| error.to_string())
    };
    for count in [1, 4] {
        assert_eq!(refused("rpie:5", &[&format!("rpie.regions={count}")]), None);
    }
    assert_eq!(
        refused("lsqml:5", &["lsqml.regions=2"]).unwrap(),
        "lsqml.regions: expected 1 or 4, found 2"
    );
    assert_eq!(
        refused("ml:5", &["ml.regions=4"]).unwrap(),
        "ml.regions: expected an option of ml (regions is one of lsqml, epie, rpie), found 4"
    );
    let options = ["lsqml.regions=4", "lsqml.regulariser=2"];
    assert_eq!(
        refused("lsqml:5", &options).unwrap(),
        "lsqml.regions: expected 1, because there is a regulariser, found 4"
    );
    assert_eq!(
        refused("lsqml:5", &["lsqml.regions=1", "lsqml.regulariser=2"]),
        None
    );
}

#[test]
fn values_out_of_range_are_refused() {
    for wrong in [
        "dm.alpha=-1",
        "dm.alpha=nan",
        "probe_modes=0",
        "metrics_every=0",
        "probe.aperture=7",
        "probe.aperture_height=0",
        "probe.central_stop=1",
        "probe.diameter=2",
        "probe.outermost_zone=0",
        "probe.waist_radius=nan",
        "probe.stop_diameter=-1e-6",
        "start.object=",
        "start.object_pixel=[1e-8, 1e-8]",
        "dm.overlap_loops=0",
        "dm.iterations=0",
        "dm.clip_object=[2, 1]",
        "probe.defocus=1e300m",
        "engines=[]",
        "data.frames=[5, 2]",
        "data.crop=[0, 8]",
        "data.constants.wavelength=1m",
        "data.constants.distance=-1",
        "data.format=hdf5",
    ] {
        let mut recipe = Recipe::default();
        recipe.set(wrong).unwrap();
        let error = recipe.check().expect_err(wrong);
        let (option, _) = wrong.split_once('=').unwrap();
        assert_eq!(error.option(), option, "{error}");
    }
}

#[test]
fn waves_in_bf16_are_noted_where_they_have_no_effect() {
    let notes = |engines: &[&str], settings: &[&str], backend, shape| {
        let mut recipe = Recipe {
            engines: (engines.iter())
                .map(|engine| EngineSpec::parse(engine).unwrap())
                .collect(),
            ..Recipe::default()
        };
        for setting in ["gpu.waves=bf16"].iter().chain(settings) {
            recipe.set(setting).unwrap();
        }
        recipe.without_effect(backend, shape)
    };
    let fused = [9, 1, 64, 64];
    for shape in [fused, [9, 2, 64, 256]] {
        assert!(notes(&["dm:3"], &[], "cuda", shape).is_empty());
        let mixed = ["dm:3", "raar:3", "lsqml:2"];
        assert!(notes(&mixed, &["raar.subpixel=true"], "emulator", shape).is_empty());
    }
    for (engines, settings, backend, shape, reason) in [
        (["dm:3"], &[][..], "cpu", fused, "on the CPU"),
        (["lsqml:3"], &[], "cuda", fused, "only projection engines"),
        (["dm:3"], &[], "cuda", [9, 1, 65, 64], "frames of 65 x 64"),
        (["dm:3"], &["gpu.step=unfused"], "cuda", fused, "unfused"),
        (["dm:3"], &["dm.subpixel=true"], "cuda", fused, "positions"),
    ] {
        let found = notes(&engines, settings, backend, shape);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = found[0].starts_with("gpu.waves has no effect");
        assert!(start && found[0].contains(reason), "{found:?}");
    }
    let both = notes(&["dm:3"], &["gpu.step=unfused"], "cpu", fused);
    assert_eq!(
        both,
        [
            "gpu.step has no effect on the CPU",
            "gpu.waves has no effect on the CPU"
        ]
    );
}

#[test]
fn what_was_found_is_said_where_the_argument_does_not() {
    let error = |found: &str| RecipeError::new("option", "less", found);
    for (argument, found, text) in [
        (
            "--set dm.alpha=nan",
            "NaN",
            "--set dm.alpha=nan: expected less",
        ),
        (
            "--free-pixels 0.70",
            "0.7",
            "--free-pixels 0.70: expected less",
        ),
        (
            "--set data.frames=[5,2]",
            "[5, 2]",
            "--set data.frames=[5,2]: expected less",
        ),
        (
            "--slices 2",
            "2 with dm",
            "--slices 2: expected less, found 2 with dm",
        ),
    ] {
        assert_eq!(error(found).of_argument(argument), text);
    }
}

#[test]
fn models_of_the_probe_need_their_options() {
    let refused = |settings: &[&str]| {
        let mut recipe = Recipe::default();
        for setting in settings {
            recipe.set(setting).unwrap();
        }
        recipe.check().unwrap_err().to_string()
    };
    let zone_plate = ["probe.source=zone-plate", "probe.diameter=1e-4"];
    for (settings, start) in [
        (
            &["probe.source=gaussian"][..],
            "probe.waist_radius: expected the 1/e^2 radius of the waist",
        ),
        (
            &zone_plate[..1],
            "probe.diameter: expected the outer diameter in metres",
        ),
        (
            &zone_plate,
            "probe.outermost_zone: expected the width of the outermost zone",
        ),
        (
            &[&zone_plate[..], &["probe.outermost_zone=5e-5"]].concat(),
            "probe.outermost_zone: expected at most a quarter of probe.diameter, found 5e-5",
        ),
        (
            &[
                &zone_plate[..],
                &["probe.outermost_zone=5e-8", "probe.stop_diameter=1e-4"],
            ]
            .concat(),
            "probe.stop_diameter: expected 0 to below probe.diameter",
        ),
        (
            &["start.object=a.npy", "start.result=b.h5"],
            "start.object: expected none together with start.result, which has an object, found a.npy",
        ),
        (
            &["start.object=a.npy", "start.object_pixel=[0, 1e-8]"],
            "start.object_pixel: expected two sizes",
        ),
    ] {
        let text = refused(settings);
        assert!(text.starts_with(start), "{text}");
    }
}

#[test]
fn a_dataset_of_the_start_object_begins_with_a_slash() {
    let parts = |name: &str| {
        let options = StartOptions {
            object: Some(name.to_owned()),
            ..StartOptions::default()
        };
        let (path, dataset) = options.object_file().unwrap();
        (path.display().to_string(), dataset.map(str::to_owned))
    };
    let with = |path: &str, dataset: &str| (path.to_owned(), Some(dataset.to_owned()));
    assert_eq!(parts("a.h5:/x/data"), with("a.h5", "/x/data"));
    assert_eq!(parts("12:30.npy"), ("12:30.npy".to_owned(), None));
    assert_eq!(parts("b/12:30.h5:/c"), with("b/12:30.h5", "/c"));
    assert_eq!(parts(":/a"), (":/a".to_owned(), None));
    assert_eq!(StartOptions::default().path(), None);
}

/// Options of the start that are not set are not in the text, so that recipes of earlier versions
/// stay the same.
#[test]
fn options_that_are_not_set_are_left_out() {
    let text = Recipe::default().to_toml().unwrap();
    for option in [
        "shape",
        "central_stop",
        "waist_radius",
        "diameter",
        "object",
    ] {
        assert!(!text.contains(&format!("\n{option} = ")), "{text}");
    }
    let mut recipe = Recipe::default();
    for setting in [
        "probe.source=zone-plate",
        "probe.diameter=1e-4",
        "probe.outermost_zone=5e-8",
        "probe.stop_diameter=4e-5",
        "probe.shape=rectangle",
        "start.object=a.npy",
        "start.object_pixel=[1e-8, 2e-8]",
    ] {
        recipe.set(setting).unwrap();
    }
    let again = Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap();
    assert_eq!(again, recipe);
}
