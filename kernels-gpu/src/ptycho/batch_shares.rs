//! The shares of a batch: four parts of its frames that are summed apart, so that the sums do not depend on how many devices divide them.

use warpstride_device::prelude::*;

/// Shares of a batch.
pub const SHARES: usize = 4;

/// The places in a batch where its shares end. They are read when they are needed, so that they take no registers.
#[derive(Clone, Copy)]
pub(super) struct ShareEnds {
    /// (share), of the batch.
    pub(super) ends: *const [u32; SHARES],
    /// Frames of the batch.
    pub(super) count: u32,
}

impl ShareEnds {
    #[inline(always)]
    pub(super) unsafe fn load(self) -> [u32; SHARES] {
        let mut ends = *self.ends;
        for end in &mut ends {
            *end = (*end).min(self.count);
        }
        ends[SHARES - 1] = self.count;
        ends
    }

    /// The share of a place.
    #[inline(always)]
    pub(super) unsafe fn share_of(self, place: u32) -> u32 {
        let mut share = 0;
        for end in &self.load()[..SHARES - 1] {
            share += u32::from(place >= *end);
        }
        share
    }
}

/// The sums of shares s, one after the other: (s₀ + s₁) + (s₂ + s₃). Shares without frames add 0, which changes no bits.
pub(super) struct ShareSums {
    /// Sums of the present share.
    pub(super) numerator: Complex32,
    pub(super) weight: f32,
    share: u32,
    first: (Complex32, f32),
    second: (Complex32, f32),
}

impl ShareSums {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = (Complex32::ZERO, 0.0);
        Self {
            numerator: zero.0,
            weight: zero.1,
            share: 0,
            first: zero,
            second: zero,
        }
    }

    /// Ends the shares before `share`.
    #[inline(always)]
    pub(super) fn go_on_to(&mut self, share: u32) {
        while self.share < share {
            if self.share < 2 {
                self.first.0 += self.numerator;
                self.first.1 += self.weight;
            } else {
                self.second.0 += self.numerator;
                self.second.1 += self.weight;
            }
            (self.numerator, self.weight) = (Complex32::ZERO, 0.0);
            self.share += 1;
        }
    }

    #[inline(always)]
    pub(super) fn total(mut self) -> (Complex32, f32) {
        self.go_on_to(SHARES as u32);
        let mut sum = self.first.0;
        sum += self.second.0;
        (sum, self.first.1 + self.second.1)
    }
}

/// [`ShareSums`] of a thread that has no registers for those of the shares that have ended: they are in shared memory.
pub(super) struct StoredShareSums {
    /// Sums of the present share.
    pub(super) numerator: Complex32,
    pub(super) weight: f32,
    share: u32,
    /// (pair of shares, value), of this thread.
    ended: *mut [[f32; 3]; 2],
}

impl StoredShareSums {
    #[inline(always)]
    pub(super) unsafe fn new(ended: *mut [[f32; 3]; 2]) -> Self {
        *ended = [[0.0; 3]; 2];
        Self {
            numerator: Complex32::ZERO,
            weight: 0.0,
            share: 0,
            ended,
        }
    }

    /// Ends the shares before `share`.
    #[inline(always)]
    pub(super) unsafe fn go_on_to(&mut self, share: u32) {
        if self.share == share {
            return;
        }
        // A sum that is 0 changes no bits of the pair's, so that only the present one must be added.
        let pair = &mut (*self.ended)[(self.share / 2) as usize];
        pair[0] += self.numerator.re;
        pair[1] += self.numerator.im;
        pair[2] += self.weight;
        (self.numerator, self.weight) = (Complex32::ZERO, 0.0);
        self.share = share;
    }

    #[inline(always)]
    pub(super) unsafe fn total(mut self) -> (Complex32, f32) {
        self.go_on_to(SHARES as u32);
        let [first, second] = *self.ended;
        (
            Complex32::new(first[0] + second[0], first[1] + second[1]),
            first[2] + second[2],
        )
    }
}
