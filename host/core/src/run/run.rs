//! A computation that goes step by step, and the loop that runs it to its end or until it is
//! interrupted.

use super::{Interrupt, Observer};
use std::time::{Duration, Instant};

/// A computation in steps: what a science implements, and a [`Run`] drives.
pub trait Steps {
    /// The metrics of one iteration.
    type Entry;
    /// Why the computation cannot go on.
    type Error;

    /// Iterations planned.
    fn planned(&self) -> usize;

    /// Iterations done.
    fn done(&self) -> usize;

    /// Whether no iteration is left.
    fn finished(&self) -> bool;

    /// Does one step: one iteration, or as many as suit the engine. Returns the metrics that have
    /// become available, possibly those of earlier iterations.
    ///
    /// # Errors
    /// The step fails, or its metrics are not finite.
    fn advance(&mut self) -> Result<Vec<Self::Entry>, Self::Error>;

    /// Waits for the metrics of all iterations done so far. An engine that waits in
    /// [`Steps::advance`] has none left.
    ///
    /// # Errors
    /// The metrics cannot be read, or are not finite.
    fn flush(&mut self) -> Result<Vec<Self::Entry>, Self::Error> {
        Ok(Vec::new())
    }

    /// Saves what is needed to resume. Does nothing for computations whose result is enough to go
    /// on from.
    ///
    /// # Errors
    /// The file cannot be written.
    fn checkpoint(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// What is to be done if this process wants `wanted`, where several ones compute together and
    /// must do the same: to end early, or to write a checkpoint.
    ///
    /// # Errors
    /// Another process cannot be asked.
    fn agreed(&mut self, wanted: bool) -> Result<bool, Self::Error> {
        Ok(wanted)
    }
}

/// When checkpoints are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// At most this often; `None`: only when interrupted.
    pub every: Option<Duration>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All iterations are done, or the stopping rule is met.
    Finished,
    /// It was interrupted; a checkpoint was written.
    Interrupted,
}

/// A computation with its metrics and its computing time.
#[derive(Debug)]
pub struct Run<S: Steps> {
    steps: S,
    entries: Vec<S::Entry>,
    computing: Duration,
}

impl<S: Steps> Run<S> {
    /// A run from where `steps` is.
    #[must_use]
    pub fn new(steps: S) -> Self {
        Self {
            steps,
            entries: Vec::new(),
            computing: Duration::ZERO,
        }
    }

    /// The computation.
    #[must_use]
    pub fn steps(&self) -> &S {
        &self.steps
    }

    /// The computation, for its results.
    pub fn steps_mut(&mut self) -> &mut S {
        &mut self.steps
    }

    /// The computation alone.
    #[must_use]
    pub fn into_steps(self) -> S {
        self.steps
    }

    /// The metrics of this run so far, in order.
    #[must_use]
    pub fn entries(&self) -> &[S::Entry] {
        &self.entries
    }

    /// Seconds spent in the steps and in waiting for their metrics: without setup, saving and
    /// progress.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.computing.as_secs_f64()
    }

    /// Mean time of an iteration in milliseconds; `None` before the first metrics.
    #[must_use]
    pub fn ms_per_iteration(&self) -> Option<f64> {
        let count = self.entries.len();
        (count > 0).then(|| 1e3 * self.seconds() / count as f64)
    }

    /// Does one step.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn advance(&mut self) -> Result<(), S::Error> {
        let begin = Instant::now();
        let entries = self.steps.advance()?;
        self.computing += begin.elapsed();
        self.entries.extend(entries);
        Ok(())
    }

    /// Waits for all metrics.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn flush(&mut self) -> Result<(), S::Error> {
        let begin = Instant::now();
        let entries = self.steps.flush()?;
        self.computing += begin.elapsed();
        self.entries.extend(entries);
        Ok(())
    }

    /// Reports the entries from number `reported` on, and returns their number.
    fn report(&self, observer: &mut dyn Observer<S::Entry>, reported: usize) -> usize {
        for entry in &self.entries[reported..] {
            observer.entry(entry);
        }
        self.entries.len()
    }

    /// Runs to the end, or until interrupted; reports every entry once and in order.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn execute(
        &mut self,
        observer: &mut dyn Observer<S::Entry>,
        interrupt: &Interrupt,
        schedule: Schedule,
    ) -> Result<End, S::Error> {
        let mut reported = self.entries.len();
        observer.start(self.steps.planned(), self.steps.done());
        let mut saved = Instant::now();
        while !self.steps.finished() {
            if self.steps.agreed(interrupt.requested())? {
                self.flush()?;
                self.report(observer, reported);
                self.steps.checkpoint()?;
                observer.end();
                return Ok(End::Interrupted);
            }
            self.advance()?;
            reported = self.report(observer, reported);
            observer.progress(self.steps.done());
            let due = schedule.every.is_some_and(|every| saved.elapsed() >= every);
            if self.steps.agreed(due)? && !self.steps.finished() {
                self.flush()?;
                self.steps.checkpoint()?;
                saved = Instant::now();
            }
        }
        self.flush()?;
        self.report(observer, reported);
        observer.end();
        Ok(End::Finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        done: usize,
        returned: usize,
        saved: Vec<usize>,
        interrupt: Option<(usize, Interrupt)>,
    }

    impl Steps for Count {
        type Entry = usize;
        type Error = ();
        fn planned(&self) -> usize {
            5
        }
        fn done(&self) -> usize {
            self.done
        }
        fn finished(&self) -> bool {
            self.done == 5
        }
        fn advance(&mut self) -> Result<Vec<usize>, ()> {
            self.done += 1;
            if let Some((at, interrupt)) = &self.interrupt
                && *at == self.done
            {
                interrupt.request();
            }
            // Metrics arrive two iterations late.
            if self.done <= 2 {
                return Ok(Vec::new());
            }
            self.returned += 1;
            Ok(vec![self.returned])
        }
        fn flush(&mut self) -> Result<Vec<usize>, ()> {
            let late = self.returned + 1..=self.done;
            self.returned = self.done;
            Ok(late.collect())
        }
        fn checkpoint(&mut self) -> Result<(), ()> {
            self.saved.push(self.returned);
            Ok(())
        }
    }

    struct Collect(Vec<usize>);

    impl Observer<usize> for Collect {
        fn start(&mut self, _planned: usize, _done: usize) {}
        fn entry(&mut self, entry: &usize) {
            self.0.push(*entry);
        }
        fn end(&mut self) {}
    }

    fn count(interrupt: Option<(usize, Interrupt)>) -> Run<Count> {
        Run::new(Count {
            done: 0,
            returned: 0,
            saved: Vec::new(),
            interrupt,
        })
    }

    #[test]
    fn every_entry_is_reported_once_and_in_order() {
        let (mut run, mut collect) = (count(None), Collect(Vec::new()));
        let schedule = Schedule { every: None };
        let end = run.execute(&mut collect, &Interrupt::new(), schedule);
        assert_eq!((end, run.steps().saved.len()), (Ok(End::Finished), 0));
        assert_eq!(collect.0, [1, 2, 3, 4, 5]);
        assert_eq!(run.entries(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_interrupt_saves_complete_metrics_and_stops() {
        let interrupt = Interrupt::new();
        let (mut run, mut collect) = (count(Some((3, interrupt.clone()))), Collect(Vec::new()));
        let schedule = Schedule { every: None };
        let end = run.execute(&mut collect, &interrupt, schedule);
        assert_eq!(end, Ok(End::Interrupted));
        assert_eq!((run.steps().done, &*run.steps().saved), (3, &[3][..]));
        assert_eq!(collect.0, [1, 2, 3]);
    }

    #[test]
    fn a_zero_interval_saves_after_every_iteration_but_the_last() {
        let mut run = count(None);
        let schedule = Schedule {
            every: Some(Duration::ZERO),
        };
        run.execute(&mut Collect(Vec::new()), &Interrupt::new(), schedule)
            .unwrap();
        assert_eq!(run.steps().saved, [1, 2, 3, 4]);
    }
}
