use super::*;
use crate::PositionMethod;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const HOW: Refinement = Refinement {
    methods: [Some(PositionMethod::Gradient), None, None],
    scales: false,
    bound: 20.0,
    step: 1.0,
    trials: 8,
    amplitude: 1.0,
};

/// A grid of frames.
fn grid() -> FrameParameters {
    FrameParameters::new(&PixelPositions {
        corners: (0..100).map(|i| [10 * (i / 10), 10 * (i % 10)]).collect(),
        fractions: vec![[0.25, -0.125]; 100],
        object_shape: [200, 200],
        origin: [0.0; 2],
    })
}

fn displacements(of: &FrameParameters) -> Vec<[f64; 2]> {
    let pairs = of.positions.iter().zip(&of.start);
    pairs.map(|(a, b)| [a[0] - b[0], a[1] - b[1]]).collect()
}

/// Equations whose steps are `steps`, but for the damping.
fn equations(steps: &[[f64; 2]]) -> Vec<NormalEquations> {
    let of = |s: &[f64; 2]| [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, s[0], s[1], 0.0];
    steps.iter().map(of).collect()
}

/// A runaway ends at three standard deviations from the map of the others, which stay as they are
/// but for the common shift.
#[test]
fn runaways_are_drawn_in_to_three_standard_deviations_from_the_map() {
    let mut frames = grid();
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for position in &mut frames.positions {
        let noise = [0, 1].map(|_| random.random::<f64>() - 0.5);
        *position = [
            position[0] * 1.01 + noise[0],
            position[1] + 0.02 * position[0] + noise[1],
        ];
    }
    frames.bound(20.0);
    let before = displacements(&frames);
    frames.positions[42][0] += 15.0;
    frames.draw_in(20.0);
    let after = displacements(&frames);
    let change = |n: usize| (after[n][0] - before[n][0]).hypot(after[n][1] - before[n][1]);
    // Noise within ±0.5 on both axes has a median distance of about 0.4, so σ ≈ 0.34.
    assert!((0.3..2.0).contains(&change(42)), "{}", change(42));
    let others = (0..100).filter(|n| *n != 42).map(change);
    assert!(others.fold(0.0, f64::max) < 0.02);
}

/// Where most frames have not moved, those that have are no runaways.
#[test]
fn few_moved_frames_are_not_drawn_in() {
    let mut frames = grid();
    for frame in [3, 40, 77] {
        frames.positions[frame][0] += 1.0;
    }
    let before = displacements(&frames);
    frames.draw_in(20.0);
    for (after, before) in displacements(&frames).iter().zip(&before) {
        // The common shift is removed.
        assert!((after[0] - before[0] + 0.03).abs() < 1e-9, "{after:?}");
    }
}

/// A ramp of the scales changes no intensity if object and probe have the opposite one.
#[test]
fn steps_of_scales_have_no_ramp() {
    let mut frames = grid();
    let how = Refinement {
        scales: true,
        ..HOW
    };
    let of = |ripple: f64| {
        let step = |n: usize, p: &[f64; 2]| {
            let own = if n.is_multiple_of(2) { ripple } else { -ripple };
            [
                1.0,
                0.0,
                1.0,
                0.0,
                0.0,
                1.0,
                0.0,
                0.0,
                0.003 * (p[0] - 45.0) - 0.001 * p[1] + own,
            ]
        };
        let starts = grid().start;
        let steps = starts.iter().enumerate().map(|(n, p)| step(n, p));
        steps.collect::<Vec<NormalEquations>>()
    };
    frames.refine(&of(0.0), [false, false], &how);
    assert!(frames.scales.iter().all(|s| (s - 1.0).abs() < 1e-9));
    frames.refine(&of(0.05), [false, false], &how);
    let ratio = frames.scales[0] / frames.scales[1];
    // The ripple itself has a small slope.
    assert!((ratio.ln() - 0.1).abs() < 0.01, "{ratio}");
}

#[test]
fn a_map_alone_replaces_the_steps_of_the_frames() {
    let mut frames = grid();
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let steps: Vec<[f64; 2]> = frames
        .start
        .iter()
        .map(|p| {
            let noise = [0, 1].map(|_| 0.1 * (random.random::<f64>() - 0.5));
            [
                0.004 * (p[0] - 45.0) + noise[0],
                -0.002 * (p[0] - 45.0) + noise[1],
            ]
        })
        .collect();
    frames.refine(&equations(&steps), [true, true], &HOW);
    let map = AffineFit::fit(&frames.start, &frames.positions).unwrap();
    for (start, position) in frames.start.iter().zip(&frames.positions) {
        let mapped = map.at(*start);
        assert!((mapped[0] - position[0]).abs() < 1e-9 && (mapped[1] - position[1]).abs() < 1e-9);
    }
    let stretch = map.matrix[0][0] - 1.0;
    assert!(
        (stretch / 0.004 / OVER_RELAXATION - 1.0).abs() < 0.1,
        "{stretch}"
    );
    // No frame goes further than the largest step.
    let mut frames = grid();
    let how = Refinement { step: 0.05, ..HOW };
    frames.refine(&equations(&steps), [true, true], &how);
    let moved = displacements(&frames);
    let largest = moved.iter().flatten().fold(0.0, |a: f64, v| a.max(v.abs()));
    assert!(largest < 0.05 + 1e-9, "{largest}");
}

#[test]
fn a_common_scale_and_rotation_stay_and_a_common_shift_is_removed() {
    let mut frames = grid();
    let steps: Vec<[f64; 2]> = frames
        .start
        .iter()
        .map(|p| [0.5 + 0.004 * (p[1] - 45.0), 0.01 * (p[1] - 45.0)])
        .collect();
    for map in [false, true] {
        frames = grid();
        frames.refine(&equations(&steps), [true, map], &HOW);
        let moved = displacements(&frames);
        let mean = [0, 1].map(|axis| moved.iter().map(|d| d[axis]).sum::<f64>());
        assert!(mean.iter().all(|v| v.abs() < 1e-9), "{mean:?}");
        let fitted = AffineFit::fit(&frames.start, &frames.positions).unwrap();
        assert!(
            fitted.matrix[0][1] > 0.0035 && fitted.matrix[1][1] > 1.009,
            "{fitted}"
        );
    }
}

#[test]
fn trials_lie_in_their_quadrants_and_within_the_bound() {
    let frames = grid();
    let trials = Trials {
        seed: 7,
        iteration: 3,
        count: 8,
        amplitude: 2.0,
        bound: 1.5,
        part: 1.0,
    };
    let mut sum = [0.0; 2];
    for (frame, start) in frames.trial_starts().iter().enumerate() {
        for trial in 1..=8 {
            let (corner, fraction) = start.trial(&trials, frame, trial);
            let moved = [0, 1].map(|axis| {
                assert!(fraction[axis].abs() <= 0.5);
                f64::from(corner[axis].wrapping_sub(start.corner[axis]) as i32)
                    + f64::from(fraction[axis] - start.fraction[axis])
            });
            assert!(moved.iter().all(|v| v.abs() <= 1.5), "{moved:?}");
            let quadrant = (trial - 1) % 4;
            assert_eq!(
                [moved[0] < 0.0, moved[1] < 0.0],
                [quadrant > 1, quadrant % 2 == 1]
            );
            sum = [sum[0] + moved[0].abs(), sum[1] + moved[1].abs()];
        }
    }
    // Evenly distributed up to 2 and limited to 1.5: 0.75 · 0.75 + 0.25 · 1.5 on average.
    assert!(
        sum.iter().all(|v| (v / 800.0 - 0.9375).abs() < 0.06),
        "{sum:?}"
    );
}
