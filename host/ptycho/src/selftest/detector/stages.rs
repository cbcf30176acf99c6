//! The kernels of likelihoods, lines and positions with a detector: `ptycho_detector_likelihood`,
//! `ptycho_detector_line`, `ptycho_detector_line_sums`, `ptycho_detector_products` and
//! `ptycho_detector_equations`.

use super::data::{Data, SCALE};
use crate::MAGNITUDE_FLOOR;
use crate::selftest::fourier::{deviation, mean, model_metrics};
use crate::selftest::likelihood::loss;
use crate::selftest::shape::{Shape, Source};
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    detector_equations::PtychoDetectorEquations,
    detector_likelihood::PtychoDetectorLikelihood,
    detector_line::PtychoDetectorLine,
    detector_line_sums::PtychoDetectorLineSums,
    detector_products::PtychoDetectorProducts,
    likelihood_noise::{AMPLITUDE, GAUSSIAN, POISSON},
};
use warpstride_selftest::bench::{Bench, Case, all_f64, wide};

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for noise in [GAUSSIAN, POISSON, AMPLITUDE] {
        for metrics in [true, false] {
            likelihood(bench, shape, (noise, metrics))?;
        }
        line_sums(bench, shape, noise)?;
    }
    line(bench, shape)?;
    products(bench, shape)?;
    equations(bench, shape)
}

impl Data {
    /// What the loss of a noise compares with the model.
    fn compared(&self, noise: u32, pixel: usize, magnitude: f64) -> f64 {
        if noise == AMPLITUDE {
            self.amplitude(pixel, magnitude)
        } else {
            magnitude
        }
    }
}

fn likelihood<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (noise, metrics): (u32, bool),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector likelihood", &shape);
    let data = Data::new(&mut source, &shape);
    let frames = shape.frames as usize;
    let before = vec![0.5_f32; frames];
    let mut of_frames: [Vec<f64>; 5] = [0; 5].map(|_| all_f64(&before));
    let mut losses = vec![0.5; frames];
    let mut factors = all_f64(&data.measured);
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let pixels = data.pixels(&shape, member, frame);
        let scale = f64::from(data.scales[frame]);
        losses[frame] = 0.0;
        for (pixel, [model, magnitude]) in pixels.iter().enumerate() {
            let mut factor = 0.0;
            if *magnitude >= 0.0 {
                let compared = data.compared(noise, pixel, *magnitude);
                let [value, slope, _] = loss(noise, *model, compared);
                losses[frame] += value;
                factor = slope * f64::from(SCALE) * scale;
            }
            if metrics {
                factors[member * shape.pixels() + pixel] = factor;
            }
        }
        if metrics {
            let [photon, residual, free] = model_metrics(&pixels);
            let error = mean(&pixels, deviation);
            let all = [error, residual / scale, photon, residual, free];
            for (to, value) in of_frames.iter_mut().zip(all) {
                to[frame] = value;
            }
        }
    }
    let magnitudes = on.upload(&data.magnitudes)?;
    let background = on.upload(&data.background)?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&data.batch.order)?;
    let upload = || on.upload(&before);
    let text = format!("{}, noise {noise}, metrics {metrics}", data.label(&shape));
    bench.run(
        Case::of::<PtychoDetectorLikelihood<'_, Emulated>>(text)
            .timed(shape.timed, 12 * data.measured.len()),
        (
            on.upload(&data.measured)?,
            on.upload(&vec![0.5_f64; frames])?,
            [upload()?, upload()?, upload()?, upload()?, upload()?],
        ),
        |device, (measured, losses, [errors, moved, photon, residual, free])| {
            let launch = PtychoDetectorLikelihood {
                measured: measured.write(),
                magnitudes: magnitudes.read(),
                background: background.read(),
                scales: scales.read(),
                order: order.read(),
                losses: losses.write(),
                errors: errors.write(),
                moved: moved.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                pixels: shape.pixels() as u32,
                metrics: u32::from(metrics),
                noise,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, (measured, of_loss, found)| {
            let mut error = on.error(measured, &factors)?;
            error = error.max(on.error(of_loss, &losses)?);
            for (found, reference) in found.iter().zip(&of_frames) {
                error = error.max(on.error(found, reference)?);
            }
            Ok(error)
        },
    )
}

fn line<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector line", &shape);
    let data = Data::new(&mut source, &shape);
    let (size, elements) = (shape.pixels(), shape.probe_elements());
    let waves = [0; 3].map(|_| source.complex(data.batch.elements(&shape)));
    let all = data.measured.len();
    let mut reference = vec![0.0; 5 * all];
    for at in 0..all {
        for mode in 0..shape.modes as usize {
            let wave = at / size * elements + mode * size + at % size;
            let of_line = [0, 1, 2].map(|n: usize| wide(waves[n][wave]));
            for (i, left) in of_line.iter().enumerate() {
                for (j, right) in of_line.iter().enumerate() {
                    reference[(i + j) * all + at] += (left.conj() * right).re;
                }
            }
        }
    }
    let f = on.upload(&waves[0])?;
    let a = on.upload(&waves[1])?;
    let b = on.upload(&waves[2])?;
    bench.run(
        Case::of::<PtychoDetectorLine<'_, Emulated>>(data.label(&shape))
            .timed(shape.timed, 24 * waves[0].len() + 20 * all),
        on.poisoned::<f32>(5 * all)?,
        |device, to| {
            let launch = PtychoDetectorLine {
                along: to.write(),
                f: f.read(),
                a: a.read(),
                b: b.read(),
                count: data.batch.count,
                modes: shape.modes,
                pixels: size as u32,
            };
            device.launch(&launch, Work::Elements(all))
        },
        |on, to| on.error(to, &reference),
    )
}

fn line_sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, noise: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector line sums", &shape);
    let data = Data::new(&mut source, &shape);
    let all = data.measured.len();
    // The intensity itself is not negative.
    let along: Vec<f32> = (data.measured.iter().copied())
        .chain(source.reals(4 * all, -1.0, 1.0))
        .collect();
    let mut reference = vec![[0.5; 9]; shape.frames as usize];
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let factor = f64::from(SCALE) * f64::from(data.scales[frame]);
        let mut own = [0.0; 9];
        for (pixel, [_, magnitude]) in data.pixels(&shape, member, frame).iter().enumerate() {
            if *magnitude < 0.0 {
                continue;
            }
            let at = member * shape.pixels() + pixel;
            let mut by: [f64; 5] =
                std::array::from_fn(|order| f64::from(along[order * all + at]) * factor);
            by[0] += f64::from(data.background[pixel]);
            let compared = data.compared(noise, pixel, *magnitude);
            if noise == GAUSSIAN {
                // Half the square of a polynomial.
                by[0] -= compared * compared;
                for (i, left) in by.iter().enumerate() {
                    for (j, right) in by.iter().enumerate() {
                        own[i + j] += 0.5 * left * right / (1.0 + compared * compared);
                    }
                }
            } else {
                let [value, slope, curvature] = loss(noise, by[0], compared);
                let bent = 0.5 * curvature * by[1].powi(2);
                own[0] += value;
                own[1] += slope * by[1];
                own[2] += slope * by[2] + bent;
                own[3] += bent;
            }
        }
        reference[frame] = own;
    }
    let along = on.upload(&along)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let background = on.upload(&data.background)?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&data.batch.order)?;
    let text = format!("{}, noise {noise}", data.label(&shape));
    bench.run(
        Case::of::<PtychoDetectorLineSums<'_, Emulated>>(text).timed(shape.timed, 24 * all),
        on.upload(&vec![[0.5_f64; 9]; reference.len()])?,
        |device, sums| {
            let launch = PtychoDetectorLineSums {
                sums: sums.write(),
                along: along.read(),
                magnitudes: magnitudes.read(),
                background: background.read(),
                scales: scales.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                noise,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}

fn products<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector products", &shape);
    let data = Data::new(&mut source, &shape);
    let (size, elements) = (shape.pixels(), shape.probe_elements());
    let waves = [0; 3].map(|_| source.complex(data.batch.elements(&shape)));
    let all = data.measured.len();
    let mut reference = vec![0.0; 3 * all];
    for at in 0..all {
        let frame = data.batch.frames()[at / size] as usize;
        let factor = f64::from(SCALE) * f64::from(data.scales[frame]);
        for mode in 0..shape.modes as usize {
            let wave = at / size * elements + mode * size + at % size;
            let f = wide(waves[0][wave]);
            for (n, other) in waves.iter().enumerate() {
                reference[n * all + at] += (f.conj() * wide(other[wave])).re * factor;
            }
        }
    }
    let spectra = on.upload(&waves[0])?;
    let by_row = on.upload(&waves[1])?;
    let by_column = on.upload(&waves[2])?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoDetectorProducts<'_, Emulated>>(data.label(&shape))
            .timed(shape.timed, 24 * waves[0].len() + 12 * all),
        on.poisoned::<f32>(3 * all)?,
        |device, to| {
            let launch = PtychoDetectorProducts {
                products: to.write(),
                spectra: spectra.read(),
                by_row: by_row.read(),
                by_column: by_column.read(),
                scales: scales.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                pixels: size as u32,
                scale: SCALE,
            };
            device.launch(&launch, Work::Elements(all))
        },
        |on, to| on.error(to, &reference),
    )
}

fn equations<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector equations", &shape);
    let data = Data::new(&mut source, &shape);
    let all = data.measured.len();
    let products: Vec<f32> = (data.measured.iter().copied())
        .chain(source.reals(2 * all, -1.0, 1.0))
        .collect();
    let mut reference = vec![[0.5; 9]; shape.frames as usize];
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let frame = *frame as usize;
        let mut own = [0.0; 9];
        let pixels = data.pixels(&shape, member, frame);
        for (pixel, [light, magnitude]) in pixels.into_iter().enumerate() {
            if magnitude < 0.0 {
                continue;
            }
            let at = member * shape.pixels() + pixel;
            let root = (light + f64::from(data.background[pixel])).sqrt();
            let residual = data.amplitude(pixel, magnitude) - root;
            let per_root = 1.0 / (root + MAGNITUDE_FLOOR);
            let [r, c] = [1, 2].map(|n| f64::from(products[n * all + at]) * per_root);
            let s = 0.5 * light * per_root;
            let terms = [
                r * r,
                r * c,
                c * c,
                r * s,
                c * s,
                s * s,
                r * residual,
                c * residual,
                s * residual,
            ];
            own.iter_mut().zip(terms).for_each(|(to, v)| *to += v);
        }
        reference[frame] = own;
    }
    let products = on.upload(&products)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let background = on.upload(&data.background)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoDetectorEquations<'_, Emulated>>(data.label(&shape))
            .timed(shape.timed, 16 * all),
        on.upload(&vec![[0.5_f32; 9]; reference.len()])?,
        |device, to| {
            let launch = PtychoDetectorEquations {
                equations: to.write(),
                products: products.read(),
                magnitudes: magnitudes.read(),
                background: background.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                pixels: shape.pixels() as u32,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, to| on.error(to, &reference),
    )
}
