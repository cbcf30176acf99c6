//! Series in device memory.

use warpstride_cuda::gpu::{Buffer, Device, Result};

/// Points in time order, each timestamp at most once per series. Buffers may be longer than their
/// contents.
pub struct Points<M: Device> {
    /// (point), nanoseconds since 1970; rising within a series.
    pub times: M::Buffer<u64>,
    /// (point).
    pub values: M::Buffer<f64>,
    /// (series + 1): first point of each series.
    pub offsets: M::Buffer<u32>,
    /// Number of points of all series.
    pub points: usize,
    /// Number of series.
    pub series: usize,
}

/// Buckets of one granularity. Buffers have capacity for `capacity` buckets; the actual number is
/// in [`Heads::facts`], on the device.
pub struct Heads<M: Device> {
    /// (bucket + 1): first point of each bucket, followed by the number of points.
    pub first: M::Buffer<u32>,
    /// (bucket), bucket start in nanoseconds since 1970.
    pub starts: M::Buffer<i64>,
    /// (series + 1): first bucket of each series.
    pub of_series: M::Buffer<u32>,
    /// [`Heads::BUCKETS`], [`Heads::LONGEST`], and values that stages share.
    pub facts: M::Buffer<u32>,
    /// Largest number of buckets.
    pub capacity: usize,
}

/// Aggregates of the buckets of one granularity, column by column.
pub struct Columns<M: Device> {
    /// (column, bucket).
    pub values: M::Buffer<f64>,
    /// Distance between columns in elements: the capacity for buckets.
    pub stride: usize,
    /// Number of columns.
    pub count: usize,
}

impl<M: Device> Points<M> {
    /// Allocates memory for the given numbers of points and series.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn with_capacity(device: &M, points: usize, series: usize) -> Result<Self> {
        Ok(Self {
            times: device.alloc("timestamps", points)?,
            values: device.alloc("values", points)?,
            offsets: device.alloc("offsets of series", series + 1)?,
            points,
            series,
        })
    }

    /// Sets the numbers of points and series. Buffers that are too short are replaced, and lose
    /// their contents.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn reserve(&mut self, device: &M, points: usize, series: usize) -> Result<()> {
        if points > self.times.len().min(self.values.len()) || series >= self.offsets.len() {
            // The old buffers are freed first, because both may not fit.
            *self = Self::with_capacity(device, 0, 0)?;
            *self = Self::with_capacity(device, points, series)?;
        }
        (self.points, self.series) = (points, series);
        Ok(())
    }
}

impl<M: Device> Heads<M> {
    /// Index in [`Heads::facts`]: number of buckets of all series.
    pub const BUCKETS: usize = 0;
    /// Index in [`Heads::facts`]: number of points of the longest bucket.
    pub const LONGEST: usize = 1;
    /// Length of [`Heads::facts`].
    pub const FACTS: usize = 8;

    /// Number of points of the longest bucket, as far as the facts tell.
    pub(super) fn longest(facts: &[u32]) -> usize {
        facts.get(Self::LONGEST).map_or(0, |n| *n as usize)
    }

    /// Allocates memory for `capacity` buckets.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn with_capacity(device: &M, capacity: usize, series: usize) -> Result<Self> {
        Ok(Self {
            first: device.alloc("buckets", capacity + 1)?,
            starts: device.alloc("starts of buckets", capacity)?,
            of_series: device.alloc("buckets of series", series + 1)?,
            facts: device.alloc("facts of buckets", Self::FACTS)?,
            capacity,
        })
    }

    /// Sets the numbers of buckets and series, as [`Points::reserve`] does.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn reserve(&mut self, device: &M, capacity: usize, series: usize) -> Result<()> {
        if capacity > self.starts.len() || series >= self.of_series.len() {
            let buckets = capacity.max(self.starts.len());
            *self = Self::with_capacity(device, 0, 0)?;
            *self = Self::with_capacity(device, buckets, series)?;
        }
        self.capacity = capacity;
        Ok(())
    }
}

impl<M: Device> Columns<M> {
    /// Allocates memory for `count` columns of `stride` buckets.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn with_capacity(device: &M, stride: usize, count: usize) -> Result<Self> {
        Ok(Self {
            values: device.alloc("aggregates", stride.saturating_mul(count))?,
            stride,
            count,
        })
    }

    /// Sets the number of buckets, as [`Points::reserve`] does; the number of columns stays.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub fn reserve(&mut self, device: &M, stride: usize) -> Result<()> {
        if stride.saturating_mul(self.count) > self.values.len() {
            let count = self.count;
            *self = Self::with_capacity(device, 0, count)?;
            *self = Self::with_capacity(device, stride, count)?;
        }
        self.stride = stride;
        Ok(())
    }
}
