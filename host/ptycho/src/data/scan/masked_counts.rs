//! Sets masked pixels to 0, and adds up the counts of the others.

use super::error::ScanError;
use crate::data::count_sums::OfFrame;
use crate::data::frames::{block_frames, copied};
use crate::data::{CountSums, Frames, Mask};
use ndarray::{ArrayView1, ArrayView2, ArrayView3, ArrayViewMut2, Axis};
use rayon::prelude::*;
use warpstride_core::system::ScratchError;

/// Calls `visit` with blocks of frames whose masked pixels are 0.
pub(super) fn masked_blocks<E: From<ScratchError>>(
    frames: &Frames,
    mask: &Mask,
    mut visit: impl FnMut(usize, ArrayView3<'_, f32>) -> Result<(), E>,
) -> Result<(), E> {
    if frames.in_memory().is_some() {
        return frames.blocks(visit);
    }
    frames.blocks(|first, block| {
        let mut block = copied(block)?;
        for (counts, frame) in block.outer_iter_mut().zip(first..) {
            mask.clear(frame, counts);
        }
        visit(first, block.view())
    })
}

/// Sets masked pixels to 0 in frames that are in memory; returns the sums of counts that are all
/// finite and not negative.
pub(super) fn sums(frames: &mut Frames, mask: &Mask) -> Result<CountSums, ScanError> {
    let [_, rows, columns] = frames.shape();
    if let Some(sums) = frames.take_sums(mask) {
        return Ok(sums);
    }
    let mut sums = CountSums::new(rows, columns);
    if let Some(all) = frames.in_memory_mut() {
        let together = block_frames(rows, columns);
        for (number, mut block) in all.axis_chunks_iter_mut(Axis(0), together).enumerate() {
            let first = number * together;
            let each: Vec<_> = block.outer_iter_mut().collect();
            let each = each.into_par_iter().enumerate();
            let found = each.map(|(frame, counts)| of_cleared(mask, first + frame, counts));
            // The first error in the order of the frames.
            let found: Vec<_> = found.collect();
            let found: Result<Vec<OfFrame>, ScanError> = found.into_iter().collect();
            sums.add(block.view(), found?);
        }
        return Ok(sums);
    }
    masked_blocks(frames, mask, |first, block| {
        let each: Vec<_> = block.outer_iter().collect();
        let each = each.into_par_iter().enumerate();
        let found = each.map(|(frame, counts)| of_frame(first + frame, counts));
        let found: Vec<_> = found.collect();
        let found: Result<Vec<OfFrame>, ScanError> = found.into_iter().collect();
        sums.add(block, found?);
        Ok::<(), ScanError>(())
    })?;
    Ok(sums)
}

/// Sets the masked pixels of a frame to 0, and finds its properties while its rows are in the
/// processor's cache.
fn of_cleared(
    mask: &Mask,
    frame: usize,
    mut counts: ArrayViewMut2<'_, f32>,
) -> Result<OfFrame, ScanError> {
    let mut of = OfFrame::new();
    let valid = mask.of_frame(frame);
    for (row, (mut counts, valid)) in counts.rows_mut().into_iter().zip(valid.rows()).enumerate() {
        counts.zip_mut_with(&valid, |count, valid| {
            *count = if *valid { *count + 0.0 } else { 0.0 };
        });
        add_row(&mut of, [frame, row], counts.view())?;
    }
    Ok(of)
}

fn of_frame(frame: usize, counts: ArrayView2<'_, f32>) -> Result<OfFrame, ScanError> {
    let mut of = OfFrame::new();
    for (row, counts) in counts.rows().into_iter().enumerate() {
        add_row(&mut of, [frame, row], counts)?;
    }
    Ok(of)
}

fn add_row(
    of: &mut OfFrame,
    [frame, row]: [usize; 2],
    counts: ArrayView1<'_, f32>,
) -> Result<(), ScanError> {
    let added = match counts.as_slice() {
        Some(counts) => of.add(counts),
        None => of.add(&counts.to_vec()),
    };
    added.map_err(|(column, found)| ScanError::Count {
        frame,
        row,
        column,
        found,
    })
}
