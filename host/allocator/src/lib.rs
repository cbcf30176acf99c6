//! A global allocator that ends a program with one sentence when the operating system gives no more memory.
//!
//! Rust ends a program whose allocation fails with SIGABRT and a dump. Under a limit of the address space (`ulimit -v`) that may be any
//! allocation, in any crate. With [`Reporting`] as its global allocator, a program writes what was needed and what to do to standard error
//! instead, and ends with the exit code 1. Code that can go on without the memory asks for it within [`fallible`].
//!
//! This is the only crate beside those of GPUs and of MPI with `unsafe`: the trait of allocators is unsafe.
#![allow(unsafe_code)]

mod sentence;

use sentence::Sentence;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code for a failure.
const FAILED: c_int = 1;
/// File descriptor of standard error.
const STANDARD_ERROR: c_int = 2;

unsafe extern "C" {
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    /// Ends the process without running anything that is registered for its end, which might allocate memory.
    safe fn _exit(code: c_int) -> !;
}

thread_local! {
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `attempt`, in which a failed allocation is an error that the caller handles, such as that of `Vec::try_reserve`.
pub fn fallible<T>(attempt: impl FnOnce() -> T) -> T {
    let outer = FALLIBLE.replace(true);
    let result = attempt();
    FALLIBLE.set(outer);
    result
}

/// The allocator of the operating system, which ends the program with one sentence if it has no memory left.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reporting;

impl Reporting {
    /// The memory that was asked for; ends the program if there is none, unless the thread can go on without it.
    fn checked(memory: *mut u8, bytes: usize) -> *mut u8 {
        // While a thread ends it has no variables of its own any more.
        if memory.is_null() && !FALLIBLE.try_with(Cell::get).unwrap_or(false) {
            end(bytes);
        }
        memory
    }
}

// SAFETY: all methods are those of `System`, whose results are returned unchanged.
unsafe impl GlobalAlloc for Reporting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is that of `System`.
        Self::checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        Self::checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        Self::checked(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Writes the sentence, without allocating memory, and ends the process.
fn end(bytes: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread writes the sentence.
        loop {
            std::hint::spin_loop();
        }
    }
    let sentence = Sentence::new(bytes);
    let text = sentence.as_bytes();
    // SAFETY: the bytes are those of a slice. If they cannot be written, nothing else can say so.
    let _ = unsafe { write(STANDARD_ERROR, text.as_ptr().cast(), text.len()) };
    _exit(FAILED)
}
