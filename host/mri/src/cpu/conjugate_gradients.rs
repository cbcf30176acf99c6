//! Conjugate gradients on (EᴴWE + λ)ρ = EᴴWd (M. R. Hestenes, E. Stiefel, J. Res. NBS 49 (1952)
//! 409).

use super::Sense;
use super::vectors::{norm_squared, real_product, update, update_and_norm};
use num_complex::Complex;
use warpstride_fft::Real;

/// The state between two iterations, with ρ = 0 at first.
///
/// With A = EᴴWE + λ and r = b, p = b at first, an iteration is
///
/// 1. q = A p, κ = Re⟨p, q⟩;
/// 2. α = |r|²/κ, ρ ← ρ + α p;
/// 3. r ← r − α q, and its |r|²;
/// 4. p ← r + (|r|²/|r_previous|²) p.
///
/// Sums are in double precision; α and the factor of step 4 are rounded to T once.
pub struct ConjugateGradients<T> {
    lambda: T,
    rho: Vec<Complex<T>>,
    residual: Vec<Complex<T>>,
    direction: Vec<Complex<T>>,
    /// A p
    applied: Vec<Complex<T>>,
    /// |r|²
    residual_squared: f64,
    /// |b|²
    start_squared: f64,
}

impl<T: Real> ConjugateGradients<T> {
    /// Starts from the right-hand side `b` = EᴴWd and λ.
    #[must_use]
    pub fn new(b: Vec<Complex<T>>, lambda: f64) -> Self {
        let squared = norm_squared(&b);
        Self {
            lambda: T::of(lambda),
            rho: vec![Complex::default(); b.len()],
            applied: vec![Complex::default(); b.len()],
            direction: b.clone(),
            residual: b,
            residual_squared: squared,
            start_squared: squared,
        }
    }

    /// Does one iteration and returns |r|²/|b|² after it.
    ///
    /// If nothing is left to do (r = 0, or a direction with zero curvature), ρ and the residual
    /// stay as they are; for zero data the residual is 0.
    pub fn step(&mut self, sense: &mut Sense<T>) -> f64 {
        if self.residual_squared > 0.0 {
            self.advance(sense);
        }
        if self.start_squared == 0.0 {
            return 0.0;
        }
        self.residual_squared / self.start_squared
    }

    fn advance(&mut self, sense: &mut Sense<T>) {
        sense.normal(&self.direction, &mut self.applied);
        if self.lambda != T::zero() {
            let lambda = self.lambda;
            update(&mut self.applied, &self.direction, |q, p| {
                q + p.scale(lambda)
            });
        }
        let curvature = real_product(&self.direction, &self.applied);
        if curvature <= 0.0 {
            return;
        }
        let alpha = T::of(self.residual_squared / curvature);
        update(&mut self.rho, &self.direction, |rho, p| {
            rho + p.scale(alpha)
        });
        let before = self.residual_squared;
        self.residual_squared =
            update_and_norm(&mut self.residual, &self.applied, |r, q| r - q.scale(alpha));
        let beta = T::of(self.residual_squared / before);
        update(&mut self.direction, &self.residual, |p, r| {
            r + p.scale(beta)
        });
    }

    /// ρ.
    #[must_use]
    pub fn image(&self) -> &[Complex<T>] {
        &self.rho
    }

    /// b − EᴴWEρ, which is r + λρ.
    pub(super) fn rest(&self) -> impl Iterator<Item = Complex<T>> {
        let both = self.residual.iter().zip(&self.rho);
        both.map(|(r, rho)| *r + rho.scale(self.lambda))
    }
}
