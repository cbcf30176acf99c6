//! Mini-batches of the regions of a scan, each with a copy of object and probe
//! ([`crate::engines::regions`]).

use super::batch_engine::update;
use crate::engines::cpu::arrays::window::Layout;
use crate::engines::cpu::engine::BatchState;
use crate::engines::cpu::engine::CpuEngine;
use crate::engines::cpu::projections::fourier_projection::FrameErrors;
use crate::engines::method::BatchMethod;
use crate::engines::regions::{REGIONS, Regions, TILE};
use crate::{EngineError, Step};
use num_complex::Complex;
use std::mem::swap;
use warpstride_fft::Real;

/// What a region has a copy of.
struct RegionCopy<T> {
    object: Vec<Complex<T>>,
    probe: Vec<Complex<T>>,
    momentum: BatchState<T>,
}

impl<T: Real> RegionCopy<T> {
    fn of(engine: &CpuEngine<T>) -> Self {
        let BatchState { object, probe } = &engine.batch_state;
        Self {
            object: engine.object.clone(),
            probe: engine.probe.clone(),
            momentum: BatchState {
                object: object.clone(),
                probe: probe.clone(),
            },
        }
    }

    /// Exchanges it with the object and probe of the engine.
    fn exchange(&mut self, engine: &mut CpuEngine<T>) {
        swap(&mut self.object, &mut engine.object);
        swap(&mut self.probe, &mut engine.probe);
        swap(&mut self.momentum, &mut engine.batch_state);
    }
}

/// One pass over all frames.
pub(in crate::engines::cpu) fn side_by_side<T: Real>(
    engine: &mut CpuEngine<T>,
    step: &Step,
    method: &BatchMethod,
    regions: &Regions,
    errors: &mut [FrameErrors],
) -> Result<(), EngineError> {
    let positions = engine.layout.positions(step.subpixel);
    let random = (step.seed, step.iteration);
    let segments = regions.segments(&mut engine.kept_batches, method, &positions, random);
    if method.momentum() > 0.0 {
        // A region may have no batch before the first merge.
        let BatchState { object, probe } = &mut engine.batch_state;
        object.resize(engine.object.len(), Complex::default());
        probe.resize(engine.probe.len(), Complex::default());
    }
    let mut copies: [RegionCopy<T>; REGIONS] = std::array::from_fn(|_| RegionCopy::of(engine));
    let count = segments.len();
    // An object that is not updated stays as it is.
    let tiles_of = |all| match step.update_object {
        true => regions.tiles_of(all),
        false => Vec::new(),
    };
    let [shared, all] = [false, true].map(tiles_of);
    for (number, segment) in segments.iter().enumerate() {
        for (copy, lists) in copies.iter_mut().zip(segment) {
            copy.exchange(engine);
            let done =
                (lists.iter()).try_for_each(|frames| update(engine, step, method, frames, errors));
            copy.exchange(engine);
            done?;
        }
        let last = number + 1 == count;
        let mut merged = RegionCopy::of(engine);
        let tiles = if last { &all } else { &shared };
        merge(&engine.layout, regions, &copies, tiles, &mut merged);
        if last {
            merged.exchange(engine);
        } else {
            for copy in &mut copies {
                take_over(&engine.layout, regions, tiles, &merged, copy);
            }
        }
    }
    Ok(())
}

/// (a + b) + (c + d).
fn sum<T: Real>([a, b, c, d]: [Complex<T>; REGIONS]) -> Complex<T> {
    (a + b) + (c + d)
}

/// Calls `work` with the pixels of each of `tiles` in all layers, and its number.
fn over(layout: &Layout, regions: &Regions, tiles: &[u32], mut work: impl FnMut(usize, usize)) {
    let [rows, columns] = layout.object_shape;
    for tile in tiles.iter().map(|tile| *tile as usize) {
        let [top, left] = [
            tile / regions.tile_columns() * TILE[0],
            tile % regions.tile_columns() * TILE[1],
        ];
        for row in top..(top + TILE[0]).min(rows) {
            for column in left..(left + TILE[1]).min(columns) {
                for layer in 0..layout.object_layers {
                    work(tile, (layer * rows + row) * columns + column);
                }
            }
        }
    }
}

/// The mean of the copies, of the object on `tiles`.
fn merge<T: Real>(
    layout: &Layout,
    regions: &Regions,
    copies: &[RegionCopy<T>; REGIONS],
    tiles: &[u32],
    to: &mut RegionCopy<T>,
) {
    let shares = regions.shares();
    let object = |of: &[&[Complex<T>]; REGIONS], to: &mut Vec<Complex<T>>| {
        if of.iter().any(|of| of.is_empty()) {
            return;
        }
        to.resize(of[0].len(), Complex::default());
        over(layout, regions, tiles, |tile, pixel| {
            let parts = std::array::from_fn(|region| {
                let share = shares[tile][region];
                if share > 0.0 {
                    of[region][pixel].scale(T::of(share))
                } else {
                    Complex::default()
                }
            });
            to[pixel] = sum(parts);
        });
    };
    let probe = |of: &[&[Complex<T>]; REGIONS], to: &mut Vec<Complex<T>>| {
        if of.iter().any(|of| of.is_empty()) {
            return;
        }
        let mean = |pixel| {
            sum(std::array::from_fn(|region| of[region][pixel])).scale(T::of(1.0 / REGIONS as f64))
        };
        *to = (0..of[0].len()).map(mean).collect();
    };
    object(
        &copies.each_ref().map(|c| c.object.as_slice()),
        &mut to.object,
    );
    object(
        &copies.each_ref().map(|c| c.momentum.object.as_slice()),
        &mut to.momentum.object,
    );
    probe(
        &copies.each_ref().map(|c| c.probe.as_slice()),
        &mut to.probe,
    );
    probe(
        &copies.each_ref().map(|c| c.momentum.probe.as_slice()),
        &mut to.momentum.probe,
    );
}

/// Copies what has been merged on `tiles`, and the probe.
fn take_over<T: Real>(
    layout: &Layout,
    regions: &Regions,
    tiles: &[u32],
    merged: &RegionCopy<T>,
    to: &mut RegionCopy<T>,
) {
    over(layout, regions, tiles, |_, pixel| {
        to.object[pixel] = merged.object[pixel];
        if let (Some(to), Some(from)) = (
            to.momentum.object.get_mut(pixel),
            merged.momentum.object.get(pixel),
        ) {
            *to = *from;
        }
    });
    to.probe.clone_from(&merged.probe);
    to.momentum.probe.clone_from(&merged.momentum.probe);
}
