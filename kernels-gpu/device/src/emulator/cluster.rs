//! The state of the running cluster of blocks, usually one block: what its threads wait for, and the values that they
//! exchange. Threads are numbered over the cluster, block after block.

use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

use super::shared_memory::SharedMemory;
use super::{EmulatorError, Exchanged, Order};

/// Lanes of a warp.
pub(super) const WARP: usize = 32;

/// The position in the source where a thread waits.
#[derive(Clone, Copy)]
pub(super) struct CallSite {
    pub(super) call: &'static str,
    pub(super) location: &'static Location<'static>,
}

impl PartialEq for CallSite {
    fn eq(&self, other: &Self) -> bool {
        let same = std::ptr::eq(self.location, other.location) || self.location == other.location;
        same && (std::ptr::eq(self.call, other.call) || self.call == other.call)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    NotStarted,
    /// Can run.
    Ready,
    Running,
    /// Waits for its block.
    Barrier(CallSite),
    /// Waits for these lanes of its warp.
    Warp(CallSite, u32),
    /// Waits for its cluster.
    Cluster(CallSite),
    Ended,
}

/// Where a thread is between the two halves of the cluster's barrier.
#[derive(Clone, Copy, PartialEq)]
enum Arrival {
    None,
    /// It has arrived, others have not.
    Arrived(CallSite),
    /// All have arrived; it has not waited yet.
    Complete,
}

/// What belongs to one block of the cluster.
struct Block {
    /// The number of threads at the block's barrier.
    waiting: usize,
    /// The result of the last barrier.
    folded: u64,
    /// The number of threads that have not ended.
    running: usize,
    shared: SharedMemory,
}

pub(super) struct Cluster {
    order: Order,
    /// The first block.
    index: [u32; 3],
    /// Threads in a block.
    threads: usize,
    /// (rank)
    blocks: Vec<Block>,
    /// (thread)
    states: Vec<State>,
    /// (thread)
    arrivals: Vec<Arrival>,
    /// The number of threads at the cluster's barrier.
    arrived: usize,
    /// (thread), the value passed to the barrier or exchange.
    given: Vec<u64>,
    /// (thread), the result of the last exchange, which its threads share.
    taken: Vec<Rc<Exchanged>>,
}

impl Cluster {
    /// `blocks` blocks of `threads` threads, each with `shared_bytes` of dynamic shared memory.
    pub(super) fn new(blocks: usize, threads: usize, shared_bytes: usize, order: Order) -> Self {
        let nothing = Rc::new(Exchanged {
            values: [u64::MAX; WARP],
            present: 0,
        });
        let block = || Block {
            waiting: 0,
            folded: 0,
            running: threads,
            shared: SharedMemory::new(shared_bytes),
        };
        let all = blocks * threads;
        Self {
            order,
            index: [0; 3],
            threads,
            blocks: std::iter::repeat_with(block).take(blocks).collect(),
            states: vec![State::NotStarted; all],
            arrivals: vec![Arrival::None; all],
            arrived: 0,
            given: vec![u64::MAX; all],
            taken: vec![nothing; all],
        }
    }

    /// Moves to the next cluster, x fastest; returns false after the last one.
    pub(super) fn advance(&mut self, grid: [u32; 3]) -> bool {
        let mut step = self.blocks.len() as u32;
        for (i, count) in self.index.iter_mut().zip(grid) {
            *i += step;
            step = 1;
            if *i < count {
                self.states.fill(State::NotStarted);
                self.arrivals.fill(Arrival::None);
                self.arrived = 0;
                for block in &mut self.blocks {
                    block.running = self.threads;
                    block.shared.poison();
                }
                return true;
            }
            *i = 0;
        }
        false
    }

    /// The index in the grid of block `rank`.
    pub(super) fn block_index(&self, rank: usize) -> [u32; 3] {
        let [x, y, z] = self.index;
        [x + rank as u32, y, z]
    }

    /// The threads of block `rank`.
    fn range(&self, rank: usize) -> Range<usize> {
        rank * self.threads..(rank + 1) * self.threads
    }

    /// The shared memory of `thread`'s block.
    pub(super) fn shared(&mut self, thread: usize) -> &mut SharedMemory {
        &mut self.blocks[thread / self.threads].shared
    }

    /// The thread that runs first.
    pub(super) fn first(&self) -> usize {
        match self.order {
            Order::Ascending => 0,
            Order::Descending => self.states.len() - 1,
        }
    }

    /// The other threads of `n`, in the order of execution after `from`, and then `from`.
    fn round(&self, n: usize, from: usize) -> impl Iterator<Item = usize> + use<> {
        let order = self.order;
        (1..=n).map(move |distance| match order {
            Order::Ascending if from + distance < n => from + distance,
            Order::Ascending => from + distance - n,
            Order::Descending if distance <= from => from - distance,
            Order::Descending => from + n - distance,
        })
    }

    /// The next thread after `thread`, in the order of execution, that can run.
    pub(super) fn runnable_after(&self, thread: usize) -> Option<usize> {
        self.round(self.states.len(), thread)
            .find(|t| matches!(self.states[*t], State::NotStarted | State::Ready))
    }

    pub(super) fn running(&mut self, thread: usize) {
        self.states[thread] = State::Running;
    }

    /// `thread` has ended. The shared memory of a block that has ended is poisoned at once if it belongs to a cluster,
    /// so that late accesses by other blocks are noticed.
    pub(super) fn ended(&mut self, thread: usize) {
        self.states[thread] = State::Ended;
        let clustered = self.blocks.len() > 1;
        let block = &mut self.blocks[thread / self.threads];
        block.running -= 1;
        if clustered && block.running == 0 {
            block.shared.poison();
        }
    }

    /// The first block whose shared memory another block wrote after it had ended; all blocks must have ended.
    pub(super) fn written_late(&self) -> Option<[u32; 3]> {
        if self.blocks.len() == 1 {
            return None;
        }
        let late = self.blocks.iter().position(|b| !b.shared.is_poisoned())?;
        Some(self.block_index(late))
    }

    pub(super) fn all_ended(&self) -> bool {
        self.states.iter().all(|state| *state == State::Ended)
    }

    /// `thread` arrives at a barrier. `None` means that it waits, and will find the result in
    /// [`folded`](Self::folded).
    pub(super) fn barrier(
        &mut self,
        thread: usize,
        place: CallSite,
        value: u64,
        fold: &dyn Fn(&[u64]) -> u64,
    ) -> Option<u64> {
        let rank = thread / self.threads;
        let range = self.range(rank);
        let block = &mut self.blocks[rank];
        self.given[thread] = value;
        block.waiting += 1;
        self.states[thread] = State::Barrier(place);
        let here = |s: &State| matches!(s, State::Barrier(p) if *p == place);
        if block.waiting < self.threads || !self.states[range.clone()].iter().all(here) {
            return None;
        }
        self.states[range.clone()].fill(State::Ready);
        self.states[thread] = State::Running;
        block.waiting = 0;
        block.folded = fold(&self.given[range]);
        Some(block.folded)
    }

    /// The result of the last barrier of `thread`'s block.
    pub(super) fn folded(&self, thread: usize) -> u64 {
        self.blocks[thread / self.threads].folded
    }

    /// `thread` arrives at the cluster's barrier; returns false if it has already arrived and not waited.
    pub(super) fn arrive(&mut self, thread: usize, place: CallSite) -> bool {
        if self.arrivals[thread] != Arrival::None {
            return false;
        }
        self.arrivals[thread] = Arrival::Arrived(place);
        self.arrived += 1;
        let here = |a: &Arrival| matches!(a, Arrival::Arrived(p) if *p == place);
        if self.arrived < self.states.len() || !self.arrivals.iter().all(here) {
            return true;
        }
        self.arrived = 0;
        for (state, arrival) in self.states.iter_mut().zip(&mut self.arrivals) {
            *arrival = Arrival::Complete;
            if let State::Cluster(_) = state {
                *state = State::Ready;
                *arrival = Arrival::None;
            }
        }
        true
    }

    /// `thread` waits for the cluster. Returns whether it must be suspended, and `None` if it has not arrived.
    pub(super) fn wait(&mut self, thread: usize, place: CallSite) -> Option<bool> {
        match self.arrivals[thread] {
            Arrival::None => None,
            Arrival::Complete => {
                self.arrivals[thread] = Arrival::None;
                Some(false)
            }
            Arrival::Arrived(_) => {
                self.states[thread] = State::Cluster(place);
                Some(true)
            }
        }
    }

    /// The address in block `rank` that corresponds to `address` in the shared memory of `thread`'s block.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or the block.
    pub(super) fn map_shared(
        &mut self,
        thread: usize,
        address: *mut u8,
        rank: usize,
    ) -> Result<*mut u8, String> {
        let count = self.blocks.len();
        let position = self.shared(thread).position_of(address.addr());
        let Some(position) = position else {
            return Err("the address is not in the shared memory of this block".to_owned());
        };
        let Some(block) = self.blocks.get_mut(rank) else {
            return Err(format!("block {rank} of a cluster of {count}"));
        };
        if block.running == 0 {
            return Err(format!(
                "block {rank} of the cluster has ended: let it wait (cluster::sync) for the accesses to its shared \
                 memory"
            ));
        }
        Ok(block.shared.at(position))
    }

    /// `thread` arrives at an exchange among the lanes of `mask`, of which it is one. `None` means that it waits, and
    /// will find the result in [`taken`](Self::taken).
    pub(super) fn exchange(
        &mut self,
        thread: usize,
        place: CallSite,
        mask: u32,
        value: u64,
    ) -> Option<Rc<Exchanged>> {
        let in_block = thread % self.threads;
        let lane = in_block % WARP;
        let first = thread - lane;
        let lanes = (self.threads - (in_block - lane)).min(WARP);
        self.given[thread] = value;
        self.states[thread] = State::Warp(place, mask);
        let here = |s: &State| matches!(s, State::Warp(p, m) if *m == mask && *p == place);
        let group = |l: &usize| mask >> l & 1 == 1;
        // The lane that runs next is the one that is most likely missing.
        let mut asked = self.round(lanes, lane).filter(group);
        if !asked.all(|l| here(&self.states[first + l])) {
            return None;
        }
        let mut result = Exchanged {
            values: [u64::MAX; WARP],
            present: 0,
        };
        for l in (0..lanes).filter(group) {
            result.values[l] = self.given[first + l];
            result.present |= 1 << l;
        }
        let result = Rc::new(result);
        for l in (0..lanes).filter(group) {
            self.taken[first + l] = Rc::clone(&result);
            self.states[first + l] = State::Ready;
        }
        self.states[thread] = State::Running;
        Some(result)
    }

    pub(super) fn taken(&self, thread: usize) -> Rc<Exchanged> {
        Rc::clone(&self.taken[thread])
    }

    /// The error for a cluster with blocks of `size` threads in which no thread can run: where the threads wait.
    pub(super) fn diverged(&self, kernel: &'static str, size: [u32; 3]) -> EmulatorError {
        let [x, y, _] = size;
        let mut groups: Vec<(State, usize, usize)> = Vec::new();
        for rank in 0..self.blocks.len() {
            let others = groups.len();
            for thread in self.range(rank) {
                let state = self.states[thread];
                match groups[others..].iter_mut().find(|(s, ..)| *s == state) {
                    Some((_, _, count)) => *count += 1,
                    None => groups.push((state, thread, 1)),
                }
            }
        }
        let describe = |(state, thread, count): &(State, usize, usize)| {
            let block = if self.blocks.len() > 1 {
                format!("block {} of the cluster, ", thread / self.threads)
            } else {
                String::new()
            };
            let t = (*thread % self.threads) as u32;
            let index = (t % x, t / x % y, t / (x * y));
            let others = match count - 1 {
                0 => String::new(),
                1 => " and 1 other".to_owned(),
                more => format!(" and {more} others"),
            };
            let place = match state {
                State::Barrier(CallSite { call, location })
                | State::Cluster(CallSite { call, location }) => format!("at {call}, {location}"),
                State::Warp(CallSite { call, location }, mask) => {
                    format!("at {call} with mask {mask:#010x}, {location}")
                }
                _ => "ended".to_owned(),
            };
            format!("{block}thread {index:?}{others} {place}")
        };
        EmulatorError::Divergence {
            kernel,
            block: self.index,
            cluster: self.blocks.len() as u32,
            groups: groups.iter().map(describe).collect(),
        }
    }
}
