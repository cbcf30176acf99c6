//! Typed launches on a stream.

use std::ffi::c_uint;

use warpstride_device::launch::{AnyLaunch, Cuda, KernelInfo, Work};

use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::module::Module;
use super::partition::partition_over;
use super::stream::Stream;

impl Module {
    /// Queues a kernel for `work`. If there is no work, nothing is launched.
    ///
    /// The caller orders the launch with other streams that use the same buffers, by events.
    ///
    /// # Errors
    /// An argument is too short ([`ExtentError`](warpstride_device::launch::ExtentError)), the
    /// stream belongs to another device, or an error of the driver, with the name of the kernel.
    pub fn launch<E>(
        &self,
        stream: &Stream,
        launch: &dyn AnyLaunch<Cuda>,
        work: Work,
    ) -> std::result::Result<(), E>
    where
        E: From<CudaError> + From<warpstride_device::launch::ExtentError>,
    {
        launch.check_extents()?;
        self.launch_checked(stream, launch, work)?;
        Ok(())
    }

    fn launch_checked(
        &self,
        stream: &Stream,
        launch: &dyn AnyLaunch<Cuda>,
        work: Work,
    ) -> Result<()> {
        stream.context().expect_same(self.context(), "the module")?;
        let KernelInfo {
            entry,
            block,
            cluster,
            ..
        } = launch.info();
        let threads = block.iter().product();
        let shared = launch.shared_bytes(threads);
        self.context().enter()?;
        let prepared = self.prepare(launch)?;
        let wave = match cluster {
            0 | 1 => self.multiprocessors() as usize * prepared.resident as usize,
            blocks => blocks as usize * prepared.clusters as usize,
        };
        let Some(grid) = partition_over(work, threads, wave, cluster) else {
            return Ok(());
        };
        let mut answer = 0;
        launch.with_addresses(&mut |parameters| {
            // SAFETY: the function belongs to this module, loaded in the current context;
            // `parameters` are the addresses of its arguments in order, as `#[kernel]` guarantees;
            // the extents were checked; memory that the arguments refer to is freed only after the
            // work.
            answer = unsafe {
                driver::cuLaunchKernel(
                    prepared.function,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    // `prepare` limits this to the shared memory of a block, far below 2³².
                    shared as c_uint,
                    stream.raw(),
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
        });
        check(answer, "cuLaunchKernel").map_err(|error| {
            error.with_kernel(entry).with_detail(format!(
                "grid {grid:?}, block {block:?}, {shared} bytes of dynamic shared memory"
            ))
        })
    }
}
