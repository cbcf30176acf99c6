//! The kernels of the detector's model, `ptycho_detector_…`; in `stages.rs` those of likelihoods,
//! lines and positions, in `updates.rs` those of waves, projections and the background.

mod data;
mod stages;
mod updates;

use super::fourier::{COEFFICIENTS, mean, model_metrics};
use super::shape::{Shape, Source};
use crate::MAGNITUDE_FLOOR;
use crate::model::detector::Kernel;
use data::{Data, SCALE};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    detector_blur::{self, PtychoDetectorBlur},
    detector_deviation::PtychoDetectorDeviation,
    detector_intensities::PtychoDetectorIntensities,
};
use warpstride_selftest::bench::{Bench, Case, all_f64, wide};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for (mixed, scaled, add) in [
        (false, true, false),
        (true, false, true),
        (false, true, true),
    ] {
        intensities(bench, shape, [mixed, scaled, add])?;
    }
    for sigma in [0.0, 0.7, 3.5, 30.0] {
        for along_rows in [true, false] {
            blur(
                bench,
                shape,
                sigma,
                (along_rows, along_rows != (sigma > 1.0)),
            )?;
        }
    }
    for (ordered, of_model) in [(true, true), (false, false), (false, true)] {
        deviation(bench, shape, (ordered, of_model))?;
    }
    for summed in [true, false] {
        updates::waves(bench, shape, summed)?;
    }
    // No bound, one that every frame satisfies, and one that none does.
    for bound in [0.0, 1e3, 1e-3] {
        for coefficients in COEFFICIENTS {
            updates::step(bench, shape, bound, coefficients)?;
        }
    }
    updates::sums(bench, shape)?;
    stages::cases(bench, shape)
}

fn intensities<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [mixed, scaled, add]: [bool; 3],
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector intensities", &shape);
    let data = Data::new(&mut source, &shape);
    let (size, elements) = (shape.pixels(), shape.probe_elements());
    // Waves of all frames, or of the batch.
    let first_wave = if scaled { 0 } else { data.batch.first };
    let len = (first_wave + data.batch.count) as usize * elements;
    let [values, others] = [0; 2].map(|_| source.complex(len));
    let parts = [-0.6_f32, 1.6];
    let mut reference = vec![0.0; data.measured.len()];
    for (at, sum) in reference.iter_mut().enumerate() {
        let (member, pixel) = (at / size, at % size);
        let frame = data.batch.frames()[member] as usize;
        let factor = if scaled { data.scales[frame] } else { 1.0 };
        let start = (first_wave as usize + member) * elements + pixel;
        for mode in 0..shape.modes as usize {
            let wave = start + mode * size;
            let value = match mixed {
                true => {
                    wide(values[wave]) * f64::from(parts[0])
                        + wide(others[wave]) * f64::from(parts[1])
                }
                false => wide(values[wave]),
            };
            *sum += value.norm_sqr() * f64::from(factor) * f64::from(SCALE);
        }
        if add {
            *sum += f64::from(data.background[pixel]);
        }
    }
    let waves = on.upload(&values)?;
    let others = on.upload(&others)?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&data.batch.order)?;
    let background = on.upload(&data.background)?;
    let text = format!(
        "{}, mixed {mixed}, scaled {scaled}, background {add}",
        data.label(&shape)
    );
    bench.run(
        Case::of::<PtychoDetectorIntensities<'_, Emulated>>(text).timed(
            shape.timed,
            (8 + 8 * usize::from(mixed)) * data.batch.elements(&shape) + 4 * reference.len(),
        ),
        on.poisoned::<f32>(reference.len())?,
        |device, to| {
            let launch = PtychoDetectorIntensities {
                intensities: to.write(),
                waves: waves.read(),
                others: others.read(),
                scales: scales.read(),
                order: order.read(),
                background: background.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                pixels: size as u32,
                first_wave,
                mixed: u32::from(mixed),
                scaled: u32::from(scaled),
                add: u32::from(add),
                part: parts[0],
                other_part: parts[1],
                scale: SCALE,
            };
            device.launch(&launch, Work::Elements(reference.len()))
        },
        |on, to| on.error(to, &reference),
    )
}

fn blur<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    sigma: f64,
    (along_rows, add): (bool, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector blur", &shape);
    let values = source.reals(shape.frame_elements(), 0.0, 1.0);
    let background = source.reals(shape.pixels(), 0.0, 1.0);
    let (rows, columns) = (shape.rows as usize, shape.columns as usize);
    let (length, stride) = if along_rows {
        (rows, columns)
    } else {
        (columns, 1)
    };
    let kernel = Kernel::new(sigma, length);
    let narrow: Vec<f32> = kernel.weights.iter().map(|w| *w as f32).collect();
    let size = shape.pixels();
    let reference: Vec<f64> = (0..values.len())
        .map(|at| {
            let place = at / stride % length;
            let value = |k: usize| {
                let other = (place + k + length - kernel.before) % length;
                f64::from(values[at - place * stride + other * stride])
            };
            let blurred = narrow
                .iter()
                .enumerate()
                .map(|(k, w)| f64::from(*w) * value(k));
            let added = if add {
                f64::from(background[at % size])
            } else {
                0.0
            };
            blurred.sum::<f64>() + added
        })
        .collect();
    let from = on.upload(&values)?;
    let weights = on.upload(&narrow)?;
    let background = on.upload(&background)?;
    let text = format!(
        "{} frames of {rows} × {columns}, {} weights along {length} by {stride}, background {add}",
        shape.frames,
        narrow.len()
    );
    bench.run(
        Case::of::<PtychoDetectorBlur<'_, Emulated>>(text).timed(shape.timed, 8 * values.len()),
        on.poisoned::<f32>(values.len())?,
        |device, to| {
            let launch = PtychoDetectorBlur {
                to: to.write(),
                from: from.read(),
                weights: weights.read(),
                background: background.read(),
                elements: values.len(),
                taps: narrow.len() as u32,
                before: kernel.before as u32,
                length: length as u32,
                stride: stride as u32,
                pixels: size as u32,
                add: u32::from(add),
            };
            device.launch(
                &launch,
                Work::Elements(values.len().div_ceil(detector_blur::VALUES)),
            )
        },
        |on, to| on.error(to, &reference),
    )
}

fn deviation<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (ordered, of_model): (bool, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector deviation", &shape);
    let data = Data::new(&mut source, &shape);
    let before = vec![0.5_f32; shape.frames as usize];
    let mut metrics: [Vec<f64>; 4] = [0; 4].map(|_| all_f64(&before));
    let mut factors = Vec::with_capacity(data.measured.len());
    for member in 0..data.batch.count as usize {
        let place = data.batch.first as usize + member;
        let frame = if ordered {
            data.batch.order[place] as usize
        } else {
            place
        };
        let pixels = data.pixels(&shape, member, frame);
        let (mut corrected, mut valid) = (0.0, 0.0_f64);
        for (pixel, [model, magnitude]) in pixels.iter().enumerate() {
            let by = data.amplitude(pixel, *magnitude) - model.sqrt();
            let valid_pixel = *magnitude >= 0.0;
            if valid_pixel {
                corrected += by * by;
                valid += 1.0;
            }
            let factor = by / (model.sqrt() + MAGNITUDE_FLOOR) * f64::from(SCALE);
            factors.push(if valid_pixel { factor } else { 0.0 });
        }
        if of_model {
            let [photon, residual, free] = model_metrics(&pixels);
            let error = mean(&pixels, super::fourier::deviation);
            for (to, value) in metrics.iter_mut().zip([error, photon, residual, free]) {
                to[frame] = value;
            }
        } else {
            metrics[0][frame] = corrected / valid.max(1.0);
        }
    }
    let magnitudes = on.upload(&data.magnitudes)?;
    let background = on.upload(&data.background)?;
    let order = on.upload(&data.batch.order)?;
    let upload = || on.upload(&before);
    let text = format!(
        "{}, ordered {ordered}, model {of_model}",
        data.label(&shape)
    );
    bench.run(
        Case::of::<PtychoDetectorDeviation<'_, Emulated>>(text)
            .timed(shape.timed, 12 * data.measured.len()),
        (
            on.upload(&data.measured)?,
            [upload()?, upload()?, upload()?, upload()?],
        ),
        |device, (measured, [errors, photon, residual, free])| {
            let launch = PtychoDetectorDeviation {
                measured: measured.write(),
                magnitudes: magnitudes.read(),
                background: background.read(),
                order: order.read(),
                errors: errors.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                pixels: shape.pixels() as u32,
                ordered: u32::from(ordered),
                of_model: u32::from(of_model),
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, (measured, found)| {
            let mut error = on.error(measured, &factors)?;
            for (found, reference) in found.iter().zip(&metrics) {
                error = error.max(on.error(found, reference)?);
            }
            Ok(error)
        },
    )
}
