//! Mirrors cpu/positions/annealing.rs: the best of several random positions of each frame.

use crate::engines::cuda::batches::batch::Batch;
use crate::engines::cuda::memory::buffers::Buffers;
use crate::engines::cuda::memory::frame_stream::Metrics;
use crate::engines::cuda::memory::frames::{FrameBuffers, ShiftTo, TrialBuffers};
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::interleaved::Interleaved;
use crate::positions::refinement::{FrameParameters, Trials};
use std::mem::swap;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::ptycho::{
    keep_better::PtychoKeepBetter, trial_positions::PtychoTrialPositions,
};

/// The best trial of every frame, counted from 1; 0 where none is better than `part` of the present
/// position. Waits for the device, once all trials are queued. The metrics of the frames in
/// `buffers` are overwritten.
pub(in crate::engines::cuda) fn best_trials<M: Device>(
    device: &M,
    layout: &Layout,
    buffers: &mut Buffers<M>,
    frames: &mut FrameBuffers<M>,
    probe_fft: &M::Fft,
    (parameters, division): (&FrameParameters, &Interleaved),
    trials: &Trials,
) -> Result<Vec<u32>> {
    let count = layout.frames as usize;
    let starts = parameters.trial_starts();
    let from: Vec<[f32; 2]> = starts.iter().map(|start| start.displacement).collect();
    let from = division.pick(&from);
    let of_scan: Vec<u32> = division.own().iter().map(|frame| *frame as u32).collect();
    // Kept, because nothing is freed while graphs exist.
    let mut own = match frames.trials.take() {
        Some(own) => own,
        None => TrialBuffers::new(device, count)?,
    };
    let TrialBuffers {
        displacements,
        corners,
        fractions,
        best,
        chosen,
        numbers,
    } = &mut own;
    device.upload(displacements, &from)?;
    device.upload(numbers, &of_scan)?;
    frames.transform_probe(device, buffers, probe_fft)?;
    let lists = frames.lists(layout);
    for trial in 0..=trials.count {
        device.launch(
            &PtychoTrialPositions {
                corners: corners.write(),
                fractions: fractions.write(),
                from_corners: buffers.corners.read(),
                from_fractions: buffers.fractions.read(),
                displacements: displacements.read(),
                numbers: numbers.read(),
                frames: layout.frames,
                seed: trials.seed,
                iteration: trials.iteration,
                trial,
                amplitude: trials.amplitude,
                bound: trials.bound,
            },
            Work::Elements(count),
        )?;
        let mut exchange = |buffers: &mut Buffers<M>| {
            swap(&mut buffers.corners, corners);
            swap(&mut buffers.fractions, fractions);
        };
        exchange(buffers);
        let mut evaluate = |layout: &Layout,
                            buffers: &mut Buffers<M>,
                            frames: &mut FrameBuffers<M>,
                            batches: &[Batch]| {
            batches.iter().try_for_each(|batch| {
                frames.shift(device, layout, buffers, *batch, ShiftTo::Probes, 0)?;
                frames.model(device, layout, buffers, *batch)?;
                frames.deviation(device, layout, buffers, *batch)
            })
        };
        let evaluated = frames.each(
            device,
            layout,
            buffers,
            &lists,
            Metrics::Written,
            &mut evaluate,
        );
        exchange(buffers);
        evaluated?;
        device.launch(
            &PtychoKeepBetter {
                best: best.write(),
                chosen: chosen.write(),
                residual: buffers.residual.read(),
                frames: layout.frames,
                trial,
                part: trials.part,
            },
            Work::Elements(count),
        )?;
    }
    let found = device.read_back(chosen)?.wait();
    frames.trials = Some(own);
    found
}
