//! What is done to object and probe after any update.

pub(super) mod centring;
pub(super) mod constraints;
pub(super) mod normalisation;
