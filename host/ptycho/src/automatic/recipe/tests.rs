//! Decisions from invented R_free: no engine runs.

use super::*;
use crate::PositionMethod;
use crate::free_share;

/// What an invented scan needs; what a recipe lacks multiplies its R_free.
#[derive(Clone, Copy)]
struct InventedScan {
    modes: usize,
    positions: bool,
    scales: bool,
    /// Whether a difference map harms.
    dark: bool,
    /// The best weight of the regulariser.
    weight: f64,
    /// Whether one batch of all frames is the better last engine.
    one_batch: bool,
}

/// A good scan of one coherent mode.
const PLAIN: InventedScan = InventedScan {
    modes: 1,
    positions: false,
    scales: false,
    dark: false,
    weight: 0.0,
    one_batch: false,
};

impl InventedScan {
    fn r_free(self, trial: &Trial, first: bool) -> f64 {
        let of = &trial.recipe;
        let engine = &of.engines[0];
        let mut r = 0.01;
        let lacks = |yes: bool, by: f64| if yes { by } else { 1.0 };
        // More modes than there are fit noise.
        let missing = self.modes.saturating_sub(of.probe_modes);
        r *= 1.1_f64.powi(missing as i32) * lacks(of.probe_modes > self.modes, 1.001);
        // Trials of the last engine go on from others.
        r *= lacks(
            engine.batch == Some(ALL) || engine.name == EngineName::Ml,
            0.95,
        );
        let refined = of.positions.refine.contains(&PositionMethod::Gradient);
        r *= lacks(self.positions && !refined, 1.2) * lacks(!self.positions && refined, 1.002);
        r *= lacks(self.scales && !of.fit_frame_scales, 1.1);
        r *= lacks(self.dark && first, 2.0);
        let weight = engine.regulariser.unwrap_or(0.0);
        r *= 1.0 + 0.02 * ((1.0 + weight).ln() - (1.0 + self.weight).ln()).abs();
        // The other last engine.
        let one_batch = engine.batch == Some(ALL);
        r * lacks(!one_batch && self.one_batch, 1.1) * lacks(one_batch && !self.one_batch, 1.1)
    }
}

/// Data with a margin of 2 %.
fn data(mean_count: f64) -> TrialData {
    TrialData {
        frames: 100,
        valid: 1 << 22,
        free: 8889.0,
        mean_count,
    }
}

/// The recipe that follows, with the trials.
fn search(scan: InventedScan, decided: Decided, template: &Recipe) -> (Recipe, AutomaticRecipe) {
    let mean_count = if scan.dark { 0.1 } else { 100.0 };
    let mut search = AutomaticSearch::new(template, decided, data(mean_count));
    let mut firsts = Vec::new();
    while let Some(trial) = search.next_trial() {
        if let Some(number) = trial.from {
            assert!(search.needs(number), "{} starts from {number}", trial.name);
        }
        let begun = trial.from.and_then(|n| firsts.get(n).copied());
        let first = begun.unwrap_or(trial.recipe.engines[0].name == EngineName::Dm);
        firsts.push(first);
        let r = scan.r_free(&trial, first);
        search.record(&trial, Ok(r));
        assert!(firsts.len() < 40, "the search does not end");
    }
    let recipe = search.recipe();
    recipe.check().unwrap();
    (recipe, search.report(1.0))
}

fn of(scan: InventedScan) -> Recipe {
    search(scan, Decided::default(), &template()).0
}

#[test]
fn a_plain_scan_keeps_one_mode_and_its_positions() {
    let (recipe, report) = search(PLAIN, Decided::default(), &template());
    assert_eq!(recipe.probe_modes, 1);
    assert!(recipe.positions.refine.is_empty() && !recipe.fit_frame_scales);
    assert_eq!(engine_list(&recipe.engines), "dm:40 lsqml:100 ml:100");
    assert_eq!(recipe.engines[2].regulariser, Some(0.0));
    assert_eq!(recipe.stop, StopRule::Plateau);
    let kept: Vec<&str> = (report.tried.iter().filter(|t| t.kept))
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(kept, ["first object by dm:40", "1 probe mode", "then ml"]);
    // Two modes were tried, and no more.
    let tried = |name: &str| report.tried.iter().any(|t| t.name == name);
    assert!(tried("2 probe modes") && !tried("3 probe modes"));
    assert_eq!(report.rows().len(), report.tried.len());
}

#[test]
fn what_a_scan_needs_is_kept() {
    for modes in [2, 3, 4, 6] {
        assert_eq!(of(InventedScan { modes, ..PLAIN }).probe_modes, modes);
    }
    let refine = |scan| of(scan).positions.refine;
    let positions = InventedScan {
        positions: true,
        ..PLAIN
    };
    assert_eq!(refine(positions), [PositionMethod::Gradient]);
    assert!(
        of(InventedScan {
            scales: true,
            ..PLAIN
        })
        .fit_frame_scales
    );
    let all = of(InventedScan {
        modes: 3,
        scales: true,
        ..positions
    });
    assert_eq!(all.probe_modes, 3);
    assert!(all.fit_frame_scales && !all.positions.refine.is_empty());
    // Refined from the engine that refines, with its first iterations behind it.
    assert_eq!(all.positions.start, 43);
}

#[test]
fn weak_light_starts_without_the_difference_map() {
    let recipe = of(InventedScan {
        dark: true,
        ..PLAIN
    });
    assert_eq!(engine_list(&recipe.engines), "lsqml:140 ml:100");
}

#[test]
fn the_last_engine_is_the_one_with_the_lowest_r_free() {
    let weight = |weight| of(InventedScan { weight, ..PLAIN }).engines[2].clone();
    assert_eq!(weight(90.0).regulariser, Some(100.0));
    assert_eq!(weight(90.0).regulariser_edge, Some(0.02));
    assert_eq!(weight(1500.0).regulariser, Some(1600.0));
    let one_batch = of(InventedScan {
        weight: 400.0,
        one_batch: true,
        ..PLAIN
    })
    .engines[2]
        .clone();
    assert_eq!(
        (one_batch.name, one_batch.batch),
        (EngineName::Lsqml, Some(ALL))
    );
    assert_eq!(one_batch.regulariser, Some(400.0));
}

#[test]
fn a_last_engine_that_raises_r_free_is_left_out() {
    let mut search = AutomaticSearch::new(&template(), Decided::default(), data(100.0));
    while let Some(trial) = search.next_trial() {
        let engine = &trial.recipe.engines[0];
        let last = engine.batch == Some(ALL) || engine.name == EngineName::Ml;
        search.record(&trial, Ok(if last { 0.02 } else { 0.01 }));
    }
    assert_eq!(engine_list(&search.recipe().engines), "dm:40 lsqml:100");
}

#[test]
fn what_the_user_has_decided_is_not_tried() {
    let scan = InventedScan {
        modes: 4,
        positions: true,
        scales: true,
        weight: 400.0,
        ..PLAIN
    };
    let decided = Decided {
        probe_modes: true,
        positions: true,
        frame_scales: true,
        regulariser: true,
    };
    let given = Recipe {
        probe_modes: 2,
        ..template()
    };
    let (recipe, report) = search(scan, decided, &given);
    assert_eq!(recipe.probe_modes, 2);
    assert!(recipe.positions.refine.is_empty() && !recipe.fit_frame_scales);
    assert_eq!(recipe.engines[2], given.engines[2]);
    for tried in &report.tried {
        assert!(!tried.name.contains("scales") && !tried.name.contains("regulariser"));
    }
}

#[test]
fn the_engine_that_refines_makes_the_first_object_if_there_is_no_other() {
    let mut given = template();
    given.engines.remove(0);
    let (recipe, report) = search(
        InventedScan { modes: 2, ..PLAIN },
        Decided::default(),
        &given,
    );
    assert_eq!(report.tried[0].name, "first object by lsqml:40");
    assert_eq!(report.tried[1].name, "1 probe mode");
    assert_eq!(engine_list(&recipe.engines), "lsqml:100 ml:100");
    assert_eq!(recipe.positions.start, 43);
}

/// What slices do not go with is not tried, and what begins at an iteration of the run begins in
/// trials as much earlier as the first one has iterations.
#[test]
fn trials_suit_the_parts_of_the_model() {
    let scan = InventedScan {
        modes: 2,
        positions: true,
        scales: true,
        weight: 400.0,
        ..PLAIN
    };
    let mut thick = template();
    for option in [
        "slices.distance=2e-5",
        "slices.count=2",
        "slices.refine_distance=true",
        "slices.refine_from=50",
    ] {
        thick.set(option).unwrap();
    }
    suit_engines(&mut thick);
    let (recipe, report) = search(scan, Decided::default(), &thick);
    assert_eq!(engine_list(&recipe.engines), "lsqml:140 ml:100");
    assert_eq!(recipe.probe_modes, 2);
    assert_eq!(recipe.slices, thick.slices);
    for tried in &report.tried {
        let asks = ["positions", "scales", "regulariser"];
        assert!(
            asks.iter().all(|what| !tried.name.contains(what)),
            "{tried:?}"
        );
    }
    let said = report.sentences().join("\n");
    assert!(said.contains("begins with lsqml: with slices"), "{said}");
    assert!(said.contains("are not tried, as slices"), "{said}");

    let mut varied = template();
    varied.set("opr_modes=2").unwrap();
    varied.set("opr_from=50").unwrap();
    suit_engines(&mut varied);
    let mut search = AutomaticSearch::new(&varied, Decided::default(), data(100.0));
    let mut from = Vec::new();
    while let Some(trial) = search.next_trial() {
        from.push(trial.recipe.opr_from);
        assert_eq!(trial.run.opr_from, 50);
        search.record(&trial, Ok(0.01));
    }
    assert_eq!(from[0], 50);
    assert!(from[1..].iter().all(|from| *from == 10), "{from:?}");
}

/// The work of all trials grows at most like that of a frame.
#[test]
fn several_points_of_an_exposure_make_trials_no_longer_than_their_waves() {
    let worked = |points: usize, valid: usize| {
        let mut given = template();
        given.set(&format!("fly.points={points}")).unwrap();
        given.set("fly.shift=[0.0,6e-8]").unwrap();
        let data = TrialData {
            valid,
            ..data(100.0)
        };
        let mut search = AutomaticSearch::new(&given, Decided::default(), data);
        let mut sum = 0;
        while let Some(trial) = search.next_trial() {
            let tried = search.record(&trial, Ok(1.0 / (1.0 + sum as f64)));
            sum += points * trial.recipe.probe_modes * tried.iterations;
        }
        sum
    };
    for valid in [1 << 14, 1 << 18, 1 << 21] {
        let step = worked(1, valid);
        for points in [2, 4, 8] {
            assert!(worked(points, valid) <= points * step, "{valid} {points}");
        }
    }
    // Beyond 2¹⁹ values there are fewer iterations.
    assert!(worked(4, 1 << 18) < 3 * worked(1, 1 << 18));
}

#[test]
fn a_trial_that_fails_is_not_kept_and_said() {
    let mut search = AutomaticSearch::new(&template(), Decided::default(), data(100.0));
    let mut fails = 0;
    while let Some(trial) = search.next_trial() {
        let modes = trial.recipe.probe_modes;
        let first = trial.recipe.engines[0].name == EngineName::Dm;
        let outcome = if first || modes > 1 {
            fails += 1;
            Err("no memory".to_owned())
        } else {
            Ok(0.02 - 1e-4 * trial.recipe.engines[0].regulariser.unwrap_or(0.0).min(9.0))
        };
        search.record(&trial, outcome);
    }
    let (recipe, report) = (search.recipe(), search.report(1.0));
    assert_eq!(recipe.probe_modes, 1);
    // The first engine failed.
    assert_eq!(recipe.engines[0].name, EngineName::Lsqml);
    assert_eq!(fails, 2);
    let sentences = report.sentences();
    assert_eq!(sentences.len(), 3, "{sentences:?}");
    assert!(sentences[1].ends_with("could not be tried: no memory"));
    assert_eq!(AutomaticRecipe::from_json(&report.to_json()), Some(report));
    assert_eq!(AutomaticRecipe::from_json(""), None);
}

#[test]
fn small_scans_have_more_free_pixels_and_a_wider_margin() {
    assert_eq!(free_share(516 * 128 * 128, false), 0.01);
    assert_eq!(free_share(40 * 32 * 32, false), 0.05);
    assert_eq!(free_share(1_000_000, false), 0.02);
    assert_eq!(free_share(1_000_000, true), 0.08);
    assert_eq!(free_share(40 * 32 * 32, true), 0.1);
    assert!((margin(84_500.0) - 0.00986).abs() < 1e-4);
    assert!(margin(800.0) > 0.05 && margin(0.0).is_finite());
    let small = |frames, free| {
        TrialData {
            frames,
            valid: 1 << 10,
            free,
            mean_count: 9.0,
        }
        .too_small()
    };
    assert!(small(1, 1e6).is_some_and(|why| why.starts_with("1 frame with counts")));
    assert!(small(40, 30.0).is_some());
    assert_eq!(small(8, 200.0), None);
    let iterations = |valid| TrialData { valid, ..data(9.0) }.iterations(1);
    assert_eq!(
        [1 << 22, 1 << 21, 1 << 20, 1 << 10, 0].map(iterations),
        [20, 20, 40, 80, 80]
    );
}

#[test]
fn the_template_is_a_recipe() {
    let given = template();
    given.check().unwrap();
    let text = given.to_toml().unwrap();
    assert_eq!(Recipe::from_toml(&text).unwrap(), given);
    assert!(text.contains("stop = \"plateau\""));
}

/// Without an R_free to compare with, nothing more is tried.
#[test]
fn a_failed_baseline_ends_the_search_with_the_template() {
    for (first, baseline, engines) in [
        (
            Ok(0.02),
            Err("too little memory".to_owned()),
            "dm:40 lsqml:100 ml:100",
        ),
        (Ok(0.02), Ok(f64::NAN), "dm:40 lsqml:100 ml:100"),
        // A first object that fails is left out.
        (
            Err("diverged".to_owned()),
            Ok(f64::INFINITY),
            "lsqml:140 ml:100",
        ),
    ] {
        let mut search = AutomaticSearch::new(&template(), Decided::default(), data(0.1));
        for outcome in [first, baseline] {
            let trial = search.next_trial().unwrap();
            assert!(trial.first);
            assert!(!search.record(&trial, outcome.clone()).kept || outcome.is_ok());
        }
        assert_eq!(search.next_trial(), None);
        let recipe = search.recipe();
        assert_eq!(engine_list(&recipe.engines), engines);
        assert_eq!(recipe.probe_modes, 1);
        assert!(!search.report(1.0).tried[1].kept);
        let said = search.report(1.0).sentences().join("\n");
        assert!(said.contains("nothing else was tried"), "{said}");
    }
}

#[test]
fn templates_without_a_first_engine_are_searched() {
    let mut one = template();
    one.engines.truncate(1);
    let mut search = AutomaticSearch::new(&one, Decided::default(), data(1.0));
    while let Some(trial) = search.next_trial() {
        assert!(search.record(&trial, Ok(0.01)).r_free.is_some());
    }
}

/// Options of the engines are those of the trials and of the run, also where `lsqml` is the last
/// engine.
#[test]
fn options_of_engines_are_kept() {
    let mut given = template();
    given.set("lsqml.clip_object=[0.0,1.1]").unwrap();
    given.set("ml.noise=poisson").unwrap();
    let clip = given.engines[1].clip_object;
    assert!(clip.is_some());
    let mut search = AutomaticSearch::new(&given, Decided::default(), data(100.0));
    while let Some(trial) = search.next_trial() {
        for engine in &trial.recipe.engines {
            match engine.name {
                EngineName::Lsqml => assert_eq!(engine.clip_object, clip, "{}", trial.name),
                EngineName::Ml => assert_eq!(engine.noise, given.engines[2].noise),
                _ => {}
            }
        }
        let all = trial.recipe.engines[0].batch == Some(ALL);
        search.record(&trial, Ok(if all { 0.001 } else { 0.01 }));
    }
    let engines = search.recipe().engines;
    assert_eq!(engine_list(&engines), "dm:40 lsqml:100 lsqml:100");
    assert!(engines[1..].iter().all(|engine| engine.clip_object == clip));
}
