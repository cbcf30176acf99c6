//! What an engine computes for one vector, and how the sums become intensities; common to all back
//! ends.

use super::dispersion::{Centre, WeightedValues, weighted_values};
use super::jitter::{Rotation, View, rotations};
use super::magnetism::{Channel, channels};
use super::mesh::{Axis, MAX_PARTICLES, Mesh};
use super::product::Product;
use super::{Calculation, Points, Role, SasError, Vector};
use rayon::prelude::*;
use warpstride_kernels::sas::catalogue::AnyModel;

/// Weighted averages over the particles above the cutoff.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Averages {
    /// Sum of the weights, by which sums of F and F² are divided.
    pub weight: f64,
    /// Volume of the material, Å³.
    pub material: f64,
    /// Volume of the outline, Å³.
    pub outline: f64,
    /// Effective radius, Å; 0 if not requested.
    pub radius: f64,
    /// Largest half size (not an average), Å.
    pub half_size: f64,
}

/// What an engine computes for one vector: Σ w F and Σ w F² over particles and rotations at every
/// fine point. In one dimension F and F² are averages over
/// [`directions`](super::orientation::directions).
#[derive(Debug, Clone)]
pub struct Plan {
    /// Factor of the intensities.
    pub scale: f64,
    /// Constant added to the intensities, 1/cm.
    pub background: f64,
    /// Particles: values of the form factor.
    pub particles: Mesh,
    /// Orientations in two dimensions; in one dimension, and for isotropic particles, a single one
    /// of weight 1.
    pub rotations: Vec<Rotation>,
    /// Products of a particle's and a rotation's weight are skipped up to this value; those of
    /// weight 0 always.
    pub cutoff: f64,
    /// Spin cross sections; empty without magnetism.
    pub channels: Vec<Channel>,
    /// Weights, volumes and radius.
    pub averages: Averages,
    /// The structure factor of a product.
    pub product: Option<Product>,
}

/// Particles whose volumes one thread sums; it determines the order of the sum.
const CHUNK: usize = 4096;

fn average(
    form: &dyn AnyModel,
    mesh: &Mesh,
    rotations: &[Rotation],
    cutoff: f64,
    mode: u32,
) -> Averages {
    let total_rotation_weight: f64 = rotations.iter().map(|rotation| rotation.weight).sum();
    let of_chunk = |chunk: usize| {
        let mut sums = Averages::default();
        let mut values = mesh.base().to_vec();
        for index in chunk * CHUNK..mesh.len().min((chunk + 1) * CHUNK) {
            let size_weight = mesh.fill_values(index, &mut values);
            let weight = if cutoff > 0.0 {
                size_weight
                    * rotations
                        .iter()
                        .map(|rotation| rotation.weight)
                        .filter(|weight| size_weight * weight > cutoff)
                        .sum::<f64>()
            } else {
                size_weight * total_rotation_weight
            };
            let volume = form.volume(&values);
            if !(weight > 0.0 && volume.material.is_finite()) {
                continue;
            }
            sums.weight += weight;
            sums.material += weight * volume.material;
            sums.outline += weight * volume.outline;
            if mode > 0 {
                sums.radius += weight * form.effective_radius(&values, mode);
            }
            sums.half_size = sums.half_size.max(form.largest_half_size(&values));
        }
        sums
    };
    let chunks: Vec<Averages> = (0..mesh.len().div_ceil(CHUNK))
        .into_par_iter()
        .map(of_chunk)
        .collect();
    let mut all = Averages::default();
    for sums in chunks {
        all.weight += sums.weight;
        all.material += sums.material;
        all.outline += sums.outline;
        all.radius += sums.radius;
        all.half_size = all.half_size.max(sums.half_size);
    }
    if all.weight > 0.0 {
        all.material /= all.weight;
        all.outline /= all.weight;
        all.radius /= all.weight;
    }
    all
}

impl Plan {
    /// Plans a vector of a calculation.
    ///
    /// # Errors
    /// The vector does not fit the calculation, a value is outside its limits, a distribution is
    /// invalid, or a mesh is too large.
    pub fn new(calculation: &Calculation, vector: &Vector) -> Result<Self, SasError> {
        let definition = &calculation.definition;
        let rows = definition.rows();
        let name = definition.name();
        if !definition.parts().is_empty() {
            return Err(SasError::Refused(format!(
                "{name}: expected one model, as this engine has no sums (`sas::SumEngine`)"
            )));
        }
        if vector.values.len() != rows.len()
            || vector.widths.len() != calculation.polydispersity.len()
        {
            return Err(SasError::Refused(format!(
                "{name}: expected {} values and {} widths, found {} and {}",
                rows.len(),
                calculation.polydispersity.len(),
                vector.values.len(),
                vector.widths.len()
            )));
        }
        calculation.check(vector)?;
        if !(calculation.cutoff >= 0.0 && calculation.cutoff < 1.0) {
            return Err(SasError::Refused(format!(
                "the cutoff: expected a number from 0 to below 1, found {}",
                calculation.cutoff
            )));
        }
        let flat = matches!(calculation.fine_points(), Points::Pixels { .. });
        let form = definition.form();

        let mut form_values = vec![0.0; form.count()];
        let mut structure_values = definition
            .structure()
            .map_or(Vec::new(), |s| vec![0.0; s.count()]);
        let (mut view, mut spin) = ([0.0; 3], [0.0; 4]);
        let mut moments = vec![[0.0; 3]; form.slds().len()];
        let (mut scale, mut background) = (1.0, 0.0);
        let (mut beta, mut mode) = (false, 0_u32);
        let mut own_volfraction = None;
        for (row, value) in rows.iter().zip(&vector.values) {
            match row.role {
                Role::Scale => scale = *value,
                Role::Background => background = *value,
                // Sums are refused above.
                Role::PartScale(_) => {}
                Role::Form(i) => {
                    form_values[i] = *value;
                    if row.name == "volfraction" {
                        own_volfraction = Some(*value);
                    }
                }
                Role::Angle(i) => view[i] = *value,
                Role::Structure(i) => structure_values[i] = *value,
                Role::StructureFactorMode => beta = *value >= 0.5,
                Role::RadiusEffectiveMode => mode = value.round() as u32,
                Role::Spin(i) => spin[i] = *value,
                Role::Moment { sld, part } => moments[sld][part] = *value,
            }
        }

        let (mut form_axes, mut structure_axes) = (Vec::new(), Vec::new());
        let mut offsets = [const { None }; 3];
        for (k, (polydispersity, width)) in calculation
            .polydispersity
            .iter()
            .zip(&vector.widths)
            .enumerate()
        {
            let Some(row) = rows
                .get(polydispersity.parameter)
                .filter(|row| row.polydisperse)
            else {
                return Err(SasError::Refused(format!(
                    "{name}: expected a parameter that can be polydisperse, found {}",
                    rows.get(polydispersity.parameter)
                        .map_or("an unknown parameter", |row| &row.name)
                )));
            };
            if calculation.polydispersity[..k]
                .iter()
                .any(|other| other.parameter == polydispersity.parameter)
            {
                return Err(SasError::Refused(format!(
                    "{name}: expected one distribution of each parameter, found two of {}",
                    row.name
                )));
            }
            let about = match row.role {
                Role::Angle(_) => Centre::Direction,
                _ => Centre::Size(vector.values[polydispersity.parameter]),
            };
            let weighted = || weighted_values(&row.name, polydispersity, about, *width, row.limits);
            match row.role {
                Role::Form(value_index) => form_axes.push(Axis {
                    value_index,
                    weighted: weighted()?,
                }),
                Role::Angle(i) if flat => offsets[i] = Some(weighted()?),
                // A radius computed from the particles has no distribution of its own.
                Role::Structure(0) if mode > 0 => {}
                Role::Structure(value_index) => structure_axes.push(Axis {
                    value_index,
                    weighted: weighted()?,
                }),
                _ => {}
            }
        }

        let particles = Mesh::new(form_values, form_axes)?;
        let rotations = if flat && definition.oriented() {
            let [theta, phi, psi] =
                offsets.map(|o| o.unwrap_or_else(|| WeightedValues::single(0.0)));
            let view = View {
                theta: view[0],
                phi: view[1],
                psi: view[2],
            };
            rotations(view, &theta, &phi, &psi)?
        } else {
            vec![Rotation {
                rows: [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
                weight: 1.0,
            }]
        };
        if particles.len().saturating_mul(rotations.len()) > MAX_PARTICLES {
            return Err(SasError::Refused(format!(
                "{name}: the mesh: expected at most {MAX_PARTICLES} points, found {} sizes x {} orientations",
                particles.len(),
                rotations.len()
            )));
        }
        let channels = if flat {
            channels((spin[0], spin[1]), spin[2], spin[3], &moments)
        } else {
            Vec::new()
        };
        if beta && !channels.is_empty() {
            return Err(SasError::Refused(format!(
                "{name}: structure_factor_mode: expected 0 for magnetic particles, found 1 (β)"
            )));
        }
        let averages = average(form, &particles, &rotations, calculation.cutoff, mode);
        if averages.weight.is_nan() || averages.weight <= 0.0 {
            return Err(SasError::Refused(format!(
                "{name}: expected compatible sizes and a cutoff below the largest weight, found no particle left"
            )));
        }
        let product = match definition.structure() {
            Some(structure) => {
                let volfraction = own_volfraction.unwrap_or(structure_values[1]);
                if mode > 0 {
                    structure_values[0] = averages.radius;
                }
                let hollowness = if averages.material > 0.0 {
                    averages.outline / averages.material
                } else {
                    1.0
                };
                structure_values[1] = volfraction * hollowness;
                structure_axes.retain(|axis| axis.value_index != 1);
                Some(Product {
                    structure,
                    mesh: Mesh::new(structure_values, structure_axes)?,
                    beta,
                    volfraction: if own_volfraction.is_some() {
                        1.0
                    } else {
                        volfraction
                    },
                })
            }
            None => None,
        };
        Ok(Self {
            scale,
            background,
            particles,
            rotations,
            cutoff: calculation.cutoff,
            channels,
            averages,
            product,
        })
    }

    /// Whether Σ w F is needed besides Σ w F².
    #[must_use]
    pub fn needs_amplitudes(&self) -> bool {
        self.product.as_ref().is_some_and(|product| product.beta)
    }

    /// Whether a product of a particle's and a rotation's weight is above the cutoff.
    #[must_use]
    pub fn above_cutoff(&self, weight: f64) -> bool {
        weight > self.cutoff
    }

    /// Intensities at the calculation's points, 1/cm, from Σ w F (empty unless
    /// [`Plan::needs_amplitudes`]) and Σ w F² at its fine points.
    #[must_use]
    pub fn intensities(
        &self,
        calculation: &Calculation,
        amplitudes: &[f64],
        intensities: &[f64],
    ) -> Vec<f64> {
        let weight = self.averages.weight;
        let factor = self.scale / self.averages.material;
        let factor = if self.averages.material == 0.0 {
            self.scale
        } else {
            factor
        };
        let mut fine: Vec<f64> = intensities.iter().map(|sum| sum / weight).collect();
        if let Some(product) = &self.product {
            let q: Vec<f64> = match calculation.fine_points() {
                Points::Curve(q) => q.clone(),
                Points::Pixels { qx, qy } => qx.iter().zip(qy).map(|(x, y)| x.hypot(*y)).collect(),
            };
            let structure = product.structure_factors(&q);
            for (i, value) in fine.iter_mut().enumerate() {
                let amplitude = amplitudes.get(i).map_or(0.0, |sum| sum / weight);
                *value = product.combine(amplitude, *value, structure[i]);
            }
        }
        for value in &mut fine {
            *value *= factor;
        }
        let mut at_points = match &calculation.resolution {
            Some(resolution) => resolution.apply(&fine),
            None => fine,
        };
        for value in &mut at_points {
            *value += self.background;
        }
        at_points
    }
}
