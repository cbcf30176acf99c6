//! A transform on a CUDA device: by cuFFT or by warpstride's own kernels.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use warpstride_device::Complex32;
use warpstride_device::launch::Cuda;

use super::profile::transform_name;
use super::{CudaDevice, Direction, FftChoice, FftPasses, KernelFft, Result};
use crate::cuda::{Context, DeviceBuffer, FftPlan, Kernels, Module};

/// A planned transform on a CUDA device.
#[derive(Debug)]
pub enum CudaFft {
    /// A plan of cuFFT.
    CuFft(FftPlan),
    /// Launches of warpstride's kernels.
    Own(OwnFft),
}

/// A transform by warpstride's kernels, with the module that has them.
#[derive(Debug)]
pub struct OwnFft {
    module: Arc<Module>,
    transform: KernelFft<DeviceBuffer<Complex32>>,
}

/// The modules of the transforms' kernels that were loaded on a device, by the names of their
/// kernels.
pub(super) struct FftModules {
    context: Arc<Context>,
    loaded: Mutex<BTreeMap<Vec<String>, Arc<Module>>>,
}

impl fmt::Debug for FftModules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FftModules").finish_non_exhaustive()
    }
}

impl FftModules {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            loaded: Mutex::default(),
        }
    }

    /// The module with the kernels of `passes`, which is compiled at the first call.
    fn module(&self, passes: &FftPasses) -> Result<Arc<Module>> {
        let all = kernels();
        let used = all.only(|name| passes.uses_kernel(name));
        let names: Vec<String> = used.names().into_iter().map(str::to_owned).collect();
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = loaded.get(&names) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(Module::load(&self.context, &used)?);
        loaded.insert(names, Arc::clone(&module));
        Ok(module)
    }
}

/// All kernels of Fourier transforms, as PTX.
fn kernels() -> Kernels {
    let texts = warpstride_ptx::FFT.iter();
    texts
        .map(|packed| Kernels::new(packed.arch, packed.text()))
        .fold(Kernels::default(), Kernels::and)
}

impl CudaDevice {
    /// Plans a transform by warpstride's kernels, whatever is faster.
    ///
    /// # Errors
    /// [`TransformSize`](super::GpuError::TransformSize): the kernels do not serve the shape; or an
    /// error of the driver.
    pub fn plan_own_fft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        let passes =
            FftPasses::new(shape, batch).ok_or_else(|| super::GpuError::TransformSize {
                shape: shape.to_vec(),
                batch,
            })?;
        Ok(CudaFft::Own(OwnFft {
            module: self.fft_modules().module(&passes)?,
            transform: KernelFft::new(self, passes)?,
        }))
    }

    /// Plans a transform by cuFFT, whatever is faster.
    ///
    /// # Errors
    /// cuFFT was not found or rejects the size, or device memory is exhausted.
    pub fn plan_cufft(&self, shape: &[usize], batch: usize) -> Result<CudaFft> {
        Ok(CudaFft::CuFft(self.fft_workspace().plan(shape, batch)?))
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
                        module.launch(self.stream(), launch, work)
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
