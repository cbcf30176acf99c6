//! Measures how fast the frames of a file are read in single precision, and prints a checksum of
//! them.
//!
//!     cargo run --release -p warpstride-formats --example read_speed -- FILE
#![allow(clippy::print_stdout, reason = "a program")]

use std::path::Path;
use std::time::Instant;
use warpstride_formats::{FileError, FrameFile, open};

/// Rounds over all frames.
const ROUNDS: usize = 3;

/// Frames that are read at once.
const FRAMES: usize = 16;

fn measure(file: &dyn FrameFile) -> Result<(), FileError> {
    let [frames, rows, columns] = file.shape();
    println!(
        "{frames} frames of {rows} x {columns} {}, scan {:?}",
        file.element(),
        file.scan_shape()
    );
    let mut out = vec![0.0; FRAMES * rows * columns];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut sum = 0.0;
        for first in (0..frames).step_by(FRAMES) {
            let count = FRAMES.min(frames - first);
            let out = &mut out[..count * rows * columns];
            file.read(first..first + count, out)?;
            sum += f64::from(out[out.len() / 2]);
        }
        let pixels = (frames * rows * columns) as f64;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{:.0} million pixels/s, {:.2} GB/s of float32 (sum of middle pixels {sum})",
            pixels / seconds / 1e6,
            4.0 * pixels / seconds / 1e9
        );
    }
    Ok(())
}

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: read_speed FILE");
        return;
    };
    if let Err(e) = open(Path::new(&path)).and_then(|file| measure(file.as_ref())) {
        println!("{e}");
    }
}
