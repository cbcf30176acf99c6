//! The particles of a polydisperse sample: every combination of its parameters' values.

use super::SasError;
use super::dispersion::WeightedValues;

/// Maximum number of polydisperse parameters.
pub const MAX_POLYDISPERSE: usize = 5;
/// Maximum number of combinations of one vector.
pub const MAX_PARTICLES: usize = 1 << 26;

/// A polydisperse parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Index of the parameter among a particle's values.
    pub value_index: usize,
    /// Values and weights.
    pub weighted: WeightedValues,
}

/// All combinations of the values of some parameters; the last parameter varies fastest.
/// Combinations are computed when they are read, not stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    base: Vec<f64>,
    axes: Vec<Axis>,
    len: usize,
}

impl Mesh {
    /// A mesh of `axes`; `base` holds the values of all other parameters.
    ///
    /// # Errors
    /// Too many axes or combinations.
    pub fn new(base: Vec<f64>, axes: Vec<Axis>) -> Result<Self, SasError> {
        if axes.len() > MAX_POLYDISPERSE {
            return Err(SasError::Refused(format!(
                "expected at most {MAX_POLYDISPERSE} polydisperse parameters, found {}",
                axes.len()
            )));
        }
        let len = axes
            .iter()
            .try_fold(1_usize, |len, axis| {
                len.checked_mul(axis.weighted.values.len())
            })
            .filter(|len| *len <= MAX_PARTICLES)
            .ok_or_else(|| {
                let sizes: Vec<_> = axes
                    .iter()
                    .map(|axis| axis.weighted.values.len().to_string())
                    .collect();
                SasError::Refused(format!(
                    "the polydispersity mesh: expected at most {MAX_PARTICLES} points, found {}",
                    sizes.join(" x ")
                ))
            })?;
        Ok(Self { base, axes, len })
    }

    /// Number of combinations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no combinations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Values of all parameters. Those of polydisperse parameters are not used: the points of their
    /// distributions take their place.
    #[must_use]
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// The polydisperse parameters.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Sets the polydisperse parameters in `values`, initially a copy of [`Mesh::base`], to those
    /// of combination `index`. Returns the weight of the combination, the product of the weights of
    /// its axes in their order.
    ///
    /// # Panics
    /// If `index` is not less than [`Mesh::len`].
    pub fn fill_values(&self, index: usize, values: &mut [f64]) -> f64 {
        let mut rest = self.len;
        let mut at = index;
        let mut weight = 1.0;
        for axis in &self.axes {
            rest /= axis.weighted.values.len();
            let i = at / rest;
            at %= rest;
            values[axis.value_index] = axis.weighted.values[i];
            weight *= axis.weighted.weights[i];
        }
        weight
    }
}
