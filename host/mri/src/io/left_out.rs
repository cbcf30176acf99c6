//! What readers leave out, for their notes.

use std::fmt;
use warpstride_core::text::count;

/// Acquisitions that were left out, by kind.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// The kind.
    pub what: String,
    /// Their number.
    pub acquisitions: usize,
}

impl LeftOut {
    /// `10 of 12 readouts are used; left out: 2 readouts of ...`; nothing if none is left out.
    pub(super) fn note(used: usize, all: usize, noun: &str, left_out: &[Self]) -> Option<String> {
        let list: Vec<String> = left_out.iter().map(Self::to_string).collect();
        let list = list.join(", ");
        (!left_out.is_empty()).then(|| format!("{used} of {all} {noun} are used; left out: {list}"))
    }
}

/// `1 noise scan`, `2 noise scans`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nouns = ["acquisitions", "readouts", "scans"];
        let noun = nouns.into_iter().find(|noun| self.what.contains(noun));
        let one = noun.map(|noun| self.what.replacen(noun, &noun[..noun.len() - 1], 1));
        let one = one.as_deref().unwrap_or(&self.what);
        f.write_str(&count(self.acquisitions, [one, &self.what]))
    }
}
