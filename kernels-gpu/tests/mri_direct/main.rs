//! The direct operators against their definition in double precision, at sizes that divide by
//! nothing; the two are adjoint; both orders of threads give the same bits.

#![cfg(feature = "mri")]

mod ladder;
mod separable;
mod sums;
