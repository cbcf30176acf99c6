//! Removes every point for which an earlier point of its series has the same time.

use super::compact::Compact;
use super::resident::Points;
use super::sort::grow;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::series::compact::NO_REPEATS;

/// Buffers for the removal of duplicates.
pub(super) struct Duplicates<M: Device> {
    compact: Compact<M>,
    packed: Points<M>,
}

impl<M: Device> Duplicates<M> {
    /// Makes empty buffers.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            compact: Compact::new(device)?,
            packed: Points::with_capacity(device, 0, 0)?,
        })
    }

    /// Removes duplicates from sorted points, waits, and returns the number of remaining points.
    /// Replaces the points' buffers.
    ///
    /// # Errors
    /// If device memory is insufficient; errors of the driver.
    pub(super) fn drop_from(&mut self, device: &M, points: &mut Points<M>) -> Result<usize> {
        if points.points == 0 {
            return Ok(0);
        }
        let packed = &mut self.packed;
        grow(device, "timestamps", &mut packed.times, points.points)?;
        grow(device, "values", &mut packed.values, points.points)?;
        let offsets = points.series + 1;
        grow(device, "offsets of series", &mut packed.offsets, offsets)?;
        (packed.points, packed.series) = (points.points, points.series);
        self.compact.queue(device, points, packed, NO_REPEATS)?;
        packed.points = self.compact.selected(device)?.min(points.points);
        std::mem::swap(points, packed);
        Ok(points.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    #[test]
    fn the_first_point_of_each_time_is_kept() {
        let device = EmulatedDevice::default();
        let mut points = Points::with_capacity(&device, 7, 3).unwrap();
        device
            .upload(&mut points.times, &[1_u64, 1, 2, 2, 2, 2, 3])
            .unwrap();
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        device.upload(&mut points.values, &values).unwrap();
        device
            .upload(&mut points.offsets, &[0_u32, 4, 4, 7])
            .unwrap();
        let mut duplicates = Duplicates::new(&device).unwrap();
        assert_eq!(duplicates.drop_from(&device, &mut points).unwrap(), 4);
        let (mut values, mut offsets) = ([0.0; 7], [0_u32; 4]);
        device.download(&points.values, &mut values).unwrap();
        device.download(&points.offsets, &mut offsets).unwrap();
        assert_eq!(values[..4], [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(offsets, [0, 2, 2, 4]);
        let mut none = Points::with_capacity(&device, 0, 2).unwrap();
        assert_eq!(duplicates.drop_from(&device, &mut none).unwrap(), 0);
    }
}
