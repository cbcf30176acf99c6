//! Reads the frames of a scan as `ptycho reconstruct` does: into an array in single precision,
//! checked, with the pixels without data masked. Prints the seconds of each round.
//!
//! `cargo run --release -p warpstride-benches --bin ptycho_reading -- FILE SLOWxFAST [ROUNDS]`
//!
//! FILE is one without positions, as detectors write them, with SLOW times FAST frames. The
//! environment variable `RAYON_NUM_THREADS` says how many threads decode.
//! `benches/programs/reading_speed.py` writes such files and compares with h5py.
#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use warpstride::ptycho::io::scan;
use warpstride::ptycho::{Constants, Degrees, Raster, RasterStep, ReadOptions, ShortLength};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, points, rounds) = match arguments.as_slice() {
        [path, points] => (path, points, "1"),
        [path, points, rounds] => (path, points, rounds.as_str()),
        _ => return Err("usage: ptycho_reading FILE SLOWxFAST [ROUNDS]".into()),
    };
    let (slow, fast) = points
        .split_once('x')
        .ok_or("expected SLOWxFAST, for example 26x26")?;
    let raster = Raster {
        points: Some([slow.parse()?, fast.parse()?]),
        step: RasterStep::Each([ShortLength(1e-6); 2]),
        rotation: Degrees(0.0),
        snake: false,
    };
    let options = ReadOptions {
        raster: Some(raster),
        constants: Constants {
            wavelength: Some(1e-10),
            distance: Some(2.0),
            pixel_size: Some([75e-6; 2]),
            ..Constants::default()
        },
        ..ReadOptions::default()
    };
    for _ in 0..rounds.parse::<u32>()? {
        let start = Instant::now();
        let read = scan::read(Path::new(path), &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let counts = read.scan.sums().total();
        println!("{seconds:.4} s, {counts} counts, {:?}", read.scan.shape());
    }
    Ok(())
}
