//! Exchange between the devices of several threads, by copies from device to device.
//!
//! Each thread has a device, a stream and a slot in a table that they share. A thread writes to its
//! slot which memory the others may read, and an event after which they may; then it copies from
//! the others. The host threads meet twice: when all of them have said what to read, and when all
//! of them have queued their copies. The devices wait for events only.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::buffer::DeviceBuffer;
use super::context::Context;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::lock::lock;
use super::peer::enable_peer_access;
use super::stream::Stream;
use super::transfers::{PeerCopy, Transfers};

/// How long a thread looks for the end of a meeting before it sleeps: to be woken takes some ten
/// microseconds, in which a device may have no work left.
const AWAKE: Duration = Duration::from_micros(200);

/// Memory that other threads may copy from until they have met again.
#[derive(Debug, Clone, Copy)]
struct Published {
    address: driver::DevicePtr,
    bytes: usize,
}

/// What one device says to the others.
#[derive(Debug, Default)]
struct Slot {
    context: OnceLock<Arc<Context>>,
    /// After the work that writes the published memory.
    written: OnceLock<Event>,
    /// After the copies of this slot's device from the others.
    copied: OnceLock<Event>,
    published: Mutex<Option<Published>>,
}

/// How far the threads have come.
#[derive(Debug, Default)]
struct Meeting {
    /// Threads that wait for the others.
    waiting: usize,
    /// Number of meetings that are over.
    times: usize,
    /// Threads that do not come any more.
    ended: usize,
    /// The first of them, and the number of the first meeting without it.
    without: Option<(usize, usize)>,
}

impl Meeting {
    /// Ends the present meeting if all threads have come or do not come any more.
    fn end_if_complete(&mut self, devices: usize) -> bool {
        let complete = self.waiting > 0 && self.waiting + self.ended == devices;
        if complete {
            self.waiting = 0;
            self.times += 1;
        }
        complete
    }
}

/// The slots of several devices, each of which has a thread of its own.
#[derive(Debug)]
struct PeerTable {
    slots: Vec<Slot>,
    meeting: Mutex<Meeting>,
    met: Condvar,
    /// [`Meeting::times`], for threads that look at it without the lock.
    times: AtomicUsize,
}

impl PeerTable {
    /// Ends the present meeting if all threads have come or do not come any more.
    fn end_if_complete(&self, meeting: &mut Meeting) {
        if meeting.end_if_complete(self.slots.len()) {
            self.times.store(meeting.times, Ordering::Release);
            self.met.notify_all();
        }
    }
}

/// A thread's right to a slot of a table. Dropped, it tells the others that this thread does not
/// come.
#[derive(Debug)]
struct Seat {
    table: Arc<PeerTable>,
    own: usize,
}

impl Seat {
    /// Waits until the threads of all devices have called this or have ended; if one has ended,
    /// that is an error of all others.
    fn meet(&self) -> Result<()> {
        let table = &self.table;
        let mut meeting = lock(&table.meeting);
        let number = meeting.times;
        meeting.waiting += 1;
        table.end_if_complete(&mut meeting);
        if meeting.times == number {
            drop(meeting);
            let began = Instant::now();
            while table.times.load(Ordering::Acquire) == number && began.elapsed() < AWAKE {
                std::hint::spin_loop();
            }
            meeting = lock(&table.meeting);
        }
        while meeting.times == number {
            let waited = table.met.wait(meeting);
            meeting = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match meeting.without {
            Some((device, first)) if first <= number => Err(CudaError::PeerEnded { device }),
            _ => Ok(()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let table = &self.table;
        let mut meeting = lock(&table.meeting);
        meeting.ended += 1;
        let first = meeting.times;
        meeting.without.get_or_insert((self.own, first));
        table.end_if_complete(&mut meeting);
    }
}

/// The right to be one of several devices that exchange data, for the thread of that device. If it
/// is dropped, the others get an error instead of waiting.
#[derive(Debug)]
pub struct PeerInvitation(Seat);

/// Invitations for the threads of `devices` devices.
#[must_use]
pub fn invite_peers(devices: usize) -> Vec<PeerInvitation> {
    let table = Arc::new(PeerTable {
        slots: (0..devices).map(|_| Slot::default()).collect(),
        meeting: Mutex::default(),
        met: Condvar::new(),
        times: AtomicUsize::new(0),
    });
    let seat = |own| {
        PeerInvitation(Seat {
            table: Arc::clone(&table),
            own,
        })
    };
    (0..devices).map(seat).collect()
}

/// One of several devices that exchange data.
#[derive(Debug)]
pub struct PeerGather {
    seat: Seat,
}

impl PeerInvitation {
    /// Joins with the device of `context`; waits until all threads have joined.
    ///
    /// # Errors
    /// Another thread does not come, or an error of the driver.
    pub fn join(self, context: &Arc<Context>) -> Result<PeerGather> {
        let Self(seat) = self;
        let slot = &seat.table.slots[seat.own];
        // The slot is this seat's alone, and has not been set before.
        let (written, copied) = (
            Event::new(context, Timing::Off)?,
            Event::new(context, Timing::Off)?,
        );
        slot.written.get_or_init(|| written);
        slot.copied.get_or_init(|| copied);
        slot.context.get_or_init(|| Arc::clone(context));
        seat.meet()?;
        for other in &seat.table.slots {
            if let Some(other) = other.context.get() {
                enable_peer_access(context, other)?;
            }
        }
        Ok(PeerGather { seat })
    }
}

impl PeerGather {
    /// Number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.seat.table.slots.len()
    }

    /// Queues `copies` from the `mine` of all devices (this one's too) to `to`. Every device calls
    /// this for the same array, with copies of its own.
    ///
    /// # Errors
    /// A copy exceeds an array, the buffers belong to another device than the stream, or the stream
    /// is being captured; another thread does not come; an error of the driver.
    pub fn gather<T: Pod>(
        &mut self,
        stream: &Stream,
        mine: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
        copies: &[PeerCopy],
    ) -> Result<()> {
        stream.context().expect_same(mine.context(), "the source")?;
        stream.context().expect_same(to.context(), "the target")?;
        for copy in copies {
            to.expect_range("a copy from other devices", &copy.target())?;
        }
        let published = Published {
            address: mine.raw(),
            bytes: mine.bytes(),
        };
        self.exchange(stream, published, (to.raw(), size_of::<T>()), copies)
    }

    /// Lets the other devices copy elements `own` of `buffer`, and queues copies from what they let
    /// this one copy to other elements of `buffer`; the elements of a copy are counted from the
    /// first one that the other device gives.
    ///
    /// # Errors
    /// Those of [`Self::gather`], or a copy would change `own`.
    pub fn share<T: Pod>(
        &mut self,
        stream: &Stream,
        buffer: &mut DeviceBuffer<T>,
        own: Range<usize>,
        transfers: &Transfers,
    ) -> Result<()> {
        stream
            .context()
            .expect_same(buffer.context(), "the array")?;
        transfers.expect_apart(buffer, &own)?;
        let element = size_of::<T>();
        let published = Published {
            address: buffer.raw() + (own.start * element) as driver::DevicePtr,
            bytes: own.len() * element,
        };
        self.exchange(
            stream,
            published,
            (buffer.raw(), element),
            &transfers.copies,
        )
    }

    /// Lets the others copy `published`, and queues `copies` to the array at an address with
    /// elements of some bytes, in which they have been checked to be.
    fn exchange(
        &mut self,
        stream: &Stream,
        published: Published,
        to: (driver::DevicePtr, usize),
        copies: &[PeerCopy],
    ) -> Result<()> {
        let context = stream.context();
        // Nothing here can be captured; waiting for events locks the capture again.
        drop(stream.refuse_capture("a copy between devices")?);
        let own = &self.seat.table.slots[self.seat.own];
        // Both were set when this thread joined.
        let (Some(written), Some(copied)) = (own.written.get(), own.copied.get()) else {
            return Err(CudaError::PeerEnded {
                device: self.seat.own,
            });
        };
        written.record(stream)?;
        *lock(&own.published) = Some(published);
        let met = self.seat.meet();
        // Whatever fails from here on, the others must be met, since they copy from what was
        // published, which the caller may free or change afterwards: a meeting ends when all of
        // them have queued their copies, or have ended.
        let queued = met.and_then(|()| self.copy(stream, to, copies));
        let recorded = copied.record(stream);
        if recorded.is_err() {
            // The others cannot wait for the event, so that the copies are waited for here.
            context.record_drop(stream.synchronize());
        }
        let met = self.seat.meet();
        *lock(&own.published) = None;
        let mut waited = Ok(());
        for other in &self.seat.table.slots {
            if let Some(copied) = other.copied.get() {
                waited = waited.and(stream.wait_event(copied));
            }
        }
        queued.and(recorded).and(met).and(waited)
    }

    /// Queues copies from what the others have published.
    fn copy(
        &self,
        stream: &Stream,
        (address, element): (driver::DevicePtr, usize),
        copies: &[PeerCopy],
    ) -> Result<()> {
        let context = stream.context();
        for (device, slot) in self.seat.table.slots.iter().enumerate() {
            let published = *lock(&slot.published);
            let (Some(from), Some(other), Some(written)) =
                (published, slot.context.get(), slot.written.get())
            else {
                continue;
            };
            stream.wait_event(written)?;
            let direct = context.can_access(other);
            if !direct {
                other.add_user(context);
            }
            context.enter()?;
            for copy in copies.iter().filter(|copy| copy.device == device) {
                let range = &copy.from;
                if range.start > range.end || range.end.saturating_mul(element) > from.bytes {
                    return Err(CudaError::Range {
                        what: "a copy from another device",
                        start: range.start,
                        end: range.end,
                        len: from.bytes / element.max(1),
                    });
                }
                let bytes = range.len() * element;
                if bytes == 0 {
                    continue;
                }
                let source = from.address + (range.start * element) as driver::DevicePtr;
                let target = address + (copy.at * element) as driver::DevicePtr;
                // SAFETY: the caller has checked the target, which no other device reads. The
                // source is within what the other device has published: its thread is in a call
                // that has borrowed the memory and returns only after this thread has met it again
                // or has ended, and its stream then waits for `copied`, so it is neither freed nor
                // written before the copy is done. With direct access addresses are unified.
                let answer = unsafe {
                    if direct {
                        driver::cuMemcpyDtoDAsync_v2(target, source, bytes, stream.raw())
                    } else {
                        driver::cuMemcpyPeerAsync(
                            target,
                            context.raw(),
                            source,
                            other.raw(),
                            bytes,
                            stream.raw(),
                        )
                    }
                };
                check(answer, "cuMemcpyDtoDAsync or cuMemcpyPeerAsync")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    /// What every thread of `devices` returns.
    fn on_threads<R: Send>(devices: usize, each: impl Fn(Seat) -> R + Sync) -> Vec<R> {
        let each = &each;
        thread::scope(|scope| {
            let started: Vec<_> = (invite_peers(devices).into_iter())
                .map(|PeerInvitation(seat)| scope.spawn(move || each(seat)))
                .collect();
            let joined = started.into_iter().map(|thread| thread.join().unwrap());
            joined.collect()
        })
    }

    #[test]
    fn threads_meet_any_number_of_times() {
        for devices in [1, 2, 5] {
            let count = Mutex::new(0);
            let found = on_threads(devices, |seat| {
                (0..50).all(|time| {
                    *lock(&count) += 1;
                    seat.meet().unwrap();
                    // All of them have come, and none can have come more than once again.
                    let come = *lock(&count);
                    let all = devices * (time + 1);
                    seat.meet().unwrap();
                    (all..all + devices).contains(&come)
                })
            });
            assert!(found.iter().all(|right| *right));
        }
    }

    #[test]
    fn a_thread_that_ends_is_an_error_of_the_others() {
        let found = on_threads(3, |seat| {
            let first = seat.meet().is_ok();
            if seat.own == 1 {
                thread::sleep(Duration::from_millis(20));
                return (first, true, true);
            }
            // However often they come again.
            (first, seat.meet().is_err(), seat.meet().is_err())
        });
        assert_eq!(found, [(true, true, true); 3]);
    }

    #[test]
    fn a_meeting_that_was_complete_stays_so() {
        for _ in 0..200 {
            let found = on_threads(2, |seat| seat.meet().is_ok());
            assert_eq!(found, [true, true]);
        }
    }

    #[test]
    fn an_invitation_that_is_dropped_releases_the_others() {
        let mut invitations = invite_peers(2);
        let PeerInvitation(seat) = invitations.remove(0);
        drop(invitations);
        let error = seat.meet().unwrap_err().to_string();
        assert!(error.contains("device 1 of the group has ended"), "{error}");
    }
}
