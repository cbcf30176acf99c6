//! Steps that several devices do not divide: each of them computes all frames, as a device alone
//! does.
//!
//! So they all have the same object and probe afterwards, without an exchange. An engine for all
//! frames takes the place of the one that has a part of them, which gives up its exit waves; the
//! state goes from one to the other as it goes to a checkpoint and back.

use super::GpuEngine;
use super::division::{BatchDivision, Undivided};
use crate::engines::method::Method;
use crate::engines::regions::regions_divide_among;
use crate::model::variable_probe::COEFFICIENTS;
use crate::{Engine as _, EngineError, Ranks, Step};
use warpstride_cuda::gpu::Device;

impl<M: Device> GpuEngine<M> {
    /// The engine that has the present state.
    pub(super) fn present(&self) -> &Self {
        self.whole.as_deref().unwrap_or(self)
    }

    /// Divides mini-batches also where that takes longer than to compute them on each device.
    #[must_use]
    pub fn with_divided_batches(mut self) -> Self {
        self.divides_batches = BatchDivision::Always;
        self
    }

    /// Whether the devices divide the frames of a step: of batches without regions only if all
    /// counts are in the devices' memory.
    pub(super) fn divides(&self, step: &Step) -> bool {
        let devices = self.exchange.ranks().size();
        let of_scan = self.layout.scan_frames as usize;
        step.can_be_divided()
            && !self.layout.is_layered()
            && self.buffers.slices.is_none()
            && self.buffers.detector.is_none()
            && match &step.method {
                Method::Batches(method) => {
                    let layout = &self.layout;
                    let of_frame = [layout.modes, layout.rows, layout.columns];
                    if method.regions {
                        let exchanges = self.exchange.has_peers()
                            || self.divides_batches == BatchDivision::Always;
                        return exchanges && regions_divide_among(devices);
                    }
                    let wanted = match self.divides_batches {
                        BatchDivision::Never => false,
                        // With the frames of a region on one device, it would have most of a batch.
                        BatchDivision::Gaining => {
                            self.regions.is_none()
                                && method.gains_by_division(of_scan, of_frame.map(|n| n as usize))
                        }
                        BatchDivision::Always => true,
                    };
                    wanted && !self.streams && method.divides_among(devices, of_scan)
                }
                _ => true,
            }
    }

    /// Frames of a batch of `lists`, at most `size` each, for which this device needs memory, and
    /// frames of a batch of all devices.
    pub(super) fn batch_sizes(&self, size: usize, lists: &[Vec<u32>]) -> [usize; 2] {
        let whole = size.min(self.layout.scan_frames as usize);
        if self.exchange.alone() {
            return [size, whole];
        }
        let division = self.exchange.frames();
        let counts = lists.iter().flat_map(|list| division.counts(list));
        let longest = counts.max().unwrap_or(1);
        // Spread batches have other numbers of frames in each iteration.
        let enough = longest..=whole.min(2 * longest);
        let present = self.frames.as_ref().map(|frames| frames.size);
        let size = present.filter(|size| enough.contains(size));
        [size.unwrap_or(longest), whole]
    }

    /// Queues a step that every device computes for all frames.
    pub(super) fn step_undivided(&mut self, step: &Step) -> Result<(), EngineError> {
        if self.whole.is_none() {
            self.start_whole(step)?;
        }
        match &mut self.whole {
            Some(whole) => whole.step(step),
            None => Ok(()),
        }
    }

    fn start_whole(&mut self, step: &Step) -> Result<(), EngineError> {
        let finished = self.errors(true)?;
        self.finished = finished;
        // Exit waves are of use to projections only, which are at exact positions then. Every
        // device needs those of all frames.
        let mut state = self.saved_state()?;
        let ranks = self.exchange.ranks().clone();
        if !step.is_projection() {
            state.drop_exit_waves();
        } else if ranks.any(!state.exit.is_empty())? {
            state = state.shared(&ranks)?;
        }
        self.free_projections()?;
        self.free_batches();
        self.likelihood = None;
        // Memory is not freed while any device has a graph: all of them free theirs before one
        // makes graphs.
        ranks.any(false)?;
        let Some(Undivided { problem, stream }) = &mut self.undivided else {
            return Ok(());
        };
        let mut start = problem.clone();
        // The variations of an earlier result are those of the first engine for all frames; later
        // ones have the present ones.
        problem.start_variations = None;
        let (problem, stream) = (&mut start, *stream);
        problem.projects_first = false;
        let (device, version) = (self.device.sibling()?, self.version);
        let alone = (Ranks::alone(), None);
        let mut whole = Box::new(Self::among(device, problem, version, stream, alone)?);
        whole.in_step = true;
        let start = whole.buffers.variations.take();
        whole.restore(&state)?;
        // Other parts of the model, a background for example, are saved beside them.
        if whole.buffers.variations.is_none() && !self.saved_variations.contains_key(COEFFICIENTS) {
            whole.buffers.variations = start;
        }
        self.saved_variations.clear();
        self.whole = Some(whole);
        Ok(())
    }

    /// Goes on with this device's frames.
    pub(super) fn divide_again(&mut self) -> Result<(), EngineError> {
        let Some(mut whole) = self.whole.take() else {
            return Ok(());
        };
        let finished = whole.errors(true)?;
        self.finished.extend(finished);
        let state = whole.saved_state()?;
        drop(whole);
        // The graphs of all devices are gone then.
        self.exchange.ranks().any(false)?;
        self.restore_state(&state)
    }
}
