//! Runs independent tasks on all cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// The results of `work` for each of `tasks`, in order. The tasks start in order, as many at a time
/// as the computer has cores; no further task starts after an error.
///
/// # Errors
///
/// The first error in the order of the tasks.
pub(crate) fn map<T: Sync, R: Send>(
    tasks: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Vec<Mutex<Option<Result<R>>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores.min(tasks.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(task), Some(slot)) = (tasks.get(index), results.get(index)) else {
                        return;
                    };
                    let result = work(task);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let mut done = Vec::with_capacity(tasks.len());
    for slot in results {
        match slot.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(result) => done.push(Some(result?)),
            None => done.push(None),
        }
    }
    done.into_iter()
        .collect::<Option<Vec<R>>>()
        .context("a task was left out although none failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn results_keep_their_order() {
        let squares = map(&[1, 2, 3, 4, 5], |x| Ok(x * x)).unwrap();
        assert_eq!(squares, [1, 4, 9, 16, 25]);
        assert!(map(&[] as &[u32], |x| Ok(*x)).unwrap().is_empty());
    }

    #[test]
    fn the_first_error_is_returned() {
        let error = map(
            &[1, 2, 3],
            |x| if *x > 1 { bail!("task {x}") } else { Ok(*x) },
        );
        assert_eq!(error.unwrap_err().to_string(), "task 2");
    }
}
