//! What the tests of time series share: numbers, buckets and launches.

#![allow(dead_code, reason = "each test uses some of it")]

use bytemuck::Pod;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch};

/// Launches: blocks, threads, order of threads.
pub(crate) const LAUNCHES: [(u32, u32, Order); 3] = [
    (1, 32, Order::Ascending),
    (3, 64, Order::Descending),
    (7, 128, Order::Ascending),
];

/// Whole numbers that repeat after 2⁶⁴ (Marsaglia's xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Ties, zeros of both signs, infinities, NaN of both signs, subnormal numbers, and plain ones.
    pub(crate) fn value(&mut self) -> f64 {
        match self.below(16) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::from_bits(0xfff8_0000_0000_0001),
            3 => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324][self.below(4) as usize],
            4..8 => self.below(5) as f64 - 2.0,
            _ => (self.next() as i64) as f64 * 1e-12,
        }
    }
}

pub(crate) fn copy<T: Pod>(values: &[T]) -> Memory<T> {
    Memory::try_copy_of(values).expect("memory")
}

pub(crate) fn zeroed<T: Pod>(len: usize) -> Memory<T> {
    Memory::try_zeroed(len).expect("memory")
}

pub(crate) fn poisoned<T: Pod>(len: usize) -> Memory<T> {
    Memory::try_poisoned(len).expect("memory")
}

pub(crate) fn launch<L: Launch<Emulated> + Sync>(
    launch: &L,
    (grid, block, order): (u32, u32, Order),
) {
    let config = LaunchConfig::linear(launch, grid, block);
    emulator::launch_in(launch, config, order).expect("a launch");
}

/// Points cut into buckets, as the stage before leaves them.
pub(crate) struct Buckets {
    pub(crate) values: Vec<f64>,
    pub(crate) first: Vec<u32>,
    pub(crate) covering: Vec<u32>,
    pub(crate) facts: Vec<u32>,
    pub(crate) capacity: u32,
}

impl Buckets {
    pub(crate) fn new(lengths: &[usize], mut value: impl FnMut(usize) -> f64) -> Self {
        let mut first = vec![0_u32];
        let mut end = 0;
        for length in lengths {
            end += *length as u32;
            first.push(end);
        }
        let values: Vec<f64> = (0..end as usize).map(&mut value).collect();
        let of = |point: u32| first.partition_point(|f| *f <= point) as u32 - 1;
        let covering = (0..end).step_by(32).map(of).collect();
        let longest = lengths.iter().max().copied().unwrap_or(0) as u32;
        let facts = vec![lengths.len() as u32, longest, 0, 0, 0, 0, 0, 0];
        // Longer than needed; what lies there means nothing.
        let capacity = lengths.len() as u32 + 3;
        first.resize(capacity as usize + 1, u32::MAX);
        Self {
            values,
            first,
            covering,
            facts,
            capacity,
        }
    }

    pub(crate) fn points(&self) -> u32 {
        self.values.len() as u32
    }

    pub(crate) fn bucket(&self, bucket: usize) -> &[f64] {
        &self.values[self.first[bucket] as usize..self.first[bucket + 1] as usize]
    }

    pub(crate) fn count(&self) -> usize {
        self.facts[0] as usize
    }
}
