//! Quadrature over directions for the orientation average of curves.
//!
//! A particle of largest half size h produces about q h/π fringes between its axis and its equator,
//! so the order of the Gauss–Legendre rule depends on q h: 20, 76, 500 and 5000 nodes for q h below
//! 10, 100, 750 and above. Rules over two angles are squares of at most [`MAX_DIRECTIONS`] nodes.

use std::f64::consts::FRAC_PI_2;
use std::sync::OnceLock;
use warpstride_kernels::sas::model::Symmetry;

/// Orders of the rules.
pub const ORDERS: [usize; 4] = [20, 76, 500, 5000];
/// Upper limits of q h for all rules but the last.
pub const EXTENTS: [f64; 3] = [10.0, 100.0, 750.0];
/// Maximum number of directions of a rule over two angles.
pub const MAX_DIRECTIONS: usize = 100_000;

/// Index in [`ORDERS`] of the rule for `extent` = q · largest half size.
#[must_use]
pub fn level(extent: f64) -> usize {
    EXTENTS.iter().filter(|limit| extent >= **limit).count()
}

/// Nodes and weights of a Gauss–Legendre rule on 0 … 1, ascending; the weights' sum is 1.
///
/// Newton's iteration on the Legendre polynomial; the rule is symmetric, so half of the roots
/// suffice.
#[must_use]
pub fn gauss_legendre(order: usize) -> (Vec<f64>, Vec<f64>) {
    let n = order as f64;
    let (mut nodes, mut weights) = (vec![0.0; order], vec![0.0; order]);
    for i in 0..order.div_ceil(2) {
        // F. G. Tricomi's estimate of the root, starting with the greatest.
        let theta = std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5);
        let mut x = (1.0 - (n - 1.0) / (8.0 * n * n * n)) * theta.cos();
        let mut slope = 1.0;
        for _ in 0..10 {
            let (mut p, mut before) = (x, 1.0);
            for k in 1..order {
                let k = k as f64;
                (p, before) = (((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0), p);
            }
            slope = n * (before - x * p) / (1.0 - x * x);
            let step = p / slope;
            x -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        let weight = 1.0 / ((1.0 - x * x) * slope * slope);
        (nodes[order - 1 - i], nodes[i]) = (0.5 * (1.0 + x), 0.5 * (1.0 - x));
        (weights[order - 1 - i], weights[i]) = (weight, weight);
    }
    (nodes, weights)
}

/// Unit vectors in the particle's frame and their weights, which sum to 1. By symmetry one octant
/// suffices.
#[derive(Debug)]
pub struct Directions {
    /// Component along a; empty for axial particles.
    pub a: Vec<f64>,
    /// Component along b; for axial particles, the component perpendicular to c.
    pub b: Vec<f64>,
    /// Component along c.
    pub c: Vec<f64>,
    /// Weights.
    pub weights: Vec<f64>,
}

impl Directions {
    /// Number of directions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there are no directions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    fn axial(order: usize) -> Self {
        let (c, weights) = gauss_legendre(order);
        Self {
            a: Vec::new(),
            b: c.iter().map(|u| (1.0 - u * u).sqrt()).collect(),
            c,
            weights,
        }
    }

    fn triaxial(order: usize) -> Self {
        let order = order.min(MAX_DIRECTIONS.isqrt());
        let (nodes, node_weights) = gauss_legendre(order);
        let mut all = Self {
            a: Vec::with_capacity(order * order),
            b: Vec::with_capacity(order * order),
            c: Vec::with_capacity(order * order),
            weights: Vec::with_capacity(order * order),
        };
        for (u, outer) in nodes.iter().zip(&node_weights) {
            let across = (1.0 - u * u).sqrt();
            for (t, inner) in nodes.iter().zip(&node_weights) {
                let (sin, cos) = (t * FRAC_PI_2).sin_cos();
                all.a.push(across * cos);
                all.b.push(across * sin);
                all.c.push(*u);
                all.weights.push(outer * inner);
            }
        }
        all
    }

    fn single() -> Self {
        Self {
            a: Vec::new(),
            b: Vec::new(),
            c: vec![1.0],
            weights: vec![1.0],
        }
    }
}

/// The directions of a level (0 to 3), computed once per process.
///
/// # Panics
/// If `level` is above 3.
#[must_use]
pub fn directions(symmetry: Symmetry, level: usize) -> &'static Directions {
    static SINGLE: OnceLock<Directions> = OnceLock::new();
    static AXIAL: [OnceLock<Directions>; 4] = [const { OnceLock::new() }; 4];
    static TRIAXIAL: [OnceLock<Directions>; 4] = [const { OnceLock::new() }; 4];
    match symmetry {
        Symmetry::Isotropic => SINGLE.get_or_init(Directions::single),
        Symmetry::Axial => AXIAL[level].get_or_init(|| Directions::axial(ORDERS[level])),
        Symmetry::Triaxial => TRIAXIAL[level].get_or_init(|| Directions::triaxial(ORDERS[level])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule of order n integrates polynomials up to degree 2n − 1; the weights are positive and
    /// sum to 1.
    #[test]
    fn polynomials_are_integrated_exactly() {
        for order in [1, 2, 5, 20, 76, 500] {
            let (nodes, weights) = gauss_legendre(order);
            assert!(weights.iter().all(|w| *w > 0.0));
            assert!(nodes.windows(2).all(|pair| pair[0] < pair[1]));
            for degree in [0, 1, 2 * order - 1] {
                let sum: f64 = nodes
                    .iter()
                    .zip(&weights)
                    .map(|(x, w)| w * x.powi(degree as i32))
                    .sum();
                let exact = 1.0 / (degree as f64 + 1.0);
                assert!(
                    (sum - exact).abs() < 1e-13,
                    "order {order}, degree {degree}: {sum}, {exact}"
                );
            }
        }
    }

    /// ⟨cos(k·n)⟩ over the sphere is sin k/k: checked for k just below the limit of each level and
    /// for both symmetries.
    #[test]
    fn plane_waves_average_to_a_sinc() {
        for (symmetry, most) in [(Symmetry::Axial, 3), (Symmetry::Triaxial, 2)] {
            for level in 0..=most {
                let k: f64 = EXTENTS.get(level).map_or(2000.0, |e| 0.99 * e).min(316.0);
                let directions = directions(symmetry, level);
                let sum: f64 = directions
                    .weights
                    .iter()
                    .zip(&directions.c)
                    .map(|(w, c)| w * (k * c).cos())
                    .sum();
                assert!(
                    (sum - k.sin() / k).abs() < 1e-12,
                    "{symmetry:?}, level {level}"
                );
                assert!(directions.len() <= MAX_DIRECTIONS);
            }
        }
    }

    #[test]
    fn levels_change_at_their_limits() {
        assert_eq!(
            [0.0, 9.99, 10.0, 99.9, 100.0, 749.0, 750.0, f64::INFINITY].map(level),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
    }
}
