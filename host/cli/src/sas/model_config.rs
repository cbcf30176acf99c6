//! Model options that `evaluate` and `fit` share.

use super::parameters::{self, PolydispersityArg};
use super::values::{self, Values};
use super::{backend, names};
use crate::args::{DevicesArgs, SasModelArgs};
use crate::failure::Failure;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use warpstride::sas::{
    Calculation, Definition, Distribution, Points, Polydispersity, Target, Tie, Ties, Vector,
};
use warpstride::text::{shell_quoted, shortest};

/// A model with checked values and distributions.
#[derive(Debug)]
pub(super) struct ModelConfig {
    pub(super) definition: Definition,
    pub(super) values: Values,
    pub(super) polydispersity: Vec<PolydispersityArg>,
    pub(super) ties: Vec<Tie>,
    pub(super) cutoff: f64,
    pub(super) backend: backend::BackendConfig,
}

/// A distribution in a summary.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PolydispersitySummary {
    parameter: String,
    distribution: &'static str,
    /// Relative width; for angles, degrees.
    width: f64,
    points: usize,
    nsigma: f64,
}

/// A tied parameter in a summary.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TiedValue {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) expression: String,
}

impl TiedValue {
    /// `thickness = 2*radius = 60`.
    pub(super) fn line(&self) -> String {
        format!("{} = {} = {}", self.name, self.expression, self.value)
    }
}

impl ModelConfig {
    /// Checks the options; `pixels`: in two dimensions. `set` holds the lists of `--set` that
    /// apply, and `named` further lists that name parameters.
    pub(super) fn from_args(
        args: &SasModelArgs,
        set: &[String],
        backend: &DevicesArgs,
        pixels: bool,
        named: &[String],
    ) -> Result<Self, Failure> {
        let named = parameters::items(set).chain(parameters::items(named));
        let definition = names::with_magnetism_of(names::definition(&args.model)?, named);
        if !(0.0..1.0).contains(&args.cutoff) {
            return Err(Failure::usage(format!(
                "--cutoff {}: expected a number from 0 to below 1",
                shortest(args.cutoff)
            )));
        }
        let values = values::values(&definition, set)?;
        let polydispersity = parameters::polydispersity_args(&definition, &args.pd, pixels)?;
        if args.cutoff > 0.0 && polydispersity.is_empty() {
            return Err(Failure::usage(format!(
                "--cutoff {}: expected a distribution (--pd), to which it applies, found none",
                shortest(args.cutoff)
            )));
        }
        let ties = args.tie.iter().map(|text| Tie::parse(text));
        let ties = ties
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::usage)?;
        let config = Self {
            backend: backend::BackendConfig::from_args(backend, args.precision)?,
            cutoff: args.cutoff,
            definition,
            values,
            polydispersity,
            ties,
        };
        config.check_ties()?;
        Ok(config)
    }

    /// Checks the names and the order of the ties, and that no tied value is set.
    fn check_ties(&self) -> Result<(), Failure> {
        let mut calculation = Calculation::new(self.definition.clone(), Points::Curve(Vec::new()));
        // The names of the widths are those of the distributions' parameters.
        let named = self.polydispersity.iter().map(|of| Polydispersity {
            parameter: of.parameter_index(),
            distribution: Distribution::Gaussian,
            points: 1,
            nsigma: 1.0,
            is_given: true,
        });
        calculation.polydispersity = named.collect();
        let ties = Ties::new(&calculation, &self.ties).map_err(Failure::usage)?;
        for (tie, target) in ties.iter() {
            let option = || format!("--tie {}={}", tie.name, tie.expression.text());
            match target {
                Target::Value(at) if self.values.is_set[at] => {
                    return Err(Failure::usage(format!(
                        "{}: expected --tie or --set for {}, found both",
                        option(),
                        tie.name
                    )));
                }
                Target::Width(at) if self.polydispersity[at].file().is_some() => {
                    return Err(Failure::usage(format!(
                        "{}: expected a distribution with a width, found one from a file",
                        option()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Input files.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.polydispersity
            .iter()
            .filter_map(PolydispersityArg::file)
    }

    /// The calculation at `points`, and the vector of the values that were set. Reads the files of
    /// arrays.
    pub(super) fn calculation(&self, points: Points) -> Result<(Calculation, Vector), Failure> {
        let read = self
            .polydispersity
            .iter()
            .map(PolydispersityArg::read)
            .collect::<Result<Vec<(Polydispersity, f64)>, Failure>>()?;
        let (polydispersity, widths) = read.into_iter().unzip();
        let calculation = Calculation {
            definition: self.definition.clone(),
            points,
            resolution: None,
            polydispersity,
            cutoff: self.cutoff,
            precision: self.backend.precision(),
        };
        let vector = Vector {
            values: self.values.values.clone(),
            widths,
        };
        Ok((calculation, vector))
    }

    /// The ties with their values in `vector`.
    pub(super) fn tied(&self, calculation: &Calculation, vector: &Vector) -> Vec<TiedValue> {
        let ties = self.ties.iter();
        ties.filter_map(|tie| {
            let target = calculation.target(&tie.name).ok()?;
            Some(TiedValue {
                name: tie.name.clone(),
                value: vector.get(target),
                expression: tie.expression.text().to_owned(),
            })
        })
        .collect()
    }

    /// Notes on values that were set and have no effect; `pixels`: in two dimensions.
    pub(super) fn without_effect(&self, pixels: bool) -> Vec<String> {
        self.values
            .without_effect(&self.definition, &self.polydispersity, pixels)
    }

    /// Names and values of the parameters in `vector`.
    pub(super) fn parameters(&self, vector: &Vector) -> Map<String, Value> {
        let named = self.definition.rows().iter().zip(&vector.values);
        named
            .map(|(row, value)| (row.name.clone(), Value::from(*value)))
            .collect()
    }

    /// The options `--set`, `--pd` and `--cutoff` that reproduce `vector`, quoted for a shell;
    /// `pixels`: in two dimensions.
    pub(super) fn options(&self, vector: &Vector, pixels: bool) -> String {
        let rows = self.definition.rows();
        let effective = self.values.effective(&self.definition, pixels);
        let set: Vec<String> = (0..rows.len())
            .filter(|index| effective[*index])
            .map(|index| format!("{}={}", rows[index].name, vector.values[index]))
            .collect();
        let polydispersity = self.polydispersity.iter().zip(&vector.widths);
        let pd: String = polydispersity
            .map(|(polydispersity, width)| polydispersity.to_arg(*width))
            .map(|argument| format!(" --pd {}", shell_quoted(&argument)))
            .collect();
        format!("--set {}{pd} --cutoff {}", set.join(","), self.cutoff)
    }

    /// The distributions with the widths of `vector`.
    pub(super) fn polydispersity_summary(
        &self,
        polydispersity: &[Polydispersity],
        vector: &Vector,
    ) -> Vec<PolydispersitySummary> {
        polydispersity
            .iter()
            .zip(&vector.widths)
            .map(|(polydispersity, width)| PolydispersitySummary {
                parameter: self.definition.rows()[polydispersity.parameter]
                    .name
                    .clone(),
                distribution: parameters::distribution_name(&polydispersity.distribution),
                width: *width,
                points: polydispersity.points,
                nsigma: polydispersity.nsigma,
            })
            .collect()
    }
}
