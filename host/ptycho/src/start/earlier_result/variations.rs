//! Variations of the probe from an earlier result.

use super::in_this_window;
use crate::data::{Reconstruction, Scan, VariableProbe};
use crate::{Problem, Recipe};
use ndarray::s;
use warpstride_core::text::count;

const NOUNS: [&str; 2] = ["variation", "variations"];

impl Problem {
    /// Takes the variations of the probe of `result`, whose first mode has been multiplied by
    /// `factor`, as many as the recipe wants; further ones are formed when they are first updated.
    /// A note says if they are left out.
    pub(super) fn take_variations(
        &mut self,
        result: &Reconstruction,
        scan: &Scan,
        recipe: &Recipe,
        factor: f64,
    ) {
        let Some(found) = &result.parts.variable_probe else {
            return;
        };
        let frames = scan.shape()[0];
        let projects = recipe.engines.first().is_some_and(|e| e.name.projects());
        let same = self.has_frames_of(result, scan) && found.coefficients.nrows() == frames;
        let reason = if recipe.opr_modes == 0 {
            Some("the recipe has no opr_modes")
        } else if projects {
            Some("the first engine has one probe for all frames")
        } else if !same {
            Some("they are of other frames")
        } else if !(found.is_finite() && factor.is_finite()) {
            Some("they are not finite")
        } else {
            None
        };
        if let Some(reason) = reason {
            let found = count(found.count(), NOUNS);
            self.notes.push(format!(
                "start: {found} of the result's probe left out, as {reason}"
            ));
            return;
        }
        let kept = found.count().min(recipe.opr_modes);
        let shapes = found.shapes.slice(s![..kept, .., ..]).to_owned();
        let coefficients = found.coefficients.slice(s![.., ..kept]);
        let new = VariableProbe {
            shapes: in_this_window(shapes, result, scan),
            coefficients: coefficients.mapv(|c| c * factor),
        };
        let missing = recipe.opr_modes - kept;
        let kept = count(kept, NOUNS);
        let others = match (missing, recipe.updates_variations()) {
            (0, _) => String::new(),
            (_, true) => format!(
                "; it has no more, so the first iteration that updates variations forms the other {missing} of opr_modes = {}",
                recipe.opr_modes
            ),
            (_, false) => format!(
                "; it has no more, and no engine of the run updates variations, so the other {missing} of opr_modes = {} are not formed",
                recipe.opr_modes
            ),
        };
        self.notes
            .push(format!("start: {kept} of the result's probe{others}"));
        self.start_variations = Some(new);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problem, recipe, result, scan};
    use super::*;
    use ndarray::{Array2, Array3};
    use num_complex::Complex;

    fn varied(rows: usize, columns: usize) -> Reconstruction {
        let mut result = result(rows, columns);
        result.parts.variable_probe = Some(VariableProbe {
            shapes: Array3::from_shape_fn((3, rows, columns), |(k, r, c)| {
                Complex::new(k as f64 + (r % 3) as f64, c as f64 * 0.1)
            }),
            coefficients: Array2::from_shape_fn((9, 3), |(j, k)| j as f64 - 4.0 + 0.1 * k as f64),
        });
        result
    }

    #[test]
    fn variations_of_the_same_frames_are_the_start_and_others_are_named() {
        let scan = scan(32, 40);
        let mut own = recipe(3.0);
        own.probe.source = crate::ProbeSource::Auto;
        let result = varied(32, 40);
        let given = result.parts.variable_probe.clone().unwrap();
        for modes in [2, 3, 5] {
            own.opr_modes = modes;
            let mut problem = problem(&scan, &own);
            problem.start_from(&result, &scan, &own).unwrap();
            let found = problem.start_variations.unwrap();
            let kept = modes.min(3);
            assert_eq!(found.count(), kept);
            let said = |text: &str| problem.notes.iter().any(|note| note.contains(text));
            // Two iterations of lsqml end before the first update.
            assert_eq!(said("other 2 of opr_modes = 5 are not formed"), modes == 5);
            for k in 0..kept {
                let shape = found.shapes.index_axis(ndarray::Axis(0), k);
                assert_eq!(shape, given.shapes.index_axis(ndarray::Axis(0), k));
            }
        }
        let mut longer = own.clone();
        (longer.opr_modes, longer.opr_from) = (4, 2);
        let mut started = problem(&scan, &longer);
        started.start_from(&result, &scan, &longer).unwrap();
        let said = |note: &String| note.contains("forms the other 1 of opr_modes = 4");
        assert!(started.notes.iter().any(said), "{:?}", started.notes);
        let left_out = |recipe: &Recipe, result: &Reconstruction, reason: &str| {
            let mut problem = problem(&scan, recipe);
            problem.start_from(result, &scan, recipe).unwrap();
            assert!(problem.start_variations.is_none());
            assert!(
                problem.notes.iter().any(|note| note.contains(reason)),
                "{:?}",
                problem.notes
            );
        };
        own.opr_modes = 0;
        left_out(&own, &result, "no opr_modes");
        own.opr_modes = 2;
        let mut others = result.clone();
        others.recorded_positions[[0, 0]] += 1e-7;
        left_out(&own, &others, "other frames");
        own.engines[0] = crate::EngineSpec::parse("dm:2").unwrap();
        left_out(&own, &result, "one probe for all frames");
    }
}
