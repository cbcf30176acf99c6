//! What went wrong: the driver's number, name and text, the call and, where there is one, the
//! kernel.

use std::ffi::{CStr, c_char};
use std::fmt;

use super::ffi::driver;

/// Result of an operation of the fence.
pub type Result<T> = std::result::Result<T, CudaError>;

/// An error of the CUDA driver or of one of its libraries, or a refusal of the fence itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// There is no driver on this machine.
    #[error("{reason}")]
    NoDriver {
        /// The loader's words.
        reason: String,
    },
    /// There is a driver, but it sees no device.
    #[error("the CUDA driver is installed, but it sees no device")]
    NoDevice,
    /// A device was asked for that does not exist.
    #[error("there is no CUDA device {asked}: this machine has {found}, numbered from 0")]
    Ordinal {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// The driver refused a call or reports what went wrong in earlier work.
    #[error("{}", DriverWords { call, code: *code, name, text, kernel: kernel.as_deref(), detail: detail.as_deref() })]
    Driver {
        /// The driver's number (`CUresult`).
        code: u32,
        /// Its name for it.
        name: String,
        /// Its explanation.
        text: String,
        /// The function that answered so.
        call: &'static str,
        /// The kernel that the call was about.
        kernel: Option<String>,
        /// What else helps: the JIT's log, the launch's sizes.
        detail: Option<String>,
    },
    /// Not enough memory.
    #[error(
        "out of {place} memory: {what} needs {needed} bytes, {free} of {total} are free ({call}); \
         close other programs on the device, choose another one, or reduce the size of the problem"
    )]
    OutOfMemory {
        /// Which memory: `device` or `page-locked`.
        place: &'static str,
        /// What it was for.
        what: String,
        /// Bytes asked for.
        needed: usize,
        /// Bytes free on the device.
        free: usize,
        /// Bytes that the device has.
        total: usize,
        /// The call that failed.
        call: &'static str,
    },
    /// More bytes than an address can count.
    #[error("{what}: {len} elements of {element} bytes are more than memory can address")]
    TooLarge {
        /// What it was for.
        what: String,
        /// Elements asked for.
        len: usize,
        /// Bytes of one.
        element: usize,
    },
    /// A kernel needs more shared memory than a block may have.
    #[error(
        "kernel {kernel}: a block needs {needed} bytes of shared memory, the device allows {limit}"
    )]
    SharedMemory {
        /// Entry name.
        kernel: String,
        /// Static and dynamic bytes.
        needed: usize,
        /// Bytes that a block may have.
        limit: usize,
    },
    /// The extents of a copy do not fit its buffers.
    #[error("{what}: elements {start}..{end} of a buffer of {len}")]
    Range {
        /// What was done.
        what: &'static str,
        /// First element.
        start: usize,
        /// One past the last.
        end: usize,
        /// Elements there.
        len: usize,
    },
    /// Two things of different devices were used together.
    #[error("{what} belongs to device {found}, the stream to device {expected}")]
    OtherDevice {
        /// What does not fit.
        what: &'static str,
        /// The stream's device.
        expected: usize,
        /// Its own.
        found: usize,
    },
    /// Nobody waits for the device's work any more.
    #[error(
        "the work of device {device} did not end after another device had failed; what it uses is \
         given up"
    )]
    GivenUp {
        /// The device's number.
        device: usize,
    },
    /// Something that a graph cannot hold.
    #[error("{what} cannot be captured into a graph")]
    Captured {
        /// What was tried.
        what: &'static str,
    },
    /// None of the PTX built in runs on the device.
    #[error("no kernels for compute capability {found}: the lowest built in is {lowest}")]
    Architecture {
        /// The device's, times ten.
        found: u32,
        /// The lowest built in, times ten.
        lowest: u32,
    },
    /// A library could not be opened.
    #[error("{library} was not found (tried {tried}); set {variable} to its full path")]
    LibraryMissing {
        /// cuFFT or NCCL.
        library: &'static str,
        /// Names and paths tried, with the loader's last words.
        tried: String,
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// A library refused.
    #[error("{library}: {call} failed with {code} ({name}){}", detail_of(detail.as_deref()))]
    Library {
        /// cuFFT or NCCL.
        library: &'static str,
        /// The function.
        call: &'static str,
        /// The library's number.
        code: u32,
        /// Its name for it.
        name: &'static str,
        /// What was asked of it.
        detail: Option<String>,
    },
}

struct DriverWords<'a> {
    call: &'a str,
    code: u32,
    name: &'a str,
    text: &'a str,
    kernel: Option<&'a str>,
    detail: Option<&'a str>,
}

impl fmt::Display for DriverWords<'_> {
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
    /// The driver's answer as an error.
    pub(crate) fn from_code(code: u32, call: &'static str) -> Self {
        Self::Driver {
            code,
            name: words(code, driver::cuGetErrorName)
                .unwrap_or_else(|| name_without_driver(code).to_owned()),
            text: words(code, driver::cuGetErrorString)
                .unwrap_or_else(|| "the driver has no text for it".to_owned()),
            call,
            kernel: None,
            detail: None,
        }
    }

    /// The same, saying which kernel it is about.
    pub(crate) fn with_kernel(mut self, entry: &str) -> Self {
        if let Self::Driver { kernel, .. } = &mut self {
            *kernel = Some(entry.to_owned());
        }
        self
    }

    /// The same, with what else helps.
    pub(crate) fn with_detail(mut self, words: impl Into<String>) -> Self {
        if let Self::Driver { detail, .. } = &mut self {
            *detail = Some(words.into());
        }
        self
    }

    /// The driver's number, where the driver answered.
    #[must_use]
    pub fn code(&self) -> Option<u32> {
        match self {
            Self::Driver { code, .. } => Some(*code),
            Self::OutOfMemory { .. } => Some(driver::OUT_OF_MEMORY),
            _ => None,
        }
    }

    /// Whether it says that there is nothing to run on here, rather than that something failed.
    #[must_use]
    pub fn no_machine(&self) -> bool {
        matches!(self, Self::NoDriver { .. } | Self::NoDevice)
    }
}

/// Turns the driver's answer into a result.
pub(crate) fn check(code: u32, call: &'static str) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(CudaError::from_code(code, call))
    }
}

/// The same for an answer that came through `cust`, whose enum has the driver's numbers.
pub(crate) fn from_cust(error: cust::error::CudaError, call: &'static str) -> CudaError {
    CudaError::from_code(error as u32, call)
}

fn words(
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
    fn driver_errors_say_call_number_and_kernel() {
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
    fn out_of_memory_says_what_for_and_how_much() {
        let error = CudaError::OutOfMemory {
            place: "device",
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
