//! The kernels `ptycho_detector_waves`, `ptycho_detector_step` and `ptycho_detector_sums`.

use super::data::{Data, SCALE};
use crate::model::detector::{SEEN, TERMS, free_terms, seen_terms};
use crate::selftest::shape::{Shape, Source};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    detector_step::PtychoDetectorStep, detector_sums::PtychoDetectorSums,
    detector_waves::PtychoDetectorWaves,
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// δ of the background's sums.
const DELTA: f64 = 0.03;

pub(super) fn waves<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, summed: bool) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector waves", &shape);
    let data = Data::new(&mut source, &shape);
    let (size, elements) = (shape.pixels(), shape.probe_elements());
    let values = source.complex(data.batch.elements(&shape));
    let mut reference = all_wide(&values);
    let mut moved = vec![0.5; shape.frames as usize];
    for (member, waves) in reference.chunks_exact_mut(elements).enumerate() {
        for (at, value) in waves.iter_mut().enumerate() {
            *value *= f64::from(data.measured[member * size + at % size]);
        }
        if summed {
            let power: f64 = waves.iter().map(Complex::norm_sqr).sum();
            moved[data.batch.frames()[member] as usize] = power * size as f64;
        }
    }
    let factors = on.upload(&data.measured)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoDetectorWaves<'_, Emulated>>(format!(
            "{}, sums {summed}",
            data.label(&shape)
        ))
        .timed(shape.timed, 16 * values.len() + 4 * data.measured.len()),
        (on.upload(&values)?, on.upload(&vec![0.5_f32; moved.len()])?),
        |device, (waves, moved)| {
            let launch = PtychoDetectorWaves {
                waves: waves.write(),
                factors: factors.read(),
                order: order.read(),
                moved: moved.write(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                pixels: size as u32,
                sums: u32::from(summed),
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, (waves, of_frames)| {
            Ok(on
                .error(waves, &reference)?
                .max(on.error(of_frames, &moved)?))
        },
    )
}

pub(super) fn step<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    bound: f32,
    [keep, a, b, c]: [f32; 4],
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector step", &shape);
    let data = Data::new(&mut source, &shape);
    let (size, elements) = (shape.pixels(), shape.probe_elements());
    let [state, model] = [0; 2].map(|_| source.complex(shape.wave_elements()));
    let factors: Vec<f32> = data.measured.iter().map(|v| v - 1.0).collect();
    let errors = source.reals(shape.frames as usize, 0.1, 1.0);
    let mut reference: Vec<Complex<f64>> = all_wide(&state);
    let mut moved = vec![0.5; shape.frames as usize];
    let [keep_w, a_w, b_w, c_w] = [keep, a, b, c].map(f64::from);
    for member in 0..data.batch.count as usize {
        let frame = data.batch.first as usize + member;
        let kept = match f64::from(bound) {
            0.0 => 0.0,
            limit if f64::from(errors[frame]) <= limit => 1.0,
            limit => (limit / f64::from(errors[frame])).sqrt(),
        };
        let mut change = 0.0;
        for at in frame * elements..(frame + 1) * elements {
            let factor = f64::from(factors[member * size + at % size]);
            let (psi, wave) = (reference[at], wide(model[at]));
            let reflected = psi * (1.0 - c_w) + wave * c_w;
            let projected = reflected * (b_w * (1.0 + (1.0 - kept) * factor));
            let next = psi * keep_w + wave * a_w + projected;
            change += (next - psi).norm_sqr();
            reference[at] = next;
        }
        moved[frame] = change * f64::from(SCALE);
    }
    let model = on.upload(&model)?;
    let given = on.upload(&factors)?;
    let of_frames = on.upload(&errors)?;
    let text = format!(
        "{}, bound {bound}, keep {keep}, a {a}, b {b}, c {c}",
        data.label(&shape)
    );
    bench.run(
        Case::of::<PtychoDetectorStep<'_, Emulated>>(text).timed(
            shape.timed,
            24 * data.batch.elements(&shape) + 4 * factors.len(),
        ),
        (on.upload(&state)?, on.upload(&vec![0.5_f32; moved.len()])?),
        |device, (spectra, moved)| {
            let launch = PtychoDetectorStep {
                spectra: spectra.write(),
                model: model.read(),
                factors: given.read(),
                errors: of_frames.read(),
                moved: moved.write(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                modes: shape.modes,
                pixels: size as u32,
                scale: SCALE,
                bound,
                keep,
                a,
                b,
                c,
            };
            device.launch(&launch, Work::Blocks(data.batch.count as usize))
        },
        |on, (spectra, of_moved)| {
            Ok(on
                .error(spectra, &reference)?
                .max(on.error(of_moved, &moved)?))
        },
    )
}

pub(super) fn sums<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("detector sums", &shape);
    let data = Data::new(&mut source, &shape);
    let size = shape.pixels();
    let before = all_f64(&source.reals(TERMS * size, 0.0, 1.0));
    let mut reference = before.clone();
    for (member, frame) in data.batch.frames().iter().enumerate() {
        let pixels = data.pixels(&shape, member, *frame as usize);
        for (pixel, [model, magnitude]) in pixels.into_iter().enumerate() {
            let background = f64::from(data.background[pixel]);
            let mut terms = [0.0; TERMS];
            if magnitude >= 0.0 {
                let of_pixel = seen_terms(magnitude * magnitude, model, background, DELTA);
                terms[..SEEN].copy_from_slice(&of_pixel);
            } else if magnitude <= -2.0 {
                let counts = (-2.0 - magnitude).powi(2);
                terms[SEEN..].copy_from_slice(&free_terms(counts, model, background));
            }
            for (term, value) in terms.into_iter().enumerate() {
                reference[term * size + pixel] += value;
            }
        }
    }
    let measured = on.upload(&data.measured)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let background = on.upload(&data.background)?;
    let order = on.upload(&data.batch.order)?;
    bench.run(
        Case::of::<PtychoDetectorSums<'_, Emulated>>(data.label(&shape))
            .within(1e-12)
            .timed(shape.timed, 8 * data.measured.len() + 16 * before.len()),
        on.upload(&before)?,
        |device, to| {
            let launch = PtychoDetectorSums {
                sums: to.write(),
                measured: measured.read(),
                magnitudes: magnitudes.read(),
                background: background.read(),
                order: order.read(),
                frames: shape.frames,
                first: data.batch.first,
                count: data.batch.count,
                pixels: size as u32,
                floor: DELTA,
            };
            device.launch(&launch, Work::Elements(size))
        },
        |on, to| on.error(to, &reference),
    )
}
