//! A small reconstruction for the tests of this module.

use crate::data::{Geometry, HistoryEntry, Propagation, Reconstruction, Scan};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use warpstride_core::run::{RunRecord, Setup};

/// The record of a run of [`reconstruction`].
pub(crate) fn record() -> RunRecord {
    let setup = Setup {
        backend: "cpu",
        device: "two <cores>".to_owned(),
        precision: "f64",
    };
    let notes = vec!["one < two".to_owned()];
    RunRecord::new(setup, 4.0).after(vec!["scan & more.cxi".to_owned()], 0.5, notes)
}

/// The scan of [`reconstruction`].
pub(crate) fn scan() -> Scan {
    let frames = Array3::from_shape_fn((3, 16, 16), |(_, r, c)| {
        1000.0 / (1 + r.abs_diff(8) + c.abs_diff(8)) as f32
    });
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 2.0,
        pixel_size: [1e-4; 2],
        propagation: Propagation::FarField,
    };
    Scan::new(frames, None, reconstruction().positions, geometry, None).expect("a valid scan")
}

/// A disc of modulus 0.5 and phase −1 in vacuum, lit except for a border of 10 pixels; two modes;
/// four iterations each of `dm` and `raar`, with R known for every third iteration.
pub(crate) fn reconstruction() -> Reconstruction {
    let shape = (60, 80);
    let object = Array2::from_shape_fn(shape, |(r, c)| {
        let inside = (r as f64 - 30.0).hypot(c as f64 - 40.0) < 12.0;
        if inside {
            Complex::from_polar(0.5, -1.0)
        } else {
            Complex::from(1.0)
        }
    });
    let fluence = Array2::from_shape_fn(shape, |(r, c)| {
        f64::from((10..50).contains(&r) && (10..70).contains(&c))
    });
    let probe = Array3::from_shape_fn((2, 16, 16), |(mode, r, c)| {
        let at = [r, c].map(|v| v as f64 - 8.0);
        let spot = (-(at[0] * at[0] + at[1] * at[1]) / 20.0).exp();
        Complex::from(spot * if mode == 0 { 1.0 } else { 0.1 * at[0] })
    });
    let history = (1..=8)
        .map(|iteration| HistoryEntry {
            iteration,
            engine: if iteration <= 4 { "dm" } else { "raar" }.to_owned(),
            err_fourier: 1.0 / iteration as f64,
            err_exit: Some(0.5 / iteration as f64),
            err_phot: (iteration % 3 == 0).then_some(2.0 / iteration as f64),
            r_factor: (iteration % 3 == 0).then_some(0.1 / iteration as f64),
            r_free: (iteration % 3 == 0).then_some(0.11 / iteration as f64),
            seconds: 0.5 * iteration as f64,
        })
        .collect();
    let positions = Array2::from_shape_fn((3, 2), |(frame, _)| 2e-7 * frame as f64);
    Reconstruction {
        object,
        probe,
        mode_power: vec![0.9, 0.1],
        pixel: [2e-8, 2e-8],
        recorded_positions: positions.clone(),
        positions,
        corners: vec![[10, 10], [20, 20], [30, 30]],
        fractions: vec![[0.0; 2]; 3],
        frame_scales: vec![1.0; 3],
        origin: [-2e-7, -2e-7],
        fluence,
        history,
        recipe: "[dm]\nalpha = 1.0 # <standard> & \"usual\"\n".to_owned(),
        backend: "cpu".to_owned(),
        device: "two <cores>".to_owned(),
        plan: String::new(),
        trials: String::new(),
        version: "0.1.0".to_owned(),
        source: "scan & more.cxi".to_owned(),
        wavelength: 1e-10,
        voltage: None,
        distance: 2.0,
        propagation: Propagation::FarField,
        double_precision: true,
        parts: crate::data::ModelParts::default(),
    }
}
