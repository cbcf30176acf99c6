//! The threads of a block, taking turns.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use super::context::{self, Context};
use super::shared_memory::SharedMemory;
use super::{EmulatorError, Exchanged, LaunchConfig, Order};

/// Kernels keep little on the stack; a panic's machinery needs the most.
const STACK_BYTES: usize = 256 * 1024;
const WARP: usize = 32;
const STOP: usize = usize::MAX;

/// Unwinds a kernel thread whose launch was stopped.
struct Stopped;

/// Where a thread waits.
#[derive(Clone, Copy)]
struct Place {
    call: &'static str,
    location: &'static Location<'static>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call && self.location == other.location
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    NotStarted,
    /// Stands on this worker and may go on.
    Ready(usize),
    Running,
    /// Stands on this worker and waits for its block.
    Barrier(usize, Place),
    /// Stands on this worker and waits for these lanes of its warp.
    Warp(usize, Place, u32),
    Ended,
}

struct Block {
    index: [u32; 3],
    states: Vec<State>,
    /// Threads at the block's barrier, and those that have ended.
    waiting: usize,
    ended: usize,
    /// What each thread gave to its barrier or its warp.
    given: Vec<u64>,
    /// What the last barrier made of it.
    folded: u64,
    /// What each thread gets from its warp: by lane, and which lanes took part.
    taken: Vec<([u64; WARP], u32)>,
    shared: SharedMemory,
    /// Operating-system threads: handles, what they are to start, which are free.
    workers: Vec<Thread>,
    handles: Vec<JoinHandle<()>>,
    assigned: Vec<Option<usize>>,
    free: Vec<usize>,
    error: Option<EmulatorError>,
}

/// One launch.
pub(crate) struct Team<'a> {
    kernel: &'static str,
    pub(super) config: LaunchConfig,
    body: &'a (dyn Fn() + Sync),
    threads: usize,
    order: Order,
    /// The worker that may run.
    turn: AtomicUsize,
    block: Mutex<Block>,
}

impl<'a> Team<'a> {
    pub(super) fn new(
        kernel: &'static str,
        config: LaunchConfig,
        threads: u32,
        order: Order,
        body: &'a (dyn Fn() + Sync),
    ) -> Self {
        let threads = threads as usize;
        Self {
            kernel,
            config,
            body,
            threads,
            order,
            turn: AtomicUsize::new(0),
            block: Mutex::new(Block {
                index: [0; 3],
                states: vec![State::NotStarted; threads],
                waiting: 0,
                ended: 0,
                given: vec![u64::MAX; threads],
                folded: 0,
                taken: vec![([u64::MAX; WARP], 0); threads],
                shared: SharedMemory::new(config.shared_bytes),
                workers: vec![thread::current()],
                handles: Vec::new(),
                assigned: vec![None],
                free: Vec::new(),
                error: None,
            }),
        }
    }

    /// Runs the body for every thread of every block; the caller is the first worker.
    pub(super) fn run(self) -> Result<(), EmulatorError> {
        self.work(0, self.first());
        let handles = std::mem::take(&mut self.lock().handles);
        for handle in handles {
            if let Err(payload) = handle.join() {
                resume_unwind(payload);
            }
        }
        let block = self.block.into_inner();
        let error = block.unwrap_or_else(PoisonError::into_inner).error;
        error.map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Block> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first(&self) -> usize {
        match self.order {
            Order::Ascending => 0,
            Order::Descending => self.threads - 1,
        }
    }

    /// Runs threads on `worker`, beginning with `thread`, until the launch ends.
    fn work(&self, worker: usize, thread: usize) {
        let mut next = Some(thread);
        while let Some(thread) = next {
            let index = {
                let mut block = self.lock();
                block.states[thread] = State::Running;
                block.index
            };
            let context = Context::new(self, index, thread, worker);
            let body = AssertUnwindSafe(self.body);
            next = match context::enter(context, || catch_unwind(body)) {
                Ok(()) => self.end(thread, worker),
                Err(payload) => {
                    self.panicked(&context, payload.as_ref());
                    None
                }
            };
        }
    }

    /// The thread after `thread`, in the order of turns, that can run.
    fn runnable_after(&self, block: &Block, thread: usize) -> Option<usize> {
        let n = self.threads;
        (1..=n)
            .map(|distance| match self.order {
                Order::Ascending => (thread + distance) % n,
                Order::Descending => (thread + n - distance) % n,
            })
            .find(|t| matches!(block.states[*t], State::NotStarted | State::Ready(_)))
    }

    /// Gives the turn to `thread`, which can run.
    fn give_turn(&self, block: &mut Block, thread: usize) {
        let worker = match block.states[thread] {
            State::Ready(worker) => worker,
            _ => match block.free.pop() {
                Some(worker) => {
                    block.assigned[worker] = Some(thread);
                    worker
                }
                None => match self.spawn(block, thread) {
                    Ok(worker) => worker,
                    Err(error) => {
                        let reason = error.to_string();
                        let kernel = self.kernel;
                        self.stop(block, Some(EmulatorError::Threads { kernel, reason }));
                        return;
                    }
                },
            },
        };
        block.states[thread] = State::Running;
        self.turn.store(worker, Release);
        block.workers[worker].unpark();
    }

    /// A new worker that will begin with `thread`.
    fn spawn(&self, block: &mut Block, thread: usize) -> io::Result<usize> {
        let worker = block.workers.len();
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let main = move || {
            if self.await_turn(worker) {
                self.work(worker, thread);
            }
        };
        // SAFETY: the thread borrows the team and the body; `run`, which owns the one and borrows
        // the other, joins it before it returns.
        let handle = unsafe { builder.spawn_unchecked(main) }?;
        block.workers.push(handle.thread().clone());
        block.assigned.push(None);
        block.handles.push(handle);
        Ok(worker)
    }

    /// Ends the launch: all workers leave.
    fn stop(&self, block: &mut Block, error: Option<EmulatorError>) {
        if block.error.is_none() {
            block.error = error;
        }
        self.turn.store(STOP, Release);
        for worker in &block.workers {
            worker.unpark();
        }
    }

    /// Parks until it is the worker's turn; false when the launch was stopped.
    fn await_turn(&self, worker: usize) -> bool {
        loop {
            match self.turn.load(Acquire) {
                STOP => return false,
                turn if turn == worker => return true,
                _ => thread::park(),
            }
        }
    }

    /// The calling thread, whose state says what it waits for, lets others run.
    fn wait(&self, mut block: MutexGuard<'_, Block>, context: &Context) -> MutexGuard<'_, Block> {
        match self.runnable_after(&block, context.thread) {
            Some(thread) => self.give_turn(&mut block, thread),
            None => self.diverged(&mut block),
        }
        drop(block);
        if !self.await_turn(context.worker) {
            resume_unwind(Box::new(Stopped));
        }
        self.lock()
    }

    /// A thread's body has returned: what its worker does next.
    fn end(&self, thread: usize, worker: usize) -> Option<usize> {
        let mut block = self.lock();
        block.states[thread] = State::Ended;
        block.ended += 1;
        if block.ended == self.threads {
            return self.next_block(&mut block);
        }
        let Some(next) = self.runnable_after(&block, thread) else {
            self.diverged(&mut block);
            return None;
        };
        if block.states[next] == State::NotStarted {
            return Some(next);
        }
        block.free.push(worker);
        self.give_turn(&mut block, next);
        drop(block);
        if !self.await_turn(worker) {
            return None;
        }
        self.lock().assigned[worker].take()
    }

    fn next_block(&self, block: &mut Block) -> Option<usize> {
        let mut index = block.index;
        for (i, count) in index.iter_mut().zip(self.config.grid) {
            *i += 1;
            if *i < count {
                block.index = index;
                block.states.fill(State::NotStarted);
                block.ended = 0;
                block.shared.poison();
                return Some(self.first());
            }
            *i = 0;
        }
        self.stop(block, None);
        None
    }

    pub(super) fn barrier(
        &self,
        context: &Context,
        call: &'static str,
        value: u64,
        fold: &dyn Fn(&[u64]) -> u64,
        location: &'static Location<'static>,
    ) -> u64 {
        let place = Place { call, location };
        let mut block = self.lock();
        block.given[context.thread] = value;
        block.waiting += 1;
        block.states[context.thread] = State::Barrier(context.worker, place);
        if block.waiting < self.threads {
            return self.wait(block, context).folded;
        }
        let here = |s: &State| matches!(s, State::Barrier(_, p) if *p == place);
        if !block.states.iter().all(here) {
            self.diverged(&mut block);
            drop(block);
            resume_unwind(Box::new(Stopped));
        }
        for state in &mut block.states {
            if let State::Barrier(worker, _) = *state {
                *state = State::Ready(worker);
            }
        }
        block.states[context.thread] = State::Running;
        block.waiting = 0;
        block.folded = fold(&block.given);
        block.folded
    }

    pub(super) fn exchange(
        &self,
        context: &Context,
        call: &'static str,
        mask: u32,
        value: u64,
        location: &'static Location<'static>,
    ) -> Exchanged {
        let place = Place { call, location };
        let lane = context.thread % WARP;
        assert!(
            mask >> lane & 1 == 1,
            "{call} at {location}: the mask {mask:#010x} does not name the calling lane {lane}"
        );
        let first = context.thread - lane;
        let lanes = (self.threads - first).min(WARP);
        let group = |l: &usize| mask >> l & 1 == 1;
        let mut block = self.lock();
        block.given[context.thread] = value;
        block.states[context.thread] = State::Warp(context.worker, place, mask);
        let here = |s: State| matches!(s, State::Warp(_, p, m) if p == place && m == mask);
        if (0..lanes)
            .filter(group)
            .all(|l| here(block.states[first + l]))
        {
            let mut values = [u64::MAX; WARP];
            let mut present = 0;
            for l in (0..lanes).filter(group) {
                values[l] = block.given[first + l];
                present |= 1 << l;
            }
            for l in (0..lanes).filter(group) {
                block.taken[first + l] = (values, present);
                if let State::Warp(worker, ..) = block.states[first + l] {
                    block.states[first + l] = State::Ready(worker);
                }
            }
            block.states[context.thread] = State::Running;
        } else {
            block = self.wait(block, context);
        }
        let (values, present) = block.taken[context.thread];
        Exchanged { values, present }
    }

    pub(super) fn static_shared(&self, key: *const u8, bytes: usize) -> *mut u8 {
        let array = self.lock().shared.array(key.addr(), bytes);
        match array {
            Ok(address) => address,
            Err(total) => panic!(
                "{total} bytes of static shared memory: {} are possible",
                super::MAX_STATIC_SHARED_BYTES
            ),
        }
    }

    pub(super) fn dynamic_shared(&self) -> *mut u8 {
        self.lock().shared.dynamic()
    }

    fn panicked(&self, context: &Context, payload: &(dyn Any + Send)) {
        if payload.is::<Stopped>() {
            return;
        }
        let message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a payload that is no text".to_owned());
        let error = EmulatorError::Panic {
            kernel: self.kernel,
            block: context.block_idx,
            thread: context.thread_idx,
            message,
        };
        self.stop(&mut self.lock(), Some(error));
    }

    /// No thread can run: says where they are.
    fn diverged(&self, block: &mut Block) {
        let [x, y, _] = self.config.block;
        let mut groups: Vec<(State, usize, usize)> = Vec::new();
        let place = |s: &State| match *s {
            State::Barrier(_, p) => State::Barrier(0, p),
            State::Warp(_, p, mask) => State::Warp(0, p, mask),
            other => other,
        };
        for (thread, state) in block.states.iter().map(place).enumerate() {
            match groups.iter_mut().find(|(s, ..)| *s == state) {
                Some((_, _, count)) => *count += 1,
                None => groups.push((state, thread, 1)),
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
                State::Barrier(_, Place { call, location }) => format!("at {call}, {location}"),
                State::Warp(_, Place { call, location }, mask) => {
                    format!("at {call} with mask {mask:#010x}, {location}")
                }
                _ => "ended".to_owned(),
            };
            format!("thread {index:?}{others} {place}")
        };
        let error = EmulatorError::Divergence {
            kernel: self.kernel,
            block: block.index,
            groups: groups.iter().map(describe).collect(),
        };
        self.stop(block, Some(error));
    }
}
