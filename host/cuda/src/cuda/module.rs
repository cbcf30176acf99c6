//! Modules: kernels compiled by the driver's JIT compiler and loaded on a device.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CString, c_int, c_uint, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use warpstride_device::launch::{AnyLaunch, Cuda, KernelInfo};

use super::context::Context;
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::kernels::{self, Kernels};
use super::lock::lock;

/// Bytes of each of the two logs of the JIT compiler.
const LOG_BYTES: usize = 16 * 1024;

/// Static and dynamic shared memory that a block can have without opting in (CUDA programming
/// guide, compute capabilities).
const SHARED_WITHOUT_OPT_IN: usize = 48 * 1024;

/// A kernel with a block size and an amount of dynamic shared memory, ready to launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared {
    pub(crate) function: driver::Handle,
    /// Blocks that are resident on a multiprocessor at once.
    pub(crate) resident: u32,
    /// Clusters that are resident on the device at once; 0 for a kernel without clusters.
    pub(crate) clusters: u32,
}

// SAFETY: a function handle may be used on any thread, as long as its module is loaded.
unsafe impl Send for Prepared {}

/// The key of a cached [`Prepared`]: entry name, threads per block, bytes of dynamic shared memory.
type Key = (&'static str, u32, usize);

/// A loaded PTX text.
struct Part {
    handle: driver::Handle,
    names: BTreeSet<String>,
}

/// Kernels loaded on one device.
pub struct Module {
    context: Arc<Context>,
    parts: Vec<Part>,
    arch: u32,
    multiprocessors: u32,
    shared_limit: usize,
    info_log: String,
    prepared: Mutex<HashMap<Key, Prepared>>,
}

// SAFETY: the driver allows any thread to use a module; the map is behind a mutex.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("device", &self.context.ordinal())
            .field("arch", &self.arch)
            .finish_non_exhaustive()
    }
}

impl Module {
    /// Compiles the kernels for the context's device and loads them.
    ///
    /// # Errors
    /// All texts are for newer devices, or the driver cannot compile a text. The error contains the
    /// compiler's log and states whether the PTX is newer than the driver.
    pub fn load(context: &Arc<Context>, kernels: &Kernels) -> Result<Self> {
        let info = super::device::limits(context.device())?;
        let texts = kernels.for_device(info.compute_capability)?;
        context.enter()?;
        // Created first, so that texts already loaded are unloaded if a later one fails.
        let mut module = Self {
            context: Arc::clone(context),
            parts: Vec::with_capacity(texts.len()),
            arch: texts.iter().map(|text| text.arch).max().unwrap_or(0),
            multiprocessors: info.multiprocessors,
            shared_limit: info.shared_per_block,
            info_log: String::new(),
            prepared: Mutex::default(),
        };
        for text in texts {
            let names = kernels::names(&text.ptx).into_iter().map(str::to_owned);
            let names = names.collect();
            let image = CString::new(text.ptx).map_err(|_| {
                CudaError::from_code(1, "cuModuleLoadDataEx").with_detail("the PTX has a zero byte")
            })?;
            let (handle, log) = compile(&image, text.arch)?;
            module.parts.push(Part { handle, names });
            module.info_log.push_str(&log);
        }
        Ok(module)
    }

    /// The highest architecture of the loaded PTX, times ten.
    #[must_use]
    pub fn arch(&self) -> u32 {
        self.arch
    }

    /// The information log of the JIT compiler.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.info_log
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The number of blocks of a launch that are resident on a multiprocessor at once.
    ///
    /// # Errors
    /// There is no such kernel, it needs too much shared memory, or its block is too large.
    pub fn resident_blocks(&self, launch: &dyn AnyLaunch<Cuda>) -> Result<u32> {
        self.context.enter()?;
        Ok(self.prepare(launch)?.resident)
    }

    /// The number of clusters of a launch that are resident on the device at once; 0 for a kernel
    /// without clusters.
    ///
    /// # Errors
    /// As for [`Module::resident_blocks`].
    pub fn resident_clusters(&self, launch: &dyn AnyLaunch<Cuda>) -> Result<u32> {
        self.context.enter()?;
        Ok(self.prepare(launch)?.clusters)
    }

    /// The number of multiprocessors of the device.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Looks up a kernel, opts in to its shared memory and queries its occupancy. The result is
    /// cached.
    ///
    /// # Errors
    /// There is no such kernel, it needs too much shared memory, or its block is too large.
    pub(crate) fn prepare(&self, launch: &dyn AnyLaunch<Cuda>) -> Result<Prepared> {
        let info = launch.info();
        let entry = info.entry;
        let block_threads = info.block.iter().product();
        let dynamic_shared = launch.shared_bytes(block_threads);
        let key = (entry, block_threads, dynamic_shared);
        let mut prepared = lock(&self.prepared);
        if let Some(cached) = prepared.get(&key) {
            return Ok(*cached);
        }
        let function = self.function(entry)?;
        let new = self
            .occupancy(&info, function, block_threads, dynamic_shared)
            .map_err(|error| error.with_kernel(entry))?;
        prepared.insert(key, new);
        Ok(new)
    }

    fn function(&self, entry: &'static str) -> Result<driver::Handle> {
        let name = CString::new(entry)
            .map_err(|_| CudaError::from_code(1, "cuModuleGetFunction").with_kernel(entry))?;
        let part = self.parts.iter().find(|part| part.names.contains(entry));
        // An unknown kernel is looked up in the first part, to get the driver's error.
        let Some(part) = part.or(self.parts.first()) else {
            return Err(CudaError::from_code(500, "cuModuleGetFunction")
                .with_kernel(entry)
                .with_detail("the device was created without kernels"));
        };
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name is zero-terminated, the address is of a live
        // variable.
        let answer =
            unsafe { driver::cuModuleGetFunction(&raw mut function, part.handle, name.as_ptr()) };
        check(answer, "cuModuleGetFunction").map_err(|error| {
            error
                .with_kernel(entry)
                .with_detail(format!("looked up in the PTX for sm_{}", self.arch))
        })?;
        Ok(function)
    }

    fn occupancy(
        &self,
        info: &KernelInfo,
        function: driver::Handle,
        block_threads: u32,
        dynamic_shared: usize,
    ) -> Result<Prepared> {
        let fixed = usize::try_from(attribute(function, driver::FUNC_STATIC_SHARED)?).unwrap_or(0);
        let needed = fixed.saturating_add(dynamic_shared);
        if needed > self.shared_limit {
            return Err(CudaError::SharedMemory {
                kernel: info.entry.to_owned(),
                needed,
                limit: self.shared_limit,
            });
        }
        // Below the limit, hence far below 2³¹.
        let bytes = c_int::try_from(dynamic_shared).unwrap_or(c_int::MAX);
        if needed > SHARED_WITHOUT_OPT_IN
            && attribute(function, driver::FUNC_MAX_DYNAMIC_SHARED)? < bytes
        {
            // SAFETY: the function belongs to a loaded module.
            let answer = unsafe {
                driver::cuFuncSetAttribute(function, driver::FUNC_MAX_DYNAMIC_SHARED, bytes)
            };
            check(answer, "cuFuncSetAttribute")?;
        }
        let mut resident = 0;
        // SAFETY: as above; the address is of a live variable.
        let answer = unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut resident,
                function,
                c_int::try_from(block_threads).unwrap_or(c_int::MAX),
                dynamic_shared,
            )
        };
        check(answer, "cuOccupancyMaxActiveBlocksPerMultiprocessor")?;
        let resident = u32::try_from(resident).unwrap_or(0);
        if resident == 0 {
            let most = attribute(function, driver::FUNC_MAX_THREADS)?;
            let registers = attribute(function, driver::FUNC_REGISTERS)?;
            return Err(
                CudaError::from_code(701, "cuOccupancyMaxActiveBlocksPerMultiprocessor")
                    .with_detail(format!(
                        "no block of {block_threads} threads fits: the kernel allows {most}, with \
                 {registers} registers per thread and {needed} bytes of shared memory"
                    )),
            );
        }
        let clusters = match info.cluster {
            0 | 1 => 0,
            blocks => {
                let found = active_clusters(function, info, dynamic_shared)?;
                found.unwrap_or(self.multiprocessors * resident / blocks)
            }
        };
        if info.cluster > 1 && clusters == 0 {
            return Err(CudaError::from_code(701, "cuOccupancyMaxActiveClusters")
                .with_detail(format!("no cluster of {} blocks fits", info.cluster)));
        }
        Ok(Prepared {
            function,
            resident,
            clusters,
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        for part in self.parts.drain(..) {
            let handle = UnloadLater(part.handle);
            self.context.defer_free(move |context| {
                let UnloadLater(handle) = { handle };
                let idle = context.wait_idle();
                context.record_drop(idle);
                // SAFETY: loaded once, unloaded once, when nothing on the device runs its code and
                // no graph holds its functions.
                let answer = unsafe { driver::cuModuleUnload(handle) };
                context.record_drop(check(answer, "cuModuleUnload"));
            });
        }
    }
}

struct UnloadLater(driver::Handle);

// SAFETY: a module may be unloaded on any thread.
unsafe impl Send for UnloadLater {}

/// The number of clusters that are resident on the device at once, or `None` if the driver cannot
/// tell. It is often less than the multiprocessors allow, because a cluster lies within one group
/// of them (GPC).
fn active_clusters(
    function: driver::Handle,
    info: &KernelInfo,
    dynamic_shared: usize,
) -> Result<Option<u32>> {
    let attribute = driver::LaunchAttribute {
        id: driver::CLUSTER_DIMENSION,
        padding: 0,
        cluster: [info.cluster, 1, 1],
        rest: [0; 13],
    };
    let config = driver::LaunchConfig {
        grid: [info.cluster, 1, 1],
        block: info.block,
        // `occupancy` limits this to the shared memory of a block, far below 2³².
        dynamic_shared_bytes: dynamic_shared as c_uint,
        stream: std::ptr::null_mut(),
        attributes: &raw const attribute,
        attribute_count: 1,
    };
    let mut clusters = 0;
    // SAFETY: the function belongs to a loaded module; the addresses are of live variables, and the
    // configuration has one attribute.
    let answer = unsafe {
        driver::cuOccupancyMaxActiveClusters(&raw mut clusters, function, &raw const config)
    };
    if answer == driver::NOT_FOUND {
        return Ok(None);
    }
    check(answer, "cuOccupancyMaxActiveClusters")?;
    Ok(Some(u32::try_from(clusters).unwrap_or(0)))
}

fn attribute(function: driver::Handle, attribute: c_uint) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: the function belongs to a loaded module; the address is of a live variable.
    let answer = unsafe { driver::cuFuncGetAttribute(&raw mut value, attribute, function) };
    check(answer, "cuFuncGetAttribute")?;
    Ok(value)
}

/// Compiles and loads a text, with both logs. The context must be current.
fn compile(image: &CString, arch: u32) -> Result<(driver::Handle, String)> {
    let mut info = vec![0_u8; LOG_BYTES];
    let mut errors = vec![0_u8; LOG_BYTES];
    let mut names = [
        driver::JIT_INFO_LOG,
        driver::JIT_INFO_LOG_SIZE,
        driver::JIT_ERROR_LOG,
        driver::JIT_ERROR_LOG_SIZE,
    ];
    // Each value is passed directly, widened to a pointer, not by address.
    let mut values: [*mut c_void; 4] = [
        info.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG_BYTES),
        errors.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG_BYTES),
    ];
    let mut handle = std::ptr::null_mut();
    // SAFETY: the image is zero-terminated; four names and four values; the logs are as large as
    // stated and outlive the call.
    let answer = unsafe {
        driver::cuModuleLoadDataEx(
            &raw mut handle,
            image.as_ptr().cast(),
            4,
            names.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    check(answer, "cuModuleLoadDataEx").map_err(|error| {
        let newer = if answer == driver::UNSUPPORTED_PTX_VERSION {
            "the PTX is newer than the driver: install a newer driver; "
        } else {
            ""
        };
        error.with_detail(format!(
            "{newer}PTX for sm_{arch}; log of the driver's compiler: {}",
            first_log(&errors, &info)
        ))
    })?;
    Ok((handle, text(&info)))
}

/// The error log, or the information log if there are no errors.
fn first_log(errors: &[u8], info: &[u8]) -> String {
    match (text(errors), text(info)) {
        (errors, _) if !errors.is_empty() => errors,
        (_, info) if !info.is_empty() => info,
        _ => "empty".to_owned(),
    }
}

/// The text before the first zero byte.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|b| *b == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_end_at_the_first_zero_byte() {
        assert_eq!(text(b"line 1\n\0\0rest"), "line 1");
        assert_eq!(first_log(b"\0", b"\0"), "empty");
        assert_eq!(first_log(b"bad\0", b"fine\0"), "bad");
    }
}
