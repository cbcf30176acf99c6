//! Every frame is computed by one rank, and the parts do not depend on the number of ranks.

use super::*;
use warpstride_ranks::threads;

#[test]
fn every_frame_is_in_one_part_and_every_part_has_one_rank() {
    for size in [1, 2, 3, 4, 5, 12, 13, 40] {
        let ranks: Vec<Ranks> = (threads(size).into_iter())
            .map(|rank| Ranks::of(Arc::new(rank)))
            .collect();
        for frames in [1, 2, 3, 7, 8, 11, 48, 100, 1457] {
            let mut next = 0;
            for ranks in &ranks {
                let parts = ranks.parts(frames);
                assert_eq!(parts.own_frames().start, next);
                next = parts.own_frames().end;
                for part in parts.own() {
                    assert!(!parts.frames(part).is_empty());
                    for frame in parts.frames(part) {
                        assert_eq!(parts.of_frame(frame), part);
                    }
                }
                if size <= PARTS {
                    assert_eq!(parts.count(), Ranks::alone().parts(frames).count());
                }
            }
            assert_eq!(next, frames, "{size} ranks");
        }
    }
}

#[test]
fn a_long_list_is_divided_evenly() {
    for size in [1, 2, 3, 4, 6, 12] {
        for rank in threads(size) {
            let own = Ranks::of(Arc::new(rank)).parts(1200).own_frames();
            assert_eq!(own.len(), 1200 / size);
        }
    }
}
