//! Start probes against the formulas of their optics.

use super::super::probe;
use super::*;
use crate::Recipe;
use ndarray::Array3;

const WAVELENGTH: f64 = 1e-10;

/// One frame of `sizes` (rows, columns) pixels, 2 m behind a specimen with pixels of 20 nm.
fn scan(sizes: [usize; 2]) -> Scan {
    let geometry = crate::data::Geometry {
        wavelength: WAVELENGTH,
        distance: 2.0,
        pixel_size: sizes.map(|n| WAVELENGTH * 2.0 / (n as f64 * 20e-9)),
        propagation: crate::data::Propagation::FarField,
    };
    let counts = Array3::from_elem((1, sizes[0], sizes[1]), 10.0);
    Scan::new(counts, None, Array2::zeros((1, 2)), geometry, None).unwrap()
}

fn recipe(options: &[&str]) -> Recipe {
    let mut recipe = Recipe::default();
    for option in options {
        recipe.set(option).unwrap();
    }
    recipe.check().unwrap();
    recipe
}

/// The start probe of one mode, and the notes.
fn made(sizes: [usize; 2], options: &[&str]) -> (Array2<Complex<f64>>, Vec<String>) {
    let mut notes = Vec::new();
    let modes = probe(&scan(sizes), &recipe(options), &mut notes).unwrap();
    (modes.index_axis_move(ndarray::Axis(0), 0), notes)
}

fn refused(sizes: [usize; 2], options: &[&str]) -> String {
    let refused = probe(&scan(sizes), &recipe(options), &mut Vec::new());
    refused.unwrap_err().to_string()
}

/// Variance of |wave|² along (row, column) about the middle, pixels².
fn variance(wave: &Array2<Complex<f64>>) -> [f64; 2] {
    let middle = [wave.nrows() / 2, wave.ncols() / 2].map(|n| n as f64);
    let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
    let of = |axis: usize| {
        let sum: f64 = wave
            .indexed_iter()
            .map(|((r, c), v)| ([r, c][axis] as f64 - middle[axis]).powi(2) * v.norm_sqr())
            .sum();
        sum / power
    };
    [of(0), of(1)]
}

#[test]
fn apertures_are_focused_at_the_centre() {
    for sizes in [[16, 16], [15, 22]] {
        for shape in ["circle", "rectangle"] {
            let set = format!("probe.shape={shape}");
            let options = ["probe.source=aperture", &set, "probe.central_stop=0.4"];
            let (focus, _) = made(sizes, &options);
            let brightest = focus
                .indexed_iter()
                .max_by(|a, b| a.1.norm_sqr().total_cmp(&b.1.norm_sqr()))
                .map(|(pixel, _)| pixel);
            assert_eq!(brightest, Some((sizes[0] / 2, sizes[1] / 2)));
        }
    }
}

/// The far field has the shares of the frame that the recipe says.
#[test]
fn apertures_have_their_areas() {
    let area = |options: &[&str]| {
        let recipe = recipe(&[&["probe.source=aperture"], options].concat());
        let grid = Grid::new(&scan([200, 300]), &recipe.data);
        let model = aperture(&grid, &recipe.probe, &mut Vec::new()).unwrap();
        model.far_field.iter().map(Complex::norm_sqr).sum::<f64>() / 60_000.0
    };
    let disc = PI / 4.0 * 0.36;
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.04, "{found}");
    near(area(&["probe.aperture=0.6"]), disc);
    let ring = area(&["probe.aperture=0.6", "probe.central_stop=0.5"]);
    near(ring, disc * 0.75);
    let square = ["probe.aperture=0.6", "probe.shape=rectangle"];
    near(area(&square), 0.36);
    let oblong = [&square[..], &["probe.aperture_height=0.2"]].concat();
    near(area(&oblong), 0.12);
    near(
        area(&[&oblong[..], &["probe.central_stop=0.5"]].concat()),
        0.09,
    );
}

/// The focus of a zone plate is an Airy pattern, whose first dark ring has the radius 1.22 Δr
/// (Attwood, chapter 9); its disc on the detector has the diameter D z/f.
#[test]
fn a_zone_plate_has_its_resolution_and_its_disc() {
    let options = [
        "probe.source=zone-plate",
        "probe.diameter=100e-6",
        "probe.outermost_zone=200e-9",
    ];
    let (focus, notes) = made([256, 256], &options);
    // 200 nm are 10 pixels.
    let row: Vec<f64> = (0..20).map(|c| focus[[128, 128 + c]].norm_sqr()).collect();
    let dark = (1..19).find(|c| row[*c] < row[*c - 1] && row[*c] < row[*c + 1]);
    assert_eq!(dark, Some(12), "{row:?}");
    assert!(row[12] < 1e-3 * row[0]);
    // f = 100 µm · 200 nm / 0.1 nm = 200 mm, D z/f = 1 mm.
    let text = notes.join("\n");
    assert!(
        text.contains("focal length 200 mm, a disc of 1.00 mm on the detector"),
        "{text}"
    );
    let grid = Grid::new(&scan([256, 256]), &ReadOptions::default());
    let recipe = recipe(&[&options[..], &["probe.stop_diameter=40e-6"]].concat());
    let ring = zone_plate(&grid, &recipe.probe).unwrap().far_field;
    let lit: f64 = ring.iter().map(Complex::norm_sqr).sum();
    let detector_pixel = grid.detector_pixel[0];
    let expected = PI / 4.0 * (1e-3 / detector_pixel).powi(2) * (1.0 - 0.16);
    assert!((lit / expected - 1.0).abs() < 0.05, "{lit} {expected}");
}

/// Far from the focus the probe is the shadow of the zone plate: a ring of the diameter |d| λ/Δr,
/// in either direction.
#[test]
fn a_defocused_zone_plate_gives_a_ring_of_its_opening_angle() {
    for sign in ["", "-"] {
        let defocus = format!("probe.defocus={sign}2e-3");
        let options = [
            "probe.source=zone-plate",
            "probe.diameter=100e-6",
            "probe.outermost_zone=100e-9",
            "probe.stop_diameter=50e-6",
            &defocus,
        ];
        let (wave, _) = made([256, 256], &options);
        let radius = 0.5 * 2e-3 * WAVELENGTH / 100e-9 / 20e-9;
        let power: f64 = wave.iter().map(Complex::norm_sqr).sum();
        let share = |inner: f64, outer: f64| {
            let within = wave.indexed_iter().filter(|((r, c), _)| {
                let from_middle = (*r as f64 - 128.0).hypot(*c as f64 - 128.0);
                (inner * radius..outer * radius).contains(&from_middle)
            });
            within.map(|(_, v)| v.norm_sqr()).sum::<f64>() / power
        };
        // The rest is in the rings of Fresnel diffraction.
        assert!(
            share(0.4, 1.1) > 0.85,
            "{} {}",
            share(0.4, 1.1),
            share(0.0, 0.4)
        );
        assert!(share(0.0, 0.4) < 0.1, "{}", share(0.0, 0.4));
    }
}

/// The propagated waist is exp(−r²/q)/q with q = w₀² + iλz/π, up to a factor: its radius is w₀ √(1 +
/// (z/z_R)²), and downstream of the waist its phase grows outwards, as that of a diverging wave.
#[test]
fn a_gaussian_beam_has_its_radius_and_its_curvature() {
    let waist: f64 = 100e-9;
    let rayleigh = PI * waist * waist / WAVELENGTH;
    for share in [0.0, 1.0, -2.0, 3.5] {
        let z = share * rayleigh;
        let defocus = format!("probe.defocus={z:e}");
        let options = [
            "probe.source=gaussian",
            "probe.waist_radius=100e-9",
            &defocus,
        ];
        let (wave, notes) = made([128, 160], &options);
        // The variance of exp(−2r²/w²) along an axis is w²/4.
        let radius = waist / 20e-9 * (1.0 + share * share).sqrt();
        for found in variance(&wave) {
            assert!(
                (found / (radius * radius / 4.0) - 1.0).abs() < 1e-3,
                "{found}"
            );
        }
        let q = Complex::new(waist * waist, WAVELENGTH * z / PI);
        let centre = wave[[64, 80]];
        for ((r, c), found) in wave.indexed_iter() {
            let (y, x) = ((r as f64 - 64.0) * 20e-9, (c as f64 - 80.0) * 20e-9);
            let expected = (-Complex::from(x * x + y * y) / q).exp() * centre;
            assert!(
                (found - expected).norm() < 2e-3 * centre.norm(),
                "{share} {r} {c}"
            );
        }
        assert!(
            notes[0].contains("a waist of 100 nm (1/e^2 radius)"),
            "{notes:?}"
        );
    }
}

#[test]
fn models_that_do_not_fit_the_grid_are_refused() {
    let zone_plate = ["probe.source=zone-plate", "probe.diameter=100e-6"];
    let of_zone = |zone: &str, options: &[&str]| {
        let zone = format!("probe.outermost_zone={zone}");
        refused([64, 64], &[&zone_plate[..], &[&zone], options].concat())
    };
    // The window is 64 pixels of 20 nm.
    let text = of_zone("10e-9", &[]);
    let expected = "probe.outermost_zone: expected at least the object pixel of 20.0 nm, so that the lit disc is within the frames, found 10.0 nm, whose disc has a diameter of 20.0 mm on frames of 10.0 mm x 10.0 mm";
    assert_eq!(text, expected);
    let text = of_zone("700e-9", &[]);
    assert!(
        text.contains("at most half the window of 1.28 µm"),
        "{text}"
    );
    let text = of_zone("100e-9", &["probe.defocus=-2e-3"]);
    let expected = "probe.defocus: expected at most 1.28e-3 (metres) up or down, where the probe is as wide as the window of 1.28 µm, found -0.002, where it is 2.00 µm wide";
    assert_eq!(text, expected);
    let text = of_zone("200e-9", &["probe.stop_diameter=99.9e-6"]);
    assert!(
        text.starts_with("probe.stop_diameter: expected a diameter"),
        "{text}"
    );
    let of_waist = |waist: &str, options: &[&str]| {
        let waist = format!("probe.waist_radius={waist}");
        let source = ["probe.source=gaussian"];
        refused([64, 64], &[&source[..], &[&waist], options].concat())
    };
    let text = of_waist("10e-9", &[]);
    assert!(
        text.contains("at least the object pixel of 20.0 nm, and at most half the window of 1.28 µm, found 10.0 nm"),
        "{text}"
    );
    // The range does not depend on the waist that was given.
    for (waist, found) in [("0.7e-6", "700 nm"), ("1e-3", "1.00 mm")] {
        let text = of_waist(waist, &[]);
        let expected = format!(
            "at least the object pixel of 20.0 nm, and at most half the window of 1.28 µm, found {found}"
        );
        assert!(text.contains(&expected), "{text}");
    }
    let text = of_waist("100e-9", &["probe.defocus=0.01"]);
    assert!(
        text.starts_with("probe.defocus: expected at most 1.98e-3 (metres)"),
        "{text}"
    );
    let stop = [
        "probe.source=aperture",
        "probe.aperture=0.05",
        "probe.central_stop=0.99",
    ];
    let text = refused([64, 64], &stop);
    assert!(
        text.starts_with("probe.central_stop: expected a share"),
        "{text}"
    );
}

#[test]
fn limits_are_rounded_down() {
    assert_eq!(rounded_down(0.0), "0");
    assert_eq!(rounded_down(1.2899e-3), "1.28e-3");
    assert_eq!(in_pixels(20e-9, 1.0), "the object pixel of 20.0 nm");
    assert_eq!(in_pixels(24e-9, 1.2), "24.0 nm, 1.20 object pixels");
    let behind = [
        "probe.source=gaussian",
        "probe.waist_radius=100e-9",
        "probe.defocus=-2.5m",
    ];
    let text = refused([64, 64], &behind);
    let expected =
        "probe.defocus: expected more than -2 (metres), so that the focus is before the detector";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn options_of_other_models_are_noted() {
    let options = [
        "probe.source=gaussian",
        "probe.waist_radius=100e-9",
        "probe.aperture=0.4",
        "probe.shape=rectangle",
        "probe.aperture_height=0.3",
        "probe.central_stop=0.2",
        "probe.diameter=1e-4",
        "probe.outermost_zone=1e-7",
        "probe.stop_diameter=1e-5",
    ];
    let (_, notes) = made([64, 64], &options);
    let noted = |option: &str| {
        let start = format!("probe.{option} has no effect");
        notes.iter().any(|note| note.starts_with(&start))
    };
    for option in &options[2..] {
        let name = option
            .trim_start_matches("probe.")
            .split('=')
            .next()
            .unwrap();
        assert!(noted(name), "{name}: {notes:?}");
    }
    assert!(!noted("waist_radius") && !noted("defocus"));
    let wide = ["probe.source=aperture", "probe.defocus=0.01"];
    let (_, notes) = made([64, 64], &wide);
    assert!(
        notes[0].contains("more than the window of 1.28 µm x 1.28 µm"),
        "{notes:?}"
    );
}
