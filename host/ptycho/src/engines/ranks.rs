//! Frames divided among ranks: threads with a device each, or processes of MPI.
//!
//! A list of frames has a fixed number of parts, whatever the number of ranks, and each rank
//! computes some neighbouring ones. Sums over frames are sums of each part, which are added along a
//! fixed binary tree ([`PartSums`]). So the sums, and with them object and probe, have the same
//! bits on any number of ranks up to [`PARTS`].

mod part_sums;

pub(crate) use part_sums::{PartSums, Summand};

use crate::EngineError;
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;
use warpstride_ranks::{
    Communicator, RankError, all_gather_values, broadcast_values, gather_values,
};

/// Parts of a list of frames, if it is long enough: they can be divided evenly among 1, 2, 3, 4, 6
/// and 12 ranks. More of them would cost time, as a single rank adds their sums too.
const PARTS: usize = 12;
/// Frames of a part, at least; fewer than [`PARTS`] parts otherwise.
const SMALLEST: usize = 4;

/// The ranks among which the frames of a scan are divided, as one of them sees them.
///
/// Every rank calls the same operations in the same order. The values that they return are the same
/// on every rank.
#[derive(Clone, Default)]
pub struct Ranks {
    communicator: Option<Arc<dyn Communicator>>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

impl Ranks {
    /// One rank, which computes everything.
    #[must_use]
    pub fn alone() -> Self {
        Self::default()
    }

    /// The ranks of a communicator.
    #[must_use]
    pub fn of(communicator: Arc<dyn Communicator>) -> Self {
        Self {
            communicator: (communicator.size() > 1).then_some(communicator),
        }
    }

    /// This rank: 0, 1, …
    #[must_use]
    pub fn rank(&self) -> usize {
        self.communicator.as_ref().map_or(0, |of| of.rank())
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.communicator.as_ref().map_or(1, |of| of.size())
    }

    /// The number of this rank among those of its host.
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.communicator.as_ref().map_or(0, |of| of.local_rank())
    }

    /// The number of ranks on this host.
    #[must_use]
    pub fn local_size(&self) -> usize {
        self.communicator.as_ref().map_or(1, |of| of.local_size())
    }

    /// Whether this is rank 0, which writes files and reports.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Ends the work of all ranks, because this one cannot go on.
    pub fn fail(&self, message: &str) {
        if let Some(communicator) = &self.communicator {
            communicator.fail(message);
        }
    }

    /// Whether any rank answers yes.
    ///
    /// # Errors
    /// A rank has failed.
    pub fn any(&self, yes: bool) -> Result<bool, RankError> {
        let answers = self.gathered(&[u8::from(yes)])?;
        Ok(answers.contains(&1))
    }

    /// Whether all ranks have the same bytes.
    ///
    /// # Errors
    /// A rank has failed.
    pub fn agree(&self, bytes: &[u8]) -> Result<bool, RankError> {
        Ok(self.each(bytes)?.iter().all(|other| other == bytes))
    }

    /// The bytes of every rank.
    ///
    /// # Errors
    /// A rank has failed.
    pub fn each(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, RankError> {
        let Some(communicator) = &self.communicator else {
            return Ok(vec![own.to_vec()]);
        };
        let all = communicator.all_gather(own.to_vec())?;
        Ok(all.iter().map(|bytes| bytes.to_vec()).collect())
    }

    /// How a list of `frames` frames is divided.
    pub(crate) fn parts(&self, frames: usize) -> Parts {
        let count = parts_of(frames, self.size());
        let share = |rank: usize| rank * count / self.size();
        Parts {
            frames,
            count,
            own: share(self.rank())..share(self.rank() + 1),
        }
    }

    /// The values of all ranks, one after the other: of frames, if each rank gives those of its own
    /// ([`Parts::own_frames`]).
    pub(crate) fn gathered<T: Pod>(&self, own: &[T]) -> Result<Vec<T>, RankError> {
        match &self.communicator {
            None => Ok(own.to_vec()),
            Some(communicator) => Ok(all_gather_values(communicator.as_ref(), own)?.concat()),
        }
    }

    /// The values of rank 0.
    pub(crate) fn of_first<T: Pod>(&self, own: &[T]) -> Result<Vec<T>, RankError> {
        match &self.communicator {
            None => Ok(own.to_vec()),
            Some(communicator) => broadcast_values(communicator.as_ref(), own),
        }
    }

    /// The values of all ranks on rank 0; elsewhere only the own ones.
    pub(crate) fn gathered_first<T: Pod>(&self, own: Vec<T>) -> Result<Vec<T>, RankError> {
        match &self.communicator {
            None => Ok(own),
            Some(communicator) => {
                let all = gather_values(communicator.as_ref(), &own)?;
                Ok(all.map_or(own, |all| all.concat()))
            }
        }
    }

    /// The sum over the parts of all ranks; `None` if there are no parts.
    pub(crate) fn total<V: Summand>(&self, own: PartSums<V>) -> Result<Option<V>, EngineError> {
        let Some(communicator) = &self.communicator else {
            return Ok(own.total());
        };
        let mut all = own.without_sums();
        for bytes in communicator.all_gather(own.encode())? {
            all.decode(&bytes).ok_or(EngineError::Unlike)?;
        }
        Ok(all.total())
    }
}

/// Number of parts of a list of `frames` frames, for `ranks` ranks.
fn parts_of(frames: usize, ranks: usize) -> usize {
    let fits = |count: &usize| count * SMALLEST <= frames;
    let few = [PARTS, 6, 4, 3, 2].into_iter().find(fits).unwrap_or(1);
    // More ranks than parts: the sums have other bits then.
    let needed = if ranks > PARTS { ranks } else { few };
    needed.min(frames).max(few)
}

/// A list of frames in parts, some of which this rank computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    frames: usize,
    count: usize,
    own: Range<usize>,
}

impl Parts {
    /// Number of parts.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The parts that this rank computes.
    pub(crate) fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// The frames of a part: places in the list.
    pub(crate) fn frames(&self, part: usize) -> Range<usize> {
        self.start(part)..self.start(part + 1)
    }

    /// The frames that this rank computes: places in the list.
    pub(crate) fn own_frames(&self) -> Range<usize> {
        self.start(self.own.start)..self.start(self.own.end)
    }

    /// The part of the frame at a place of the list.
    pub(crate) fn of_frame(&self, place: usize) -> usize {
        (0..self.count)
            .find(|part| self.frames(*part).contains(&place))
            .unwrap_or(0)
    }

    fn start(&self, part: usize) -> usize {
        part * self.frames / self.count
    }
}

#[cfg(test)]
mod tests;
