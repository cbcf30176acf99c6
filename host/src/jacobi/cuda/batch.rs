//! Batches: passes that are queued together, and the norms that they give.

use crate::jacobi::Stopping;

/// Some sweeps of all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    /// Its first sweep, counted from the first of the batch.
    pub(super) first: usize,
    /// Sweeps.
    pub(super) sweeps: usize,
    /// Those whose norm is wanted, the first in bit 0.
    pub(super) wanted: u32,
}

impl Pass {
    /// Whether it is the first of its batch: everything before it has been waited for.
    pub(super) fn begins(&self) -> bool {
        self.first == 0
    }
}

/// Checked sweeps whose passes are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checks {
    /// The first, counted from the first sweep of the batch.
    pub(super) first: usize,
    /// Sweeps from one to the next.
    pub(super) every: usize,
    /// How many.
    pub(super) count: usize,
    /// Sweeps of their passes.
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
    /// `sweeps` sweeps from number `start` on, up to `depth` a pass: the last may be shorter.
    pub(super) fn new(start: usize, sweeps: usize, depth: usize, rule: &Stopping) -> Self {
        let passes = Self::without_norms(sweeps, depth)
            .passes
            .into_iter()
            .map(|pass| {
                let checked = |t: &usize| rule.checked(start + pass.first + t);
                let wanted = (0..pass.sweeps).filter(checked).map(|t| 1 << t).sum();
                Pass { wanted, ..pass }
            })
            .collect();
        let whole = sweeps - sweeps % depth;
        let checks = [(0, whole, depth), (whole, sweeps, sweeps % depth)]
            .into_iter()
            .filter_map(|(from, to, of_a_pass)| {
                let every = rule.check_every;
                let first = (start + from).next_multiple_of(every) - start;
                let count = to.saturating_sub(first).div_ceil(every);
                (count > 0).then_some(Checks {
                    first,
                    every,
                    count,
                    sweeps: of_a_pass,
                })
            })
            .collect();
        Self {
            passes,
            sweeps,
            checks,
        }
    }

    /// The same passes with no norm.
    pub(super) fn without_norms(sweeps: usize, depth: usize) -> Self {
        let passes = (0..sweeps)
            .step_by(depth)
            .map(|first| Pass {
                first,
                sweeps: depth.min(sweeps - first),
                wanted: 0,
            })
            .collect();
        Self {
            passes,
            sweeps,
            checks: Vec::new(),
        }
    }

    /// Checked sweeps, counted from the first of the batch.
    pub(super) fn checked(&self) -> impl Iterator<Item = usize> {
        self.checks
            .iter()
            .flat_map(|run| (0..run.count).map(|i| run.first + i * run.every))
    }
}

/// How many sweeps a batch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Sweeps of a pass.
    pub(super) depth: usize,
    /// Most sweeps of a batch: a whole, even number of passes (so that a batch ends in the same
    /// field as the one before).
    pub(super) most: usize,
    /// Whether a batch ends with its first checked sweep.
    pub(super) end_at_check: bool,
}

/// Device time that one batch takes about, so that waiting for it costs little and Ctrl-C is quick.
const BATCH_SECONDS: f64 = 0.02;
/// Most passes of a batch.
const MOST_PASSES: usize = 128;
/// Cells that a device reads and writes in a second, about: for the length of a batch only.
const CELLS_OF_MEMORY: f64 = 4.5e11;
/// Cells that a device computes in a second, about.
const CELLS_OF_ARITHMETIC: f64 = 1.8e12;

impl Lengths {
    /// For blocks of about `cells` cells.
    pub(super) fn new(cells: usize, depth: usize, check_every: usize) -> Self {
        let arithmetic = depth as f64 / CELLS_OF_ARITHMETIC;
        let pass_seconds = cells as f64 * arithmetic.max(1.0 / CELLS_OF_MEMORY);
        let passes = (BATCH_SECONDS / pass_seconds) as usize;
        let passes = passes.clamp(2, MOST_PASSES).next_multiple_of(2);
        // A batch of whole periods of the checks is recorded once for all.
        let period = lcm(2 * depth, check_every);
        let most = match period {
            Some(period) if period <= depth * MOST_PASSES => {
                (depth * passes).div_ceil(period) * period
            }
            _ => depth * passes,
        };
        Self {
            depth,
            most,
            end_at_check: false,
        }
    }

    /// Sweeps of the batch that begins with sweep `start`.
    pub(super) fn next(&self, start: usize, rule: &Stopping) -> usize {
        let remaining = rule.iterations - start;
        let length = remaining.min(self.most);
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
    fn passes_cover_all_sweeps_and_want_the_checked_ones() {
        for depth in 1..=8 {
            for every in [1, 2, 3, 7, 100] {
                for (start, sweeps) in [(0, 1), (0, 40), (5, 17), (99, 3), (200, 64)] {
                    let batch = Batch::new(start, sweeps, depth, &rule(1000, every));
                    let mut wanted = Vec::new();
                    let mut next = 0;
                    for pass in &batch.passes {
                        assert_eq!(pass.first, next);
                        assert!((1..=depth).contains(&pass.sweeps));
                        next += pass.sweeps;
                        let bits = (0..32).filter(|t| pass.wanted >> t & 1 != 0);
                        wanted.extend(bits.map(|t| pass.first + t));
                    }
                    assert_eq!(next, sweeps);
                    let expected: Vec<usize> = (0..sweeps)
                        .filter(|sweep| (start + sweep).is_multiple_of(every))
                        .collect();
                    assert_eq!(wanted, expected);
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
                    assert!(lengths.most > 0);
                    assert_eq!(lengths.most % (2 * depth), 0);
                }
            }
        }
    }

    #[test]
    fn batches_that_end_at_checks_have_one_in_their_last_sweep() {
        let rule = rule(50, 7);
        let lengths = Lengths {
            depth: 4,
            most: 16,
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
