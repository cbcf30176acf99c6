//! Sums and maxima over a warp or a block, in a fixed order: the same values give the same bits.
//!
//! A warp adds pairwise (lane i and lane i + 16, then i + 8 …); a block adds the results of its warps in the same
//! way. All threads get the result, and all must call. Any block size is correct (the emulator's may not be a
//! multiple of a warp).

#[cfg(any(target_arch = "nvptx64", test))]
use crate::thread;
use crate::warp::{self, Shuffle};
use crate::{Complex32, shared_array};

/// The most warps in a block, equal to the lanes in a warp.
const WARPS: usize = 32;

/// Combines values pairwise over the first `lanes` of the warp's lanes (on the device over all 32 if `ALL`); every
/// lane gets the result.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
fn over_lanes<T: Shuffle, const ALL: bool>(value: T, lanes: u32, combine: impl Fn(T, T) -> T) -> T {
    #[cfg(target_arch = "nvptx64")]
    {
        let lane = warp::lane_id();
        let mut value = value;
        let mut offset = warp::SIZE / 2;
        while offset > 0 {
            // SAFETY: the callers require that all lanes of the warp take part.
            let other = unsafe { warp::shuffle_down(warp::FULL, value, offset) };
            if ALL || lane + offset < lanes {
                value = combine(value, other);
            }
            offset /= 2;
        }
        // SAFETY: as above.
        unsafe { warp::shuffle_idx(warp::FULL, value, 0) }
    }
    // One exchange, then the same additions in every lane.
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let exchanged = crate::emulator::warp_exchange("reduce", warp::FULL, value.to_bits());
        by_halves(&exchanged.values[..lanes as usize], combine)
    }
}

/// The additions of a warp, performed by one thread.
#[cfg(not(target_arch = "nvptx64"))]
fn by_halves<T: Shuffle>(bits: &[u64], combine: impl Fn(T, T) -> T) -> T {
    let mut values = [T::from_bits(0); WARPS];
    for (value, bits) in values.iter_mut().zip(bits) {
        *value = T::from_bits(*bits);
    }
    let mut offset = WARPS / 2;
    while offset > 0 {
        for lane in 0..offset.min(bits.len().saturating_sub(offset)) {
            values[lane] = combine(values[lane], values[lane + offset]);
        }
        offset /= 2;
    }
    values[0]
}

/// Combines values over the block. The emulator performs the same additions in one step instead of five, each of
/// which would resume every thread; the unit test compares the two.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
fn over_block<T: Shuffle>(value: T, scratch: *mut T, combine: impl Fn(T, T) -> T) -> T {
    #[cfg(target_arch = "nvptx64")]
    return through_scratch(value, scratch, combine);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = scratch;
        let fold = |threads: &[u64]| {
            let warps: Vec<u64> = threads
                .chunks(WARPS)
                .map(|lanes| by_halves(lanes, &combine).to_bits())
                .collect();
            by_halves(&warps, &combine).to_bits()
        };
        T::from_bits(crate::emulator::block_fold(
            "reduce",
            value.to_bits(),
            &fold,
        ))
    }
}

/// Combines values over a block of whole warps. `scratch` is shared memory for [`WARPS`] values.
#[cfg(any(target_arch = "nvptx64", test))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
fn through_scratch<T: Shuffle>(value: T, scratch: *mut T, combine: impl Fn(T, T) -> T) -> T {
    let warps = thread::block_threads() / warp::SIZE;
    let value = over_lanes::<T, true>(value, warp::SIZE, &combine);
    if warps == 1 {
        return value;
    }
    let lane = warp::lane_id();
    if lane == 0 {
        // SAFETY: a block has at most 32 warps; one lane of each writes its own element.
        unsafe { *scratch.add(warp::warp_id() as usize) = value };
    }
    thread::sync_threads();
    // SAFETY: elements below `warps` were written before the barrier.
    let of_warp = unsafe { *scratch.add(lane.min(warps - 1) as usize) };
    let total = over_lanes::<T, false>(of_warp, warps, &combine);
    // The next reduction may write to the scratch memory.
    thread::sync_threads();
    total
}

/// Sum over the lanes of the warp.
///
/// # Safety
///
/// All lanes of the warp must call it together.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn warp_sum(value: f32) -> f32 {
    over_lanes::<f32, true>(value, warp::lanes(), |a, b| a + b)
}

/// Sum over the lanes of the warp in double precision.
///
/// # Safety
///
/// The same as for [`warp_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn warp_sum_f64(value: f64) -> f64 {
    over_lanes::<f64, true>(value, warp::lanes(), |a, b| a + b)
}

/// Largest value over the lanes of the warp.
///
/// # Safety
///
/// The same as for [`warp_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn warp_max(value: f32) -> f32 {
    over_lanes::<f32, true>(value, warp::lanes(), f32::max)
}

/// Sum over the block; every thread gets it.
///
/// # Safety
///
/// All threads of the block must call it together (it contains barriers).
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum(value: f32) -> f32 {
    over_block(value, shared_array![f32; WARPS], |a, b| a + b)
}

/// Largest value over the block; every thread gets it.
///
/// # Safety
///
/// The same as for [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_max(value: f32) -> f32 {
    over_block(value, shared_array![f32; WARPS], f32::max)
}

/// Two sums over the block at the cost of one; every thread gets them.
///
/// # Safety
///
/// The same as for [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum_pair(a: f32, b: f32) -> (f32, f32) {
    let sums = over_block(Complex32::new(a, b), scratch().cast(), |x, y| x + y);
    (sums.re, sums.im)
}

/// Sum over the block in double precision; every thread gets it.
///
/// # Safety
///
/// The same as for [`block_sum`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn block_sum_f64(value: f64) -> f64 {
    over_block(value, scratch(), |a, b| a + b)
}

/// Scratch memory of all sums of 8 bytes: a kernel with both kinds computes one address and not two.
#[inline(always)]
fn scratch() -> *mut f64 {
    shared_array![f64; WARPS]
}

#[cfg(test)]
mod tests {
    use super::{WARPS, block_sum, through_scratch};
    use crate::emulator::{self, LaunchConfig, Memory, Order};
    use crate::{kernel, shared_array, thread};

    /// The device's steps and the emulator's single step, one after the other, twice.
    #[kernel(block = 256)]
    pub unsafe fn both_ways(
        #[len(threads)] values: *const f32,
        #[len(4 * threads)] out: *mut f32,
        threads: u32,
    ) {
        let t = thread::index_in_block() as usize;
        let _ = threads;
        for round in 0..2 {
            // SAFETY: one element each, within the extents; all threads take part.
            unsafe {
                let value = *values.add(t) * (round + 1) as f32;
                let steps = through_scratch(value, shared_array![f32; WARPS], |a, b| a + b);
                *out.add(4 * t + 2 * round) = steps;
                *out.add(4 * t + 2 * round + 1) = block_sum(value);
            }
        }
    }

    #[test]
    fn emulator_adds_in_the_order_of_the_device() {
        for threads in [32_u32, 64, 96, 256, 1024] {
            let inexact: Vec<f32> = (0..threads).map(|k| 1.0 / (k + 3) as f32).collect();
            for order in [Order::Ascending, Order::Descending] {
                let values = Memory::try_copy_of(&inexact).expect("memory");
                let mut out = Memory::try_poisoned(4 * threads as usize).expect("memory");
                let launch = BothWays {
                    values: values.read(),
                    out: out.write(),
                    threads,
                };
                let config = LaunchConfig::linear(&launch, 1, threads);
                emulator::launch_in(&launch, config, order).expect("a launch");
                let first = &out.as_slice()[..4];
                assert_eq!(first[0].to_bits(), first[1].to_bits());
                assert_eq!(first[2].to_bits(), first[3].to_bits());
                let exact: f64 = inexact.iter().map(|v| f64::from(*v)).sum();
                assert!((f64::from(first[0]) - exact).abs() < 1e-5);
                assert!(out.as_slice().chunks(4).all(|row| row == first));
            }
        }
    }
}
