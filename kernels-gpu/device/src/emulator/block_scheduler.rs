//! Runs the threads of a block alternately.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use super::block::{Block, CallSite, WARP};
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
    threads: usize,
    block: RefCell<Block>,
}

impl<'a> BlockScheduler<'a> {
    pub(super) fn new(
        kernel: &'static str,
        config: LaunchConfig,
        threads: u32,
        order: Order,
        body: &'a dyn Fn(),
    ) -> Self {
        let threads = threads as usize;
        Self {
            kernel,
            config,
            body,
            threads,
            block: RefCell::new(Block::new(threads, config.shared_bytes, order)),
        }
    }

    /// Runs the body for every thread of every block; the threads of a block alternate, each on a stack of its own.
    pub(super) fn run(&self) -> Result<(), EmulatorError> {
        context::around(|| {
            // Dropped before the caller's borrows end, together with every thread that still waits.
            let mut coroutines = Coroutines::new(self.threads);
            loop {
                self.run_block(&mut coroutines)?;
                if !self.block.borrow_mut().advance(self.config.grid) {
                    return Ok(());
                }
            }
        })
    }

    fn run_block(&self, coroutines: &mut Coroutines) -> Result<(), EmulatorError> {
        let mut next = Some(self.block.borrow().first());
        while let Some(thread) = next {
            self.block.borrow_mut().running(thread);
            let outcome = coroutines.run(thread, || self.main(thread));
            let outcome = outcome.map_err(|error| EmulatorError::Stack {
                kernel: self.kernel,
                reason: error.to_string(),
            })?;
            let mut block = self.block.borrow_mut();
            if let Resumed::Ended(result) = outcome {
                result?;
                block.ended(thread);
            }
            next = block.runnable_after(thread);
        }
        let block = self.block.borrow();
        if block.all_ended() {
            Ok(())
        } else {
            Err(block.diverged(self.kernel, self.config.block))
        }
    }

    /// The body of a thread's coroutine.
    fn main(
        &self,
        thread: usize,
    ) -> impl FnOnce(&Yielder) -> Result<(), EmulatorError> + use<'a> + 'static {
        let scheduler: NonNull<BlockScheduler<'static>> = NonNull::from(self).cast();
        let block = self.block.borrow().index;
        move |yielder| {
            // SAFETY: `run` borrows the scheduler until it has ended or unwound all of its coroutines; this is one of
            // them, and the yielder belongs to it.
            let context = unsafe { Context::new(scheduler, yielder, block, thread) };
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
        let thread = context.thread;
        let folded = self.block.borrow_mut().barrier(thread, place, value, fold);
        folded.unwrap_or_else(|| {
            Self::wait(context);
            self.block.borrow().folded()
        })
    }

    pub(super) fn exchange(
        &self,
        context: &Context,
        call: &'static str,
        mask: u32,
        value: u64,
        location: &'static Location<'static>,
    ) -> Exchanged {
        let place = CallSite { call, location };
        let thread = context.thread;
        let lane = thread % WARP;
        assert!(
            mask >> lane & 1 == 1,
            "{call} at {location}: the mask {mask:#010x} does not name the calling lane {lane}"
        );
        let exchanged = self.block.borrow_mut().exchange(thread, place, mask, value);
        exchanged.unwrap_or_else(|| {
            Self::wait(context);
            self.block.borrow().taken(thread)
        })
    }

    pub(super) fn static_shared(&self, key: *const u8, bytes: usize) -> *mut u8 {
        let array = self.block.borrow_mut().shared.array(key.addr(), bytes);
        match array {
            Ok(address) => address,
            Err(total) => panic!(
                "{total} bytes of static shared memory: {} are possible",
                super::MAX_STATIC_SHARED_BYTES
            ),
        }
    }

    pub(super) fn dynamic_shared(&self) -> *mut u8 {
        self.block.borrow_mut().shared.dynamic()
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
