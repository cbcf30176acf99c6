//! The engine interface of all back ends: single steps, metrics read back asynchronously, and
//! state that can be saved and restored.

use super::likelihood::{Last, Search};
use super::ranks::Ranks;
use super::refinement::FrameParameters;
use super::{ModelErrors, Step, StepErrors, StepPlan, StreamPlan};
use crate::data::ModelParts;
use crate::fft::{Fft2, Real};
use crate::gpu::ProfileSpan;
use crate::run::Setup;
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use rayon::prelude::*;
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// The saved state belongs to another run.
    #[error("the saved {what}: expected {expected} values, found {found}")]
    State {
        /// Name of the array.
        what: &'static str,
        /// Number of saved values.
        found: usize,
        /// Number of values of this run.
        expected: usize,
    },
    /// Saved positions or scales that no run has.
    #[error(
        "the saved frames: expected positions within {bound} pixels of the scan's and scales above 0, found others"
    )]
    Frames {
        /// Largest distance on an axis, object pixels.
        bound: f64,
    },
    /// Slices of a thick specimen, where not all counts are on the device.
    #[error(
        "slices: expected enough device memory for the counts of all frames, found less; take fewer frames, or --backend cpu"
    )]
    StreamedSlices,
    /// Saved distances between slices that the run does not have.
    #[error(
        "the saved distances between slices: expected those of this run, within a factor of 2 of its start, found others"
    )]
    Distances,
    /// The shares of the object's sums were larger than fixed-point numbers can hold.
    #[error(
        "iteration {iteration}: a value of the exit waves is more than {headroom} times as large as the scan's counts explain, beyond the range of the fused step's sums; start from another probe or object, or compute with --set gpu.step=unfused"
    )]
    Sums {
        /// Number of the iteration in the run.
        iteration: usize,
        /// How much larger than expected values may be.
        headroom: f32,
    },
    /// An engine with exit waves of all frames, where not all counts are on the device and the plan has no exit waves.
    #[error(
        "dm, raar and ap keep exit waves of all frames, for which the plan of blocks of frames has no memory (StreamPlan::with_waves)"
    )]
    Streamed,
    /// Several object modes or points of an exposure, where not all counts are on the device.
    #[error(
        "several object modes or points of an exposure: expected the counts and exit waves of all frames in the device's memory for dm, raar and ap, and its counts for paths that differ between frames, found less memory"
    )]
    LayeredBlocks,
    /// A detector that blurs or has a background, on a GPU.
    #[error(
        "blur and background of the detector (detector.blur, detector.background) are computed on the CPU only"
    )]
    Detector,
    /// Another rank has failed, or cannot be reached.
    #[error(transparent)]
    Ranks(#[from] crate::ranks::RankError),
    /// The ranks have different inputs.
    #[error(
        "the ranks: expected the same scan, recipe and program on all of them, found sums of other shapes"
    )]
    Unlike,
    /// The saved state has another precision.
    #[error("the saved state: expected the precision of this run, found another")]
    Precision,
}

/// A projection engine: its state and a single step. [`super::Reconstructor`] runs the loop.
pub trait Engine {
    /// Where and how it computes.
    fn setup(&self) -> Setup;

    /// How the last projection was computed, on a GPU; `None` elsewhere, and before it.
    fn plan(&self) -> Option<StepPlan> {
        None
    }

    /// How counts travel to a GPU that does not hold them all.
    fn streaming(&self) -> Option<StreamPlan> {
        None
    }

    /// The ranks among which the frames are divided.
    fn ranks(&self) -> Ranks {
        Ranks::alone()
    }

    /// Whether the last iteration of a run that is resumed had frames at their exact positions; before [`Engine::restore`].
    fn set_exact(&mut self, _exact: bool) {}

    /// Queues one iteration and may return before it has finished.
    ///
    /// # Errors
    /// Returns the device's error.
    fn step(&mut self, step: &Step) -> Result<(), EngineError>;

    /// Metrics of finished iterations, in order. With `all` it waits for every queued iteration.
    ///
    /// # Errors
    /// Returns the device's error.
    fn errors(&mut self, all: bool) -> Result<Vec<StepErrors>, EngineError>;

    /// Computes err_phot and R of the current object and probe; waits for the device.
    ///
    /// # Errors
    /// Returns the device's error.
    fn metrics(&mut self) -> Result<ModelErrors, EngineError>;

    /// The object (row, column); of one with layers the first, which is the strongest of several modes.
    ///
    /// # Errors
    /// Returns the device's error.
    fn object(&mut self) -> Result<Array2<Complex<f64>>, EngineError> {
        Ok(self.object_layers()?.index_axis_move(Axis(0), 0))
    }

    /// All layers of the object (layer, row, column), at least one.
    ///
    /// # Errors
    /// Returns the device's error.
    fn object_layers(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// The probe (mode, row, column), √photons.
    ///
    /// # Errors
    /// Returns the device's error.
    fn probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError>;

    /// The windows, positions and intensity scales of the frames.
    fn frames(&self) -> Frames;

    /// What the model has beyond object, probe and frames; nothing, unless the recipe asks for it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn model_parts(&mut self) -> Result<ModelParts, EngineError> {
        Ok(ModelParts::default())
    }

    /// Saves everything that the next step depends on. With several ranks, only the state of rank 0 has the exit waves of
    /// all frames; that of another rank has those of its own frames, and only that rank can restore it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn save(&mut self) -> Result<EngineState, EngineError>;

    /// Restores a saved state.
    ///
    /// # Errors
    /// Returns an error if the shape or the precision differs, or the device's error.
    fn restore(&mut self, state: &EngineState) -> Result<(), EngineError>;

    /// Times from now on what its device does; see [`Device::start_profile`](crate::gpu::Device::start_profile). An
    /// engine without a device, as on the CPU, times nothing.
    ///
    /// # Errors
    /// Returns the device's error.
    fn start_profile(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Ends what [`Engine::start_profile`] started, and returns the times of the device's operations.
    ///
    /// # Errors
    /// Returns the device's error.
    fn take_profile(&mut self) -> Result<Vec<ProfileSpan>, EngineError> {
        Ok(Vec::new())
    }
}

/// Windows, positions and intensity scales of the frames, as the model has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// By how much the probe is shifted in each window, pixels; all 0 if the engine works with whole
    /// pixels.
    pub fractions: Vec<[f64; 2]>,
    /// Positions (row, column), object pixels: corners plus fractions, also where the engine works
    /// with whole pixels.
    pub positions: Vec<[f64; 2]>,
    /// Factors on the model intensities.
    pub scales: Vec<f64>,
}

impl Frames {
    /// Corners plus fractions: where the model has the frames.
    pub(super) fn exact(&self) -> Vec<[f64; 2]> {
        let position = |(corner, fraction): (&[u32; 2], &[f64; 2])| {
            [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis])
        };
        let pairs = self.corners.iter().zip(&self.fractions);
        pairs.map(position).collect()
    }
}

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
    pub(super) fn from_vec<T: Real>(mut values: Vec<Complex<T>>) -> Self {
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
    pub(super) fn as_slice<T: Real>(
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
    /// Unnormalised detector waves Ψ, the frames' pixel (rows/2, columns/2) at (0, 0): transforms of ψ in the far field. In the near
    /// field no engine has another form.
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
    /// The last gradients of object and probe, in their shapes, then the last directions, of conjugate
    /// gradients; empty without them.
    pub search: [Values; 4],
    /// Numbers of conjugate gradients, double precision: (⟨g, z⟩, number of iterations), (whether the
    /// object was updated, whether the probe was); empty before them.
    pub search_numbers: Values,
    /// Positions of the frames (row + i column), object pixels, double precision.
    pub positions: Values,
    /// Intensity scales of the frames, double precision.
    pub scales: Values,
    /// Arrays of models that have more than object, probe and frames, by their names; a checkpoint has them under these names.
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
    pub(super) fn drop_exit_waves(&mut self) {
        self.exit = match self.exit {
            Values::F32(_) => Values::F32(Vec::new()),
            Values::F64(_) => Values::F64(Vec::new()),
        };
    }

    /// Gives the exit waves of rank 0 to all ranks.
    pub(super) fn shared(mut self, ranks: &Ranks) -> Result<Self, EngineError> {
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

    /// The exit waves in the form `space`: `exit`, from [`Self::parts`], or its transforms over frames of `shape` (row,
    /// column).
    pub(super) fn exit_in<'a, T: Real>(
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
    pub(super) fn not_finite(&self) -> Option<(&str, f64)> {
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
    pub(super) fn with_momentum<T: Real>(mut self, momentum: [Vec<Complex<T>>; 2]) -> Self {
        self.momentum = momentum.map(Values::from_vec);
        self
    }

    /// Adds the state of conjugate gradients.
    pub(super) fn with_search<T: Real>(mut self, search: Search<Vec<Complex<T>>>) -> Self {
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
    pub(super) fn with_frames(mut self, frames: &FrameParameters) -> Self {
        let position = |p: &[f64; 2]| Complex::new(p[0], p[1]);
        self.positions = Values::F64(frames.positions.iter().map(position).collect());
        let scale = |s: &f64| Complex::new(*s, 0.0);
        self.scales = Values::F64(frames.scales.iter().map(scale).collect());
        self
    }

    /// Takes another object (layer, row, column), probe and scales; returns the old ones.
    pub(super) fn replace(
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
    pub(super) fn exchange(&mut self, [object, probe, scales]: [Values; 3]) -> [Values; 3] {
        [
            std::mem::replace(&mut self.object, object),
            std::mem::replace(&mut self.probe, probe),
            std::mem::replace(&mut self.scales, scales),
        ]
    }

    /// Like [`EngineState::parts`], with the exit waves of the frames `own` alone, `waves` values each: taken from those of all
    /// frames, or those that the state has.
    pub(super) fn parts_of<T: Real>(
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
    pub(super) fn momentum<T: Real>(
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
    pub(super) fn search<T: Real>(
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
    pub(super) fn restore_frames(
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
