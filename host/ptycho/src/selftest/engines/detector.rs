//! Engines with a detector that blurs, differently along rows and columns, and has a background,
//! which is fitted.

use super::sequences::{StepSequence, sequences};
use crate::{BackgroundFit, Detector, Problem};
use ndarray::Array2;

/// Sequences besides the plain ones: trial and error compares whole models.
const OTHERS: [&str; 2] = [
    "lsqml, annealing, drawn in to the affine map",
    "raar, 3 alternations, Fourier support",
];

/// The problem with a detector, whose background is updated from the second iteration on.
pub(super) fn detected(problem: Problem, fit: BackgroundFit) -> Problem {
    let [_, _, rows, columns] = problem.shape();
    Problem {
        detector: Some(Detector {
            blur: [0.6, 1.1],
            background: Array2::from_elem((rows, columns), 3.0),
            fit,
            from: 2,
            floor: 0.1,
            has_background: true,
        }),
        ..problem
    }
}

/// The sequences of steps that are compared.
pub(super) fn detector_sequences(problem: &Problem) -> Vec<StepSequence> {
    let mut all = sequences(problem);
    all.retain(|of| of.plain || OTHERS.contains(&of.name));
    all
}
