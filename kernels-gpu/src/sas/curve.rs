//! Averages over directions and mesh: the body of the kernels of curves, for any model.
//!
//! A task is (member, wave vector, block of the mesh, block of directions) and belongs to a power of two of
//! neighbouring lanes, some of which cover mesh points and some directions: 32 cover the mesh if it is large, so that
//! a particle is prepared once for all directions of the task and all lanes read the same direction; fewer lanes than
//! a warp share a task if there is little to add. A thread adds Σ w F and Σ w F² (units of
//! [`Form`](super::model::Form)) for its mesh points and directions, the lanes of the task add theirs pairwise, and
//! one of them writes both numbers to the task's element of the partial sums. `finish.rs` adds those.
//!
//! Memory traffic is negligible beside the arithmetic: a direction is 32 bytes for all lanes at once, a particle its
//! few values. Block of 128: registers decide how many warps are resident, and small blocks use them best.

use super::member::{SEGMENTS, SasMember, SasSegment, member_of};
use super::mesh::{Number, Tables, values, weight};
use super::model::{Model, Symmetry, Wave};
use warpstride_device::prelude::*;

/// The arguments of a launch.
pub(super) struct Curve<R> {
    /// (task, 2).
    pub(super) partial: *mut R,
    pub(super) members: *const SasMember,
    pub(super) tables: Tables<R>,
    /// (direction, 4): components along a, b, c of a unit vector, and its weight; for models with an axis, c is along
    /// the axis and a across it.
    pub(super) directions: *const R,
    /// |q|.
    pub(super) q: *const R,
    pub(super) count: u32,
    /// The number of warps' items.
    pub(super) items: u32,
    /// Weights up to this value are left out.
    pub(super) cutoff: R,
}

/// The body of the kernel.
#[inline(always)]
pub(super) unsafe fn average<M: Model, R: Number>(curve: &Curve<R>) {
    let warps = thread::block_threads() / warp::SIZE;
    if warps == 0 || curve.count == 0 {
        return;
    }
    for group in thread::block_stride(curve.items.div_ceil(warps)) {
        let item = group * warps + warp::warp_id();
        // This is equal for all lanes of a warp.
        if item < curve.items {
            of_warp::<M, R>(curve, item);
        }
    }
}

#[inline(always)]
unsafe fn of_warp<M: Model, R: Number>(curve: &Curve<R>, item: u32) {
    let member = member_of(curve.members, curve.count, item);
    let lanes = (*member).mesh_lanes + (*member).direction_lanes;
    let lane = warp::lane_id();
    let within = lane & ((1 << lanes) - 1);
    let number = ((item - (*member).first_item) << (5 - lanes)) + (lane >> lanes);
    let there = number < (*member).tasks;
    let (mut first, mut second) = if there {
        of_thread::<M, R>(curve, member, number, within)
    } else {
        (R::zero(), R::zero())
    };
    let mut offset = (1 << lanes) >> 1;
    while offset > 0 {
        first += warp::shuffle_xor(warp::FULL, first, offset);
        second += warp::shuffle_xor(warp::FULL, second, offset);
        offset >>= 1;
    }
    if there && within == 0 {
        let at = curve
            .partial
            .add(2 * ((*member).first_partial + number) as usize);
        *at = first;
        *at.add(1) = second;
    }
}

/// A lane's share of a task.
#[inline(always)]
unsafe fn of_thread<M: Model, R: Number>(
    curve: &Curve<R>,
    member: *const SasMember,
    task: u32,
    within: u32,
) -> (R, R) {
    let segments = (&raw const (*member).segments).cast::<SasSegment>();
    let mut s = SEGMENTS - 1;
    while s > 0 && (*segments.add(s)).first_task > task {
        s -= 1;
    }
    let segment = segments.add(s);
    let blocks = (*segment).direction_blocks;
    let a_row = blocks * (*segment).mesh_blocks;
    // The second condition is equivalent to the first, but shows the compiler that no division by zero follows.
    if a_row == 0 || blocks == 0 {
        return (R::zero(), R::zero());
    }
    let local = task - (*segment).first_task;
    let (row, block) = (local / a_row, local % a_row);
    let (mesh_block, direction_block) = (block / blocks, block % blocks);
    let row = row + (*segment).first_row;

    let mesh_lanes = (*member).mesh_lanes;
    let m_step = 1 << mesh_lanes;
    let m_first = mesh_block * (*segment).block_mesh;
    let m_end = (m_first + (*segment).block_mesh).min((*member).mesh);
    let mut m = m_first + (within & (m_step - 1));

    let step = 1 << (*member).direction_lanes;
    let d_first = direction_block * (*segment).block_directions;
    let d_end = (d_first + (*segment).block_directions).min((*segment).directions);
    let d_first = d_first + (within >> mesh_lanes);

    let from = curve
        .directions
        .add(4 * (*segment).first_direction as usize);
    let q = *curve.q.add(row as usize);

    let (mut first, mut second) = (R::zero(), R::zero());
    while m < m_end {
        let w = weight(&curve.tables, member, m);
        if w > curve.cutoff {
            let values = values::<M::Values<R>, R>(&curve.tables, member, m, row);
            if M::valid(&values) {
                let state = M::prepare(&values);
                let (x, y) = over_directions::<M, R>(&state, q, from, [d_first, d_end, step]);
                first += w * x;
                second += w * y;
            }
        }
        m += m_step;
    }
    (first, second)
}

/// Σ w F and Σ w F² over a range of directions.
#[inline(always)]
unsafe fn over_directions<M: Model, R: Number>(
    state: &M::State<R>,
    q: R,
    from: *const R,
    [first, end, step]: [u32; 3],
) -> (R, R) {
    let zero = R::zero();
    let mut wave = Wave {
        q,
        across: zero,
        along: zero,
        a: zero,
        b: zero,
        c: zero,
    };
    let (mut amplitude, mut intensity) = (zero, zero);
    let mut d = first;
    while d < end {
        let direction = from.add(4 * d as usize);
        let form = match M::SYMMETRY {
            Symmetry::Isotropic => {
                let form = M::form(&wave, state);
                return (form.amplitude, form.intensity);
            }
            Symmetry::Axial => {
                wave.across = q * *direction;
                wave.along = q * *direction.add(2);
                M::form(&wave, state)
            }
            Symmetry::Triaxial => {
                wave.a = q * *direction;
                wave.b = q * *direction.add(1);
                wave.c = q * *direction.add(2);
                M::form(&wave, state)
            }
        };
        let w = *direction.add(3);
        amplitude = w.mul_add(form.amplitude, amplitude);
        intensity = w.mul_add(form.intensity, intensity);
        d += step;
    }
    (amplitude, intensity)
}
