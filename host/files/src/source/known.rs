//! What has been read of the structure of a file without HDF5.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use warpstride_formats::hdf5_structure::{LinkTarget, Structure, StructureError, VirtualDataset};

/// Most links of a file that are kept.
const MOST_LINKS: usize = 400_000;

/// Links of a group, or `None` if they cannot be read.
pub(super) type Links = Option<Rc<BTreeMap<String, LinkTarget>>>;

/// What has been read of the structure of a file.
#[derive(Default)]
pub(super) struct Known {
    /// The file, once it has been opened.
    structure: Option<Result<Structure, StructureError>>,
    groups: BTreeMap<u64, Links>,
    links: usize,
    pub(super) datasets: BTreeMap<u64, Result<Option<Rc<VirtualDataset>>, String>>,
}

impl Known {
    pub(super) fn structure(&mut self, file: &Path) -> Option<&mut Structure> {
        self.structure
            .get_or_insert_with(|| Structure::open(file))
            .as_mut()
            .ok()
    }

    pub(super) fn group(&mut self, file: &Path, address: u64) -> Links {
        if let Some(known) = self.groups.get(&address) {
            return known.clone();
        }
        let links = if self.links < MOST_LINKS {
            self.structure(file)?.links(address).ok().map(Rc::new)
        } else {
            None
        };
        self.links += links.as_ref().map_or(1, |links| links.len().max(1));
        self.groups.insert(address, links.clone());
        links
    }
}
