//! The state of an engine: everything that the next step depends on, saved and restored.

use crate::EngineError;
use crate::engines::likelihood::{Last, Search};
use crate::engines::ranks::Ranks;
use crate::positions::refinement::FrameParameters;
use ndarray::Array3;
use num_complex::Complex;
use rayon::prelude::*;
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use warpstride_fft::{Fft2, Real};

/// Complex values in the precision of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<Complex<f32>>),
    /// Double precision.
    F64(Vec<Complex<f64>>),
}

impl Values {
    /// Wraps `values` without copying them.
    pub(crate) fn from_vec<T: Real>(mut values: Vec<Complex<T>>) -> Self {
        let any: &mut dyn Any = &mut values;
        if let Some(single) = any.downcast_mut::<Vec<Complex<f32>>>() {
            return Self::F32(std::mem::take(single));
        }
        if let Some(double) = any.downcast_mut::<Vec<Complex<f64>>>() {
            return Self::F64(std::mem::take(double));
        }
        let wide = |v: &Complex<T>| Complex::new(v.re.wide(), v.im.wide());
        Self::F64(values.iter().map(wide).collect())
    }

    /// Other values in the same precision.
    fn like<'a>(&self, values: impl Iterator<Item = &'a Complex<f64>>) -> Self {
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        match self {
            Self::F32(_) => Self::F32(values.map(narrow).collect()),
            Self::F64(_) => Self::F64(values.copied().collect()),
        }
    }

    /// The first value that is NaN or infinite.
    fn not_finite(&self) -> Option<f64> {
        let wrong = |parts: [f64; 2]| parts.into_iter().find(|v| !v.is_finite());
        match self {
            Self::F32(v) => v.iter().find_map(|v| wrong([v.re, v.im].map(f64::from))),
            Self::F64(v) => v.iter().find_map(|v| wrong([v.re, v.im])),
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values in precision `T`; fails unless there are `expected` of them.
    pub(crate) fn as_slice<T: Real>(
        &self,
        what: &'static str,
        expected: usize,
    ) -> Result<&[Complex<T>], EngineError> {
        if self.len() != expected {
            return Err(EngineError::State {
                what,
                found: self.len(),
                expected,
            });
        }
        let values = match (self, size_of::<T>() == size_of::<f32>()) {
            (Self::F32(v), true) => bytemuck::try_cast_slice(v),
            (Self::F64(v), false) => bytemuck::try_cast_slice(v),
            _ => return Err(EngineError::Precision),
        };
        values.map_err(|_| EngineError::Precision)
    }
}

/// The form in which an engine keeps the exit waves between iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaveSpace {
    /// Unnormalised detector waves Ψ, the frames' pixel (rows/2, columns/2) at (0, 0): transforms
    /// of ψ in the far field. In the near field no engine has another form.
    Fourier,
    /// ψ itself.
    Real,
}

/// Everything that the next step depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineState {
    /// (layer, row, column)
    pub object: Values,
    /// (mode, row, column)
    pub probe: Values,
    /// The exit waves (frame, mode, row, column), see [`WaveSpace`]; empty after an engine that has
    /// none. The layout is the same for all back ends, so a run can resume on another back end
    /// (though not bit for bit).
    pub exit: Values,
    /// What `exit` holds.
    pub exit_space: WaveSpace,
    /// Momentum of object and probe, in their shapes; empty without momentum.
    pub momentum: [Values; 2],
    /// The last gradients of object and probe, in their shapes, then the last directions, of
    /// conjugate gradients; empty without them.
    pub search: [Values; 4],
    /// Numbers of conjugate gradients, double precision: (⟨g, z⟩, number of iterations), (whether
    /// the object was updated, whether the probe was); empty before them.
    pub search_numbers: Values,
    /// Positions of the frames (row + i column), object pixels, double precision.
    pub positions: Values,
    /// Intensity scales of the frames, double precision.
    pub scales: Values,
    /// Arrays of models that have more than object, probe and frames, by their names; a checkpoint
    /// has them under these names.
    pub added: BTreeMap<String, Values>,
}

impl EngineState {
    /// Wraps the arrays without copying them; without momentum, positions and scales.
    #[must_use]
    pub fn from_parts<T: Real>(
        object: Vec<Complex<T>>,
        probe: Vec<Complex<T>>,
        exit: Vec<Complex<T>>,
    ) -> Self {
        let empty = || Values::from_vec(Vec::<Complex<T>>::new());
        Self {
            object: Values::from_vec(object),
            probe: Values::from_vec(probe),
            exit: Values::from_vec(exit),
            exit_space: WaveSpace::Fourier,
            momentum: [empty(), empty()],
            search: [empty(), empty(), empty(), empty()],
            search_numbers: Values::F64(Vec::new()),
            positions: Values::F64(Vec::new()),
            scales: Values::F64(Vec::new()),
            added: BTreeMap::new(),
        }
    }

    /// Removes the exit waves.
    pub(crate) fn drop_exit_waves(&mut self) {
        self.exit = match self.exit {
            Values::F32(_) => Values::F32(Vec::new()),
            Values::F64(_) => Values::F64(Vec::new()),
        };
    }

    /// Gives the exit waves of rank 0 to all ranks.
    pub(crate) fn shared(mut self, ranks: &Ranks) -> Result<Self, EngineError> {
        if let Values::F32(waves) = &mut self.exit {
            *waves = ranks.of_first(waves)?;
        }
        Ok(self)
    }

    /// Says in which form the exit waves are.
    #[must_use]
    pub fn with_exit_in(mut self, space: WaveSpace) -> Self {
        self.exit_space = space;
        self
    }

    /// The exit waves in the form `space`: `exit`, from [`Self::parts`], or its transforms over
    /// frames of `shape` (row, column).
    pub(crate) fn exit_in<'a, T: Real>(
        &self,
        space: WaveSpace,
        exit: &'a [Complex<T>],
        shape: [usize; 2],
    ) -> Cow<'a, [Complex<T>]> {
        let pixels = shape[0] * shape[1];
        if self.exit_space == space || pixels == 0 {
            return Cow::Borrowed(exit);
        }
        let scale = T::of((pixels as f64).sqrt());
        let mut waves = exit.to_vec();
        waves.par_chunks_mut(pixels).for_each_init(
            || Fft2::new(shape[0], shape[1]),
            |fft, wave| {
                // Unitary transforms.
                if space == WaveSpace::Fourier {
                    fft.forward(wave);
                    wave.iter_mut().for_each(|v| *v = v.scale(scale));
                } else {
                    fft.inverse(wave);
                    wave.iter_mut().for_each(|v| *v = v.unscale(scale));
                }
            },
        );
        Cow::Owned(waves)
    }

    /// The first array with a value that is NaN or infinite, and that value.
    pub(crate) fn not_finite(&self) -> Option<(&str, f64)> {
        let arrays = [
            ("the object", &self.object),
            ("the probe", &self.probe),
            ("an exit wave", &self.exit),
        ];
        let added = (self.added.iter()).map(|(name, values)| (name.as_str(), values));
        (arrays.into_iter().chain(added))
            .find_map(|(name, values)| Some((name, values.not_finite()?)))
    }

    /// Adds the momentum of object and probe.
    pub(crate) fn with_momentum<T: Real>(mut self, momentum: [Vec<Complex<T>>; 2]) -> Self {
        self.momentum = momentum.map(Values::from_vec);
        self
    }

    /// Adds the state of conjugate gradients.
    pub(crate) fn with_search<T: Real>(mut self, search: Search<Vec<Complex<T>>>) -> Self {
        let Search { last, count } = search;
        if count == 0 {
            return self;
        }
        let (mut norm, mut updated) = (0.0, [false; 2]);
        if let Some(last) = last {
            let ([a, b], [c, d]) = (last.gradient, last.direction);
            self.search = [a, b, c, d].map(Values::from_vec);
            (norm, updated) = (last.norm, last.updated);
        }
        let [object, probe] = updated.map(|v| f64::from(u8::from(v)));
        self.search_numbers = Values::F64(vec![
            Complex::new(norm, count as f64),
            Complex::new(object, probe),
        ]);
        self
    }

    /// Adds positions and scales.
    pub(crate) fn with_frames(mut self, frames: &FrameParameters) -> Self {
        let position = |p: &[f64; 2]| Complex::new(p[0], p[1]);
        self.positions = Values::F64(frames.positions.iter().map(position).collect());
        let scale = |s: &f64| Complex::new(*s, 0.0);
        self.scales = Values::F64(frames.scales.iter().map(scale).collect());
        self
    }

    /// Takes another object (layer, row, column), probe and scales; returns the old ones.
    pub(crate) fn replace(
        &mut self,
        object: &Array3<Complex<f64>>,
        probe: &Array3<Complex<f64>>,
        scales: &[f64],
    ) -> [Values; 3] {
        let scales: Vec<_> = scales.iter().map(|s| Complex::new(*s, 0.0)).collect();
        let new = [
            self.object.like(object.iter()),
            self.probe.like(probe.iter()),
            Values::F64(scales),
        ];
        self.exchange(new)
    }

    /// Takes another object, probe and scales in the right precision; returns the old ones.
    pub(crate) fn exchange(&mut self, [object, probe, scales]: [Values; 3]) -> [Values; 3] {
        [
            std::mem::replace(&mut self.object, object),
            std::mem::replace(&mut self.probe, probe),
            std::mem::replace(&mut self.scales, scales),
        ]
    }

    /// Like [`EngineState::parts`], with the exit waves of the frames `own` alone, `waves` values
    /// each: taken from those of all frames, or those that the state has.
    pub(crate) fn parts_of<T: Real>(
        &self,
        [object, probe, all]: [usize; 3],
        own: Range<usize>,
        waves: usize,
    ) -> Result<[&[Complex<T>]; 3], EngineError> {
        if self.exit.len() == own.len() * waves {
            return self.parts([object, probe, own.len() * waves]);
        }
        let [object, probe, exit] = self.parts([object, probe, all])?;
        let exit = exit.get(own.start * waves..own.end * waves);
        Ok([object, probe, exit.unwrap_or_default()])
    }

    /// Object, probe and exit waves, which must have `lengths` values; the exit waves may also be
    /// empty.
    ///
    /// # Errors
    /// Returns an error if a length or the precision differs.
    pub fn parts<T: Real>(&self, lengths: [usize; 3]) -> Result<[&[Complex<T>]; 3], EngineError> {
        let waves = if self.exit.is_empty() { 0 } else { lengths[2] };
        Ok([
            self.object.as_slice("object", lengths[0])?,
            self.probe.as_slice("probe", lengths[1])?,
            self.exit.as_slice("set of exit waves", waves)?,
        ])
    }

    /// Momentum of object and probe, each with `lengths` values or empty.
    pub(crate) fn momentum<T: Real>(
        &self,
        lengths: [usize; 2],
    ) -> Result<[&[Complex<T>]; 2], EngineError> {
        let one = |n: usize, what| {
            let values = &self.momentum[n];
            let expected = if values.is_empty() { 0 } else { lengths[n] };
            values.as_slice(what, expected)
        };
        Ok([one(0, "object's momentum")?, one(1, "probe's momentum")?])
    }

    /// The state of conjugate gradients on object and probe of these `lengths`.
    pub(crate) fn search<T: Real>(
        &self,
        lengths: [usize; 2],
    ) -> Result<Search<Vec<Complex<T>>>, EngineError> {
        if self.search_numbers.is_empty() {
            return Ok(Search::default());
        }
        let numbers: &[Complex<f64>] = self.search_numbers.as_slice("list of numbers", 2)?;
        let count = numbers[0].im as usize;
        if self.search.iter().all(Values::is_empty) {
            return Ok(Search { last: None, count });
        }
        let one = |n: usize, what| {
            let values = self.search[n].as_slice(what, lengths[n % 2])?;
            Ok::<Vec<Complex<T>>, EngineError>(values.to_vec())
        };
        let gradient = [one(0, "object's gradient")?, one(1, "probe's gradient")?];
        let direction = [one(2, "object's direction")?, one(3, "probe's direction")?];
        let last = Last {
            gradient,
            direction,
            norm: numbers[0].re,
            updated: [numbers[1].re, numbers[1].im].map(|v| v != 0.0),
        };
        let last = Some(last);
        Ok(Search { last, count })
    }

    /// Sets `frames` to the saved positions and scales, if there are any. Positions further than
    /// `bound` from the first ones are refused, as their windows may leave the object.
    pub(crate) fn restore_frames(
        &self,
        frames: &mut FrameParameters,
        bound: f64,
    ) -> Result<(), EngineError> {
        if self.positions.is_empty() && self.scales.is_empty() {
            return Ok(());
        }
        let count = frames.positions.len();
        let positions: &[Complex<f64>] = self.positions.as_slice("list of positions", count)?;
        let scales: &[Complex<f64>] = self.scales.as_slice("list of scales", count)?;
        let positions = positions.iter().map(|p| [p.re, p.im]).collect();
        let scales = scales.iter().map(|s| s.re).collect();
        frames
            .restore(positions, scales, bound)
            .ok_or(EngineError::Frames { bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_returns_its_arrays_uncopied_and_only_in_their_precision() {
        let line = |n: usize| -> Vec<Complex<f32>> {
            (0..n).map(|i| Complex::new(i as f32, -0.5)).collect()
        };
        let exit = line(7);
        let address = exit.as_ptr();
        let state = EngineState::from_parts(line(3), line(2), exit);
        let [object, probe, exit] = state.parts::<f32>([3, 2, 7]).unwrap();
        assert_eq!((object, probe), (&line(3)[..], &line(2)[..]));
        // The exit waves take most of a run's memory and must not be copied.
        assert_eq!(exit.as_ptr(), address);
        assert!(matches!(
            state.parts::<f64>([3, 2, 7]),
            Err(EngineError::Precision)
        ));
        assert!(matches!(
            state.parts::<f32>([3, 2, 8]),
            Err(EngineError::State {
                found: 7,
                expected: 8,
                ..
            })
        ));
        let double = vec![Complex::new(0.1, 0.2); 4];
        let state = EngineState::from_parts(double.clone(), double.clone(), double.clone());
        assert_eq!(state.exit, Values::F64(double));
    }
}
