//! The object, the probe and the other parts of the model, read from the device.

use super::GpuEngine;
use crate::EngineError;
use crate::data::ModelParts;
use crate::engines::cuda::memory::layout::Layout;
use crate::engines::cuda::model::multislice::SliceBuffers;
use ndarray::Array3;
use num_complex::Complex;
use warpstride_cuda::cuda::DeviceBuffer;
use warpstride_cuda::gpu::Device;
use warpstride_device::Complex32;

impl<M: Device> GpuEngine<M> {
    /// Everything in the model beside the object and the probe.
    pub(super) fn read_model_parts(&mut self) -> Result<ModelParts, EngineError> {
        let layers = self.read_object()?;
        let present = self.present();
        let slices = present.buffers.slices.as_ref();
        let variations = present.buffers.variations.as_ref();
        let variable_probe = variations
            .map(|of| of.data(&present.device, &present.layout))
            .transpose()?;
        Ok(ModelParts {
            slices: slices.map(|slices| slices.distances.stack(layers)),
            variable_probe,
            detector: present.buffers.detector.as_ref().map(|of| of.model()),
            ..ModelParts::default()
        })
    }

    /// (layer or slice, row, column).
    pub(super) fn read_object(&mut self) -> Result<Array3<Complex<f64>>, EngineError> {
        let present = self.present();
        let values = present.download(&present.buffers.object, self.layout.object_elements())?;
        let Layout {
            object_layers,
            object_rows,
            object_columns,
            ..
        } = self.layout;
        let [layers, rows, columns] =
            [object_layers, object_rows, object_columns].map(|n| n as usize);
        let slices = self.buffers.slices.as_ref().map_or(1, SliceBuffers::count);
        let (layers, rows) = (layers * slices, rows / slices);
        let value = |(k, r, c)| wide(values[(k * rows + r) * columns + c]);
        Ok(Array3::from_shape_fn((layers, rows, columns), value))
    }

    /// (mode, row, column).
    pub(super) fn read_probe(&mut self) -> Result<Array3<Complex<f64>>, EngineError> {
        let present = self.present();
        let values = present.download(&present.buffers.probe, self.layout.probe_elements())?;
        let [modes, rows, columns] =
            [self.layout.modes, self.layout.rows, self.layout.columns].map(|n| n as usize);
        Ok(Array3::from_shape_fn(
            (modes, rows, columns),
            |(m, r, c)| wide(values[(m * rows + r) * columns + c]),
        ))
    }

    /// Copies the object and the probe to memory of the same CUDA device.
    pub(super) fn copy_model(
        &self,
        object: &mut DeviceBuffer<Complex32>,
        probe: &mut DeviceBuffer<Complex32>,
    ) -> Result<bool, EngineError> {
        let present = self.present();
        if present.buffers.slices.is_some() {
            return Err(EngineError::Sliced);
        }
        let (device, buffers) = (&present.device, &present.buffers);
        let arrays = [
            (
                "object",
                &buffers.object,
                self.layout.object_pixels(),
                object,
            ),
            ("probe", &buffers.probe, self.layout.probe_elements(), probe),
        ];
        for (what, from, expected, to) in arrays {
            if to.len() != expected {
                return Err(EngineError::State {
                    what,
                    found: to.len(),
                    expected,
                });
            }
            if !device.copy_to_cuda(from, 0..expected, to, 0)? {
                return Ok(false);
            }
        }
        device.synchronize()?;
        Ok(true)
    }

    /// The first `elements` values of `buffer`.
    pub(super) fn download(
        &self,
        buffer: &M::Buffer<Complex32>,
        elements: usize,
    ) -> warpstride_cuda::gpu::Result<Vec<Complex<f32>>> {
        let mut values = vec![Complex::default(); elements];
        self.device.download(buffer, &mut values)?;
        Ok(values)
    }
}

fn wide(v: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(v.re), f64::from(v.im))
}
