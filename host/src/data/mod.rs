//! Plain data whose constructors check shapes, units and finite values; no files, no GPU.

mod geometry;
mod image;
mod kspace;
mod positions;
mod reconstruction;
mod scan;
mod scattering;

pub use geometry::Geometry;
pub use image::{FieldPhases, MriImage};
pub use kspace::{Extent, KSpace, KSpaceError, Readout, Truth};
pub use positions::{PixelPositions, PositionError};
pub use reconstruction::{HistoryEntry, Reconstruction};
pub use scan::{Mask, Scan, ScanError, Simulation};
pub use scattering::{Curve, Scattering, ScatteringImage, Smearing};
