//! Catching panics of third-party decoders, which may panic on hostile files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`, or `None` if it panics; the panic is not reported. The caller must
/// not use again what `work` was modifying.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                previous(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_becomes_none() {
        assert_eq!(super::catch_panic(|| 5), Some(5));
        let empty: Vec<u8> = Vec::new();
        assert_eq!(super::catch_panic(|| empty[3]), None);
    }
}
