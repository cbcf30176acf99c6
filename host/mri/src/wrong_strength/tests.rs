//! Samples of simulated scans times factors.

use super::*;
use crate::data::Given;
use crate::trajectory::Path;
use crate::{SimulateOptions, simulate};

/// What is found if each sample of 4 coils is multiplied by this factor of its coil, its readout,
/// and its number in it.
fn found(path: Path, is_joined: bool, factor: &dyn Fn(usize, usize, usize) -> f64) -> Vec<String> {
    let options = SimulateOptions {
        matrix: 32,
        coils: 4,
        path,
        ..SimulateOptions::default()
    };
    let kspace = simulate(&options).unwrap().kspace;
    let mut samples = kspace.samples().clone();
    for (number, readout) in kspace.readouts().iter().enumerate() {
        for sample in readout.samples.clone() {
            for coil in 0..4 {
                samples[[coil, sample]] *= factor(coil, number, sample - readout.samples.start);
            }
        }
    }
    let given = Given {
        is_joined,
        ..*kspace.given()
    };
    let (extent, positions) = (kspace.extent().clone(), kspace.trajectory().clone());
    let readouts = kspace.readouts().to_vec();
    let kspace = KSpace::given_as(given, extent, positions, samples, readouts);
    wrong_strength(&kspace.unwrap())
}

#[test]
fn strong_samples_and_readouts_are_named() {
    for path in [Path::Radial, Path::Golden] {
        let one = found(path, false, &|_, n, _| if n == 5 { 10.0 } else { 1.0 });
        assert_eq!(one.len(), 1, "{one:?}");
        assert!(one[0].contains("1 readout are") || one[0].contains("acquisition 5: "));
        let two = found(path, false, &|_, n, _| {
            if n == 5 || n == 6 { 8.0 } else { 1.0 }
        });
        assert!(
            two[0].contains("acquisitions 5: ") && two[0].contains(", 6: "),
            "{two:?}"
        );
        let sample = found(path, false, &|coil, n, j| match (coil, n, j) {
            (2, 7, 10) => 1e5,
            _ => 1.0,
        });
        assert_eq!(sample.len(), 1, "{sample:?}");
        assert!(
            sample[0].contains("sample 10 of coil 2 in acquisition 7"),
            "{sample:?}"
        );
    }
    let of_few = found(Path::Spiral, false, &|_, n, _| {
        if n == 3 { 100.0 } else { 1.0 }
    });
    assert!(
        of_few
            .iter()
            .all(|problem| problem.contains("acquisition 3")),
        "{of_few:?}"
    );
}

#[test]
fn a_gain_that_changes_once_is_found_unless_images_are_joined() {
    let tenth = |_: usize, n: usize, _: usize| if n < 20 { 1.0 } else { 0.1 };
    let problems = found(Path::Radial, false, &tenth);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("from acquisition 20 on, the samples are 0.1"));
    assert_eq!(found(Path::Radial, true, &tenth), [""; 0]);
    let of_one = |coil: usize, n: usize, _: usize| if coil == 1 && n < 20 { 5.0 } else { 1.0 };
    let problems = found(Path::Golden, false, &of_one);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("from acquisition 20 on, the samples of coil 1 are 0.2"));
}

#[test]
fn good_scans_of_changing_strength_are_left_alone() {
    type Course = &'static dyn Fn(usize) -> f64;
    let courses: [(&str, Course); 7] = [
        ("constant", &|_| 1.0),
        ("to a steady state", &|n| 0.1 + (-(n as f64) / 6.0).exp()),
        ("train of echoes", &|n| (-((n % 16) as f64) / 5.0).exp()),
        ("inversion", &|n| 1.0 - 2.0 * (-(n as f64) / 20.0).exp()),
        ("saturation", &|n| {
            1.0 - (-((n % 25) as f64 + 0.5) / 10.0).exp()
        }),
        ("contrast agent", &|n| if n < 20 { 1.0 } else { 3.0 }),
        ("three echoes in turn", &|n| [1.0, 0.4, 0.1][n % 3]),
    ];
    for path in [Path::Radial, Path::Golden, Path::Spiral] {
        for (name, course) in courses {
            let problems = found(path, false, &|_, n, _| course(n));
            assert_eq!(problems, [""; 0], "{path:?}: {name}");
        }
    }
}
