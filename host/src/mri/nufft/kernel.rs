//! The spreading kernel.

use super::super::MriError;

/// The exponential of a semicircle, exp(β(√(1 − z²) − 1)) for |z| < 1, over `width` cells of the fine
/// grid (A. Barnett, J. Magland, L. af Klinteberg, SIAM J. Sci. Comput. 41 (2019) C479).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadingKernel {
    width: usize,
    beta: f64,
    oversampling: f64,
}

impl SpreadingKernel {
    /// The narrowest kernel that keeps the relative error of a transform below `tolerance` with a
    /// fine grid of `oversampling` times the modes.
    ///
    /// # Errors
    /// The tolerance is no number in 0 … 1, or smaller than `width` 16 reaches.
    pub fn new(tolerance: f64, oversampling: f64) -> Result<Self, MriError> {
        let smallest = 1e-14;
        if !(smallest..1.0).contains(&tolerance) {
            return Err(MriError::Tolerance {
                tolerance,
                precision: "f64",
                smallest,
            });
        }
        // Error ≈ exp(−π w √(1 − 1/σ)), one cell more for safety; β just below the bound π w (1 − 1/(2σ)).
        use std::f64::consts::PI;
        let decay = PI * (1.0 - 1.0 / oversampling).sqrt();
        let width = ((-tolerance.ln() / decay).ceil() as usize + 1).clamp(2, 16);
        let beta = 0.976 * PI * (1.0 - 0.5 / oversampling) * width as f64;
        Ok(Self {
            width,
            beta,
            oversampling,
        })
    }

    /// Cells of the fine grid that a point touches along an axis.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Fine cells a mode.
    #[must_use]
    pub fn oversampling(&self) -> f64 {
        self.oversampling
    }

    /// Its value at `distance` cells from the point.
    #[must_use]
    pub fn value(&self, distance: f64) -> f64 {
        let z = 2.0 * distance / self.width as f64;
        let inside = 1.0 - z * z;
        if inside <= 0.0 {
            return 0.0;
        }
        (self.beta * (inside.sqrt() - 1.0)).exp()
    }
}
