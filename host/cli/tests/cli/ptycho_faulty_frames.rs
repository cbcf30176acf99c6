//! Frames in which lines of the detector fail, that slipped, or have another exposure, and counts
//! that overflowed, are named.

use super::ptycho_doubtful::{scan, written};
use super::support::TestFolder;
use ndarray::{Array3, Axis, s};

/// What `info` says of `scan.cxi` with other frames.
fn said(folder: &TestFolder, change: impl FnOnce(&mut Array3<f64>)) -> String {
    written(folder, "other.cxi", |frames, _| change(frames));
    let output = folder.run(&["ptycho", "info", "other.cxi"]);
    output.well();
    output.out
}

#[test]
fn a_clean_scan_has_no_note() {
    let text = said(&scan(), |_| {});
    assert!(text.contains("none found"), "{text}");
    assert!(!text.contains("doubtful"), "{text}");
}

#[test]
fn frames_with_faulty_lines_are_named() {
    let folder = scan();
    for (name, part) in [
        ("row", s![14..15, ..]),
        ("column", s![.., 17..18]),
        ("chip", s![12..20, 17..25]),
    ] {
        let text = said(&folder, |frames| {
            for frame in [3, 21, 22] {
                let mut frame = frames.index_axis_mut(Axis(0), frame);
                frame.slice_mut(part).fill(0.0);
            }
        });
        assert!(
            text.contains("3 frames (3,21-22) with hardly any counts"),
            "{name}: {text}"
        );
    }
    let text = said(&folder, |frames| {
        let mut rows = frames.slice_mut(s![..;2, 5, ..]);
        rows += 2e5;
    });
    assert!(
        text.contains(
            "20 frames (0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38) with whole rows"
        ),
        "{text}"
    );
}

#[test]
fn frames_that_slipped_or_have_another_exposure_are_named() {
    let folder = scan();
    let text = said(&folder, |frames| {
        for mut frame in frames.axis_iter_mut(Axis(0)).skip(12).take(9) {
            let before = frame.to_owned();
            frame
                .slice_mut(s![1.., ..])
                .assign(&before.slice(s![..-1, ..]));
            frame.row_mut(0).assign(&before.row(31));
        }
    });
    assert!(
        text.contains("9 frames (12-20) with patterns a whole number of pixels"),
        "{text}"
    );
    let text = said(&folder, |frames| {
        let mut some = frames.slice_mut(s![1..;3, .., ..]);
        some *= 10.0;
    });
    assert!(
        text.contains("13 frames (1,4,7,10,13,16,19,22,25,28,31,34,37) several times as bright"),
        "{text}"
    );
}

#[test]
fn counts_that_overflowed_and_hot_blocks_are_named() {
    let folder = scan();
    for (bits, range) in [(8, 256.0), (12, 4096.0), (16, 65536.0)] {
        let text = said(&folder, |frames| {
            let largest = frames.iter().copied().fold(0.0, f64::max);
            frames.mapv_inplace(|count| (count / largest * 1.6 * range).floor() % range);
        });
        assert!(
            text.contains(&format!("for {bits} bits probably began again")),
            "{text}"
        );
    }
    let text = said(&folder, |frames| {
        let largest = frames.iter().copied().fold(0.0, f64::max);
        for (number, mut frame) in frames.axis_iter_mut(Axis(0)).enumerate() {
            let counts = 20.0 * largest + number as f64;
            frame.slice_mut(s![4..11, 20..28]).fill(counts);
        }
    });
    assert!(text.contains("56 pixels with far more counts"), "{text}");
    assert!(
        !text.contains("count less") && !text.contains("ever count"),
        "{text}"
    );
}

#[test]
fn parts_of_the_detector_that_repeat_are_masked() {
    let folder = scan();
    for (value, part, words) in [
        (
            Some(100.0),
            s![16.., 16..],
            "256 pixels have the same count",
        ),
        (
            Some(65535.0),
            s![16.., 16..],
            "256 pixels have the same count",
        ),
        (Some(300.0), s![12..13, ..], "32 pixels have the same count"),
        // The first frame again and again, in as many pixels as have counts there.
        (None, s![13..19, 13..19], "36 pixels have the same count"),
    ] {
        let text = said(&folder, |frames| {
            let first = frames.index_axis(Axis(0), 0).slice(part).to_owned();
            for mut frame in frames.axis_iter_mut(Axis(0)) {
                let mut part = frame.slice_mut(part);
                match value {
                    Some(value) => part.fill(value),
                    None => part.assign(&first),
                }
            }
        });
        assert!(
            text.contains(words) && text.contains("none found"),
            "{text}"
        );
    }
}

#[test]
fn counts_that_are_too_large_for_signed_numbers_are_no_dark_subtraction() {
    let folder = scan();
    written(&folder, "other.cxi", |frames, _| {
        let largest = frames.iter().copied().fold(0.0, f64::max);
        frames.mapv_inplace(|count| f64::from((count / largest * 6e4) as u16 as i16));
    });
    folder
        .run(&["ptycho", "info", "other.cxi"])
        .refused(1, &["counts from 32768 on", "unsigned"]);
}
