//! Partial sums to intensities.
//!
//! scale · ⟨F²⟩/⟨V⟩ · S + background, or with decoupling scale · (⟨F²⟩ + ⟨F⟩² (S − 1))/⟨V⟩ + background. Sums are
//! added in double precision and in an order that only their number decides. Curves: a warp a wave vector, whose
//! lanes lie over its partial sums (up to a thousand). Images: a thread a pixel, neighbours side by side in memory.
//! 16 (8) bytes a partial sum are read, once. Block of 128.

use super::member::{SasMember, SasSegment, VOLUMES};
use warpstride_device::prelude::*;

/// Numbers of a vector in `finals`: scale, background, Σw of the rotations (1 for curves), 1 with decoupling (else
/// 0), and the weights of up to [`SECTIONS`] members.
pub const FINALS: usize = 8;
/// Most members of a vector: spin cross sections.
pub const SECTIONS: u32 = 4;

/// What both kernels read.
struct Sums<R> {
    partial: *const R,
    members: *const SasMember,
    volume_partial: *const R,
    volume_members: *const SasMember,
    structure: *const R,
    finals: *const f64,
    sections: u32,
    volume_sections: u32,
    structures: u32,
}

/// Σ of the pairs `first, first + step, …` below `count`, `stride` apart.
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

#[inline(always)]
unsafe fn segment(member: *const SasMember, s: usize) -> *const SasSegment {
    (&raw const (*member).segments).cast::<SasSegment>().add(s)
}

impl<R: Copy + Into<f64>> Sums<R> {
    /// A lane's share of a row's sums; the row is among those of the segment.
    #[inline(always)]
    unsafe fn of_row(
        partial: *const R,
        member: *const SasMember,
        s: usize,
        row: u32,
        [first, step]: [u32; 2],
    ) -> (f64, f64) {
        let segment = segment(member, s);
        let count = (*segment).direction_blocks * (*segment).mesh_blocks;
        let before = (*segment).first_task + (row - (*segment).first_row) * count;
        let from = (*member).first_partial as usize + before as usize;
        pairs(partial.add(2 * from), [first, step, count], 1)
    }

    /// A lane's share of Σw V and Σw of a vector's mesh.
    #[inline(always)]
    unsafe fn of_mesh(&self, vector: u32, lane: [u32; 2]) -> (f64, f64) {
        let member = self
            .volume_members
            .add((vector * self.volume_sections) as usize);
        let row = (*segment(member, VOLUMES)).first_row;
        let (volume, _) = Self::of_row(self.volume_partial, member, VOLUMES, row, lane);
        let (weight, _) = Self::of_row(self.volume_partial, member, VOLUMES, row + 1, lane);
        (volume, weight)
    }

    #[inline(always)]
    unsafe fn section(&self, vector: u32, section: u32) -> (*const SasMember, f64) {
        let finals = self
            .finals
            .add(vector as usize * FINALS + 4 + section as usize);
        let member = self
            .members
            .add((vector * self.sections + section) as usize);
        (member, *finals)
    }

    /// Where the members' sums are `x`, `y` and the mesh's `volume`, `weight`.
    #[inline(always)]
    unsafe fn intensity(
        &self,
        vector: u32,
        at: usize,
        (x, y): (f64, f64),
        (volume, weight): (f64, f64),
    ) -> f64 {
        let finals = self.finals.add(vector as usize * FINALS);
        let (scale, background, rotations) = (*finals, *finals.add(1), *finals.add(2));
        // Nothing was averaged where all weights are left out.
        if !(volume > 0.0 && rotations > 0.0) {
            return background;
        }
        let mut mean = y / rotations;
        if self.structures != 0 {
            let s: f64 = (*self.structure.add(2 * at + 1)).into();
            if *finals.add(3) != 0.0 {
                let f = x / rotations;
                mean += f * f / weight * (s - 1.0);
            } else {
                mean *= s;
            }
        }
        scale * mean / volume + background
    }

    /// All lanes of a warp together.
    #[inline(always)]
    unsafe fn curve(&self, out: *mut f64, ranks: *const u32, points: u32, vectors: u32) {
        let warps = thread::block_threads() / warp::SIZE;
        let rows = points * vectors;
        if warps == 0 || points == 0 {
            return;
        }
        let lane = [warp::lane_id(), warp::SIZE];
        for stretch in thread::block_stride(rows.div_ceil(warps)) {
            let item = stretch * warps + warp::warp_id();
            // The same for all lanes.
            if item >= rows {
                continue;
            }
            let (vector, point) = (item / points, item % points);
            let row = *ranks.add(point as usize);
            let (mut x, mut y) = (0.0, 0.0);
            for number in 0..self.sections {
                let (member, w) = self.section(vector, number);
                let mut s = VOLUMES - 1;
                while s > 0 && (*segment(member, s)).first_row > row {
                    s -= 1;
                }
                let (f, i) = Self::of_row(self.partial, member, s, row, lane);
                x += w * f;
                y += w * i;
            }
            let (volume, weight) = self.of_mesh(vector, lane);
            let sums = [x, y, volume, weight].map(|sum| reduce::warp_sum_f64(sum));
            if lane[0] == 0 {
                let at = item as usize;
                *out.add(at) = self.intensity(vector, at, (sums[0], sums[1]), (sums[2], sums[3]));
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
            let (mut x, mut y) = (0.0, 0.0);
            for number in 0..self.sections {
                let (member, w) = self.section(vector, number);
                let from = (*member).first_partial as usize * points as usize + point as usize;
                let all = [0, 1, (*member).tasks];
                let (f, i) = pairs(self.partial.add(2 * from), all, points as usize);
                x += w * f;
                y += w * i;
            }
            let mesh = self.of_mesh(vector, [0, 1]);
            *out.add(item) = self.intensity(vector, item, (x, y), mesh);
        }
    }
}

macro_rules! finish_kernels {
    ($($curve:ident $image:ident $r:ident;)*) => {$(
        /// Intensities (vector, point) of curves. `ranks` has each point's row; `structure` the structure factor
        /// (vector, point, 2) as the second of a pair, if `structures` is not 0.
        #[kernel(block = 128, hot, f64)]
        #[allow(clippy::too_many_arguments, reason = "sums of particles, of their mesh, and of structure factors")]
        pub unsafe fn $curve(
            #[len(vectors * points)] out: *mut f64,
            #[len(2 * partials)] partial: *const $r,
            #[len(vectors * sections)] members: *const SasMember,
            #[len(2 * volume_partials)] volume_partial: *const $r,
            #[len(vectors * volume_sections)] volume_members: *const SasMember,
            #[len(2 * structures)] structure: *const $r,
            #[len(vectors * FINALS)] finals: *const f64,
            #[len(points)] ranks: *const u32,
            partials: u32,
            volume_partials: u32,
            structures: u32,
            sections: u32,
            volume_sections: u32,
            points: u32,
            vectors: u32,
        ) {
            let _ = (partials, volume_partials);
            let sums = Sums {
                partial, members, volume_partial, volume_members, structure, finals, sections, volume_sections, structures,
            };
            sums.curve(out, ranks, points, vectors);
        }

        /// Intensities (vector, pixel) of images.
        #[kernel(block = 128, hot, f64)]
        #[allow(clippy::too_many_arguments, reason = "sums of particles, of their mesh, and of structure factors")]
        pub unsafe fn $image(
            #[len(vectors * points)] out: *mut f64,
            #[len(2 * partials)] partial: *const $r,
            #[len(vectors * sections)] members: *const SasMember,
            #[len(2 * volume_partials)] volume_partial: *const $r,
            #[len(vectors * volume_sections)] volume_members: *const SasMember,
            #[len(2 * structures)] structure: *const $r,
            #[len(vectors * FINALS)] finals: *const f64,
            partials: u32,
            volume_partials: u32,
            structures: u32,
            sections: u32,
            volume_sections: u32,
            points: u32,
            vectors: u32,
        ) {
            let _ = (partials, volume_partials);
            let sums = Sums {
                partial, members, volume_partial, volume_members, structure, finals, sections, volume_sections, structures,
            };
            sums.image(out, points, vectors);
        }
    )*};
}

finish_kernels! {
    sas_finish_curve_f64 sas_finish_image_f64 f64;
    sas_finish_curve_f32 sas_finish_image_f32 f32;
}
