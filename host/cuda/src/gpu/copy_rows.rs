//! Copies of rectangles by device groups.

use bytemuck::Pod;

use super::{CudaDeviceGroup, DeviceGroup, EmulatedDeviceGroup, Result, StreamId};
use crate::cuda::RowLayout;

/// Device groups that copy rectangles between buffers whose rows have different lengths.
pub trait RowCopies: DeviceGroup {
    /// Queues a copy of `rows` rows of `width` bytes between two buffers of a device.
    ///
    /// # Errors
    /// A rectangle exceeds its buffer, its rows overlap, the devices differ, or an error of the
    /// driver.
    fn copy_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        place: (usize, StreamId),
        size: [usize; 2],
        from: (&Self::Buffer<T>, RowLayout),
        to: (&mut Self::Buffer<U>, RowLayout),
    ) -> Result<()>;
}

impl RowCopies for CudaDeviceGroup {
    fn copy_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        place: (usize, StreamId),
        size: [usize; 2],
        from: (&Self::Buffer<T>, RowLayout),
        to: (&mut Self::Buffer<U>, RowLayout),
    ) -> Result<()> {
        self.queue_copy_of_rows(place, size, from, to)
    }
}

impl RowCopies for EmulatedDeviceGroup {
    fn copy_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        place: (usize, StreamId),
        size: [usize; 2],
        from: (&Self::Buffer<T>, RowLayout),
        to: (&mut Self::Buffer<U>, RowLayout),
    ) -> Result<()> {
        self.copy_of_rows(place, size, from, to)
    }
}

/// One group for several engines, one after the other.
impl<G: RowCopies> RowCopies for &G {
    fn copy_rows<T: Pod + Send, U: Pod + Send>(
        &self,
        place: (usize, StreamId),
        size: [usize; 2],
        from: (&Self::Buffer<T>, RowLayout),
        to: (&mut Self::Buffer<U>, RowLayout),
    ) -> Result<()> {
        (**self).copy_rows(place, size, from, to)
    }
}
