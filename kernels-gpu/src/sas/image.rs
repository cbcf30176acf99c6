//! Oriented particles on a detector: the body of the kernels of images, for any model with an axis.
//!
//! A block processes one item (member, block of the mesh, block of rotations) for its threads' pixels at a time. All
//! threads read the same particle and the same rotation, so these are loaded once for a warp; a thread prepares a
//! particle for all rotations of the item. It writes (Σ w F, Σ w F²) to (item, pixel) of the partial sums; threads
//! exchange nothing. Block of 128, as for curves.

use super::member::{SasMember, SasSegment, member_of};
use super::mesh::{Number, Tables, values, weight};
use super::model::{Model, Symmetry, Wave};
use warpstride_device::prelude::*;

/// The arguments of a launch.
pub(super) struct Image<R> {
    /// (item, pixel, 2).
    pub(super) partial: *mut R,
    pub(super) members: *const SasMember,
    pub(super) tables: Tables<R>,
    /// (rotation, 8): components along a, b, c of the detector's x, a weight, those of its y, and padding.
    pub(super) rotations: *const R,
    pub(super) qx: *const R,
    pub(super) qy: *const R,
    pub(super) pixels: u32,
    pub(super) count: u32,
    /// Items (member, block of the mesh, block of rotations).
    pub(super) items: u32,
    /// Weights up to this value are left out.
    pub(super) cutoff: R,
}

/// The body of the kernel. A member's items and partial sums (by pixels) are its segment 0.
#[inline(always)]
pub(super) unsafe fn project<M: Model, R: Number>(image: &Image<R>) {
    let threads = thread::block_threads();
    let pixels = image.pixels;
    if threads == 0 || image.count == 0 {
        return;
    }
    let tiles = pixels.div_ceil(threads);
    if tiles == 0 {
        return;
    }
    for work in thread::block_stride(image.items * tiles) {
        let (item, tile) = (work / tiles, work % tiles);
        let pixel = tile * threads + thread::index_in_block();
        if pixel < pixels {
            let (first, second) = of_pixel::<M, R>(image, item, pixel);
            let at = item as usize * pixels as usize + pixel as usize;
            *image.partial.add(2 * at) = first;
            *image.partial.add(2 * at + 1) = second;
        }
    }
}

#[inline(always)]
unsafe fn of_pixel<M: Model, R: Number>(image: &Image<R>, item: u32, pixel: u32) -> (R, R) {
    let member = member_of(image.members, image.count, item);
    let segment = (&raw const (*member).segments).cast::<SasSegment>();
    let local = item - (*member).first_item;
    let blocks = (*segment).direction_blocks;
    if blocks == 0 {
        return (R::zero(), R::zero());
    }
    let (mesh_block, block) = (local / blocks, local % blocks);
    let m_first = mesh_block * (*segment).block_mesh;
    let m_end = (m_first + (*segment).block_mesh).min((*member).mesh);
    let d_first = block * (*segment).block_directions;
    let d_end = (d_first + (*segment).block_directions).min((*segment).directions);
    let rotations = image.rotations.add(8 * (*segment).first_direction as usize);
    let q = [*image.qx.add(pixel as usize), *image.qy.add(pixel as usize)];
    let (mut first, mut second) = (R::zero(), R::zero());
    for m in m_first..m_end {
        let w = weight(&image.tables, member, m);
        if w > R::zero() {
            let values = values::<M::Values<R>, R>(&image.tables, member, m, pixel);
            if M::valid(&values) {
                let state = M::prepare(&values);
                let weights = (w, image.cutoff);
                let (x, y) =
                    over_rotations::<M, R>(&state, weights, q, rotations, [d_first, d_end]);
                first += x;
                second += y;
            }
        }
    }
    (first, second)
}

/// Σ w F and Σ w F² over a range of rotations.
#[inline(always)]
unsafe fn over_rotations<M: Model, R: Number>(
    state: &M::State<R>,
    (of_particle, cutoff): (R, R),
    [qx, qy]: [R; 2],
    rotations: *const R,
    [first, end]: [u32; 2],
) -> (R, R) {
    let zero = R::zero();
    let mut wave = Wave {
        q: qx.mul_add(qx, qy * qy).sqrt(),
        across: zero,
        along: zero,
        a: zero,
        b: zero,
        c: zero,
    };
    let (mut amplitude, mut intensity) = (zero, zero);
    for d in first..end {
        let rotation = rotations.add(8 * d as usize);
        let w = of_particle * *rotation.add(3);
        // This is equal for all threads.
        if w <= cutoff {
            continue;
        }
        let component = |i: usize| qx.mul_add(*rotation.add(i), qy * *rotation.add(4 + i));
        let (a, b, c) = (component(0), component(1), component(2));
        if matches!(M::SYMMETRY, Symmetry::Axial) {
            wave.across = a.mul_add(a, b * b).sqrt();
            wave.along = c;
        } else {
            wave.a = a;
            wave.b = b;
            wave.c = c;
        }
        let form = M::form(&wave, state);
        amplitude = w.mul_add(form.amplitude, amplitude);
        intensity = w.mul_add(form.intensity, intensity);
    }
    (amplitude, intensity)
}
