//! Probes that are shifted by fractions of a pixel: S_f multiplies a spectrum by a phase ramp; it
//! is unitary, so its adjoint is S_{−f}.

use crate::engines::cpu::arrays::window::Layout;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_fft::{FftScratch, Real, TransposedFft2};

/// Phase ramps exp(−2πi k f/n) of both axes; zero frequency first.
pub(in crate::engines::cpu) struct Ramps<T> {
    rows: Vec<Complex<T>>,
    columns: Vec<Complex<T>>,
}

impl<T: Real> Ramps<T> {
    /// The ramps that shift by `fraction` (rows, columns).
    pub(in crate::engines::cpu) fn new(layout: &Layout, fraction: [f64; 2]) -> Self {
        Self::of_shape([layout.rows, layout.columns], fraction)
    }

    /// The same for `shape` (rows, columns).
    pub(in crate::engines::cpu) fn of_shape(shape: [usize; 2], fraction: [f64; 2]) -> Self {
        Self {
            rows: ramp(shape[0], fraction[0]),
            columns: ramp(shape[1], fraction[1]),
        }
    }

    /// Calls `take(i, ramp)` for each value of a spectrum (column, row).
    pub(in crate::engines::cpu) fn for_each(&self, mut take: impl FnMut(usize, Complex<T>)) {
        let rows = self.rows.len();
        for (column, c) in self.columns.iter().enumerate() {
            for (row, r) in self.rows.iter().enumerate() {
                take(column * rows + row, c * r);
            }
        }
    }
}

/// The phase ramps of the points of a frame's exposure, and the root of the share of the light that
/// each of them has.
pub(in crate::engines::cpu) struct PointRamps<T> {
    points: Vec<Ramps<T>>,
    root: T,
}

impl<T: Real> PointRamps<T> {
    /// For a frame whose position has this fraction.
    pub(in crate::engines::cpu) fn new(layout: &Layout, frame: usize, fraction: [f64; 2]) -> Self {
        let of_point = |point| Ramps::new(layout, layout.fly.at(frame, point, fraction));
        Self {
            points: (0..layout.fly.points()).map(of_point).collect(),
            root: T::of(layout.fly.root()),
        }
    }
}

/// The signed frequency of index `k` of `n`; that of n/2 is −n/2.
pub(in crate::engines::cpu) fn frequency(k: usize, n: usize) -> f64 {
    let signed = if 2 * k < n {
        k as f64
    } else {
        k as f64 - n as f64
    };
    signed / n as f64
}

fn ramp<T: Real>(n: usize, shift: f64) -> Vec<Complex<T>> {
    let value = |k: usize| {
        let phase = Complex::cis(-TAU * frequency(k, n) * shift);
        Complex::new(T::of(phase.re), T::of(phase.im))
    };
    (0..n).map(value).collect()
}

/// Scratch memory of one thread.
pub(in crate::engines::cpu) struct Scratch<T> {
    /// (row, column).
    pub(in crate::engines::cpu) wave: Vec<Complex<T>>,
    /// Input of an inverse transform (column, row).
    pub(in crate::engines::cpu) spectrum: Vec<Complex<T>>,
    /// Unnormalised detector waves of the exit waves (wave, column, row).
    pub(in crate::engines::cpu) model: Vec<Complex<T>>,
    /// Factor on each pixel of the model (column, row).
    pub(in crate::engines::cpu) factor: Vec<T>,
    pub(in crate::engines::cpu) fft: FftScratch<T>,
}

impl<T: Real> Scratch<T> {
    pub(in crate::engines::cpu) fn new(layout: &Layout, fft: &TransposedFft2<T>) -> Self {
        let pixels = layout.pixels();
        Self {
            wave: vec![Complex::default(); pixels],
            spectrum: vec![Complex::default(); pixels],
            model: vec![Complex::default(); layout.waves() * pixels],
            factor: vec![T::default(); pixels],
            fft: fft.scratch(),
        }
    }
}

/// Unnormalised transforms (mode, column, row) of layers (mode, row, column).
pub(in crate::engines::cpu) fn spectra<T: Real>(
    layers: &[Complex<T>],
    pixels: usize,
    fft: &TransposedFft2<T>,
) -> Vec<Complex<T>> {
    let mut scratch = fft.scratch();
    let mut spectra = vec![Complex::default(); layers.len()];
    for (layer, spectrum) in layers
        .chunks_exact(pixels)
        .zip(spectra.chunks_exact_mut(pixels))
    {
        fft.forward(&mut layer.to_vec(), spectrum, &mut scratch);
    }
    spectra
}

/// Writes the layers whose unnormalised transforms are `spectra`, shifted to each point, to `to`
/// (point, mode, row, column), with the root of the point's share of the light as a factor.
pub(in crate::engines::cpu) fn shifted<T: Real>(
    spectra: &[Complex<T>],
    ramps: &PointRamps<T>,
    to: &mut [Complex<T>],
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    let pixels = scratch.spectrum.len();
    let scale2 = fft.scale() * fft.scale() * ramps.root;
    let of_points = to.chunks_exact_mut(spectra.len().max(1));
    for (ramps, to) in ramps.points.iter().zip(of_points) {
        for (from, to) in spectra
            .chunks_exact(pixels)
            .zip(to.chunks_exact_mut(pixels))
        {
            let spectrum = &mut scratch.spectrum;
            ramps.for_each(|i, ramp| spectrum[i] = (from[i] * ramp).scale(scale2));
            fft.inverse(spectrum, to, &mut scratch.fft);
        }
    }
}

/// Writes the derivative of the layer, shifted to `point`, by the shift along `axis` to
/// `scratch.wave`; `spectrum` is the layer's unnormalised transform.
pub(in crate::engines::cpu) fn shifted_derivative<T: Real>(
    spectrum: &[Complex<T>],
    ramps: &PointRamps<T>,
    (point, axis): (usize, usize),
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    let scale2 = fft.scale() * fft.scale() * ramps.root;
    let ramps = &ramps.points[point];
    let [rows, columns] = [ramps.rows.len(), ramps.columns.len()];
    let factors = |n: usize| -> Vec<T> {
        (0..n)
            .map(|k| T::of(-TAU * frequency(k, n)) * scale2)
            .collect()
    };
    let by_row = factors(rows);
    let by_column = factors(columns);
    let to = &mut scratch.spectrum;
    ramps.for_each(|i, ramp| {
        let factor = if axis == 0 {
            by_row[i % rows]
        } else {
            by_column[i / rows]
        };
        to[i] = spectrum[i] * ramp * Complex::new(T::default(), factor);
    });
    fft.inverse(to, &mut scratch.wave, &mut scratch.fft);
}

/// Adds the unnormalised transform of `scratch.wave`, shifted back from `point` and with its
/// factor, to `sum` (column, row): the adjoint of [`shifted`].
pub(in crate::engines::cpu) fn add_shifted_back<T: Real>(
    ramps: &PointRamps<T>,
    point: usize,
    sum: &mut [Complex<T>],
    fft: &TransposedFft2<T>,
    scratch: &mut Scratch<T>,
) {
    fft.forward(&mut scratch.wave, &mut scratch.spectrum, &mut scratch.fft);
    let (spectrum, root) = (&scratch.spectrum, ramps.root);
    ramps.points[point].for_each(|i, ramp| sum[i] += (spectrum[i] * ramp.conj()).scale(root));
}
