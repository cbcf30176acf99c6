//! CUDA devices as a [`Fleet`].
//!
//! One thread at a time. Replays are put in order with everything else by the lanes themselves: a
//! lane that was not used since the last replay costs a replay nothing, and the other way round.

mod clock;
mod mark;
mod member;
mod recording;
mod relay;
mod wait;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use warpstride_device::launch::{Cuda, Launch, Read, Work, Write};

use super::cuda_machine::BUILT_IN;
use super::fleet::{Fleet, Lane, Link, RangedBuffer, Stretch};
use super::{GpuError, Result};
use crate::cuda::{CudaError, DeviceBuffer, Ptx, Stream, enable_peer_access};
use clock::Clock;
use mark::{NOT_RECORDING, RecordingId};
use member::Member;
use relay::Arrival;

pub use mark::CudaMark;
pub use recording::CudaRecording;
pub use relay::CudaRelay;

/// Devices with the kernels loaded, and with access to each other's memory where they are linked so.
#[derive(Debug)]
pub struct CudaFleet {
    members: Vec<Member>,
    links: Vec<Link>,
    /// The recording that is being made.
    recording: AtomicU64,
    /// The beginning of a recording.
    forked: CudaMark,
    /// Behind the last replay.
    replayed: CudaMark,
    /// Relays whose streams the next replay, or the end of the recording, must wait for.
    arrivals: Mutex<Vec<Arc<Arrival>>>,
    clock: Clock,
}

impl CudaFleet {
    /// The devices of those numbers (the driver's), with the kernels that suit each, and access
    /// between all pairs that can have it.
    ///
    /// # Errors
    /// None is named, one is named twice, or why not: no driver, no device of that number, a device
    /// older than the kernels, kernels newer than the driver.
    pub fn new(ordinals: &[usize]) -> Result<Self> {
        Self::with_kernels(ordinals, &BUILT_IN)
    }

    /// The same with only those kernels whose names `keep` agrees to, which takes less time to start
    /// the first time that a machine does.
    ///
    /// # Errors
    /// As [`CudaFleet::new`].
    pub fn keeping(ordinals: &[usize], keep: impl Fn(&str) -> bool) -> Result<Self> {
        let texts = BUILT_IN.map(|ptx| (ptx.arch, ptx.keeping(&keep)));
        let kept = texts
            .each_ref()
            .map(|(arch, text)| Ptx { arch: *arch, text });
        Self::with_kernels(ordinals, &kept)
    }

    /// The same with other kernels than those built in.
    ///
    /// # Errors
    /// As [`CudaFleet::new`], and the compiler's words about the kernels.
    pub fn with_kernels(ordinals: &[usize], kernels: &[Ptx<'_>]) -> Result<Self> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = ordinals.iter().find(|ordinal| !seen.insert(**ordinal)) {
            return Err(GpuError::DeviceTwice { device: *twice });
        }
        let members = ordinals
            .iter()
            .map(|ordinal| {
                Member::new(*ordinal, kernels).map_err(|error| match error {
                    // These say all by themselves.
                    error @ (CudaError::Ordinal { .. }
                    | CudaError::NoDriver { .. }
                    | CudaError::NoDevice) => error.into(),
                    error => GpuError::from(error).on(*ordinal),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let first = members.first().ok_or(GpuError::NoDevices)?;
        let mark = || CudaMark::new(&first.context);
        Ok(Self {
            links: link_all(&members)?,
            recording: AtomicU64::new(NOT_RECORDING),
            forked: mark()?,
            replayed: mark()?,
            arrivals: Mutex::default(),
            clock: Clock::default(),
            members,
        })
    }

    fn member(&self, device: usize) -> Result<&Member> {
        self.members.get(device).ok_or(GpuError::NotInFleet {
            device,
            devices: self.members.len(),
        })
    }

    fn recording(&self) -> RecordingId {
        self.recording.load(Ordering::Relaxed)
    }

    /// The stream of a lane, ready for work: in order with replays, and known to be in use.
    fn begin(&self, device: usize, lane: Lane) -> Result<(&Stream, RecordingId)> {
        let member = self.member(device)?;
        let queue = member.queue(lane);
        let recording = self.recording();
        if recording == NOT_RECORDING {
            queue
                .follow(&self.replayed)
                .map_err(|error| GpuError::from(error).on(member.info.ordinal))?;
            queue.note_use();
        } else if lane == Lane::Default {
            let what = "work of the default stream";
            return Err(GpuError::from(CudaError::Captured { what }).on(member.info.ordinal));
        }
        Ok((&queue.stream, recording))
    }

    /// Whether work of `from` reaches the memory of `to`.
    fn is_direct(&self, from: usize, to: usize) -> bool {
        let is = |link: &Link| link.direct && (link.from, link.to) == (from, to);
        from == to || self.links.iter().any(is)
    }

    fn list(&self, arrival: &Arc<Arrival>) {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push(Arc::clone(arrival));
    }

    fn listed(&self) -> Vec<Arc<Arrival>> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.clone()
    }

    fn take_listed(&self) -> Vec<Arc<Arrival>> {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut arrivals)
    }

    /// Does something on a device, and says in errors which it was.
    fn at<T, E: Into<GpuError>>(
        &self,
        device: usize,
        work: impl FnOnce(&Member) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let member = self.member(device)?;
        work(member).map_err(|error| error.into().on(member.info.ordinal))
    }

    /// The place of the device that a buffer is on.
    fn place_of<T: Pod>(&self, buffer: &DeviceBuffer<T>) -> Result<usize> {
        let ordinal = buffer.context().ordinal();
        let is = |member: &Member| member.info.ordinal == ordinal;
        self.members.iter().position(is).ok_or_else(|| {
            let expected = self.members[0].info.ordinal;
            let what = "the buffer";
            CudaError::OtherDevice {
                what,
                expected,
                found: ordinal,
            }
            .into()
        })
    }
}

/// Gives every device access to every other's memory, where that is possible: the one place where
/// this happens.
fn link_all(members: &[Member]) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for (from, to) in pairs(members.len()) {
        let (user, owner) = (&members[from], &members[to]);
        let direct = enable_peer_access(&user.context, &owner.context)
            .map_err(|error| GpuError::from(error).on(user.info.ordinal))?;
        links.push(Link { from, to, direct });
    }
    links.sort_unstable_by_key(|link| (link.from, link.to));
    Ok(links)
}

/// All ordered pairs of different places in a ring, the nearest first, since a device may have a
/// limited number of peers.
fn pairs(count: usize) -> Vec<(usize, usize)> {
    // 1, −1, 2, −2 …
    let steps = (1..count).map(|at| match at.div_ceil(2) {
        step if at % 2 == 1 => step,
        step => count - step,
    });
    steps
        .flat_map(|step| (0..count).map(move |from| (from, (from + step) % count)))
        .collect()
}

impl<T: Pod> RangedBuffer<Cuda, T> for DeviceBuffer<T> {
    fn read_range(&self, range: Range<usize>) -> Result<Read<'_, Cuda, T>> {
        let ordinal = self.context().ordinal();
        Self::read_range(self, range).map_err(|error| GpuError::from(error).on(ordinal))
    }

    fn write_range(&mut self, range: Range<usize>) -> Result<Write<'_, Cuda, T>> {
        let ordinal = self.context().ordinal();
        Self::write_range(self, range).map_err(|error| GpuError::from(error).on(ordinal))
    }
}

impl Fleet for CudaFleet {
    type Space = Cuda;
    type Buffer<T: Pod + Send> = DeviceBuffer<T>;
    type Mark = CudaMark;
    type Relay<T: Pod + Send> = CudaRelay<T>;
    type Recording = CudaRecording;

    fn backend(&self) -> &'static str {
        "cuda"
    }

    fn devices(&self) -> usize {
        self.members.len()
    }

    fn ordinal(&self, device: usize) -> usize {
        self.members[device].info.ordinal
    }

    fn device_name(&self, device: usize) -> String {
        self.members[device].info.name.clone()
    }

    fn memory(&self, device: usize) -> Result<(usize, usize)> {
        let memory = self.at(device, |member| member.context.memory())?;
        Ok((memory.free, memory.total))
    }

    fn links(&self) -> Vec<Link> {
        self.links.clone()
    }

    fn resident_blocks<L: Launch<Cuda>>(&self, device: usize, launch: &L) -> Result<usize> {
        self.at(device, |member| {
            let blocks = member.module.resident_blocks(launch)?;
            Ok::<_, CudaError>(blocks as usize * member.module.multiprocessors() as usize)
        })
    }

    fn alloc<T: Pod + Send>(
        &self,
        device: usize,
        what: &'static str,
        len: usize,
    ) -> Result<DeviceBuffer<T>> {
        self.expect_not_recording("an allocation")?;
        self.at(device, |member| {
            DeviceBuffer::zeroed(&member.context, what, len)
        })
    }

    fn upload<T: Pod + Send>(
        &self,
        buffer: &mut DeviceBuffer<T>,
        at: usize,
        host: &[T],
    ) -> Result<()> {
        let device = self.place_of(buffer)?;
        self.at(device, |member| -> Result<()> {
            self.expect_not_recording("a copy from host memory")?;
            buffer.expect_range("upload", &(at..at.saturating_add(host.len())))?;
            let mut copies = member.copies.lock().unwrap_or_else(PoisonError::into_inner);
            let (stream, staging) = &mut *copies;
            staging.upload_at(
                stream,
                bytemuck::cast_slice(host),
                buffer,
                at * size_of::<T>(),
            )?;
            Ok(stream.synchronize()?)
        })
    }

    fn download<T: Pod + Send>(
        &self,
        buffer: &DeviceBuffer<T>,
        at: usize,
        host: &mut [T],
    ) -> Result<()> {
        let device = self.place_of(buffer)?;
        self.at(device, |member| -> Result<()> {
            self.expect_not_recording("a copy to host memory")?;
            buffer.expect_range("download", &(at..at.saturating_add(host.len())))?;
            let mut copies = member.copies.lock().unwrap_or_else(PoisonError::into_inner);
            let (stream, staging) = &mut *copies;
            let bytes = bytemuck::cast_slice_mut(host);
            Ok(staging.download_at(stream, buffer, at * size_of::<T>(), bytes)?)
        })
    }

    fn launch<L: Launch<Cuda> + Sync>(
        &self,
        device: usize,
        lane: Lane,
        launch: &L,
        work: Work,
    ) -> Result<()> {
        let (stream, recording) = self.begin(device, lane)?;
        self.at(device, |member| {
            let names = (lane.name(), L::INFO.entry);
            self.clock
                .around((device, member, stream), names, recording, || {
                    member.module.launch(stream, launch, work)
                })
        })
    }

    fn copy<T: Pod + Send>(
        &self,
        device: usize,
        lane: Lane,
        from: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        let (stream, recording) = self.begin(device, lane)?;
        self.at(device, |member| {
            let names = (lane.name(), "copy");
            self.clock
                .around((device, member, stream), names, recording, || {
                    Ok(stream.copy(from, to)?)
                })
        })
    }

    fn relay<T: Pod + Send>(
        &self,
        from: usize,
        to: usize,
        len: usize,
        direct: bool,
    ) -> Result<CudaRelay<T>> {
        self.expect_not_recording("an allocation")?;
        CudaRelay::new(self, from, to, len, direct)
    }

    fn push<T: Pod + Send>(
        &self,
        relay: &CudaRelay<T>,
        lane: Lane,
        from: &DeviceBuffer<T>,
        range: Range<usize>,
        to: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        relay.push(self, lane, from, range, to, at)
    }

    fn await_push<T: Pod + Send>(
        &self,
        relay: &CudaRelay<T>,
        device: usize,
        lane: Lane,
    ) -> Result<()> {
        let (stream, recording) = self.begin(device, lane)?;
        self.at(device, |_| relay.hold(stream, recording))
    }

    fn mark(&self, device: usize) -> Result<CudaMark> {
        self.at(device, |member| CudaMark::new(&member.context))
    }

    fn record(&self, mark: &CudaMark, device: usize, lane: Lane) -> Result<()> {
        let (stream, recording) = self.begin(device, lane)?;
        self.at(device, |_| mark.record(stream, recording))
    }

    fn wait(&self, mark: &CudaMark, device: usize, lane: Lane) -> Result<()> {
        let (stream, recording) = self.begin(device, lane)?;
        self.at(device, |_| mark.hold(stream, recording))
    }

    fn synchronize(&self, device: usize, lane: Lane) -> Result<()> {
        self.expect_not_recording("waiting on the host")?;
        self.await_lane(device, lane)
    }

    fn synchronize_device(&self, device: usize) -> Result<()> {
        self.expect_not_recording("waiting on the host")?;
        self.member(device)?;
        self.await_devices(device..device + 1)
    }

    fn drain(&self) -> Result<()> {
        self.expect_not_recording("waiting on the host")?;
        self.await_devices(0..self.members.len())
    }

    fn capture(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<CudaRecording>> {
        self.record_all(work).map(Some)
    }

    fn replay(&self, recording: &mut CudaRecording) -> Result<()> {
        let ordinal = self.members[0].info.ordinal;
        self.replay_all(recording)
            .map_err(|error| error.on(ordinal))
    }

    fn profile(&self) -> Result<()> {
        self.drain()?;
        self.clock
            .start(&self.members, |member| &member.queue(Lane::Bulk).stream)
    }

    fn stretches(&self) -> Result<Vec<Stretch>> {
        self.clock.stretches(&self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_linked_once_and_neighbours_first() {
        for count in 0..10 {
            let all = pairs(count);
            let different: BTreeSet<_> = all.iter().copied().collect();
            assert_eq!(different.len(), all.len());
            assert_eq!(all.len(), count * count.saturating_sub(1));
            assert!(
                all.iter()
                    .all(|(from, to)| from != to && from.max(to) < &count)
            );
            let distance = |(from, to): &(usize, usize)| {
                let apart = from.abs_diff(*to);
                apart.min(count - apart)
            };
            assert!(all.is_sorted_by_key(distance), "{count}");
        }
    }
}
