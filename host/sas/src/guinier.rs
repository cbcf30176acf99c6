//! Guinier's law: the size of particles from the first points of a curve.

use serde::Serialize;

/// ln I = ln I₀ − q² Rg²/3, fitted to the first points of a curve (A. Guinier, Ann. Phys. 11 (1939)
/// 161).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Guinier {
    /// Radius of gyration, Å.
    pub rg: f64,
    /// Standard deviation of Rg, Å; for data without uncertainties, from their scatter about the
    /// law.
    pub rg_sigma: f64,
    /// Intensity at q = 0, 1/cm.
    pub i0: f64,
    /// First and last q of the fit, 1/Å.
    pub q: [f64; 2],
    /// Number of points in the fit.
    pub points: usize,
}

/// Largest q Rg for which the law holds, approximately.
const REACH: f64 = 1.3;
/// Minimum number of points of a fit.
pub const GUINIER_POINTS: usize = 5;

/// Sums of a weighted line through (q², ln I).
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: usize,
    w: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn add(&mut self, x: f64, y: f64, w: f64) {
        self.count += 1;
        self.w += w;
        self.x += w * x;
        self.y += w * y;
        self.xx += w * x * x;
        self.xy += w * x * y;
        self.yy += w * y * y;
    }

    /// Value at 0, slope, variance of the slope for weights 1/σ², and χ².
    fn line(&self) -> Option<[f64; 4]> {
        let determinant = self.w * self.xx - self.x * self.x;
        // Points at a single q do not determine a line.
        if determinant <= 1e-12 * self.w * self.xx {
            return None;
        }
        let slope = (self.w * self.xy - self.x * self.y) / determinant;
        let zero = (self.y - slope * self.x) / self.w;
        let chi2 = (self.yy - zero * self.y - slope * self.xy).max(0.0);
        Some([zero, slope, self.w / determinant, chi2])
    }
}

/// Fits the law to as many of the first points as it holds for. `None` if it holds for fewer than
/// five points or the intensity does not fall. `q` is ascending; points with I ≤ 0 are skipped.
#[must_use]
pub fn guinier(q: &[f64], intensity: &[f64], sigma: Option<&[f64]>) -> Option<Guinier> {
    let mut sums = Sums::default();
    let (mut first, mut found) = (0.0, None);
    for (i, (q, intensity)) in q.iter().zip(intensity).enumerate() {
        if !(*q > 0.0 && *intensity > 0.0 && intensity.is_finite()) {
            continue;
        }
        // σ of ln I is σ/I.
        let weight = sigma.map_or(1.0, |sigma| (intensity / sigma[i]).powi(2));
        if !(weight.is_finite() && weight > 0.0) {
            continue;
        }
        if sums.count == 0 {
            first = *q;
        }
        sums.add(q * q, intensity.ln(), weight);
        let Some([zero, slope, variance, chi2]) =
            sums.line().filter(|_| sums.count >= GUINIER_POINTS)
        else {
            continue;
        };
        if slope >= 0.0 {
            continue;
        }
        let rg = (-3.0 * slope).sqrt();
        if q * rg > REACH {
            // Noise of the first few points may hide the law until more points are included.
            if found.is_some() || sums.count > 4 * GUINIER_POINTS {
                break;
            }
            continue;
        }
        let scale = match sigma {
            Some(_) => 1.0,
            None => chi2 / (sums.count - 2) as f64,
        };
        found = Some(Guinier {
            rg,
            // Rg = √(−3 s): dRg = 3/(2 Rg) ds.
            rg_sigma: 1.5 / rg * (variance * scale).sqrt(),
            i0: zero.exp(),
            q: [first, *q],
            points: sums.count,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sphere has Rg = √(3/5) R, and its curve deviates from the law by less than 1 % within the
    /// range of the fit.
    #[test]
    fn a_sphere_has_its_radius_of_gyration() {
        let radius = 60.0;
        let q: Vec<f64> = (1..200).map(|i| 0.0005 * f64::from(i)).collect();
        let intensity: Vec<f64> = q
            .iter()
            .map(|q| {
                let x = q * radius;
                let f = 3.0 * (x.sin() - x * x.cos()) / x.powi(3);
                7.0 * f * f
            })
            .collect();
        let found = guinier(&q, &intensity, None).unwrap();
        assert!(
            (found.rg / (0.6_f64.sqrt() * radius) - 1.0).abs() < 0.02,
            "{found:?}"
        );
        assert!((found.i0 / 7.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.q[1] * found.rg <= REACH && found.points > 40);
    }

    #[test]
    fn the_exact_law_is_recovered_and_the_uncertainty_scales_with_sigma() {
        let q: Vec<f64> = (1..=40).map(|i| 0.001 * f64::from(i)).collect();
        let law: Vec<f64> = q
            .iter()
            .map(|q| 5.0 * (-(q * 25.0_f64).powi(2) / 3.0).exp())
            .collect();
        let sigma: Vec<f64> = law.iter().map(|i| 0.02 * i).collect();
        let found = guinier(&q, &law, Some(&sigma)).unwrap();
        assert!((found.rg - 25.0).abs() < 1e-9 && (found.i0 - 5.0).abs() < 1e-9);
        let half: Vec<f64> = sigma.iter().map(|s| 0.5 * s).collect();
        let better = guinier(&q, &law, Some(&half)).unwrap();
        assert!((better.rg_sigma / found.rg_sigma - 0.5).abs() < 1e-9);
    }

    #[test]
    fn rising_steep_or_short_curves_have_no_guinier_range() {
        let q: Vec<f64> = (1..30).map(|i| 0.01 * f64::from(i)).collect();
        let rising: Vec<f64> = q.iter().map(|q| 1.0 + q).collect();
        assert_eq!(guinier(&q, &rising, None), None);
        let steep: Vec<f64> = q.iter().map(|q| q.powi(-4)).collect();
        assert_eq!(guinier(&q, &steep, None), None);
        assert_eq!(guinier(&q[..4], &steep[..4], None), None);
        assert_eq!(guinier(&q, &vec![-1.0; 29], None), None);
        assert_eq!(guinier(&[], &[], None), None);
    }
}
