//! Start probes where the distance to the focus is not small compared with that to the detector,
//! and of cropped frames.

use super::super::probe;
use super::*;
use crate::data::Geometry;
use crate::model::probe_grid::with_window;
use crate::report::sample;
use crate::{Focus, FocusSearch, Recipe};
use ndarray::Array3;

/// A laser.
const WAVELENGTH: f64 = 500e-9;
/// Specimen to detector, m.
const DISTANCE: f64 = 50e-3;
/// Side of the window, m.
const WINDOW: f64 = 1.024e-3;

/// One frame of `side`² pixels.
fn scan(side: usize) -> Scan {
    let geometry = Geometry {
        wavelength: WAVELENGTH,
        distance: DISTANCE,
        pixel_size: [WAVELENGTH * DISTANCE / WINDOW; 2],
        propagation: crate::data::Propagation::FarField,
    };
    let counts = Array3::from_elem((1, side, side), 10.0);
    Scan::new(counts, None, Array2::zeros((1, 2)), geometry, None).unwrap()
}

/// The start probe and the notes.
fn made(side: usize, options: &[&str]) -> (Array3<Complex<f64>>, Vec<String>) {
    let mut recipe = Recipe::default();
    for option in options {
        recipe.set(option).unwrap();
    }
    recipe.check().unwrap();
    let mut notes = Vec::new();
    let made = probe(&scan(side), &recipe, &mut notes).unwrap();
    (made, notes)
}

/// The focus of a result with this probe.
fn focus(probe: &Array3<Complex<f64>>) -> (Focus, f64) {
    let mut of = sample::reconstruction();
    let side = probe.dim().1 as f64;
    of.probe.clone_from(probe);
    of.pixel = [WINDOW / side; 2];
    (of.wavelength, of.distance) = (WAVELENGTH, DISTANCE);
    let search = FocusSearch::of_result(&of).unwrap();
    (search.focus.unwrap(), search.step)
}

/// |⟨a, b⟩|²/(‖a‖² ‖b‖²).
fn overlap(a: &Array3<Complex<f64>>, b: &Array3<Complex<f64>>) -> f64 {
    let power = |of: &Array3<Complex<f64>>| of.iter().map(Complex::norm_sqr).sum::<f64>();
    let dot: Complex<f64> = a.iter().zip(b).map(|(a, b)| a.conj() * b).sum();
    dot.norm_sqr() / (power(a) * power(b))
}

/// exp(−r²/q), q = w₀² + iλd/π, is the physical beam; exp(iπr²/(λz)) makes the model's wave of it.
#[test]
fn a_gaussian_beam_near_the_detector_is_the_physical_one() {
    let waist: f64 = 13e-6;
    for d in [10e-3, -10e-3] {
        let defocus = format!("probe.defocus={d:e}");
        let options = [
            "probe.source=gaussian",
            "probe.waist_radius=13e-6",
            &defocus,
        ];
        let (made, _) = made(256, &options);
        let q = Complex::new(waist * waist, WAVELENGTH * d / PI);
        let centre = made[[0, 128, 128]];
        for ((_, r, c), found) in made.indexed_iter() {
            let [y, x] = [r, c].map(|i| (i as f64 - 128.0) * 4e-6);
            let square = x * x + y * y;
            let phase = Complex::cis(PI * square / (WAVELENGTH * DISTANCE));
            let expected = (-Complex::from(square) / q).exp() * phase * centre;
            let off = (found - expected).norm();
            assert!(
                off < 2e-3 * centre.norm(),
                "{d} {r} {c}: {found} {expected}"
            );
        }
    }
}

/// What is given is what is reported, and what is reported may be given.
#[test]
fn the_reported_distance_is_the_given_one() {
    let zone_plate = [
        "probe.source=zone-plate",
        "probe.diameter=2e-3",
        "probe.outermost_zone=10e-6",
    ];
    let gaussian = ["probe.source=gaussian", "probe.waist_radius=13e-6"];
    for (model, d) in [
        (&zone_plate[..], 10e-3),
        (&zone_plate, -10e-3),
        (&gaussian, 10e-3),
    ] {
        let with = |d: f64| {
            let defocus = format!("probe.defocus={d:e}");
            made(128, &[model, &[defocus.as_str()]].concat())
        };
        let (first, _) = with(d);
        let (found, step) = focus(&first);
        assert!(
            (found.distance - d).abs() <= 2.0 * step,
            "{d}: {found:?} {step}"
        );
        let again = overlap(&first, &with(found.distance).0);
        assert!(again > 0.99, "{d}: {again}");
    }
    // 1/d′ = 1/d + 1/z: that of an aperture is the model's.
    let with = |d: f64| {
        let defocus = format!("probe.defocus={d:e}");
        made(128, &["probe.source=aperture", &defocus]).0
    };
    let d = 10e-3 / 1.2;
    let first = with(d);
    let (found, step) = focus(&first);
    assert!(
        (found.model_distance - d).abs() <= 2.0 * step,
        "{found:?} {step}"
    );
    assert!(
        (found.distance - 10e-3).abs() <= 2.0 * step,
        "{found:?} {step}"
    );
    assert!(overlap(&first, &with(found.model_distance)) > 0.99);
}

/// The disc on the detector is that at z + d from the focus.
#[test]
fn a_zone_plate_far_from_the_specimen_lights_its_disc() {
    let mut recipe = Recipe::default();
    recipe.probe.diameter = Some(2e-3);
    recipe.probe.outermost_zone = Some(20e-6);
    for d in [0.0, 10e-3, -10e-3] {
        recipe.probe.defocus = d;
        let grid = Grid::new(&scan(256), &recipe.data);
        let model = zone_plate(&grid, &recipe.probe).unwrap();
        let lit: f64 = model.far_field.iter().map(Complex::norm_sqr).sum();
        let disc = WAVELENGTH * (DISTANCE + d) / 20e-6 / grid.detector_pixel[0];
        assert!(
            (lit / (PI / 4.0 * disc * disc) - 1.0).abs() < 0.05,
            "{d}: {lit}"
        );
    }
}

/// The probe of cropped frames is that of the whole ones, cropped in the far field; a model that
/// fits the whole frames is not refused.
#[test]
fn the_far_field_is_cropped_as_the_frames() {
    let zone_plate = [
        "probe.source=zone-plate",
        "probe.diameter=2e-3",
        "probe.outermost_zone=20e-6",
        "probe.defocus=2e-3",
    ];
    let gaussian = ["probe.source=gaussian", "probe.waist_radius=20e-6"];
    let aperture = ["probe.source=aperture", "probe.aperture=0.6"];
    for model in [&zone_plate[..], &gaussian, &aperture] {
        let (whole, _) = made(64, model);
        let (found, notes) = made(16, &[model, &["data.coarse=4"]].concat());
        let expected = with_window(&whole, [16, 16]);
        assert!(overlap(&found, &expected) > 1.0 - 1e-9, "{model:?}");
        assert!(
            notes
                .iter()
                .any(|note| note.contains("% of its light is beyond the 16 x 16")),
            "{notes:?}"
        );
    }
    // A disc that is larger than frames of the file is refused, of cropped ones not.
    let small = [&zone_plate[..2], &["probe.outermost_zone=10e-6"]].concat();
    made(64, &[&small[..], &["data.crop=[64, 64]"]].concat());
    let mut recipe = Recipe::default();
    small.iter().for_each(|option| recipe.set(option).unwrap());
    let refused = probe(&scan(64), &recipe, &mut Vec::new()).unwrap_err();
    assert!(
        refused.to_string().starts_with("probe.outermost_zone"),
        "{refused}"
    );
}
