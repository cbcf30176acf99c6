//! How the progress of a reconstruction is reported.

use crate::output::ProgressStream;
use std::cell::RefCell;
use warpstride::ptycho::data::HistoryEntry;
use warpstride::run::{Bar, JsonLines, Observer, Silent};
use warpstride::text::significant;

/// How progress is reported on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptycho) enum ProgressOutput {
    /// A progress bar on a terminal, and a summary at the end.
    Text,
    /// One JSON object per line.
    Json,
    /// Nothing.
    Quiet,
}

impl ProgressOutput {
    pub(super) fn observer(self) -> Box<dyn Observer<HistoryEntry>> {
        match self {
            Self::Text => {
                // R and R_free stay until the next iteration that has them.
                let known = RefCell::new(String::new());
                Box::new(Bar::new(move |entry: &HistoryEntry| {
                    let mut known = known.borrow_mut();
                    if let Some(r) = entry.r_factor {
                        *known = format!("  after {}: R {}", entry.iteration, significant(r, 3));
                        if let Some(r_free) = entry.r_free {
                            *known += &format!("  R_free {}", significant(r_free, 3));
                        }
                    }
                    let error = significant(entry.err_fourier, 3);
                    format!("{} {error}{known}", entry.engine)
                }))
            }
            Self::Json => Box::new(JsonLines::new(ProgressStream)),
            Self::Quiet => Box::new(Silent),
        }
    }
}
