use super::*;
use crate::data::{Geometry, Scan};
use crate::{ProbeSource, Recipe};
use ndarray::{Array3, s};

/// Nine frames of 16 × 20 pixels of 20 nm.
fn problem() -> Problem {
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 1.0,
        pixel_size: [1e-10 / 320e-9, 1e-10 / 400e-9],
        propagation: crate::data::Propagation::FarField,
    };
    let positions = Array2::from_shape_fn((9, 2), |(frame, axis)| {
        [frame / 3, frame % 3][axis] as f64 * 60e-9 + 1e-6
    });
    let counts = Array3::from_elem((9, 16, 20), 10.0);
    let scan = Scan::new(counts, None, positions, geometry, None).unwrap();
    let mut recipe = Recipe::default();
    recipe.probe.source = ProbeSource::MeanPattern;
    Problem::prepare(&scan, &recipe).unwrap()
}

/// A transmission at a place, m, without detail below 200 nm.
fn specimen(y: f64, x: f64) -> Complex<f64> {
    let wave = |length: f64, at: f64| (std::f64::consts::TAU * at / length).sin();
    Complex::from_polar(0.8 + 0.1 * wave(300e-9, y), 0.4 * wave(250e-9, x + y))
}

/// The specimen on `shape` pixels of `pixel`, the first of them at `first`, m.
fn image(shape: [usize; 2], pixel: f64, first: [f64; 2]) -> Array2<Complex<f64>> {
    Array2::from_shape_fn((shape[0], shape[1]), |(r, c)| {
        specimen(first[0] + r as f64 * pixel, first[1] + c as f64 * pixel)
    })
}

fn largest(a: &Array2<Complex<f64>>, b: &Array2<Complex<f64>>) -> f64 {
    // Where the kernel has all its values.
    let (rows, columns) = a.dim();
    let part = s![5..rows - 5, 5..columns - 5];
    let pairs = a.slice(part).to_owned() - b.slice(part);
    pairs.iter().map(|v| v.norm()).fold(0.0, f64::max)
}

#[test]
fn an_image_on_the_grid_is_taken_as_it_is() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let values = image([rows, columns], 20e-9, [0.0; 2]);
    for pixel in [None, Some([20e-9; 2]), Some([20.02e-9, 20e-9])] {
        problem.object.fill(Complex::from(1.0));
        let start = StartObject {
            values: values.clone(),
            pixel,
            origin: None,
        };
        problem.take_start_object(&start).unwrap();
        assert_eq!(problem.object, values);
    }
    assert!(problem.notes.last().unwrap().contains("as it is"));
}

/// The middles of the images are the same place.
#[test]
fn an_image_with_other_pixels_is_interpolated_about_its_middle() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let first = |shape: [usize; 2], pixel: f64| shape.map(|n| -(n as f64 - 1.0) / 2.0 * pixel);
    let expected = image([rows, columns], 20e-9, first([rows, columns], 20e-9));
    for (shape, pixel) in [([60, 70], 12e-9), ([31, 33], 30e-9), ([45, 52], 20e-9)] {
        let start = StartObject {
            values: image(shape, pixel, first(shape, pixel)),
            pixel: Some([pixel; 2]),
            origin: None,
        };
        problem.take_start_object(&start).unwrap();
        let most = largest(&problem.object, &expected);
        assert!(most < 0.02, "{shape:?}: {most}");
    }
    // Where there is no image the object stays.
    let start = StartObject {
        values: image([9, 9], 20e-9, [0.0; 2]),
        pixel: Some([20e-9; 2]),
        origin: None,
    };
    problem.object.fill(Complex::from(7.0));
    problem.take_start_object(&start).unwrap();
    assert_eq!(problem.object[[0, 0]], Complex::from(7.0));
    assert_ne!(problem.object[[rows / 2, columns / 2]], Complex::from(7.0));
}

/// With its origin an image is where the scan says, whatever its extent. The position of a window
/// is that of its middle pixel.
#[test]
fn an_image_with_an_origin_is_placed_by_it() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let expected = image([rows, columns], 20e-9, problem.positions.origin);
    // Three rows more above, two columns fewer on the left.
    let origin = [
        problem.positions.origin[0] - 60e-9,
        problem.positions.origin[1] + 40e-9,
    ];
    let start = StartObject {
        values: image([rows + 9, columns], 20e-9, origin),
        pixel: Some([20e-9; 2]),
        origin: Some(origin),
    };
    problem.take_start_object(&start).unwrap();
    assert!(largest(&problem.object, &expected) < 1e-12);
    // Pixels of half the size: windows of 32 × 40 of them, whose middles are 16 and 20.
    let finer = StartObject {
        values: image([2 * rows, 2 * columns], 10e-9, problem.positions.origin),
        pixel: Some([10e-9; 2]),
        origin: Some(problem.positions.origin),
    };
    problem.take_start_object(&finer).unwrap();
    assert!(largest(&problem.object, &expected) < 0.02);
    let elsewhere = StartObject {
        origin: Some([1.0, 1.0]),
        ..finer
    };
    let refused = problem.take_start_object(&elsewhere).unwrap_err();
    assert_eq!(refused, StartObjectError::Elsewhere);
}

#[test]
fn images_that_do_not_fit_are_refused() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let mut refused = |values: Array2<Complex<f64>>, pixel: Option<[f64; 2]>| {
        let start = StartObject {
            values,
            pixel,
            origin: None,
        };
        problem.take_start_object(&start).unwrap_err().to_string()
    };
    let one = Complex::from(1.0);
    let text = refused(Array2::from_elem((rows + 1, columns), one), None);
    let expected = format!(
        "expected {rows} x {columns} pixels (rows x columns), as the object of this reconstruction, found {} x {columns}",
        rows + 1
    );
    assert!(text.starts_with(&expected), "{text}");
    let text = refused(Array2::from_elem((9, 9), one), Some([1e-12, 2e-8]));
    assert!(
        text.contains("expected a pixel within a factor of 100"),
        "{text}"
    );
    let text = refused(Array2::zeros((rows, columns)), None);
    assert!(text.contains("not 0 everywhere"), "{text}");
    let nan = Complex::new(f64::NAN, 0.0);
    let text = refused(Array2::from_elem((rows, columns), nan), None);
    assert!(text.contains("expected finite values"), "{text}");
}

/// An object of one value would leave an ideal beam without light outside its aperture.
#[test]
fn an_object_of_one_value_gets_small_phases() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let without = problem.object.clone();
    let one = Complex::from(1.0);
    for (shape, pixel) in [((rows, columns), None), ((9, 9), Some([20e-9; 2]))] {
        let start = StartObject {
            values: Array2::from_elem(shape, one),
            pixel,
            origin: None,
        };
        problem.take_start_object(&start).unwrap();
        let off = problem.object.iter().zip(&without);
        let most = off.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(most < 1e-12, "{shape:?}: {most}");
    }
    assert!(
        !problem
            .notes
            .iter()
            .any(|note| note.contains("mean modulus"))
    );
    let start = StartObject {
        values: image([rows, columns], 20e-9, [0.0; 2]).mapv(|v| v * 100.0),
        pixel: None,
        origin: None,
    };
    problem.take_start_object(&start).unwrap();
    assert_eq!(problem.object, start.values);
    let note = problem.notes.last().unwrap();
    assert!(
        note.contains("the mean modulus of the given object is 8"),
        "{note}"
    );
    for large in [1e300, 1e20] {
        let start = StartObject {
            values: Array2::from_elem((rows, columns), Complex::from(large)),
            pixel: None,
            origin: None,
        };
        let refused = problem.take_start_object(&start).unwrap_err();
        assert_eq!(refused, StartObjectError::NotFinite);
    }
}

#[test]
fn an_origin_without_a_pixel_must_be_that_of_the_object() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    let own = problem.positions.origin;
    let start = |origin: [f64; 2]| StartObject {
        values: image([rows, columns], 20e-9, [0.0; 2]),
        pixel: None,
        origin: Some(origin),
    };
    problem.take_start_object(&start(own)).unwrap();
    let refused = problem.take_start_object(&start([own[0] + 1e-7, own[1]]));
    assert_eq!(refused.unwrap_err(), StartObjectError::NoPixel);
}

/// Many rows of a hundredth of the object's pixel are averaged.
#[test]
fn a_long_image_covers_a_column() {
    let mut problem = problem();
    let [rows, columns]: [usize; 2] = problem.object.dim().into();
    problem.object.fill(Complex::from(7.0));
    let start = StartObject {
        values: Array2::from_shape_fn((40_000, 1), |(r, _)| {
            Complex::from(1.0 + 0.1 * (r % 2) as f64)
        }),
        pixel: Some([20.1e-11, 20e-9]),
        origin: None,
    };
    problem.take_start_object(&start).unwrap();
    let changed = |c: usize| (0..rows).all(|r| (problem.object[[r, c]].re - 1.05).abs() < 1e-2);
    let changed: Vec<usize> = (0..columns).filter(|c| changed(*c)).collect();
    assert!((1..=2).contains(&changed.len()), "{changed:?}");
    assert_eq!(problem.object[[0, 0]], Complex::from(7.0));
}
