//! Plain data whose constructors check shapes, units and finite values; no GPU, and no files but temporary ones.

mod count_sums;
mod frames;
mod geometry;
mod halves;
mod image;
mod image_index;
#[cfg(feature = "ptycho")]
mod inspection;
mod k_unit;
mod kspace;
mod mask;
mod model_parts;
mod placement;
mod positions;
mod reconstruction;
mod scan;
mod scattering;
mod stored_pixels;
mod travel;
mod variable_probe;

pub use count_sums::CountSums;
pub use frames::{FrameReader, FrameWriter, Frames};
pub use geometry::{Geometry, Propagation};
pub use halves::half_of;
pub use image::{FieldPhases, MriImage};
pub use image_index::ImageIndex;
#[cfg(feature = "ptycho")]
pub(crate) use inspection::{Inspected, Inspection};
pub use k_unit::{KUnit, advice as k_unit_advice};
pub use kspace::{Extent, Given, KSpace, KSpaceError, Readout, Truth, check_cycles};
pub use mask::Mask;
pub use model_parts::{Exposures, ModelParts, ObjectModes};
pub use placement::Placement;
pub use positions::{PixelPositions, PositionError};
pub(crate) use reconstruction::product;
pub use reconstruction::{DetectorModel, HistoryEntry, Reconstruction, SliceStack};
pub use scan::{PositionUnitOrigin, Scan, ScanError, Simulation};
pub use scattering::{Curve, Scattering, ScatteringImage, Smearing};
pub use stored_pixels::StoredPixels;
#[cfg(feature = "ptycho")]
pub(crate) use travel::travel;
pub use variable_probe::VariableProbe;
