//! Ctrl-C while there is nothing to save.

use crate::failure::Failure;
use crate::output::complain;
use crate::processes;
use warpstride::run::{Interrupt, NothingToSave};

/// Until the value that is returned is dropped, Ctrl-C ends the program at once, with this
/// sentence.
pub(super) fn stops_at_once(sentence: String) -> Result<NothingToSave, Failure> {
    let say = |sentence: &str| {
        if processes::is_first() {
            complain(sentence);
        }
    };
    Ok(Interrupt::ends_at_once(sentence, say)?)
}
