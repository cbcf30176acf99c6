//! What several rooms must agree on.

mod precision;
mod siemens_star;
mod truth;
