//! Following of links: hard links, and soft links that stay in the file.
//!
//! The target of a soft link may be behind an external link, and HDF5 opens that link's file before
//! anything can be asked of it: a pipe would be waited for. So a soft link is followed by a thread
//! that cannot open files: Landlock, a security module of Linux (since 5.13), confines it. On
//! systems without Landlock the other file is opened, and refused afterwards.

use super::{IoError, Source};
use hdf5_metno as hdf5;
use std::{io, panic, thread};
use warpstride_formats::hdf5_structure::LinkTarget;

/// Part of HDF5's message about an external link that cannot be followed.
const EXTERNAL: &str = "external";

/// Part of HDF5's message about more soft links than it follows, 16.
const MANY_LINKS: &str = "too many links";

/// A link.
pub(super) struct Link<'p> {
    /// The group that holds it.
    pub(super) group: hdf5::Group,
    pub(super) name: &'p str,
    pub(super) kind: hdf5::LinkType,
}

impl Source {
    /// Where the last part of `path` is; `None` if a link is missing.
    pub(super) fn link<'p>(&self, path: &'p str) -> Result<Option<Link<'p>>, IoError> {
        let mut group = self
            .file()?
            .group("/")
            .map_err(|_| self.damaged("/", "the root group is damaged"))?;
        let mut parts = path.split('/').filter(|p| !p.is_empty()).peekable();
        // Where the group is, if it can be found without HDF5, which would make a list of all links
        // for each that is looked for.
        let mut address = self.address("/");
        while let Some(name) = parts.next() {
            let known = address.and_then(|at| self.known_links(at));
            let target = known.as_ref().map(|links| links.get(name));
            address = match target {
                Some(Some(LinkTarget::Hard(address))) => Some(*address),
                _ => None,
            };
            let kind = match target {
                Some(None) => None,
                Some(Some(LinkTarget::Hard(_))) => Some(hdf5::LinkType::Hard),
                Some(Some(LinkTarget::Soft(_))) => Some(hdf5::LinkType::Soft),
                Some(Some(LinkTarget::External { .. })) => Some(hdf5::LinkType::External),
                Some(Some(LinkTarget::Other)) | None => group
                    .find_link(
                        hdf5::IndexType::Name,
                        hdf5::IterationOrder::Native,
                        |found, info| Ok((found == name).then_some(info.link_type)),
                    )
                    .map_err(|_| self.damaged(path, "the links on its path are damaged"))?,
            };
            let kind = match kind {
                None => return Ok(None),
                Some(hdf5::LinkType::External) => {
                    return Err(self.unsupported(path, "a link to another file"));
                }
                Some(kind) => kind,
            };
            let link = Link { group, name, kind };
            if parts.peek().is_none() {
                return Ok(Some(link));
            }
            group = match self.group_at(&link, path)? {
                Some(next) => next,
                None => return Ok(None),
            };
        }
        Ok(None)
    }

    /// The group that `link`, the end of `path`, leads to; `None` if that is not a group.
    pub(super) fn group_at(&self, link: &Link, path: &str) -> Result<Option<hdf5::Group>, IoError> {
        match self.open_at(link, path, hdf5::Group::group)? {
            Ok(group) => self.in_file(&group, path).map(|()| Some(group)),
            Err(_) => Ok(None),
        }
    }

    /// The dataset that `link`, the end of `path`, leads to; `None` if that is not a dataset.
    pub(super) fn dataset_at(
        &self,
        link: &Link,
        path: &str,
    ) -> Result<Option<hdf5::Dataset>, IoError> {
        match self.open_at(link, path, hdf5::Group::dataset)? {
            Ok(dataset) => self.in_file(&dataset, path).map(|()| Some(dataset)),
            Err(_) => Ok(None),
        }
    }

    fn open_at<T: Send>(
        &self,
        link: &Link,
        path: &str,
        open: fn(&hdf5::Group, &str) -> hdf5::Result<T>,
    ) -> Result<hdf5::Result<T>, IoError> {
        match link.kind {
            hdf5::LinkType::Hard => Ok(open(&link.group, link.name)),
            hdf5::LinkType::External => Err(self.unsupported(path, "a link to another file")),
            hdf5::LinkType::Soft => {
                let opened =
                    without_files(|| open(&link.group, link.name)).map_err(|e| IoError::Open {
                        file: self.name().to_owned(),
                        reason: format!("a link could not be followed: {e}"),
                    })?;
                match opened {
                    Err(e) if names_another_file(e.clone()) => {
                        Err(self.unsupported(path, "a link to another file"))
                    }
                    Err(e) if is_circle(e.clone()) => Err(self.damaged(
                        path,
                        "its links lead in a circle, or there are too many of them",
                    )),
                    opened => Ok(opened),
                }
            }
        }
    }

    fn in_file(&self, object: &hdf5::Location, path: &str) -> Result<(), IoError> {
        if object.filename() == self.file()?.filename() {
            return Ok(());
        }
        Err(self.unsupported(path, "a link to another file"))
    }
}

/// Whether `error` is about a soft link that leads to itself, or a chain that is longer than HDF5
/// follows.
fn is_circle(error: hdf5::Error) -> bool {
    names(error, MANY_LINKS)
}

/// Whether `error` is about an external link.
fn names_another_file(error: hdf5::Error) -> bool {
    names(error, EXTERNAL)
}

/// Whether a message of `error` has this text.
fn names(error: hdf5::Error, text: &str) -> bool {
    let hdf5::Error::HDF5(stack) = error else {
        return false;
    };
    stack
        .expand()
        .is_ok_and(|stack| stack.iter().any(|frame| frame.desc().contains(text)))
}

/// Calls `follow` in a thread that cannot open files, on systems with Landlock.
///
/// # Errors
///
/// If no thread can be started.
fn without_files<T: Send>(follow: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let confined = thread::Builder::new().spawn_scoped(scope, || {
            confine();
            follow()
        })?;
        Ok(confined
            .join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause)))
    })
}

/// Forbids the calling thread to open files.
#[cfg(target_os = "linux")]
fn confine() {
    use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr};
    // An error means that this system cannot do it, and then nothing is forbidden.
    let _ = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.restrict_self());
}

#[cfg(not(target_os = "linux"))]
fn confine() {}
