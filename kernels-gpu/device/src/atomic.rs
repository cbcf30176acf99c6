//! Atomic operations. Their order is not fixed, so sums of floats differ in the last bits from run to run on a GPU
//! (sums of integers do not); in the emulator the order is fixed. No atomic operation orders other accesses:
//! [`crate::thread::device_fence`] does.

use crate::Complex32;

/// `*address += value` for an address in global memory.
///
/// # Safety
///
/// `address` must be valid and aligned, and during the launch other threads may access it by atomics only.
#[inline(always)]
pub unsafe fn add_global(address: *mut f32, value: f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::add_global_f32(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        add_emulated(address, value);
    }
}

/// `*address += value` for an address in the block's own shared memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn add_shared(address: *mut f32, value: f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::add_shared_f32(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        add_emulated(address, value);
    }
}

/// `*address += value` for a complex number in global memory: one instruction on sm_90 and later, before that one for
/// each part. Real and imaginary part are each atomic, the pair is not. A kernel that calls this states `variant =
/// 90`, so that its faster variant is built.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn add_global_complex(address: *mut Complex32, value: Complex32) {
    #[cfg(all(target_arch = "nvptx64", feature = "sm_90"))]
    // SAFETY: the caller guarantees the address; Complex32 is aligned to 8 bytes.
    unsafe {
        crate::nvptx::add_global_v2_f32(address.cast(), value.re, value.im);
    }
    #[cfg(not(all(target_arch = "nvptx64", feature = "sm_90")))]
    // SAFETY: the caller guarantees the addresses of both parts.
    unsafe {
        add_global(&raw mut (*address).re, value.re);
        add_global(&raw mut (*address).im, value.im);
    }
}

/// `*address += value` (wrapping) in any memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn add_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.fetch_add(value, core::sync::atomic::Ordering::Relaxed);
}

/// `*address += value` (wrapping) for an address in global memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn add_u64(address: *mut u64, value: u64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::add_global_u64(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
        let cell = unsafe { core::sync::atomic::AtomicU64::from_ptr(address) };
        cell.fetch_add(value, core::sync::atomic::Ordering::Relaxed);
    }
}

/// `*address += value` (wrapping) in any memory; returns the previous value. The order of the threads decides which
/// thread gets which number.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn fetch_add_u32(address: *mut u32, value: u32) -> u32 {
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.fetch_add(value, core::sync::atomic::Ordering::Relaxed)
}

/// `*address |= value` in any memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn or_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.fetch_or(value, core::sync::atomic::Ordering::Relaxed);
}

/// The value that other threads have written by atomics or before a memory fence, not a copy in this multiprocessor's
/// cache.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn load_u32(address: *mut u32) -> u32 {
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.load(core::sync::atomic::Ordering::Relaxed)
}

/// [`load_u32`] for 64 bits in global memory, written by threads of this device.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn load_u64(address: *mut u64) -> u64 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::load_device_u64(address) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
        let cell = unsafe { core::sync::atomic::AtomicU64::from_ptr(address) };
        cell.load(core::sync::atomic::Ordering::Relaxed)
    }
}

/// Sets `*address` to `new` if it is `expected`; returns the previous value in either case.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn compare_exchange_u64(address: *mut u64, expected: u64, new: u64) -> u64 {
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { AtomicU64::from_ptr(address) };
    match cell.compare_exchange(expected, new, Relaxed, Relaxed) {
        Ok(old) | Err(old) => old,
    }
}

/// Sets `*address` to the greater of itself and `value`, in any memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn max_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller guarantees a valid, aligned address that only atomics access.
    let cell = unsafe { core::sync::atomic::AtomicU32::from_ptr(address) };
    cell.fetch_max(value, core::sync::atomic::Ordering::Relaxed);
}

/// `*address += value` in double precision for an address in global memory.
///
/// # Safety
///
/// The same as for [`add_global`].
#[inline(always)]
pub unsafe fn add_f64(address: *mut f64, value: f64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::add_global_f64(address, value);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

        // SAFETY: the caller guarantees the address; f64 and AtomicU64 have the same size and alignment.
        let cell = unsafe { AtomicU64::from_ptr(address.cast()) };
        let mut old = cell.load(Relaxed);
        loop {
            let sum = (f64::from_bits(old) + value).to_bits();
            match cell.compare_exchange_weak(old, sum, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }
}

/// # Safety
///
/// The same as for [`add_global`].
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn add_emulated(address: *mut f32, value: f32) {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    // SAFETY: the caller guarantees the address; f32 and AtomicU32 have the same size and alignment.
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
