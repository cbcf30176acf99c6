//! Checks an installation of MPI: `mpirun -n 4 check-mpi`.
//!
//! Every operation between ranks is compared with what it must give, with messages of different
//! lengths, and an all-gather is timed. Other arguments are for the tests of this crate: they end
//! one rank while the others wait for it.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use warpstride_ranks::mpi::Processes;
use warpstride_ranks::{
    Communicator, RankError, all_gather_values, broadcast_values, gather_values,
};

/// Bytes of each rank in the all-gather that is timed.
const TIMED_BYTES: usize = 32 << 20;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        None => start().and_then(|ranks| check(&ranks).and_then(|()| summary(&ranks))),
        Some("pieces") => start().and_then(|ranks| check(&ranks.with_piece_length(1000))),
        Some(mode) => start().and_then(|ranks| end_early(ranks, mode)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print(&mut io::stderr(), &format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<Processes, RankError> {
    let ranks = Processes::start()?;
    assert!(matches!(Processes::start(), Err(RankError::StartedBefore)));
    Ok(ranks)
}

/// Without a working standard output the exit code is all that can be reported.
fn print(stream: &mut dyn Write, line: &str) {
    let _ = writeln!(stream, "{line}").and_then(|()| stream.flush());
}

/// Bytes of `rank` that no other rank and no other length has.
fn pattern(rank: usize, length: usize) -> Vec<u8> {
    let byte = |index: usize| (index.wrapping_mul(31) ^ (index >> 8) ^ (rank * 89 + length)) as u8;
    (0..length).map(byte).collect()
}

/// Compares every operation with what it must give.
fn check(ranks: &dyn Communicator) -> Result<(), RankError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    assert!(rank < size && ranks.local_rank() < ranks.local_size());
    // Around the shorter piece length, empty on some or all ranks, and longer than most transports'
    // limit of eager messages.
    for length in [0, 1, 999, 1000, 1001, 2000, 1_000_003] {
        for stride in [0, 1, 999] {
            let length_of = |rank: usize| (length + rank * stride) % 1_000_004;
            let expected: Vec<Vec<u8>> = (0..size)
                .map(|rank| pattern(rank, length_of(rank)))
                .collect();
            let mine = expected[rank].clone();
            assert_eq!(bytes(ranks.all_gather(mine.clone())?), expected);
            assert_eq!(*ranks.broadcast(mine.clone())?, expected[0]);
            let gathered = ranks.gather(mine)?.map(bytes);
            assert_eq!(gathered, (rank == 0).then_some(expected));
        }
    }
    let mine = vec![rank as f64 + 0.5; rank];
    let expected: Vec<Vec<f64>> = (0..size).map(|n| vec![n as f64 + 0.5; n]).collect();
    assert_eq!(all_gather_values(ranks, &mine)?, expected);
    assert_eq!(
        gather_values(ranks, &mine)?,
        (rank == 0).then_some(expected)
    );
    assert_eq!(broadcast_values(ranks, &[rank as u16, 7])?, [0, 7]);
    Ok(())
}

fn bytes(gathered: Vec<std::sync::Arc<Vec<u8>>>) -> Vec<Vec<u8>> {
    gathered.iter().map(|bytes| bytes.to_vec()).collect()
}

/// Prints the ranks and how long an all-gather takes.
fn summary(ranks: &dyn Communicator) -> Result<(), RankError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let line = format!(
        "rank {} of {}: rank {} of {} on {}",
        ranks.rank(),
        ranks.size(),
        ranks.local_rank(),
        ranks.local_size(),
        host.trim()
    );
    let lines = ranks.gather(line.into_bytes())?;
    ranks.all_gather(vec![1; TIMED_BYTES])?;
    let mine = vec![2; TIMED_BYTES];
    ranks.broadcast(Vec::new())?;
    let begin = Instant::now();
    ranks.all_gather(mine)?;
    let seconds = begin.elapsed().as_secs_f64();
    for line in lines.iter().flatten() {
        print(&mut io::stdout(), &String::from_utf8_lossy(line));
    }
    if ranks.rank() == 0 {
        print(
            &mut io::stdout(),
            &format!(
                "every operation gave the expected bytes; an all-gather of {} MiB from each rank took {seconds:.4} s",
                TIMED_BYTES >> 20
            ),
        );
    }
    Ok(())
}

/// Ends the last rank as `mode` says while the others wait for it; prints the process identifiers
/// first.
fn end_early(ranks: Processes, mode: &str) -> Result<(), RankError> {
    let pids = all_gather_values(&ranks, &[std::process::id()])?.concat();
    if ranks.rank() == 0 {
        print(&mut io::stdout(), &format!("pids {pids:?}"));
    }
    if ranks.rank() + 1 == ranks.size() {
        std::thread::sleep(Duration::from_millis(300));
        match mode {
            "fail" => ranks.fail("the rank of the test"),
            "panic" => panic!("the rank of the test"),
            "leave" => return Ok(()),
            "order" => return ranks.broadcast(Vec::new()).map(drop),
            "fail-beside" => fail_beside(&ranks),
            _ => {}
        }
    }
    // In mode "work", until the test kills a rank.
    let mut turn = 0;
    loop {
        let length = [0, 10, 100_000, 8_000_000][turn % 4];
        ranks.all_gather(pattern(ranks.rank(), length))?;
        ranks.gather(pattern(ranks.rank(), length))?;
        std::thread::sleep(Duration::from_millis(turn as u64 % 7));
        turn += 1;
    }
}

/// Fails in one thread while another waits in an operation.
fn fail_beside(ranks: &Processes) {
    std::thread::scope(|scope| {
        scope.spawn(|| ranks.broadcast(Vec::new()));
        std::thread::sleep(Duration::from_millis(300));
        ranks.fail("the rank of the test");
    });
}
