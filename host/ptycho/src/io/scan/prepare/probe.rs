//! The start probe and the truth in the file of a scan whose frames are prepared.

use super::super::ReadOptions;
use super::super::parts::Parts;
use super::layout::Layout;
use crate::Orientation;
use crate::model::probe_grid::{cut_or_padded, with_window};
use ndarray::{Array3, Axis};
use num_complex::Complex;
use std::f64::consts::TAU;

/// Least share of its power that a start probe keeps.
const LEAST_POWER: f64 = 0.5;

/// Turns and cuts the start probe with the frames, or drops it; drops the truth of other pixels.
pub(super) fn prepare(parts: &mut Parts, layout: &Layout, options: &ReadOptions) {
    let near_field = parts.geometry.is_near_field();
    let mut dropped = |what: &str, why: &str| parts.notes.push(format!("{what} is ignored: {why}"));
    if let Some((path, probe)) = parts.probe.take() {
        let bin = options.bin.unwrap_or(1);
        let prepared = match near_field {
            true if bin > 1 => None,
            true => Some(cut_or_padded(
                &turned(&probe, layout.orientation(), true),
                layout.shape(),
            )),
            false => {
                let turned = turned(&probe, layout.orientation(), false);
                let covered = with_window(&turned, layout.covered());
                // Larger pixels of the detector see a smaller field, with the same pixels.
                let cut = cut_or_padded(&covered, layout.shape());
                (power(&cut) >= LEAST_POWER * power(&covered)).then(|| ramped(cut, layout.offset()))
            }
        };
        match prepared {
            Some(prepared) if power(&prepared) > 0.0 => parts.probe = Some((path, prepared)),
            Some(_) => dropped("the start probe", "it has no light in the prepared frames"),
            None if near_field => dropped("the start probe", "the frames are binned"),
            None => dropped(
                "the start probe",
                "most of its power is outside the window of binned frames",
            ),
        }
    }
    let [rows, columns] = layout.turned();
    let same = layout.shape() == [rows, columns]
        && !layout.leaves_detector()
        && layout.offset() == [0.0; 2]
        && layout.orientation() == Orientation::default();
    if !same && parts.simulation.take().is_some() {
        dropped("the truth", "the frames have other pixels");
    }
}

fn power(probe: &Array3<Complex<f64>>) -> f64 {
    probe.iter().map(Complex::norm_sqr).sum()
}

/// Probe modes (mode, row, column) whose far field is turned with the frames: axes are exchanged,
/// then inverted about the pixel (rows/2, columns/2). In the near field they are inverted as those
/// of frames are.
fn turned(
    probe: &Array3<Complex<f64>>,
    orientation: Orientation,
    near_field: bool,
) -> Array3<Complex<f64>> {
    let mut view = probe.view();
    if orientation.swap_axes {
        view.swap_axes(1, 2);
    }
    let (_, rows, columns) = view.dim();
    let flips = [orientation.flip_rows, orientation.flip_columns];
    let from = |axis: usize, at: usize, side: usize| match (flips[axis], near_field) {
        (false, _) => at,
        (true, true) => side - 1 - at,
        (true, false) => (2 * (side / 2) + side - at) % side,
    };
    Array3::from_shape_fn(view.dim(), |(mode, row, column)| {
        view[[mode, from(0, row, rows), from(1, column, columns)]]
    })
}

/// Moves the zero frequency of the far field by so many rows and columns: the phase gets a ramp
/// about (rows/2, columns/2).
fn ramped(mut probe: Array3<Complex<f64>>, offset: [f64; 2]) -> Array3<Complex<f64>> {
    if offset == [0.0; 2] {
        return probe;
    }
    let (_, rows, columns) = probe.dim();
    let cycles = |axis: usize, at: usize, side: usize| {
        offset[axis] * (at as f64 - (side / 2) as f64) / side as f64
    };
    for mut mode in probe.axis_iter_mut(Axis(0)) {
        for ((row, column), value) in mode.indexed_iter_mut() {
            let turns = cycles(0, row, rows) + cycles(1, column, columns);
            *value *= Complex::cis(TAU * turns);
        }
    }
    probe
}
