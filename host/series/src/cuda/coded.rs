//! Compressed timestamps for the transfer to the device: the minimum of each frame of 1024 points,
//! and the distance of each point from it in a unit that divides all distances. The coding is
//! lossless; otherwise it is not used.
//!
//! Packing divides by multiplication: for an odd d, the quotient of a multiple n is n·d⁻¹ modulo
//! 2⁶⁴, and n is a multiple if and only if that product is at most (2⁶⁴ − 1)/d (T. Granlund, P.
//! Montgomery, PLDI 1994, section 9).

use super::resident::Points;
use super::sort::grow;
use bytemuck::Pod;
use rayon::prelude::*;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::unpack::{FRAME, SeriesUnpack16, SeriesUnpack32, frames};

/// Number of frames that one thread packs.
const FRAMES: usize = 64;
/// Number of frames, and of points in each, that are sampled before all are packed.
const SAMPLES: usize = 32;
const SAMPLE: usize = 128;
/// Number of attempts to pack with an adjusted coding before timestamps are transferred unchanged.
const TRIES: u32 = 4;

/// Size of a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    /// 16 bits.
    Two,
    /// 32 bits.
    Four,
    /// Timestamps are transferred unchanged.
    Raw,
}

/// The coding of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coding {
    /// Nanoseconds, at least 1.
    pub(super) unit: u64,
    /// Size of a distance.
    pub(super) width: Width,
    tries: u32,
}

/// An integer type that stores distances.
pub(super) trait Distance: Pod + Send + Sync {
    /// The largest distance.
    const MOST: u64;
    /// Converts from the lower bits of `units`.
    fn of(units: u64) -> Self;
}

impl Distance for u16 {
    const MOST: u64 = Self::MAX as u64;
    fn of(units: u64) -> Self {
        units as Self
    }
}

impl Distance for u32 {
    const MOST: u64 = Self::MAX as u64;
    fn of(units: u64) -> Self {
        units as Self
    }
}

/// Division by a constant, done by multiplication.
#[derive(Clone, Copy)]
struct Divisor {
    zeros: u32,
    inverse: u64,
    /// The largest quotient that is accepted for a multiple.
    most: u64,
}

impl Divisor {
    fn new(unit: u64, most: u64) -> Self {
        let zeros = unit.trailing_zeros() % u64::BITS;
        let odd = (unit >> zeros).max(1);
        // Newton's iteration: five correct bits at first, then 10, 20, 40, 80.
        let mut inverse = odd.wrapping_mul(3) ^ 2;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Self {
            zeros,
            inverse,
            most: most.min(u64::MAX / odd),
        }
    }

    /// Returns the quotient, and whether it is exact and small enough.
    fn divide(self, n: u64) -> (u64, bool) {
        let quotient = (n >> self.zeros).wrapping_mul(self.inverse);
        let left = n & ((1 << self.zeros) - 1);
        (quotient, left == 0 && quotient <= self.most)
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The smallest and the largest timestamp.
fn range(times: &[u64]) -> (u64, u64) {
    let least = times.iter().copied().min().unwrap_or(0);
    (least, times.iter().copied().max().unwrap_or(0))
}

/// The largest divisor of `unit` (0: any number) that divides all distances of a frame; 0 if any
/// number does.
fn common_unit(times: &[u64], mut unit: u64) -> u64 {
    let (least, _) = range(times);
    for time in times {
        let distance = time - least;
        if unit == 0 || distance % unit != 0 {
            unit = greatest_common_divisor(distance, unit);
        }
    }
    unit
}

impl Coding {
    /// Timestamps are transferred unchanged.
    pub(super) const RAW: Self = Self {
        unit: 1,
        width: Width::Raw,
        tries: 0,
    };

    /// Guesses a coding from a sample of the timestamps.
    pub(super) fn guess(times: &[u64]) -> Self {
        let step = frames(times.len()).div_ceil(SAMPLES).max(1);
        let sampled = times.chunks(FRAME).step_by(step);
        let unit = sampled.clone().fold(0, |unit, frame| {
            common_unit(&frame[..frame.len().min(SAMPLE)], unit)
        });
        let unit = unit.max(1);
        let width = sampled.map(|frame| Self::width_of(frame, unit)).max();
        Self {
            unit,
            width: width.unwrap_or(Width::Raw),
            tries: 0,
        }
    }

    fn width_of(frame: &[u64], unit: u64) -> Width {
        let (least, greatest) = range(frame);
        match (greatest - least) / unit {
            near if near <= u16::MOST => Width::Two,
            far if far <= u32::MOST => Width::Four,
            _ => Width::Raw,
        }
    }

    /// Bytes transferred for the given number of timestamps.
    pub(super) fn bytes(self, points: usize) -> usize {
        let distance = match self.width {
            Width::Two => 2,
            Width::Four => 4,
            Width::Raw => return 8 * points,
        };
        8 * frames(points) + distance * points
    }

    /// Packs timestamps into `bases`, (frame), and `distances`, (point), whose type must match the
    /// width.
    ///
    /// # Errors
    /// Another coding, which fits the frame that failed and is to be tried next; at last
    /// [`Width::Raw`].
    pub(super) fn pack<D: Distance>(
        self,
        times: &[u64],
        bases: &mut [u64],
        distances: &mut [D],
    ) -> std::result::Result<(), Self> {
        if bases.len() < frames(times.len()) || distances.len() < times.len() {
            return Err(Self::RAW);
        }
        let divisor = Divisor::new(self.unit, D::MOST);
        let frames = times
            .par_chunks(FRAME)
            .zip(bases.par_iter_mut())
            .zip(distances.par_chunks_mut(FRAME))
            .with_min_len(FRAMES);
        let refused = frames.find_map_any(|((times, base), distances)| {
            *base = range(times).0;
            let mut exact = true;
            for (time, distance) in times.iter().zip(distances) {
                let (units, whole) = divisor.divide(time - *base);
                *distance = D::of(units);
                exact &= whole;
            }
            (!exact).then_some(times)
        });
        refused.map_or(Ok(()), |frame| Err(self.after(frame)))
    }

    /// Returns a coding that also fits this frame, for which the current one failed.
    fn after(self, frame: &[u64]) -> Self {
        if self.tries == TRIES {
            return Self::RAW;
        }
        let unit = common_unit(frame, self.unit).max(1);
        Self {
            unit,
            width: self.width.max(Self::width_of(frame, unit)),
            tries: self.tries + 1,
        }
    }
}

/// Coded timestamps in device memory.
pub(super) struct Coded<M: Device> {
    /// (frame), nanoseconds since 1970.
    pub(super) bases: M::Buffer<u64>,
    /// (point), distances of [`Width::Two`].
    pub(super) narrow: M::Buffer<u16>,
    /// (point), distances of [`Width::Four`].
    pub(super) wide: M::Buffer<u32>,
}

impl<M: Device> Coded<M> {
    /// Makes empty buffers.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            bases: device.alloc("coded timestamps", 0)?,
            narrow: device.alloc("coded timestamps", 0)?,
            wide: device.alloc("coded timestamps", 0)?,
        })
    }

    /// Makes the buffers large enough for the given number of timestamps.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub(super) fn reserve(&mut self, device: &M, coding: Coding, points: usize) -> Result<()> {
        const WHAT: &str = "coded timestamps";
        match coding.width {
            Width::Two => grow(device, WHAT, &mut self.narrow, points)?,
            Width::Four => grow(device, WHAT, &mut self.wide, points)?,
            Width::Raw => return Ok(()),
        }
        grow(device, WHAT, &mut self.bases, frames(points))
    }

    /// Queues the decoding of the timestamps, unless they are [`Width::Raw`] and were transferred
    /// unchanged.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn queue(&self, device: &M, coding: Coding, points: &mut Points<M>) -> Result<()> {
        let (from, to) = (0, points.points as u32);
        let work = Work::Elements(points.points);
        let unit = coding.unit;
        match coding.width {
            Width::Two => device.launch(
                &SeriesUnpack16 {
                    bases: self.bases.read(),
                    distances: self.narrow.read(),
                    times: points.times.write(),
                    unit,
                    from,
                    to,
                },
                work,
            ),
            Width::Four => device.launch(
                &SeriesUnpack32 {
                    bases: self.bases.read(),
                    distances: self.wide.read(),
                    times: points.times.write(),
                    unit,
                    from,
                    to,
                },
                work,
            ),
            Width::Raw => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    /// Packs and decodes timestamps, and returns the coding that was used.
    fn travelled(times: &[u64]) -> Coding {
        let device = EmulatedDevice::default();
        let mut points = Points::with_capacity(&device, times.len(), 1).unwrap();
        let mut coded = Coded::new(&device).unwrap();
        let mut bases = vec![0; frames(times.len())];
        let (mut narrow, mut wide) = (vec![0_u16; times.len()], vec![0_u32; times.len()]);
        let mut coding = Coding::guess(times);
        loop {
            let packed = match coding.width {
                Width::Two => coding.pack(times, &mut bases, &mut narrow),
                Width::Four => coding.pack(times, &mut bases, &mut wide),
                Width::Raw => return coding,
            };
            match packed {
                Ok(()) => break,
                Err(other) => coding = other,
            }
        }
        coded.reserve(&device, coding, times.len()).unwrap();
        device.upload(&mut coded.bases, &bases).unwrap();
        match coding.width {
            Width::Two => device.upload(&mut coded.narrow, &narrow).unwrap(),
            _ => device.upload(&mut coded.wide, &wide).unwrap(),
        }
        coded.queue(&device, coding, &mut points).unwrap();
        let mut back = vec![0_u64; times.len()];
        device.download(&points.times, &mut back).unwrap();
        assert_eq!(back, times);
        coding
    }

    #[test]
    fn packed_timestamps_are_restored() {
        let second = 1_000_000_000;
        let regular: Vec<u64> = (0..5000)
            .map(|i| 1_428_102_660 * second + 5 * second * i)
            .collect();
        let coding = travelled(&regular);
        assert_eq!((coding.unit, coding.width), (5 * second, Width::Two));
        assert_eq!(coding.bytes(5000), 5 * 8 + 2 * 5000);

        // Unordered timestamps with jitter of milliseconds.
        let jittered: Vec<u64> = (0..3000)
            .map(|i| (i * 7919 % 3000 * 5000 + i % 13) * 1_000_000 + 1)
            .collect();
        let coding = travelled(&jittered);
        assert_eq!((coding.unit, coding.width), (1_000_000, Width::Four));

        assert_eq!(travelled(&[u64::MAX >> 1; 1025]).width, Width::Two);
        assert_eq!(travelled(&[3]).width, Width::Two);
        let ends = [0, u64::MAX >> 1];
        assert_eq!(travelled(&ends).unit, u64::MAX >> 1);
        assert_eq!(travelled(&[0, 1, u64::MAX >> 1]).width, Width::Raw);
        // Larger than any unit whose multiples fit in 64 bits.
        let long: Vec<u64> = (0..7).map(|i| i << 60).collect();
        assert_eq!(travelled(&long).unit, 1 << 60);
        assert_eq!(Coding::guess(&[]).width, Width::Raw);
    }

    #[test]
    fn a_failed_guess_is_corrected() {
        // Points that are not sampled have another unit, then a larger distance.
        let mut times: Vec<u64> = (0..200_000).map(|i| i * 6000).collect();
        times[1500] += 1000;
        let coding = travelled(&times);
        assert_eq!((coding.unit, coding.width), (1000, Width::Two));
        times[1500] += 1000 << 30;
        let coding = travelled(&times);
        assert_eq!((coding.unit, coding.width), (1000, Width::Four));
        // Several frames, each with another unit.
        for (frame, more) in [3, 5, 7, 11, 13].into_iter().enumerate() {
            times[FRAME * (7 * frame + 2) - 1] += 8 * more;
        }
        times[1500] -= 1000 << 30;
        assert_eq!(travelled(&times).unit, 8);
        times[1501] = 1 << 60;
        assert_eq!(travelled(&times).width, Width::Raw);
    }

    #[test]
    fn inexact_divisions_are_detected() {
        for unit in [
            1,
            2,
            3,
            5,
            12,
            1 << 40,
            5_000_000_000,
            (1 << 62) + 1,
            3 << 61,
        ] {
            let divisor = Divisor::new(unit, u64::MAX);
            for n in [
                0,
                1,
                unit - 1,
                unit,
                unit + 1,
                u64::MAX / unit * unit,
                u64::MAX,
            ] {
                let (quotient, exact) = divisor.divide(n);
                assert_eq!(exact, n % unit == 0, "{n} / {unit}");
                assert!(!exact || quotient == n / unit);
            }
        }
    }
}
