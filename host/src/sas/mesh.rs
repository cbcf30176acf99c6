//! The particles of a polydisperse sample: every combination of its parameters' values.

use super::SasError;
use super::dispersion::Weighted;

/// Parameters that may be polydisperse at the same time.
pub const MOST_SPREADS: usize = 5;
/// Combinations of one vector, at most.
pub const MOST_PARTICLES: usize = 1 << 26;

/// A polydisperse parameter of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Which number of a particle's values it sets.
    pub place: usize,
    /// Values and weights.
    pub weighted: Weighted,
}

/// All combinations of the values of some parameters, the last parameter's changing fastest. Nothing of its size
/// is in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    base: Vec<f64>,
    axes: Vec<Axis>,
    len: usize,
}

impl Mesh {
    /// `base` has the values of the other parameters.
    ///
    /// # Errors
    /// Too many axes or combinations.
    pub fn new(base: Vec<f64>, axes: Vec<Axis>) -> Result<Self, SasError> {
        if axes.len() > MOST_SPREADS {
            return Err(SasError::Refused(format!(
                "{} parameters are polydisperse: at most {MOST_SPREADS} may be",
                axes.len()
            )));
        }
        let len = axes
            .iter()
            .try_fold(1_usize, |len, axis| {
                len.checked_mul(axis.weighted.values.len())
            })
            .filter(|len| *len <= MOST_PARTICLES)
            .ok_or_else(|| {
                let sizes: Vec<_> = axes
                    .iter()
                    .map(|axis| axis.weighted.values.len().to_string())
                    .collect();
                SasError::Refused(format!(
                    "the polydispersity mesh has {} points: at most {MOST_PARTICLES} are computed",
                    sizes.join(" x ")
                ))
            })?;
        Ok(Self { base, axes, len })
    }

    /// Combinations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Values of all parameters, polydisperse ones at no particular point.
    #[must_use]
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// The polydisperse parameters.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Sets the polydisperse ones among `values`, which began as a copy of [`Mesh::base`], to those of combination
    /// `index`, and gives its weight: the product of its axes' weights in their order.
    ///
    /// # Panics
    /// From [`Mesh::len`] on.
    pub fn read(&self, index: usize, values: &mut [f64]) -> f64 {
        let mut rest = self.len;
        let mut at = index;
        let mut weight = 1.0;
        for axis in &self.axes {
            rest /= axis.weighted.values.len();
            let i = at / rest;
            at %= rest;
            values[axis.place] = axis.weighted.values[i];
            weight *= axis.weighted.weights[i];
        }
        weight
    }
}
