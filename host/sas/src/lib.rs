//! Small-angle scattering: intensities of models, and fits of models to data.
//!
//! A [`Definition`] is a model by its name (`sphere`, `cylinder@hardsphere`) with all its
//! parameters. Together with [`Points`], [`Polydispersity`] and a [`Resolution`] it forms a
//! [`Calculation`], which an [`Engine`] evaluates for any number of parameter vectors at once. A
//! [fit] finds the vector that agrees best with data. `docs/sas.md` describes the mathematics.
//!
//! # Example
//! ```
//! use warpstride_sas::cpu::CpuEngine;
//! use warpstride_sas::{Calculation, Definition, Engine, Points};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let definition = Definition::parse("sphere@hardsphere")?;
//! let radius = definition.parameter_index("radius")?;
//! let points = Points::Curve(vec![0.005, 0.01, 0.02, 0.04]); // q, 1/Å
//! let calculation = Calculation::new(definition, points);
//! let vectors = [50.0, 60.0].map(|length| {
//!     let mut vector = calculation.defaults();
//!     vector.values[radius] = length; // Å
//!     vector
//! });
//! let mut engine = CpuEngine::new(calculation);
//! let intensities = engine.evaluate(&vectors)?; // (vector, point), 1/cm
//! # assert_eq!((intensities.len(), intensities[0].len()), (2, 4));
//! assert!(intensities[1][0] > intensities[0][0]); // larger spheres scatter more
//! # Ok(())
//! # }
//! ```
//!
//! [`fit`] searches for the parameters that agree with data. `docs/sas.md` describes the models,
//! `docs/sas-fits.md` the fits.

#![cfg_attr(
    not(all(feature = "hdf5", feature = "plots", feature = "selftest")),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

mod calculation;
mod closure;
pub mod cpu;
pub mod cuda;
pub mod data;
mod definition;
mod diagnosis;
pub mod dispersion;
mod engine;
mod engine_group;
mod expression;
pub mod fit;
mod guinier;
pub mod io;
pub mod jitter;
mod joint;
pub mod magnetism;
pub mod mesh;
pub mod orientation;
mod origin;
pub mod plan;
pub mod points;
mod polydispersity;
pub mod product;
#[cfg(feature = "plots")]
pub mod report;
pub mod resolution;
mod science;
#[cfg(feature = "selftest")]
pub mod selftest;
mod sum;
mod ties;

pub use calculation::{Calculation, Precision, Target, Vector};
pub use closure::{is_unsolved, unsolved};
pub use definition::{Definition, ParameterRow, Part, Role, Term};
pub use diagnosis::problems;
pub use diagnosis::relative_uncertainty;
pub use engine::Engine;
pub use engine_group::EngineGroup;
pub use expression::Expression;
pub use guinier::GUINIER_POINTS;
pub use guinier::{Guinier, guinier};
pub use joint::JointEngine;
pub use origin::Origin;
pub use points::Points;
pub use polydispersity::{Distribution, Polydispersity};
pub use resolution::Resolution;
pub use science::SCIENCE;
pub use sum::{SumEngine, on_cpu};
pub use ties::{Tie, Ties};

use warpstride_cuda::gpu::GpuError;

/// Why a calculation is impossible.
#[derive(Debug, thiserror::Error)]
pub enum SasError {
    /// The model does not exist.
    #[error("{name}: expected the name of a model{hint}; `warpstride sas models` lists them")]
    NoModel {
        /// The name, as given.
        name: String,
        /// ` (did you mean …?)`, or empty.
        hint: String,
    },
    /// The model has no such parameter.
    #[error("{name}: expected a parameter of {model}: {known}")]
    NoParameter {
        /// The model.
        model: String,
        /// The name, as given.
        name: String,
        /// All parameter names, separated by commas.
        known: String,
    },
    /// A parameter's value is outside its limits.
    #[error("{model}: {name}: expected {expected}, found {value}")]
    Value {
        /// The model.
        model: String,
        /// The parameter.
        name: String,
        /// The value, as given.
        value: f64,
        /// The expected value, in words.
        expected: String,
    },
    /// A fit has more parameters than points.
    #[error(
        "{model}: expected at least as many points as fitted parameters ({parameters}), found {points}"
    )]
    TooFewPoints {
        /// The model.
        model: String,
        /// Number of fitted parameters.
        parameters: usize,
        /// Number of fitted points.
        points: usize,
    },
    /// Any other input error, as one sentence.
    #[error("{0}")]
    Refused(String),
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
