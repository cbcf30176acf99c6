//! The plan of a run for the memory of a device.

use super::StreamPlan;
use super::advice::StreamedRun;
use super::block_estimate::BlockEstimate;
use crate::{CountCodes, Recipe, memory_estimate};
use warpstride_core::run::OutOfMemory;
use warpstride_core::system::Bytes;

impl StreamPlan {
    /// The plan for a run of `recipe` with `shape` (frames, modes, rows, columns) and the object's
    /// (rows, columns) that keeps to `limit` bytes of device memory by the estimate; `None` if all
    /// counts can be on the device.
    ///
    /// # Errors
    /// The run needs more in any case.
    pub fn choose(
        shape: [usize; 4],
        object_shape: [usize; 2],
        recipe: &Recipe,
        codes: Option<CountCodes>,
        limit: u64,
    ) -> Result<Option<Self>, OutOfMemory> {
        let estimate = memory_estimate(shape, object_shape, recipe);
        if estimate.gpu_device <= limit {
            return Ok(None);
        }
        let whole = StreamedRun {
            shape,
            object_shape,
            recipe,
            codes,
        };
        let fitting = if estimate.gpu_device == u64::MAX {
            None
        } else {
            BlockEstimate::new(shape, object_shape, recipe, codes).plan(limit)
        };
        fitting.map(Some).ok_or_else(|| OutOfMemory {
            what: "the reconstruction",
            needed: Bytes(u128::from(whole.least())),
            whose: "device".to_owned(),
            backend: "the GPU back end",
            available: Bytes(u128::from(limit)),
            advice: whole.advice(limit).into(),
        })
    }
}
