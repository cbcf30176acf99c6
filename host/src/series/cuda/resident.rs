//! Series on a machine.

use crate::gpu::{Buffer, Machine, Result};
use bytemuck::Pod;

/// Points in the order of time, each timestamp of a series once. Buffers may be longer than what is stated here.
pub struct Points<M: Machine> {
    /// (point), nanoseconds since 1970; rises within a series.
    pub times: M::Buffer<u64>,
    /// (point).
    pub values: M::Buffer<f64>,
    /// (series + 1): first points of the series.
    pub offsets: M::Buffer<u32>,
    /// Points of all series.
    pub points: usize,
    /// Series.
    pub series: usize,
}

/// Buckets of one granularity. Buffers have room for `capacity` of them; how many there are stands in
/// [`Heads::facts`], on the device.
pub struct Heads<M: Machine> {
    /// (bucket + 1): first point of each bucket; after the last the number of points.
    pub first: M::Buffer<u32>,
    /// (bucket), first moment in nanoseconds since 1970.
    pub starts: M::Buffer<i64>,
    /// (series + 1): first bucket of each series.
    pub of_series: M::Buffer<u32>,
    /// [`Heads::BUCKETS`], [`Heads::LONGEST`], and what stages keep for each other.
    pub facts: M::Buffer<u32>,
    /// Most buckets.
    pub capacity: usize,
}

/// Aggregates of the buckets of one granularity, one column after the other.
pub struct Columns<M: Machine> {
    /// (column, bucket).
    pub values: M::Buffer<f64>,
    /// Elements from one column to the next: buckets there is room for.
    pub stride: usize,
    /// Columns.
    pub count: usize,
}

impl<M: Machine> Points<M> {
    /// Room for so many.
    ///
    /// # Errors
    /// Out of memory.
    pub fn with_room(machine: &M, points: usize, series: usize) -> Result<Self> {
        Ok(Self {
            times: machine.alloc("timestamps", points)?,
            values: machine.alloc("values", points)?,
            offsets: machine.alloc("offsets of series", series + 1)?,
            points,
            series,
        })
    }

    /// Makes these the numbers of points and series, with new buffers where the old ones are too short; what was in
    /// them is lost then.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, machine: &M, points: usize, series: usize) -> Result<()> {
        if points > self.times.len().min(self.values.len()) || series >= self.offsets.len() {
            // The old ones first: both may not fit.
            *self = Self::with_room(machine, 0, 0)?;
            *self = Self::with_room(machine, points, series)?;
        }
        (self.points, self.series) = (points, series);
        Ok(())
    }
}

impl<M: Machine> Heads<M> {
    /// Place in [`Heads::facts`]: buckets of all series.
    pub const BUCKETS: usize = 0;
    /// Place in [`Heads::facts`]: points of the longest bucket.
    pub const LONGEST: usize = 1;
    /// Places.
    pub const FACTS: usize = 8;

    /// Points of the longest bucket, as far as facts tell.
    pub(super) fn longest(facts: &[u32]) -> usize {
        facts.get(Self::LONGEST).map_or(0, |n| *n as usize)
    }

    /// Room for `capacity` buckets.
    ///
    /// # Errors
    /// Out of memory.
    pub fn with_room(machine: &M, capacity: usize, series: usize) -> Result<Self> {
        Ok(Self {
            first: machine.alloc("buckets", capacity + 1)?,
            starts: machine.alloc("starts of buckets", capacity)?,
            of_series: machine.alloc("buckets of series", series + 1)?,
            facts: machine.alloc("facts of buckets", Self::FACTS)?,
            capacity,
        })
    }

    /// As [`Points::reserve`].
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, machine: &M, capacity: usize, series: usize) -> Result<()> {
        if capacity > self.starts.len() || series >= self.of_series.len() {
            let buckets = capacity.max(self.starts.len());
            *self = Self::with_room(machine, 0, 0)?;
            *self = Self::with_room(machine, buckets, series)?;
        }
        self.capacity = capacity;
        Ok(())
    }
}

impl<M: Machine> Columns<M> {
    /// Room for `count` columns of `stride` buckets.
    ///
    /// # Errors
    /// Out of memory.
    pub fn with_room(machine: &M, stride: usize, count: usize) -> Result<Self> {
        Ok(Self {
            values: machine.alloc("aggregates", stride.saturating_mul(count))?,
            stride,
            count,
        })
    }

    /// As [`Points::reserve`], for as many columns as before.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, machine: &M, stride: usize) -> Result<()> {
        if stride.saturating_mul(self.count) > self.values.len() {
            let count = self.count;
            *self = Self::with_room(machine, 0, count)?;
            *self = Self::with_room(machine, stride, count)?;
        }
        self.stride = stride;
        Ok(())
    }
}

/// Room on a machine that grows when more is asked for, and never shrinks.
pub struct Room<M: Machine, T: Pod + Send> {
    what: &'static str,
    buffer: M::Buffer<T>,
    len: usize,
}

impl<M: Machine, T: Pod + Send> Room<M, T> {
    /// None yet; `what` names it in errors.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(machine: &M, what: &'static str) -> Result<Self> {
        Ok(Self {
            what,
            buffer: machine.alloc(what, 0)?,
            len: 0,
        })
    }

    /// At least so many elements. What was there is lost where it grows.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, machine: &M, len: usize) -> Result<()> {
        if len > self.len {
            // The old one first: both may not fit.
            self.buffer = machine.alloc(self.what, 0)?;
            self.len = 0;
            self.buffer = machine.alloc(self.what, len)?;
            self.len = len;
        }
        Ok(())
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory.
    #[must_use]
    pub fn buffer(&self) -> &M::Buffer<T> {
        &self.buffer
    }

    /// The memory.
    pub fn buffer_mut(&mut self) -> &mut M::Buffer<T> {
        &mut self.buffer
    }
}
