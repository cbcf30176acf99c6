//! Other files that a file leads to, by external links and virtual datasets.
//!
//! HDF5 never follows such a link, as it would open any file, and wait for the writer of a pipe.
//! The name of the file is read from the structure of the file
//! (`warpstride_formats::hdf5_structure`), its place is compared with the folder of the file that
//! the user has named, and it is opened as a [`Source`] of its own, with all checks.

use super::{IoError, Source};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use warpstride_core::text::shortened;

/// Most other files of a file, above what detectors write: a file for each hundred or thousand
/// frames, or for each module.
pub(super) const MOST_FILES: usize = 10_000;
/// Most of them that are open together: HDF5 takes 0.5 MiB for each, and systems allow 1024 open
/// files by default.
const MOST_OPEN: usize = 64;
/// Most datasets of numbers that are looked at in other files, or as parts of virtual datasets.
const MOST_DATASETS: usize = 20_000;
/// Most characters of the name of a file in a message.
const LONGEST_NAME: usize = 200;
/// What to do about a file elsewhere.
const ADVICE_FOLLOW: &str =
    "follow it with --follow-links (data.follow_links = true) if that is meant";

/// The links to other files that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Those that stay in the folder of the file, or below.
    Inside,
    /// All.
    Anywhere,
}

/// The files that a file has led to.
pub(super) struct Linked {
    follow: Follow,
    /// Folders of the file: that of its name, and that where a symbolic link of its name leads.
    folders: Vec<PathBuf>,
    files: RefCell<BTreeMap<PathBuf, Rc<Source>>>,
    /// Those that are open in HDF5, the first one first.
    open: RefCell<VecDeque<PathBuf>>,
    datasets: Cell<usize>,
    /// Whether numbers may be read of which files store almost nothing.
    pub(super) sparse: Cell<bool>,
    /// The virtual datasets (name of the file, address) whose parts are being looked at.
    pub(super) inside: RefCell<Vec<(PathBuf, u64)>>,
}

/// The files that a source belongs to.
pub(super) enum Registry {
    /// Those of the file that the user has named.
    Own(Rc<Linked>),
    /// Those of the file that has led to this one, and the real path of this one.
    Of(Weak<Linked>, PathBuf),
    /// None: links to other files are refused.
    Closed,
}

/// A source: borrowed, or one that a link has led to.
#[derive(Clone)]
pub(super) enum Holder<'s> {
    Own(&'s Source),
    Linked(Rc<Source>),
}

impl std::ops::Deref for Holder<'_> {
    type Target = Source;

    fn deref(&self) -> &Source {
        match self {
            Self::Own(source) => source,
            Self::Linked(source) => source,
        }
    }
}

impl Registry {
    /// A registry for `path`, which has been opened.
    pub(super) fn new(path: &Path, follow: Follow) -> Self {
        Self::Own(Rc::new(Linked {
            follow,
            folders: folders(path)
                .into_iter()
                .filter_map(|folder| folder.canonicalize().ok())
                .collect(),
            files: RefCell::default(),
            open: RefCell::default(),
            datasets: Cell::new(0),
            sparse: Cell::new(false),
            inside: RefCell::default(),
        }))
    }

    pub(super) fn get(&self) -> Option<Rc<Linked>> {
        match self {
            Self::Own(linked) => Some(Rc::clone(linked)),
            Self::Of(linked, _) => linked.upgrade(),
            Self::Closed => None,
        }
    }
}

/// The folder of `path` as it is written, and that where a symbolic link leads.
fn folders(path: &Path) -> Vec<PathBuf> {
    let of = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut folders = vec![of(path)];
    if let Ok(real) = path.canonicalize() {
        folders.push(of(&real));
    }
    folders
}

impl Linked {
    /// The files that have been opened.
    pub(super) fn opened(&self) -> Vec<Rc<Source>> {
        self.files.borrow().values().cloned().collect()
    }

    /// Notes that HDF5 has opened the file with this real path, and closes the one that has been
    /// open for longest, if there are too many.
    fn note_open(&self, real: &Path) {
        let mut open = self.open.borrow_mut();
        open.push_back(real.to_owned());
        while open.len() > MOST_OPEN {
            let first = open.pop_front();
            let files = self.files.borrow();
            if let Some(source) = first.and_then(|first| files.get(&first)) {
                source.close();
            }
        }
    }

    /// Counts a dataset; whether that are not too many.
    pub(super) fn count_dataset(&self) -> bool {
        self.datasets.set(self.datasets.get() + 1);
        self.datasets.get() <= MOST_DATASETS
    }
}

impl Source {
    /// Opens the file `name`, to which the link or dataset `link` leads.
    pub(super) fn open_linked(&self, link: &str, name: &str) -> Result<Rc<Source>, IoError> {
        let Some(linked) = self.registry.get() else {
            return Err(self.unsupported(link, "a link to another file"));
        };
        let Some((path, real)) = self.existing(name) else {
            let reason = format!(
                "its data are in {:?}, which does not exist",
                shortened(name, LONGEST_NAME)
            );
            return Err(self.damaged(link, &reason));
        };
        let inside = linked.folders.iter().any(|of| real.starts_with(of));
        if linked.follow == Follow::Inside && !inside {
            return Err(IoError::Unsupported {
                file: self.name().to_owned(),
                dataset: link.to_owned(),
                expected: "data in the folder of the file or below",
                found: format!(
                    "a link to {:?}, which is elsewhere",
                    shortened(name, LONGEST_NAME)
                ),
                advice: ADVICE_FOLLOW,
            });
        }
        if let Some(known) = linked.files.borrow().get(&real) {
            return Ok(Rc::clone(known));
        }
        if linked.files.borrow().len() >= MOST_FILES {
            let reason = format!("its data are in more than {MOST_FILES} files");
            return Err(self.damaged(link, &reason));
        }
        let mut source = Source::open_unclosed(&path, self.memory())?;
        source.registry = Registry::Of(Rc::downgrade(&linked), real.clone());
        let source = Rc::new(source);
        (linked.files.borrow_mut()).insert(real.clone(), Rc::clone(&source));
        linked.note_open(&real);
        Ok(source)
    }

    /// Notes that HDF5 has opened this file again.
    pub(super) fn note_reopened(&self) {
        if let (Registry::Of(_, real), Some(linked)) = (&self.registry, self.registry.get()) {
            linked.note_open(real);
        }
    }

    /// Whether the file may be closed while it is not being read: a link has led to it.
    pub(super) fn may_close(&self) -> bool {
        matches!(self.registry, Registry::Of(..))
    }

    /// Whether the file `name` of a link exists.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.existing(name).is_some()
    }

    /// The file `name` of a link, relative to the folder of this file, and its real path; `None` if
    /// it does not exist. As in HDF5, a file with an absolute name that does not exist is looked
    /// for in the folder too.
    pub(super) fn existing(&self, name: &str) -> Option<(PathBuf, PathBuf)> {
        let given = Path::new(name);
        let mut names = vec![given.to_owned()];
        if given.is_absolute() {
            names.extend(given.file_name().map(PathBuf::from));
        }
        let folders = folders(self.path());
        // Joined to a folder, an absolute name stays what it is.
        let mut candidates =
            (names.iter()).flat_map(|name| folders.iter().map(move |of| of.join(name)));
        candidates.find_map(|path| {
            let real = path.canonicalize().ok()?;
            // Without the point of a file that was given without a folder.
            let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
            Some((path, real))
        })
    }
}
