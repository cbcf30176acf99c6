//! Doubtful properties of data, to be checked before they are fitted.

use crate::data::{Scattering, Smearing};
use crate::io::UNIT_NOTES;
use warpstride_core::text::{count, significant};

/// Usual upper end of small-angle data, 1/Å: larger values are often in 1/nm.
const USUAL_MAX_Q: f64 = 2.0;
/// Fewer points are too few to fit several parameters.
const FEW_POINTS: usize = 10;
/// A resolution above this share of q is worse than that of any instrument.
const COARSE_RESOLUTION: f64 = 0.5;

/// Least, median and greatest σ/|I| of the intensities that are not 0; `None` without uncertainties
/// or without such intensities.
pub fn relative_uncertainty(intensity: &[f64], sigma: Option<&[f64]>) -> Option<[f64; 3]> {
    let mut shares: Vec<f64> = intensity
        .iter()
        .zip(sigma?)
        .filter(|(i, _)| **i != 0.0)
        .map(|(i, s)| s / i.abs())
        .collect();
    shares.sort_by(f64::total_cmp);
    let last = shares.len().checked_sub(1)?;
    Some([shares[0], shares[last / 2], shares[last]])
}

/// Doubtful properties of data, one sentence each: a q that may be in another unit, few points,
/// intensities that are not positive, no or large uncertainties, and a coarse resolution.
#[must_use]
pub fn problems(data: &Scattering) -> Vec<String> {
    let (intensity, sigma) = match data {
        Scattering::Curve(curve) => (&curve.intensity, curve.sigma.as_deref()),
        Scattering::Image(image) => (&image.intensity, image.sigma.as_deref()),
    };
    let mut problems = Vec::new();
    problems.extend(large_q(data));
    if intensity.len() < FEW_POINTS {
        problems.push(format!(
            "only {}: few parameters can be fitted",
            count(intensity.len(), ["point", "points"])
        ));
    }
    let not_positive = intensity.iter().filter(|i| **i <= 0.0).count();
    if not_positive > 0 {
        let extent = |of: fn(f64, f64) -> f64| intensity.iter().copied().fold(0.0, of);
        let (least, greatest) = (extent(f64::min), extent(f64::max));
        let remedy = match -least > greatest {
            true => format!(
                "; the least, {}, may stand for none: a fit with --positive leaves them out",
                significant(least, 5)
            ),
            false => String::new(),
        };
        problems.push(format!(
            "{not_positive} of {} intensities are not positive{remedy}",
            intensity.len()
        ));
    }
    problems.extend(uncertainties(intensity, sigma));
    problems.extend(coarse(data));
    problems
}

fn large_q(data: &Scattering) -> Option<String> {
    let greatest = match data {
        Scattering::Curve(curve) => curve.q.iter().copied().fold(0.0, f64::max),
        Scattering::Image(image) => {
            let pairs = image.qx.iter().zip(&image.qy);
            pairs.map(|(x, y)| x.hypot(*y)).fold(0.0, f64::max)
        }
    };
    let notes = match data {
        Scattering::Curve(curve) => &curve.notes,
        Scattering::Image(image) => &image.notes,
    };
    let names_unit = UNIT_NOTES
        .iter()
        .any(|of| notes.iter().any(|note| note.starts_with(of)));
    (greatest > USUAL_MAX_Q).then(|| {
        format!(
            "the largest q is {} 1/Å; {}",
            significant(greatest, 3),
            if names_unit {
                "see the note on its unit"
            } else {
                "if the file is in 1/nm, give --q-unit 1/nm"
            }
        )
    })
}

fn uncertainties(intensity: &[f64], sigma: Option<&[f64]>) -> Option<String> {
    if sigma.is_none() {
        return Some(
            "there are no uncertainties: a fit assumes the square root of each intensity, and its χ² has no absolute meaning"
                .to_owned(),
        );
    }
    match relative_uncertainty(intensity, sigma)? {
        [_, middle, _] if middle > 1.0 => Some(format!(
            "half of the uncertainties exceed {} % of their intensities",
            significant(100.0 * middle, 3)
        )),
        [least, ..] if least < 1e-6 => Some(format!(
            "the smallest uncertainty is {} of its intensity: such points dominate a fit",
            significant(least, 2)
        )),
        _ => None,
    }
}

fn coarse(data: &Scattering) -> Option<String> {
    let Scattering::Curve(curve) = data else {
        return None;
    };
    let Some(Smearing::Pinhole(sigma)) = &curve.smearing else {
        return None;
    };
    let shares = sigma.iter().zip(&curve.q).map(|(s, q)| s / q);
    let greatest = shares.fold(0.0, f64::max);
    (greatest > COARSE_RESOLUTION).then(|| {
        format!(
            "the resolution is up to {} % of q",
            significant(100.0 * greatest, 3)
        )
    })
}
