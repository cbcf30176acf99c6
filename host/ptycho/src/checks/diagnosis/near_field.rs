//! Whether the propagation to a near field is sampled finely enough.

use crate::data::Scan;
use warpstride_core::text::significant;

/// The problem that the phase πλzf² of the transfer function changes by more than π from one
/// frequency of the frame to the next at its border, where it changes fastest: λz > nΔ² for n
/// pixels.
pub(super) fn aliased(scan: &Scan) -> Option<String> {
    let geometry = scan.geometry();
    if !geometry.is_near_field() {
        return None;
    }
    let [_, rows, columns] = scan.shape();
    let pixel = scan.object_pixel();
    let propagated = geometry.wavelength * geometry.effective_distance();
    let (side, n, pixel) = [("rows", rows, pixel[0]), ("columns", columns, pixel[1])]
        .into_iter()
        .min_by(|a, b| (a.1 as f64 * a.2 * a.2).total_cmp(&(b.1 as f64 * b.2 * b.2)))?;
    let most = n as f64 * pixel * pixel;
    (propagated > most).then(|| {
        format!(
            "the wavelength times the effective distance is {} µm², more than {} µm², {n} {side} times the square of the object pixel: light that leaves a frame on one side enters it on the other in the model, so distances or pixel size are wrong, or the frames too small",
            significant(propagated * 1e12, 3),
            significant(most * 1e12, 3),
        )
    })
}

/// The problem that object pixels are at most λ/√2, so that not all frequencies of the frames
/// travel to the detector.
pub(super) fn evanescent(scan: &Scan) -> Option<String> {
    let geometry = scan.geometry();
    if !geometry.is_near_field() {
        return None;
    }
    let [rows, columns] = scan.object_pixel();
    // The highest frequency is 1/(2Δ) on both axes.
    let highest = (0.5 / rows).hypot(0.5 / columns);
    (geometry.wavelength * highest >= 1.0).then(|| {
        format!(
            "the object pixel is {} x {} nm, not above the wavelength of {} nm divided by the root of 2: light of higher frequencies does not reach the detector, so focus_to_sample, distance or pixel size is wrong",
            significant(rows * 1e9, 3),
            significant(columns * 1e9, 3),
            significant(geometry.wavelength * 1e9, 3),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Geometry, Propagation};
    use ndarray::{Array2, Array3};

    #[test]
    fn distances_beyond_the_sampling_are_named() {
        let scan = |distance: f64| {
            let geometry = Geometry {
                wavelength: 1e-10,
                distance,
                pixel_size: [1e-6, 2e-6],
                propagation: Propagation::NearField {
                    focus_to_sample: None,
                },
            };
            let counts = Array3::from_elem((2, 12, 16), 1.0);
            Scan::new(counts, None, Array2::zeros((2, 2)), geometry, None).unwrap()
        };
        assert_eq!(evanescent(&scan(0.119)), None);
        // 12 · (1 µm)² / 0.1 nm.
        assert_eq!(aliased(&scan(0.119)), None);
        let text = aliased(&scan(0.121)).unwrap();
        assert!(
            text.contains("12.1 µm²") && text.contains("12 rows"),
            "{text}"
        );
    }

    #[test]
    fn pixels_below_the_wavelength_are_named() {
        let scan = |z1: f64, far: bool| {
            let geometry = Geometry {
                wavelength: 1e-10,
                distance: 1.0,
                pixel_size: [1e-4; 2],
                propagation: if far {
                    Propagation::FarField
                } else {
                    Propagation::NearField {
                        focus_to_sample: Some(z1),
                    }
                },
            };
            let counts = Array3::from_elem((2, 12, 16), 1.0);
            Scan::new(counts, None, Array2::zeros((2, 2)), geometry, None).unwrap()
        };
        // Δ is nearly 1e-4 z1, and λ/√2 is 0.0707 nm.
        assert_eq!(evanescent(&scan(7.2e-7, false)), None);
        assert_eq!(evanescent(&scan(7e-7, true)), None);
        let text = evanescent(&scan(7e-7, false)).unwrap();
        assert!(
            text.contains("0.100 nm") && text.contains("0.0700"),
            "{text}"
        );
    }
}
