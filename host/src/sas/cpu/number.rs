//! The two precisions.

use warpstride_kernels::sas::catalogue::AnyModel;
use warpstride_kernels::sas::lanes::Units;
use warpstride_kernels::sas::sums::Job;

/// `f64` or `f32`.
pub(super) trait Number: Copy + Default + Into<f64> + Send + Sync + 'static {
    /// As summaries name it.
    const NAME: &'static str;

    /// Rounded to it.
    fn of(value: f64) -> Self;

    /// Adds a particle's scattering to sums.
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
