//! Gauss–Legendre rules for integrals inside form factors, computed at compile time.

use super::real::Real;

/// Nodes and weights on 0 … 1.
#[derive(Debug)]
pub struct Rule<const N: usize> {
    nodes: [f64; N],
    weights: [f64; N],
}

/// 8 points: full precision if the integrand turns or grows by less than a factor e.
pub static RULE_8: Rule<8> = Rule::new();
/// 20 points: full precision if the integrand oscillates by less than ±12 rad about the middle.
pub static RULE_20: Rule<20> = Rule::new();
/// 76 points: full precision below ±80 rad.
pub static RULE_76: Rule<76> = Rule::new();

impl<const N: usize> Rule<N> {
    /// The rule of N points.
    #[must_use]
    pub const fn new() -> Self {
        let (mut nodes, mut weights) = ([0.5; N], [0.0; N]);
        let n = N as f64;
        let mut i = 0;
        while i < N.div_ceil(2) {
            // Tricomi's estimate, then Newton's method on the recurrence of the Legendre polynomials.
            let mut x = cos(core::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5));
            let mut slope = 1.0;
            let mut step = 0;
            while step < 5 {
                let (mut p, mut before) = (1.0, 0.0);
                let mut k = 0.0;
                while k < n {
                    (p, before) = (((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0), p);
                    k += 1.0;
                }
                slope = n * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
                step += 1;
            }
            let weight = 1.0 / ((1.0 - x * x) * slope * slope);
            (nodes[i], weights[i]) = (0.5 - 0.5 * x, weight);
            (nodes[N - 1 - i], weights[N - 1 - i]) = (0.5 + 0.5 * x, weight);
            i += 1;
        }
        Self { nodes, weights }
    }

    /// The integral from 0 to 1.
    #[inline(always)]
    pub fn integrate<R: Real>(&self, integrand: impl Fn(R) -> R) -> R {
        let mut sum = R::zero();
        for i in 0..N {
            sum = integrand(R::of(self.nodes[i])).mul_add(R::of(self.weights[i]), sum);
        }
        sum
    }
}

impl<const N: usize> Default for Rule<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// cos x for x from 0 to π.
const fn cos(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    let mut k = 0.0;
    while k < 30.0 {
        k += 2.0;
        term *= -x * x / (k * (k - 1.0));
        sum += term;
    }
    sum
}
