//! The memory of an emulated device: buffers between two zones of a known pattern, all of which can be checked after
//! every launch.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::launch::{Emulated, Read, Write};
use bytemuck::Pod;

/// Bytes of a zone before and after the elements, and the alignment, which is that of the CUDA driver's allocations.
const ZONE: usize = 256;

/// The value of a zone's bytes.
const CANARY: u8 = 0xC5;

#[repr(C, align(256))]
struct Line([u8; ZONE]);

/// The memory of one buffer: a zone, the elements, a zone. All accesses use raw pointers, and no reference covers
/// both elements and zones.
struct Allocation {
    what: &'static str,
    lines: Box<[UnsafeCell<Line>]>,
    bytes: usize,
}

// SAFETY: elements are accessed through the one `WatchedMemory` by the usual rules of borrowing, or by a launch that
// borrows them; zones are only read, and writes to them by a kernel are what the check detects.
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
        // SAFETY: both ranges lie within the lines, which are not shared yet.
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

    /// Distance in bytes from the first element to the first changed byte of a zone.
    fn first_overrun(&self) -> Option<isize> {
        let end = ZONE + self.bytes;
        let size = self.lines.len() * ZONE;
        let changed = |at: &usize| {
            // SAFETY: within the lines; zones are never borrowed.
            unsafe { self.start().add(*at).read() != CANARY }
        };
        (0..ZONE)
            .chain(end..size)
            .find(changed)
            .map(|at| at as isize - ZONE as isize)
    }
}

/// `len` elements of host memory for kernels in the emulator, zeroed at the start.
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
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory as an argument that is read.
    #[must_use]
    pub fn read(&self) -> Read<'_, Emulated, T> {
        // SAFETY: as in `as_slice`. The address is valid for the zones too, so that a kernel that overruns writes to
        // one.
        unsafe { Read::from_raw(self.allocation.elements().cast(), self.len) }
    }

    /// The memory as an argument that is written.
    pub fn write(&mut self) -> Write<'_, Emulated, T> {
        // SAFETY: as in `as_mut_slice`.
        unsafe { Write::from_raw(self.allocation.elements().cast(), self.len) }
    }

    /// A range of elements as an argument that is read; `None` if the range exceeds the memory.
    #[must_use]
    pub fn read_range(&self, range: Range<usize>) -> Option<Read<'_, Emulated, T>> {
        let len = self.as_slice().get(range.clone())?.len();
        let first = self.allocation.elements().cast::<T>();
        // SAFETY: as in `read`, for elements that exist.
        Some(unsafe { Read::from_raw(first.wrapping_add(range.start), len) })
    }

    /// A range of elements as an argument that is written; `None` if the range exceeds the memory.
    pub fn write_range(&mut self, range: Range<usize>) -> Option<Write<'_, Emulated, T>> {
        let len = self.as_slice().get(range.clone())?.len();
        let first = self.allocation.elements().cast::<T>();
        // SAFETY: as in `write`, for elements that exist.
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
    /// The buffer's size in bytes.
    pub bytes: usize,
}

/// All buffers of one device.
#[derive(Default)]
pub struct Watch {
    buffers: Mutex<Vec<Weak<Allocation>>>,
}

impl Watch {
    /// `len` zeroed elements for `what`; `None` if memory is insufficient.
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

    /// The first buffer, in the order of allocation, whose zones have changed.
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
