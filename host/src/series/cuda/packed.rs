//! A chunk in page-locked memory, as it travels.

use super::chunks::Chunk;
use super::prepare::Prepared;
use crate::gpu::{Machine, Result};
use bytemuck::Pod;
use rayon::prelude::*;
use std::sync::Arc;

/// Elements that one thread copies at a time.
const COPY: usize = 1 << 17;

/// A chunk's points and its series. Memory may be longer than what is in it.
pub(super) struct Packed<M: Machine> {
    /// (point), nanoseconds since 1970.
    pub(super) times: Arc<M::Pinned<u64>>,
    /// (point).
    pub(super) values: Arc<M::Pinned<f64>>,
    /// (series + 1).
    pub(super) offsets: Arc<M::Pinned<u32>>,
    /// (series + 2), with the lead as a series of its own; only where there is one.
    pub(super) split: Arc<M::Pinned<u32>>,
}

impl<M: Machine> Packed<M> {
    /// Without memory.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            times: Arc::new(machine.pinned("timestamps", 0)?),
            values: Arc::new(machine.pinned("values", 0)?),
            offsets: Arc::new(machine.pinned("offsets of series", 0)?),
            split: Arc::new(machine.pinned("offsets of series", 0)?),
        })
    }

    /// Takes in a chunk.
    pub(super) fn fill(
        &mut self,
        machine: &M,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
    ) -> Result<()> {
        let lead = chunk
            .lead
            .map(|point| (prepared.times[point], prepared.values[point]));
        let times = ours(machine, &mut self.times, "timestamps", chunk.len())?;
        copy(
            lead.map(|(time, _)| time),
            &prepared.times[chunk.points.clone()],
            times,
        );
        let values = ours(machine, &mut self.values, "values", chunk.len())?;
        copy(
            lead.map(|(_, value)| value),
            &prepared.values[chunk.points.clone()],
            values,
        );
        let series = chunk.series.len() + 1;
        let offsets = ours(machine, &mut self.offsets, "offsets of series", series)?;
        for (place, offset) in offsets.iter_mut().zip(chunk.offsets(prepared)) {
            *place = offset;
        }
        if chunk.lead.is_some() {
            let split = ours(machine, &mut self.split, "offsets of series", series + 1)?;
            let offsets = [0, 1].into_iter().chain(chunk.offsets(prepared).skip(1));
            for (place, offset) in split.iter_mut().zip(offsets) {
                *place = offset;
            }
        }
        Ok(())
    }
}

/// Memory that is long enough and that no copy holds.
fn ours<'a, M: Machine, T: Pod + Send + Sync>(
    machine: &M,
    memory: &'a mut Arc<M::Pinned<T>>,
    what: &'static str,
    len: usize,
) -> Result<&'a mut [T]> {
    if memory.len() < len || Arc::get_mut(memory).is_none() {
        *memory = Arc::new(machine.pinned(what, len)?);
    }
    // Made just now, or nobody else's.
    Ok(Arc::get_mut(memory).map_or(&mut [], |memory| &mut memory[..len]))
}

fn copy<T: Pod + Send + Sync>(lead: Option<T>, from: &[T], to: &mut [T]) {
    let (head, rest) = to.split_at_mut(usize::from(lead.is_some()));
    if let (Some(place), Some(value)) = (head.first_mut(), lead) {
        *place = value;
    }
    let parts = rest.par_chunks_mut(COPY).zip(from.par_chunks(COPY));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
