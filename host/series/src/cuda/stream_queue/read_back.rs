//! Reads results back in steps between which the host does not wait: the number of buckets and a
//! bound on their length, the exact length if order statistics need it, then the buckets.

use super::StreamQueue;
use super::state::{State, TableRequest};
use crate::cuda::resident::Heads;
use crate::cuda::results::{PendingTable, Pool, TableResult};
use std::slice::from_ref;
use warpstride_cuda::gpu::{Device, ReadBack, Result};

/// The results of a chunk.
pub(in crate::cuda) struct FinishedChunk<M: Device> {
    pub(in crate::cuda) job: usize,
    pub(in crate::cuda) tables: Vec<TableResult<M>>,
    /// Points left out because an earlier one has the same time.
    pub(in crate::cuda) duplicates: usize,
}

impl<M: Device> StreamQueue<M> {
    /// Starts reading back the facts about tables.
    pub(super) fn read_facts(
        &self,
        device: &M,
        requests: &[TableRequest],
    ) -> Result<Vec<M::ReadBack<u32>>> {
        let facts = requests.iter().map(|request| {
            let tables = &self.tables[request.kind];
            device.read_back(&tables.tables[request.granularity].heads.facts)
        });
        facts.collect()
    }

    /// Discards the chunk in progress.
    pub(in crate::cuda) fn abandon(&mut self) {
        self.state = State::Idle;
    }

    /// Advances as far as possible without waiting. Returns whether [`StreamQueue::finish`] would
    /// return at once.
    pub(in crate::cuda) fn advance(&mut self, device: &M, pool: &mut Pool<M>) -> Result<bool> {
        if let State::Counting { facts, .. } = &self.state
            && facts.iter().all(ReadBack::ready)
        {
            self.receive(device, pool)?;
        }
        Ok(match &self.state {
            State::Idle => true,
            State::Counting { .. } => false,
            State::Receiving { pending, .. } => pending.iter().all(PendingTable::ready),
        })
    }

    /// Takes the next step, waiting for its inputs: queues the stages of long buckets, or reads
    /// back as many buckets as the device reported.
    fn receive(&mut self, device: &M, pool: &mut Pool<M>) -> Result<()> {
        let (job, sent, facts, requests, exact, duplicates) =
            match std::mem::replace(&mut self.state, State::Idle) {
                State::Counting {
                    job,
                    sent,
                    facts,
                    requests,
                    exact,
                    duplicates,
                } => (job, sent, facts, requests, exact, duplicates),
                other => {
                    self.state = other;
                    return Ok(());
                }
            };
        let facts = facts
            .into_iter()
            .map(ReadBack::wait)
            .collect::<Result<Vec<_>>>()?;
        if !exact && self.queue_long(device, &requests, &facts)? {
            self.state = State::Counting {
                job,
                sent,
                facts: self.read_facts(device, &requests)?,
                requests,
                exact: true,
                duplicates,
            };
            return Ok(());
        }
        let pending = self.read_back_buckets(device, pool, &requests, &facts)?;
        self.state = State::Receiving {
            job,
            sent,
            pending,
            duplicates,
        };
        Ok(())
    }

    /// Queues order statistics, which depend on the longest bucket, and the read-back of all
    /// results.
    fn read_back_buckets(
        &mut self,
        device: &M,
        pool: &mut Pool<M>,
        requests: &[TableRequest],
        facts: &[Vec<u32>],
    ) -> Result<Vec<PendingTable<M>>> {
        let mut pending = Vec::with_capacity(requests.len());
        for (facts, request) in facts.iter().zip(requests) {
            let tables = &mut self.tables[request.kind];
            let points = if request.rate {
                &self.rates
            } else {
                &self.points
            };
            let longest = Heads::<M>::longest(facts);
            tables.order(device, points, request.granularity, longest)?;
            let table = &tables.tables[request.granularity];
            let (heads, columns) = (&table.heads, &table.columns);
            let found = facts.get(Heads::<M>::BUCKETS).map_or(0, |n| *n as usize);
            let (lead, end) = (
                request.lead,
                found.clamp(request.lead, heads.capacity.max(request.lead)),
            );
            let of_columns: Vec<_> = (0..columns.count)
                .map(|column| column * columns.stride + lead..column * columns.stride + end)
                .collect();
            let capacity = heads.capacity;
            let starts = pool.wide(device, capacity)?;
            let first = pool.narrow(device, capacity + 1)?;
            let of_series = pool.narrow(device, request.series + 1)?;
            let values = pool.values(device, capacity * columns.count)?;
            let of_all = lead..lead + request.series + 1;
            pending.push(PendingTable {
                table: tables.first + request.granularity,
                buckets: end - lead,
                series: request.series,
                starts: device.receive(&heads.starts, from_ref(&(lead..end)), starts)?,
                first: device.receive(&heads.first, from_ref(&(lead..end + 1)), first)?,
                of_series: device.receive(&heads.of_series, from_ref(&of_all), of_series)?,
                columns: device.receive(&columns.values, &of_columns, values)?,
            });
        }
        Ok(pending)
    }

    /// Queues the stages of long buckets, if any. Returns whether the host needs their exact
    /// greatest length.
    fn queue_long(
        &mut self,
        device: &M,
        requests: &[TableRequest],
        facts: &[Vec<u32>],
    ) -> Result<bool> {
        let mut needed = false;
        for (facts, request) in facts.iter().zip(requests) {
            let points = if request.rate {
                &self.rates
            } else {
                &self.points
            };
            let tables = &mut self.tables[request.kind];
            needed |= tables.long(
                device,
                points,
                request.granularity,
                Heads::<M>::longest(facts),
            )?;
        }
        Ok(needed)
    }

    /// Waits for the chunk; `None` if there is none.
    pub(in crate::cuda) fn finish(
        &mut self,
        device: &M,
        pool: &mut Pool<M>,
    ) -> Result<Option<FinishedChunk<M>>> {
        while matches!(self.state, State::Counting { .. }) {
            self.receive(device, pool)?;
        }
        let State::Receiving {
            job,
            sent,
            pending,
            duplicates,
        } = std::mem::replace(&mut self.state, State::Idle)
        else {
            return Ok(None);
        };
        let tables = pending.into_iter().map(PendingTable::wait);
        let tables = tables.collect::<Result<_>>()?;
        drop(sent);
        Ok(Some(FinishedChunk {
            job,
            tables,
            duplicates,
        }))
    }
}
