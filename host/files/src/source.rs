//! Reading of HDF5 files. Every dataset is inspected before memory is allocated for it.
//!
//! A file that is opened with [`Source::open`] is read alone: its links to other files and virtual
//! datasets are found in its structure, and refused. With [`Source::open_with_links`] they are
//! followed (`linked.rs`, `locate.rs`, `virtual_numbers.rs`), as far as they stay in the folder of
//! the file. External storage is refused. Attributes are read for formats that need them
//! (`attributes.rs`), and only short strings.

#[cfg(test)]
mod attribute_tests;
mod bounds;
#[cfg(feature = "static")]
mod chunk_list;
#[cfg(not(feature = "static"))]
#[path = "source/chunk_list_by_number.rs"]
mod chunk_list;
mod chunks;
mod contents;
mod filters;
mod known;
#[cfg(test)]
mod link_tests;
mod linked;
mod links;
mod listed;
mod listing;
mod locate;
mod look;
mod matlab_complex;
mod numbers;
mod shape;
mod stored;
mod texts;
mod unclosed;
mod virtual_numbers;

pub use bounds::{
    ADVICE_SPARSE, ADVICE_UNCOMPRESSED, DIFFERENT, GREATEST_RATIO, LOOKED_AT, RATIO, UNJUDGED,
};
pub(crate) use chunks::spec as filter_spec;
pub use linked::Follow;
pub use listed::{ElementKind, ListedDataset};
pub use look::{Look, LookFrom, OfSome};
pub use numbers::{Numbers, check_stored, is_alike};

use super::hdf5_name::Hdf5Name;
use super::input_file::InputFile;
use super::superblock::{self, Superblock, Writer};
use super::{IoError, global_heap, unlocked};
use hdf5_metno as hdf5;
use known::Known;
use linked::Registry;
use listed::Contents;
use std::cell::{Cell, OnceCell, RefCell};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use warpstride_core::system::Memory;

/// What to do about data that are in several files.
const ADVICE_REPACK: &str = "copy the data into one plain file, for example with h5repack";

/// When `path` was last written to, if the file system knows.
fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|of| of.modified()).ok()
}

/// Whether `path` is a complete HDF5 file.
pub fn is_hdf5(path: &Path) -> bool {
    superblock::check(path).is_ok()
}

/// The file `path`, opened by HDF5.
fn in_hdf5(path: &Path, name: &str, writer: Writer) -> Result<hdf5::File, IoError> {
    let named = Hdf5Name::new(path, OpenOptions::new().read(true));
    let named = named.map_err(|e| IoError::Open {
        file: name.to_owned(),
        reason: e.to_string(),
    })?;
    let mode = match writer {
        Writer::Swmr => hdf5::OpenMode::ReadSWMR,
        Writer::None | Writer::Flushed | Writer::Writing => hdf5::OpenMode::Read,
    };
    let opened = unlocked::options().open_as(named.path(), mode);
    opened.map_err(|_| IoError::Format {
        file: name.to_owned(),
        expected: "a readable HDF5 file",
        found: "a damaged one, or one that another program is writing".to_owned(),
    })
}

/// An open file.
pub struct Source {
    input: InputFile,
    path: PathBuf,
    /// Whether the global heaps have been checked.
    heaps: Cell<bool>,
    /// The file in HDF5; none while it is closed.
    file: RefCell<Option<hdf5::File>>,
    /// What its superblock said.
    superblock: Superblock,
    /// When the file was last written to, if the file system knows.
    modified: Option<SystemTime>,
    /// The other files that may be opened.
    registry: Registry,
    /// What has been read of its structure, to find them.
    known: RefCell<Known>,
    /// Its datasets, once they have been listed.
    contents: OnceCell<Contents>,
}

impl Source {
    /// Opens `path` for reading, and follows links to other files and virtual datasets. A program
    /// may have the file open for writing: [`unclosed`](Self::unclosed) says so.
    pub fn open_with_links(path: &Path, memory: Memory, follow: Follow) -> Result<Self, IoError> {
        let mut source = Self::open_unclosed(path, memory)?;
        source.registry = Registry::new(path, follow);
        Ok(source)
    }

    /// Opens `path` for reading; links to other files and virtual datasets are refused, and so is a
    /// file that a program has open for writing.
    pub fn open(path: &Path, memory: Memory) -> Result<Self, IoError> {
        let source = Self::open_unclosed(path, memory)?;
        source.closed()?;
        Ok(source)
    }

    /// Opens `path` for reading; links to other files and virtual datasets are refused. A program
    /// may have the file open for writing, as long as what it has written out is readable:
    /// [`unclosed`](Self::unclosed) says so.
    pub fn open_unclosed(path: &Path, memory: Memory) -> Result<Self, IoError> {
        let input = InputFile::new(path, memory);
        let name = input.name();
        let modified = modified(path);
        let superblock = superblock::check(path)?;
        if superblock.writer == Writer::Writing {
            return Err(superblock::still_written(name));
        }
        let file = in_hdf5(path, name, superblock.writer)?;
        Ok(Self {
            input,
            path: path.to_owned(),
            heaps: Cell::new(false),
            file: RefCell::new(Some(file)),
            superblock,
            modified,
            registry: Registry::Closed,
            known: RefCell::default(),
            contents: OnceCell::new(),
        })
    }

    /// The file in HDF5, which is opened again if it was closed.
    fn file(&self) -> Result<hdf5::File, IoError> {
        if let Some(file) = &*self.file.borrow() {
            return Ok(file.clone());
        }
        self.unchanged_itself()?;
        let file = in_hdf5(&self.path, self.name(), self.superblock.writer)?;
        *self.file.borrow_mut() = Some(file.clone());
        self.note_reopened();
        Ok(file)
    }

    /// Closes the file until it is read again, and forgets its structure.
    fn close(&self) {
        if let (Ok(mut file), Ok(mut known)) =
            (self.file.try_borrow_mut(), self.known.try_borrow_mut())
        {
            *file = None;
            *known = Known::default();
        }
    }

    /// Whether the options permit numbers of which the file stores almost nothing; `None` if there
    /// is no such option.
    fn permits_sparse(&self) -> Option<bool> {
        self.registry.get().map(|linked| linked.sparse.get())
    }

    /// The same file, of which numbers may be read that it hardly stores.
    pub fn permitting_sparse(self, sparse: bool) -> Self {
        if let Some(linked) = self.registry.get() {
            linked.sparse.set(sparse);
        }
        self
    }

    /// The file, as given.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// The file, for functions that read files of other formats too.
    pub fn input(&self) -> &InputFile {
        &self.input
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file, bytes.
    pub fn length(&self) -> u64 {
        match self.superblock.writer {
            Writer::Swmr => std::fs::metadata(&self.path).map_or(0, |of| of.len()),
            _ => self.superblock.length,
        }
    }

    /// Limit of memory.
    pub fn memory(&self) -> Memory {
        self.input.memory()
    }

    /// Checks the global heaps for damage that would make HDF5 loop for ever. Called before data of
    /// variable length are read.
    pub(crate) fn check_heaps(&self) -> Result<(), IoError> {
        if !self.heaps.get() {
            global_heap::check(&self.path)?;
            self.heaps.set(true);
        }
        Ok(())
    }

    /// Checks that nothing has been written to the file, and to those that its links have led to,
    /// since they were opened. HDF5 reads zeros where a file has become shorter.
    pub fn unchanged(&self) -> Result<(), IoError> {
        self.unchanged_itself()?;
        if let Registry::Own(linked) = &self.registry {
            for source in linked.opened() {
                source.unchanged_itself()?;
            }
        }
        Ok(())
    }

    fn unchanged_itself(&self) -> Result<(), IoError> {
        let found = std::fs::metadata(&self.path).map(|of| of.len()).ok();
        let expected = self.superblock.length;
        let grows = self.superblock.writer == Writer::Swmr;
        if let Some(found) = found.filter(|found| *found < expected || *found > expected && !grows)
        {
            return Err(IoError::Resized {
                file: self.name().to_owned(),
                expected,
                found,
            });
        }
        if !grows && modified(&self.path) != self.modified {
            return Err(IoError::Changed {
                file: self.name().to_owned(),
            });
        }
        Ok(())
    }

    /// Checks that `bytes` for `dataset` are within the limit of memory.
    pub fn allow(&self, dataset: &str, bytes: u128) -> Result<(), IoError> {
        self.input.allow(dataset, bytes)
    }

    /// The error for a dataset whose shape is not `expected`.
    pub fn bad_shape(&self, dataset: &str, found: &[usize], expected: &str) -> IoError {
        IoError::Shape {
            file: self.name().to_owned(),
            dataset: dataset.to_owned(),
            found: found.to_vec(),
            expected: expected.to_owned(),
        }
    }

    pub(crate) fn damaged(&self, dataset: &str, reason: &str) -> IoError {
        IoError::Damaged {
            file: self.name().to_owned(),
            dataset: dataset.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn unsupported(&self, dataset: &str, found: &str) -> IoError {
        IoError::Unsupported {
            file: self.name().to_owned(),
            dataset: dataset.to_owned(),
            expected: "data in the file itself",
            found: found.to_owned(),
            advice: ADVICE_REPACK,
        }
    }

    /// The group `path`; `None` if it does not exist.
    pub fn group(&self, path: &str) -> Result<Option<hdf5::Group>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.group(&path);
        }
        if path == "/" {
            let root = self.file()?.group("/");
            return root
                .map(Some)
                .map_err(|_| self.damaged("/", "the root group is damaged"));
        }
        let Some(link) = self.link(path)? else {
            return Ok(None);
        };
        self.group_at(&link, path)
    }

    /// Names of the links in the group `path`, sorted; `None` if it does not exist.
    pub fn members(&self, path: &str) -> Result<Option<Vec<String>>, IoError> {
        let Some(group) = self.group(path)? else {
            return Ok(None);
        };
        let mut names = Vec::new();
        group
            .iter_visit_default(|name, _| {
                names.push(name.to_owned());
                Ok(())
            })
            .map_err(|_| self.damaged(path, "its links are damaged"))?;
        names.sort();
        Ok(Some(names))
    }

    /// Names of the links in the root group, sorted.
    pub fn groups(&self) -> Result<Vec<String>, IoError> {
        let damaged = |_| self.damaged("/", "the root group is damaged");
        let root = self.file()?.group("/").map_err(damaged)?;
        let mut names = root.member_names().map_err(damaged)?;
        names.sort();
        Ok(names)
    }

    /// Whether `path` leads to another file, or to nothing.
    pub fn leads_elsewhere(&self, path: &str) -> bool {
        match self.group(path) {
            Ok(Some(_)) => false,
            Ok(None) => self.dataset(path).is_err(),
            Err(_) => true,
        }
    }

    /// Whether a link of this name exists. Its target may be missing.
    pub fn has(&self, path: &str) -> Result<bool, IoError> {
        if let Some((source, path)) = self.group_elsewhere(path)? {
            return source.has(&path);
        }
        Ok(self.link(path)?.is_some())
    }

    pub(crate) fn dataset(&self, path: &str) -> Result<Option<hdf5::Dataset>, IoError> {
        let Some(link) = self.link(path)? else {
            return Ok(None);
        };
        self.check_before_opening(path)?;
        let dataset = self.dataset_at(&link, path)?;
        dataset.map(Some).ok_or_else(|| {
            self.damaged(
                path,
                "it is not a dataset, or its header or link is damaged",
            )
        })
    }

    /// The error for `what` missing at `path`.
    pub fn missing(&self, what: &str, path: &str) -> IoError {
        IoError::Missing {
            file: self.name().to_owned(),
            what: what.to_owned(),
            tried: vec![self.with_target(path)],
        }
    }

    /// `path`, and where it leads if that is another file.
    fn with_target(&self, path: &str) -> String {
        match self.elsewhere(path) {
            Ok(Some((source, at))) => format!("{path} (a link to {at} of {})", source.name()),
            Ok(None) | Err(_) => path.to_owned(),
        }
    }
}
