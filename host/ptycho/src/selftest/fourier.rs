//! The kernels `ptycho_fourier_step` and `ptycho_model_metrics`.

use super::shape::{Shape, Source};
use crate::MAGNITUDE_FLOOR;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    fourier_step::PtychoFourierStep, model_metrics::PtychoModelMetrics,
};
use warpstride_selftest::bench::{Bench, Case, wide};

/// An arbitrary scale for which the modelled magnitudes are some tenths, like the data.
const SCALE: f32 = 0.37;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    // No bound, one that every frame satisfies, and one that none does.
    for bound in [0.0, 1e3, 1e-3] {
        for coefficients in COEFFICIENTS {
            step(bench, shape, bound, coefficients)?;
        }
    }
    metrics(bench, shape)
}

/// Spectra (frame, mode, pixel) and magnitudes (frame, pixel).
struct Frames {
    spectra: Vec<Complex32>,
    magnitudes: Vec<f32>,
    pixels: usize,
    modes: usize,
}

impl Frames {
    fn new(name: &str, shape: &Shape) -> Self {
        let mut source = Source::new(name, shape);
        Self {
            spectra: source.complex(shape.wave_elements()),
            magnitudes: source.magnitudes(shape),
            pixels: shape.pixels(),
            modes: shape.modes as usize,
        }
    }

    /// Scaled Σ_modes |spectrum|² and measured magnitude of each pixel of each frame.
    fn pixels<'a, T>(
        &'a self,
        spectra: &'a [T],
        wide: impl Fn(&T) -> Complex<f64> + Copy + 'a,
    ) -> impl Iterator<Item = Vec<[f64; 2]>> + 'a {
        let frames = spectra.chunks(self.modes * self.pixels);
        frames
            .zip(self.magnitudes.chunks(self.pixels))
            .map(move |(spectra, magnitudes)| {
                let intensity = |pixel: usize| -> f64 {
                    let modes = spectra.iter().skip(pixel).step_by(self.pixels);
                    f64::from(SCALE) * modes.map(|f| wide(f).norm_sqr()).sum::<f64>()
                };
                let measured = magnitudes.iter().enumerate();
                measured
                    .map(|(pixel, m)| [intensity(pixel), f64::from(*m)])
                    .collect()
            })
    }

    fn bytes(&self) -> usize {
        8 * self.spectra.len() + 4 * self.magnitudes.len()
    }
}

/// Mean over the unmasked pixels; 0 if all are masked.
pub(super) fn mean(pixels: &[[f64; 2]], of: impl Fn(f64, f64) -> f64) -> f64 {
    let valid = || pixels.iter().filter(|[_, measured]| *measured >= 0.0);
    let sum: f64 = valid().map(|[model, measured]| of(*model, *measured)).sum();
    sum / valid().count().max(1) as f64
}

/// Coefficients keep, a, b and c of the difference map and of RAAR.
pub(super) const COEFFICIENTS: [[f32; 4]; 2] = [[1.0, -1.0, 1.0, 2.0], [0.75, -0.5, 0.75, 2.0]];

/// Mean of (I_m − I)²/(I + 1), sum of (√I_m − √I)², and that of the free pixels, of one frame.
pub(super) fn model_metrics(pixels: &[[f64; 2]]) -> [f64; 3] {
    let photon = mean(pixels, |model, measured| {
        let counts = measured * measured;
        (model - counts).powi(2) / (counts + 1.0)
    });
    let valid = pixels
        .iter()
        .filter(|[_, measured]| *measured >= 0.0)
        .count();
    let free = pixels.iter().filter(|[_, measured]| *measured <= -2.0);
    let free = free.map(|[model, measured]| deviation(*model, -2.0 - measured));
    [photon, mean(pixels, deviation) * valid as f64, free.sum()]
}

/// Squared deviation (√I_m − m)².
pub(super) fn deviation(model: f64, measured: f64) -> f64 {
    (model.sqrt() - measured).powi(2)
}

fn step<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    bound: f32,
    [keep, a, b, c]: [f32; 4],
) -> Result<()> {
    let on = bench.on();
    let model = Frames::new("step", &shape);
    let state = Source::new("state", &shape).complex(shape.wave_elements());
    let weights = [keep, a, b, c].map(f64::from);
    let reflected: Vec<Complex<f64>> = model
        .spectra
        .iter()
        .zip(&state)
        .map(|(model, psi)| wide(*model) * weights[3] + wide(*psi) * (1.0 - weights[3]))
        .collect();
    let mut next: Vec<Complex<f64>> = Vec::with_capacity(state.len());
    let mut metrics: [Vec<f64>; 5] = Default::default();
    let modelled = model.pixels(&model.spectra, |v| wide(*v));
    for (frame, (pixels, modelled)) in model.pixels(&reflected, |v| *v).zip(modelled).enumerate() {
        let error = mean(&pixels, deviation);
        let kept = match f64::from(bound) {
            0.0 => 0.0,
            bound if error <= bound => 1.0,
            bound => (bound / error).sqrt(),
        };
        let factor = |[intensity, measured]: [f64; 2]| {
            let af = intensity.sqrt();
            if measured < 0.0 || kept == 1.0 {
                1.0
            } else {
                (measured + (af - measured) * kept) / (af + MAGNITUDE_FLOOR)
            }
        };
        let start = frame * model.modes * model.pixels;
        let mut change = 0.0;
        for at in start..start + model.modes * model.pixels {
            let before = wide(state[at]);
            let projected = reflected[at] * factor(pixels[(at - start) % model.pixels]);
            let after =
                before * weights[0] + wide(model.spectra[at]) * weights[1] + projected * weights[2];
            change += (after - before).norm_sqr();
            next.push(after);
        }
        let [photon, residual, free] = model_metrics(&modelled);
        let all = [error, change * f64::from(SCALE), photon, residual, free];
        metrics
            .iter_mut()
            .zip(all)
            .for_each(|(metrics, metric)| metrics.push(metric));
    }
    let model_spectra = on.upload(&model.spectra)?;
    let magnitudes = on.upload(&model.magnitudes)?;
    let Shape { frames, modes, .. } = shape;
    let text = format!("{shape}, bound {bound}, ψ {keep}, PO {a}, Π {b}");
    let metric = || on.poisoned::<f32>(frames as usize);
    bench.run(
        Case::of::<PtychoFourierStep<'_, Emulated>>(text)
            .timed(shape.timed, model.bytes() + 16 * state.len()),
        (
            on.upload(&state)?,
            [metric()?, metric()?, metric()?, metric()?, metric()?],
        ),
        |device, (spectra, [errors, moved, photon, residual, free])| {
            let launch = PtychoFourierStep {
                spectra: spectra.write(),
                model: model_spectra.read(),
                magnitudes: magnitudes.read(),
                errors: errors.write(),
                moved: moved.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames,
                modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                bound,
                keep,
                a,
                b,
                c,
            };
            device.launch(&launch, Work::Blocks(frames as usize))
        },
        |on, (spectra, found)| {
            let mut worst = on.error(spectra, &next)?;
            for (found, metrics) in found.iter().zip(&metrics) {
                worst = worst.max(on.error(found, metrics)?);
            }
            Ok(worst)
        },
    )
}

fn metrics<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let data = Frames::new("metrics", &shape);
    let mut photons = Vec::new();
    let mut residuals = Vec::new();
    let mut frees = Vec::new();
    for pixels in data.pixels(&data.spectra, |v| wide(*v)) {
        let [photon, residual, free] = model_metrics(&pixels);
        photons.push(photon);
        residuals.push(residual);
        frees.push(free);
    }
    let spectra = on.upload(&data.spectra)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let Shape { frames, modes, .. } = shape;
    bench.run(
        Case::of::<PtychoModelMetrics<'_, Emulated>>(shape.to_string())
            .timed(shape.timed, data.bytes()),
        (
            on.poisoned::<f32>(frames as usize)?,
            on.poisoned::<f32>(frames as usize)?,
            on.poisoned::<f32>(frames as usize)?,
        ),
        |device, (photon, residual, free)| {
            let launch = PtychoModelMetrics {
                spectra: spectra.read(),
                magnitudes: magnitudes.read(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames,
                modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(frames as usize))
        },
        |on, (photon, residual, free)| {
            Ok(on
                .error(photon, &photons)?
                .max(on.error(residual, &residuals)?)
                .max(on.error(free, &frees)?))
        },
    )
}
