//! Samples of k-space and images: plain data whose constructors check shapes, units and finite
//! values.

mod extent;
mod image;
mod image_index;
mod k_unit;
mod kspace;
mod placement;

pub use extent::Extent;
pub use image::{FieldPhases, MriImage};
pub use image_index::ImageIndex;
pub use k_unit::{KUnit, advice as k_unit_advice};
pub use kspace::{Given, KSpace, KSpaceError, Readout, Truth, check_cycles};
pub use placement::Placement;
