//! Computations on threads of their own, while Python's thread waits without its lock and looks for
//! signals.
//!
//! Ctrl-C never installs a handler here: Python's own sets a flag, and the waiting thread asks for
//! it ([`Python::check_signals`]). The computation is then requested to stop, waited for, and
//! `KeyboardInterrupt` is raised.

use crate::detached::{check_process, detached};
use crate::errors::Failure;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use warpstride::run::Interrupt;

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(50);
/// How long work that can be left to itself has time to end after a signal.
const SOON: Duration = Duration::from_millis(100);

/// What a thread returns to the one that waits for it.
struct Slot<R> {
    result: Mutex<Option<Result<R, Failure>>>,
    filled: Condvar,
}

impl<R> Slot<R> {
    fn new() -> Self {
        Self {
            result: Mutex::new(None),
            filled: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Result<R, Failure>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, result: Result<R, Failure>) {
        *self.lock() = Some(result);
        self.filled.notify_all();
    }

    /// Takes the result if it comes within `timeout`.
    fn wait(&self, timeout: Duration) -> Option<Result<R, Failure>> {
        let empty = |result: &mut Option<_>| result.is_none();
        let waited = self.filled.wait_timeout_while(self.lock(), timeout, empty);
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// The result of `work`, also if it panics.
pub(crate) fn caught<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no reason given");
        Err(Failure::Internal(format!(
            "an error of warpstride itself, please report it: {text}"
        )))
    })
}

/// Waits for a thread that fills `slot`. After a signal `interrupt` is requested, and the signal's
/// exception is raised once the thread has stopped.
fn wait<R: Send>(py: Python<'_>, slot: &Slot<R>, interrupt: &Interrupt) -> PyResult<R> {
    let mut signal = None;
    loop {
        if let Some(result) = detached(py, || slot.wait(POLL)) {
            return match signal {
                Some(signal) => Err(signal),
                None => Ok(result?),
            };
        }
        if signal.is_none()
            && let Err(raised) = py.check_signals()
        {
            interrupt.request();
            signal = Some(raised);
        }
    }
}

/// Does `work` on a thread of its own, which may borrow arrays. It should look at the interrupt
/// between its steps.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> Result<R, Failure> + Send,
) -> PyResult<R> {
    check_process()?;
    let (slot, interrupt) = (Slot::new(), Interrupt::new());
    thread::scope(|scope| {
        scope.spawn(|| slot.fill(caught(|| work(&interrupt))));
        wait(py, &slot, &interrupt)
    })
}

/// What a thread shows of its progress, and whether it should go on.
pub(crate) struct Observer<E> {
    reports: mpsc::Sender<Report<E>>,
    /// Seconds between two reports, at least.
    every: Duration,
    last: Instant,
    stopped: bool,
}

/// Entries, and where to answer whether the computation ends.
type Report<E> = (Vec<E>, mpsc::SyncSender<bool>);

impl<E> Observer<E> {
    /// Whether it waits for each step, because the caller may end the computation there.
    pub(crate) fn waits_for_each(&self) -> bool {
        self.every.is_zero()
    }

    /// Shows `entries` to Python's thread, if it is time for them, and waits until it has seen
    /// them. Returns whether the computation ends.
    pub(crate) fn see(&mut self, entries: Vec<E>) -> bool {
        if self.stopped || entries.is_empty() || self.last.elapsed() < self.every {
            return self.stopped;
        }
        let (answer, answered) = mpsc::sync_channel(1);
        if self.reports.send((entries, answer)).is_ok() {
            self.stopped = answered.recv().unwrap_or(false);
        }
        self.last = Instant::now();
        self.stopped
    }
}

/// Does `work` on a thread of its own, which may borrow arrays. It should look at the interrupt
/// between its steps. `see` gets the entries that it shows, at most so often, on Python's thread,
/// and says whether the computation ends; an exception ends it too, and is raised.
pub(crate) fn observed<R: Send, E: Send>(
    py: Python<'_>,
    every: Duration,
    work: impl FnOnce(&Interrupt, &mut Observer<E>) -> Result<R, Failure> + Send,
    mut see: impl FnMut(Python<'_>, Vec<E>) -> PyResult<bool>,
) -> PyResult<R> {
    check_process()?;
    let (slot, interrupt) = (Slot::new(), Interrupt::new());
    let (reports, mut reported) = mpsc::channel();
    let mut observer = Observer {
        reports,
        every,
        last: Instant::now(),
        stopped: false,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let result = caught(|| work(&interrupt, &mut observer));
            slot.fill(result);
            // Ends the loop below.
            drop(observer);
        });
        let mut raised = None;
        loop {
            let received;
            (reported, received) = detached(py, move || {
                let received = reported.recv_timeout(POLL);
                (reported, received)
            });
            match received {
                Ok((entries, answer)) => {
                    let ends = see(py, entries).unwrap_or_else(|error| {
                        raised.get_or_insert(error);
                        true
                    });
                    // The thread waits for it.
                    let _ = answer.send(ends);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if raised.is_none()
                && let Err(signal) = py.check_signals()
            {
                interrupt.request();
                raised = Some(signal);
            }
        }
        let result = wait(py, &slot, &interrupt);
        raised.map_or(result, Err)
    })
}

/// Does `work`, which cannot be stopped, on a thread of its own. After a signal its result is not
/// waited for.
pub(crate) fn abandonable<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> PyResult<R> {
    check_process()?;
    let slot = Arc::new(Slot::new());
    let filled = Arc::clone(&slot);
    thread::spawn(move || filled.fill(caught(work)));
    wait_or_leave(py, &slot)
}

/// Waits for a thread that fills `slot`, but not after a signal.
fn wait_or_leave<R: Send>(py: Python<'_>, slot: &Slot<R>) -> PyResult<R> {
    loop {
        if let Some(result) = detached(py, || slot.wait(POLL)) {
            return Ok(result?);
        }
        py.check_signals()?;
    }
}

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A thread that owns something, an engine for example, which need not be movable to other threads:
/// it is made, used and dropped there.
pub(crate) struct Worker<T: 'static> {
    jobs: Mutex<Option<mpsc::Sender<Job<T>>>>,
}

impl<T: 'static> Worker<T> {
    /// Starts the thread with what `make` returns. After a signal that is not waited for, and
    /// dropped.
    pub(crate) fn start(
        py: Python<'_>,
        make: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<Self> {
        check_process()?;
        let (jobs, received) = mpsc::channel::<Job<T>>();
        let slot = Arc::new(Slot::new());
        let filled = Arc::clone(&slot);
        thread::spawn(move || {
            let mut made = match caught(make) {
                Ok(made) => made,
                Err(failure) => return filled.fill(Err(failure)),
            };
            filled.fill(Ok(()));
            drop(filled);
            for job in received {
                job(&mut made);
            }
        });
        wait_or_leave(py, &slot)?;
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
        })
    }

    fn jobs(&self) -> MutexGuard<'_, Option<mpsc::Sender<Job<T>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the thread for `work`: where its result comes, and the interrupt that it sees.
    fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T, &Interrupt) -> Result<R, Failure> + Send + 'static,
    ) -> Result<(Arc<Slot<R>>, Interrupt), Failure> {
        check_process()?;
        let (slot, interrupt) = (Arc::new(Slot::new()), Interrupt::new());
        let (filled, requested) = (Arc::clone(&slot), interrupt.clone());
        let job: Job<T> = Box::new(move |owned| filled.fill(caught(|| work(owned, &requested))));
        let sent = match &*self.jobs() {
            Some(jobs) => jobs.send(job).is_ok(),
            None => false,
        };
        match sent {
            true => Ok((slot, interrupt)),
            false => Err(Failure::data("the computation has been closed")),
        }
    }

    /// Does `work` on the thread; one call at a time, in the order of the calls.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T, &Interrupt) -> Result<R, Failure> + Send + 'static,
    ) -> PyResult<R> {
        let (slot, interrupt) = self.ask(work)?;
        wait(py, &slot, &interrupt)
    }

    /// Like `call`. If the work does not end soon after a signal, it is left to itself, and the
    /// thread does nothing more.
    pub(crate) fn call_or_leave<R: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T, &Interrupt) -> Result<R, Failure> + Send + 'static,
    ) -> PyResult<R> {
        let (slot, interrupt) = self.ask(work)?;
        loop {
            if let Some(result) = detached(py, || slot.wait(POLL)) {
                return Ok(result?);
            }
            if let Err(signal) = py.check_signals() {
                interrupt.request();
                if detached(py, || slot.wait(SOON)).is_none() {
                    self.close();
                }
                return Err(signal);
            }
        }
    }

    /// Ends the thread once it has done what it was asked for; what it owns is dropped there.
    pub(crate) fn close(&self) {
        self.jobs().take();
    }
}
