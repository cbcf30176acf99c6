//! The reader of Prometheus' remote-read snapshots on any bytes, compressed or not: it returns, within 8 MiB, and what it gives
//! is sound. Seeds are files that Prometheus answers with.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    for name in ["a.pb", "a.snappy"] {
        let path = folder.path().join(name);
        if std::fs::write(&path, bytes).is_ok() {
            warpstride_fuzz::series::exercise_exposition(&path, folder.path());
        }
    }
});
