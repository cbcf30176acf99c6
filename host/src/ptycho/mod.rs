//! Ptychography: a specimen and the beam from overlapping diffraction patterns.

pub mod quality;
