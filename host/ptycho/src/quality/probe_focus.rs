//! Focus of a probe: where along the beam it is smallest.

use crate::ProbeSize;
use crate::data::{Geometry, Propagation, Reconstruction};
use crate::model::probe_grid::with_window;
use crate::model::quadratic_phase::quadratic_phase;
use crate::session::recipe::Recipe;
use crate::start::Transfer;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use rayon::prelude::*;
use serde::Serialize;
use std::f64::consts::PI;
use std::fmt;
use warpstride_core::text::length;
use warpstride_fft::Fft2;

/// Planes on each side of the specimen that are tried first, and of large probes.
const PLANES: [i32; 2] = [40, 20];
/// Values of all modes together above which a probe is large.
const LARGE: usize = 1 << 20;
/// Most values of all modes together that are propagated: of more, the weakest modes are left out.
const MOST: usize = 1 << 22;
/// Most rows and columns of the far field that are used, those around the zero frequency.
const WIDEST: usize = 2048;
/// Factor from the distance of planes to that of the next, finer ones.
const FINER: i32 = 5;
/// Planes per depth of focus, at least, in the end.
const PER_DEPTH: f64 = 16.0;
/// Modes with a smaller share of the power are left out of the search.
const WEAK: f64 = 0.01;
/// Ratio of the largest to the smallest diameter, below which there is no focus: at an end of the
/// range a beam with a focus is about as wide as the window.
const FLAT: f64 = 1.5;
/// Side of the window, pixels, up to which the pixels of the focus are refined, and the largest
/// factor.
const REFINED: [usize; 2] = [512, 4];
/// Most bytes of waves and intensities at a time.
const BYTES: usize = 1 << 29;

/// Where a probe is smallest along the beam, and its size there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Focus {
    /// Distance from the focus to the specimen, m; positive if the specimen is downstream of the
    /// focus, as `probe.defocus` for `zone-plate` and `gaussian`.
    pub distance: f64,
    /// The same distance d′ of the model's wave, without the quadratic phase, m: 1/d′ = 1/d + 1/z,
    /// with z from specimen to detector; as `probe.defocus` for `mean-pattern` and `aperture`.
    /// [`FocusSearch::new`] takes z as infinite.
    pub model_distance: f64,
    /// Size of the intensity of all modes together in the focus.
    pub size: ProbeSize,
    /// Depth of focus λ/NA² of a uniform disc with the effective area of the far field, m: the
    /// focus is not sharper than this.
    pub depth: f64,
}

/// Why no focus was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoFocus {
    /// The diameter hardly changes within the range.
    Flat,
    /// The smallest diameter is at an end of the range.
    Border,
}

/// The search for the focus of a probe, which is propagated to planes on both sides of the
/// specimen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FocusSearch {
    /// The focus, if there is one.
    #[serde(flatten)]
    pub focus: Option<Focus>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<NoFocus>,
    /// Farthest planes on both sides of the specimen, m: there the far field's cone is as wide as
    /// the window.
    pub range: f64,
    /// Distance of the planes around the focus, m.
    pub step: f64,
    /// Planes along the beam, m (0: the specimen, negative: upstream), each with the effective
    /// diameter, m: that of a uniform disc of the area (Σ I)²/Σ I², with the intensity I of all
    /// modes together. It is 2w for a Gaussian beam of the 1/e² radius w. In the order of the
    /// planes.
    pub curve: Vec<[f64; 2]>,
}

impl FocusSearch {
    /// The focus of the probe of a result.
    ///
    /// The model of the far field leaves a quadratic phase out of the probe; it is put back, so
    /// that distances are those of the physical wave. `None` as for [`Self::new`], and in the near
    /// field.
    #[must_use]
    pub fn of_result(of: &Reconstruction) -> Option<Self> {
        // In a cone beam the factor of the spherical wave varies too fast for the pixels; in a
        // parallel beam there is no focus.
        if matches!(of.propagation, Propagation::NearField { .. }) {
            return None;
        }
        let mut probe = of.probe.clone();
        if !Recipe::from_toml(&of.recipe).is_ok_and(|recipe| recipe.physical_probe) {
            let geometry = Geometry {
                wavelength: of.wavelength,
                distance: of.distance,
                pixel_size: [1.0; 2],
                propagation: of.propagation,
            };
            quadratic_phase(&mut probe, of.pixel, &geometry, -1.0);
        }
        let mut search = Self::new(&probe, of.pixel, of.wavelength)?;
        if let Some(focus) = &mut search.focus {
            focus.model_distance = focus.distance / (1.0 + focus.distance / of.distance);
        }
        Some(search)
    }

    /// Searches for the focus of `probe` (mode, row, column) with pixels `pixel` (row, column), m,
    /// by the paraxial transfer function exp(−iπλz f²) (Goodman, Introduction to Fourier Optics,
    /// section 4.2). The focus has the smallest effective diameter.
    ///
    /// Of a probe with more than 2048 rows or columns the middle 2048 of the far field are used, of
    /// more than 4 million values the strongest modes, so that the search takes seconds.
    ///
    /// `None` for a probe without power, with values that are not finite, or without pixels.
    #[must_use]
    pub fn new(probe: &Array3<Complex<f64>>, pixel: [f64; 2], wavelength: f64) -> Option<Self> {
        let (_, rows, columns) = probe.dim();
        if rows.max(columns) > WIDEST {
            let kept = [rows, columns].map(|n| n.min(WIDEST));
            let wider =
                |axis: usize| pixel[axis] * [rows, columns][axis] as f64 / kept[axis] as f64;
            return Self::new(&with_window(probe, kept), [wider(0), wider(1)], wavelength);
        }
        let beam = Beam::new(probe, pixel, wavelength)?;
        let range = beam.window() / beam.angle();
        let depth = 4.0 * wavelength / beam.angle().powi(2);
        let large = beam.far_fields.len() * beam.far_fields[0].len() > LARGE;
        let planes = PLANES[usize::from(large)];
        let mut step = range / f64::from(planes);
        let finest = depth / PER_DEPTH;
        if ![range, step, finest]
            .iter()
            .all(|v| v.is_finite() && *v > 0.0)
        {
            return None;
        }
        let all: Vec<f64> = (-planes..=planes).map(|k| f64::from(k) * step).collect();
        let mut curve = beam.diameters(&all);
        let smallest = |curve: &[[f64; 2]]| {
            let first = curve.first().copied().unwrap_or_default();
            let less = |a: [f64; 2], b: &[f64; 2]| if b[1] < a[1] { *b } else { a };
            curve.iter().fold(first, less)
        };
        let found = smallest(&curve);
        let largest = curve.iter().map(|at| at[1]).fold(0.0, f64::max);
        let none = if largest < FLAT * found[1] {
            Some(NoFocus::Flat)
        } else if found[0].abs() > range - 0.5 * step {
            Some(NoFocus::Border)
        } else {
            None
        };
        let mut at = found[0];
        while none.is_none() && step > finest {
            let finer = step / f64::from(FINER);
            let beside: Vec<f64> = (1 - FINER..FINER)
                .filter(|k| *k != 0)
                .map(|k| at + f64::from(k) * finer)
                .collect();
            curve.extend(beam.diameters(&beside));
            at = smallest(&curve)[0];
            step = finer;
        }
        curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let focus = match none {
            Some(_) => None,
            None => Some(Focus {
                // Not −0 where the specimen is in the focus.
                distance: 0.0 - at,
                model_distance: 0.0 - at,
                size: size_at(probe, pixel, wavelength, at)?,
                depth,
            }),
        };
        Some(Self {
            focus,
            none,
            range,
            step,
            curve,
        })
    }
}

/// The far field of a probe.
struct Beam {
    /// Transforms of the strong modes, zero frequency first.
    far_fields: Vec<Array2<Complex<f64>>>,
    /// Pixel (row, column), m.
    pixel: [f64; 2],
    wavelength: f64,
    /// Diameter of the disc with the effective area of the far field, 1/m.
    width: f64,
}

impl Beam {
    fn new(probe: &Array3<Complex<f64>>, pixel: [f64; 2], wavelength: f64) -> Option<Self> {
        let (_, rows, columns) = probe.dim();
        let powers: Vec<f64> = probe
            .outer_iter()
            .map(|mode| mode.iter().map(Complex::norm_sqr).sum())
            .collect();
        let power: f64 = powers.iter().sum();
        if !(power.is_finite() && power > 0.0) {
            return None;
        }
        let mut fft = Fft2::new(rows, columns);
        let mut lit = Array2::<f64>::zeros((rows, columns));
        let mut far_fields = Vec::new();
        let strong = powers.iter().enumerate();
        let mut strong: Vec<(usize, f64)> = strong
            .map(|(mode, own)| (mode, *own))
            .filter(|(_, own)| *own >= WEAK * power)
            .collect();
        strong.sort_by(|a, b| b.1.total_cmp(&a.1));
        strong.truncate((MOST / (rows * columns).max(1)).max(1));
        for (mode, _) in strong {
            let mode = probe.index_axis(Axis(0), mode);
            let mut wave = mode.as_standard_layout().into_owned();
            fft.forward(wave.as_slice_mut()?);
            lit.zip_mut_with(&wave, |sum, v| *sum += v.norm_sqr());
            far_fields.push(wave);
        }
        let of_pixel = 1.0 / (rows as f64 * pixel[0] * columns as f64 * pixel[1]);
        let width = effective_diameter(lit.iter().copied(), of_pixel);
        (!far_fields.is_empty()).then_some(Self {
            far_fields,
            pixel,
            wavelength,
            width,
        })
    }

    /// The shorter side of the window, m.
    fn window(&self) -> f64 {
        let (rows, columns) = self.far_fields[0].dim();
        (rows as f64 * self.pixel[0]).min(columns as f64 * self.pixel[1])
    }

    /// The full opening angle, rad.
    fn angle(&self) -> f64 {
        self.wavelength * self.width
    }

    /// Planes with the effective diameters there.
    fn diameters(&self, planes: &[f64]) -> Vec<[f64; 2]> {
        let (rows, columns) = self.far_fields[0].dim();
        let bytes = rows * columns * (size_of::<Complex<f64>>() + size_of::<f64>());
        let together = (BYTES / bytes.max(1)).max(1);
        let mut found = Vec::with_capacity(planes.len());
        for some in planes.chunks(together) {
            let diameter = |fft: &mut Fft2<f64>, plane: &f64| [*plane, self.diameter(fft, *plane)];
            let part = some
                .par_iter()
                .map_init(|| Fft2::new(rows, columns), diameter);
            found.extend(part.collect::<Vec<_>>());
        }
        found
    }

    fn diameter(&self, fft: &mut Fft2<f64>, plane: f64) -> f64 {
        let (rows, columns) = self.far_fields[0].dim();
        let mut intensity = vec![0.0; rows * columns];
        let mut wave = Vec::with_capacity(rows * columns);
        let factors = Transfer::new([rows, columns], self.pixel, self.wavelength, plane);
        for far_field in &self.far_fields {
            wave.clear();
            wave.extend(far_field.iter().copied());
            factors.apply(&mut wave);
            fft.inverse(&mut wave);
            for (sum, v) in intensity.iter_mut().zip(&wave) {
                *sum += v.norm_sqr();
            }
        }
        effective_diameter(intensity.into_iter(), self.pixel[0] * self.pixel[1])
    }
}

/// Diameter of the disc with the area (Σ I)²/Σ I².
fn effective_diameter(intensity: impl Iterator<Item = f64>, of_pixel: f64) -> f64 {
    let (sum, squares) = intensity.fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
    2.0 * (sum / squares * sum * of_pixel / PI).sqrt()
}

/// The size of a probe in another plane, with finer pixels if the window has few.
fn size_at(
    probe: &Array3<Complex<f64>>,
    pixel: [f64; 2],
    wavelength: f64,
    plane: f64,
) -> Option<ProbeSize> {
    let (_, rows, columns) = probe.dim();
    let factor = (REFINED[0] / rows.max(columns)).clamp(1, REFINED[1]);
    let (rows, columns) = (rows * factor, columns * factor);
    let mut probe = with_window(probe, [rows, columns]);
    let pixel = pixel.map(|side| side / factor as f64);
    let mut fft = Fft2::new(rows, columns);
    let factors = Transfer::new([rows, columns], pixel, wavelength, plane);
    for mut mode in probe.axis_iter_mut(Axis(0)) {
        let values = mode.as_slice_mut()?;
        fft.forward(values);
        factors.apply(values);
        fft.inverse(values);
    }
    ProbeSize::new(&probe, pixel)
}

impl FocusSearch {
    /// Where the specimen is: `88.5 µm upstream`, or nothing if it is in the focus, within the
    /// distance of the planes.
    pub(crate) fn side(&self) -> Option<String> {
        let distance = self.focus?.distance;
        if distance.abs() < 0.5 * self.step {
            return None;
        }
        let side = if distance > 0.0 {
            "downstream"
        } else {
            "upstream"
        };
        Some(format!("{} {side}", length(distance.abs(), 3)))
    }
}

impl Focus {
    /// Whether the distances of the physical and of the model's wave differ by a hundredth or more.
    pub(crate) fn model_differs(&self) -> bool {
        (self.model_distance / self.distance - 1.0).abs() >= 0.01
    }
}

/// `specimen 88.5 µm upstream of it; 49.1 nm FWHM in the focus, depth of focus 11.2 µm`.
impl fmt::Display for FocusSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = length(self.range, 3);
        match (&self.focus, self.none) {
            (Some(focus), _) => {
                let place = match self.side() {
                    None => "specimen in it".to_owned(),
                    Some(side) if focus.model_differs() => format!(
                        "specimen {side} of it (probe.defocus of mean-pattern and aperture: {:.3e})",
                        focus.model_distance
                    ),
                    Some(side) => format!("specimen {side} of it"),
                };
                let fwhm = length(focus.size.fwhm, 3);
                let depth = length(focus.depth, 2);
                write!(
                    f,
                    "{place}; {fwhm} FWHM in the focus, depth of focus {depth}"
                )
            }
            (None, Some(NoFocus::Border)) => write!(
                f,
                "none found within {range} of the specimen: the probe is smallest at the end of this range"
            ),
            (None, _) => write!(
                f,
                "none found: within {range} of the specimen the probe's size hardly changes (by less than a factor of {FLAT})"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
