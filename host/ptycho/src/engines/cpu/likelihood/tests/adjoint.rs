//! The sums of gradients are adjoint to the model.

use super::models::FIELDS;
use crate::engines::cpu::CpuEngine;
use crate::engines::cpu::arrays::part_sums::{ObjectPart, ProbePart};
use crate::engines::cpu::arrays::window::Window;
use crate::engines::cpu::batches::batch_engine::sums::{
    add_object_sums, add_probe_sums, inverse_layers,
};
use crate::engines::cpu::model::model_spectra;
use crate::engines::cpu::model::propagation::Propagator;
use crate::engines::cpu::model::shift::{PointRamps, Scratch, shifted, spectra};
use crate::engines::cpu::test_problem::{SHAPE, random};
use num_complex::Complex;
use warpstride_fft::TransposedFft2;

/// ⟨D(S\[x\]·O), y⟩ = ⟨x, S⁻¹\[conj(O) D⁻¹ y\]⟩, D the propagation to the detector, and likewise
/// for the object.
#[test]
fn the_gradients_operator_is_adjoint_to_the_model() {
    for field in FIELDS {
        adjoint_to_the_model(&field());
    }
}

fn adjoint_to_the_model(engine: &CpuEngine<f64>) {
    let CpuEngine {
        layout,
        fft,
        propagator,
        ..
    } = engine;
    let (pixels, frame) = (layout.pixels(), 3);
    let mut random = random(11);
    let x = random.vector(engine.probe.len());
    let object = random.vector(engine.object.len());
    let y = random.vector(layout.waves() * pixels);
    let ramps = PointRamps::new(layout, frame, layout.fractions[frame]);
    let mut scratch = Scratch::new(layout, fft);
    let mut moved = layout.moved(&x);
    shifted(
        &spectra(&x, pixels, fft),
        &ramps,
        &mut moved,
        fft,
        &mut scratch,
    );
    let window = Window {
        layout,
        frame,
        corner: layout.corners[frame],
        fraction: layout.fractions[frame],
        probe: &moved,
        object: &object,
    };
    model_spectra(&window, propagator, &mut scratch);
    let inner = |a: &[Complex<f64>], b: &[Complex<f64>]| -> Complex<f64> {
        a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
    };
    let left = inner(&scratch.model, &y) * fft.scale();
    let fractions = (0..layout.waves()).map(|n| layout.shift(frame, n, layout.fractions[frame]));
    let waves = inverse(&y, pixels, propagator, fractions);
    let frames = [frame as u32];
    let mut to_probe = ProbePart::zeros(layout);
    let of_frame = (&frames[..], std::slice::from_ref(&ramps));
    add_probe_sums(
        layout,
        fft,
        &object,
        of_frame,
        &waves,
        |_| 1.0,
        &mut to_probe,
    );
    inverse_layers(&mut to_probe.numerators, pixels, fft);
    let right = inner(&x, &to_probe.numerators);
    assert!(
        (left - right).norm() < 1e-12 * left.norm(),
        "{left} {right}"
    );
    let mut to_object = ObjectPart::under(layout, [layout.corners[frame]].into_iter());
    let pair = (&moved[..], &waves[..]);
    add_object_sums(layout, &frames, pair, &mut to_object);
    let (to_object, _) = to_object.whole(layout.object_shape);
    let right = inner(&object, &to_object);
    assert!(
        (left - right).norm() < 1e-12 * left.norm(),
        "{left} {right}"
    );
}

/// Waves at the specimen, by the unitary propagation, of those at the detector (mode, column, row).
fn inverse(
    y: &[Complex<f64>],
    pixels: usize,
    propagator: &Propagator<f64>,
    fractions: impl Iterator<Item = [f64; 2]>,
) -> Vec<Complex<f64>> {
    let mut waves = vec![Complex::default(); y.len()];
    let mut scratch = TransposedFft2::<f64>::new(SHAPE[0], SHAPE[1]).scratch();
    let pairs = y.chunks_exact(pixels).zip(waves.chunks_exact_mut(pixels));
    for ((y, wave), fraction) in pairs.zip(fractions) {
        let mut spectrum: Vec<_> = y.iter().map(|v| v * propagator.scale()).collect();
        propagator.inverse(&mut spectrum, wave, fraction, &mut scratch);
    }
    waves
}
