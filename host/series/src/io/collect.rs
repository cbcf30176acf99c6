//! Reads all points of several inputs, grouped by series.

use super::block::Block;
use super::names::Names;
use super::reader::Reader;
use super::source::Skipped;
use super::{IoError, Memory, ReadOptions, allow, format_error};
use crate::Batch;
use std::path::PathBuf;

/// The points of several inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// (series), in the order of their first points.
    pub names: Vec<String>,
    /// Points of each series in the order of the inputs.
    pub batch: Batch,
    /// Skipped rows.
    pub skipped: Skipped,
    /// Assumptions and ignored data, one sentence each.
    pub notes: Vec<String>,
}

/// Reads `inputs` (`-` is standard input), which must fit in the available memory.
///
/// # Errors
/// [`IoError`], whose message is one sentence.
pub fn read_all(inputs: &[PathBuf], options: &ReadOptions) -> Result<Collected, IoError> {
    read_all_within(inputs, options, Memory::available())
}

/// Bytes per point: in a block, and again in the batch.
const POINT: u128 = 20 + 16;

/// Like [`read_all`], with a given memory limit.
///
/// # Errors
/// [`IoError`], whose message is one sentence.
pub fn read_all_within(
    inputs: &[PathBuf],
    options: &ReadOptions,
    memory: Memory,
) -> Result<Collected, IoError> {
    let mut reader = Reader::open(inputs, options, memory)?;
    let mut blocks = Vec::new();
    let mut points = 0_u128;
    let what = match inputs {
        [one] => one.display().to_string(),
        _ => "the inputs".to_owned(),
    };
    for block in reader.by_ref() {
        let block = block?;
        points += block.len() as u128;
        allow(&what, "the points", points * POINT, memory)?;
        blocks.push(block);
    }
    let (skipped, notes) = (reader.skipped().clone(), reader.notes());
    let names = reader.into_names();
    let batch = sorted_by_series(blocks, &names);
    Ok(Collected {
        batch: batch.map_err(|e| format_error(&what, e.to_string()))?,
        names: names.into_list(),
        skipped,
        notes,
    })
}

/// Groups the points of the blocks by series; points of a series keep their order.
fn sorted_by_series(blocks: Vec<Block>, names: &Names) -> Result<Batch, crate::SeriesError> {
    let mut offsets = vec![0_usize; names.len() + 1];
    for block in &blocks {
        for series in &block.series {
            offsets[*series as usize + 1] += 1;
        }
    }
    for series in 0..names.len() {
        offsets[series + 1] += offsets[series];
    }
    let points = offsets[names.len()];
    let (mut times, mut values) = (vec![0; points], vec![0.0; points]);
    let mut next = offsets.clone();
    for block in blocks {
        let mut from = 0;
        // Consecutive points of one series are copied together.
        for part in block.series.chunk_by(|a, b| a == b) {
            let end = from + part.len();
            let to = next[part[0] as usize];
            let range = to..to + part.len();
            times[range.clone()].copy_from_slice(&block.times[from..end]);
            values[range].copy_from_slice(&block.values[from..end]);
            next[part[0] as usize] += part.len();
            from = end;
        }
    }
    Batch::new(times, values, offsets)
}
