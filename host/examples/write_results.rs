//! Writes the results file, pictures, HTML report and summary of a reconstruction made by another
//! program: fills a [`Reconstruction`] from plain arrays and draws it.
//!
//! `cargo run --example write_results -- FOLDER` (default: `warpstride-example`)

use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use std::path::PathBuf;
use warpstride::ptycho::Summary;
use warpstride::ptycho::data::{HistoryEntry, Propagation, Reconstruction, Simulation};
use warpstride::ptycho::io::results;
use warpstride::ptycho::quality::{Reference, compare, orthogonalise};
use warpstride::ptycho::report::{Pictures, report};
use warpstride::run::{RunRecord, Setup};
use warpstride::system::write_whole;

/// Object shape (rows, columns); its values are arbitrary.
const SHAPE: (usize, usize) = (300, 360);
/// Probe shape (rows, columns).
const FRAME: (usize, usize) = (64, 64);
/// Object pixel, m.
const PIXEL: f64 = 18.4e-9;

/// A star of 12 spokes with a phase of −0.9 rad.
fn object() -> Array2<Complex<f64>> {
    Array2::from_shape_fn(SHAPE, |(r, c)| {
        let (y, x) = (r as f64 - 150.0, c as f64 - 180.0);
        let radius = y.hypot(x);
        let spoke = (12.0 * y.atan2(x)).sin() > 0.0 && (6.0..120.0).contains(&radius);
        let thickness = if spoke { 1.0 } else { 0.0 };
        Complex::from_polar(1.0 - 0.15 * thickness, -0.9 * thickness)
    })
}

/// The star with noise and a phase ramp, as a reconstruction may have.
fn reconstructed() -> Array2<Complex<f64>> {
    let mut random = Pcg64::seed_from_u64(1);
    let mut noise = || -> f64 { StandardNormal.sample(&mut random) };
    let mut object = object();
    for ((r, c), value) in object.indexed_iter_mut() {
        *value += Complex::new(noise(), noise()) * 0.05;
        *value *= Complex::cis(0.004 * r as f64 - 0.007 * c as f64);
    }
    object
}

/// Two modes: a defocused spot and a weaker one with a node.
fn probe() -> Array3<Complex<f64>> {
    Array3::from_shape_fn((2, FRAME.0, FRAME.1), |(mode, r, c)| {
        let (y, x) = (r as f64 - 32.0, c as f64 - 32.0);
        let spot = Complex::from_polar(
            100.0 * (-(y * y + x * x) / 200.0).exp(),
            (y * y + x * x) / 60.0,
        );
        if mode == 0 { spot } else { spot * x / 30.0 }
    })
}

fn reconstruction() -> Reconstruction {
    let modes = orthogonalise(&probe());
    let corners: Vec<[u32; 2]> = (0..8)
        .flat_map(|r| (0..10).map(move |c| [20 + 28 * r, 20 + 28 * c]))
        .collect();
    let mut fluence = Array2::zeros(SHAPE);
    for [row, column] in &corners {
        for ((_, r, c), p) in modes.probe.indexed_iter() {
            fluence[[*row as usize + r, *column as usize + c]] += p.norm_sqr();
        }
    }
    let history = (1..=60)
        .map(|iteration| {
            let n = iteration as f64;
            HistoryEntry {
                iteration,
                engine: if iteration <= 40 { "dm" } else { "raar" }.to_owned(),
                err_fourier: 0.24 + 8.0 * (-n / 7.0).exp(),
                err_exit: (iteration % 5 == 0)
                    .then(|| 0.02 + 3.0 * (-n / 9.0).exp() * (1.0 + 0.2 * (n / 2.0).sin())),
                err_phot: (iteration % 5 == 0).then(|| 1.0 + 40.0 * (-n / 8.0).exp()),
                r_factor: (iteration % 5 == 0).then(|| 0.014 + 0.3 * (-n / 8.0).exp()),
                r_free: None,
                seconds: 0.31 * n,
            }
        })
        .collect();
    let positions = Array2::from_shape_fn((corners.len(), 2), |(frame, axis)| {
        f64::from(corners[frame][axis]) * PIXEL
    });
    Reconstruction {
        object: reconstructed(),
        probe: modes.probe,
        mode_power: modes.power,
        pixel: [PIXEL, PIXEL],
        recorded_positions: positions.clone(),
        positions,
        fractions: vec![[0.0; 2]; corners.len()],
        frame_scales: vec![1.0; corners.len()],
        corners,
        origin: [0.0, 0.0],
        fluence,
        history,
        recipe: "[[engines]]\nname = \"dm\"\niterations = 40\nalpha = 1.0\n\n[[engines]]\nname = \"raar\"\niterations = 20\nbeta = 0.75\n".to_owned(),
        backend: "cpu".to_owned(),
        device: "this computer".to_owned(),
        plan: String::new(),
        trials: String::new(),
        propagation: Propagation::FarField,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: "made by hand".to_owned(),
        wavelength: 1e-10,
        voltage: None,
        distance: 2.0,
        double_precision: true,
        parts: warpstride::ptycho::data::ModelParts::default(),
    }
}

fn main() -> anyhow::Result<()> {
    let folder = PathBuf::from(
        std::env::args_os()
            .nth(1)
            .unwrap_or_else(|| "warpstride-example".into()),
    );
    std::fs::create_dir_all(&folder)?;
    let result = reconstruction();
    results::write(&folder.join("results.h5"), &result)?;
    let pictures = Pictures::new(&result)?;
    pictures.modulus.write(&folder.join("modulus.png"))?;
    pictures.phase.write(&folder.join("phase.png"))?;
    if let Some(stretched) = &pictures.phase_stretched {
        stretched.write(&folder.join("phase-stretched.png"))?;
    }
    pictures.probe.write(&folder.join("probe.png"))?;
    let seconds = result.history.last().map_or(0.0, |h| h.seconds);
    let truth = Simulation {
        object: object(),
        probe: probe(),
        positions: result.positions.clone(),
        origin: result.origin,
        seed: 1,
        slices: None,
    };
    let comparison = compare(
        &result,
        Reference::Truth {
            simulation: &truth,
            pixel: result.pixel,
        },
    )?;
    let setup = Setup {
        backend: "cpu",
        device: result.device.clone(),
        precision: "f64",
    };
    let summary = Summary::new(&result, RunRecord::new(setup, seconds), Some(&comparison));
    write_whole(&folder.join("summary.json"), summary.to_json()?.as_bytes())?;
    let page = report(&result, None, &summary, &pictures, Some(&comparison))?;
    write_whole(&folder.join("report.html"), page.as_bytes())?;
    Ok(())
}
