//! What a file contains, for the error about a file without the expected datasets.

use super::Source;
use hdf5_metno as hdf5;
use std::collections::VecDeque;

/// Most links that are looked at: a damaged file may have endless ones.
const MAX_LINKS: usize = 2000;
/// Most datasets that are listed.
const LISTED: usize = 12;
/// Deepest group that is looked into.
const DEEPEST: usize = 8;

impl Source {
    /// The datasets of the file with their shapes, `/scan/images (160 x 128 x 128), …`, the largest first;
    /// `no datasets` if there are none. Links to other places and files are not followed.
    pub(crate) fn contents(&self) -> String {
        let mut found = self.datasets();
        found.sort_by_key(|(_, shape)| {
            std::cmp::Reverse(shape.iter().fold(1_usize, |n, d| n.saturating_mul(*d)))
        });
        let shown: Vec<String> = found
            .iter()
            .take(LISTED)
            .map(|(path, shape)| {
                let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
                match shape.as_slice() {
                    [] => path.clone(),
                    _ => format!("{path} ({})", shape.join(" x ")),
                }
            })
            .collect();
        match found.len() {
            0 => "no datasets".to_owned(),
            n if n > LISTED => format!("{} and {} more", shown.join(", "), n - LISTED),
            _ => shown.join(", "),
        }
    }

    /// Paths and shapes of the datasets.
    pub(super) fn datasets(&self) -> Vec<(String, Vec<usize>)> {
        let mut found = Vec::new();
        let mut links = 0;
        let mut groups = VecDeque::new();
        if let Ok(root) = self.file.group("/") {
            groups.push_back((String::new(), root, 0));
        }
        while let Some((path, group, depth)) = groups.pop_front() {
            let mut names = Vec::new();
            // Damage ends the list early; what was found is shown.
            let _ = group.find_link(
                hdf5::IndexType::Name,
                hdf5::IterationOrder::Native,
                |name, info| {
                    links += 1;
                    if info.link_type == hdf5::LinkType::Hard {
                        names.push(name.to_owned());
                    }
                    Ok((links >= MAX_LINKS).then_some(()))
                },
            );
            for name in names {
                let path = format!("{path}/{name}");
                // HDF5 opens the files of a virtual dataset to say how long it is.
                let of_virtual = self.virtual_dataset(&path);
                if let Ok(Some((_, of))) = of_virtual {
                    let length = |of: &u64| usize::try_from(*of).unwrap_or(usize::MAX);
                    found.push((path, of.shape.iter().map(length).collect()));
                } else if of_virtual.is_err() {
                    // A damaged virtual dataset, which HDF5 may read for ever.
                } else if let Ok(dataset) = group.dataset(&name) {
                    found.push((path, dataset.shape()));
                } else if let Ok(inner) = group.group(&name)
                    && depth < DEEPEST
                    && links < MAX_LINKS
                {
                    groups.push_back((path, inner, depth + 1));
                }
            }
        }
        found
    }
}
