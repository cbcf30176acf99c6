//! What a launch is, on the host: typed arguments, their extents, and the trait that `#[kernel]`
//! implements for every kernel.
//!
//! The two kinds of memory are told apart by a type parameter, so that an address of the CUDA
//! device cannot be given to the emulator nor the reverse.

use std::fmt;
use std::marker::PhantomData;

/// A kind of memory that kernels run on.
pub trait Space: 'static {
    /// For messages.
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
// SAFETY: through a shared reference only the address and the length can be had.
unsafe impl<S: Space, T: Sync> Sync for Write<'_, S, T> {}

impl<S: Space, T> Clone for Read<'_, S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Space, T> Copy for Read<'_, S, T> {}

impl<'a, S: Space, T> Read<'a, S, T> {
    /// # Safety
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

    /// Elements that may be read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'a, S: Space, T> Write<'a, S, T> {
    /// # Safety
    /// As [`Read::from_raw`], for reads and writes; nobody else may use the memory during `'a`.
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

    /// Elements that may be written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// How much work a launch has, from which its grid follows.
///
/// Every kernel walks its work by grid stride, so that any grid gives the same result; the grid
/// only decides the speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// So many elements, one thread each at a time.
    Elements(usize),
    /// So many items that one block does at a time (a frame, a tile).
    Blocks(usize),
    /// So many items that one block does at a time, and of which blocks take the next one when they have done one: more
    /// blocks than there is room for at once would find nothing left.
    Turns(usize),
    /// Exactly this grid, for kernels whose blocks have fixed places.
    Grid([u32; 3]),
}

/// Facts of a kernel that do not depend on its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelInfo {
    /// Entry name in the PTX.
    pub entry: &'static str,
    /// Threads of a block (x, y, z).
    pub block: [u32; 3],
    /// The kernel counts on just these; the emulated machine makes other blocks of one axis smaller.
    pub exact_block: bool,
    /// Blocks that must fit on a multiprocessor together (launch bound); 0: not stated.
    pub min_blocks: u32,
    /// Must not use local memory.
    pub hot: bool,
    /// May use double precision.
    pub f64_allowed: bool,
    /// Lowest compute capability, times ten (80, 90).
    pub min_arch: u32,
}

/// An argument whose extent does not fit the launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtentError {
    /// Entry name.
    pub kernel: &'static str,
    /// Argument name.
    pub argument: &'static str,
    /// Elements needed.
    pub needed: usize,
    /// Elements there.
    pub found: usize,
}

impl fmt::Display for ExtentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel {}: argument {} has {} elements, the launch needs {}",
            self.kernel, self.argument, self.found, self.needed
        )
    }
}

impl std::error::Error for ExtentError {}

/// For `#[kernel]`: an extent, where `None` is one that no memory can have (it overflowed).
pub fn extent(of: impl FnOnce() -> Option<usize>) -> usize {
    of().unwrap_or(usize::MAX)
}

/// An argument of a launch, to look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// Where its elements begin, in memory of the launch's kind.
    Address(usize),
    /// A whole number.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
}

/// For `#[kernel]`: elements of arguments are plain data.
pub const fn require_pod<T: bytemuck::Pod>() {}

/// One launch of one kernel: its arguments, made by `#[kernel]` for every kernel.
///
/// # Safety
/// Whoever implements it by hand answers for what the safe launch functions rely on: `check`
/// refuses every argument that the kernel would overrun, and `with_params` gives the addresses of
/// live values, one a parameter of the entry `INFO.entry`, in their order and of their types.
pub unsafe trait Launch<S: Space> {
    /// Name, block and bounds.
    const INFO: KernelInfo;

    /// Compares the extents stated with `#[len(…)]` with the arguments.
    ///
    /// # Errors
    /// The first argument that is too short.
    fn check(&self) -> Result<(), ExtentError>;

    /// Calls `push` with the address of each argument's value, in the order of the kernel's
    /// parameters, as `cuLaunchKernel` wants them. The addresses are valid during this call of
    /// `with_params` only.
    fn with_params<R>(&self, launch: impl FnOnce(&mut [*mut std::ffi::c_void]) -> R) -> R;

    /// The arguments for those who look on, in the order of the kernel's parameters. A launch that was
    /// implemented by hand may say none.
    fn arguments(&self) -> Vec<Argument> {
        Vec::new()
    }

    /// Bytes of dynamic shared memory that one block of `block_threads` threads needs.
    fn dynamic_shared_bytes(&self, block_threads: u32) -> usize;

    /// The kernel's body for the calling emulator thread.
    ///
    /// # Safety
    /// Called by the emulator only (so `S` is [`Emulated`] and the addresses are host memory),
    /// after [`Launch::check`], with the thread's block and index set.
    unsafe fn run_thread(&self);
}

/// A [`Launch`] whose kernel is not a type. Machines take launches in this form, so that their code is
/// compiled once and not once a kernel; every launch has it.
///
/// # Safety
/// As for [`Launch`].
pub unsafe trait AnyLaunch<S: Space> {
    /// Name, block and bounds.
    fn info(&self) -> KernelInfo;

    /// As [`Launch::check`].
    ///
    /// # Errors
    /// The first argument that is too short.
    fn check_extents(&self) -> Result<(), ExtentError>;

    /// As [`Launch::with_params`].
    fn with_addresses(&self, launch: &mut dyn FnMut(&mut [*mut std::ffi::c_void]));

    /// As [`Launch::dynamic_shared_bytes`].
    fn shared_bytes(&self, block_threads: u32) -> usize;

    /// As [`Launch::run_thread`].
    ///
    /// # Safety
    /// As there.
    unsafe fn run(&self);
}

// SAFETY: the launch's own answers.
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
        // SAFETY: the caller's promise is the same.
        unsafe { self.run_thread() }
    }
}
