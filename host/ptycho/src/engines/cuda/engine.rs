//! Mirrors cpu/engine.rs: state and step of a projection engine on a device.

mod block_memory;
mod blocks;
mod division;
mod iteration;
mod memory;
mod pending;
mod projection;
mod read_back;
#[cfg(test)]
mod ready_magnitudes;
mod refine;
mod regions;
mod results;
mod stage_times;
mod state;
mod undivided;

use division::{BatchDivision, Undivided};
use pending::Pending;

use super::batches::batch_engine::BatchBuffers;
use super::devices::exchange::Exchange;
use super::likelihood::LikelihoodBuffers;
use super::memory::buffers::Buffers;
use super::memory::frame_stream::FrameStream;
use super::memory::frames::{FrameBuffers, chunk};
use super::memory::layout::Layout;
use super::memory::wave_stream::WaveStream;
use super::metrics;
use super::metrics::all_errors;
use super::projections::fused::{Fused, FusedScan};
use super::updates::constraints::Supports;
use crate::data::{ModelParts, product};
use crate::engines::batches::KeptBatches;
use crate::engines::likelihood::Search;
use crate::engines::method::Method;
use crate::engines::regions::{REGIONS, Regions};
use crate::positions::refinement::FrameParameters;
use crate::{
    Engine, EngineError, EngineState, Frames, ModelErrors, Problem, Ranks, Step, StepErrors,
    StepPlan, StreamPlan, UpdateVersion, Values,
};
use ndarray::{Array2, Array3, Axis};
use num_complex::Complex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use warpstride_core::run::Setup;
use warpstride_cuda::cuda::DeviceBuffer;
use warpstride_cuda::gpu::{Buffer, Device, ProfileSpan, ReadBack};
use warpstride_device::Complex32;

/// Largest number of iterations whose metrics may be pending; beyond it the oldest is waited for,
/// so that neither the queue nor the page-locked memory grows.
const MAX_PENDING: usize = 32;
/// The same with several ranks, which always wait for the oldest: few, so that metrics are shown
/// soon.
const PENDING_IN_STEP: usize = 3;

/// A projection engine on a [`Device`], in single precision.
pub struct GpuEngine<M: Device> {
    layout: Layout,
    /// What is exchanged with other devices that have other frames.
    exchange: Exchange<M>,
    /// The names of the devices of all ranks.
    device_names: String,
    /// What engines are made of that every device runs for all frames; none if there is one device.
    undivided: Option<Undivided>,
    /// The mini-batches that devices divide.
    divides_batches: BatchDivision,
    /// Whether the counts of any device travel in blocks.
    streams: bool,
    /// Such an engine, while it runs, in place of this one.
    whole: Option<Box<Self>>,
    /// Metrics of iterations that were waited for.
    finished: Vec<StepErrors>,
    /// Whether metrics are waited for after the same number of iterations each time, as other ranks
    /// do.
    in_step: bool,
    version: UpdateVersion,
    supports: Supports,
    total_counts: f64,
    free_counts: f64,
    parameters: FrameParameters,
    /// Largest distance of a position from its start, pixels.
    bound: f64,
    /// Power to which the probe is scaled, photons.
    power: f64,
    /// How many variations of the first probe mode the recipe wants.
    variation_count: usize,
    /// Whether the last iteration had frames at their exact positions.
    subpixel: bool,
    pending: VecDeque<Pending<M>>,
    /// Transforms of all exit waves, if a projection engine runs whose steps are not fused.
    waves_fft: Option<M::Fft>,
    plan: StepPlan,
    /// The plan of the last projection.
    projected: Option<StepPlan>,
    /// `None` if no step can be fused.
    fused_scan: Option<FusedScan>,
    /// Memory of the fused step, while it runs.
    fused: Option<Fused<M>>,
    /// The exit waves, if they travel in blocks.
    waves: Option<WaveStream<M>>,
    probe_fft: M::Fft,
    buffers: Buffers<M>,
    /// Memory for a few frames at a time, once it is needed.
    frames: Option<FrameBuffers<M>>,
    kept_batches: KeptBatches,
    /// The regions of the scan, if engines work on them, and the batches of each.
    regions: Option<Arc<Regions>>,
    kept_regions: [KeptBatches; REGIONS],
    /// Memory of a batch engine, once it is needed.
    batches: Option<BatchBuffers<M>>,
    /// Whether a frame is between pixels, of those at exact positions.
    between_pixels: bool,
    /// Momentum of object and probe from a saved state, until the engine takes it over.
    saved_momentum: [Vec<Complex<f32>>; 2],
    /// Memory of conjugate gradients, once it is needed.
    likelihood: Option<LikelihoodBuffers<M>>,
    /// Variations of the probe from a saved state, on devices that divide frames, for steps that
    /// they do not divide.
    saved_variations: BTreeMap<String, Values>,
    /// Conjugate gradients from a saved state, until the engine takes them over.
    saved_search: Search<Vec<Complex<f32>>>,
    device: M,
}

impl<M: Device> GpuEngine<M> {
    /// Allocates buffers on `device` and uploads the start values. If the recipe begins with a
    /// projection engine, the exit waves are allocated too and start as P·O.
    ///
    /// # Errors
    /// Returns the device's error, for example if memory is exhausted.
    pub fn new(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
    ) -> std::result::Result<Self, EngineError> {
        Self::streamed(device, problem, version, None)
    }

    /// Like [`GpuEngine::new`]; with a plan, the counts and exit waves stay in page-locked host
    /// memory, and blocks of frames travel to the device. The results have the same bits, but for
    /// those of [`StreamPlan::changes_bits`].
    ///
    /// # Errors
    /// Returns the device's error, for example if memory is exhausted; or that a plan without
    /// blocks of exit waves does not serve a projection engine, at its first step.
    pub fn streamed(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
        stream: Option<StreamPlan>,
    ) -> std::result::Result<Self, EngineError> {
        Self::among(device, problem, version, stream, (Ranks::alone(), None))
    }

    /// Like [`GpuEngine::streamed`], for one of several devices that divide the frames of the scan
    /// among them: a rank with a device. Every rank has an engine for the same problem and calls
    /// the same operations. Arrays are exchanged by direct copies if there are `peers`, otherwise
    /// through the ranks' communicator. Projections on whole pixels are divided, and if there are
    /// `peers` the mini-batches of regions and large compact ones; any other step is computed by
    /// each device for all frames ([`Step::can_be_divided`]), so the devices must be of one model.
    /// The bits are those of one device; of fused projections, if there are 2, 3, 4, 6 or 12
    /// devices, and of others (`gpu.step = "unfused"`, other frame sizes, several `overlap_loops`)
    /// but for rounding.
    ///
    /// # Errors
    /// Those of [`GpuEngine::streamed`].
    pub fn among(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
        stream: Option<StreamPlan>,
        ranks: (Ranks, Option<M::Peers>),
    ) -> std::result::Result<Self, EngineError> {
        Self::prepared(device, problem, version, (stream, None), ranks)
    }

    /// Like [`GpuEngine::new`] for a problem whose magnitudes are in the memory of the device:
    /// (frame, row, column), the zero frequency at (0, 0), √counts, −1 where a pixel is masked.
    /// They must have been written; they are only read.
    ///
    /// # Errors
    /// Another number of values than the problem has; otherwise as [`GpuEngine::new`].
    pub fn with_magnitudes(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
        magnitudes: M::Buffer<f32>,
    ) -> std::result::Result<Self, EngineError> {
        let (expected, found) = (
            problem.magnitudes.shape().iter().product(),
            magnitudes.len(),
        );
        if found != expected {
            return Err(EngineError::State {
                what: "magnitudes",
                found,
                expected,
            });
        }
        let ranks = (Ranks::alone(), None);
        Self::prepared(device, problem, version, (None, Some(magnitudes)), ranks)
    }

    fn prepared(
        device: M,
        problem: &Problem,
        version: UpdateVersion,
        (stream, magnitudes): (Option<StreamPlan>, Option<M::Buffer<f32>>),
        (ranks, peers): (Ranks, Option<M::Peers>),
    ) -> std::result::Result<Self, EngineError> {
        if problem.slices.is_some() && stream.is_some() {
            return Err(EngineError::StreamedSlices);
        }
        // Of all devices, which have to divide the same steps.
        let streams = ranks.any(stream.is_some())?;
        let (layout, buffers) =
            Buffers::new(&device, problem, version, (stream, magnitudes), &ranks)?;
        if let Some(plan) = stream.filter(|_| layout.is_layered())
            && (plan.wave_blocks().is_some() || buffers.paths.len() > 1)
        {
            return Err(EngineError::LayeredBlocks);
        }
        let names = vec![device.device_name(); ranks.size()];
        let slices = match version {
            UpdateVersion::Tiled => layout.slices,
            UpdateVersion::Atomic => 1,
        };
        let divides_batches = match peers {
            // Between hosts an exchange takes longer than most batches.
            Some(_) if ranks.local_size() == ranks.size() => BatchDivision::Gaining,
            _ => BatchDivision::Never,
        };
        let of_scan = (ranks, problem.regions.clone());
        let exchange = Exchange::new(&device, (&layout, slices), of_scan, peers)?;
        let shape = [layout.rows as usize, layout.columns as usize];
        let probe_fft = device.plan_fft(&shape, layout.modes as usize)?;
        let plan = StepPlan::new(problem.gpu_step, problem.shape(), device.shared_memory())
            .in_field(problem.near_field.is_some())
            .with_exit_waves(problem.waves() / problem.shape()[1].max(1))
            .with_detector(problem.detector.is_some())
            .with_waves(problem.gpu_waves);
        let several = !exchange.alone();
        let mut engine = Self {
            undivided: several.then(|| Undivided {
                problem: problem.clone(),
                stream,
            }),
            divides_batches,
            streams,
            whole: None,
            finished: Vec::new(),
            in_step: several,
            layout,
            fused_scan: FusedScan::new(plan, problem, exchange.frames())?,
            exchange,
            device_names: names.join(", "),
            version,
            supports: Supports::default(),
            total_counts: problem.total_counts,
            free_counts: problem.free_counts,
            parameters: FrameParameters::new(&problem.positions),
            bound: problem.refinement.bound,
            power: problem.power(),
            variation_count: problem.opr_modes,
            subpixel: false,
            pending: VecDeque::new(),
            waves_fft: None,
            plan,
            projected: None,
            fused: None,
            waves: None,
            probe_fft,
            buffers,
            frames: None,
            kept_batches: KeptBatches::default(),
            regions: problem.regions.clone(),
            kept_regions: Default::default(),
            batches: None,
            between_pixels: false,
            saved_momentum: [Vec::new(), Vec::new()],
            likelihood: None,
            saved_variations: BTreeMap::new(),
            saved_search: Search::default(),
            device,
        };
        if problem.exact_first {
            engine.subpixel = true;
            engine.upload_frames()?;
        }
        if problem.projects_first && engine.fused_scan.is_some() && !engine.subpixel {
            engine.start_fused()?;
        } else if problem.projects_first {
            engine.start_projections()?;
        }
        engine.device.synchronize()?;
        Ok(engine)
    }

    /// The device, for timing.
    #[must_use]
    pub fn device(&self) -> &M {
        &self.device
    }
}

impl<M: Device> Engine for GpuEngine<M> {
    fn setup(&self) -> Setup {
        Setup {
            backend: self.device.backend(),
            device: self.device_names.clone(),
            precision: "f32",
        }
    }

    fn ranks(&self) -> Ranks {
        self.exchange.ranks().clone()
    }

    fn plan(&self) -> Option<StepPlan> {
        self.present().projected.or(self.projected)
    }

    fn streaming(&self) -> Option<StreamPlan> {
        self.buffers.stream.as_ref().map(FrameStream::plan)
    }

    fn set_exact(&mut self, exact: bool) {
        self.subpixel = exact;
    }

    fn step(&mut self, step: &Step) -> std::result::Result<(), EngineError> {
        let plan = self.streaming();
        if plan.is_some_and(|plan| plan.wave_blocks().is_none())
            && step.method == Method::Projection
        {
            return Err(EngineError::Streamed);
        }
        if !self.exchange.alone() {
            if !self.divides(step) {
                return self.step_undivided(step);
            }
            self.divide_again()?;
        }
        Ok(self.queue(step)?)
    }

    fn errors(&mut self, all: bool) -> std::result::Result<Vec<StepErrors>, EngineError> {
        let mut finished = std::mem::take(&mut self.finished);
        if let Some(whole) = &mut self.whole {
            finished.extend(whole.errors(all)?);
            return Ok(finished);
        }
        while let Some(oldest) = self.pending.front() {
            // Read-backs finish in order: when the last one of an iteration is ready, all are.
            // Several ranks must gather those of the same iterations, whatever their devices have
            // done.
            let ready = if self.in_step {
                self.pending.len() > PENDING_IN_STEP
            } else {
                self.pending.len() > MAX_PENDING || oldest.ready()
            };
            if !(all || ready) {
                break;
            }
            if let Some(oldest) = self.pending.pop_front() {
                finished.push(self.finish(oldest)?);
            }
        }
        Ok(finished)
    }

    fn metrics(&mut self) -> std::result::Result<ModelErrors, EngineError> {
        if let Some(whole) = &mut self.whole {
            return whole.metrics();
        }
        if self.waves.is_some() && !self.subpixel {
            self.model_metrics_in_blocks()?;
        } else if let (Some(fused), false) = (&mut self.fused, self.subpixel) {
            fused.model_metrics(&self.device, &self.layout, &mut self.buffers)?;
        } else if self.waves_fft.is_none() || self.subpixel {
            if self.frames.is_none() {
                self.start_frames(chunk(&self.layout))?;
            }
            if let Some(frames) = &mut self.frames {
                let (device, buffers) = (&self.device, &mut self.buffers);
                all_errors(device, &self.layout, buffers, frames, &self.probe_fft)?;
            }
        } else if let Some(fft) = &self.waves_fft {
            metrics::model_metrics(&self.device, &self.layout, &mut self.buffers, fft)?;
        }
        let Self {
            buffers, device, ..
        } = self;
        let photon = device.read_back(&buffers.photon)?.wait()?;
        let residual = device.read_back(&buffers.residual)?.wait()?;
        let free = (self.free_counts > 0.0)
            .then(|| device.read_back(&buffers.free)?.wait())
            .transpose()?;
        self.combine(photon, residual, free)
    }

    fn object(&mut self) -> std::result::Result<Array2<Complex<f64>>, EngineError> {
        let layers = self.object_layers()?;
        Ok(match self.buffers.slices {
            Some(_) => product(&layers),
            None => layers.index_axis_move(Axis(0), 0),
        })
    }

    fn copy_model_to(
        &mut self,
        object: &mut DeviceBuffer<Complex32>,
        probe: &mut DeviceBuffer<Complex32>,
    ) -> std::result::Result<bool, EngineError> {
        self.copy_model(object, probe)
    }

    fn model_parts(&mut self) -> std::result::Result<ModelParts, EngineError> {
        self.read_model_parts()
    }

    fn object_layers(&mut self) -> std::result::Result<Array3<Complex<f64>>, EngineError> {
        self.read_object()
    }

    fn probe(&mut self) -> std::result::Result<Array3<Complex<f64>>, EngineError> {
        self.read_probe()
    }

    fn frames(&self) -> Frames {
        let present = self.present();
        present.parameters.frames(present.subpixel)
    }

    fn save(&mut self) -> std::result::Result<EngineState, EngineError> {
        match &mut self.whole {
            Some(whole) => whole.saved_state(),
            None => self.saved_state(),
        }
    }

    fn restore(&mut self, state: &EngineState) -> std::result::Result<(), EngineError> {
        if let Some(whole) = self.whole.take() {
            self.subpixel = whole.subpixel;
        }
        self.finished.clear();
        self.restore_state(state)
    }

    fn start_profile(&mut self) -> std::result::Result<(), EngineError> {
        Ok(self.present().device.start_profile()?)
    }

    fn take_profile(&mut self) -> std::result::Result<Vec<ProfileSpan>, EngineError> {
        Ok(self.present().device.take_profile()?)
    }
}
