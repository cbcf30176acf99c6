//! Shared memory of a block.
//!
//! Its content is undefined when a block starts; the emulator fills it with 0xFF bytes (NaN as floating point), which
//! makes reads before the first write visible.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// `shared_array![T; N]`: a `*mut T` to `N` elements in shared memory, uninitialised, aligned to 16 bytes. `N` is a
/// constant. One position in the source always gives the same array; two positions give two arrays.
///
/// A kernel must not read an element before it is written, read another thread's element without a barrier in
/// between, or exceed `N`.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared"))]
        static SHARED: $crate::shared::StaticShared<[$element; $len]> =
            $crate::shared::StaticShared::new();
        SHARED.address().cast::<$element>()
    }};
}

/// The storage behind [`shared_array!`]. The device linker moves statics of the section `.shared` to the shared
/// address space; on the host the static only identifies the block's own array.
#[repr(C, align(16))]
pub struct StaticShared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: on the device each block has its own copy, and the kernel must order its threads' accesses; on the host the
// content is never accessed.
unsafe impl<T> Sync for StaticShared<T> {}

impl<T> StaticShared<T> {
    /// Uninitialised storage.
    #[expect(
        clippy::new_without_default,
        reason = "made in statics by shared_array! only"
    )]
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// The address of the calling block's array.
    #[inline(always)]
    pub fn address(&'static self) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        return self.0.get().cast();
        #[cfg(not(target_arch = "nvptx64"))]
        return crate::emulator::static_shared(
            self.0.get().cast_const().cast(),
            core::mem::size_of::<T>(),
        )
        .cast();
    }
}

/// The launch's dynamic shared memory, aligned to 16 bytes; every call returns the same address.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    return crate::nvptx::warpstride_dynamic_shared().cast();
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::dynamic_shared().cast();
}
