//! Other people's decoders and engines, which may panic on a hostile file.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives; `None` where it panics, which nobody hears of. What it was working on must not be used again.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            if !CONTAINED.get() {
                before(what);
            }
        }));
    });
    let outer = CONTAINED.replace(true);
    let given = panic::catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    given.ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_no_value() {
        assert_eq!(super::contained(|| 5), Some(5));
        let empty: Vec<u8> = Vec::new();
        assert_eq!(super::contained(|| empty[3]), None);
    }
}
