//! Maximum likelihood by nonlinear conjugate gradient over object and probe, on all frames; see
//! [`crate::engines::likelihood`].
//!
//! Directions are −z + β h with the preconditioned gradient z and β of Polak and Ribière; the step
//! is the minimum of the objective along the line, or of its second-order approximation, and is
//! halved until the objective falls.

use super::batches::batch_engine::sums::divide;
use super::engine::CpuEngine;
use super::engine::{LikelihoodState, Pair};
use super::model::multislice;
use super::projections::fourier_projection::FrameErrors;
use super::projections::object_update::clipped;
use super::updates::smoothness;
use crate::engines::likelihood::{Last, LikelihoodMethod, Noise, conjugate, falling};
use crate::{EngineError, Step};
use gradient::gradient;
pub(super) use gradient::loss;
pub(super) use gradient::{Gradient, compared};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

mod gradient;
mod line;
mod smoothing;
#[cfg(test)]
pub(super) mod tests;

/// Values per task of the inner products.
const PART: usize = 4096;

/// One step; returns each frame's errors before it.
pub(super) fn iterate<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &LikelihoodMethod,
) -> Result<Vec<FrameErrors>, EngineError> {
    let (mut found, errors) = if engine.slices.is_some() {
        multislice::gradient(engine, step, method)?
    } else {
        gradient(engine, step, method)?
    };
    let background = found.background.take();
    let LikelihoodState { last, count } = std::mem::take(&mut engine.likelihood);
    let smoothing = method.smoothing(count);
    let mut descent = preconditioned(engine, method, &found, &smoothing);
    let mut norm = inner(&found.values, &descent);
    if !smoothing.is_empty() && norm <= 0.0 {
        descent = preconditioned(engine, method, &found, &[]);
        norm = inner(&found.values, &descent);
    }
    let updated = [step.update_object, step.update_probe];
    let last = last.filter(|last| last.updated == updated);
    let beta = last.as_ref().map_or(0.0, |last| {
        let products = [
            norm,
            inner(&last.gradient, &descent),
            inner(&found.values, &last.direction),
        ];
        conjugate(products, last.norm)
    });
    let mut direction = combined(&descent, beta, last.map(|last| last.direction));
    let mut advanced = search(engine, step, method, &found, &direction)?;
    if !advanced && beta > 0.0 {
        direction = combined(&descent, 0.0, None);
        advanced = search(engine, step, method, &found, &direction)?;
    }
    if advanced {
        constrain(engine, step);
    }
    if let (Some(sums), Some(detector)) = (background, &mut engine.detector) {
        detector.add(sums);
        detector.update();
    }
    engine.likelihood = LikelihoodState {
        last: advanced.then_some(Last {
            gradient: found.values,
            direction,
            norm,
            updated,
        }),
        count: count + 1,
    };
    Ok(errors)
}

/// z: the gradient, the object's smoothed with `kernel`, divided by the weights.
fn preconditioned<T: Real>(
    engine: &CpuEngine<T>,
    method: &LikelihoodMethod,
    found: &Gradient<T>,
    kernel: &[f64],
) -> Pair<T> {
    let [mut object, mut probe] = found.values.clone();
    let layout = &engine.layout;
    if !kernel.is_empty() {
        for layer in object.chunks_exact_mut(layout.object_pixels()) {
            let mut smoothed = layer.to_vec();
            smoothing::smooth(&mut smoothed, layout.object_shape, kernel);
            layer.copy_from_slice(&smoothed);
        }
    }
    let denominator = method.denominator();
    let extra = T::of(method.extra());
    let layers = engine.layout.object_layers;
    divide(
        &mut object,
        &found.object_weights,
        extra,
        layers,
        denominator,
    );
    let modes = engine.layout.modes;
    let none = T::default();
    divide(&mut probe, &found.probe_weights, none, modes, denominator);
    [object, probe]
}

/// Re⟨a, b⟩ over object and probe; the order of the sum does not depend on the threads.
fn inner<T: Real>(a: &Pair<T>, b: &Pair<T>) -> f64 {
    let of_part = |(a, b): (&[Complex<T>], &[Complex<T>])| -> f64 {
        let product = |(a, b): (&Complex<T>, &Complex<T>)| (a.re * b.re + a.im * b.im).wide();
        a.iter().zip(b).map(product).sum()
    };
    let of_array = |(a, b): (&Vec<Complex<T>>, &Vec<Complex<T>>)| -> f64 {
        let parts: Vec<f64> = (a.par_chunks(PART).zip(b.par_chunks(PART)))
            .map(of_part)
            .collect();
        parts.iter().sum()
    };
    a.iter().zip(b).map(of_array).sum()
}

/// −z + β h.
fn combined<T: Real>(descent: &Pair<T>, beta: f64, last: Option<Pair<T>>) -> Pair<T> {
    let [object, probe] = descent;
    let mut direction = [object, probe].map(|z| z.iter().map(|v| -v).collect::<Vec<_>>());
    if let Some(last) = last.filter(|_| beta > 0.0) {
        let beta = T::of(beta);
        for (direction, last) in direction.iter_mut().zip(&last) {
            let pairs = direction.iter_mut().zip(last);
            pairs.for_each(|(to, h)| *to += h.scale(beta));
        }
    }
    direction
}

/// Moves object and probe along the direction so that the objective falls; `false`: no step does,
/// and they stay.
fn search<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &LikelihoodMethod,
    found: &Gradient<T>,
    direction: &Pair<T>,
) -> Result<bool, EngineError> {
    let noise = method.noise;
    let thick = engine.slices.is_some();
    let sums = if thick {
        multislice::line_sums(engine, step, noise, direction)?
    } else {
        line::sums(engine, step, noise, direction)?
    };
    let mut regulariser = [0.0; 2];
    if let Some(of) = method.regulariser() {
        let width = engine.layout.object_shape[1];
        let layout = &engine.layout;
        for layer in 0..layout.object_layers {
            let [o, d] = [&engine.object, &direction[0]].map(|of| layout.layer(of, layer));
            let weights = &found.object_weights;
            let [bent, falls] = smoothness::sums(o, d, weights, width, of.edge);
            regulariser[0] += -2.0 * of.weight * falls;
            regulariser[1] += of.weight * bent;
        }
    }
    let first = if thick {
        Noise::quadratic_step(&sums, regulariser)
    } else {
        noise.step(&sums, regulariser)
    };
    let Some(first) = first else {
        return Ok(false);
    };
    let start = [engine.object.clone(), engine.probe.clone()];
    let objective = |t: f64| {
        let factor = T::of(t);
        let CpuEngine { object, probe, .. } = engine;
        for ((to, from), h) in [object, probe].into_iter().zip(&start).zip(direction) {
            for ((to, from), h) in to.iter_mut().zip(from).zip(h) {
                *to = from + h.scale(factor);
            }
        }
        let [slope, bent] = regulariser;
        Ok::<_, EngineError>(loss(engine, step, noise)? + t * (slope + t * bent))
    };
    let taken = falling(first, found.loss, objective)?;
    if taken.is_none() {
        [engine.object, engine.probe] = start;
    }
    Ok(taken.is_some())
}

fn constrain<T: Real>(engine: &mut CpuEngine<T>, step: &Step) {
    if let Some(limits) = step.clip_object.filter(|_| step.update_object) {
        let object = &mut engine.object;
        object.par_iter_mut().for_each(|v| *v = clipped(*v, limits));
    }
    if step.update_probe {
        engine.constrain_probe(step);
    }
}
