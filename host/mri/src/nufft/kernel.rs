//! The spreading kernel.

use super::super::MriError;
use std::f64::consts::PI;
use warpstride_fft::Real;

/// Widest kernel: the width that double precision needs with an oversampling of 2.
pub const WIDEST: usize = 16;
const NARROWEST: usize = 2;

/// Share of the tolerance allowed for the error of the polynomials.
const FIT_SHARE: f64 = 0.05;
/// Rounding of a fit in double precision.
const FIT_ROUNDING: f64 = 2e-14;
/// A higher degree does not improve the fit in double precision.
const HIGHEST_DEGREE: usize = 24;
/// Share of the tolerance allowed for the estimated error, which is a mean over random samples.
const RMS_SHARE: f64 = 0.9;
/// Factor by which the worst single mode, usually the outermost, may exceed the tolerance.
const WORST_MODE_FACTOR: f64 = 3.0;

/// The Kaiser–Bessel function, φ(d) = I₀(β√(1 − z²)) / I₀(β) with z = 2d/w, for distances of at
/// most half its `width` w, in cells of the fine grid (J. Jackson et al., IEEE Trans. Med. Imaging
/// 10 (1991) 473; P. Beatty et al., ibid. 24 (2005) 799). Its error is half that of the exponential
/// of a semicircle of the same width, at the same cost, because both are evaluated as polynomials.
///
/// # Position of a point
/// A point at x cells touches the cells `first … first + w − 1`, `first = ceil(x − w/2)`. With
/// the position `t = 2(first − (x − w/2)) − 1` in −1 … 1, cell `first + j` gets
/// [`pieces`](Self::pieces)' polynomial j at t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadingKernel {
    width: usize,
    beta: f64,
    oversampling: f64,
    tolerance: f64,
    /// w / I₀(β), the factor of its Fourier transform.
    scale: f64,
}

/// A [`SpreadingKernel`] as one polynomial for each cell that a point touches.
#[derive(Debug, Clone, PartialEq)]
pub struct Pieces {
    /// The kernel's width w.
    pub width: usize,
    /// The degree of the polynomials.
    pub degree: usize,
    /// (power, piece), in ascending powers from 0.
    pub coefficients: Vec<f64>,
    /// Largest difference from the kernel, whose maximum is 1.
    pub error: f64,
}

impl SpreadingKernel {
    /// The narrowest kernel that keeps the relative l² error of transforms along `axes` axes below
    /// `tolerance`, on a fine grid of `oversampling` cells per mode, in `T`.
    ///
    /// # Errors
    /// The tolerance is not in 0 … 1, or smaller than `T` or [`WIDEST`] allows.
    pub fn new<T: Real>(tolerance: f64, oversampling: f64, axes: usize) -> Result<Self, MriError> {
        let enough = |kernel: &Self| {
            let (rms, worst) = kernel.error::<T>(axes);
            rms <= RMS_SHARE * tolerance && worst <= WORST_MODE_FACTOR * tolerance
        };
        let mut kernels =
            (NARROWEST..=WIDEST).map(|width| Self::of_width(width, oversampling, tolerance));
        let reachable = tolerance < 1.0 && tolerance >= smallest_tolerance::<T>();
        let kernel = reachable.then(|| kernels.find(enough)).flatten();
        kernel.ok_or_else(|| MriError::Tolerance {
            tolerance,
            precision: if size_of::<T>() == 4 { "f32" } else { "f64" },
            smallest: Self::smallest::<T>(oversampling, axes),
        })
    }

    /// The smallest tolerance that [`SpreadingKernel::new`] accepts: with wider kernels rounding
    /// grows by more than aliasing shrinks.
    #[must_use]
    pub fn smallest<T: Real>(oversampling: f64, axes: usize) -> f64 {
        (NARROWEST..=WIDEST)
            .map(|width| Self::of_width(width, oversampling, 0.0).error::<T>(axes))
            .map(|(rms, worst)| (rms / RMS_SHARE).max(worst / WORST_MODE_FACTOR))
            .fold(f64::INFINITY, f64::min)
            .max(smallest_tolerance::<T>())
    }

    /// β is chosen at the flat minimum of the error, a little below π w (1 − 1/(2σ)), where the
    /// main lobe ends at the start of the first alias. The gap was found by minimising
    /// [`aliasing`](Self::aliasing) for widths 2 … 8 and σ = 1.25, 1.5 and 2.
    fn of_width(width: usize, oversampling: f64, tolerance: f64) -> Self {
        let w = width as f64;
        let gap = (0.31 + 0.15 / (oversampling - 1.0)) / (w * w);
        let beta = PI * w * (1.0 - 0.5 / oversampling) * (1.0 - gap);
        Self {
            width,
            beta,
            oversampling,
            tolerance,
            scale: w / bessel_i0(beta),
        }
    }

    /// Relative error in `T`: root mean square over all modes, and that of the worst mode.
    /// Transforms leave the same rounding in all modes, which the deapodisation then amplifies:
    /// with little oversampling and a wide kernel the outer modes are small before it.
    fn error<T: Real>(&self, axes: usize) -> (f64, f64) {
        const MODES: usize = 24;
        let mean = |end: f64, power: i32| {
            let at = |i: usize| end * (i as f64 + 0.5) / MODES as f64;
            let sum: f64 = (0..MODES).map(|i| self.fourier(at(i)).powi(power)).sum();
            sum / MODES as f64
        };
        let kept = 0.5 / self.oversampling;
        let amplified = (mean(0.5, 2) * mean(kept, -2)).sqrt().powi(axes as i32);
        let rounding = if size_of::<T>() == 4 {
            f32::EPSILON.into()
        } else {
            f64::EPSILON
        };
        let (rms, worst) = self.aliasing(axes);
        (rms.hypot(amplified * rounding), worst)
    }

    /// Relative error by aliasing: root mean square over all modes, and that of the worst mode.
    /// Mode k receives Σ_{j≠0} φ̂(k + jn) with other phases and φ̂(k) with its own; the errors of
    /// the axes are independent.
    #[must_use]
    pub fn aliasing(&self, axes: usize) -> (f64, f64) {
        const MODES: usize = 24;
        const ALIASES: i32 = 6;
        let (mut mean, mut worst) = (0.0, 0.0_f64);
        for mode in 0..MODES {
            let frequency = 0.5 * (mode as f64 + 0.5) / MODES as f64 / self.oversampling;
            let own = self.fourier(frequency);
            let other: f64 = (1..=ALIASES)
                .flat_map(|j| [frequency + f64::from(j), frequency - f64::from(j)])
                .map(|alias| (self.fourier(alias) / own).powi(2))
                .sum();
            mean += other / MODES as f64;
            worst = worst.max(other);
        }
        let axes = axes as f64;
        ((mean * axes).sqrt(), (worst * axes).sqrt())
    }

    /// Cells of the fine grid that a point touches along an axis.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Fine cells per mode.
    #[must_use]
    pub fn oversampling(&self) -> f64 {
        self.oversampling
    }

    /// Cells of the fine grid for an axis of `modes`: the smallest even product of 2, 3 and 5 that
    /// is at least `oversampling · modes` and twice the width.
    #[must_use]
    pub fn fine(&self, modes: usize) -> usize {
        let least = (self.oversampling * modes as f64).ceil() as usize;
        let mut cells = least.max(2 * self.width).next_multiple_of(2);
        while !smooth(cells) {
            cells += 2;
        }
        cells
    }

    /// The kernel's value at `distance` cells from the point; 1 at 0.
    #[must_use]
    pub fn value(&self, distance: f64) -> f64 {
        let z = 2.0 * distance / self.width as f64;
        let inside = 1.0 - z * z;
        if inside < 0.0 {
            return 0.0;
        }
        bessel_i0(self.beta * inside.sqrt()) * self.scale / self.width as f64
    }

    /// φ̂(ξ) = ∫ φ(d) exp(−2πi ξ d) dd at `frequency` ξ in cycles per fine cell:
    /// w sinh(√(β² − (πwξ)²)) / (√(β² − (πwξ)²) I₀(β)).
    #[must_use]
    pub fn fourier(&self, frequency: f64) -> f64 {
        let w = self.width as f64;
        let a = PI * w * frequency;
        let square = self.beta * self.beta - a * a;
        let root = square.abs().sqrt();
        let sinc = if root < 1e-4 {
            1.0 + square / 6.0
        } else if square > 0.0 {
            root.sinh() / root
        } else {
            root.sin() / root
        };
        self.scale * sinc
    }

    /// The factors that undo the kernel: 1/φ̂(k/fine) for the modes k = −⌊N/2⌋ … of an axis, in
    /// this order.
    #[must_use]
    pub fn deapodisation(&self, modes: usize, fine: usize) -> Vec<f64> {
        (0..modes)
            .map(|mode| mode as f64 - (modes / 2) as f64)
            .map(|k| 1.0 / self.fourier(k / fine as f64))
            .collect()
    }

    /// The kernel as polynomials of the position in a cell, [see above](Self). The degree is the
    /// lowest for which the error costs the outermost mode a twentieth of the tolerance.
    #[must_use]
    pub fn pieces(&self) -> Pieces {
        let outermost = self.fourier(0.5 / self.oversampling);
        let allowed = FIT_SHARE * self.tolerance * outermost / (self.width as f64).sqrt();
        let allowed = allowed.max(FIT_ROUNDING);
        let mut degree = 2;
        loop {
            let pieces = self.fitted(degree);
            if pieces.error <= allowed || degree == HIGHEST_DEGREE {
                return pieces;
            }
            degree += 1;
        }
    }

    /// Interpolation at the Chebyshev nodes, by the discrete orthogonality of Chebyshev
    /// polynomials, converted to powers.
    fn fitted(&self, degree: usize) -> Pieces {
        let (width, nodes) = (self.width, degree + 1);
        let angle = |node: usize| PI * (node as f64 + 0.5) / nodes as f64;
        let distance = |piece: usize, t: f64| 0.5 * (t + 1.0) + piece as f64 - 0.5 * width as f64;
        let mut coefficients = vec![0.0; nodes * width];
        for piece in 0..width {
            let at_nodes: Vec<f64> = (0..nodes)
                .map(|node| self.value(distance(piece, angle(node).cos())))
                .collect();
            // T_order in powers of t, by the three-term recurrence.
            let (mut before, mut chebyshev) = (vec![0.0; nodes], vec![0.0; nodes]);
            chebyshev[0] = 1.0;
            for order in 0..nodes {
                let sum: f64 = (0..nodes)
                    .map(|node| at_nodes[node] * (order as f64 * angle(node)).cos())
                    .sum();
                let share = if order == 0 { 1.0 } else { 2.0 } * sum / nodes as f64;
                for power in 0..nodes {
                    coefficients[power * width + piece] += share * chebyshev[power];
                }
                let factor = if order == 0 { 1.0 } else { 2.0 };
                let next = (0..nodes)
                    .map(|power| {
                        let raised = if power == 0 {
                            0.0
                        } else {
                            chebyshev[power - 1]
                        };
                        factor * raised - before[power]
                    })
                    .collect();
                before = std::mem::replace(&mut chebyshev, next);
            }
        }
        let mut pieces = Pieces {
            width,
            degree,
            coefficients,
            error: 0.0,
        };
        // Between the nodes the extrema of the error are near those of the Chebyshev polynomial.
        for extremum in 0..=4 * nodes {
            let t = (PI * extremum as f64 / (4 * nodes) as f64).cos();
            for piece in 0..width {
                let difference = pieces.value(piece, t) - self.value(distance(piece, t));
                pieces.error = pieces.error.max(difference.abs());
            }
        }
        pieces
    }
}

impl Pieces {
    /// Polynomial `piece` at the position `t` in −1 … 1.
    #[must_use]
    pub fn value(&self, piece: usize, t: f64) -> f64 {
        (0..=self.degree).rev().fold(0.0, |sum, power| {
            sum * t + self.coefficients[power * self.width + piece]
        })
    }
}

/// The smallest tolerance offered for transforms in `T`.
fn smallest_tolerance<T: Real>() -> f64 {
    if size_of::<T>() == 4 { 1e-6 } else { 1e-13 }
}

fn smooth(mut n: usize) -> bool {
    for prime in [2, 3, 5] {
        while n.is_multiple_of(prime) {
            n /= prime;
        }
    }
    n == 1
}

/// I₀(x) = Σ (x/2)^{2i} / i!²; all terms are positive, so there is no cancellation.
fn bessel_i0(x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut term, mut sum, mut i) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (i * i);
        sum += term;
        i += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests;
