//! A pass of ePIE on the emulated device: the same bits by a cluster of blocks and by one.

use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    Engine, Problem, Reconstructor, SimulateOptions, UpdateVersion, simulate,
};
use warpstride_tests::recipe;

/// Object and probe after two passes where a block has so many bytes of shared memory.
fn after_passes(frame: usize, shared_memory: usize) -> [Vec<Complex<f64>>; 2] {
    let options = SimulateOptions {
        frame,
        positions: 3,
        photons: 1e6,
        seed: 8,
        ..SimulateOptions::default()
    };
    let mut recipe = recipe(&["epie:2"]).unwrap();
    recipe.engines[0].subpixel = Some(false);
    let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    let device = EmulatedDevice::with_shared_memory(shared_memory);
    let engine = GpuEngine::new(device, &problem, UpdateVersion::Tiled).unwrap();
    let mut run = Reconstructor::new(Box::new(engine), &problem, &recipe);
    while !run.finished() {
        run.advance().unwrap();
    }
    let engine: &mut dyn Engine = run.engine();
    [
        engine.object().unwrap().into_iter().collect(),
        engine.probe().unwrap().into_iter().collect(),
    ]
}

#[test]
fn a_cluster_and_a_block_give_the_same_bits() {
    let (cluster, block) = (after_passes(128, 227 << 10), after_passes(128, 99 << 10));
    assert!(cluster == block);
    // With less, one launch a frame and step: other roundings.
    let separate = after_passes(128, 48 << 10);
    for (a, b) in cluster.iter().zip(&separate) {
        let power: f64 = a.iter().map(Complex::norm_sqr).sum();
        let difference: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr()).sum();
        assert!((difference / power).sqrt() < 1e-4);
        assert!(difference > 0.0);
    }
}
