//! Frames of a scan that are divided among ranks by turns: every rank has every nth frame, in the
//! order of the scan or by turns from its regions.
//!
//! So each rank has nearly as many frames, of every batch too, and whole slices of a probe update,
//! whose frames are taken by turns as well ([`super::probe_slices`]): from the last frame on, as
//! there.

use super::batch_shares::{SHARES, place, shares_of};
use super::regions::Regions;
use std::sync::Arc;

/// The division of the frames of a scan among ranks, as one of them sees it.
#[derive(Debug, Clone)]
pub(crate) struct Interleaved {
    frames: usize,
    ranks: usize,
    rank: usize,
    /// Whose order the frames have; none: that of the scan.
    regions: Option<Arc<Regions>>,
}

impl Interleaved {
    /// The frames of a scan of `frames` frames among `ranks` ranks.
    pub(crate) fn new(frames: usize, [rank, ranks]: [usize; 2]) -> Self {
        Self {
            frames,
            ranks: ranks.max(1),
            rank,
            regions: None,
        }
    }

    /// With the frames by turns from the regions, so that each rank has whole regions.
    pub(crate) fn with_regions(mut self, regions: Option<Arc<Regions>>) -> Self {
        self.regions = regions;
        self
    }

    /// The rank of the frame at a place in the order.
    fn rank_at(&self, place: usize) -> usize {
        (self.frames - 1 - place) % self.ranks
    }

    /// The frames of a rank, in their order.
    fn of_rank(&self, rank: usize) -> impl Iterator<Item = usize> {
        let order = self.regions.as_deref().map(Regions::order);
        let places = (0..self.frames).filter(move |place| self.rank_at(*place) == rank);
        places.map(move |place| order.map_or(place, |order| order[place] as usize))
    }

    /// Whether this rank has frames in another order than the scan, or some of them only.
    pub(crate) fn differs(&self) -> bool {
        self.ranks > 1 || self.regions.is_some()
    }

    /// The frames of this rank, in their order.
    pub(crate) fn own(&self) -> Vec<usize> {
        self.of_rank(self.rank).collect()
    }

    /// Number of this rank.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// For each frame of the scan its number among those of this rank; none if it is another's.
    pub(crate) fn own_numbers(&self) -> Vec<Option<u32>> {
        let mut numbers = vec![None; self.frames];
        for (number, frame) in (0..).zip(self.of_rank(self.rank)) {
            numbers[frame] = Some(number);
        }
        numbers
    }

    /// The frames that a device has of each list of frames of the scan: its own numbers of them,
    /// one share after the other.
    pub(crate) fn own_lists(&self, lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let own_number = self.own_numbers();
        let own = own_number.iter().flatten().count() as u32;
        let of_device = [own, shares_of(self.ranks)];
        let of_list = |list: &Vec<u32>| {
            let frames = list.iter().map(|frame| own_number.get(*frame as usize));
            let mut of_shares: [Vec<u32>; SHARES] = Default::default();
            for frame in frames.flatten().flatten() {
                of_shares[place(*frame, of_device)].push(*frame);
            }
            of_shares.concat()
        };
        lists.iter().map(of_list).collect()
    }

    /// How many of some frames of the scan each rank has.
    pub(crate) fn counts(&self, frames: &[u32]) -> Vec<usize> {
        let places = self.regions.as_deref().map(Regions::places);
        let mut counts = vec![0; self.ranks];
        for frame in frames
            .iter()
            .filter(|frame| (**frame as usize) < self.frames)
        {
            let place = places.map_or(*frame, |places| places[*frame as usize]);
            counts[self.rank_at(place as usize)] += 1;
        }
        counts
    }

    /// This rank's values of those of all frames.
    pub(crate) fn pick<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let own = self.of_rank(self.rank).filter_map(|frame| all.get(frame));
        own.cloned().collect()
    }

    /// Values of all frames, in their order, from those of each rank one after the other; `values`
    /// of them for each frame.
    pub(crate) fn sorted<T: Clone + Default>(&self, of_ranks: &[T], values: usize) -> Vec<T> {
        let mut all = vec![T::default(); of_ranks.len()];
        let frames = (0..self.ranks).flat_map(|rank| self.of_rank(rank));
        for (frame, from) in frames.zip(of_ranks.chunks_exact(values.max(1))) {
            all[frame * values..][..values].clone_from_slice(from);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_ranks_are_put_in_the_order_of_the_frames() {
        for ranks in 1..6 {
            for frames in 0..12 {
                let all: Vec<usize> = (0..2 * frames).collect();
                let of_rank = |rank| {
                    let division = Interleaved::new(frames, [rank, ranks]);
                    let own = division.own();
                    assert!(own.iter().all(|frame| division.rank_at(*frame) == rank));
                    assert_eq!(own, division.pick(&(0..frames).collect::<Vec<_>>()));
                    own.into_iter().flat_map(|frame| [2 * frame, 2 * frame + 1])
                };
                let of_ranks: Vec<usize> = (0..ranks).flat_map(of_rank).collect();
                let division = Interleaved::new(frames, [0, ranks]);
                assert_eq!(division.sorted(&of_ranks, 2), all, "{frames} of {ranks}");
            }
        }
    }

    #[test]
    fn ranks_have_whole_slices() {
        // Slice s of n: frame `frames − 1 − s` and every nth before it.
        let (frames, slices) = (31, 12);
        for ranks in [1, 2, 3, 4, 6, 12] {
            for rank in 0..ranks {
                let own = Interleaved::new(frames, [rank, ranks]).own();
                for slice in 0..slices / ranks {
                    let of_scan = rank + slice * ranks;
                    let expected = (0..frames).filter(|f| (frames - 1 - f) % slices == of_scan);
                    let local = (0..own.len())
                        .filter(|f| (own.len() - 1 - f) % (slices / ranks) == slice)
                        .map(|f| own[f]);
                    assert!(local.eq(expected), "{ranks} ranks, slice {of_scan}");
                }
            }
        }
    }
}
