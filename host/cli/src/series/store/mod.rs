//! The subcommands that work on stores of series.

mod info;
mod ingest;
mod policy;
mod query;

pub(crate) use info::run as info;
pub(crate) use ingest::Ingest;
pub(crate) use query::StoreQuery;
