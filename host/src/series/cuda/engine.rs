//! The engine: a batch in chunks over several queues of the device, and the whole that comes back.

use super::chunks::{self, Chunk, Sizes, TooLong};
use super::lane::{Done, Job, Lane};
use super::order::Order;
use super::packed::Packed;
use super::prepare::Prepared;
use super::results::{Collector, Pool, TableResult};
use super::times::{self, StageTime};
use super::wanted::Wanted;
use crate::gpu::{GpuError, Machine};
use crate::series::{Batch, Engine, Resample, Resampled, SeriesError, Setup};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpstride_kernels::series::bucket::Bucketing;

/// Points of a chunk: long enough that the start of a copy does not matter (16 MB are 0.3 ms at 55 GB/s), short enough
/// that the first and the last, which nothing overlaps with, do not either.
const USUAL: usize = 1 << 20;
/// Points that places of 32 bits, of which one is kept, can tell apart.
const MOST: usize = (1 << 31) - 2;
/// How long the host looks again and again whether a chunk is done, before it sleeps.
const LOOKING: Duration = Duration::from_millis(5);

/// Whether the aggregation launches the kernel of that name.
#[must_use]
pub fn needs(kernel: &str) -> bool {
    kernel.starts_with("series_")
}

/// A plan on a device.
pub struct GpuEngine<M: Machine> {
    machines: Vec<M>,
    /// (machine).
    lanes: Vec<Lane<M>>,
    pool: Pool<M>,
    plan: Resample,
    rules: Vec<Bucketing>,
    wanted: Vec<Wanted>,
    sizes: Sizes,
    /// Whether timestamps are coded on their way.
    coded: bool,
    setup: Setup,
}

impl<M: Machine> std::fmt::Debug for GpuEngine<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuEngine")
            .field("setup", &self.setup)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// A batch in page-locked memory, looked at and cut into chunks.
pub struct Staged<M: Machine> {
    jobs: Vec<Job>,
    packed: Vec<Packed<M>>,
    series: usize,
    skipped: usize,
}

/// Aggregates in page-locked memory, chunk by chunk.
pub struct Fetched<M: Machine> {
    done: Vec<Done<M>>,
}

impl<M: Machine> Staged<M> {
    /// Chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.jobs.len()
    }

    /// Bytes that travel to the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let chunks = self.packed.iter().zip(&self.jobs);
        chunks.map(|(packed, job)| packed.bytes(&job.chunk)).sum()
    }
}

impl<M: Machine> Fetched<M> {
    /// Buckets of each chunk and granularity.
    pub fn tables(&self) -> impl Iterator<Item = &TableResult<M>> {
        self.done.iter().flat_map(|done| &done.tables)
    }
}

impl<M: Machine> GpuEngine<M> {
    /// On one queue: copies are not overlapped with work.
    ///
    /// # Errors
    /// The machine's.
    pub fn new(machine: M, plan: Resample) -> Result<Self, SeriesError> {
        Self::with_lanes(vec![machine], plan)
    }

    /// On several queues of one device, which take chunks in turn.
    ///
    /// # Errors
    /// No queue, or the machine's.
    pub fn with_lanes(machines: Vec<M>, plan: Resample) -> Result<Self, SeriesError> {
        let Some(first) = machines.first() else {
            return Err(GpuError::NoDevices.into());
        };
        let setup = Setup {
            backend: first.backend(),
            device: first.device_name(),
        };
        let wanted = Wanted::of(&plan);
        let granularities = plan.granularities().len();
        let (free, _) = first.memory()?;
        let room = free / 10 * 9 / machines.len();
        let most = (room / bytes_of_point::<M>(granularities, &wanted)).clamp(1, MOST);
        let lanes = machines.iter();
        let lanes = lanes.map(|machine| Lane::new(machine, granularities, &wanted));
        Ok(Self {
            lanes: lanes.collect::<Result<_, _>>()?,
            machines,
            pool: Pool::new(),
            rules: plan.granularities().iter().map(|g| g.bucketing()).collect(),
            sizes: Sizes {
                usual: USUAL.min(most),
                most,
            },
            coded: true,
            wanted,
            plan,
            setup,
        })
    }

    /// With other sizes of chunks: about `usual` points, not more than `most`.
    #[must_use]
    pub fn chunked(mut self, usual: usize, most: usize) -> Self {
        let most = most.clamp(1, MOST);
        self.sizes = Sizes {
            usual: usual.clamp(1, most),
            most,
        };
        self
    }

    /// With coded timestamps on their way to the device, as usual, or without.
    #[must_use]
    pub fn coded(self, coded: bool) -> Self {
        Self { coded, ..self }
    }

    /// The chunks of a batch. Where no cut suits all granularities each gets its own.
    fn jobs(&self, prepared: &Prepared<'_>) -> Result<Vec<Job>, SeriesError> {
        let rates = self
            .plan
            .aggregates()
            .iter()
            .any(|aggregate| aggregate.rate);
        let of = |places: Vec<usize>| {
            let rules: Vec<Bucketing> = places.iter().map(|place| self.rules[*place]).collect();
            let chunks = chunks::cut(prepared, &rules, rates, self.sizes)?;
            let granularities: Arc<[usize]> = places.into();
            let job = |chunk: Chunk| Job {
                chunk,
                granularities: Arc::clone(&granularities),
            };
            Ok(chunks.into_iter().map(job).collect())
        };
        let all = (0..self.rules.len()).collect();
        let jobs: Result<Vec<Job>, TooLong> = of(all).or_else(|_| {
            let each = (0..self.rules.len()).map(|place| of(vec![place]));
            let each = each.collect::<Result<Vec<_>, _>>()?;
            Ok(each.into_iter().flatten().collect())
        });
        jobs.map_err(|refused| self.refusal(refused))
    }

    fn refusal(
        &self,
        TooLong {
            series,
            points,
            unsorted,
        }: TooLong,
    ) -> SeriesError {
        let bytes = points.saturating_mul(bytes_of_point::<M>(self.rules.len(), &self.wanted));
        let (why, what) = if unsorted {
            ("are not in the order of time", "sort them")
        } else {
            ("cannot be cut between buckets", "choose shorter buckets")
        };
        SeriesError::DeviceMemory(format!(
            "series {series}: its {points} points {why} and need {bytes} bytes of the memory of {} together, which has \
             room for {} points at a time: {what}, or compute on the CPU",
            self.setup.device, self.sizes.most
        ))
    }

    /// A batch in page-locked memory, for [`GpuEngine::resample_staged`].
    ///
    /// # Errors
    /// Out of memory, or series too long for the device.
    pub fn stage(&mut self, batch: &Batch) -> Result<Staged<M>, SeriesError> {
        let prepared = Prepared::new(batch, self.plan.nan())?;
        let jobs = self.jobs(&prepared)?;
        let machine = &self.machines[0];
        let mut packed = Vec::with_capacity(jobs.len());
        for job in &jobs {
            let mut chunk = Packed::new(machine)?;
            chunk.fill(machine, &prepared, &job.chunk, self.coded)?;
            packed.push(chunk);
        }
        Ok(Staged {
            jobs,
            packed,
            series: prepared.series(),
            skipped: prepared.skipped,
        })
    }

    /// All aggregates of a batch that lies in page-locked memory, to page-locked memory.
    ///
    /// # Errors
    /// Out of memory, or the device's.
    pub fn resample_staged(&mut self, staged: &Staged<M>) -> Result<Fetched<M>, SeriesError> {
        let mut done = Vec::with_capacity(staged.jobs.len());
        let supply = Supply::Ahead(&staged.packed);
        self.run(&staged.jobs, &supply, &mut |_, chunk| {
            done.push(chunk);
            Ok(())
        })?;
        Ok(Fetched { done })
    }

    /// What the stages take on the first chunk of a batch when it lies in the device's memory, sorted. With
    /// [`GpuEngine::chunked`] it can be the whole batch.
    ///
    /// # Errors
    /// Out of memory, or the device's.
    pub fn time_stages(&mut self, staged: &Staged<M>) -> Result<Vec<StageTime>, SeriesError> {
        let (Some(job), Some(packed)) = (staged.jobs.first(), staged.packed.first()) else {
            return Ok(Vec::new());
        };
        let (machine, lane) = (&self.machines[0], &mut self.lanes[0]);
        let (sent, _) = lane.load(machine, &job.chunk, Some(packed))?;
        let times = times::of_stages(machine, lane, job, &self.rules, &self.wanted)?;
        drop(sent);
        Ok(times)
    }

    /// Milliseconds, by the device's clock, in which it sorts the first chunk of a batch; `None` where that is sorted.
    ///
    /// # Errors
    /// Out of memory, or the device's.
    pub fn time_sort(&mut self, staged: &Staged<M>) -> Result<Option<f64>, SeriesError> {
        let (Some(job), Some(packed)) = (staged.jobs.first(), staged.packed.first()) else {
            return Ok(None);
        };
        let (machine, lane) = (&self.machines[0], &mut self.lanes[0]);
        Ok(times::of_sort(machine, lane, &job.chunk, packed)?)
    }

    /// Lets the page-locked memory of results be used again.
    pub fn recycle(&mut self, fetched: Fetched<M>) {
        for done in fetched.done {
            self.pool.give_back(done.tables);
        }
    }

    /// What was fetched of a batch as one whole; the page-locked memory can be used again.
    ///
    /// # Errors
    /// Out of host memory.
    pub fn collect(
        &mut self,
        staged: &Staged<M>,
        fetched: Fetched<M>,
    ) -> Result<Resampled, SeriesError> {
        let mut whole = self.whole(&staged.jobs, staged.series)?;
        let mut duplicates = 0;
        for done in fetched.done {
            duplicates += append(&mut whole, &staged.jobs, &mut self.pool, done);
        }
        Ok(whole.finish(duplicates, staged.skipped))
    }
}

/// Where packed chunks come from.
enum Supply<'a, M: Machine> {
    /// All are there.
    Ahead(&'a [Packed<M>]),
    /// Each lane packs its own.
    InTurn(&'a Prepared<'a>),
}

type Sink<'a, M> = &'a mut dyn FnMut(&mut Pool<M>, Done<M>) -> Result<(), SeriesError>;

impl<M: Machine> GpuEngine<M> {
    /// Chunk after chunk over the lanes in turn; `sink` takes what is done in their order.
    fn run(
        &mut self,
        jobs: &[Job],
        supply: &Supply<'_, M>,
        sink: Sink<'_, M>,
    ) -> Result<(), SeriesError> {
        let ran = self.run_all(jobs, supply, sink);
        if ran.is_err() {
            for lane in &mut self.lanes {
                lane.abandon();
            }
        }
        ran
    }

    fn run_all(
        &mut self,
        jobs: &[Job],
        supply: &Supply<'_, M>,
        sink: Sink<'_, M>,
    ) -> Result<(), SeriesError> {
        let lanes = self.lanes.len();
        let mut under_way = VecDeque::new();
        for (number, job) in jobs.iter().enumerate() {
            let at = number % lanes;
            if under_way.len() == lanes {
                self.finish_oldest(&mut under_way, sink)?;
            }
            let (machine, lane) = (&self.machines[at], &mut self.lanes[at]);
            let packed = match supply {
                Supply::Ahead(packed) => Some(&packed[number]),
                Supply::InTurn(prepared) => {
                    lane.pack(machine, prepared, &job.chunk, self.coded)?;
                    None
                }
            };
            lane.start(machine, number, job, packed, &self.rules, &self.wanted)?;
            under_way.push_back(at);
            for at in &under_way {
                self.lanes[*at].advance(&self.machines[*at], &mut self.pool)?;
            }
        }
        while !under_way.is_empty() {
            self.finish_oldest(&mut under_way, sink)?;
        }
        Ok(())
    }

    /// Waits for the oldest chunk; meanwhile the others go on.
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
                let ready = self.lanes[*at].advance(&self.machines[*at], &mut self.pool)?;
                done |= ready && *at == oldest;
            }
            if done || began.elapsed() > LOOKING {
                break;
            }
            std::thread::yield_now();
        }
        under_way.pop_front();
        match self.lanes[oldest].finish(&self.machines[oldest], &mut self.pool)? {
            Some(done) => sink(&mut self.pool, done),
            None => Ok(()),
        }
    }

    /// Nothing yet, with room for what may come.
    fn whole(&self, jobs: &[Job], series: usize) -> Result<Collector, SeriesError> {
        let mut capacities = vec![0; self.rules.len()];
        for job in jobs {
            for (place, capacity) in job.granularities.iter().zip(&job.chunk.capacities) {
                capacities[*place] += capacity;
            }
        }
        let tables = self.wanted.len();
        Collector::new(&self.plan, &self.wanted, &capacities.repeat(tables), series)
    }
}

/// Takes a chunk's results into the whole; gives its duplicates, where they were not counted before.
fn append<M: Machine>(
    whole: &mut Collector,
    jobs: &[Job],
    pool: &mut Pool<M>,
    done: Done<M>,
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

impl<M: Machine> Engine for GpuEngine<M> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn plan(&self) -> &Resample {
        &self.plan
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        let prepared = Prepared::new(batch, self.plan.nan())?;
        let jobs = self.jobs(&prepared)?;
        let mut whole = self.whole(&jobs, prepared.series())?;
        let mut duplicates = 0;
        self.run(&jobs, &Supply::InTurn(&prepared), &mut |pool, done| {
            duplicates += append(&mut whole, &jobs, pool, done);
            Ok(())
        })?;
        Ok(whole.finish(duplicates, prepared.skipped))
    }
}

/// Bytes of the device's memory for a point, where each is a bucket of its own.
fn bytes_of_point<M: Machine>(granularities: usize, wanted: &[Wanted]) -> usize {
    // Timestamps and values as they come, sorted, without duplicates, and rates; numbers of points for each of these;
    // coded timestamps; what finding buckets keeps.
    const OF_POINTS: usize = 4 * 16 + 4 * 4 + 4 + 4;
    let of_tables = wanted.iter().map(|wanted| {
        // First point, start, columns, and the bucket of every 32nd point.
        let table = 4 + 8 + 8 * wanted.columns() + 1;
        granularities * table + Order::<M>::bytes_of_point(&wanted.of_order)
    });
    OF_POINTS + of_tables.sum::<usize>()
}

#[cfg(test)]
mod tests;
