//! Fuzzes the target that the variable `WARPSTRIDE_FUZZ_TARGET` names: one program for all, to be
//! copied to another machine.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<String> = LazyLock::new(|| {
    let name = std::env::var("WARPSTRIDE_FUZZ_TARGET").unwrap_or_default();
    let known = warpstride_fuzz::targets::NAMES.contains(&name.as_str());
    assert!(
        known,
        "WARPSTRIDE_FUZZ_TARGET is \"{name}\", expected one of {:?}",
        warpstride_fuzz::targets::NAMES
    );
    name
});

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run(&TARGET, bytes));
