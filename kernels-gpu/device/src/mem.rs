//! Loads through the read-only cache, prefetches, and asynchronous copies to shared memory.

use crate::{Complex32, Complex32x2, F32x4, F64x2, U32x4, U64x2};

/// A type that one read-only load instruction can fetch.
pub trait ReadOnly: Copy {
    #[doc(hidden)]
    /// # Safety
    ///
    /// The same as for [`load_read_only`].
    unsafe fn load(address: *const Self) -> Self;
}

/// `*address`, loaded by the read-only path (`ld.global.nc`): for values that many threads of a block read. Complex
/// numbers and pairs of them are loaded by one instruction.
///
/// # Safety
///
/// `address` must be valid and aligned, in global memory, and not be written during the launch.
#[inline(always)]
#[must_use]
pub unsafe fn load_read_only<T: ReadOnly>(address: *const T) -> T {
    // SAFETY: the caller guarantees the conditions.
    unsafe { T::load(address) }
}

macro_rules! read_only {
    ($t:ty, $load:ident, $from:expr) => {
        impl ReadOnly for $t {
            #[inline(always)]
            unsafe fn load(address: *const Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller guarantees the address; the type ensures the alignment.
                return $from(unsafe { crate::nvptx::$load(address.cast()) });
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the caller guarantees the conditions.
                return unsafe { *address };
            }
        }
    };
}

read_only!(u32, load_read_only_b32, |v| v);
read_only!(f32, load_read_only_b32, f32::from_bits);
read_only!(Complex32, load_read_only_v2, |[re, im]: [u32; 2]| {
    Complex32::new(f32::from_bits(re), f32::from_bits(im))
});
read_only!(Complex32x2, load_read_only_v4, |v: [u32; 4]| {
    let [a, b, c, d] = v.map(f32::from_bits);
    Complex32x2([Complex32::new(a, b), Complex32::new(c, d)])
});
read_only!(F32x4, load_read_only_v4, |v: [u32; 4]| F32x4(
    v.map(f32::from_bits)
));
read_only!(U32x4, load_read_only_v4, U32x4);
read_only!(f64, load_read_only_v2, whole);
read_only!(F64x2, load_read_only_v4, |[a, b, c, d]: [u32; 4]| F64x2([
    whole([a, b]),
    whole([c, d])
]));

read_only!(U64x2, load_read_only_v4, |[a, b, c, d]: [u32; 4]| U64x2([
    joined([a, b]),
    joined([c, d])
]));

/// `*address`, loaded as by [`load_read_only`], if `there` is true, otherwise 0. There is no branch, and the compiler
/// does not move the load: a value that is needed much later is loaded meanwhile.
///
/// # Safety
///
/// The same as for [`load_read_only`] if `there` is true; otherwise `address` may be anything.
#[inline(always)]
#[must_use]
pub unsafe fn load_ahead(there: bool, address: *const u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the address; the type ensures the alignment.
    return unsafe { crate::nvptx::load_read_only_if_b32(u32::from(there), address) };
    #[cfg(not(target_arch = "nvptx64"))]
    return if there {
        // SAFETY: the caller guarantees the conditions.
        unsafe { *address }
    } else {
        0
    };
}

/// Asks for the cache line with `*address` to be brought into the L2 cache, without waiting; in the emulator it does
/// nothing.
///
/// # Safety
///
/// `address` must be in global memory and valid.
#[inline(always)]
pub unsafe fn prefetch_l2<T>(address: *const T) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the address.
    unsafe {
        crate::nvptx::prefetch_l2(address.cast());
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = address;
}

/// Begins to copy a number to shared memory, without a register and without waiting (`cp.async`). The copy is visible
/// to this thread after [`wait_for_copies`], and to its block after a barrier that follows.
///
/// # Safety
///
/// `to` must be in shared memory and `from` in global memory, both valid and aligned. Until the copy is complete,
/// nothing may access `to` or write to `from`.
#[inline(always)]
pub unsafe fn copy_to_shared(to: *mut f64, from: *const f64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::copy_to_shared_b64(to.cast(), from.cast());
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        *to = *from;
    }
}

/// [`copy_to_shared`] of a complex number if `there` is true; otherwise nothing happens. There is no branch.
///
/// # Safety
///
/// The same as for [`copy_to_shared`] if `there` is true; otherwise the addresses may be anything.
#[inline(always)]
pub unsafe fn copy_complex_ahead(there: bool, to: *mut Complex32, from: *const Complex32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions; the type ensures the alignment.
    unsafe {
        crate::nvptx::copy_to_shared_if_b64(u32::from(there), to.cast(), from.cast());
    }
    #[cfg(not(target_arch = "nvptx64"))]
    if there {
        // SAFETY: the caller guarantees the conditions.
        unsafe { *to = *from }
    }
}

/// Begins to copy two numbers, bypassing the multiprocessor's cache, from `FROM` bytes after `from` to `TO` bytes
/// after `to`; otherwise as [`copy_to_shared`]. Several copies share the two addresses.
///
/// # Safety
///
/// The same as for [`copy_to_shared`], for the addresses with their offsets.
#[inline(always)]
pub unsafe fn copy_pair_to_shared<const TO: usize, const FROM: usize>(
    to: *mut F64x2,
    from: *const F64x2,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the addresses; the type ensures the alignment.
    unsafe {
        crate::nvptx::copy_to_shared_b128::<TO, FROM>(to.cast(), from.cast());
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        *to.byte_add(TO) = *from.byte_add(FROM);
    }
}

/// Waits for all copies that this thread has begun.
#[inline(always)]
pub fn wait_for_copies() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: an instruction that only waits.
    unsafe {
        crate::nvptx::wait_for_copies();
    }
}

/// The double with this lower and upper half.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn whole(halves: [u32; 2]) -> f64 {
    f64::from_bits(joined(halves))
}

/// The number with this lower and upper half.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
