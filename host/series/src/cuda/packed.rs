//! A chunk in page-locked memory, ready for the transfer.

use super::chunks::Chunk;
use super::coded::{Coding, Width};
use super::prepare::{Prepared, vec_with_capacity};
use crate::SeriesError;
use bytemuck::Pod;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::series::unpack::frames;

/// Number of elements that one thread copies at a time.
const COPY: usize = 1 << 17;
/// Name of the timestamps in errors.
const TIMES: &str = "timestamps";

/// The points and series of a chunk. Buffers may be longer than their contents.
pub(super) struct Packed<M: Device> {
    /// The coding of the timestamps, which decides which buffers hold them.
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
    /// (series + 2), offsets with the lead as a separate series; used only with a lead.
    pub(super) split: Arc<M::Pinned<u32>>,
}

impl<M: Device> Packed<M> {
    /// Makes empty buffers.
    pub(super) fn new(device: &M) -> Result<Self> {
        let offsets = "offsets of series";
        Ok(Self {
            coding: Coding::RAW,
            times: Arc::new(device.pinned(TIMES, 0)?),
            bases: Arc::new(device.pinned(TIMES, 0)?),
            narrow: Arc::new(device.pinned(TIMES, 0)?),
            wide: Arc::new(device.pinned(TIMES, 0)?),
            values: Arc::new(device.pinned("values", 0)?),
            offsets: Arc::new(device.pinned(offsets, 0)?),
            split: Arc::new(device.pinned(offsets, 0)?),
        })
    }

    /// Packs a chunk, with compressed timestamps if requested and possible.
    pub(super) fn fill(
        &mut self,
        device: &M,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
        coded: bool,
    ) -> std::result::Result<(), SeriesError> {
        self.fill_times(device, &travelling(prepared, chunk)?, coded)?;
        let lead = chunk.lead.map(|point| prepared.values[point]);
        let values = exclusive(device, &mut self.values, "values", chunk.len())?;
        let (head, rest) = values.split_at_mut(usize::from(lead.is_some()));
        head.fill(lead.unwrap_or(0.0));
        copy(&prepared.values[chunk.points.clone()], rest);
        let series = chunk.series.len() + 1;
        let offsets = exclusive(device, &mut self.offsets, "offsets of series", series)?;
        for (index, offset) in offsets.iter_mut().zip(chunk.offsets(prepared)) {
            *index = offset;
        }
        if chunk.lead.is_some() {
            let split = exclusive(device, &mut self.split, "offsets of series", series + 1)?;
            let offsets = [0, 1].into_iter().chain(chunk.offsets(prepared).skip(1));
            for (index, offset) in split.iter_mut().zip(offsets) {
                *index = offset;
            }
        }
        Ok(())
    }

    fn fill_times(&mut self, device: &M, times: &[u64], coded: bool) -> Result<()> {
        let mut coding = if coded {
            Coding::guess(times)
        } else {
            Coding::RAW
        };
        loop {
            let packed = if coding.width == Width::Raw {
                copy(
                    times,
                    exclusive(device, &mut self.times, TIMES, times.len())?,
                );
                Ok(())
            } else {
                let bases = exclusive(device, &mut self.bases, TIMES, frames(times.len()))?;
                match coding.width {
                    Width::Two => {
                        let narrow = exclusive(device, &mut self.narrow, TIMES, times.len())?;
                        coding.pack(times, bases, narrow)
                    }
                    _ => {
                        let wide = exclusive(device, &mut self.wide, TIMES, times.len())?;
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

    /// Bytes transferred to the device.
    pub(super) fn bytes(&self, chunk: &Chunk) -> usize {
        let offsets = chunk.series.len() + 1;
        let split = if chunk.lead.is_some() { offsets + 1 } else { 0 };
        self.coding.bytes(chunk.len()) + 8 * chunk.len() + 4 * (offsets + split)
    }
}

/// Timestamps of the transferred points.
fn travelling<'a>(
    prepared: &'a Prepared<'_>,
    chunk: &Chunk,
) -> std::result::Result<Cow<'a, [u64]>, SeriesError> {
    let (start, times) = (chunk.points.start, &prepared.times);
    match chunk.lead {
        None => Ok(Cow::Borrowed(&times[chunk.points.clone()])),
        Some(lead) if lead + 1 == start => Ok(Cow::Borrowed(&times[lead..chunk.points.end])),
        Some(lead) => {
            let mut together = vec_with_capacity(chunk.len())?;
            together.push(times[lead]);
            together.extend_from_slice(&times[chunk.points.clone()]);
            Ok(Cow::Owned(together))
        }
    }
}

/// Returns memory that is long enough and not in use by a copy.
fn exclusive<'a, M: Device, T: Pod + Send + Sync>(
    device: &M,
    memory: &'a mut Arc<M::Pinned<T>>,
    what: &'static str,
    len: usize,
) -> Result<&'a mut [T]> {
    if memory.len() < len || Arc::get_mut(memory).is_none() {
        *memory = Arc::new(device.pinned(what, len)?);
    }
    // It was allocated just now, or no copy holds it.
    Ok(Arc::get_mut(memory).map_or(&mut [], |memory| &mut memory[..len]))
}

fn copy<T: Pod + Send + Sync>(from: &[T], to: &mut [T]) {
    let parts = to.par_chunks_mut(COPY).zip(from.par_chunks(COPY));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
