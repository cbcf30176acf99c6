//! A session: the recipe, the options of reading, the run with its checkpoints and metrics, the
//! memory that it needs, and its result and summary.

pub(crate) mod checkpointing;
pub(crate) mod memory_estimate;
pub(crate) mod memory_request;
pub(crate) mod metrics_schedule;
pub(crate) mod profile;
pub mod quantities;
pub(crate) mod read_options;
pub(crate) mod recipe;
pub(crate) mod recipe_error;
pub(crate) mod recipe_line;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod summary;
