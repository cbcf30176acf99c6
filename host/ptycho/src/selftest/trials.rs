//! The kernels `ptycho_trial_positions` and `ptycho_keep_better`.

use super::shape::{Shape, Source};
use rand::RngExt;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    keep_better::PtychoKeepBetter, trial_positions::PtychoTrialPositions,
};
use warpstride_selftest::bench::{Bench, Case, all_f64};

/// Seed, iteration, trial, amplitude, bound. Trial 0, all quadrants and the next turn; bounds that
/// most frames keep to, that hold many of them, and that allow no movement.
const TRIALS: [(u64, u32, u32, f32, f32); 7] = [
    (1, 0, 0, 2.0, 3.0),
    (1, 0, 1, 2.0, 5.0),
    (u64::MAX, 7, 2, 0.3, 0.4),
    (0x1234_5678_9ABC_DEF0, u32::MAX, 3, 6.0, 3.0),
    (2, 1, 4, 1.5, 2.0),
    (2, 1, 5, 1.5, 0.0),
    (3, 0, 6, 0.0, 1.0),
];

/// Most frames of a case.
const MOST: usize = 50_021;

pub(super) fn cases<M: Device>(bench: &mut Bench<'_, M>, shape: Shape) -> Result<()> {
    for trial in TRIALS {
        positions(bench, shape, trial)?;
    }
    for trial in [0, 3] {
        better(bench, shape, trial)?;
    }
    Ok(())
}

/// Number of frames of a case: as many as a shape has pixels, for more than one block.
fn frames_of(shape: &Shape) -> usize {
    shape.frame_elements().min(MOST)
}

/// The number in the scan of a device's frame.
fn number(frame: u32) -> u32 {
    3 * frame + 5
}

/// The finaliser of SplitMix64.
fn hash(value: u64) -> u64 {
    let mut hash = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    hash ^= hash >> 30;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

/// Displacement of a trial other than 0: its two sizes are bits 40 to 63 and 8 to 31 of the hash.
fn shift(seed: u64, iteration: u32, trial: u32, amplitude: f32, frame: usize) -> [f32; 2] {
    let drawn = hash(seed ^ hash(u64::from(iteration)));
    let drawn = hash(drawn ^ ((frame as u64) << 32) ^ u64::from(trial));
    let sizes = [drawn >> 40, (drawn >> 8) % (1 << 24)]
        .map(|bits| bits as f32 / (1 << 24) as f32 * amplitude);
    match trial % 4 {
        1 => sizes,
        2 => [sizes[0], -sizes[1]],
        3 => [-sizes[0], sizes[1]],
        _ => sizes.map(|size| -size),
    }
}

/// The results must be those of the definition in single precision, bit for bit.
fn positions<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    (seed, iteration, trial, amplitude, bound): (u64, u32, u32, f32, f32),
) -> Result<()> {
    let on = bench.on();
    let frames = frames_of(&shape);
    let mut source = Source::new("trials", &shape);
    let mut pairs = |largest: f32| -> Vec<[f32; 2]> {
        let values = source.reals(2 * frames, -largest, largest);
        values.chunks_exact(2).map(|v| [v[0], v[1]]).collect()
    };
    let (fractions, moved) = (pairs(0.5), pairs(bound));
    let corners: Vec<[u32; 2]> = (0..frames)
        .map(|_| [0, 1].map(|_| source.random.random_range(20..900)))
        .collect();
    let mut new_corners = corners.clone();
    let mut new_fractions: Vec<[f64; 2]> = fractions.iter().map(|f| f.map(f64::from)).collect();
    for frame in 0..if trial == 0 { 0 } else { frames } {
        let of_scan = number(frame as u32) as usize;
        let shift = shift(seed, iteration, trial, amplitude, of_scan);
        for axis in 0..2 {
            let from = moved[frame][axis];
            let allowed = (from + shift[axis]).clamp(-bound, bound);
            let offset = fractions[frame][axis] + (allowed - from);
            let whole = offset.round_ties_even();
            let corner = i64::from(corners[frame][axis]) + whole as i64;
            new_corners[frame][axis] = corner as u32;
            new_fractions[frame][axis] = f64::from(offset - whole);
        }
    }
    let from_corners = on.upload(&corners)?;
    let from_fractions = on.upload(&fractions)?;
    let displacements = on.upload(&moved)?;
    let numbers = on.upload(&(0..frames as u32).map(number).collect::<Vec<_>>())?;
    bench.run(
        Case::of::<PtychoTrialPositions<'_, Emulated>>(format!(
            "{frames} frames, seed {seed}, iteration {iteration}, trial {trial}, amplitude \
             {amplitude}, bound {bound}"
        ))
        .exact(),
        (
            on.poisoned::<[u32; 2]>(frames)?,
            on.poisoned::<[f32; 2]>(frames)?,
        ),
        |device, (corners, fractions)| {
            let launch = PtychoTrialPositions {
                corners: corners.write(),
                fractions: fractions.write(),
                from_corners: from_corners.read(),
                from_fractions: from_fractions.read(),
                displacements: displacements.read(),
                numbers: numbers.read(),
                frames: frames as u32,
                seed,
                iteration,
                trial,
                amplitude,
                bound,
            };
            device.launch(&launch, Work::Elements(frames))
        },
        |on, (corners, fractions)| {
            Ok(on
                .error(corners, &new_corners)?
                .max(on.error(fractions, &new_fractions)?))
        },
    )
}

/// Residuals are smaller, larger, equal, and NaN. Trial 0 overwrites whatever is there.
fn better<M: Device>(bench: &mut Bench<'_, M>, shape: Shape, trial: u32) -> Result<()> {
    let on = bench.on();
    let frames = frames_of(&shape);
    let mut source = Source::new("better", &shape);
    let [old, mut found] = [0, 1].map(|_| source.reals(frames, 0.0, 1.0));
    let chosen: Vec<u32> = (0..frames)
        .map(|_| source.random.random_range(0..3))
        .collect();
    let outputs = if trial == 0 {
        (on.poisoned(frames)?, on.poisoned(frames)?)
    } else {
        for frame in 0..frames {
            match frame % 5 {
                2 => found[frame] = old[frame],
                4 => found[frame] = f32::NAN,
                _ => {}
            }
        }
        (on.upload(&old)?, on.upload(&chosen)?)
    };
    let mut best = all_f64(&old);
    let mut choice = chosen;
    for frame in 0..frames {
        if trial == 0 {
            best[frame] = f64::from(0.5 * found[frame]);
            choice[frame] = trial;
        } else if found[frame] < old[frame] {
            best[frame] = f64::from(found[frame]);
            choice[frame] = trial;
        }
    }
    let residual = on.upload(&found)?;
    bench.run(
        Case::of::<PtychoKeepBetter<'_, Emulated>>(format!("{frames} frames, trial {trial}"))
            .exact(),
        outputs,
        |device, (best, chosen)| {
            let launch = PtychoKeepBetter {
                best: best.write(),
                chosen: chosen.write(),
                residual: residual.read(),
                frames: frames as u32,
                trial,
                part: 0.5,
            };
            device.launch(&launch, Work::Elements(frames))
        },
        |on, (found, chosen)| Ok(on.error(found, &best)?.max(on.error(chosen, &choice)?)),
    )
}
