//! The operations that every encoding operator provides.

use num_complex::Complex;

use super::Grid;

/// F on the CPU: F_mn = (phase of a field) · exp(−2πi k_m·x_n), as unscaled sums, and its adjoint.
///
/// Every implementation takes a batch of images at once, (image, slice, row, column), and as many
/// series of samples, (image, sample), so that work that does not depend on the values is shared.
/// The adjoint is exact to rounding: ⟨Fρ, d⟩ = ⟨ρ, Fᴴd⟩.
pub trait Encoding<T>: Send + Sync {
    /// `direct` or `nufft`.
    fn name(&self) -> &'static str;

    /// The voxels.
    fn grid(&self) -> Grid;

    /// Number of samples of one image.
    fn samples(&self) -> usize;

    /// `samples = F images`.
    fn forward(&self, images: &[Complex<T>], samples: &mut [Complex<T>]);

    /// `images = Fᴴ samples`.
    fn adjoint(&self, samples: &[Complex<T>], images: &mut [Complex<T>]);
}
