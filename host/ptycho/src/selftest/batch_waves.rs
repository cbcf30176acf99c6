//! The kernels `ptycho_shifted_spectra`, `ptycho_window_product`, `ptycho_window_residual` and
//! `ptycho_magnitude_deviation`; and the batches of frames of which these and others are tested.

use super::fourier::{deviation, mean, model_metrics};
use super::shape::{PixelIndices, Shape, Source};
use crate::MAGNITUDE_FLOOR;
use num_complex::Complex;
use rand::seq::SliceRandom;
use std::f64::consts::TAU;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    magnitude_deviation::PtychoMagnitudeDeviation, shifted_spectra::PtychoShiftedSpectra,
    window_product::PtychoWindowProduct, window_residual::PtychoWindowResidual,
};
use warpstride_selftest::bench::{Bench, Case, all_f64, all_wide, wide};

/// An arbitrary scale for which the modelled magnitudes are some tenths, like the data.
pub(super) const SCALE: f32 = 0.37;

/// Derivative, and whether the frames' scales are used.
const SHIFTS: [(u32, bool); 4] = [(0, false), (0, true), (1, true), (2, false)];

/// Frames before those of the batch in the destination and in the source, whether the grid is
/// conjugated, and whether all frames have the same source.
const PRODUCTS: [([u32; 2], bool, bool); 4] = [
    ([0, 0], false, false),
    ([2, 1], true, false),
    ([0, 3], false, false),
    ([1, 0], false, true),
];

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for (derivative, scaled) in SHIFTS {
        shifted(bench, shape, derivative, scaled)?;
    }
    for (before, conjugate, same) in PRODUCTS {
        product(bench, shape, before, conjugate, same)?;
    }
    for before in [0, 2] {
        residual(bench, shape, before)?;
    }
    magnitudes(bench, shape)
}

/// A batch: `count` frames from place `first` of a shuffled order.
pub(super) struct Batch {
    pub(super) order: Vec<u32>,
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Batch {
    /// About half of the frames, with others before and after them where there are enough. The
    /// second frame is among them.
    pub(super) fn new(source: &mut Source, shape: &Shape) -> Self {
        let frames = shape.frames;
        let mut order: Vec<u32> = (0..frames).collect();
        order.shuffle(&mut source.random);
        let first = if frames == 2 { 1 } else { frames / 3 };
        if let Some(place) = order.iter().position(|frame| *frame == 1) {
            order.swap(place, first as usize);
        }
        Self {
            order,
            first,
            count: frames.div_ceil(2).min(frames - first),
        }
    }

    /// All frames.
    pub(super) fn whole(source: &mut Source, shape: &Shape) -> Self {
        Self {
            first: 0,
            count: shape.frames,
            ..Self::new(source, shape)
        }
    }

    /// Numbers of the batch's frames.
    pub(super) fn frames(&self) -> &[u32] {
        &self.order[self.first as usize..][..self.count as usize]
    }

    /// Values of the batch's frames, from those of all frames.
    pub(super) fn of<T: Copy>(&self, values: &[T]) -> Vec<T> {
        let value = |frame: &u32| values[*frame as usize];
        self.frames().iter().map(value).collect()
    }

    /// Elements of the waves of the batch's frames.
    pub(super) fn elements(&self, shape: &Shape) -> usize {
        self.count as usize * shape.probe_elements()
    }

    /// Part of a case's description.
    pub(super) fn label(&self) -> String {
        format!("{} frames from {}", self.count, self.first)
    }
}

impl Source {
    /// Fractions of a pixel, and more than one.
    pub(super) fn fractions(&mut self, shape: &Shape) -> Vec<[f32; 2]> {
        let values = self.reals(2 * shape.frames as usize, -1.3, 1.3);
        values.chunks_exact(2).map(|v| [v[0], v[1]]).collect()
    }

    /// Intensity scales of the frames.
    pub(super) fn scales(&mut self, shape: &Shape) -> Vec<f32> {
        self.reals(shape.frames as usize, 0.5, 1.5)
    }

    /// As [`magnitudes`](Self::magnitudes), with counts of 0 too.
    pub(super) fn magnitudes_with_zeros(&mut self, shape: &Shape) -> Vec<f32> {
        let mut values = self.magnitudes(shape);
        for value in values.iter_mut().step_by(11) {
            if *value >= 0.0 {
                *value = 0.0;
            }
        }
        values
    }
}

/// Signed frequencies of a pixel of a spectrum along rows and columns, in cycles a pixel.
pub(super) fn frequencies(shape: &Shape, pixel: usize) -> [f64; 2] {
    let signed = |k: usize, n: u32| {
        let n = i64::from(n);
        let half = n / 2;
        ((k as i64 + half).rem_euclid(n) - half) as f64 / n as f64
    };
    let columns = shape.columns as usize;
    [
        signed(pixel / columns, shape.rows),
        signed(pixel % columns, shape.columns),
    ]
}

/// exp(−2πi f · shift).
pub(super) fn ramp(frequencies: [f64; 2], shift: [f32; 2]) -> Complex<f64> {
    let turns = [0, 1].map(|axis| frequencies[axis] * f64::from(shift[axis]));
    Complex::cis(-TAU * (turns[0] + turns[1]))
}

fn shifted<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    derivative: u32,
    scaled: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("shifted", &shape);
    let batch = Batch::new(&mut source, &shape);
    let layers = source.complex(shape.probe_elements());
    let (shifts, factors) = (source.fractions(&shape), source.scales(&shape));
    let mut reference = Vec::with_capacity(batch.elements(&shape));
    for frame in batch.frames() {
        let frame = *frame as usize;
        let root = if scaled {
            f64::from(factors[frame]).sqrt()
        } else {
            1.0
        };
        for (at, value) in layers.iter().enumerate() {
            let frequencies = frequencies(&shape, at % shape.pixels());
            let by = match derivative {
                0 => Complex::new(1.0, 0.0),
                axis => Complex::new(0.0, -TAU * frequencies[axis as usize - 1]),
            };
            let factor = ramp(frequencies, shifts[frame]) * by * (root * f64::from(SCALE));
            reference.push(wide(*value) * factor);
        }
    }
    let spectra = on.upload(&layers)?;
    let fractions = on.upload(&shifts)?;
    // Scales that must not be read are NaN.
    let scales = if scaled {
        on.upload(&factors)?
    } else {
        on.poisoned(factors.len())?
    };
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        parts,
        ..
    } = shape;
    let text = format!(
        "{shape}, {}, {parts} parts, derivative {derivative}{}",
        batch.label(),
        if scaled { ", scaled" } else { "" }
    );
    bench.run(
        Case::of::<PtychoShiftedSpectra<'_, Emulated>>(text)
            .timed(shape.timed, 8 * (reference.len() + layers.len())),
        on.poisoned::<Complex32>(reference.len())?,
        |device, to| {
            let launch = PtychoShiftedSpectra {
                to: to.write(),
                spectra: spectra.read(),
                fractions: fractions.read(),
                scales: scales.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                parts,
                derivative,
                scaled: u32::from(scaled),
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks((batch.count * parts) as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

fn product<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    [to_first, from_first]: [u32; 2],
    conjugate: bool,
    same: bool,
) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("product", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let [to_start, from_start] =
        [to_first, from_first].map(|first| first as usize * shape.probe_elements());
    let before = source.complex(to_start + elements);
    let waves = source.complex(match same {
        true => shape.probe_elements(),
        false => from_start + elements,
    });
    let values = source.complex(shape.object_elements());
    let windows = source.corners(&shape);
    let mut reference = all_wide(&before);
    for at in shape.indices(&batch.of(&windows)) {
        let o = wide(values[at.object]);
        let o = if conjugate { o.conj() } else { o };
        let of_wave = match same {
            true => at.wave % shape.probe_elements(),
            false => from_start + at.wave,
        };
        reference[to_start + at.wave] = wide(waves[of_wave]) * o;
    }
    let from = on.upload(&waves)?;
    let grid = on.upload(&values)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        parts,
        ..
    } = shape;
    let text = format!(
        "{shape}, {}, {parts} parts, from frame {from_first} to {to_first}{}{}",
        batch.label(),
        if conjugate { ", conjugate" } else { "" },
        if same { ", the same for all" } else { "" }
    );
    bench.run(
        Case::of::<PtychoWindowProduct<'_, Emulated>>(text)
            .timed(shape.timed, 16 * elements + 8 * values.len()),
        on.upload(&before)?,
        |device, to| {
            let launch = PtychoWindowProduct {
                to: to.write(),
                from: from.read(),
                grid: grid.read(),
                corners: corners.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                parts,
                to_first,
                from_first,
                conjugate: u32::from(conjugate),
                to_layers: 1,
                from_layers: 1,
                sources: if same { 1 } else { from_first + batch.count },
            };
            device.launch(&launch, Work::Blocks((batch.count * parts) as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

/// The waves of the batch begin at frame `psi_first`.
fn residual<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, psi_first: u32) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("residual", &shape);
    let batch = Batch::new(&mut source, &shape);
    let elements = batch.elements(&shape);
    let start = psi_first as usize * shape.probe_elements();
    let waves = source.complex(start + elements);
    let shifted = source.complex(elements);
    let values = source.complex(shape.object_elements());
    let windows = source.corners(&shape);
    let one = |at: PixelIndices| {
        let o = wide(values[at.object]);
        let psi = wide(waves[start + at.wave]) * f64::from(SCALE);
        o.conj() * (psi - wide(shifted[at.wave]) * o)
    };
    let reference: Vec<Complex<f64>> = shape.indices(&batch.of(&windows)).map(one).collect();
    let psi = on.upload(&waves)?;
    let probes = on.upload(&shifted)?;
    let object = on.upload(&values)?;
    let corners = on.upload(&windows)?;
    let order = on.upload(&batch.order)?;
    let Shape {
        frames,
        modes,
        rows,
        columns,
        object_rows,
        object_columns,
        parts,
        ..
    } = shape;
    let text = format!(
        "{shape}, {}, {parts} parts, ψ from frame {psi_first}",
        batch.label()
    );
    bench.run(
        Case::of::<PtychoWindowResidual<'_, Emulated>>(text)
            .timed(shape.timed, 24 * elements + 8 * values.len()),
        on.poisoned::<Complex32>(elements)?,
        |device, to| {
            let launch = PtychoWindowResidual {
                to: to.write(),
                psi: psi.read(),
                probes: probes.read(),
                object: object.read(),
                corners: corners.read(),
                order: order.read(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                rows,
                columns,
                object_rows,
                object_columns,
                parts,
                psi_first,
                layers: 1,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks((batch.count * parts) as usize))
        },
        |on, to| on.error(to, &reference),
    )
}

/// Spectra of a batch, and the counts and scales of all frames.
pub(super) struct Measured {
    pub(super) spectra: Vec<Complex32>,
    pub(super) magnitudes: Vec<f32>,
    pub(super) scales: Vec<f32>,
}

impl Measured {
    /// The spectra are 0 in the middle of the batch's last frame.
    pub(super) fn new(source: &mut Source, shape: &Shape, batch: &Batch) -> Self {
        let pixels = shape.pixels();
        let mut spectra = source.complex(batch.elements(shape));
        if let Some(last) = spectra.rchunks_mut(shape.probe_elements()).next() {
            let dark = last.iter_mut().skip(pixels / 2).step_by(pixels);
            dark.for_each(|value| *value = Complex32::ZERO);
        }
        Self {
            spectra,
            magnitudes: source.magnitudes_with_zeros(shape),
            scales: source.scales(shape),
        }
    }

    /// Factor on the intensities of a frame.
    pub(super) fn factor(&self, frame: usize) -> f64 {
        f64::from(SCALE) * f64::from(self.scales[frame])
    }

    /// Modelled intensity and measured magnitude of each pixel of frame `frame`, whose spectra are
    /// `spectra`.
    pub(super) fn pixels(
        &self,
        shape: &Shape,
        frame: usize,
        spectra: &[Complex32],
    ) -> Vec<[f64; 2]> {
        let pixels = shape.pixels();
        let one = |pixel: usize| {
            let modes = spectra.iter().skip(pixel).step_by(pixels);
            let power: f64 = modes.map(|f| wide(*f).norm_sqr()).sum();
            let measured = f64::from(self.magnitudes[frame * pixels + pixel]);
            [power * self.factor(frame), measured]
        };
        (0..pixels).map(one).collect()
    }
}

fn magnitudes<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    let on = bench.on();
    let mut source = Source::new("deviation", &shape);
    let batch = Batch::new(&mut source, &shape);
    let data = Measured::new(&mut source, &shape, &batch);
    let before = [0; 5].map(|_| source.reals(shape.frames as usize, 0.0, 1.0));
    // The metrics of the other frames must stay.
    let mut metrics = before.each_ref().map(|values| all_f64(values));
    let mut next: Vec<Complex<f64>> = Vec::with_capacity(data.spectra.len());
    let of_frames = data.spectra.chunks(shape.probe_elements());
    for (frame, spectra) in batch.frames().iter().zip(of_frames) {
        let frame = *frame as usize;
        let pixels = data.pixels(&shape, frame, spectra);
        let mut change = 0.0;
        for (at, value) in spectra.iter().enumerate() {
            let [intensity, measured] = pixels[at % pixels.len()];
            let root = intensity.sqrt();
            let ratio = if measured < 0.0 {
                0.0
            } else {
                (measured - root) / (root + MAGNITUDE_FLOOR)
            };
            let value = wide(*value) * (ratio * f64::from(SCALE));
            change += value.norm_sqr();
            next.push(value);
        }
        let moved = change * shape.pixels() as f64;
        let [photon, residual, free] = model_metrics(&pixels);
        let found = [mean(&pixels, deviation), moved, photon, residual, free];
        for (metric, found) in metrics.iter_mut().zip(found) {
            metric[frame] = found;
        }
    }
    let magnitudes = on.upload(&data.magnitudes)?;
    let scales = on.upload(&data.scales)?;
    let order = on.upload(&batch.order)?;
    let [errors, moved, photon, residual, free] = before.each_ref().map(|values| on.upload(values));
    let Shape { frames, modes, .. } = shape;
    let pixels = shape.pixels() as u32;
    bench.run(
        Case::of::<PtychoMagnitudeDeviation<'_, Emulated>>(format!("{shape}, {}", batch.label()))
            .timed(
                shape.timed,
                16 * data.spectra.len() + 4 * (batch.count * pixels) as usize,
            ),
        (
            on.upload(&data.spectra)?,
            [errors?, moved?, photon?, residual?, free?],
        ),
        |device, (spectra, [errors, moved, photon, residual, free])| {
            let launch = PtychoMagnitudeDeviation {
                spectra: spectra.write(),
                magnitudes: magnitudes.read(),
                scales: scales.read(),
                order: order.read(),
                errors: errors.write(),
                moved: moved.write(),
                photon: photon.write(),
                residual: residual.write(),
                free: free.write(),
                frames,
                first: batch.first,
                count: batch.count,
                modes,
                pixels,
                scale: SCALE,
            };
            device.launch(&launch, Work::Blocks(batch.count as usize))
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
