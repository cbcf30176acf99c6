//! The memory of an engine on a device: what a kind of iteration needs is allocated when it begins.

use super::GpuEngine;
use crate::engines::cuda::batches::batch_engine::BatchBuffers;
use crate::engines::cuda::likelihood::LikelihoodBuffers;
use crate::engines::cuda::memory::frames::{FrameBuffers, chunk};
use crate::engines::cuda::projections::fused;
use crate::engines::cuda::projections::fused::Fused;
use crate::engines::cuda::projections::{exact_positions, fourier_projection, packed_waves};
use warpstride_cuda::gpu::{Device, Direction, Result};

/// The largest shift, in pixels, that fused launches leave out: the phase ramp of such a shift
/// differs from 1 by less than single precision.
const ON_PIXEL: f32 = 1e-8;

impl<M: Device> GpuEngine<M> {
    /// Makes the exit waves P·O if there are none, and their spectra.
    pub(super) fn start_projections(&mut self) -> Result<()> {
        if self.buffers.stream.is_some() {
            return self.start_wave_blocks(false);
        }
        if self.waves_fft.is_some() {
            return Ok(());
        }
        self.free_batches();
        let layout = self.layout;
        let shape = [layout.rows as usize, layout.columns as usize];
        let count = layout.frames as usize * layout.waves() as usize;
        // Its memory is freed before more is taken.
        let was_fused = self.fused.take().is_some();
        let was_packed = self.buffers.packed();
        if was_packed {
            packed_waves::to_spectra(&self.device, &mut self.buffers)?;
        }
        self.buffers.alloc_waves(&self.device, &layout)?;
        let fft = self.waves_fft.insert(self.device.plan_fft(&shape, count)?);
        let buffers = &mut self.buffers;
        if was_packed {
            return self
                .device
                .fft(fft, &mut buffers.spectra, Direction::Forward);
        }
        if was_fused {
            let (from, to) = (&buffers.waves, &mut buffers.spectra);
            return self.device.fft_to(fft, from, to, Direction::Forward);
        }
        self.model_spectra()?;
        let buffers = &mut self.buffers;
        self.device.copy(&buffers.waves, &mut buffers.spectra)
    }

    /// Makes the exit waves P·O in real space if there are none.
    pub(super) fn start_fused(&mut self) -> Result<()> {
        if self.buffers.stream.is_some() {
            return self.start_wave_blocks(true);
        }
        if self.fused.is_some() {
            return Ok(());
        }
        self.free_batches();
        let Some(scan) = &self.fused_scan else {
            return Ok(());
        };
        let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
        let converts = self.waves_fft.take();
        if let Some(fft) = &converts {
            fused::to_real_space(device, layout, buffers, fft, scan.stored())?;
            buffers.free_spectra(device)?;
        }
        let builds = converts.is_none();
        // The memory of its plan is freed before more is taken.
        drop(converts);
        let corners = self.parameters.frames(false).corners;
        self.fused = Some(Fused::new(device, scan, (layout, layout), &corners)?);
        buffers.alloc_real_waves(device, layout, scan.stored())?;
        if builds {
            fourier_projection::build(device, layout, buffers)?;
        }
        Ok(())
    }

    /// Frees the exit waves.
    pub(super) fn free_projections(&mut self) -> Result<()> {
        self.waves = None;
        if self.waves_fft.take().is_some() || self.fused.take().is_some() {
            self.buffers.free_waves(&self.device)?;
        }
        Ok(())
    }

    /// Frees the memory of batches.
    pub(super) fn free_batches(&mut self) {
        self.batches = None;
        self.frames = None;
        self.saved_momentum = [Vec::new(), Vec::new()];
    }

    /// Writes the unnormalised transforms of the model's exit waves to `waves`.
    pub(super) fn model_spectra(&mut self) -> Result<()> {
        if let Some(mut exact) = self.at_exact_positions()? {
            return exact.model_spectra();
        }
        let (layout, buffers) = (&self.layout, &mut self.buffers);
        match &self.waves_fft {
            Some(fft) => fourier_projection::model_spectra(&self.device, layout, buffers, fft),
            None => Ok(()),
        }
    }

    /// What a projection engine at exact positions works with; `None` at whole pixels.
    pub(super) fn at_exact_positions(&mut self) -> Result<Option<exact_positions::Run<'_, M>>> {
        if !self.subpixel {
            return Ok(None);
        }
        self.start_sums([chunk(&self.layout), 0])?;
        Ok(match self {
            Self {
                layout,
                device,
                buffers,
                frames: Some(frames),
                batches: Some(sums),
                probe_fft,
                waves_fft: Some(waves_fft),
                ..
            } => Some(exact_positions::Run {
                device,
                layout,
                buffers,
                frames,
                sums,
                probe_fft,
                waves_fft,
                batches: None,
            }),
            _ => None,
        })
    }

    /// Allocates memory for `size` frames at a time, unless there is some for as many.
    pub(super) fn start_frames(&mut self, size: usize) -> Result<()> {
        let stream = self.buffers.stream.as_ref();
        let most = stream.map_or(self.layout.frames as usize, |stream| stream.plan().block());
        let size = size.clamp(1, most.max(1));
        if self.frames.as_ref().is_none_or(|f| f.size != size) {
            self.frames = None;
            if let Some(likelihood) = &mut self.likelihood {
                likelihood.forget_captured();
            }
            self.frames = Some(FrameBuffers::new(&self.device, &self.layout, size)?);
        }
        if let Some(frames) = &mut self.frames {
            frames.exact = self.subpixel;
            frames.between_pixels = self.between_pixels;
        }
        Ok(())
    }

    /// Frees the exit waves and allocates memory for `size` frames of batches of at most `whole`
    /// frames.
    pub(super) fn start_batches(&mut self, size: [usize; 2]) -> Result<()> {
        self.free_projections()?;
        self.start_sums(size)
    }

    /// Allocates memory for `size` frames at a time and for sums over them, unless there is some;
    /// of batches of at most `whole` frames, or 0: of none.
    pub(super) fn start_sums(&mut self, [size, whole]: [usize; 2]) -> Result<()> {
        self.start_frames(size)?;
        let needed = self.frames.as_ref().map_or(1, |f| f.size);
        let fits = |b: &BatchBuffers<M>| b.size == needed && (whole == 0 || b.whole == whole);
        if !self.batches.as_ref().is_some_and(fits) {
            // The momentum does not depend on the size of a batch.
            let momentum = (self.batches.take()).map(|b| [b.object_velocity, b.probe_velocity]);
            if let Some(frames) = &mut self.frames {
                frames.epochs.clear();
            }
            // Fused launches know far fields of thin specimens with one probe and an ideal detector
            // only.
            let separate = self.buffers.propagator.is_near_field()
                || self.buffers.slices.is_some()
                || self.buffers.detector.is_some()
                || self.variation_count > 0;
            let sizes = [needed, whole];
            let mut buffers = BatchBuffers::new(&self.device, &self.layout, sizes, separate)?;
            match momentum {
                Some(momentum) => [buffers.object_velocity, buffers.probe_velocity] = momentum,
                None => {
                    let saved = std::mem::take(&mut self.saved_momentum);
                    buffers.set_momentum(&self.device, &saved)?;
                }
            }
            self.batches = Some(buffers);
        }
        Ok(())
    }

    /// Uploads windows, fractions and scales.
    pub(super) fn upload_frames(&mut self) -> Result<()> {
        let frames = self.parameters.frames(self.subpixel);
        let narrow: Vec<[f32; 2]> = frames
            .fractions
            .iter()
            .map(|f| f.map(|v| v as f32))
            .collect();
        if let Some(fused) = &mut self.fused {
            fused.set_windows(&self.device, &self.layout, &frames.corners)?;
        }
        if let Some(likelihood) = &mut self.likelihood {
            likelihood.changed();
        }
        let fractions = || narrow.iter().flatten();
        self.between_pixels = fractions().any(|f| f.abs() > ON_PIXEL);
        let scales: Vec<f32> = frames.scales.iter().map(|s| *s as f32).collect();
        let own = self.exchange.frames();
        let buffers = &mut self.buffers;
        let corners = own.pick(&frames.corners);
        if let Some(slices) = &mut buffers.slices {
            slices.set_corners(&self.device, &corners)?;
        }
        self.device.upload(&mut buffers.corners, &corners)?;
        self.device
            .upload(&mut buffers.fractions, &own.pick(&narrow))?;
        self.device.upload(&mut buffers.scales, &own.pick(&scales))
    }

    /// Frees the memory of other engines and allocates that of conjugate gradients.
    pub(super) fn start_likelihood(&mut self) -> Result<()> {
        self.free_projections()?;
        self.batches = None;
        self.saved_momentum = [Vec::new(), Vec::new()];
        self.start_frames(chunk(&self.layout))?;
        if self.likelihood.is_none() {
            let size = self.frames.as_ref().map_or(1, |f| f.size);
            let search = std::mem::take(&mut self.saved_search);
            let (device, layout) = (&self.device, &self.layout);
            let stream = self.buffers.stream.as_ref();
            let most = stream.map_or(layout.frames, |stream| stream.plan().block() as u32);
            self.likelihood = Some(LikelihoodBuffers::new(
                device,
                layout,
                (size, most),
                &search,
            )?);
        }
        Ok(())
    }
}
