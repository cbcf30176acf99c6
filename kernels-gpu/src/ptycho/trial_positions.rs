//! Trial positions of the refinement by trial and error.
//!
//! The random numbers are a hash of (seed, frame, iteration, trial), so that they depend neither on the order in which
//! frames are processed nor on what was drawn before. The two functions are those of the CPU too, bit for bit: integers,
//! and single roundings of `f32`.
//!
//! A thread processes one frame: reads 28 bytes, writes 16. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// The displacement of trial `trial`, counted from 1, of a frame: evenly distributed over the square of side
/// `amplitude` in one of the four quadrants, which take turns.
#[inline(always)]
#[must_use]
pub fn trial_shift(seed: u64, frame: u32, iteration: u32, trial: u32, amplitude: f32) -> [f32; 2] {
    let key = mix(mix(seed ^ mix(iteration as u64)) ^ ((frame as u64) << 32 | trial as u64));
    let quadrant = trial.wrapping_sub(1) % 4;
    let signs = [quadrant / 2, quadrant % 2];
    // 24 bits are exact in f32.
    let bits = [(key >> 40) as u32, (key >> 8) as u32 & 0xff_ffff];
    let size = |axis: usize| {
        let share = (bits[axis] as f32).mul_rounded(1.0 / 16_777_216.0);
        let size = share.mul_rounded(amplitude);
        if signs[axis] == 0 { size } else { -size }
    };
    [size(0), size(1)]
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of the result depends on every bit of the
/// argument.
#[inline(always)]
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Corner and fraction of a frame that is moved by `shift`, but on no axis further than `bound` from its start, from
/// which it is displaced by `displacement`. The window must stay inside the object up to that bound.
#[inline(always)]
#[must_use]
pub fn trial_position(
    corner: [u32; 2],
    fraction: [f32; 2],
    displacement: [f32; 2],
    shift: [f32; 2],
    bound: f32,
) -> ([u32; 2], [f32; 2]) {
    let of_axis = |axis: usize| {
        let wanted = displacement[axis] + shift[axis];
        let allowed = if wanted > bound {
            bound
        } else if wanted < -bound {
            -bound
        } else {
            wanted
        };
        let offset = fraction[axis] + (allowed - displacement[axis]);
        let whole = GpuFloat::round_ties_even(offset);
        let corner = corner[axis].wrapping_add_signed(whole as i32);
        (corner, offset - whole)
    };
    let (rows, columns) = (of_axis(0), of_axis(1));
    ([rows.0, columns.0], [rows.1, columns.1])
}

/// Writes the positions of trial `trial`, counted from 1, of every frame to `corners` and `fractions`; those where the
/// frames are if it is 0. `numbers` are those of the frames in the scan, on which the random numbers depend.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the positions and what the random numbers depend on"
)]
pub unsafe fn ptycho_trial_positions(
    #[len(frames)] corners: *mut [u32; 2],
    #[len(frames)] fractions: *mut [f32; 2],
    #[len(frames)] from_corners: *const [u32; 2],
    #[len(frames)] from_fractions: *const [f32; 2],
    #[len(frames)] displacements: *const [f32; 2],
    #[len(frames)] numbers: *const u32,
    frames: u32,
    seed: u64,
    iteration: u32,
    trial: u32,
    amplitude: f32,
    bound: f32,
) {
    for frame in thread::grid_stride(frames as usize) {
        let (corner, fraction) = (*from_corners.add(frame), *from_fractions.add(frame));
        let (corner, fraction) = if trial == 0 {
            (corner, fraction)
        } else {
            let number = *numbers.add(frame);
            let shift = trial_shift(seed, number, iteration, trial, amplitude);
            trial_position(corner, fraction, *displacements.add(frame), shift, bound)
        };
        *corners.add(frame) = corner;
        *fractions.add(frame) = fraction;
    }
}
