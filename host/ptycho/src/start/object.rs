//! A given start object: a complex image, on another grid of pixels if its pixel size is known.

use crate::Problem;
use crate::model::interpolation::{Weights, interpolate};
use crate::start;
use ndarray::Array2;
use num_complex::Complex;
use warpstride_core::text::{length, significant};

/// Largest displacement of the grids, anywhere on the object, at which they are the same, pixels.
const SAME_GRID: f64 = 0.25;
/// Largest ratio of the pixels of the grids, and its inverse.
const LARGEST_RATIO: f64 = 100.0;
/// Mean moduli outside of this range are noted.
const USUAL_MODULUS: [f64; 2] = [0.1, 2.0];

/// A complex image from which a run starts.
#[derive(Debug, Clone, PartialEq)]
pub struct StartObject {
    /// Complex transmission (row, column).
    pub values: Array2<Complex<f64>>,
    /// Its pixel (row, column), m; none: that of the reconstruction, whose shape and origin it then
    /// has.
    pub pixel: Option<[f64; 2]>,
    /// Position (row, column), m, of a window that begins at its pixel (0, 0); none: its middle is
    /// that of the reconstruction's object.
    pub origin: Option<[f64; 2]>,
}

/// Why an image cannot be the start object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartObjectError {
    /// The image has another shape than the object, and its pixel size is not known.
    #[error(
        "expected {} x {} pixels (rows x columns), as the object of this reconstruction, found {} x {}; with its pixel size (start.object_pixel) it is interpolated",
        .expected[0], .expected[1], .found[0], .found[1]
    )]
    Shape {
        /// Shape of the object (rows, columns).
        expected: [usize; 2],
        /// Shape of the image (rows, columns).
        found: [usize; 2],
    },
    /// The pixels are too different to be interpolated.
    #[error(
        "expected a pixel within a factor of {} of the object pixel, {} x {}, found {} x {}",
        LARGEST_RATIO, length(.expected[0], 4), length(.expected[1], 4), length(.found[0], 4), length(.found[1], 4)
    )]
    Pixel {
        /// Object pixel (row, column), m.
        expected: [f64; 2],
        /// Pixel of the image (row, column), m.
        found: [f64; 2],
    },
    /// The image has no pixel in common with the object.
    #[error(
        "expected an image of the part of the specimen that the scan covers, found one elsewhere"
    )]
    Elsewhere,
    /// The image is elsewhere than the object, and its pixel size is not known.
    #[error(
        "expected its pixel size (start.object_pixel) beside its origin, which is not that of this reconstruction, found none"
    )]
    NoPixel,
    /// The image has NaN or infinite values, or values whose squares are infinite in single
    /// precision.
    #[error("expected finite values, also squared and in single precision, found others")]
    NotFinite,
    /// All values are 0, or there are none.
    #[error("expected a transmission that is not 0 everywhere, found none")]
    Dark,
}

impl StartObject {
    /// Whether the values and the pixel suit an object of `shape` (rows, columns) with this pixel
    /// (row, column), m.
    ///
    /// # Errors
    /// They do not: the image does not fit the object, or has values that are not finite, or none
    /// but 0.
    pub fn fits(&self, shape: [usize; 2], pixel: [f64; 2]) -> Result<(), StartObjectError> {
        let values = &self.values;
        if !values.iter().all(|v| v.norm_sqr() <= f64::from(f32::MAX)) {
            return Err(StartObjectError::NotFinite);
        }
        if values.iter().all(|v| v.norm_sqr() == 0.0) {
            return Err(StartObjectError::Dark);
        }
        let found = values.dim().into();
        let Some(own) = self.pixel else {
            return match found == shape {
                true => Ok(()),
                false => Err(StartObjectError::Shape {
                    expected: shape,
                    found,
                }),
            };
        };
        let near = |axis: usize| {
            (1.0 / LARGEST_RATIO..=LARGEST_RATIO).contains(&(pixel[axis] / own[axis]))
        };
        match near(0) && near(1) {
            true => Ok(()),
            false => Err(StartObjectError::Pixel {
                expected: pixel,
                found: own,
            }),
        }
    }
}

impl Problem {
    /// Takes the start object from an image. An image on the grid of the object is used as it is:
    /// its pixel (row, column) is that of the object. Others are interpolated (Lanczos kernel of
    /// three lobes, on a coarser grid wider by the ratio of the pixels); beyond the image the
    /// object stays as it is. They are placed by their origin, or with their middle on that of the
    /// object.
    ///
    /// An image that has one value everywhere is multiplied by the small random phases of the
    /// object without an image.
    ///
    /// # Errors
    /// The image does not fit the object, or has values that are not finite, or none but 0.
    pub fn take_start_object(&mut self, image: &StartObject) -> Result<(), StartObjectError> {
        image.fits(self.object.dim().into(), self.pixel)?;
        let values = &image.values;
        let (expected, found): ([usize; 2], [usize; 2]) =
            (self.object.dim().into(), values.dim().into());
        let pixel = image.pixel.unwrap_or(self.pixel);
        let ratio = [0, 1].map(|axis| self.pixel[axis] / pixel[axis]);
        // Where the image has the object's first pixel, image pixels.
        let first = [0, 1].map(|axis| self.first_pixel(axis, image, pixel, ratio[axis]));
        let on_grid = |axis: usize| {
            let last = (expected[axis] - 1) as f64;
            let drift = (ratio[axis] - 1.0) * last;
            first[axis].abs() < SAME_GRID && (first[axis] + drift).abs() < SAME_GRID
        };
        let whole = |values: [usize; 2]| format!("{} x {} pixels", values[0], values[1]);
        if expected == found && on_grid(0) && on_grid(1) {
            self.object.assign(values);
            let note = format!("start: the given object of {}, as it is", whole(found));
            self.notes.push(note);
            self.make_usable(values);
            self.make_object_modes(&[], self.object_modes());
            return Ok(());
        }
        if image.pixel.is_none() {
            return Err(StartObjectError::NoPixel);
        }
        let weights = [0, 1].map(|axis| -> Vec<Weights> {
            let at = |i: usize| first[axis] + i as f64 * ratio[axis];
            (0..expected[axis])
                .map(|i| Weights::new(at(i), ratio[axis].max(1.0), found[axis]))
                .collect()
        });
        if !interpolate(values, [&weights[0], &weights[1]], &mut self.object) {
            return Err(StartObjectError::Elsewhere);
        }
        self.notes.push(format!(
            "start: the given object of {} of {} x {}, interpolated to {} of {} x {}",
            whole(found),
            length(pixel[0], 4),
            length(pixel[1], 4),
            whole(expected),
            length(self.pixel[0], 4),
            length(self.pixel[1], 4)
        ));
        self.make_usable(values);
        self.make_object_modes(&[], self.object_modes());
        Ok(())
    }

    /// Gives an object of one value everywhere small random phases, and notes unusual moduli.
    fn make_usable(&mut self, values: &Array2<Complex<f64>>) {
        let first = values.iter().next().copied().unwrap_or_default();
        if values.iter().all(|v| *v == first) {
            let [rows, columns]: [usize; 2] = self.object.dim().into();
            let phases = start::object([rows, columns], self.seed);
            // Beyond the image the object has such phases.
            let near = 1e-6 * first.norm();
            self.object.zip_mut_with(&phases, |v, phase| {
                if (*v - first).norm() <= near {
                    *v *= phase;
                }
            });
        }
        let mean = values.iter().map(|v| v.norm()).sum::<f64>() / values.len() as f64;
        if !(USUAL_MODULUS[0]..=USUAL_MODULUS[1]).contains(&mean) {
            self.notes.push(format!(
                "start: the mean modulus of the given object is {}; that of a transmission is at most about 1, and the start probe is scaled for such an object",
                significant(mean, 3)
            ));
        }
        self.share_object();
    }

    /// The place of the object's first pixel in the image, image pixels along an axis.
    fn first_pixel(&self, axis: usize, image: &StartObject, pixel: [f64; 2], ratio: f64) -> f64 {
        let Some(origin) = image.origin else {
            let middle = |pixels: usize| (pixels as f64 - 1.0) / 2.0;
            return middle(image.values.shape()[axis]) - middle(self.object.shape()[axis]) * ratio;
        };
        // A position is that of the pixel at half the window (rounded down), whatever its pixels.
        let [_, _, rows, columns] = self.shape();
        let window = [rows, columns][axis] as f64;
        let of_image = ((window * ratio).round() / 2.0).floor();
        let of_object = (window / 2.0).floor();
        (self.positions.origin[axis] - origin[axis]) / pixel[axis] + of_image - of_object * ratio
    }
}

#[cfg(test)]
mod tests;
