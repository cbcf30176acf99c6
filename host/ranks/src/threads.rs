//! Ranks that are threads of one process.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::operation::Operation;
use crate::{Communicator, RankError};

/// The bytes of every rank, in the order of ranks.
type Gathered = Vec<Arc<Vec<u8>>>;

/// The communicator of one thread of several; [`threads`] makes them.
///
/// Each thread must own its communicator: when one is dropped, its rank has ended. If it is dropped
/// because the thread panics, its rank has failed. In both cases the others get an error if they
/// wait for its data, now or later.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    shared: Arc<Shared>,
    /// One operation at a time, if several threads use this communicator.
    calls: Mutex<()>,
}

#[derive(Debug)]
struct Shared {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

/// The operation that the ranks are calling, and the result of the last one.
#[derive(Debug)]
struct State {
    /// Number of operations that all ranks have called.
    completed: u64,
    /// What the first rank to arrive called, and that rank.
    operation: Option<(Operation, usize)>,
    /// The bytes of the ranks that have arrived.
    arrived: Vec<Option<Arc<Vec<u8>>>>,
    /// The result of the last operation, and the number of ranks that have not taken it yet.
    result: Gathered,
    to_take: usize,
    /// Why no further operation is possible.
    error: Option<RankError>,
}

/// The communicators of `size` threads of this process, in the order of ranks.
///
/// A rank that waits for others sleeps. Between threads nothing is copied: all of them get the same
/// bytes.
#[must_use]
pub fn threads(size: usize) -> Vec<Threads> {
    let shared = Arc::new(Shared {
        size,
        state: Mutex::new(State {
            completed: 0,
            operation: None,
            arrived: vec![None; size],
            result: Vec::new(),
            to_take: 0,
            error: None,
        }),
        changed: Condvar::new(),
    });
    (0..size)
        .map(|rank| Threads {
            rank,
            shared: Arc::clone(&shared),
            calls: Mutex::new(()),
        })
        .collect()
}

impl Shared {
    /// The state is consistent after every statement that could panic, so that poisoning means
    /// nothing.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets all operations return `error`, unless there has been another one.
    fn set_error(&self, error: RankError) {
        self.lock().error.get_or_insert(error);
        self.changed.notify_all();
    }
}

impl State {
    /// Ends the operation that all ranks have called.
    fn complete(&mut self) {
        self.result = self.arrived.iter_mut().filter_map(Option::take).collect();
        self.to_take = self.result.len();
        self.operation = None;
        self.completed += 1;
    }

    /// The result for one rank. The last one takes it, so that the bytes are kept no longer than
    /// needed.
    fn take(&mut self) -> Gathered {
        self.to_take -= 1;
        if self.to_take == 0 {
            return std::mem::take(&mut self.result);
        }
        self.result.clone()
    }
}

impl Threads {
    /// Waits until all ranks have called `operation`; the bytes of all of them.
    fn exchange(&self, operation: Operation, mine: Vec<u8>) -> Result<Gathered, RankError> {
        let _one_at_a_time = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.shared.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        let (expected, other) = *state.operation.get_or_insert((operation, self.rank));
        if expected != operation {
            drop(state);
            let error = RankError::Order {
                rank: self.rank,
                called: operation.name(),
                other,
                expected: expected.name(),
            };
            self.shared.set_error(error.clone());
            return Err(error);
        }
        state.arrived[self.rank] = Some(Arc::new(mine));
        let number = state.completed;
        if state.arrived.iter().all(Option::is_some) {
            state.complete();
            self.shared.changed.notify_all();
        }
        loop {
            // An operation that all ranks have called succeeds on all of them, whatever comes after
            // it.
            if state.completed > number {
                return Ok(state.take());
            }
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            state = self
                .shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Arc<Vec<u8>>>, RankError> {
        self.exchange(Operation::AllGather, mine)
    }

    fn gather(&self, mine: Vec<u8>) -> Result<Option<Vec<Arc<Vec<u8>>>>, RankError> {
        let all = self.exchange(Operation::Gather, mine)?;
        Ok((self.rank == 0).then_some(all))
    }

    fn broadcast(&self, mine: Vec<u8>) -> Result<Arc<Vec<u8>>, RankError> {
        let mine = if self.rank == 0 { mine } else { Vec::new() };
        let mut all = self.exchange(Operation::Broadcast, mine)?;
        Ok(all.swap_remove(0))
    }

    fn fail(&self, message: &str) {
        self.shared.set_error(RankError::Failed {
            rank: self.rank,
            message: message.to_owned(),
        });
    }

    fn local_rank(&self) -> usize {
        self.rank
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let rank = self.rank;
        self.shared.set_error(if std::thread::panicking() {
            RankError::Failed {
                rank,
                message: "its thread panicked".to_owned(),
            }
        } else {
            RankError::Ended { rank }
        });
    }
}
