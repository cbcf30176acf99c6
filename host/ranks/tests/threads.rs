//! Threads as ranks: the expected results follow from the definition of each operation. Every wait
//! has a limit, so that a rank that waits forever fails the test.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use warpstride_ranks::{
    Communicator, RankError, Threads, all_gather_values, broadcast_values, gather_values, threads,
};

const SIZES: [usize; 4] = [1, 2, 3, 7];

/// Runs `work` on every rank; the results in the order of ranks, `None` for a thread that panicked.
fn run<R: Send + 'static>(
    size: usize,
    work: impl Fn(Threads) -> R + Clone + Send + 'static,
) -> Vec<Option<R>> {
    let (send, receive) = mpsc::channel();
    for communicator in threads(size) {
        let (work, send) = (work.clone(), send.clone());
        let rank = communicator.rank();
        thread::spawn(move || {
            let result = thread::spawn(move || work(communicator)).join();
            let _ = send.send((rank, result.ok()));
        });
    }
    let limit = Duration::from_secs(60);
    let mut results: Vec<_> = (0..size)
        .map(|_| receive.recv_timeout(limit).expect("a rank waits forever"))
        .collect();
    results.sort_by_key(|(rank, _)| *rank);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Different on every rank; empty on rank 1.
fn bytes_of(rank: usize) -> Vec<u8> {
    vec![rank as u8; if rank == 1 { 0 } else { 3 * rank + 2 }]
}

fn unwrapped(gathered: Vec<std::sync::Arc<Vec<u8>>>) -> Vec<Vec<u8>> {
    gathered.iter().map(|bytes| bytes.to_vec()).collect()
}

#[test]
fn every_operation_gives_what_its_definition_says() {
    for size in SIZES {
        let expected: Vec<Vec<u8>> = (0..size).map(bytes_of).collect();
        let results = run(size, |c| {
            assert_eq!((c.local_rank(), c.local_size()), (c.rank(), c.size()));
            let mine = bytes_of(c.rank());
            (
                unwrapped(c.all_gather(mine.clone()).unwrap()),
                c.gather(mine.clone()).unwrap().map(unwrapped),
                c.broadcast(mine).unwrap().to_vec(),
                unwrapped(c.all_gather(Vec::new()).unwrap()),
            )
        });
        assert_eq!(results.len(), size);
        for (rank, result) in results.into_iter().enumerate() {
            let (all, gathered, broadcast, empty) = result.unwrap();
            assert_eq!(all, expected);
            assert_eq!(gathered, (rank == 0).then(|| expected.clone()));
            assert_eq!(broadcast, expected[0]);
            assert_eq!(empty, vec![Vec::<u8>::new(); size]);
        }
    }
}

#[test]
fn no_ranks_are_no_communicators() {
    assert!(threads(0).is_empty());
}

/// Consecutive operations are not mixed up when ranks arrive in any order.
#[test]
fn ranks_may_arrive_in_any_order() {
    for size in SIZES {
        let results = run(size, move |c| {
            let mut random = Pcg64Mcg::seed_from_u64(c.rank() as u64);
            for turn in 0..200_u64 {
                if random.random_bool(0.3) {
                    thread::sleep(Duration::from_micros(random.random_range(0..300)));
                }
                let mine = [turn, c.rank() as u64];
                match turn % 3 {
                    0 => {
                        let all = all_gather_values(&c, &mine).unwrap();
                        assert!((0..).zip(&all).all(|(rank, all)| *all == [turn, rank]));
                    }
                    1 => assert_eq!(broadcast_values(&c, &mine).unwrap(), [turn, 0]),
                    _ => {
                        let all = gather_values(&c, &mine).unwrap();
                        assert_eq!(all.is_some(), c.rank() == 0);
                        let all = all.unwrap_or_default();
                        assert!((0..).zip(&all).all(|(rank, all)| *all == [turn, rank]));
                    }
                }
            }
        });
        assert!(results.iter().all(Option::is_some));
    }
}

#[test]
fn a_rank_that_fails_ends_those_that_wait_and_those_that_come_later() {
    for size in [2, 3, 7] {
        let results = run(size, move |c| {
            c.all_gather(Vec::new()).unwrap();
            if c.rank() == size - 1 {
                thread::sleep(Duration::from_millis(50));
                c.fail("disk full");
            }
            if c.rank() == 0 && size > 2 {
                thread::sleep(Duration::from_millis(100));
            }
            let first = c.broadcast(Vec::new()).unwrap_err();
            assert_eq!(c.gather(Vec::new()).unwrap_err(), first);
            first
        });
        for error in results {
            let error = error.unwrap();
            assert_eq!(
                error,
                RankError::Failed {
                    rank: size - 1,
                    message: "disk full".to_owned()
                }
            );
            assert_eq!(
                error.to_string(),
                format!("rank {} failed: disk full", size - 1)
            );
        }
    }
}

#[test]
fn a_thread_that_panics_has_failed() {
    for size in [2, 3, 7] {
        let results = run(size, |c| {
            c.all_gather(Vec::new()).unwrap();
            if c.rank() == 1 {
                thread::sleep(Duration::from_millis(20));
                panic!("the panic of this test");
            }
            c.all_gather(Vec::new()).unwrap_err()
        });
        for (rank, error) in results.into_iter().enumerate() {
            let expected = RankError::Failed {
                rank: 1,
                message: "its thread panicked".to_owned(),
            };
            assert_eq!(error, (rank != 1).then_some(expected));
        }
    }
}

#[test]
fn a_rank_that_has_ended_is_not_waited_for() {
    let results = run(3, |c| {
        c.all_gather(Vec::new()).unwrap();
        (c.rank() != 2).then(|| c.all_gather(Vec::new()).unwrap_err())
    });
    let ended = Some(RankError::Ended { rank: 2 });
    // The other two may also end one after the other, but only after they have their error.
    assert_eq!(results, [Some(ended.clone()), Some(ended), Some(None)]);
}

/// The last operation succeeds on all ranks, although some end while others still wake up.
#[test]
fn the_end_of_a_rank_does_not_disturb_the_last_operation() {
    for _ in 0..200 {
        let results = run(7, |c| c.all_gather(vec![c.rank() as u8]).unwrap().len());
        assert_eq!(results, [Some(7); 7]);
    }
}

#[test]
fn different_operations_are_an_error_on_all_ranks() {
    let results = run(3, |c| match c.rank() {
        2 => c.broadcast(Vec::new()).unwrap_err(),
        _ => c.all_gather(Vec::new()).unwrap_err(),
    });
    for error in results {
        let error = error.unwrap();
        assert!(matches!(error, RankError::Order { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("broadcast") && text.contains("all_gather"),
            "{text}"
        );
    }
}

#[test]
fn values_need_no_alignment_and_whole_values() {
    let results = run(2, |c| {
        // Of an odd length before, so that a later value is at an odd address if anything is
        // shared.
        let all = c.all_gather(vec![0; 7]).unwrap();
        assert_eq!(all_gather_values::<u8>(&c, &[1]).unwrap(), [[1], [1]]);
        let numbers = all_gather_values(&c, &[1.5_f64, c.rank() as f64]).unwrap();
        assert_eq!(numbers, [[1.5, 0.0], [1.5, 1.0]]);
        drop(all);
        // Rank 1 sends bytes where rank 0 expects numbers of four bytes.
        match c.rank() {
            0 => all_gather_values(&c, &[0_u32]).map(drop),
            _ => all_gather_values(&c, &[0_u8; 6]).map(drop),
        }
    });
    let length = RankError::Length {
        rank: 1,
        bytes: 6,
        size: 4,
    };
    assert_eq!(
        length.to_string(),
        "rank 1 sent 6 bytes: expected values of 4 bytes each"
    );
    assert_eq!(results, [Some(Err(length)), Some(Ok(()))]);
}

/// Two threads that share a communicator call one after the other.
#[test]
fn one_rank_may_have_several_threads() {
    let results = run(3, |c| {
        thread::scope(|scope| {
            let call = || (0..50).all(|_| c.all_gather(vec![1]).is_ok());
            let other = scope.spawn(call);
            call() && other.join().unwrap()
        })
    });
    assert_eq!(results, [Some(true); 3]);
}
