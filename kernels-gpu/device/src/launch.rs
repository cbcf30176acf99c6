//! Launches on the host: typed arguments, their extents, and the trait that `#[kernel]` implements for every kernel.
//!
//! A type parameter distinguishes the two kinds of memory, so that an address on the CUDA device cannot be passed to
//! the emulator, nor the reverse.

use std::fmt;
use std::marker::PhantomData;

/// A kind of memory that kernels run on.
pub trait Space: 'static {
    /// The name, for messages.
    const NAME: &'static str;
}

/// Memory of the emulator: ordinary host memory.
#[derive(Debug, Clone, Copy)]
pub enum Emulated {}

/// Memory of a CUDA device.
#[derive(Debug, Clone, Copy)]
pub enum Cuda {}

impl Space for Emulated {
    const NAME: &'static str = "emulator";
}

impl Space for Cuda {
    const NAME: &'static str = "cuda";
}

/// A kernel argument that is read only: `*const T` on the device.
pub struct Read<'a, S: Space, T> {
    address: *const T,
    len: usize,
    borrow: PhantomData<(&'a [T], S)>,
}

/// A kernel argument that is written (and may be read): `*mut T` on the device.
pub struct Write<'a, S: Space, T> {
    address: *mut T,
    len: usize,
    borrow: PhantomData<(&'a mut [T], S)>,
}

// SAFETY: a shared borrow of `T`s.
unsafe impl<S: Space, T: Sync> Send for Read<'_, S, T> {}
// SAFETY: as above.
unsafe impl<S: Space, T: Sync> Sync for Read<'_, S, T> {}
// SAFETY: a unique borrow of `T`s.
unsafe impl<S: Space, T: Send> Send for Write<'_, S, T> {}
// SAFETY: a shared reference gives access only to the address and the length.
unsafe impl<S: Space, T: Sync> Sync for Write<'_, S, T> {}

impl<S: Space, T> Clone for Read<'_, S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Space, T> Copy for Read<'_, S, T> {}

impl<'a, S: Space, T> Read<'a, S, T> {
    /// # Safety
    ///
    /// `address` must be valid for reads of `len` elements in memory of kind `S` for `'a`, and
    /// aligned for `T`.
    #[must_use]
    pub unsafe fn from_raw(address: *const T, len: usize) -> Self {
        Self {
            address,
            len,
            borrow: PhantomData,
        }
    }

    /// The address, in memory of kind `S`.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.address
    }

    /// The number of elements that may be read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'a, S: Space, T> Write<'a, S, T> {
    /// # Safety
    ///
    /// `address` must be valid for reads and writes of `len` elements in memory of kind `S` for `'a`, and aligned for
    /// `T`. Nothing else may access the memory during `'a`.
    #[must_use]
    pub unsafe fn from_raw(address: *mut T, len: usize) -> Self {
        Self {
            address,
            len,
            borrow: PhantomData,
        }
    }

    /// The address, in memory of kind `S`.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        self.address
    }

    /// The number of elements that may be written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The amount of work in a launch, which determines its grid.
///
/// Every kernel distributes its work by grid stride, so that any grid gives the same result; the grid affects only
/// the speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// This many elements, which threads process one at a time.
    Elements(usize),
    /// This many items (frames, tiles), which blocks process one at a time.
    Blocks(usize),
    /// This many items, which the clusters of a kernel with the option `cluster` process one at a time; as `Blocks` for
    /// other kernels.
    Clusters(usize),
    /// This many items, which blocks process one at a time, each block taking the next one when it has finished one.
    /// The grid has only as many blocks as are resident at once: further blocks would find no items left.
    Turns(usize),
    /// Exactly this grid, for kernels whose blocks have fixed roles.
    Grid([u32; 3]),
}

/// Properties of a kernel that do not depend on its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelInfo {
    /// Entry name in the PTX.
    pub entry: &'static str,
    /// Threads of a block (x, y, z).
    pub block: [u32; 3],
    /// Whether the kernel relies on exactly this block; otherwise the emulated device uses smaller blocks of one
    /// axis.
    pub exact_block: bool,
    /// Blocks that must fit on a multiprocessor together (launch bound); 0: not stated.
    pub min_blocks: u32,
    /// Whether the kernel must not use local memory.
    pub hot: bool,
    /// Whether the kernel may use double precision.
    pub f64_allowed: bool,
    /// Lowest compute capability, times ten (80, 90).
    pub min_arch: u32,
    /// Blocks of a thread block cluster along x (2, 4, 8); 1: none.
    pub cluster: u32,
}

/// An argument whose extent does not fit the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtentError {
    /// Entry name.
    pub kernel: &'static str,
    /// Argument name.
    pub argument: &'static str,
    /// The number of elements needed.
    pub needed: usize,
    /// The number of elements found.
    pub found: usize,
}

impl fmt::Display for ExtentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel {}: argument {}: expected {} elements or more, found {}",
            self.kernel, self.argument, self.needed, self.found
        )
    }
}

impl std::error::Error for ExtentError {}

/// For `#[kernel]`: an extent; `None` (an overflow) becomes an extent that no memory can have.
pub fn extent(of: impl FnOnce() -> Option<usize>) -> usize {
    of().unwrap_or(usize::MAX)
}

/// The value of a launch's argument, for inspection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// The address of its first element, in memory of the launch's kind.
    Address(usize),
    /// An integer.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
}

/// For `#[kernel]`: requires plain data as the elements of arguments.
pub const fn require_pod<T: bytemuck::Pod>() {}

/// One launch of one kernel with its arguments; `#[kernel]` implements it for every kernel.
///
/// # Safety
///
/// The safe launch functions rely on every implementation: `check` must refuse every argument that the kernel would
/// overrun, and `with_params` must pass the addresses of live values, one for each parameter of the entry
/// `INFO.entry`, in order and of the right types.
pub unsafe trait Launch<S: Space> {
    /// Name, block and bounds.
    const INFO: KernelInfo;

    /// Compares the extents stated with `#[len(…)]` with the arguments.
    ///
    /// # Errors
    /// The first argument that is too short.
    fn check(&self) -> Result<(), ExtentError>;

    /// Calls `launch` with the address of each argument's value, in the order of the kernel's parameters, as
    /// `cuLaunchKernel` expects them. The addresses are valid only during this call.
    fn with_params<R>(&self, launch: impl FnOnce(&mut [*mut std::ffi::c_void]) -> R) -> R;

    /// The arguments for inspection, in the order of the kernel's parameters. An implementation by hand may return
    /// none.
    fn arguments(&self) -> Vec<Argument> {
        Vec::new()
    }

    /// Bytes of dynamic shared memory that one block of `block_threads` threads needs.
    fn dynamic_shared_bytes(&self, block_threads: u32) -> usize;

    /// Runs the kernel's body for the calling emulator thread.
    ///
    /// # Safety
    ///
    /// Only the emulator may call it (so `S` is [`Emulated`] and the addresses are host memory), after
    /// [`Launch::check`], with the thread's block and index set.
    unsafe fn run_thread(&self);
}

/// A [`Launch`] whose kernel is not part of the type. Devices take launches in this form, so that their code is not
/// compiled once for each kernel. Every launch implements it.
///
/// # Safety
///
/// The same as for [`Launch`].
pub unsafe trait AnyLaunch<S: Space> {
    /// Name, block and bounds.
    fn info(&self) -> KernelInfo;

    /// See [`Launch::check`].
    ///
    /// # Errors
    ///
    /// The first argument that is too short.
    fn check_extents(&self) -> Result<(), ExtentError>;

    /// See [`Launch::with_params`].
    fn with_addresses(&self, launch: &mut dyn FnMut(&mut [*mut std::ffi::c_void]));

    /// See [`Launch::dynamic_shared_bytes`].
    fn shared_bytes(&self, block_threads: u32) -> usize;

    /// See [`Launch::run_thread`].
    ///
    /// # Safety
    ///
    /// The same as for [`Launch::run_thread`].
    unsafe fn run(&self);
}

// SAFETY: forwards to the launch.
unsafe impl<S: Space, L: Launch<S>> AnyLaunch<S> for L {
    fn info(&self) -> KernelInfo {
        L::INFO
    }

    fn check_extents(&self) -> Result<(), ExtentError> {
        self.check()
    }

    fn with_addresses(&self, launch: &mut dyn FnMut(&mut [*mut std::ffi::c_void])) {
        self.with_params(launch);
    }

    fn shared_bytes(&self, block_threads: u32) -> usize {
        self.dynamic_shared_bytes(block_threads)
    }

    unsafe fn run(&self) {
        // SAFETY: the caller guarantees the same.
        unsafe { self.run_thread() }
    }
}
