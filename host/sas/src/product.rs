//! Products P@S of a form factor and a structure factor.
//!
//! Decoupling approximation of positions and sizes (M. Kotlarchyk, S.-H. Chen, J. Chem. Phys. 79
//! (1983) 2461): I = scale · φ/⟨V⟩ · (⟨F²⟩ + ⟨F⟩² (S − 1)) with β = ⟨F⟩²/⟨F²⟩, or without it I =
//! scale · φ/⟨V⟩ · ⟨F²⟩ S. φ is the volume fraction of the particles' material; S uses that of
//! their outlines, φ ⟨V outline⟩/⟨V⟩. A form factor with its own `volfraction` is on an absolute
//! scale already, and φ is not applied again.

use super::mesh::Mesh;
use warpstride_kernels::sas::catalogue::AnyModel;
use warpstride_kernels::sas::model::Wave;

/// The structure factor of one vector.
#[derive(Clone)]
pub struct Product {
    /// The structure factor's model, S.
    pub structure: &'static dyn AnyModel,
    /// The values of S, with the radius and the volume fraction of the particles already set.
    pub mesh: Mesh,
    /// Whether the decoupling approximation is used: I = P (1 + β (S − 1)), which needs amplitudes.
    pub beta: bool,
    /// Factor of the intensity: φ, or 1 if the form factor includes it.
    pub volfraction: f64,
}

impl std::fmt::Debug for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Product")
            .field("structure", &self.structure.info().name)
            .field("beta", &self.beta)
            .finish_non_exhaustive()
    }
}

impl Product {
    /// S at each |q|, 1/Å.
    #[must_use]
    pub fn structure_factors(&self, q: &[f64]) -> Vec<f64> {
        let mut values = self.mesh.base().to_vec();
        let mut sums = vec![0.0; q.len()];
        for index in 0..self.mesh.len() {
            let weight = self.mesh.fill_values(index, &mut values);
            if weight > 0.0 {
                for (sum, q) in sums.iter_mut().zip(q) {
                    *sum += weight * self.structure.form(&isotropic(*q), &values).intensity;
                }
            }
        }
        sums
    }

    /// Combines ⟨F⟩, ⟨F²⟩ and S, without scale, volume and background.
    #[must_use]
    pub fn combine(&self, amplitude: f64, intensity: f64, structure: f64) -> f64 {
        self.volfraction
            * if self.beta {
                intensity + amplitude * amplitude * (structure - 1.0)
            } else {
                intensity * structure
            }
    }
}

/// A wave vector of known length without a direction.
#[must_use]
pub fn isotropic(q: f64) -> Wave<f64> {
    Wave {
        q,
        across: 0.0,
        along: 0.0,
        a: 0.0,
        b: 0.0,
        c: 0.0,
    }
}
