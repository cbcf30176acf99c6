//! Order statistics of buckets: quantiles and numbers of distinct values.
//!
//! The number of points of a bucket alone decides which kernel handles it, and each kernel skips
//! the buckets of the others. All kernels are queued; those without work return at once.

use super::resident::{Columns, Heads, Points};
use crate::Method;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::order_block::SeriesOrderBlock;
use warpstride_kernels::series::order_distinct::{SeriesDistinct, SeriesDistinctClear};
use warpstride_kernels::series::order_long::slots;
use warpstride_kernels::series::order_query::{
    LONG, MEDIAN, NUNIQUE, OrderQuery, PERCENTILE, SHORT, WARP,
};
use warpstride_kernels::series::order_select::{
    BINS, PASSES, QUERIES, SelectState, SeriesOrderSelect,
};
use warpstride_kernels::series::order_short::{FEW, SeriesOrder8, SeriesOrder32};
use warpstride_kernels::series::order_warp::SeriesOrderWarp;

/// Number of points that a warp of [`SeriesOrderWarp`] and a block of [`SeriesOrderBlock`] process
/// together.
const WARP_POINTS: usize = 256;
const BLOCK_POINTS: usize = 4096;
/// Warps per block.
const WARPS: usize = 4;

/// The order statistics of a plan.
pub(super) struct Order<M: Device> {
    /// All queries.
    queries: M::Buffer<OrderQuery>,
    /// The quantiles among them, grouped as launches for long buckets take them.
    quantiles: Vec<M::Buffer<OrderQuery>>,
    /// Columns of the numbers of distinct values.
    distinct: Vec<u32>,
    long: Long<M>,
}

/// Memory for buckets that exceed a block; empty until there may be any.
struct Long<M: Device> {
    /// (slot, query, end, bin); all 0 between launches.
    histograms: M::Buffer<u32>,
    /// (slot, query, end).
    states: M::Buffer<SelectState>,
    /// (slot, query, end).
    found: M::Buffer<u64>,
    /// (slot); all 0 between launches.
    done: M::Buffer<u32>,
    /// (slot); all 0 between launches.
    counts: M::Buffer<u32>,
    /// (point, 2).
    table: M::Buffer<u64>,
}

impl<M: Device> Order<M> {
    /// Prepares those of `methods` that need sorted values; the first is written to column
    /// `first_column`, the others to the following columns.
    ///
    /// # Errors
    /// If device memory is insufficient.
    pub(super) fn new(device: &M, methods: &[Method], first_column: usize) -> Result<Self> {
        let ordered = methods.iter().filter(|method| method.needs_sorted_values());
        let queries: Vec<OrderQuery> = ordered
            .zip(first_column..)
            .map(|(method, column)| {
                let (kind, percent) = match method {
                    Method::Nunique => (NUNIQUE, 0.0),
                    Method::Percentile(percent) => (PERCENTILE, *percent),
                    _ => (MEDIAN, 0.0),
                };
                OrderQuery {
                    percent,
                    kind,
                    column: column as u32,
                }
            })
            .collect();
        let buffer = |queries: &[OrderQuery]| {
            let mut buffer = device.alloc("order statistics", queries.len())?;
            device.upload(&mut buffer, queries)?;
            Ok(buffer)
        };
        let (distinct, quantiles): (Vec<_>, Vec<_>) =
            queries.iter().partition(|query| query.kind == NUNIQUE);
        Ok(Self {
            queries: buffer(&queries)?,
            quantiles: quantiles
                .chunks(QUERIES)
                .map(buffer)
                .collect::<Result<_>>()?,
            distinct: distinct.iter().map(|query| query.column).collect(),
            long: Long::new(device)?,
        })
    }

    /// Whether there are no order statistics.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Queues all of them. `covering`: (window of 32 points), the bucket of the window's first
    /// point; `longest`: an upper bound on the points of a bucket (the number of points if nothing
    /// else is known).
    ///
    /// # Errors
    /// If device memory is insufficient; errors of the driver.
    pub(super) fn queue(
        &mut self,
        device: &M,
        points: &Points<M>,
        covering: &M::Buffer<u32>,
        heads: &Heads<M>,
        columns: &mut Columns<M>,
        longest: usize,
    ) -> Result<()> {
        if self.is_empty() || points.points == 0 || heads.capacity == 0 {
            return Ok(());
        }
        macro_rules! sorted {
            ($kernel:ident, $work:expr $(, $covering:ident)?) => {
                device.launch(
                    &$kernel {
                        values: points.values.read(),
                        first: heads.first.read(),
                        $($covering: covering.read(),)?
                        facts: heads.facts.read(),
                        wanted: self.queries.read(),
                        out: columns.values.write(),
                        points: points.points as u32,
                        capacity: heads.capacity as u32,
                        queries: self.queries.len() as u32,
                        columns: columns.count as u32,
                        stride: columns.stride as u32,
                    },
                    $work,
                )
            };
        }
        sorted!(SeriesOrder8, Work::Elements(heads.capacity))?;
        if longest > FEW as usize {
            sorted!(SeriesOrder32, Work::Elements(heads.capacity))?;
        }
        if longest > SHORT as usize {
            let groups = points.points.div_ceil(WARP_POINTS * WARPS);
            sorted!(SeriesOrderWarp, Work::Blocks(groups), covering)?;
        }
        if longest > WARP as usize {
            let groups = points.points.div_ceil(BLOCK_POINTS);
            sorted!(SeriesOrderBlock, Work::Blocks(groups), covering)?;
        }
        if longest > LONG as usize {
            self.queue_long(device, points, covering, heads, columns)?;
        }
        Ok(())
    }

    fn queue_long(
        &mut self,
        device: &M,
        points: &Points<M>,
        covering: &M::Buffer<u32>,
        heads: &Heads<M>,
        columns: &mut Columns<M>,
    ) -> Result<()> {
        let slots = slots(points.points);
        let parts = Work::Blocks(2 * slots);
        let most = self.quantiles.iter().map(M::Buffer::<_>::len).max();
        let long = &mut self.long;
        long.reserve_ranks(device, slots, 2 * most.unwrap_or(0))?;
        for queries in &self.quantiles {
            for pass in 0..PASSES {
                let select = SeriesOrderSelect {
                    values: points.values.read(),
                    first: heads.first.read(),
                    covering: covering.read(),
                    facts: heads.facts.read(),
                    wanted: queries.read(),
                    histograms: long.histograms.write(),
                    states: long.states.write(),
                    found: long.found.write(),
                    done: long.done.write(),
                    out: columns.values.write(),
                    points: points.points as u32,
                    capacity: heads.capacity as u32,
                    slots: slots as u32,
                    queries: queries.len() as u32,
                    columns: columns.count as u32,
                    stride: columns.stride as u32,
                    pass,
                };
                device.launch(&select, parts)?;
            }
        }
        for column in &self.distinct {
            long.reserve_table(device, slots, points.points)?;
            let clear = SeriesDistinctClear {
                first: heads.first.read(),
                covering: covering.read(),
                facts: heads.facts.read(),
                table: long.table.write(),
                points: points.points as u32,
                capacity: heads.capacity as u32,
                slots: slots as u32,
            };
            device.launch(&clear, parts)?;
            let distinct = SeriesDistinct {
                values: points.values.read(),
                first: heads.first.read(),
                covering: covering.read(),
                facts: heads.facts.read(),
                table: long.table.write(),
                counts: long.counts.write(),
                done: long.done.write(),
                out: columns.values.write(),
                points: points.points as u32,
                capacity: heads.capacity as u32,
                slots: slots as u32,
                columns: columns.count as u32,
                stride: columns.stride as u32,
                column: *column,
            };
            device.launch(&distinct, parts)?;
        }
        Ok(())
    }

    /// Upper bound on the bytes per point that [`Order::queue`] allocates.
    pub(super) fn bytes_of_point(methods: &[Method]) -> usize {
        let ordered = methods.iter().filter(|method| method.needs_sorted_values());
        let quantiles = ordered
            .filter(|method| **method != Method::Nunique)
            .count()
            .min(QUERIES);
        let of_rank = BINS * size_of::<u32>() + size_of::<SelectState>() + size_of::<u64>();
        let of_slot = 2 * quantiles * of_rank + 2 * size_of::<u32>();
        let table = if methods.contains(&Method::Nunique) {
            2 * size_of::<u64>()
        } else {
            0
        };
        table + of_slot.div_ceil(LONG as usize)
    }
}

impl<M: Device> Long<M> {
    fn new(device: &M) -> Result<Self> {
        Ok(Self {
            histograms: device.alloc("digits of long buckets", 0)?,
            states: device.alloc("ranks of long buckets", 0)?,
            found: device.alloc("keys of long buckets", 0)?,
            done: device.alloc("tiles of long buckets", 0)?,
            counts: device.alloc("distinct values of long buckets", 0)?,
            table: device.alloc("values of long buckets", 0)?,
        })
    }

    /// Zeroes memory that grows.
    fn reserve_ranks(&mut self, device: &M, slots: usize, ranks: usize) -> Result<()> {
        let all = slots.saturating_mul(ranks);
        if self.states.len() < all {
            self.histograms = device.alloc("digits of long buckets", 0)?;
            self.histograms = device.alloc("digits of long buckets", all.saturating_mul(BINS))?;
            self.found = device.alloc("keys of long buckets", all)?;
            self.states = device.alloc("ranks of long buckets", all)?;
        }
        self.reserve_slots(device, slots)
    }

    fn reserve_table(&mut self, device: &M, slots: usize, points: usize) -> Result<()> {
        if self.table.len() < 2 * points {
            self.table = device.alloc("values of long buckets", 0)?;
            self.table = device.alloc("values of long buckets", 2 * points)?;
        }
        self.reserve_slots(device, slots)
    }

    fn reserve_slots(&mut self, device: &M, slots: usize) -> Result<()> {
        if self.counts.len() < slots {
            self.done = device.alloc("tiles of long buckets", slots)?;
            self.counts = device.alloc("distinct values of long buckets", slots)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    /// The definition: sort, then select.
    fn expected(bucket: &[f64], method: Method) -> f64 {
        let mut sorted = bucket.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        match method {
            Method::Nunique => {
                sorted.dedup();
                sorted.len() as f64
            }
            Method::Percentile(percent) => {
                let exact = (n - 1) as f64 * percent / 100.0;
                let below = exact as usize;
                let above = (below + 1).min(n - 1);
                sorted[below] + (sorted[above] - sorted[below]) * (exact - below as f64)
            }
            _ => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
        }
    }

    #[test]
    fn order_statistics_of_buckets_of_all_lengths() {
        let device = EmulatedDevice::default();
        let mut methods = vec![Method::Nunique, Method::Median];
        // More queries than a launch for long buckets takes.
        methods.extend((0..9).map(|i| Method::Percentile(f64::from(12 * i))));
        methods.push(Method::Sum);
        let mut order = Order::new(&device, &methods, 1).unwrap();
        // Long buckets come second, when their memory is allocated; then short ones again.
        for lengths in [&[3, 1, 20][..], &[7, 5000, 300, 9000, 1000, 30], &[4, 700]] {
            let mut first = vec![0_u32];
            for length in lengths {
                first.push(first.last().unwrap() + length);
            }
            let count = *first.last().unwrap();
            let values: Vec<f64> = (0..u64::from(count))
                .map(|i| (i * 2_654_435_761 % 4093) as f64 - 1000.0)
                .collect();
            let covering: Vec<u32> = (0..count)
                .step_by(32)
                .map(|point| first.partition_point(|f| *f <= point) as u32 - 1)
                .collect();
            let longest = *lengths.iter().max().unwrap();
            let mut facts = vec![0; Heads::<EmulatedDevice>::FACTS];
            facts[Heads::<EmulatedDevice>::BUCKETS] = lengths.len() as u32;
            facts[Heads::<EmulatedDevice>::LONGEST] = longest;
            let mut points = Points::with_capacity(&device, count as usize, 1).unwrap();
            device.upload(&mut points.values, &values).unwrap();
            let mut heads = Heads::with_capacity(&device, lengths.len(), 1).unwrap();
            device.upload(&mut heads.first, &first).unwrap();
            device.upload(&mut heads.facts, &facts).unwrap();
            let mut there = device.alloc("", covering.len()).unwrap();
            device.upload(&mut there, &covering).unwrap();
            let stride = lengths.len() + 1;
            let mut columns = Columns::with_capacity(&device, stride, 12).unwrap();
            let known = longest as usize;
            order
                .queue(&device, &points, &there, &heads, &mut columns, known)
                .unwrap();
            let mut found = vec![0.0; 12 * stride];
            device.download(&columns.values, &mut found).unwrap();
            for (column, method) in (1..).zip(&methods[..11]) {
                for bucket in 0..lengths.len() {
                    let of = first[bucket] as usize..first[bucket + 1] as usize;
                    let expected = expected(&values[of], *method);
                    let found = found[column * stride + bucket];
                    assert!(
                        (found - expected).abs() <= 1e-9,
                        "{method:?}: {found}, {expected}"
                    );
                }
            }
            assert!(found[..stride].iter().all(|value| *value == 0.0));
        }
    }
}
