//! Atomic additions without a result. Their order is not fixed, so float sums differ in the last
//! bits from run to run on a GPU; in the emulator the order is fixed.

use crate::Complex32;

/// `*address += value`, address in global memory.
///
/// # Safety
/// `address` must be valid and aligned; during the launch others may access it by atomics only.
#[inline(always)]
pub unsafe fn add_global(address: *mut f32, value: f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        crate::nvptx::add_global_f32(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
    unsafe {
        add_emulated(address, value);
    }
}

/// `*address += value`, address in shared memory.
///
/// # Safety
/// As [`add_global`].
#[inline(always)]
pub unsafe fn add_shared(address: *mut f32, value: f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        crate::nvptx::add_shared_f32(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's.
    unsafe {
        add_emulated(address, value);
    }
}

/// `*address += value` for a complex number in global memory: one instruction on sm_90 and later,
/// one for each part before. Real and imaginary part are each atomic, not the pair.
///
/// # Safety
/// As [`add_global`].
#[inline(always)]
pub unsafe fn add_global_complex(address: *mut Complex32, value: Complex32) {
    #[cfg(all(target_arch = "nvptx64", feature = "sm_90"))]
    // SAFETY: the caller's; Complex32 is aligned to 8 bytes.
    unsafe {
        crate::nvptx::add_global_v2_f32(address.cast(), value.re, value.im);
    }
    #[cfg(not(all(target_arch = "nvptx64", feature = "sm_90")))]
    // SAFETY: the caller's, for both parts.
    unsafe {
        add_global(&raw mut (*address).re, value.re);
        add_global(&raw mut (*address).im, value.im);
    }
}

/// `*address += value` (wrapping), address anywhere.
///
/// # Safety
/// As [`add_global`].
#[inline(always)]
pub unsafe fn add_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller's: valid, aligned, atomics only.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.fetch_add(value, core::sync::atomic::Ordering::Relaxed);
}

/// # Safety
/// As [`add_global`].
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn add_emulated(address: *mut f32, value: f32) {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    // SAFETY: the caller's; f32 and AtomicU32 have the same size and alignment.
    let cell = unsafe { AtomicU32::from_ptr(address.cast()) };
    let mut old = cell.load(Relaxed);
    loop {
        let sum = (f32::from_bits(old) + value).to_bits();
        match cell.compare_exchange_weak(old, sum, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}
