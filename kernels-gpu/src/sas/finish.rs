//! Computes intensities from partial sums.
//!
//! factor · ⟨F²⟩ S, or with decoupling factor · (⟨F²⟩ + ⟨F⟩² (S − 1)), where factor contains scale and volume. Sums
//! are added in double precision and in an order that depends only on their number. Curves: a warp for each wave
//! vector, whose lanes cover its partial sums (up to a thousand). Images: a thread for each pixel, with neighbours
//! adjacent in memory. 16 (8) bytes a partial sum are read, once. Block of 128.

use super::member::{SEGMENTS, SasMember, SasSegment};
use warpstride_device::prelude::*;

/// Numbers for each vector in `finals`: factor, Σw of its mesh, 1 with decoupling (otherwise 0), background, and the
/// weights of [`SECTIONS`] members.
pub const FINALS: usize = 8;
/// The most members of a vector: spin cross sections.
pub const SECTIONS: usize = FINALS - 4;

/// The arguments that both kernels read.
struct Sums<R> {
    partial: *const R,
    members: *const SasMember,
    structure_partial: *const R,
    structure_members: *const SasMember,
    finals: *const f64,
    ranks: *const u32,
    structures: u32,
    sections: u32,
    smeared: u32,
}

/// The sum of the pairs `first, first + step, …` below `count`, `stride` apart.
#[inline(always)]
unsafe fn pairs<R: Copy + Into<f64>>(
    partial: *const R,
    [first, step, count]: [u32; 3],
    stride: usize,
) -> (f64, f64) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut k = first;
    while k < count {
        let at = partial.add(2 * k as usize * stride);
        x += (*at).into();
        y += (*at.add(1)).into();
        k += step;
    }
    (x, y)
}

/// A lane's share of a curve's sums in one row.
#[inline(always)]
unsafe fn of_row<R: Copy + Into<f64>>(
    partial: *const R,
    member: *const SasMember,
    row: u32,
    [first, step]: [u32; 2],
) -> (f64, f64) {
    let segments = (&raw const (*member).segments).cast::<SasSegment>();
    let mut s = SEGMENTS - 1;
    while s > 0 && (*segments.add(s)).first_row > row {
        s -= 1;
    }
    let segment = segments.add(s);
    let count = (*segment).direction_blocks * (*segment).mesh_blocks;
    let before = (*segment).first_task + (row - (*segment).first_row) * count;
    let from = (*member).first_partial as usize + before as usize;
    pairs(partial.add(2 * from), [first, step, count], 1)
}

impl<R: Copy + Into<f64>> Sums<R> {
    #[inline(always)]
    unsafe fn section(&self, vector: u32, section: u32) -> (*const SasMember, f64) {
        let w = *self
            .finals
            .add(vector as usize * FINALS + 4 + section as usize);
        let member = self
            .members
            .add((vector * self.sections + section) as usize);
        (member, w)
    }

    /// The intensity from Σ w F, Σ w F² and S.
    #[inline(always)]
    unsafe fn intensity(&self, vector: u32, x: f64, y: f64, s: f64) -> f64 {
        let finals = self.finals.add(vector as usize * FINALS);
        let (factor, weight) = (*finals, *finals.add(1));
        let mut mean = y / weight;
        if self.structures != 0 {
            if *finals.add(2) != 0.0 {
                let f = x / weight;
                mean += f * f * (s - 1.0);
            } else {
                mean *= s;
            }
        }
        let background = if self.smeared != 0 {
            0.0
        } else {
            *finals.add(3)
        };
        factor * mean + background
    }

    /// All lanes of a warp call it together.
    #[inline(always)]
    unsafe fn curve(&self, out: *mut f64, points: u32, vectors: u32) {
        let warps = thread::block_threads() / warp::SIZE;
        let rows = points * vectors;
        if warps == 0 || points == 0 {
            return;
        }
        let lane = [warp::lane_id(), warp::SIZE];
        for group in thread::block_stride(rows.div_ceil(warps)) {
            let item = group * warps + warp::warp_id();
            // This is equal for all lanes.
            if item >= rows {
                continue;
            }
            let (vector, point) = (item / points, item % points);
            let row = *self.ranks.add(point as usize);
            let (mut x, mut y, mut s) = (0.0, 0.0, 0.0);
            for number in 0..self.sections {
                let (member, w) = self.section(vector, number);
                let (f, i) = of_row(self.partial, member, row, lane);
                x += w * f;
                y += w * i;
            }
            if self.structures != 0 {
                let member = self.structure_members.add(vector as usize);
                (_, s) = of_row(self.structure_partial, member, row, lane);
                s = reduce::warp_sum_f64(s);
            }
            let (x, y) = (reduce::warp_sum_f64(x), reduce::warp_sum_f64(y));
            if lane[0] == 0 {
                *out.add(item as usize) = self.intensity(vector, x, y, s);
            }
        }
    }

    #[inline(always)]
    unsafe fn image(&self, out: *mut f64, points: u32, vectors: u32) {
        if points == 0 {
            return;
        }
        for item in thread::grid_stride(points as usize * vectors as usize) {
            let (vector, point) = (item as u32 / points, item as u32 % points);
            let (mut x, mut y, mut s) = (0.0, 0.0, 0.0);
            for number in 0..self.sections {
                let (member, w) = self.section(vector, number);
                let from = (*member).first_partial as usize * points as usize + point as usize;
                let all = [0, 1, (*member).tasks];
                let (f, i) = pairs(self.partial.add(2 * from), all, points as usize);
                x += w * f;
                y += w * i;
            }
            if self.structures != 0 {
                let member = self.structure_members.add(vector as usize);
                let row = *self.ranks.add(point as usize);
                (_, s) = of_row(self.structure_partial, member, row, [0, 1]);
            }
            *out.add(item) = self.intensity(vector, x, y, s);
        }
    }
}

macro_rules! finish_kernels {
    ($($(#[$doc:meta])* $name:ident $r:ident $what:ident;)*) => {$(
        $(#[$doc])*
        /// `ranks` has each point's row among the |q| in ascending order. `structures` is 0 or the number of vectors,
        /// whose structure factors are the sums over `structure_members`. If `smeared` is 1 (otherwise 0), the
        /// background is left out.
        #[kernel(block = 128, hot, f64)]
        #[allow(clippy::too_many_arguments, reason = "sums of particles and of structure factors")]
        pub unsafe fn $name(
            #[len(vectors * points)] out: *mut f64,
            #[len(2 * partials)] partial: *const $r,
            #[len(vectors * sections)] members: *const SasMember,
            #[len(2 * structure_partials)] structure_partial: *const $r,
            #[len(structures)] structure_members: *const SasMember,
            #[len(vectors * FINALS)] finals: *const f64,
            #[len(points)] ranks: *const u32,
            partials: u32,
            structure_partials: u32,
            structures: u32,
            sections: u32,
            smeared: u32,
            points: u32,
            vectors: u32,
        ) {
            let _ = (partials, structure_partials);
            let sums = Sums {
                partial, members, structure_partial, structure_members, finals, ranks, structures, sections, smeared,
            };
            sums.$what(out, points, vectors);
        }
    )*};
}

finish_kernels! {
    /// Intensities (vector, point) of curves.
    sas_finish_curve_f64 f64 curve;
    /// Intensities (vector, point) of curves, from sums in single precision.
    sas_finish_curve_f32 f32 curve;
    /// Intensities (vector, pixel) of images.
    sas_finish_image_f64 f64 image;
    /// Intensities (vector, pixel) of images, from sums in single precision.
    sas_finish_image_f32 f32 image;
}
