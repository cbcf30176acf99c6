//! Pinhole resolution: a Gaussian in q, cut on both sides.
//!
//! I_s(q) = ∫ g I(|q'|) dq' / ∫ g dq' with g = exp(−½ ((q' − q)/σ)²), q' from q − 2.5 σ to q + 3 σ. The cut follows
//! J. G. Barker and J. S. Pedersen, J. Appl. Cryst. 28 (1995) 105: the true function, a broadened triangle, has no
//! tails, and steep models would live off them.

use super::matrix::{Builder, Demand, LOWEST, nodes};
use super::{Resolution, check_q};
use crate::sas::{Points, SasError};

/// Widths of a weight function.
#[derive(Debug, Clone, PartialEq)]
pub enum Width {
    /// A share of q.
    Relative(f64),
    /// The same everywhere, 1/Å.
    Same(f64),
    /// At each point, 1/Å.
    Each(Vec<f64>),
}

/// Where the model is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// At so many points per σ, wherever the data are, and not more than `step` (1/Å) apart. Particles of size D have
    /// fringes of width 2π/D; a step of a tenth of it (or five points per σ, where fringes are not much narrower than
    /// σ) resolves them.
    Fine {
        /// Points per σ, at least 1.
        per_sigma: f64,
        /// Largest step, 1/Å; infinity: no limit.
        step: f64,
    },
    /// At the points of the data, continued on both sides with their mean steps; weights are those of bins about the
    /// points, differences of the error function, for bins whose point is within the cut. That is what sasmodels
    /// computes: as coarse as the data are.
    Data,
}

impl Default for Sampling {
    fn default() -> Self {
        Self::Fine {
            per_sigma: 5.0,
            step: f64::INFINITY,
        }
    }
}

/// Pinhole resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Pinhole {
    /// σ.
    pub width: Width,
    /// Reach to lower q, σ.
    pub below: f64,
    /// Reach to higher q, σ.
    pub above: f64,
    /// Where the model is computed.
    pub sampling: Sampling,
}

/// Points are at most this share of q apart, where σ is large.
const RELATIVE: f64 = 0.1;
/// A width below this share of q is none: no model changes over it.
const NARROWEST: f64 = 1e-7;
/// σ/q of a point, at most. At 1 a third of the beam is already beyond the beam stop.
const WIDEST: f64 = 2.0;
/// σ/q for all points, less than.
const WIDEST_RELATIVE: f64 = 1.0;

impl Width {
    /// σ of each point, checked by `limit`, the largest one at a q.
    pub(super) fn values(
        &self,
        what: &str,
        q: &[f64],
        limit: impl Fn(f64) -> f64,
    ) -> Result<Vec<f64>, SasError> {
        let refused = |found: String, expected: &str| {
            SasError::Refused(format!(
                "resolution: {what} is {found}: {expected} is expected"
            ))
        };
        let values: Vec<f64> = match self {
            Self::Relative(share) => {
                if !(*share >= 0.0 && *share < WIDEST_RELATIVE) {
                    return Err(refused(
                        format!("{share} of q"),
                        "a share from 0 to less than 1",
                    ));
                }
                q.iter().map(|q| share * q).collect()
            }
            Self::Same(width) => vec![*width; q.len()],
            Self::Each(widths) => {
                if widths.len() != q.len() {
                    return Err(refused(
                        format!("given for {} points", widths.len()),
                        &format!("one for each of the {} points", q.len()),
                    ));
                }
                widths.clone()
            }
        };
        for (i, (value, q)) in values.iter().zip(q).enumerate() {
            let most = limit(*q);
            if !(*value >= 0.0 && *value <= most) {
                return Err(refused(
                    format!("{value} at point {} (q = {q})", i + 1),
                    &format!("a number from 0 to {most}"),
                ));
            }
        }
        Ok(values)
    }
}

impl Pinhole {
    /// From q − 2.5 σ to q + 3 σ, at five points per σ.
    #[must_use]
    pub fn new(width: Width) -> Self {
        Self {
            width,
            below: 2.5,
            above: 3.0,
            sampling: Sampling::default(),
        }
    }

    /// With another reach: 3 and 3 is in use too.
    #[must_use]
    pub fn reaching(self, below: f64, above: f64) -> Self {
        Self {
            below,
            above,
            ..self
        }
    }

    /// With other points.
    #[must_use]
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// The matrix for data at `q` (positive, any order).
    ///
    /// # Errors
    /// Widths that are negative, no numbers, or larger than twice q; more points than memory should take.
    pub fn resolution(&self, q: &[f64]) -> Result<Resolution, SasError> {
        check_q(q)?;
        let sigma = self.width.values("the width of q", q, |q| WIDEST * q)?;
        for (what, reach) in [("below", self.below), ("above", self.above)] {
            if !(0.1..=10.0).contains(&reach) {
                return Err(SasError::Refused(format!(
                    "resolution: its reach {what} is {reach} σ: 0.1 to 10 is expected"
                )));
            }
        }
        match self.sampling {
            Sampling::Fine { per_sigma, step } => {
                if !(1.0..=1000.0).contains(&per_sigma) || step <= 0.0 || step.is_nan() {
                    return Err(SasError::Refused(format!(
                        "resolution: {per_sigma} points per σ and steps of at most {step}: 1 to 1000 and a positive step are expected"
                    )));
                }
                self.fine(q, &sigma, per_sigma, step)
            }
            Sampling::Data => self.bins(q, &sigma),
        }
    }

    fn fine(
        &self,
        q: &[f64],
        sigma: &[f64],
        per_sigma: f64,
        step: f64,
    ) -> Result<Resolution, SasError> {
        let lowest = LOWEST * q.iter().copied().fold(f64::INFINITY, f64::min);
        let blurred = |q: f64, sigma: f64| sigma > NARROWEST * q;
        let reach = |q: f64, sigma: f64| {
            let high = q + self.above * sigma;
            // What is beyond zero is the other side of the beam.
            let mirrored = self.below * sigma - q;
            ((q - self.below * sigma).max(lowest), high.max(mirrored))
        };
        let pairs = || q.iter().copied().zip(sigma.iter().copied());
        let demands: Vec<Demand> = pairs()
            .filter(|(q, s)| blurred(*q, *s))
            .map(|(q, s)| {
                let (low, high) = reach(q, s);
                Demand {
                    low,
                    high,
                    step: (s / per_sigma).min(step),
                }
            })
            .collect();
        let exact: Vec<f64> = pairs()
            .filter(|(q, s)| !blurred(*q, *s))
            .map(|(q, _)| q)
            .collect();
        let mut matrix = Builder::new(nodes(&demands, RELATIVE)?, &exact);
        matrix.check(q.len(), demands.iter().map(|d| (d.low, d.high)))?;
        for (q, s) in pairs() {
            if !blurred(q, s) {
                matrix.exact(q);
                continue;
            }
            let (low, high) = reach(q, s);
            let bottom = q - self.below * s;
            matrix.row(low, high, |row| {
                let gauss = |t: f64| (-0.5 * ((t - q) / s).powi(2)).exp();
                row.integrate(bottom.max(0.0), q + self.above * s, |x| x, |u| u, gauss);
                if bottom < 0.0 {
                    row.integrate(0.0, -bottom, |x| x, |u| u, |u| gauss(-u));
                }
            })?;
        }
        Ok(matrix.finish())
    }

    /// Bins about the data's own points.
    fn bins(&self, q: &[f64], sigma: &[f64]) -> Result<Resolution, SasError> {
        let mut points = q.to_vec();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let lowest = LOWEST * points[0];
        let pairs = || q.iter().copied().zip(sigma.iter().copied());
        let ends = pairs().fold((f64::INFINITY, 0.0_f64), |(low, high), (q, s)| {
            (low.min(q - self.below * s), high.max(q + self.above * s))
        });
        let points = continued(&points, ends, lowest)?;
        let mut edges = Vec::with_capacity(points.len() + 1);
        if let [only] = points[..] {
            edges.extend([0.5 * only, 1.5 * only]);
        } else {
            edges.push(1.5 * points[0] - 0.5 * points[1]);
            edges.extend(points.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
            let [.., a, b] = points[..] else {
                return Err(SasError::Refused(
                    "resolution: there are no points".to_owned(),
                ));
            };
            edges.push(1.5 * b - 0.5 * a);
        }
        let (mut first, mut count, mut weights) = (Vec::new(), Vec::new(), Vec::<f64>::new());
        for (q, s) in pairs() {
            let (low, high) = (q - self.below * s, q + self.above * s);
            let start = points.partition_point(|p| *p < low);
            let end = points.partition_point(|p| *p <= high);
            let sum = |edge: f64| {
                let s = s.max(NARROWEST * q);
                libm::erf((edge - q) / (std::f64::consts::SQRT_2 * s))
            };
            let total: f64 = (start..end)
                .map(|i| sum(edges[i + 1]) - sum(edges[i]))
                .sum();
            first.push(start as u32);
            count.push((end - start) as u32);
            if weights.len() + (end - start) > super::matrix::MOST_WEIGHTS {
                return Err(SasError::Refused(format!(
                    "resolution: it takes more than {} weights",
                    super::matrix::MOST_WEIGHTS
                )));
            }
            weights.extend((start..end).map(|i| (sum(edges[i + 1]) - sum(edges[i])) / total));
        }
        Ok(Resolution {
            fine: Points::Curve(points.iter().map(|p| p.abs()).collect()),
            first,
            count,
            weights,
        })
    }
}

/// `points`, ascending, with steps like those at their ends down to `ends.0` and up to `ends.1`; without those
/// nearer to zero than `lowest`.
fn continued(points: &[f64], ends: (f64, f64), lowest: f64) -> Result<Vec<f64>, SasError> {
    let [first, last] = [points[0], points[points.len() - 1]];
    let step = |inner: f64, end: f64, room: f64| {
        let step = (inner - end).abs();
        if step > 0.0 { step } else { room / 15.0 }
    };
    let below = step(
        points.get(1).copied().unwrap_or(first),
        first,
        first - ends.0,
    );
    let above = step(points[points.len().saturating_sub(2)], last, ends.1 - last);
    let steps = |room: f64, step: f64| {
        if room > 0.0 {
            (room / step).ceil()
        } else {
            0.0
        }
    };
    let (down, up) = (steps(first - ends.0, below), steps(ends.1 - last, above));
    let beside = down + up;
    if beside >= super::matrix::MOST_POINTS as f64 || beside.is_nan() {
        return Err(SasError::Refused(format!(
            "resolution: {} points beside the data are too many; `Sampling::Fine` is for widths that are much larger than the data's steps",
            down + up
        )));
    }
    let mut all: Vec<f64> = (1..=down as usize)
        .rev()
        .map(|i| first - (first - ends.0) * i as f64 / down)
        .filter(|q| q.abs() >= lowest)
        .collect();
    all.extend(points);
    all.extend((1..=up as usize).map(|i| last + (ends.1 - last) * i as f64 / up));
    Ok(all)
}
