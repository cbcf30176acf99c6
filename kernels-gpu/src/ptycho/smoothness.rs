//! The regulariser of the object: the sum over neighbours n of every pixel i of h·(O_n − O_i), its negative gradient,
//! and the sums behind the step along a direction. A pair counts where both weights are above a threshold; h is 1, or
//! 1/√(1 + |O_n − O_i|²/δ²) for differences that are edges rather than noise.
//!
//! A thread processes one pixel and its four neighbours, which come from the caches. Block of 256.

use warpstride_device::prelude::*;

/// h of a difference; `edge` 0: 1.
#[inline(always)]
fn edge_weight(difference: Complex32, edge: f32) -> f32 {
    if edge > 0.0 {
        1.0 / GpuFloat::sqrt(1.0 + difference.norm_sqr() / (edge * edge))
    } else {
        1.0
    }
}

/// Adds `weight · Σ h·(O_n − O_i)` to `numerators` (layer, row, column) over the neighbours with weights above `lit` times the
/// largest; `largest` has its bits.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_smoothness(
    #[len(layers * rows * columns)] numerators: *mut Complex32,
    #[len(layers * rows * columns)] object: *const Complex32,
    #[len(rows * columns)] weights: *const f32,
    #[len(1)] largest: *const u32,
    layers: u32,
    rows: u32,
    columns: u32,
    weight: f32,
    edge: f32,
    lit: f32,
) {
    if columns == 0 {
        return;
    }
    let least = lit * f32::from_bits(*largest);
    let size = rows as usize * columns as usize;
    for item in thread::grid_stride(layers as usize * size) {
        let (layer, at) = (item / size.max(1), item % size.max(1));
        if *weights.add(at) <= least {
            continue;
        }
        let object = object.add(layer * size);
        let numerators = numerators.add(layer * size);
        let o = *object.add(at);
        let mut sum = Complex32::ZERO;
        for_neighbours(at, rows, columns, |n| {
            if *weights.add(n) > least {
                let difference = *object.add(n) - o;
                sum += difference.scale(edge_weight(difference, edge));
            }
        });
        *numerators.add(at) = sum.scale_add(weight, *numerators.add(at));
    }
}

/// Writes Σ h |ΔO_n − ΔO_i|² and −Σ h Re (ΔO_n − ΔO_i)*·(O_n − O_i) over pairs of neighbours of each block's pixels to
/// `sums` (block, 2).
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_smoothness_sums(
    #[len(blocks)] sums: *mut [f32; 2],
    #[len(layers * rows * columns)] object: *const Complex32,
    #[len(layers * rows * columns)] direction: *const Complex32,
    #[len(rows * columns)] weights: *const f32,
    #[len(1)] largest: *const u32,
    blocks: u32,
    layers: u32,
    rows: u32,
    columns: u32,
    edge: f32,
    lit: f32,
) {
    if columns == 0 || blocks == 0 {
        return;
    }
    let least = lit * f32::from_bits(*largest);
    let elements = rows * columns;
    let share = elements.div_ceil(blocks);
    for block in thread::block_stride(blocks) {
        let (mut squares, mut products) = (0.0, 0.0);
        let from = block.saturating_mul(share).min(elements);
        let to = from.saturating_add(share).min(elements);
        for layer in 0..layers as usize {
            let object = object.add(layer * elements as usize);
            let direction = direction.add(layer * elements as usize);
            let mut at = from + thread::index_in_block();
            while at < to {
                if *weights.add(at as usize) > least {
                    let (row, column) = (at / columns, at % columns);
                    let mut pair = |there: bool, n: u32| {
                        if there && *weights.add(n as usize) > least {
                            let o = *object.add(n as usize) - *object.add(at as usize);
                            let d = *direction.add(n as usize) - *direction.add(at as usize);
                            let h = edge_weight(o, edge);
                            squares = h.mul_add(d.norm_sqr(), squares);
                            products -= h * d.re.mul_add(o.re, d.im * o.im);
                        }
                    };
                    pair(column + 1 < columns, at + 1);
                    pair(row + 1 < rows, at + columns);
                }
                at += thread::block_threads();
            }
        }
        let (squares, products) = reduce::block_sum_pair(squares, products);
        if thread::index_in_block() == 0 {
            *sums.add(block as usize) = [squares, products];
        }
    }
}

/// Adds up pairs in their order: `total[0..2] = Σ sums`.
#[kernel(block = 32)]
pub unsafe fn ptycho_pair_sums(
    #[len(2)] total: *mut f32,
    #[len(count)] sums: *const [f32; 2],
    count: u32,
) {
    if thread::block_idx_x() == 0 && thread::index_in_block() < 2 {
        let which = thread::index_in_block() as usize;
        let mut sum = 0.0;
        for at in 0..count as usize {
            sum += (*sums.add(at))[which];
        }
        *total.add(which) = sum;
    }
}

/// Calls `take` with each neighbour of the pixel `at` of `rows` × `columns`.
#[inline(always)]
fn for_neighbours(at: usize, rows: u32, columns: u32, mut take: impl FnMut(usize)) {
    let columns = columns as usize;
    let (row, column) = (at / columns, at % columns);
    if column + 1 < columns {
        take(at + 1);
    }
    if row + 1 < rows as usize {
        take(at + columns);
    }
    if column > 0 {
        take(at - 1);
    }
    if row > 0 {
        take(at - columns);
    }
}
