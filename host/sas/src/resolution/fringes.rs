//! Fine points that resolve the fringes of a model.

use super::{Pinhole, Resolution, Sampling, Slit, Width};
use crate::SasError;
use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use crate::resolution::Cloud;
use std::f64::consts::TAU;

/// Fine points per standard deviation of q.
const PER_SIGMA: f64 = 5.0;
/// Largest step of the fine grid as a share of the period of the fringes, 2π/diameter.
const MAX_STEP_PER_FRINGE: f64 = 0.1;
/// Approximate maximum number of fine points added to resolve fringes.
const MAX_FRINGE_POINTS: f64 = 20_000.0;

/// The largest step, 1/Å, that resolves the fringes of particles of that diameter up to q =
/// `greatest`.
fn step(diameter: f64, greatest: f64) -> f64 {
    if !(diameter.is_finite() && diameter > 0.0) {
        return f64::INFINITY;
    }
    (MAX_STEP_PER_FRINGE * TAU / diameter).max(greatest / MAX_FRINGE_POINTS)
}

fn greatest(of: &[f64]) -> f64 {
    of.iter().copied().fold(0.0, f64::max)
}

impl Sampling {
    /// Five points per σ, and steps that resolve the fringes at `q` of particles of that diameter,
    /// Å (0 if they have none), as far as 20 000 points can.
    #[must_use]
    pub fn for_particles(diameter: f64, q: &[f64]) -> Self {
        Self::Fine {
            per_sigma: PER_SIGMA,
            step: step(diameter, greatest(q)),
        }
    }
}

impl Slit {
    /// With steps that resolve the fringes at `q` of particles of that diameter, Å (0 if they have
    /// none), as far as 20 000 points can.
    #[must_use]
    pub fn for_particles(length: Width, width: Width, diameter: f64, q: &[f64]) -> Self {
        let reach = greatest(q).hypot(length.greatest(q)) + width.greatest(q);
        Self {
            step: step(diameter, reach),
            length,
            width,
        }
    }
}

impl Width {
    /// The largest at these q, 1/Å.
    fn greatest(&self, q: &[f64]) -> f64 {
        match self {
            Self::Relative(share) => share * greatest(q),
            Self::Same(width) => *width,
            Self::Each(widths) => greatest(widths),
        }
    }
}

impl Resolution {
    /// The resolution that measured data have, for particles of that diameter, Å (0 if they have
    /// none or it is not known); `None` if the data have none.
    ///
    /// # Errors
    /// Invalid widths.
    pub fn of(data: &Scattering, diameter: f64) -> Result<Option<Self>, SasError> {
        match data {
            Scattering::Curve(curve) => Self::of_curve(curve, diameter),
            Scattering::Image(image) => Self::of_image(image),
        }
    }

    fn of_curve(curve: &Curve, diameter: f64) -> Result<Option<Self>, SasError> {
        let each = |of: &[f64]| Width::Each(of.to_vec());
        let made = match &curve.smearing {
            None => return Ok(None),
            Some(Smearing::Pinhole(widths)) => Pinhole::new(each(widths))
                .sampled(Sampling::for_particles(diameter, &curve.q))
                .resolution(&curve.q),
            Some(Smearing::Slit { length, width }) => {
                Slit::for_particles(each(length), each(width), diameter, &curve.q)
                    .resolution(&curve.q)
            }
        };
        made.map(Some)
    }

    fn of_image(image: &ScatteringImage) -> Result<Option<Self>, SasError> {
        let Some((along, across)) = &image.resolution else {
            return Ok(None);
        };
        Cloud::default()
            .resolution(&image.qx, &image.qy, along, across)
            .map(Some)
    }
}
