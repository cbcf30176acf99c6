//! The kernels of conjugate gradients: `ptycho_conjugate_precondition`,
//! `ptycho_conjugate_direction` and `ptycho_line_point`.

use super::super::shape::{Shape, Source};
use crate::engines::likelihood;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    conjugate_direction::{BETA, LAST, PtychoConjugateDirection, SEARCH, STEP},
    conjugate_precondition::PtychoConjugatePrecondition,
    line_point::PtychoLinePoint,
};
use warpstride_selftest::bench::{Bench, Case, wide};

/// Extra weight of the object, floor and alpha of the denominators.
const DENOMINATORS: [[f32; 3]; 3] = [[0.3, 0.0, 0.01], [0.0, 0.1, -1.0], [0.0, 0.0, 1.0]];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for denominator in DENOMINATORS {
        precondition(bench, shape, denominator, false)?;
    }
    precondition(bench, shape, DENOMINATORS[0], true)?;
    for factor in [0.0, -0.7] {
        direction(bench, shape, Factor::Given(factor))?;
        point(bench, shape, Step::Given(factor))?;
    }
    for (last, descends) in [(4.0, true), (4.0, false), (-1.0, true), (f64::NAN, true)] {
        direction(bench, shape, Factor::Found { last, descends })?;
    }
    for (sums, weight) in [
        ([-3.0, 2.0, 5.0], 0.0),
        ([-3.0, -1.0, 5.0], 0.0),
        ([-3.0, -1.0, -0.5], 0.25),
        ([4.0, 2.0, 5.0], 0.25),
        ([-3.0, 0.0, 0.0], 0.0),
    ] {
        point(bench, shape, Step::Found { sums, weight })?;
    }
    Ok(())
}

/// Values of a block, and the number of blocks.
fn shares(shape: Shape) -> (u32, usize) {
    let lengths = [shape.object_elements(), shape.probe_elements()];
    let share = Shape::slice_length(lengths[0] + lengths[1], 16 * shape.slices);
    let blocks = lengths.map(|length| length.div_ceil(share));
    (share as u32, blocks[0] + blocks[1])
}

/// `ptycho_conjugate_precondition`; with `smoothed`, what the object's gradient has become is
/// divided.
fn precondition<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [extra, floor, alpha]: [f32; 3],
    smoothed: bool,
) -> Result<()> {
    let on = bench.on();
    let (share, blocks) = shares(shape);
    let lengths = [shape.object_elements(), shape.probe_elements()];
    let periods = [lengths[0], shape.pixels()];
    let mut source = Source::new("conjugate precondition", &shape);
    // g, g_last, h and z before.
    let all = lengths.map(|length| [0; 4].map(|_| source.complex(length)));
    let weights = periods.map(|length| source.reals(length, 0.05, 1.0));
    let most = [0, 1].map(|n: usize| weights[n].iter().copied().fold(0.0, f32::max));
    let mut sums = Vec::new();
    let mut divided: [Vec<Complex<f64>>; 2] = Default::default();
    for n in 0..2 {
        let [g, last, h, before] = &all[n];
        let add = f64::from(if n == 0 { extra } else { 0.0 });
        let mut own = vec![[0.0; 3]; lengths[n].div_ceil(share as usize)];
        for at in 0..lengths[n] {
            let weight = f64::from(weights[n][at % periods[n]]) + add;
            let top = f64::from(most[n]) + add;
            let (floor, alpha) = (f64::from(floor), f64::from(alpha));
            let divisor = if alpha < 0.0 {
                weight.hypot(floor * top)
            } else {
                (1.0 - alpha) * weight + alpha * top
            };
            let from = if smoothed && n == 0 { before } else { g };
            let z = wide(from[at]) / divisor;
            let [g, last, h] = [g, last, h].map(|v| wide(v[at]));
            let terms = [g.conj() * z, last.conj() * z, g.conj() * h];
            for (sum, term) in own[at / share as usize].iter_mut().zip(terms) {
                *sum += term.re;
            }
            divided[n].push(z);
        }
        sums.extend(own);
    }
    let [of_object, of_probe] = &all;
    let [g, last, h] = [0, 1, 2].map(|n: usize| on.upload(&of_object[n]));
    let [probe_g, probe_last, probe_h] = [0, 1, 2].map(|n: usize| on.upload(&of_probe[n]));
    let (g, last, h) = (g?, last?, h?);
    let (probe_g, probe_last, probe_h) = (probe_g?, probe_last?, probe_h?);
    let (object_weights, probe_weights) = (on.upload(&weights[0])?, on.upload(&weights[1])?);
    let largest = on.upload(&most.map(f32::to_bits))?;
    let bytes = 36 * (lengths[0] + lengths[1]);
    let before = if smoothed {
        on.upload(&of_object[3])?
    } else {
        on.poisoned::<Complex32>(lengths[0])?
    };
    // Only the first run of a smoothed gradient has what the reference divides.
    let timed = shape.timed && !smoothed;
    bench.run(
        Case::of::<PtychoConjugatePrecondition<'_, Emulated>>(format!(
            "{} + {} values in {blocks} blocks, extra {extra}, floor {floor}, alpha {alpha}, smoothed {smoothed}",
            lengths[0], lengths[1]
        ))
        .timed(timed, bytes),
        (
            on.poisoned::<[f64; 3]>(blocks)?,
            before,
            on.poisoned::<Complex32>(lengths[1])?,
        ),
        |device, (sums, descent, probe_descent)| {
            let launch = PtychoConjugatePrecondition {
                sums: sums.write(),
                descent: descent.write(),
                probe_descent: probe_descent.write(),
                gradient: g.read(),
                probe_gradient: probe_g.read(),
                last: last.read(),
                probe_last: probe_last.read(),
                direction: h.read(),
                probe_direction: probe_h.read(),
                weights: object_weights.read(),
                probe_weights: probe_weights.read(),
                largest: largest.read(),
                blocks: blocks as u32,
                share,
                object_pixels: lengths[0] as u32,
                elements: lengths[0] as u32,
                modes: shape.modes,
                pixels: shape.pixels() as u32,
                extra,
                floor,
                alpha,
                smoothed: u32::from(smoothed),
            };
            device.launch(&launch, Work::Blocks(blocks))
        },
        |on, (found, descent, probe_descent)| {
            let worst = on.largest_error(found, &sums)?;
            let worst = worst.max(on.error(descent, &divided[0])?);
            Ok(worst.max(on.error(probe_descent, &divided[1])?))
        },
    )
}

/// β of a direction.
#[derive(Debug, Clone, Copy)]
enum Factor {
    Given(f32),
    /// From sums; ⟨g, z⟩ of the iteration before, and whether −z + β h is a descent.
    Found {
        last: f64,
        descends: bool,
    },
}

/// `ptycho_conjugate_direction`.
fn direction<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, factor: Factor) -> Result<()> {
    let on = bench.on();
    let (share, _) = shares(shape);
    let lengths = [shape.object_elements(), shape.probe_elements()];
    // Sums of any number of blocks.
    let blocks = shape.slices * 37;
    let mut search = [5.0; SEARCH];
    let (mut sums, mut given) = (Vec::new(), f32::NAN);
    let beta = match factor {
        Factor::Given(beta) => {
            given = beta;
            f64::from(beta)
        }
        Factor::Found { last, descends } => {
            let sign = if descends { -1.0 } else { 1.0 };
            let mut total = [0.0; 3];
            for n in 1..=blocks {
                let x = f64::from(n) / f64::from(blocks);
                let part = [2.0 + x, 1.0 - 0.3 * x, sign * (3.0 + x * x)];
                total.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
                sums.push(part);
            }
            let beta = likelihood::conjugate(total, last);
            search[..3].copy_from_slice(&total);
            search[BETA] = beta;
            beta
        }
    };
    let mut before = [5.0; SEARCH];
    if let Factor::Found { last, .. } = factor {
        before[LAST] = last;
        search[LAST] = last;
    }
    let count = sums.len() as u32;
    let mut source = Source::new("conjugate direction", &shape);
    let all = lengths.map(|length| [source.complex(length), source.complex(length)]);
    let combined = [0, 1].map(|n: usize| -> Vec<Complex<f64>> {
        let [old, z] = &all[n];
        let pairs = old.iter().zip(z);
        pairs.map(|(old, z)| wide(*old) * beta - wide(*z)).collect()
    });
    // With β = 0 the old direction must not be read.
    let start = |n: usize| {
        if beta == 0.0 {
            on.poisoned::<Complex32>(lengths[n])
        } else {
            on.upload(&all[n][0])
        }
    };
    let (z, probe_z, sums) = (
        on.upload(&all[0][1])?,
        on.upload(&all[1][1])?,
        on.upload(&sums)?,
    );
    bench.run(
        Case::of::<PtychoConjugateDirection<'_, Emulated>>(format!(
            "{} + {} values in shares of {share}, {factor:?}",
            lengths[0], lengths[1]
        ))
        .timed(shape.timed, 24 * (lengths[0] + lengths[1])),
        (start(0)?, start(1)?, on.upload(&before)?),
        |device, (direction, probe_direction, search)| {
            let launch = PtychoConjugateDirection {
                direction: direction.write(),
                probe_direction: probe_direction.write(),
                search: search.write(),
                descent: z.read(),
                probe_descent: probe_z.read(),
                sums: sums.read(),
                blocks: count,
                share,
                elements: lengths[0] as u32,
                probe_elements: lengths[1] as u32,
                beta: given,
            };
            device.launch(&launch, Work::Blocks(shape.slices as usize + 1))
        },
        |on, (direction, probe_direction, found)| {
            let worst = on.error(direction, &combined[0])?;
            let worst = worst.max(on.error(probe_direction, &combined[1])?);
            // ⟨g, z⟩ of the iteration before may be NaN.
            let mut values = [0.0; SEARCH];
            on.download(found, &mut values)?;
            let found = values;
            let same = found[LAST].to_bits() == search[LAST].to_bits();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
            let all = found[..LAST].iter().zip(&search[..LAST]).all(close);
            Ok(if same && all { worst } else { f64::INFINITY })
        },
    )
}

/// The step along a direction.
#[derive(Debug, Clone, Copy)]
enum Step {
    Given(f32),
    /// From frames whose losses have this slope, curvature and non-negative part of it, with a
    /// weight of the regulariser.
    Found {
        sums: [f64; 3],
        weight: f64,
    },
}

/// `ptycho_line_point`.
fn point<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, step: Step) -> Result<()> {
    let on = bench.on();
    let (share, _) = shares(shape);
    let (frames, lengths) = (
        shape.frames,
        [shape.object_elements(), shape.probe_elements()],
    );
    let smoothness = [[0.5_f32, -0.125], [0.25, 0.375], [1.5, 0.25]];
    let mut search = [3.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 7.0];
    let before = search;
    let (mut sums, mut given, mut of_regulariser) =
        (vec![[0.0; 3]; frames as usize], f32::NAN, 0.0);
    let t = match step {
        Step::Given(t) => {
            given = t;
            f64::from(t)
        }
        Step::Found {
            sums: total,
            weight,
        } => {
            of_regulariser = weight;
            for (n, sums) in (1..).zip(&mut sums) {
                let part = 2.0 * f64::from(n) / f64::from(frames * (frames + 1));
                *sums = total.map(|v| v * part);
            }
            let along = |n: usize| smoothness.iter().map(|s| f64::from(s[n])).sum::<f64>();
            let regulariser = [-2.0 * weight * along(1), weight * along(0)];
            let mut line = [0.0; 9];
            if frames > 0 {
                line[1..4].copy_from_slice(&total);
            }
            let found = likelihood::Noise::Poisson.step(&line, regulariser);
            search[STEP] = found.unwrap_or(0.0);
            search[STEP + 1..LAST].copy_from_slice(&regulariser);
            search[LAST] = search[0];
            search[STEP]
        }
    };
    let keeps = matches!(step, Step::Found { .. });
    let mut source = Source::new("line point", &shape);
    // Values, direction, and those before if the step is given.
    let all = lengths.map(|length| [0; 3].map(|_| source.complex(length)));
    let from = |n: usize| &all[n][if keeps { 0 } else { 2 }];
    let moved = [0, 1].map(|n: usize| -> Vec<Complex<f64>> {
        let pairs = from(n).iter().zip(&all[n][1]);
        pairs
            .map(|(value, h)| wide(*value) + wide(*h) * t)
            .collect()
    });
    let kept = [0, 1].map(|n: usize| -> Vec<Complex<f64>> {
        from(n).iter().map(|value| wide(*value)).collect()
    });
    let values = |n: usize| {
        if keeps {
            on.upload(&all[n][0])
        } else {
            on.poisoned::<Complex32>(lengths[n])
        }
    };
    let start = |n: usize| {
        if keeps {
            on.poisoned::<Complex32>(lengths[n])
        } else {
            on.upload(&all[n][2])
        }
    };
    let (h, probe_h) = (on.upload(&all[0][1])?, on.upload(&all[1][1])?);
    let (sums, smoothness) = (on.upload(&sums)?, on.upload(&smoothness)?);
    bench.run(
        Case::of::<PtychoLinePoint<'_, Emulated>>(format!(
            "{frames} frames, {} + {} values in shares of {share}, {step:?}",
            lengths[0], lengths[1]
        ))
        .timed(
            shape.timed,
            32 * (lengths[0] + lengths[1]) + 24 * frames as usize,
        ),
        (
            values(0)?,
            values(1)?,
            start(0)?,
            start(1)?,
            on.upload(&before)?,
        ),
        |device, (object, probe, start, probe_start, search)| {
            let launch = PtychoLinePoint {
                object: object.write(),
                probe: probe.write(),
                start: start.write(),
                probe_start: probe_start.write(),
                search: search.write(),
                direction: h.read(),
                probe_direction: probe_h.read(),
                sums: sums.read(),
                smoothness: smoothness.read(),
                frames,
                blocks: 3,
                share,
                elements: lengths[0] as u32,
                probe_elements: lengths[1] as u32,
                weight: of_regulariser,
                step: given,
            };
            device.launch(&launch, Work::Blocks(shape.slices as usize + 1))
        },
        |on, (object, probe, start, probe_start, found)| {
            let mut worst = on.error(found, &search)?;
            for (buffer, reference) in [
                (object, &moved[0]),
                (probe, &moved[1]),
                (start, &kept[0]),
                (probe_start, &kept[1]),
            ] {
                worst = worst.max(on.error(buffer, reference)?);
            }
            Ok(worst)
        },
    )
}
