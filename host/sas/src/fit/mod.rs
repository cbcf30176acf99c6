//! Fits of model parameters to data.
//!
//! A [`Problem`] combines a calculation, [`Measured`] intensities and the [`Free`] parameters. A
//! [`Fit`] minimises χ² = Σ ((data − model)/σ)² on any [`Engine`](super::Engine), with batches of
//! parameter vectors: all columns of a Jacobian, several damping values, all starts, a whole
//! population. `docs/sas-fits.md` describes the mathematics.

mod bounded;
mod comparison;
mod data_set;
mod evolution;
mod fit_result;
mod largest;
mod levenberg_marquardt;
mod linear;
mod measured;
mod multi_start;
mod problem;
mod run;
mod search;
mod statistics;
#[cfg(test)]
mod tests;

pub use super::Target;
pub use comparison::Comparison;
pub use data_set::DataSet;
pub use data_set::split_number;
pub use fit_result::{DataSetResult, Entry, FitResult, Fitted, Fixed, Tied};
pub use largest::largest_values;
pub use measured::{Measured, Selection, Weighting};
pub use multi_start::Minimum;
pub use problem::{Free, Parameter, Problem};
pub use run::{Fit, Method, Options};
pub use search::Stop;
pub use statistics::{Bound, Statistics};
