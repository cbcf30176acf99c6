//! Polarised neutrons and magnetic particles: effective scattering length densities of each spin cross section.
//!
//! A magnetic moment scatters by its component M⊥ across q only (R. M. Moon, T. Riste, W. C. Koehler, Phys. Rev. 181
//! (1969) 920). Along the polarisation P it adds to the nuclear density of neutrons that keep their spin, up (++) or
//! down (−−); across P it turns spins (+−, −+), in phase along P's first normal, out of phase along the second. So an
//! intensity is a sum of the model's, each computed with densities ρ' = ρ or 0, plus or minus e·M⊥.

/// Names of the four numbers of the beam.
pub const SPIN_NAMES: [&str; 4] = ["up_frac_i", "up_frac_f", "up_theta", "up_phi"];
/// What is added to a density's name for its moment: size, and its angles to the beam and about it.
pub const MOMENT_NAMES: [&str; 3] = ["_M0", "_mtheta", "_mphi"];
/// |q|², 1/Å², up to which the direction of q is not known and nothing is scattered.
pub const LEAST_Q_SQUARED: f64 = 1e-16;
/// Share of a cross section up to which it is left out.
const LEAST_SHARE: f64 = 1e-8;

/// An intensity that is added: the model's, with its own densities.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Factor on it.
    pub weight: f64,
    /// 1 where the nuclear densities scatter too, 0 where only moments do.
    pub nuclear: f64,
    /// Of each density: e·M⊥ = k₀ + k₁ c² + k₂ c s + k₃ s² with (c, s) = (qx, qy)/|q|.
    pub moments: Vec<[f64; 4]>,
}

impl Channel {
    /// The effective density from `nuclear` of number `sld` at a direction of q.
    #[must_use]
    pub fn sld(&self, sld: usize, nuclear: f64, (c, s): (f64, f64)) -> f64 {
        let k = &self.moments[sld];
        self.nuclear * nuclear + (k[0] + k[1] * c * c + k[2] * c * s + k[3] * s * s)
    }
}

/// The channels of a beam whose neutrons are up with probability `up.0` before and `up.1` after the sample; `theta`
/// and `phi` (degrees) are the polarisation's angles to the beam and about it. `moments`: size and angles of each
/// density's. Empty where nothing is magnetic.
#[must_use]
pub fn channels(up: (f64, f64), theta: f64, phi: f64, moments: &[[f64; 3]]) -> Vec<Channel> {
    if moments.iter().all(|moment| moment[0] == 0.0) {
        return Vec::new();
    }
    let (before, after) = (up.0.clamp(0.0, 1.0), up.1.clamp(0.0, 1.0));
    // An analyser passes half of an unpolarised beam; intensities are for what it passes at best.
    let passed = after.max(1.0 - after);
    let (sin_theta, cos_theta) = theta.to_radians().sin_cos();
    let (sin_phi, cos_phi) = phi.to_radians().sin_cos();
    let along = [sin_theta * cos_phi, sin_theta * sin_phi, cos_theta];
    let opposite = along.map(|x| -x);
    let first = [-sin_phi, cos_phi, 0.0];
    let second = [-cos_theta * cos_phi, -cos_theta * sin_phi, sin_theta];
    let turned = before * (1.0 - after) + (1.0 - before) * after;
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
        (turned, 0.0, first),
        (turned, 0.0, second),
    ]
    .into_iter()
    .filter(|(share, ..)| share / passed > LEAST_SHARE)
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

    /// A moment along q does not scatter, one across it does with its whole size; along the polarisation without
    /// turning spins.
    #[test]
    fn only_what_is_across_q_scatters() {
        let along_x = channels((1.0, 1.0), 90.0, 0.0, &[[3.0, 90.0, 0.0]]);
        assert_eq!(along_x.len(), 1);
        assert!((along_x[0].sld(0, 2.0, (1.0, 0.0)) - 2.0).abs() < 1e-15);
        assert!((along_x[0].sld(0, 2.0, (0.0, 1.0)) - 5.0).abs() < 1e-15);
        let turned = channels((1.0, 0.0), 90.0, 0.0, &[[3.0, 90.0, 0.0]]);
        let densities = turned.iter().map(|channel| channel.sld(0, 2.0, (0.0, 1.0)));
        assert!(densities.into_iter().all(|sld| sld.abs() < 1e-15));
    }

    /// Shares of a polariser and analyser of one efficiency: both spin states after the sample together are the
    /// whole.
    #[test]
    fn shares_sum_to_the_beam() {
        let total = |after: f64| -> f64 {
            let all = channels((0.3, after), 10.0, 20.0, &[[1.0, 0.0, 0.0]]);
            let kept: f64 = all
                .iter()
                .filter(|c| c.nuclear == 1.0)
                .map(|c| c.weight)
                .sum();
            let turned: f64 = all
                .iter()
                .filter(|c| c.nuclear == 0.0)
                .map(|c| c.weight)
                .sum();
            (kept + 0.5 * turned) * after.max(1.0 - after)
        };
        for after in [0.0, 0.2, 0.5, 0.9, 1.0] {
            assert!((total(after) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn nothing_magnetic_has_no_channels() {
        assert!(channels((0.2, 0.7), 90.0, 0.0, &[[0.0, 5.0, 6.0]]).is_empty());
    }
}
