//! The kernels of variable probes: `ptycho_probe_variations`, `ptycho_variation_sums`,
//! `ptycho_variation_equations`, `ptycho_variation_steps`, `ptycho_variation_advance` and
//! `ptycho_copy_coefficients`.

use super::batch_waves::{Batch, SCALE, frequencies, ramp};
use super::shape::{Shape, Source};
use crate::model::variable_probe::{DAMPING, solve};
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    coefficient_blocks::PtychoCopyCoefficients,
    probe_variations::PtychoProbeVariations,
    variation_advance::PtychoVariationAdvance,
    variation_equations::{PtychoVariationEquations, PtychoVariationSteps},
    variation_sums::{PtychoVariationSums, TOGETHER},
};
use warpstride_selftest::bench::{Bench, Case, wide};

/// Numbers of variations: less than a thread has, and more.
const COUNTS: [u32; 2] = [3, 6];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for count in COUNTS {
        for (derivative, scaled) in [(0, false), (1, true), (2, false)] {
            added(bench, shape, count, (derivative, scaled))?;
        }
        sums(bench, shape, count)?;
        equations(bench, shape, count)?;
        steps(bench, shape, count)?;
        advance(bench, shape, count)?;
        for back in [false, true] {
            copied(bench, shape, count, back)?;
        }
    }
    Ok(())
}

/// A batch, shapes or their spectra, and coefficients.
struct Data {
    batch: Batch,
    layers: Vec<Complex32>,
    coefficients: Vec<f32>,
    shifts: Vec<[f32; 2]>,
}

impl Data {
    fn new(source: &mut Source, shape: &Shape, count: u32) -> Self {
        Self {
            batch: Batch::new(source, shape),
            layers: source.complex(count as usize * shape.pixels()),
            coefficients: source.reals(shape.frames as usize * count as usize, -1.0, 1.0),
            shifts: source.fractions(shape),
        }
    }

    fn label(&self, shape: &Shape, count: u32) -> String {
        format!("{shape}, {}, {count} variations", self.batch.label())
    }

    fn coefficient(&self, count: u32, frame: usize, k: usize) -> f64 {
        f64::from(self.coefficients[frame * count as usize + k])
    }
}

fn added<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    count: u32,
    (derivative, scaled): (u32, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("probe variations", &shape);
    let data = Data::new(&mut source, &shape, count);
    let factors = source.scales(&shape);
    let pixels = shape.pixels();
    let before = source.complex(data.batch.elements(&shape));
    let mut reference: Vec<Complex<f64>> = before.iter().map(|v| wide(*v)).collect();
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let root = match scaled {
            true => f64::from(factors[frame]).sqrt(),
            false => 1.0,
        };
        for pixel in 0..pixels {
            let at = frequencies(&shape, pixel);
            let by = match derivative {
                0 => Complex::new(1.0, 0.0),
                axis => Complex::new(0.0, -TAU * at[axis as usize - 1]),
            };
            let factor = ramp(at, data.shifts[frame]) * by * (root * f64::from(SCALE));
            let sum: Complex<f64> = (0..count as usize)
                .map(|k| wide(data.layers[k * pixels + pixel]) * data.coefficient(count, frame, k))
                .sum();
            reference[member * shape.probe_elements() + pixel] += sum * factor;
        }
    }
    let spectra = on.upload(&data.layers)?;
    let coefficients = on.upload(&data.coefficients)?;
    let fractions = on.upload(&data.shifts)?;
    let scales = on.upload(&factors)?;
    let order = on.upload(&data.batch.order)?;
    let text = format!(
        "{}, derivative {derivative}, scaled {scaled}",
        data.label(&shape, count)
    );
    bench.run(
        Case::of::<PtychoProbeVariations<'_, Emulated>>(text)
            .timed(shape.timed, 16 * data.batch.count as usize * pixels),
        on.upload(&before)?,
        |device, to| {
            let launch = PtychoProbeVariations {
                to: to.write(),
                spectra: spectra.read(),
                coefficients: coefficients.read(),
                fractions: fractions.read(),
                scales: scales.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                parts: shape.parts,
                variations: count,
                derivative,
                scaled: u32::from(scaled),
                scale: SCALE,
            };
            let blocks = data.batch.count as usize * shape.parts as usize;
            device.launch(&launch, Work::Blocks(blocks))
        },
        // Timed runs add more.
        |on, to| on.error(to, &reference),
    )
}

fn sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, count: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("variation sums", &shape);
    let data = Data::new(&mut source, &shape, count);
    let pixels = shape.pixels();
    let values = source.complex(data.batch.elements(&shape));
    let mut reference = vec![Complex::default(); count as usize * pixels];
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        for pixel in 0..pixels {
            let back = ramp(frequencies(&shape, pixel), data.shifts[frame]).conj();
            let value = wide(values[member * shape.probe_elements() + pixel]) * back;
            for k in 0..count as usize {
                let c = data.coefficient(count, frame, k) * f64::from(SCALE);
                reference[k * pixels + pixel] += value * c;
            }
        }
    }
    // A scan without frames has no sums.
    let unchanged = shape.frames == 0;
    let before = source.complex(reference.len());
    if unchanged {
        reference = before.iter().map(|v| wide(*v)).collect();
    }
    let spectra = on.upload(&values)?;
    let coefficients = on.upload(&data.coefficients)?;
    let fractions = on.upload(&data.shifts)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoVariationSums<'_, Emulated>>(data.label(&shape, count)).timed(
            shape.timed,
            8 * (data.batch.count as usize + count as usize) * pixels,
        ),
        on.upload(&before)?,
        |device, to| {
            let launch = PtychoVariationSums {
                sums: to.write(),
                spectra: spectra.read(),
                coefficients: coefficients.read(),
                fractions: fractions.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                variations: count,
                scale: SCALE,
            };
            device.launch(
                &launch,
                Work::Elements(count.div_ceil(TOGETHER) as usize * pixels),
            )
        },
        |on, to| on.error(to, &reference),
    )
}

fn equations<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, count: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("variation equations", &shape);
    let data = Data::new(&mut source, &shape, count);
    let pixels = shape.pixels();
    let size = count as usize;
    let values = source.complex(data.batch.elements(&shape));
    let shapes = source.complex(size * pixels);
    let object = source.complex(shape.object_elements());
    let corners = source.corners(&shape);
    // The lower half is never written.
    let lower = 0.25_f32;
    let mut reference = Vec::new();
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let mut own = vec![0.0; size * (size + 1)];
        let [top, left] = corners[frame].map(|v| v as usize);
        for pixel in 0..pixels {
            let back = ramp(frequencies(&shape, pixel), data.shifts[frame]).conj();
            let value = wide(values[member * shape.probe_elements() + pixel]) * back;
            let [row, column] = [
                pixel / shape.columns as usize,
                pixel % shape.columns as usize,
            ];
            let place = (top + row) * shape.object_columns as usize + left + column;
            let weight = wide(object[place]).norm_sqr();
            for k in 0..size {
                let along = wide(data.layers[k * pixels + pixel]).conj() * value;
                own[k] += along.re * f64::from(SCALE);
                for l in k..size {
                    let [a, b] = [k, l].map(|k| wide(shapes[k * pixels + pixel]));
                    own[size + k * size + l] += (a.conj() * b).re * weight;
                }
            }
        }
        for k in 0..size {
            own[size + k * size..][..k].fill(f64::from(lower));
        }
        reference.extend(own);
    }
    let spectra = on.upload(&values)?;
    let shape_spectra = on.upload(&data.layers)?;
    let uploaded = on.upload(&shapes)?;
    let object = on.upload(&object)?;
    let corners = on.upload(&corners)?;
    let fractions = on.upload(&data.shifts)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoVariationEquations<'_, Emulated>>(data.label(&shape, count)).timed(
            shape.timed,
            8 * count.div_ceil(TOGETHER) as usize * data.batch.count as usize * pixels,
        ),
        on.upload(&vec![lower; reference.len()])?,
        |device, to| {
            let launch = PtychoVariationEquations {
                equations: to.write(),
                spectra: spectra.read(),
                shape_spectra: shape_spectra.read(),
                shapes: uploaded.read(),
                object: object.read(),
                corners: corners.read(),
                fractions: fractions.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                variations: count,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn steps<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, count: u32) -> Result<()> {
    const MOMENTUM: f32 = 0.8;
    const PART: f32 = 0.5;
    let on = bench.on();
    let mut source = Source::new("variation steps", &shape);
    let data = Data::new(&mut source, &shape, count);
    let size = count as usize;
    let frames = shape.frames as usize;
    let before = source.reals(frames * size, -1.0, 1.0);
    let mut reference: Vec<f64> = before.iter().map(|v| f64::from(*v)).collect();
    let mut values: Vec<f64> = data.coefficients.iter().map(|v| f64::from(*v)).collect();
    let mut all = Vec::new();
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let right = source.reals(size, -1.0, 1.0);
        let half = source.reals(size * size, -1.0, 1.0);
        // Frames without light have no equations.
        let lit = if member % 3 == 2 { 0.0 } else { 1.0 };
        let product = |k: usize, l: usize| -> f32 {
            let pairs = (0..size).map(|i| half[k * size + i] * half[l * size + i]);
            lit * pairs.sum::<f32>()
        };
        let matrix: Vec<f32> = (0..size * size)
            .map(|at| product(at / size, at % size))
            .collect();
        let [m, r] =
            [&matrix, &right].map(|of| of.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        let found = solve(&m, &r);
        for (k, step) in found.iter().enumerate() {
            let at = *frame as usize * size + k;
            reference[at] = f64::from(MOMENTUM) * reference[at] + f64::from(PART) * step;
            values[at] += reference[at];
        }
        all.extend(right);
        all.extend(matrix);
    }
    let order = on.upload(&data.batch.order)?;
    let outputs = (
        on.upload(&all)?,
        on.upload(&data.coefficients)?,
        on.upload(&before)?,
    );
    bench.run(
        Case::of::<PtychoVariationSteps<'_, Emulated>>(data.label(&shape, count)).within(1e-4),
        outputs,
        |device, (equations, coefficients, changes)| {
            let launch = PtychoVariationSteps {
                equations: equations.write(),
                coefficients: coefficients.write(),
                changes: changes.write(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                variations: count,
                damping: DAMPING as f32,
                momentum: MOMENTUM,
                part: PART,
            };
            device.launch(&launch, Work::Elements(data.batch.count as usize))
        },
        |on, (_, coefficients, changes)| {
            Ok(on
                .error(coefficients, &values)?
                .max(on.error(changes, &reference)?))
        },
    )
}

fn advance<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, count: u32) -> Result<()> {
    const STRONGEST: f32 = 0.6;
    const FLOOR: f32 = 0.1;
    const MOMENTUM: f32 = 0.5;
    const PART: f32 = 0.7;
    let on = bench.on();
    let mut source = Source::new("variation advance", &shape);
    let data = Data::new(&mut source, &shape, count);
    let pixels = shape.pixels();
    let elements = count as usize * pixels;
    let [before, sums] = [0, 1].map(|_| source.complex(elements));
    let weights = source.reals(pixels, 0.0, 2.0);
    let most = weights.iter().copied().fold(0.0, f32::max);
    let step = [0.3_f32, 0.8];
    let mut changes: Vec<Complex<f64>> = before.iter().map(|v| wide(*v)).collect();
    let mut values: Vec<Complex<f64>> = data.layers.iter().map(|v| wide(*v)).collect();
    let number = f64::from(data.batch.count);
    let floor = f64::from(most) * f64::from(STRONGEST) * f64::from(FLOOR);
    if data.batch.count > 0 {
        for at in 0..elements {
            let k = at / pixels;
            let squares = data.batch.frames().iter();
            let squares = squares.map(|frame| data.coefficient(count, *frame as usize, k).powi(2));
            let own = f64::from(weights[at % pixels]) * squares.sum::<f64>() / number;
            let factor = f64::from(PART) * f64::from(step[1]) / own.hypot(floor);
            changes[at] = changes[at] * f64::from(MOMENTUM) + wide(sums[at]) * factor;
            values[at] += changes[at];
        }
    }
    let sums = on.upload(&sums)?;
    let weights = on.upload(&weights)?;
    let largest = on.upload(&[most.to_bits()])?;
    let steps = on.upload(&step)?;
    let coefficients = on.upload(&data.coefficients)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoVariationAdvance<'_, Emulated>>(data.label(&shape, count))
            .timed(shape.timed, 40 * elements),
        (on.upload(&data.layers)?, on.upload(&before)?),
        |device, (shapes, last)| {
            let launch = PtychoVariationAdvance {
                shapes: shapes.write(),
                changes: last.write(),
                sums: sums.read(),
                weights: weights.read(),
                largest: largest.read(),
                steps: steps.read(),
                coefficients: coefficients.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                variations: count,
                pixels: pixels as u32,
                strongest: STRONGEST,
                floor: FLOOR,
                momentum: MOMENTUM,
                part: PART,
            };
            device.launch(&launch, Work::Elements(elements))
        },
        |on, (shapes, last)| Ok(on.error(shapes, &values)?.max(on.error(last, &changes)?)),
    )
}

fn copied<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, count: u32, back: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("copied coefficients", &shape);
    let data = Data::new(&mut source, &shape, count);
    let size = count as usize;
    let of_block = source.reals(data.batch.count as usize * size, -1.0, 1.0);
    let [mut scan, mut block] = [&data.coefficients, &of_block]
        .map(|v| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let (here, there) = (member * size, *frame as usize * size);
        if back {
            scan[there..there + size].copy_from_slice(&block[here..here + size]);
        } else {
            block[here..here + size].copy_from_slice(&scan[there..there + size]);
        }
    }
    let order = on.upload(&data.batch.order)?;
    let direction = if back { "put back" } else { "gathered" };
    bench.run(
        Case::of::<PtychoCopyCoefficients<'_, Emulated>>(format!(
            "{}, {direction}",
            data.label(&shape, count)
        ))
        .exact(),
        (on.upload(&data.coefficients)?, on.upload(&of_block)?),
        |device, (of_scan, of_block)| {
            let launch = PtychoCopyCoefficients {
                of_scan: of_scan.write(),
                of_block: of_block.write(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                variations: count,
                back: u32::from(back),
            };
            device.launch(&launch, Work::Elements(data.batch.count as usize * size))
        },
        |on, (of_scan, of_block)| Ok(on.error(of_scan, &scan)?.max(on.error(of_block, &block)?)),
    )
}
