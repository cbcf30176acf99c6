//! Copies of rectangles between buffers of a device whose rows have different lengths.

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::error::{CudaError, Result, check};
use super::ffi::driver;
use super::stream::Stream;

/// The longest pitch of a copy of a rectangle that every driver takes, bytes.
const MAX_PITCH: usize = i32::MAX as usize;

/// Where the rows of a rectangle are in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLayout {
    /// First byte of the first row.
    pub start: usize,
    /// Bytes from the beginning of a row to that of the next.
    pub pitch: usize,
}

impl RowLayout {
    /// The bytes that a rectangle of `rows` rows of `width` bytes extends over, if they are in a
    /// buffer of `len` bytes and rows do not overlap.
    #[must_use]
    pub fn extent(self, [rows, width]: [usize; 2], len: usize) -> Option<std::ops::Range<usize>> {
        if rows == 0 || width == 0 {
            return Some(0..0);
        }
        let last = (rows - 1).checked_mul(self.pitch)?;
        let end = self.start.checked_add(last)?.checked_add(width)?;
        let apart = rows == 1 || self.pitch >= width;
        (apart && end <= len).then_some(self.start..end)
    }
}

impl Stream {
    /// Queues a copy of a rectangle of `rows` rows of `width` bytes between two buffers of the same
    /// device.
    ///
    /// # Errors
    /// A rectangle exceeds its buffer, its rows overlap, the devices differ, or an error of the
    /// driver.
    pub fn copy_rows<T: Pod, U: Pod>(
        &self,
        [rows, width]: [usize; 2],
        (from, source): (&DeviceBuffer<T>, RowLayout),
        (to, target): (&mut DeviceBuffer<U>, RowLayout),
    ) -> Result<()> {
        self.context().expect_same(from.context(), "the source")?;
        self.context().expect_same(to.context(), "the target")?;
        for (layout, len) in [(source, from.bytes()), (target, to.bytes())] {
            layout.extent([rows, width], len).ok_or(CudaError::Range {
                what: "copy rows",
                start: layout.start,
                end: layout
                    .start
                    .saturating_add(rows.saturating_mul(layout.pitch)),
                len,
            })?;
        }
        if rows == 0 || width == 0 {
            return Ok(());
        }
        self.context().enter()?;
        let compact = source.pitch == width && target.pitch == width;
        if compact || rows == 1 || source.pitch.max(target.pitch) > MAX_PITCH {
            let (pieces, bytes) = if compact {
                (1, rows * width)
            } else {
                (rows, width)
            };
            for row in 0..pieces {
                let place = |address, layout: RowLayout| {
                    address + (layout.start + row * layout.pitch) as driver::DevicePtr
                };
                let (from, to) = (place(from.raw(), source), place(to.raw(), target));
                // SAFETY: both extents were just checked, on this device; freeing either buffer
                // waits for the copy.
                let answer = unsafe { driver::cuMemcpyDtoDAsync_v2(to, from, bytes, self.raw()) };
                check(answer, "cuMemcpyDtoDAsync")?;
            }
            return Ok(());
        }
        let side = |address, layout: RowLayout| driver::Side2D {
            x_bytes: 0,
            y: 0,
            memory_type: driver::MEMORY_OF_DEVICE,
            host: std::ptr::null_mut(),
            device: address + layout.start as driver::DevicePtr,
            array: std::ptr::null_mut(),
            pitch: layout.pitch,
        };
        let copy = driver::Copy2D {
            from: side(from.raw(), source),
            to: side(to.raw(), target),
            width_bytes: width,
            height: rows,
        };
        // SAFETY: both extents were just checked, on this device; freeing either buffer waits for
        // the copy.
        let answer = unsafe { driver::cuMemcpy2DAsync_v2(&raw const copy, self.raw()) };
        check(answer, "cuMemcpy2DAsync")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_that_exceeds_its_buffer_has_no_extent() {
        let layout = RowLayout {
            start: 8,
            pitch: 16,
        };
        assert_eq!(layout.extent([3, 12], 52), Some(8..52));
        assert_eq!(layout.extent([3, 12], 51), None);
        assert_eq!(layout.extent([2, 17], 1000), None, "rows overlap");
        assert_eq!(layout.extent([1, 17], 25), Some(8..25));
        assert_eq!(layout.extent([0, 5], 0), Some(0..0));
        assert_eq!(layout.extent([usize::MAX, 12], 52), None);
    }
}
