//! Where a path of a file leads: through soft links, and to other files.

use super::known::Links;
use super::linked::Holder;
use super::{IoError, Source};
use std::collections::VecDeque;
use std::rc::Rc;
use warpstride_formats::hdf5_structure::{LinkTarget, StructureError, VirtualDataset};

/// Most soft links of a path.
const MOST_SOFT: usize = 32;
/// Most other files that a path leads through.
const MOST_FILES: usize = 8;
/// Most parts of a path.
const LONGEST_PATH: usize = 200;

/// Where a path leads.
enum Target {
    /// To the object at this address of the file.
    Here(u64),
    /// To this path of this file.
    Elsewhere(Rc<Source>, String),
    /// To nothing, or to what only HDF5 can find in this file.
    Unknown,
}

impl Source {
    /// The other file to which `path` leads, and the path there; `None` if it leads to nothing or
    /// stays in this file.
    ///
    /// # Errors
    /// The other file cannot be opened, or is elsewhere.
    pub(crate) fn elsewhere(&self, path: &str) -> Result<Option<(Rc<Self>, String)>, IoError> {
        match self.place(path)? {
            Target::Elsewhere(mut source, mut at) => {
                for _ in 1..MOST_FILES {
                    match source.place(&at)? {
                        Target::Elsewhere(next, further) => (source, at) = (next, further),
                        Target::Here(_) | Target::Unknown => return Ok(Some((source, at))),
                    }
                }
                let reason = format!(
                    "it leads through more than {MOST_FILES} files, or back to where it began"
                );
                Err(self.damaged(path, &reason))
            }
            Target::Here(_) | Target::Unknown => Ok(None),
        }
    }

    /// The name of the file to which the link `path` leads, if that file does not exist.
    ///
    /// # Errors
    /// The group of the link cannot be read.
    pub fn lost_file(&self, path: &str) -> Result<Option<String>, IoError> {
        let Some((group, name)) = path.rsplit_once('/') else {
            return Ok(None);
        };
        let Target::Here(address) = self.place(group)? else {
            return Ok(None);
        };
        let links = self.known_links(address);
        Ok(match links.as_ref().and_then(|links| links.get(name)) {
            Some(LinkTarget::External { file, .. }) if self.existing(file).is_none() => {
                Some(file.clone())
            }
            _ => None,
        })
    }

    /// The virtual dataset `path` of this file, and its address; `None` if it is not one.
    pub(super) fn virtual_dataset(
        &self,
        path: &str,
    ) -> Result<Option<(u64, Rc<VirtualDataset>)>, IoError> {
        let Target::Here(address) = self.place(path)? else {
            return Ok(None);
        };
        let known = &mut *self.known.borrow_mut();
        let found = match known.datasets.get(&address) {
            Some(found) => found.clone(),
            None => {
                let read = match known.structure(&self.path) {
                    Some(structure) => structure.virtual_dataset(address),
                    None => Ok(None),
                };
                let read = read.map(|of| of.map(Rc::new)).map_err(|e| e.to_string());
                known.datasets.insert(address, read.clone());
                read
            }
        };
        match found {
            Ok(found) => Ok(found.map(|of| (address, of))),
            Err(reason) => Err(self.damaged(path, &reason)),
        }
    }

    /// The links of the group at `address`, if they can be read without HDF5.
    pub(super) fn known_links(&self, address: u64) -> Links {
        self.known.borrow_mut().group(&self.path, address)
    }

    /// The address of the object `path`, if it is in this file and can be found without HDF5.
    pub(super) fn address(&self, path: &str) -> Option<u64> {
        match self.place(path) {
            Ok(Target::Here(address)) => Some(address),
            _ => None,
        }
    }

    /// Checks the global heaps before HDF5 opens what is at `path`, unless it is known to be no
    /// virtual dataset: HDF5 reads a heap when it opens one, and a damaged heap for ever.
    pub(super) fn check_before_opening(&self, path: &str) -> Result<(), IoError> {
        let may_be_virtual = match self.place(path) {
            Ok(Target::Here(address)) => {
                let known = &mut *self.known.borrow_mut();
                let structure = known.structure(&self.path);
                structure.is_none_or(|structure| structure.may_be_virtual(address))
            }
            Ok(Target::Elsewhere(..) | Target::Unknown) | Err(_) => true,
        };
        if may_be_virtual {
            self.check_heaps()?;
        }
        Ok(())
    }

    /// Checks how long the strings of variable length in the attribute `name` of `path` claim to
    /// be: HDF5 takes memory for that before it looks for them.
    pub(crate) fn check_attribute_length(
        &self,
        path: &str,
        name: &str,
        most: usize,
    ) -> Result<(), IoError> {
        let damaged = || self.damaged(path, &format!("its attribute {name} is damaged"));
        let Target::Here(address) = self.place(path)? else {
            return Err(damaged());
        };
        let known = &mut *self.known.borrow_mut();
        let structure = known.structure(&self.path).ok_or_else(damaged)?;
        match structure.longest_text(address, name) {
            Ok(Some(longest)) if longest as usize > most => {
                let reason =
                    format!("its attribute {name} claims {longest} bytes, expected at most {most}");
                Err(self.damaged(path, &reason))
            }
            // HDF5 knows more of the specification.
            Ok(_) | Err(StructureError::Unsupported(_)) => Ok(()),
            Err(_) => Err(damaged()),
        }
    }

    fn place(&self, path: &str) -> Result<Target, IoError> {
        let mut left: VecDeque<String> = parts(path).collect();
        let Some(root) = self
            .known
            .borrow_mut()
            .structure(&self.path)
            .map(|of| of.root())
        else {
            return Ok(Target::Unknown);
        };
        // Addresses of the groups from the root to where the path has led.
        let mut at = vec![root];
        let mut soft = 0;
        while let Some(name) = left.pop_front() {
            let group = at.last().copied().unwrap_or(root);
            let Some(links) = self.known.borrow_mut().group(&self.path, group) else {
                return Ok(Target::Unknown);
            };
            match links.get(&name) {
                Some(LinkTarget::Hard(address)) => at.push(*address),
                Some(LinkTarget::Soft(target)) => {
                    soft += 1;
                    if soft > MOST_SOFT || left.len() > LONGEST_PATH {
                        return Ok(Target::Unknown);
                    }
                    if target.starts_with('/') {
                        at.truncate(1);
                    }
                    for part in parts(target)
                        .take(LONGEST_PATH)
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                    {
                        left.push_front(part);
                    }
                }
                Some(LinkTarget::External { file, path: inside }) => {
                    let source = self.open_linked(path, file)?;
                    let mut to = String::new();
                    for part in parts(inside).chain(left) {
                        to.push('/');
                        to.push_str(&part);
                    }
                    if to.is_empty() {
                        to.push('/');
                    }
                    return Ok(Target::Elsewhere(source, to));
                }
                Some(LinkTarget::Other) | None => return Ok(Target::Unknown),
            }
        }
        Ok(Target::Here(at.last().copied().unwrap_or(root)))
    }

    /// Like `elsewhere`, for the group that has the last link of `path`, and the path of that link
    /// there.
    pub(super) fn group_elsewhere(
        &self,
        path: &str,
    ) -> Result<Option<(Rc<Self>, String)>, IoError> {
        let Some((group, name)) = path.trim_end_matches('/').rsplit_once('/') else {
            return Ok(None);
        };
        let found = self.elsewhere(group)?;
        Ok(found.map(|(source, at)| {
            let at = format!("{}/{name}", at.trim_end_matches('/'));
            (source, at)
        }))
    }
}

impl<'s> Holder<'s> {
    /// The source that has `path`, and the path there.
    pub(super) fn followed(&self, path: &str) -> Result<(Holder<'s>, String), IoError> {
        Ok(match self.elsewhere(path)? {
            Some((source, at)) => (Holder::Linked(source), at),
            None => (self.clone(), path.to_owned()),
        })
    }
}

/// The names in a path.
fn parts(path: &str) -> impl Iterator<Item = String> + '_ {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .map(str::to_owned)
}
