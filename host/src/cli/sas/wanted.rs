//! What is to be computed, as far as evaluation and fit have it in common.

use super::parameters::{self, Typed, Values};
use super::{machine, names};
use crate::cli::args::{MachineTyped, SasModelTyped};
use crate::cli::failure::Failure;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use warpstride::sas::{Calculation, Definition, Points, Role, Spread, Vector};

/// A model with values and distributions, checked.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) definition: Definition,
    pub(super) values: Values,
    pub(super) spreads: Vec<Typed>,
    pub(super) cutoff: f64,
    pub(super) machine: machine::Wanted,
}

/// A distribution, for summaries.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Distributed {
    parameter: String,
    distribution: &'static str,
    /// Relative; of angles in degrees.
    width: f64,
    points: usize,
    nsigma: f64,
}

impl Wanted {
    /// Checks the options; `pixels`: in two dimensions. `searched` are the lists of `--fit`.
    pub(super) fn from_typed(
        typed: &SasModelTyped,
        machine: MachineTyped,
        pixels: bool,
        searched: &[String],
    ) -> Result<Self, Failure> {
        let named = parameters::items(&typed.set).chain(parameters::items(searched));
        let definition = names::with_magnetism_of(names::definition(&typed.model)?, named);
        if !(0.0..1.0).contains(&typed.cutoff) {
            return Err(Failure::usage(format!(
                "--cutoff {}: a number from 0 to below 1 is expected",
                typed.cutoff
            )));
        }
        let values = parameters::values(&definition, &typed.set)?;
        let spreads = parameters::spreads(&definition, &typed.pd, pixels)?;
        if typed.cutoff > 0.0 && spreads.is_empty() {
            return Err(Failure::usage(format!(
                "--cutoff {}: leaves out weights of distributions, and no --pd gives one",
                typed.cutoff
            )));
        }
        Ok(Self {
            machine: machine::Wanted::from_typed(machine, typed.precision)?,
            cutoff: typed.cutoff,
            definition,
            values,
            spreads,
        })
    }

    /// Files that are read.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.spreads.iter().filter_map(Typed::file)
    }

    /// The calculation at `points`, and the vector of the values that were set. Reads arrays.
    pub(super) fn calculation(&self, points: Points) -> Result<(Calculation, Vector), Failure> {
        let read = self
            .spreads
            .iter()
            .map(Typed::read)
            .collect::<Result<Vec<(Spread, f64)>, Failure>>()?;
        let (spreads, widths) = read.into_iter().unzip();
        let calculation = Calculation {
            definition: self.definition.clone(),
            points,
            resolution: None,
            spreads,
            cutoff: self.cutoff,
            precision: self.machine.precision(),
        };
        let vector = Vector {
            values: self.values.values.clone(),
            widths,
        };
        Ok((calculation, vector))
    }

    /// Names and values, of `vector`.
    pub(super) fn parameters(&self, vector: &Vector) -> Map<String, Value> {
        let named = self.definition.rows().iter().zip(&vector.values);
        named
            .map(|(row, value)| (row.name.clone(), Value::from(*value)))
            .collect()
    }

    /// `--set` and `--pd` that say all that makes `vector`; `pixels`: in two dimensions.
    pub(super) fn options(&self, vector: &Vector, pixels: bool) -> String {
        let rows = self.definition.rows();
        let effective = self.values.effective(&self.definition, pixels);
        let set: Vec<String> = (0..rows.len())
            .filter(|place| effective[*place])
            .map(|place| format!("{}={}", rows[place].name, vector.values[place]))
            .collect();
        let spreads = self.spreads.iter().zip(&vector.widths);
        let pd: String = spreads
            .map(|(spread, width)| format!(" --pd {}", spread.words(*width)))
            .collect();
        format!("--set {}{pd} --cutoff {}", set.join(","), self.cutoff)
    }

    /// Distributions with the widths of `vector`.
    pub(super) fn distributed(&self, spreads: &[Spread], vector: &Vector) -> Vec<Distributed> {
        spreads
            .iter()
            .zip(&vector.widths)
            .map(|(spread, width)| Distributed {
                parameter: self.definition.rows()[spread.parameter].name.clone(),
                distribution: parameters::word(&spread.distribution),
                width: *width,
                points: spread.points,
                nsigma: spread.nsigma,
            })
            .collect()
    }

    /// Diameter of particles with those `values` (in the order of the model's table), Å; 0 of what is no particle.
    pub(super) fn size(&self, values: &[f64]) -> f64 {
        let form = self.definition.form();
        let mut of_form = vec![0.0; form.count()];
        for (row, value) in self.definition.rows().iter().zip(values) {
            if let Role::Form(place) = row.role {
                of_form[place] = *value;
            }
        }
        let modes = form.info().radius_modes.len();
        let radius = if modes > 0 {
            form.effective_radius(&of_form, 1)
        } else {
            0.0
        };
        2.0 * form.largest_half_size(&of_form).max(radius)
    }
}
