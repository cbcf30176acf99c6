//! The reader of Prometheus' remote-read snapshots on any bytes, compressed or not: it returns,
//! within 8 MiB, and what it gives is sound. Seeds are files that Prometheus answers with.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("series_remote_read", bytes));
