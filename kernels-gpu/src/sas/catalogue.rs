//! All models by name, for the host.

use super::model::{Form, Info, Model, Symmetry, Values, Volume, Wave};
use super::models;
use super::simd::Units;
use super::sums::{self, Job};
use crate::for_each_sas_model;

/// A model whose type is not known at compile time: values are slices in the order of its table, arrays element by
/// element, without the angles of its orientation.
pub trait AnyModel: Sync {
    /// Its table of parameters.
    fn info(&self) -> &'static Info;
    /// Its symmetry.
    fn symmetry(&self) -> Symmetry;
    /// Whether it has an amplitude.
    fn has_amplitude(&self) -> bool;
    /// The number of values.
    fn count(&self) -> usize;
    /// Indices of the values that are scattering length densities.
    fn slds(&self) -> &'static [usize];
    /// Its volumes, Å³; NaN for values that no particle can have.
    fn volume(&self, values: &[f64]) -> Volume<f64>;
    /// Its effective radius, Å; `mode` from 1.
    fn effective_radius(&self, values: &[f64], mode: u32) -> f64;
    /// Its largest half size, Å.
    fn largest_half_size(&self, values: &[f64]) -> f64;
    /// Its scattering at one wave vector: the definition that faster paths are tested against.
    fn form(&self, wave: &Wave<f64>, values: &[f64]) -> Form<f64>;
    /// Adds a particle's scattering at many wave vectors to sums.
    fn add_f64(&self, units: Units, job: Job<'_, f64>);
    /// Adds a particle's scattering in single precision.
    fn add_f32(&self, units: Units, job: Job<'_, f32>);
}

struct Of<M>(core::marker::PhantomData<fn() -> M>);

fn read<M: Model>(values: &[f64]) -> M::Values<f64> {
    M::Values::<f64>::read(|i| values[i])
}

impl<M: Model> AnyModel for Of<M> {
    fn info(&self) -> &'static Info {
        const { &M::INFO }
    }
    fn symmetry(&self) -> Symmetry {
        M::SYMMETRY
    }
    fn has_amplitude(&self) -> bool {
        M::AMPLITUDE
    }
    fn count(&self) -> usize {
        <M::Values<f64> as Values<f64>>::COUNT
    }
    fn slds(&self) -> &'static [usize] {
        <M::Values<f64> as Values<f64>>::SLDS
    }
    fn volume(&self, values: &[f64]) -> Volume<f64> {
        let values = read::<M>(values);
        if M::valid(&values) {
            M::volume(&values)
        } else {
            Volume::solid(f64::NAN)
        }
    }
    fn effective_radius(&self, values: &[f64], mode: u32) -> f64 {
        M::effective_radius(&read::<M>(values), mode)
    }
    fn largest_half_size(&self, values: &[f64]) -> f64 {
        M::largest_half_size(&read::<M>(values))
    }
    fn form(&self, wave: &Wave<f64>, values: &[f64]) -> Form<f64> {
        M::form(wave, &M::prepare(&read::<M>(values)))
    }
    fn add_f64(&self, units: Units, job: Job<'_, f64>) {
        units.run_f64(sums::Adding::<M, f64>::new(job));
    }
    fn add_f32(&self, units: Units, job: Job<'_, f32>) {
        units.run_f32(sums::Adding::<M, f32>::new(job));
    }
}

macro_rules! list {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        // A static, so that the models are compiled here, and not again in each crate that uses them.
        static MODELS: &[&dyn AnyModel] = &[$(&Of::<models::$file::$model>(core::marker::PhantomData)),*];
    };
}
for_each_sas_model!(list);

/// Every model, in the order of their names.
#[must_use]
pub fn models() -> &'static [&'static dyn AnyModel] {
    MODELS
}

/// The model with this name.
#[must_use]
pub fn model(name: &str) -> Option<&'static dyn AnyModel> {
    models()
        .iter()
        .copied()
        .find(|model| model.info().name == name)
}
