//! The functions of NCCL, loaded at run time. Signatures: `nccl.h` 2.x.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use super::library::{LibrarySearch, function};
use crate::cuda::error::CudaError;

const SEARCH: LibrarySearch = LibrarySearch {
    name: "NCCL",
    variable: "WARPSTRIDE_NCCL",
    sonames: &["libnccl.so.2"],
    folders: &["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"],
};

/// `ncclUniqueId`: 128 bytes that all ranks of a communicator must share.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UniqueId {
    /// Opaque bytes.
    pub internal: [c_char; 128],
}

/// `ncclComm_t`
pub type Comm = *mut c_void;

/// The functions for collective operations. Calling them is `unsafe`: the caller is responsible for
/// handles and addresses, as with any C function.
pub struct Nccl {
    /// `ncclGetVersion`
    pub get_version: unsafe extern "C" fn(*mut c_int) -> u32,
    /// `ncclGetErrorString`
    pub get_error_string: unsafe extern "C" fn(u32) -> *const c_char,
    /// `ncclGetUniqueId`
    pub get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> u32,
    /// `ncclCommInitRank`: communicator, number of ranks, identifier, own rank.
    pub comm_init_rank: unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int) -> u32,
    /// `ncclCommDestroy`
    pub comm_destroy: unsafe extern "C" fn(Comm) -> u32,
    /// `ncclAllReduce`: from, to, elements, element type, operation, communicator, stream.
    pub all_reduce: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        c_int,
        Comm,
        *mut c_void,
    ) -> u32,
    /// `ncclBroadcast`: from, to, elements, element type, root, communicator, stream.
    pub broadcast: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        c_int,
        Comm,
        *mut c_void,
    ) -> u32,
    /// `ncclSend`: from, elements, element type, peer, communicator, stream.
    pub send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Comm, *mut c_void) -> u32,
    /// `ncclRecv`: to, elements, element type, peer, communicator, stream.
    pub recv: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Comm, *mut c_void) -> u32,
    /// `ncclGroupStart`
    pub group_start: unsafe extern "C" fn() -> u32,
    /// `ncclGroupEnd`
    pub group_end: unsafe extern "C" fn() -> u32,
    /// Keeps the function addresses valid.
    _library: Library,
}

/// The functions of NCCL, loaded at the first call.
///
/// # Errors
/// The library was not found, or lacks a function.
pub fn nccl() -> Result<&'static Nccl, CudaError> {
    static NCCL: OnceLock<Result<Nccl, CudaError>> = OnceLock::new();
    NCCL.get_or_init(open).as_ref().map_err(Clone::clone)
}

fn open() -> Result<Nccl, CudaError> {
    let library = SEARCH.open()?;
    // SAFETY: the field types are the signatures of `nccl.h`, unchanged since 2.7; the library
    // stays loaded as long as the addresses are used.
    unsafe {
        Ok(Nccl {
            get_version: function(&library, &SEARCH, "ncclGetVersion")?,
            get_error_string: function(&library, &SEARCH, "ncclGetErrorString")?,
            get_unique_id: function(&library, &SEARCH, "ncclGetUniqueId")?,
            comm_init_rank: function(&library, &SEARCH, "ncclCommInitRank")?,
            comm_destroy: function(&library, &SEARCH, "ncclCommDestroy")?,
            all_reduce: function(&library, &SEARCH, "ncclAllReduce")?,
            broadcast: function(&library, &SEARCH, "ncclBroadcast")?,
            send: function(&library, &SEARCH, "ncclSend")?,
            recv: function(&library, &SEARCH, "ncclRecv")?,
            group_start: function(&library, &SEARCH, "ncclGroupStart")?,
            group_end: function(&library, &SEARCH, "ncclGroupEnd")?,
            _library: library,
        })
    }
}

/// The version of NCCL: 10000 × major + 100 × minor + patch (since 2.9).
///
/// # Errors
/// The library was not found, or the call failed.
pub fn version() -> Result<i32, CudaError> {
    let mut version = 0;
    // SAFETY: the address is of a live variable.
    let code = unsafe { (nccl()?.get_version)(&raw mut version) };
    if code == 0 {
        return Ok(version);
    }
    Err(CudaError::Library {
        library: SEARCH.name,
        call: "ncclGetVersion",
        code,
        name: "see ncclResult_t",
        detail: None,
    })
}
