//! Errors: the number, name and text of the driver, the call and, if one is involved, the kernel.

use std::ffi::{CStr, c_char};
use std::fmt;

use super::ffi::driver;

/// The result of an operation of the CUDA layer.
pub type Result<T> = std::result::Result<T, CudaError>;

/// An error of the CUDA driver or of one of its libraries, or a call that the CUDA layer itself
/// refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// This machine has no CUDA driver.
    #[error("{reason}")]
    NoDriver {
        /// The message of the loader.
        reason: String,
    },
    /// The driver is installed but finds no device.
    #[error("the CUDA driver is installed but finds no device")]
    NoDevice,
    /// The requested device does not exist.
    #[error(
        "CUDA device {requested}: expected a number below {found}, the devices of this machine"
    )]
    Ordinal {
        /// The requested ordinal.
        requested: usize,
        /// The number of devices.
        found: usize,
    },
    /// The driver refused a call, or reports an error of earlier asynchronous work.
    #[error("{}", DriverMessage { call, code: *code, name, text, kernel: kernel.as_deref(), detail: detail.as_deref() })]
    Driver {
        /// The code of the driver (`CUresult`).
        code: u32,
        /// The driver's name of the code.
        name: String,
        /// The driver's description of the code.
        text: String,
        /// The function that returned the code.
        call: &'static str,
        /// The kernel of the call, if any.
        kernel: Option<String>,
        /// More information, such as the log of the JIT compiler or the sizes of a launch.
        detail: Option<String>,
    },
    /// An allocation failed.
    #[error(
        "out of {kind} memory: {what} needs {needed} bytes, {free} of {total} are free ({call}); \
         close other programs on the device, choose another one, or reduce the size of the problem"
    )]
    OutOfMemory {
        /// The kind of memory: `device` or `page-locked`.
        kind: &'static str,
        /// The purpose of the memory.
        what: String,
        /// Bytes requested.
        needed: usize,
        /// Bytes free on the device.
        free: usize,
        /// Bytes of the whole device.
        total: usize,
        /// The call that failed.
        call: &'static str,
    },
    /// The size of an allocation exceeds the address space.
    #[error("{what}: {len} elements of {element} bytes are more than memory can address")]
    TooLarge {
        /// The purpose of the memory.
        what: String,
        /// Elements requested.
        len: usize,
        /// Bytes of one element.
        element: usize,
    },
    /// Memory of another library cannot be used.
    #[error("{what}: {reason}")]
    Foreign {
        /// The array.
        what: String,
        /// What was expected and found.
        reason: String,
    },
    /// A kernel needs more shared memory than a block can have.
    #[error(
        "kernel {kernel}: a block needs {needed} bytes of shared memory, the device allows {limit}"
    )]
    SharedMemory {
        /// Name of the kernel.
        kernel: String,
        /// Static and dynamic bytes.
        needed: usize,
        /// Bytes that a block can have.
        limit: usize,
    },
    /// The thread of another device of a group has ended, probably with an error.
    #[error("device {device} of the group has ended before the others")]
    PeerEnded {
        /// Its place in the group.
        device: usize,
    },
    /// A range of elements exceeds its buffer.
    #[error("{what}: elements {start}..{end} exceed a buffer of {len}")]
    Range {
        /// The operation.
        what: &'static str,
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements of the buffer.
        len: usize,
    },
    /// An object of one device was used in a stream of another.
    #[error("{what}: expected device {expected} (the device of the stream), found device {found}")]
    OtherDevice {
        /// The object.
        what: &'static str,
        /// The device of the stream.
        expected: usize,
        /// The device of the object.
        found: usize,
    },
    /// The work of the device was abandoned, because it waits for a device that failed.
    #[error(
        "the work of device {device} did not finish after another device failed; the memory that it \
         uses is leaked"
    )]
    Abandoned {
        /// The ordinal of the device.
        device: usize,
    },
    /// An operation that a graph cannot contain.
    #[error("{what} cannot be captured into a graph")]
    Captured {
        /// The operation.
        what: &'static str,
    },
    /// None of the PTX texts runs on the device.
    #[error(
        "expected a device of compute capability {}.{} or higher, found {}.{}",
        .lowest / 10, .lowest % 10, .found / 10, .found % 10
    )]
    Architecture {
        /// Compute capability of the device, times ten.
        found: u32,
        /// The lowest one among the PTX texts, times ten.
        lowest: u32,
    },
    /// A library could not be loaded.
    #[error("{library} was not found (tried {tried}); set {variable} to its full path")]
    LibraryMissing {
        /// cuFFT or NCCL.
        library: &'static str,
        /// Names and paths tried, each with the loader's message.
        tried: String,
        /// The environment variable that can hold the library's path.
        variable: &'static str,
    },
    /// A call into a library failed.
    #[error("{library}: {call} failed with {code} ({name}){}", detail_of(detail.as_deref()))]
    Library {
        /// cuFFT or NCCL.
        library: &'static str,
        /// The function.
        call: &'static str,
        /// The code of the library.
        code: u32,
        /// The library's name of the code.
        name: &'static str,
        /// More information about the call.
        detail: Option<String>,
    },
}

struct DriverMessage<'a> {
    call: &'a str,
    code: u32,
    name: &'a str,
    text: &'a str,
    kernel: Option<&'a str>,
    detail: Option<&'a str>,
}

impl fmt::Display for DriverMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kernel) = self.kernel {
            write!(f, "kernel {kernel}: ")?;
        }
        let Self {
            call,
            code,
            name,
            text,
            ..
        } = self;
        write!(f, "{call} failed with {code} ({name}: {text})")?;
        f.write_str(&detail_of(self.detail))
    }
}

fn detail_of(detail: Option<&str>) -> String {
    detail.map_or_else(String::new, |detail| format!("; {detail}"))
}

impl CudaError {
    /// A driver code as an error.
    pub(crate) fn from_code(code: u32, call: &'static str) -> Self {
        Self::Driver {
            code,
            name: driver_text(code, driver::cuGetErrorName)
                .unwrap_or_else(|| name_without_driver(code).to_owned()),
            text: driver_text(code, driver::cuGetErrorString)
                .unwrap_or_else(|| "the driver has no text for it".to_owned()),
            call,
            kernel: None,
            detail: None,
        }
    }

    /// The same error with the name of a kernel.
    pub(crate) fn with_kernel(mut self, entry: &str) -> Self {
        if let Self::Driver { kernel, .. } = &mut self {
            *kernel = Some(entry.to_owned());
        }
        self
    }

    /// The same error with more information.
    pub(crate) fn with_detail(mut self, text: impl Into<String>) -> Self {
        if let Self::Driver { detail, .. } = &mut self {
            *detail = Some(text.into());
        }
        self
    }

    /// The code of the driver, if the error came from the driver.
    #[must_use]
    pub fn code(&self) -> Option<u32> {
        match self {
            Self::Driver { code, .. } => Some(*code),
            Self::OutOfMemory { .. } => Some(driver::OUT_OF_MEMORY),
            _ => None,
        }
    }

    /// Whether there is no device to run on (no driver, or no device), as opposed to a failure of
    /// one.
    #[must_use]
    pub fn no_device(&self) -> bool {
        matches!(self, Self::NoDriver { .. } | Self::NoDevice)
    }
}

/// Turns a driver code into a result.
pub(crate) fn check(code: u32, call: &'static str) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(CudaError::from_code(code, call))
    }
}

fn driver_text(
    code: u32,
    function: unsafe extern "C" fn(u32, *mut *const c_char) -> u32,
) -> Option<String> {
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: the driver writes the address of a static string, or leaves null.
    let answer = unsafe { function(code, &raw mut text) };
    if answer != 0 || text.is_null() {
        return None;
    }
    // SAFETY: not null, so the driver's own zero-terminated static text.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

fn name_without_driver(code: u32) -> &'static str {
    match code {
        2 => "CUDA_ERROR_OUT_OF_MEMORY",
        3 => "CUDA_ERROR_NOT_INITIALIZED",
        100 => "CUDA_ERROR_NO_DEVICE",
        500 => "CUDA_ERROR_NOT_FOUND",
        _ => "unnamed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_errors_contain_call_code_and_kernel() {
        let error = CudaError::from_code(100, "cuInit")
            .with_kernel("scale")
            .with_detail("grid 3");
        assert_eq!(error.code(), Some(100));
        let text = error.to_string();
        for part in [
            "kernel scale",
            "cuInit",
            "100",
            "CUDA_ERROR_NO_DEVICE",
            "grid 3",
        ] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }

    #[test]
    fn out_of_memory_names_the_purpose_and_the_sizes() {
        let error = CudaError::OutOfMemory {
            kind: "device",
            what: "exit waves".to_owned(),
            needed: 4096,
            free: 1024,
            total: 2048,
            call: "cuMemAlloc",
        };
        let text = error.to_string();
        for part in ["exit waves", "4096", "1024", "2048"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }
}
