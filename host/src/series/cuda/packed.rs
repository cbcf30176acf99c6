//! A chunk in page-locked memory, as it travels.

use super::chunks::Chunk;
use super::coded::{Coding, Width};
use super::prepare::{Prepared, room};
use crate::gpu::{Machine, Result};
use crate::series::SeriesError;
use bytemuck::Pod;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;
use warpstride_kernels::series::unpack::frames;

/// Elements that one thread copies at a time.
const COPY: usize = 1 << 17;
/// What timestamps are called when there is no memory for them.
const TIMES: &str = "timestamps";

/// A chunk's points and its series. Memory may be longer than what is in it.
pub(super) struct Packed<M: Machine> {
    /// How timestamps travel, which says where they are.
    pub(super) coding: Coding,
    /// (point), nanoseconds since 1970.
    pub(super) times: Arc<M::Pinned<u64>>,
    /// (frame), nanoseconds since 1970.
    pub(super) bases: Arc<M::Pinned<u64>>,
    /// (point).
    pub(super) narrow: Arc<M::Pinned<u16>>,
    /// (point).
    pub(super) wide: Arc<M::Pinned<u32>>,
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
        let offsets = "offsets of series";
        Ok(Self {
            coding: Coding::RAW,
            times: Arc::new(machine.pinned(TIMES, 0)?),
            bases: Arc::new(machine.pinned(TIMES, 0)?),
            narrow: Arc::new(machine.pinned(TIMES, 0)?),
            wide: Arc::new(machine.pinned(TIMES, 0)?),
            values: Arc::new(machine.pinned("values", 0)?),
            offsets: Arc::new(machine.pinned(offsets, 0)?),
            split: Arc::new(machine.pinned(offsets, 0)?),
        })
    }

    /// Takes in a chunk, with coded timestamps if that is wanted and they can be.
    pub(super) fn fill(
        &mut self,
        machine: &M,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
        coded: bool,
    ) -> std::result::Result<(), SeriesError> {
        self.fill_times(machine, &travelling(prepared, chunk)?, coded)?;
        let lead = chunk.lead.map(|point| prepared.values[point]);
        let values = ours(machine, &mut self.values, "values", chunk.len())?;
        let (head, rest) = values.split_at_mut(usize::from(lead.is_some()));
        head.fill(lead.unwrap_or(0.0));
        copy(&prepared.values[chunk.points.clone()], rest);
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

    fn fill_times(&mut self, machine: &M, times: &[u64], coded: bool) -> Result<()> {
        let mut coding = if coded {
            Coding::guess(times)
        } else {
            Coding::RAW
        };
        loop {
            let packed = if coding.width == Width::Raw {
                copy(times, ours(machine, &mut self.times, TIMES, times.len())?);
                Ok(())
            } else {
                let bases = ours(machine, &mut self.bases, TIMES, frames(times.len()))?;
                match coding.width {
                    Width::Two => {
                        let narrow = ours(machine, &mut self.narrow, TIMES, times.len())?;
                        coding.pack(times, bases, narrow)
                    }
                    _ => {
                        let wide = ours(machine, &mut self.wide, TIMES, times.len())?;
                        coding.pack(times, bases, wide)
                    }
                }
            };
            self.coding = coding;
            match packed {
                Ok(()) => return Ok(()),
                Err(other) => coding = other,
            }
        }
    }

    /// Bytes that travel to the device.
    pub(super) fn bytes(&self, chunk: &Chunk) -> usize {
        let offsets = chunk.series.len() + 1;
        let split = if chunk.lead.is_some() { offsets + 1 } else { 0 };
        self.coding.bytes(chunk.len()) + 8 * chunk.len() + 4 * (offsets + split)
    }
}

/// Timestamps of the points that travel.
fn travelling<'a>(
    prepared: &'a Prepared<'_>,
    chunk: &Chunk,
) -> std::result::Result<Cow<'a, [u64]>, SeriesError> {
    let (start, times) = (chunk.points.start, &prepared.times);
    match chunk.lead {
        None => Ok(Cow::Borrowed(&times[chunk.points.clone()])),
        Some(lead) if lead + 1 == start => Ok(Cow::Borrowed(&times[lead..chunk.points.end])),
        Some(lead) => {
            let mut together = room(chunk.len())?;
            together.push(times[lead]);
            together.extend_from_slice(&times[chunk.points.clone()]);
            Ok(Cow::Owned(together))
        }
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

fn copy<T: Pod + Send + Sync>(from: &[T], to: &mut [T]) {
    let parts = to.par_chunks_mut(COPY).zip(from.par_chunks(COPY));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
