//! Maximum likelihood by nonlinear conjugate gradient: what both back ends share.
//!
//! The objective is a sum over pixels of a loss of the model intensity I_m = c_j Σ_modes |f|² and
//! the counts I, and D is its derivative by I_m. With f = F(S\[P\]·O) and ξ = F⁻¹\[c_j D f\] the
//! gradients are g_O = 2 Σ conj(S\[P\]) ξ and g_P = 2 Σ S⁻¹\[conj(O) ξ\], and the derivative along
//! h is Re⟨g, h⟩.
//!
//! Along a line the intensity is a polynomial, I_m(t) = I_m + A1 t + A2 t² + A3 t³ + A4 t⁴, built
//! from f, a = F(S\[P\] h_O + S\[h_P\] O) and b = F(S\[h_P\] h_O): A1 = c_j Σ 2 Re(f a*), A2 = c_j
//! Σ (2 Re(f b*) + |a|²), A3 = c_j Σ 2 Re(a b*), A4 = c_j Σ |b|².

use super::updates::Smoothness;
use super::updates::{Denominator, NEIGHBOURS};
use serde::{Deserialize, Serialize};

mod polynomial;

/// Added to the modelled intensity before dividing by it, counts.
const FLOOR: f64 = 1e-10;
/// δ of the preconditioner, in units of the largest weight.
const SHARE: f64 = 0.01;
/// How often a step that does not lower the objective is halved.
const HALVINGS: usize = 10;
/// Orders of an intensity along a line.
pub(crate) const ORDERS: u32 = 5;
/// Bytes of device memory for each pixel of a batch whose intensities along a line are kept: of all
/// orders, twice.
pub(crate) const BYTES_OF_ORDERS: u64 = 2 * ORDERS as u64 * 4;
/// Half width of the smoothing kernel, standard deviations.
const REACH: f64 = 4.0;
/// Standard deviation below which nothing is smoothed, pixels.
const SHARPEST: f64 = 0.1;

/// The noise whose likelihood is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// ½ Σ (I_m − I)²/(1 + I).
    Gaussian,
    /// Σ (I_m − I log I_m), plus what makes it 0 at I_m = I.
    Poisson,
    /// Σ (√I_m − √I)².
    Amplitude,
}

impl Noise {
    /// Name in recipes.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Poisson => "poisson",
            Self::Amplitude => "amplitude",
        }
    }

    /// A pixel's loss; `root` is √I.
    #[inline]
    pub(crate) fn loss(self, model: f64, root: f64) -> f64 {
        let counts = root * root;
        match self {
            Self::Gaussian => 0.5 * (model - counts).powi(2) / (1.0 + counts),
            Self::Poisson if counts > 0.0 => {
                model - counts - counts * ((model + FLOOR) / counts).ln()
            }
            Self::Poisson => model,
            Self::Amplitude => ((model + FLOOR).sqrt() - root).powi(2),
        }
    }

    /// D, the derivative of the loss by I_m.
    #[inline]
    pub(crate) fn slope(self, model: f64, root: f64) -> f64 {
        let counts = root * root;
        match self {
            Self::Gaussian => (model - counts) / (1.0 + counts),
            Self::Poisson => 1.0 - counts / (model + FLOOR),
            Self::Amplitude => 1.0 - root / (model + FLOOR).sqrt(),
        }
    }

    /// The derivative of D by I_m.
    #[inline]
    fn curvature(self, model: f64, root: f64) -> f64 {
        let counts = root * root;
        let model = model + FLOOR;
        match self {
            Self::Gaussian => 1.0 / (1.0 + counts),
            Self::Poisson => counts / (model * model),
            Self::Amplitude => 0.5 * root / (model * model.sqrt()),
        }
    }

    /// A pixel's part of the coefficients of the objective along a line; `along` are I_m, A1, …,
    /// A4. For Gaussian noise all nine of a polynomial of degree 8; for the others loss, slope,
    /// half the second derivative, and the part of the latter that is never negative.
    #[inline]
    pub(crate) fn line_terms(self, along: [f64; 5], root: f64) -> [f64; 9] {
        let [model, a1, a2, a3, a4] = along;
        if self == Self::Gaussian {
            let counts = root * root;
            let (a0, w) = (model - counts, 1.0 / (1.0 + counts));
            let mut terms = [
                0.5 * a0 * a0,
                a0 * a1,
                a0 * a2 + 0.5 * a1 * a1,
                a0 * a3 + a1 * a2,
                a0 * a4 + a1 * a3 + 0.5 * a2 * a2,
                a1 * a4 + a2 * a3,
                a2 * a4 + 0.5 * a3 * a3,
                a3 * a4,
                0.5 * a4 * a4,
            ];
            for term in &mut terms {
                *term *= w;
            }
            return terms;
        }
        let slope = self.slope(model, root);
        let bent = 0.5 * self.curvature(model, root) * a1 * a1;
        let mut terms = [0.0; 9];
        terms[..4].copy_from_slice(&[self.loss(model, root), slope * a1, slope * a2 + bent, bent]);
        terms
    }

    /// The step along a line from the sums of [`line_terms`](Self::line_terms), with slope and half
    /// the second derivative of the regulariser: the smallest positive minimum of the polynomial.
    /// `None` unless the objective falls at 0.
    pub(crate) fn step(self, sums: &[f64; 9], [slope, bent]: [f64; 2]) -> Option<f64> {
        let mut along = *sums;
        along[1] += slope;
        along[2] += bent;
        if self != Self::Gaussian {
            return Self::quadratic_step(sums, [slope, bent]);
        }
        let step = polynomial::smallest_minimum(&along);
        step.filter(|t| t.is_finite() && *t > 0.0)
    }

    /// A pixel's part of the objective along a line to second order, if only the derivative A1 of
    /// the intensity and the part A2 = Σ|a|² of its second derivative are known; `along` are I_m,
    /// A1, A2. Loss, slope, half the second derivative, and the part of the latter that is never
    /// negative.
    pub(crate) fn linear_terms(self, along: [f64; 3], root: f64) -> [f64; 4] {
        let [model, a1, a2] = along;
        let slope = self.slope(model, root);
        let bent = 0.5 * self.curvature(model, root) * a1 * a1;
        [self.loss(model, root), slope * a1, slope * a2 + bent, bent]
    }

    /// Like [`step`](Self::step), from the second order of the objective along the line.
    pub(crate) fn quadratic_step(sums: &[f64; 9], [slope, bent]: [f64; 2]) -> Option<f64> {
        let along = [sums[1] + slope, sums[2] + bent];
        let curvature = if along[1] > 0.0 {
            along[1]
        } else {
            sums[3] + bent
        };
        let step = (along[0] < 0.0 && curvature > 0.0).then(|| -0.5 * along[0] / curvature);
        step.filter(|t| t.is_finite() && *t > 0.0)
    }
}

/// An iteration of nonlinear conjugate gradient over object and probe, on all frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LikelihoodMethod {
    /// The noise whose likelihood is maximised.
    pub noise: Noise,
    /// Whether the gradients are divided by W + δ and V + δ, with W = Σ|S\[P\]|² and V = Σ|O|², or
    /// by the largest of these weights.
    pub preconditioner: bool,
    /// Standard deviation of the Gaussian that smooths the object's gradient, pixels; 0: none.
    pub smooth_gradient: f64,
    /// Factor on this standard deviation after every iteration.
    pub smooth_gradient_decay: f64,
    /// Regulariser of the object. With an edge its h is that of the object before the iteration,
    /// which gives an upper bound of the regulariser Σ 2δ²(√(1 + |O_n − O_i|²/δ²) − 1) that is
    /// equal to it there.
    pub smoothness: Smoothness,
}

impl LikelihoodMethod {
    /// What weights become before gradients are divided by them.
    pub(crate) fn denominator(&self) -> Denominator {
        Denominator::Mixed(if self.preconditioner { SHARE } else { 1.0 })
    }

    /// The regulariser, if there is one.
    pub(crate) fn regulariser(&self) -> Option<Smoothness> {
        (self.smoothness.weight > 0.0).then_some(self.smoothness)
    }

    /// The regulariser's part of the object's weights.
    pub(crate) fn extra(&self) -> f64 {
        NEIGHBOURS * self.smoothness.weight
    }

    /// One half of the symmetric kernel that smooths the object's gradient after `count`
    /// iterations, from its middle; empty: none.
    pub(crate) fn smoothing(&self, count: usize) -> Vec<f64> {
        let sigma = self.smooth_gradient * self.smooth_gradient_decay.powf(count as f64);
        if sigma < SHARPEST {
            return Vec::new();
        }
        let value = |k: usize| (-0.5 * (k as f64 / sigma).powi(2)).exp();
        let values: Vec<f64> = (0..=(REACH * sigma).ceil() as usize).map(value).collect();
        let sum = values[0] + 2.0 * values[1..].iter().sum::<f64>();
        values.iter().map(|v| v / sum).collect()
    }
}

/// β of Polak and Ribière, not negative, and 0 if the direction −z + β h would not be a descent.
/// From ⟨g, z⟩, ⟨g_last, z⟩ and ⟨g, h_last⟩, where z is the preconditioned gradient, and ⟨g, z⟩ of
/// the last iteration.
pub(crate) fn conjugate([norm, mixed, along]: [f64; 3], last: f64) -> f64 {
    let beta = (norm - mixed) / last;
    if beta.is_finite() && beta > 0.0 && beta * along < norm {
        beta
    } else {
        0.0
    }
}

/// The first of the steps `first`, `first`/2, … at which the objective is below `start`, if there
/// is one.
pub(crate) fn falling<E>(
    first: f64,
    start: f64,
    mut objective: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<f64>, E> {
    let mut step = first;
    for _ in 0..=HALVINGS {
        if objective(step)? < start {
            return Ok(Some(step));
        }
        step *= 0.5;
    }
    Ok(None)
}

/// What the iterations remember: of the last one, in vectors `V` of the object and of the probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Search<V> {
    /// Gradients of object and probe; none before the first iteration and after one that found no
    /// step.
    pub(crate) last: Option<Last<V>>,
    /// Number of iterations.
    pub(crate) count: usize,
}

/// The last iteration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Last<V> {
    /// Gradients of object and probe.
    pub(crate) gradient: [V; 2],
    /// Directions of object and probe.
    pub(crate) direction: [V; 2],
    /// ⟨g, z⟩.
    pub(crate) norm: f64,
    /// Whether object and probe were updated.
    pub(crate) updated: [bool; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Noise; 3] = [Noise::Gaussian, Noise::Poisson, Noise::Amplitude];

    #[test]
    fn slope_and_curvature_are_derivatives_of_the_loss() {
        for noise in ALL {
            for (model, root) in [(3.0, 1.2), (0.4, 0.0), (100.0, 11.0), (1e-2, 2.0)] {
                let step = 1e-4 * model;
                let difference = |f: &dyn Fn(f64) -> f64| {
                    (f(model - 2.0 * step) - 8.0 * f(model - step) + 8.0 * f(model + step)
                        - f(model + 2.0 * step))
                        / (12.0 * step)
                };
                let slope = difference(&|m| noise.loss(m, root));
                let bent = difference(&|m| noise.slope(m, root));
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-7 * b.abs().max(1e-3);
                assert!(close(slope, noise.slope(model, root)), "{noise:?} {model}");
                assert!(close(bent, noise.curvature(model, root)), "{noise:?}");
            }
        }
    }

    #[test]
    fn losses_are_finite_and_zero_at_the_counts() {
        for noise in ALL {
            for root in [0.0, 1.0, 20.0] {
                assert!(noise.loss(root * root, root).abs() < 1e-9);
                let terms = noise.line_terms([0.0, 1.0, 2.0, 0.5, 0.1], root);
                assert!(terms.iter().all(|v| v.is_finite()), "{noise:?} {root}");
            }
        }
    }

    /// The loss along a line, to the order that the terms have.
    #[test]
    fn line_terms_are_the_series_of_the_loss() {
        let (along, root) = ([5.0, -1.0, 2.0, 0.3, 0.7], 2.5);
        for noise in ALL {
            let terms = noise.line_terms(along, root);
            let exact = |t: f64| {
                let model = along.iter().rev().fold(0.0, |sum, a| sum * t + a);
                noise.loss(model, root)
            };
            if noise == Noise::Gaussian {
                for t in [-0.5, 0.3, 1.7] {
                    let sum = terms.iter().rev().fold(0.0, |sum, c| sum * t + c);
                    assert!((sum / exact(t) - 1.0).abs() < 1e-12);
                }
                continue;
            }
            let h = 1e-3;
            let second = (exact(h) - 2.0 * exact(0.0) + exact(-h)) / (h * h);
            assert!((0.5 * second / terms[2] - 1.0).abs() < 1e-4, "{noise:?}");
            let first = (exact(h) - exact(-h)) / (2.0 * h);
            assert!((first / terms[1] - 1.0).abs() < 1e-4, "{noise:?}");
        }
    }

    #[test]
    fn steps_are_halved_until_the_objective_falls() {
        let objective = |t: f64| Ok::<_, ()>(if t > 0.3 { f64::NAN } else { -t });
        assert_eq!(falling(1.0, 0.0, objective), Ok(Some(0.25)));
        assert_eq!(falling(1.0, -1.0, objective), Ok(None));
        assert_eq!(falling(1.0, 0.0, |_| Err(3)), Err(3));
    }

    #[test]
    fn a_direction_that_is_no_descent_is_not_kept() {
        assert_eq!(conjugate([4.0, 1.0, -5.0], 6.0), 0.5);
        assert_eq!(conjugate([4.0, 5.0, -5.0], 6.0), 0.0);
        assert_eq!(conjugate([4.0, 1.0, 9.0], 6.0), 0.0);
        assert_eq!(conjugate([4.0, 1.0, 1.0], 0.0), 0.0);
        assert_eq!(conjugate([f64::NAN, 1.0, 1.0], 1.0), 0.0);
    }
}
