//! The state of the running block: what its threads wait for, and the values that they exchange.

use std::panic::Location;

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
        same && self.call == other.call
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
    Ended,
}

pub(super) struct Block {
    order: Order,
    pub(super) index: [u32; 3],
    states: Vec<State>,
    /// The number of threads at the block's barrier.
    waiting: usize,
    /// (thread), the value passed to the barrier or exchange.
    given: Vec<u64>,
    /// The result of the last barrier.
    folded: u64,
    /// (thread), the result of the last exchange.
    taken: Vec<Exchanged>,
    pub(super) shared: SharedMemory,
}

impl Block {
    pub(super) fn new(threads: usize, shared_bytes: usize, order: Order) -> Self {
        let nothing = Exchanged {
            values: [u64::MAX; WARP],
            present: 0,
        };
        Self {
            order,
            index: [0; 3],
            states: vec![State::NotStarted; threads],
            waiting: 0,
            given: vec![u64::MAX; threads],
            folded: 0,
            taken: vec![nothing; threads],
            shared: SharedMemory::new(shared_bytes),
        }
    }

    /// Moves to the next block, x fastest; returns false after the last block.
    pub(super) fn advance(&mut self, grid: [u32; 3]) -> bool {
        for (i, count) in self.index.iter_mut().zip(grid) {
            *i += 1;
            if *i < count {
                self.states.fill(State::NotStarted);
                self.shared.poison();
                return true;
            }
            *i = 0;
        }
        false
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

    pub(super) fn ended(&mut self, thread: usize) {
        self.states[thread] = State::Ended;
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
        self.given[thread] = value;
        self.waiting += 1;
        self.states[thread] = State::Barrier(place);
        let here = |s: &State| matches!(s, State::Barrier(p) if *p == place);
        if self.waiting < self.states.len() || !self.states.iter().all(here) {
            return None;
        }
        self.states.fill(State::Ready);
        self.states[thread] = State::Running;
        self.waiting = 0;
        self.folded = fold(&self.given);
        Some(self.folded)
    }

    pub(super) fn folded(&self) -> u64 {
        self.folded
    }

    /// `thread` arrives at an exchange among the lanes of `mask`, of which it is one. `None` means that it waits, and
    /// will find the result in [`taken`](Self::taken).
    pub(super) fn exchange(
        &mut self,
        thread: usize,
        place: CallSite,
        mask: u32,
        value: u64,
    ) -> Option<Exchanged> {
        let lane = thread % WARP;
        let first = thread - lane;
        let lanes = (self.states.len() - first).min(WARP);
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
        for l in (0..lanes).filter(group) {
            self.taken[first + l] = result;
            self.states[first + l] = State::Ready;
        }
        self.states[thread] = State::Running;
        Some(result)
    }

    pub(super) fn taken(&self, thread: usize) -> Exchanged {
        self.taken[thread]
    }

    /// The error for a block of `size` threads in which no thread can run: where the threads wait.
    pub(super) fn diverged(&self, kernel: &'static str, size: [u32; 3]) -> EmulatorError {
        let [x, y, _] = size;
        let mut groups: Vec<(State, usize, usize)> = Vec::new();
        for (thread, state) in self.states.iter().enumerate() {
            match groups.iter_mut().find(|(s, ..)| s == state) {
                Some((_, _, count)) => *count += 1,
                None => groups.push((*state, thread, 1)),
            }
        }
        let describe = |(state, thread, count): &(State, usize, usize)| {
            let t = *thread as u32;
            let index = (t % x, t / x % y, t / (x * y));
            let others = match count - 1 {
                0 => String::new(),
                1 => " and 1 other".to_owned(),
                more => format!(" and {more} others"),
            };
            let place = match state {
                State::Barrier(CallSite { call, location }) => format!("at {call}, {location}"),
                State::Warp(CallSite { call, location }, mask) => {
                    format!("at {call} with mask {mask:#010x}, {location}")
                }
                _ => "ended".to_owned(),
            };
            format!("thread {index:?}{others} {place}")
        };
        EmulatorError::Divergence {
            kernel,
            block: self.index,
            groups: groups.iter().map(describe).collect(),
        }
    }
}
