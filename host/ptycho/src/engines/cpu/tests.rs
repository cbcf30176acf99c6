//! The sums of the updates: against their definitions, and the same bits for any number of frames
//! at a time.

use super::arrays::window::Layout;
use super::projections::object_update::ObjectSums;
use super::projections::probe_update;
use crate::Ranks;
use crate::model::fly::FlyPaths;
use num_complex::Complex;

const FRAMES: usize = 14;
const MODES: usize = 2;
const ROWS: usize = 9;
const COLUMNS: usize = 11;
const OBJECT: [usize; 2] = [29, 23];

fn layout() -> Layout {
    Layout {
        modes: MODES,
        rows: ROWS,
        columns: COLUMNS,
        object_layers: 1,
        fly: FlyPaths::default(),
        object_shape: OBJECT,
        corners: (0..FRAMES as u32)
            .map(|n| [3 * n % 20, 5 * n % 12])
            .collect(),
        fractions: vec![[0.0; 2]; FRAMES],
        scales: vec![1.0; FRAMES],
    }
}

fn wave(n: usize, seed: f32) -> Vec<Complex<f32>> {
    (0..n)
        .map(|i| {
            Complex::new(
                (i as f32 * 1.7 + seed).sin(),
                (i as f32 * 0.37 + seed).cos(),
            )
        })
        .collect()
}

fn wide(v: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(v.re), f64::from(v.im))
}

/// Calls `take(probe value, object pixel, ψ)` of every mode and pixel of every frame.
fn for_each_value(exit: &[Complex<f32>], mut take: impl FnMut(usize, usize, Complex<f64>)) {
    let pixels = ROWS * COLUMNS;
    for (frame, [top, left]) in layout().corners.iter().enumerate() {
        for n in 0..MODES * pixels {
            let [row, column] = [n % pixels / COLUMNS, n % COLUMNS];
            let o = (*top as usize + row) * OBJECT[1] + *left as usize + column;
            take(n, o, wide(exit[frame * MODES * pixels + n]));
        }
    }
}

#[test]
fn the_object_update_is_its_definition_for_any_frames_at_a_time() {
    let layout = layout();
    let waves = MODES * ROWS * COLUMNS;
    let (probe, exit) = (wave(waves, 0.2), wave(FRAMES * waves, 0.9));
    let start = wave(OBJECT[0] * OBJECT[1], 1.4);
    let updated = |together: usize| {
        let ranks = Ranks::alone();
        let mut sums = ObjectSums::new(&layout, &probe, &ranks.parts(FRAMES));
        for first in (0..FRAMES).step_by(together) {
            let frames = first..FRAMES.min(first + together);
            let exit = &exit[first * waves..frames.end * waves];
            sums.add(&layout, &probe, frames, exit);
        }
        let mut object = start.clone();
        let total = sums.total(&layout, &ranks).unwrap();
        total.finish(&mut object, 0.5, None);
        object
    };
    let object = updated(FRAMES);
    for together in [1, 2, 5] {
        assert_eq!(object, updated(together), "{together}");
    }
    let mut sums = vec![(Complex::default(), 0.5); object.len()];
    for_each_value(&exit, |n, o, psi| {
        let p = wide(probe[n]);
        sums[o].0 += p.conj() * psi;
        sums[o].1 += p.norm_sqr();
    });
    for ((o, start), (numerator, weight)) in object.iter().zip(&start).zip(sums) {
        let expected = (wide(*start) * 0.5 + numerator) / weight;
        assert!((wide(*o) - expected).norm() < 1e-5, "{o} {expected}");
    }
}

#[test]
fn the_probe_update_is_its_definition_for_any_frames_at_a_time() {
    let layout = layout();
    let waves = MODES * ROWS * COLUMNS;
    let exit = wave(FRAMES * waves, 0.9);
    let object = wave(OBJECT[0] * OBJECT[1], 1.4);
    let start = wave(waves, 0.2);
    let updated = |together: usize| {
        let mut probe = start.clone();
        let parts = Ranks::alone().parts(FRAMES);
        let sums = probe_update::sums(&layout, &parts, &object, &exit, together);
        probe_update::finish(&layout, &sums.total().unwrap(), &mut probe, 0.5);
        probe
    };
    let probe = updated(FRAMES);
    for together in [1, 2, 5] {
        assert_eq!(probe, updated(together), "{together}");
    }
    let pixels = ROWS * COLUMNS;
    let mut numerators = vec![Complex::default(); waves];
    let mut weights = vec![0.5; pixels];
    for_each_value(&exit, |n, o, psi| {
        let o = wide(object[o]);
        numerators[n] += o.conj() * psi;
        if n < pixels {
            weights[n] += o.norm_sqr();
        }
    });
    for (n, (p, start)) in probe.iter().zip(&start).enumerate() {
        let expected = (wide(*start) * 0.5 + numerators[n]) / weights[n % pixels];
        assert!((wide(*p) - expected).norm() < 1e-5, "{p} {expected}");
    }
}
