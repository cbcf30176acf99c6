//! The kernels of conjugate gradients: `ptycho_conjugate_direction`, `ptycho_line_point`, `ptycho_conjugate_products`,
//! `ptycho_conjugate_factor` and `ptycho_line_step`.

use super::super::bench::{Bench, Case, wide};
use super::super::shape::{Shape, Source};
use crate::gpu::{Buffer, Device, Result};
use crate::ptycho::likelihood;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    conjugate_direction::{PtychoConjugateDirection, PtychoLinePoint},
    conjugate_products::PtychoConjugateProducts,
    line_search::{PtychoConjugateFactor, PtychoLineStep},
};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for factor in [0.0, -0.7] {
        combine(bench, shape, factor)?;
    }
    products(bench, shape)?;
    for last in [(4.0, true), (4.0, false), (-1.0, true), (f64::NAN, true)] {
        conjugate_factor(bench, shape.slices * 37, last)?;
    }
    for (sums, weight) in [
        ([-3.0, 2.0, 5.0], 0.0),
        ([-3.0, -1.0, 5.0], 0.0),
        ([-3.0, -1.0, -0.5], 0.25),
        ([4.0, 2.0, 5.0], 0.25),
        ([-3.0, 0.0, 0.0], 0.0),
    ] {
        line_step(bench, shape.frames, sums, weight)?;
    }
    Ok(())
}

/// `ptycho_conjugate_direction` with β = `factor`, and `ptycho_line_point` with this step.
fn combine<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, factor: f32) -> Result<()> {
    let on = bench.on();
    let elements = shape.wave_elements();
    let mut source = Source::new("conjugate direction", &shape);
    let [old, z] = [0, 1].map(|_| source.complex(elements));
    let sum = |sign: f64| -> Vec<Complex<f64>> {
        let pairs = old.iter().zip(&z);
        pairs
            .map(|(old, z)| wide(*old) * f64::from(factor) + wide(*z) * sign)
            .collect()
    };
    let [direction, point] = [sum(-1.0), sum(1.0)];
    let descent = on.upload(&z)?;
    let along = on.upload(&old)?;
    let [first, second] = [[factor, 5.0], [5.0, factor]].map(|factors| on.upload(&factors));
    let (first, second) = (first?, second?);
    let text = format!("{elements} elements, factor {factor}");
    // With β = 0 the old direction must not be read.
    let before = if factor == 0.0 {
        on.poisoned::<Complex32>(elements)?
    } else {
        on.upload(&old)?
    };
    bench.run(
        Case::of::<PtychoConjugateDirection<'_, Emulated>>(text.clone()),
        before,
        |device, direction| {
            let launch = PtychoConjugateDirection {
                direction: direction.write(),
                descent: descent.read(),
                factors: first.read(),
                elements: elements as u32,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, found| on.error(found, &direction),
    )?;
    bench.run(
        Case::of::<PtychoLinePoint<'_, Emulated>>(text).timed(shape.timed, 24 * elements),
        on.poisoned::<Complex32>(elements)?,
        |device, to| {
            let launch = PtychoLinePoint {
                to: to.write(),
                from: descent.read(),
                direction: along.read(),
                factors: second.read(),
                elements: elements as u32,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, found| on.error(found, &point),
    )
}

/// `ptycho_conjugate_factor`: `last` of the iteration before, and whether −z + β h is a descent.
fn conjugate_factor<M: Device>(
    bench: &mut Bench<'_, M>,
    blocks: u32,
    (last, descends): (f64, bool),
) -> Result<()> {
    let on = bench.on();
    let part = |n: u32, sign: f64| {
        let x = f64::from(n + 1) / f64::from(blocks);
        [2.0 + x, 1.0 - 0.3 * x, sign * (3.0 + x * x)]
    };
    let sign = if descends { -1.0 } else { 1.0 };
    let parts = [0, 7]
        .map(|offset| -> Vec<[f64; 3]> { (0..blocks).map(|n| part(n + offset, sign)).collect() });
    let mut total = [0.0; 3];
    for of_block in parts.iter().flatten() {
        total
            .iter_mut()
            .zip(of_block)
            .for_each(|(sum, v)| *sum += v);
    }
    let beta = likelihood::conjugate(total, last);
    let expected = [total[0], total[1], total[2], beta];
    let (object, probe) = (on.upload(&parts[0])?, on.upload(&parts[1])?);
    let text = format!("{blocks} blocks, last {last}, descent {descends}");
    bench.run(
        Case::of::<PtychoConjugateFactor<'_, Emulated>>(text),
        (on.poisoned::<f64>(4)?, on.upload(&[0.5_f32, 0.25])?),
        |device, (search, factors)| {
            let launch = PtychoConjugateFactor {
                search: search.write(),
                factors: factors.write(),
                object: object.read(),
                probe: probe.read(),
                blocks,
                last,
            };
            device.launch(&launch, Work::Blocks(2))
        },
        |on, (search, factors)| {
            let worst = on.error(search, &expected)?;
            Ok(worst.max(on.error(factors, &[beta, 0.25])?))
        },
    )
}

/// `ptycho_line_step` of frames whose losses have this slope, curvature and non-negative part of it.
fn line_step<M: Device>(
    bench: &mut Bench<'_, M>,
    frames: u32,
    [slope, whole, bent]: [f64; 3],
    weight: f64,
) -> Result<()> {
    let on = bench.on();
    let share = |n: u32| 2.0 * f64::from(n + 1) / f64::from(frames * (frames + 1));
    let of_frame = |n: u32| [slope * share(n), whole * share(n), bent * share(n)];
    let sums: Vec<[f64; 3]> = (0..frames).map(of_frame).collect();
    let smoothness = [[0.5_f32, -0.125], [0.25, 0.375], [1.5, 0.25]];
    let total = |n: usize| smoothness.iter().map(|s| f64::from(s[n])).sum::<f64>();
    let regulariser = [-2.0 * weight * total(1), weight * total(0)];
    let mut along = [0.0; 9];
    if frames > 0 {
        along[1..4].copy_from_slice(&[slope, whole, bent]);
    }
    let step = likelihood::Noise::Poisson.step(&along, regulariser);
    let expected = [step.unwrap_or(0.0), regulariser[0], regulariser[1]];
    let (sums, smoothness) = (on.upload(&sums)?, on.upload(&smoothness)?);
    let text = format!("{frames} frames, {slope}, {whole}, {bent}, weight {weight}");
    bench.run(
        Case::of::<PtychoLineStep<'_, Emulated>>(text),
        (on.poisoned::<f64>(3)?, on.upload(&[0.5_f32, 0.25])?),
        |device, (search, factors)| {
            let launch = PtychoLineStep {
                search: search.write(),
                factors: factors.write(),
                sums: sums.read(),
                smoothness: smoothness.read(),
                frames,
                blocks: 3,
                weight,
            };
            device.launch(&launch, Work::Blocks(2))
        },
        |on, (search, factors)| {
            let worst = on.error(search, &expected)?;
            Ok(worst.max(on.error(factors, &[0.5, expected[0]])?))
        },
    )
}

fn products<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let (elements, blocks) = (shape.wave_elements(), shape.slices);
    let mut source = Source::new("conjugate products", &shape);
    let all = [0; 4].map(|_| source.complex(elements));
    let share = Shape::slice_length(elements, blocks);
    let mut reference = vec![[0.0; 3]; blocks as usize];
    for at in 0..elements {
        let [g, z, last, h] = [0, 1, 2, 3].map(|n: usize| wide(all[n][at]));
        let terms = [g.conj() * z, last.conj() * z, g.conj() * h];
        for (sum, term) in reference[at / share].iter_mut().zip(terms) {
            *sum += term.re;
        }
    }
    let gradient = on.upload(&all[0])?;
    let descent = on.upload(&all[1])?;
    let last = on.upload(&all[2])?;
    let direction = on.upload(&all[3])?;
    bench.run(
        Case::of::<PtychoConjugateProducts<'_, Emulated>>(format!(
            "{elements} elements in {blocks} blocks"
        ))
        .timed(shape.timed, 32 * elements),
        on.poisoned::<[f64; 3]>(blocks as usize)?,
        |device, sums| {
            let launch = PtychoConjugateProducts {
                sums: sums.write(),
                gradient: gradient.read(),
                descent: descent.read(),
                last: last.read(),
                direction: direction.read(),
                blocks,
                elements: elements as u32,
            };
            device.launch(&launch, Work::Blocks(blocks as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}
