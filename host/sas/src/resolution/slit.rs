//! Slit resolution: an average over a rectangle in the plane of the detector.
//!
//! I_s(q) = 1/(2 W L) ∫₋W..W dv ∫₀..L du I(√((q + v)² + u²)); without a width 1/L ∫₀..L I(√(q² +
//! u²)) du; without a length 1/(2 W) ∫₋W..W I(|q + v|) dv. Between two fine points q_j the inner
//! integral is over u = √(q_j² − q²).

use super::matrix::{Builder, GAUSS, LOWEST_SHARE, Row, SamplingInterval, nodes};
use super::{Resolution, Width, check_q};
use crate::SasError;

/// Slit resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Slit {
    /// L: extent across q, half of the slit's length, 1/Å.
    pub length: Width,
    /// W: extent along q, half of the slit's width, 1/Å.
    pub width: Width,
    /// Largest step between fine points, 1/Å: a tenth of the period of the model's fringes, or
    /// infinity.
    pub step: f64,
}

/// Step between fine points, relative to q.
const RELATIVE_STEP: f64 = 0.02;
/// Margin of additional points on both sides, relative to q, so that cubics are centred at the ends
/// too.
const MARGIN: f64 = 0.05;
/// Extents below this share of q count as 0.
const NEGLIGIBLE_REACH: f64 = 1e-7;
/// Largest extent, 1/Å, beyond that of any instrument.
const MAX_REACH: f64 = 100.0;
/// Number of intervals of v, each with five points.
const SEGMENTS: usize = 6;

/// Adds `weight` · 1/L ∫₀..L I(√(q² + u²)) du.
fn across(row: &mut Row<'_>, q: f64, length: f64, weight: f64) {
    let end = q.hypot(length);
    row.integrate(
        q,
        end,
        // As a product, because q_j² − q² would lose its digits near q.
        |x| ((x - q).max(0.0) * (x + q)).sqrt().min(length),
        |u| q.hypot(u),
        |_| weight / length,
    );
}

impl Slit {
    /// The matrix for data at `q` (positive, any order).
    ///
    /// # Errors
    /// A length or width that is negative, NaN, or beyond 100 1/Å; a step that is not positive; too
    /// many points.
    pub fn resolution(&self, q: &[f64]) -> Result<Resolution, SasError> {
        check_q(q)?;
        if self.step <= 0.0 || self.step.is_nan() {
            return Err(SasError::Refused(format!(
                "resolution: largest step: expected a positive number, found {}",
                self.step
            )));
        }
        let length = self.length.values("the slit's length", q, |_| MAX_REACH)?;
        let width = self.width.values("the slit's width", q, |_| MAX_REACH)?;
        let lowest = LOWEST_SHARE * q.iter().copied().fold(f64::INFINITY, f64::min);
        let has = |reach: f64, q: f64| reach > NEGLIGIBLE_REACH * q;
        let rows: Vec<[f64; 3]> = q
            .iter()
            .zip(length.iter().zip(&width))
            .map(|(q, (length, width))| {
                let keep = |reach: f64| if has(reach, *q) { reach } else { 0.0 };
                [*q, keep(*length), keep(*width)]
            })
            .collect();
        let reach = |[q, length, width]: [f64; 3]| {
            let low = ((q - width) * (1.0 - MARGIN)).max(lowest);
            (low, (q + width).hypot(length) * (1.0 + MARGIN))
        };
        let smeared = |row: &[f64; 3]| row[1] > 0.0 || row[2] > 0.0;
        let intervals: Vec<SamplingInterval> = rows
            .iter()
            .filter(|row| smeared(row))
            .map(|row| {
                let (low, high) = reach(*row);
                SamplingInterval {
                    low,
                    high,
                    step: self.step,
                }
            })
            .collect();
        let exact: Vec<f64> = rows.iter().filter(|r| !smeared(r)).map(|r| r[0]).collect();
        let mut matrix = Builder::new(nodes(&intervals, RELATIVE_STEP)?, &exact);
        matrix.check(q.len(), intervals.iter().map(|d| (d.low, d.high)))?;
        for row in &rows {
            let [q, length, width] = *row;
            if !smeared(row) {
                matrix.exact(q);
                continue;
            }
            let (low, high) = reach(*row);
            matrix.row(low, high, |row| match (length > 0.0, width > 0.0) {
                (true, false) => across(row, q, length, 1.0),
                (false, _) => {
                    row.integrate((q - width).max(0.0), q + width, |x| x, |u| u, |_| 1.0);
                    // The part on the other side of the beam.
                    row.integrate(0.0, width - q, |x| x, |u| u, |_| 1.0);
                }
                (true, true) => {
                    // |q + v| has a kink where q + v changes sign.
                    let kink = (-q).max(-width);
                    for (from, to) in [(-width, kink), (kink, width)] {
                        let half = (to - from) / (2 * SEGMENTS) as f64;
                        if half <= 0.0 || half.is_nan() {
                            continue;
                        }
                        for segment in 0..SEGMENTS {
                            let middle = from + half * (2 * segment + 1) as f64;
                            for (node, weight) in GAUSS {
                                let v = middle + half * node;
                                across(row, (q + v).abs(), length, weight * half);
                            }
                        }
                    }
                }
            })?;
        }
        Ok(matrix.finish())
    }
}
