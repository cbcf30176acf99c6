//! Points without those at whose time another one of their series stands before.

use super::keep::Keep;
use super::resident::Points;
use super::sort::grow;
use crate::gpu::{Machine, Result};
use warpstride_kernels::series::keep::NO_REPEATS;

/// What leaving out duplicates keeps.
pub(super) struct Duplicates<M: Machine> {
    keep: Keep<M>,
    packed: Points<M>,
}

impl<M: Machine> Duplicates<M> {
    /// Without memory.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            keep: Keep::new(machine)?,
            packed: Points::with_room(machine, 0, 0)?,
        })
    }

    /// Leaves them out of sorted points, waits, and gives how many points are left. The points get other buffers.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(super) fn drop_from(&mut self, machine: &M, points: &mut Points<M>) -> Result<usize> {
        if points.points == 0 {
            return Ok(0);
        }
        let packed = &mut self.packed;
        grow(machine, "timestamps", &mut packed.times, points.points)?;
        grow(machine, "values", &mut packed.values, points.points)?;
        let offsets = points.series + 1;
        grow(machine, "offsets of series", &mut packed.offsets, offsets)?;
        (packed.points, packed.series) = (points.points, points.series);
        self.keep.queue(machine, points, packed, NO_REPEATS)?;
        packed.points = self.keep.kept(machine)?.min(points.points);
        std::mem::swap(points, packed);
        Ok(points.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::EmulatedMachine;

    #[test]
    fn the_first_of_each_time_stays() {
        let machine = EmulatedMachine::default();
        let mut points = Points::with_room(&machine, 7, 3).unwrap();
        machine
            .upload(&mut points.times, &[1_u64, 1, 2, 2, 2, 2, 3])
            .unwrap();
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        machine.upload(&mut points.values, &values).unwrap();
        machine
            .upload(&mut points.offsets, &[0_u32, 4, 4, 7])
            .unwrap();
        let mut duplicates = Duplicates::new(&machine).unwrap();
        assert_eq!(duplicates.drop_from(&machine, &mut points).unwrap(), 4);
        let (mut values, mut offsets) = ([0.0; 7], [0_u32; 4]);
        machine.download(&points.values, &mut values).unwrap();
        machine.download(&points.offsets, &mut offsets).unwrap();
        assert_eq!(values[..4], [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(offsets, [0, 2, 2, 4]);
        let mut none = Points::with_room(&machine, 0, 2).unwrap();
        assert_eq!(duplicates.drop_from(&machine, &mut none).unwrap(), 0);
    }
}
