//! Batches: passes that are queued together, and the norms that they compute.

use crate::Stopping;

/// One or several sweeps of all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    /// Its first sweep, relative to the first of the batch.
    pub(super) first: usize,
    /// The number of sweeps.
    pub(super) sweeps: usize,
    /// Bit mask of the sweeps whose norm is computed, the first in bit 0.
    pub(super) norm_mask: u32,
}

impl Pass {
    /// Whether this is the first pass of its batch, so that all earlier work has been waited for.
    pub(super) fn is_first(&self) -> bool {
        self.first == 0
    }
}

/// Equally spaced checked sweeps in passes of the same number of sweeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checks {
    /// The first one, relative to the first sweep of the batch.
    pub(super) first: usize,
    /// Number of sweeps from one to the next.
    pub(super) every: usize,
    /// The number of checked sweeps.
    pub(super) count: usize,
    /// The number of sweeps of their passes.
    pub(super) sweeps: usize,
}

/// Passes that are queued together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Batch {
    pub(super) passes: Vec<Pass>,
    pub(super) sweeps: usize,
    pub(super) checks: Vec<Checks>,
}

impl Batch {
    /// A batch of `sweeps` sweeps from sweep `start` on, with `depth` sweeps per pass except
    /// perhaps the last.
    pub(super) fn new(start: usize, sweeps: usize, depth: usize, rule: &Stopping) -> Self {
        let passes = Self::without_norms(sweeps, depth)
            .passes
            .into_iter()
            .map(|pass| {
                let checked = |t: &usize| rule.checked(start + pass.first + t);
                let norm_mask = (0..pass.sweeps).filter(checked).map(|t| 1 << t).sum();
                Pass { norm_mask, ..pass }
            })
            .collect();
        let whole = sweeps - sweeps % depth;
        let checks = [(0, whole, depth), (whole, sweeps, sweeps % depth)]
            .into_iter()
            .filter_map(|(from, to, pass_sweeps)| {
                let every = rule.check_every;
                let first = (start + from).next_multiple_of(every) - start;
                let count = to.saturating_sub(first).div_ceil(every);
                (count > 0).then_some(Checks {
                    first,
                    every,
                    count,
                    sweeps: pass_sweeps,
                })
            })
            .collect();
        Self {
            passes,
            sweeps,
            checks,
        }
    }

    /// The same passes without norms.
    pub(super) fn without_norms(sweeps: usize, depth: usize) -> Self {
        let passes = (0..sweeps)
            .step_by(depth)
            .map(|first| Pass {
                first,
                sweeps: depth.min(sweeps - first),
                norm_mask: 0,
            })
            .collect();
        Self {
            passes,
            sweeps,
            checks: Vec::new(),
        }
    }

    /// The checked sweeps, relative to the first of the batch.
    pub(super) fn checked(&self) -> impl Iterator<Item = usize> {
        self.checks
            .iter()
            .flat_map(|run| (0..run.count).map(|i| run.first + i * run.every))
    }
}

/// The number of sweeps per batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Sweeps per pass.
    pub(super) depth: usize,
    /// Maximum number of sweeps per batch: a whole, even number of passes, so that successive
    /// batches end in the same field.
    pub(super) max: usize,
    /// Whether a batch ends with its first checked sweep.
    pub(super) end_at_check: bool,
}

/// Approximate device time of a batch: long enough that waiting for it costs little, and short
/// enough that Ctrl-C responds quickly.
const BATCH_SECONDS: f64 = 0.02;
/// Maximum number of passes per batch.
const MAX_PASSES: usize = 128;
/// Approximate number of cells that a device reads and writes per second; used only for the length
/// of a batch.
const MEMORY_CELLS_PER_SECOND: f64 = 4.5e11;
/// Approximate number of cells that a device computes per second.
const COMPUTED_CELLS_PER_SECOND: f64 = 1.8e12;

impl Lengths {
    /// The lengths for blocks of about `cells` cells.
    pub(super) fn new(cells: usize, depth: usize, check_every: usize) -> Self {
        let arithmetic = depth as f64 / COMPUTED_CELLS_PER_SECOND;
        let pass_seconds = cells as f64 * arithmetic.max(1.0 / MEMORY_CELLS_PER_SECOND);
        let passes = (BATCH_SECONDS / pass_seconds) as usize;
        let passes = passes.clamp(2, MAX_PASSES).next_multiple_of(2);
        // Batches of whole periods of the checks are equal, so one captured graph serves all of
        // them.
        let period = lcm(2 * depth, check_every);
        let max = match period {
            Some(period) if period <= depth * MAX_PASSES => {
                (depth * passes).div_ceil(period) * period
            }
            _ => depth * passes,
        };
        Self {
            depth,
            max,
            end_at_check: false,
        }
    }

    /// The number of sweeps of the batch that begins with sweep `start`.
    pub(super) fn next(&self, start: usize, rule: &Stopping) -> usize {
        let remaining = rule.iterations - start;
        let length = remaining.min(self.max);
        if !self.end_at_check {
            return length;
        }
        let to_check = start.next_multiple_of(rule.check_every) - start + 1;
        length.min(to_check)
    }
}

fn lcm(a: usize, b: usize) -> Option<usize> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(iterations: usize, check_every: usize) -> Stopping {
        Stopping {
            iterations,
            check_every,
            tolerance: 0.0,
        }
    }

    #[test]
    fn passes_cover_all_sweeps_and_mark_the_checked_ones() {
        for depth in 1..=8 {
            for every in [1, 2, 3, 7, 100] {
                for (start, sweeps) in [(0, 1), (0, 40), (5, 17), (99, 3), (200, 64)] {
                    let batch = Batch::new(start, sweeps, depth, &rule(1000, every));
                    let mut marked = Vec::new();
                    let mut next = 0;
                    for pass in &batch.passes {
                        assert_eq!(pass.first, next);
                        assert!((1..=depth).contains(&pass.sweeps));
                        next += pass.sweeps;
                        let bits = (0..32).filter(|t| pass.norm_mask >> t & 1 != 0);
                        marked.extend(bits.map(|t| pass.first + t));
                    }
                    assert_eq!(next, sweeps);
                    let expected: Vec<usize> = (0..sweeps)
                        .filter(|sweep| (start + sweep).is_multiple_of(every))
                        .collect();
                    assert_eq!(marked, expected);
                    assert_eq!(batch.checked().collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn full_batches_have_an_even_number_of_passes() {
        for cells in [1, 4000, 1 << 22, 1 << 28, 1 << 34] {
            for depth in 1..=8 {
                for every in [1, 3, 100, 997, 1_000_003] {
                    let lengths = Lengths::new(cells, depth, every);
                    assert!(lengths.max > 0);
                    assert_eq!(lengths.max % (2 * depth), 0);
                }
            }
        }
    }

    #[test]
    fn batches_that_end_at_checks_have_the_check_in_their_last_sweep() {
        let rule = rule(50, 7);
        let lengths = Lengths {
            depth: 4,
            max: 16,
            end_at_check: true,
        };
        let mut start = 0;
        let mut lasts = Vec::new();
        while start < rule.iterations {
            let length = lengths.next(start, &rule);
            let batch = Batch::new(start, length, lengths.depth, &rule);
            let checked: Vec<usize> = batch.checked().collect();
            assert!(checked.is_empty() || checked == [length - 1]);
            start += length;
            lasts.push(start - 1);
        }
        assert_eq!(lasts, [0, 7, 14, 21, 28, 35, 42, 49]);
    }
}
