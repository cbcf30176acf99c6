//! Tests of the search for the rotation.

use super::*;
use crate::data::Scan;
use crate::engines::cpu::CpuEngine;
use crate::{
    EngineName, EngineSpec, ProbeSource, Problem, Reconstructor, SimulateOptions, StartOfTrials,
    TrialR, TrialResult, simulate,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The gradient of a sum of waves at places.
fn gradients(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let waves: Vec<[f64; 3]> = (0..12)
        .map(|_| {
            let direction = std::f64::consts::TAU * random.random::<f64>();
            let frequency = 0.3 + 0.3 * random.random::<f64>();
            let (s, c) = direction.sin_cos();
            [frequency * s, frequency * c, 6.0 * random.random::<f64>()]
        })
        .collect();
    let at = |p: &[f64; 2]| {
        waves.iter().fold([0.0; 2], |sum, [a, b, phase]| {
            let slope = (a * p[0] + b * p[1] + phase).cos();
            [sum[0] + a * slope, sum[1] + b * slope]
        })
    };
    places.iter().map(at).collect()
}

fn turned(by: Rotation, places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let matrix = by.matrix();
    let map = |p: &[f64; 2]| matrix.map(|row| row[0] * p[0] + row[1] * p[1]);
    places.iter().map(map).collect()
}

/// The angle between two rotations of a class, up to 180°.
fn apart(a: Rotation, b: Rotation) -> f64 {
    ((a.degrees - b.degrees + 90.0).rem_euclid(180.0) - 90.0).abs()
}

#[test]
fn a_turned_gradient_is_found_at_any_positions() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let raster = |n: usize| [(n / 20) as f64, (n % 20) as f64];
    for irregular in [false, true] {
        let in_file: Vec<[f64; 2]> = (0..400)
            .map(|n| match irregular {
                false => raster(n),
                true => [0, 1].map(|_| 20.0 * random.random::<f64>()),
            })
            .collect();
        for truth in [
            Rotation::new(33.0, false),
            Rotation::new(-121.0, false),
            Rotation::new(70.0, true),
        ] {
            let mut centres = gradients(&turned(truth, &in_file));
            for centre in &mut centres {
                *centre = centre.map(|v| 5.0 + v + 0.1 * (random.random::<f64>() - 0.5));
            }
            let found = CentreField::new(in_file.clone(), centres)
                .rotation()
                .unwrap();
            assert!(found.is_clear(), "{found}");
            assert_eq!(found.rotation.mirrored, truth.mirrored);
            let error = apart(found.rotation, truth);
            assert!(
                error < 1.5 && error < 5.0 * found.error + 0.3,
                "{truth}: {found}"
            );
        }
    }
}

#[test]
fn noise_lines_and_few_frames_tell_nothing() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let places: Vec<[f64; 2]> = (0..400)
        .map(|n| [(n / 20) as f64, (n % 20) as f64])
        .collect();
    let noise = |random: &mut Pcg64Mcg| [0, 1].map(|_| random.random::<f64>() - 0.5);
    for _ in 0..5 {
        let centres = places.iter().map(|_| noise(&mut random)).collect();
        let found = CentreField::new(places.clone(), centres).rotation();
        assert!(found.is_none_or(|found| !found.is_clear()), "{found:?}");
    }
    let line: Vec<[f64; 2]> = (0..100).map(|n| [0.0, f64::from(n)]).collect();
    assert_eq!(CentreField::new(line.clone(), line).rotation(), None);
    let few = places[..20].to_vec();
    assert_eq!(CentreField::new(few.clone(), few).rotation(), None);
}

fn search() -> RotationSearch {
    RotationSearch {
        centres: None,
        frames: 9,
        iterations: 3,
        start: StartOfTrials::Recipe,
        trials: Vec::new(),
        decision: RotationDecision::Unclear,
        seconds: 0.0,
    }
}

fn fitted(r_free: f64) -> TrialResult {
    TrialResult::Fitted(TrialR {
        r_factor: r_free,
        r_free,
        absorption: None,
    })
}

/// With an R_free that is known, the least one is found without an estimate, its twin is excluded,
/// and a flat one is unclear.
#[test]
fn trials_find_the_least_r_free() {
    for truth in [Rotation::new(-121.3, false), Rotation::new(84.0, true)] {
        let r_free = |rotation: Rotation| {
            let turned = (rotation.degrees - truth.degrees).to_radians();
            let same = if rotation.mirrored == truth.mirrored {
                1.0
            } else {
                0.0
            };
            0.1 - same * (0.03 * (-20.0 * turned.sin().powi(2)).exp() + 0.005 * turned.cos())
        };
        let mut found = search();
        let done = found.run(true, |r| Ok::<_, ()>(Some(fitted(r_free(r)))));
        assert_eq!(done, Ok(true));
        let rotation = found.rotation().unwrap();
        let error = Rotation::new(rotation.degrees - truth.degrees, false).degrees;
        assert!(
            rotation.mirrored == truth.mirrored && error.abs() < 0.3,
            "{rotation}"
        );
        let text = found.sentences().join("\n");
        assert!(text.contains("excluded by the start probe"), "{text}");
        assert!(text.contains("too few frames for an estimate"), "{text}");
        assert_eq!(found.rows().len(), found.trials.len());
    }
    let mut flat = search();
    assert_eq!(
        flat.run(false, |_| Ok::<_, ()>(Some(fitted(0.1)))),
        Ok(true)
    );
    assert_eq!(flat.rotation(), None);
    let text = flat.sentences().join("\n");
    assert!(
        text.contains("the rotation is unclear: R_free is 0.1"),
        "{text}"
    );
    let mut stopped = search();
    assert_eq!(stopped.run(true, |_| Ok::<_, ()>(None)), Ok(false));
    let mut broken = search();
    let skipped = TrialResult::Skipped("no memory".to_owned());
    assert_eq!(
        broken.run(true, |_| Ok::<_, ()>(Some(skipped.clone()))),
        Ok(true)
    );
    assert!(broken.sentences().join("\n").contains("no memory"));
}

#[test]
fn a_rotation_follows_what_the_recipe_does() {
    let mut recipe = Recipe::default();
    recipe.data.affine = Some([[2.0, 0.1], [0.0, 1.5]]);
    recipe.data.swap_axes = true;
    recipe.data.flip_columns = true;
    let shift = [0.03, -0.01];
    recipe.fly.shift = Some(shift);
    let positions = ndarray::array![[1.0, 0.2], [-0.3, 0.7]];
    let rotation = Rotation::new(-123.0, true);
    let expected = rotation.applied_to(&recipe.data.transform(&positions));
    rotation.turn(&mut recipe);
    let found = recipe.data.transform(&positions);
    for (a, b) in expected.iter().zip(&found) {
        assert!((a - b).abs() < 1e-12);
    }
    let expected = rotation.applied_to(&ndarray::array![shift]);
    let found = recipe.fly.shift.unwrap();
    assert!((expected[[0, 0]] - found[0]).hypot(expected[[0, 1]] - found[1]) < 1e-12);
    recipe.check().unwrap();
    assert_eq!(Rotation::new(-540.0, false).degrees, 180.0);
}

/// The scan of a specimen whose positions are turned: its frames tell by how much, within a degree.
#[test]
fn a_simulated_scan_that_is_turned_is_found() {
    let options = SimulateOptions {
        frame: 32,
        positions: 100,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let truth = Rotation::new(37.0, false);
    let back = Rotation::new(-37.0, false);
    let turned = |by: Rotation, scan: &Scan| {
        let frames = scan.frames().unwrap().into_owned();
        let mask = Some(scan.mask().clone());
        let positions = by.applied_to(scan.positions());
        let probe = scan
            .simulation()
            .map(|of| of.probe.clone())
            .or(scan.probe().cloned());
        Scan::new(frames, mask, positions, *scan.geometry(), probe).unwrap()
    };
    let in_file = turned(back, &scan);
    let mut found = search();
    found.centres = CentreField::of(&in_file).unwrap().rotation();
    let mut recipe = Recipe {
        free_pixels: 0.05,
        metrics_every: 5,
        engines: vec![EngineSpec::new(EngineName::Lsqml, 5)],
        ..Recipe::default()
    };
    recipe.probe.source = ProbeSource::File;
    let done = found.run(true, |rotation| {
        let scan = turned(rotation, &in_file);
        let Ok(problem) = Problem::prepare(&scan, &recipe) else {
            return Ok(Some(TrialResult::Skipped("positions".to_owned())));
        };
        let engine = Box::new(CpuEngine::<f32>::new(&problem));
        let mut run = Reconstructor::new(engine, &problem, &recipe);
        while !run.finished() {
            run.advance().map_err(|e| e.to_string())?;
        }
        let r_free = run.progress().history.last().and_then(|h| h.r_free);
        Ok::<_, String>(Some(fitted(r_free.unwrap_or(f64::NAN))))
    });
    assert_eq!(done, Ok(true));
    let text = found.sentences().join("\n");
    let rotation = found.rotation().unwrap_or_else(|| panic!("{text}"));
    let error = Rotation::new(rotation.degrees - truth.degrees, false).degrees;
    assert!(
        !rotation.mirrored && error.abs() < 1.0,
        "{text}\n{}",
        found.table()
    );
}
