//! A transform on a CUDA device: by cuFFT or by warpstride's own kernels.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use warpstride_device::Complex32;

use super::{FftPasses, KernelFft, Result};
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
    pub(super) module: Arc<Module>,
    pub(super) transform: KernelFft<DeviceBuffer<Complex32>>,
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
    pub(super) fn module(&self, passes: &FftPasses) -> Result<Arc<Module>> {
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
