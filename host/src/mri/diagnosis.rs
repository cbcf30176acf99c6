//! Properties of samples that often explain a bad image.

use super::Coverage;
use crate::data::KSpace;
use crate::text::significant;

/// Above this factor even many coils leave streaks.
const MAX_UNDERSAMPLING: f64 = 12.0;
/// Smallest plausible reach of a trajectory, cycles/pixel: half of Nyquist's 0.5.
const MIN_REACH: f64 = 0.25;

/// One sentence for each doubtful property of `kspace`; none if the samples look sound.
#[must_use]
pub fn diagnose(kspace: &KSpace, coverage: &Coverage) -> Vec<String> {
    let mut problems = Vec::new();
    if kspace.samples().iter().all(|v| v.norm_sqr() == 0.0) {
        problems.push("every sample is 0".to_owned());
    }
    for (k, axis) in coverage.reach.iter().zip(["kx", "ky", "kz"]) {
        if *k == 0.0 {
            problems.push(format!(
                "{axis} is 0 everywhere: nothing is encoded along it"
            ));
        } else if *k < MIN_REACH {
            problems.push(format!(
                "|{axis}| reaches only {} cycles/pixel: the pixels of the matrix are less than half the measured resolution",
                significant(*k, 3)
            ));
        }
    }
    if coverage.undersampling > MAX_UNDERSAMPLING {
        problems.push(format!(
            "k-space is undersampled {} times: expect streaks",
            significant(coverage.undersampling, 3)
        ));
    }
    problems
}
