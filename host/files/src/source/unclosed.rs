//! Files that a program has open for writing: read with a note where that may be, refused
//! elsewhere.

use super::linked::Registry;
use super::superblock::{still_written, when_it_is_closed};
use super::{IoError, Source, Writer};
use std::rc::Rc;

impl Source {
    /// Names of the files that a program has open for writing: this one, and those that its links
    /// have led to.
    fn written_elsewhere(&self) -> Vec<String> {
        let linked = match &self.registry {
            Registry::Own(linked) => linked.opened(),
            Registry::Of(..) | Registry::Closed => Vec::new(),
        };
        let sources = std::iter::once(self).chain(linked.iter().map(Rc::as_ref));
        let written = sources.filter(|of| of.superblock.writer != Writer::None);
        written.map(|of| of.name().to_owned()).collect()
    }

    /// Refuses a file that a program has open for writing, also among those that links have led to.
    pub fn closed(&self) -> Result<(), IoError> {
        match self.written_elsewhere().first() {
            None => Ok(()),
            Some(name) => Err(still_written(name)),
        }
    }

    /// One sentence for each file that a program has open for writing.
    pub fn unclosed(&self) -> Vec<String> {
        let note = |name: &String| {
            format!(
                "{name} is still open for writing, or its program has ended without closing it (as its superblock says): what has been written out so far is read, and the last of it may be missing; to read all of it, {}",
                when_it_is_closed(name)
            )
        };
        self.written_elsewhere().iter().map(note).collect()
    }
}
