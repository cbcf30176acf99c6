//! The functions of cuFFT, loaded at run time. Signatures: cuFFT API reference.

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::library::{LibrarySearch, function};
use crate::cuda::error::CudaError;

const SEARCH: LibrarySearch = LibrarySearch {
    name: "cuFFT",
    variable: "WARPSTRIDE_CUFFT",
    sonames: &["libcufft.so.12", "libcufft.so.11"],
    folders: &[
        "/usr/local/cuda/lib64",
        "/usr/local/cuda/targets/x86_64-linux/lib",
        "/opt/cuda/lib64",
        "/usr/lib/x86_64-linux-gnu",
    ],
};

pub(crate) type Plan = c_int;

/// `CUFFT_C2C`
pub(crate) const C2C: c_int = 0x29;
/// `CUFFT_FORWARD`
pub(crate) const FORWARD: c_int = -1;
/// `CUFFT_INVERSE`
pub(crate) const INVERSE: c_int = 1;

type MakePlanMany = unsafe extern "C" fn(
    plan: Plan,
    rank: c_int,
    sizes: *mut c_longlong,
    input_embed: *mut c_longlong,
    input_stride: c_longlong,
    input_distance: c_longlong,
    output_embed: *mut c_longlong,
    output_stride: c_longlong,
    output_distance: c_longlong,
    kind: c_int,
    batch: c_longlong,
    work_bytes: *mut usize,
) -> u32;

/// The functions that this crate uses.
pub(crate) struct CuFft {
    pub(crate) create: unsafe extern "C" fn(*mut Plan) -> u32,
    pub(crate) destroy: unsafe extern "C" fn(Plan) -> u32,
    pub(crate) set_stream: unsafe extern "C" fn(Plan, *mut c_void) -> u32,
    pub(crate) set_auto_allocation: unsafe extern "C" fn(Plan, c_int) -> u32,
    pub(crate) make_plan_many: MakePlanMany,
    pub(crate) set_work_area: unsafe extern "C" fn(Plan, *mut c_void) -> u32,
    pub(crate) exec_c2c: unsafe extern "C" fn(Plan, *mut c_void, *mut c_void, c_int) -> u32,
    get_version: unsafe extern "C" fn(*mut c_int) -> u32,
    /// Keeps the function addresses valid.
    _library: Library,
}

/// The functions of cuFFT, loaded at the first call.
///
/// # Errors
/// The library was not found, or lacks a function.
pub(crate) fn cufft() -> Result<&'static CuFft, CudaError> {
    static CUFFT: OnceLock<Result<CuFft, CudaError>> = OnceLock::new();
    CUFFT.get_or_init(open).as_ref().map_err(Clone::clone)
}

fn open() -> Result<CuFft, CudaError> {
    let library = SEARCH.open()?;
    // SAFETY: the field types are the signatures of the cuFFT reference, the same in 11 and 12; the
    // library stays loaded as long as the addresses are used.
    unsafe {
        Ok(CuFft {
            create: function(&library, &SEARCH, "cufftCreate")?,
            destroy: function(&library, &SEARCH, "cufftDestroy")?,
            set_stream: function(&library, &SEARCH, "cufftSetStream")?,
            set_auto_allocation: function(&library, &SEARCH, "cufftSetAutoAllocation")?,
            make_plan_many: function(&library, &SEARCH, "cufftMakePlanMany64")?,
            set_work_area: function(&library, &SEARCH, "cufftSetWorkArea")?,
            exec_c2c: function(&library, &SEARCH, "cufftExecC2C")?,
            get_version: function(&library, &SEARCH, "cufftGetVersion")?,
            _library: library,
        })
    }
}

/// The version of cuFFT: 1000 × major + 100 × minor + patch.
///
/// # Errors
/// The library was not found, or the call failed.
pub fn version() -> Result<i32, CudaError> {
    let mut version = 0;
    // SAFETY: the address is of a live variable.
    let answer = unsafe { (cufft()?.get_version)(&raw mut version) };
    check(answer, "cufftGetVersion", || None)?;
    Ok(version)
}

/// Turns a cuFFT code into a result.
pub(crate) fn check(
    code: u32,
    call: &'static str,
    detail: impl FnOnce() -> Option<String>,
) -> Result<(), CudaError> {
    if code == 0 {
        return Ok(());
    }
    Err(CudaError::Library {
        library: SEARCH.name,
        call,
        code,
        name: name_of(code),
        detail: detail(),
    })
}

/// Names of `cufftResult`, from the cuFFT API reference.
fn name_of(code: u32) -> &'static str {
    match code {
        1 => "CUFFT_INVALID_PLAN",
        2 => "CUFFT_ALLOC_FAILED",
        3 => "CUFFT_INVALID_TYPE",
        4 => "CUFFT_INVALID_VALUE",
        5 => "CUFFT_INTERNAL_ERROR",
        6 => "CUFFT_EXEC_FAILED",
        7 => "CUFFT_SETUP_FAILED",
        8 => "CUFFT_INVALID_SIZE",
        9 => "CUFFT_UNALIGNED_DATA",
        11 => "CUFFT_INVALID_DEVICE",
        13 => "CUFFT_NO_WORKSPACE",
        14 => "CUFFT_NOT_IMPLEMENTED",
        16 => "CUFFT_NOT_SUPPORTED",
        17 => "CUFFT_MISSING_DEPENDENCY",
        18 => "CUFFT_NVRTC_FAILURE",
        19 => "CUFFT_NVJITLINK_FAILURE",
        20 => "CUFFT_NVSHMEM_FAILURE",
        _ => "unnamed",
    }
}
