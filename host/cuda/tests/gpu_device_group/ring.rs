//! A test computation for graphs and timelines: devices in a ring that send values to each other,
//! each with three streams.

use warpstride_cuda::cuda::DeviceBuffer;
use warpstride_cuda::gpu::{
    CudaDeviceGroup, CudaEvent, CudaPeerChannel, DeviceGroup, GpuError, StreamId,
};

use super::support::{contents, scale};

/// Elements per device.
const LEN: usize = 4099;
/// Elements sent to the next device.
const SENT: usize = 37;

/// The buffers of a device. Each step scales its values, sends some of them to the next device, and
/// halves and stores those received from the previous device.
pub(crate) struct DeviceState {
    values: DeviceBuffer<f32>,
    /// Values from the previous device.
    halo: DeviceBuffer<f32>,
    to_next: CudaPeerChannel<f32>,
    to_itself: CudaPeerChannel<f32>,
    scaled: CudaEvent,
    sent: CudaEvent,
    halved: CudaEvent,
    /// Recorded when the halo may be overwritten.
    halo_free: CudaEvent,
}

pub(crate) struct Ring {
    states: Vec<DeviceState>,
}

impl Ring {
    /// `direct` returns whether the device with this index sends directly, without the host.
    pub(crate) fn new(group: &CudaDeviceGroup, direct: fn(usize) -> bool) -> Self {
        let count = group.devices();
        let state = |device: usize| {
            let start: Vec<f32> = (0..LEN)
                .map(|at| (at * 7 % 101) as f32 - 13.0 * device as f32)
                .collect();
            let mut values = group.alloc(device, "values", LEN)?;
            group.upload(&mut values, 0, &start)?;
            Ok::<_, GpuError>(DeviceState {
                values,
                halo: group.alloc(device, "halo", SENT + 3)?,
                to_next: group.peer_channel(device, (device + 1) % count, SENT, direct(device))?,
                to_itself: group.peer_channel(device, device, SENT, !direct(device))?,
                scaled: group.event(device)?,
                sent: group.event(device)?,
                halved: group.event(device)?,
                halo_free: group.event(device)?,
            })
        };
        Self {
            states: (0..count).map(|device| state(device).unwrap()).collect(),
        }
    }

    /// Queues a step; the host waits for nothing.
    pub(crate) fn step(&mut self, group: &CudaDeviceGroup) -> Result<(), GpuError> {
        let count = self.states.len();
        for (device, state) in self.states.iter_mut().enumerate() {
            scale(
                group,
                (device, StreamId::Bulk),
                &mut state.values,
                0..LEN,
                -0.999,
            )?;
            group.record(&state.scaled, device, StreamId::Bulk)?;
        }
        for device in 0..count {
            let next = (device + 1) % count;
            let (source, target) = two(&mut self.states, device, next);
            group.wait(&source.scaled, device, StreamId::Top)?;
            let (halo_free, halo) = match target {
                Some(target) => (&target.halo_free, &mut target.halo),
                None => (&source.halo_free, &mut source.halo),
            };
            group.wait(halo_free, device, StreamId::Top)?;
            let rows = 5..5 + SENT;
            group.send(
                &source.to_next,
                StreamId::Top,
                &source.values,
                rows,
                halo,
                1,
            )?;
            group.record(&source.sent, device, StreamId::Top)?;
            group.wait_for_send(&source.to_next, next, StreamId::Bulk)?;
        }
        for (device, state) in self.states.iter_mut().enumerate() {
            group.wait(&state.sent, device, StreamId::Bulk)?;
            scale(
                group,
                (device, StreamId::Bulk),
                &mut state.halo,
                1..1 + SENT,
                0.5,
            )?;
            group.record(&state.halved, device, StreamId::Bulk)?;
            group.wait(&state.halved, device, StreamId::Bottom)?;
            let rows = 1..1 + SENT;
            let (from, to) = (&state.halo, &mut state.values);
            group.send(&state.to_itself, StreamId::Bottom, from, rows, to, 4001)?;
            group.wait_for_send(&state.to_itself, device, StreamId::Bulk)?;
            group.record(&state.halo_free, device, StreamId::Bulk)?;
        }
        Ok(())
    }

    /// All values of all devices after all queued work.
    pub(crate) fn values(&self, group: &CudaDeviceGroup) -> Vec<u32> {
        group.drain().unwrap();
        let bits = |buffer| contents(group, buffer).into_iter().map(f32::to_bits);
        self.states
            .iter()
            .flat_map(|state| bits(&state.values).chain(bits(&state.halo)))
            .collect()
    }
}

/// The states of two devices, or of one if they are the same.
fn two(
    states: &mut [DeviceState],
    one: usize,
    other: usize,
) -> (&mut DeviceState, Option<&mut DeviceState>) {
    if one == other {
        return (&mut states[one], None);
    }
    let (before, after) = states.split_at_mut(one.max(other));
    let (low, high) = (&mut before[one.min(other)], &mut after[0]);
    if one < other {
        (low, Some(high))
    } else {
        (high, Some(low))
    }
}
