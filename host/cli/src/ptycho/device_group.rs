//! A reconstruction on several devices of this host: a thread for each of them.

use crate::failure::Failure;
use std::sync::Arc;
use std::thread;
use warpstride::ptycho::Ranks;
use warpstride::ranks::threads;

/// Calls `each` with every member in a thread of its own, the first one in this thread. If one
/// fails, the others end too; the failure is that of the first one that did not fail because of
/// another.
pub(super) fn on_all<M: Send>(
    members: Vec<M>,
    each: impl Fn(M, &Ranks) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let ranks = threads(members.len()).into_iter();
    let mut ranks = ranks.map(|rank| Ranks::of(Arc::new(rank)));
    let run = |member: M, ranks: Ranks| {
        let done = each(member, &ranks);
        if let Err(failure) = &done {
            ranks.fail(&failure.to_string());
        }
        done
    };
    let run = &run;
    let failures = thread::scope(|scope| {
        let mut members = members.into_iter();
        let first = members.next().zip(ranks.next());
        let others: Vec<_> = (members.zip(ranks))
            .map(|(member, ranks)| scope.spawn(move || run(member, ranks)))
            .collect();
        let led = first.map(|(member, ranks)| run(member, ranks));
        let panicked = || Err(Failure::failed("the thread of a device ended unexpectedly"));
        let others = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panicked()));
        let all: Vec<_> = led.into_iter().chain(others).collect();
        all.into_iter().filter_map(Result::err).collect::<Vec<_>>()
    });
    let mut failures = failures.into_iter();
    let first = failures.next();
    match (
        first,
        failures.find(|failure| matches!(failure, Failure::OfRank(_))),
    ) {
        (None, _) => Ok(()),
        (Some(first @ (Failure::OfRank(_) | Failure::Interrupted(_))), _) | (Some(first), None) => {
            Err(first)
        }
        (Some(_), Some(own)) => Err(own),
    }
}
