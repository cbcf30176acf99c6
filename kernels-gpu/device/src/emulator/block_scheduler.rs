//! Runs the threads of a block, or of a cluster of blocks, alternately.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

use super::cluster::{CallSite, Cluster, WARP};
use super::context::{self, Context};
use super::coroutines::{Coroutines, Resume, Resumed, Yielder};
use super::{EmulatorError, Exchanged, LaunchConfig, Order};

/// The panic payload that unwinds a kernel thread after its launch was stopped.
struct Stopped;

/// One launch.
pub(crate) struct BlockScheduler<'a> {
    kernel: &'static str,
    pub(super) config: LaunchConfig,
    body: &'a dyn Fn(),
    /// Threads in a block.
    threads: usize,
    /// Blocks in a cluster.
    blocks: usize,
    cluster: RefCell<Cluster>,
}

impl<'a> BlockScheduler<'a> {
    pub(super) fn new(
        kernel: &'static str,
        config: LaunchConfig,
        cluster: u32,
        threads: u32,
        order: Order,
        body: &'a dyn Fn(),
    ) -> Self {
        let (threads, blocks) = (threads as usize, cluster as usize);
        let cluster = Cluster::new(blocks, threads, config.shared_bytes, order);
        Self {
            kernel,
            config,
            body,
            threads,
            blocks,
            cluster: RefCell::new(cluster),
        }
    }

    /// Runs the body for every thread of every block; the threads of a cluster alternate, each on a stack of its own.
    pub(super) fn run(&self) -> Result<(), EmulatorError> {
        context::around(|| {
            // Dropped before the caller's borrows end, together with every thread that still waits.
            let mut coroutines = Coroutines::new(self.blocks * self.threads);
            loop {
                self.run_cluster(&mut coroutines)?;
                if !self.cluster.borrow_mut().advance(self.config.grid) {
                    return Ok(());
                }
            }
        })
    }

    fn run_cluster(&self, coroutines: &mut Coroutines) -> Result<(), EmulatorError> {
        let mut next = Some(self.cluster.borrow().first());
        while let Some(thread) = next {
            self.cluster.borrow_mut().running(thread);
            let outcome = coroutines.run(thread, || self.main(thread));
            let outcome = outcome.map_err(|error| EmulatorError::Stack {
                kernel: self.kernel,
                reason: error.to_string(),
            })?;
            let mut cluster = self.cluster.borrow_mut();
            if let Resumed::Ended(result) = outcome {
                result?;
                cluster.ended(thread);
            }
            next = cluster.runnable_after(thread);
        }
        let cluster = self.cluster.borrow();
        if !cluster.all_ended() {
            return Err(cluster.diverged(self.kernel, self.config.block));
        }
        match cluster.written_late() {
            None => Ok(()),
            Some(block) => Err(EmulatorError::WrittenLate {
                kernel: self.kernel,
                block,
            }),
        }
    }

    /// The body of a thread's coroutine.
    fn main(
        &self,
        thread: usize,
    ) -> impl FnOnce(&Yielder) -> Result<(), EmulatorError> + use<'a> + 'static {
        let scheduler: NonNull<BlockScheduler<'static>> = NonNull::from(self).cast();
        let (rank, thread) = (thread / self.threads, thread % self.threads);
        let block = self.cluster.borrow().block_index(rank);
        move |yielder| {
            // SAFETY: `run` borrows the scheduler until it has ended or unwound all of its coroutines; this is one of
            // them, and the yielder belongs to it.
            let context = unsafe { Context::new(scheduler, yielder, block, rank, thread) };
            context.enter();
            let body = AssertUnwindSafe(context.scheduler().body);
            catch_unwind(body).or_else(|payload| context.scheduler().panicked(&context, &*payload))
        }
    }

    /// Runs other threads until the calling thread's wait is over.
    fn wait(context: &Context) {
        if let Resume::Stop = context.suspend() {
            resume_unwind(Box::new(Stopped));
        }
    }

    pub(super) fn barrier(
        &self,
        context: &Context,
        call: &'static str,
        value: u64,
        fold: &dyn Fn(&[u64]) -> u64,
        location: &'static Location<'static>,
    ) -> u64 {
        let place = CallSite { call, location };
        let thread = self.thread(context);
        let folded = self
            .cluster
            .borrow_mut()
            .barrier(thread, place, value, fold);
        folded.unwrap_or_else(|| {
            Self::wait(context);
            self.cluster.borrow().folded(thread)
        })
    }

    pub(super) fn exchange(
        &self,
        context: &Context,
        call: &'static str,
        mask: u32,
        value: u64,
        location: &'static Location<'static>,
    ) -> Rc<Exchanged> {
        let place = CallSite { call, location };
        let thread = self.thread(context);
        let lane = context.thread % WARP;
        assert!(
            mask >> lane & 1 == 1,
            "{call} at {location}: the mask {mask:#010x} does not name the calling lane {lane}"
        );
        let exchanged = self
            .cluster
            .borrow_mut()
            .exchange(thread, place, mask, value);
        exchanged.unwrap_or_else(|| {
            Self::wait(context);
            self.cluster.borrow().taken(thread)
        })
    }

    pub(super) fn cluster_arrive(
        &self,
        context: &Context,
        call: &'static str,
        location: &'static Location<'static>,
    ) {
        let place = CallSite { call, location };
        let thread = self.thread(context);
        let arrived = self.cluster.borrow_mut().arrive(thread, place);
        assert!(
            arrived,
            "{call} at {location}: the thread has arrived before without waiting"
        );
    }

    pub(super) fn cluster_wait(
        &self,
        context: &Context,
        call: &'static str,
        location: &'static Location<'static>,
    ) {
        let place = CallSite { call, location };
        let suspended = self.cluster.borrow_mut().wait(self.thread(context), place);
        match suspended {
            Some(true) => Self::wait(context),
            Some(false) => {}
            None => panic!("{call} at {location}: the thread has not arrived"),
        }
    }

    pub(super) fn map_shared(
        &self,
        context: &Context,
        address: *mut u8,
        rank: u32,
        location: &'static Location<'static>,
    ) -> *mut u8 {
        let thread = self.thread(context);
        let mapped = self
            .cluster
            .borrow_mut()
            .map_shared(thread, address, rank as usize);
        mapped.unwrap_or_else(|reason| panic!("cluster::map_shared at {location}: {reason}"))
    }

    /// The thread's index in the cluster.
    fn thread(&self, context: &Context) -> usize {
        context.rank() as usize * self.threads + context.thread
    }

    /// Blocks in a cluster.
    pub(super) fn cluster_blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn static_shared(&self, context: &Context, key: *const u8, bytes: usize) -> *mut u8 {
        let thread = self.thread(context);
        let array = self
            .cluster
            .borrow_mut()
            .shared(thread)
            .array(key.addr(), bytes);
        match array {
            Ok(address) => address,
            Err(total) => panic!(
                "{total} bytes of static shared memory: {} are possible",
                super::MAX_STATIC_SHARED_BYTES
            ),
        }
    }

    pub(super) fn dynamic_shared(&self, context: &Context) -> *mut u8 {
        let thread = self.thread(context);
        self.cluster.borrow_mut().shared(thread).dynamic()
    }

    fn panicked(&self, context: &Context, payload: &(dyn Any + Send)) -> Result<(), EmulatorError> {
        if payload.is::<Stopped>() {
            return Ok(());
        }
        let message = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a payload that is no text".to_owned());
        Err(EmulatorError::Panic {
            kernel: self.kernel,
            block: context.block_idx,
            thread: context.thread_idx,
            message,
        })
    }
}
