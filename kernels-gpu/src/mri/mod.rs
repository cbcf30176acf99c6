//! Non-Cartesian MRI.

pub mod direct_adjoint;
mod direct_axes;
pub mod direct_forward;
pub mod direct_gather;
pub mod direct_sum_parts;
