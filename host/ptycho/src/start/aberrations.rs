//! The start probe of an electron microscope: an aperture of a semi-angle α behind a lens with
//! aberrations.
//!
//! The wave at the specimen is the inverse Fourier transform of A(k) exp(−iχ(k)), where A is 1 for |k|
//! ≤ α/λ and 0 beyond, and with θ = λ|k| and the direction φ of k
//!
//! χ = (2π/λ) [ ½ θ² (C₁ + A₁ cos 2(φ − φ_A)) + ⅓ θ³ B cos(φ − φ_B) + ¼ C₃ θ⁴ ]
//!
//! (E. J. Kirkland, Advanced Computing in Electron Microscopy, 2nd ed., Springer 2010, chapter 2,
//! whose defocus Δf is −C₁; O. L. Krivanek, N. Dellby & A. R. Lupini, Ultramicroscopy 78 (1999) 1,
//! with C₁,₀ = C₁, C₁,₂ = A₁, C₂,₁ = B and C₃,₀ = C₃). A ray at the angle θ meets the specimen at
//! λ/(2π) ∇χ, without astigmatism and coma at θ C₁ + C₃ θ³ from the axis. The term of C₁ is that of
//! free space, so C₁ is the distance from the focus of the rays near the axis downstream to the
//! specimen, `probe.defocus`.

use super::StartError;
use super::models::{Grid, Model, ROUNDING};
use crate::session::recipe::ProbeStart;
use num_complex::Complex;
use std::f64::consts::TAU;
use warpstride_core::text::{length, significant};

/// The terms of χ besides that of the defocus.
#[derive(Debug, Clone, Copy)]
struct Aberrations {
    /// m.
    wavelength: f64,
    /// Size, m, and direction, rad, of the two-fold astigmatism.
    astigmatism: [f64; 2],
    /// Size, m, and direction, rad, of the coma.
    coma: [f64; 2],
    /// m.
    c3: f64,
}

impl Aberrations {
    /// χ at a spatial frequency (row, column), 1/m, without the term of C₁, rad.
    fn phase(&self, y: f64, x: f64) -> f64 {
        let theta = self.wavelength * y.hypot(x);
        // Rows are drawn downwards.
        let direction = (-y).atan2(x);
        let [astigmatism, of_astigmatism] = self.astigmatism;
        let [coma, of_coma] = self.coma;
        let second = 0.5 * astigmatism * (2.0 * (direction - of_astigmatism)).cos();
        let third = coma / 3.0 * (direction - of_coma).cos();
        let path = theta * theta * (second + theta * (third + theta * 0.25 * self.c3));
        TAU / self.wavelength * path
    }

    /// A bound of the distance from the axis, m, at which rays of the angle `alpha` meet the
    /// specimen.
    fn farthest(&self, alpha: f64, defocus: f64) -> f64 {
        let second = self.astigmatism[0].abs();
        let round = (defocus + self.c3 * alpha * alpha).abs();
        // Where the slope of θ d + C₃ θ³ is 0, rays may be farther out than those of the rim.
        let turning = match self.c3 {
            0.0 => 0.0,
            c3 => (-defocus / (3.0 * c3)).max(0.0).sqrt(),
        };
        let within = if turning < alpha {
            (2.0 / 3.0 * turning * defocus).abs()
        } else {
            0.0
        };
        (alpha * round).max(within) + alpha * (second + self.coma[0].abs() * alpha)
    }
}

/// The far field of the probe, apart from the defocus.
///
/// # Errors
/// The lit disc is not within the frames.
pub(super) fn aberrated(
    grid: &Grid,
    options: &ProbeStart,
    notes: &mut Vec<String>,
) -> Result<Model, StartError> {
    // A checked recipe has it.
    let alpha = options.semi_angle.unwrap_or(0.0);
    let of = Aberrations {
        wavelength: grid.wavelength,
        astigmatism: [options.astigmatism, options.astigmatism_angle],
        coma: [options.coma, options.coma_angle],
        c3: options.c3,
    };
    let in_milliradians = |angle: f64| format!("{} mrad", significant(1e3 * angle, 4));
    let rim = alpha / grid.wavelength;
    // Frames reach to half of 1/pixel.
    let least = 2.0 * rim * grid.least();
    if least > 1.0 + ROUNDING {
        return Err(StartError::Grid {
            option: "probe.semi_angle",
            expected: format!(
                "at most {}, so that the lit disc is within the frames",
                in_milliradians(alpha / least)
            ),
            found: in_milliradians(alpha),
        });
    }
    let far_field = grid.complex_far_field(|y, x| {
        if y.hypot(x) <= rim * (1.0 + ROUNDING) {
            Complex::cis(-of.phase(y, x))
        } else {
            Complex::ZERO
        }
    });
    let width = 2.0 * of.farthest(alpha, options.defocus);
    if width > grid.window() {
        notes.push(format!(
            "defocus and aberrations make the start probe up to {} wide, more than the window of {}",
            length(width, 3),
            length(grid.window(), 3)
        ));
    }
    let mut terms = vec![format!("a defocus of {}", length(options.defocus, 4))];
    let in_degrees = |angle: f64| significant(angle.to_degrees(), 4);
    if options.astigmatism != 0.0 {
        terms.push(format!(
            "an astigmatism of {} at {}°",
            length(options.astigmatism, 4),
            in_degrees(options.astigmatism_angle)
        ));
    }
    if options.coma != 0.0 {
        terms.push(format!(
            "a coma of {} at {}°",
            length(options.coma, 4),
            in_degrees(options.coma_angle)
        ));
    }
    if options.c3 != 0.0 {
        terms.push(format!("C3 = {}", length(options.c3, 4)));
    }
    Ok(Model {
        far_field,
        distance: options.defocus,
        note: format!(
            "a lens with a semi-angle of {}, {}",
            in_milliradians(alpha),
            terms.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::probe;
    use crate::data::{Geometry, Propagation, Scan};
    use crate::{ApertureShape, ProbeSource, Recipe};
    use ndarray::{Array2, Array3};
    use num_complex::Complex;

    const WAVELENGTH: f64 = 1.968_749e-12;
    const SIZE: usize = 128;
    /// A detector pixel, rad.
    const ANGLE: f64 = 0.5e-3;

    /// A scan of one count in each pixel of two frames.
    fn scan() -> Scan {
        let geometry = Geometry {
            wavelength: WAVELENGTH,
            distance: 1.0,
            pixel_size: [ANGLE; 2],
            propagation: Propagation::FarField,
        };
        let frames = Array3::from_elem((2, SIZE, SIZE), 1.0);
        let positions = Array2::from_shape_fn((2, 2), |(frame, _)| 1e-9 * frame as f64);
        Scan::new(frames, None, positions, geometry, None).unwrap()
    }

    fn recipe(semi_angle: f64, defocus: f64) -> Recipe {
        let mut recipe = Recipe::default();
        recipe.probe.source = ProbeSource::Aberrations;
        recipe.probe.semi_angle = Some(semi_angle);
        recipe.probe.defocus = defocus;
        recipe
    }

    fn wave(recipe: &Recipe) -> Array2<Complex<f64>> {
        recipe.check().unwrap();
        let made = probe(&scan(), recipe, &mut Vec::new()).unwrap();
        made.index_axis(ndarray::Axis(0), 0).to_owned()
    }

    fn pixel() -> f64 {
        WAVELENGTH / (SIZE as f64 * ANGLE)
    }

    /// Share of the light within a radius, m.
    fn within(wave: &Array2<Complex<f64>>, radius: f64) -> f64 {
        let middle = (SIZE / 2) as f64;
        let (mut inside, mut all) = (0.0, 0.0);
        for ((r, c), v) in wave.indexed_iter() {
            let distance = pixel() * (r as f64 - middle).hypot(c as f64 - middle);
            all += v.norm_sqr();
            inside += if distance <= radius {
                v.norm_sqr()
            } else {
                0.0
            };
        }
        inside / all
    }

    /// The first dark ring of an Airy disc has the radius 0.61 λ/α and surrounds 83.8 % of the
    /// light (Born & Wolf, section 8.5.2).
    #[test]
    fn without_aberrations_it_is_an_airy_disc() {
        let alpha = 16.0 * ANGLE;
        let made = wave(&recipe(alpha, 0.0));
        let power: f64 = made.iter().map(Complex::norm_sqr).sum();
        assert!((power - (SIZE * SIZE) as f64).abs() < 1e-6 * power);
        let middle = SIZE / 2;
        let along = |c: usize| made[[middle, middle + c]].re / made[[middle, middle]].re;
        let crossing = (0..20)
            .find(|c| along(*c) > 0.0 && along(c + 1) <= 0.0)
            .unwrap();
        let zero = crossing as f64 + along(crossing) / (along(crossing) - along(crossing + 1));
        let expected = 0.61 * WAVELENGTH / alpha / pixel();
        assert!((zero / expected - 1.0).abs() < 0.02, "{zero} {expected}");
        let light = within(&made, 0.61 * WAVELENGTH / alpha);
        assert!((light - 0.838).abs() < 0.03, "{light}");
    }

    /// A defocused beam is a disc of the radius α|d|.
    #[test]
    fn a_defocused_disc_has_the_radius_of_its_rays() {
        let alpha = 28.0 * ANGLE;
        for defocus in [100e-9, -100e-9] {
            let made = wave(&recipe(alpha, defocus));
            let radius = alpha * 100e-9;
            // Light in a disc goes with the square of the radius.
            for (part, expected, tolerance) in [(0.5, 0.25, 0.04), (0.5_f64.sqrt(), 0.5, 0.06)] {
                let light = within(&made, part * radius);
                assert!((light - expected).abs() < tolerance, "{part}: {light}");
            }
            let all = within(&made, 1.15 * radius);
            assert!(all > 0.96, "{all}");
        }
    }

    /// The same aperture and defocus as those of `aperture`.
    #[test]
    fn without_aberrations_it_is_the_aperture() {
        let made = wave(&recipe(16.0 * ANGLE, 50e-9));
        let mut other = Recipe::default();
        other.probe.source = ProbeSource::Aperture;
        other.probe.shape = ApertureShape::Circle;
        other.probe.aperture = 32.0 / SIZE as f64;
        other.probe.defocus = 50e-9;
        let other = wave(&other);
        for (a, b) in made.iter().zip(&other) {
            assert!((a - b).norm() < 1e-9, "{a} {b}");
        }
    }

    /// Positive C₃ bends the rim too much: behind the focus it widens the beam, before it the rays
    /// of the rim are nearer to the axis.
    #[test]
    fn spherical_aberration_has_the_sign_of_the_defocus_that_it_adds() {
        let alpha = 20.0 * ANGLE;
        let defocus = 40e-9;
        let c3 = 0.5 * defocus / (alpha * alpha);
        let [behind, before] = [defocus, -defocus].map(|d| {
            let mut recipe = recipe(alpha, d);
            recipe.probe.c3 = c3;
            within(&wave(&recipe), alpha * defocus)
        });
        assert!(behind < 0.8 && before > 0.9, "{behind} {before}");
    }

    /// Astigmatism adds to the defocus along its direction: with the size of the defocus, the beam
    /// across it is in focus.
    #[test]
    fn astigmatism_and_coma_have_their_directions() {
        let alpha = 16.0 * ANGLE;
        let spread = |recipe: &Recipe| {
            let made = wave(recipe);
            let middle = (SIZE / 2) as f64;
            let mut sums = [0.0; 3];
            for ((r, c), v) in made.indexed_iter() {
                let (up, right) = (middle - r as f64, c as f64 - middle);
                let v = v.norm_sqr();
                sums[0] += v * right.abs();
                sums[1] += v * up.abs();
                sums[2] += v * up;
            }
            sums
        };
        let mut astigmatic = recipe(alpha, 60e-9);
        astigmatic.probe.astigmatism = 60e-9;
        let [right, up, _] = spread(&astigmatic);
        assert!(right > 3.0 * up, "{right} {up}");
        astigmatic.probe.astigmatism_angle = std::f64::consts::FRAC_PI_2;
        let [right, up, _] = spread(&astigmatic);
        assert!(up > 3.0 * right, "{right} {up}");
        let mut comatic = recipe(alpha, 0.0);
        comatic.probe.coma = 40e-9 / alpha;
        comatic.probe.coma_angle = std::f64::consts::FRAC_PI_2;
        let [_, up, upwards] = spread(&comatic);
        assert!(upwards > 0.5 * up, "{upwards} {up}");
    }

    #[test]
    fn a_disc_beyond_the_frames_is_refused() {
        let error = probe(&scan(), &recipe(40e-3, 0.0), &mut Vec::new()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("at most 32.00 mrad") && text.contains("40.00 mrad"),
            "{text}"
        );
        let mut without = recipe(1e-3, 0.0);
        without.probe.semi_angle = None;
        let text = without.check().unwrap_err().to_string();
        assert!(
            text.contains("semi_angle") && text.contains("17mrad"),
            "{text}"
        );
    }
}
