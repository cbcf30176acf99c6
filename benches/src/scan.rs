//! Scans for the benchmarks of ptychography.

use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::path::Path;
use warpstride::ptycho::data::{FrameWriter, Geometry, Propagation, Scan};

/// A scan with random counts, positions on a grid with jitter, and an illumination; zeros would be
/// computed faster.
///
/// # Errors
/// The sizes make no scan.
pub fn random_scan(frames: usize, side: usize) -> anyhow::Result<Scan> {
    random_scan_at(frames, side, false)
}

/// The same on whole pixels or `between` them.
///
/// # Errors
/// The sizes make no scan.
pub fn random_scan_at(frames: usize, side: usize, between: bool) -> anyhow::Result<Scan> {
    random_scan_with(
        FrameWriter::in_memory([frames, side, side]),
        [frames, side],
        between,
        |count| count,
    )
}

/// The same on whole pixels with whole counts, which are in a temporary file in `folder`.
///
/// # Errors
/// The sizes make no scan, or the file cannot be written.
pub fn random_scan_in(folder: &Path, frames: usize, side: usize) -> anyhow::Result<Scan> {
    let writer = FrameWriter::in_scratch(folder, [frames, side, side])?;
    random_scan_with(writer, [frames, side], false, f32::round)
}

fn random_scan_with(
    mut writer: FrameWriter,
    [frames, side]: [usize; 2],
    between: bool,
    change: impl Fn(f32) -> f32,
) -> anyhow::Result<Scan> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    for frame in 0..frames {
        let counts = Array2::from_shape_simple_fn((side, side), || change((50.0 * next()) as f32));
        writer.put_frame(frame, counts.view())?;
    }
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 1.0,
        pixel_size: [75e-6; 2],
        propagation: Propagation::FarField,
    };
    let pixel = geometry.object_pixel(side, side);
    let across = (frames as f64).sqrt().ceil();
    let step = 0.16 * side as f64;
    let positions = Array2::from_shape_fn((frames, 2), |(i, axis)| {
        let index = if axis == 0 {
            (i as f64 / across).floor()
        } else {
            i as f64 % across
        };
        let whole = ((index + 0.3 * next()) * step).round();
        let fraction = if between {
            (0.37 * (i + 5 * axis) as f64).fract() - 0.5
        } else {
            0.0
        };
        (whole + fraction) * pixel[axis]
    });
    let probe = Array3::from_shape_fn((1, side, side), |(_, r, c)| {
        let at = |i: usize| (i as f64 - side as f64 / 2.0) / (side as f64 / 6.0);
        Complex::cis(2.0 * at(r)) * (-(at(r).powi(2) + at(c).powi(2))).exp()
    });
    let counts = writer.finish();
    Ok(Scan::of_frames(
        counts,
        None,
        positions,
        geometry,
        Some(probe),
    )?)
}
