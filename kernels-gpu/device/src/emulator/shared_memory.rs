//! Shared memory of the running block.

use super::MAX_STATIC_SHARED_BYTES;

const POISON: u8 = 0xFF;

/// The greatest alignment that an element of shared memory needs.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; 16]);

const POISONED: Unit = Unit([POISON; 16]);

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

    /// Fills all arrays with 0xFF for the next block.
    pub(super) fn poison(&mut self) {
        self.dynamic.fill(POISONED);
        for (_, array) in &mut self.arrays {
            array.fill(POISONED);
        }
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
