//! The commands of `warpstride ptycho`.

mod compare;
mod files;
mod info;
mod machine;
mod overlap;
mod reconstruct;
mod results;
mod simulate;

pub(crate) use compare::Compare;
pub(crate) use info::Info;
pub(crate) use reconstruct::Reconstruct;
pub(crate) use simulate::Simulate;
