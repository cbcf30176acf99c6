//! Exchanges within a warp.
//!
//! All lanes of the mask must reach an exchange together. Lanes are counted over the block with x fastest; the last
//! warp of a block may have fewer than [`SIZE`].

use crate::thread;

/// Threads in a warp.
pub const SIZE: u32 = 32;

/// All lanes.
pub const FULL: u32 = u32::MAX;

#[cfg(target_arch = "nvptx64")]
const CLAMP: u32 = 0x1f;
// `shfl.up` compares with a lower bound.
#[cfg(target_arch = "nvptx64")]
const CLAMP_UP: u32 = 0;

/// This thread's lane in its warp.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads a special register.
    return unsafe { crate::nvptx::lane_id() };
    #[cfg(not(target_arch = "nvptx64"))]
    return thread::index_in_block() % SIZE;
}

/// The index of this thread's warp in its block.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    thread::index_in_block() / SIZE
}

/// The number of lanes in this thread's warp. On the device it is always [`SIZE`], since `#[kernel]` accepts no other
/// blocks; in the emulator the last warp of a smaller launch may have fewer.
#[inline(always)]
#[must_use]
pub fn lanes() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return SIZE;
    #[cfg(not(target_arch = "nvptx64"))]
    return (thread::block_threads() - warp_id() * SIZE).min(SIZE);
}

/// Waits for the lanes of `mask`; their earlier writes are then visible to each other.
///
/// # Safety
///
/// `mask` must contain this lane, and all lanes in it must call this with the same mask.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        crate::nvptx::sync_warp(mask);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::emulator::warp_exchange("sync_warp", mask, 0);
}

/// A type that shuffles exchange: 4 or 8 bytes.
pub trait Shuffle: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self;
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u64 {}
    impl Sealed for crate::Complex32 {}
}

impl Shuffle for u32 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        exchange(self)
    }
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    fn from_bits(bits: u64) -> Self {
        bits as u32
    }
}

impl Shuffle for i32 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        exchange(self.cast_unsigned()).cast_signed()
    }
    fn to_bits(self) -> u64 {
        u64::from(self.cast_unsigned())
    }
    fn from_bits(bits: u64) -> Self {
        (bits as u32).cast_signed()
    }
}

impl Shuffle for f32 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        f32::from_bits(exchange(self.to_bits()))
    }
    fn to_bits(self) -> u64 {
        u64::from(f32::to_bits(self))
    }
    fn from_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

impl Shuffle for f64 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        let bits = f64::to_bits(self);
        let (low, high) = (exchange(bits as u32), exchange((bits >> 32) as u32));
        f64::from_bits(u64::from(high) << 32 | u64::from(low))
    }
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

impl Shuffle for u64 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        let (low, high) = (exchange(self as u32), exchange((self >> 32) as u32));
        u64::from(high) << 32 | u64::from(low)
    }
    fn to_bits(self) -> u64 {
        self
    }
    fn from_bits(bits: u64) -> Self {
        bits
    }
}

impl Shuffle for crate::Complex32 {
    #[inline(always)]
    fn map(self, exchange: impl Fn(u32) -> u32) -> Self {
        Self::new(self.re.map(&exchange), self.im.map(&exchange))
    }
    fn to_bits(self) -> u64 {
        u64::from(self.im.to_bits()) << 32 | u64::from(self.re.to_bits())
    }
    fn from_bits(bits: u64) -> Self {
        Self::new(
            f32::from_bits(bits as u32),
            f32::from_bits((bits >> 32) as u32),
        )
    }
}

/// The value of the lane `delta` above, or this lane's own if there is no such lane.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn shuffle_down<T: Shuffle>(mask: u32, value: T, delta: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return value.map(|v| unsafe { crate::nvptx::shuffle_down(mask, v, delta, CLAMP) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulated(mask, value, lane_id().checked_add(delta), "shuffle_down");
}

/// The value of the lane `delta` below, or this lane's own if there is no such lane.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn shuffle_up<T: Shuffle>(mask: u32, value: T, delta: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return value.map(|v| unsafe { crate::nvptx::shuffle_up(mask, v, delta, CLAMP_UP) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulated(mask, value, lane_id().checked_sub(delta), "shuffle_up");
}

/// The value of the lane whose number differs in the bits of `lane_mask`.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn shuffle_xor<T: Shuffle>(mask: u32, value: T, lane_mask: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return value.map(|v| unsafe { crate::nvptx::shuffle_xor(mask, v, lane_mask, CLAMP) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulated(mask, value, Some(lane_id() ^ lane_mask), "shuffle_xor");
}

/// The value of lane `lane` (its lowest five bits).
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn shuffle_idx<T: Shuffle>(mask: u32, value: T, lane: u32) -> T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return value.map(|v| unsafe { crate::nvptx::shuffle_idx(mask, v, lane, CLAMP) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulated(mask, value, Some(lane % SIZE), "shuffle_idx");
}

/// A lane that is not in the mask or not in the block gives undefined values on the device; here every byte is 0xFF.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn emulated<T: Shuffle>(mask: u32, value: T, source: Option<u32>, call: &'static str) -> T {
    let lanes = crate::emulator::warp_exchange(call, mask, value.to_bits());
    match source.filter(|lane| *lane < SIZE) {
        None => value,
        Some(lane) => T::from_bits(lanes.values[lane as usize]),
    }
}

/// Sum (wrapping) over the lanes of `mask`, by one instruction.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn sum_u32(mask: u32, value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::redux_add(value, mask) };
    #[cfg(not(target_arch = "nvptx64"))]
    return {
        let lanes = crate::emulator::warp_exchange("sum_u32", mask, u64::from(value));
        (0..SIZE as usize)
            .filter(|lane| lanes.present >> lane & 1 == 1)
            .fold(0, |sum, lane| sum.wrapping_add(lanes.values[lane] as u32))
    };
}

/// The greatest value over the lanes of `mask`, by one instruction.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn max_u32(mask: u32, value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::redux_max(value, mask) };
    #[cfg(not(target_arch = "nvptx64"))]
    return {
        let lanes = crate::emulator::warp_exchange("max_u32", mask, u64::from(value));
        (0..SIZE as usize)
            .filter(|lane| lanes.present >> lane & 1 == 1)
            .fold(0, |most, lane| most.max(lanes.values[lane] as u32))
    };
}

/// Whether the predicate holds in all lanes of `mask`.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::vote_all(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return {
        let lanes = crate::emulator::warp_exchange("all", mask, u64::from(predicate));
        lanes.ballot() == lanes.present
    };
}

/// Whether the predicate holds in any lane of `mask`.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::vote_any(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::warp_exchange("any", mask, u64::from(predicate)).ballot() != 0;
}

/// The lanes of `mask` in which the predicate holds, as bits.
///
/// # Safety
///
/// The same as for [`sync_warp`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::vote_ballot(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::warp_exchange("ballot", mask, u64::from(predicate)).ballot();
}
