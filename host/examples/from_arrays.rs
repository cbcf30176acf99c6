//! Reconstructs from plain arrays, without files: counts, positions and geometry form a [`Scan`],
//! which is prepared as a [`Problem`], on which an engine iterates.
//!
//! `cargo run --release --example from_arrays`

use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use std::error::Error;
use std::io::Write;
use warpstride::fft::Fft2;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::data::{Geometry, PixelPositions, Propagation, Scan};
use warpstride::ptycho::{EngineName, EngineSpec, Problem, Recipe, Reconstructor};

/// Rows and columns of a frame.
const FRAME: usize = 48;
/// Frames along each side of the raster.
const SIDE: usize = 6;
/// Step between frames, object pixels.
const STEP: f64 = 5.0;

/// Positions of the frames (frame, (row, column)), m.
fn positions(pixel: [f64; 2]) -> Array2<f64> {
    Array2::from_shape_fn((SIDE * SIDE, 2), |(frame, axis)| {
        let cell = [frame / SIDE, frame % SIDE];
        // A perfect raster would leave ambiguities with its period.
        let jitter = (frame * (3 + axis) % 5) as f64 - 2.0;
        (cell[axis] as f64 * STEP + jitter).round() * pixel[axis]
    })
}

/// A beam with a curved wavefront (mode, row, column), √photons.
fn probe() -> Array3<Complex<f64>> {
    Array3::from_shape_fn((1, FRAME, FRAME), |(_, r, c)| {
        let (y, x) = (r as f64 - 24.0, c as f64 - 24.0);
        let square = y * y + x * x;
        Complex::from_polar(300.0 * (-square / 120.0).exp(), square / 25.0)
    })
}

/// Counts of a detector behind a wavy object lit by `probe`: (frame, row, column), zero frequency
/// in the middle.
fn counts(windows: &PixelPositions, probe: &Array3<Complex<f64>>) -> Array3<f32> {
    let [rows, columns] = windows.object_shape;
    let object = Array2::from_shape_fn((rows, columns), |(r, c)| {
        let thickness = (0.4 * r as f64).sin() * (0.3 * c as f64).cos() + 0.5;
        Complex::from_polar((-0.1 * thickness).exp(), 0.8 * thickness)
    });
    let mut fft = Fft2::new(FRAME, FRAME);
    let mut frames = Array3::zeros((windows.corners.len(), FRAME, FRAME));
    for (mut frame, corner) in frames.outer_iter_mut().zip(&windows.corners) {
        let [top, left] = corner.map(|v| v as usize);
        let window = object.slice(s![top..top + FRAME, left..left + FRAME]);
        let mut wave: Vec<_> = probe
            .index_axis(Axis(0), 0)
            .iter()
            .zip(&window)
            .map(|(p, o)| p * o)
            .collect();
        fft.forward(&mut wave);
        for (i, value) in wave.iter().enumerate() {
            let pixel = [i / FRAME, i % FRAME].map(|k| (k + FRAME / 2) % FRAME);
            frame[pixel] = value.norm_sqr().round() as f32;
        }
    }
    frames
}

fn main() -> Result<(), Box<dyn Error>> {
    let geometry = Geometry {
        wavelength: 1.24e-10,
        distance: 2.0,
        pixel_size: [75e-6, 75e-6],
        propagation: Propagation::FarField,
    };
    let pixel = geometry.object_pixel(FRAME, FRAME);
    let positions = positions(pixel);
    let windows = PixelPositions::new(&positions, pixel, [FRAME, FRAME], 0)?;
    let counts = counts(&windows, &probe());

    // From here on, do the same with your own arrays. Without a mask every pixel is valid. The
    // start probe may be rough, or `None` to derive one from the mean pattern.
    let rough = probe().mapv(|p| p * Complex::from_polar(1.0, 0.002 * p.norm()));
    let scan = Scan::new(counts, None, positions, geometry, Some(rough))?;
    let recipe = Recipe {
        engines: vec![
            EngineSpec::new(EngineName::Dm, 60),
            EngineSpec::new(EngineName::Raar, 40),
        ],
        ..Recipe::default()
    };
    let problem = Problem::prepare(&scan, &recipe)?;
    let engine = Box::new(CpuEngine::<f32>::new(&problem));
    let mut run = Reconstructor::new(engine, &problem, &recipe);
    while !run.finished() {
        run.advance()?;
    }
    run.flush()?;

    let object = run.engine().object()?;
    let last = run
        .progress()
        .history
        .iter()
        .rev()
        .find_map(|entry| entry.r_factor);
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "object of {} x {} pixels, R = {:.2e}",
        object.nrows(),
        object.ncols(),
        last.unwrap_or(f64::NAN)
    )?;
    Ok(())
}
