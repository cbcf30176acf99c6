//! The commands of `warpstride series`.

mod ladder;
mod machine;
mod memory;
mod points;
mod progress;
mod resample;
mod rows;
mod store;
mod summary;
mod wanted;

pub(crate) use ladder::Ladder;
pub(crate) use resample::Resampling;
pub(crate) use store::{Ingest, StoreQuery, info};
