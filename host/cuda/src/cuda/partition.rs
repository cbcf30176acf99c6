//! The grid of a launch.

use warpstride_device::launch::Work;

/// Waves of blocks per launch, one wave being what the device holds at once. More than one, so that
/// a multiprocessor whose blocks end early gets others; few, because starting a block takes time.
pub const WAVES: usize = 4;

/// Minimum number of elements per thread before a second wave of blocks pays off.
pub const STRIDES: usize = 4;

/// The grid for `work`, or `None` if there is nothing to do.
///
/// One wave is `multiprocessors × resident` blocks, which the device holds at once. Kernels use
/// grid-stride loops, so the grid affects the speed and never the result.
///
/// ```
/// use warpstride_cuda::cuda::partition;
/// use warpstride_device::launch::Work;
///
/// // 1000 elements need four blocks of 256 threads on a device of any size.
/// assert_eq!(partition(Work::Elements(1000), 256, 132, 8), Some([4, 1, 1]));
/// assert_eq!(partition(Work::Elements(0), 256, 132, 8), None);
/// ```
#[must_use]
pub fn partition(
    work: Work,
    block_threads: u32,
    multiprocessors: u32,
    resident: u32,
) -> Option<[u32; 3]> {
    let wave = multiprocessors as usize * resident as usize;
    partition_over(work, block_threads, wave, 1)
}

/// [`partition`] for clusters of `cluster` blocks along x on a device that holds `wave` blocks at
/// once. The grid is a multiple of the cluster, except for [`Work::Grid`], which is taken as it is.
#[must_use]
pub(crate) fn partition_over(
    work: Work,
    block_threads: u32,
    wave: usize,
    cluster: u32,
) -> Option<[u32; 3]> {
    let (wave, cluster) = (wave.max(1), cluster.max(1) as usize);
    let blocks = match work {
        Work::Grid(grid) => return (!grid.contains(&0)).then_some(grid),
        Work::Elements(elements) => {
            let needed = elements.div_ceil(block_threads.max(1) as usize);
            let with_strides = needed.div_ceil(STRIDES).min(wave * WAVES);
            needed.min(with_strides.max(wave))
        }
        Work::Blocks(items) => evenly(items, wave),
        Work::Clusters(items) => {
            let clusters = evenly(items, (wave / cluster).max(1));
            clusters.saturating_mul(cluster)
        }
        Work::Turns(items) => items.min(wave),
    };
    let most = i32::MAX as usize / cluster * cluster;
    let blocks = blocks.min(most).next_multiple_of(cluster) as u32;
    (blocks > 0).then_some([blocks, 1, 1])
}

/// The number of blocks or clusters for `items`, as even as possible: each gets the same number of
/// items or one fewer.
fn evenly(items: usize, wave: usize) -> usize {
    let rounds = items.div_ceil(wave * WAVES).max(1);
    items.div_ceil(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(work: Work, threads: u32, multiprocessors: u32, resident: u32) -> usize {
        partition(work, threads, multiprocessors, resident).map_or(0, |grid| grid[0] as usize)
    }

    #[test]
    fn blocks_never_exceed_the_work_and_are_zero_only_without_work() {
        for elements in [0, 1, 31, 256, 257, 10_000, 1 << 20, 1 << 33] {
            for (threads, mp, resident) in [(256, 132, 8), (1024, 1, 1), (64, 7, 3), (128, 108, 0)]
            {
                let got = blocks(Work::Elements(elements), threads, mp, resident);
                assert!(got <= elements.div_ceil(threads as usize));
                assert_eq!(got == 0, elements == 0);
                let got = blocks(Work::Blocks(elements), threads, mp, resident);
                assert!(got <= elements);
                assert_eq!(got == 0, elements == 0);
            }
        }
    }

    #[test]
    fn large_work_gives_every_thread_several_elements() {
        let (threads, mp, resident) = (256, 132, 8);
        let wave = mp as usize * resident as usize;
        for elements in [1 << 20, 5_000_000, 1 << 24, 1 << 30] {
            let got = blocks(Work::Elements(elements), threads, mp, resident);
            assert!(got <= wave * WAVES);
            if got > wave {
                let per_thread = elements / (got * threads as usize);
                assert!(per_thread >= STRIDES - 1, "{elements}: {per_thread}");
            }
        }
        assert_eq!(
            blocks(Work::Elements(1 << 30), threads, mp, resident),
            wave * WAVES
        );
    }

    #[test]
    fn the_device_is_filled_before_threads_get_several_elements() {
        // One wave exactly covers the work: every thread gets one element.
        let elements = 132 * 8 * 256;
        assert_eq!(blocks(Work::Elements(elements), 256, 132, 8), 132 * 8);
    }

    #[test]
    fn items_are_shared_evenly() {
        let wave = 10 * 2;
        for items in 1..2000 {
            let got = blocks(Work::Blocks(items), 128, 10, 2);
            assert!(got <= wave * WAVES);
            let most = items.div_ceil(got);
            assert_eq!(
                most,
                items.div_ceil(wave * WAVES),
                "{items} items, {got} blocks"
            );
        }
    }

    #[test]
    fn turns_get_at_most_one_wave() {
        for (items, expected) in [(0, 0), (1, 1), (20, 20), (21, 20), (1 << 20, 20)] {
            assert_eq!(blocks(Work::Turns(items), 128, 10, 2), expected);
        }
    }

    #[test]
    fn grids_are_multiples_of_the_cluster() {
        for items in [0, 1, 3, 31, 32, 33, 1000, usize::MAX] {
            for cluster in [1, 2, 4, 8] {
                for work in [
                    Work::Elements(items),
                    Work::Blocks(items),
                    Work::Clusters(items),
                    Work::Turns(items),
                ] {
                    let grid = partition_over(work, 64, 24, cluster);
                    assert_eq!(grid.is_none(), items == 0, "{work:?}");
                    let blocks = grid.map_or(0, |grid| grid[0]);
                    assert_eq!(blocks % cluster, 0, "{work:?}, {cluster}");
                }
            }
        }
        let clusters = |items| partition_over(Work::Clusters(items), 64, 24, 4);
        assert_eq!(clusters(3), Some([12, 1, 1]));
        // 24 blocks are 6 clusters at once, 24 in four waves: two items each.
        assert_eq!(clusters(48), Some([96, 1, 1]));
        assert_eq!(
            partition(Work::Clusters(7), 64, 4, 2),
            partition(Work::Blocks(7), 64, 4, 2)
        );
    }

    #[test]
    fn a_fixed_grid_is_unchanged() {
        assert_eq!(partition(Work::Grid([3, 2, 1]), 64, 1, 1), Some([3, 2, 1]));
        assert_eq!(partition(Work::Grid([3, 0, 1]), 64, 1, 1), None);
    }
}
