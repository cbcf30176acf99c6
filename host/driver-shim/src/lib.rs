//! `libcuda`, found at run time.
//!
//! `cust_raw` declares the driver's functions without saying where they are. This crate defines
//! every one of those symbols as a jump through a table, so that one binary links and starts with
//! and without a driver. Until [`load`] has filled the table every function answers
//! `CUDA_ERROR_NO_DEVICE` (100); afterwards a function that the driver lacks answers
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

/// What every function answers before [`load`] succeeded: `CUDA_ERROR_NO_DEVICE`.
pub const NO_DEVICE: u32 = 100;

/// What a function answers that the driver does not have: `CUDA_ERROR_NOT_FOUND`.
pub const NOT_FOUND: u32 = 500;

/// The driver's library. The version in the name has been 1 since the first CUDA.
pub const LIBRARY: &str = "libcuda.so.1";

/// Why there is no driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    reason: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the NVIDIA driver was not found: {}", self.reason)
    }
}

impl std::error::Error for LoadError {}

/// One function of the driver: its name, where its address is kept, and the symbol defined here.
struct Entry {
    name: &'static str,
    slot: &'static AtomicPtr<c_void>,
    /// Never called through this table; it keeps the symbol in the final binary, whatever order
    /// the linker reads its archives in.
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
        #[expect(non_upper_case_globals, reason = "named like the function whose address it keeps")]
        mod slot {
            $(pub(super) static $name: super::AtomicPtr<super::c_void> =
                super::AtomicPtr::new(super::no_device as *mut super::c_void);)*
        }

        mod symbol {
            $(
                /// Jumps to the driver's function of this name. Registers and stack are untouched, so
                /// arguments and result pass through whatever the C signature is.
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

/// Opens the driver and fills the table. May be called from any thread, any number of times; the
/// answer of the first call stands.
///
/// # Errors
/// The library cannot be opened; the loader's words say why.
pub fn load() -> Result<(), LoadError> {
    driver().map(|_| ())
}

/// Address of a function of the driver that the table does not have (newer than `cust_raw`).
/// `None`: there is no driver, or it does not have the function either.
#[must_use]
pub fn symbol(name: &str) -> Option<*mut c_void> {
    address(driver().ok()?, name)
}

/// Names of the functions that this crate defines.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    TABLE.iter().map(|entry| {
        debug_assert_ne!(entry.symbol as usize, 0, "the symbol is linked in");
        entry.name
    })
}

fn driver() -> Result<&'static Library, LoadError> {
    DRIVER
        .get_or_init(|| {
            // SAFETY: the driver's initialisers are meant to run on any thread; nothing of this
            // process has to happen before them.
            let library = unsafe { Library::new(LIBRARY) }.map_err(|error| LoadError {
                reason: loader_words(&error),
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

/// The loader's own message, which `libloading` keeps as the error's source.
fn loader_words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => loader_words(cause),
        None => error.to_string(),
    }
}

fn address(library: &Library, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the address is only looked up here; whoever calls it states its signature.
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
    fn without_a_driver_every_function_says_no_device() {
        if load().is_ok() {
            // Past the test harness, which shows the output of failed tests only.
            let _ = writeln!(std::io::stderr(), "SKIPPED no driver: there is one");
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
    fn the_answer_stands_and_says_why() {
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
