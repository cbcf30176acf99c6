//! Ptychography.
//!
//! Arrays of complex numbers, row-major: exit waves (frame, mode, row, column); probe (mode, row,
//! column); object (row, column). Modes are the probe's.

pub mod exit_wave_build;
