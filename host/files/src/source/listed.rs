//! The datasets of a file, as a list.

use warpstride_core::text::count;

/// Most links that are looked at: a damaged file may have endless ones.
pub(super) const MAX_LINKS: usize = 2000;
/// Deepest group that is looked into.
pub(super) const DEEPEST: usize = 8;

/// Kinds of elements of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// Integers, or truth values.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Compounds of a real and an imaginary part, named `r` and `i`, or `real` and `imag`.
    Complex,
    /// Strings, references and other records.
    Other,
}

/// A dataset, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDataset {
    /// Path, from the root.
    pub path: String,
    /// Shape, from the slowest to the fastest axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Kind of its elements.
    pub kind: ElementKind,
    /// Name of the element type: `uint16`.
    pub element: String,
    /// Its attribute `units`, if it has one that is not empty.
    pub units: Option<String>,
}

impl ListedDataset {
    /// Number of elements; saturates.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |n, d| n.saturating_mul(*d))
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The datasets of a file, as far as it is looked through.
#[derive(Default)]
pub(super) struct Contents {
    /// The datasets, without those that are damaged.
    pub(super) datasets: Vec<ListedDataset>,
    /// Links of the groups that were found that were not looked at.
    pub(super) links: u64,
    /// Groups that were not looked into, as they are too deep or come after the last link that was
    /// looked at.
    pub(super) groups: usize,
    /// Links to other files in whose places there is no dataset, or that were not followed.
    pub(super) elsewhere: usize,
}

impl Contents {
    /// What was not looked at; `None` if that is nothing.
    pub(super) fn unseen(&self) -> Option<String> {
        let counted = |n: u64, noun| (n > 0).then(|| count(n, noun));
        let links = counted(self.links, ["link", "links"]);
        let groups = counted(self.groups as u64, ["group", "groups"]);
        let more = match (links, groups) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one),
            (Some(links), Some(groups)) => Some(format!("{links} and {groups}")),
        };
        let more = more.map(|what| {
            format!(
                "{what} more, as at most {MAX_LINKS} links are looked at, in groups at most {DEEPEST} levels deep"
            )
        });
        let elsewhere = counted(self.elsewhere as u64, ["link", "links"]).map(|links| {
            format!("{links} to other files, where no dataset was found or looked for (those out of its folder: --follow-links)")
        });
        match (more, elsewhere) {
            (Some(more), Some(elsewhere)) => Some(format!("{more}; {elsewhere}")),
            (more, elsewhere) => more.or(elsewhere),
        }
    }
}
