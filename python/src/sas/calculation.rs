//! What is calculated, and where.

use crate::backend::{Devices, GroupRequest, open};
use crate::errors::Failure;
use pyo3::prelude::*;
use std::collections::HashSet;
use warpstride::run::BackendKind;
use warpstride::sas::cpu::CpuEngine;
use warpstride::sas::cuda::{kernels, on_cuda_devices, on_emulated_devices};
use warpstride::sas::dispersion::MAX_POINTS;
use warpstride::sas::mesh::MAX_POLYDISPERSE;
use warpstride::sas::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Precision, Role,
    SumEngine, points,
};

/// A distribution: parameter, shape, mesh points, reach in standard deviations, values with their
/// weights.
pub(super) type DistributionRow = (
    String,
    String,
    Option<usize>,
    Option<f64>,
    Option<(Vec<f64>, Vec<f64>)>,
);

/// Where a calculation is done.
#[derive(Debug, Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct BackendOptions {
    backend: String,
    pub(super) device: Option<usize>,
    devices: Option<Devices>,
    precision: String,
    cutoff: f64,
    /// Whether the model has parameters of magnetism.
    pub(super) magnetic: bool,
}

impl BackendOptions {
    pub(super) fn precision(&self) -> Result<Precision, Failure> {
        match &*self.precision {
            "f32" => Ok(Precision::F32),
            "f64" => Ok(Precision::F64),
            other => Err(Failure::Data(format!(
                "precision {other:?}: expected f32 or f64"
            ))),
        }
    }

    /// The engine of a calculation; of a sum, one for each part.
    pub(super) fn engine(&self, calculation: Calculation) -> Result<Box<dyn Engine>, Failure> {
        let parts = calculation.parts();
        if parts.is_empty() {
            return self.single(calculation);
        }
        let engines = parts.into_iter().map(|part| self.single(part));
        let engines = engines.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Box::new(SumEngine::new(calculation, engines)?))
    }

    fn single(&self, calculation: Calculation) -> Result<Box<dyn Engine>, Failure> {
        let definition = &calculation.definition;
        let mut models = vec![definition.form().info().name];
        models.extend(
            definition
                .structure()
                .map(|structure| structure.info().name),
        );
        let request = GroupRequest::with_device(&self.backend, self.device, self.devices.clone())?;
        request.check_device(self.device)?;
        let backend = open(&request, None, || kernels(&models))?;
        let chosen = backend.engine(
            || Ok(()),
            |kind| -> Result<Box<dyn Engine>, Failure> {
                Ok(match kind {
                    BackendKind::Cpu => Box::new(CpuEngine::new(calculation.clone())),
                    BackendKind::Emulator(devices) => on_emulated_devices(devices, &calculation)?,
                    BackendKind::Cuda(devices) => on_cuda_devices(*devices, &calculation)?,
                })
            },
        )?;
        Ok(chosen.engine)
    }
}

/// Curve or pixels, 1/Å.
fn points(q: Vec<f64>, qy: Option<Vec<f64>>) -> Result<Points, Failure> {
    let Some(qy) = qy else {
        let is_bad = |q: &f64| !(q.is_finite() && *q >= 0.0);
        if let Some(at) = q.iter().position(is_bad) {
            return Err(Failure::Data(format!(
                "q of point {at} (from 0): expected a positive number, found {}",
                q[at]
            )));
        }
        // At 0 a model has a value, or diverges.
        points::listed(q.iter().map(|q| if *q == 0.0 { 1.0 } else { *q }).collect())?;
        return Ok(Points::Curve(q));
    };
    if q.len() != qy.len() || q.is_empty() {
        return Err(Failure::Data(format!(
            "qx and qy: expected as many of both, at least one, found {} and {}",
            q.len(),
            qy.len()
        )));
    }
    if let Some(at) = q
        .iter()
        .zip(&qy)
        .position(|(x, y)| !(x.is_finite() && y.is_finite()))
    {
        return Err(Failure::Data(format!(
            "qx and qy of point {at} (from 0): expected finite numbers, found {} and {}",
            q[at], qy[at]
        )));
    }
    Ok(Points::Pixels { qx: q, qy })
}

/// The shape of a distribution by its name.
fn shape(name: &str) -> Option<Distribution> {
    Some(match name {
        "gaussian" => Distribution::Gaussian,
        "rectangle" => Distribution::Rectangle,
        "uniform" => Distribution::Uniform,
        "lognormal" => Distribution::LogNormal,
        "schulz" => Distribution::Schulz,
        "boltzmann" => Distribution::Boltzmann,
        _ => return None,
    })
}

/// The distribution of a parameter of `definition`; `pixels`: in two dimensions.
fn spread(
    definition: &Definition,
    (name, kind, points, nsigma, pairs): DistributionRow,
    pixels: bool,
) -> Result<Polydispersity, Failure> {
    let refused = |why: String| Err(Failure::Data(why));
    let pairs = pairs.map(|(values, weights)| values.into_iter().zip(weights).collect());
    let Some(distribution) = pairs.map(Distribution::Array).or_else(|| shape(&kind)) else {
        return refused(format!(
            "{name}_pd_type {kind:?}: expected gaussian, rectangle, uniform, lognormal, schulz or boltzmann"
        ));
    };
    let parameter = definition.parameter_index(&name)?;
    let row = definition
        .rows()
        .get(parameter)
        .filter(|row| row.polydisperse);
    let Some(row) = row else {
        return refused(format!(
            "{name}_pd: expected a parameter of {} that can have a distribution, found one that cannot",
            definition.name()
        ));
    };
    if matches!(row.role, Role::Angle(_)) {
        if !pixels {
            return refused(format!(
                "{name}_pd: expected an image (qx, qy), as {name} is an angle, and a curve is averaged over all directions"
            ));
        }
        if matches!(distribution, Distribution::LogNormal | Distribution::Schulz) {
            return refused(format!(
                "{name}_pd_type: expected a distribution of angles, found {kind}, which is one of sizes"
            ));
        }
    }
    let is_given = points.is_some() || nsigma.is_some();
    let (usual_points, usual_nsigma) = distribution.default_mesh();
    let (points, nsigma) = (
        points.unwrap_or(usual_points),
        nsigma.unwrap_or(usual_nsigma),
    );
    let given = matches!(distribution, Distribution::Array(_));
    if !(1..=MAX_POINTS).contains(&points) {
        return refused(format!(
            "{name}_pd_n: expected 1 to {MAX_POINTS} points, found {points}"
        ));
    }
    if !(given || nsigma.is_finite() && nsigma > 0.0) {
        return refused(format!(
            "{name}_pd_nsigma: expected a number above 0, found {nsigma}"
        ));
    }
    Ok(Polydispersity {
        parameter,
        distribution,
        points,
        nsigma,
        is_given,
    })
}

/// The distributions of parameters of `definition`; `pixels`: in two dimensions.
fn spreads(
    definition: &Definition,
    spreads: Vec<DistributionRow>,
    pixels: bool,
) -> Result<Vec<Polydispersity>, Failure> {
    let made = spreads.into_iter().map(|of| spread(definition, of, pixels));
    let made = made.collect::<Result<Vec<_>, Failure>>()?;
    let mut parameters = HashSet::new();
    if !made.iter().all(|of| parameters.insert(of.parameter)) {
        return Err(Failure::data(
            "expected one distribution of each parameter, found two",
        ));
    }
    // Each part of a sum has its own mesh.
    let part = |of: &Polydispersity| definition.rows().get(of.parameter).and_then(|row| row.part);
    for of in &made {
        let count = made.iter().filter(|other| part(other) == part(of)).count();
        if count > MAX_POLYDISPERSE {
            return Err(Failure::Data(format!(
                "expected at most {MAX_POLYDISPERSE} parameters with a distribution, found {count}"
            )));
        }
    }
    Ok(made)
}

/// The model, with parameters of magnetism or without.
pub(super) fn definition(model: &str, magnetic: bool) -> Result<Definition, Failure> {
    let plain = Definition::parse(model)?;
    if !magnetic {
        return Ok(plain);
    }
    let parameters = plain.rows().len();
    let definition = plain.with_magnetism();
    if definition.rows().len() == parameters {
        return Err(Failure::Data(format!(
            "magnetic: expected a model with scattering length densities, found {model}"
        )));
    }
    Ok(definition)
}

/// A calculation, checked.
pub(super) fn calculation(
    model: &str,
    (q, qy): (Vec<f64>, Option<Vec<f64>>),
    distributions: Vec<DistributionRow>,
    place: &BackendOptions,
) -> Result<Calculation, Failure> {
    let definition = definition(model, place.magnetic)?;
    place.check_points(qy.is_some())?;
    let polydispersity = spreads(&definition, distributions, qy.is_some())?;
    if !(0.0..1.0).contains(&place.cutoff) {
        return Err(Failure::Data(format!(
            "cutoff: expected a number from 0 to below 1, found {}",
            place.cutoff
        )));
    }
    Ok(Calculation {
        polydispersity,
        cutoff: place.cutoff,
        precision: place.precision()?,
        ..Calculation::new(definition, points(q, qy)?)
    })
}
