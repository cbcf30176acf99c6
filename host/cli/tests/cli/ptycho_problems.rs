//! Doubtful scans are named: counts that are not photon counts, frames that do not belong together,
//! illuminations and frames of one level.

use super::ptycho_doubtful::{problems, reconstructed, scan, written};
use super::ptycho_remedies::npy;
use super::support::{STARTING, TestFolder};
use hdf5_metno as hdf5;
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;
use std::sync::PoisonError;

const POSITIONS: &str = "/entry_1/sample_1/geometry_1/translation";
const ILLUMINATION: &str = "/entry_1/instrument_1/source_1/illumination";

/// The problems that `info` finds in `name`, in one text.
fn found(folder: &TestFolder, name: &str, options: &[&str]) -> String {
    let info = folder.run(&[&["ptycho", "info", name, "--json"], options].concat());
    info.well();
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    problems(&info).join("; ")
}

/// Changes the file `raw.cxi`, a copy of `scan.cxi` without its truth.
fn changed(folder: &TestFolder, change: impl FnOnce(&hdf5::File)) {
    std::fs::copy(folder.path("scan.cxi"), folder.path("raw.cxi")).unwrap();
    let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = hdf5::File::open_rw(folder.path("raw.cxi")).unwrap();
    file.unlink("/simulation").unwrap();
    change(&file);
}

#[test]
fn normalised_counts_are_warned_of_unless_the_power_bound_is_off() {
    let folder = scan();
    let expected = "do not look like numbers of photons";
    for scale in [0.2, 1.0] {
        written(&folder, "raw.cxi", |frames, _| {
            let max = frames.iter().copied().fold(0.0, f64::max);
            frames.mapv_inplace(|v| v / max * scale);
        });
        let text = found(&folder, "raw.cxi", &[]);
        assert!(
            text.contains(expected) && text.contains("--set dm.power_bound=off"),
            "{text}"
        );
        let (output, summary, _) = reconstructed(&folder, "raw.cxi", &[]);
        assert!(
            output.out.contains("warning: the counts (up to"),
            "{output:?}"
        );
        assert!(problems(&summary).join("; ").contains(expected));
        let off = ["--set", "dm.power_bound=off"];
        let (output, summary, _) = reconstructed(&folder, "raw.cxi", &off);
        assert!(!output.out.contains(expected), "{output:?}");
        assert!(!problems(&summary).join("; ").contains(expected));
        // Another engine still has its bound.
        let engines = ["--engine", "dm:9", "--engine", "raar:9"];
        let two = [&engines[..], &off].concat();
        assert!(found(&folder, "raw.cxi", &two).contains("--set raar.power_bound=off"));
    }
    // Counts of a calibrated detector are fractions, too, but strong enough.
    written(&folder, "raw.cxi", |frames, _| {
        frames.mapv_inplace(|v| v * 1.07)
    });
    assert_eq!(found(&folder, "raw.cxi", &[]), "");
}

#[test]
fn frames_that_do_not_belong_together_are_named() {
    let folder = scan();
    let far = 1e-4;
    for (frames, expected) in [
        (
            7..8,
            "1 frame so far from all others that its illumination overlaps none of them: 7",
        ),
        (
            20..40,
            "the scan consists of 2 groups of frames that do not overlap (frames in each: 20, 20)",
        ),
    ] {
        changed(&folder, |file| {
            let dataset = file.dataset(POSITIONS).unwrap();
            let mut positions: Array2<f64> = dataset.read().unwrap();
            positions.slice_mut(s![frames, 0]).mapv_inplace(|x| x + far);
            dataset.write(&positions).unwrap();
        });
        let text = found(&folder, "raw.cxi", &[]);
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(found(&folder, "scan.cxi", &[]), "");
}

#[test]
fn identical_and_few_frames_are_named() {
    let folder = scan();
    written(&folder, "raw.cxi", |frames, _| {
        let first = frames.index_axis(Axis(0), 0).to_owned();
        for mut frame in frames.outer_iter_mut() {
            frame.assign(&first);
        }
    });
    let text = found(&folder, "raw.cxi", &[]);
    let expected = "39 frames with exactly the counts of an earlier frame: 1, 2, 3, 4, 5, …";
    assert!(text.contains(expected), "{text}");
    for (range, expected) in [("[0, 3]", "the scan has 3 frames"), ("[0, 5]", "")] {
        let text = found(
            &folder,
            "scan.cxi",
            &["--set", &format!("data.frames={range}")],
        );
        assert!(
            text.contains(expected) && text.is_empty() == expected.is_empty(),
            "{text}"
        );
    }
}

#[test]
fn flat_illuminations_and_thresholded_frames_are_named() {
    let folder = scan();
    changed(&folder, |file| {
        let dataset = file.dataset(ILLUMINATION).unwrap();
        let shape = dataset.shape();
        let flat = ndarray::ArrayD::from_elem(shape, Complex::<f64>::from(1.0));
        dataset.write(flat.view()).unwrap();
    });
    let text = found(&folder, "raw.cxi", &[]);
    assert!(
        text.contains("the illumination in the file is 1.0 times as strong at the border"),
        "{text}"
    );
    written(&folder, "raw.cxi", |frames: &mut Array3<f64>, _| {
        let mut sorted = frames.iter().copied().collect::<Vec<_>>();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        frames.mapv_inplace(|v| f64::from(v > median));
    });
    let text = found(&folder, "raw.cxi", &[]);
    assert!(
        text.contains("of the pixels have the largest count, 1:"),
        "{text}"
    );
}

/// The command that `info` prints for frames alone runs, whatever else they need.
#[test]
fn the_printed_command_runs_for_corners_and_near_fields() {
    let folder = TestFolder::new();
    for (file, option, at) in [
        ("corner.npy", &[][..], 0),
        ("near.npy", &["--near-field"], 8),
    ] {
        let counts = |n: usize| {
            let [frame, row, column] = [n / 256, n / 16 % 16, n % 16];
            let far = [row, column]
                .map(|place| (place + 24 - at) % 16)
                .map(|x| x.abs_diff(8));
            (2000 / (1 + far[0].pow(2) + far[1].pow(2)) + (frame * 7 + n) % 5) as u16
        };
        let bytes: Vec<u8> = (0..12 * 256)
            .flat_map(|n| counts(n).to_le_bytes())
            .collect();
        std::fs::write(folder.path(file), npy("<u2", false, &[12, 16, 16], &bytes)).unwrap();
        let info = folder.run(&[&["ptycho", "info", file][..], option].concat());
        let line = info
            .out
            .lines()
            .find(|line| line.starts_with("command"))
            .unwrap();
        let command = line.split("this runs: ").nth(1).unwrap();
        assert_eq!(command.contains("--centre shifted"), at == 0, "{command}");
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let run = [&words[..], &["--engine", "rpie:1", "--backend", "cpu"]].concat();
        assert_eq!(folder.run(&run).code, Some(0), "{command}");
        std::fs::remove_file(folder.path("result.h5")).unwrap();
    }
}
