//! What the images of one call have in common.

use super::running::Running;
use crate::errors::Failure;
use ndarray::Array3;
use num_complex::Complex;
use std::collections::BTreeMap;
use warpstride::gpu::{CudaDevice, EmulatedDevice};
use warpstride::mri::Plans;
use warpstride::run::Backend;
use warpstride::system::Memory;

/// Share of the available memory that plans of several images may take.
const PLANS: u64 = 8;

/// Coil maps (set, coil, voxel), and what the user should know of them.
pub(super) type CoilMaps = (Option<Array3<Complex<f64>>>, Vec<String>);

/// The back end of an image.
type OpenBackend = Backend<Vec<CudaDevice>, Vec<EmulatedDevice>>;

/// Plans of trajectories, open devices and coil maps of several images; nothing is kept for one.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) plans: Plans,
    /// The maps of each slice, if they are estimated once.
    maps: BTreeMap<u16, CoilMaps>,
    /// The back end of the first image.
    backend: Option<OpenBackend>,
    /// Whether maps are estimated once, if there are several images.
    several: Option<bool>,
}

impl Shared {
    /// For one image, or for several, whose maps are estimated once or for each of them.
    pub(super) fn new(several: Option<bool>) -> Self {
        let limit = several.map_or(0, |_| Memory::available().limit() / PLANS);
        Self {
            plans: Plans::new(limit),
            several,
            ..Self::default()
        }
    }

    /// The back end of an image, which is opened for the first one.
    pub(super) fn backend(
        &mut self,
        open: impl FnOnce() -> Result<OpenBackend, Failure>,
    ) -> Result<OpenBackend, Failure> {
        if self.several.is_none() {
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

    /// The maps of an image of this slice, for maps of (coil, voxel): those of its first image if
    /// they are estimated once, else what `find` returns.
    pub(super) fn maps(
        &mut self,
        slice: u16,
        shape: [usize; 2],
        find: impl FnOnce(&mut Plans) -> Result<CoilMaps, Failure>,
    ) -> Result<CoilMaps, Failure> {
        if let Some((maps, notes)) = self.maps.get(&slice) {
            let found = maps.as_ref().map(|maps| [maps.dim().1, maps.dim().2]);
            return match found {
                Some(found) if found != shape => Err(Failure::Data(format!(
                    "maps_once: expected images of a slice with the same coils and voxels, found {found:?} and {shape:?} (coil, voxel)"
                ))),
                _ => Ok((maps.clone(), notes.clone())),
            };
        }
        let (maps, mut notes) = find(&mut self.plans)?;
        if self.several == Some(true) {
            notes.push("the coil maps of each slice are those of its first image".to_owned());
            self.maps.insert(slice, (maps.clone(), notes.clone()));
        }
        Ok((maps, notes))
    }
}

/// One image after another, on one thread.
pub(super) struct Images {
    shared: Shared,
    running: Option<Running>,
}

impl Images {
    /// For the first of one image or of several.
    pub(super) fn new(several: Option<bool>) -> Self {
        Self {
            shared: Shared::new(several),
            running: None,
        }
    }

    /// Goes on to the next image. The engine of the one before is dropped first.
    pub(super) fn next(
        &mut self,
        prepare: impl FnOnce(&mut Shared) -> Result<Running, Failure>,
    ) -> Result<(), Failure> {
        self.running = None;
        self.running = Some(prepare(&mut self.shared)?);
        Ok(())
    }

    /// The present image.
    pub(super) fn running(&mut self) -> Result<&mut Running, Failure> {
        let none = || Failure::Data("the reconstruction: expected an image, found none".to_owned());
        self.running.as_mut().ok_or_else(none)
    }
}
