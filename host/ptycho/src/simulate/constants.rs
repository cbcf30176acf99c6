//! What all simulations have in common.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// Wavelength at 10 keV, m.
pub(super) const WAVELENGTH: f64 = 1.239_841_984e-10;
/// Wavelength of 300 kV electrons, m.
pub(super) const ELECTRON_WAVELENGTH: f64 = 1.968_749e-12;
/// λz/(nΔ²) over the distance z from the first slice to the last.
pub(super) const THICKNESS: f64 = 0.45;
/// Pixel of a common hybrid pixel detector, m.
pub(super) const DETECTOR_PIXEL: f64 = 75e-6;
/// Object pixel, m; the distance follows from it.
pub(super) const OBJECT_PIXEL: f64 = 20e-9;
/// Pixel of a detector with a scintillator and a microscope, m: that of a parallel beam's near
/// field.
pub(super) const MICROSCOPE_PIXEL: f64 = 1e-6;
/// λz/(nΔ²) of a near field, so that its transfer function is sampled finely enough and the beam
/// stays inside the frame.
pub(super) const NEAR: f64 = 0.3;
/// Lit fraction of the detector's width.
pub(super) const APERTURE: f64 = 0.42;
/// Diameter of the defocused beam, as a fraction of the frame's width.
pub(super) const BEAM: f64 = 0.36;

/// A separate generator for each frame, so that the counts do not depend on the threads.
pub(super) fn generator(seed: u64, stream: u64) -> Pcg64Mcg {
    // The increment of SplitMix64 separates neighbouring streams.
    Pcg64Mcg::seed_from_u64(seed.wrapping_add(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}
