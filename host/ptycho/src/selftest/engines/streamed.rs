//! Counts and exit waves that stay in host memory: object and probe have the same bits as with all
//! of them on the device.

use super::case::{EngineCaseError, metrics, named};
use super::sequences::{StepSequence, base, fused_sequences, sequences};
use crate::engines::cuda::GpuEngine;
use crate::{Engine, Method, Problem, Step, StreamPlan, UpdateVersion};
use warpstride_cuda::gpu::Device;
use warpstride_selftest::bench::CaseResult;

/// Sequences of engines by mini-batches, and of projections at whole pixels.
pub(super) fn streamed_sequences(problem: &Problem) -> Vec<StepSequence> {
    let mut all = sequences(problem);
    all.extend(fused_sequences(base(problem)));
    let same = |step: &Step| match step.method {
        Method::Batches(_) => true,
        Method::Projection => !step.subpixel,
        Method::Likelihood(_) => false,
    };
    all.retain(|of| of.steps.iter().all(same));
    all
}

/// Blocks of the frames of the largest batch, two on the device; as counts in 16 bits, or √counts.
pub(super) fn same_bits<M: Device>(
    device: &M,
    problem: &Problem,
    sequence: &StepSequence,
    in_16_bits: bool,
) -> Result<CaseResult, EngineCaseError> {
    let [frames, modes, rows, columns] = problem.shape();
    let sizes = sequence.steps.iter().map(|step| match &step.method {
        Method::Batches(of) => of.size,
        _ => 1,
    });
    let block = sizes.max().unwrap_or(1);
    let codes = in_16_bits.then(|| problem.magnitudes.codes());
    let plan = StreamPlan::new([frames, rows * columns], block, 2, codes.flatten());
    let plan = if sequence.projects() {
        plan.with_waves(modes, problem.gpu_waves, 2)
    } else {
        plan
    };
    let mut ends = Vec::new();
    for plan in [None, Some(plan)] {
        let mut engine = GpuEngine::streamed(device, problem, UpdateVersion::Tiled, plan)?;
        let metrics = metrics(&mut engine, &sequence.steps)?;
        let bits: Vec<u64> = metrics.iter().map(|value| value.to_bits()).collect();
        ends.push((engine.object()?, engine.probe()?, bits));
    }
    let error = if ends[0] == ends[1] { 0.0 } else { 1.0 };
    let kept = if codes.flatten().is_some() {
        "counts in 16 bits"
    } else {
        "counts in 32 bits"
    };
    let name = format!("streamed, {kept}: {}", sequence.name);
    let name = named(problem, UpdateVersion::Tiled, &name);
    Ok(CaseResult::new("iterations", name, error, 0.0))
}
