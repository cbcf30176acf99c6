//! Centring: moves the probe to the middle of its window, and object and exit waves with it, so
//! that every product P·O is unchanged.

use crate::engines::cpu::arrays::window::{Layout, mode_power};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// Shift in whole pixels (rows, columns) that centres the probe, from Σ|P|²·(1, row, column); zero
/// within `tolerance` pixels of the centre.
pub(crate) fn centring_shift(
    [power, rows, columns]: [f64; 3],
    centre: [usize; 2],
    tolerance: f64,
) -> [i32; 2] {
    if power <= 0.0 {
        return [0, 0];
    }
    let off = [
        centre[0] as f64 - rows / power,
        centre[1] as f64 - columns / power,
    ];
    if off[0].hypot(off[1]) > tolerance {
        off.map(|v| v.round_ties_even() as i32)
    } else {
        [0, 0]
    }
}

/// Σ|P|²·(1, row, column) over all modes.
pub(in crate::engines::cpu) fn moments<T: Real>(layout: &Layout, probe: &[Complex<T>]) -> [f64; 3] {
    let power = mode_power(probe, layout.modes, layout.pixels());
    let mut sums = [0.0; 3];
    for (i, p) in power.iter().enumerate() {
        let p = p.wide();
        sums[0] += p;
        sums[1] += p * (i / layout.columns) as f64;
        sums[2] += p * (i % layout.columns) as f64;
    }
    sums
}

/// Shifts every array of (rows, columns) in `data` cyclically by `shift`.
pub(in crate::engines::cpu) fn roll<T: Real>(
    data: &mut [Complex<T>],
    [rows, columns]: [usize; 2],
    shift: [i32; 2],
) {
    let by = [
        shift[0].rem_euclid(rows as i32) as usize,
        shift[1].rem_euclid(columns as i32) as usize,
    ];
    data.par_chunks_mut(rows * columns).for_each(|layer| {
        layer.rotate_right(by[0] * columns);
        layer
            .chunks_mut(columns)
            .for_each(|row| row.rotate_right(by[1]));
    });
}

/// Applies the same shift to unnormalised transforms (…, column, row) as a phase ramp.
pub(in crate::engines::cpu) fn roll_spectra<T: Real>(
    spectra: &mut [Complex<T>],
    [rows, columns]: [usize; 2],
    shift: [i32; 2],
) {
    // The phase in turns, reduced exactly in integers.
    let factors = |n: usize, by: i32| -> Vec<Complex<T>> {
        let by = i64::from(by).rem_euclid(n as i64) as usize;
        (0..n)
            .map(|k| {
                let turns = (k * by % n) as f64 / n as f64;
                let phase = Complex::cis(-std::f64::consts::TAU * turns);
                Complex::new(T::of(phase.re), T::of(phase.im))
            })
            .collect()
    };
    let (down, right) = (factors(rows, shift[0]), factors(columns, shift[1]));
    spectra.par_chunks_mut(rows * columns).for_each(|layer| {
        for (line, right) in layer.chunks_mut(rows).zip(&right) {
            for (value, down) in line.iter_mut().zip(&down) {
                *value = *value * *down * *right;
            }
        }
    });
}
