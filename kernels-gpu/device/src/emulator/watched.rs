//! Memory of a whole emulated machine: buffers between two zones of a known pattern, all of which
//! can be looked at after every launch.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::launch::{Emulated, Read, Write};
use bytemuck::Pod;

/// Bytes of a zone before and behind the elements, and the alignment: that of the CUDA driver's
/// allocations.
const ZONE: usize = 256;

/// What a zone is filled with.
const CANARY: u8 = 0xC5;

#[repr(C, align(256))]
struct Line([u8; ZONE]);

/// The memory of one buffer: a zone, the elements, a zone. Everything is reached by raw pointers,
/// elements and zones never by one reference.
struct Allocation {
    what: &'static str,
    lines: Box<[UnsafeCell<Line>]>,
    bytes: usize,
}

// SAFETY: elements are used through the one `WatchedMemory` by the usual rules of borrowing, or by
// a launch to which they are lent; zones are only ever read, and a kernel that writes there is what
// the check is for.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn zeroed(what: &'static str, bytes: usize) -> Option<Self> {
        let count = bytes.div_ceil(ZONE).checked_add(2)?;
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize_with(count, || UnsafeCell::new(Line([0; ZONE])));
        let allocation = Self {
            what,
            lines: lines.into_boxed_slice(),
            bytes,
        };
        // SAFETY: both ranges lie within the lines, which nobody else knows yet.
        unsafe {
            let start = allocation.start();
            start.write_bytes(CANARY, ZONE);
            let behind = ZONE + bytes;
            start.add(behind).write_bytes(CANARY, count * ZONE - behind);
        }
        Some(allocation)
    }

    fn start(&self) -> *mut u8 {
        UnsafeCell::raw_get(self.lines.as_ptr()).cast()
    }

    fn elements(&self) -> *mut u8 {
        self.start().wrapping_add(ZONE)
    }

    /// Distance in bytes from the first element of the first changed byte of a zone.
    fn first_overrun(&self) -> Option<isize> {
        let end = ZONE + self.bytes;
        let size = self.lines.len() * ZONE;
        let changed = |at: &usize| {
            // SAFETY: within the lines; zones are lent to nobody.
            unsafe { self.start().add(*at).read() != CANARY }
        };
        (0..ZONE)
            .chain(end..size)
            .find(changed)
            .map(|at| at as isize - ZONE as isize)
    }
}

/// `len` elements of host memory that kernels of the emulator work on, zeroed at the start.
pub struct WatchedMemory<T> {
    allocation: Arc<Allocation>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T> fmt::Debug for WatchedMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedMemory")
            .field("what", &self.allocation.what)
            .field("len", &self.len)
            .finish()
    }
}

impl<T: Pod> WatchedMemory<T> {
    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `len` elements, zeroed or written (valid for `Pod`), aligned to 256 bytes, which
        // `Watch::alloc` ensures to be enough.
        unsafe { std::slice::from_raw_parts(self.allocation.elements().cast(), self.len) }
    }

    /// The elements.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.allocation.elements().cast(), self.len) }
    }
}

impl<T: Pod> WatchedMemory<T> {
    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// As an argument that is read.
    #[must_use]
    pub fn read(&self) -> Read<'_, Emulated, T> {
        // SAFETY: as `as_slice`. The address is good for the zones too, so that a kernel that
        // overruns hits one.
        unsafe { Read::from_raw(self.allocation.elements().cast(), self.len) }
    }

    /// As an argument that is written.
    pub fn write(&mut self) -> Write<'_, Emulated, T> {
        // SAFETY: as `as_mut_slice`.
        unsafe { Write::from_raw(self.allocation.elements().cast(), self.len) }
    }

    /// Some elements as an argument that is read; `None`: they are not all there.
    #[must_use]
    pub fn read_range(&self, range: Range<usize>) -> Option<Read<'_, Emulated, T>> {
        let len = self.as_slice().get(range.clone())?.len();
        let first = self.allocation.elements().cast::<T>();
        // SAFETY: as `read`, for elements that were just found.
        Some(unsafe { Read::from_raw(first.wrapping_add(range.start), len) })
    }

    /// Some elements as an argument that is written; `None`: they are not all there.
    pub fn write_range(&mut self, range: Range<usize>) -> Option<Write<'_, Emulated, T>> {
        let len = self.as_slice().get(range.clone())?.len();
        let first = self.allocation.elements().cast::<T>();
        // SAFETY: as `write`, for elements that were just found.
        Some(unsafe { Write::from_raw(first.wrapping_add(range.start), len) })
    }
}

/// A write outside of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overrun {
    /// What the buffer was allocated for.
    pub buffer: &'static str,
    /// Bytes from the first element; negative before it.
    pub offset: isize,
    /// Bytes that the buffer has.
    pub bytes: usize,
}

/// All buffers of one machine.
#[derive(Default)]
pub struct Watch {
    buffers: Mutex<Vec<Weak<Allocation>>>,
}

impl Watch {
    /// `len` zeroed elements for `what`; `None`: there is not so much memory.
    pub fn alloc<T: Pod>(&self, what: &'static str, len: usize) -> Option<WatchedMemory<T>> {
        const {
            assert!(
                align_of::<T>() <= ZONE,
                "elements are aligned by their line"
            )
        };
        let allocation = Arc::new(Allocation::zeroed(what, len.checked_mul(size_of::<T>())?)?);
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.retain(|known| known.strong_count() > 0);
        buffers.push(Arc::downgrade(&allocation));
        Some(WatchedMemory {
            allocation,
            len,
            elements: PhantomData,
        })
    }

    /// The first buffer, in the order of their making, around which somebody wrote.
    pub fn first_overrun(&self) -> Option<Overrun> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.iter().filter_map(Weak::upgrade).find_map(|known| {
            Some(Overrun {
                buffer: known.what,
                offset: known.first_overrun()?,
                bytes: known.bytes,
            })
        })
    }
}
