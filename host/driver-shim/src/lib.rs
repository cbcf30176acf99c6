//! Loads the CUDA driver library, `libcuda`, at run time.
//!
//! The CUDA layer and `cust_raw` declare the functions of the driver but do not define them. This
//! crate defines each of these symbols as a jump through a table, so that one binary links and
//! starts with and without a driver. Until [`load`] has filled the table, every function returns
//! `CUDA_ERROR_NO_DEVICE` (100); afterwards, a function that the driver lacks returns
//! `CUDA_ERROR_NOT_FOUND` (500).

#![expect(
    unsafe_code,
    reason = "defines the driver's C symbols and jumps to addresses found at run time"
)]

mod names;

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

/// The code that every function returns before [`load`] has succeeded: `CUDA_ERROR_NO_DEVICE`.
pub const NO_DEVICE: u32 = 100;

/// The code returned by a function that the driver lacks: `CUDA_ERROR_NOT_FOUND`.
pub const NOT_FOUND: u32 = 500;

/// The file name of the driver library. Its version has been 1 since the first release of CUDA.
pub const LIBRARY: &str = "libcuda.so.1";

/// The driver library could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    reason: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVIDIA driver not found: {}", self.reason)
    }
}

impl std::error::Error for LoadError {}

/// A function of the driver: its name, the slot for its address, and the symbol defined here.
struct Entry {
    name: &'static str,
    slot: &'static AtomicPtr<c_void>,
    /// Never called through this table; it keeps the symbol in the final binary, regardless of the
    /// order in which the linker reads its archives.
    symbol: unsafe extern "C" fn(),
}

extern "C" fn no_device() -> u32 {
    NO_DEVICE
}

extern "C" fn not_found() -> u32 {
    NOT_FOUND
}

macro_rules! forward {
    ($($name:ident)*) => {
        #[expect(non_upper_case_globals, reason = "each slot has the name of its function")]
        mod slot {
            $(pub(super) static $name: super::AtomicPtr<super::c_void> =
                super::AtomicPtr::new(super::no_device as *mut super::c_void);)*
        }

        mod symbol {
            $(
                /// Jumps to the driver's function of this name. Registers and stack are untouched,
                /// so arguments and result pass through whatever the C signature is.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                pub(super) unsafe extern "C" fn $name() {
                    #[cfg(target_arch = "x86_64")]
                    core::arch::naked_asm!(
                        "jmp qword ptr [rip + {slot}]",
                        slot = sym super::slot::$name
                    );
                    #[cfg(target_arch = "aarch64")]
                    core::arch::naked_asm!(
                        "adrp x16, {slot}",
                        "ldr x16, [x16, :lo12:{slot}]",
                        "br x16",
                        slot = sym super::slot::$name
                    );
                }
            )*
        }

        static TABLE: &[Entry] = &[
            $(Entry { name: stringify!($name), slot: &slot::$name, symbol: symbol::$name },)*
        ];
    };
}

names::driver_functions!(forward);

static DRIVER: OnceLock<Result<Library, LoadError>> = OnceLock::new();

/// Loads the driver and fills the table. It may be called from any thread and any number of times;
/// all calls return the result of the first one.
///
/// # Errors
/// The library cannot be loaded; the error contains the message of the loader.
pub fn load() -> Result<(), LoadError> {
    driver().map(|_| ())
}

/// The address of a driver function that is not in the table because it is newer than `cust_raw`;
/// `None` if there is no driver or if it lacks the function.
#[must_use]
pub fn symbol(name: &str) -> Option<*mut c_void> {
    address(driver().ok()?, name)
}

/// The names of the functions that this crate defines.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    TABLE.iter().map(|entry| {
        debug_assert_ne!(entry.symbol as usize, 0, "the symbol is linked in");
        entry.name
    })
}

fn driver() -> Result<&'static Library, LoadError> {
    DRIVER
        .get_or_init(|| {
            // SAFETY: the driver's initialisers may run on any thread and at any time.
            let library = unsafe { Library::new(LIBRARY) }.map_err(|error| LoadError {
                reason: loader_message(&error),
            })?;
            for entry in TABLE {
                let found = address(&library, entry.name).unwrap_or(not_found as *mut c_void);
                entry.slot.store(found, Ordering::Release);
            }
            Ok(library)
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// The message of the loader, which `libloading` keeps as the source of its error.
fn loader_message(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => loader_message(cause),
        None => error.to_string(),
    }
}

fn address(library: &Library, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the address is only looked up here; the caller is responsible for its signature.
    let symbol = unsafe { library.get::<*mut c_void>(name.as_bytes_with_nul()) }.ok()?;
    let address = *symbol;
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    unsafe extern "C" {
        fn cuInit(flags: u32) -> u32;
        fn cuDriverGetVersion(version: *mut i32) -> u32;
        fn cuGraphDebugDotPrint(graph: *mut c_void, path: *const i8, flags: u32) -> u32;
    }

    #[test]
    fn without_a_driver_every_function_returns_no_device() {
        if load().is_ok() {
            // Not `eprintln!`, whose output the test harness shows for failed tests only.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED functions without a driver: this machine has a driver"
            );
            return;
        }
        let mut version = 7;
        // SAFETY: the table still holds `no_device`, which takes nothing and touches nothing.
        let answers = unsafe {
            [
                cuInit(0),
                cuDriverGetVersion(&raw mut version),
                cuGraphDebugDotPrint(std::ptr::null_mut(), std::ptr::null(), 0),
            ]
        };
        assert_eq!(answers, [NO_DEVICE; 3]);
        assert_eq!(version, 7);
        assert_eq!(symbol("cuInit"), None);
    }

    #[test]
    fn all_calls_return_the_same_result_with_a_reason() {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
        if let Err(error) = load() {
            assert!(error.to_string().contains(LIBRARY), "{error}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = names().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(all.contains(&"cuMemAlloc_v2"));
    }
}
