//! Extra probe modes of a start probe.

use ndarray::{Array2, Array3, ArrayViewMut2, Axis, s};
use num_complex::Complex;
use std::f64::consts::TAU;

/// Largest fraction of the probe's power that all extra modes together start with.
const MAX_EXTRA_POWER: f64 = 0.5;

/// Extends the given modes to `modes` modes. Each extra mode is the strongest given one times a
/// Hermite–Gauss-like polynomial of its width, orthogonal to all modes before it, with the fraction
/// `fraction` of the total power. Identical modes would never separate.
pub(crate) fn with_modes(
    given: Array3<Complex<f64>>,
    modes: usize,
    fraction: f64,
) -> Array3<Complex<f64>> {
    let (have, rows, columns) = given.dim();
    let mut out = Array3::zeros((modes, rows, columns));
    let copied = have.min(modes);
    out.slice_mut(s![..copied, .., ..])
        .assign(&given.slice(s![..copied, .., ..]));
    if modes <= have {
        return out;
    }
    let given_power: f64 = out.iter().map(Complex::norm_sqr).sum();
    let extra = (modes - have) as f64;
    let fraction = fraction.min(MAX_EXTRA_POWER / extra);
    let each = given_power * fraction / (1.0 - fraction * extra);
    // The first mode of a file may be dark, so take the strongest.
    let power_of = |mode: &usize| -> f64 {
        given
            .index_axis(Axis(0), *mode)
            .iter()
            .map(Complex::norm_sqr)
            .sum()
    };
    let strongest = (0..copied).max_by(|a, b| power_of(a).total_cmp(&power_of(b)));
    let main = given.index_axis(Axis(0), strongest.unwrap_or(0));
    let (centre, width) = centre_and_width(&main.to_owned());
    let orders = (1..).flat_map(|n: i32| (0..=n).map(move |k| (n - k, k)));
    for (mode, (down, right)) in (have..modes).zip(orders) {
        let mut wave = Array2::from_shape_fn((rows, columns), |(r, c)| {
            let y = (r as f64 - centre[0]) / width[0];
            let x = (c as f64 - centre[1]) / width[1];
            // Bounded, so that distant tails do not dominate.
            let bounded = |v: f64| v / (1.0 + 0.1 * v * v);
            main[[r, c]] * bounded(y).powi(down) * bounded(x).powi(right)
        });
        for before in 0..mode {
            remove_component(
                &mut wave.view_mut(),
                &out.index_axis(Axis(0), before).to_owned(),
            );
        }
        let mut power: f64 = wave.iter().map(Complex::norm_sqr).sum();
        if power <= 1e-12 * given_power {
            // A probe of one pixel is too small for polynomials; use distinct phases instead.
            wave = Array2::from_shape_fn((rows, columns), |(r, c)| {
                let turns = 0.618_034 * ((r * columns + c) * mode) as f64;
                main[[r, c]] * Complex::cis(TAU * turns)
            });
            power = wave.iter().map(Complex::norm_sqr).sum();
        }
        let scale = (each / power).sqrt();
        out.index_axis_mut(Axis(0), mode)
            .assign(&wave.mapv(|v| v * scale));
    }
    out
}

fn remove_component(wave: &mut ArrayViewMut2<'_, Complex<f64>>, other: &Array2<Complex<f64>>) {
    let norm: f64 = other.iter().map(Complex::norm_sqr).sum();
    if norm > 0.0 {
        let dot: Complex<f64> = wave.iter().zip(other).map(|(w, o)| o.conj() * w).sum();
        wave.zip_mut_with(other, |w, o| *w -= o * (dot / norm));
    }
}

/// Centre of mass and root-mean-square width (at least 1) of |wave|², (row, column), pixels.
fn centre_and_width(wave: &Array2<Complex<f64>>) -> ([f64; 2], [f64; 2]) {
    let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
    let moment = |f: &dyn Fn(usize, usize) -> f64| -> f64 {
        wave.indexed_iter()
            .map(|((r, c), v)| f(r, c) * v.norm_sqr())
            .sum::<f64>()
            / power
    };
    let centre = [moment(&|r, _| r as f64), moment(&|_, c| c as f64)];
    let width = [
        moment(&|r, _| (r as f64 - centre[0]).powi(2))
            .sqrt()
            .max(1.0),
        moment(&|_, c| (c as f64 - centre[1]).powi(2))
            .sqrt()
            .max(1.0),
    ];
    (centre, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(rows: usize, columns: usize) -> Array3<Complex<f64>> {
        Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            let y = r as f64 - 0.4 * rows as f64;
            let x = c as f64 - 0.5 * columns as f64;
            Complex::cis(0.1 * x) * (-(x * x + 2.0 * y * y) / 30.0).exp()
        })
    }

    #[test]
    fn extra_modes_are_orthogonal_and_have_the_requested_power() {
        for modes in [2, 3, 7] {
            let probe = with_modes(wave(19, 23), modes, 0.05);
            let total: f64 = probe.iter().map(Complex::norm_sqr).sum();
            for i in 0..modes {
                let a = probe.index_axis(Axis(0), i);
                let power: f64 = a.iter().map(Complex::norm_sqr).sum();
                if i > 0 {
                    assert!((power / total - 0.05).abs() < 1e-9);
                }
                for j in 0..i {
                    let b = probe.index_axis(Axis(0), j);
                    let dot: Complex<f64> = a.iter().zip(b).map(|(x, y)| x.conj() * y).sum();
                    assert!(dot.norm() < 1e-9 * total);
                }
            }
        }
    }

    #[test]
    fn a_dark_first_mode_is_not_copied() {
        let mut given = Array3::zeros((2, 9, 11));
        given
            .index_axis_mut(Axis(0), 1)
            .assign(&wave(9, 11).index_axis(Axis(0), 0));
        let probe = with_modes(given, 4, 0.05);
        assert!(probe.iter().all(|v| v.norm_sqr().is_finite()));
        let last: f64 = probe
            .index_axis(Axis(0), 3)
            .iter()
            .map(Complex::norm_sqr)
            .sum();
        assert!(last > 0.0);
    }

    #[test]
    fn a_single_pixel_gets_extra_modes() {
        let probe = with_modes(Array3::from_elem((1, 1, 1), Complex::new(2.0, 0.0)), 3, 0.1);
        assert!(
            probe
                .iter()
                .all(|v| v.norm_sqr() > 0.0 && v.norm_sqr().is_finite())
        );
    }
}
