//! Buffers that detect writes beyond their ends.

use bytemuck::{Pod, Zeroable};

use crate::launch::{Emulated, Read, Write};

/// Bytes before and after the elements that must not change; also the alignment, which is that of the CUDA driver's
/// allocations.
const ZONE: usize = 256;

#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(256))]
struct Line([u8; ZONE]);

const CANARY: Line = Line([0xC5; ZONE]);

/// `len` elements of `T`, aligned to 256 bytes, between two zones of a known pattern.
pub struct Memory<T> {
    lines: Vec<Line>,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Pod> Memory<T> {
    /// Zeroed elements. `None` if memory is insufficient.
    #[must_use]
    pub fn try_zeroed(len: usize) -> Option<Self> {
        Self::filled(len, 0)
    }

    /// Elements with all bytes 0xFF (NaN as floating point), which makes reads before the first write visible. `None`
    /// if memory is insufficient.
    #[must_use]
    pub fn try_poisoned(len: usize) -> Option<Self> {
        Self::filled(len, 0xFF)
    }

    fn filled(len: usize, byte: u8) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let count = bytes.div_ceil(ZONE).checked_add(2)?;
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line([byte; ZONE]));
        lines[0] = CANARY;
        lines[count - 1] = CANARY;
        let behind = bytes % ZONE;
        if behind != 0 {
            lines[count - 2].0[behind..].fill(CANARY.0[0]);
        }
        Some(Self {
            lines,
            len,
            element: std::marker::PhantomData,
        })
    }

    /// A copy of `values`. `None` if memory is insufficient.
    #[must_use]
    pub fn try_copy_of(values: &[T]) -> Option<Self> {
        let mut memory = Self::try_zeroed(values.len())?;
        memory.as_mut_slice().copy_from_slice(values);
        Some(memory)
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.lines);
        bytemuck::cast_slice(&bytes[ZONE..ZONE + self.bytes()])
    }

    /// The elements.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.bytes();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines);
        bytemuck::cast_slice_mut(&mut bytes[ZONE..ZONE + len])
    }

    /// The memory as an argument that is read.
    #[must_use]
    pub fn read(&self) -> Read<'_, Emulated, T> {
        // The address is derived from the whole allocation, so that a kernel that overruns writes to a zone.
        let start = self.lines.as_ptr().wrapping_add(1);
        // SAFETY: `len` elements from the second line on, borrowed from self.
        unsafe { Read::from_raw(start.cast(), self.len) }
    }

    /// The memory as an argument that is written.
    #[must_use]
    pub fn write(&mut self) -> Write<'_, Emulated, T> {
        let start = self.lines.as_mut_ptr().wrapping_add(1);
        // SAFETY: `len` elements from the second line on, borrowed uniquely from self.
        unsafe { Write::from_raw(start.cast(), self.len) }
    }

    /// Checks that the zones before and after the elements are unchanged.
    ///
    /// # Errors
    ///
    /// The distance in bytes of the first changed byte from the first element (negative before it).
    pub fn check_canaries(&self) -> Result<(), isize> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.lines);
        let end = ZONE + self.bytes();
        let changed = |(_, byte): &(usize, &u8)| **byte != CANARY.0[0];
        let zones = bytes.iter().enumerate();
        match zones.filter(|(i, _)| *i < ZONE || *i >= end).find(changed) {
            None => Ok(()),
            Some((i, _)) => Err(i as isize - ZONE as isize),
        }
    }
}
