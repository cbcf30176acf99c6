//! Hostile scans, made from a string of choices.

pub mod structure;
