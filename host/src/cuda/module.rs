//! Loaded kernels: PTX, the driver's JIT, and the functions in it.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_uint, c_void};
use std::fmt;
use std::sync::{Arc, Mutex};

use warpstride_device::launch::{AnyLaunch, Cuda, KernelInfo};

use super::context::{Context, lock};
use super::error::{CudaError, Result, check};
use super::ffi::driver;

/// Bytes kept of each of the JIT's two logs.
const LOG_BYTES: usize = 16 * 1024;

/// Dynamic and static shared memory that a block may have without asking (CUDA programming guide,
/// compute capabilities).
const SHARED_WITHOUT_ASKING: usize = 48 * 1024;

/// Kernels as text for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ptx<'a> {
    /// Lowest compute capability that it runs on, times ten.
    pub arch: u32,
    /// The text.
    pub text: &'a str,
}

impl Ptx<'_> {
    /// The text with only those kernels whose names `keep` agrees to. The driver compiles all that
    /// it is given, whether or not it is launched: the kernels of one science take a fraction of
    /// the time of all.
    #[must_use]
    pub fn keeping(&self, keep: impl Fn(&str) -> bool) -> String {
        let mut kept = String::new();
        // As LLVM writes it, a kernel is from such a line to the next that is only a brace.
        let mut skipping = false;
        for line in self.text.split_inclusive('\n') {
            if let Some(rest) = line.strip_prefix(".visible .entry ") {
                let name = rest.split('(').next().unwrap_or(rest);
                skipping = !keep(name.trim());
            }
            if !skipping {
                kept.push_str(line);
            }
            if line.trim_end() == "}" {
                skipping = false;
            }
        }
        kept
    }
}

/// The newest of `built` that runs on a device of compute capability `found` (times ten).
///
/// # Errors
/// All of them are for newer devices.
pub fn choose_ptx<'a>(built: &[Ptx<'a>], found: u32) -> Result<Ptx<'a>> {
    built
        .iter()
        .filter(|ptx| ptx.arch <= found)
        .max_by_key(|ptx| ptx.arch)
        .copied()
        .ok_or_else(|| CudaError::Architecture {
            found,
            lowest: built.iter().map(|ptx| ptx.arch).min().unwrap_or(0),
        })
}

/// A kernel with a block size and an amount of dynamic shared memory, ready to be launched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared {
    pub(crate) function: driver::Handle,
    /// Blocks that a multiprocessor holds at once.
    pub(crate) resident: u32,
}

// SAFETY: a function handle may be used on any thread, as long as its module is loaded.
unsafe impl Send for Prepared {}

/// What decides whether a [`Prepared`] can be used again: entry name, threads of a block, bytes of
/// dynamic shared memory.
type Key = (&'static str, u32, usize);

/// Loaded kernels of one device.
pub struct Module {
    context: Arc<Context>,
    handle: driver::Handle,
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
    /// Compiles PTX for the context's device and loads it.
    ///
    /// # Errors
    /// The JIT's, with its log; a PTX newer than the driver says so.
    pub fn load(context: &Arc<Context>, ptx: Ptx<'_>) -> Result<Self> {
        let info = super::device::limits(context.device())?;
        context.enter()?;
        let image = CString::new(ptx.text).map_err(|_| {
            CudaError::from_code(1, "cuModuleLoadDataEx").with_detail("the PTX has a zero byte")
        })?;
        let (handle, info_log) = compile(&image, ptx.arch)?;
        Ok(Self {
            context: Arc::clone(context),
            handle,
            arch: ptx.arch,
            multiprocessors: info.multiprocessors,
            shared_limit: info.shared_per_block,
            info_log,
            prepared: Mutex::default(),
        })
    }

    /// Architecture of the PTX that was loaded, times ten.
    #[must_use]
    pub fn arch(&self) -> u32 {
        self.arch
    }

    /// What the JIT had to say.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.info_log
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Blocks of a launch that a multiprocessor holds at once.
    ///
    /// # Errors
    /// No such kernel, too much shared memory, or a block that fits nowhere.
    pub fn resident_blocks(&self, launch: &dyn AnyLaunch<Cuda>) -> Result<u32> {
        let KernelInfo { entry, block, .. } = launch.info();
        let threads = block.iter().product();
        self.context.enter()?;
        let shared = launch.shared_bytes(threads);
        Ok(self.prepare(entry, threads, shared)?.resident)
    }

    /// Multiprocessors of the device.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Looks a kernel up, allows it its shared memory and asks for its occupancy; the first time.
    ///
    /// # Errors
    /// No such kernel, too much shared memory, a block larger than the kernel allows.
    pub(crate) fn prepare(
        &self,
        entry: &'static str,
        block_threads: u32,
        dynamic_shared: usize,
    ) -> Result<Prepared> {
        let key = (entry, block_threads, dynamic_shared);
        let mut prepared = lock(&self.prepared);
        if let Some(known) = prepared.get(&key) {
            return Ok(*known);
        }
        let function = self.function(entry)?;
        let new = self
            .occupancy(entry, function, block_threads, dynamic_shared)
            .map_err(|error| error.with_kernel(entry))?;
        prepared.insert(key, new);
        Ok(new)
    }

    fn function(&self, entry: &'static str) -> Result<driver::Handle> {
        let name = CString::new(entry)
            .map_err(|_| CudaError::from_code(1, "cuModuleGetFunction").with_kernel(entry))?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name is zero-terminated, the address is of a live
        // variable.
        let answer =
            unsafe { driver::cuModuleGetFunction(&raw mut function, self.handle, name.as_ptr()) };
        check(answer, "cuModuleGetFunction").map_err(|error| {
            error
                .with_kernel(entry)
                .with_detail(format!("looked for in the PTX for sm_{}", self.arch))
        })?;
        Ok(function)
    }

    fn occupancy(
        &self,
        entry: &'static str,
        function: driver::Handle,
        block_threads: u32,
        dynamic_shared: usize,
    ) -> Result<Prepared> {
        let fixed = usize::try_from(attribute(function, driver::FUNC_STATIC_SHARED)?).unwrap_or(0);
        let needed = fixed.saturating_add(dynamic_shared);
        if needed > self.shared_limit {
            return Err(CudaError::SharedMemory {
                kernel: entry.to_owned(),
                needed,
                limit: self.shared_limit,
            });
        }
        // Below the limit, hence far below 2³¹.
        let bytes = c_int::try_from(dynamic_shared).unwrap_or(c_int::MAX);
        if needed > SHARED_WITHOUT_ASKING
            && attribute(function, driver::FUNC_MAX_DYNAMIC_SHARED)? < bytes
        {
            // SAFETY: the function is of a loaded module.
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
                 {registers} registers a thread and {needed} bytes of shared memory"
                    )),
            );
        }
        Ok(Prepared { function, resident })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let handle = UnloadLater(self.handle);
        self.context.retire(move |context| {
            let UnloadLater(handle) = { handle };
            let idle = context.wait_idle();
            context.record_drop(idle);
            // SAFETY: loaded once, unloaded once, when nothing on the device runs its code and no
            // graph holds its functions.
            let answer = unsafe { driver::cuModuleUnload(handle) };
            context.record_drop(check(answer, "cuModuleUnload"));
        });
    }
}

struct UnloadLater(driver::Handle);

// SAFETY: a module may be unloaded on any thread.
unsafe impl Send for UnloadLater {}

fn attribute(function: driver::Handle, attribute: c_uint) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: the caller's function is of a loaded module; the address is of a live variable.
    let answer = unsafe { driver::cuFuncGetAttribute(&raw mut value, attribute, function) };
    check(answer, "cuFuncGetAttribute")?;
    Ok(value)
}

/// Runs the JIT with both logs. The context is current.
fn compile(image: &CString, arch: u32) -> Result<(driver::Handle, String)> {
    let mut info = vec![0_u8; LOG_BYTES];
    let mut errors = vec![0_u8; LOG_BYTES];
    let mut names = [
        driver::JIT_INFO_LOG,
        driver::JIT_INFO_LOG_SIZE,
        driver::JIT_ERROR_LOG,
        driver::JIT_ERROR_LOG_SIZE,
    ];
    // Each value is passed by itself, widened to a pointer, not by address.
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
            "{newer}PTX for sm_{arch}; the driver's compiler said: {}",
            said(&errors, &info)
        ))
    })?;
    Ok((handle, text(&info)))
}

fn said(errors: &[u8], info: &[u8]) -> String {
    match (text(errors), text(info)) {
        (errors, _) if !errors.is_empty() => errors,
        (_, info) if !info.is_empty() => info,
        _ => "nothing".to_owned(),
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

    const BUILT: [Ptx<'static>; 2] = [
        Ptx {
            arch: 80,
            text: "a",
        },
        Ptx {
            arch: 90,
            text: "b",
        },
    ];

    #[test]
    fn the_newest_that_runs_is_chosen() {
        for (found, expected) in [(80, 80), (86, 80), (89, 80), (90, 90), (120, 90)] {
            assert_eq!(choose_ptx(&BUILT, found).unwrap().arch, expected);
        }
        let error = choose_ptx(&BUILT, 75).unwrap_err();
        assert_eq!(
            error,
            CudaError::Architecture {
                found: 75,
                lowest: 80
            }
        );
    }

    #[test]
    fn the_kernels_that_are_kept_are_whole() {
        let text = ".version 8.1\n\n.visible .entry a(\n)\n{\nret;\n}\n// end\n\
                    .visible .entry b(\n)\n.maxntid 32\n{\n{ inner }\nret;\n}\n// end\n";
        let ptx = Ptx { arch: 80, text };
        assert_eq!(ptx.keeping(|_| true), text);
        let b = ptx.keeping(|name| name == "b");
        assert!(
            b.starts_with(".version 8.1\n\n// end\n.visible .entry b(\n"),
            "{b}"
        );
        assert!(b.ends_with("{ inner }\nret;\n}\n// end\n"), "{b}");
        assert!(!ptx.keeping(|_| false).contains("ret;"));
    }

    #[test]
    fn logs_end_at_the_first_zero() {
        assert_eq!(text(b"line 1\n\0\0rest"), "line 1");
        assert_eq!(said(b"\0", b"\0"), "nothing");
        assert_eq!(said(b"bad\0", b"fine\0"), "bad");
    }
}
