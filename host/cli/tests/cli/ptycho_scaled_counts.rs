//! Counts in other units than photons: bad frames and pixels are found as in photons, and good ones
//! are used.

use super::ptycho_doubtful::{scan, written};
use super::support::TestFolder;
use ndarray::{Array3, Axis, s};

/// What `info` says of frames and pixels of `scan.cxi` with other frames, without the numbers of
/// counts.
fn said(folder: &TestFolder, change: impl FnOnce(&mut Array3<f64>)) -> String {
    written(folder, "other.cxi", |frames, _| change(frames));
    let output = folder.run(&["ptycho", "info", "other.cxi"]);
    output.well();
    let says = ["left out", "doubtful", "masked", "far more counts"];
    let lines = (output.out.lines()).filter(|line| says.iter().any(|word| line.contains(word)));
    let parts = lines.flat_map(|line| {
        line.split(", ")
            .filter(|part| !part.contains("counts beside"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The gain of an integrating detector, 12 bits in the upper ones of 16, and other factors.
const FACTORS: [f64; 6] = [100.0, 16.0, 1000.0, 33.3, 0.01, 1e-6];

#[test]
fn good_frames_and_pixels_are_used() {
    let folder = scan();
    for photons in ["3e3", "1e6"] {
        let of = ["--frame", "32", "--positions", "40", "--photons", photons];
        folder.simulate("scan.cxi", &of);
        for factor in FACTORS {
            let text = said(&folder, |frames| *frames *= factor);
            assert_eq!(text, "", "{photons} {factor}");
        }
    }
}

/// As a detector has them that adds its noise to 100 for each photon; counts below half of a photon
/// are taken for noise.
#[test]
fn single_photons_say_their_counts() {
    let folder = scan();
    let of = ["--frame", "48", "--positions", "60", "--photons", "2e3"];
    folder.simulate("scan.cxi", &of);
    let text = said(&folder, |frames| {
        for (number, counts) in frames.iter_mut().enumerate() {
            let noise = (number * 7919 % 61) as f64 - 30.0;
            let signal = 100.0 * *counts + noise;
            *counts = if signal < 50.0 { 0.0 } else { signal };
        }
    });
    assert_eq!(text, "");
}

#[test]
fn bad_frames_and_pixels_are_found() {
    let folder = scan();
    let bad = |frames: &mut Array3<f64>| {
        for frame in [3, 21, 22] {
            frames.index_axis_mut(Axis(0), frame).fill(0.0);
            frames[[frame, 4, 7]] = 1.0;
        }
        frames.slice_mut(s![.., 14, ..]).fill(0.0);
    };
    let expected = said(&folder, bad);
    assert!(
        expected.contains("3 frames (3,21-22) without beam"),
        "{expected}"
    );
    assert!(
        expected.contains("32 pixels never count (row 14)"),
        "{expected}"
    );
    for factor in FACTORS {
        let text = said(&folder, |frames| {
            bad(frames);
            *frames *= factor;
        });
        assert_eq!(text, expected, "{factor}");
    }
}

#[test]
fn fractions_of_which_none_is_a_photon_are_looked_at() {
    let folder = scan();
    let text = said(&folder, |frames| {
        let largest = frames.iter().copied().fold(0.0, f64::max);
        for (number, mut frame) in frames.outer_iter_mut().enumerate() {
            frame /= largest * (1.0 + (number as f64).sqrt());
        }
        frames.slice_mut(s![.., .., 14]).fill(0.0);
    });
    assert!(text.contains("32 pixels never count (column 14)"), "{text}");
}
