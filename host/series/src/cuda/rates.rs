//! Differences of consecutive values of sorted points, each at the time of the later point.

use super::compact::Compact;
use super::resident::Points;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::series::compact::DIFFERENCES;

/// Buffers for taking differences.
pub(super) struct Rates<M: Device> {
    compact: Compact<M>,
}

impl<M: Device> Rates<M> {
    /// Makes empty buffers.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            compact: Compact::new(device)?,
        })
    }

    /// Queues the computation of `rates` from `points`. The number of points of both is known: each
    /// non-empty series has one rate less than points.
    ///
    /// # Errors
    /// If device memory is insufficient; errors of the driver.
    pub(super) fn queue(
        &mut self,
        device: &M,
        points: &Points<M>,
        rates: &mut Points<M>,
    ) -> Result<()> {
        if points.points == 0 {
            return device.zero(&mut rates.offsets);
        }
        self.compact.queue(device, points, rates, DIFFERENCES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    #[test]
    fn the_first_point_of_a_series_has_no_rate() {
        let device = EmulatedDevice::default();
        let mut points = Points::with_capacity(&device, 6, 4).unwrap();
        let (times, values) = ([1_u64, 2, 3, 1, 5, 9], [1.0, 4.0, 2.0, 7.0, 7.0, 8.5]);
        device.upload(&mut points.times, &times).unwrap();
        device.upload(&mut points.values, &values).unwrap();
        device
            .upload(&mut points.offsets, &[0_u32, 3, 3, 4, 6])
            .unwrap();
        let mut rates = Points::with_capacity(&device, 3, 4).unwrap();
        let mut stage = Rates::new(&device).unwrap();
        stage.queue(&device, &points, &mut rates).unwrap();
        let (mut times, mut values, mut offsets) = ([0_u64; 3], [0.0; 3], [0_u32; 5]);
        device.download(&rates.times, &mut times).unwrap();
        device.download(&rates.values, &mut values).unwrap();
        device.download(&rates.offsets, &mut offsets).unwrap();
        assert_eq!(times, [2, 3, 9]);
        assert_eq!(values, [3.0, -2.0, 1.5]);
        assert_eq!(offsets, [0, 2, 2, 2, 3]);
        // One point per series: nothing is left.
        device
            .upload(&mut points.offsets, &[0_u32, 1, 1, 1, 1])
            .unwrap();
        points.points = 1;
        let mut none = Points::with_capacity(&device, 0, 4).unwrap();
        stage.queue(&device, &points, &mut none).unwrap();
        device.download(&none.offsets, &mut offsets).unwrap();
        assert_eq!(offsets, [0; 5]);
    }
}
