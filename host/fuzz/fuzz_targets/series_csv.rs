//! The reader of time series, seeded with CSV, plain and compressed, on any bytes: it returns,
//! within 8 MiB, and what it gives is sound.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("series_csv", bytes));
