//! Everything that determines intensities except the parameters' values.

use super::dispersion::{cut_off, is_wide};
use super::{Definition, Points, Polydispersity, Resolution, Role, SasError};

/// Precision of the form factors and of their sums over the mesh and over orientations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    #[default]
    F64,
}

/// One set of parameter values: a column of a Jacobian, a member of a population.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// In the order of [`Definition::rows`].
    pub values: Vec<f64>,
    /// Width of each distribution: relative (σ = width · centre) for sizes, σ in degrees for
    /// angles.
    pub widths: Vec<f64>,
}

/// Location of a number in a [`Vector`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Index among the values.
    Value(usize),
    /// Index among the widths.
    Width(usize),
}

impl Vector {
    /// The number at `target`; NaN if there is none.
    #[must_use]
    pub fn get(&self, target: Target) -> f64 {
        let found = match target {
            Target::Value(at) => self.values.get(at),
            Target::Width(at) => self.widths.get(at),
        };
        found.copied().unwrap_or(f64::NAN)
    }

    /// Replaces the number at `target`, if there is one.
    pub fn set(&mut self, target: Target, value: f64) {
        let found = match target {
            Target::Value(at) => self.values.get_mut(at),
            Target::Width(at) => self.widths.get_mut(at),
        };
        if let Some(found) = found {
            *found = value;
        }
    }
}

/// Everything that determines intensities except the parameters' values.
#[derive(Debug, Clone)]
pub struct Calculation {
    /// The model.
    pub definition: Definition,
    /// The points of the intensities, usually those of the data.
    pub points: Points,
    /// The matrix that maps intensities at its finer points to those at `points`.
    pub resolution: Option<Resolution>,
    /// Polydisperse parameters, at most five; their widths are in each [`Vector`].
    pub polydispersity: Vec<Polydispersity>,
    /// Mesh points whose weight (a product over the axes) is not above this are skipped; 0 skips
    /// none.
    pub cutoff: f64,
    /// Precision of the computation.
    pub precision: Precision,
}

impl Calculation {
    /// A monodisperse calculation in double precision.
    #[must_use]
    pub fn new(definition: Definition, points: Points) -> Self {
        Self {
            definition,
            points,
            resolution: None,
            polydispersity: Vec::new(),
            cutoff: 0.0,
            precision: Precision::F64,
        }
    }

    /// The points at which the model itself is computed.
    #[must_use]
    pub fn fine_points(&self) -> &Points {
        self.resolution.as_ref().map_or(&self.points, |r| &r.fine)
    }

    /// The default values as a vector, with widths of 0.
    #[must_use]
    pub fn defaults(&self) -> Vector {
        Vector {
            values: self.definition.defaults(),
            widths: vec![0.0; self.polydispersity.len()],
        }
    }

    /// The place of the parameter `name` in a vector, or of the width of its distribution for
    /// `NAME_pd`.
    ///
    /// # Errors
    /// The model has no such parameter, or it has no distribution.
    pub fn target(&self, name: &str) -> Result<Target, SasError> {
        let rows = self.definition.rows();
        let known = |name: &str| rows.iter().any(|row| row.name == name);
        let Some(of) = name
            .strip_suffix("_pd")
            .filter(|of| !known(name) && known(of))
        else {
            return self.definition.parameter_index(name).map(Target::Value);
        };
        self.polydispersity
            .iter()
            .position(|polydispersity| rows.get(polydispersity.parameter).is_some_and(|row| row.name == of))
            .map(Target::Width)
            .ok_or_else(|| {
                SasError::Refused(format!(
                    "{name}: expected a distribution of {of} whose width can be fitted, found none; add --pd {of}=0.1"
                ))
            })
    }

    /// The name of the number at `target`: that of the parameter, or `NAME_pd` of a width.
    #[must_use]
    pub fn name_of(&self, target: Target) -> String {
        let row = |at: usize| self.definition.rows().get(at);
        match target {
            Target::Value(at) => row(at).map_or_else(String::new, |row| row.name.clone()),
            Target::Width(at) => {
                let parameter = self.polydispersity.get(at).and_then(|p| row(p.parameter));
                parameter.map_or_else(String::new, |row| format!("{}_pd", row.name))
            }
        }
    }

    /// Units of the number at `target`; empty for a relative width.
    #[must_use]
    pub fn units_of(&self, target: Target) -> &'static str {
        let row = |at: usize| self.definition.rows().get(at);
        match target {
            Target::Value(at) => row(at).map_or("", |row| row.units),
            Target::Width(at) => match self.polydispersity.get(at).and_then(|p| row(p.parameter)) {
                Some(row) if matches!(row.role, Role::Angle(_)) => row.units,
                _ => "",
            },
        }
    }

    /// Checks that every value is finite and within its limits.
    ///
    /// # Errors
    /// The parameter, its value, and the expected range.
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

    /// Whether a distribution of sizes is wide, so that its mesh does not resolve the fringes of
    /// all its particles.
    pub(crate) fn has_wide_distribution(&self, vector: &Vector) -> bool {
        let mut pairs = self.polydispersity.iter().zip(&vector.widths);
        pairs.any(|(polydispersity, width)| {
            let row = self.definition.rows().get(polydispersity.parameter);
            let is_size = row.is_some_and(|row| !matches!(row.role, Role::Angle(_)));
            is_size && is_wide(&polydispersity.distribution, *width)
        })
    }

    /// Notes on distributions of sizes of which the limits of their parameter, or the mesh, miss a
    /// part.
    #[must_use]
    pub fn notes_on_distributions(&self, vector: &Vector) -> Vec<String> {
        let pairs = self.polydispersity.iter().zip(&vector.widths);
        pairs
            .filter_map(|(polydispersity, width)| {
                let row = self.definition.rows().get(polydispersity.parameter)?;
                if matches!(row.role, Role::Angle(_)) {
                    return None;
                }
                let centre = *vector.values.get(polydispersity.parameter)?;
                let limits = row.limits;
                Some(cut_off(&row.name, polydispersity, centre, *width, limits))
            })
            .flatten()
            .collect()
    }
}
