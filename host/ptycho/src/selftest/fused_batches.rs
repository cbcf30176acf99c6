//! The kernels of fused batches and of fused conjugate gradients.

mod chi;
mod deferred;
mod exact;
mod exact_likelihood;
mod likelihood;
mod modes_likelihood;
mod pie_pass;
mod scan;
mod sums;
mod update;
mod values;

use super::shape::{Shape, shapes};
use crate::engines::step_plan::{holds_frame, keeps_frame, spreads_frame};
use chi::chi;
use likelihood::{NOISES, gradient, line};
use pie_pass::{By, PASSES, pass};
use sums::{step_sums, sums};
use update::{ADVANCES, DENOMINATORS, advance, finish};
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::ptycho::pie_pass::{OBJECT, PROBE};
use warpstride_selftest::bench::Bench;
use warpstride_selftest::bench::Size;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    for shape in shapes(size) {
        for updates in [OBJECT | PROBE, OBJECT, PROBE] {
            if shape.modes == 1 {
                sums(bench, shape, updates, false)?;
            }
            sums(bench, shape, updates, true)?;
        }
        if shape.modes != 1 {
            continue;
        }
        step_sums(bench, shape)?;
        for options in DENOMINATORS {
            finish(bench, shape, options)?;
        }
        for options in ADVANCES {
            advance(bench, shape, options)?;
        }
        for options in deferred::OPTIONS {
            deferred::momentum(bench, shape, options)?;
        }
    }
    let shared_memory = bench.device().shared_memory();
    for shape in frames(size) {
        if !holds_frame(shape.rows as usize, shared_memory) {
            bench.skip("ptycho_frame_*", shape.rows);
            continue;
        }
        chi(bench, shape)?;
        exact::cases(bench, shape)?;
        for noise in NOISES {
            gradient(bench, shape, noise)?;
            line(bench, shape, noise)?;
            exact_likelihood::gradient(bench, shape, noise)?;
            exact_likelihood::line(bench, shape, noise)?;
        }
        modes_likelihood::cases(bench, shape)?;
        // An epoch of many frames multiplies rounding errors.
        let few = Shape {
            frames: shape.frames.min(3),
            timed: false,
            ..shape
        };
        let keeps = keeps_frame(64, shared_memory);
        if !keeps {
            bench.skip("ptycho_pie_pass_64", few.rows);
        }
        let cluster = spreads_frame(128, bench.device().arch(), shared_memory);
        if !cluster {
            bench.skip("ptycho_pie_cluster_*", few.rows);
        }
        for options in PASSES {
            if keeps || few.rows == 128 {
                pass(bench, few, options, By::Block)?;
            }
            if cluster && few.rows == 128 {
                pass(bench, few, options, By::Cluster)?;
                pass(bench, few, options, By::ExactCluster)?;
            }
        }
    }
    Ok(())
}

/// Shapes of the kernels that hold frames in registers.
fn frames(size: Size) -> Vec<Shape> {
    let mut all = vec![(64, 0), (64, 3), (128, 2)];
    if size == Size::Device {
        all.extend([(64, 400), (128, 200)]);
    }
    let shape = |(side, frames): (u32, u32)| Shape {
        frames,
        modes: 1,
        rows: side,
        columns: side,
        object_rows: side + 17,
        object_columns: side + 30,
        parts: 4,
        slices: 1,
        timed: frames > 20,
    };
    all.into_iter().map(shape).collect()
}
