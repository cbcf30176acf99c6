//! Trial and error: the best of several random positions of each frame; see
//! [`crate::positions::refinement`].

use crate::EngineError;
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted};
use crate::engines::cpu::model::variable_probe::FrameProbes;
use crate::engines::cpu::model::{compare, model_spectra};
use crate::positions::refinement::{FrameParameters, Trials};
use rayon::prelude::*;
use warpstride_fft::Real;

/// The best trial of every frame, counted from 1; 0 where none is better than `part` of the present
/// position.
pub(in crate::engines::cpu) fn best_trials<T: Real>(
    engine: &CpuEngine<T>,
    parameters: &FrameParameters,
    trials: &Trials,
) -> Result<Vec<u32>, EngineError> {
    let CpuEngine {
        ranks,
        layout,
        fft,
        propagator,
        magnitudes,
        detector,
        object,
        probe,
        ..
    } = engine;
    let pixels = layout.pixels();
    let scale2 = fft.scale() * fft.scale();
    let of_frames = FrameProbes::new(engine);
    let starts = parameters.trial_starts();
    let own = ranks.parts(layout.corners.len()).own_frames();
    let chosen: Vec<u32> = magnitudes[own.start * pixels..own.end * pixels]
        .par_chunks(pixels)
        .enumerate()
        .map_init(
            || (Scratch::new(layout, fft), layout.moved(probe)),
            |(scratch, moved), (n, magnitudes)| {
                let frame = own.start + n;
                let probe_spectra = of_frames.spectra_of(frame);
                let mut residual = |corner, fraction| {
                    shifted(
                        &probe_spectra,
                        &PointRamps::new(layout, frame, fraction),
                        moved,
                        fft,
                        scratch,
                    );
                    let window = Window {
                        layout,
                        frame,
                        corner,
                        fraction,
                        probe: moved,
                        object,
                    };
                    model_spectra(&window, propagator, scratch);
                    let scale = scale2 * T::of(layout.scale(frame));
                    compare(magnitudes, scale, detector.as_ref(), scratch)
                        .0
                        .residual
                };
                let present = residual(layout.corners[frame], layout.fractions[frame]);
                let mut best = f64::from(trials.part) * present;
                let mut chosen = 0;
                for trial in 1..=trials.count {
                    let (corner, fraction) = starts[frame].trial(trials, frame, trial);
                    let found = residual(corner, fraction.map(f64::from));
                    if found < best {
                        (best, chosen) = (found, trial);
                    }
                }
                chosen
            },
        )
        .collect();
    Ok(ranks.gathered(&chosen)?)
}
