//! The kernels of maximum likelihood: `ptycho_conjugate_direction`, `ptycho_line_point`,
//! `ptycho_conjugate_products`, `ptycho_conjugate_factor`, `ptycho_line_step`, `ptycho_gaussian_smoothing`, `ptycho_likelihood_deviation`,
//! `ptycho_likelihood_losses`, `ptycho_line_sums` and `ptycho_line_waves`.

use super::bench::{Bench, Case, all_f64, all_wide, wide};
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Device, Result};
use crate::ptycho::likelihood;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    conjugate_direction::{PtychoConjugateDirection, PtychoLinePoint},
    conjugate_products::PtychoConjugateProducts,
    gaussian_smoothing::PtychoGaussianSmoothing,
    likelihood_deviation::PtychoLikelihoodDeviation,
    likelihood_losses::PtychoLikelihoodLosses,
    likelihood_noise::{AMPLITUDE, GAUSSIAN, POISSON},
    line_search::{PtychoConjugateFactor, PtychoLineStep},
    line_sums::PtychoLineSums,
    line_waves::PtychoLineWaves,
};

/// An arbitrary scale for which the modelled magnitudes are some tenths, like the data.
const SCALE: f32 = 0.37;

/// Added to the modelled intensity before dividing by it.
const FLOOR: f64 = 1e-10;

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
fn loss(noise: u32, model: f64, root: f64) -> [f64; 3] {
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
