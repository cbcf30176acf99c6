//! The variations as plain data, saved and restored.

use super::VariationBuffers;
use crate::data::VariableProbe;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::engine::Values;
use crate::model::variable_probe::{COEFFICIENTS, SHAPE_CHANGES, SHAPES, saved_count};
use crate::{EngineError, EngineState};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, ReadBack, Result};

impl<M: Device> VariationBuffers<M> {
    /// Those of an earlier result.
    pub(in crate::engines::cuda) fn of(
        device: &M,
        layout: &Layout,
        variable: &VariableProbe,
    ) -> Result<Self> {
        let mut new = Self::new(device, layout, variable.count())?;
        let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
        let shapes: Vec<Complex<f32>> = variable.shapes.iter().map(narrow).collect();
        device.upload(&mut new.shapes[0], &shapes)?;
        let values: Vec<f32> = variable.coefficients.iter().map(|c| *c as f32).collect();
        device.upload(&mut new.coefficients[0], &values)?;
        Ok(new)
    }

    pub(super) fn of_frames(&self, device: &M, which: usize) -> Result<Vec<f64>> {
        let values = device.read_back(&self.coefficients[which])?.wait()?;
        Ok(values.iter().map(|c| f64::from(*c)).collect())
    }

    pub(super) fn set(&mut self, device: &M, which: usize, values: &[f64]) -> Result<()> {
        let narrow: Vec<f32> = values.iter().map(|c| *c as f32).collect();
        device.upload(&mut self.coefficients[which], &narrow)
    }

    pub(super) fn download(&self, device: &M, which: usize) -> Result<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); self.shapes[which].len()];
        device.download(&self.shapes[which], &mut values)?;
        Ok(values)
    }

    /// As plain data.
    pub(in crate::engines::cuda) fn data(
        &self,
        device: &M,
        layout: &Layout,
    ) -> Result<VariableProbe> {
        let count = self.count as usize;
        let [rows, columns] = [layout.rows as usize, layout.columns as usize];
        let shapes = self.download(device, 0)?;
        let coefficients = self.of_frames(device, 0)?;
        Ok(VariableProbe {
            shapes: Array3::from_shape_fn((count, rows, columns), |(k, r, c)| {
                let v = shapes[(k * rows + r) * columns + c];
                Complex::new(f64::from(v.re), f64::from(v.im))
            }),
            coefficients: Array2::from_shape_fn((layout.frames as usize, count), |(frame, k)| {
                coefficients[frame * count + k]
            }),
        })
    }

    /// Adds what the next step depends on to `state`.
    pub(in crate::engines::cuda) fn save(&self, device: &M, state: &mut EngineState) -> Result<()> {
        let (values, changes) = (self.of_frames(device, 0)?, self.of_frames(device, 1)?);
        let pairs = values.iter().zip(&changes);
        let pairs = pairs.map(|(c, change)| Complex::new(*c, *change)).collect();
        let arrays = [
            (SHAPES, Values::F32(self.download(device, 0)?)),
            (SHAPE_CHANGES, Values::F32(self.download(device, 1)?)),
            (COEFFICIENTS, Values::F64(pairs)),
        ];
        let named = arrays.map(|(name, values)| (name.to_owned(), values));
        state.added.extend(named);
        Ok(())
    }

    /// The variations of a saved state with at most `most` of them; `None` if it has none.
    pub(in crate::engines::cuda) fn restored(
        device: &M,
        layout: &Layout,
        state: &EngineState,
        most: usize,
    ) -> std::result::Result<Option<Self>, EngineError> {
        let Some(coefficients) = state.added.get(COEFFICIENTS) else {
            return Ok(None);
        };
        let count = saved_count(coefficients.len(), layout.frames as usize, most);
        let elements = count * layout.pixels() as usize;
        let frames = layout.frames as usize * count;
        let pairs: &[Complex<f64>] = coefficients.as_slice("list of coefficients", frames)?;
        let none = Values::F32(Vec::new());
        let mut new = Self::new(device, layout, count)?;
        for (which, name) in [SHAPES, SHAPE_CHANGES].into_iter().enumerate() {
            let saved = state.added.get(name).unwrap_or(&none);
            let values: &[Complex<f32>] = saved.as_slice("set of shapes", elements)?;
            device.upload(&mut new.shapes[which], values)?;
        }
        let [values, changes] = [|v: &Complex<f64>| v.re, |v: &Complex<f64>| v.im]
            .map(|of| pairs.iter().map(of).collect::<Vec<f64>>());
        new.set(device, 0, &values)?;
        new.set(device, 1, &changes)?;
        Ok(Some(new))
    }
}
