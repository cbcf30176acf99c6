//! Multislice: a thick specimen as slices O_1 … O_N with distances Δz_s between them (Maiden,
//! Humphry & Rodenburg, J. Opt. Soc. Am. A 29, 1606 (2012)).
//!
//! The wave at the first slice is the probe, ψ_1 = S\[P\], and from each slice to the next it
//! propagates through free space,
//!
//! ```text
//! ψ_{s+1} = A_s[ψ_s · O_s],   A_s e = F⁻¹[exp(iκ Δz_s) · F e],   κ(f) = (2π/λ) (√(1 − (λf)²) − 1),  0 where λ|f| > 1
//! ```
//!
//! on the grid of the frame's window, which is periodic. The exit wave ψ_N · O_N travels to the
//! detector. This module has what the engines of both back ends share.

use crate::data::{Scan, SliceStack};
use crate::session::recipe::{LARGEST_DISTANCE, REFINE_FROM, SliceDistance, SliceOptions};
use crate::{ProblemError, Recipe, Values};
use ndarray::{Array3, s};
use num_complex::Complex;
use std::f64::consts::TAU;
use std::sync::Arc;
use warpstride_core::text::{length, significant};
use warpstride_fft::Fft2;

/// Largest change of a distance in an iteration, as a part of it.
const LARGEST_CHANGE: f64 = 0.03;
/// A distance is at most this factor from its start, either way.
const FARTHEST: f64 = 2.0;
/// Relaxation of the first step.
const FIRST_RELAXATION: f64 = 10.0;
/// Limits of the relaxation.
const RELAXATION: [f64; 2] = [1.0, 1000.0];
/// Factors on the relaxation: after two steps to the same side, and to different sides.
const FACTORS: [f64; 2] = [1.25, 0.5];
/// How the notes on the distances begin.
pub(crate) const NOTES: [&str; 2] = ["slices: light spreads", "slices: they are too near"];
/// Smallest useful distance, depths of field.
const NEAREST: f64 = 0.01;
/// Name of the distances in saved states.
const STATE: &str = "slice distances";

/// What the waves between slices depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct SlicePlan {
    /// Wavelength, m.
    pub wavelength: f64,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// Distance from each slice to the next at the start, m.
    pub distances: Vec<f64>,
    /// Whether all of them are one number.
    pub same: bool,
    /// Whether they are refined.
    pub refine: bool,
    /// First iteration of the run, counted from 1, after which they are.
    pub refine_from: usize,
}

impl SlicePlan {
    /// That of a recipe, with the wavelength and the object pixel (row, column), m; `None` for a
    /// thin specimen.
    pub(crate) fn new(options: &SliceOptions, wavelength: f64, pixel: [f64; 2]) -> Option<Self> {
        options.are_on().then(|| Self {
            wavelength,
            pixel,
            distances: options.distances(),
            same: !matches!(options.distance, Some(SliceDistance::Each(_))),
            refine: options.refine_distance,
            refine_from: options.refine_from,
        })
    }

    /// Number of slices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.distances.len() + 1
    }

    /// κ of an array of `rows` × `columns` (row, column), zero frequency at (0, 0), rad/m; `None`
    /// where waves are evanescent.
    #[must_use]
    pub fn kappa(&self, rows: usize, columns: usize) -> Vec<Option<f64>> {
        let square = |k: usize, n: usize, pixel: f64| {
            let signed = k.min(n - k) as f64;
            (self.wavelength * signed / (n as f64 * pixel)).powi(2)
        };
        let value = |i: usize| {
            let (row, column) = (i / columns, i % columns);
            let sine = square(row, rows, self.pixel[0]) + square(column, columns, self.pixel[1]);
            // √(1 − s) − 1 without cancellation.
            (sine <= 1.0).then(|| -TAU / self.wavelength * sine / (1.0 + (1.0 - sine).sqrt()))
        };
        (0..rows * columns).map(value).collect()
    }

    /// λΔz/(nΔ²) of the largest distance, for windows of `shape` (rows, columns): above 1 the phase
    /// of the transfer function changes by more than π from one frequency to the next, so that
    /// light leaves the window on one side and enters it on the other.
    #[must_use]
    pub fn spread(&self, shape: [usize; 2]) -> f64 {
        let longest = self.distances.iter().copied().fold(0.0, f64::max);
        let of = |axis: usize| {
            self.wavelength * longest / (shape[axis] as f64 * self.pixel[axis].powi(2))
        };
        of(0).max(of(1))
    }

    /// The depth of field λ/NA² = 4Δ²/λ of the finer axis, m.
    fn depth_of_field(&self) -> f64 {
        let finest = self.pixel[0].min(self.pixel[1]);
        4.0 * finest * finest / self.wavelength
    }

    /// A note if light leaves the window on one side and enters it on the other, or if slices are
    /// so near that they cannot be told apart.
    pub(crate) fn note(&self, shape: [usize; 2]) -> Option<String> {
        let spread = self.spread(shape);
        let nearest = self.distances.iter().copied().fold(f64::INFINITY, f64::min);
        let depth = self.depth_of_field();
        if nearest < NEAREST * depth {
            return Some(format!(
                "{} to be told apart: expected a distance of at least {} ({NEAREST} of the depth of field λ/NA² of {}), found {}",
                NOTES[1],
                length(NEAREST * depth, 3),
                length(depth, 3),
                length(nearest, 3)
            ));
        }
        (spread > 1.0).then(|| {
            format!(
                "{} beyond the window of a frame on its way to the next slice: λΔz/(nΔ²) is {}, expected at most 1; larger frames or smaller distances help",
                NOTES[0],
                significant(spread, 3)
            )
        })
    }
}

/// What a scan and the distances between the slices of a recipe say about its model, if that is
/// doubtful: near fields, which have no slices, or light that leaves the windows of the frames.
#[must_use]
pub fn slices_note(scan: &Scan, recipe: &Recipe) -> Option<String> {
    let [_, rows, columns] = scan.shape();
    let geometry = scan.geometry();
    let plan = SlicePlan::new(&recipe.slices, geometry.wavelength, scan.object_pixel())?;
    if geometry.is_near_field() {
        let refused = ProblemError::NearSlices(recipe.slices.count);
        return Some(refused.to_string());
    }
    plan.note([rows, columns])
}

/// exp(iκΔz), 0 where waves are evanescent.
pub(crate) fn factor(kappa: Option<f64>, distance: f64) -> Complex<f64> {
    kappa.map_or(Complex::default(), |kappa| Complex::cis(kappa * distance))
}

/// Takes waves through the slices of a specimen in double precision. A clone has the same factors
/// in memory.
pub(crate) struct SlicePropagator {
    shape: [usize; 2],
    fft: Fft2<f64>,
    /// exp(iκΔz) (row, column) of each distance; equal distances have one array.
    factors: Vec<Arc<Vec<Complex<f64>>>>,
}

impl Clone for SlicePropagator {
    fn clone(&self) -> Self {
        let [rows, columns] = self.shape;
        Self {
            shape: self.shape,
            fft: Fft2::new(rows, columns),
            factors: self.factors.clone(),
        }
    }
}

impl SlicePropagator {
    /// For windows of `shape` (rows, columns).
    pub(crate) fn new(plan: &SlicePlan, [rows, columns]: [usize; 2]) -> Self {
        let kappa = plan.kappa(rows, columns);
        let mut factors: Vec<Arc<Vec<Complex<f64>>>> = Vec::with_capacity(plan.distances.len());
        for (n, distance) in plan.distances.iter().enumerate() {
            let same = plan.distances[..n].iter().position(|d| d == distance);
            factors.push(match same {
                Some(place) => Arc::clone(&factors[place]),
                None => Arc::new(kappa.iter().map(|k| factor(*k, *distance)).collect()),
            });
        }
        Self {
            shape: [rows, columns],
            fft: Fft2::new(rows, columns),
            factors,
        }
    }

    /// Replaces `wave`, that at the first slice, by the exit wave behind the last one, of the
    /// window with this corner on `slices` (slice, row, column).
    pub(crate) fn make_exit_wave(
        &mut self,
        wave: &mut [Complex<f64>],
        slices: &Array3<Complex<f64>>,
        [top, left]: [u32; 2],
    ) {
        let (top, left) = (top as usize, left as usize);
        let [rows, columns] = self.shape;
        for (n, slice) in slices.outer_iter().enumerate() {
            let window = slice.slice_move(s![top..top + rows, left..left + columns]);
            wave.iter_mut().zip(window).for_each(|(v, o)| *v *= o);
            if let Some(factors) = self.factors.get(n) {
                self.fft.forward(wave);
                wave.iter_mut().zip(&**factors).for_each(|(v, k)| *v *= k);
                self.fft.inverse(wave);
            }
        }
    }
}

impl SliceStack {
    /// How waves travel between the slices.
    pub(crate) fn plan(&self, wavelength: f64, pixel: [f64; 2]) -> SlicePlan {
        SlicePlan {
            wavelength,
            pixel,
            distances: self.distances.clone(),
            same: false,
            refine: false,
            refine_from: REFINE_FROM,
        }
    }
}

/// Whether each distance is the farthest from its start that the refinement allows, m.
pub(crate) fn at_limit(distances: &[f64], start: &[f64]) -> Vec<bool> {
    let limit = |(distance, start): (&f64, &f64)| {
        let ratio = distance / start;
        ratio <= (1.0 + 1e-6) / FARTHEST || ratio >= FARTHEST * (1.0 - 1e-6)
    };
    distances.iter().zip(start).map(limit).collect()
}

/// The distances between slices, and how they are refined.
///
/// An iteration gives for every distance the Gauss–Newton step r = Σ Re⟨c, χ⟩/Σ|c|² of the waves
/// behind it, c = ∂ψ/∂Δz, at the present slices. These have adapted to the present distance, so
/// that r has the right sign, but only about a thousandth of the distance to the minimum that
/// slices and distances have together. Each step is therefore r times a relaxation, at most 3 % of
/// the distance; the relaxation grows while steps go to one side, and falls when they change sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distances {
    /// Present distances, m.
    pub(crate) values: Vec<f64>,
    start: Vec<f64>,
    same: bool,
    /// The relaxation of each distance, and the last r, m.
    relaxation: Vec<[f64; 2]>,
}

impl Distances {
    pub(crate) fn new(plan: &SlicePlan) -> Self {
        Self {
            values: plan.distances.clone(),
            start: plan.distances.clone(),
            same: plan.same,
            relaxation: vec![[FIRST_RELAXATION, 0.0]; plan.distances.len()],
        }
    }

    /// Moves the distances, by the sums Σ Re⟨c, χ⟩ and Σ|c|² of an iteration for each of them.
    pub(crate) fn advance(&mut self, sums: &[[f64; 2]]) {
        let all = sums
            .iter()
            .fold([0.0; 2], |t, s| [t[0] + s[0], t[1] + s[1]]);
        for (n, own) in sums.iter().enumerate().take(self.values.len()) {
            let [along, square] = if self.same { all } else { *own };
            let step = along / square;
            if !(square > 0.0 && step.is_finite()) {
                continue;
            }
            let [relaxation, last] = &mut self.relaxation[n];
            if *last * step > 0.0 {
                *relaxation *= FACTORS[0];
            } else if *last * step < 0.0 {
                *relaxation *= FACTORS[1];
            }
            *relaxation = relaxation.clamp(RELAXATION[0], RELAXATION[1]);
            *last = step;
            let value = &mut self.values[n];
            let limit = LARGEST_CHANGE * *value;
            *value += (*relaxation * step).clamp(-limit, limit);
            *value = value.clamp(self.start[n] / FARTHEST, self.start[n] * FARTHEST);
        }
    }

    /// What a saved state has of them: (distance, relaxation) and (r, start) of each, then 1 if all
    /// are one number, or 0.
    pub(crate) fn state(&self) -> (String, Values) {
        let each = self.values.iter().zip(&self.relaxation).zip(&self.start);
        let mut values: Vec<Complex<f64>> = each
            .flat_map(|((d, [by, last]), start)| {
                [Complex::new(*d, *by), Complex::new(*last, *start)]
            })
            .collect();
        values.push(Complex::from(f64::from(u8::from(self.same))));
        (STATE.to_owned(), Values::F64(values))
    }

    /// Takes what [`Self::state`] has saved, with the start, which may be that of an earlier
    /// result; `None`, and nothing is taken, if `saved` has other distances.
    pub(crate) fn restore(&mut self, saved: Option<&Values>) -> Option<()> {
        let Some(Values::F64(saved)) = saved else {
            return None;
        };
        let gaps = self.values.len();
        // Earlier checkpoints have neither the start nor whether all are one number: both are those
        // of the recipe.
        let complete = saved.len() == 2 * gaps + 1;
        if !complete && saved.len() != 2 * gaps {
            return None;
        }
        let start: Vec<f64> = match complete {
            true => saved[..2 * gaps].chunks_exact(2).map(|p| p[1].im).collect(),
            false => self.start.clone(),
        };
        let fits = |(pair, start): (&[Complex<f64>], &f64)| {
            let range = start / FARTHEST * 0.999..=start * FARTHEST * 1.001;
            (*start > 0.0 && *start <= LARGEST_DISTANCE)
                && range.contains(&pair[0].re)
                && pair[0].im.is_finite()
                && pair[1].re.is_finite()
        };
        if !saved.chunks_exact(2).zip(&start).all(fits) {
            return None;
        }
        for (n, pair) in saved[..2 * gaps].chunks_exact(2).enumerate() {
            self.values[n] = pair[0].re;
            self.relaxation[n] = [pair[0].im, pair[1].re];
        }
        if complete {
            self.same = saved[2 * gaps].re != 0.0;
        }
        self.start = start;
        Some(())
    }

    /// The name of the distances in a saved state.
    pub(crate) const STATE: &'static str = STATE;

    /// The slices (slice, row, column) with the distances.
    pub(crate) fn stack(&self, slices: Array3<Complex<f64>>) -> SliceStack {
        SliceStack {
            slices,
            distances: self.values.clone(),
            start_distances: self.start.clone(),
        }
    }
}

#[cfg(test)]
mod engines;
#[cfg(test)]
mod tests;
