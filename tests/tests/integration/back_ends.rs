//! The CPU engine and the GPU kernels agree. The emulator runs the source of the kernels. Both sum
//! in f32 but in different orders, so that metrics agree to a few 10⁻⁶; a wrong index, scale or
//! sign changes the first digits.

use ndarray::{Array2, Array3, s};
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::data::{Mask, Reconstruction, Scan};
use warpstride::ptycho::{Recipe, SimulateOptions, UpdateVersion, simulate};
use warpstride_tests::{on_cpu, recipe, reconstruct};

/// A scan with frames of 13 × 18, neither square nor a power of two.
pub(crate) fn non_square_scan() -> Scan {
    let options = SimulateOptions {
        frame: 18,
        positions: 7,
        photons: 1e6,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let cut = s![.., 3..16, ..];
    let frames: Array3<f32> = scan.frames().unwrap().slice(cut).to_owned();
    let positions: Array2<f64> = scan.positions().clone();
    let probe = scan.probe().unwrap().slice(cut).to_owned();
    // Asymmetric bad pixels reveal a transposed mask.
    let mask = Array2::from_shape_fn((13, 18), |(row, column)| row != 4 && column != 11);
    Scan::new(
        frames,
        Some(Mask::Shared(mask)),
        positions,
        *scan.geometry(),
        Some(probe),
    )
    .unwrap()
}

fn emulated(scan: &Scan, recipe: &Recipe, version: UpdateVersion) -> Reconstruction {
    reconstruct(scan, recipe, |problem| {
        let device = EmulatedDevice::new();
        Ok(Box::new(GpuEngine::new(device, problem, version)?))
    })
    .unwrap()
}

#[test]
fn the_first_five_iterations_agree_on_cpu_and_emulator() {
    let scan = non_square_scan();
    for (modes, version) in [(1, UpdateVersion::Atomic), (2, UpdateVersion::Tiled)] {
        let mut recipe = recipe(&["dm:3", "raar:2"]).unwrap();
        recipe.metrics_every = 1;
        recipe.probe_modes = modes;
        recipe.engines[1].clip_object = Some([0.0, 1.1]);
        recipe.engines[0].probe_fourier_support = Some(0.9);
        recipe.engines[1].probe_support = Some(0.8);
        recipe.engines[1].probe_centre_tolerance = Some(0.5);
        let cpu = on_cpu(&scan, &recipe).unwrap();
        let gpu = emulated(&scan, &recipe, version);
        assert_eq!(
            (cpu.backend.as_str(), gpu.backend.as_str()),
            ("cpu", "emulator")
        );
        assert_eq!((cpu.history.len(), gpu.history.len()), (5, 5));
        for (c, g) in cpu.history.iter().zip(&gpu.history) {
            let metrics = [
                (Some(c.err_fourier), Some(g.err_fourier)),
                (c.err_exit, g.err_exit),
                (c.err_phot, g.err_phot),
                (c.r_factor, g.r_factor),
            ];
            for pair in metrics {
                match pair {
                    (Some(c), Some(g)) => {
                        assert!((g / c - 1.0).abs() < 1e-4, "{version:?}: {c} {g}");
                    }
                    other => assert_eq!(other, (None, None)),
                }
            }
        }
        let power: f64 = cpu.object.iter().map(|v| v.norm_sqr()).sum();
        let difference: f64 = cpu
            .object
            .iter()
            .zip(&gpu.object)
            .map(|(c, g)| (c - g).norm_sqr())
            .sum();
        assert!(
            (difference / power).sqrt() < 1e-4,
            "{version:?}: {difference} of {power}"
        );
    }
}
