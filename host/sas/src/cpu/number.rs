//! The two precisions of the CPU back end.

use warpstride_kernels::sas::catalogue::AnyModel;
use warpstride_kernels::sas::simd::Units;
use warpstride_kernels::sas::sums::Job;

/// `f64` or `f32`.
pub(super) trait Number: Copy + Default + Into<f64> + Send + Sync + 'static {
    /// The name in summaries.
    const NAME: &'static str;

    /// Rounds a value to this precision.
    fn of(value: f64) -> Self;

    /// Adds the scattering of a particle to the sums of a job.
    fn add(model: &dyn AnyModel, units: Units, job: Job<'_, Self>);
}

impl Number for f64 {
    const NAME: &'static str = "f64";

    fn of(value: f64) -> Self {
        value
    }

    fn add(model: &dyn AnyModel, units: Units, job: Job<'_, Self>) {
        model.add_f64(units, job);
    }
}

impl Number for f32 {
    const NAME: &'static str = "f32";

    fn of(value: f64) -> Self {
        value as Self
    }

    fn add(model: &dyn AnyModel, units: Units, job: Job<'_, Self>) {
        model.add_f32(units, job);
    }
}
