//! `magnitude_update` and `model_metrics`.

use super::bench::{Bench, Case, wide};
use super::shape::{Shape, Source};
use crate::gpu::{Buffer, Machine, Result};
use crate::ptycho::MAGNITUDE_FLOOR;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{magnitude_update::MagnitudeUpdate, model_metrics::ModelMetrics};

/// Any number: the modelled magnitudes become some tenths, as the data are.
const SCALE: f32 = 0.37;

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    // None, one that every frame is within, one that none is.
    for bound in [0.0, 1e3, 1e-3] {
        magnitudes(bench, shape, bound)?;
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

    /// Modelled counts and measured magnitude of each pixel of each frame.
    fn pixels(&self) -> impl Iterator<Item = Vec<[f64; 2]>> {
        let frames = self.spectra.chunks(self.modes * self.pixels);
        frames
            .zip(self.magnitudes.chunks(self.pixels))
            .map(|(spectra, magnitudes)| {
                let modelled = |pixel: usize| -> f64 {
                    let modes = spectra.iter().skip(pixel).step_by(self.pixels);
                    f64::from(SCALE) * modes.map(|f| wide(*f).norm_sqr()).sum::<f64>()
                };
                let measured = magnitudes.iter().enumerate();
                measured
                    .map(|(pixel, m)| [modelled(pixel), f64::from(*m)])
                    .collect()
            })
    }

    fn bytes(&self) -> usize {
        8 * self.spectra.len() + 4 * self.magnitudes.len()
    }
}

/// Mean over the pixels that are not masked; 0 where all are.
fn mean(pixels: &[[f64; 2]], of: impl Fn(f64, f64) -> f64) -> f64 {
    let valid = || pixels.iter().filter(|[_, measured]| *measured >= 0.0);
    let sum: f64 = valid().map(|[model, measured]| of(*model, *measured)).sum();
    sum / valid().count().max(1) as f64
}

fn magnitudes<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape, bound: f32) -> Result<()> {
    let on = bench.on();
    let data = Frames::new("magnitudes", &shape);
    let mut deviations = Vec::new();
    let mut projected: Vec<Complex<f64>> = Vec::with_capacity(data.spectra.len());
    for (frame, pixels) in data.pixels().enumerate() {
        let error = mean(&pixels, |model, measured| (model.sqrt() - measured).powi(2));
        let keep = match f64::from(bound) {
            0.0 => 0.0,
            bound if error <= bound => 1.0,
            bound => (bound / error).sqrt(),
        };
        let factors = pixels.iter().map(|[model, measured]| {
            let modelled = model.sqrt();
            if *measured < 0.0 || keep == 1.0 {
                f64::from(SCALE)
            } else {
                let wanted = measured + (modelled - measured) * keep;
                wanted / (modelled + MAGNITUDE_FLOOR) * f64::from(SCALE)
            }
        });
        let waves = &data.spectra[frame * data.modes * data.pixels..];
        let waves = &waves[..data.modes * data.pixels];
        projected.extend(
            waves
                .iter()
                .zip(factors.collect::<Vec<_>>().iter().cycle())
                .map(|(wave, factor)| wide(*wave) * *factor),
        );
        deviations.push(error);
    }
    let magnitudes = on.upload(&data.magnitudes)?;
    let Shape { frames, modes, .. } = shape;
    bench.run(
        Case::of::<MagnitudeUpdate<'_, Emulated>>(format!("{shape}, bound {bound}"))
            .timed(shape.timed, data.bytes() + 8 * data.spectra.len()),
        (
            on.upload(&data.spectra)?,
            on.poisoned::<f32>(frames as usize)?,
        ),
        |machine, (aux, errors)| {
            let launch = MagnitudeUpdate {
                aux: aux.write(),
                magnitudes: magnitudes.read(),
                errors: errors.write(),
                frames,
                modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
                bound,
            };
            machine.launch(&launch, Work::Blocks(frames as usize))
        },
        |on, (aux, errors)| {
            Ok(on
                .error(aux, &projected)?
                .max(on.error(errors, &deviations)?))
        },
    )
}

fn metrics<M: Machine>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let data = Frames::new("metrics", &shape);
    let mut photons = Vec::new();
    let mut residuals = Vec::new();
    for pixels in data.pixels() {
        photons.push(mean(&pixels, |model, measured| {
            let counts = measured * measured;
            (model - counts).powi(2) / (counts + 1.0)
        }));
        let valid = pixels
            .iter()
            .filter(|[_, measured]| *measured >= 0.0)
            .count();
        let mean = mean(&pixels, |model, measured| (model.sqrt() - measured).powi(2));
        residuals.push(mean * valid as f64);
    }
    let spectra = on.upload(&data.spectra)?;
    let magnitudes = on.upload(&data.magnitudes)?;
    let Shape { frames, modes, .. } = shape;
    bench.run(
        Case::of::<ModelMetrics<'_, Emulated>>(shape.to_string()).timed(shape.timed, data.bytes()),
        (
            on.poisoned::<f32>(frames as usize)?,
            on.poisoned::<f32>(frames as usize)?,
        ),
        |machine, (photon, residual)| {
            let launch = ModelMetrics {
                spectra: spectra.read(),
                magnitudes: magnitudes.read(),
                photon: photon.write(),
                residual: residual.write(),
                frames,
                modes,
                pixels: shape.pixels() as u32,
                scale: SCALE,
            };
            machine.launch(&launch, Work::Blocks(frames as usize))
        },
        |on, (photon, residual)| {
            Ok(on
                .error(photon, &photons)?
                .max(on.error(residual, &residuals)?))
        },
    )
}
