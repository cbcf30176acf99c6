//! Fits: the parameters of a model that agree best with data.
//!
//! A [`Problem`] is a calculation, [`Measured`] intensities and the parameters that are [`Free`]; a [`Fit`] searches
//! for the least χ² = Σ ((data − model)/σ)² on any [`Engine`](super::Engine), a batch of parameter vectors at a
//! time: all columns of a Jacobian, several damping values, all starts, a whole population. `docs/sas-fits.md`
//! has the mathematics.

mod course;
mod evolution;
mod levenberg_marquardt;
mod linear;
mod measured;
mod multi_start;
mod outcome;
mod problem;
mod search;
mod statistics;
#[cfg(test)]
mod tests;

pub use course::{Fit, Method, Options};
pub use measured::{Measured, Selection, Weighting};
pub use multi_start::Minimum;
pub use outcome::{Comparison, Entry, Fitted, Fixed, Outcome};
pub use problem::{Free, Parameter, Problem, Target};
pub use search::Stop;
pub use statistics::{Bound, Statistics};
