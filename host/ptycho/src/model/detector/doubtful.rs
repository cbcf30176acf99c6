//! A blur or a background that the frames cannot have.

use crate::data::{Mask, Scan};
use crate::session::recipe::{Background, DetectorOptions};
use warpstride_core::text::{shortest, significant};

/// Largest plausible full width at half maximum of the blur, as a share of the frame.
const WIDEST: f64 = 0.25;
/// Full width at half maximum of a Gaussian, standard deviations.
const WIDTH: f64 = 2.354_820_045_030_949_3;

/// One sentence for a blur whose width at half maximum is above a quarter of the frames, and one
/// for a known background above the mean counts of a valid pixel.
#[must_use]
pub fn detector_problems(scan: &Scan, options: &DetectorOptions) -> Vec<String> {
    let [frames, rows, columns] = scan.shape();
    let sigmas = options.blur.sigmas();
    let axes = [("rows", rows, sigmas[0]), ("columns", columns, sigmas[1])];
    let wide = axes
        .into_iter()
        .find(|(_, n, sigma)| WIDTH * sigma > WIDEST * *n as f64);
    let blur = wide.map(|(axis, n, sigma)| {
        format!(
            "a blur of {} pixels is {} pixels wide at half maximum: expected at most a quarter of the {n} {axis} of the frames ({} pixels), as patterns blurred so much have hardly any structure",
            shortest(sigma),
            significant(WIDTH * sigma, 3),
            significant(WIDEST * n as f64, 3)
        )
    });
    let valid: usize = match scan.mask() {
        Mask::Shared(_) => frames * scan.mask().valid_in(0),
        Mask::PerFrame(_) => (0..frames).map(|f| scan.mask().valid_in(f)).sum(),
    };
    let mean = scan.sums().total() / valid.max(1) as f64;
    let background = match options.background {
        Background::Known(photons) if photons > mean => Some(format!(
            "a background of {} photons in a pixel: expected at most the mean counts of a pixel, {}, of which it is a part",
            shortest(photons),
            significant(mean, 3)
        )),
        _ => None,
    };
    blur.into_iter().chain(background).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Geometry, Propagation};
    use crate::session::recipe::Blur;
    use ndarray::{Array2, Array3};

    #[test]
    fn wide_blurs_and_large_backgrounds_are_named() {
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        let counts = Array3::from_elem((2, 16, 32), 5.0);
        let positions = Array2::from_shape_fn((2, 2), |(frame, _)| frame as f64 * 1e-7);
        // Masked pixels have no counts.
        let mask = Array2::from_shape_fn((16, 32), |(_, column)| column < 16);
        let mask = Some(Mask::Shared(mask));
        let scan = Scan::new(counts, mask, positions, geometry, None).unwrap();
        let found = |blur: [f64; 2], background: f64| {
            let options = DetectorOptions {
                blur: Blur::Axes(blur),
                background: Background::Known(background),
                ..DetectorOptions::default()
            };
            detector_problems(&scan, &options)
        };
        assert_eq!(found([1.69, 3.39], 4.9), Vec::<String>::new());
        for (blur, background, texts) in [
            ([1.71, 0.0], 0.0, ["4.03 pixels wide", "the 16 rows"]),
            ([0.0, 17.0], 0.0, ["40.0 pixels wide", "the 32 columns"]),
            ([0.0, 0.0], 1e6, ["background of 1e6", "of a pixel, 5.00"]),
        ] {
            let found = found(blur, background);
            assert!(
                found.len() == 1 && texts.iter().all(|text| found[0].contains(text)),
                "{found:?}"
            );
        }
    }
}
