//! A point's record encodes its position, and every sample is in one subproblem of its own tile.

use super::*;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn random(count: usize, axes: usize) -> Array2<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    Array2::from_shape_simple_fn((count, axes), || random.random_range(-0.5..=0.5))
}

#[test]
fn fine_grids_are_whole_tiles_of_small_factors() {
    for voxels in 1..600 {
        for (axes, width) in [(2, 5), (3, 8)] {
            let sizes = NufftSizes::new(
                [voxels, voxels, if axes == 3 { voxels } else { 1 }],
                axes,
                width,
            );
            let own = TileLayout::new(width as u32, axes as u32).own;
            for (axis, own) in own.into_iter().enumerate().take(axes) {
                assert!(sizes.fine[axis] >= 2 * voxels);
                assert_eq!(sizes.fine[axis], sizes.tiles[axis] * own as usize);
                assert!(smooth(sizes.fine[axis]));
            }
            assert_eq!(sizes.fine[2], if axes == 3 { sizes.fine[2] } else { 1 });
        }
    }
    assert_eq!(NufftSizes::new([256, 256, 1], 2, 5).fine, [512, 512, 1]);
    assert_eq!(NufftSizes::new([128; 3], 3, 5).fine, [256; 3]);
}

#[test]
fn a_record_encodes_the_point() {
    for (axes, voxels) in [(2, [9, 30, 1]), (3, [9, 30, 17])] {
        for width in 2..=8 {
            let sizes = NufftSizes::new(voxels, axes, width);
            let mut trajectory = random(500, axes);
            // Both ends of k-space, zero, its neighbours, and a point that coincides with a cell.
            for (sample, k) in [-0.5, 0.5, 0.0, -1e-18, 1e-18, 0.25]
                .into_iter()
                .enumerate()
            {
                trajectory.row_mut(sample).fill(k);
            }
            let sorting = Sorting::new(&sizes, trajectory.view());
            let mut seen = vec![false; 500];
            let mut next = 0;
            for (slot, subproblem) in sorting.subproblems.iter().enumerate() {
                assert_eq!(subproblem.first, next, "subproblems follow each other");
                assert!(subproblem.points > 0 && subproblem.points as usize <= MAX_POINTS);
                next += subproblem.points;
                for point in &sorting.points[subproblem.first as usize..next as usize] {
                    let sample = point.sample as usize;
                    assert!(!std::mem::replace(&mut seen[sample], true));
                    for axis in 0..axes {
                        let fine = sizes.fine[axis] as f64;
                        // x = first + w/2 − (t + 1)/2, t the argument of the polynomials.
                        let behind = 0.5 * (f64::from(point.argument(axis)) + 1.0);
                        let first = f64::from(subproblem.origin[axis] + point.cell(axis));
                        let x = first + 0.5 * width as f64 - behind;
                        let expected = trajectory[[sample, axis]] * fine;
                        let away = (x - expected + 0.5 * fine).rem_euclid(fine) - 0.5 * fine;
                        assert!(away.abs() < 1e-7, "{away} cells at {expected} of {fine}");
                    }
                }
                let own = TileLayout::new(width as u32, axes as u32).own;
                let tile: [usize; 3] =
                    std::array::from_fn(|axis| (subproblem.origin[axis] / own[axis]) as usize);
                let tile = (tile[2] * sizes.tiles[1] + tile[1]) * sizes.tiles[0] + tile[0];
                assert!(sorting.slot_of_tile[tile] as usize <= slot);
            }
            assert_eq!(next, 500);
            assert!(seen.iter().all(|seen| *seen));
        }
    }
}

/// Emulates the launches of `mri_nufft_merge`, with numbers in place of tiles.
#[test]
fn merges_leave_the_sum_of_a_tiles_subproblems_in_its_slot() {
    for count in [
        0,
        1,
        MAX_POINTS,
        MAX_POINTS + 1,
        16 * MAX_POINTS,
        17 * MAX_POINTS,
        300 * MAX_POINTS,
    ] {
        let sizes = NufftSizes::new([16, 16, 1], 2, 5);
        // Nearly all points in one tile, the last few elsewhere.
        let trajectory = Array2::from_shape_fn((count, 2), |(sample, axis)| match (sample, axis) {
            (0..5, 0) => 0.4,
            _ => 0.26,
        });
        let sorting = Sorting::new(&sizes, trajectory.view());
        let mut slots: Vec<u64> = (0..sorting.subproblems.len())
            .map(|slot| 1 << (slot % 48))
            .collect();
        let expected: Vec<u64> = sorting
            .subproblems
            .chunk_by(|a, b| a.origin == b.origin)
            .scan(0, |slot, subproblems| {
                let first = *slot;
                *slot += subproblems.len();
                Some(slots[first..*slot].iter().sum())
            })
            .collect();
        let most = sorting.subproblems.len();
        for level in &sorting.levels {
            for [first, copies] in &sorting.merges[level.first..level.first + level.count] {
                assert!((2..=MERGED).contains(copies) || *copies == 1);
                for copy in 1..*copies as usize {
                    let at = *first as usize + copy * level.stride;
                    assert!(at < most);
                    slots[*first as usize] += slots[at];
                }
            }
        }
        let found: Vec<u64> = sorting
            .slot_of_tile
            .iter()
            .filter(|slot| **slot != NO_SLOT)
            .map(|slot| slots[*slot as usize])
            .collect();
        let sorted = |mut sums: Vec<u64>| {
            sums.sort_unstable();
            sums
        };
        assert_eq!(sorted(found), sorted(expected), "{count} points");
    }
}
