//! The variations of the first probe mode; see [`crate::model::variable_probe`].

use crate::data::VariableProbe;
use crate::engines::cpu::updates::constraints;
use crate::engines::engine::Values;
use crate::model::variable_probe::{
    COEFFICIENTS, SHAPE_CHANGES, SHAPES, further_shapes, further_weights, saved_count, with_zeros,
};
use crate::{EngineError, EngineState, Step};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use warpstride_fft::Real;

/// Shapes and coefficients.
#[derive(Clone)]
pub(in crate::engines::cpu) struct Variations<T> {
    /// U (k, row, column).
    pub(in crate::engines::cpu) shapes: Vec<Complex<T>>,
    /// Their last changes, in the same shape.
    pub(in crate::engines::cpu) shape_changes: Vec<Complex<T>>,
    /// c (frame, k).
    pub(in crate::engines::cpu) coefficients: Vec<f64>,
    /// Their last changes (frame, k).
    pub(in crate::engines::cpu) coefficient_changes: Vec<f64>,
    /// The largest mean square over the frames of a variation's coefficients at the start of the
    /// iteration.
    pub(in crate::engines::cpu) strongest: f64,
    /// Whether this is the iteration in which the shapes are formed: the coefficients are random
    /// weights, and the frames' probes do not have them.
    pub(in crate::engines::cpu) forming: bool,
    /// Further ones, beside those of an earlier result, that the present iteration forms.
    pub(in crate::engines::cpu) further: Option<Box<Self>>,
}

impl<T: Real> Variations<T> {
    /// Number of variations.
    pub(in crate::engines::cpu) fn count(&self, pixels: usize) -> usize {
        self.shapes.len() / pixels.max(1)
    }

    fn new(count: usize, pixels: usize, frames: usize) -> Self {
        Self {
            shapes: vec![Complex::default(); count * pixels],
            shape_changes: vec![Complex::default(); count * pixels],
            coefficients: vec![0.0; frames * count],
            coefficient_changes: vec![0.0; frames * count],
            strongest: 0.0,
            forming: false,
            further: None,
        }
    }

    /// The variations from `present` to `count` for an iteration that forms them.
    pub(in crate::engines::cpu) fn formed(
        seed: u64,
        [present, count]: [usize; 2],
        [pixels, frames]: [usize; 2],
    ) -> Self {
        let mut new = Self::new(count - present, pixels, frames);
        new.coefficients = further_weights(seed, frames, [present, count]);
        new.strongest = 1.0;
        new.forming = true;
        new
    }

    /// Applies the supports of a step to the shapes.
    pub(in crate::engines::cpu) fn constrain(&mut self, step: &Step, [rows, columns]: [usize; 2]) {
        if let Some(fraction) = step.probe_support {
            let support = constraints::disc(rows, columns, fraction);
            constraints::real_support(&mut self.shapes, &support);
        }
        if let Some(fraction) = step.probe_fourier_support {
            let support = constraints::disc_at_origin(rows, columns, fraction);
            constraints::fourier_support(&mut self.shapes, &support, rows, columns);
        }
    }

    /// Takes the further ones, with coefficients 0, so that no frame's probe changes.
    pub(in crate::engines::cpu) fn take_further(&mut self, pixels: usize) {
        let wide = |values: &[Complex<T>]| -> Vec<Complex<f64>> {
            let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
            values.iter().map(wide).collect()
        };
        let Some(further) = self.further.take() else {
            return;
        };
        let found = further_shapes(&wide(&self.shapes), &wide(&further.shapes), pixels);
        // Values that are not finite end the run.
        let Some(found) = found else {
            return;
        };
        let (count, more) = (self.count(pixels), further.count(pixels));
        let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        self.shapes.extend(found.iter().map(narrow));
        self.shape_changes
            .resize(self.shapes.len(), Complex::default());
        for values in [&mut self.coefficients, &mut self.coefficient_changes] {
            *values = with_zeros(values, count, more);
        }
    }

    /// Those of an earlier result.
    pub(in crate::engines::cpu) fn of(variable: &VariableProbe) -> Self {
        let (count, rows, columns) = variable.shapes.dim();
        let mut new = Self::new(count, rows * columns, variable.coefficients.nrows());
        let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        new.shapes = variable.shapes.iter().map(narrow).collect();
        new.coefficients = variable.coefficients.iter().copied().collect();
        new
    }

    /// As plain data.
    pub(in crate::engines::cpu) fn data(&self, [rows, columns]: [usize; 2]) -> VariableProbe {
        let (pixels, count) = (rows * columns, self.count(rows * columns));
        let frames = self.coefficients.len() / count.max(1);
        VariableProbe {
            shapes: Array3::from_shape_fn((count, rows, columns), |(k, r, c)| {
                let v = self.shapes[k * pixels + r * columns + c];
                Complex::new(v.re.wide(), v.im.wide())
            }),
            coefficients: Array2::from_shape_fn((frames, count), |(frame, k)| {
                self.coefficients[frame * count + k]
            }),
        }
    }

    /// Adds what the next step depends on to `state`.
    pub(in crate::engines::cpu) fn save(&self, state: &mut EngineState) {
        let pairs = self.coefficients.iter().zip(&self.coefficient_changes);
        let pairs = pairs.map(|(c, change)| Complex::new(*c, *change)).collect();
        let arrays = [
            (SHAPES, Values::from_vec(self.shapes.clone())),
            (SHAPE_CHANGES, Values::from_vec(self.shape_changes.clone())),
            (COEFFICIENTS, Values::F64(pairs)),
        ];
        let named = arrays.map(|(name, values)| (name.to_owned(), values));
        state.added.extend(named);
    }

    /// The variations of a saved state with at most `most` of them; `None` if it has none.
    pub(in crate::engines::cpu) fn restored(
        state: &EngineState,
        [most, pixels, frames]: [usize; 3],
    ) -> Result<Option<Self>, EngineError> {
        let Some(coefficients) = state.added.get(COEFFICIENTS) else {
            return Ok(None);
        };
        let count = saved_count(coefficients.len(), frames, most);
        let none = Values::F64(Vec::new());
        let array = |name| state.added.get(name).unwrap_or(&none);
        let shapes = array(SHAPES).as_slice("set of shapes", count * pixels)?;
        let changes = array(SHAPE_CHANGES).as_slice("set of changes", count * pixels)?;
        let pairs: &[Complex<f64>] =
            coefficients.as_slice("list of coefficients", frames * count)?;
        Ok(Some(Self {
            shapes: shapes.to_vec(),
            shape_changes: changes.to_vec(),
            coefficients: pairs.iter().map(|v| v.re).collect(),
            coefficient_changes: pairs.iter().map(|v| v.im).collect(),
            strongest: 0.0,
            forming: false,
            further: None,
        }))
    }

    /// The coefficients of a frame, where its probe has them.
    pub(in crate::engines::cpu) fn of_frame(&self, frame: usize, pixels: usize) -> &[f64] {
        let count = self.count(pixels);
        &self.coefficients[frame * count..][..count]
    }
}
