//! Notes on the parts of an earlier result's model that a recipe does not have.

use crate::data::Reconstruction;
use crate::{Background, BackgroundFit, ProbeSource, Problem, Recipe};
use warpstride_core::text::{count, length};

impl Problem {
    /// Adds a note for each part of the model of `result` that `recipe` leaves out or has
    /// otherwise: slices, object modes, modes of the probe, the motion during exposures, the
    /// detector, and variations of a probe that comes from elsewhere.
    pub(super) fn note_parts_left_out(&mut self, result: &Reconstruction, recipe: &Recipe) {
        let parts = &result.parts;
        let mut notes = Vec::new();
        if let Some(stack) = &parts.slices {
            let (found, requested) = (stack.slices.dim().0, recipe.slices.count);
            let all = count(found, ["slice", "slices"]);
            if found != requested {
                let taken = match requested {
                    1 => String::new(),
                    _ => format!(", divided among {requested} slices"),
                };
                notes.push(format!(
                    "the object is the product of the result's {all}{taken}, as slices.count is {requested}"
                ));
            } else if !recipe.slices.refine_distance
                && (self.slices.as_ref()).is_some_and(|plan| plan.distances != stack.distances)
            {
                let texts = stack.distances.iter().map(|d| length(*d, 4));
                notes.push(format!(
                    "the result's slices are at the distances of the recipe, which are not refined (slices.refine_distance); the result has {}",
                    texts.collect::<Vec<_>>().join(", ")
                ));
            }
        }
        if let Some(modes) = &parts.object_modes {
            let found = 1 + modes.further.dim().0;
            if found > recipe.object_modes {
                notes.push(format!(
                    "{} of the result's {found} object modes taken, as object_modes is {}",
                    recipe.object_modes, recipe.object_modes
                ));
            }
        }
        let found = result.probe.dim().0;
        if recipe.probe.source == ProbeSource::Auto && found > recipe.probe_modes {
            notes.push(format!(
                "{} of the result's {found} probe modes left out, as probe_modes is {}",
                found - recipe.probe_modes,
                recipe.probe_modes
            ));
        }
        if let (Some(exposures), false) = (&parts.exposures, recipe.fly.moves()) {
            notes.push(format!(
                "the motion during the result's exposures ({}) left out, as fly.points is 1, a step scan",
                count(exposures.points, ["point", "points"])
            ));
        }
        if let Some(detector) = &parts.detector {
            if detector.blur != [0.0; 2] && recipe.detector.blur.sigmas() == [0.0; 2] {
                notes.push(
                    "the blur of the result's detector left out, as detector.blur is 0".to_owned(),
                );
            }
            let off = recipe.detector.background == Background::Fit(BackgroundFit::Off);
            if detector.background.is_some() && off {
                notes.push(
                    "the background of the result's detector left out, as detector.background is off"
                        .to_owned(),
                );
            }
        }
        if let (Some(variable), true) = (
            &parts.variable_probe,
            recipe.probe.source != ProbeSource::Auto,
        ) {
            notes.push(format!(
                "{} of the result's probe left out, as the probe is not the result's (probe.source)",
                count(variable.count(), ["variation", "variations"])
            ));
        }
        let notes = notes.into_iter().map(|note| format!("start: {note}"));
        self.notes.extend(notes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problem, recipe, result, scan};
    use super::*;
    use crate::SliceDistance;
    use crate::data::{DetectorModel, Exposures, ObjectModes, SliceStack, VariableProbe};
    use ndarray::{Array2, Array3};

    /// The notes of a start from `result` with a recipe.
    fn notes(result: &Reconstruction, recipe: &Recipe) -> String {
        let scan = scan(32, 40);
        let mut problem = problem(&scan, recipe);
        problem.start_from(result, &scan, recipe).unwrap();
        problem.notes.join("; ")
    }

    #[test]
    fn parts_that_the_recipe_lacks_are_named() {
        let own = recipe(3.0);
        let mut all = result(32, 40);
        assert!(!notes(&all, &own).contains("left out"));
        let (rows, columns) = all.object.dim();
        all.parts.object_modes = Some(ObjectModes {
            further: Array3::ones((2, rows, columns)),
            power: vec![0.6, 0.3, 0.1],
        });
        all.parts.exposures = Some(Exposures {
            points: 4,
            paths: vec![[0.0, 2.0]; 9],
        });
        all.parts.detector = Some(DetectorModel {
            blur: [0.7, 0.7],
            background: Some(Array2::ones((32, 40))),
        });
        all.parts.variable_probe = Some(VariableProbe {
            shapes: Array3::zeros((2, 32, 40)),
            coefficients: Array2::zeros((9, 2)),
        });
        let found = notes(&all, &own);
        for expected in [
            "1 of the result's 3 object modes",
            "4 points",
            "blur of the result's detector",
            "background of the result's detector",
            "2 variations of the result's probe left out, as the probe",
        ] {
            assert!(found.contains(expected), "{found}");
        }
        let mut with = own.clone();
        with.object_modes = 3;
        (with.fly.points, with.fly.shift) = (2, Some([0.0, 1e-8]));
        with.probe.source = ProbeSource::Auto;
        with.set("detector.blur=0.5").unwrap();
        with.set("detector.background=uniform").unwrap();
        let found = notes(&all, &with);
        for other in [
            "object modes taken",
            "step scan",
            "detector left out",
            "probe is not",
        ] {
            assert!(!found.contains(other), "{found}");
        }
    }

    #[test]
    fn modes_of_the_probe_beyond_those_of_the_recipe_are_named() {
        let mut several = result(32, 40);
        let mode = several.probe.view();
        several.probe = ndarray::concatenate![ndarray::Axis(0), mode, mode, mode];
        several.mode_power = vec![1.0 / 3.0; 3];
        let mut own = recipe(3.0);
        own.probe_modes = 1;
        assert!(!notes(&several, &own).contains("probe modes left out"));
        own.probe.source = ProbeSource::Auto;
        let found = notes(&several, &own);
        let expected = "start: 2 of the result's 3 probe modes left out, as probe_modes is 1";
        assert!(found.contains(expected), "{found}");
        own.probe_modes = 3;
        assert!(!notes(&several, &own).contains("probe modes left out"));
    }

    /// The product of slices, other distances, and how far light spreads, which is computed for the
    /// distances at the start.
    #[test]
    fn slices_of_the_result_are_explained() {
        let mut own = recipe(3.0);
        let mut thick = result(32, 40);
        let near = 1e-6;
        let layer = thick.object.mapv(|v| v.powf(0.5));
        thick.parts.slices = Some(SliceStack {
            slices: ndarray::stack![ndarray::Axis(0), layer, layer],
            distances: vec![near],
            start_distances: vec![near],
        });
        assert!(notes(&thick, &own).contains("the product of the result's 2 slices, as"));
        own.slices.count = 3;
        own.slices.distance = Some(SliceDistance::Same(near));
        assert!(notes(&thick, &own).contains("2 slices, divided among 3"));
        own.slices.count = 2;
        assert!(!notes(&thick, &own).contains("slices are at"));
        own.slices.distance = Some(SliceDistance::Same(1e-2));
        let found = notes(&thick, &own);
        assert!(
            found.contains("at the distances of the recipe") && found.contains("1.000 µm"),
            "{found}"
        );
        assert!(found.contains("light spreads"), "{found}");
        own.slices.refine_distance = true;
        let found = notes(&thick, &own);
        assert!(
            !found.contains("at the distances") && !found.contains("light spreads"),
            "{found}"
        );
    }
}
