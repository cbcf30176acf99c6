//! The state of an engine as a checkpoint has it.

use super::GpuEngine;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::model::variable_probe::VariationBuffers;
use crate::engines::cuda::projections::packed_waves;
use crate::model::multislice::Distances;
use crate::{EngineError, EngineState, WaveSpace};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};

impl<M: Device> GpuEngine<M> {
    /// [`crate::Engine::save`].
    pub(super) fn saved_state(&mut self) -> std::result::Result<EngineState, EngineError> {
        let layout = self.layout;
        let object = self.download(&self.buffers.object, layout.object_elements())?;
        let probe = self.download(&self.buffers.probe, layout.probe_elements())?;
        let space = match &self.fused {
            Some(_) => WaveSpace::Real,
            None => WaveSpace::Fourier,
        };
        let Buffers { waves, spectra, .. } = &self.buffers;
        let exit = match (&mut self.waves, space) {
            (Some(blocks), _) => blocks.download(&self.device)?,
            (None, WaveSpace::Real) if self.buffers.packed() => {
                packed_waves::download(&self.device, &self.buffers)?
            }
            (None, WaveSpace::Real) => self.download(waves, waves.len())?,
            (None, WaveSpace::Fourier) => self.download(spectra, spectra.len())?,
        };
        let ranks = self.exchange.ranks();
        let exit = if !self.exchange.frames().differs() {
            exit
        } else if ranks.is_first() {
            let all = ranks.gathered_first(exit)?;
            self.exchange.frames().sorted(&all, layout.frame_elements())
        } else {
            ranks.gathered_first(exit)?
        };
        let momentum = match &self.batches {
            Some(of) => [&of.object_velocity, &of.probe_velocity]
                .map(|v| self.download(v, v.len()))
                .into_iter()
                .collect::<Result<Vec<_>>>()?,
            None => self.saved_momentum.to_vec(),
        };
        let mut momentum = momentum.into_iter();
        let mut next = || momentum.next().unwrap_or_default();
        let momentum = [next(), next()];
        let search = match &self.likelihood {
            Some(of) => of.search(&self.device)?,
            None => self.saved_search.clone(),
        };
        let mut state = EngineState::from_parts(object, probe, exit)
            .with_exit_in(space)
            .with_momentum(momentum)
            .with_search(search)
            .with_frames(&self.parameters);
        let distances = (self.buffers.slices.as_ref()).map(|slices| slices.distances.state());
        state.added.extend(distances);
        state.added.extend(self.saved_variations.clone());
        if let Some(of) = &self.buffers.variations {
            of.save(&self.device, &mut state)?;
        }
        if let Some(detector) = &self.buffers.detector {
            detector.save(&mut state);
        }
        Ok(state)
    }

    /// [`crate::Engine::restore`].
    pub(super) fn restore_state(
        &mut self,
        state: &EngineState,
    ) -> std::result::Result<(), EngineError> {
        self.pending.clear();
        let layout = self.layout;
        let lengths = [layout.object_elements(), layout.probe_elements()];
        let of_device = [lengths[0], lengths[1], layout.wave_elements()];
        let all = layout.scan_frames as usize * layout.frame_elements();
        let selected;
        let [object, probe, exit] = if state.exit.len() == all && self.exchange.frames().differs() {
            let [object, probe, exit] = state.parts::<f32>([lengths[0], lengths[1], all])?;
            let waves = exit.chunks_exact(layout.frame_elements());
            let waves: Vec<&[Complex<f32>]> = waves.collect();
            selected = self.exchange.frames().pick(&waves).concat();
            [object, probe, &selected]
        } else {
            state.parts::<f32>(of_device)?
        };
        let momentum = state.momentum::<f32>(lengths)?;
        self.saved_search = state.search(lengths)?;
        self.likelihood = None;
        if let Some(slices) = &mut self.buffers.slices {
            let saved = state.added.get(Distances::STATE);
            (slices.distances.restore(saved)).ok_or(EngineError::Distances)?;
            slices.propagate_over_distances(&self.device)?;
        }
        if let Some(detector) = &mut self.buffers.detector {
            detector.restore(&self.device, state)?;
        }
        state.restore_frames(&mut self.parameters, self.bound)?;
        self.upload_frames()?;
        let shape = [layout.rows, layout.columns].map(|n| n as usize);
        if exit.is_empty() {
            self.free_projections()?;
        } else if self.fused_scan.is_some() && state.exit_space == WaveSpace::Real {
            self.start_fused()?;
            if let Some(waves) = &mut self.waves {
                waves.upload(&self.device, exit)?;
            } else if self.buffers.packed() {
                packed_waves::upload(&self.device, &mut self.buffers, exit)?;
            } else {
                self.device.upload(&mut self.buffers.waves, exit)?;
            }
        } else {
            self.start_projections()?;
            let exit = state.exit_in(WaveSpace::Fourier, exit, shape);
            match &mut self.waves {
                Some(waves) => waves.upload(&self.device, &exit)?,
                None => self.device.upload(&mut self.buffers.spectra, &exit)?,
            }
        }
        if let Some(fused) = &mut self.fused {
            fused.forget_fluence();
        }
        let momentum = momentum.map(<[Complex<f32>]>::to_vec);
        if let Some(batches) = &mut self.batches {
            batches.set_momentum(&self.device, &momentum)?;
            // It adds to the buffers that are gone.
            if let Some(frames) = &mut self.frames {
                frames.epochs.clear();
            }
        } else {
            self.saved_momentum = momentum;
        }
        // Devices that divide frames have no variations themselves.
        self.buffers.variations = None;
        if self.undivided.is_some() {
            self.saved_variations.clone_from(&state.added);
        } else {
            let (device, count) = (&self.device, self.variation_count);
            self.buffers.variations = VariationBuffers::restored(device, &layout, state, count)?;
        }
        self.device.upload(&mut self.buffers.object, object)?;
        self.device.upload(&mut self.buffers.probe, probe)?;
        Ok(())
    }
}
