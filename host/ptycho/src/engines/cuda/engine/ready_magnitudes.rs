//! Magnitudes that are in the memory of the device already: the results have the bits of those that
//! are uploaded.

use super::GpuEngine;
use crate::data::{FrameReader, Frames, Scan};
use crate::{
    EngineName, EngineSpec, Problem, Recipe, Reconstructor, SimulateOptions, UpdateVersion,
    simulate,
};
use ndarray::{Array3, Axis};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpstride_core::system::ScratchError;
use warpstride_cuda::gpu::{Device, EmulatedDevice};

/// Frames that are read one by one, and how many were.
#[derive(Debug)]
struct Counted {
    frames: Array3<f32>,
    read: AtomicUsize,
}

impl FrameReader for Counted {
    fn read(&self, number: usize, to: &mut [f32]) -> Result<(), ScratchError> {
        self.read.fetch_add(1, Ordering::Relaxed);
        let frame = self.frames.index_axis(Axis(0), number);
        for (to, from) in to.iter_mut().zip(frame) {
            *to = *from;
        }
        Ok(())
    }
}

/// A scan of 60 frames, and the same whose counts are elsewhere.
fn scans() -> (Scan, Scan, Arc<Counted>) {
    let options = SimulateOptions {
        frame: 16,
        positions: 60,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap().by_itself();
    let counted = Arc::new(Counted {
        frames: scan.frames().unwrap().into_owned(),
        read: AtomicUsize::new(0),
    });
    let reader: Arc<dyn FrameReader> = Arc::<Counted>::clone(&counted);
    let frames = Frames::elsewhere(scan.shape(), reader, scan.sums().clone());
    let (mask, positions) = (scan.mask().clone(), scan.positions().clone());
    let elsewhere = Scan::of_frames(frames, Some(mask), positions, *scan.geometry(), None);
    let (mask, positions) = (scan.mask().clone(), scan.positions().clone());
    let frames = scan.frames().unwrap().into_owned();
    let here = Scan::new(frames, Some(mask), positions, *scan.geometry(), None);
    (here.unwrap(), elsewhere.unwrap(), counted)
}

#[test]
fn results_have_the_bits_of_magnitudes_that_are_uploaded() {
    let (here, elsewhere, counted) = scans();
    assert!(elsewhere.is_elsewhere() && !here.is_elsewhere());
    let mut recipe = Recipe {
        engines: [EngineName::Dm, EngineName::Lsqml, EngineName::Ml]
            .map(|name| EngineSpec::new(name, 2))
            .to_vec(),
        ..Recipe::default()
    };
    for unfused in [false, true] {
        if unfused {
            recipe.gpu.step = crate::GpuStep::Unfused;
        }
        let problem = Problem::prepare(&here, &recipe).unwrap();
        let other = Problem::prepare(&elsewhere, &recipe).unwrap();
        let device = EmulatedDevice::new();
        let values = problem.magnitudes.in_memory().unwrap();
        let mut magnitudes = device.alloc("magnitudes", values.len()).unwrap();
        device
            .upload(&mut magnitudes, values.as_slice().unwrap())
            .unwrap();
        let version = UpdateVersion::Tiled;
        let uploaded = GpuEngine::new(EmulatedDevice::new(), &problem, version).unwrap();
        let ready = GpuEngine::with_magnitudes(device, &other, version, magnitudes).unwrap();
        let run = |engine: GpuEngine<EmulatedDevice>, problem: &Problem| {
            let mut run = Reconstructor::new(Box::new(engine), problem, &recipe);
            while !run.finished() {
                run.advance().unwrap();
            }
            run.flush().unwrap();
            let (object, probe) = (
                run.engine().object().unwrap(),
                run.engine().probe().unwrap(),
            );
            let errors: Vec<f64> = run
                .progress()
                .history
                .iter()
                .map(|e| e.err_fourier)
                .collect();
            (object, probe, errors)
        };
        let (object, probe, errors) = run(uploaded, &problem);
        let (found, found_probe, found_errors) = run(ready, &other);
        assert_eq!(errors.len(), 6);
        assert_eq!(found_errors, errors, "unfused {unfused}");
        assert!(found == object && found_probe == probe, "unfused {unfused}");
    }
    // The search for a start probe looks at 48 frames, for each of the two problems.
    assert_eq!(counted.read.load(Ordering::Relaxed), 2 * 48);
}

#[test]
fn what_needs_counts_on_the_host_is_refused() {
    let (_, elsewhere, _) = scans();
    let recipe = Recipe {
        free_pixels: 0.25,
        ..Recipe::default()
    };
    assert_eq!(
        Problem::prepare(&elsewhere, &recipe)
            .unwrap_err()
            .to_string(),
        "free_pixels: expected 0 for frames in the memory of a GPU, found 0.25"
    );
    let problem = Problem::prepare(&elsewhere, &Recipe::default()).unwrap();
    let device = EmulatedDevice::new();
    let uploaded = GpuEngine::new(&device, &problem, UpdateVersion::Tiled);
    assert!(uploaded.is_err());
    let short = device.alloc("magnitudes", 60 * 256 - 1).unwrap();
    let short = GpuEngine::with_magnitudes(&device, &problem, UpdateVersion::Tiled, short);
    let why = short.map(drop).unwrap_err().to_string();
    assert!(why.contains("expected 15360 values, found 15359"), "{why}");
}
