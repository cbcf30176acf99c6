//! Saving and restoring the state of the engine.

use super::CpuEngine;
use crate::engines::cpu::engine::BatchState;
use crate::engines::cpu::model::variations::Variations;
use crate::model::multislice::Distances;
use crate::{EngineError, EngineState, WaveSpace};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

impl<T: Real> CpuEngine<T> {
    /// Everything that the next step depends on.
    pub(super) fn saved(&self) -> Result<EngineState, EngineError> {
        // The saved state is in (row, column) order within a layer, the engine in (column, row)
        // order.
        let spectra = self.transposed(&self.spectra, [self.layout.columns, self.layout.rows]);
        let spectra = self.ranks.gathered_first(spectra)?;
        let BatchState { object, probe } = &self.batch_state;
        let mut state = EngineState::from_parts(self.object.clone(), self.probe.clone(), spectra);
        if let Some(variations) = &self.variations {
            variations.save(&mut state);
        }
        let mut state = state
            .with_momentum([object.clone(), probe.clone()])
            .with_search(self.likelihood.clone())
            .with_frames(&self.parameters);
        let distances = self.slices.as_ref().map(|slices| slices.distances.state());
        state.added.extend(distances);
        if let Some(detector) = &self.detector {
            detector.save(&mut state);
        }
        Ok(state)
    }

    /// Takes what [`Self::saved`] has returned.
    pub(super) fn take_saved(&mut self, state: &EngineState) -> Result<(), EngineError> {
        self.finished.clear();
        let waves = self.layout.waves() * self.layout.pixels();
        let frames = self.layout.corners.len();
        let lengths = [self.object.len(), self.probe.len(), frames * waves];
        let own = self.ranks.parts(frames).own_frames();
        let [object, probe, exit] = state.parts_of(lengths, own, waves)?;
        let momentum = state.momentum([lengths[0], lengths[1]])?;
        let search = state.search([lengths[0], lengths[1]])?;
        if let Some(slices) = &mut self.slices {
            let saved = state.added.get(Distances::STATE);
            slices
                .distances
                .restore(saved)
                .ok_or(EngineError::Distances)?;
            slices.propagate_over_distances();
        }
        let sizes = [self.variation_count, self.layout.pixels(), frames];
        let variations = Variations::restored(state, sizes)?;
        if let Some(detector) = &mut self.detector {
            detector.restore(state)?;
        }
        state.restore_frames(&mut self.parameters, self.bound)?;
        self.layout.set(self.parameters.frames(self.subpixel));
        self.object.copy_from_slice(object);
        self.probe.copy_from_slice(probe);
        let [object, probe] = momentum.map(<[Complex<T>]>::to_vec);
        self.batch_state = BatchState { object, probe };
        self.likelihood = search;
        self.variations = variations;
        let shape = [self.layout.rows, self.layout.columns];
        let exit = state.exit_in(WaveSpace::Fourier, exit, shape);
        self.spectra = self.transposed(&exit, shape);
        self.exit = vec![Complex::default(); self.spectra.len()];
        Ok(())
    }

    /// Transposes every layer of `lines` × `width`.
    fn transposed(&self, from: &[Complex<T>], [lines, width]: [usize; 2]) -> Vec<Complex<T>> {
        let pixels = self.layout.pixels();
        let mut to = vec![Complex::default(); from.len()];
        to.par_chunks_mut(pixels)
            .zip(from.par_chunks(pixels))
            .for_each(|(to, from)| warpstride_fft::transpose(from, to, width, lines));
        to
    }
}
