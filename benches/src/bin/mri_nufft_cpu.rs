//! The CPU back end's NUFFT: time to plan, of type 1 and of type 2, and errors.
//!
//! `mri_nufft_cpu [--repeats N] [--plain] [CASE …]` runs all cases if none is given. Points are
//! those of a low-discrepancy sequence that `benches/finufft/compare.py` generates too, to run
//! FINUFFT on them. Times are minima over the repeats; `--plain` prints them for that program to
//! read.

use ndarray::Array2;
use num_complex::Complex;
use std::io::Write;
use std::time::Instant;
use warpstride::fft::Real;
use warpstride::mri::cpu::Nufft;
use warpstride::mri::{Encoding, Grid};

/// (name, axes, modes per axis, samples, images, tolerance, double precision).
const CASES: [(&str, usize, usize, usize, usize, f64, bool); 14] = [
    ("2d-1e-2-f32", 2, 256, 2_100_000, 1, 1e-2, false),
    ("2d-1e-4-f32", 2, 256, 2_100_000, 1, 1e-4, false),
    ("2d-1e-6-f32", 2, 256, 2_100_000, 1, 1e-6, false),
    ("2d-1e-4-f64", 2, 256, 2_100_000, 1, 1e-4, true),
    ("2d-1e-6-f64", 2, 256, 2_100_000, 1, 1e-6, true),
    ("2d-1e-9-f64", 2, 256, 2_100_000, 1, 1e-9, true),
    ("2d-1e-12-f64", 2, 256, 2_100_000, 1, 1e-12, true),
    ("3d-1e-2-f32", 3, 128, 2_100_000, 1, 1e-2, false),
    ("3d-1e-4-f32", 3, 128, 2_100_000, 1, 1e-4, false),
    ("3d-1e-6-f32", 3, 128, 2_100_000, 1, 1e-6, false),
    ("3d-1e-4-f64", 3, 128, 2_100_000, 1, 1e-4, true),
    ("3d-1e-9-f64", 3, 64, 500_000, 1, 1e-9, true),
    ("cardiac-1e-5-f32", 2, 256, 6_400, 12, 1e-5, false),
    ("cardiac-1e-5-f64", 2, 256, 6_400, 12, 1e-5, true),
];

/// Sample i lies at the fractional part of (i + 1) / g, (i + 1) / g², … cycles/pixel, minus a half,
/// with g the positive root of gᵃ⁺¹ = g + 1 for a axes.
fn points(count: usize, axes: usize) -> Array2<f64> {
    let mut g = 1.5_f64;
    for _ in 0..60 {
        g = (1.0 + g).powf(1.0 / (axes as f64 + 1.0));
    }
    Array2::from_shape_fn((count, axes), |(i, axis)| {
        ((i + 1) as f64 * g.powi(-(axis as i32 + 1))).fract() - 0.5
    })
}

/// Values of modulus 1 whose phases have no regularity that a transform would show: in radians, and
/// nearly all of them many times 2π.
fn values<T: Real>(count: usize) -> Vec<Complex<T>> {
    (0..count)
        .map(|i| {
            let phase = ((i % 65_537).pow(2) % 65_537) as f64 * (i / 65_537 + 1) as f64;
            Complex::new(T::of(phase.cos()), T::of(phase.sin()))
        })
        .collect()
}

/// Seconds for planning, type 1 and type 2; then the relative error of type 2 in some samples.
struct Measurement {
    seconds: [f64; 3],
    error: f64,
    width: usize,
    fine: usize,
}

fn measure<T: Real>(
    (axes, modes, samples, images): (usize, usize, usize, usize),
    tolerance: f64,
    repeats: usize,
) -> anyhow::Result<Measurement> {
    let grid = match axes {
        2 => Grid::two(modes, modes),
        _ => Grid::three(modes, modes, modes),
    };
    let points = points(samples, axes);
    let mut seconds = [f64::INFINITY; 3];
    let mut timed = |what: usize, start: Instant| {
        seconds[what] = seconds[what].min(start.elapsed().as_secs_f64());
    };
    let image = values::<T>(images * grid.voxels());
    let data = values::<T>(images * samples);
    let mut out_image = vec![Complex::default(); image.len()];
    let mut out_data = vec![Complex::default(); data.len()];
    let mut last = None;
    for _ in 0..repeats {
        let start = Instant::now();
        let nufft = Nufft::<T>::new(grid, points.view(), tolerance)?;
        timed(0, start);
        for _ in 0..3 {
            let start = Instant::now();
            nufft.adjoint(&data, &mut out_image);
            timed(1, start);
            let start = Instant::now();
            nufft.forward(&image, &mut out_data);
            timed(2, start);
        }
        last = Some((nufft.kernel().width(), nufft.fine()[0]));
    }
    let (width, fine) = last.unwrap_or_default();
    Ok(Measurement {
        seconds,
        error: error(grid, &points, &image, &out_data),
        width,
        fine,
    })
}

/// Relative l² error of type 2 in 24 samples of the first image.
fn error<T: Real>(
    grid: Grid,
    points: &Array2<f64>,
    image: &[Complex<T>],
    data: &[Complex<T>],
) -> f64 {
    let (mut squared_error, mut squared_norm) = (0.0, 0.0);
    let modes = grid.along_k();
    for sample in (0..points.nrows()).step_by(points.nrows().div_ceil(24)) {
        let phases: [Vec<Complex<f64>>; 3] = std::array::from_fn(|axis| {
            let k = if axis < grid.axes {
                points[[sample, axis]]
            } else {
                0.0
            };
            (0..modes[axis])
                .map(|n| {
                    let cycles = k * (n as f64 - (modes[axis] / 2) as f64);
                    Complex::cis(-std::f64::consts::TAU * cycles.fract())
                })
                .collect()
        });
        let mut sum = Complex::<f64>::default();
        for (row, values) in image[..grid.voxels()].chunks_exact(modes[0]).enumerate() {
            let along: Complex<f64> = values
                .iter()
                .zip(&phases[0])
                .map(|(v, p)| Complex::new(v.re.wide(), v.im.wide()) * p)
                .sum();
            sum += along * phases[1][row % modes[1]] * phases[2][row / modes[1]];
        }
        let value = Complex::new(data[sample].re.wide(), data[sample].im.wide());
        squared_error += (value - sum).norm_sqr();
        squared_norm += sum.norm_sqr();
    }
    (squared_error / squared_norm).sqrt()
}

fn main() -> anyhow::Result<()> {
    let (mut repeats, mut plain, mut requested) = (3, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--repeats" => repeats = arguments.next().unwrap_or_default().parse()?,
            "--plain" => plain = true,
            name => requested.push(name.to_owned()),
        }
    }
    let mut out = std::io::stdout().lock();
    if !plain {
        writeln!(
            out,
            "{} threads; minima of {repeats} set-ups with three transforms each\n\
             {:17} {:>4} {:>5} {:>9} {:>6} | {:>5} {:>4} {:>8} | {:>9} {:>9} {:>9} | {:>11} {:>11}",
            std::thread::available_parallelism()?,
            "case",
            "axes",
            "modes",
            "samples",
            "images",
            "width",
            "fine",
            "error",
            "set-up ms",
            "type 1 ms",
            "type 2 ms",
            "1 Mpoints/s",
            "2 Mpoints/s"
        )?;
    }
    for (name, axes, modes, samples, images, tolerance, double) in CASES {
        if !requested.is_empty() && !requested.iter().any(|w| w == name) {
            continue;
        }
        let sizes = (axes, modes, samples, images);
        let measurement = if double {
            measure::<f64>(sizes, tolerance, repeats)?
        } else {
            measure::<f32>(sizes, tolerance, repeats)?
        };
        let [setup, one, two] = measurement.seconds.map(|s| 1e3 * s);
        let rate = |ms: f64| (samples * images) as f64 / ms / 1e3;
        if plain {
            writeln!(
                out,
                "{name} {axes} {modes} {samples} {images} {tolerance:e} {} {setup} {one} {two} {:e}",
                if double { "f64" } else { "f32" },
                measurement.error
            )?;
        } else {
            writeln!(
                out,
                "{name:17} {axes:4} {modes:5} {samples:9} {images:6} | {:5} {:4} {:8.1e} | {setup:9.2} {one:9.2} {two:9.2} | {:11.1} {:11.1}",
                measurement.width,
                measurement.fine,
                measurement.error,
                rate(one),
                rate(two)
            )?;
        }
        out.flush()?;
    }
    Ok(())
}
