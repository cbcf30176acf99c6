//! Batches: lists of frames that follow each other in the order of the launches.

use crate::engines::batch_shares::{SHARES, share_ends};
use crate::engines::cuda::memory::layout::Layout;

/// Some of the frames: `order[first..first + count]`.
#[derive(Debug, Clone, Copy)]
pub(in crate::engines::cuda) struct Batch {
    /// Its place among the batches.
    pub(in crate::engines::cuda) number: u32,
    pub(in crate::engines::cuda) first: u32,
    pub(in crate::engines::cuda) count: u32,
    /// The places in it where its shares end.
    pub(in crate::engines::cuda) ends: [u32; SHARES],
}

/// Lists of frames of a device as batches whose frames follow each other.
pub(in crate::engines::cuda) fn batches(layout: &Layout, lists: &[Vec<u32>]) -> Vec<Batch> {
    let mut first = 0;
    let batch = |(number, list): (u32, &Vec<u32>)| {
        let count = list.len() as u32;
        first += count;
        Batch {
            number,
            first: first - count,
            count,
            ends: share_ends(list, [layout.frames, layout.shares]),
        }
    };
    (0..).zip(lists).map(batch).collect()
}
