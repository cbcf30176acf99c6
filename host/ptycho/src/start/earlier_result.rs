//! Start values from an earlier result: object, probe modes, positions and intensity scales, on
//! another grid of pixels if the frames have another size.

use crate::data::{Geometry, ObjectModes, Propagation, Reconstruction, Scan};
use crate::model::detector::background_of;
use crate::model::interpolation::{Weights, interpolate};
use crate::model::probe_grid::{cut_or_padded, with_window};
use crate::model::quadratic_phase::quadratic_phase;
use crate::start::with_modes;
use crate::{BackgroundFit, FrameStart, ProbeSource, Problem, Recipe};
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use warpstride_core::text::{length, significant};

/// Largest relative difference of the windows' sizes, which are λz/p.
const SAME_WINDOW: f64 = 1e-3;
/// Positions are those of the scan if they differ by less than this part of a pixel.
const SAME_POSITION: f64 = 1e-3;
/// Ratio of the probe's power to the brightest frame's counts, or its inverse, above which another
/// exposure is assumed.
const OTHER_EXPOSURE: f64 = 5.0;

/// Why a result cannot be the start of a run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EarlierResultError {
    /// The windows have different sizes.
    #[error(
        "expected a window of {} x {}, wavelength times distance divided by the detector's pixel, as in the scan, found {} x {}",
        length(.expected[0], 4), length(.expected[1], 4), length(.found[0], 4), length(.found[1], 4)
    )]
    Window {
        /// Window of the scan (row, column), m.
        expected: [f64; 2],
        /// Window of the result (row, column), m.
        found: [f64; 2],
    },
    /// The waves of the result travelled to another kind of field.
    #[error(
        "expected a result of a {} scan, as this one, found one of a {} scan",
        field_of(*.expected), field_of(!.expected)
    )]
    Field {
        /// Whether the scan is one of the near field.
        expected: bool,
    },
    /// The object pixels have different sizes.
    #[error(
        "expected object pixels of {} x {}, as in the scan (in the near field they do not depend on the size of the frames), found {} x {}",
        length(.expected[0], 4), length(.expected[1], 4), length(.found[0], 4), length(.found[1], 4)
    )]
    Pixel {
        /// Pixel of the scan (row, column), m.
        expected: [f64; 2],
        /// Pixel of the result (row, column), m.
        found: [f64; 2],
    },
    /// The object has no pixel in common with that of the scan.
    #[error(
        "expected an object in the part of the specimen that the scan covers, found one elsewhere"
    )]
    Elsewhere,
    /// The object or the probe has NaN or infinite values, or the probe no power.
    #[error("expected a finite object and a finite probe with power > 0, found others")]
    NotFinite,
}

/// Layers of `result` in the window of the scan's frames, without the quadratic phase that
/// `physical_probe` adds.
fn in_this_window(
    mut layers: Array3<Complex<f64>>,
    result: &Reconstruction,
    scan: &Scan,
) -> Array3<Complex<f64>> {
    let [_, rows, columns] = scan.shape();
    if Recipe::from_toml(&result.recipe).is_ok_and(|recipe| recipe.physical_probe) {
        let geometry = Geometry {
            wavelength: result.wavelength,
            distance: result.distance,
            propagation: result.propagation,
            ..*scan.geometry()
        };
        quadratic_phase(&mut layers, result.pixel, &geometry, 1.0);
    }
    if scan.geometry().is_near_field() {
        cut_or_padded(&layers, [rows, columns])
    } else {
        with_window(&layers, [rows, columns])
    }
}

fn field_of(near: bool) -> &'static str {
    if near { "near-field" } else { "far-field" }
}

impl Problem {
    /// Takes the start object, and unless `recipe` names another source the start probe, from
    /// `result`. Returns the positions and scales of the frames, if the result is of the same
    /// frames and has others than the scan.
    ///
    /// The object is interpolated (Lanczos kernel of three lobes, on a coarser grid wider by the
    /// ratio of the pixels); beyond the result's object it stays as it is. The probe's far field is
    /// cropped or padded, so that it keeps its photons in the detector pixels that both have; in
    /// the near field, where pixels do not depend on the size of the frames, the probe itself is.
    ///
    /// # Errors
    /// The result does not fit the scan.
    pub fn start_from(
        &mut self,
        result: &Reconstruction,
        scan: &Scan,
        recipe: &Recipe,
    ) -> Result<Option<FrameStart>, EarlierResultError> {
        let [_, _, rows, columns] = self.shape();
        let (_, old_rows, old_columns) = result.probe.dim();
        let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
        let power: f64 = result.probe.iter().map(Complex::norm_sqr).sum();
        if !(result.object.iter().all(finite) && power.is_finite() && power > 0.0) {
            return Err(EarlierResultError::NotFinite);
        }
        let window = |sizes: [usize; 2], pixel: [f64; 2]| {
            [0, 1].map(|axis| sizes[axis] as f64 * pixel[axis])
        };
        let expected = window([rows, columns], self.pixel);
        let found = window([old_rows, old_columns], result.pixel);
        let near = scan.geometry().is_near_field();
        if near != matches!(result.propagation, Propagation::NearField { .. }) {
            return Err(EarlierResultError::Field { expected: near });
        }
        let (expected, found) = if near {
            (self.pixel, result.pixel)
        } else {
            (expected, found)
        };
        let differs = |axis: usize| (found[axis] / expected[axis] - 1.0).abs() > SAME_WINDOW;
        if differs(0) || differs(1) || found.iter().any(|side| !side.is_finite()) {
            return Err(if near {
                EarlierResultError::Pixel { expected, found }
            } else {
                EarlierResultError::Window { expected, found }
            });
        }
        let modes = self.take_object(result)?;
        self.take_background(result);
        self.scale_to_light(scan);
        if recipe.probe.source == ProbeSource::Auto {
            self.take_probe(result, scan, recipe)?;
        }
        self.make_object_modes(&modes, recipe.object_modes);
        self.notes.push(format!(
            "start: object{} of an earlier result",
            if recipe.probe.source == ProbeSource::Auto {
                " and probe"
            } else {
                ""
            }
        ));
        self.note_parts_left_out(result, recipe);
        self.note_orientation(result, recipe);
        Ok(self.frames_of(result, scan, recipe))
    }

    /// Starts a fitted background with that of `result`, or, if its frames have another size, with
    /// the mean of it.
    fn take_background(&mut self, result: &Reconstruction) {
        let Some(detector) = &mut self.detector else {
            return;
        };
        let earlier = result.parts.detector.as_ref().and_then(background_of);
        if let (Some(earlier), true) = (earlier, detector.fit != BackgroundFit::Off) {
            if earlier.dim() == detector.background.dim() && detector.fit == BackgroundFit::Pixels {
                detector.background = earlier;
            } else if let Some(mean) = earlier.mean() {
                detector.background.fill(mean);
            }
        }
    }

    /// Scales the start probe to the light of the brightest frame without the background, which may
    /// be that of a result.
    fn scale_to_light(&mut self, scan: &Scan) {
        let Some(detector) = &self.detector else {
            return;
        };
        let light = detector.mean_light(scan);
        let factor = (light / self.mean_power).sqrt();
        if factor.is_finite() {
            self.probe.mapv_inplace(|p| p * factor);
            self.mean_power = light;
        }
    }

    /// Takes the object; returns its further modes on the grid of this problem.
    fn take_object(
        &mut self,
        result: &Reconstruction,
    ) -> Result<Vec<Array2<Complex<f64>>>, EarlierResultError> {
        let (rows, columns) = self.object.dim();
        let (old_rows, old_columns) = result.object.dim();
        let weights = |axis: usize, new: usize, old: usize| -> Vec<Weights> {
            let ratio = self.pixel[axis] / result.pixel[axis];
            let offset = (self.positions.origin[axis] - result.origin[axis]) / result.pixel[axis];
            // The middles of the windows are the same place, those of odd sizes half a pixel before
            // the half.
            let middle = |sizes: &[usize]| (sizes[axis + 1] / 2) as f64;
            let middles = middle(result.probe.shape()) - middle(self.probe.shape()) * ratio;
            let at = |i: usize| offset + middles + i as f64 * ratio;
            (0..new)
                .map(|i| Weights::new(at(i), ratio.max(1.0), old))
                .collect()
        };
        let of_rows = weights(0, rows, old_rows);
        let of_columns = weights(1, columns, old_columns);
        if !interpolate(&result.object, [&of_rows, &of_columns], &mut self.object) {
            return Err(EarlierResultError::Elsewhere);
        }
        let taken = |from: &Array2<Complex<f64>>, to: &mut Array2<Complex<f64>>| {
            if !interpolate(from, [&of_rows, &of_columns], to) {
                return Err(EarlierResultError::Elsewhere);
            }
            Ok(())
        };
        self.take_slices(result, taken)?;
        let modes = (result.parts.object_modes.iter()).flat_map(ObjectModes::further);
        let modes = modes.filter(|mode| mode.dim() == result.object.dim());
        let on_grid = |mode: Array2<Complex<f64>>| {
            let mut to = Array2::zeros(self.object.dim());
            interpolate(&mode, [&of_rows, &of_columns], &mut to);
            to
        };
        Ok(modes.map(on_grid).collect())
    }

    fn take_probe(
        &mut self,
        result: &Reconstruction,
        scan: &Scan,
        recipe: &Recipe,
    ) -> Result<(), EarlierResultError> {
        let [_, _, rows, columns] = self.shape();
        let (have, old_rows, old_columns) = result.probe.dim();
        let kept = have.min(recipe.probe_modes);
        let probe = result.probe.slice(s![..kept, .., ..]).to_owned();
        let probe = in_this_window(probe, result, scan);
        let norm = |probe: &Array3<Complex<f64>>| -> f64 {
            let first = probe.index_axis(Axis(0), 0);
            first.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
        };
        let first = norm(&probe);
        let mut probe = with_modes(probe, recipe.probe_modes, recipe.probe.mode_power);
        let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
        let brightest = match &self.detector {
            None => scan.brightest_frame(),
            // The background is not light of the probe.
            Some(_) => self.power(),
        };
        let ratio = brightest / power;
        // Of larger frames the result has seen a part of the light only.
        let seen = old_rows >= rows && old_columns >= columns;
        if !ratio.is_finite() {
            return Err(EarlierResultError::NotFinite);
        }
        if seen && !(1.0 / OTHER_EXPOSURE..=OTHER_EXPOSURE).contains(&ratio) {
            probe.mapv_inplace(|v| v * ratio.sqrt());
            self.notes.push(format!(
                "start: the probe's power is scaled by {} to the brightest frame",
                significant(ratio, 3)
            ));
        }
        self.take_variations(result, scan, recipe, norm(&probe) / first);
        self.probe = probe;
        Ok(())
    }

    /// Whether the result is of the frames of `scan`.
    fn has_frames_of(&self, result: &Reconstruction, scan: &Scan) -> bool {
        let recorded = scan.positions();
        if result.recorded_positions.dim() != recorded.dim()
            || result.positions.dim() != recorded.dim()
            || result.frame_scales.len() != recorded.nrows()
        {
            return false;
        }
        let same = |((_, axis), value): ((usize, usize), &f64), other: &f64| {
            (value - other).abs() <= SAME_POSITION * self.pixel[axis]
        };
        let mut pairs = recorded.indexed_iter().zip(&result.recorded_positions);
        pairs.all(|(own, other)| same(own, other))
    }

    /// Positions and scales of `result` for the frames of `scan`.
    fn frames_of(
        &self,
        result: &Reconstruction,
        scan: &Scan,
        recipe: &Recipe,
    ) -> Option<FrameStart> {
        let recorded = scan.positions();
        if !self.has_frames_of(result, scan) {
            return None;
        }
        let moved = result.positions != result.recorded_positions;
        let scaled = result.frame_scales.iter().any(|scale| *scale != 1.0);
        if !moved && !scaled {
            return None;
        }
        let bound = recipe.positions.bound;
        let positions = (0..recorded.nrows()).map(|frame| {
            [0, 1].map(|axis| {
                let at = f64::from(self.positions.corners[frame][axis])
                    + self.positions.fractions[frame][axis];
                let by = (result.positions[[frame, axis]]
                    - result.recorded_positions[[frame, axis]])
                    / self.pixel[axis];
                at + by.clamp(-bound, bound)
            })
        });
        Some(FrameStart {
            positions: positions.collect(),
            scales: result.frame_scales.clone(),
        })
    }
}

mod left_out;
mod orientation;
mod variations;

#[cfg(test)]
mod tests;
