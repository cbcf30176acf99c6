//! What the images of one run have in common.

use super::coil_maps::CoilMaps;
use crate::devices_request::DevicesBackend;
use crate::failure::Failure;
use std::collections::BTreeMap;
use warpstride::mri::Plans;
use warpstride::system::Memory;

/// Share of the available memory that plans of several images may take.
const PLANS: u64 = 8;

/// What images of one run have in common: open devices, plans of trajectories, coil maps, and what
/// has been said.
#[derive(Default)]
pub(super) struct Shared {
    /// Notes that have been printed.
    pub(super) said: Vec<String>,
    /// Plans of trajectories.
    pub(super) plans: Plans,
    /// The coil maps of each slice, with `--coil-maps-once`.
    pub(super) maps: BTreeMap<u16, CoilMaps>,
    /// The back end of the first image.
    backend: Option<DevicesBackend>,
    several: bool,
}

impl Shared {
    /// For several images, of which nothing is computed yet.
    pub(super) fn of_several() -> Self {
        Self {
            plans: Plans::new(Memory::available().limit() / PLANS),
            several: true,
            ..Self::default()
        }
    }

    /// Whether there are several images.
    pub(super) fn is_of_several(&self) -> bool {
        self.several
    }

    /// The back end of an image, which is opened once for all of them. Opening a device takes
    /// longer than computing a small image on it.
    pub(super) fn backend(
        &mut self,
        open: impl FnOnce() -> Result<DevicesBackend, Failure>,
    ) -> Result<DevicesBackend, Failure> {
        if !self.several {
            return open();
        }
        let opened = match self.backend.take() {
            Some(opened) => opened,
            None => open()?,
        };
        let image = opened.sibling()?;
        self.backend = Some(opened);
        Ok(image)
    }
}
