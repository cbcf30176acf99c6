//! Meshes of wide distributions of sizes. Large particles scatter with the square of their volume,
//! so the mesh must reach the sizes that dominate the sixth moment, far above the centre.

use crate::{Distribution, Polydispersity};

/// Widths up to which the default mesh is used as it is: there its mean of the sixth power over
/// that of the third is right to 1.4e-2 (Gaussian, whose default ends at ±3 σ), 1.4e-4 (lognormal)
/// and 5e-5 (Schulz).
const NARROW_GAUSSIAN: f64 = 0.25;
const NARROW_LOGNORMAL: f64 = 0.2;
const NARROW_SCHULZ: f64 = 0.3;
/// Reach of a wide Gaussian in standard deviations, and how fast the reach grows towards it.
const GAUSSIAN_REACH: f64 = 5.0;
const GAUSSIAN_GROWTH: f64 = 10.0;
/// Width above which the steps, relative to the centre, no longer grow: they must resolve the
/// fringes of the particles.
const COARSEST: f64 = 0.4;
/// Widths above this one have the mesh of this one.
const WIDEST: f64 = 2.0;
/// Standard deviations of ln x beyond those that dominate a moment.
const LOGNORMAL_TAIL: f64 = 4.2;
/// Step of ln x over s, and its greatest value.
const LOGNORMAL_STEP: (f64, f64) = (1.0 / 24.0, 0.02);
/// Finest step of ln x; at large s the step falls as 1/s² to this one, as large particles have
/// narrow fringes. It does not resolve those of wider distributions than the second number.
const LOGNORMAL_FINEST: (f64, f64) = (0.005, 1.0);
/// Standard deviations beyond the mean of the distribution that the sixth moment weights.
const SCHULZ_TAIL: f64 = 6.0;
/// Step of a Schulz distribution in standard deviations.
const SCHULZ_STEP: f64 = 0.2;

/// The mesh of a wide distribution.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Grid {
    /// An even mesh about the centre with this reach, in standard deviations.
    Reach { points: usize, nsigma: f64 },
    /// Values over the centre, and weights.
    Values(Vec<(f64, f64)>),
}

/// Whether this width is above those for which the default mesh is used as it is.
pub(crate) fn is_wide(distribution: &Distribution, width: f64) -> bool {
    match distribution {
        Distribution::LogNormal => width > NARROW_LOGNORMAL,
        Distribution::Schulz => width > NARROW_SCHULZ,
        Distribution::Array(_) => false,
        _ => width > NARROW_GAUSSIAN,
    }
}

/// The mesh that takes the place of the default one at this relative width; `None` if the default
/// suits the width, or if another mesh was asked for.
pub(super) fn grid(polydispersity: &Polydispersity, width: f64) -> Option<Grid> {
    let distribution = &polydispersity.distribution;
    if polydispersity.is_given {
        return None;
    }
    let usual = distribution.default_mesh();
    let bounded = width.min(WIDEST);
    match distribution {
        Distribution::Gaussian if width > NARROW_GAUSSIAN => {
            let nsigma =
                (usual.1 + GAUSSIAN_GROWTH * (width - NARROW_GAUSSIAN)).min(GAUSSIAN_REACH);
            let step = 2.0 * usual.1 / (usual.0 - 1) as f64 * (COARSEST / bounded).min(1.0);
            let half = (nsigma / step).ceil() as usize;
            Some(Grid::Reach {
                points: 2 * half + 1,
                nsigma,
            })
        }
        Distribution::LogNormal if width > NARROW_LOGNORMAL => {
            Some(Grid::Values(lognormal(bounded, width)))
        }
        Distribution::Schulz if width > NARROW_SCHULZ => Some(Grid::Values(schulz(bounded, width))),
        _ => None,
    }
}

/// Even steps of u = ln(x/c), from the tail of the numbers of particles to that of their sixth
/// moment, which is centred at 6 s². The weight of u is exp(−u²/2s²).
fn lognormal(bounded: f64, s: f64) -> Vec<(f64, f64)> {
    let step = lognormal_step(bounded);
    let (low, high) = (
        -LOGNORMAL_TAIL * bounded,
        bounded * (6.0 * bounded + LOGNORMAL_TAIL),
    );
    let count = ((high - low) / step).ceil() as usize;
    let u = (0..=count).map(|i| low + i as f64 * step);
    u.map(|u| (u.exp(), (-0.5 * (u / s).powi(2)).exp()))
        .collect()
}

fn lognormal_step(bounded: f64) -> f64 {
    let finest = LOGNORMAL_FINEST.0;
    let falling = (finest / (bounded * bounded)).max(finest);
    (LOGNORMAL_STEP.0 * bounded)
        .min(LOGNORMAL_STEP.1)
        .min(falling)
}

/// Relative step of the default mesh of a lognormal distribution that is too wide for it to resolve
/// the fringes of the large particles.
pub(super) fn coarse_step(polydispersity: &Polydispersity, width: f64) -> Option<f64> {
    let lognormal = matches!(polydispersity.distribution, Distribution::LogNormal);
    let coarse = lognormal && !polydispersity.is_given && width > LOGNORMAL_FINEST.1;
    coarse.then(|| lognormal_step(width.min(WIDEST)))
}

/// The middles of even steps of R = x/c from 0 to the tail of the sixth moment, a Γ distribution
/// with shape z + 6. The weight is R^(z−1) e^(−z(R−1)).
fn schulz(bounded: f64, width: f64) -> Vec<(f64, f64)> {
    let shape = bounded.powi(-2);
    let high = (shape + 6.0 + SCHULZ_TAIL * (shape + 6.0).sqrt()) / shape;
    let step = SCHULZ_STEP * bounded.min(COARSEST);
    let count = (high / step).ceil() as usize;
    let z = width.powi(-2);
    let r = (0..count).map(|i| (i as f64 + 0.5) * step);
    r.map(|r| (r, ((z - 1.0) * r.ln() - z * (r - 1.0)).exp()))
        .collect()
}

impl Distribution {
    /// ⟨x⁶⟩/⟨x³⟩ in units of the centre cubed, at this relative width; `None` where the mesh
    /// defines the distribution.
    pub(super) fn sphere_moment(&self, width: f64) -> Option<f64> {
        let w2 = width * width;
        let flat = |half: f64, n: i32| {
            let end = |x: f64| x.powi(n + 1);
            (end(1.0 + half) - end(1.0 - half)) / (2.0 * half * f64::from(n + 1))
        };
        Some(match self {
            _ if width == 0.0 => return None,
            Self::Gaussian => (1.0 + w2 * (15.0 + w2 * (45.0 + 15.0 * w2))) / (1.0 + 3.0 * w2),
            Self::LogNormal => (13.5 * w2).exp(),
            Self::Schulz => (1.0 + 3.0 * w2) * (1.0 + 4.0 * w2) * (1.0 + 5.0 * w2),
            Self::Rectangle => {
                let half = 3.0_f64.sqrt() * width;
                flat(half, 6) / flat(half, 3)
            }
            Self::Uniform => flat(width, 6) / flat(width, 3),
            Self::Boltzmann => (1.0 + w2 * (30.0 + w2 * (360.0 + 720.0 * w2))) / (1.0 + 6.0 * w2),
            Self::Array(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispersion::{Centre, cut_off, weighted_values};

    const FREE: (f64, f64) = (0.0, f64::INFINITY);

    fn of(distribution: Distribution) -> Polydispersity {
        let (points, nsigma) = distribution.default_mesh();
        Polydispersity {
            parameter: 0,
            distribution,
            points,
            nsigma,
            is_given: false,
        }
    }

    /// ⟨x⁶⟩/⟨x³⟩ of the mesh over that of the distribution.
    fn error(polydispersity: &Polydispersity, width: f64) -> f64 {
        let centre = 50.0;
        let all = weighted_values("radius", polydispersity, Centre::Size(centre), width, FREE);
        let all = all.unwrap();
        let moment = |n: i32| -> f64 {
            let pairs = all.values.iter().zip(&all.weights);
            pairs.map(|(x, w)| w * (x / centre).powi(n)).sum()
        };
        moment(6) / moment(3) / polydispersity.distribution.sphere_moment(width).unwrap() - 1.0
    }

    /// The moments have closed forms, so that the whole distribution is known.
    #[test]
    fn default_meshes_reach_the_sizes_that_scatter() {
        for (distribution, most) in [
            (Distribution::Schulz, 1e-3),
            (Distribution::LogNormal, 1e-3),
        ] {
            for width in [0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0] {
                let error = error(&of(distribution.clone()), width);
                assert!(error.abs() < most, "{distribution:?} {width}: {error}");
            }
        }
        for width in [0.05, 0.15, 0.25, 0.26, 0.3, 0.35, 0.4] {
            let error = error(&of(Distribution::Gaussian), width);
            assert!(error.abs() < 0.015, "{width}: {error}");
        }
    }

    /// A fit of a width does not meet a step of the intensity where the mesh begins to follow it.
    #[test]
    fn the_mesh_follows_the_width_without_a_step() {
        for (distribution, narrow) in [
            (Distribution::Gaussian, NARROW_GAUSSIAN),
            (Distribution::LogNormal, NARROW_LOGNORMAL),
            (Distribution::Schulz, NARROW_SCHULZ),
        ] {
            let of = of(distribution);
            let step = error(&of, narrow * (1.0 + 1e-9)) - error(&of, narrow);
            assert!(step.abs() < 2e-4, "{of:?}: {step}");
            assert!(grid(&of, narrow).is_none() && grid(&of, 1.01 * narrow).is_some());
        }
    }

    #[test]
    fn a_mesh_that_was_asked_for_is_kept_and_its_error_is_noted() {
        for (distribution, words) in [
            (Distribution::Schulz, "18 % too small; leave out its points"),
            (
                Distribution::LogNormal,
                "100 % too small; leave out its points",
            ),
        ] {
            let mut given = of(distribution);
            assert!(cut_off("radius", &given, 50.0, 1.0, FREE).is_empty());
            given.is_given = true;
            let note = cut_off("radius", &given, 50.0, 1.0, FREE).remove(0);
            assert!(note.contains(words), "{note}");
            assert!(grid(&given, 1.0).is_none());
        }
        let mut coarse = of(Distribution::Rectangle);
        (coarse.points, coarse.is_given) = (20, true);
        let note = cut_off("radius", &coarse, 50.0, 0.3, FREE).remove(0);
        assert!(note.ends_with("too large; give it more points"), "{note}");
        let narrow = cut_off("radius", &of(Distribution::Rectangle), 50.0, 0.1, FREE);
        assert!(narrow.is_empty(), "{narrow:?}");
    }

    /// Notes come where the limits cut a distribution, and where its mesh misses a part of it.
    #[test]
    fn limits_and_meshes_are_both_noted() {
        let notes = |distribution, width| cut_off("radius", &of(distribution), 50.0, width, FREE);
        let found = notes(Distribution::Boltzmann, 0.1);
        assert!(
            found[0].ends_with("more points and a longer reach"),
            "{found:?}"
        );
        assert!(notes(Distribution::Boltzmann, 0.01).is_empty());
        let mut long = of(Distribution::Boltzmann);
        (long.points, long.nsigma, long.is_given) = (401, 20.0, true);
        assert!(cut_off("radius", &long, 50.0, 0.04, FREE).is_empty());
        let found = notes(Distribution::Boltzmann, 0.5);
        assert!(
            found.len() == 2 && found[0].contains("beyond its limits"),
            "{found:?}"
        );
        let found = notes(Distribution::Rectangle, 0.7);
        assert!(
            found.len() == 2 && found[1].contains("more points"),
            "{found:?}"
        );
        let found = notes(Distribution::LogNormal, 1.5);
        assert!(found[0].contains("fringes are not resolved"), "{found:?}");
    }
}
