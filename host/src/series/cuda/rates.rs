//! Differences of the values of sorted points, each at the time of the later one.

use super::keep::Keep;
use super::resident::Points;
use crate::gpu::{Machine, Result};
use warpstride_kernels::series::keep::DIFFERENCES;

/// What taking differences keeps.
pub(super) struct Rates<M: Machine> {
    keep: Keep<M>,
}

impl<M: Machine> Rates<M> {
    /// Without memory.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            keep: Keep::new(machine)?,
        })
    }

    /// Queues: `rates` get the differences of `points`; of both it is known how many they are: of each series with points
    /// one less.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        points: &Points<M>,
        rates: &mut Points<M>,
    ) -> Result<()> {
        if points.points == 0 {
            return machine.zero(&mut rates.offsets);
        }
        self.keep.queue(machine, points, rates, DIFFERENCES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::EmulatedMachine;

    #[test]
    fn the_first_point_of_a_series_has_none() {
        let machine = EmulatedMachine::default();
        let mut points = Points::with_room(&machine, 6, 4).unwrap();
        let (times, values) = ([1_u64, 2, 3, 1, 5, 9], [1.0, 4.0, 2.0, 7.0, 7.0, 8.5]);
        machine.upload(&mut points.times, &times).unwrap();
        machine.upload(&mut points.values, &values).unwrap();
        machine
            .upload(&mut points.offsets, &[0_u32, 3, 3, 4, 6])
            .unwrap();
        let mut rates = Points::with_room(&machine, 3, 4).unwrap();
        let mut stage = Rates::new(&machine).unwrap();
        stage.queue(&machine, &points, &mut rates).unwrap();
        let (mut times, mut values, mut offsets) = ([0_u64; 3], [0.0; 3], [0_u32; 5]);
        machine.download(&rates.times, &mut times).unwrap();
        machine.download(&rates.values, &mut values).unwrap();
        machine.download(&rates.offsets, &mut offsets).unwrap();
        assert_eq!(times, [2, 3, 9]);
        assert_eq!(values, [3.0, -2.0, 1.5]);
        assert_eq!(offsets, [0, 2, 2, 2, 3]);
        // One point each: nothing is left.
        machine
            .upload(&mut points.offsets, &[0_u32, 1, 1, 1, 1])
            .unwrap();
        points.points = 1;
        let mut none = Points::with_room(&machine, 0, 4).unwrap();
        stage.queue(&machine, &points, &mut none).unwrap();
        machine.download(&none.offsets, &mut offsets).unwrap();
        assert_eq!(offsets, [0; 5]);
    }
}
