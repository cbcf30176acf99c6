//! The interface of the back ends of the aggregation.

use super::{Batch, Resample, Resampled, SeriesError};
use warpstride_core::run::Setup;

/// Executes a plan on a back end. The same batch gives the same bits regardless of earlier batches
/// and of the back end.
pub trait Engine {
    /// The back end and its device.
    fn setup(&self) -> &Setup;

    /// The plan.
    fn plan(&self) -> &Resample;

    /// Computes all aggregates of all series.
    ///
    /// # Errors
    /// If memory is insufficient; errors of the device.
    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError>;
}
