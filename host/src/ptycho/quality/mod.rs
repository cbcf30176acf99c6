//! How good a reconstruction is: against the truth, or against another one.

mod ambiguities;
mod comparison;
mod fourier_ring_correlation;
mod lit_region;
mod modes;
mod phase;
mod refinement;
mod transform;
mod translation;

pub use ambiguities::{Aligned, REACH, align};
pub use comparison::{Comparison, QualityError, Reference, compare};
pub use fourier_ring_correlation::{FourierRingCorrelation, Resolution, Ring, correlate};
pub use lit_region::{LitRegion, bounding_box, largest_rectangle};
pub use modes::{OrthogonalModes, orthogonalise};
pub use phase::{FlatPhase, flatten};
pub use translation::Weighted;
