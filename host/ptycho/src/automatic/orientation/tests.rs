use super::*;
use crate::ReadOptions;
use crate::data::PixelPositions;
use crate::engines::cpu::CpuEngine;
use crate::{Engine, Problem, Recipe, SimulateOptions, simulate};
use ndarray::{Array3, s};
use num_complex::Complex;

#[test]
fn the_eight_orientations_are_a_group() {
    let product = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
        [0, 1].map(|r| [0, 1].map(|c| a[r][0] * b[0][c] + a[r][1] * b[1][c]))
    };
    for a in Orientation::all() {
        assert_eq!(a.after(a.inverse()), Orientation::default());
        assert_eq!(Orientation::of_matrix(a.matrix()), Some(a));
        for b in Orientation::all() {
            assert_eq!(a.after(b).matrix(), product(a.matrix(), b.matrix()));
            let points = ndarray::array![[1.0, 2.0], [-0.5, 3.0]];
            let both = a.applied_to(&b.applied_to(&points));
            assert_eq!(both, a.after(b).applied_to(&points));
        }
    }
    assert_eq!(Orientation::of_matrix([[1.0, 0.0], [0.5, 1.0]]), None);
}

/// Turning by 180° commutes with all eight, so that its two elements divide the group into four
/// classes.
#[test]
fn four_classes_of_twins_are_all_eight() {
    let turn = Orientation::default().twin();
    let all = Orientation::all();
    for one in all {
        assert_eq!(one.after(turn), one.twin());
        assert_eq!(turn.after(one), one.twin());
        assert_eq!(one.twin().twin(), one);
        assert_eq!(one.class(), one.twin().class());
        let classes = Orientation::CLASSES.iter();
        assert_eq!(classes.filter(|class| class.same_class(one)).count(), 1);
        // Each is there once.
        assert_eq!(all.iter().filter(|other| **other == one).count(), 1);
    }
}

#[test]
fn names_are_those_of_the_option() {
    let names: Vec<String> = Orientation::all().iter().map(ToString::to_string).collect();
    let expected = [
        "none",
        "flip-rows,flip-columns",
        "flip-rows",
        "flip-columns",
        "swap",
        "swap,flip-rows,flip-columns",
        "swap,flip-rows",
        "swap,flip-columns",
    ];
    assert_eq!(names, expected);
    let mut options = ReadOptions::default();
    for orientation in Orientation::all() {
        orientation.set(&mut options);
        assert_eq!(Orientation::of(&options), orientation);
    }
}

/// R of the model of a scan at `orientation`, with an object and a probe.
fn r_of(
    scan: &crate::data::Scan,
    positions: &PixelPositions,
    object: &Array2<Complex<f64>>,
    probe: &Array3<Complex<f64>>,
) -> f64 {
    let mut problem = Problem::prepare(scan, &Recipe::default()).unwrap();
    problem.positions = positions.clone();
    problem.object = object.clone();
    problem.probe = probe.clone();
    let mut engine = CpuEngine::<f64>::new(&problem);
    engine.metrics().unwrap().r_factor
}

/// The true object and probe, conjugate and turned by 180°, predict the counts with both axes of
/// the positions inverted, to rounding errors, and nothing else does.
#[test]
fn the_twin_fits_inverted_positions() {
    let options = SimulateOptions {
        frame: 24,
        positions: 9,
        noise: false,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let truth = scan.simulation().unwrap();
    let pixel = scan.object_pixel();
    let at = |orientation: Orientation| {
        let turned = orientation.applied_to(&truth.positions);
        PixelPositions::new(&turned, pixel, [24, 24], 0).unwrap()
    };
    let given = at(Orientation::default());
    let [rows, columns] = given.object_shape;
    let object = truth.object.slice(s![..rows, ..columns]).to_owned();
    assert!(r_of(&scan, &given, &object, &truth.probe) < 1e-9);

    // Both about the middle of their arrays.
    let conjugate = object.slice(s![..;-1, ..;-1]).mapv(|v| v.conj());
    let turned = truth.probe.slice(s![.., ..;-1, ..;-1]).mapv(|v| v.conj());
    let inverted = at(Orientation::default().twin());
    assert_eq!(inverted.object_shape, given.object_shape);
    assert!(r_of(&scan, &inverted, &conjugate, &turned) < 1e-9);

    assert!(r_of(&scan, &given, &conjugate, &turned) > 1e-2);
    assert!(r_of(&scan, &inverted, &object, &truth.probe) > 1e-2);
}

fn search(trials: &[(Orientation, f64, Option<f64>)], given: Orientation) -> OrientationSearch {
    let trials = trials.iter().map(|(orientation, r, absorption)| Trial {
        orientation: *orientation,
        result: TrialResult::Fitted(TrialR {
            r_factor: *r,
            r_free: *r,
            absorption: *absorption,
        }),
    });
    OrientationSearch {
        given,
        frames: 100,
        iterations: 20,
        start: StartOfTrials::File,
        near_field: false,
        x_rays: true,
        trials: trials.collect(),
        decision: Decision::Unclear,
        seconds: 1.0,
    }
    .decided()
}

/// A defocused beam differs from its twin by the sign of the defocus; a focused one is its own.
#[test]
fn a_beam_is_its_own_twin_only_in_focus() {
    let wave = |curvature: f64, n: usize| {
        Array3::from_shape_fn((1, n, n + 2), |(_, r, c)| {
            let y = r as f64 - (n / 2) as f64;
            let x = c as f64 - (n / 2 + 1) as f64;
            Complex::from_polar((-0.05 * (x * x + y * y)).exp(), curvature * (x * x + y * y))
        })
    };
    for n in [16, 17] {
        assert!(is_own_twin(&wave(0.0, n)));
        assert!(!is_own_twin(&wave(0.1, n)));
    }
}

#[test]
fn a_class_is_found_only_if_it_is_clearly_better() {
    let [none, flipped, swapped, turned] = Orientation::CLASSES;
    let rs = |best: f64| {
        [
            (none, 0.09, None),
            (flipped, 0.08, None),
            (swapped, best, None),
            (turned, 0.085, None),
        ]
    };
    let unclear = search(&rs(0.06), flipped.twin());
    assert_eq!(unclear.decision, Decision::Unclear);
    assert_eq!(unclear.orientation(), flipped.twin());
    assert!(unclear.sentences()[0].contains("cannot be told"));
    let clear = search(&rs(0.03), flipped.twin());
    assert_eq!(clear.orientation(), swapped);
    let expected = Decision::Found {
        orientation: swapped,
        twin: swapped.twin(),
        by: TwinDecision::Unresolved,
    };
    assert_eq!(clear.decision, expected);
    // Without a second class, or with NaN, there is nothing to compare with.
    assert_eq!(search(&rs(0.03)[2..3], none).decision, Decision::Unclear);
    assert_eq!(search(&rs(f64::NAN), none).decision, Decision::Unclear);
}

#[test]
fn twins_are_distinguished_by_the_probe_then_by_the_phase_then_not() {
    let [none, flipped, ..] = Orientation::CLASSES;
    let decided = |own: f64, twin: f64, absorption: Option<f64>, given: Orientation| {
        search(
            &[
                (none, 0.1, None),
                (flipped, own, absorption),
                (flipped.twin(), twin, absorption.map(|c| -c)),
            ],
            given,
        )
    };
    let by_probe = decided(0.03, 0.1, Some(-0.5), none);
    assert_eq!(by_probe.orientation(), flipped);
    let text = by_probe.sentences().join("\n");
    assert!(text.contains("excluded by the start probe"), "{text}");
    assert!(text.contains("its phase is positive where"), "{text}");
    // Both fit.
    for (absorption, expected) in [(0.5, flipped), (-0.5, flipped.twin())] {
        let by_phase = decided(0.03, 0.031, Some(absorption), none);
        assert_eq!(by_phase.orientation(), expected);
        assert!(by_phase.sentences()[1].contains("for X-rays"));
    }
    for absorption in [Some(0.01), None] {
        for (given, expected) in [(none, flipped), (flipped.twin(), flipped.twin())] {
            let by_nothing = decided(0.03, 0.031, absorption, given);
            assert_eq!(by_nothing.orientation(), expected);
            assert!(by_nothing.sentences()[1].contains("nothing known"));
        }
    }
}

#[test]
fn orientations_that_were_not_tried_have_their_reason() {
    let mut found = search(
        &[(Orientation::default(), 0.02, None)],
        Orientation::default(),
    );
    found.trials.push(Trial {
        orientation: Orientation::CLASSES[2],
        result: TrialResult::Skipped("an object of 9 pixels".to_owned()),
    });
    let found = found.decided();
    let text = found.sentences().join("\n");
    assert!(text.contains("orientation swap was not tried: an object of 9 pixels"));
    assert!(text.contains("fewer than two classes"), "{text}");
    assert_eq!(found.table().to_string().lines().count(), 5);
}

/// A step between positions and a path in its direction stay parallel.
#[test]
fn the_path_of_the_exposures_turns_with_the_positions() {
    use crate::Recipe;
    for given in Orientation::all() {
        for found in Orientation::all() {
            let in_file = [2.0, 5.0];
            let seen = |of: Orientation| {
                of.matrix()
                    .map(|row| row[0] * in_file[0] + row[1] * in_file[1])
            };
            let mut recipe = Recipe::default();
            given.set(&mut recipe.data);
            recipe.fly.shift = Some(seen(given));
            found.turn(&mut recipe);
            assert_eq!(recipe.fly.shift, Some(seen(found)), "{given:?} {found:?}");
            assert_eq!(Orientation::of(&recipe.data), found);
        }
    }
}
