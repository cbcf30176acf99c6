//! The engine: distributes the chunks of a batch over several streams of a device and assembles the
//! results.

use super::chunks::{self, Chunk, Sizes, TooLong};
use super::order::Order;
use super::output_columns::OutputColumns;
use super::packed::Packed;
use super::prepare::Prepared;
use super::results::{Collector, Pool, TableResult};
use super::stream_queue::{FinishedChunk, Job, StreamQueue};
use super::times::{self, StageTime};
use crate::{Batch, Engine, Resample, Resampled, SeriesError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpstride_core::run::Setup;
use warpstride_cuda::gpu::{Device, GpuError};
use warpstride_kernels::series::bucket::Bucketing;

/// Number of points per chunk: large enough that the latency of a copy is negligible (16 MB take
/// 0.3 ms at 55 GB/s), small enough that so are the first and the last copy, which nothing
/// overlaps.
const USUAL: usize = 1 << 20;
/// Largest number of points that can be addressed by 32-bit indices, one of which is reserved.
const MOST: usize = (1 << 31) - 2;
/// How long the host polls a chunk before it blocks.
const POLLING: Duration = Duration::from_millis(5);

/// The kernels of an aggregation, for [`CudaDevice::new`](warpstride_cuda::gpu::CudaDevice::new).
#[must_use]
pub fn kernels() -> warpstride_cuda::cuda::Kernels {
    warpstride_core::kernels::unpacked(warpstride_ptx::SERIES)
}

/// Executes a plan on a device.
pub struct GpuEngine<M: Device> {
    devices: Vec<M>,
    /// (device).
    queues: Vec<StreamQueue<M>>,
    pool: Pool<M>,
    plan: Resample,
    rules: Vec<Bucketing>,
    outputs: Vec<OutputColumns>,
    sizes: Sizes,
    /// Whether timestamps are compressed for the transfer.
    coded: bool,
    setup: Setup,
}

impl<M: Device> std::fmt::Debug for GpuEngine<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuEngine")
            .field("setup", &self.setup)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// A batch in page-locked memory, examined and split into chunks.
pub struct Staged<M: Device> {
    jobs: Vec<Job>,
    packed: Vec<Packed<M>>,
    series: usize,
    skipped: usize,
    /// Points that the host dropped because a later one has the same time.
    dropped: usize,
}

/// Aggregates in page-locked memory, chunk by chunk.
pub struct PinnedResults<M: Device> {
    done: Vec<FinishedChunk<M>>,
}

impl<M: Device> Staged<M> {
    /// Number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.jobs.len()
    }

    /// Bytes transferred to the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let chunks = self.packed.iter().zip(&self.jobs);
        chunks.map(|(packed, job)| packed.bytes(&job.chunk)).sum()
    }
}

impl<M: Device> PinnedResults<M> {
    /// The buckets of each chunk and granularity.
    pub fn tables(&self) -> impl Iterator<Item = &TableResult<M>> {
        self.done.iter().flat_map(|done| &done.tables)
    }
}

impl<M: Device> GpuEngine<M> {
    /// Makes an engine with one stream: copies do not overlap with computation.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(device: M, plan: Resample) -> Result<Self, SeriesError> {
        Self::with_streams(vec![device], plan)
    }

    /// Makes an engine with several streams of one device, which process chunks in turn.
    ///
    /// # Errors
    /// If `devices` is empty; errors of the device.
    pub fn with_streams(devices: Vec<M>, plan: Resample) -> Result<Self, SeriesError> {
        let Some(first) = devices.first() else {
            return Err(GpuError::NoDevices.into());
        };
        let setup = Setup {
            backend: first.backend(),
            device: first.device_name(),
            precision: "f64",
        };
        let outputs = OutputColumns::of(&plan);
        let granularities = plan.granularities().len();
        let (free, _) = first.memory()?;
        let available = free / 10 * 9 / devices.len();
        let most = (available / bytes_of_point::<M>(granularities, &outputs)).clamp(1, MOST);
        let queues = devices.iter();
        let queues = queues.map(|device| StreamQueue::new(device, granularities, &outputs));
        Ok(Self {
            queues: queues.collect::<Result<_, _>>()?,
            devices,
            pool: Pool::new(),
            rules: plan.granularities().iter().map(|g| g.bucketing()).collect(),
            sizes: Sizes {
                usual: USUAL.min(most),
                most,
            },
            coded: true,
            outputs,
            plan,
            setup,
        })
    }

    /// Sets the sizes of chunks: about `usual` points, at most `most`.
    #[must_use]
    pub fn chunked(mut self, usual: usize, most: usize) -> Self {
        let most = most.clamp(1, MOST);
        self.sizes = Sizes {
            usual: usual.clamp(1, most),
            most,
        };
        self
    }

    /// Sets whether timestamps are compressed for the transfer to the device. On by default.
    #[must_use]
    pub fn coded(self, coded: bool) -> Self {
        Self { coded, ..self }
    }

    /// Splits a batch into chunks. If no split suits all granularities, each granularity gets its
    /// own chunks.
    fn jobs(&self, prepared: &Prepared<'_>) -> Result<Vec<Job>, SeriesError> {
        let rates = self
            .plan
            .aggregates()
            .iter()
            .any(|aggregate| aggregate.rate);
        let of = |indices: Vec<usize>| {
            let rules: Vec<Bucketing> = indices.iter().map(|index| self.rules[*index]).collect();
            let chunks = chunks::split_batch(prepared, &rules, rates, self.sizes)?;
            let granularities: Arc<[usize]> = indices.into();
            let job = |chunk: Chunk| Job {
                chunk,
                granularities: Arc::clone(&granularities),
            };
            Ok(chunks.into_iter().map(job).collect())
        };
        let all = (0..self.rules.len()).collect();
        let jobs: Result<Vec<Job>, TooLong> = of(all).or_else(|_| {
            let each = (0..self.rules.len()).map(|index| of(vec![index]));
            let each = each.collect::<Result<Vec<_>, _>>()?;
            Ok(each.into_iter().flatten().collect())
        });
        jobs.map_err(|refused| self.too_long_error(refused))
    }

    fn too_long_error(
        &self,
        TooLong {
            series,
            points,
            unsorted,
        }: TooLong,
    ) -> SeriesError {
        let bytes = points.saturating_mul(bytes_of_point::<M>(self.rules.len(), &self.outputs));
        let (why, what) = if unsorted {
            ("are not sorted by time", "sort them")
        } else {
            ("cannot be split between buckets", "choose shorter buckets")
        };
        SeriesError::DeviceMemory(format!(
            "series {series}: its {points} points {why} and need {bytes} bytes of memory of {}, which has \
             space for {} points at a time: {what}, or use the CPU",
            self.setup.device, self.sizes.most
        ))
    }

    /// Copies a batch to page-locked memory, for [`GpuEngine::resample_staged`].
    ///
    /// # Errors
    /// If memory is insufficient, or a series is too long for the device.
    pub fn stage(&mut self, batch: &Batch) -> Result<Staged<M>, SeriesError> {
        let prepared = Prepared::new(batch, self.plan.nan(), self.plan.duplicates())?;
        let jobs = self.jobs(&prepared)?;
        let device = &self.devices[0];
        let mut packed = Vec::with_capacity(jobs.len());
        for job in &jobs {
            let mut chunk = Packed::new(device)?;
            chunk.fill(device, &prepared, &job.chunk, self.coded)?;
            packed.push(chunk);
        }
        Ok(Staged {
            jobs,
            packed,
            series: prepared.series(),
            skipped: prepared.skipped,
            dropped: prepared.dropped,
        })
    }

    /// Computes all aggregates of a batch in page-locked memory, and leaves them in page-locked
    /// memory.
    ///
    /// # Errors
    /// If memory is insufficient; errors of the device.
    pub fn resample_staged(&mut self, staged: &Staged<M>) -> Result<PinnedResults<M>, SeriesError> {
        let mut done = Vec::with_capacity(staged.jobs.len());
        let packed_chunks = PackedChunks::Ready(&staged.packed);
        self.run(&staged.jobs, &packed_chunks, &mut |_, chunk| {
            done.push(chunk);
            Ok(())
        })?;
        Ok(PinnedResults { done })
    }

    /// Measures the time of each stage for the first chunk of a batch that is sorted and in device
    /// memory. With [`GpuEngine::chunked`], the chunk can be the whole batch.
    ///
    /// # Errors
    /// If memory is insufficient; errors of the device.
    pub fn time_stages(&mut self, staged: &Staged<M>) -> Result<Vec<StageTime>, SeriesError> {
        let (Some(job), Some(packed)) = (staged.jobs.first(), staged.packed.first()) else {
            return Ok(Vec::new());
        };
        let (device, queue) = (&self.devices[0], &mut self.queues[0]);
        let (sent, _) = queue.load(device, &job.chunk, Some(packed))?;
        let times = times::of_stages(device, queue, job, &self.rules, &self.outputs)?;
        drop(sent);
        Ok(times)
    }

    /// Milliseconds, by the device's clock, to sort the first chunk of a batch; `None` if it is
    /// already sorted.
    ///
    /// # Errors
    /// If memory is insufficient; errors of the device.
    pub fn time_sort(&mut self, staged: &Staged<M>) -> Result<Option<f64>, SeriesError> {
        let (Some(job), Some(packed)) = (staged.jobs.first(), staged.packed.first()) else {
            return Ok(None);
        };
        let (device, queue) = (&self.devices[0], &mut self.queues[0]);
        Ok(times::of_sort(device, queue, &job.chunk, packed)?)
    }

    /// Returns the page-locked memory of results to the pool.
    pub fn recycle(&mut self, results: PinnedResults<M>) {
        for done in results.done {
            self.pool.give_back(done.tables);
        }
    }

    /// Assembles the results of a batch, and returns their page-locked memory to the pool.
    ///
    /// # Errors
    /// If host memory is insufficient.
    pub fn collect(
        &mut self,
        staged: &Staged<M>,
        results: PinnedResults<M>,
    ) -> Result<Resampled, SeriesError> {
        let mut whole = self.whole(&staged.jobs, staged.series)?;
        let mut duplicates = 0;
        for done in results.done {
            duplicates += append(&mut whole, &staged.jobs, &mut self.pool, done);
        }
        Ok(whole.finish(duplicates + staged.dropped, staged.skipped))
    }
}

/// The source of packed chunks.
enum PackedChunks<'a, M: Device> {
    /// All chunks are already packed.
    Ready(&'a [Packed<M>]),
    /// Each stream packs its chunks when it starts them.
    OnDemand(&'a Prepared<'a>),
}

type Sink<'a, M> = &'a mut dyn FnMut(&mut Pool<M>, FinishedChunk<M>) -> Result<(), SeriesError>;

impl<M: Device> GpuEngine<M> {
    /// Processes the chunks on the streams in turn; `sink` receives the results in the order of the
    /// chunks.
    fn run(
        &mut self,
        jobs: &[Job],
        packed_chunks: &PackedChunks<'_, M>,
        sink: Sink<'_, M>,
    ) -> Result<(), SeriesError> {
        let ran = self.run_all(jobs, packed_chunks, sink);
        if ran.is_err() {
            for queue in &mut self.queues {
                queue.abandon();
            }
        }
        ran
    }

    fn run_all(
        &mut self,
        jobs: &[Job],
        packed_chunks: &PackedChunks<'_, M>,
        sink: Sink<'_, M>,
    ) -> Result<(), SeriesError> {
        let queues = self.queues.len();
        let mut under_way = VecDeque::new();
        for (number, job) in jobs.iter().enumerate() {
            let at = number % queues;
            if under_way.len() == queues {
                self.finish_oldest(&mut under_way, sink)?;
            }
            let (device, queue) = (&self.devices[at], &mut self.queues[at]);
            let packed = match packed_chunks {
                PackedChunks::Ready(packed) => Some(&packed[number]),
                PackedChunks::OnDemand(prepared) => {
                    queue.pack(device, prepared, &job.chunk, self.coded)?;
                    None
                }
            };
            queue.start(device, number, job, packed, &self.rules, &self.outputs)?;
            under_way.push_back(at);
            for at in &under_way {
                self.queues[*at].advance(&self.devices[*at], &mut self.pool)?;
            }
        }
        while !under_way.is_empty() {
            self.finish_oldest(&mut under_way, sink)?;
        }
        Ok(())
    }

    /// Waits for the oldest chunk, and meanwhile advances the others.
    fn finish_oldest(
        &mut self,
        under_way: &mut VecDeque<usize>,
        sink: Sink<'_, M>,
    ) -> Result<(), SeriesError> {
        let Some(oldest) = under_way.front().copied() else {
            return Ok(());
        };
        let began = Instant::now();
        loop {
            let mut done = false;
            for at in under_way.iter() {
                let ready = self.queues[*at].advance(&self.devices[*at], &mut self.pool)?;
                done |= ready && *at == oldest;
            }
            if done || began.elapsed() > POLLING {
                break;
            }
            std::thread::yield_now();
        }
        under_way.pop_front();
        match self.queues[oldest].finish(&self.devices[oldest], &mut self.pool)? {
            Some(done) => sink(&mut self.pool, done),
            None => Ok(()),
        }
    }

    /// Makes an empty collector with capacity for all results.
    fn whole(&self, jobs: &[Job], series: usize) -> Result<Collector, SeriesError> {
        let mut capacities = vec![0; self.rules.len()];
        for job in jobs {
            for (index, capacity) in job.granularities.iter().zip(&job.chunk.capacities) {
                capacities[*index] += capacity;
            }
        }
        let tables = self.outputs.len();
        Collector::new(
            &self.plan,
            &self.outputs,
            &capacities.repeat(tables),
            series,
        )
    }
}

/// Appends the results of a chunk to the whole. Returns its duplicates unless they were already
/// counted.
fn append<M: Device>(
    whole: &mut Collector,
    jobs: &[Job],
    pool: &mut Pool<M>,
    done: FinishedChunk<M>,
) -> usize {
    let job = &jobs[done.job];
    for table in &done.tables {
        whole.append(table, job.chunk.continued);
    }
    pool.give_back(done.tables);
    if job.granularities.contains(&0) {
        done.duplicates
    } else {
        0
    }
}

impl<M: Device> Engine for GpuEngine<M> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn plan(&self) -> &Resample {
        &self.plan
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        let prepared = Prepared::new(batch, self.plan.nan(), self.plan.duplicates())?;
        let jobs = self.jobs(&prepared)?;
        let mut whole = self.whole(&jobs, prepared.series())?;
        let mut duplicates = 0;
        self.run(
            &jobs,
            &PackedChunks::OnDemand(&prepared),
            &mut |pool, done| {
                duplicates += append(&mut whole, &jobs, pool, done);
                Ok(())
            },
        )?;
        Ok(whole.finish(duplicates + prepared.dropped, prepared.skipped))
    }
}

/// Bytes of device memory per point if each point is a bucket of its own.
fn bytes_of_point<M: Device>(granularities: usize, outputs: &[OutputColumns]) -> usize {
    // Timestamps and values as transferred, sorted, without duplicates, and as rates; numbers of
    // points for each of these; compressed timestamps; buffers for finding buckets.
    const OF_POINTS: usize = 4 * 16 + 4 * 4 + 4 + 4;
    let of_tables = outputs.iter().map(|outputs| {
        // First point, start, columns, and the bucket of every 32nd point.
        let table = 4 + 8 + 8 * outputs.columns() + 1;
        granularities * table + Order::<M>::bytes_of_point(&outputs.ordered)
    });
    OF_POINTS + of_tables.sum::<usize>()
}

#[cfg(test)]
mod tests;
