//! The iteration of projection engines: the exit waves, the step of every frame, and the overlap
//! step.

use super::{CpuEngine, frames_together};
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::model::detector;
use crate::engines::cpu::model::shift;
use crate::engines::cpu::projections::exact_positions;
use crate::engines::cpu::projections::exact_positions::Shifter;
use crate::engines::cpu::projections::fourier_projection::{
    FrameErrors, FrameStep, Scratch, model_spectra, step_frame,
};
use crate::engines::cpu::projections::object_update::ObjectSums;
use crate::engines::cpu::projections::probe_update;
use crate::{EngineError, Step};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

impl<T: Real> CpuEngine<T> {
    /// Makes the exit waves P·O if there are none.
    pub(super) fn start_projections(&mut self, exact: bool) {
        let Self {
            ranks,
            layout,
            fft,
            propagator,
            object,
            probe,
            spectra,
            exit,
            ..
        } = self;
        let waves = layout.waves() * layout.pixels();
        let own = ranks.parts(layout.corners.len()).own_frames();
        let total = own.len() * waves;
        if spectra.len() == total {
            return;
        }
        *spectra = vec![Complex::default(); total];
        *exit = vec![Complex::default(); total];
        let of_probe = shift::spectra(probe, layout.pixels(), fft);
        spectra.par_chunks_mut(waves).enumerate().for_each_init(
            || (Scratch::new(layout, fft), Shifter::new(probe)),
            |(scratch, shifter), (frame, state)| {
                let frame = own.start + frame;
                let window = Window {
                    layout,
                    frame,
                    corner: layout.corners[frame],
                    fraction: layout.fraction(frame, exact),
                    probe: shifter.probe(layout, &of_probe, frame, exact, fft),
                    object,
                };
                model_spectra(&window, propagator, scratch);
                state.copy_from_slice(&scratch.model);
            },
        );
    }

    /// The step of every frame of this rank; the object's sums with it, if that is updated from
    /// whole-pixel positions.
    pub(super) fn project(&mut self, step: &Step) -> (Vec<FrameErrors>, Option<ObjectSums<T>>) {
        let Self {
            ranks,
            layout,
            fft,
            propagator,
            magnitudes,
            detector,
            object,
            probe,
            spectra,
            exit,
            scratch: pool,
            ..
        } = self;
        let pixels = layout.pixels();
        let waves = layout.waves() * pixels;
        let of_probe = if step.subpixel {
            shift::spectra(probe, pixels, fft)
        } else {
            Vec::new()
        };
        let frame_step = FrameStep::new(step);
        let detector = detector.as_ref();
        let parts = ranks.parts(layout.corners.len());
        let own = parts.own_frames();
        let mut sums =
            (step.update_object && !step.subpixel).then(|| ObjectSums::new(layout, probe, &parts));
        let together = frames_together::<T>(waves);
        let mut errors = Vec::with_capacity(own.len());
        let chunks = (spectra.chunks_mut(together * waves))
            .zip(exit.chunks_mut(together * waves))
            .zip(magnitudes[own.start * pixels..own.end * pixels].chunks(together * pixels));
        for (chunk, ((spectra, exit), magnitudes)) in chunks.enumerate() {
            let first = own.start + chunk * together;
            let of_frames = (spectra.par_chunks_mut(waves))
                .zip(exit.par_chunks_mut(waves))
                .zip(magnitudes.par_chunks(pixels))
                .enumerate()
                .map_init(
                    || {
                        let scratch = pool.take(|| Scratch::new(layout, fft));
                        (scratch, Shifter::new(probe))
                    },
                    |(scratch, shifter), (frame, (state, magnitudes))| {
                        let frame = first + frame;
                        let window = Window {
                            layout,
                            frame,
                            corner: layout.corners[frame],
                            fraction: layout.fraction(frame, step.subpixel),
                            probe: shifter.probe(layout, &of_probe, frame, step.subpixel, fft),
                            object,
                        };
                        match detector {
                            None => step_frame(
                                &window, state, magnitudes, frame_step, propagator, scratch,
                            ),
                            Some(detector) => detector::step_frame(
                                &window,
                                state,
                                magnitudes,
                                frame_step,
                                (propagator, detector),
                                scratch,
                            ),
                        }
                    },
                );
            errors.par_extend(of_frames);
            if let Some(sums) = &mut sums {
                sums.add(layout, probe, first..own.start + errors.len(), exit);
            }
        }
        (errors, sums)
    }

    /// Updates object and probe alternately; `sums` of the object's first update, if it is not at
    /// exact positions.
    pub(super) fn overlap(
        &mut self,
        step: &Step,
        mut sums: Option<ObjectSums<T>>,
    ) -> Result<(), EngineError> {
        for _ in 0..step.overlap_loops {
            if step.update_object && step.subpixel {
                exact_positions::object_update(self, step)?;
            } else if step.update_object {
                let layout = &self.layout;
                let sums = sums.take().unwrap_or_else(|| {
                    let parts = self.ranks.parts(layout.corners.len());
                    let mut sums = ObjectSums::new(layout, &self.probe, &parts);
                    sums.add(layout, &self.probe, parts.own_frames(), &self.exit);
                    sums
                });
                let total = sums.total(layout, &self.ranks)?;
                total.finish(&mut self.object, step.object_weight, step.clip_object);
            }
            if !step.update_probe {
                break;
            }
            let before = self.probe.clone();
            if step.subpixel {
                exact_positions::probe_update(self, step)?;
            } else {
                probe_update::probe_update(
                    &self.layout,
                    &self.ranks,
                    &self.object,
                    &mut self.probe,
                    &self.exit,
                    step.probe_weight,
                )?;
            }
            self.constrain_probe(step);
            let [moved, norm] = probe_update::change(&before, &self.probe);
            if moved < step.overlap_tolerance * step.overlap_tolerance * norm {
                break;
            }
        }
        Ok(())
    }
}
