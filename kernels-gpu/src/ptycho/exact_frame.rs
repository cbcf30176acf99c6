//! What the kernels for frames at exact positions share: the shift of a layer by a fraction of a pixel, in the
//! registers of the block or the cluster that holds the frame ([`Frame`]).
//!
//! A shift S multiplies the spectrum by the phase ramp exp(−2πi (k_r f_r/rows + k_c f_c/columns)), k the signed
//! frequencies (that of n/2 is −n/2), as `shifted_spectra`. The ramp is the product of a factor for each row and one
//! for each column, which the block computes once for a frame.

use super::frame_chi::corner_of;
use super::shifted_spectra::frequency;
use crate::fft::frame::{Frame, Group, GroupFrame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 8;

/// The numbers of the frames that a block processes, in shared memory and not in registers, of which the transforms
/// need all. Frame n belongs to slice n mod `slices`, and a block processes whole slices.
pub(super) struct Members {
    /// The present frame, the end, the present slice, the number of slices.
    numbers: *mut u32,
}

impl Members {
    /// Words of shared memory.
    pub(super) const WORDS: usize = 4;

    /// Frames 0 to `end`, in [`Members::WORDS`] words of shared memory. All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32, slices: u32, end: u32) -> Self {
        let numbers: *mut u32 = at.cast();
        if thread::thread_idx_x() == 0 {
            let slice = thread::block_idx_x();
            *numbers = if slice < slices { slice } else { end };
            *numbers.add(1) = end;
            *numbers.add(2) = slice;
            *numbers.add(3) = slices;
        }
        thread::sync_threads();
        Self { numbers }
    }

    /// Whether the present number is one of a frame.
    #[inline(always)]
    pub(super) unsafe fn more(&self) -> bool {
        *self.numbers < *self.numbers.add(1)
    }

    /// The present frame.
    #[inline(always)]
    pub(super) unsafe fn present(&self) -> u32 {
        *self.numbers
    }

    /// Its slice.
    #[inline(always)]
    pub(super) unsafe fn slice(&self) -> u32 {
        *self.numbers.add(2)
    }

    /// Goes on. All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn advance(&self) {
        let [present, end, slice, slices] = [0, 1, 2, 3].map(|n| self.numbers.add(n));
        thread::sync_threads();
        if thread::recomputed(thread::thread_idx_x()) == 0 {
            let mut next = *present + *slices;
            if next >= *end {
                *slice += thread::grid_dim_x();
                next = if *slice < *slices { *slice } else { *end };
            }
            *present = next;
        }
        thread::sync_threads();
    }
}

/// Words of shared memory of a transform, a ramp and the members.
pub(super) const fn words<const A: usize>() -> usize {
    Frame::<A>::WORDS + Ramp::<A>::WORDS + Members::WORDS
}

/// Transform, ramp and members in [`words`] words of shared memory.
#[inline(always)]
pub(super) unsafe fn shared_parts<const A: usize>(
    roots: *const Complex32,
    slices: u32,
    end: u32,
) -> (Frame<A>, Ramp<A>, Members) {
    let exchange = shared::dynamic_shared_mem::<f32>();
    let ramp = exchange.add(Frame::<A>::WORDS);
    let members = ramp.add(Ramp::<A>::WORDS);
    (
        Frame::new(exchange, roots),
        Ramp::new(ramp),
        Members::new(members, slices, end),
    )
}

/// The phase ramp of a frame.
pub(super) struct Ramp<const A: usize> {
    /// (row), then (column), in shared memory.
    factors: *mut Complex32,
}

impl<const A: usize> Ramp<A> {
    /// Words of shared memory.
    pub(super) const WORDS: usize = 4 * Frame::<A>::SIDE;
    /// Factors of the rows and of the columns.
    const FACTORS: u32 = 2 * Frame::<A>::SIDE as u32;
    /// Values of a thread in one row of the spectrum.
    const IN_ROW: usize = A * A;

    /// In [`Ramp::WORDS`] words of shared memory.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32) -> Self {
        Self { factors: at.cast() }
    }

    /// Sets the ramp of the shift, divided by the number of pixels. All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn set(&self, shift: *const [f32; 2]) {
        let thread = thread::hidden(thread::thread_idx_x());
        thread::sync_threads();
        if thread < Self::FACTORS {
            self.set_factor(thread, shift);
        }
        thread::sync_threads();
    }

    /// [`Ramp::set`] with fewer threads than factors.
    #[inline(always)]
    pub(super) unsafe fn set_in_turns(&self, shift: *const [f32; 2]) {
        thread::sync_threads();
        for at in thread::thread_stride(Self::FACTORS) {
            self.set_factor(at, shift);
        }
        thread::sync_threads();
    }

    /// Sets the factor of a row, or of a column.
    #[inline(always)]
    unsafe fn set_factor(&self, at: u32, shift: *const [f32; 2]) {
        let side = Frame::<A>::SIDE as u32;
        let (axis, k) = (at / side, at % side);
        let turns = frequency(k, side) * (*shift)[axis as usize];
        let scale = if axis == 0 {
            1.0 / Frame::<A>::PIXELS as f32
        } else {
            1.0
        };
        *self.factors.add(at as usize) = phase::sincos_turns_accurate(-turns).scale(scale);
    }

    /// Multiplies a spectrum, as [`Frame::forward`] leaves it, by the ramp, or by its conjugate: the factors' imaginary
    /// parts are multiplied by `sign`.
    #[inline(always)]
    unsafe fn apply<G: Group>(&self, frame: &GroupFrame<A, G>, x: &mut Values, sign: f32) {
        let (row, column) = frame.spectrum_place();
        let rows = self.factors.add(row);
        let columns = self.factors.add(Frame::<A>::SIDE + column);
        let factor = |at: *mut Complex32| {
            let factor = *at;
            Complex32::new(factor.re, sign * factor.im)
        };
        for line in 0..VALUES / Self::IN_ROW {
            let of_row = factor(rows.add(line));
            for k in 0..Self::IN_ROW {
                let of_column = factor(columns.add(Frame::<A>::spectrum_offset(k)));
                let v = line * Self::IN_ROW + k;
                x[v] = x[v] * (of_row * of_column);
                if v % TOGETHER == TOGETHER - 1 {
                    // So that not all factors are in registers at once.
                    warp::sync_warp(warp::FULL);
                }
            }
        }
    }

    /// Multiplies a spectrum by the ramp.
    #[inline(always)]
    pub(super) unsafe fn shift<G: Group>(&self, frame: &GroupFrame<A, G>, x: &mut Values) {
        self.apply(frame, x, 1.0);
    }

    /// Multiplies a spectrum by the ramp's conjugate.
    #[inline(always)]
    pub(super) unsafe fn shift_back<G: Group>(&self, frame: &GroupFrame<A, G>, x: &mut Values) {
        self.apply(frame, x, -1.0);
    }

    /// The unnormalised spectrum of a layer, `from` (row, column), times the ramp.
    #[inline(always)]
    pub(super) unsafe fn load_shifted(
        &self,
        frame: &Frame<A>,
        x: &mut Values,
        from: *const Complex32,
    ) {
        load_spectrum(frame, x, from);
        self.shift(frame, x);
    }
}

/// Loads a spectrum (row, column) as [`Frame::inverse`] takes it.
#[inline(always)]
pub(super) unsafe fn load_spectrum<const A: usize>(
    frame: &Frame<A>,
    x: &mut Values,
    from: *const Complex32,
) {
    let (row, column) = frame.spectrum_place();
    let from = from.add(row * Frame::<A>::SIDE + column);
    for v in 0..VALUES {
        x[v] = *from.add(Frame::<A>::spectrum_offset(v));
    }
}

/// Stores a spectrum (row, column) as [`Frame::forward`] leaves it.
#[inline(always)]
pub(super) unsafe fn store_spectrum<const A: usize>(
    frame: &Frame<A>,
    x: &Values,
    to: *mut Complex32,
) {
    let (row, column) = frame.spectrum_place();
    let to = to.add(row * Frame::<A>::SIDE + column);
    for v in 0..VALUES {
        *to.add(Frame::<A>::spectrum_offset(v)) = x[v];
    }
}

/// Stores a spectrum (row, column) as [`Frame::forward`] leaves it, or adds it to what is there.
#[inline(always)]
pub(super) unsafe fn add_spectrum<const A: usize>(
    frame: &Frame<A>,
    x: &Values,
    to: *mut Complex32,
    adds: bool,
) {
    let (row, column) = frame.spectrum_place();
    let to = to.add(row * Frame::<A>::SIDE + column);
    for group in 0..VALUES / TOGETHER {
        let mut old = [Complex32::ZERO; TOGETHER];
        if adds {
            for k in 0..TOGETHER {
                old[k] = *to.add(Frame::<A>::spectrum_offset(group * TOGETHER + k));
            }
        }
        for k in 0..TOGETHER {
            let v = group * TOGETHER + k;
            *to.add(Frame::<A>::spectrum_offset(v)) = x[v] + old[k];
        }
    }
}

/// Multiplies waves, as [`Frame::inverse`] leaves them, by the window of the object, its imaginary parts times `sign`;
/// leaves them as [`Frame::forward`] takes them. `window` begins at the frame's corner, in rows of `width`.
#[inline(always)]
pub(super) unsafe fn times_window<const A: usize>(
    frame: &Frame<A>,
    x: &mut Values,
    window: *const Complex32,
    width: u32,
    sign: f32,
) {
    let (row, column) = frame.place();
    let window = window.add(row * width as usize + column);
    let mut y = [Complex32::ZERO; VALUES];
    for group in 0..VALUES / TOGETHER {
        // Hidden, so that the rows' offsets are computed here and not kept for all frames and groups.
        let step = A * thread::hidden(width) as usize;
        let mut o = [Complex32::ZERO; TOGETHER];
        for k in 0..TOGETHER {
            o[k] = *window.add((group * TOGETHER + k) * step);
        }
        warp::sync_warp(warp::FULL);
        for k in 0..TOGETHER {
            let n = group * TOGETHER + k;
            y[reversed(n, 5)] = x[n] * Complex32::new(o[k].re, sign * o[k].im);
        }
    }
    *x = y;
}

/// Puts waves, as [`Frame::inverse`] leaves them, where [`Frame::forward`] takes them.
#[inline(always)]
pub(super) fn turned(x: &Values) -> Values {
    let mut y = [Complex32::ZERO; VALUES];
    for n in 0..VALUES {
        y[reversed(n, 5)] = x[n];
    }
    y
}

/// The frame's window on an object of rows of `width`.
#[inline(always)]
pub(super) unsafe fn window_of(
    object: *const Complex32,
    corners: *const [u32; 2],
    frame: usize,
    width: u32,
) -> *const Complex32 {
    object.add(corner_of(corners, frame, width))
}
