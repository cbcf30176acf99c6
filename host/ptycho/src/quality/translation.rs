//! Displacement in whole pixels between two images of one specimen, independent of phase ramps.

use super::transform::{Transform, fast_length};
use ndarray::{Array2, Zip};
use num_complex::Complex;
use std::ops::Range;

/// Smallest overlap of the two weights, relative to the largest, at which a displacement counts: a
/// few pixels in a corner always fit.
const MIN_OVERLAP: f64 = 0.5;

/// An image and the weight of each pixel (0 or 1, same shape).
#[derive(Debug, Clone, Copy)]
pub struct WeightedImage<'a> {
    /// Values (row, column).
    pub values: &'a Array2<Complex<f64>>,
    /// Weights (row, column); 0 where the values are meaningless.
    pub weight: &'a Array2<f64>,
}

/// Finds the displacement t within `start` ± `radius` on both axes for which `a` at r best matches
/// `b` at r + t, with r in `window`. `None` if the images have no contrast or no common pixels.
///
/// The match is the normalised correlation, over valid pixels, of the products of neighbours D(r) =
/// O(r+1) O*(r) along both axes, with their means subtracted. A phase ramp and a complex factor
/// only multiply D by a constant, so they need not be known.
pub(super) fn whole_pixels(
    a: WeightedImage<'_>,
    b: WeightedImage<'_>,
    window: &[Range<usize>; 2],
    start: [i64; 2],
    radius: usize,
) -> Option<[i64; 2]> {
    let shape = [0, 1].map(|axis| fast_length(window[axis].len() + 2 * radius));
    let transform = Transform::new(shape);
    let corner_a = [0, 1].map(|axis| window[axis].start as i64);
    let corner_b = [0, 1].map(|axis| corner_a[axis] + start[axis] - radius as i64);
    let extent_a = [0, 1].map(|axis| window[axis].len());
    let extent_b = extent_a.map(|n| n + 2 * radius);

    let mut fit = Array2::<f64>::zeros(shape);
    let mut energy_a = Array2::<f64>::zeros(shape);
    let mut energy_b = Array2::<f64>::zeros(shape);
    let mut overlap = Array2::<f64>::zeros(shape);
    for axis in 0..2 {
        let [d, d2, w] =
            neighbours(a, axis, corner_a, extent_a, shape).map(|v| transform.forward(v));
        let [e, e2, v] =
            neighbours(b, axis, corner_b, extent_b, shape).map(|v| transform.forward(v));
        let correlation = |left: &Array2<Complex<f64>>, right: &Array2<Complex<f64>>| {
            transform.inverse(
                Zip::from(left)
                    .and(right)
                    .par_map_collect(|l, r| l.conj() * r),
            )
        };
        fit.zip_mut_with(&correlation(&d, &e), |sum, c| *sum += c.norm());
        energy_a.zip_mut_with(&correlation(&d2, &v), |sum, c| *sum += c.re);
        energy_b.zip_mut_with(&correlation(&w, &e2), |sum, c| *sum += c.re);
        overlap.zip_mut_with(&correlation(&w, &v), |sum, c| *sum += c.re);
    }

    let steps = || (0..=2 * radius).flat_map(|r| (0..=2 * radius).map(move |c| (r, c)));
    let largest_overlap = steps().map(|at| overlap[at]).fold(0.0, f64::max);
    let mut best = (0.0, None);
    for at in steps() {
        // An overlap below half a pixel is a rounding error of the transforms.
        if overlap[at] < (MIN_OVERLAP * largest_overlap).max(0.5) {
            continue;
        }
        let energy = (energy_a[at].max(0.0) * energy_b[at].max(0.0)).sqrt();
        let similarity = fit[at] / energy;
        if energy > 0.0 && similarity > best.0 {
            best = (similarity, Some(at));
        }
    }
    let (r, c) = best.1?;
    let step = |found: usize, axis: usize| start[axis] + found as i64 - radius as i64;
    Some([step(r, 0), step(c, 1)])
}

/// w D, w |D|² and w on a grid of `shape`, for the `extent` of the image that starts at `corner`
/// (pixels outside the image have weight 0); the weighted mean of D is subtracted.
fn neighbours(
    image: WeightedImage<'_>,
    axis: usize,
    corner: [i64; 2],
    extent: [usize; 2],
    shape: [usize; 2],
) -> [Array2<Complex<f64>>; 3] {
    let pair = |r: usize, c: usize| -> Option<[(usize, usize); 2]> {
        let row = usize::try_from(corner[0] + r as i64).ok()?;
        let column = usize::try_from(corner[1] + c as i64).ok()?;
        let next = (
            row + usize::from(axis == 0),
            column + usize::from(axis == 1),
        );
        let (rows, columns) = image.values.dim();
        let inside = r < extent[0] && c < extent[1] && next.0 < rows && next.1 < columns;
        inside.then_some([(row, column), next])
    };
    let mut products = Array2::zeros(shape);
    let mut weight = Array2::zeros(shape);
    let mut mean = Complex::default();
    let mut whole = 0.0;
    for ((r, c), product) in products.indexed_iter_mut() {
        if let Some([here, next]) = pair(r, c) {
            let w = image.weight[here] * image.weight[next];
            *product = image.values[next] * image.values[here].conj();
            weight[[r, c]] = Complex::from(w);
            mean += *product * w;
            whole += w;
        }
    }
    if whole > 0.0 {
        mean /= whole;
    }
    let energy = Zip::from(&products)
        .and(&weight)
        .par_map_collect(|d, w| w * (d - mean).norm_sqr());
    products.zip_mut_with(&weight, |d, w| *d = (*d - mean) * w);
    [products, energy, weight]
}
