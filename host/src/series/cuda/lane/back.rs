//! What comes back from a queue, in steps between which the host does not wait: how many buckets there are and how long,
//! how long exactly where order statistics need it, the buckets.

use super::Lane;
use crate::gpu::{Fetch, Machine, Result};
use crate::series::cuda::resident::Heads;
use crate::series::cuda::results::{Incoming, Pool, TableResult};
use std::slice::from_ref;

/// What became of a chunk.
pub(in crate::series::cuda) struct Done<M: Machine> {
    pub(in crate::series::cuda) job: usize,
    pub(in crate::series::cuda) tables: Vec<TableResult<M>>,
    /// Points left out because one of the same time stood before them.
    pub(in crate::series::cuda) duplicates: usize,
}

/// Where a lane is.
pub(super) enum State<M: Machine> {
    Idle,
    /// Facts of the buckets are on their way.
    Counting {
        job: usize,
        sent: Vec<M::Sent>,
        facts: Vec<M::Fetch<u32>>,
        asked: Vec<Asked>,
        /// Long buckets are done, and how long they are is among the facts.
        exact: bool,
        duplicates: usize,
    },
    /// The buckets are.
    Receiving {
        job: usize,
        sent: Vec<M::Sent>,
        incoming: Vec<Incoming<M>>,
        duplicates: usize,
    },
}

/// Which of a lane's tables is wanted, and what of it.
pub(super) struct Asked {
    /// Values' or rates'.
    pub(super) of: usize,
    pub(super) granularity: usize,
    pub(super) rate: bool,
    /// Series and buckets before those that count: a lead's.
    pub(super) lead: usize,
    pub(super) series: usize,
}

impl<M: Machine> Lane<M> {
    /// Begins to fetch the facts of tables.
    pub(super) fn ask(&self, machine: &M, asked: &[Asked]) -> Result<Vec<M::Fetch<u32>>> {
        let facts = asked.iter().map(|asked| {
            let tables = &self.tables[asked.of];
            machine.fetch(&tables.of[asked.granularity].heads.facts)
        });
        facts.collect()
    }

    /// Forgets what was under way.
    pub(in crate::series::cuda) fn abandon(&mut self) {
        self.state = State::Idle;
    }

    /// Goes on where that needs no waiting; whether [`Lane::finish`] would return at once.
    pub(in crate::series::cuda) fn advance(
        &mut self,
        machine: &M,
        pool: &mut Pool<M>,
    ) -> Result<bool> {
        if let State::Counting { facts, .. } = &self.state
            && facts.iter().all(Fetch::ready)
        {
            self.receive(machine, pool)?;
        }
        Ok(match &self.state {
            State::Idle => true,
            State::Counting { .. } => false,
            State::Receiving { incoming, .. } => incoming.iter().all(Incoming::ready),
        })
    }

    /// Takes the next step, waiting for what it needs: the stages of long buckets, or the way back of the buckets, of
    /// which there are as many as the device says.
    fn receive(&mut self, machine: &M, pool: &mut Pool<M>) -> Result<()> {
        let (job, sent, facts, asked, exact, duplicates) =
            match std::mem::replace(&mut self.state, State::Idle) {
                State::Counting {
                    job,
                    sent,
                    facts,
                    asked,
                    exact,
                    duplicates,
                } => (job, sent, facts, asked, exact, duplicates),
                other => {
                    self.state = other;
                    return Ok(());
                }
            };
        let facts = facts
            .into_iter()
            .map(Fetch::wait)
            .collect::<Result<Vec<_>>>()?;
        if !exact && self.do_long(machine, &asked, &facts)? {
            self.state = State::Counting {
                job,
                sent,
                facts: self.ask(machine, &asked)?,
                asked,
                exact: true,
                duplicates,
            };
            return Ok(());
        }
        let incoming = self.fetch_buckets(machine, pool, &asked, &facts)?;
        self.state = State::Receiving {
            job,
            sent,
            incoming,
            duplicates,
        };
        Ok(())
    }

    /// Queues order statistics, which need to know of long buckets, and the way back of all results.
    fn fetch_buckets(
        &mut self,
        machine: &M,
        pool: &mut Pool<M>,
        asked: &[Asked],
        facts: &[Vec<u32>],
    ) -> Result<Vec<Incoming<M>>> {
        let mut incoming = Vec::with_capacity(asked.len());
        for (facts, asked) in facts.iter().zip(asked) {
            let tables = &mut self.tables[asked.of];
            let points = if asked.rate {
                &self.rates
            } else {
                &self.points
            };
            let longest = Heads::<M>::longest(facts);
            tables.order(machine, points, asked.granularity, longest)?;
            let table = &tables.of[asked.granularity];
            let (heads, columns) = (&table.heads, &table.columns);
            let found = facts.get(Heads::<M>::BUCKETS).map_or(0, |n| *n as usize);
            let (lead, end) = (
                asked.lead,
                found.clamp(asked.lead, heads.capacity.max(asked.lead)),
            );
            let of_columns: Vec<_> = (0..columns.count)
                .map(|column| column * columns.stride + lead..column * columns.stride + end)
                .collect();
            let room = heads.capacity;
            let starts = pool.wide(machine, room)?;
            let first = pool.narrow(machine, room + 1)?;
            let of_series = pool.narrow(machine, asked.series + 1)?;
            let values = pool.values(machine, room * columns.count)?;
            let of_all = lead..lead + asked.series + 1;
            incoming.push(Incoming {
                table: tables.first + asked.granularity,
                buckets: end - lead,
                series: asked.series,
                starts: machine.receive(&heads.starts, from_ref(&(lead..end)), starts)?,
                first: machine.receive(&heads.first, from_ref(&(lead..end + 1)), first)?,
                of_series: machine.receive(&heads.of_series, from_ref(&of_all), of_series)?,
                columns: machine.receive(&columns.values, &of_columns, values)?,
            });
        }
        Ok(incoming)
    }

    /// Queues the stages of long buckets where there are any; whether the host needs to know how long they are.
    fn do_long(&mut self, machine: &M, asked: &[Asked], facts: &[Vec<u32>]) -> Result<bool> {
        let mut needed = false;
        for (facts, asked) in facts.iter().zip(asked) {
            let points = if asked.rate {
                &self.rates
            } else {
                &self.points
            };
            let tables = &mut self.tables[asked.of];
            needed |= tables.long(
                machine,
                points,
                asked.granularity,
                Heads::<M>::longest(facts),
            )?;
        }
        Ok(needed)
    }

    /// Waits for the chunk; `None` where none is under way.
    pub(in crate::series::cuda) fn finish(
        &mut self,
        machine: &M,
        pool: &mut Pool<M>,
    ) -> Result<Option<Done<M>>> {
        while matches!(self.state, State::Counting { .. }) {
            self.receive(machine, pool)?;
        }
        let State::Receiving {
            job,
            sent,
            incoming,
            duplicates,
        } = std::mem::replace(&mut self.state, State::Idle)
        else {
            return Ok(None);
        };
        let tables = incoming.into_iter().map(Incoming::wait);
        let tables = tables.collect::<Result<_>>()?;
        drop(sent);
        Ok(Some(Done {
            job,
            tables,
            duplicates,
        }))
    }
}
