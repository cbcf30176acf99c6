//! The sum of images that several devices hold, for all of them.

use rayon::prelude::*;
use std::sync::Arc;
use warpstride_cuda::gpu::{Buffer, Device, GpuError, PendingCopy, Result};
use warpstride_device::Complex32;

/// Values that a thread adds at once.
const CHUNK: usize = 1 << 13;
/// The purpose of the host memory, for errors.
const WHAT: &str = "sums over devices";

/// A device with its number, for errors, and a buffer of it.
pub(super) struct Summand<'a, M: Device> {
    pub(super) number: usize,
    pub(super) device: &'a M,
    pub(super) buffer: &'a mut M::Buffer<Complex32>,
}

/// Adds buffers of several devices in page-locked host memory, in the order of the devices.
///
/// Each device sends its buffer to the host and receives the sum, 8 bytes a value in each
/// direction, all devices at the same time. The host waits for the buffers, but not for the copies
/// of the sum.
pub(super) struct SumOverDevices<M: Device> {
    /// Where a device's buffer arrives; `None` after an error.
    arrived: Vec<Option<M::Pinned<Complex32>>>,
    sum: Option<Arc<M::Pinned<Complex32>>>,
    /// Copies of the sum to the devices.
    sent: Vec<M::Sent>,
}

impl<M: Device> SumOverDevices<M> {
    /// Allocates nothing before the first sum.
    pub(super) fn new() -> Self {
        Self {
            arrived: Vec::new(),
            sum: None,
            sent: Vec::new(),
        }
    }

    /// Replaces each of the buffers, which have one length, by the sum of all of them. Nothing
    /// happens if there is only one.
    pub(super) fn add(&mut self, summands: &mut [Summand<'_, M>]) -> Result<()> {
        let Some(first) = summands.first() else {
            return Ok(());
        };
        if summands.len() == 1 {
            return Ok(());
        }
        let length = first.buffer.len();
        self.allocate(summands, length)?;
        let whole = 0..length;
        let mut pending = Vec::with_capacity(summands.len());
        for (summand, memory) in summands.iter().zip(&mut self.arrived) {
            let memory = memory.take().ok_or(GpuError::Lost { what: WHAT })?;
            let whole = std::slice::from_ref(&whole);
            let copy = summand.device.receive(summand.buffer, whole, memory);
            pending.push(copy.map_err(|why| why.on(summand.number))?);
        }
        for ((summand, copy), memory) in summands.iter().zip(pending).zip(&mut self.arrived) {
            *memory = Some(copy.wait().map_err(|why| why.on(summand.number))?);
        }
        let mut sum = self.free_sum(summands, length)?;
        let arrived: Vec<&[Complex32]> = self.arrived.iter().flatten().map(|a| &**a).collect();
        add_in_order(&mut sum, &arrived);
        let sum = Arc::new(sum);
        for summand in summands {
            let copy = summand.device.send(&sum, 0..length, summand.buffer, 0);
            self.sent.push(copy.map_err(|why| why.on(summand.number))?);
        }
        self.sum = Some(sum);
        Ok(())
    }

    fn allocate(&mut self, summands: &[Summand<'_, M>], length: usize) -> Result<()> {
        let fits = |memory: &Option<M::Pinned<Complex32>>| {
            memory.as_ref().is_some_and(|memory| memory.len() == length)
        };
        if self.arrived.len() == summands.len() && self.arrived.iter().all(fits) {
            return Ok(());
        }
        self.arrived.clear();
        for summand in summands {
            let memory = summand.device.pinned(WHAT, length);
            self.arrived
                .push(Some(memory.map_err(|why| why.on(summand.number))?));
        }
        Ok(())
    }

    /// Memory for the sum, once the copies of the last one are done.
    fn free_sum(
        &mut self,
        summands: &[Summand<'_, M>],
        length: usize,
    ) -> Result<M::Pinned<Complex32>> {
        for (copy, summand) in self.sent.drain(..).zip(summands) {
            copy.wait().map_err(|why| why.on(summand.number))?;
        }
        let last = self.sum.take().and_then(|sum| Arc::try_unwrap(sum).ok());
        match (last.filter(|sum| sum.len() == length), summands) {
            (Some(sum), _) => Ok(sum),
            (None, [first, ..]) => {
                let memory = first.device.pinned(WHAT, length);
                memory.map_err(|why| why.on(first.number))
            }
            (None, []) => Err(GpuError::NoDevices),
        }
    }
}

/// `sum = ((a₀ + a₁) + a₂) + …`, value by value, so that the number of threads changes no bit.
fn add_in_order(sum: &mut [Complex32], arrays: &[&[Complex32]]) {
    let chunks = sum.par_chunks_mut(CHUNK).enumerate();
    chunks.for_each(|(number, sum)| {
        let range = number * CHUNK..number * CHUNK + sum.len();
        let mut arrays = arrays.iter().map(|array| &array[range.clone()]);
        if let Some(first) = arrays.next() {
            sum.copy_from_slice(first);
        }
        for array in arrays {
            for (sum, value) in sum.iter_mut().zip(array) {
                *sum += *value;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    /// Whole numbers, whose sums are exact.
    fn values(length: usize, device: usize) -> Vec<Complex32> {
        let value = |i: usize| Complex32::new((i % 97 + device) as f32, (i * device % 89) as f32);
        (0..length).map(value).collect()
    }

    #[test]
    fn every_device_has_the_sum() {
        let mut sums = SumOverDevices::new();
        // The same memory again, other lengths, other numbers of devices.
        for (devices, length) in [
            (3, 3 * CHUNK + 5),
            (3, 3 * CHUNK + 5),
            (2, 7),
            (1, 4),
            (4, 1),
        ] {
            let group: Vec<EmulatedDevice> = (0..devices).map(|_| EmulatedDevice::new()).collect();
            let mut buffers: Vec<_> = group
                .iter()
                .map(|device| device.alloc::<Complex32>("test", length).unwrap())
                .collect();
            for (number, (device, buffer)) in group.iter().zip(&mut buffers).enumerate() {
                device.upload(buffer, &values(length, number)).unwrap();
            }
            let mut summands: Vec<_> = (group.iter().zip(&mut buffers).enumerate())
                .map(|(number, (device, buffer))| Summand {
                    number,
                    device,
                    buffer,
                })
                .collect();
            sums.add(&mut summands).unwrap();
            let all: Vec<_> = (0..devices).map(|device| values(length, device)).collect();
            for (device, buffer) in group.iter().zip(&buffers) {
                let mut found = vec![Complex32::ZERO; length];
                device.download(buffer, &mut found).unwrap();
                for (at, found) in found.iter().enumerate() {
                    let re: f32 = all.iter().map(|values| values[at].re).sum();
                    let im: f32 = all.iter().map(|values| values[at].im).sum();
                    assert_eq!((found.re, found.im), (re, im), "{devices} {length} {at}");
                }
            }
        }
        sums.add(&mut []).unwrap();
    }

    #[test]
    fn the_device_whose_buffer_is_too_short_is_named() {
        let group = [EmulatedDevice::new(), EmulatedDevice::new()];
        let mut buffers = [5, 4].map(|length| group[0].alloc("test", length).unwrap());
        let mut summands: Vec<_> = (group.iter().zip(&mut buffers).zip([3, 6]))
            .map(|((device, buffer), number)| Summand {
                number,
                device,
                buffer,
            })
            .collect();
        let failed = SumOverDevices::new().add(&mut summands).unwrap_err();
        assert!(failed.to_string().starts_with("GPU 6: "), "{failed}");
    }
}
