//! All points of several inputs, series by series.

use super::names::Names;
use super::reader::{Block, Reader, Skipped};
use super::{IoError, Memory, ReadOptions, allow, no_series};
use crate::series::Batch;
use std::path::PathBuf;

/// The points of several inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// (series), in the order of their first points.
    pub names: Vec<String>,
    /// Points of each series in the order of the inputs.
    pub batch: Batch,
    /// Rows that were left out.
    pub skipped: Skipped,
    /// What was assumed or left aside, a sentence each.
    pub notes: Vec<String>,
}

/// Reads `inputs` (`-` is standard input), which must fit into the memory that is available.
///
/// # Errors
/// [`IoError`], one sentence.
pub fn read_all(inputs: &[PathBuf], options: &ReadOptions) -> Result<Collected, IoError> {
    read_all_within(inputs, options, Memory::available())
}

/// Bytes of a point: in a block, and once more in the batch.
const POINT: u128 = 20 + 16;

/// Like [`read_all`], with a given limit of memory.
///
/// # Errors
/// [`IoError`], one sentence.
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
        batch: batch.map_err(|e| no_series(&what, e.to_string()))?,
        names: names.into_list(),
        skipped,
        notes,
    })
}

/// Points of the blocks, series after series, those of a series in the blocks' order.
fn sorted_by_series(
    blocks: Vec<Block>,
    names: &Names,
) -> Result<Batch, crate::series::SeriesError> {
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
        // A stretch of one series goes at once.
        for stretch in block.series.chunk_by(|a, b| a == b) {
            let end = from + stretch.len();
            let to = next[stretch[0] as usize];
            let place = to..to + stretch.len();
            times[place.clone()].copy_from_slice(&block.times[from..end]);
            values[place].copy_from_slice(&block.values[from..end]);
            next[stretch[0] as usize] += stretch.len();
            from = end;
        }
    }
    Batch::new(times, values, offsets)
}
