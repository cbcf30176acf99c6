//! Devices in a ring that pass rows on, every device in three lanes: what recordings and timelines
//! are tried with.

use warpstride::cuda::DeviceBuffer;
use warpstride::gpu::{CudaFleet, CudaMark, CudaRelay, Fleet, GpuError, Lane};

use super::support::{held, scale};

/// Elements of a device.
const LEN: usize = 4099;
/// Elements that go to the neighbour.
const ROWS: usize = 37;

/// What a device has. With every step it scales its values, sends some of them to the next device,
/// and takes in, halved, those that came from the one before.
pub(crate) struct Station {
    values: DeviceBuffer<f32>,
    /// From the device before.
    halo: DeviceBuffer<f32>,
    to_next: CudaRelay<f32>,
    to_itself: CudaRelay<f32>,
    scaled: CudaMark,
    sent: CudaMark,
    halved: CudaMark,
    /// The halo may be overwritten.
    taken_in: CudaMark,
}

pub(crate) struct Ring {
    stations: Vec<Station>,
}

impl Ring {
    /// `direct` of the place: whether its rows go without the host.
    pub(crate) fn new(fleet: &CudaFleet, direct: fn(usize) -> bool) -> Self {
        let count = fleet.devices();
        let station = |device: usize| {
            let start: Vec<f32> = (0..LEN)
                .map(|at| (at * 7 % 101) as f32 - 13.0 * device as f32)
                .collect();
            let mut values = fleet.alloc(device, "values", LEN)?;
            fleet.upload(&mut values, 0, &start)?;
            Ok::<_, GpuError>(Station {
                values,
                halo: fleet.alloc(device, "halo", ROWS + 3)?,
                to_next: fleet.relay(device, (device + 1) % count, ROWS, direct(device))?,
                to_itself: fleet.relay(device, device, ROWS, !direct(device))?,
                scaled: fleet.mark(device)?,
                sent: fleet.mark(device)?,
                halved: fleet.mark(device)?,
                taken_in: fleet.mark(device)?,
            })
        };
        Self {
            stations: (0..count).map(|device| station(device).unwrap()).collect(),
        }
    }

    /// Queues a step; the host waits for nothing.
    pub(crate) fn step(&mut self, fleet: &CudaFleet) -> Result<(), GpuError> {
        let count = self.stations.len();
        for (device, station) in self.stations.iter_mut().enumerate() {
            scale(
                fleet,
                (device, Lane::Bulk),
                &mut station.values,
                0..LEN,
                -0.999,
            )?;
            fleet.record(&station.scaled, device, Lane::Bulk)?;
        }
        for device in 0..count {
            let next = (device + 1) % count;
            let (source, target) = two(&mut self.stations, device, next);
            fleet.wait(&source.scaled, device, Lane::Top)?;
            let (taken_in, halo) = match target {
                Some(target) => (&target.taken_in, &mut target.halo),
                None => (&source.taken_in, &mut source.halo),
            };
            fleet.wait(taken_in, device, Lane::Top)?;
            let rows = 5..5 + ROWS;
            fleet.push(&source.to_next, Lane::Top, &source.values, rows, halo, 1)?;
            fleet.record(&source.sent, device, Lane::Top)?;
            fleet.await_push(&source.to_next, next, Lane::Bulk)?;
        }
        for (device, station) in self.stations.iter_mut().enumerate() {
            fleet.wait(&station.sent, device, Lane::Bulk)?;
            scale(
                fleet,
                (device, Lane::Bulk),
                &mut station.halo,
                1..1 + ROWS,
                0.5,
            )?;
            fleet.record(&station.halved, device, Lane::Bulk)?;
            fleet.wait(&station.halved, device, Lane::Bottom)?;
            let rows = 1..1 + ROWS;
            let (from, to) = (&station.halo, &mut station.values);
            fleet.push(&station.to_itself, Lane::Bottom, from, rows, to, 4001)?;
            fleet.await_push(&station.to_itself, device, Lane::Bulk)?;
            fleet.record(&station.taken_in, device, Lane::Bulk)?;
        }
        Ok(())
    }

    /// All values of all devices, when everything queued is done.
    pub(crate) fn values(&self, fleet: &CudaFleet) -> Vec<u32> {
        fleet.drain().unwrap();
        let bits = |buffer| held(fleet, buffer).into_iter().map(f32::to_bits);
        self.stations
            .iter()
            .flat_map(|station| bits(&station.values).chain(bits(&station.halo)))
            .collect()
    }
}

/// Two stations at a time; one where they are the same.
fn two(stations: &mut [Station], one: usize, other: usize) -> (&mut Station, Option<&mut Station>) {
    if one == other {
        return (&mut stations[one], None);
    }
    let (before, behind) = stations.split_at_mut(one.max(other));
    let (low, high) = (&mut before[one.min(other)], &mut behind[0]);
    if one < other {
        (low, Some(high))
    } else {
        (high, Some(low))
    }
}
