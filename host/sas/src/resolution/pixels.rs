//! Resolution of images: a cloud of points around every pixel, Gaussian along and across the
//! direction of q.
//!
//! With t = r²/2 the Gaussian exp(−r²/2) r dr dφ is exp(−t) dt dφ. Radii follow a Gauss rule in r
//! up to the reach. Angles are evenly spaced, which is exact for harmonics below their number.

use super::Resolution;
use crate::{Points, SasError};
use std::f64::consts::TAU;

/// The points around a pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cloud {
    /// Number of radii, 1 to 64.
    pub radial: usize,
    /// Number of angles, 1 to 256.
    pub azimuthal: usize,
    /// Largest radius, σ.
    pub reach: f64,
}

impl Default for Cloud {
    /// 10 radii to 3 σ, 12 angles.
    fn default() -> Self {
        Self {
            radial: 10,
            azimuthal: 12,
            reach: 3.0,
        }
    }
}

/// Maximum number of fine points: 64 Mi, 1.5 GiB.
const MAX_POINTS: usize = 1 << 26;
/// Largest σ, 1/Å.
const MAX_WIDTH: f64 = 100.0;

/// Nodes and weights of Gauss–Legendre on 0…1, by Newton's iteration from Tricomi's estimate.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let nf = n as f64;
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (nf + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut p0, mut p1) = (1.0, x);
                for k in 2..=n {
                    let k = k as f64;
                    (p0, p1) = (p1, ((2.0 * k - 1.0) * x * p1 - (k - 1.0) * p0) / k);
                }
                slope = nf * (x * p1 - p0) / (x * x - 1.0);
                let step = p1 / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

impl Cloud {
    /// Number of points per pixel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.radial.saturating_mul(self.azimuthal)
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Points of the cloud in units of σ (along, across, weight); the weights sum to 1.
    fn points(&self) -> Vec<[f64; 3]> {
        let mut points = Vec::with_capacity(self.radial * self.azimuthal);
        for (i, (node, weight)) in gauss_legendre(self.radial).into_iter().enumerate() {
            let r = self.reach * node;
            let weight = weight * r * (-0.5 * r * r).exp();
            for j in 0..self.azimuthal {
                // Every other ring is rotated by half a step.
                let phase = 0.5 * (i % 2) as f64;
                let (sin, cos) = (TAU * (j as f64 + phase) / self.azimuthal as f64).sin_cos();
                points.push([r * cos, r * sin, weight]);
            }
        }
        let total: f64 = points.iter().map(|p| p[2]).sum();
        for point in &mut points {
            point[2] /= total;
        }
        points
    }

    /// The matrix for pixels at (`qx`, `qy`) with standard deviations along and across the
    /// direction of q, 1/Å. At q = 0 that direction is qx.
    ///
    /// # Errors
    /// Lengths that differ; widths that are negative, NaN or beyond 100 1/Å; too many points.
    pub fn resolution(
        &self,
        qx: &[f64],
        qy: &[f64],
        along: &[f64],
        across: &[f64],
    ) -> Result<Resolution, SasError> {
        let refused = |text: String| Err(SasError::Refused(format!("resolution: {text}")));
        let n = qx.len();
        if n == 0
            || [qy.len(), along.len(), across.len()]
                .iter()
                .any(|l| *l != n)
        {
            return refused(format!(
                "expected the same number of qx, qy and widths, at least 1, found {n} qx, {} qy, {} widths along and {} across",
                qy.len(),
                along.len(),
                across.len()
            ));
        }
        if !(1..=64).contains(&self.radial)
            || !(1..=256).contains(&self.azimuthal)
            || !(0.1..=10.0).contains(&self.reach)
        {
            return refused(format!(
                "expected a cloud of 1 to 64 radii, 1 to 256 angles and 0.1 to 10 σ, found {}, {} and {}",
                self.radial, self.azimuthal, self.reach
            ));
        }
        if let Some(i) = (0..n).find(|i| !(qx[*i].is_finite() && qy[*i].is_finite())) {
            return refused(format!(
                "pixel {}: expected finite qx and qy, found ({}, {})",
                i + 1,
                qx[i],
                qy[i]
            ));
        }
        for (what, widths) in [("along", along), ("across", across)] {
            if let Some(i) = widths.iter().position(|w| !(0.0..=MAX_WIDTH).contains(w)) {
                return refused(format!(
                    "pixel {}: the width {what} q: expected 0 to {MAX_WIDTH}, found {}",
                    i + 1,
                    widths[i]
                ));
            }
        }
        let cloud = self.points();
        let smeared = |i: usize| along[i] > 0.0 || across[i] > 0.0;
        let count: Vec<u32> = (0..n)
            .map(|i| if smeared(i) { cloud.len() as u32 } else { 1 })
            .collect();
        let total = count.iter().map(|c| *c as usize).sum::<usize>();
        if total > MAX_POINTS {
            return refused(format!(
                "expected at most {MAX_POINTS} points, found {total} for {n} pixels with {} each: use fewer pixels or a smaller cloud",
                cloud.len()
            ));
        }
        let mut fine_x = Vec::with_capacity(total);
        let mut fine_y = Vec::with_capacity(total);
        let mut weights = Vec::with_capacity(total);
        let mut first = Vec::with_capacity(n);
        for i in 0..n {
            first.push(fine_x.len() as u32);
            if !smeared(i) {
                fine_x.push(qx[i]);
                fine_y.push(qy[i]);
                weights.push(1.0);
                continue;
            }
            let q = qx[i].hypot(qy[i]);
            let (cos, sin) = if q > 0.0 {
                (qx[i] / q, qy[i] / q)
            } else {
                (1.0, 0.0)
            };
            for [a, b, weight] in &cloud {
                let (a, b) = (a * along[i], b * across[i]);
                fine_x.push(qx[i] + a * cos - b * sin);
                fine_y.push(qy[i] + a * sin + b * cos);
                weights.push(*weight);
            }
        }
        Ok(Resolution {
            fine: Points::Pixels {
                qx: fine_x,
                qy: fine_y,
            },
            first,
            count,
            weights,
        })
    }
}
