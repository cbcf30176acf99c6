//! The steps of object and probe along the directions of a batch.

use super::sums::{Batch, ObjectDirection, for_each_window_value};
use crate::EngineError;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::shift::{Scratch, shifted, spectra};
use crate::engines::cpu::updates::smoothness;
use crate::engines::updates::Smoothness;
use crate::engines::updates::{DAMPING, STEP, TRIM};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Steps along ΔO and ΔP: means over the batch of the steps that are optimal for each frame, which
/// minimise |χ − α_O ΔO S\[P\] − α_P S\[ΔP\] O|².
pub(super) fn steps<T: Real>(
    engine: &CpuEngine<T>,
    batch: &Batch<T>,
    object: Option<&ObjectDirection<T>>,
    probe: Option<&[Complex<T>]>,
    regulariser: Smoothness,
) -> Result<[f64; 2], EngineError> {
    let CpuEngine {
        layout,
        fft,
        object: current,
        ..
    } = engine;
    let pixels = layout.pixels();
    let [moved, waves] = [layout.probes(), layout.waves()].map(|n| n * pixels);
    let probe_spectra = probe.map(|p| spectra(p, pixels, fft));
    let systems: Vec<[f64; 5]> = (0..batch.frames.len())
        .into_par_iter()
        .map_init(
            || (Scratch::new(layout, fft), vec![Complex::default(); moved]),
            |(scratch, delta_probe), n| {
                let corner = layout.corners[batch.frames[n] as usize];
                if let Some(spectra) = &probe_spectra {
                    shifted(spectra, &batch.ramps[n], delta_probe, fft, scratch);
                }
                let mut sums = [0.0; 5];
                for of_wave in 0..layout.waves() {
                    let [probe, layer] = layout.parts_of(of_wave);
                    let chi = &batch.chi[n * waves + of_wave * pixels..][..pixels];
                    let shifted_probe = &batch.probes[n * moved + probe * pixels..][..pixels];
                    let delta_probe = &delta_probe[probe * pixels..][..pixels];
                    let current = layout.layer(current, layer);
                    let wave = &mut scratch.wave;
                    match object {
                        Some(object) => {
                            let direction = layout.layer(&object.direction, layer);
                            for_each_window_value(layout, corner, direction, |i, o| {
                                wave[i] = o * shifted_probe[i];
                            })
                        }
                        None => wave.fill(Complex::default()),
                    }
                    let mut own = [T::default(); 5];
                    for_each_window_value(layout, corner, current, |i, o| {
                        let (a, b, chi) = (wave[i], delta_probe[i] * o, chi[i]);
                        own[0] += a.norm_sqr();
                        own[1] += a.re * b.re + a.im * b.im;
                        own[2] += b.norm_sqr();
                        own[3] += a.re * chi.re + a.im * chi.im;
                        own[4] += b.re * chi.re + b.im * chi.im;
                    });
                    sums.iter_mut().zip(own).for_each(|(s, v)| *s += v.wide());
                }
                sums
            },
        )
        .collect();
    let mut systems = engine.ranks.gathered(&systems)?;
    if let Some(ObjectDirection { direction, weights }) = object
        && regulariser.weight > 0.0
    {
        let width = layout.object_shape[1];
        for layer in 0..layout.object_layers {
            let [o, d] = [current, direction].map(|of| layout.layer(of, layer));
            let sums = smoothness::sums(o, d, weights, width, regulariser.edge);
            for system in &mut systems {
                system[0] += regulariser.weight * sums[0];
                system[3] += regulariser.weight * sums[1];
            }
        }
    }
    Ok(mean_steps(&systems))
}

/// Solves the damped systems \[aa, ab, bb, aχ, bχ\] and returns the trimmed means, times 0.9.
pub(in crate::engines::cpu) fn mean_steps(systems: &[[f64; 5]]) -> [f64; 2] {
    let count = systems.len().max(1) as f64;
    let mean = |n: usize| systems.iter().map(|s| s[n]).sum::<f64>() / count;
    let damping = [mean(0) * DAMPING, mean(2) * DAMPING];
    let solved = systems.iter().map(|s| {
        let (aa, bb, ab) = (s[0] + damping[0], s[2] + damping[1], s[1]);
        let determinant = aa * bb - ab * ab;
        // Without one of the directions the other one's step is its own.
        let one = |numerator: f64, norm: f64| if norm > 0.0 { numerator / norm } else { 0.0 };
        if determinant > 0.0 {
            [
                (s[3] * bb - s[4] * ab) / determinant,
                (s[4] * aa - s[3] * ab) / determinant,
            ]
        } else {
            [one(s[3], aa), one(s[4], bb)]
        }
        .map(|step| step.max(0.0))
    });
    let steps: Vec<[f64; 2]> = solved.collect();
    [0, 1].map(|n| STEP * trimmed_mean(steps.iter().map(|s| s[n]).collect()))
}

fn trimmed_mean(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = (values.len() as f64 * TRIM) as usize;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}
