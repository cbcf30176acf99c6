//! Why an engine failed.

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] warpstride_cuda::gpu::GpuError),
    /// The saved state belongs to another run.
    #[error("the saved {what}: expected {expected} values, found {found}")]
    State {
        /// Name of the array.
        what: &'static str,
        /// Number of saved values.
        found: usize,
        /// Number of values of this run.
        expected: usize,
    },
    /// Saved positions or scales that no run has.
    #[error(
        "the saved frames: expected positions within {bound} pixels of the scan's and scales above 0, found others"
    )]
    Frames {
        /// Largest distance on an axis, object pixels.
        bound: f64,
    },
    /// Slices of a thick specimen, where not all counts are on the device.
    #[error(
        "slices: expected enough device memory for the counts of all frames, found less; take fewer frames, or --backend cpu"
    )]
    StreamedSlices,
    /// The object of a thick specimen in the memory of a device, where it is not multiplied.
    #[error("the object in the memory of a GPU: expected a specimen without slices, found slices")]
    Sliced,
    /// Saved distances between slices that the run does not have.
    #[error(
        "the saved distances between slices: expected those of this run, within a factor of 2 of its start, found others"
    )]
    Distances,
    /// The shares of the object's sums were larger than fixed-point numbers can hold.
    #[error(
        "iteration {iteration}: a value of the exit waves is more than {headroom} times as large as the scan's counts explain, beyond the range of the fused step's sums; start from another probe or object, or compute with --set gpu.step=unfused"
    )]
    Sums {
        /// Number of the iteration in the run.
        iteration: usize,
        /// How much larger than expected values may be.
        headroom: f32,
    },
    /// An engine with exit waves of all frames, where not all counts are on the device and the plan
    /// has no exit waves.
    #[error(
        "dm, raar and ap keep exit waves of all frames, for which the plan of blocks of frames has no memory (StreamPlan::with_waves)"
    )]
    Streamed,
    /// Several object modes or points of an exposure, where not all counts are on the device.
    #[error(
        "several object modes or points of an exposure: expected the counts and exit waves of all frames in the device's memory for dm, raar and ap, and its counts for paths that differ between frames, found less memory"
    )]
    LayeredBlocks,
    /// Another rank has failed, or cannot be reached.
    #[error(transparent)]
    Ranks(#[from] warpstride_ranks::RankError),
    /// The ranks have different inputs.
    #[error(
        "the ranks: expected the same scan, recipe and program on all of them, found sums of other shapes"
    )]
    Unlike,
    /// The saved state has another precision.
    #[error("the saved state: expected the precision of this run, found another")]
    Precision,
}
