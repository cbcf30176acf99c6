//! Pinhole resolution: a truncated Gaussian in q.
//!
//! I_s(q) = ∫ g I(|q'|) dq' / ∫ g dq' with g = exp(−½ ((q' − q)/σ)²), q' from q − 2.5 σ to q + 3 σ.
//! The truncation follows J. G. Barker and J. S. Pedersen, J. Appl. Cryst. 28 (1995) 105: the true
//! function, a broadened triangle, has no tails, and in a Gaussian's tails steep models would
//! dominate the average.

use super::matrix::{Builder, LOWEST_SHARE, SamplingInterval, nodes};
use super::{Resolution, check_q};
use crate::{Points, SasError};

/// Widths of a weight function.
#[derive(Debug, Clone, PartialEq)]
pub enum Width {
    /// Relative to q.
    Relative(f64),
    /// The same at all points, 1/Å.
    Same(f64),
    /// One per point, 1/Å.
    Each(Vec<f64>),
}

/// The points at which the model is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// A grid with this many points per σ, independent of the data's points, and with steps of at
    /// most `step` (1/Å). Particles of size D have fringes of width 2π/D, which a step of a tenth
    /// of that resolves (or five points per σ, if fringes are not much narrower than σ).
    Fine {
        /// Points per σ, at least 1.
        per_sigma: f64,
        /// Largest step, 1/Å; infinity for no limit.
        step: f64,
    },
    /// The points of the data, extended on both sides with their mean steps. Weights are those of
    /// bins around the points, differences of the error function, for bins whose point lies within
    /// the truncation. This is sasmodels' method, and as coarse as the data.
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
    /// Extent towards lower q, σ.
    pub below: f64,
    /// Extent towards higher q, σ.
    pub above: f64,
    /// The points at which the model is computed.
    pub sampling: Sampling,
}

/// Largest step relative to q, where σ is large.
const MAX_RELATIVE_STEP: f64 = 0.1;
/// Widths below this share of q count as 0: no model changes over them.
const NEGLIGIBLE_WIDTH: f64 = 1e-7;
/// Maximum σ/q of a point. At 1 a third of the beam is already on the other side of the beam stop.
const MAX_RELATIVE_WIDTH: f64 = 2.0;
/// Exclusive limit of a σ/q for all points.
const RELATIVE_WIDTH_LIMIT: f64 = 1.0;

impl Width {
    /// σ of each point; `limit` gives the largest valid σ at a q.
    pub(super) fn values(
        &self,
        what: &str,
        q: &[f64],
        limit: impl Fn(f64) -> f64,
    ) -> Result<Vec<f64>, SasError> {
        let remedy = match self {
            Self::Each(_) => "; --resolution none leaves it out",
            _ => "",
        };
        let refused = |found: String, expected: &str| {
            SasError::Refused(format!(
                "resolution: {what}: expected {expected}, found {found}{remedy}"
            ))
        };
        let values: Vec<f64> = match self {
            Self::Relative(share) => {
                if !(*share >= 0.0 && *share < RELATIVE_WIDTH_LIMIT) {
                    return Err(refused(
                        format!("{share} of q"),
                        "a share of q from 0 to less than 1",
                    ));
                }
                q.iter().map(|q| share * q).collect()
            }
            Self::Same(width) => vec![*width; q.len()],
            Self::Each(widths) => {
                if widths.len() != q.len() {
                    return Err(refused(
                        widths.len().to_string(),
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
    /// Extends from q − 2.5 σ to q + 3 σ, with five points per σ.
    #[must_use]
    pub fn new(width: Width) -> Self {
        Self {
            width,
            below: 2.5,
            above: 3.0,
            sampling: Sampling::default(),
        }
    }

    /// Sets the extents; 3 and 3 are also common.
    #[must_use]
    pub fn reaching(self, below: f64, above: f64) -> Self {
        Self {
            below,
            above,
            ..self
        }
    }

    /// Sets the points at which the model is computed.
    #[must_use]
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// The matrix for data at `q` (positive, any order).
    ///
    /// # Errors
    /// Widths that are negative, NaN, or larger than twice q; too many points.
    pub fn resolution(&self, q: &[f64]) -> Result<Resolution, SasError> {
        check_q(q)?;
        let sigma = self
            .width
            .values("the width of q", q, |q| MAX_RELATIVE_WIDTH * q)?;
        for (what, reach) in [("below", self.below), ("above", self.above)] {
            if !(0.1..=10.0).contains(&reach) {
                return Err(SasError::Refused(format!(
                    "resolution: extent {what} q: expected 0.1 to 10 σ, found {reach} σ"
                )));
            }
        }
        match self.sampling {
            Sampling::Fine { per_sigma, step } => {
                if !(1.0..=1000.0).contains(&per_sigma) || step <= 0.0 || step.is_nan() {
                    return Err(SasError::Refused(format!(
                        "resolution: expected 1 to 1000 points per σ and a positive step, found {per_sigma} and {step}"
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
        let lowest = LOWEST_SHARE * q.iter().copied().fold(f64::INFINITY, f64::min);
        let smeared = |q: f64, sigma: f64| sigma > NEGLIGIBLE_WIDTH * q;
        let reach = |q: f64, sigma: f64| {
            let high = q + self.above * sigma;
            // Negative q lies on the other side of the beam.
            let mirrored = self.below * sigma - q;
            ((q - self.below * sigma).max(lowest), high.max(mirrored))
        };
        let pairs = || q.iter().copied().zip(sigma.iter().copied());
        let intervals: Vec<SamplingInterval> = pairs()
            .filter(|(q, s)| smeared(*q, *s))
            .map(|(q, s)| {
                let (low, high) = reach(q, s);
                SamplingInterval {
                    low,
                    high,
                    step: (s / per_sigma).min(step),
                }
            })
            .collect();
        let exact: Vec<f64> = pairs()
            .filter(|(q, s)| !smeared(*q, *s))
            .map(|(q, _)| q)
            .collect();
        let mut matrix = Builder::new(nodes(&intervals, MAX_RELATIVE_STEP)?, &exact);
        matrix.check(q.len(), intervals.iter().map(|d| (d.low, d.high)))?;
        for (q, s) in pairs() {
            if !smeared(q, s) {
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

    /// Bins around the data's own points.
    fn bins(&self, q: &[f64], sigma: &[f64]) -> Result<Resolution, SasError> {
        let mut points = q.to_vec();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let lowest = LOWEST_SHARE * points[0];
        let pairs = || q.iter().copied().zip(sigma.iter().copied());
        let ends = pairs().fold((f64::INFINITY, 0.0_f64), |(low, high), (q, s)| {
            (low.min(q - self.below * s), high.max(q + self.above * s))
        });
        let points = extended(&points, ends, lowest)?;
        let mut edges = Vec::with_capacity(points.len() + 1);
        if let [only] = points[..] {
            edges.extend([0.5 * only, 1.5 * only]);
        } else {
            edges.push(1.5 * points[0] - 0.5 * points[1]);
            edges.extend(points.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
            let [.., a, b] = points[..] else {
                return Err(SasError::Refused(
                    "resolution: expected at least one point, found none".to_owned(),
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
                let s = s.max(NEGLIGIBLE_WIDTH * q);
                libm::erf((edge - q) / (std::f64::consts::SQRT_2 * s))
            };
            let total: f64 = (start..end)
                .map(|i| sum(edges[i + 1]) - sum(edges[i]))
                .sum();
            first.push(start as u32);
            count.push((end - start) as u32);
            if weights.len() + (end - start) > super::matrix::MAX_WEIGHTS {
                return Err(SasError::Refused(format!(
                    "resolution: expected at most {} weights",
                    super::matrix::MAX_WEIGHTS
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

/// `points`, ascending, extended with steps like those at their ends down to `ends.0` and up to
/// `ends.1`; points closer to zero than `lowest` are left out.
fn extended(points: &[f64], ends: (f64, f64), lowest: f64) -> Result<Vec<f64>, SasError> {
    let [first, last] = [points[0], points[points.len() - 1]];
    let step = |inner: f64, end: f64, distance: f64| {
        let step = (inner - end).abs();
        if step > 0.0 { step } else { distance / 15.0 }
    };
    let below = step(
        points.get(1).copied().unwrap_or(first),
        first,
        first - ends.0,
    );
    let above = step(points[points.len().saturating_sub(2)], last, ends.1 - last);
    let steps = |distance: f64, step: f64| {
        if distance > 0.0 {
            (distance / step).ceil()
        } else {
            0.0
        }
    };
    let (down, up) = (steps(first - ends.0, below), steps(ends.1 - last, above));
    let beyond = down + up;
    if beyond >= super::matrix::MAX_POINTS as f64 || beyond.is_nan() {
        return Err(SasError::Refused(format!(
            "resolution: {} points beyond the data are too many; use `Sampling::Fine` for widths much larger than the steps of the data",
            down + up
        )));
    }
    let (down, up) = (down as usize, up as usize);
    // The exact ends, without rounding: the extent of a row ends there, and its outermost point
    // matters for steep curves.
    let between = |from: f64, to: f64, i: usize, n: usize| {
        if i == n {
            to
        } else {
            from + (to - from) * i as f64 / n as f64
        }
    };
    let mut all: Vec<f64> = (1..=down)
        .rev()
        .map(|i| between(first, ends.0, i, down))
        .filter(|q| q.abs() >= lowest)
        .collect();
    all.extend(points);
    all.extend((1..=up).map(|i| between(last, ends.1, i, up)));
    Ok(all)
}
