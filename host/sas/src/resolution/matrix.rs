//! Construction of the matrix from weight functions: the points that all rows share, and the
//! quadrature of each row on them.

use super::Resolution;
use crate::{Points, SasError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum number of fine points.
pub(super) const MAX_POINTS: usize = 1 << 22;
/// Maximum number of weights, 256 MiB.
pub(super) const MAX_WEIGHTS: usize = 1 << 25;
/// Lowest fine point relative to the lowest q of the data, because many models are infinite at
/// zero. Contributions from closer to zero are evaluated there.
pub(super) const LOWEST_SHARE: f64 = 0.02;
/// Points of the cubic interpolation.
const STENCIL: usize = 4;

/// Five-point Gauss–Legendre rule on −1…1 (Abramowitz & Stegun, table 25.4): (node, weight).
pub(super) const GAUSS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];

/// An interval in which a row needs points, and their largest step.
#[derive(Debug, Clone, Copy)]
pub(super) struct SamplingInterval {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Largest step, 1/Å; positive.
    pub(super) step: f64,
}

fn too_large(what: &str, found: usize, most: usize) -> SasError {
    SasError::Refused(format!(
        "resolution: expected at most {most} {what}, found {found}: use fewer points or wider steps"
    ))
}

/// The shared points: from the lowest to the highest q of the intervals, without points in gaps
/// between them, and with steps of at most `relative` times q.
pub(super) fn nodes(intervals: &[SamplingInterval], relative: f64) -> Result<Vec<f64>, SasError> {
    let mut pending = intervals.to_vec();
    pending.sort_by(|a, b| a.low.total_cmp(&b.low));
    let mut pending = pending.as_slice();
    // Steps of the intervals that contain the current point, smallest on top. The bit patterns of
    // positive numbers have the same order as the numbers.
    let mut active: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut nodes: Vec<f64> = Vec::new();
    let (mut at, mut end) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    loop {
        if at >= end {
            let Some(next) = pending.first() else {
                break;
            };
            // The last interval has ended; continue with the next one.
            at = at.max(next.low);
            if nodes.last().is_none_or(|last| *last < at) {
                nodes.push(at);
            }
        }
        while let Some((next, rest)) = pending.split_first()
            && next.low <= at
        {
            pending = rest;
            end = end.max(next.high);
            active.push(Reverse((next.step.to_bits(), next.high.to_bits())));
        }
        while active
            .peek()
            .is_some_and(|Reverse((_, high))| f64::from_bits(*high) <= at)
        {
            active.pop();
        }
        if at >= end {
            continue;
        }
        let narrowest = active
            .peek()
            .map_or(f64::INFINITY, |Reverse((step, _))| f64::from_bits(*step));
        let mut step = narrowest.min(relative * at);
        for next in pending {
            if next.low >= at + step {
                break;
            }
            // Do not step far into an interval with smaller steps.
            step = step.min((next.low - at).max(next.step));
        }
        let joined = pending.first().is_some_and(|next| next.low <= end);
        // An interval ends with its last point; the last two steps share the rest, so that no tiny
        // step remains.
        let next = if !joined && at + 1.5 * step >= end {
            if at + step >= end {
                end
            } else {
                0.5 * (at + end)
            }
        } else {
            at + step
        };
        if !(next > at && next.is_finite()) {
            return Err(SasError::Refused(format!(
                "resolution: steps of {step:e} at q = {at} are below double precision"
            )));
        }
        at = next;
        if nodes.len() >= MAX_POINTS {
            return Err(too_large("fine points", nodes.len() + 1, MAX_POINTS));
        }
        nodes.push(at);
    }
    Ok(nodes)
}

/// A builder that adds rows to a matrix.
pub(super) struct Builder {
    /// Shared points, ascending.
    nodes: Vec<f64>,
    /// Index of each shared point among the fine points.
    indices: Vec<u32>,
    fine: Vec<f64>,
    first: Vec<u32>,
    count: Vec<u32>,
    weights: Vec<f64>,
}

/// A row under construction: weights of the shared points `range`.
pub(super) struct Row<'n> {
    nodes: &'n [f64],
    /// Range of points available to the row.
    range: std::ops::Range<usize>,
    weights: Vec<f64>,
}

impl Builder {
    /// A matrix over the points `nodes`, and over the points `exact` of rows without a width.
    pub(super) fn new(nodes: Vec<f64>, exact: &[f64]) -> Self {
        let mut exact = exact.to_vec();
        exact.sort_by(f64::total_cmp);
        exact.dedup();
        let (mut fine, mut indices) = (Vec::with_capacity(nodes.len() + exact.len()), Vec::new());
        let mut exact = exact.into_iter().peekable();
        for node in &nodes {
            while let Some(q) = exact.next_if(|q| q < node) {
                fine.push(q);
            }
            exact.next_if(|q| q == node);
            indices.push(fine.len() as u32);
            fine.push(*node);
        }
        fine.extend(exact);
        Self {
            nodes,
            indices,
            fine,
            first: Vec::new(),
            count: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Refuses rows with too many weights in total, before any is computed. `reach` holds the
    /// lowest and the highest q of each row with a width.
    pub(super) fn check(
        &mut self,
        rows: usize,
        reach: impl Iterator<Item = (f64, f64)>,
    ) -> Result<(), SasError> {
        let mut total = rows;
        for (low, high) in reach {
            let start = self.fine.partition_point(|n| *n < low);
            let end = self.fine.partition_point(|n| *n <= high);
            total = total.saturating_add(end.saturating_sub(start));
        }
        if total > MAX_WEIGHTS {
            return Err(too_large("weights", total, MAX_WEIGHTS));
        }
        self.weights.reserve(total);
        Ok(())
    }

    /// Adds a row with a single weight at `q`, one of the exact points.
    pub(super) fn exact(&mut self, q: f64) {
        let index = self.fine.partition_point(|f| *f < q);
        self.first.push(index as u32);
        self.count.push(1);
        self.weights.push(1.0);
    }

    /// Adds a row over the points in `low..=high`; `fill` computes its weights.
    pub(super) fn row(
        &mut self,
        low: f64,
        high: f64,
        fill: impl FnOnce(&mut Row<'_>),
    ) -> Result<(), SasError> {
        let start = self.nodes.partition_point(|n| *n < low);
        let end = self.nodes.partition_point(|n| *n <= high);
        if start >= end {
            return Err(SasError::Refused(format!(
                "resolution: no fine point lies between {low} and {high}"
            )));
        }
        let first = self.indices[start];
        let count = (self.indices[end - 1] - first) as usize + 1;
        let mut row = Row {
            nodes: &self.nodes,
            range: start..end,
            weights: vec![0.0; end - start],
        };
        fill(&mut row);
        let total: f64 = row.weights.iter().sum();
        if !(total.is_finite() && total > 0.0) {
            return Err(SasError::Refused(format!(
                "resolution: sum of the weights between {low} and {high}: expected a positive number, found {total}"
            )));
        }
        let base = self.weights.len();
        self.weights.resize(base + count, 0.0);
        for (index, weight) in self.indices[start..end].iter().zip(&row.weights) {
            self.weights[base + (index - first) as usize] = weight / total;
        }
        self.first.push(first);
        self.count.push(count as u32);
        Ok(())
    }

    /// The completed matrix.
    pub(super) fn finish(self) -> Resolution {
        Resolution {
            fine: Points::Curve(self.fine),
            first: self.first,
            count: self.count,
            weights: self.weights,
        }
    }
}

impl Row<'_> {
    /// Adds `weight` · I(x) with interpolated I; x lies between the points `left` and `left + 1`,
    /// or outside both ends.
    fn add(&mut self, left: usize, x: f64, weight: f64) {
        let (start, end) = (self.range.start, self.range.end);
        // Outside the points I has its value at the nearest end.
        let x = x.clamp(self.nodes[0], self.nodes[self.nodes.len() - 1]);
        let size = STENCIL.min(end - start);
        let from = left
            .saturating_sub(size / 2 - usize::from(size > 1 && size.is_multiple_of(2)))
            .clamp(start, end - size);
        let stencil = &self.nodes[from..from + size];
        for (j, node) in stencil.iter().enumerate() {
            let mut cardinal = weight;
            for (k, other) in stencil.iter().enumerate() {
                if k != j {
                    cardinal *= (x - other) / (node - other);
                }
            }
            self.weights[from - start + j] += cardinal;
        }
    }

    /// Adds ∫ g(x) I(x) dx over `low..high` with the substitution x = x(u). `inverse` is u(x),
    /// `position` is x(u) and `density` is g dx/du as a function of u; a Gauss rule in u integrates
    /// each interval between points.
    pub(super) fn integrate(
        &mut self,
        low: f64,
        high: f64,
        inverse: impl Fn(f64) -> f64,
        position: impl Fn(f64) -> f64,
        density: impl Fn(f64) -> f64,
    ) {
        if high <= low || high.is_nan() || low.is_nan() {
            return;
        }
        let mut a = low;
        let mut left = self.nodes.partition_point(|n| *n <= low);
        while a < high {
            let b = self.nodes.get(left).copied().unwrap_or(high).min(high);
            let (ua, ub) = (inverse(a), inverse(b));
            let (middle, half) = (0.5 * (ua + ub), 0.5 * (ub - ua));
            for (node, weight) in GAUSS {
                let u = middle + half * node;
                self.add(
                    left.saturating_sub(1),
                    position(u),
                    weight * half * density(u),
                );
            }
            a = b;
            left += 1;
        }
    }
}
