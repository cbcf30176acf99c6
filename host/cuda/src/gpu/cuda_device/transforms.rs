//! Transforms on a CUDA device.

use warpstride_device::Complex32;
use warpstride_device::launch::Cuda;

use super::super::profile::transform_name;
use super::super::{CudaFft, Direction, FftChoice, FftPasses, GpuError, KernelFft, OwnFft, Result};
use super::CudaDevice;
use crate::cuda::DeviceBuffer;

impl CudaDevice {
    /// Plans a transform by warpstride's kernels, whatever is faster.
    ///
    /// # Errors
    /// [`TransformSize`](GpuError::TransformSize): the kernels do not serve the shape; or an
    /// error of the driver.
    pub fn plan_own_fft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        let passes = FftPasses::new(shape, batch).ok_or_else(|| GpuError::TransformSize {
            shape: shape.to_vec(),
            batch,
        })?;
        Ok(CudaFft::Own(OwnFft {
            module: self.fft_modules.module(&passes)?,
            transform: KernelFft::new(self, passes)?,
        }))
    }

    /// Plans a transform by cuFFT, whatever is faster.
    ///
    /// # Errors
    /// cuFFT was not found or rejects the size, or device memory is exhausted.
    pub fn plan_cufft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        Ok(CudaFft::CuFft(self.transforms.plan(shape, batch)?))
    }

    /// Plans a transform by what [`FftChoice`] says.
    pub(super) fn plan_chosen_fft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        let choice = FftChoice::new(self.info().compute_capability, shape, batch)?;
        if choice == FftChoice::Own && FftPasses::new(shape, batch).is_some() {
            self.plan_own_fft(shape, batch)
        } else {
            self.plan_cufft(shape, batch)
        }
    }

    /// Queues a planned transform of `from` into `to`, or of `to` in place without `from`.
    pub(super) fn queue_fft(
        &self,
        plan: &CudaFft,
        from: Option<&DeviceBuffer<Complex32>>,
        to: &mut DeviceBuffer<Complex32>,
        direction: Direction,
    ) -> Result<()> {
        match (plan, from) {
            (CudaFft::CuFft(plan), None) => {
                self.profiled_work(transform_name(direction), None, || {
                    Ok(plan.execute(to, direction.into())?)
                })
            }
            (CudaFft::CuFft(plan), Some(from)) => {
                self.profiled_work(transform_name(direction), None, || {
                    Ok(plan.execute_to(from, to, direction.into())?)
                })
            }
            (CudaFft::Own(OwnFft { module, transform }), from) => transform.queue_on::<Cuda>(
                &|launch, work| {
                    self.profiled_work(launch.info().entry, None, || {
                        module.launch(&self.stream, launch, work)
                    })
                },
                from,
                to,
                direction,
                1.0,
            ),
        }
    }
}
