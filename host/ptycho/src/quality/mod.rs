//! Quality of a reconstruction: compared with the truth or with another one, by the `free_pixels`
//! that it has not seen, by its `absorption`, and by the size and the focus of its probe.

pub(crate) mod absorption;
mod ambiguities;
mod comparison;
mod error;
mod fourier_ring_correlation;
pub(crate) mod free_pixels;
mod lit_region;
mod modes;
mod phase;
pub(crate) mod probe_focus;
pub(crate) mod probe_size;
mod refinement;
mod transform;
mod translation;

pub use ambiguities::{Aligned, SEARCH_RADIUS, align};
pub use comparison::{Comparison, Reference, compare, compare_slices};
pub use error::QualityError;
pub use fourier_ring_correlation::{FourierRingCorrelation, Resolution, Ring, correlate};
pub use lit_region::{LitRegion, bounding_box, largest_rectangle};
pub use modes::{OrthogonalModes, orthogonalise, orthogonalise_others};
pub use phase::{FlatPhase, flatten};
pub use translation::WeightedImage;
