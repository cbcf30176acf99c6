//! Slit resolution: an average over a rectangle in the plane of the detector.
//!
//! I_s(q) = 1/(2 W L) ∫₋W..W dv ∫₀..L du I(√((q + v)² + u²)); without a width 1/L ∫₀..L I(√(q² + u²)) du, without a
//! length 1/(2 W) ∫₋W..W I(|q + v|) dv. Between two fine points q_j the inner integral is over u = √(q_j² − q²).

use super::matrix::{Builder, Demand, GAUSS, LOWEST, Row, nodes};
use super::{Resolution, Width, check_q};
use crate::sas::SasError;

/// Slit resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Slit {
    /// L: reach across q, half of the slit's length, 1/Å.
    pub length: Width,
    /// W: reach along q, half of the slit's width, 1/Å.
    pub width: Width,
}

/// Fine points are this share of q apart.
const RELATIVE: f64 = 0.02;
/// Points below those that are averaged over, as a share of q, so that cubics are centred there too.
const MARGIN: f64 = 0.05;
/// A reach below this share of q is none.
const NARROWEST: f64 = 1e-7;
/// Largest reach, 1/Å: beyond any instrument.
const WIDEST: f64 = 100.0;
/// Stretches of v, each with five points.
const STRETCHES: usize = 6;

/// Adds `weight` · 1/L ∫₀..L I(√(q² + u²)) du.
fn across(row: &mut Row<'_>, q: f64, length: f64, weight: f64) {
    let end = q.hypot(length);
    row.integrate(
        q,
        end,
        // As a product: q_j² − q² would lose its digits near q.
        |x| ((x - q).max(0.0) * (x + q)).sqrt().min(length),
        |u| q.hypot(u),
        |_| weight / length,
    );
}

impl Slit {
    /// The matrix for data at `q` (positive, any order).
    ///
    /// # Errors
    /// A length or width that is negative, no number, or beyond 100 1/Å; more points than memory should take.
    pub fn resolution(&self, q: &[f64]) -> Result<Resolution, SasError> {
        check_q(q)?;
        let length = self.length.values("the slit's length", q, |_| WIDEST)?;
        let width = self.width.values("the slit's width", q, |_| WIDEST)?;
        let lowest = LOWEST * q.iter().copied().fold(f64::INFINITY, f64::min);
        let has = |reach: f64, q: f64| reach > NARROWEST * q;
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
        let demands: Vec<Demand> = rows
            .iter()
            .filter(|row| smeared(row))
            .map(|row| {
                let (low, high) = reach(*row);
                Demand {
                    low,
                    high,
                    step: f64::INFINITY,
                }
            })
            .collect();
        let exact: Vec<f64> = rows.iter().filter(|r| !smeared(r)).map(|r| r[0]).collect();
        let mut matrix = Builder::new(nodes(&demands, RELATIVE)?, &exact);
        matrix.check(q.len(), demands.iter().map(|d| (d.low, d.high)))?;
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
                    // The other side of the beam.
                    row.integrate(0.0, width - q, |x| x, |u| u, |_| 1.0);
                }
                (true, true) => {
                    // Where q + v changes its sign, |q + v| has a kink.
                    let kink = (-q).max(-width);
                    for (from, to) in [(-width, kink), (kink, width)] {
                        let half = (to - from) / (2 * STRETCHES) as f64;
                        if half <= 0.0 || half.is_nan() {
                            continue;
                        }
                        for stretch in 0..STRETCHES {
                            let middle = from + half * (2 * stretch + 1) as f64;
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
