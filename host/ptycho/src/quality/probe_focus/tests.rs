use super::*;

const WAVELENGTH: f64 = 1e-10;
const PIXEL: [f64; 2] = [20e-9, 25e-9];

/// Modes that are exp(−r²/q)/q with q = w₀² + iλz/π (Saleh & Teich, section 3.1), `distance`
/// downstream of waists of 1/e² radius `waist`, displaced from the middle; their amplitudes.
fn gaussian(waist: f64, distance: f64, amplitudes: &[f64]) -> Array3<Complex<f64>> {
    let q = Complex::new(waist * waist, WAVELENGTH * distance / PI);
    Array3::from_shape_fn((amplitudes.len(), 128, 96), |(mode, r, c)| {
        let y = (r as f64 - 58.0) * PIXEL[0];
        let x = (c as f64 - 51.0) * PIXEL[1];
        let beam = (-Complex::from(x * x + y * y) / q).exp() * (waist * waist) / q;
        let odd = if mode == 0 { 1.0 } else { x / waist };
        beam * amplitudes[mode] * odd
    })
}

/// Numbers from −0.5 to 0.5, the same in each test.
fn noise() -> impl FnMut() -> f64 {
    let mut number = 1_u64;
    move || {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
    }
}

/// The focus of a wave with an analytic distance is found within a step, on the right side, with
/// the analytic size; the curve is 2 w₀ √(1 + (z/z_R)²).
#[test]
fn the_waist_of_a_gaussian_beam_is_found() {
    let waist: f64 = 90e-9;
    let rayleigh = PI * waist * waist / WAVELENGTH;
    for share in [0.0, 2.5, -4.0, 6.3] {
        let distance = share * rayleigh;
        let search =
            FocusSearch::new(&gaussian(waist, distance, &[3.0]), PIXEL, WAVELENGTH).unwrap();
        let focus = search.focus.unwrap();
        assert!(
            (focus.distance - distance).abs() <= search.step,
            "{share}: {search:?}"
        );
        // |P|² falls to a half at r = w √(ln 2/2).
        let fwhm = waist * (2.0 * std::f64::consts::LN_2).sqrt();
        assert!((focus.size.fwhm / fwhm - 1.0).abs() < 0.03, "{focus:?}");
        for rms in focus.size.rms {
            assert!((rms / (waist / 2.0) - 1.0).abs() < 0.02, "{focus:?}");
        }
        for [plane, diameter] in &search.curve {
            let radius = waist * (1.0 + ((plane + distance) / rayleigh).powi(2)).sqrt();
            // Wider beams reach over the border of the window.
            if radius < 0.5e-6 {
                assert!(
                    (diameter / (2.0 * radius) - 1.0).abs() < 0.01,
                    "{plane} {diameter}"
                );
            }
        }
        assert!(search.curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
        let text = search.to_string();
        let side = match share {
            0.0 => "specimen in it",
            s if s < 0.0 => "upstream of it",
            _ => "downstream of it",
        };
        assert!(
            text.contains(side) && text.contains("FWHM in the focus"),
            "{text}"
        );
    }
}

/// Modes add incoherently, weak ones do not matter.
#[test]
fn modes_have_a_common_focus() {
    let distance = 1e-3;
    let search = FocusSearch::new(
        &gaussian(100e-9, distance, &[1.0, 0.5, 0.01]),
        PIXEL,
        WAVELENGTH,
    )
    .unwrap();
    let focus = search.focus.unwrap();
    assert!(
        (focus.distance - distance).abs() <= search.step,
        "{search:?}"
    );
}

/// A uniformly lit disc in the far field, by an ideal lens, with noise of 5 % in amplitude all over
/// the window, and the depth of focus of its aperture.
#[test]
fn the_focus_of_an_aperture_is_found_in_noise() {
    let n = 96_usize;
    let pixel = 20e-9;
    let width = 0.5 / pixel;
    for distance in [0.0, 150e-6, -230e-6] {
        let at = |i: usize| (i as f64 - (n / 2) as f64) / (n as f64 * pixel);
        let pupil = Array2::from_shape_fn((n, n), |(r, c)| {
            let f = at(r).hypot(at(c));
            let lit = f64::from(u8::from(f <= width / 2.0));
            Complex::from_polar(lit, -PI * WAVELENGTH * distance * f * f)
        });
        let wave = crate::start::from_centred_spectrum(pupil);
        let brightest = wave.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let mut noise = noise();
        let noisy = wave.mapv(|v| v + Complex::new(noise(), noise()) * 0.05 * brightest);
        let search = FocusSearch::new(&noisy.insert_axis(Axis(0)), [pixel; 2], WAVELENGTH).unwrap();
        let focus = search.focus.unwrap();
        // Noise makes the far field wider, the depth smaller; it is 4λ/(λ width)² without.
        let depth = 4.0 / (WAVELENGTH * width * width);
        assert!(
            (focus.distance - distance).abs() < 0.1 * depth,
            "{distance}: {focus:?}"
        );
        assert!(
            focus.depth < 1.1 * depth && focus.depth > 0.2 * depth,
            "{focus:?} {depth}"
        );
        // An Airy pattern of the numerical aperture λ width/2.
        let fwhm = 1.03 / width;
        assert!(
            (focus.size.fwhm / fwhm - 1.0).abs() < 0.1,
            "{focus:?} {fwhm}"
        );
    }
}

/// The quadratic phase that the far-field model omits is the difference of the curvatures 1/d of
/// the model's and the physical wave: 1/d′ = 1/d + 1/z.
#[test]
fn distances_are_those_of_the_physical_wave() {
    let mut of = crate::report::sample::reconstruction();
    let (waist, model) = (90e-9, 1.5e-3);
    of.probe = gaussian(waist, model, &[1.0]);
    of.pixel = PIXEL;
    of.wavelength = WAVELENGTH;
    // The window's middle is that of the beam.
    of.probe = Array3::from_shape_fn(of.probe.dim(), |(mode, r, c)| {
        of.probe[[mode, (r + 58 + 64) % 128, (c + 51 + 48) % 96]]
    });
    of.distance = 6e-3;
    // Radius of curvature and distance of a Gaussian beam: R = z (1 + (z_R/z)²).
    let rayleigh = PI * waist * waist / WAVELENGTH;
    let beam = Complex::new(model, -rayleigh);
    // 1/q = 1/R + iλ/(πw²); the phase takes 1/z away from 1/R.
    let physical = 1.0 / (1.0 / beam - 1.0 / of.distance);
    let search = FocusSearch::of_result(&of).unwrap();
    let found = search.focus.unwrap().distance;
    assert!(
        (found - physical.re).abs() <= 2.0 * search.step,
        "{found} {physical}"
    );
    of.recipe = "physical_probe = true".to_owned();
    let search = FocusSearch::of_result(&of).unwrap();
    let found = search.focus.unwrap().distance;
    assert!((found - model).abs() <= 2.0 * search.step, "{found}");
}

#[test]
fn probes_without_a_focus_say_why() {
    // Very few far-field pixels: the range is within the depth of focus.
    let wide = Array3::from_shape_fn((1, 32, 32), |(_, r, c)| {
        let wave = |i: usize| (std::f64::consts::TAU * i as f64 / 32.0).cos();
        Complex::from(1.0 + 0.1 * wave(r) * wave(c))
    });
    let search = FocusSearch::new(&wide, [1e-8; 2], WAVELENGTH).unwrap();
    assert_eq!((search.focus, search.none), (None, Some(NoFocus::Flat)));
    assert!(search.to_string().contains("hardly changes"));
    // As much noise as light makes the far field wider, and the range shorter than the distance of
    // the focus.
    let mut far = gaussian(90e-9, 2.4e-3, &[1.0]);
    let power: f64 = far.iter().map(Complex::norm_sqr).sum();
    let mut noise = noise();
    // Its variance is a twelfth in each of the two parts.
    let amplitude = (6.0 * power / far.len() as f64).sqrt();
    far.mapv_inplace(|v| v + Complex::new(noise(), noise()) * amplitude);
    let search = FocusSearch::new(&far, PIXEL, WAVELENGTH).unwrap();
    assert_eq!(
        (search.focus, search.none),
        (None, Some(NoFocus::Border)),
        "{search:?}"
    );
    assert!(search.to_string().contains("at the end of this range"));
    assert_eq!(
        FocusSearch::new(&Array3::zeros((1, 8, 8)), PIXEL, WAVELENGTH),
        None
    );
    assert_eq!(
        FocusSearch::new(&Array3::zeros((1, 0, 0)), PIXEL, WAVELENGTH),
        None
    );
    let nan = Array3::from_elem((1, 8, 8), Complex::new(f64::NAN, 0.0));
    assert_eq!(FocusSearch::new(&nan, PIXEL, WAVELENGTH), None);
}
