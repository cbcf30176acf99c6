//! State and step of a projection engine on the CPU.

use super::arrays::scratch_pool::Pool;
use super::arrays::window::Layout;
use super::model::detector::CpuDetector;
use super::model::propagation::Propagator;
use super::model::slices::Slices;
use super::model::variations::Variations;
use super::projections::fourier_projection::Scratch;
use super::updates::constraints;
use crate::engines::batches::KeptBatches;
use crate::engines::likelihood::Search;
use crate::engines::ranks::Ranks;
use crate::engines::regions::{REGIONS, Regions};
use crate::positions::refinement::FrameParameters;
use crate::{Problem, Step, StepErrors};
use num_complex::Complex;
use rayon::prelude::*;
use std::sync::Arc;
use warpstride_core::system::ScratchError;
use warpstride_fft::{Real, TransposedFft2};

mod projections;
mod state;
mod steps;

/// What the iterations remember.
#[derive(Default)]
pub(super) struct BatchState<T> {
    /// Object and probe momentum; empty before the first iteration with momentum.
    pub(super) object: Vec<Complex<T>>,
    pub(super) probe: Vec<Complex<T>>,
}

/// Values of the object and of the probe.
pub(super) type Pair<T> = [Vec<Complex<T>>; 2];

/// What the iterations of maximum likelihood remember.
pub(super) type LikelihoodState<T> = Search<Vec<Complex<T>>>;

/// Bytes of exit waves that are written before the sums of object and probe read them again: a part
/// of the last-level cache.
const TOGETHER: usize = 8 << 20;

/// Frames with exit waves of `waves` values that are worked on together: at least four per thread.
/// It changes no result.
pub(super) fn frames_together<T>(waves: usize) -> usize {
    let fitting = TOGETHER / (waves * size_of::<Complex<T>>()).max(1);
    fitting.max(4 * rayon::current_num_threads())
}

/// A projection engine on the CPU in precision `T`.
pub struct CpuEngine<T: Real> {
    /// The ranks among which the frames are divided; each has the counts of all frames, but only
    /// its own exit waves.
    pub(super) ranks: Ranks,
    pub(super) layout: Layout,
    /// Transforms that shift probes.
    pub(super) fft: TransposedFft2<T>,
    /// To the detector.
    pub(super) propagator: Propagator<T>,
    /// √counts (frame, column, row), negative where masked or free.
    pub(super) magnitudes: Vec<f32>,
    /// The detector, unless frames are the intensities themselves.
    pub(super) detector: Option<CpuDetector<T>>,
    total_counts: f64,
    free_counts: f64,
    /// (layer, row, column).
    pub(super) object: Vec<Complex<T>>,
    /// (mode, row, column).
    pub(super) probe: Vec<Complex<T>>,
    pub(super) batch_state: BatchState<T>,
    /// The regions of the scan, if engines work on them, and the batches of each.
    pub(super) regions: Option<Arc<Regions>>,
    pub(super) kept_batches: [KeptBatches; REGIONS],
    pub(super) likelihood: LikelihoodState<T>,
    /// The slices of a thick specimen, which are the layers of the object.
    pub(super) slices: Option<Slices<T>>,
    /// Variations of the first probe mode, once an iteration has formed them.
    pub(super) variations: Option<Variations<T>>,
    /// How many of them the recipe wants.
    pub(super) variation_count: usize,
    /// Whether the last iteration had frames at their exact positions.
    subpixel: bool,
    parameters: FrameParameters,
    /// Largest distance of a position from its start, pixels.
    bound: f64,
    /// Power to which the probe is scaled, photons.
    power: f64,
    /// Ψ, unnormalised detector waves of the exit waves (frame, wave, column, row) of this rank's
    /// frames.
    spectra: Vec<Complex<T>>,
    /// Exit waves ψ (frame, wave, row, column) of the current iteration and this rank's frames.
    pub(super) exit: Vec<Complex<T>>,
    scratch: Pool<Scratch<T>>,
    finished: Vec<StepErrors>,
}

impl<T: Real> CpuEngine<T> {
    /// Initialises the engine with the start values.
    ///
    /// # Panics
    /// The problem has its magnitudes in a temporary file that cannot be read; [`CpuEngine::among`]
    /// returns the error.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        match Self::among(problem, Ranks::alone()) {
            Ok(engine) => engine,
            Err(error) => panic!("{error}"),
        }
    }

    /// Like [`CpuEngine::new`], for one of several ranks, which divide the frames among them. Every
    /// rank has an engine for the same problem and calls the same operations. Object and probe have
    /// the same bits as with one rank, if there are at most twelve.
    ///
    /// # Errors
    /// The problem has its magnitudes in a temporary file that cannot be read.
    pub fn among(problem: &Problem, ranks: Ranks) -> Result<Self, ScratchError> {
        let [frames, modes, rows, columns] = problem.shape();
        let layout = Layout {
            modes,
            rows,
            columns,
            object_shape: problem.positions.object_shape,
            object_layers: problem.object_modes(),
            fly: problem.fly.clone(),
            corners: problem.positions.corners.clone(),
            fractions: vec![[0.0; 2]; frames],
            scales: vec![1.0; frames],
        };
        let pixels = layout.pixels();
        let mut magnitudes = vec![0.0; frames * pixels];
        problem.magnitudes.blocks(|first, block| {
            let block = block.as_standard_layout();
            let from = block.as_slice().unwrap_or_default();
            magnitudes[first * pixels..]
                .par_chunks_mut(pixels)
                .zip(from.par_chunks(pixels))
                .for_each(|(to, from)| transpose::transpose(from, to, columns, rows));
            Ok(())
        })?;
        let convert = |v: &Complex<f64>| Complex::new(T::of(v.re), T::of(v.im));
        let parameters = FrameParameters::new(&problem.positions);
        let fft = TransposedFft2::new(rows, columns);
        let near = problem.near_field.as_ref();
        let mut layout = layout;
        if layout.fly.points() > 1 {
            layout.set(parameters.frames(true));
        }
        Ok(Self {
            ranks,
            propagator: Propagator::new(fft.clone(), [rows, columns], near),
            fft,
            magnitudes,
            detector: problem.detector.as_ref().map(CpuDetector::new),
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            object: problem.object_values().map(convert).collect(),
            probe: problem.probe.iter().map(convert).collect(),
            batch_state: BatchState::default(),
            regions: problem.regions.clone(),
            kept_batches: Default::default(),
            likelihood: LikelihoodState::default(),
            slices: (problem.slices.as_ref()).map(|plan| Slices::new(plan, [rows, columns])),
            // Points of an exposure are between pixels.
            subpixel: problem.fly.points() > 1,
            variations: problem.start_variations.as_ref().map(Variations::of),
            variation_count: problem.opr_modes,
            parameters,
            bound: problem.refinement.bound,
            power: problem.power(),
            spectra: Vec::new(),
            exit: Vec::new(),
            scratch: Pool::default(),
            finished: Vec::new(),
            layout,
        })
    }

    /// Updates the detector's background from the sums of the iteration.
    pub(super) fn update_background(&mut self) {
        if let Some(detector) = &mut self.detector {
            detector.update();
        }
    }

    pub(super) fn constrain_probe(&mut self, step: &Step) {
        let (rows, columns) = (self.layout.rows, self.layout.columns);
        if let Some(fraction) = step.probe_support {
            constraints::real_support(&mut self.probe, &constraints::disc(rows, columns, fraction));
        }
        if let Some(fraction) = step.probe_fourier_support {
            let support = constraints::disc_at_origin(rows, columns, fraction);
            constraints::fourier_support(&mut self.probe, &support, rows, columns);
        }
    }
}
