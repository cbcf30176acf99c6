use super::*;
use crate::io::ismrmrd;
use crate::trajectory::Path as Through;
use crate::{SimulateOptions, Simulated, simulate};
use std::path::Path;
use warpstride_files::cfl::{self, DIMENSIONS};

fn simulated(volume: bool) -> Simulated {
    let options = SimulateOptions {
        path: Through::Golden,
        matrix: 16,
        spokes: Some(5),
        samples: Some(12),
        coils: 3,
        snr: None,
        volume,
        seed: 5,
    };
    simulate(&options).unwrap()
}

fn dimensions(of: &[usize]) -> [usize; DIMENSIONS] {
    let mut all = [1; DIMENSIONS];
    all[..of.len()].copy_from_slice(of);
    all
}

/// Writes the trajectory, in cycles per field of view.
fn write_trajectory(path: &Path, kspace: &KSpace, sides: &[usize]) {
    let along = kspace.extent().matrix;
    let values = kspace.trajectory().rows().into_iter().flat_map(move |row| {
        let k = |axis: usize| row.get(axis).map_or(0.0, |k| k * along[2 - axis] as f64);
        [0, 1, 2].map(k).map(Complex::from)
    });
    cfl::write(path, &dimensions(sides), values.collect::<Vec<_>>()).unwrap();
}

/// Files of several images: the samples of image n are those of the simulation times n + 1.
fn files(folder: &Path, made: &Simulated, further: &[(usize, usize)]) -> BartFiles {
    let [samples, trajectory] = ["ksp.cfl", "traj.cfl"].map(|name| folder.join(name));
    let kspace = &made.kspace;
    let mut sides = dimensions(&[1, 12, kspace.count() / 12, kspace.coils()]);
    for (dimension, count) in further {
        sides[*dimension] = *count;
    }
    let images: usize = further.iter().map(|(_, count)| count).product();
    let values = (0..images).flat_map(|image| {
        let factor = (image + 1) as f64;
        kspace.samples().iter().map(move |v| v * factor)
    });
    cfl::write(&samples, &sides, values.collect::<Vec<_>>()).unwrap();
    write_trajectory(&trajectory, kspace, &[3, 12, kspace.count() / 12]);
    let [slices, rows, columns] = kspace.extent().matrix;
    BartFiles {
        samples,
        trajectory,
        matrix: Some(MatrixSize {
            shape: [slices, rows, columns],
            axes: kspace.extent().axes,
        }),
        select: Selection::default(),
        k_unit: None,
        exclude_coils: Vec::new(),
    }
}

fn refusal(files: &BartFiles) -> String {
    let text = read_within(files, None, Memory::available())
        .unwrap_err()
        .to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

/// 16 is a power of two, so that positions in either unit have the same digits.
#[test]
fn samples_and_positions_equal_those_of_ismrmrd() {
    let folder = tempfile::tempdir().unwrap();
    for volume in [false, true] {
        let made = simulated(volume);
        let mut files = files(folder.path(), &made, &[]);
        let path = folder.path().join("raw.h5");
        let recording = ismrmrd::Recording {
            kspace: &made.kspace,
            trajectory: "radial",
            steps: &made.steps,
            truth: None,
        };
        ismrmrd::write(&path, &recording).unwrap();
        let expected = ismrmrd::read(&path, &ismrmrd::ReadOptions::default()).unwrap();
        let found = read_within(&files, None, Memory::available()).unwrap();
        assert_eq!(found.kspace.samples(), expected.kspace.samples());
        assert_eq!(found.kspace.trajectory(), expected.kspace.trajectory());
        assert_eq!(
            found.kspace.extent().matrix,
            expected.kspace.extent().matrix
        );
        let ranges = |of: &KSpaceFile| -> Vec<_> {
            let readouts = of.kspace.readouts().iter();
            readouts.map(|r| r.samples.clone()).collect()
        };
        assert_eq!(ranges(&found), ranges(&expected));
        assert_eq!((found.notes, found.acquisitions), (vec![], 5));
        // A matrix that was not given is as large as |k| demands.
        files.matrix = None;
        let found = read_within(&files, None, Memory::available()).unwrap();
        let [_, rows, columns] = found.kspace.extent().matrix;
        assert!(rows == columns && rows <= 16, "{rows}");
        assert_eq!(found.kspace.extent().axes, if volume { 3 } else { 2 });
        assert!(found.notes[0].contains("--matrix"), "{:?}", found.notes);
    }
}

#[test]
fn one_of_several_images_is_selected_and_averages_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let made = simulated(false);
    // Two echoes, three repetitions, two averages.
    let mut files = files(folder.path(), &made, &[(5, 2), (10, 3), (14, 2)]);
    let read = |files: &BartFiles| read_within(files, None, Memory::available()).unwrap();
    let first = read(&files);
    assert_eq!(first.kspace.count(), 2 * 60);
    let factor = |of: &KSpaceFile, sample: usize| {
        let value = of.kspace.samples()[[1, sample]] / made.kspace.samples()[[1, sample % 60]];
        value.re.round() as usize
    };
    assert_eq!((factor(&first, 7), factor(&first, 67)), (1, 7));
    assert_eq!(first.acquisitions, 60);
    assert!(
        first.notes[2].starts_with("10 of 60 readouts are used"),
        "{:?}",
        first.notes
    );
    files.select = Selection::parse("contrast=1,repetition=2").unwrap();
    let last = read(&files);
    assert_eq!((factor(&last, 7), factor(&last, 67)), (6, 12));
    files.select = Selection::parse("repetition=3").unwrap();
    assert!(refusal(&files).contains("expected repetition=0 to repetition=2, found repetition=3"));
    files.select = Selection::parse("slice=1").unwrap();
    assert!(refusal(&files).contains("expected slice=0, found slice=1"));
    files.select = Selection::default();
    let text = read_within(&files, None, Memory::limited(1000))
        .unwrap_err()
        .to_string();
    assert!(text.contains("memory"), "{text}");
}

#[test]
fn arrays_that_are_no_samples_or_no_trajectory_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made = simulated(false);
    let files = files(folder.path(), &made, &[]);
    let header = |name: &str, sides: &str| {
        let text = format!("# Dimensions\n{sides}\n");
        std::fs::write(folder.path().join(name).with_extension("hdr"), text).unwrap();
    };
    header("ksp", "12 5 1 3");
    let text = refusal(&files);
    assert!(
        text.contains("Cartesian") && text.contains("12 x 5 x 1 x 3"),
        "{text}"
    );
    header("ksp", "1 12 5 1 3");
    assert!(refusal(&files).contains("at most 1 along dimension 4 (MAPS)"));
    header("ksp", "1 5 12 3");
    assert!(refusal(&files).contains("traj.cfl: the array: expected 5 samples of 12 readouts"));
    header("ksp", "1 12 5 3");
    header("traj", "1 36 5");
    assert!(refusal(&files).contains("(3, sample, readout)"));
    header("traj", "3 12 5");
    assert!(read_within(&files, None, Memory::available()).is_ok());

    let small = BartFiles {
        matrix: MatrixSize::parse("16x8"),
        ..files.clone()
    };
    let text = refusal(&small);
    assert!(
        text.contains("kx of sample") && text.contains("−4 to 4"),
        "{text}"
    );
    let volume = folder.path().join("volume");
    std::fs::create_dir(&volume).unwrap();
    let mut files = super::tests::files(&volume, &simulated(true), &[]);
    files.matrix = MatrixSize::parse("16x16");
    assert!(refusal(&files).contains("SLICESxROWSxCOLUMNS"));
    let mut values = vec![Complex::from(0.0); 3 * 60];
    values[3] = Complex::new(1.0, 1.0);
    cfl::write(&files.trajectory, &dimensions(&[3, 12, 5]), values.clone()).unwrap();
    let text = refusal(&files);
    assert!(
        text.contains("kx of sample 1") && text.contains("expected a real number"),
        "{text}"
    );
    // A readout with NaN is left out, on the axis that a plane does not have, too.
    for axis in 0..3 {
        values[3] = Complex::from(0.0);
        values[3 + axis] = Complex::new(f64::NAN, 0.0);
        cfl::write(&files.trajectory, &dimensions(&[3, 12, 5]), values.clone()).unwrap();
        let read = read_within(&files, None, Memory::available()).unwrap();
        assert_eq!(read.kspace.readouts().len(), 4);
        assert_eq!(read.kspace.count(), 48);
        values[3 + axis] = Complex::from(0.0);
    }
    files.matrix = None;
    for k in [0.0, 1e30, f64::INFINITY] {
        let values = vec![Complex::from(k); 3 * 60];
        cfl::write(&files.trajectory, &dimensions(&[3, 12, 5]), values).unwrap();
        assert!(refusal(&files).contains("the largest |k|"));
    }
}
