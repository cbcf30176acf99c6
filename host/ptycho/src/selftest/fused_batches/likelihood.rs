//! The kernels of fused conjugate gradients: `ptycho_frame_gradient_*` and `ptycho_frame_line_*`;
//! for exact positions `ptycho_exact_gradient_*` and `ptycho_exact_line_*`, in
//! `exact_likelihood.rs`, for several modes `ptycho_modes_gradient_*` and `ptycho_modes_line_*`, in
//! `modes_likelihood.rs`.

use super::super::fourier::{deviation, mean, model_metrics};
use super::super::shape::{Shape, Source};
use super::exact::transform;
use super::scan::{Scan, worst_metric};
use super::values::narrow;
use crate::Noise;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    frame_gradient::{
        PtychoFrameGradientAmplitude64, PtychoFrameGradientAmplitude128,
        PtychoFrameGradientPoisson64, PtychoFrameGradientPoisson128,
    },
    frame_line::{
        PtychoFrameLineAmplitude64, PtychoFrameLineAmplitude128, PtychoFrameLinePoisson64,
        PtychoFrameLinePoisson128,
    },
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// Noises, and factors on the probe: models about as bright as the counts, and much darker.
pub(super) const NOISES: [(Noise, f32); 4] = [
    (Noise::Poisson, 1.0),
    (Noise::Amplitude, 1.0),
    (Noise::Poisson, 3e-6),
    (Noise::Amplitude, 3e-6),
];

/// What the kernel adds to the modelled intensity.
pub(super) const FLOOR: f64 = 1e-10;

/// The scan with a factor on its probe.
pub(super) fn lit(mut scan: Scan, light: f32) -> Scan {
    for value in &mut scan.probe {
        *value = value.scale(light);
    }
    scan
}

/// The transforms, by their definition, of products on the frames: of values of the probe (mode,
/// row, column) and of the object.
pub(super) fn spectra(
    shape: &Shape,
    scan: &Scan,
    pairs: &[(&[Complex<f64>], &[Complex32])],
    frame: usize,
) -> Vec<Complex<f64>> {
    let mut values: Vec<Complex<f64>> = (0..shape.probe_elements())
        .map(|n| {
            let at = scan.place(frame, n % shape.pixels());
            let product = |(p, o): &(&[Complex<f64>], &[Complex32])| p[n] * wide(o[at]);
            pairs.iter().map(product).sum()
        })
        .collect();
    transform(shape, &mut values, Direction::Forward);
    values
}

/// Intensity and magnitude of each pixel of a frame with this spectrum (mode, row, column), and the
/// intensities' factor.
pub(super) fn modelled(
    shape: &Shape,
    scan: &Scan,
    frame: usize,
    spectrum: &[Complex<f64>],
) -> (Vec<[f64; 2]>, f64) {
    let factor = f64::from(scan.scales[frame]) / shape.pixels() as f64;
    let given = &scan.magnitudes[frame * shape.pixels()..][..shape.pixels()];
    let pixel = |(n, given): (usize, &f32)| {
        let modes = spectrum.iter().skip(n).step_by(shape.pixels());
        let intensity: f64 = modes.map(Complex::norm_sqr).sum();
        [intensity * factor, f64::from(*given)]
    };
    (given.iter().enumerate().map(pixel).collect(), factor)
}

/// ξ, unnormalised, and the loss of a frame with the spectrum `f` (mode, row, column).
pub(super) fn derived(
    shape: &Shape,
    scan: &Scan,
    frame: usize,
    noise: Noise,
    f: &[Complex<f64>],
) -> (Vec<Complex<f64>>, f64) {
    let (pixels, factor) = modelled(shape, scan, frame, f);
    let mut loss = 0.0;
    let mut xi = f.to_vec();
    for (n, [intensity, measured]) in pixels.iter().enumerate() {
        let mut of_pixel = 0.0;
        if *measured >= 0.0 {
            loss += noise.loss(*intensity, *measured);
            of_pixel = noise.slope(*intensity, *measured) * factor;
        }
        for value in xi.iter_mut().skip(n).step_by(pixels.len()) {
            *value *= of_pixel;
        }
    }
    transform(shape, &mut xi, Direction::Inverse);
    (xi, loss)
}

/// Errors, moved, photon, residual and free of a frame with the spectrum `f`.
pub(super) fn metrics_of(shape: &Shape, scan: &Scan, frame: usize, f: &[Complex<f64>]) -> [f64; 5] {
    let (mut pixels, _) = modelled(shape, scan, frame, f);
    for [intensity, _] in &mut pixels {
        *intensity += FLOOR;
    }
    let [photon, residual, free] = model_metrics(&pixels);
    let moved = residual / f64::from(scan.scales[frame]);
    [mean(&pixels, deviation), moved, photon, residual, free]
}

/// The sums along the line of a frame with the spectra `f`, `a` and `b`.
pub(super) fn line_of(
    shape: &Shape,
    scan: &Scan,
    frame: usize,
    noise: Noise,
    [f, a, b]: [&[Complex<f64>]; 3],
) -> [f64; 3] {
    let (pixels, factor) = modelled(shape, scan, frame, f);
    let mut sums = [0.0; 3];
    for (n, [intensity, measured]) in pixels.iter().enumerate() {
        if *measured < 0.0 {
            continue;
        }
        let product = |x: Complex<f64>, y: Complex<f64>| (x.conj() * y).re;
        let (mut a1, mut a2) = (0.0, 0.0);
        for n in (n..f.len()).step_by(pixels.len()) {
            a1 += 2.0 * product(f[n], a[n]) * factor;
            a2 += (2.0 * product(f[n], b[n]) + a[n].norm_sqr()) * factor;
        }
        let terms = noise.line_terms([*intensity, a1, a2, 0.0, 0.0], *measured);
        for (sum, term) in sums.iter_mut().zip(&terms[1..]) {
            *sum += term;
        }
    }
    sums
}

pub(super) fn gradient<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (noise, light): (Noise, f32),
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("frame gradient", &shape);
    let scan = lit(Scan::new(&mut source, shape), light);
    let mut model = Vec::new();
    let mut metrics: [Vec<f64>; 5] = Default::default();
    let probe = all_wide(&scan.probe);
    for frame in 0..shape.frames as usize {
        let f = spectra(&shape, &scan, &[(&probe, &scan.object)], frame);
        for (metric, found) in metrics.iter_mut().zip(metrics_of(&shape, &scan, frame, &f)) {
            metric.push(found);
        }
        model.extend(f);
    }
    let uploaded = scan.on(on)?;
    let count = shape.frames as usize;
    let [errors, moved, photon, residual, free] = [0; 5].map(|_| on.poisoned::<f32>(count));
    let text = format!("{shape}, {noise:?}, light {light}");
    let case = match (noise, shape.rows) {
        (Noise::Poisson, 64) => Case::of::<PtychoFrameGradientPoisson64<'_, Emulated>>(text),
        (Noise::Poisson, _) => Case::of::<PtychoFrameGradientPoisson128<'_, Emulated>>(text),
        (_, 64) => Case::of::<PtychoFrameGradientAmplitude64<'_, Emulated>>(text),
        _ => Case::of::<PtychoFrameGradientAmplitude128<'_, Emulated>>(text),
    };
    bench.run(
        case.timed(shape.timed, 20 * shape.frame_elements()),
        (
            on.poisoned::<Complex32>(shape.frame_elements())?,
            on.poisoned::<Complex32>(shape.frame_elements())?,
            on.poisoned::<f64>(count)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (xi, spectra, losses, [errors, moved, photon, residual, free])| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            xi: xi.write(),
                            spectra: spectra.write(),
                            losses: losses.write(),
                            errors: errors.write(),
                            moved: moved.write(),
                            photon: photon.write(),
                            residual: residual.write(),
                            free: free.write(),
                            probe: uploaded.probe.read(),
                            object: uploaded.object.read(),
                            magnitudes: uploaded.magnitudes.read(),
                            scales: uploaded.scales.read(),
                            corners: uploaded.corners.read(),
                            roots: uploaded.roots.read(),
                            frames: shape.frames,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                        },
                        Work::Blocks(count),
                    )
                };
            }
            match (noise, shape.rows) {
                (Noise::Poisson, 64) => launch!(PtychoFrameGradientPoisson64),
                (Noise::Poisson, _) => launch!(PtychoFrameGradientPoisson128),
                (_, 64) => launch!(PtychoFrameGradientAmplitude64),
                _ => launch!(PtychoFrameGradientAmplitude128),
            }
        },
        |on, (xi, spectra, found_losses, found)| {
            let mut worst = on.error(spectra, &model)?;
            // From the spectra that the kernel has found: where they are near 0, ξ of Poisson noise
            // is as their inverse.
            let mut f = vec![Complex32::default(); model.len()];
            on.download(spectra, &mut f)?;
            let (mut waves, mut losses) = (Vec::new(), Vec::new());
            for (frame, f) in f.chunks(shape.pixels()).enumerate() {
                let (of_frame, loss) = derived(&shape, &scan, frame, noise, &all_wide(f));
                waves.extend(of_frame);
                losses.push(loss);
            }
            worst = worst.max(on.error(xi, &waves)?);
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
    let mut source = Source::new("frame line", &shape);
    let scan = lit(Scan::new(&mut source, shape), light);
    let on_probe = source.complex(shape.pixels());
    let on_object = source.complex(shape.object_elements());
    let (p, h) = (all_wide(&scan.probe), all_wide(&on_probe));
    let (o, d) = (&scan.object[..], &on_object[..]);
    let mut waves: [Vec<Complex32>; 2] = Default::default();
    let mut reference = Vec::new();
    for frame in 0..shape.frames as usize {
        let f = spectra(&shape, &scan, &[(&p, o)], frame);
        let (xi, _) = derived(&shape, &scan, frame, noise, &f);
        let a = spectra(&shape, &scan, &[(&p, d), (&h, o)], frame);
        let b = spectra(&shape, &scan, &[(&h, d)], frame);
        reference.push(line_of(&shape, &scan, frame, noise, [&f, &a, &b]));
        waves[0].extend(xi.iter().map(narrow));
        waves[1].extend(f.iter().map(narrow));
    }
    let [xi, spectra] = waves.each_ref().map(|values| on.upload(values));
    let (xi, spectra) = (xi?, spectra?);
    let probe_direction = on.upload(&on_probe)?;
    let direction = on.upload(&on_object)?;
    let uploaded = scan.on(on)?;
    let text = format!("{shape}, {noise:?}, light {light}");
    let case = match (noise, shape.rows) {
        (Noise::Poisson, 64) => Case::of::<PtychoFrameLinePoisson64<'_, Emulated>>(text),
        (Noise::Poisson, _) => Case::of::<PtychoFrameLinePoisson128<'_, Emulated>>(text),
        (_, 64) => Case::of::<PtychoFrameLineAmplitude64<'_, Emulated>>(text),
        _ => Case::of::<PtychoFrameLineAmplitude128<'_, Emulated>>(text),
    };
    bench.run(
        case.timed(shape.timed, 20 * shape.frame_elements()),
        on.poisoned::<[f64; 3]>(reference.len())?,
        |device, sums| {
            macro_rules! launch {
                ($kernel:ident) => {
                    device.launch(
                        &$kernel {
                            sums: sums.write(),
                            xi: xi.read(),
                            spectra: spectra.read(),
                            probe: uploaded.probe.read(),
                            probe_direction: probe_direction.read(),
                            object: uploaded.object.read(),
                            direction: direction.read(),
                            magnitudes: uploaded.magnitudes.read(),
                            scales: uploaded.scales.read(),
                            corners: uploaded.corners.read(),
                            roots: uploaded.roots.read(),
                            frames: shape.frames,
                            object_rows: shape.object_rows,
                            object_columns: shape.object_columns,
                        },
                        Work::Blocks(shape.frames as usize),
                    )
                };
            }
            match (noise, shape.rows) {
                (Noise::Poisson, 64) => launch!(PtychoFrameLinePoisson64),
                (Noise::Poisson, _) => launch!(PtychoFrameLinePoisson128),
                (_, 64) => launch!(PtychoFrameLineAmplitude64),
                _ => launch!(PtychoFrameLineAmplitude128),
            }
        },
        |on, sums| on.largest_error(sums, &reference),
    )
}
