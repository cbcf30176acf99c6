//! The reader of time series, seeded with Prometheus' text format, on any bytes: it returns,
//! within 8 MiB, and what it gives is sound.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let path = folder.path().join("a.prom");
    if std::fs::write(&path, bytes).is_ok() {
        warpstride_fuzz::series::exercise_exposition(&path, folder.path());
    }
});
