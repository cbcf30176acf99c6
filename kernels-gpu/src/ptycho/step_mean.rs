//! The steps of a batch: of each frame the solution of a damped 2 × 2 system, then trimmed means.
//!
//! The sums of a frame may be in parts. One block; a thread solves every 1024th frame's system. For the trimmed mean,
//! every frame counts how many steps are smaller than its own (or equal, and of an earlier frame), so that nothing is
//! sorted: n² comparisons, 2 million for a batch of 1457, by eight threads a frame. The steps of up to 2048 frames are in
//! shared memory.

use warpstride_device::prelude::*;

/// Frames whose steps are kept in shared memory.
const KEPT: usize = 2048;

/// Parts of a frame's sums that a thread loads together.
const PARTS: u32 = 4;
/// Threads that compare a frame's steps with the others.
const TEAM: u32 = 8;

/// The sum of a frame's parts.
#[inline(always)]
unsafe fn of_frame(sums: *const [f32; 5], member: u32, parts: u32) -> [f32; 5] {
    let sums = sums.add(member as usize * parts as usize);
    let mut total = [0.0; 5];
    let mut first = 0;
    while first < parts {
        let mut loaded = [[0.0; 5]; PARTS as usize];
        for k in 0..PARTS {
            loaded[k as usize] = *sums.add((first + k).min(parts - 1) as usize);
        }
        for k in 0..PARTS {
            if first + k < parts {
                for n in 0..5 {
                    total[n] += loaded[k as usize][n];
                }
            }
        }
        first += PARTS;
    }
    total
}

/// The sum over the eight threads of a team.
#[inline(always)]
unsafe fn over_team(own: u32) -> u32 {
    let own = own + warp::shuffle_xor(warp::FULL, own, 1);
    let own = own + warp::shuffle_xor(warp::FULL, own, 2);
    own + warp::shuffle_xor(warp::FULL, own, 4)
}

/// The thread's sums of the steps without the `cut` smallest and largest. All threads of the block call it.
#[inline(always)]
unsafe fn trimmed(solved: *const [f32; 2], count: u32, cut: u32) -> [f32; 2] {
    let (mut object, mut probe) = (0.0, 0.0);
    let own = thread::index_in_block();
    let (team, lane) = (own / TEAM, own % TEAM);
    let teams = thread::block_threads() / TEAM;
    let mut first = 0;
    while first < count {
        // Threads without a frame compare the last one's steps, so that all take part in the sums.
        let member = first + team;
        let [a, b] = *solved.add(member.min(count - 1) as usize);
        let (mut below_object, mut below_probe) = (0, 0);
        let mut base = 0;
        while base < count {
            let other = base + lane;
            let [other_a, other_b] = *solved.add(other.min(count - 1) as usize);
            let below = |step: f32, own: f32| {
                let before = step < own || (step == own && other < member);
                u32::from(before && other < count)
            };
            below_object += below(other_a, a);
            below_probe += below(other_b, b);
            base += TEAM;
        }
        below_object = over_team(below_object);
        below_probe = over_team(below_probe);
        let counts = member < count && lane == 0;
        if counts && below_object >= cut && below_object < count - cut {
            object += a;
        }
        if counts && below_probe >= cut && below_probe < count - cut {
            probe += b;
        }
        first += teams;
    }
    [object, probe]
}

/// For the batch with the range `ranges[batch]` (first, count), count at most `most`: writes `steps` (object, probe), each
/// `part` times the mean of the frames' steps, at least 0, without the share
/// `trim` of the smallest and of the largest. `sums` (frame, part) are those of `step_sums`; `smoothness` has |∇ΔO|² and −Re
/// ∇ΔO*·∇O with the factor `smooth`, which belongs to every frame. `damping` times the mean of each diagonal element is
/// added to it. `solved` is scratch memory.
#[kernel(block = 1024)]
#[allow(
    clippy::too_many_arguments,
    reason = "the sums, their scratch memory and the constants of the method"
)]
pub unsafe fn ptycho_step_mean(
    #[len(2)] steps: *mut f32,
    #[len(most)] solved: *mut [f32; 2],
    #[len(most * parts)] sums: *const [f32; 5],
    #[len(2)] smoothness: *const f32,
    #[len(batches)] ranges: *const [u32; 2],
    most: u32,
    batches: u32,
    batch: u32,
    parts: u32,
    smooth: f32,
    damping: f32,
    trim: f32,
    part: f32,
) {
    if batch >= batches || thread::block_idx_x() != 0 {
        return;
    }
    let count = (*ranges.add(batch as usize))[1].min(most);
    if count == 0 {
        return;
    }
    let kept = shared_array![[f32; 2]; KEPT];
    let keeps = count as usize <= KEPT;
    let (mut aa, mut bb) = (0.0, 0.0);
    // The sums of the thread's first frame stay in registers.
    let first = thread::index_in_block();
    let mut of_first = [0.0; 5];
    for member in thread::thread_stride(count) {
        let s = of_frame(sums, member, parts);
        if member == first {
            of_first = s;
        }
        aa += s[0];
        bb += s[2];
    }
    let (aa, bb) = reduce::block_sum_pair(aa, bb);
    let extra = [smooth * *smoothness, smooth * *smoothness.add(1)];
    let per_frame = 1.0 / count as f32;
    let damp = [
        (aa * per_frame + extra[0]) * damping,
        bb * per_frame * damping,
    ];
    for member in thread::thread_stride(count) {
        let s = if member == first {
            of_first
        } else {
            of_frame(sums, member, parts)
        };
        let (aa, bb, ab) = (s[0] + extra[0] + damp[0], s[2] + damp[1], s[1]);
        let (ac, bc) = (s[3] + extra[1], s[4]);
        let determinant = aa * bb - ab * ab;
        let (a, b) = if determinant > 0.0 {
            (
                (ac * bb - bc * ab) / determinant,
                (bc * aa - ac * ab) / determinant,
            )
        } else {
            (
                if aa > 0.0 { ac / aa } else { 0.0 },
                if bb > 0.0 { bc / bb } else { 0.0 },
            )
        };
        let steps = [if a > 0.0 { a } else { 0.0 }, if b > 0.0 { b } else { 0.0 }];
        *solved.add(member as usize) = steps;
        if keeps {
            *kept.add(member as usize) = steps;
        }
    }
    thread::sync_threads();
    let cut = (count as f32 * trim) as u32;
    // Asked again behind the barrier.
    let [object, probe] = if thread::hidden(count) as usize <= KEPT {
        trimmed(kept, count, cut)
    } else {
        trimmed(solved, count, cut)
    };
    let (object, probe) = reduce::block_sum_pair(object, probe);
    if thread::index_in_block() == 0 {
        let kept = (count - 2 * cut) as f32;
        *steps = part * object / kept;
        *steps.add(1) = part * probe / kept;
    }
}
