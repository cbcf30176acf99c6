//! When a relaxation ends.

/// How many sweeps, and the norm at which to stop earlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Most sweeps.
    pub iterations: usize,
    /// The first checked sweep whose norm is not greater is the last. 0 stops when no change is
    /// large enough to have a square (in f32 those below 1e-23 have none); negative never stops.
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
    /// Whether that sweep (from 0) computes its norm.
    #[must_use]
    pub fn checked(&self, sweep: usize) -> bool {
        sweep.is_multiple_of(self.check_every)
    }

    /// Norms that a run of all sweeps gives.
    #[must_use]
    pub fn checks(&self) -> usize {
        self.iterations.div_ceil(self.check_every)
    }

    /// Whether a field with that norm is done.
    #[must_use]
    pub fn met_by(&self, norm: f64) -> bool {
        norm <= self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_checks_as_checked_sweeps() {
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
