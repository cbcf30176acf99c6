//! The reader of time series, seeded with Prometheus' text format, on any bytes: it returns,
//! within 8 MiB, and what it gives is sound.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("series_exposition", bytes));
