//! Counts that began again from zero where a number had too few bits.

use crate::data::Scan;
use ndarray::ArrayView2;
use rayon::prelude::*;
use std::collections::HashSet;
use warpstride_core::system::ScratchError;
use warpstride_core::text::count;

/// Numbers of bits after which counts begin again.
const BITS: [i32; 4] = [8, 12, 14, 16];
/// Least part of the range that the largest count reaches, as counts do that began again, and its
/// fewest photons: chance leaves holes among fewer.
const REACHED: f64 = 0.85;
const PHOTONS: f64 = 256.0;
/// Least part of the range that all pixels around a hole have, and the part that small counts in it
/// do not reach: two pairs. Least mean counts of a hole: where a beamstop or the ring of an
/// illumination encloses it, it has hardly any.
const AROUND: [(f32, f32); 2] = [(0.35, 0.1), (0.25, 0.05)];
const INSIDE: f32 = 0.005;
/// Part of the range that the brightest pixel around a hole has, as where counts pass it; a dark
/// place in a bright pattern need not have one.
const PASSED: f32 = 0.75;
/// Most pixels of a hole, and fewest frames with holes.
const LARGEST: usize = 100;
const FEWEST: usize = 3;

/// The problem that small counts lie among bright ones in many frames, as those that began again
/// do.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub(super) fn wrapped(scan: &Scan) -> Result<Option<String>, ScratchError> {
    let largest = f64::from(scan.sums().largest);
    let range = BITS.into_iter().find(|bits| largest < 2_f64.powi(*bits));
    let Some(bits) = range.filter(|bits| largest >= REACHED * 2_f64.powi(*bits)) else {
        return Ok(None);
    };
    let range = 2_f64.powi(bits) as f32;
    if f64::from(range) < PHOTONS * scan.counts_of_photon()? {
        return Ok(None);
    }
    let mut found = [(0, 0); AROUND.len()];
    scan.blocks(|first, block| {
        let each: Vec<_> = block.outer_iter().zip(first..).collect();
        let of_each = each.into_par_iter().map(|(counts, frame)| {
            let valid = scan.mask().of_frame(frame);
            AROUND.map(|(around, most)| {
                let limits = [around, most, INSIDE, PASSED].map(|part| part * range);
                holes(counts, valid, limits)
            })
        });
        for numbers in of_each.collect::<Vec<_>>() {
            for ((pixels, frames), number) in found.iter_mut().zip(numbers) {
                *pixels += number;
                *frames += usize::from(number > 0);
            }
        }
        Ok::<(), ScratchError>(())
    })?;
    // Edges of a specimen leave narrow dark places in a near field.
    let pairs = if scan.geometry().is_near_field() {
        1
    } else {
        AROUND.len()
    };
    let found = found[..pairs]
        .iter()
        .copied()
        .find(|(_, frames)| *frames >= FEWEST);
    Ok(found.map(|(pixels, frames)| {
        format!(
            "{} of {} with small counts among bright ones close to 2^{bits}: counts that are too large for {bits} bits probably began again from 0; use the original numbers, or mask those pixels (--mask)",
            count(pixels, ["pixel", "pixels"]),
            count(frames, ["frame", "frames"])
        )
    }))
}

/// The number of pixels with less than `most` counts that have pixels with `around` or more all
/// around, one of them with `passed` or more.
fn holes(
    counts: ArrayView2<'_, f32>,
    valid: ArrayView2<'_, bool>,
    [around, most, least, passed]: [f32; 4],
) -> usize {
    let is_bright = |count: f32| count >= around;
    let is_small = |count: f32| count < around;
    let mut found = 0;
    let mut seen = HashSet::new();
    for ((row, column), here) in counts.indexed_iter() {
        let beside = row > 0 && is_bright(counts[[row - 1, column]]);
        if !beside || !is_small(*here) || !seen.insert([row, column]) {
            continue;
        }
        let mut hole = vec![[row, column]];
        let mut next = 0;
        let mut is_enclosed = true;
        let mut brightest = 0.0_f32;
        while let Some([row, column]) = hole.get(next).copied() {
            for place in [
                [row.wrapping_sub(1), column],
                [row + 1, column],
                [row, column.wrapping_sub(1)],
                [row, column + 1],
            ] {
                match counts.get(place) {
                    Some(count) if valid[place] && is_bright(*count) => {
                        brightest = brightest.max(*count);
                    }
                    Some(_) if valid[place] && hole.len() <= LARGEST => {
                        if seen.insert(place) {
                            hole.push(place);
                        }
                    }
                    _ => is_enclosed = false,
                }
            }
            next += 1;
            if !is_enclosed {
                break;
            }
        }
        let of_hole = hole.iter().map(|place| counts[*place]);
        let sum: f32 = of_hole.clone().sum();
        let passes = brightest >= passed && sum >= least * hole.len() as f32;
        if is_enclosed && hole.len() <= LARGEST && passes {
            // A zero of a wave is not so dark beside so much light.
            found += of_hole.filter(|count| *count < most).count();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimulateOptions, simulate};

    #[test]
    fn counts_that_begin_again_are_named() {
        let options = SimulateOptions {
            frame: 64,
            positions: 20,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        assert_eq!(wrapped(&scan).unwrap(), None);
        let largest = scan.sums().largest;
        for bits in [8, 12, 16] {
            let range = 2_f32.powi(bits);
            for times in [0.99, 1.3] {
                let scaled = |count: f32| (count / largest * times * range).floor();
                let counts = scan.frames().unwrap().mapv(|count| scaled(count) % range);
                let positions = scan.positions().clone();
                let scan = Scan::new(counts, None, positions, *scan.geometry(), None).unwrap();
                let found = wrapped(&scan).unwrap();
                assert_eq!(found.is_some(), times > 1.0, "{bits} {times} {found:?}");
            }
        }
    }
}
