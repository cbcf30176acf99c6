//! The sums of a batch are derivatives of the objective and adjoint to the forward model; equations
//! are those of the products.

use super::super::deviations;
use super::*;
use crate::engines::cpu::likelihood::tests::{amplitude_loss, plain_step, varied_engine};
use crate::engines::cpu::model::shift::{PointRamps, shifted};
use crate::engines::cpu::test_problem::{difference, random};

/// All frames as one batch, with χ of the present model.
fn batch(engine: &CpuEngine<f64>) -> Batch<f64> {
    let frames: Vec<u32> = (0..engine.layout.corners.len() as u32).collect();
    deviations(engine, &plain_step(), &frames).0
}

fn sums_of(
    engine: &CpuEngine<f64>,
    batch: &Batch<f64>,
) -> Result<Option<VariationSums<f64>>, EngineError> {
    let of = engine.variations.as_ref().unwrap();
    sums(engine, of, batch, true)
}

#[test]
fn sums_are_derivatives_of_the_squares() {
    for near in [false, true] {
        let mut engine = varied_engine(near);
        engine.layout.scales.fill(1.0);
        let step = plain_step();
        let found = sums_of(&engine, &batch(&engine)).unwrap().unwrap();
        let pixels = engine.layout.pixels();
        let count = engine.variation_count;
        for frame in 0..engine.layout.corners.len() {
            for k in 0..count {
                let at = frame * count + k;
                let before = engine.variations.as_ref().unwrap().coefficients[at];
                let slope = difference(2e-4, |t| {
                    engine.variations.as_mut().unwrap().coefficients[at] = before + t;
                    amplitude_loss(&engine, &step)
                });
                engine.variations.as_mut().unwrap().coefficients[at] = before;
                let expected = -2.0 * found.equations[frame].0[k];
                assert!(
                    (slope - expected).abs() < 1e-6 * expected.abs().max(0.1),
                    "{frame} {k}: {slope} {expected}"
                );
            }
        }
        let mut numerators = found.total.numerators;
        inverse_layers(&mut numerators, pixels, &engine.fft);
        let before = engine.variations.as_ref().unwrap().shapes.clone();
        for k in 0..count {
            let h = random(7 + k as u64).vector(pixels);
            let slope = difference(2e-4, |t| {
                let shapes = &mut engine.variations.as_mut().unwrap().shapes;
                for (i, h) in h.iter().enumerate() {
                    shapes[k * pixels + i] = before[k * pixels + i] + h * t;
                }
                amplitude_loss(&engine, &step)
            });
            engine
                .variations
                .as_mut()
                .unwrap()
                .shapes
                .clone_from(&before);
            let along = numerators[k * pixels..][..pixels].iter().zip(&h);
            let expected = -2.0 * along.map(|(g, h)| (g.conj() * h).re).sum::<f64>();
            assert!(
                (slope / expected - 1.0).abs() < 1e-6,
                "{k}: {slope} {expected}"
            );
        }
    }
}

/// ⟨Σ_k c_jk S\[U_k\] O, χ_j⟩ over the frames is ⟨U_k, Σ_j c_jk S⁻¹\[conj(O) χ_j\]⟩ over the
/// shapes, for any χ.
#[test]
fn sums_are_adjoint_to_the_variations_of_the_exit_waves() {
    let engine = varied_engine(false);
    let mut batch = batch(&engine);
    let mut any = random(11);
    batch.chi.iter_mut().for_each(|v| *v = any.complex());
    let found = sums_of(&engine, &batch).unwrap().unwrap();
    let of = engine.variations.as_ref().unwrap();
    let pixels = engine.layout.pixels();
    let waves = engine.layout.modes * pixels;
    let count = engine.variation_count;
    let mut numerators = found.total.numerators;
    inverse_layers(&mut numerators, pixels, &engine.fft);
    let back: Complex<f64> = (of.shapes.iter().zip(&numerators))
        .map(|(u, g)| u.conj() * g)
        .sum();
    let spectra = spectra(&of.shapes, pixels, &engine.fft);
    let mut scratch = Scratch::new(&engine.layout, &engine.fft);
    let mut moved = vec![Complex::default(); count * pixels];
    let (mut forward, mut size) = (Complex::<f64>::default(), 0.0);
    for frame in 0..engine.layout.corners.len() {
        let ramps = PointRamps::new(&engine.layout, frame, engine.layout.fractions[frame]);
        shifted(&spectra, &ramps, &mut moved, &engine.fft, &mut scratch);
        let chi = &batch.chi[frame * waves..][..pixels];
        let corner = engine.layout.corners[frame];
        let mut along = vec![Complex::default(); count];
        for_each_window_value(&engine.layout, corner, &engine.object, |i, o| {
            for k in 0..count {
                along[k] += (moved[k * pixels + i] * o).conj() * chi[i];
            }
        });
        for (k, along) in along.iter().enumerate() {
            forward += along * of.coefficients[frame * count + k];
            size += along.norm();
            // Also each coefficient's own product.
            let expected = found.equations[frame].0[k];
            assert!((along.re - expected).abs() < 1e-12 * along.norm().max(1.0));
        }
    }
    assert!((forward - back).norm() < 1e-12 * size, "{forward} {back}");
}

#[test]
fn equations_hold_the_products_of_the_shapes_with_the_object() {
    let mut engine = varied_engine(false);
    engine.layout.fractions.fill([0.0; 2]);
    let found = sums_of(&engine, &batch(&engine)).unwrap().unwrap();
    let of = engine.variations.as_ref().unwrap();
    let (pixels, count) = (engine.layout.pixels(), engine.variation_count);
    for (frame, (_, matrix)) in found.equations.iter().enumerate() {
        let mut expected = vec![0.0; count * count];
        let corner = engine.layout.corners[frame];
        for_each_window_value(&engine.layout, corner, &engine.object, |i, o| {
            for k in 0..count {
                for l in k..count {
                    let [a, b] = [k, l].map(|k| of.shapes[k * pixels + i] * o);
                    expected[k * count + l] += (a.conj() * b).re;
                }
            }
        });
        for (found, expected) in matrix.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0));
        }
    }
}

/// The model does not change when shapes are made orthonormal and the probe takes the mean, nor
/// when all is scaled.
#[test]
fn the_end_of_an_iteration_changes_no_model() {
    let mut engine = varied_engine(false);
    let step = crate::Step {
        update_variations: true,
        ..plain_step()
    };
    let before = amplitude_loss(&engine, &step);
    engine.end_variations(&step);
    let after = amplitude_loss(&engine, &step);
    assert!((after / before - 1.0).abs() < 1e-12, "{before} {after}");
    let of = engine.variations.as_ref().unwrap();
    let pixels = engine.layout.pixels();
    for k in 0..engine.variation_count {
        let norm: f64 = of.shapes[k * pixels..][..pixels]
            .iter()
            .map(Complex::norm_sqr)
            .sum();
        assert!((norm - 1.0).abs() < 1e-12);
    }
    engine.probe.iter_mut().for_each(|p| *p *= 1.25);
    engine.object.iter_mut().for_each(|o| *o /= 1.25);
    engine.scale_variations(1.25);
    let scaled = amplitude_loss(&engine, &step);
    assert!((scaled / before - 1.0).abs() < 1e-12);
}

/// Further variations are formed beside those that there are, which are updated as without them;
/// the frames' probes do not have them yet.
#[test]
fn further_variations_are_formed_beside_the_present_ones() {
    let step = crate::Step {
        update_variations: true,
        ..plain_step()
    };
    let ended = |further: usize| {
        let mut engine = varied_engine(false);
        let present = engine.variation_count;
        engine.variation_count = present + further;
        engine.begin_variations(&step);
        let batch = batch(&engine);
        let changes = changes(&engine, &batch).unwrap().unwrap();
        assert_eq!(changes.further.is_some(), further > 0);
        let frames = batch.all.clone();
        advance(&mut engine, &changes, &frames, 1.0);
        engine.end_variations(&step);
        let loss = amplitude_loss(&engine, &step);
        (loss, engine.probe.clone(), engine.variations.unwrap())
    };
    let (loss, probe, of) = ended(0);
    let (with_loss, with_probe, more) = ended(2);
    assert_eq!(probe, with_probe);
    assert_eq!(of.shapes, more.shapes[..of.shapes.len()]);
    assert!((with_loss / loss - 1.0).abs() < 1e-12);
    let pixels = varied_engine(false).layout.pixels();
    let count = of.count(pixels);
    assert_eq!(more.count(pixels), count + 2);
    assert!(more.further.is_none());
    let frames = of.coefficients.chunks_exact(count);
    for (own, with) in frames.zip(more.coefficients.chunks_exact(count + 2)) {
        assert_eq!(own, &with[..count]);
        assert_eq!(with[count..], [0.0; 2]);
    }
    for (k, a) in more.shapes.chunks_exact(pixels).enumerate() {
        for (l, b) in more.shapes.chunks_exact(pixels).enumerate() {
            let product: f64 = a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum();
            let expected = if k == l { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-9, "{k} {l}: {product}");
        }
    }
}
