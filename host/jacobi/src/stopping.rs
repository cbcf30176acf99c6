//! The stopping rule of a relaxation.

/// The maximum number of sweeps, and the norm at which to stop earlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Maximum number of sweeps.
    pub iterations: usize,
    /// The run stops after the first checked sweep whose norm does not exceed the tolerance. With
    /// 0, it stops when the squares of all changes are 0 (in f32, for changes below 1e-23); with a
    /// negative value, it never stops early.
    pub tolerance: f64,
    /// The norm is computed in sweeps 0, k, 2k … (k > 0).
    pub check_every: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        Self {
            iterations: 1000,
            tolerance: 1e-8,
            check_every: 1,
        }
    }
}

impl Stopping {
    /// Whether sweep `sweep` (from 0) computes its norm.
    #[must_use]
    pub fn checked(&self, sweep: usize) -> bool {
        sweep.is_multiple_of(self.check_every)
    }

    /// The number of norms of a run of all sweeps.
    #[must_use]
    pub fn checks(&self) -> usize {
        self.iterations.div_ceil(self.check_every)
    }

    /// Whether `norm` meets the tolerance.
    #[must_use]
    pub fn met_by(&self, norm: f64) -> bool {
        norm <= self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_checks_is_that_of_checked_sweeps() {
        for iterations in 0..50 {
            for check_every in 1..12 {
                let rule = Stopping {
                    iterations,
                    check_every,
                    ..Stopping::default()
                };
                let checked = (0..iterations).filter(|sweep| rule.checked(*sweep));
                assert_eq!(checked.count(), rule.checks());
            }
        }
    }
}
