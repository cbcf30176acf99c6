//! The kernels of a batch's step: `ptycho_largest`, `ptycho_direction_finish`, `ptycho_smoothness`,
//! `ptycho_smoothness_sums`, `ptycho_pair_sums`, `ptycho_step_mean` and `ptycho_advance_layers`.

use super::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    advance_layers::PtychoAdvanceLayers, direction_finish::PtychoDirectionFinish,
    largest::PtychoLargest, smoothness::PtychoPairSums, smoothness::PtychoSmoothness,
    smoothness::PtychoSmoothnessSums, step_mean::PtychoStepMean,
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// Momentum, limits of the modulus (none if the upper one is negative), number of the step.
const ADVANCES: [(f32, [f32; 2], u32); 4] = [
    (0.0, [0.0, -1.0], 0),
    (0.0, [0.4, 0.9], 1),
    (0.9, [0.0, -1.0], 1),
    (0.6, [0.3, 1.1], 0),
];

/// Extra weight, floor and alpha of the denominator.
const DENOMINATORS: [[f32; 3]; 5] = [
    [0.0, 0.0, -1.0],
    [0.2, 0.1, -1.0],
    [0.0, 0.3, 0.0],
    [0.0, 0.0, 0.1],
    [0.3, 0.5, 1.0],
];

/// δ of the regulariser (0: every difference counts as noise) and the threshold of the weights.
const REGULARISERS: [[f32; 2]; 3] = [[0.0, 0.0], [0.0, 0.3], [0.7, 0.2]];

/// Factor of the regulariser, damping, share trimmed, and part of the step.
const MEANS: [[f32; 4]; 4] = [
    [0.0, 0.0, 0.0, 1.0],
    [0.0, 0.1, 0.1, 0.7],
    [0.3, 0.05, 0.25, 0.5],
    [0.3, 0.05, 0.45, 0.5],
];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for place in [0, 2] {
        largest(bench, shape, place)?;
    }
    pair_sums(bench, shape)?;
    for options in DENOMINATORS {
        finish(bench, shape, options)?;
    }
    for options in REGULARISERS {
        smoothness(bench, shape, options)?;
        smoothness_sums(bench, shape, options)?;
    }
    for options in MEANS {
        mean(bench, shape, options)?;
    }
    for options in ADVANCES {
        advance(bench, shape, options)?;
    }
    Ok(())
}

/// The largest of the values, 0 if there are none.
fn most(values: &[f32]) -> f32 {
    values.iter().copied().fold(0.0, f32::max)
}

/// Weights, 0 at every sixth pixel.
fn weights_with_zeros(source: &mut Source, len: usize) -> Vec<f32> {
    let mut weights = source.reals(len, 0.05, 1.0);
    weights
        .iter_mut()
        .skip(2)
        .step_by(6)
        .for_each(|weight| *weight = 0.0);
    weights
}

fn largest<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, place: u32) -> Result<()> {
    let on = bench.on();
    let elements = shape.frame_elements();
    let values = Source::new("largest", &shape).reals(elements, 0.0, 3.0);
    let mut reference = [0, 7, 9];
    reference[place as usize] = most(&values).to_bits();
    let mut before = [0, 7, 9];
    before[place as usize] = 0;
    let values = on.upload(&values)?;
    bench.run(
        Case::of::<PtychoLargest<'_, Emulated>>(format!("{elements} elements, place {place}"))
            .exact()
            .timed(shape.timed, 4 * elements),
        on.upload(&before)?,
        |device, largest| {
            let launch = PtychoLargest {
                largest: largest.write(),
                values: values.read(),
                elements: elements as u32,
                place,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, largest| on.error(largest, &reference),
    )
}

fn finish<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [extra, floor, alpha]: [f32; 3],
) -> Result<()> {
    let on = bench.on();
    let (pixels, layers) = (shape.pixels(), shape.modes);
    let mut source = Source::new("direction finish", &shape);
    let before = source.complex(shape.probe_elements());
    let weight = weights_with_zeros(&mut source, pixels);
    let most = most(&weight);
    let [add, low, mixed] = [extra, floor, alpha].map(f64::from);
    let top = f64::from(most) + add;
    let one = |(at, value): (usize, &Complex32)| {
        let w = f64::from(weight[at % pixels]) + add;
        let divisor = if mixed < 0.0 {
            w.hypot(low * top)
        } else {
            (1.0 - mixed) * w + mixed * top
        };
        if divisor > 0.0 {
            wide(*value) / divisor
        } else {
            Complex::default()
        }
    };
    let reference: Vec<Complex<f64>> = before.iter().enumerate().map(one).collect();
    let weights = on.upload(&weight)?;
    let largest = on.upload(&[most.to_bits()])?;
    bench.run(
        Case::of::<PtychoDirectionFinish<'_, Emulated>>(format!(
            "{layers} × {pixels}, extra {extra}, floor {floor}, alpha {alpha}"
        ))
        .timed(shape.timed, 16 * before.len() + 4 * pixels),
        on.upload(&before)?,
        |device, direction| {
            let launch = PtychoDirectionFinish {
                direction: direction.write(),
                weights: weights.read(),
                largest: largest.read(),
                layers,
                pixels: pixels as u32,
                extra,
                floor,
                alpha,
            };
            device.launch(&launch, Work::Elements(before.len()))
        },
        |on, direction| on.error(direction, &reference),
    )
}

/// h of a difference.
fn edge_weight(difference: Complex<f64>, edge: f64) -> f64 {
    if edge > 0.0 {
        (1.0 + difference.norm_sqr() / edge.powi(2)).sqrt().recip()
    } else {
        1.0
    }
}

/// Pairs of an object's pixels, each with the one to its right and the one below it, if both
/// weights are above `least`.
fn pairs(shape: &Shape, weights: &[f32], least: f32) -> Vec<[usize; 2]> {
    let [rows, columns] = [shape.object_rows, shape.object_columns].map(|v| v as usize);
    let mut all = Vec::new();
    for at in 0..rows * columns {
        let right = (at % columns + 1 < columns).then_some(at + 1);
        let below = (at / columns + 1 < rows).then_some(at + columns);
        all.extend(right.into_iter().chain(below).map(|next| [at, next]));
    }
    all.retain(|pair| pair.iter().all(|at| weights[*at] > least));
    all
}

fn smoothness<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [edge, lit]: [f32; 2],
) -> Result<()> {
    let on = bench.on();
    let weight = 0.8_f32;
    let elements = shape.object_elements();
    let mut source = Source::new("smoothness", &shape);
    let [o, before] = [0, 1].map(|_| source.complex(elements));
    let powers = weights_with_zeros(&mut source, elements);
    let most = most(&powers);
    let mut reference = all_wide(&before);
    for [a, b] in pairs(&shape, &powers, lit * most) {
        let difference = wide(o[b]) - wide(o[a]);
        let part = difference * edge_weight(difference, f64::from(edge)) * f64::from(weight);
        reference[a] += part;
        reference[b] -= part;
    }
    let object = on.upload(&o)?;
    let weights = on.upload(&powers)?;
    let largest = on.upload(&[most.to_bits()])?;
    let [rows, columns] = [shape.object_rows, shape.object_columns];
    bench.run(
        Case::of::<PtychoSmoothness<'_, Emulated>>(format!(
            "{rows} × {columns}, edge {edge}, lit {lit}"
        ))
        .timed(shape.timed, 28 * elements),
        on.upload(&before)?,
        |device, numerators| {
            let launch = PtychoSmoothness {
                numerators: numerators.write(),
                object: object.read(),
                weights: weights.read(),
                largest: largest.read(),
                layers: 1,
                rows,
                columns,
                weight,
                edge,
                lit,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, numerators| on.error(numerators, &reference),
    )
}

fn smoothness_sums<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [edge, lit]: [f32; 2],
) -> Result<()> {
    let on = bench.on();
    let blocks = if shape.timed { 251 } else { shape.parts };
    let elements = shape.object_elements();
    let mut source = Source::new("smoothness sums", &shape);
    let [o, noise] = [0, 1].map(|_| source.complex(elements));
    // Along −O, so that the products do not cancel each other.
    let change: Vec<Complex32> = o
        .iter()
        .zip(&noise)
        .map(|(o, noise)| o.scale(-1.0) + noise.scale(0.3))
        .collect();
    let powers = weights_with_zeros(&mut source, elements);
    let most = most(&powers);
    let share = Shape::slice_length(elements, blocks);
    let mut reference = vec![[0.0; 2]; blocks as usize];
    for [a, b] in pairs(&shape, &powers, lit * most) {
        let [of_object, of_change] = [&o, &change].map(|v| wide(v[b]) - wide(v[a]));
        let h = edge_weight(of_object, f64::from(edge));
        let sums = &mut reference[a / share];
        sums[0] += h * of_change.norm_sqr();
        sums[1] -= h * (of_change.conj() * of_object).re;
    }
    let object = on.upload(&o)?;
    let direction = on.upload(&change)?;
    let weights = on.upload(&powers)?;
    let largest = on.upload(&[most.to_bits()])?;
    let [rows, columns] = [shape.object_rows, shape.object_columns];
    bench.run(
        Case::of::<PtychoSmoothnessSums<'_, Emulated>>(format!(
            "{rows} × {columns} in {blocks} blocks, edge {edge}, lit {lit}"
        ))
        .timed(shape.timed, 20 * elements),
        on.poisoned::<[f32; 2]>(blocks as usize)?,
        |device, sums| {
            let launch = PtychoSmoothnessSums {
                sums: sums.write(),
                object: object.read(),
                direction: direction.read(),
                weights: weights.read(),
                largest: largest.read(),
                blocks,
                layers: 1,
                rows,
                columns,
                edge,
                lit,
            };
            device.launch(&launch, Work::Blocks(blocks as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}

fn pair_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let count = shape.frames;
    let mut source = Source::new("pair sums", &shape);
    let values: Vec<[f32; 2]> = source
        .reals(count as usize, 0.0, 1.0)
        .into_iter()
        .map(|value| [value, 2.0 - value])
        .collect();
    let reference = [0, 1].map(|n| values.iter().map(|pair| f64::from(pair[n])).sum::<f64>());
    let sums = on.upload(&values)?;
    bench.run(
        Case::of::<PtychoPairSums<'_, Emulated>>(format!("{count} pairs")),
        on.poisoned::<f32>(2)?,
        |device, total| {
            let launch = PtychoPairSums {
                total: total.write(),
                sums: sums.read(),
                count,
            };
            device.launch(&launch, Work::Blocks(1))
        },
        |on, total| on.error(total, &reference),
    )
}

/// A frame's steps from its sums by Cramer's rule, and apart from each other where the system is
/// singular.
fn solved([aa, ab, bb, ac, bc]: [f64; 5]) -> [f64; 2] {
    let determinant = aa * bb - ab * ab;
    let apart = |c: f64, of: f64| if of > 0.0 { c / of } else { 0.0 };
    let steps = if determinant > 0.0 {
        [
            (ac * bb - bc * ab) / determinant,
            (bc * aa - ac * ab) / determinant,
        ]
    } else {
        [apart(ac, aa), apart(bc, bb)]
    };
    steps.map(|step| step.max(0.0))
}

/// As many frames as there are pixels; with no frames the steps are unchanged.
fn mean<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [smooth, damping, trim, part]: [f32; 4],
) -> Result<()> {
    let on = bench.on();
    let count = if shape.timed || shape.frames == 0 {
        shape.frames as usize
    } else {
        shape.pixels()
    };
    let mut source = Source::new("step mean", &shape);
    let [diagonal, others] =
        [[1.0, 2.0], [-0.5, 1.0]].map(|[low, high]| source.reals(2 * count, low, high));
    let mixed = source.reals(count, -0.5, 0.5);
    let all: Vec<[f32; 5]> = (0..count)
        .map(|n| match n % 7 {
            // An unlit frame, and one whose probe has no direction.
            3 => [0.0; 5],
            4 => [diagonal[2 * n], 0.0, 0.0, others[2 * n], 0.0],
            _ => [
                diagonal[2 * n],
                mixed[n],
                diagonal[2 * n + 1],
                others[2 * n],
                others[2 * n + 1],
            ],
        })
        .collect();
    let (before, regulariser) = ([0.25_f32, 0.75], [0.9_f32, 0.4]);
    let extra = regulariser.map(|v| f64::from(smooth) * f64::from(v));
    let mean_of = |n: usize| all.iter().map(|s| f64::from(s[n])).sum::<f64>() / count as f64;
    let damp = [mean_of(0) + extra[0], mean_of(2)].map(|v| v * f64::from(damping));
    let steps: Vec<[f64; 2]> = all
        .iter()
        .map(|sums| {
            let [aa, ab, bb, ac, bc] = sums.map(f64::from);
            solved([aa + extra[0] + damp[0], ab, bb + damp[1], ac + extra[1], bc])
        })
        .collect();
    let cut = (count as f32 * trim) as usize;
    let trimmed = |n: usize| {
        let mut values: Vec<f64> = steps.iter().map(|pair| pair[n]).collect();
        values.sort_by(f64::total_cmp);
        let kept = &values[cut..count - cut];
        f64::from(part) * kept.iter().sum::<f64>() / kept.len() as f64
    };
    let reference = if count == 0 {
        before.map(f64::from)
    } else {
        [trimmed(0), trimmed(1)]
    };
    // Every frame's sums in three parts.
    let parts: Vec<[f32; 5]> = all
        .iter()
        .flat_map(|sums| [0.5, 0.25, 0.25].map(|share| sums.map(|v| v * share)))
        .collect();
    let sums = on.upload(&parts)?;
    let smoothness = on.upload(&regulariser)?;
    let ranges = on.upload(&[[0, 1], [3, count as u32]])?;
    bench.run(
        Case::of::<PtychoStepMean<'_, Emulated>>(format!(
            "{count} frames, regulariser {smooth}, damping {damping}, trimmed {trim}"
        ))
        .timed(shape.timed, 60 * count),
        (on.upload(&before)?, on.poisoned::<[f32; 2]>(count)?),
        |device, (steps, solved)| {
            let launch = PtychoStepMean {
                steps: steps.write(),
                solved: solved.write(),
                sums: sums.read(),
                smoothness: smoothness.read(),
                ranges: ranges.read(),
                most: count as u32,
                batches: 2,
                batch: 1,
                parts: 3,
                smooth,
                damping,
                trim,
                part,
            };
            device.launch(&launch, Work::Blocks(1))
        },
        |on, (found, frames)| {
            Ok(on
                .error(found, &reference)?
                .max(on.largest_error(frames, &steps)?))
        },
    )
}

fn advance<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (momentum, [clip_low, clip_high], which): (f32, [f32; 2], u32),
) -> Result<()> {
    let on = bench.on();
    let elements = shape.object_elements();
    let velocities = if momentum > 0.0 { elements } else { 0 };
    let sizes = [0.7_f32, -0.4];
    let mut source = Source::new("advance", &shape);
    let [mut before, mut change] = [0, 1].map(|_| source.complex(elements));
    let mut speed = source.complex(velocities);
    // A pixel that stays zero, whose phase is undefined when it is clipped.
    for values in [&mut before, &mut change, &mut speed] {
        if let Some(value) = values.get_mut(elements / 2) {
            *value = Complex32::ZERO;
        }
    }
    let step = f64::from(sizes[which as usize]);
    let speeds: Vec<Complex<f64>> = (0..elements)
        .map(|at| {
            let last = speed.get(at).copied().map_or(Complex::default(), wide);
            last * f64::from(momentum) + wide(change[at]) * step
        })
        .collect();
    let [low, high] = [clip_low, clip_high].map(f64::from);
    let one = |(before, speed): (&Complex32, &Complex<f64>)| {
        let value = wide(*before) + speed;
        match value.norm() {
            _ if high < 0.0 => value,
            0.0 => Complex::new(low, 0.0),
            modulus => value * (modulus.clamp(low, high) / modulus),
        }
    };
    let reference: Vec<Complex<f64>> = before.iter().zip(&speeds).map(one).collect();
    let direction = on.upload(&change)?;
    let steps = on.upload(&sizes)?;
    bench.run(
        Case::of::<PtychoAdvanceLayers<'_, Emulated>>(format!(
            "{elements} elements, momentum {momentum}, limits {clip_low} to {clip_high}, step {which}"
        ))
        .timed(shape.timed, 24 * elements + 16 * velocities),
        (on.upload(&before)?, on.upload(&speed)?),
        |device, (values, velocity)| {
            let launch = PtychoAdvanceLayers {
                values: values.write(),
                velocity: velocity.write(),
                direction: direction.read(),
                steps: steps.read(),
                elements: elements as u32,
                velocities: velocities as u32,
                which,
                momentum,
                clip_low,
                clip_high,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, (values, velocity)| {
            Ok(on
                .error(values, &reference)?
                .max(on.error(velocity, &speeds[..velocities])?))
        },
    )
}
