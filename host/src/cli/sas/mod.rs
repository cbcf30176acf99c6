//! The commands of `warpstride sas`.

mod evaluate;
mod files;
mod info;
mod machine;
mod models;
mod names;
mod parameters;
mod points;
mod smearing;
mod table;
mod wanted;

pub(crate) use evaluate::Evaluate;
pub(crate) use info::Info;
pub(crate) use models::Models;
