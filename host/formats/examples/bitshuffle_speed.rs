//! Measures how fast chunks of a file of records (see `tests/write_vectors.py`) are decoded.
//!
//!     cargo run --release -p warpstride-formats --example bitshuffle_speed -- RECORDS [THREADS]
//!
//! `tests/speed.py` writes such a file with h5py and hdf5plugin, and reads the same data with them.
#![allow(clippy::print_stdout, reason = "a program")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};

/// Rounds over all chunks.
const ROUNDS: usize = 5;

struct Chunk<'a> {
    pipeline: Pipeline,
    mask: u32,
    raw: &'a [u8],
}

fn chunks(mut file: &[u8]) -> Option<Vec<Chunk<'_>>> {
    let mut chunks = Vec::new();
    let file = &mut file;
    while !file.is_empty() {
        let name = u16::from_le_bytes(*file.take_array()?);
        file.split_off(..usize::from(name))?;
        let [size, decoded, mask, filters] =
            [number(file)?, number(file)?, number(file)?, number(file)?];
        let mut specs = Vec::new();
        for _ in 0..filters {
            let [id, optional, count] = [number(file)?, number(file)?, number(file)?];
            let cd_values = (0..count).map(|_| number(file)).collect::<Option<_>>()?;
            specs.push(FilterSpec {
                id,
                cd_values,
                optional: optional == 1,
            });
        }
        let stored = number(file)? as usize;
        let raw = file.split_off(..stored)?;
        number(file)?;
        chunks.push(Chunk {
            pipeline: Pipeline::new(&specs, size as usize, decoded as usize).ok()?,
            mask,
            raw,
        });
    }
    Some(chunks)
}

fn number(file: &mut &[u8]) -> Option<u32> {
    file.take_array().map(|bytes| u32::from_le_bytes(*bytes))
}

trait TakeArray {
    fn take_array<const N: usize>(&mut self) -> Option<&[u8; N]>;
}

impl TakeArray for &[u8] {
    fn take_array<const N: usize>(&mut self) -> Option<&[u8; N]> {
        let (first, rest) = self.split_first_chunk()?;
        *self = rest;
        Some(first)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!("usage: bitshuffle_speed RECORDS [THREADS]");
        return;
    };
    let threads = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let file = match std::fs::read(&path) {
        Ok(file) => file,
        Err(e) => return println!("{path}: {e}"),
    };
    let Some(chunks) = chunks(&file) else {
        return println!("{path}: expected records, found other bytes");
    };
    let decoded: usize = chunks
        .iter()
        .map(|chunk| chunk.pipeline.chunk_bytes())
        .sum();
    for _ in 0..ROUNDS {
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut scratch = Scratch::default();
                    let mut out = Vec::new();
                    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        out.resize(chunk.pipeline.chunk_bytes(), 0);
                        if let Err(e) =
                            chunk
                                .pipeline
                                .decode(chunk.mask, chunk.raw, &mut out, &mut scratch)
                        {
                            println!("{e}");
                        }
                    }
                });
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{} chunks, {:.1} MB from {:.1} MB, {threads} threads: {:.2} GB/s decoded",
            chunks.len(),
            decoded as f64 / 1e6,
            file.len() as f64 / 1e6,
            decoded as f64 / seconds / 1e9
        );
    }
}
