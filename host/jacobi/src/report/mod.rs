//! The picture of a field and the timeline of a profiled run.

#[cfg(feature = "plots")]
mod field;
mod timeline;

#[cfg(feature = "plots")]
pub use field::field_picture;
pub use timeline::timeline;
