//! What a file contains, for the error about a file without the expected datasets.

use super::Source;
use super::listed::{Contents, DEEPEST, ListedDataset, MAX_LINKS};
use hdf5_metno as hdf5;
use std::collections::{BTreeSet, VecDeque};
use warpstride_core::text::shortened;

/// Most datasets that are listed.
const LISTED: usize = 12;
/// Most letters of a path that are shown.
const LONGEST_PATH: usize = 100;
/// Most links to other files that are followed.
const MOST_FILES: usize = 100;

impl Source {
    /// The datasets of the file with their shapes, `/scan/images (160 x 128 x 128), …`, the largest
    /// first; `no datasets` if there are none. Links to other places are not followed, those to
    /// datasets of other files are.
    pub fn contents(&self) -> String {
        let contents = self.looked_through();
        let mut found: Vec<_> = contents.datasets.iter().collect();
        found.sort_by_key(|of| std::cmp::Reverse(of.elements()));
        let mut shown: Vec<String> = found
            .iter()
            .take(LISTED)
            .map(|of| {
                let path = shortened(&of.path, LONGEST_PATH);
                let shape: Vec<String> = of.shape.iter().map(ToString::to_string).collect();
                match shape.as_slice() {
                    [] => path.into_owned(),
                    _ => format!("{path} ({})", shape.join(" x ")),
                }
            })
            .collect();
        if shown.is_empty() {
            shown.push("no datasets".to_owned());
        }
        let mut text = shown.join(", ");
        if found.len() > LISTED {
            text = format!("{text} and {} more", found.len() - LISTED);
        }
        match contents.unseen() {
            Some(unseen) => format!("{text} (and {unseen})"),
            None => text,
        }
    }

    /// What of the file is not among its datasets, as there is too much; `None` if that is nothing.
    pub fn unseen(&self) -> Option<String> {
        self.looked_through().unseen()
    }

    /// The datasets. A group to which several links lead is looked into once.
    pub(super) fn looked_through(&self) -> &Contents {
        self.contents.get_or_init(|| self.look_through())
    }

    fn look_through(&self) -> Contents {
        let mut contents = Contents::default();
        let (mut links, mut files) = (0, 0);
        let mut groups = VecDeque::new();
        let mut known: BTreeSet<u64> = self.address("/").into_iter().collect();
        if let Ok(Ok(root)) = self.file().map(|file| file.group("/")) {
            groups.push_back((String::new(), root, 0));
        }
        while let Some((path, group, depth)) = groups.pop_front() {
            if links >= MAX_LINKS {
                contents.groups += 1;
                contents.links = contents.links.saturating_add(group.len());
                continue;
            }
            let (mut names, mut external, mut seen) = (Vec::new(), Vec::new(), 0);
            // Damage ends the list early; what was found is shown.
            let _ = group.find_link(
                hdf5::IndexType::Name,
                hdf5::IterationOrder::Native,
                |name, info| {
                    seen += 1;
                    match info.link_type {
                        hdf5::LinkType::Hard => names.push(name.to_owned()),
                        hdf5::LinkType::External => external.push(name.to_owned()),
                        hdf5::LinkType::Soft => {}
                    }
                    Ok((links + seen >= MAX_LINKS).then_some(()))
                },
            );
            links += seen;
            if links >= MAX_LINKS {
                let rest = group.len().saturating_sub(seen as u64);
                contents.links = contents.links.saturating_add(rest);
            }
            for name in external {
                files += 1;
                let found =
                    (files <= MOST_FILES).then(|| self.of_other_file(format!("{path}/{name}")));
                match found.flatten() {
                    Some(listed) => contents.datasets.push(listed),
                    None => contents.elsewhere += 1,
                }
            }
            for name in names {
                let path = format!("{path}/{name}");
                // HDF5 opens the files of a virtual dataset to say how long it is.
                let of_virtual = self.virtual_dataset(&path);
                if let Ok(Some((_, of))) = of_virtual {
                    let length = |of: &u64| usize::try_from(*of).unwrap_or(usize::MAX);
                    let shape = of.shape.iter().map(length).collect();
                    if let Ok(Some(dataset)) = self.dataset(&path) {
                        let listed = self.described(path, shape, &dataset);
                        contents.datasets.extend(listed);
                    }
                } else if of_virtual.is_err() || self.check_before_opening(&path).is_err() {
                    // HDF5 may read it for ever.
                } else if let Ok(dataset) = group.dataset(&name) {
                    let listed = self.described(path, dataset.shape(), &dataset);
                    contents.datasets.extend(listed);
                } else if let Ok(inner) = group.group(&name) {
                    if self.address(&path).is_some_and(|at| !known.insert(at)) {
                        // Found before.
                    } else if depth < DEEPEST {
                        groups.push_back((path, inner, depth + 1));
                    } else if !inner.is_empty() {
                        contents.groups += 1;
                    }
                }
            }
        }
        contents
    }

    /// The dataset of another file to which the link `path` leads; `None` if that is not one, or
    /// must not be followed.
    fn of_other_file(&self, path: String) -> Option<ListedDataset> {
        let (source, at) = self.elsewhere(&path).ok()??;
        let shape = match source.virtual_dataset(&at).ok()? {
            Some((_, of)) => {
                let length = |of: &u64| usize::try_from(*of).unwrap_or(usize::MAX);
                Some(of.shape.iter().map(length).collect())
            }
            None => None,
        };
        source.check_before_opening(&at).ok()?;
        let dataset = source.dataset(&at).ok()??;
        let shape = shape.unwrap_or_else(|| dataset.shape());
        let listed = source.described(at, shape, &dataset)?;
        Some(ListedDataset { path, ..listed })
    }
}
