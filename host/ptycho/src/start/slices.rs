//! The start values of the slices of a thick specimen.

use crate::data::Reconstruction;
use crate::model::multislice::NOTES;
use crate::{Problem, SlicePlan};
use ndarray::{Array2, Array3};
use num_complex::Complex;

impl Problem {
    /// Divides the start object among the slices: each has its N-th root, whose phase is that of
    /// the object from its mean.
    pub(crate) fn share_object(&mut self) {
        let Some(plan) = &self.slices else {
            return;
        };
        let count = plan.count();
        let mean: Complex<f64> = self.object.iter().sum();
        let middle = if mean.norm() > 0.0 { mean.arg() } else { 0.0 };
        let share = 1.0 / count as f64;
        let root = |v: &Complex<f64>| {
            let phase = (v * Complex::cis(-middle)).arg() + middle;
            Complex::from_polar(v.norm().powf(share), phase * share)
        };
        self.object = self.object.map(root);
        let (rows, columns) = self.object.dim();
        let object = &self.object;
        self.more_layers =
            Array3::from_shape_fn((count - 1, rows, columns), |(_, r, c)| object[[r, c]]);
    }

    /// Takes the slices of an earlier result, interpolated by `interpolated`; their product if the
    /// result has another number of them.
    pub(crate) fn take_slices<E>(
        &mut self,
        result: &Reconstruction,
        mut interpolated: impl FnMut(&Array2<Complex<f64>>, &mut Array2<Complex<f64>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let count = self.slices.as_ref().map_or(1, SlicePlan::count);
        let of_result = (result.parts.slices.as_ref()).filter(|s| s.slices.dim().0 == count);
        let Some(stack) = of_result else {
            interpolated(&result.object, &mut self.object)?;
            self.share_object();
            return Ok(());
        };
        for (n, slice) in stack.slices.outer_iter().enumerate() {
            let slice = slice.to_owned();
            if n == 0 {
                interpolated(&slice, &mut self.object)?;
                continue;
            }
            let mut layer = self
                .more_layers
                .index_axis(ndarray::Axis(0), n - 1)
                .to_owned();
            interpolated(&slice, &mut layer)?;
            self.more_layers
                .index_axis_mut(ndarray::Axis(0), n - 1)
                .assign(&layer);
        }
        if let Some(plan) = self.slices.as_mut().filter(|plan| plan.refine) {
            let distances = &stack.distances;
            plan.same &= distances.windows(2).all(|pair| pair[0] == pair[1]);
            plan.distances.clone_from(distances);
            let note = plan.note([self.probe.dim().1, self.probe.dim().2]);
            let of_distances = |old: &String| NOTES.iter().any(|start| old.starts_with(start));
            self.notes.retain(|old| !of_distances(old));
            self.notes.extend(note);
        }
        Ok(())
    }
}
