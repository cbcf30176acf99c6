//! Start probes from the optics: an aperture, a Fresnel zone plate, a Gaussian beam. Each is given
//! by its far field, and must fit the grid of pixels.
//!
//! The model's wave is the physical one without the quadratic phase exp(−iπr²/(λz)) of Fraunhofer's
//! integral, z being the distance to the detector. A wave that is d downstream of its focus
//! therefore becomes one that is d′ downstream of another focus, with 1/d′ = 1/d + 1/z, which is
//! smaller by z/(z + d).

use super::StartError;
use crate::ReadOptions;
use crate::data::Scan;
use crate::session::recipe::{ApertureShape, ProbeStart};
use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::PI;
use warpstride_core::text::{length, shortest, significant};

/// Relative tolerance of limits, for rounding.
pub(super) const ROUNDING: f64 = 1e-9;
/// Share of the light beyond the cropped frames above which there is a note.
const NOTED_LOSS: f64 = 0.01;

/// A wave in the focus, by its far field.
pub(super) struct Model {
    /// Far field (row, column), zero frequency at (rows/2, columns/2).
    pub(super) far_field: Array2<Complex<f64>>,
    /// Distance from the focus of the model's wave to the specimen, m.
    pub(super) distance: f64,
    /// What it is, for the user.
    pub(super) note: String,
}

/// The frames' pixels on the object and on the detector, before `data.coarse` crops them.
pub(super) struct Grid {
    /// Rows and columns of a frame.
    sizes: [usize; 2],
    /// Object pixel (row, column), m.
    pixel: [f64; 2],
    /// The smallest object pixel that the frames may have had before `data.coarse`, which rounds
    /// their sizes down, m.
    finest: [f64; 2],
    /// Whether `data.crop` cuts the frames, so that a lit disc may be larger than they are.
    cropped: bool,
    /// Rows and columns of the frames that are reconstructed.
    kept: [usize; 2],
    /// Wavelength, m.
    pub(super) wavelength: f64,
    /// Specimen to detector, m.
    distance: f64,
    /// Detector pixel (row, column), m.
    detector_pixel: [f64; 2],
}

impl Grid {
    /// The grid of a scan that was read with the options `data`.
    pub(super) fn new(scan: &Scan, data: &ReadOptions) -> Self {
        let [_, rows, columns] = scan.shape();
        let geometry = scan.geometry();
        let coarse = data.coarse.unwrap_or(1).max(1);
        let of_coarse = scan.object_pixel();
        let kept = [rows, columns];
        // The window does not depend on the number of pixels.
        let finest = |axis: usize| {
            let most = kept[axis] * coarse + coarse - 1;
            of_coarse[axis] * kept[axis] as f64 / most as f64
        };
        Self {
            sizes: kept.map(|n| n * coarse),
            pixel: of_coarse.map(|side| side / coarse as f64),
            finest: [finest(0), finest(1)],
            cropped: data.crop.is_some(),
            kept,
            wavelength: geometry.wavelength,
            distance: geometry.distance,
            detector_pixel: geometry.pixel_size,
        }
    }

    /// The shorter side of the window on the specimen, m.
    pub(super) fn window(&self) -> f64 {
        let [rows, columns] = self.window_sides();
        rows.min(columns)
    }

    fn window_sides(&self) -> [f64; 2] {
        [0, 1].map(|axis| self.sizes[axis] as f64 * self.pixel[axis])
    }

    /// The least size of a focus, m, if there is a limit.
    pub(super) fn least(&self) -> f64 {
        if self.cropped {
            return 0.0;
        }
        self.finest[0].max(self.finest[1])
    }

    /// The least and the largest waist w of a Gaussian beam, m, whose waist in the model is not
    /// smaller than the least size of a focus, g, `along` from the waist to the detector: w ≥ g
    /// √(along² + (πw²/λ)²)/z, a quadratic inequality in w². A larger beam is wider on the detector
    /// than the frames. The least is above the largest if there is none.
    fn waists(&self, along: f64) -> [f64; 2] {
        let least = self.least();
        if least == 0.0 {
            return [0.0, f64::INFINITY];
        }
        let near = least * along / self.distance;
        let far = self.wavelength * self.distance / (PI * least);
        let root = 1.0 - (2.0 * near / far).powi(2);
        if root < 0.0 {
            return [f64::INFINITY, 0.0];
        }
        let middle = ((1.0 + root.sqrt()) / 2.0).sqrt();
        [near / middle, far * middle]
    }

    /// Crops a far field to the pixels of the frames that are reconstructed, with a note if more
    /// than a hundredth of its light is beyond them.
    ///
    /// # Errors
    /// There is no light in these pixels.
    pub(super) fn cropped(
        &self,
        far_field: &Array2<Complex<f64>>,
        notes: &mut Vec<String>,
    ) -> Result<Array2<Complex<f64>>, StartError> {
        if self.kept == self.sizes {
            return Ok(far_field.clone());
        }
        let first = [0, 1].map(|axis| self.sizes[axis] / 2 - self.kept[axis] / 2);
        let [rows, columns] = self.kept;
        let kept = Array2::from_shape_fn((rows, columns), |(r, c)| {
            far_field[[first[0] + r, first[1] + c]]
        });
        if is_dark(&kept) {
            return Err(StartError::Grid {
                option: "data.coarse",
                expected: "frames with light of the start probe".to_owned(),
                found: format!("none in their middle {rows} x {columns} pixels"),
            });
        }
        let power = |of: &Array2<Complex<f64>>| of.iter().map(Complex::norm_sqr).sum::<f64>();
        let lost = 1.0 - power(&kept) / power(far_field);
        if lost > NOTED_LOSS {
            notes.push(format!(
                "start probe: {} % of its light is beyond the {rows} x {columns} pixels that data.coarse leaves",
                significant(100.0 * lost, 2)
            ));
        }
        Ok(kept)
    }

    /// The ratio of the distances from the focus and from the specimen to the detector, 1 + d/z.
    ///
    /// # Errors
    /// The focus is behind the detector.
    fn spread(&self, defocus: f64) -> Result<f64, StartError> {
        let spread = 1.0 + defocus / self.distance;
        if spread > 0.0 {
            return Ok(spread);
        }
        Err(StartError::Grid {
            option: "probe.defocus",
            expected: format!(
                "more than {} (metres), so that the focus is before the detector",
                shortest(-self.distance)
            ),
            found: shortest(defocus),
        })
    }

    /// The far field with an amplitude at each spatial frequency (row, column), 1/m.
    fn far_field(&self, amplitude: impl Fn(f64, f64) -> f64) -> Array2<Complex<f64>> {
        self.complex_far_field(|y, x| Complex::from(amplitude(y, x)))
    }

    /// The far field with a complex amplitude at each spatial frequency (row, column), 1/m.
    pub(super) fn complex_far_field(
        &self,
        amplitude: impl Fn(f64, f64) -> Complex<f64>,
    ) -> Array2<Complex<f64>> {
        let [rows, columns] = self.sizes;
        let window = self.window_sides();
        Array2::from_shape_fn((rows, columns), |(r, c)| {
            let y = (r as f64 - (rows / 2) as f64) / window[0];
            let x = (c as f64 - (columns / 2) as f64) / window[1];
            amplitude(y, x)
        })
    }

    /// An aperture in the far field: `widths` (row, column) in spatial frequencies, 1/m; in its
    /// middle the share `stop` of it is dark.
    fn lit(&self, widths: [f64; 2], shape: ApertureShape, stop: f64) -> Array2<Complex<f64>> {
        self.far_field(|y, x| {
            let (y, x) = (2.0 * y / widths[0], 2.0 * x / widths[1]);
            let outward = match shape {
                ApertureShape::Circle => y.hypot(x),
                ApertureShape::Rectangle => y.abs().max(x.abs()),
            };
            let open = outward <= 1.0 + ROUNDING && (stop == 0.0 || outward > stop);
            f64::from(u8::from(open))
        })
    }
}

fn is_dark(far_field: &Array2<Complex<f64>>) -> bool {
    far_field.iter().all(|v| v.norm_sqr() == 0.0)
}

/// The far field of an aperture: a uniformly lit disc or rectangle on the detector, with a central
/// stop. Its defocus is that of the model's wave.
///
/// # Errors
/// No detector pixel is lit.
pub(super) fn aperture(
    grid: &Grid,
    options: &ProbeStart,
    notes: &mut Vec<String>,
) -> Result<Model, StartError> {
    let ProbeStart {
        aperture,
        shape,
        central_stop: stop,
        defocus,
        ..
    } = *options;
    let height = match shape {
        ApertureShape::Circle => aperture,
        ApertureShape::Rectangle => options.aperture_height.unwrap_or(aperture),
    };
    // Shares of the detector, whose width in spatial frequencies is one over the object pixel.
    let widths = [height / grid.pixel[0], aperture / grid.pixel[1]];
    if is_dark(&grid.lit(widths, shape, 0.0)) {
        return Err(StartError::DarkAperture(shortest(aperture)));
    }
    let far_field = grid.lit(widths, shape, stop);
    if is_dark(&far_field) {
        return Err(StartError::Grid {
            option: "probe.central_stop",
            expected: "a share of the aperture that leaves a detector pixel lit".to_owned(),
            found: shortest(stop),
        });
    }
    let beam = [0, 1].map(|axis| defocus.abs() * grid.wavelength * widths[axis]);
    let window = grid.window_sides();
    if beam[0] > window[0] || beam[1] > window[1] {
        notes.push(format!(
            "probe.defocus = {defocus:e} makes the start probe about {} x {} wide, more than the window of {} x {}",
            length(beam[0], 3),
            length(beam[1], 3),
            length(window[0], 3),
            length(window[1], 3)
        ));
    }
    let name = match shape {
        ApertureShape::Circle => "an aperture".to_owned(),
        ApertureShape::Rectangle if height == aperture => "a rectangular aperture".to_owned(),
        ApertureShape::Rectangle => format!(
            "a rectangular aperture of {} of the frame's height and",
            shortest(height)
        ),
    };
    let of = if name.ends_with("and") { "" } else { "of " };
    let stopped = match stop {
        0.0 => String::new(),
        stop => format!(", its central {} dark,", shortest(stop)),
    };
    Ok(Model {
        far_field,
        distance: defocus,
        note: format!(
            "{name} {of}{aperture} of the frame's width{stopped} with a defocus of {} m",
            shortest(defocus)
        ),
    })
}

/// The far field of a Fresnel zone plate's first-order focus, by an ideal lens of the same diameter
/// D. The focal length is f = D Δr/λ, so that a disc of diameter D (z + d)/f = λ(z + d)/Δr is lit
/// on the detector at z + d from the focus (Attwood, Soft X-Rays and Extreme Ultraviolet Radiation,
/// chapter 9), of which the central stop takes its share.
///
/// # Errors
/// The disc, the focus or the defocused probe does not fit the grid.
pub(super) fn zone_plate(grid: &Grid, options: &ProbeStart) -> Result<Model, StartError> {
    // A checked recipe has both.
    let diameter = options.diameter.unwrap_or(1.0);
    let zone = options.outermost_zone.unwrap_or(1.0);
    let (stop, defocus) = (options.stop_diameter / diameter, options.defocus);
    let spread = grid.spread(defocus)?;
    let disc = grid.wavelength * grid.distance * spread / zone;
    let misfit = |option, expected, found| {
        Err(StartError::Grid {
            option,
            expected,
            found,
        })
    };
    let least = grid.least() * spread;
    if zone < least * (1.0 - ROUNDING) {
        let detector =
            [0, 1].map(|axis| length(grid.sizes[axis] as f64 * grid.detector_pixel[axis], 3));
        return misfit(
            "probe.outermost_zone",
            format!(
                "at least {}, so that the lit disc is within the frames",
                in_pixels(least, spread)
            ),
            format!(
                "{}, whose disc has a diameter of {} on frames of {} x {}",
                length(zone, 3),
                length(disc, 3),
                detector[0],
                detector[1]
            ),
        );
    }
    let window = grid.window();
    if zone > window / 2.0 {
        return misfit(
            "probe.outermost_zone",
            format!(
                "at most half the window of {}, so that the focus is within it",
                length(window, 3)
            ),
            length(zone, 3),
        );
    }
    // Wavelength over zone is the diameter over the focal length.
    let widest = window * zone / grid.wavelength;
    if defocus.abs() > widest {
        return misfit(
            "probe.defocus",
            format!(
                "at most {} (metres) up or down, where the probe is as wide as the window of {}",
                rounded_down(widest),
                length(window, 3)
            ),
            format!(
                "{}, where it is {} wide",
                shortest(defocus),
                length(defocus.abs() * grid.wavelength / zone, 3)
            ),
        );
    }
    let far_field = grid.lit([spread / zone; 2], ApertureShape::Circle, stop);
    if is_dark(&far_field) {
        return misfit(
            "probe.stop_diameter",
            "a diameter that leaves a detector pixel lit".to_owned(),
            format!(
                "{} in a zone plate of {}",
                length(options.stop_diameter, 3),
                length(diameter, 3)
            ),
        );
    }
    let stopped = match options.stop_diameter {
        0.0 => String::new(),
        stop => format!(" and a central stop of {}", length(stop, 3)),
    };
    Ok(Model {
        far_field,
        distance: defocus / spread,
        note: format!(
            "a zone plate of {} with an outermost zone of {}{stopped}: focal length {}, a disc of {} on the detector; {}",
            length(diameter, 3),
            length(zone, 3),
            length(diameter * zone / grid.wavelength, 3),
            length(disc, 3),
            in_words(defocus)
        ),
    })
}

/// The far field of the waist of a Gaussian beam, exp(−(π w₀ f)²) at the spatial frequency f for
/// the amplitude exp(−r²/w₀²). At d its radius is w₀ √(1 + (d/z_R)²) with z_R = π w₀²/λ (Saleh &
/// Teich, Fundamentals of Photonics, section 3.1).
///
/// Without the quadratic phase the parameter q = d − i z_R becomes q′ with 1/q′ = 1/q + 1/z, that
/// of a waist of w₀ z/√((z + d)² + z_R²) at d′ = z (d (z + d) + z_R²)/((z + d)² + z_R²).
///
/// # Errors
/// The waist is smaller than a pixel, or the beam is wider than the window.
pub(super) fn gaussian(grid: &Grid, options: &ProbeStart) -> Result<Model, StartError> {
    // A checked recipe has it.
    let waist = options.waist_radius.unwrap_or(1.0);
    let defocus = options.defocus;
    let window = grid.window();
    let along = grid.distance * grid.spread(defocus)?;
    let rayleigh = PI * waist * waist / grid.wavelength;
    let far = along.hypot(rayleigh);
    let spread = far / grid.distance;
    let misfit = |option, expected, found| {
        Err(StartError::Grid {
            option,
            expected,
            found,
        })
    };
    let [least, most] = grid.waists(along);
    let fits = least * (1.0 - ROUNDING) <= waist && waist <= most * (1.0 + ROUNDING);
    if !fits || 2.0 * waist > window {
        return misfit(
            "probe.waist_radius",
            waists_in_words(grid, [least, most]),
            length(waist, 3),
        );
    }
    let radius = waist * (1.0 + (defocus / rayleigh).powi(2)).sqrt();
    if 2.0 * radius > window {
        let widest = rayleigh * ((0.5 * window / waist).powi(2) - 1.0).sqrt();
        return misfit(
            "probe.defocus",
            format!(
                "at most {} (metres) up or down, where the 1/e^2 diameter is the window of {}",
                rounded_down(widest),
                length(window, 3)
            ),
            format!(
                "{}, where it is {}",
                shortest(defocus),
                length(2.0 * radius, 3)
            ),
        );
    }
    let of_model = waist / spread;
    let far_field = grid.far_field(|y, x| (-(PI * of_model).powi(2) * (y * y + x * x)).exp());
    Ok(Model {
        far_field,
        distance: grid.distance * (defocus * along + rayleigh * rayleigh) / (far * far),
        note: format!(
            "a Gaussian beam with a waist of {} (1/e^2 radius), of {} on the specimen; {}",
            length(waist, 3),
            length(radius, 3),
            in_words(defocus)
        ),
    })
}

/// The range of waists that fit the frames (`least` to `most`) and the window.
fn waists_in_words(grid: &Grid, [least, most]: [f64; 2]) -> String {
    let window = grid.window();
    if least > most.min(window / 2.0) {
        return format!(
            "a waist with which the beam is within the frames and the window of {}, but there is none",
            length(window, 3)
        );
    }
    let upper = if most < window / 2.0 {
        format!(
            "at most {}, so that the beam is within the frames",
            length(most, 3)
        )
    } else {
        format!("at most half the window of {}", length(window, 3))
    };
    if least == 0.0 {
        return upper;
    }
    let lower = in_pixels(least, least / grid.least());
    format!("at least {lower}, and {upper}")
}

/// The least size, `spread` object pixels: `the object pixel of 20.0 nm`, `24.0 nm, 1.20 object
/// pixels`.
fn in_pixels(least: f64, spread: f64) -> String {
    let size = length(least, 3);
    if (spread - 1.0).abs() < 1e-3 {
        return format!("the object pixel of {size}");
    }
    format!("{size}, {} object pixels", significant(spread, 3))
}

/// `value` rounded down to three digits, so that it is within the limit.
fn rounded_down(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    format!("{:.2e}", (value / unit * (1.0 + ROUNDING)).floor() * unit)
}

/// Where the specimen is: `the specimen is 400 µm downstream of the focus`.
fn in_words(defocus: f64) -> String {
    let side = match defocus {
        0.0 => return "the specimen is in the focus".to_owned(),
        d if d > 0.0 => "downstream",
        _ => "upstream",
    };
    let by = length(defocus.abs(), 4);
    format!("the specimen is {by} {side} of the focus")
}

#[cfg(test)]
mod distance_tests;
#[cfg(test)]
mod tests;
