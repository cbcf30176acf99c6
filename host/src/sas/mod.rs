//! Small-angle scattering: intensities of models, and fits of them to data.
//!
//! A [`Definition`] is a model as users name it (`sphere`, `cylinder@hardsphere`) with all its parameters. With
//! [`Points`], [`Spread`]s and a resolution it makes a [`Calculation`], an [`Engine`] computes it for any number of
//! parameter vectors at once, and a fit searches vectors that agree with data. `docs/sas.md` has the mathematics.

mod calculation;
pub mod cpu;
pub mod cuda;
mod definition;
pub mod dispersion;
mod engine;
pub mod fit;
mod guinier;
pub mod jitter;
pub mod magnetism;
pub mod mesh;
pub mod orientation;
pub mod plan;
pub mod points;
pub mod product;
pub mod resolution;
mod spread;

pub use calculation::{Calculation, Points, Precision, Vector};
pub use definition::{Definition, ParameterRow, Role};
pub use engine::{Engine, Setup};
pub use guinier::{Guinier, guinier};
pub use resolution::Resolution;
pub use spread::{Distribution, Spread};

use crate::gpu::GpuError;

/// Why something cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum SasError {
    /// No such model.
    #[error("there is no model {name}{hint}; `warpstride sas models` lists them")]
    NoModel {
        /// As typed.
        name: String,
        /// `: did you mean …?` or nothing.
        hint: String,
    },
    /// No such parameter.
    #[error("{model} has no parameter {name}; it has {known}")]
    NoParameter {
        /// The model.
        model: String,
        /// As typed.
        name: String,
        /// All names, with commas.
        known: String,
    },
    /// A parameter's value.
    #[error("{model}: {name} = {value}: {expected} is expected")]
    Value {
        /// The model.
        model: String,
        /// The parameter.
        name: String,
        /// As given.
        value: f64,
        /// In words.
        expected: String,
    },
    /// A fit of more parameters than there are points.
    #[error("{model}: {parameters} parameters cannot be fitted to {points} points")]
    TooFewPoints {
        /// The model.
        model: String,
        /// That are to be found.
        parameters: usize,
        /// That take part.
        points: usize,
    },
    /// Anything else that the user can mend, in one sentence.
    #[error("{0}")]
    Refused(String),
    /// The machine's.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
