//! The variations of the first probe mode, and the probes of single frames; see [`crate::ptycho::variable_probe`].

use super::constraints;
use super::engine::CpuEngine;
use super::model::{PointRamps, Scratch, shifted, spectra};
use crate::data::VariableProbe;
use crate::fft::{Real, TransposedFft2};
use crate::ptycho::engine::Values;
use crate::ptycho::variable_probe::{
    COEFFICIENTS, Rotation, SHAPE_CHANGES, SHAPES, further_shapes, further_weights, saved_count,
    strongest, with_zeros,
};
use crate::ptycho::{EngineError, EngineState, Step};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::borrow::Cow;

/// Shapes and coefficients.
#[derive(Clone)]
pub(super) struct Variations<T> {
    /// U (k, row, column).
    pub(super) shapes: Vec<Complex<T>>,
    /// Their last changes, in the same shape.
    pub(super) shape_changes: Vec<Complex<T>>,
    /// c (frame, k).
    pub(super) coefficients: Vec<f64>,
    /// Their last changes (frame, k).
    pub(super) coefficient_changes: Vec<f64>,
    /// The largest mean square over the frames of a variation's coefficients at the start of the iteration.
    pub(super) strongest: f64,
    /// Whether this is the iteration in which the shapes are formed: the coefficients are random weights, and the frames' probes
    /// do not have them.
    pub(super) forming: bool,
    /// Further ones, beside those of an earlier result, that the present iteration forms.
    pub(super) further: Option<Box<Self>>,
}

impl<T: Real> Variations<T> {
    /// Number of variations.
    pub(super) fn count(&self, pixels: usize) -> usize {
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
    fn formed(seed: u64, [present, count]: [usize; 2], [pixels, frames]: [usize; 2]) -> Self {
        let mut new = Self::new(count - present, pixels, frames);
        new.coefficients = further_weights(seed, frames, [present, count]);
        new.strongest = 1.0;
        new.forming = true;
        new
    }

    /// Applies the supports of a step to the shapes.
    fn constrain(&mut self, step: &Step, [rows, columns]: [usize; 2]) {
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
    fn take_further(&mut self, pixels: usize) {
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
    pub(super) fn of(variable: &VariableProbe) -> Self {
        let (count, rows, columns) = variable.shapes.dim();
        let mut new = Self::new(count, rows * columns, variable.coefficients.nrows());
        let narrow = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        new.shapes = variable.shapes.iter().map(narrow).collect();
        new.coefficients = variable.coefficients.iter().copied().collect();
        new
    }

    /// As plain data.
    pub(super) fn data(&self, [rows, columns]: [usize; 2]) -> VariableProbe {
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
    pub(super) fn save(&self, state: &mut EngineState) {
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
    pub(super) fn restored(
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
    fn of_frame(&self, frame: usize, pixels: usize) -> &[f64] {
        let count = self.count(pixels);
        &self.coefficients[frame * count..][..count]
    }
}

/// The probes of single frames.
pub(super) struct FrameProbes<'a, T: Real> {
    probe: &'a [Complex<T>],
    pixels: usize,
    /// Unnormalised transforms (mode, column, row) of the probe.
    spectra: Vec<Complex<T>>,
    /// The variations and the transforms (k, column, row) of their shapes.
    variations: Option<(&'a Variations<T>, Vec<Complex<T>>)>,
}

impl<'a, T: Real> FrameProbes<'a, T> {
    pub(super) fn new(engine: &'a CpuEngine<T>) -> Self {
        let CpuEngine {
            layout,
            fft,
            probe,
            variations,
            ..
        } = engine;
        let pixels = layout.pixels();
        let variations = variations.as_ref().filter(|of| !of.forming);
        Self {
            probe,
            pixels,
            spectra: spectra(probe, pixels, fft),
            variations: variations.map(|of| (of, spectra(&of.shapes, pixels, fft))),
        }
    }

    /// Unnormalised transforms (mode, column, row) of a frame's probe.
    pub(super) fn spectra_of(&self, frame: usize) -> Cow<'_, [Complex<T>]> {
        let Some((variations, shapes)) = &self.variations else {
            return Cow::Borrowed(&self.spectra);
        };
        let mut own = self.spectra.clone();
        self.add(variations, shapes, frame, &mut own);
        Cow::Owned(own)
    }

    /// Writes a frame's probe (mode, row, column) to `to`: shifted by `ramps`, or as it is.
    pub(super) fn write(
        &self,
        frame: usize,
        ramps: Option<&PointRamps<T>>,
        to: &mut [Complex<T>],
        fft: &TransposedFft2<T>,
        scratch: &mut Scratch<T>,
    ) {
        if let Some(ramps) = ramps {
            shifted(&self.spectra_of(frame), ramps, to, fft, scratch);
            return;
        }
        to.copy_from_slice(self.probe);
        if let Some((variations, _)) = &self.variations {
            self.add(variations, &variations.shapes, frame, to);
        }
    }

    /// Adds Σ_k c_jk U_k to the first layer.
    fn add(&self, of: &Variations<T>, shapes: &[Complex<T>], frame: usize, to: &mut [Complex<T>]) {
        let layers = shapes.chunks_exact(self.pixels);
        for (c, shape) in of.of_frame(frame, self.pixels).iter().zip(layers) {
            let c = T::of(*c);
            for (to, u) in to.iter_mut().zip(shape) {
                *to += u.scale(c);
            }
        }
    }
}

impl<T: Real> CpuEngine<T> {
    /// Prepares the variations for a step; the first step that updates them forms them, or those that an earlier result does not have.
    pub(super) fn begin_variations(&mut self, step: &Step) {
        if !step.update_variations {
            return;
        }
        let requested = self.variation_count;
        let sizes = [self.layout.pixels(), self.layout.corners.len()];
        let Some(of) = &mut self.variations else {
            self.variations = Some(Variations::formed(step.seed, [0, requested], sizes));
            return;
        };
        let count = of.count(sizes[0]);
        of.strongest = strongest(&of.coefficients, count);
        of.further = (count < requested)
            .then(|| Box::new(Variations::formed(step.seed, [count, requested], sizes)));
    }

    /// Applies the supports to the shapes, and makes them orthonormal and ordered by power after a step that has updated them, and adds the mean of the variations
    /// to the probe.
    pub(super) fn end_variations(&mut self, step: &Step) {
        let pixels = self.layout.pixels();
        let power: f64 = self.probe[..pixels]
            .iter()
            .map(|p| p.norm_sqr().wide())
            .sum();
        let Some(of) = self.variations.as_mut().filter(|_| step.update_variations) else {
            return;
        };
        let shape = [self.layout.rows, self.layout.columns];
        of.constrain(step, shape);
        if let Some(further) = &mut of.further {
            further.constrain(step, shape);
        }
        let count = of.count(pixels);
        let layers = || of.shapes.chunks_exact(pixels);
        let inner = |a: &[Complex<T>], b: &[Complex<T>]| -> f64 {
            let product = |(a, b): (&Complex<T>, &Complex<T>)| {
                a.re.wide() * b.re.wide() + a.im.wide() * b.im.wide()
            };
            a.iter().zip(b).map(product).sum()
        };
        let gram: Vec<f64> = layers()
            .flat_map(|a| layers().map(move |b| inner(a, b)))
            .collect();
        let weights = (!of.forming).then_some(&of.coefficients[..]);
        let Some(found) = Rotation::new(&gram, weights) else {
            // Values that are not finite end the run.
            return;
        };
        if of.forming {
            of.coefficients.fill(0.0);
            of.shape_changes.fill(Complex::default());
            of.forming = false;
        } else {
            for (mean, shape) in found.mean.iter().zip(of.shapes.chunks_exact(pixels)) {
                let mean = T::of(*mean);
                let pairs = self.probe.iter_mut().zip(shape);
                pairs.for_each(|(p, u)| *p += u.scale(mean));
            }
            let (values, changes) = (&mut of.coefficients, &mut of.coefficient_changes);
            found.coefficients(values, changes, power);
        }
        for layers in [&mut of.shapes, &mut of.shape_changes] {
            let before = layers.clone();
            for (new, to) in layers.chunks_exact_mut(pixels).enumerate() {
                to.fill(Complex::default());
                for old in 0..count {
                    let share = T::of(found.shapes[new * count + old]);
                    let from = &before[old * pixels..][..pixels];
                    let pairs = to.iter_mut().zip(from);
                    pairs.for_each(|(to, v)| *to += v.scale(share));
                }
            }
        }
        of.take_further(pixels);
    }

    /// Multiplies the variations by `factor`, as the probe.
    pub(super) fn scale_variations(&mut self, factor: f64) {
        if let Some(of) = &mut self.variations {
            let all = of
                .coefficients
                .iter_mut()
                .chain(&mut of.coefficient_changes);
            all.for_each(|c| *c *= factor);
        }
    }
}
