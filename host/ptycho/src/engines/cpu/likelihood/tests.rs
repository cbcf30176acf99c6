//! Every gradient is the derivative of the objective, whose differences are taken in double
//! precision.

use super::gradient::{gradient, loss};
use super::*;
use crate::Smoothness;
use crate::engines::cpu::test_problem::{ALL, difference, method, random};
use models::{FIELDS, MODELS};

mod adjoint;
mod frames;
pub(in crate::engines::cpu) mod models;
mod runs;

pub(in crate::engines::cpu) use models::{amplitude_loss, plain_step, varied_engine};

#[test]
fn gradients_are_derivatives_of_the_likelihood() {
    let step = plain_step();
    for (noise, field) in ALL.into_iter().flat_map(|n| MODELS.map(|f| (n, f))) {
        let mut engine = field();
        let (found, _) = gradient(&engine, &step, &method(noise)).unwrap();
        assert!((found.loss / loss(&engine, &step, noise).unwrap() - 1.0).abs() < 1e-13);
        for which in 0..2 {
            let at = [engine.object.clone(), engine.probe.clone()];
            let h = random(5).vector(at[which].len());
            let expected: f64 = (found.values[which].iter().zip(&h))
                .map(|(g, h)| (g.conj() * h).re)
                .sum();
            let slope = difference(2e-4, |t| {
                let moved = at[which].iter().zip(&h).map(|(v, h)| v + h * t).collect();
                if which == 0 {
                    engine.object = moved;
                } else {
                    engine.probe = moved;
                }
                loss(&engine, &step, noise).unwrap()
            });
            [engine.object, engine.probe] = at;
            assert!(
                (slope / expected - 1.0).abs() < 1e-6,
                "{noise:?} {which}: {slope} {expected}"
            );
        }
    }
}

#[test]
fn the_regulariser_adds_its_derivative() {
    let step = plain_step();
    for (edge, new) in [(0.0, FIELDS[0]), (0.4, FIELDS[0]), (0.4, FIELDS[2])] {
        let mut engine = new();
        let noise = Noise::Poisson;
        let smoothness = Smoothness { weight: 3.0, edge };
        let regularised = LikelihoodMethod {
            smoothness,
            ..method(noise)
        };
        let (with, _) = gradient(&engine, &step, &regularised).unwrap();
        let (without, _) = gradient(&engine, &step, &method(noise)).unwrap();
        let width = engine.layout.object_shape[1];
        let most = with.object_weights.iter().copied().fold(0.0, f64::max);
        let lit: Vec<bool> = (with.object_weights.iter())
            .map(|w| *w > crate::engines::updates::LIT * most)
            .collect();
        assert!(lit.iter().any(|lit| !lit) && lit.iter().any(|lit| *lit));
        let pixels = engine.layout.object_pixels();
        let of_layer = |object: &[Complex<f64>]| {
            let mut sum = 0.0;
            for at in 0..object.len() {
                for (there, n) in [
                    ((at + 1) % width != 0, at + 1),
                    (at + width < object.len(), at + width),
                ] {
                    if there && lit[at] && lit[n] {
                        let d = (object[n] - object[at]).norm_sqr();
                        sum += if edge > 0.0 {
                            2.0 * edge * edge * ((1.0 + d / (edge * edge)).sqrt() - 1.0)
                        } else {
                            d
                        };
                    }
                }
            }
            3.0 * sum
        };
        let penalty =
            |object: &[Complex<f64>]| -> f64 { object.chunks_exact(pixels).map(of_layer).sum() };
        let h = random(8).vector(engine.object.len());
        let before = engine.object.clone();
        let expected: f64 = (with.values[0].iter().zip(&without.values[0]).zip(&h))
            .map(|((a, b), h)| ((a - b).conj() * h).re)
            .sum();
        let slope = difference(1e-4, |t| {
            let moved = before.iter().zip(&h).map(|(o, h)| o + h * t);
            engine.object = moved.collect();
            penalty(&engine.object)
        });
        assert!((slope / expected - 1.0).abs() < 1e-6, "{slope} {expected}");
    }
}

#[test]
fn line_sums_are_the_series_of_the_objective() {
    let step = plain_step();
    for (noise, field) in ALL.into_iter().flat_map(|n| MODELS.map(|f| (n, f))) {
        let mut engine = field();
        let mut random = random(9);
        let direction = [engine.object.len(), engine.probe.len()].map(|n| random.vector(n));
        let sums = line::sums(&engine, &step, noise, &direction).unwrap();
        let start = [engine.object.clone(), engine.probe.clone()];
        let mut at = |t: f64| {
            for ((to, from), h) in [&mut engine.object, &mut engine.probe]
                .into_iter()
                .zip(&start)
                .zip(&direction)
            {
                *to = from.iter().zip(h).map(|(v, h)| v + h * t).collect();
            }
            loss(&engine, &step, noise).unwrap()
        };
        if noise == Noise::Gaussian {
            for t in [-0.7, 0.4, 2.0] {
                let sum = sums.iter().rev().fold(0.0, |sum, c| sum * t + c);
                assert!((at(t) / sum - 1.0).abs() < 1e-11);
            }
            continue;
        }
        let slope = difference(2e-4, &mut at);
        assert!((slope / sums[1] - 1.0).abs() < 1e-6, "{noise:?}");
        let h = 1e-4;
        let second = (at(h) - 2.0 * at(0.0) + at(-h)) / (h * h);
        assert!((0.5 * second / sums[2] - 1.0).abs() < 1e-3, "{noise:?}");
    }
}
