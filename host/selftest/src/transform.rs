//! Batched Fourier transforms of the device.

use crate::bench::Size;
use crate::bench::{Bench, Case, wide};
use crate::random_data::Source;
use num_complex::Complex;
use rayon::prelude::*;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Device, Direction, Result};
use warpstride_fft::Fft2;

/// Rows, columns and batch size: single pixels, rows and columns, primes, powers of two.
const SMALL: [[usize; 3]; 7] = [
    [1, 1, 1],
    [1, 7, 2],
    [5, 1, 3],
    [7, 11, 5],
    [13, 5, 2],
    [16, 12, 3],
    [31, 37, 1],
];
const LARGE: [[usize; 3]; 4] = [
    [128, 128, 400],
    [127, 131, 20],
    [256, 256, 40],
    [96, 200, 30],
];

/// Length up to which a direct sum is fast enough; longer transforms use rustfft, which has tests
/// against direct sums of its own.
const DIRECT_SUM: usize = 40;

/// The cases of transforms by the device.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    let large: &[_] = if size == Size::Device { &LARGE } else { &[] };
    for [rows, columns, batch] in SMALL.iter().chain(large).copied() {
        for direction in [Direction::Forward, Direction::Inverse] {
            transform(bench, [rows, columns, batch], direction)?;
        }
    }
    Ok(())
}

fn transform<M: Device>(
    bench: &mut Bench<'_, M>,
    [rows, columns, batch]: [usize; 3],
    direction: Direction,
) -> Result<()> {
    let on = bench.on();
    let name = match direction {
        Direction::Forward => "forward",
        Direction::Inverse => "inverse",
    };
    let text = format!("{batch} × {rows} × {columns}, {name}");
    // The buffer is longer than the batch; the transform must not touch the rest.
    let (elements, spare) = (rows * columns * batch, 3);
    let data = Source::new("transform", &text).complex(elements + spare);
    let mut reference: Vec<Complex<f64>> = data.iter().map(|v| wide(*v)).collect();
    reference[..elements]
        .par_chunks_mut(rows * columns)
        .for_each(|array| reference_transform(array, [rows, columns], direction));
    let plan = bench.device().plan_fft(&[rows, columns], batch)?;
    let timed = rows.max(columns) > DIRECT_SUM;
    bench.run(
        Case::named("transform", text.clone()).timed(timed, 16 * elements),
        on.upload(&data)?,
        |device, values| device.fft(&plan, values, direction),
        |on, values| on.error(values, &reference),
    )?;
    // The source and the spare end of the result must be unchanged.
    let from = on.upload(&data)?;
    let unchanged: Vec<Complex<f64>> = data.iter().map(|v| wide(*v)).collect();
    bench.run(
        Case::named("transform, out of place", text).timed(timed, 16 * elements),
        on.upload(&data)?,
        |device, to| device.fft_to(&plan, &from, to, direction),
        |on, to| Ok(on.error(to, &reference)?.max(on.error(&from, &unchanged)?)),
    )
}

/// Transforms in place, without a factor.
pub fn reference_transform(
    array: &mut [Complex<f64>],
    [rows, columns]: [usize; 2],
    direction: Direction,
) {
    if rows.max(columns) > DIRECT_SUM {
        let mut fft = Fft2::new(rows, columns);
        match direction {
            Direction::Forward => fft.forward(array),
            Direction::Inverse => fft.inverse(array),
        }
        let scale = (array.len() as f64).sqrt();
        array.iter_mut().for_each(|v| *v *= scale);
        return;
    }
    let sign = if direction == Direction::Forward {
        -TAU
    } else {
        TAU
    };
    for row in array.chunks_mut(columns) {
        let line = direct_sum(row, sign);
        row.copy_from_slice(&line);
    }
    for column in 0..columns {
        let line: Vec<_> = array
            .iter()
            .skip(column)
            .step_by(columns)
            .copied()
            .collect();
        let sums = direct_sum(&line, sign);
        array
            .iter_mut()
            .skip(column)
            .step_by(columns)
            .zip(sums)
            .for_each(|(v, sum)| *v = sum);
    }
}

/// Σ line[n] · exp(i · sign · k n / len).
fn direct_sum(line: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
    let len = line.len();
    let term = |k: usize, n: usize| Complex::cis(sign * ((k * n) % len) as f64 / len as f64);
    let sum = |k| line.iter().enumerate().map(|(n, v)| v * term(k, n)).sum();
    (0..len).map(sum).collect()
}
