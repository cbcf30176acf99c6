//! The kernels of maximum likelihood: `ptycho_gaussian_smoothing`, `ptycho_likelihood_deviation`,
//! `ptycho_likelihood_losses`, `ptycho_line_sums` and `ptycho_line_waves`; in `directions.rs` those
//! of conjugate gradients.

mod directions;

use super::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    gaussian_smoothing::PtychoGaussianSmoothing,
    likelihood_deviation::PtychoLikelihoodDeviation,
    likelihood_losses::PtychoLikelihoodLosses,
    likelihood_noise::{AMPLITUDE, GAUSSIAN, POISSON},
    line_sums::PtychoLineSums,
    line_waves::PtychoLineWaves,
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// An arbitrary scale for which the modelled magnitudes are some tenths, like the data.
const SCALE: f32 = 0.37;

/// Added to the modelled intensity before dividing by it.
const FLOOR: f64 = 1e-10;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    directions::cases(bench, shape)?;
    for taps in [1, 4, 23] {
        smoothing(bench, shape, taps, [shape.rows, shape.columns])?;
        smoothing(bench, shape, taps, [shape.columns, 1])?;
    }
    for first in [0, shape.frames / 3] {
        let batch = Batch::new(shape, first);
        line_waves(bench, &batch)?;
        for noise in [GAUSSIAN, POISSON, AMPLITUDE] {
            deviation(bench, &batch, noise)?;
            losses(bench, &batch, noise)?;
            line_sums(bench, &batch, noise)?;
        }
    }
    Ok(())
}

fn smoothing<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    taps: u32,
    [length, stride]: [u32; 2],
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("smoothing", &shape);
    let values = source.complex(shape.probe_elements());
    let weights = source.reals(taps as usize, 0.1, 1.0);
    let (len, by) = (length as usize, stride as usize);
    let mut reference = vec![Complex::<f64>::default(); values.len()];
    for (at, sum) in reference.iter_mut().enumerate() {
        let place = at / by % len;
        for other in 0..len {
            if let Some(weight) = weights.get(place.abs_diff(other)) {
                *sum += wide(values[at - place * by + other * by]) * f64::from(*weight);
            }
        }
    }
    let from = on.upload(&values)?;
    let kernel = on.upload(&weights)?;
    bench.run(
        Case::of::<PtychoGaussianSmoothing<'_, Emulated>>(format!(
            "{} elements, {taps} taps along {length} by {stride}",
            values.len()
        ))
        .timed(shape.timed, 16 * values.len()),
        on.poisoned::<Complex32>(values.len())?,
        |device, to| {
            let launch = PtychoGaussianSmoothing {
                to: to.write(),
                from: from.read(),
                kernel: kernel.read(),
                elements: values.len() as u32,
                taps,
                length,
                stride,
            };
            device.launch(&launch, Work::Elements(values.len()))
        },
        |on, to| on.error(to, &reference),
    )
}

/// The last frames of a scan in the reverse order.
struct Batch {
    shape: Shape,
    first: u32,
    count: u32,
    order: Vec<u32>,
    scales: Vec<f32>,
    magnitudes: Vec<f32>,
    corners: Vec<[u32; 2]>,
    /// f, a and b (member, mode, pixel).
    waves: [Vec<Complex32>; 3],
}

/// √counts of a pixel, and the coefficients A0 to A4 of its intensity along the line.
type LinePixel = (f64, [f64; 5]);

impl Batch {
    fn new(shape: Shape, first: u32) -> Self {
        let mut source = Source::new("likelihood", &shape);
        let count = shape.frames - first;
        let len = count as usize * shape.probe_elements();
        let mut magnitudes = source.magnitudes(&shape);
        // Pixels without counts.
        for value in magnitudes.iter_mut().skip(1).step_by(11) {
            *value = value.min(0.0);
        }
        Self {
            shape,
            first,
            count,
            order: (0..shape.frames).rev().collect(),
            scales: source.reals(shape.frames as usize, 0.5, 1.5),
            magnitudes,
            corners: source.corners(&shape),
            waves: [0; 3].map(|_| source.complex(len)),
        }
    }

    /// Frames of the members.
    fn members(&self) -> Vec<usize> {
        let members = self.order.iter().skip(self.first as usize);
        members.map(|frame| *frame as usize).collect()
    }

    /// The frame of each member, and of each of its pixels m and the intensity along the line.
    fn pixels(&self) -> Vec<(usize, Vec<LinePixel>)> {
        let (pixels, layers) = (self.shape.pixels(), self.shape.probe_elements());
        let of_member = |(member, frame): (usize, usize)| {
            let factor = f64::from(SCALE) * f64::from(self.scales[frame]);
            let of_pixel = |pixel: usize| {
                let mut along = [0.0; 5];
                for at in (member * layers + pixel..(member + 1) * layers).step_by(pixels) {
                    let line = [0, 1, 2].map(|n: usize| wide(self.waves[n][at]));
                    for (i, left) in line.iter().enumerate() {
                        for (j, right) in line.iter().enumerate() {
                            along[i + j] += factor * (left.conj() * right).re;
                        }
                    }
                }
                let magnitude = self.magnitudes[frame * pixels + pixel];
                (f64::from(magnitude), along)
            };
            (frame, (0..pixels).map(of_pixel).collect())
        };
        let members = self.members().into_iter().enumerate();
        members.map(of_member).collect()
    }

    fn text(&self, noise: u32) -> String {
        format!("{}, from {}, noise {noise}", self.shape, self.first)
    }
}

/// The loss, its derivative and its second derivative by the modelled intensity.
pub(super) fn loss(noise: u32, model: f64, root: f64) -> [f64; 3] {
    let (counts, floored) = (root * root, model + FLOOR);
    match noise {
        GAUSSIAN => {
            let weight = 1.0 / (1.0 + counts);
            let by = model - counts;
            [0.5 * by * by * weight, by * weight, weight]
        }
        AMPLITUDE => [
            (floored.sqrt() - root).powi(2),
            1.0 - root / floored.sqrt(),
            0.5 * root / floored.powf(1.5),
        ],
        _ if counts == 0.0 => [model, 1.0, 0.0],
        _ => [
            model - counts - counts * (floored / counts).ln(),
            1.0 - counts / floored,
            counts / floored.powi(2),
        ],
    }
}

/// Losses of the frames of a batch, 0.5 of the others.
fn all_losses(batch: &Batch, noise: u32) -> Vec<f64> {
    let mut all = vec![0.5; batch.order.len()];
    for (frame, pixels) in batch.pixels() {
        let valid = pixels.iter().filter(|(root, _)| *root >= 0.0);
        all[frame] = valid
            .map(|(root, along)| loss(noise, along[0], *root)[0])
            .sum();
    }
    all
}

fn deviation<M: Device>(bench: &mut Bench<'_, M>, batch: &Batch, noise: u32) -> Result<()> {
    let on = bench.on();
    let Batch {
        shape,
        first,
        count,
        ..
    } = *batch;
    let (frames, layers) = (shape.frames as usize, shape.probe_elements());
    let before = vec![0.5_f32; frames];
    let mut metrics: [Vec<f64>; 5] = [0; 5].map(|_| all_f64(&before));
    let mut spectra = all_wide(&batch.waves[0]);
    for (member, (frame, pixels)) in batch.pixels().into_iter().enumerate() {
        let scale = f64::from(batch.scales[frame]);
        let (mut photons, mut roots, mut free, mut valid) = (0.0, 0.0, 0.0, 0.0_f64);
        for (pixel, (root, [model, ..])) in pixels.iter().enumerate() {
            let mut ratio = 0.0;
            if *root >= 0.0 {
                let counts = root * root;
                photons += (model - counts).powi(2) / (counts + 1.0);
                roots += (model.sqrt() - root).powi(2);
                valid += 1.0;
                ratio = loss(noise, *model, *root)[1] * f64::from(SCALE) * scale;
            } else if *root <= -2.0 {
                free += (model.sqrt() + 2.0 + root).powi(2);
            }
            let of_pixel = spectra[member * layers..(member + 1) * layers].iter_mut();
            let modes = of_pixel.skip(pixel).step_by(pixels.len());
            modes.for_each(|value| *value *= ratio);
        }
        let all = [
            roots / valid.max(1.0),
            roots / scale,
            photons / valid.max(1.0),
            roots,
            free,
        ];
        metrics
            .iter_mut()
            .zip(all)
            .for_each(|(to, value)| to[frame] = value);
    }
    let losses = all_losses(batch, noise);
    let magnitudes = on.upload(&batch.magnitudes)?;
    let scales = on.upload(&batch.scales)?;
    let order = on.upload(&batch.order)?;
    let upload = || on.upload(&before);
    bench.run(
        Case::of::<PtychoLikelihoodDeviation<'_, Emulated>>(batch.text(noise)).timed(
            shape.timed,
            16 * batch.waves[0].len() + 4 * batch.magnitudes.len(),
        ),
        (
            on.upload(&batch.waves[0])?,
            on.upload(&vec![0.5_f64; frames])?,
            [upload()?, upload()?, upload()?, upload()?, upload()?],
        ),
        |device, (spectra, losses, [errors, moved, photon, residual, free])| {
            let launch = PtychoLikelihoodDeviation {
                spectra: spectra.write(),
                magnitudes: magnitudes.read(),
                scales: scales.read(),
                order: order.read(),
                losses: losses.write(),
                errors: errors.write(),
                moved: moved.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames: shape.frames,
                first,
                count,
                modes: shape.modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                noise,
            };
            device.launch(&launch, Work::Blocks(count as usize))
        },
        |on, (found, of_loss, found_metrics)| {
            let mut error = on.error(found, &spectra)?.max(on.error(of_loss, &losses)?);
            for (found, reference) in found_metrics.iter().zip(&metrics) {
                error = error.max(on.error(found, reference)?);
            }
            Ok(error)
        },
    )
}

fn losses<M: Device>(bench: &mut Bench<'_, M>, batch: &Batch, noise: u32) -> Result<()> {
    let on = bench.on();
    let Batch {
        shape,
        first,
        count,
        ..
    } = *batch;
    let reference = all_losses(batch, noise);
    let spectra = on.upload(&batch.waves[0])?;
    let magnitudes = on.upload(&batch.magnitudes)?;
    let scales = on.upload(&batch.scales)?;
    let order = on.upload(&batch.order)?;
    bench.run(
        Case::of::<PtychoLikelihoodLosses<'_, Emulated>>(batch.text(noise)).timed(
            shape.timed,
            8 * batch.waves[0].len() + 4 * batch.magnitudes.len(),
        ),
        on.upload(&vec![0.5_f64; reference.len()])?,
        |device, losses| {
            let launch = PtychoLikelihoodLosses {
                spectra: spectra.read(),
                magnitudes: magnitudes.read(),
                scales: scales.read(),
                order: order.read(),
                losses: losses.write(),
                frames: shape.frames,
                first,
                count,
                modes: shape.modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                noise,
            };
            device.launch(&launch, Work::Blocks(count as usize))
        },
        |on, losses| on.error(losses, &reference),
    )
}

fn line_sums<M: Device>(bench: &mut Bench<'_, M>, batch: &Batch, noise: u32) -> Result<()> {
    let on = bench.on();
    let Batch {
        shape,
        first,
        count,
        ..
    } = *batch;
    let mut reference = vec![[0.5; 9]; batch.order.len()];
    for (frame, pixels) in batch.pixels() {
        reference[frame] = [0.0; 9];
        let sums = &mut reference[frame];
        for (root, along) in pixels.into_iter().filter(|(root, _)| *root >= 0.0) {
            if noise == GAUSSIAN {
                // Half the square of a polynomial.
                let mut by = along;
                by[0] -= root * root;
                for (i, left) in by.iter().enumerate() {
                    for (j, right) in by.iter().enumerate() {
                        sums[i + j] += 0.5 * left * right / (1.0 + root * root);
                    }
                }
            } else {
                let [loss, slope, curvature] = loss(noise, along[0], root);
                let bent = 0.5 * curvature * along[1].powi(2);
                sums[0] += loss;
                sums[1] += slope * along[1];
                sums[2] += slope * along[2] + bent;
                sums[3] += bent;
            }
        }
    }
    let f = on.upload(&batch.waves[0])?;
    let a = on.upload(&batch.waves[1])?;
    let b = on.upload(&batch.waves[2])?;
    let magnitudes = on.upload(&batch.magnitudes)?;
    let scales = on.upload(&batch.scales)?;
    let order = on.upload(&batch.order)?;
    bench.run(
        Case::of::<PtychoLineSums<'_, Emulated>>(batch.text(noise)).timed(
            shape.timed,
            24 * batch.waves[0].len() + 4 * batch.magnitudes.len(),
        ),
        on.upload(&vec![[0.5_f64; 9]; reference.len()])?,
        |device, sums| {
            let launch = PtychoLineSums {
                sums: sums.write(),
                f: f.read(),
                a: a.read(),
                b: b.read(),
                magnitudes: magnitudes.read(),
                scales: scales.read(),
                order: order.read(),
                frames: shape.frames,
                first,
                count,
                modes: shape.modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                noise,
            };
            device.launch(&launch, Work::Blocks(count as usize))
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}

fn line_waves<M: Device>(bench: &mut Bench<'_, M>, batch: &Batch) -> Result<()> {
    let on = bench.on();
    let Batch {
        shape,
        first,
        count,
        ..
    } = *batch;
    let mut source = Source::new("line waves", &shape);
    let [o, h] = [0, 1].map(|_| source.complex(shape.object_elements()));
    let [p, change, _] = &batch.waves;
    let places: Vec<[u32; 2]> = batch.members().iter().map(|n| batch.corners[*n]).collect();
    let mut waves: [Vec<Complex<f64>>; 3] = Default::default();
    for at in shape.indices(&places) {
        let [o, h] = [wide(o[at.object]), wide(h[at.object])];
        let [p, change] = [wide(p[at.wave]), wide(change[at.wave])];
        let values = [p * o, p * h + change * o, change * h];
        waves
            .iter_mut()
            .zip(values)
            .for_each(|(to, value)| to.push(value));
    }
    let object = on.upload(&o)?;
    let direction = on.upload(&h)?;
    let corners = on.upload(&batch.corners)?;
    let order = on.upload(&batch.order)?;
    bench.run(
        Case::of::<PtychoLineWaves<'_, Emulated>>(format!(
            "{shape}, from {first}, {} parts",
            shape.parts
        ))
        .timed(shape.timed, 40 * p.len() + 16 * o.len()),
        (
            on.upload(p)?,
            on.poisoned::<Complex32>(p.len())?,
            on.upload(change)?,
        ),
        |device, (probes, mixed, changes)| {
            let launch = PtychoLineWaves {
                probes: probes.write(),
                mixed: mixed.write(),
                changes: changes.write(),
                object: object.read(),
                direction: direction.read(),
                corners: corners.read(),
                order: order.read(),
                frames: shape.frames,
                first,
                count,
                modes: shape.modes,
                rows: shape.rows,
                columns: shape.columns,
                object_rows: shape.object_rows,
                object_columns: shape.object_columns,
                parts: shape.parts,
            };
            device.launch(&launch, Work::Blocks(count as usize * shape.parts as usize))
        },
        |on, (probes, mixed, changes)| {
            Ok(on
                .error(probes, &waves[0])?
                .max(on.error(mixed, &waves[1])?)
                .max(on.error(changes, &waves[2])?))
        },
    )
}
