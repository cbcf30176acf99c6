//! The threads of a block that have begun and not ended: each a coroutine on a stack of its own,
//! all of them on the operating-system thread that launched.

use std::io;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use super::EmulatorError;
use super::stacks::{POOL, Stacks};

/// What a thread that waits is woken for.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// To go on.
    Go,
    /// To unwind: the launch has stopped.
    Stop,
}

/// By which a thread waits.
pub(super) type Yielder = corosensei::Yielder<Turn, ()>;

type Stand = Coroutine<Turn, (), Result<(), EmulatorError>, DefaultStack>;

/// How a thread's turn came to its end.
pub(super) enum Outcome {
    /// At a barrier or an exchange.
    Waits,
    /// Its body has returned, or panicked.
    Ended(Result<(), EmulatorError>),
}

/// By thread. Dropping stops those that wait: their stacks are unwound.
pub(super) struct Stands {
    standing: Vec<Option<Stand>>,
    stacks: Stacks<'static>,
}

impl Stands {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            standing: std::iter::repeat_with(|| None).take(threads).collect(),
            stacks: Stacks::of(&POOL),
        }
    }

    /// Lets `thread` run to its next wait or its end. One that has not begun begins with `main`,
    /// which must catch the kernel's panics.
    ///
    /// # Errors
    /// There is no stack for it.
    pub(super) fn run<F>(&mut self, thread: usize, main: impl FnOnce() -> F) -> io::Result<Outcome>
    where
        F: FnOnce(&Yielder) -> Result<(), EmulatorError> + 'static,
    {
        let stand = &mut self.standing[thread];
        let coroutine = match stand {
            Some(coroutine) => coroutine,
            None => {
                let main = main();
                let stack = self.stacks.take()?;
                stand.insert(Coroutine::with_stack(stack, move |yielder, _| {
                    main(yielder)
                }))
            }
        };
        match coroutine.resume(Turn::Go) {
            CoroutineResult::Yield(()) => Ok(Outcome::Waits),
            CoroutineResult::Return(result) => {
                self.ended(thread);
                Ok(Outcome::Ended(result))
            }
        }
    }

    fn ended(&mut self, thread: usize) {
        if let Some(coroutine) = self.standing[thread].take() {
            self.stacks.give_back(coroutine.into_stack());
        }
    }
}

impl Drop for Stands {
    fn drop(&mut self) {
        for thread in 0..self.standing.len() {
            if let Some(coroutine) = &mut self.standing[thread] {
                // What a thread says after the launch has stopped is not the first error.
                while !coroutine.done() {
                    coroutine.resume(Turn::Stop);
                }
            }
            self.ended(thread);
        }
    }
}
