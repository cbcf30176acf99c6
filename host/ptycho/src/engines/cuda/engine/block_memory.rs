//! Exit waves in blocks of frames: how they begin, and how they change where another kind of step
//! follows. memory.rs has the same for waves that stay on the device.

use super::GpuEngine;
use crate::GpuWaves;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frames::chunk;
use crate::engines::cuda::memory::wave_stream::{Access, Pass, WaveStream};
use crate::engines::cuda::projections::fused::Fused;
use crate::engines::cuda::projections::{exact_positions, fourier_projection};
use warpstride_cuda::gpu::{Device, Direction, Result};

impl<M: Device> GpuEngine<M> {
    /// Makes the exit waves P·O if there are none, as the fused step or separate kernels have them.
    pub(super) fn start_wave_blocks(&mut self, fuses: bool) -> Result<()> {
        if self.waves.is_some() && self.fused.is_some() == fuses {
            return Ok(());
        }
        let Some(plan) = self.buffers.stream.as_ref().map(|stream| stream.plan()) else {
            return Ok(());
        };
        self.free_batches();
        let stored = match &self.fused_scan {
            Some(scan) if fuses => scan.stored(),
            _ => GpuWaves::F32,
        };
        match self.waves.take() {
            None => {
                let waves = WaveStream::new(&self.device, &self.layout, plan, stored)?;
                let Some(waves) = waves else {
                    return Ok(());
                };
                self.waves = Some(waves);
                self.alloc_for_blocks(fuses)?;
                self.build_blocks()
            }
            Some(waves) if fuses => {
                self.waves = Some(waves);
                self.blocks_to_real_space()?;
                self.waves_fft = None;
                self.buffers.free_waves(&self.device)?;
                self.store_blocks(stored)?;
                self.alloc_for_blocks(fuses)
            }
            Some(waves) => {
                self.waves = Some(waves);
                self.fused = None;
                self.store_blocks(stored)?;
                self.alloc_for_blocks(fuses)?;
                self.blocks_to_spectra()
            }
        }
    }

    /// Allocates what kernels need besides the exit waves.
    fn alloc_for_blocks(&mut self, fuses: bool) -> Result<()> {
        let Some(waves) = &mut self.waves else {
            return Ok(());
        };
        let (device, layout) = (&self.device, &self.layout);
        let largest = waves.largest(layout);
        if let (true, Some(scan)) = (fuses, &self.fused_scan) {
            let corners = self.parameters.frames(false).corners;
            let mut fused = Fused::new(device, scan, (layout, &largest), &corners)?;
            fused.set_blocks(device, scan, waves.blocks())?;
            self.fused = Some(fused);
            return Ok(());
        }
        waves.set_spectra(true);
        let shape = [layout.rows as usize, layout.columns as usize];
        let layers = largest.frames as usize * layout.modes as usize;
        self.waves_fft = Some(device.plan_fft(&shape, layers)?);
        let elements = largest.wave_elements();
        self.buffers.waves = device.alloc("the exit waves of a block", elements)?;
        if self.subpixel {
            self.start_sums([chunk(&self.layout), 0])?;
        }
        Ok(())
    }

    /// Stores the exit waves as `stored`, through the host's memory if that is otherwise than
    /// before.
    fn store_blocks(&mut self, stored: GpuWaves) -> Result<()> {
        let plan = self.buffers.stream.as_ref().map(|stream| stream.plan());
        let (Some(mut old), Some(plan)) = (self.waves.take(), plan) else {
            return Ok(());
        };
        if old.packed() == (stored == GpuWaves::Bf16) {
            self.waves = Some(old);
            return Ok(());
        }
        let values = old.download(&self.device)?;
        drop(old);
        let mut new = WaveStream::new(&self.device, &self.layout, plan, stored)?;
        if let Some(new) = &mut new {
            new.upload(&self.device, &values)?;
        }
        self.waves = new;
        Ok(())
    }

    /// Computes the exit waves of the model.
    fn build_blocks(&mut self) -> Result<()> {
        let subpixel = self.subpixel;
        let Self {
            layout,
            device,
            buffers,
            frames,
            batches: sums,
            probe_fft,
            waves_fft,
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        let pass = waves.back(Access::Replace);
        let pass = Pass {
            descends: true,
            ..pass
        };
        let few = if subpixel { frames.as_mut() } else { None };
        let memory = (&mut *buffers, few);
        waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |_, layout, (buffers, frames), batches| {
                let Some(fft) = waves_fft.as_ref() else {
                    return fourier_projection::build(device, layout, buffers);
                };
                match (frames, sums.as_mut()) {
                    (Some(frames), Some(sums)) => {
                        let mut exact = exact_positions::Run {
                            device,
                            layout,
                            buffers: &mut *buffers,
                            frames,
                            sums,
                            probe_fft,
                            waves_fft: fft,
                            batches: Some(batches),
                        };
                        exact.model_spectra()?;
                    }
                    _ => fourier_projection::model_spectra(device, layout, buffers, fft)?,
                }
                WaveStream::<M>::swap_arrays(buffers);
                Ok(())
            },
        )
    }

    /// ψ to its unnormalised transforms.
    fn blocks_to_spectra(&mut self) -> Result<()> {
        let Self {
            layout,
            device,
            buffers,
            waves_fft: Some(fft),
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        waves.set_spectra(false);
        // The transforms are written to the other array, which then takes the place of the block's.
        WaveStream::<M>::swap_arrays(buffers);
        let pass = waves.back(Access::Change);
        let memory = (&mut *buffers, None);
        let done = waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |_, _, (buffers, _), _| {
                let Buffers { spectra, waves, .. } = &mut *buffers;
                device.fft_to(fft, waves, spectra, Direction::Forward)?;
                WaveStream::<M>::swap_arrays(buffers);
                Ok(())
            },
        );
        WaveStream::<M>::swap_arrays(buffers);
        waves.set_spectra(true);
        done
    }

    /// Unnormalised transforms to ψ.
    fn blocks_to_real_space(&mut self) -> Result<()> {
        let Self {
            layout,
            device,
            buffers,
            waves_fft: Some(fft),
            waves: Some(waves),
            ..
        } = self
        else {
            return Ok(());
        };
        let device: &M = device;
        let pass = waves.back(Access::Change);
        let memory = (&mut *buffers, None);
        let done = waves.each(
            device,
            layout,
            memory,
            pass,
            &mut |_, layout, (buffers, _), _| {
                device.fft(fft, &mut buffers.spectra, Direction::Inverse)?;
                fourier_projection::mix(device, layout, buffers, [0.0, layout.scale()])?;
                WaveStream::<M>::swap_arrays(buffers);
                Ok(())
            },
        );
        waves.set_spectra(false);
        done
    }
}
