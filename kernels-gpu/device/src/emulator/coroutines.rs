//! The threads of a cluster of blocks (usually one) that have begun and not ended. Each is a coroutine on a stack of its own, and all of them
//! run on the operating-system thread that launched them.

use std::io;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::EmulatorError;
use super::stacks::{POOL, Stacks};

/// The reason why a waiting thread is resumed.
#[derive(Clone, Copy)]
pub(super) enum Resume {
    /// To continue.
    Go,
    /// To unwind: the launch has stopped.
    Stop,
}

/// The handle by which a thread waits.
pub(super) type Yielder = corosensei::Yielder<Resume, ()>;

type KernelThread = Coroutine<Resume, (), Result<(), EmulatorError>, DefaultStack>;

/// The reason why a thread returned control.
pub(super) enum Resumed {
    /// It waits at a barrier or an exchange.
    Waits,
    /// Its body has returned, or panicked.
    Ended(Result<(), EmulatorError>),
}

/// (thread). Dropping stops those that wait: their stacks are unwound.
pub(super) struct Coroutines {
    started: Vec<Option<KernelThread>>,
    stacks: Stacks<'static>,
}

impl Coroutines {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            started: std::iter::repeat_with(|| None).take(threads).collect(),
            stacks: Stacks::of(&POOL),
        }
    }

    /// Runs `thread` to its next wait or its end. A thread that has not begun starts with `main`, which must catch
    /// the kernel's panics.
    ///
    /// # Errors
    ///
    /// No memory is left for its stack.
    pub(super) fn run<F>(&mut self, thread: usize, main: impl FnOnce() -> F) -> io::Result<Resumed>
    where
        F: FnOnce(&Yielder) -> Result<(), EmulatorError> + 'static,
    {
        let slot = &mut self.started[thread];
        let coroutine = match slot {
            Some(coroutine) => coroutine,
            None => {
                let main = main();
                let stack = self.stacks.take()?;
                slot.insert(Coroutine::with_stack(stack, move |yielder, _| {
                    main(yielder)
                }))
            }
        };
        match coroutine.resume(Resume::Go) {
            CoroutineResult::Yield(()) => Ok(Resumed::Waits),
            CoroutineResult::Return(result) => {
                self.ended(thread);
                Ok(Resumed::Ended(result))
            }
        }
    }

    fn ended(&mut self, thread: usize) {
        if let Some(coroutine) = self.started[thread].take() {
            self.stacks.give_back(coroutine.into_stack());
        }
    }
}

impl Drop for Coroutines {
    fn drop(&mut self) {
        for thread in 0..self.started.len() {
            if let Some(coroutine) = &mut self.started[thread] {
                // What a thread reports after the launch has stopped is not the first error.
                while !coroutine.done() {
                    coroutine.resume(Resume::Stop);
                }
            }
            self.ended(thread);
        }
    }
}
