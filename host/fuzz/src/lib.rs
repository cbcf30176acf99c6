//! Hostile files, made from a string of choices.

pub mod acquisitions;
pub mod structure;
