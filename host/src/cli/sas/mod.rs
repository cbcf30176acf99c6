//! The commands of `warpstride sas`.

mod evaluate;
mod files;
mod fit;
mod info;
mod machine;
mod models;
mod names;
mod origin;
mod parameters;
mod points;
mod results;
mod smearing;
mod table;
mod wanted;
mod wishes;

pub(crate) use evaluate::Evaluate;
pub(crate) use fit::Fit;
pub(crate) use info::Info;
pub(crate) use models::Models;
