//! The kernels, launched one after the other as the engine does it.

use super::definition::{Answer, Batch};
use super::series::{copy, launch, poisoned, zeroed};
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch};
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::lookback::progress_len;
use warpstride_kernels::series::methods::columns_of;
use warpstride_kernels::series::partial::places;
use warpstride_kernels::series::reduce_long::{SeriesDeviations, SeriesReduceLong};
use warpstride_kernels::series::reduce_tiles::{SeriesReduceCalendar, SeriesReduceFixed};
use warpstride_kernels::series::starts::SeriesStarts;
use warpstride_kernels::series::tile::tiles;
use warpstride_kernels::series::tile_block::BLOCK;

/// As [`launch`], in blocks of the size that the kernel has.
pub(super) fn launch_tiles<L: Launch<Emulated> + Sync>(
    launch: &L,
    (grid, _, order): (u32, u32, Order),
) {
    let config = LaunchConfig {
        grid: [grid, 1, 1],
        block: [BLOCK, 1, 1],
        shared_bytes: launch.dynamic_shared_bytes(BLOCK),
    };
    emulator::launch_in(launch, config, order).expect("a launch");
}

/// The next launch's words are those of the second half.
pub(super) const SECOND_HALF: u32 = 1 << 31;

/// Scratch memory, which launches share.
pub(super) struct Scratch {
    pub(super) progress: Memory<u32>,
    pub(super) sums: Memory<f64>,
    pub(super) keys: Memory<[u64; 2]>,
    pub(super) come: Memory<u32>,
}

impl Scratch {
    pub(super) fn new(points: usize) -> Self {
        Self {
            progress: zeroed(progress_len(points)),
            sums: poisoned(places(points)),
            keys: poisoned(places(points)),
            come: zeroed(places(points)),
        }
    }

    /// The words of the launch that comes next, and no tickets taken.
    pub(super) fn is_ready(&self) -> bool {
        let (ticket, words) = self.progress.as_slice().split_first().expect("a ticket");
        let (first, second) = words.split_at(words.len() / 2);
        let next = match *ticket {
            0 => first,
            SECOND_HALF => second,
            _ => return false,
        };
        next.iter().all(|word| *word == 0) && self.come.as_slice().iter().all(|count| *count == 0)
    }
}

pub(super) fn computed(
    batch: &Batch,
    rule: Bucketing,
    methods: u32,
    scratch: &mut Scratch,
    config: (u32, u32, Order),
) -> Answer {
    let (points, series) = (batch.times.len() as u32, batch.offsets.len() as u32 - 1);
    let (times, values) = (copy(&batch.times), copy(&batch.values));
    let offsets = copy(&batch.offsets);
    let mut bits = zeroed(points.div_ceil(32) as usize);
    let mut of_tile = poisoned(tiles(points as usize) + 1);
    launch(
        &SeriesStarts {
            offsets: offsets.read(),
            bits: bits.write(),
            of_tile: of_tile.write(),
            points,
            series,
        },
        config,
    );

    let capacity = points + 5;
    let (column, stride) = (1_u32, capacity + 2);
    let mut first = poisoned(capacity as usize + 1);
    let mut starts = poisoned(capacity as usize);
    let mut of_series = poisoned(series as usize + 1);
    let mut covering = poisoned(points.div_ceil(32) as usize);
    let mut facts = poisoned(8);
    let count = columns_of(methods as usize);
    let mut columns = poisoned::<f64>((count + 1) * stride as usize);
    macro_rules! tiles {
        ($kernel:ident, $($rule:ident: $value:expr),*) => {
            launch_tiles(
                &$kernel {
                    times: times.read(),
                    values: values.read(),
                    bits: bits.read(),
                    of_tile: of_tile.read(),
                    offsets: offsets.read(),
                    first: first.write(),
                    starts: starts.write(),
                    of_series: of_series.write(),
                    covering: covering.write(),
                    facts: facts.write(),
                    columns: columns.write(),
                    progress_length: scratch.progress.as_slice().len() as u32,
                    progress: scratch.progress.write(),
                    points,
                    series,
                    capacity,
                    column,
                    stride,
                    methods,
                    $($rule: $value,)*
                },
                config,
            )
        };
    }
    if rule.calendar == 0 {
        tiles!(SeriesReduceFixed, step: rule.step, magic: rule.magic, shift: rule.shift);
    } else {
        tiles!(SeriesReduceCalendar, calendar: rule.calendar);
    }
    launch(
        &SeriesReduceLong {
            values: values.read(),
            first: first.read(),
            covering: covering.read(),
            facts: facts.write(),
            columns: columns.write(),
            sums: scratch.sums.write(),
            keys: scratch.keys.write(),
            come: scratch.come.write(),
            points,
            capacity,
            column,
            stride,
            methods,
        },
        config,
    );
    launch(
        &SeriesDeviations {
            values: values.read(),
            first: first.read(),
            covering: covering.read(),
            facts: facts.read(),
            columns: columns.write(),
            sums: scratch.sums.write(),
            keys: scratch.keys.write(),
            come: scratch.come.write(),
            points,
            capacity,
            column,
            stride,
            methods,
        },
        config,
    );
    assert_eq!(columns.check_canaries(), Ok(()));
    assert_eq!(first.check_canaries(), Ok(()));
    assert_eq!(starts.check_canaries(), Ok(()));
    assert_eq!(of_series.check_canaries(), Ok(()));
    assert_eq!(covering.check_canaries(), Ok(()));
    assert_eq!(scratch.progress.check_canaries(), Ok(()));
    assert_eq!(scratch.sums.check_canaries(), Ok(()));
    assert_eq!(scratch.come.check_canaries(), Ok(()));
    assert!(scratch.is_ready(), "scratch memory for the next launch");

    let [found, longest] = [facts.as_slice()[0] as usize, facts.as_slice()[1] as usize];
    let bits = |column: usize| {
        columns.as_slice()[column * stride as usize..][..found]
            .iter()
            .map(|v: &f64| v.to_bits())
            .collect()
    };
    Answer {
        first: first.as_slice()[..=found].to_vec(),
        starts: starts.as_slice()[..found].to_vec(),
        of_series: of_series.as_slice().to_vec(),
        covering: covering.as_slice().to_vec(),
        longest: longest as u32,
        columns: (1..=count).map(bits).collect(),
    }
}
