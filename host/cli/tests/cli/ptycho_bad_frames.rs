//! Frames without beam are left out, pixels that never count are masked, and both are said wherever
//! a scan is looked at.

use super::ptycho_doubtful::{problems, reconstructed, scan, written};
use super::support::{Output, STARTING, TestFolder, skipped};
use hdf5_metno as hdf5;
use ndarray::{Array2, Axis, s};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

/// A file of the trials, if it is available.
fn trial(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/trials/ptycho");
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    skipped(name, "../shared/data/trials is not there");
    None
}

/// Reconstructs a file with the engines of the trials to `out`.
fn computed(folder: &TestFolder, path: &str, out: &str, options: &[&str]) -> Output {
    let fixed = [
        "ptycho",
        "reconstruct",
        path,
        "-o",
        out,
        "--backend",
        "cpu",
        "--engine",
        "dm:40",
        "--engine",
        "lsqml:40",
        "--no-pictures",
        "--report",
        "r.html",
        "--summary",
        "s.json",
    ];
    let output = folder.run(&[&fixed[..], options].concat());
    output.well();
    output
}

/// Relative distance of two results.
fn distance(folder: &TestFolder, of: &str, from: &str) -> f64 {
    let output = folder.run(&["ptycho", "compare", of, from, "--json"]);
    output.well();
    let json: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    json["relative_l2"].as_f64().unwrap()
}

#[test]
fn the_trials_are_as_good_as_the_clean_scan() {
    let names = [
        "base",
        "beamlost",
        "bright10",
        "bright-empty",
        "deadlines",
        "deadmodule",
    ];
    let Some(paths) = names
        .iter()
        .map(|name| trial(&format!("{name}.cxi")))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let folder = TestFolder::new();
    let [base, beamlost, bright, bright_empty, lines, module] =
        std::array::from_fn(|n| paths[n].display().to_string());
    let clean = computed(&folder, &base, "base.h5", &[]);
    assert!(!clean.out.contains("left out") && !clean.out.contains("never count"));
    // Without what was spoilt: 0.78 and 0.09 with it.
    for (path, note, nearest) in [
        (
            &beamlost,
            "6 frames (7-9,30-31,50) without beam, with 96.0 to 114 counts beside 1.62e6 (median): left out",
            0.012,
        ),
        (
            &bright,
            "1 frame (13) far brighter than all frames around, as no specimen makes them",
            0.006,
        ),
        (
            &bright_empty,
            "1 frame (13) far brighter than all frames around, as no specimen makes them",
            0.006,
        ),
    ] {
        let output = computed(&folder, path, "out.h5", &[]);
        assert!(output.out.contains(note), "{output:?}");
        let summary = std::fs::read_to_string(folder.path("s.json")).unwrap();
        let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
        assert!(summary.contains(note) && page.contains(note));
        let info = folder.run(&["ptycho", "info", path]);
        info.well();
        assert!(info.out.contains(note), "{info:?}");
        let apart = distance(&folder, "out.h5", "base.h5");
        assert!(apart < nearest, "{note}: {apart}");
    }
    // As good as with a mask in the file.
    for (path, note, is_dead) in [
        (
            &lines,
            "95 pixels never count (row 20, column 27), unlike those around: masked",
            (|r, c| r == 20 || c == 27) as fn(usize, usize) -> bool,
        ),
        (
            &module,
            "576 pixels never count (rows 24-47, columns 24-47), unlike those around: masked",
            (|r, c| r >= 24 && c >= 24) as fn(usize, usize) -> bool,
        ),
    ] {
        let output = computed(&folder, path, "out.h5", &[]);
        assert!(output.out.contains(note), "{output:?}");
        let masked = folder.path("masked.cxi");
        // Not the permissions of the file.
        std::fs::write(&masked, std::fs::read(path).unwrap()).unwrap();
        {
            let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
            let file = hdf5::File::open_rw(&masked).unwrap();
            let mask = Array2::from_shape_fn((48, 48), |(r, c)| i32::from(is_dead(r, c)));
            let detector = file.group("/entry_1/instrument_1/detector_1").unwrap();
            detector
                .new_dataset_builder()
                .with_data(&mask)
                .create("mask")
                .unwrap();
        }
        let with_mask = computed(&folder, "masked.cxi", "masked.h5", &[]);
        assert!(!with_mask.out.contains("never count"), "{with_mask:?}");
        let apart = distance(&folder, "out.h5", "masked.h5");
        assert!(apart < 1e-9, "{apart}");
    }
}

#[test]
fn bad_frames_can_be_kept_and_can_be_an_error() {
    let folder = scan();
    written(&folder, "lost.cxi", |frames, _| {
        for frame in [3, 17, 18] {
            let mut frame = frames.index_axis_mut(Axis(0), frame);
            frame.fill(0.0);
            frame.slice_mut(s![..;7, ..;5]).fill(1.0);
        }
    });
    let note = "3 frames (3,17-18) without beam, with 35.0 counts beside";
    let (output, summary, _) = reconstructed(&folder, "lost.cxi", &[]);
    assert!(output.out.contains(note) && output.out.contains("left out (data.bad_frames"));
    let (_, clean, _) = reconstructed(&folder, "scan.cxi", &[]);
    let (output, kept, _) = reconstructed(&folder, "lost.cxi", &["--bad-frames", "keep"]);
    assert!(output.out.contains(note) && output.out.contains("used as they are"));
    let [masked, clean, kept] =
        [summary, clean, kept].map(|of| of["relative_l2"].as_f64().unwrap());
    assert!(
        masked < 1.3 * clean && kept > 3.0 * clean,
        "{masked} {clean} {kept}"
    );
    let error = ["--bad-frames", "error"];
    let words = [
        "lost.cxi",
        "expected frames of the specimen in the beam",
        "3 frames (3,17-18) without beam",
        "--exclude with these numbers leaves them out",
    ];
    folder
        .run(&[&["ptycho", "info", "lost.cxi"][..], &error].concat())
        .refused(1, &words);
    let excluded = [
        &["ptycho", "info", "lost.cxi", "--exclude", "3,17-18"][..],
        &error,
    ]
    .concat();
    folder.run(&excluded).well();
    // The numbers are those of the file, also of a part of the frames.
    let part = ["ptycho", "info", "lost.cxi", "--exclude", "0-9"];
    let info = folder.run(&part);
    assert!(
        info.out.contains("2 frames (17-18) without beam"),
        "{info:?}"
    );
    let wrong = folder.run(&["ptycho", "info", "lost.cxi", "--bad-frames", "drop"]);
    wrong.refused(2, &["--bad-frames drop: expected mask, keep or error"]);
}

#[test]
fn most_frames_can_be_those_without_beam_and_undecided_ones_are_named() {
    let folder = scan();
    let info = |name: &str| {
        let info = folder.run(&["ptycho", "info", name]);
        info.well();
        info.out
    };
    // Stray counts, some, none; the frames with beam follow one another, or are anywhere.
    for (name, kept, counts) in [
        ("end.cxi", &[0, 1, 2, 3, 4, 5, 6][..], 2.0),
        ("anywhere.cxi", &[2, 9, 21, 30, 38], 1.0),
        ("empty.cxi", &[2, 9, 21, 30, 38], 0.0),
        ("two.cxi", &[20, 21], 1.0),
    ] {
        written(&folder, name, |frames, _| {
            for (number, mut frame) in frames.outer_iter_mut().enumerate() {
                if !kept.contains(&number) {
                    frame.fill(0.0);
                    for stray in 0..if counts > 0.0 { 40 } else { 0 } {
                        let place = (number * 40 + stray) * 7919 % 104_729 % 1024;
                        frame[[place / 32, place % 32]] = counts;
                    }
                }
            }
        });
        let out = info(name);
        let lost = format!("note             {} frames (", 40 - kept.len());
        assert!(
            out.contains(&lost) && out.contains("without beam, with"),
            "{name}: {out}"
        );
        assert!(
            out.contains(&format!("frames           {} of", kept.len())),
            "{out}"
        );
    }
    let keep = [
        "ptycho",
        "info",
        "empty.cxi",
        "--set",
        "data.empty_frames=keep",
    ];
    assert!(folder.run(&keep).out.contains("frames           40 of"));
    // Light from one side, of which most frames have little.
    written(&folder, "sides.cxi", |frames, _| {
        for (number, mut frame) in frames.outer_iter_mut().enumerate() {
            let few = if number % 9 == 4 { 40.0 } else { 1.0 };
            for ((row, column), counts) in frame.indexed_iter_mut() {
                let place = if few > 1.0 { row } else { 31 - column };
                *counts = (few * (place * place) as f64 / 10.0).floor();
            }
        }
    });
    let out = info("sides.cxi");
    let note = "(4,13,22,31) far brighter than the others, and no pattern shows which of them have the beam, so that no frame is judged";
    assert!(
        out.contains(note) && out.contains("doubtful, but used"),
        "{out}"
    );
    // A beam that moved in one frame.
    for by in [4, 11] {
        written(&folder, "moved.cxi", |frames, _| {
            let frame = frames.index_axis(Axis(0), 12).to_owned();
            let mut moved = frames.index_axis_mut(Axis(0), 12);
            for ((row, column), counts) in moved.indexed_iter_mut() {
                *counts = frame[[(row + by) % 32, column]];
            }
        });
        let out = info("moved.cxi");
        let note = "1 frame (12) with a pattern unlike that of the frames around";
        assert!(
            out.contains(note) && out.contains("frames           40 of"),
            "{by}: {out}"
        );
    }
}

#[test]
fn frames_in_which_a_part_of_the_detector_is_missing_are_named() {
    let folder = scan();
    let some = [2, 5, 8, 11, 18, 19, 21, 26, 27, 31, 34, 38];
    let sentence = "12 frames (2,5,8,11,18-19,21,26-27,31,34,38) with hardly any counts in a part of the detector in which the other frames have them, with ";
    for (name, part) in [
        ("half.cxi", s![.., ..16, ..]),
        ("chip.cxi", s![.., 12..20, 8..16]),
        ("row.cxi", s![.., 14..15, ..]),
    ] {
        written(&folder, name, |frames, _| {
            for frame in some {
                let mut frame = frames.slice_mut(s![frame..=frame, .., ..]);
                frame.slice_mut(part).fill(0.0);
            }
        });
        let info = folder.run(&["ptycho", "info", name]);
        info.well();
        assert!(
            info.out.contains(sentence)
                && info.out.contains("frames           40 of")
                && info.out.contains("doubtful, but used"),
            "{name}: {info:?}"
        );
        folder
            .run(&["ptycho", "info", name, "--bad-frames", "error"])
            .refused(1, &[name, sentence, "--exclude with these numbers"]);
        // What the note says works.
        let exclude = ["--exclude", "2,5,8,11,18-19,21,26-27,31,34,38"];
        let info = folder.run(&[&["ptycho", "info", name][..], &exclude].concat());
        info.well();
        assert!(!info.out.contains("doubtful"), "{name}: {info:?}");
    }
    let (output, summary, _) = reconstructed(&folder, "half.cxi", &[]);
    assert!(output.out.contains(sentence), "{output:?}");
    assert!(summary["notes"].to_string().contains(sentence));
}

#[test]
fn doubtful_frames_are_named_and_used_and_scales_at_a_limit_are_said() {
    let folder = scan();
    written(&folder, "half.cxi", |frames, _| {
        frames
            .index_axis_mut(Axis(0), 12)
            .mapv_inplace(|counts| (0.5 * counts).floor());
    });
    let note = "1 frame (12) darker than all frames around at once";
    let (output, summary, _) = reconstructed(&folder, "half.cxi", &[]);
    assert!(
        output.out.contains(note) && output.out.contains("doubtful, but used"),
        "{output:?}"
    );
    assert!(summary["notes"].to_string().contains(note));
    let info = folder.run(&["ptycho", "info", "half.cxi"]);
    assert!(
        info.out.contains("frames           40 of") && info.out.contains(note),
        "{info:?}"
    );
    // A tenth of the light is more than the fit of scales reaches.
    written(&folder, "tenth.cxi", |frames, _| {
        frames
            .index_axis_mut(Axis(0), 12)
            .mapv_inplace(|counts| (0.1 * counts).floor());
    });
    let options = [
        "--bad-frames",
        "keep",
        "--fit-frame-scales",
        "--engine",
        "lsqml:20",
        "--exclude",
        "0",
    ];
    let (output, summary, _) = reconstructed(&folder, "tenth.cxi", &options);
    let limit = "the fitted scales of 1 frame (12) ended at a limit, 0.25 or 4";
    assert!(output.out.contains(limit), "{output:?}");
    assert!(
        problems(&summary)
            .iter()
            .any(|problem| problem.contains(limit)),
        "{summary}"
    );
    assert_eq!(summary["frame_scales"]["at_limit"], serde_json::json!([12]));
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains(limit));
}

#[test]
fn pixels_that_never_count_can_be_kept_and_are_found_before_binning() {
    let folder = scan();
    written(&folder, "dead.cxi", |frames, _| {
        frames.slice_mut(s![.., 14, ..]).fill(0.0)
    });
    let info = |options: &[&str]| {
        let info = folder.run(&[&["ptycho", "info", "dead.cxi"][..], options].concat());
        info.well();
        info.out
    };
    let note = "32 pixels never count (row 14), unlike those around";
    assert!(info(&[]).contains(&format!("{note}: masked")));
    assert!(info(&[]).contains("bad pixels       32 "));
    assert!(info(&["--hot-pixels", "mask"]).contains(&format!("{note}: masked")));
    let kept = info(&["--hot-pixels", "keep"]);
    assert!(
        kept.contains(&format!("{note}: used as they are")) && kept.contains("bad pixels       0 ")
    );
    // Half of each pixel would be missing.
    assert!(info(&["--bin", "2"]).contains(&format!("{note}: masked")));
    // Rows become columns; the note has those of the file.
    assert!(info(&["--transform-frames", "transpose"]).contains(note));
}

/// Opposite to it the light is as dim, at the zero of a wave, but it counts.
#[test]
fn a_row_that_never_counts_is_masked_although_the_opposite_one_is_dim() {
    let folder = scan();
    let of = ["--frame", "64", "--positions", "80", "--photons", "1e6"];
    folder.simulate("scan.cxi", &of);
    for row in [18, 44] {
        written(&folder, "row.cxi", |frames, _| {
            frames.slice_mut(s![.., row, ..]).fill(0.0)
        });
        let info = folder.run(&["ptycho", "info", "row.cxi"]);
        info.well();
        let note = format!("64 pixels never count (row {row}), unlike those around: masked");
        assert!(info.out.contains(&note), "{info:?}");
    }
}

#[test]
fn hot_pixels_side_by_side_are_named_and_can_be_masked() {
    let folder = scan();
    for (name, number, places) in [
        ("row.cxi", 32, &[s![.., 8..9, ..]][..]),
        ("rows.cxi", 64, &[s![.., 3..4, ..], s![.., 27..28, ..]]),
        ("block.cxi", 9, &[s![.., 5..8, 24..27]]),
        ("column.cxi", 68, &[s![.., .., 20..22], s![.., 2..4, 3..5]]),
    ] {
        written(&folder, name, |frames, _| {
            let bright = 20.0 * frames.iter().copied().fold(0.0, f64::max);
            for place in places {
                frames
                    .slice_mut(*place)
                    .mapv_inplace(|counts| counts + bright);
            }
        });
        let info = folder.run(&["ptycho", "info", name]);
        info.well();
        let problem = format!("{number} pixels with far more counts than the pixels around");
        let dead = ["never count", "ever counts"];
        assert!(
            info.out.contains(&problem) && !dead.iter().any(|dead| info.out.contains(dead)),
            "{name}: {info:?}"
        );
        let masked = folder.run(&["ptycho", "info", name, "--hot-pixels", "mask"]);
        masked.well();
        let note = format!("data.hot_pixels: {number} hot pixels masked at (row, column)");
        assert!(
            masked.out.contains(&note)
                && masked.out.contains("none found")
                && !dead.iter().any(|dead| masked.out.contains(dead)),
            "{name}: {masked:?}"
        );
    }
}

#[test]
fn good_scans_lose_no_frame_and_no_pixel() {
    let folder = scan();
    written(&folder, "decaying.cxi", |frames, _| {
        for (number, mut frame) in frames.outer_iter_mut().enumerate() {
            let beam = 1.0 - number as f64 / 60.0;
            frame.mapv_inplace(|counts| (beam * counts).floor());
        }
    });
    let faint = ["--frame", "32", "--positions", "40", "--photons", "300"];
    folder.simulate("faint.cxi", &faint);
    folder.simulate(
        "near.cxi",
        &["--frame", "64", "--positions", "12", "--near-field"],
    );
    for name in ["scan.cxi", "decaying.cxi", "faint.cxi", "near.cxi"] {
        let info = folder.run(&["ptycho", "info", name]);
        info.well();
        let said = ["data.bad_frames", "data.hot_pixels", "doubtful"];
        assert!(
            !said.iter().any(|part| info.out.contains(part)),
            "{name}: {info:?}"
        );
    }
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for name in [
        "ptycho/siemens-star.cxi",
        "ptycho/p25-near-field.cxi",
        "stem/weak-high.h5",
        "stem/strong-low.h5",
    ] {
        let path = shared.join(name);
        if !path.exists() {
            skipped(name, "../shared/data is not there");
            continue;
        }
        let info = folder.run(&["ptycho", "info", &path.display().to_string()]);
        info.well();
        let said = ["data.bad_frames", "never count", "doubtful"];
        assert!(
            !said.iter().any(|part| info.out.contains(part)),
            "{name}: {info:?}"
        );
    }
}

/// Whether a pixel of the scan's frames is dead, of three kinds.
fn is_dead(kind: &str, (row, column): (usize, usize)) -> bool {
    match kind {
        "module" => row >= 16 && column >= 16,
        "row" => row == 13,
        _ => (row as f64 - 12.0).hypot(column as f64 - 14.0) < 2.5,
    }
}

#[test]
fn dead_pixels_with_a_few_stray_counts_are_masked() {
    let folder = scan();
    for (kind, note) in [
        (
            "module",
            "256 pixels hardly ever count (rows 16-31, columns 16-31), unlike those around: masked",
        ),
        (
            "row",
            "32 pixels hardly ever count (row 13), unlike those around: masked",
        ),
        (
            "stop",
            "21 pixels hardly ever count (21 within rows 10-14, columns 12-16), unlike those around: masked",
        ),
    ] {
        let dead = |place: (usize, usize)| is_dead(kind, place);
        // A count in one of 20 frames, and a hot pixel.
        let strays = |frames: &mut ndarray::Array3<f64>| {
            for ((frame, row, column), counts) in frames.indexed_iter_mut() {
                if dead((row, column)) {
                    let stray = (7 * frame + 3 * row + 5 * column).is_multiple_of(20);
                    *counts = f64::from(u8::from(stray));
                }
            }
            if kind == "module" {
                frames.slice_mut(s![.., 20, 21]).fill(9.0);
            }
        };
        written(&folder, "stray.cxi", |frames, _| strays(frames));
        let (output, _, object) = reconstructed(&folder, "stray.cxi", &[]);
        assert!(output.out.contains(note), "{kind}: {output:?}");
        let info = folder.run(&["ptycho", "info", "stray.cxi"]);
        assert!(info.out.contains(note), "{kind}: {info:?}");
        written(&folder, "masked.cxi", |frames, mask| {
            strays(frames);
            for (place, mask) in mask.indexed_iter_mut() {
                *mask = i32::from(dead(place));
            }
        });
        let (output, _, with_mask) = reconstructed(&folder, "masked.cxi", &[]);
        assert!(!output.out.contains("ever count"), "{kind}: {output:?}");
        assert_eq!(object, with_mask, "{kind}");
    }
}

#[test]
fn pupils_are_not_masked_and_the_shadow_of_a_central_stop_is_named() {
    let folder = scan();
    let info = |name: &str, options: &[&str]| {
        let info = folder.run(&[&["ptycho", "info", name][..], options].concat());
        info.well();
        info.out
    };
    let pupil = |name: &str, inside: &dyn Fn(f64, f64) -> bool| {
        written(&folder, name, |frames, _| {
            for ((frame, row, column), counts) in frames.indexed_iter_mut() {
                let (row, column) = (row as f64 - 16.0, column as f64 - 17.0);
                let noise = (7.0 * frame as f64 + 3.0 * row + 5.0 * column).rem_euclid(4.0);
                *counts = if inside(row, column) {
                    4.0 + noise
                } else {
                    0.0
                };
            }
        });
    };
    for (name, inside) in [
        (
            "disc.cxi",
            (|y, x| f64::hypot(y, x) < 8.0) as fn(f64, f64) -> bool,
        ),
        ("square.cxi", |y, x| y.abs() < 8.0 && x.abs() < 7.0),
    ] {
        pupil(name, &inside);
        let out = info(name, &[]);
        assert!(
            !out.contains("ever count") && !out.contains("never count"),
            "{out}"
        );
        assert!(out.contains("bad pixels       0 "), "{out}");
    }
    pupil("ring.cxi", &|y, x| (4.0..9.0).contains(&y.hypot(x)));
    let note = "45 pixels never count (45 within rows 13-19, columns 14-20) symmetrically in the middle of the light";
    let out = info("ring.cxi", &[]);
    assert!(out.contains(&format!("{note}: used as they are")), "{out}");
    assert!(out.contains("bad pixels       0 "), "{out}");
    let out = info("ring.cxi", &["--hot-pixels", "mask"]);
    assert!(out.contains(&format!("{note}: masked")), "{out}");
    assert!(out.contains("bad pixels       45 "), "{out}");
    let out = info("ring.cxi", &["--hot-pixels", "keep"]);
    assert!(!out.contains("never count"), "{out}");
}

#[test]
fn many_bad_frames_are_named() {
    let folder = scan();
    let some = [2, 7, 8, 13, 19, 22, 30, 35];
    for (factor, note) in [
        (0.2, "8 frames (2,7-8,13,19,22,30,35) darker than"),
        (0.5, "8 frames (2,7-8,13,19,22,30,35) darker than"),
        (2.5, "8 frames (2,7-8,13,19,22,30,35) brighter than"),
    ] {
        written(&folder, "many.cxi", |frames, _| {
            for frame in some {
                let mut frame = frames.index_axis_mut(Axis(0), frame);
                frame.mapv_inplace(|counts| (factor * counts).floor());
            }
        });
        let info = folder.run(&["ptycho", "info", "many.cxi"]);
        info.well();
        assert!(info.out.contains(note), "{factor}: {info:?}");
    }
    // A background in some frames is not what the others lack.
    written(&folder, "background.cxi", |frames, _| {
        let most = frames.iter().copied().fold(0.0, f64::max);
        for frame in 10..18 {
            let mut frame = frames.index_axis_mut(Axis(0), frame);
            frame.mapv_inplace(|counts| counts + (0.2 * most).floor());
        }
    });
    let info = folder.run(&["ptycho", "info", "background.cxi"]);
    info.well();
    assert!(
        !info.out.contains("hardly any counts in a part"),
        "{info:?}"
    );
}
