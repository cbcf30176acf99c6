//! Shared memory of a block.

use super::MAX_STATIC_SHARED_BYTES;

const POISON: u8 = 0xFF;

/// The greatest alignment that an element of shared memory needs.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; 16]);

const POISONED: Unit = Unit([POISON; 16]);

/// A position in a block's shared memory, which exists in every block of its cluster.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// The array's index and its bytes; `None`: the dynamic one.
    array: Option<(usize, usize)>,
    /// Bytes from the array's start.
    offset: usize,
}

/// The dynamic array and the static ones, each created when a thread first asks for it.
pub(super) struct SharedMemory {
    dynamic: Vec<Unit>,
    arrays: Vec<(usize, Vec<Unit>)>,
}

impl SharedMemory {
    pub(super) fn new(dynamic_bytes: usize) -> Self {
        Self {
            dynamic: vec![POISONED; dynamic_bytes.div_ceil(16)],
            arrays: Vec::new(),
        }
    }

    /// Fills all arrays with 0xFF.
    pub(super) fn poison(&mut self) {
        self.dynamic.fill(POISONED);
        for (_, array) in &mut self.arrays {
            array.fill(POISONED);
        }
    }

    /// Whether all bytes are 0xFF.
    pub(super) fn is_poisoned(&self) -> bool {
        let arrays = self.arrays.iter().map(|(_, array)| array);
        std::iter::once(&self.dynamic)
            .chain(arrays)
            .flatten()
            .all(|unit| unit.0 == POISONED.0)
    }

    /// The position of an address in one of the arrays.
    pub(super) fn position_of(&self, address: usize) -> Option<Position> {
        let within = |array: &[Unit]| {
            let offset = address.wrapping_sub(array.as_ptr().addr());
            (offset < size_of_val(array)).then_some(offset)
        };
        if let Some(offset) = within(&self.dynamic) {
            return Some(Position {
                array: None,
                offset,
            });
        }
        self.arrays.iter().find_map(|(key, array)| {
            Some(Position {
                array: Some((*key, size_of_val(array.as_slice()))),
                offset: within(array)?,
            })
        })
    }

    /// The address of a position in this or another block's shared memory. An array that this block has not asked for
    /// yet is created; the other block has it too, so it does not exceed the limit.
    pub(super) fn at(&mut self, position: Position) -> *mut u8 {
        let start = match position.array {
            None => self.dynamic(),
            Some((key, bytes)) => match self.array(key, bytes) {
                Ok(start) => start,
                Err(total) => panic!("{total} bytes of static shared memory"),
            },
        };
        start.wrapping_add(position.offset)
    }

    pub(super) fn dynamic(&mut self) -> *mut u8 {
        self.dynamic.as_mut_ptr().cast()
    }

    /// The array of the static at address `key`; `Err` with the total size if it exceeds the limit.
    pub(super) fn array(&mut self, key: usize, bytes: usize) -> Result<*mut u8, usize> {
        let index = match self.arrays.iter().position(|(k, _)| *k == key) {
            Some(index) => index,
            None => {
                let held: usize = self.arrays.iter().map(|(_, a)| a.len() * 16).sum();
                let total = held.saturating_add(bytes);
                if total > MAX_STATIC_SHARED_BYTES {
                    return Err(total);
                }
                self.arrays.push((key, vec![POISONED; bytes.div_ceil(16)]));
                self.arrays.len() - 1
            }
        };
        Ok(self.arrays[index].1.as_mut_ptr().cast())
    }
}
