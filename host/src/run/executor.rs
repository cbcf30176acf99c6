//! Runs a computation to its end, or until somebody stops it.

use super::{Interrupt, Observer};
use std::time::{Duration, Instant};

/// A computation that goes step by step.
pub trait Iterate {
    /// Figures of one iteration.
    type Entry;
    /// Why it cannot go on.
    type Error;

    /// Iterations planned.
    fn planned(&self) -> usize;
    /// Iterations done.
    fn done(&self) -> usize;
    /// Whether nothing is left.
    fn finished(&self) -> bool;
    /// One iteration.
    ///
    /// # Errors
    /// Its own.
    fn advance(&mut self) -> Result<(), Self::Error>;
    /// Waits for what is under way, so that the figures are complete.
    ///
    /// # Errors
    /// Its own.
    fn settle(&mut self) -> Result<(), Self::Error>;
    /// Figures so far.
    fn entries(&self) -> &[Self::Entry];
    /// Writes a checkpoint.
    ///
    /// # Errors
    /// Its own.
    fn checkpoint(&mut self) -> Result<(), Self::Error>;
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
    /// It came to its end.
    Finished,
    /// Somebody stopped it; a checkpoint was written.
    Interrupted,
}

/// Runs `task`.
///
/// # Errors
/// The task's.
pub fn execute<T: Iterate>(
    task: &mut T,
    observer: &mut dyn Observer<T::Entry>,
    interrupt: &Interrupt,
    schedule: Schedule,
) -> Result<End, T::Error> {
    let mut told = task.entries().len();
    observer.start(task.planned(), task.done());
    let mut saved = Instant::now();
    while !task.finished() {
        if interrupt.requested() {
            task.settle()?;
            task.checkpoint()?;
            observer.end();
            return Ok(End::Interrupted);
        }
        task.advance()?;
        let entries = task.entries();
        entries[told..]
            .iter()
            .for_each(|entry| observer.entry(entry));
        told = entries.len();
        observer.progress(task.done());
        let due = schedule.every.is_some_and(|every| saved.elapsed() >= every);
        if due && !task.finished() {
            task.settle()?;
            task.checkpoint()?;
            saved = Instant::now();
        }
    }
    task.settle()?;
    task.entries()[told..]
        .iter()
        .for_each(|entry| observer.entry(entry));
    observer.end();
    Ok(End::Finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        done: usize,
        entries: Vec<usize>,
        saved: Vec<usize>,
        interrupt: Option<(usize, Interrupt)>,
    }

    impl Iterate for Count {
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
        fn advance(&mut self) -> Result<(), ()> {
            self.done += 1;
            // Figures arrive two iterations late.
            if self.done > 2 {
                self.entries.push(self.done - 2);
            }
            if let Some((at, interrupt)) = &self.interrupt
                && *at == self.done
            {
                interrupt.request();
            }
            Ok(())
        }
        fn settle(&mut self) -> Result<(), ()> {
            while self.entries.len() < self.done {
                self.entries.push(self.entries.len() + 1);
            }
            Ok(())
        }
        fn entries(&self) -> &[usize] {
            &self.entries
        }
        fn checkpoint(&mut self) -> Result<(), ()> {
            self.saved.push(self.entries.len());
            Ok(())
        }
    }

    struct Seen(Vec<usize>);

    impl Observer<usize> for Seen {
        fn start(&mut self, _planned: usize, _done: usize) {}
        fn entry(&mut self, entry: &usize) {
            self.0.push(*entry);
        }
        fn end(&mut self) {}
    }

    fn count() -> Count {
        Count {
            done: 0,
            entries: Vec::new(),
            saved: Vec::new(),
            interrupt: None,
        }
    }

    #[test]
    fn every_entry_is_told_once_and_in_order() {
        let (mut task, mut seen) = (count(), Seen(Vec::new()));
        let schedule = Schedule { every: None };
        let end = execute(&mut task, &mut seen, &Interrupt::new(), schedule);
        assert_eq!((end, task.saved.len()), (Ok(End::Finished), 0));
        assert_eq!(seen.0, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_interrupt_saves_complete_figures_and_stops() {
        let interrupt = Interrupt::new();
        let mut task = Count {
            interrupt: Some((3, interrupt.clone())),
            ..count()
        };
        let schedule = Schedule { every: None };
        let end = execute(&mut task, &mut Seen(Vec::new()), &interrupt, schedule);
        assert_eq!(
            (end, task.done, task.saved),
            (Ok(End::Interrupted), 3, vec![3])
        );
    }

    #[test]
    fn a_zero_interval_saves_after_every_iteration_but_the_last() {
        let mut task = count();
        let schedule = Schedule {
            every: Some(Duration::ZERO),
        };
        execute(
            &mut task,
            &mut Seen(Vec::new()),
            &Interrupt::new(),
            schedule,
        )
        .unwrap();
        assert_eq!(task.saved, [1, 2, 3, 4]);
    }
}
