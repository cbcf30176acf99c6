//! What is to be computed, but for the parameters' values.

use super::{Definition, Resolution, SasError, Spread};

/// Where intensities are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// |q| of a curve, 1/Å.
    Curve(Vec<f64>),
    /// Pixels (qx, qy), 1/Å.
    Pixels {
        /// qx of each.
        qx: Vec<f64>,
        /// qy of each.
        qy: Vec<f64>,
    },
}

impl Points {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Curve(q) => q.len(),
            Self::Pixels { qx, .. } => qx.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Arithmetic of the form factors; sums over mesh and orientations are in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    #[default]
    F64,
}

/// One set of values: a column of a Jacobian, a member of a population.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// In the order of [`Definition::rows`].
    pub values: Vec<f64>,
    /// Width of each spread: relative (σ = width · centre) for sizes, σ in degrees for angles.
    pub widths: Vec<f64>,
}

/// What is to be computed, but for the parameters' values.
#[derive(Debug, Clone)]
pub struct Calculation {
    /// The model.
    pub definition: Definition,
    /// Where intensities are wanted: where the data are.
    pub points: Points,
    /// The matrix from intensities at its finer points to those at `points`.
    pub resolution: Option<Resolution>,
    /// Polydisperse parameters, at most five; their widths are in each [`Vector`].
    pub spreads: Vec<Spread>,
    /// Weights (products over the mesh) not above this are left out; 0 leaves out nothing.
    pub cutoff: f64,
    /// Arithmetic.
    pub precision: Precision,
}

impl Calculation {
    /// A calculation without spreads, in double precision.
    #[must_use]
    pub fn new(definition: Definition, points: Points) -> Self {
        Self {
            definition,
            points,
            resolution: None,
            spreads: Vec::new(),
            cutoff: 0.0,
            precision: Precision::F64,
        }
    }

    /// Where the model itself is computed.
    #[must_use]
    pub fn fine_points(&self) -> &Points {
        self.resolution.as_ref().map_or(&self.points, |r| &r.fine)
    }

    /// The defaults as a vector.
    #[must_use]
    pub fn defaults(&self) -> Vector {
        Vector {
            values: self.definition.defaults(),
            widths: vec![0.0; self.spreads.len()],
        }
    }

    /// Refuses a vector that cannot be computed: wrong lengths, values out of their limits or not finite.
    ///
    /// # Errors
    /// The parameter, its value, and what is expected.
    pub fn check(&self, vector: &Vector) -> Result<(), SasError> {
        for (row, value) in self.definition.rows().iter().zip(&vector.values) {
            let (low, high) = row.limits;
            if !(value.is_finite() && *value >= low && *value <= high) {
                return Err(SasError::Value {
                    model: self.definition.name().to_owned(),
                    name: row.name.clone(),
                    value: *value,
                    expected: format!("a number from {low} to {high}"),
                });
            }
        }
        Ok(())
    }
}
