//! A reconstruction on one device or several: a thread for each further device, which does what the
//! first one does.

use crate::background::caught;
use crate::errors::Failure;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use warpstride::ptycho::cuda::{GroupMember, failed_alone};
use warpstride::ptycho::{EngineError, Problem, Ranks, Recipe, Reconstructor, RunError};
use warpstride::ranks::threads;

/// Why a device failed, and whether it failed alone, and the others because of it.
type Failed = (Failure, bool);
type Job = Box<dyn FnOnce(&mut Reconstructor) -> Result<(), EngineError> + Send>;

fn failed(error: EngineError) -> Failed {
    let error = RunError::Engine(error);
    let alone = failed_alone(&error);
    match error {
        RunError::Engine(error) => (error.into(), alone),
        other => (Failure::data(other), alone),
    }
}

/// A further device.
struct Follower {
    jobs: mpsc::Sender<Job>,
    done: mpsc::Receiver<Result<(), Failed>>,
}

/// Does `work` and tells the other ranks if it fails.
fn telling<R>(ranks: &Ranks, work: impl FnOnce() -> Result<R, EngineError>) -> Result<R, Failed> {
    let result = match caught(|| Ok(work().map_err(failed))) {
        Ok(result) => result,
        Err(panicked) => Err((panicked, true)),
    };
    if let Err((why, _)) = &result {
        ranks.fail(&why.to_string());
    }
    result
}

impl Follower {
    fn start(
        member: GroupMember,
        ranks: Ranks,
        problem: Arc<Problem>,
        recipe: Arc<Recipe>,
    ) -> (Self, JoinHandle<()>) {
        let (jobs, received) = mpsc::channel::<Job>();
        let (tell, done) = mpsc::channel();
        let thread = thread::spawn(move || {
            let make = || {
                let engine = member.engine(&problem, &ranks)?;
                Ok(Reconstructor::new(engine, &problem, &recipe))
            };
            let mut run = match telling(&ranks, make) {
                Ok(run) => run,
                Err(failed) => {
                    // The first one waits for it, unless it has ended.
                    let _ = tell.send(Err(failed));
                    return;
                }
            };
            let mut result = Ok(());
            loop {
                if tell.send(result).is_err() {
                    return;
                }
                let Ok(job) = received.recv() else { return };
                result = telling(&ranks, || job(&mut run));
            }
        });
        (Self { jobs, done }, thread)
    }

    fn wait(&self) -> Result<(), Failed> {
        let ended = || Failure::Internal("the thread of a device ended unexpectedly".to_owned());
        (self.done.recv()).unwrap_or_else(|_| Err((ended(), false)))
    }
}

/// Threads that are waited for.
#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // Panics are caught within.
            let _ = thread.join();
        }
    }
}

/// The result of the first device; the failure of one that failed alone, if there is one.
fn combined<R>(own: Result<R, Failed>, others: Vec<Result<(), Failed>>) -> Result<R, Failure> {
    let (mut own, mut because) = match own {
        Ok(own) => (Some(own), None),
        Err((why, true)) => return Err(why),
        Err((why, false)) => (None, Some(why)),
    };
    for other in others {
        match other {
            Ok(()) => {}
            Err((why, true)) => return Err(why),
            Err((why, false)) => {
                own = None;
                because.get_or_insert(why);
            }
        }
    }
    own.ok_or_else(|| {
        because.unwrap_or_else(|| Failure::Internal("no result of a device".to_owned()))
    })
}

/// The engines of a reconstruction. What drops first: the channels, by which the threads of further
/// devices end; then the first engine; at last the threads are waited for.
pub(super) struct Group {
    followers: Vec<Follower>,
    ranks: Ranks,
    first: Reconstructor,
    _threads: Threads,
}

impl Group {
    /// One device, or the CPU.
    pub(super) fn one(first: Reconstructor) -> Self {
        Self {
            followers: Vec::new(),
            ranks: Ranks::alone(),
            first,
            _threads: Threads::default(),
        }
    }

    /// Several devices, of which this thread has the first.
    pub(super) fn several(
        members: Vec<GroupMember>,
        problem: &Arc<Problem>,
        recipe: &Arc<Recipe>,
    ) -> Result<Self, Failure> {
        let ranks = threads(members.len()).into_iter();
        let ranks = ranks.map(|rank| Ranks::of(Arc::new(rank)));
        let mut pairs = members.into_iter().zip(ranks);
        let Some((member, ranks)) = pairs.next() else {
            return Err(Failure::Internal("a group without devices".to_owned()));
        };
        let started = pairs.map(|(member, ranks)| {
            Follower::start(member, ranks, Arc::clone(problem), Arc::clone(recipe))
        });
        let (followers, threads): (Vec<_>, Vec<_>) = started.unzip();
        let threads = Threads(threads);
        let made = telling(&ranks, || {
            let engine = member.engine(problem, &ranks)?;
            Ok(Reconstructor::new(engine, problem, recipe))
        });
        let others = followers.iter().map(Follower::wait).collect();
        let first = match combined(made, others) {
            Ok(first) => first,
            Err(why) => {
                // By which the threads end, before they are waited for.
                drop(followers);
                return Err(why);
            }
        };
        Ok(Self {
            first,
            followers,
            ranks,
            _threads: threads,
        })
    }

    /// The run of the first device, for what needs no other.
    pub(super) fn first(&mut self) -> &mut Reconstructor {
        &mut self.first
    }

    /// Number of devices.
    pub(super) fn len(&self) -> usize {
        1 + self.followers.len()
    }

    /// Does the same on all devices, and returns the result of the first.
    pub(super) fn all<R>(
        &mut self,
        work: impl Fn(&mut Reconstructor) -> Result<R, EngineError> + Send + Sync + 'static,
    ) -> Result<R, Failure> {
        if self.followers.is_empty() {
            return Ok(work(&mut self.first)?);
        }
        let work = Arc::new(work);
        for follower in &self.followers {
            let work = Arc::clone(&work);
            // One that has ended says so when it is waited for.
            let _ = follower.jobs.send(Box::new(move |run| work(run).map(drop)));
        }
        let own = telling(&self.ranks, || work(&mut self.first));
        combined(own, self.followers.iter().map(Follower::wait).collect())
    }
}
