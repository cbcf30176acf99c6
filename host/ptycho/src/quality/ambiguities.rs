//! Alignment of two objects: removes the ambiguities that diffraction leaves before a comparison.
//!
//! The patterns do not change if an object is displaced together with its probe, multiplied by a
//! complex number, or multiplied by a phase ramp (with the opposite ramp on the probe and the
//! detector recentred).

use super::QualityError;
use super::lit_region::bounding_box;
use super::refinement::refine;
use super::translation::{WeightedImage, whole_pixels};
use ndarray::{Array2, Zip};
use num_complex::Complex;

/// Two objects on one grid without ambiguities, over the bounding box of the common lit region.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
    /// scale · exp(−i ramp·(r − middle)) · A(r), (row, column), starting at `corner`; `middle` is
    /// the middle of this array.
    pub a: Array2<Complex<f64>>,
    /// B(r + shift), with the same shape.
    pub b: Array2<Complex<f64>>,
    /// 1 where both objects were lit, otherwise 0; same shape.
    pub weight: Array2<f64>,
    /// Pixel of A at which these arrays start.
    pub corner: [usize; 2],
    /// Displacement (row, column), pixels: pixel r of A corresponds to pixel r + shift of B.
    pub shift: [f64; 2],
    /// Phase ramp of A relative to B, (row, column), rad per pixel.
    pub ramp: [f64; 2],
    /// Factor by which A was multiplied to match B.
    pub scale: Complex<f64>,
}

impl Aligned {
    /// Relative distance ‖w (A − B)‖ / ‖w B‖ over the common lit region.
    #[must_use]
    pub fn relative_l2(&self) -> f64 {
        let (mut difference, mut reference) = (0.0, 0.0);
        Zip::from(&self.a)
            .and(&self.b)
            .and(&self.weight)
            .for_each(|a, b, w| {
                difference += w * (a - b).norm_sqr();
                reference += w * b.norm_sqr();
            });
        (difference / reference).sqrt()
    }
}

/// Initial search radius for the displacement, pixels; the position of a probe in its frame is
/// seldom known better. It is doubled while the best fit lies at its boundary.
pub const SEARCH_RADIUS: usize = 16;

/// Aligns `a` with `b`. `start` (row, column), pixels, is the displacement implied by the origins
/// of the two grids. Displacements within [`SEARCH_RADIUS`] of it are searched, and larger ones
/// only while the best fit lies at the boundary of the search. The shapes may differ.
///
/// # Errors
/// Returns [`QualityError`] if values are not finite, nothing is lit, or there is no common region.
pub fn align(
    a: WeightedImage<'_>,
    b: WeightedImage<'_>,
    start: [f64; 2],
) -> Result<Aligned, QualityError> {
    for image in [a, b] {
        if let Some((at, _)) = image.values.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(QualityError::NotFinite {
                row: at.0,
                column: at.1,
            });
        }
    }
    let lit = bounding_box(a.weight).ok_or(QualityError::Unlit)?;
    bounding_box(b.weight).ok_or(QualityError::Unlit)?;
    let reasonable = start.iter().all(|s| s.abs() < 1e9);
    if !reasonable {
        return Err(QualityError::NoCommonRegion { start });
    }
    let begin = start.map(|s| s.round() as i64);
    let max_radius = lit[0].len().max(lit[1].len()) / 2;
    let mut radius = SEARCH_RADIUS;
    let whole = loop {
        let found = whole_pixels(a, b, &lit, begin, radius)
            .ok_or(QualityError::NoCommonRegion { start })?;
        let at_boundary =
            (0..2).any(|axis| (found[axis] - begin[axis]).unsigned_abs() as usize == radius);
        if !at_boundary || radius >= max_radius {
            break found;
        }
        radius *= 2;
    };

    let (rows, columns) = b.values.dim();
    let weight = Array2::from_shape_fn((lit[0].len(), lit[1].len()), |(r, c)| {
        let (r, c) = (r + lit[0].start, c + lit[1].start);
        let row = usize::try_from(r as i64 + whole[0]).unwrap_or(rows);
        let column = usize::try_from(c as i64 + whole[1]).unwrap_or(columns);
        let other = b.weight.get((row, column)).copied().unwrap_or(0.0);
        a.weight[[r, c]] * other
    });
    if weight.sum() == 0.0 {
        return Err(QualityError::NoCommonRegion { start });
    }
    let (fit, [flat, moved]) = refine(a.values, b, &weight, &lit, whole);
    Ok(Aligned {
        a: flat,
        b: moved,
        weight,
        corner: [lit[0].start, lit[1].start],
        shift: fit.shift,
        ramp: fit.ramp,
        scale: fit.scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, StandardNormal};

    /// A continuous specimen of complex Gaussians 2 pixels wide, so that sampling loses nothing and
    /// any displacement is exact.
    struct Specimen(Vec<([f64; 2], Complex<f64>)>);

    impl Specimen {
        fn new(seed: u64, extent: [f64; 2]) -> Self {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let blob = |_| {
                let centre = extent.map(|e| e * random.random::<f64>());
                (centre, Complex::cis(6.3 * random.random::<f64>()) * 0.6)
            };
            Self((0..150).map(blob).collect())
        }

        fn sampled(&self, shape: (usize, usize), first: [f64; 2]) -> Array2<Complex<f64>> {
            Array2::from_shape_fn(shape, |(r, c)| {
                let at = [first[0] + r as f64, first[1] + c as f64];
                let blob = |(centre, height): &([f64; 2], Complex<f64>)| {
                    let d2 = (centre[0] - at[0]).powi(2) + (centre[1] - at[1]).powi(2);
                    height * (-d2 / 8.0).exp()
                };
                self.0.iter().map(blob).sum::<Complex<f64>>() + 1.0
            })
        }
    }

    const SHAPE: (usize, usize) = (80, 100);

    fn lit(shape: (usize, usize)) -> Array2<f64> {
        Array2::from_shape_fn(shape, |(r, c)| {
            let (y, x) = (r as f64 - 40.0, c as f64 - 52.0);
            f64::from((y / 28.0).powi(2) + (x / 38.0).powi(2) < 1.0)
        })
    }

    /// The specimen at `first` times a factor and a ramp, with arbitrary values where it was not
    /// lit.
    fn reconstructed(specimen: &Specimen, first: [f64; 2], ramp: [f64; 2]) -> Array2<Complex<f64>> {
        let weight = lit(SHAPE);
        let mut a = specimen.sampled(SHAPE, first);
        for ((r, c), v) in a.indexed_iter_mut() {
            let phase = 0.7 + ramp[0] * r as f64 + ramp[1] * c as f64;
            *v *= Complex::from_polar(2.5, phase);
            if weight[[r, c]] == 0.0 {
                *v = Complex::new((r * c % 7) as f64, (r + c) as f64 % 5.0);
            }
        }
        a
    }

    fn aligned(a: &Array2<Complex<f64>>, b: &Array2<Complex<f64>>, start: [f64; 2]) -> Aligned {
        let (weight_a, weight_b) = (lit(a.dim()), Array2::ones(b.dim()));
        let weigh = |values, weight| WeightedImage { values, weight };
        align(weigh(a, &weight_a), weigh(b, &weight_b), start).unwrap()
    }

    #[test]
    fn shift_ramp_and_scale_are_recovered_for_different_shapes() {
        let specimen = Specimen::new(1, [130.0, 150.0]);
        let b = specimen.sampled((130, 151), [0.0, 0.0]);
        for (shift, ramp) in [
            ([20.0, 31.0], [0.0, 0.0]),
            ([23.37, 28.12], [0.05, -0.02]),
            ([17.5, 34.5], [-0.61, 0.93]),
            ([25.91, 26.06], [0.004, 2.9]),
        ] {
            let a = reconstructed(&specimen, shift, ramp);
            let found = aligned(&a, &b, [20.0, 30.0]);
            for axis in 0..2 {
                assert!(
                    (found.shift[axis] - shift[axis]).abs() < 0.01,
                    "{:?}",
                    found.shift
                );
                assert!(
                    (found.ramp[axis] - ramp[axis]).abs() < 1e-4,
                    "{:?}",
                    found.ramp
                );
            }
            assert!((found.scale.norm() - 0.4).abs() < 1e-3);
            assert!(found.relative_l2() < 2e-3, "{}", found.relative_l2());
        }
    }

    #[test]
    fn a_displacement_beyond_the_first_search_is_found() {
        let specimen = Specimen::new(2, [130.0, 150.0]);
        let b = specimen.sampled((130, 151), [0.0, 0.0]);
        let a = reconstructed(&specimen, [44.25, 8.5], [0.1, 0.1]);
        let found = aligned(&a, &b, [20.0, 30.0]);
        assert!((found.shift[0] - 44.25).abs() < 0.01 && (found.shift[1] - 8.5).abs() < 0.01);
    }

    #[test]
    fn the_distance_of_a_noisy_image_is_the_noise_level() {
        let specimen = Specimen::new(3, [130.0, 150.0]);
        let b = specimen.sampled((110, 131), [0.0, 0.0]);
        let mut a = reconstructed(&specimen, [12.4, 15.8], [0.03, 0.2]);
        let level = 0.1;
        let mut random = rand_pcg::Pcg64::seed_from_u64(4);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let weight = lit(SHAPE);
        let power = a.iter().zip(&weight).map(|(v, w)| w * v.norm_sqr());
        let mean = power.sum::<f64>() / weight.sum();
        let sigma = level * (mean / 2.0).sqrt();
        a.mapv_inplace(|v| v + Complex::new(normal(), normal()) * sigma);
        let found = aligned(&a, &b, [12.0, 16.0]);
        // The best factor for a noisy image is 1/(1+level²), which lowers the distance accordingly.
        let expected = level / (1.0 + level * level).sqrt();
        assert!((found.relative_l2() / expected - 1.0).abs() < 0.05);
        // Cramér-Rao bound of a displacement: noise divided by the root of Σ w |∂B|².
        for (axis, shift) in [12.4, 15.8].into_iter().enumerate() {
            let e = [0, 1].map(|a| if a == axis { 0.5 } else { 0.0 });
            let [before, after] =
                [-1.0, 1.0].map(|s| specimen.sampled(SHAPE, [12.4 + s * e[0], 15.8 + s * e[1]]));
            let slopes = weight.iter().zip(after.iter().zip(&before));
            let steep: f64 = slopes.map(|(w, (p, m))| w * (p - m).norm_sqr()).sum();
            let bound = 4.0 * sigma / 2.5 / steep.sqrt();
            let error = (found.shift[axis] - shift).abs();
            assert!(error < bound && bound < 0.15, "{error} {bound}");
        }
    }

    #[test]
    fn a_smaller_reference_is_compared_where_it_overlaps() {
        let specimen = Specimen::new(5, [130.0, 150.0]);
        let a = reconstructed(&specimen, [10.3, 20.6], [0.2, -0.1]);
        let b = specimen.sampled((60, 80), [0.0, 0.0]);
        let found = aligned(&a, &b, [11.0, 20.0]);
        assert!((found.shift[0] - 10.3).abs() < 0.02 && (found.shift[1] - 20.6).abs() < 0.02);
        let compared = found.weight.sum();
        assert!(
            compared > 1000.0 && compared < 0.8 * lit(SHAPE).sum(),
            "{compared}"
        );
        assert!(found.relative_l2() < 0.02, "{}", found.relative_l2());
    }

    #[test]
    fn objects_without_a_common_region_are_refused() {
        let specimen = Specimen::new(6, [130.0, 150.0]);
        let a = reconstructed(&specimen, [0.0, 0.0], [0.0, 0.0]);
        let weight = lit(SHAPE);
        let weigh = |values, weight| WeightedImage { values, weight };
        let nothing = align(weigh(&a, &weight), weigh(&a, &weight), [5e3, 0.0]);
        assert!(matches!(nothing, Err(QualityError::NoCommonRegion { .. })));
        let dark = Array2::zeros(SHAPE);
        let unlit = align(weigh(&a, &dark), weigh(&a, &weight), [0.0, 0.0]);
        assert_eq!(unlit, Err(QualityError::Unlit));
        let flat = Array2::from_elem(SHAPE, Complex::from(1.0));
        let same = align(weigh(&flat, &weight), weigh(&flat, &weight), [0.0, 0.0]);
        assert!(matches!(same, Err(QualityError::NoCommonRegion { .. })));
        let mut broken = a.clone();
        broken[[3, 4]].im = f64::NAN;
        let refused = align(weigh(&broken, &weight), weigh(&a, &weight), [0.0, 0.0]);
        assert_eq!(refused, Err(QualityError::NotFinite { row: 3, column: 4 }));
    }
}
