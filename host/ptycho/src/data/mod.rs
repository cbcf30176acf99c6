//! Scans and results: plain data whose constructors check shapes, units and finite values; no GPU,
//! and no files but temporary ones.

mod count_sums;
mod frames;
mod geometry;
mod halves;
mod inspection;
mod mask;
mod model_parts;
mod not_finite;
mod photon;
mod positions;
mod reconstruction;
mod scan;
mod stored_pixels;
mod travel;
mod variable_probe;

pub use count_sums::CountSums;
pub use frames::{FrameReader, FrameWriter, Frames};
pub use geometry::{Geometry, Propagation};
pub use halves::half_of;
pub(crate) use inspection::{Inspected, Inspection};
pub use mask::Mask;
pub(crate) use model_parts::product;
pub use model_parts::{DetectorModel, Exposures, ModelParts, ObjectModes, SliceStack};
pub(crate) use photon::{counts_of_photon, in_photons};
pub use positions::{PixelPositions, PositionError};
pub use reconstruction::{HistoryEntry, Reconstruction};
pub(crate) use scan::each_frame;
pub use scan::{PositionUnitOrigin, Scan, ScanError, Simulation};
pub use stored_pixels::StoredPixels;
pub(crate) use travel::travel;
pub use variable_probe::VariableProbe;
