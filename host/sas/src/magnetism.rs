//! Polarised neutrons and magnetic particles: effective scattering length densities of each spin
//! cross section.
//!
//! Only the component M⊥ of a magnetic moment perpendicular to q scatters (R. M. Moon, T. Riste, W.
//! C. Koehler, Phys. Rev. 181 (1969) 920). Its projection on the polarisation P adds to the nuclear
//! density for neutrons that keep their spin, up (++) or down (−−). Its components perpendicular to
//! P flip spins (+−, −+), in phase along the first normal of P, out of phase along the second. An
//! intensity is therefore a sum of the model's intensities, each computed with the densities ρ' = ρ
//! or 0, plus or minus e·M⊥.

/// Names of the four parameters of the beam.
pub const SPIN_NAMES: [&str; 4] = ["up_frac_i", "up_frac_f", "up_theta", "up_phi"];
/// Suffixes that turn the name of a density into those of its moment: size, angle to the beam,
/// angle about the beam.
pub const MOMENT_NAMES: [&str; 3] = ["_M0", "_mtheta", "_mphi"];
/// Largest |q|², 1/Å², at which the direction of q is undefined and moments do not scatter.
pub const MIN_Q_SQUARED: f64 = 1e-16;
/// Share of the beam up to which a cross section is neglected.
const MIN_SHARE: f64 = 1e-8;

/// A spin cross section: an intensity of the model with effective densities.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Factor of the intensity.
    pub weight: f64,
    /// 1 if nuclear densities scatter as well, 0 if only moments do.
    pub nuclear: f64,
    /// Coefficients for each density: e·M⊥ = k₀ + k₁ c² + k₂ c s + k₃ s² with (c, s) = (qx,
    /// qy)/|q|.
    pub moments: Vec<[f64; 4]>,
}

impl Channel {
    /// The effective density at a direction of q; `nuclear` is the nuclear density with index
    /// `sld`.
    #[must_use]
    pub fn sld(&self, sld: usize, nuclear: f64, (c, s): (f64, f64)) -> f64 {
        let k = &self.moments[sld];
        self.nuclear * nuclear + (k[0] + k[1] * c * c + k[2] * c * s + k[3] * s * s)
    }
}

/// The spin channels of a beam. Neutrons are up with probability `up.0` before and `up.1` after the
/// sample; `theta` and `phi` (degrees) are the angles of the polarisation to the beam and about it.
/// `moments` holds the size and the angles of each density's moment. Empty if nothing is magnetic.
#[must_use]
pub fn channels(up: (f64, f64), theta: f64, phi: f64, moments: &[[f64; 3]]) -> Vec<Channel> {
    if moments.iter().all(|moment| moment[0] == 0.0) {
        return Vec::new();
    }
    let (before, after) = (up.0.clamp(0.0, 1.0), up.1.clamp(0.0, 1.0));
    // An analyser passes half of an unpolarised beam; intensities are normalised to the larger
    // share that it passes.
    let passed = after.max(1.0 - after);
    let (sin_theta, cos_theta) = theta.to_radians().sin_cos();
    let (sin_phi, cos_phi) = phi.to_radians().sin_cos();
    let along = [sin_theta * cos_phi, sin_theta * sin_phi, cos_theta];
    let opposite = along.map(|x| -x);
    let first = [-sin_phi, cos_phi, 0.0];
    let second = [-cos_theta * cos_phi, -cos_theta * sin_phi, sin_theta];
    let spin_flip = before * (1.0 - after) + (1.0 - before) * after;
    let vectors: Vec<[f64; 3]> = moments
        .iter()
        .map(|[size, theta, phi]| {
            let (sin, cos) = theta.to_radians().sin_cos();
            let (sin_phi, cos_phi) = phi.to_radians().sin_cos();
            [size * sin * cos_phi, size * sin * sin_phi, size * cos]
        })
        .collect();
    [
        ((1.0 - before) * (1.0 - after), 1.0, opposite),
        (before * after, 1.0, along),
        (spin_flip, 0.0, first),
        (spin_flip, 0.0, second),
    ]
    .into_iter()
    .filter(|(share, ..)| share / passed > MIN_SHARE)
    .map(|(share, nuclear, e)| Channel {
        weight: share / passed,
        nuclear,
        moments: vectors
            .iter()
            .map(|m| {
                [
                    e[0] * m[0] + e[1] * m[1] + e[2] * m[2],
                    -e[0] * m[0],
                    -(e[0] * m[1] + e[1] * m[0]),
                    -e[1] * m[1],
                ]
            })
            .collect(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment along q does not scatter; one perpendicular to q scatters with its full size, and
    /// without spin flip if it is parallel to the polarisation.
    #[test]
    fn only_moments_perpendicular_to_q_scatter() {
        let along_x = channels((1.0, 1.0), 90.0, 0.0, &[[3.0, 90.0, 0.0]]);
        assert_eq!(along_x.len(), 1);
        assert!((along_x[0].sld(0, 2.0, (1.0, 0.0)) - 2.0).abs() < 1e-15);
        assert!((along_x[0].sld(0, 2.0, (0.0, 1.0)) - 5.0).abs() < 1e-15);
        let spin_flip = channels((1.0, 0.0), 90.0, 0.0, &[[3.0, 90.0, 0.0]]);
        let densities = spin_flip
            .iter()
            .map(|channel| channel.sld(0, 2.0, (0.0, 1.0)));
        assert!(densities.into_iter().all(|sld| sld.abs() < 1e-15));
    }

    /// For any efficiency of the analyser the shares of both final spin states sum to the whole
    /// beam.
    #[test]
    fn shares_sum_to_the_beam() {
        let total = |after: f64| -> f64 {
            let all = channels((0.3, after), 10.0, 20.0, &[[1.0, 0.0, 0.0]]);
            let kept: f64 = all
                .iter()
                .filter(|c| c.nuclear == 1.0)
                .map(|c| c.weight)
                .sum();
            let spin_flip: f64 = all
                .iter()
                .filter(|c| c.nuclear == 0.0)
                .map(|c| c.weight)
                .sum();
            (kept + 0.5 * spin_flip) * after.max(1.0 - after)
        };
        for after in [0.0, 0.2, 0.5, 0.9, 1.0] {
            assert!((total(after) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn vectors_without_moments_have_no_channels() {
        assert!(channels((0.2, 0.7), 90.0, 0.0, &[[0.0, 5.0, 6.0]]).is_empty());
    }
}
