//! The kernels of fused batches: `ptycho_frame_chi_64` and `…_128`, `ptycho_pie_pass_64` and `…_128`,
//! `ptycho_batch_sums`, `ptycho_batch_finish`, `ptycho_batch_step_sums` and `ptycho_batch_advance`.

use super::Size;
use super::batch_waves::Batch;
use super::bench::{Bench, Case, all_f64, all_wide, wide};
use super::fourier::{deviation, mean, model_metrics};
use super::shape::{Shape, Source, shapes};
use crate::gpu::{Buffer, Device, Result};
use crate::ptycho::MAGNITUDE_FLOOR;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    batch_advance::PtychoBatchAdvance,
    batch_finish::PtychoBatchFinish,
    batch_step_sums::PtychoBatchStepSums,
    batch_sums::PtychoBatchSums,
    frame_chi::{PtychoFrameChi64, PtychoFrameChi128},
    pie_pass::{OBJECT, PROBE, PtychoPiePass64, PtychoPiePass128},
};

/// An arbitrary factor on numerators.
const SCALE: f32 = 0.37;

/// Updates, momentum and limits of the object's modulus (none if the upper one is negative).
const ADVANCES: [(u32, f32, [f32; 2]); 3] = [
    (OBJECT | PROBE, 0.0, [0.4, 0.9]),
    (OBJECT, 0.9, [0.0, -1.0]),
    (PROBE, 0.6, [0.3, 1.1]),
];

/// Updates, extra weight and floor, and α of object and probe (negative: the floor).
const DENOMINATORS: [(u32, [f32; 2], [f32; 2]); 3] = [
    (OBJECT | PROBE, [0.2, 0.1], [-1.0, -1.0]),
    (OBJECT, [0.0, 0.3], [0.1, 1.0]),
    (PROBE, [0.0, 0.0], [1.0, 0.4]),
];

/// Updates, α and step of object and probe, and limits of the object's modulus.
const PASSES: [(u32, [[f32; 2]; 3]); 3] = [
    (OBJECT | PROBE, [[1.0, 1.0], [1.0, 0.2], [0.0, -1.0]]),
    (OBJECT | PROBE, [[0.1, 0.6], [0.9, 0.7], [0.3, 1.1]]),
    (PROBE, [[1.0, 0.5], [1.0, 1.0], [0.3, 1.1]]),
];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size).into_iter().filter(|shape| shape.modes == 1) {
        for updates in [OBJECT | PROBE, OBJECT, PROBE] {
            sums(bench, shape, updates)?;
        }
        step_sums(bench, shape)?;
        for options in DENOMINATORS {
            finish(bench, shape, options)?;
        }
        for options in ADVANCES {
            advance(bench, shape, options)?;
        }
    }
    for shape in frames(size) {
        chi(bench, shape)?;
        // An epoch of many frames multiplies rounding errors.
        let few = Shape {
            frames: shape.frames.min(3),
            timed: false,
            ..shape
        };
        for options in PASSES {
            pass(bench, few, options)?;
        }
    }
    Ok(())
}

/// Shapes of the kernels that hold frames in registers.
fn frames(size: Size) -> Vec<Shape> {
    let mut all = vec![(64, 0), (64, 3), (128, 2)];
    if size == Size::Device {
        all.extend([(64, 400), (128, 200)]);
    }
    let shape = |(side, frames): (u32, u32)| Shape {
        frames,
        modes: 1,
        rows: side,
        columns: side,
        object_rows: side + 17,
        object_columns: side + 30,
        parts: 4,
        slices: 1,
        timed: frames > 20,
    };
    all.into_iter().map(shape).collect()
}

/// (first, count) of some batches, of which number 1 is `batch`.
fn ranges(batch: &Batch) -> Vec<[u32; 2]> {
    vec![[0, batch.first], [batch.first, batch.count], [7, 5]]
}

/// Transforms of `side` values each, along an axis of this stride.
fn transform_axis(values: &mut [Complex<f64>], side: usize, stride: usize, sign: f64) {
    let roots: Vec<Complex<f64>> = (0..side)
        .map(|k| Complex::cis(sign * TAU * k as f64 / side as f64))
        .collect();
    for line in 0..side {
        let first = if stride == 1 { line * side } else { line };
        let before: Vec<Complex<f64>> = (0..side).map(|n| values[first + n * stride]).collect();
        for k in 0..side {
            values[first + k * stride] = before
                .iter()
                .enumerate()
                .map(|(n, value)| value * roots[n * k % side])
                .sum();
        }
    }
}

/// The two-dimensional transform by its definition; `sign` −1: forward.
fn transform(values: &mut [Complex<f64>], side: usize, sign: f64) {
    transform_axis(values, side, 1, sign);
    transform_axis(values, side, side, sign);
}

/// What the fused kernels read.
struct Scan {
    shape: Shape,
    probe: Vec<Complex32>,
    object: Vec<Complex32>,
    corners: Vec<[u32; 2]>,
    magnitudes: Vec<f32>,
    scales: Vec<f32>,
    roots: Vec<Complex32>,
}

impl Scan {
    fn new(source: &mut Source, shape: Shape) -> Self {
        let side = shape.rows;
        let root = |k: u32| {
            let value = Complex::cis(-TAU * f64::from(k) / f64::from(side));
            Complex32::new(value.re as f32, value.im as f32)
        };
        Self {
            shape,
            probe: source.complex(shape.probe_elements()),
            object: source.complex(shape.object_elements()),
            corners: source.corners(&shape),
            magnitudes: source.magnitudes_with_zeros(&shape),
            scales: source.scales(&shape),
            roots: (0..side).map(root).collect(),
        }
    }

    /// χ of a frame and its metrics: errors, moved, photon, residual, free.
    fn chi(
        &self,
        frame: usize,
        probe: &[Complex<f64>],
        object: &[Complex<f64>],
    ) -> (Vec<Complex<f64>>, [f64; 5]) {
        let (side, pixels) = (self.shape.rows as usize, self.shape.pixels());
        let mut values: Vec<Complex<f64>> = (0..pixels)
            .map(|pixel| probe[pixel] * object[self.place(frame, pixel)])
            .collect();
        transform(&mut values, side, -1.0);
        let scale = 1.0 / pixels as f64;
        let factor = scale * f64::from(self.scales[frame]);
        let given = &self.magnitudes[frame * pixels..][..pixels];
        let modelled: Vec<[f64; 2]> = values
            .iter()
            .zip(given)
            .map(|(value, magnitude)| [value.norm_sqr() * factor, f64::from(*magnitude)])
            .collect();
        let mut change = 0.0;
        for (value, [intensity, measured]) in values.iter_mut().zip(&modelled) {
            let root = intensity.sqrt();
            *value *= if *measured < 0.0 {
                0.0
            } else {
                (measured - root) / (root + MAGNITUDE_FLOOR) * scale
            };
            change += value.norm_sqr();
        }
        transform(&mut values, side, 1.0);
        let [photon, residual, free] = model_metrics(&modelled);
        let moved = change * pixels as f64;
        (
            values,
            [mean(&modelled, deviation), moved, photon, residual, free],
        )
    }

    /// The object's pixel under a pixel of a frame.
    fn place(&self, frame: usize, pixel: usize) -> usize {
        let side = self.shape.columns as usize;
        let [top, left] = self.corners[frame].map(|v| v as usize);
        (top + pixel / side) * self.shape.object_columns as usize + left + pixel % side
    }
}

fn chi<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("frame chi", &shape);
    let scan = Scan::new(&mut source, shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let before = [0; 5].map(|_| source.reals(shape.frames as usize, 0.0, 1.0));
    // The metrics of the other frames must stay, and so must the waves after the last frame.
    let mut metrics = before.each_ref().map(|values| all_f64(values));
    let old = source.complex(most as usize * shape.pixels());
    let mut waves = all_wide(&old);
    let (probe, object) = (all_wide(&scan.probe), all_wide(&scan.object));
    for (member, frame) in batch.frames().iter().enumerate() {
        let (values, found) = scan.chi(*frame as usize, &probe, &object);
        waves[member * shape.pixels()..][..shape.pixels()].copy_from_slice(&values);
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[*frame as usize] = found;
        }
    }
    let probe = on.upload(&scan.probe)?;
    let object = on.upload(&scan.object)?;
    let magnitudes = on.upload(&scan.magnitudes)?;
    let scales = on.upload(&scan.scales)?;
    let corners = on.upload(&scan.corners)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    let roots = on.upload(&scan.roots)?;
    let [errors, moved, photon, residual, free] = before.each_ref().map(|values| on.upload(values));
    let text = format!("{shape}, {}", batch.label());
    let case = if shape.rows == 64 {
        Case::of::<PtychoFrameChi64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoFrameChi128<'_, Emulated>>(text)
    };
    bench.run(
        case.timed(shape.timed, 12 * batch.elements(&shape)),
        (
            on.upload(&old)?,
            on.poisoned::<u32>(2)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (chi, largest, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            chi: chi.write(),
                            largest: largest.write(),
                            errors: errors.write(),
                            moved: moved.write(),
                            photon: photon.write(),
                            residual: residual.write(),
                            free: free.write(),
                            probe: probe.read(),
                            object: object.read(),
                            magnitudes: magnitudes.read(),
                            scales: scales.read(),
                            corners: corners.read(),
                            order: order.read(),
                            ranges: ranges.read(),
                            roots: roots.read(),
                            frames: shape.frames,
                            most,
                            batches: 3,
                            batch: 1,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                        },
                        Work::Blocks(most as usize),
                    )
                };
            }
            if shape.rows == 64 {
                launch!(PtychoFrameChi64)
            } else {
                launch!(PtychoFrameChi128)
            }
        },
        |on, (chi, largest, found)| {
            let mut worst = on.error(chi, &waves)?.max(on.error(largest, &[0, 0])?);
            for (found, metrics) in found.iter().zip(&metrics) {
                worst = worst.max(on.error(found, metrics)?);
            }
            Ok(worst)
        },
    )
}

/// A value with its modulus in these limits; none if the upper one is negative.
fn clipped(value: Complex<f64>, limits: [f32; 2]) -> Complex<f64> {
    let [low, high] = limits.map(f64::from);
    match value.norm() {
        _ if high < 0.0 => value,
        0.0 => Complex::new(low, 0.0),
        modulus => value * (modulus.clamp(low, high) / modulus),
    }
}

/// The largest squared modulus.
fn strongest(values: impl Iterator<Item = Complex<f64>>) -> f64 {
    values.map(|v| v.norm_sqr()).fold(0.0, f64::max)
}

fn pass<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (updates, [alpha, step, limits]): (u32, [[f32; 2]; 3]),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("pie pass", &shape);
    let scan = Scan::new(&mut source, shape);
    let support = source.support(shape.pixels());
    let order = Batch::whole(&mut source, &shape).order;
    let (mut p, mut o) = (all_wide(&scan.probe), all_wide(&scan.object));
    let mut metrics: [Vec<f64>; 5] = Default::default();
    metrics.fill(vec![0.0; shape.frames as usize]);
    let factor = |n: usize, weight: f64, most: f64| {
        let alpha = f64::from(alpha[n]);
        f64::from(step[n]) / ((1.0 - alpha) * weight + alpha * most)
    };
    for frame in order.iter().map(|frame| *frame as usize) {
        let (values, found) = scan.chi(frame, &p, &o);
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[frame] = found;
        }
        let of_probe = strongest(p.iter().copied());
        let of_object = strongest((0..shape.pixels()).map(|pixel| o[scan.place(frame, pixel)]));
        for (pixel, value) in values.into_iter().enumerate() {
            let at = scan.place(frame, pixel);
            let (old_p, old_o) = (p[pixel], o[at]);
            if updates & OBJECT != 0 {
                let change = old_p.conj() * value * factor(0, old_p.norm_sqr(), of_probe);
                o[at] = old_o + change;
            }
            if updates & PROBE != 0 {
                let change = old_o.conj() * value * factor(1, old_o.norm_sqr(), of_object);
                p[pixel] = (old_p + change) * f64::from(support[pixel]);
            }
        }
        if updates & OBJECT != 0 {
            o.iter_mut()
                .for_each(|value| *value = clipped(*value, limits));
        }
    }
    let support = on.upload(&support)?;
    let magnitudes = on.upload(&scan.magnitudes)?;
    let scales = on.upload(&scan.scales)?;
    let corners = on.upload(&scan.corners)?;
    let order = on.upload(&order)?;
    let roots = on.upload(&scan.roots)?;
    let frames = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(frames));
    let text = format!("{shape}, updates {updates}, alpha {alpha:?}, step {step:?}");
    let case = if shape.rows == 64 {
        Case::of::<PtychoPiePass64<'_, Emulated>>(text)
    } else {
        Case::of::<PtychoPiePass128<'_, Emulated>>(text)
    };
    bench.run(
        case,
        (
            on.upload(&scan.object)?,
            on.upload(&scan.probe)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (object, probe, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            object: object.write(),
                            probe: probe.write(),
                            errors: errors.write(),
                            moved: moved.write(),
                            photon: photon.write(),
                            residual: residual.write(),
                            free: free.write(),
                            support: support.read(),
                            magnitudes: magnitudes.read(),
                            scales: scales.read(),
                            corners: corners.read(),
                            order: order.read(),
                            roots: roots.read(),
                            frames: shape.frames,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                            object_alpha: alpha[0],
                            probe_alpha: alpha[1],
                            object_step: step[0],
                            probe_step: step[1],
                            clip_low: limits[0],
                            clip_high: limits[1],
                            updates,
                        },
                        Work::Blocks(2),
                    )
                };
            }
            if shape.rows == 64 {
                launch!(PtychoPiePass64)
            } else {
                launch!(PtychoPiePass128)
            }
        },
        |on, (object, probe, found)| {
            let mut worst = on.error(object, &o)?.max(on.error(probe, &p)?);
            for (found, metrics) in found.iter().zip(&metrics) {
                worst = worst.max(on.error(found, metrics)?);
            }
            Ok(worst)
        },
    )
}

fn sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, updates: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("batch sums", &shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let waves = source.complex(most as usize * shape.pixels());
    let (p, o) = (
        source.complex(shape.pixels()),
        source.complex(shape.object_elements()),
    );
    let windows = source.corners(&shape);
    let old = [
        source.complex(shape.object_elements()),
        source.complex(shape.pixels()),
    ];
    let old_weights = [
        source.reals(shape.object_elements(), 0.0, 1.0),
        source.reals(shape.pixels(), 0.0, 1.0),
    ];
    let mut numerators = old.each_ref().map(|values| all_wide(values));
    let mut weights = old_weights.each_ref().map(|values| all_f64(values));
    for (n, bit) in [OBJECT, PROBE].into_iter().enumerate() {
        if updates & bit != 0 {
            numerators[n].fill(Complex::default());
            weights[n].fill(0.0);
        }
    }
    for at in shape.indices(&batch.of(&windows)) {
        let (probe, object) = (wide(p[at.probe]), wide(o[at.object]));
        let chi = wide(waves[at.wave]) * f64::from(SCALE);
        if updates & OBJECT != 0 {
            numerators[0][at.object] += probe.conj() * chi;
            weights[0][at.object] += probe.norm_sqr();
        }
        if updates & PROBE != 0 {
            numerators[1][at.probe] += object.conj() * chi;
            weights[1][at.probe] += object.norm_sqr();
        }
    }
    let most_of = |n: usize, bit: u32| {
        let largest = weights[n].iter().copied().fold(0.0, f64::max);
        if updates & bit != 0 { largest } else { 0.0 }
    };
    let largest_weights = [most_of(0, OBJECT), most_of(1, PROBE)];
    let probe = on.upload(&p)?;
    let chi = on.upload(&waves)?;
    let object = on.upload(&o)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    let tiles = shape.object_rows.div_ceil(8) * shape.object_columns.div_ceil(32);
    let blocks = tiles as usize + shape.pixels().div_ceil(32);
    bench.run(
        Case::of::<PtychoBatchSums<'_, Emulated>>(format!(
            "{shape}, {}, updates {updates}",
            batch.label()
        ))
        .timed(
            shape.timed,
            8 * batch.elements(&shape) + 12 * (shape.object_elements() + shape.pixels()),
        ),
        (
            (on.upload(&old[0])?, on.upload(&old_weights[0])?),
            (on.upload(&old[1])?, on.upload(&old_weights[1])?),
            on.upload(&[0_u32; 2])?,
        ),
        |device, ((numerators, weights), (sums, probe_weights), largest)| {
            let launch = PtychoBatchSums {
                numerators: numerators.write(),
                weights: weights.write(),
                sums: sums.write(),
                probe_weights: probe_weights.write(),
                largest: largest.write(),
                probe: probe.read(),
                chi: chi.read(),
                object: object.read(),
                corners: corners.read(),
                order: order.read(),
                ranges: ranges.read(),
                frames: shape.frames,
                most,
                batches: 3,
                batch: 1,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                updates,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(blocks))
        },
        |on, (object, probe, largest)| {
            let mut bits = [0_u32; 2];
            on.download(largest, &mut bits)?;
            let mut worst: f64 = 0.0;
            for (bits, most) in bits.iter().zip(largest_weights) {
                let found = f64::from(f32::from_bits(*bits));
                worst = worst.max((found - most).abs() / most.max(1e-30));
            }
            for (n, (sums, of)) in [object, probe].into_iter().enumerate() {
                worst = worst.max(on.error(sums, &numerators[n])?);
                worst = worst.max(on.error(of, &weights[n])?);
            }
            Ok(worst)
        },
    )
}

fn step_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("batch step sums", &shape);
    let batch = Batch::new(&mut source, &shape);
    let most = batch.count + 1;
    let parts = shape.parts;
    let waves = source.complex(most as usize * shape.pixels());
    let [p, change] = [0; 2].map(|_| source.complex(shape.pixels()));
    let [o, along] = [0; 2].map(|_| source.complex(shape.object_elements()));
    let windows = source.corners(&shape);
    let share = Shape::slice_length(shape.pixels(), parts);
    let mut reference = vec![[0.0; 5]; (batch.count * parts) as usize];
    for at in shape.indices(&batch.of(&windows)) {
        let a = wide(along[at.object]) * wide(p[at.probe]);
        let b = wide(change[at.probe]) * wide(o[at.object]);
        let chi = wide(waves[at.wave]);
        let product = |x: Complex<f64>, y: Complex<f64>| (x.conj() * y).re;
        let terms = [
            product(a, a),
            product(a, b),
            product(b, b),
            product(a, chi),
            product(b, chi),
        ];
        let part = at.frame * parts as usize + at.pixel / share;
        for (sum, term) in reference[part].iter_mut().zip(terms) {
            *sum += term;
        }
    }
    // Sums after the last frame must stay.
    let old = vec![[0.5_f32; 5]; parts as usize];
    let mut all = vec![[0.0_f32; 5]; reference.len()];
    all.extend(old);
    reference.extend(vec![[0.5; 5]; parts as usize]);
    let probe = on.upload(&p)?;
    let probe_direction = on.upload(&change)?;
    let chi = on.upload(&waves)?;
    let object = on.upload(&o)?;
    let direction = on.upload(&along)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let ranges = on.upload(&ranges(&batch))?;
    bench.run(
        Case::of::<PtychoBatchStepSums<'_, Emulated>>(format!(
            "{shape}, {}, {parts} parts",
            batch.label()
        ))
        .timed(shape.timed, 8 * batch.elements(&shape) + 16 * o.len()),
        on.upload(&all)?,
        |device, sums| {
            let launch = PtychoBatchStepSums {
                sums: sums.write(),
                probe: probe.read(),
                probe_direction: probe_direction.read(),
                chi: chi.read(),
                object: object.read(),
                direction: direction.read(),
                corners: corners.read(),
                order: order.read(),
                ranges: ranges.read(),
                frames: shape.frames,
                most,
                batches: 3,
                batch: 1,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts,
            };
            device.launch(&launch, Work::Blocks((most * parts) as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}

fn finish<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (updates, [extra, floor], alpha): (u32, [f32; 2], [f32; 2]),
) -> Result<()> {
    let on = bench.on();
    let lengths = [shape.object_elements(), shape.pixels()];
    let mut source = Source::new("batch finish", &shape);
    let before = lengths.map(|len| source.complex(len));
    let weights = lengths.map(|len| source.reals(len, 0.05, 1.0));
    let most = weights
        .each_ref()
        .map(|of| of.iter().copied().fold(0.0, f32::max));
    let reference = [0, 1].map(|n| {
        let add = if n == 0 { f64::from(extra) } else { 0.0 };
        let mixed = f64::from(alpha[n]);
        let top = f64::from(most[n]) + add;
        let one = |(value, weight): (&Complex32, &f32)| {
            let w = f64::from(*weight) + add;
            let divisor = if mixed < 0.0 {
                w.hypot(f64::from(floor) * top)
            } else {
                (1.0 - mixed) * w + mixed * top
            };
            if updates & [OBJECT, PROBE][n] != 0 {
                wide(*value) / divisor
            } else {
                Complex::default()
            }
        };
        before[n]
            .iter()
            .zip(&weights[n])
            .map(one)
            .collect::<Vec<_>>()
    });
    let largest = on.upload(&most.map(f32::to_bits))?;
    let [of_object, of_probe] = weights.each_ref().map(|of| on.upload(of));
    let (of_object, of_probe) = (of_object?, of_probe?);
    let total = lengths[0] + lengths[1];
    bench.run(
        Case::of::<PtychoBatchFinish<'_, Emulated>>(format!(
            "{} + {}, updates {updates}, extra {extra}, floor {floor}, alpha {alpha:?}",
            lengths[0], lengths[1]
        ))
        .timed(shape.timed, 20 * total),
        (on.upload(&before[0])?, on.upload(&before[1])?),
        |device, (object, probe)| {
            let launch = PtychoBatchFinish {
                object: object.write(),
                probe: probe.write(),
                weights: of_object.read(),
                probe_weights: of_probe.read(),
                largest: largest.read(),
                elements: lengths[0] as u32,
                pixels: lengths[1] as u32,
                updates,
                extra,
                floor,
                object_alpha: alpha[0],
                probe_alpha: alpha[1],
            };
            device.launch(&launch, Work::Elements(total))
        },
        |on, (object, probe)| {
            Ok(on
                .error(object, &reference[0])?
                .max(on.error(probe, &reference[1])?))
        },
    )
}

fn advance<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (updates, momentum, limits): (u32, f32, [f32; 2]),
) -> Result<()> {
    let on = bench.on();
    let lengths = [shape.object_elements(), shape.pixels()];
    let velocities = lengths.map(|len| if momentum > 0.0 { len } else { 0 });
    let sizes = [0.7_f32, -0.4];
    let mut source = Source::new("batch advance", &shape);
    let before = lengths.map(|len| source.complex(len));
    let change = lengths.map(|len| source.complex(len));
    let speed = velocities.map(|len| source.complex(len));
    let support = source.support(lengths[1]);
    let reference: [[Vec<Complex<f64>>; 2]; 2] = [0, 1].map(|n| {
        if updates & [OBJECT, PROBE][n] == 0 {
            return [all_wide(&before[n]), all_wide(&speed[n])];
        }
        let speeds: Vec<Complex<f64>> = (0..lengths[n])
            .map(|at| {
                let last = speed[n].get(at).copied().map_or(Complex::default(), wide);
                last * f64::from(momentum) + wide(change[n][at]) * f64::from(sizes[n])
            })
            .collect();
        let value = |(at, value): (usize, &Complex32)| {
            let value = wide(*value) + speeds[at];
            if n == 0 {
                clipped(value, limits)
            } else {
                value * f64::from(support[at])
            }
        };
        let values = before[n].iter().enumerate().map(value).collect();
        [values, speeds[..velocities[n]].to_vec()]
    });
    let [along_object, along_probe] = change.each_ref().map(|values| on.upload(values));
    let (along_object, along_probe) = (along_object?, along_probe?);
    let support = on.upload(&support)?;
    let steps = on.upload(&sizes)?;
    let total = lengths[0] + lengths[1];
    bench.run(
        Case::of::<PtychoBatchAdvance<'_, Emulated>>(format!(
            "{} + {}, updates {updates}, momentum {momentum}, limits {limits:?}",
            lengths[0], lengths[1]
        ))
        .timed(
            shape.timed,
            24 * total + 16 * (velocities[0] + velocities[1]),
        ),
        (
            (on.upload(&before[0])?, on.upload(&before[1])?),
            (on.upload(&speed[0])?, on.upload(&speed[1])?),
        ),
        |device, ((object, probe), (object_velocity, probe_velocity))| {
            let launch = PtychoBatchAdvance {
                object: object.write(),
                probe: probe.write(),
                object_velocity: object_velocity.write(),
                probe_velocity: probe_velocity.write(),
                object_direction: along_object.read(),
                probe_direction: along_probe.read(),
                support: support.read(),
                steps: steps.read(),
                elements: lengths[0] as u32,
                pixels: lengths[1] as u32,
                velocities: velocities[0] as u32,
                probe_velocities: velocities[1] as u32,
                updates,
                momentum,
                clip_low: limits[0],
                clip_high: limits[1],
            };
            device.launch(&launch, Work::Elements(total))
        },
        |on, ((object, probe), (of_object, of_probe))| {
            let mut worst = on.error(object, &reference[0][0])?;
            worst = worst.max(on.error(of_object, &reference[0][1])?);
            worst = worst.max(on.error(probe, &reference[1][0])?);
            Ok(worst.max(on.error(of_probe, &reference[1][1])?))
        },
    )
}
