//! The frames that are found.

/// Fewest counts of the frame in the middle, ordered by their counts: fainter frames differ by
/// chance.
pub(super) const FAINTEST: f64 = 30.0;

/// Frames of a scan that are no measurements of the specimen in the beam, as numbers of the scan's
/// frames.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BadFrames {
    /// Without beam: their counts are stray light, or almost none beside their neighbours.
    pub without_beam: Vec<usize>,
    /// With several times the counts of all their neighbours, which no specimen does.
    pub too_bright: Vec<usize>,
    /// Doubtful: far darker than all frames around, without a gradual change.
    pub darker: Vec<usize>,
    /// Doubtful: brighter than all frames around, without a gradual change.
    pub brighter: Vec<usize>,
    /// Doubtful: with a pattern unlike that of the frames around.
    pub unlike: Vec<usize>,
    /// Doubtful: with hardly any counts in a part of the detector in which the others have them.
    pub incomplete: Vec<usize>,
    /// Doubtful: with whole rows or columns that are far brighter than those beside them, which
    /// they are not in all frames.
    pub bright_lines: Vec<usize>,
    /// Doubtful: shifted by whole pixels against most frames.
    pub shifted: Vec<usize>,
    /// Doubtful: several times as bright as the others, with the same pattern and no light in
    /// between.
    pub brighter_level: Vec<usize>,
    /// Doubtful: far brighter than the others, which have no pattern of the beam either. No other
    /// frames are judged.
    pub undecided: Vec<usize>,
}

impl BadFrames {
    /// The frames that are certainly none, in their order.
    #[must_use]
    pub fn certain(&self) -> Vec<usize> {
        merged(&[&self.without_beam, &self.too_bright])
    }

    /// The frames that perhaps are none, in their order.
    #[must_use]
    pub fn doubtful(&self) -> Vec<usize> {
        merged(&[
            &self.darker,
            &self.brighter,
            &self.unlike,
            &self.incomplete,
            &self.bright_lines,
            &self.shifted,
            &self.brighter_level,
            &self.undecided,
        ])
    }
}

pub(super) fn merged(lists: &[&Vec<usize>]) -> Vec<usize> {
    let mut all: Vec<usize> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}
