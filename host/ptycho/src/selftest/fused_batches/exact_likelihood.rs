//! The kernels `ptycho_exact_gradient_*` and `ptycho_exact_line_*`.

use super::super::shape::{Shape, Source};
use super::exact::{shifted, shifted_back, spectrum_of};
use super::likelihood::{derived, line_of, lit, metrics_of, spectra};
use super::scan::{Scan, worst_metric};
use super::values::narrow;
use crate::Noise;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    exact_gradient::{
        PtychoExactGradientAmplitude64, PtychoExactGradientAmplitude128,
        PtychoExactGradientPoisson64, PtychoExactGradientPoisson128,
    },
    exact_line::{
        PtychoExactLineAmplitude64, PtychoExactLineAmplitude128, PtychoExactLinePoisson64,
        PtychoExactLinePoisson128,
    },
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// `launch!(device, (noise, side), work, Poisson64 | Poisson128 | Amplitude64 | Amplitude128 { …
/// })`
macro_rules! launch {
    ($device:expr, $which:expr, $work:expr, $a:ident | $b:ident | $c:ident | $d:ident $fields:tt) => {
        match $which {
            (Noise::Poisson, 64) => $device.launch(&$a $fields, $work),
            (Noise::Poisson, _) => $device.launch(&$b $fields, $work),
            (_, 64) => $device.launch(&$c $fields, $work),
            _ => $device.launch(&$d $fields, $work),
        }
    };
}

/// Fewer slices than frames where there are three, so that some have several frames.
fn slices(shape: &Shape) -> u32 {
    shape.frames.div_ceil(2).max(1)
}

/// The number of the first of the frame's waves.
fn start(shape: &Shape, frame: usize) -> usize {
    frame * shape.pixels()
}

/// Without the sums of the probe if the model is dark.
pub(super) fn gradient<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (noise, light): (Noise, f32),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact gradient", &shape);
    let scan = lit(Scan::new(&mut source, shape), light);
    let shifts = source.fractions(&shape);
    let spectrum = spectrum_of(&shape, &all_wide(&scan.probe));
    let summed = light >= 1.0;
    let (mut model, mut probes) = (Vec::new(), Vec::new());
    let mut metrics: [Vec<f64>; 5] = Default::default();
    for (frame, shift) in shifts.iter().enumerate() {
        let probe = shifted(&shape, &spectrum, *shift);
        let f = spectra(&shape, &scan, &[(&probe, &scan.object)], frame);
        for (metric, found) in metrics.iter_mut().zip(metrics_of(&shape, &scan, frame, &f)) {
            metric.push(found);
        }
        model.extend(f);
        probes.extend(probe);
    }
    let slices = slices(&shape);
    let old = source.complex(slices as usize * shape.pixels());
    let uploaded = scan.on(on)?;
    let fractions = on.upload(&shifts)?;
    let probe_spectrum = on.upload(&spectrum)?;
    let count = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(count));
    let text = format!("{shape}, {noise:?}, light {light}, {slices} slices");
    let case = match (noise, shape.rows) {
        (Noise::Poisson, 64) => Case::of::<PtychoExactGradientPoisson64<'_, Emulated>>(text),
        (Noise::Poisson, _) => Case::of::<PtychoExactGradientPoisson128<'_, Emulated>>(text),
        (_, 64) => Case::of::<PtychoExactGradientAmplitude64<'_, Emulated>>(text),
        _ => Case::of::<PtychoExactGradientAmplitude128<'_, Emulated>>(text),
    };
    let waves = || on.poisoned::<Complex32>(shape.frame_elements());
    bench.run(
        case.timed(shape.timed, 28 * shape.frame_elements()),
        (
            (waves()?, waves()?, waves()?, on.upload(&old)?),
            on.poisoned::<f64>(count)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, ((xi, spectra, probes, sums), losses, [errors, moved, photon, residual, free])| {
            launch!(
                device,
                (noise, shape.rows),
                Work::Blocks(slices as usize),
                PtychoExactGradientPoisson64
                    | PtychoExactGradientPoisson128
                    | PtychoExactGradientAmplitude64
                    | PtychoExactGradientAmplitude128 {
                        xi: xi.write(),
                        spectra: spectra.write(),
                        probes: probes.write(),
                        sums: sums.write(),
                        losses: losses.write(),
                        errors: errors.write(),
                        moved: moved.write(),
                        photon: photon.write(),
                        residual: residual.write(),
                        free: free.write(),
                        probe_spectrum: probe_spectrum.read(),
                        object: uploaded.object.read(),
                        magnitudes: uploaded.magnitudes.read(),
                        scales: uploaded.scales.read(),
                        corners: uploaded.corners.read(),
                        fractions: fractions.read(),
                        roots: uploaded.roots.read(),
                        frames: shape.frames,
                        slices,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                        summed: u32::from(summed),
                    }
            )
        },
        |on, ((xi, spectra, found_probes, found_sums), found_losses, found)| {
            let mut worst = on.error(spectra, &model)?;
            worst = worst.max(on.error(found_probes, &probes)?);
            // From the spectra that the kernel has found: where they are near 0, ξ of Poisson noise
            // is as their inverse.
            let mut f = vec![Complex32::default(); model.len()];
            on.download(spectra, &mut f)?;
            let (mut waves, mut losses) = (Vec::new(), Vec::new());
            let mut sums = all_wide(&old);
            for (frame, f) in f.chunks(shape.pixels()).enumerate() {
                let (of_frame, loss) = derived(&shape, &scan, frame, noise, &all_wide(f));
                if summed {
                    let projected = (of_frame.iter().enumerate())
                        .map(|(pixel, xi)| wide(scan.object[scan.place(frame, pixel)]).conj() * xi)
                        .collect();
                    let slice = frame % slices as usize;
                    let to = &mut sums[start(&shape, slice)..][..shape.pixels()];
                    if frame == slice {
                        to.fill(Complex::default());
                    }
                    let back = shifted_back(&shape, projected, shifts[frame]);
                    to.iter_mut()
                        .zip(back)
                        .for_each(|(sum, value)| *sum += value);
                }
                waves.extend(of_frame);
                losses.push(loss);
            }
            worst = worst.max(on.error(xi, &waves)?);
            worst = worst.max(on.error(found_sums, &sums)?);
            worst = worst.max(on.error(found_losses, &losses)?);
            Ok(worst.max(worst_metric(on, found, &metrics)?))
        },
    )
}

pub(super) fn line<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (noise, light): (Noise, f32),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("exact line", &shape);
    let scan = lit(Scan::new(&mut source, shape), light);
    let shifts = source.fractions(&shape);
    let spectrum = spectrum_of(&shape, &all_wide(&scan.probe));
    let along = spectrum_of(&shape, &all_wide(&source.complex(shape.pixels())));
    let on_object = source.complex(shape.object_elements());
    let (o, d) = (&scan.object[..], &on_object[..]);
    let mut waves: [Vec<Complex32>; 3] = Default::default();
    let mut reference = Vec::new();
    for (frame, shift) in shifts.iter().enumerate() {
        let p = shifted(&shape, &spectrum, *shift);
        let h = shifted(&shape, &along, *shift);
        let f = spectra(&shape, &scan, &[(&p, o)], frame);
        let (xi, _) = derived(&shape, &scan, frame, noise, &f);
        let a = spectra(&shape, &scan, &[(&p, d), (&h, o)], frame);
        let b = spectra(&shape, &scan, &[(&h, d)], frame);
        reference.push(line_of(&shape, &scan, frame, noise, [&f, &a, &b]));
        for (to, from) in waves.iter_mut().zip([xi, f, p]) {
            to.extend(from.iter().map(narrow));
        }
    }
    let slices = slices(&shape);
    let [xi, spectra, probes] = waves.each_ref().map(|values| on.upload(values));
    let (xi, spectra, probes) = (xi?, spectra?, probes?);
    let direction_spectrum = on.upload(&along)?;
    let direction = on.upload(&on_object)?;
    let fractions = on.upload(&shifts)?;
    let uploaded = scan.on(on)?;
    let text = format!("{shape}, {noise:?}, light {light}, {slices} slices");
    let case = match (noise, shape.rows) {
        (Noise::Poisson, 64) => Case::of::<PtychoExactLinePoisson64<'_, Emulated>>(text),
        (Noise::Poisson, _) => Case::of::<PtychoExactLinePoisson128<'_, Emulated>>(text),
        (_, 64) => Case::of::<PtychoExactLineAmplitude64<'_, Emulated>>(text),
        _ => Case::of::<PtychoExactLineAmplitude128<'_, Emulated>>(text),
    };
    bench.run(
        case.timed(shape.timed, 28 * shape.frame_elements()),
        (
            on.poisoned::<[f64; 3]>(reference.len())?,
            on.poisoned::<Complex32>(slices as usize * shape.pixels())?,
        ),
        |device, (sums, changes)| {
            launch!(
                device,
                (noise, shape.rows),
                Work::Blocks(slices as usize),
                PtychoExactLinePoisson64
                    | PtychoExactLinePoisson128
                    | PtychoExactLineAmplitude64
                    | PtychoExactLineAmplitude128 {
                        sums: sums.write(),
                        changes: changes.write(),
                        xi: xi.read(),
                        spectra: spectra.read(),
                        probes: probes.read(),
                        direction_spectrum: direction_spectrum.read(),
                        object: uploaded.object.read(),
                        direction: direction.read(),
                        magnitudes: uploaded.magnitudes.read(),
                        scales: uploaded.scales.read(),
                        corners: uploaded.corners.read(),
                        fractions: fractions.read(),
                        roots: uploaded.roots.read(),
                        frames: shape.frames,
                        slices,
                        object_rows: shape.object_rows,
                        object_columns: shape.object_columns,
                    }
            )
        },
        |on, (sums, _)| on.largest_error(sums, &reference),
    )
}
