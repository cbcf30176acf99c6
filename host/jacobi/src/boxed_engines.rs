//! Engines as trait objects.

use super::cpu::CpuEngine;
use super::cuda::{GpuReal, GroupEngine, Plan};
use super::{Engine, JacobiError, Problem, Stopping};
use warpstride_cuda::gpu::{CudaDeviceGroup, EmulatedDeviceGroup};

/// A precision with its engines as trait objects. They are compiled once, in this crate, and not
/// again in every program that uses them.
pub trait BoxedEngines: GpuReal {
    /// [`CpuEngine::new`].
    ///
    /// # Errors
    /// Like [`CpuEngine::new`].
    fn on_cpu(
        problem: &Problem<Self>,
        stopping: Stopping,
        time_block: usize,
    ) -> Result<Box<dyn Engine<Self>>, JacobiError>;

    /// [`GroupEngine::new`] on CUDA devices.
    ///
    /// # Errors
    /// Like [`GroupEngine::new`].
    fn on_cuda(
        group: CudaDeviceGroup,
        problem: &Problem<Self>,
        stopping: Stopping,
        plan: Plan,
    ) -> Result<Box<dyn Engine<Self>>, JacobiError>;

    /// [`GroupEngine::new`] on emulated devices.
    ///
    /// # Errors
    /// Like [`GroupEngine::new`].
    fn on_emulator(
        group: EmulatedDeviceGroup,
        problem: &Problem<Self>,
        stopping: Stopping,
        plan: Plan,
    ) -> Result<Box<dyn Engine<Self>>, JacobiError>;
}

macro_rules! boxed_engines {
    ($($real:ty)*) => {$(
        impl BoxedEngines for $real {
            fn on_cpu(
                problem: &Problem<Self>,
                stopping: Stopping,
                time_block: usize,
            ) -> Result<Box<dyn Engine<Self>>, JacobiError> {
                Ok(Box::new(CpuEngine::new(problem, stopping, time_block)?))
            }

            fn on_cuda(
                group: CudaDeviceGroup,
                problem: &Problem<Self>,
                stopping: Stopping,
                plan: Plan,
            ) -> Result<Box<dyn Engine<Self>>, JacobiError> {
                Ok(Box::new(GroupEngine::new(group, problem, stopping, plan)?))
            }

            fn on_emulator(
                group: EmulatedDeviceGroup,
                problem: &Problem<Self>,
                stopping: Stopping,
                plan: Plan,
            ) -> Result<Box<dyn Engine<Self>>, JacobiError> {
                Ok(Box::new(GroupEngine::new(group, problem, stopping, plan)?))
            }
        }
    )*};
}

boxed_engines!(f32 f64);
