//! One iteration of each kind: projections, a pass over mini-batches, a step of conjugate gradient.

use super::GpuEngine;
use crate::Step;
use crate::engines::cuda::batches::batch_engine;
use crate::engines::cuda::likelihood;
use crate::engines::cuda::model::{object_modes, variable_probe};
use crate::engines::cuda::updates::centring;
use crate::engines::cuda::updates::normalisation::normalise;
use crate::engines::interleaved::Interleaved;
use crate::engines::likelihood::{LikelihoodMethod, Search};
use crate::engines::method::{BatchMethod, Method};
use warpstride_cuda::gpu::{Device, ReadBack, Result};

impl<M: Device> GpuEngine<M> {
    /// Queues one iteration and the read-back of its metrics.
    ///
    /// # Errors
    /// Returns the device's error.
    pub(super) fn queue(&mut self, step: &Step) -> Result<()> {
        if self.subpixel != step.subpixel {
            self.subpixel = step.subpixel;
            self.upload_frames()?;
        }
        if !matches!(step.method, Method::Likelihood(_)) {
            self.likelihood = None;
            self.saved_search = Search::default();
        }
        if let Some(detector) = &mut self.buffers.detector {
            detector.begin(&self.device, step)?;
        }
        match &step.method {
            Method::Projection => {
                // All frames have one probe here.
                self.buffers.variations = None;
                self.saved_variations.clear();
                self.project(step)?;
            }
            Method::Batches(method) => {
                let (device, layout, buffers) = (&self.device, &self.layout, &mut self.buffers);
                variable_probe::begin(device, layout, buffers, step, self.variation_count)?;
                self.pass(step, method)?;
                variable_probe::end(&self.device, &self.layout, &mut self.buffers, step)?;
            }
            Method::Likelihood(method) => self.maximise(step, method)?,
        }
        if let Some(detector) = &mut self.buffers.detector {
            detector.finish(&self.device)?;
        }
        self.read_errors(step)?;
        if step.normalises(self.layout.modes as usize) {
            let (buffers, momentum) = (&mut self.buffers, self.batches.as_mut());
            let searches = matches!(step.method, Method::Likelihood(_));
            let power = (!searches).then_some(self.power);
            let others = self.likelihood.as_mut().and_then(|of| of.on_probe());
            let (device, layout) = (&self.device, &self.layout);
            normalise(device, layout, buffers, momentum, others, power)?;
            if let Some(own) = &mut self.likelihood {
                own.changed();
            }
        }
        if step.mixes_objects(self.layout.object_layers as usize) {
            let corners = self.parameters.frames(self.subpixel).corners;
            let others = (self.batches.as_mut(), self.likelihood.as_mut());
            let (device, layout) = (&self.device, &self.layout);
            object_modes::orthogonalise(device, layout, &mut self.buffers, others, &corners)?;
            if let Some(own) = &mut self.likelihood {
                own.changed();
            }
        }
        match &step.refinement {
            Some(how) => self.refine(step, how),
            None => Ok(()),
        }
    }

    /// One pass over mini-batches.
    fn pass(&mut self, step: &Step, method: &BatchMethod) -> Result<()> {
        if let Some(regions) = self.regions.clone().filter(|_| method.regions) {
            return self.pass_regions(step, method, &regions);
        }
        let of_scan = self.parameters.frames(step.subpixel);
        let (size, seed) = (method.size, step.seed);
        let positions = of_scan.exact();
        let lists = (self.kept_batches).of(method.order, &positions, size, seed, step.iteration);
        let own = self.exchange.frames().own_lists(&lists);
        self.start_batches(self.batch_sizes(size, &lists))?;
        self.with_batches(step, |run, division| {
            if run.exchange.is_some() {
                let of_scan = (&lists[..], &of_scan.corners[..]);
                let (device, layout) = (run.device, run.layout);
                run.batches
                    .begin_divided(device, layout, run.frames, division, of_scan)?;
            }
            run.iterate(step, method, &own)
        })
    }

    /// Does `work` with the memory of batches, which has been allocated, then centres the probe.
    pub(super) fn with_batches(
        &mut self,
        step: &Step,
        work: impl FnOnce(&mut batch_engine::Run<'_, M>, &Interleaved) -> Result<()>,
    ) -> Result<()> {
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            batches: Some(batches),
            probe_fft,
            supports,
            exchange,
            ..
        } = self
        else {
            return Ok(());
        };
        let of_step = [step.probe_support, step.probe_fourier_support];
        supports.set(device, layout, buffers, of_step)?;
        let division = exchange.frames().clone();
        let mut run = batch_engine::Run {
            device,
            layout,
            buffers,
            frames,
            batches,
            probe_fft,
            exchange: (!exchange.alone()).then_some(exchange),
            deferred: None,
            distances: None,
            group: 0,
        };
        run.distances = (run.buffers.slices.as_ref()).map(|of| of.start_sums(step.iteration));
        work(&mut run, &division)?;
        let sums = run.distances.take();
        if let (Some(slices), Some(sums)) = (&mut buffers.slices, sums) {
            slices.finish(device, sums)?;
        }
        match step.centre_tolerance {
            Some(tolerance) => centring::centre(device, layout, buffers, tolerance),
            None => Ok(()),
        }
    }

    /// One step of conjugate gradient.
    fn maximise(&mut self, step: &Step, method: &LikelihoodMethod) -> Result<()> {
        self.start_likelihood()?;
        let Self {
            layout,
            device,
            buffers,
            frames: Some(frames),
            likelihood: Some(own),
            probe_fft,
            supports,
            ..
        } = self
        else {
            return Ok(());
        };
        frames.scaled = false;
        let of_step = [step.probe_support, step.probe_fourier_support];
        supports.set(device, layout, buffers, of_step)?;
        let mut run = likelihood::Run {
            device,
            layout,
            buffers,
            frames,
            own,
            probe_fft,
            distances: None,
        };
        run.distances = (run.buffers.slices.as_ref()).map(|of| of.start_sums(step.iteration));
        run.iterate(step, method)?;
        let sums = run.distances.take();
        if let (Some(slices), Some(sums)) = (&mut buffers.slices, sums) {
            slices.finish(device, sums)?;
        }
        if let Some(tolerance) = step.centre_tolerance {
            centring::centre(device, layout, buffers, tolerance)?;
            let shift = device.read_back(&buffers.shift)?.wait()?;
            if shift.iter().any(|v| *v != 0) {
                // Its directions are those of the old windows.
                own.restart();
            }
        }
        Ok(())
    }
}
