use super::*;
use crate::data::{Extent, KSpace, Readout};
use crate::io::bart::MatrixSize;
use crate::io::images;
use crate::trajectory::Path as Through;
use crate::{SimulateOptions, simulate};
use ndarray::{Array2, Axis};
use num_complex::Complex;
use proptest::prelude::*;
use std::path::PathBuf;

#[expect(unreachable_pub, reason = "the fuzz target takes it from there")]
#[path = "../../../../fuzz/src/acquisitions.rs"]
mod acquisitions;

fn simulated(volume: bool) -> crate::Simulated {
    let options = SimulateOptions {
        path: Through::Spiral,
        matrix: 12,
        spokes: Some(2),
        samples: Some(30),
        coils: 3,
        snr: Some(10.0),
        volume,
        seed: 5,
    };
    simulate(&options).unwrap()
}

fn recording(of: &crate::Simulated) -> Recording<'_> {
    Recording {
        kspace: &of.kspace,
        trajectory: "spiral",
        steps: &of.steps,
        truth: Some(&of.truth),
    }
}

#[test]
fn written_files_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    for volume in [false, true] {
        let made = simulated(volume);
        write(&path, &recording(&made)).unwrap();
        let read = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(read.kspace.samples(), made.kspace.samples());
        assert_eq!(read.kspace.trajectory(), made.kspace.trajectory());
        let (found, expected) = (read.kspace.extent(), made.kspace.extent());
        assert_eq!((found.matrix, found.axes), (expected.matrix, expected.axes));
        let views = [found, expected].map(|e| e.field_of_view.unwrap());
        for (a, b) in views[0].iter().zip(views[1]) {
            assert!((a / b - 1.0).abs() < 1e-12);
        }
        assert_eq!(read.trajectory, "spiral");
        assert_eq!((read.left_out, read.notes), (vec![], Vec::<String>::new()));
        let times = read.kspace.times().unwrap();
        assert!((times[3] - 12e-6).abs() < 1e-12);
        assert_eq!(images::read(&path).unwrap(), made.truth.image);
        let maps = images::read_coil_maps(&path, Memory::available()).unwrap();
        assert_eq!(maps.index_axis(Axis(0), 0), made.truth.coil_maps);
    }
}

/// A file of one readout along kx, whose header has the given spaces.
fn with_spaces(encoded: [usize; 4], recon: [usize; 4]) -> KSpaceFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let [slices, side] = [encoded[2], encoded[0]];
    let axes = if slices > 1 { 3 } else { 2 };
    let positions = Array2::from_shape_fn((8, axes), |(sample, axis)| {
        if axis == 0 {
            sample as f64 / 16.0 - 0.25
        } else {
            0.0
        }
    });
    let kspace = KSpace::new(
        Extent {
            matrix: [slices, side, side],
            axes,
            field_of_view: None,
        },
        positions,
        Array2::from_elem((1, 8), Complex::new(1.0, 0.0)),
        vec![Readout {
            samples: 0..8,
            acquisition: 0,
            interval: 0.0,
            discarded: 0,
        }],
    )
    .unwrap();
    let of = Recording {
        kspace: &kspace,
        trajectory: "other",
        steps: &[],
        truth: None,
    };
    write(&path, &of).unwrap();
    let space = |name: &str, [x, y, z, view]: [usize; 4]| {
        format!(
            "<{name}><matrixSize><x>{x}</x><y>{y}</y><z>{z}</z></matrixSize><fieldOfView_mm><x>{view}</x><y>{view}</y><z>{view}</z></fieldOfView_mm></{name}>"
        )
    };
    let text = format!(
        "<ismrmrdHeader><encoding>{}{}</encoding></ismrmrdHeader>",
        space("encodedSpace", encoded),
        space("reconSpace", recon)
    );
    let file = hdf5_metno::File::open_rw(&path).unwrap();
    file.unlink("dataset/xml").unwrap();
    warpstride_files::output::text(&file, "dataset/xml", &text).unwrap();
    file.close().unwrap();
    read(&path, &ReadOptions::default()).unwrap()
}

fn reach(of: &KSpaceFile) -> f64 {
    of.kspace.trajectory().column(0)[0]
}

#[test]
fn the_image_has_the_size_and_pixels_of_recon_space() {
    // Oversampled: twice the field of view with the same pixels.
    let read = with_spaces([32, 32, 1, 400], [16, 16, 1, 200]);
    assert_eq!(read.kspace.extent().matrix, [1, 16, 16]);
    assert_eq!(reach(&read), -0.25);
    assert!(read.notes.iter().any(|n| n.contains("oversampled")));
    // Finer pixels: the same positions are fewer cycles per pixel.
    let read = with_spaces([16, 16, 1, 200], [32, 32, 1, 200]);
    assert_eq!(read.kspace.extent().matrix, [1, 32, 32]);
    assert_eq!(reach(&read), -0.125);
    // Coarser pixels that still suffice for the measured resolution.
    let read = with_spaces([32, 32, 1, 200], [16, 16, 1, 200]);
    assert_eq!(read.kspace.extent().matrix, [1, 16, 16]);
    assert_eq!(reach(&read), -0.5);
    // Coarser than the measured resolution: no samples are discarded.
    let read = with_spaces([32, 32, 1, 200], [8, 8, 1, 200]);
    assert_eq!(read.kspace.extent().matrix, [1, 32, 32]);
    assert_eq!(reach(&read), -0.25);
    assert!(
        read.notes
            .iter()
            .any(|n| n.contains("larger than the measured resolution"))
    );
    // A volume whose image has only one slice according to the header.
    let read = with_spaces([16, 16, 4, 200], [16, 16, 1, 200]);
    assert_eq!(read.kspace.extent().matrix, [4, 16, 16]);
}

/// A temporary folder, in memory if possible: writing thousands of files to disk takes minutes.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// Reads `path` within a small memory limit; if it can be read, it must survive a round trip
/// through another file.
fn exercise(path: &Path, again: &Path) {
    let memory = Memory::limited(8 << 20);
    for select in [
        Selection::default(),
        Selection::default().combine("repetition").unwrap(),
        Selection::parse("all").unwrap(),
    ] {
        let mut options = ReadOptions {
            select,
            ..ReadOptions::default()
        };
        let images = images_within(path, &options, memory).unwrap_or_default();
        options.image = images.last().copied();
        match read_within(path, &options, memory) {
            Err(e) => {
                let text = e.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "{text}");
            }
            Ok(read) => {
                let of = Recording {
                    kspace: &read.kspace,
                    trajectory: &read.trajectory,
                    steps: &[],
                    truth: None,
                };
                write(again, &of).unwrap();
                let back = super::read(again, &ReadOptions::default()).unwrap();
                assert_eq!(back.kspace.samples(), read.kspace.samples());
            }
        }
    }
    let _ = images::read_within(path, memory);
    let _ = images::read_coil_maps(path, memory);
    let _ = images::read_field(path, memory);
}

#[test]
fn default_acquisitions_make_a_valid_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    for choices in [vec![], vec![0; 300]] {
        acquisitions::build(&path, &choices).unwrap();
        let read = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!((read.kspace.coils(), read.kspace.count()), (2, 24));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_acquisitions_are_read_or_rejected(
        choices in prop::collection::vec(prop_oneof![8 => Just(0_u8), 1 => any::<u8>()], 0..200),
    ) {
        let folder = folder();
        let path = folder.path().join("a.h5");
        if acquisitions::build(&path, &choices).is_ok() {
            exercise(&path, &folder.path().join("again.h5"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sequences of variable length, and their heaps, changed in the file.
    #[test]
    fn any_sequences_are_read_or_rejected(choices in prop::collection::vec(any::<u8>(), 6..30)) {
        let folder = folder();
        let path = folder.path().join("a.h5");
        acquisitions::build_with_changed_sequences(&path, &choices).unwrap();
        exercise(&path, &folder.path().join("again.h5"));
    }
}

/// The header may be any text.
#[test]
fn a_header_with_very_many_attributes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let attributes: String = (0..300).map(|number| format!(" a{number}=''")).collect();
    let text = format!("<ismrmrdHeader{attributes}/>");
    acquisitions::build_with_header(&path, &text).unwrap();
    let error = read(&path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("256 attributes"), "{error}");
}

/// Files with a few bytes changed, from a fixed seed; `WARPSTRIDE_MUTATIONS` sets their number. The
/// fuzz target does this for longer.
#[test]
fn changed_bytes_are_read_or_rejected() {
    use rand::RngExt;
    use rand::SeedableRng;
    let rounds = std::env::var("WARPSTRIDE_MUTATIONS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(400_usize);
    let folder = folder();
    let path: PathBuf = folder.path().join("a.h5");
    let mut images = Vec::new();
    write(&path, &recording(&simulated(false))).unwrap();
    images.push(std::fs::read(&path).unwrap());
    acquisitions::build(&path, &[]).unwrap();
    images.push(std::fs::read(&path).unwrap());
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    for round in 0..rounds {
        let mut image = images[round % images.len()].clone();
        for _ in 0..random.random_range(1..9) {
            let at = random.random_range(0..image.len());
            image[at] = match random.random_range(0..4) {
                0 => 0xff,
                1 => 0,
                2 => image[at] ^ (1 << random.random_range(0..8)),
                _ => random.random(),
            };
        }
        std::fs::write(&path, &image).unwrap();
        exercise(&path, &folder.path().join("again.h5"));
    }
}

#[test]
fn kz_under_a_header_without_z_is_in_pixels_of_x() {
    let space = |thickness: f64| header::Space {
        matrix: [32, 32, 1],
        field_of_view: Some([0.24, 0.24, thickness]),
    };
    let encoded = |thickness: f64, matrix: &str, has_kz: bool| {
        let header = header::Header {
            encoded: Some(space(thickness)),
            recon: None,
            trajectory: String::new(),
            centre_partition: None,
            encodings: 1,
        };
        let mut notes = Vec::new();
        let matrix = MatrixSize::parse(matrix);
        let found = assemble::with_matrix(&header, matrix, has_kz, &mut notes);
        let view = found.recon.unwrap().field_of_view.unwrap();
        (found.encoded.unwrap().matrix[2], view[2], notes.len())
    };
    for matrix in ["32x32x32", "48x48x48", "64x32x32"] {
        assert_eq!(encoded(0.24, matrix, true), (32, 0.24, 1), "{matrix}");
        assert_eq!(encoded(0.12, matrix, true), (16, 0.12, 1), "{matrix}");
        // The thickness of a slice is that of no volume.
        assert_eq!(encoded(0.005, matrix, true), (32, 0.24, 1), "{matrix}");
    }
    // Partitions are as many as asked for, and a plane has none.
    assert_eq!(encoded(0.24, "8x32x32", false), (8, 0.24, 0));
    assert_eq!(encoded(0.005, "48x48", true), (1, 0.005, 0));
}

#[test]
fn kinds_that_are_left_out_agree_with_their_number() {
    let text = |acquisitions, what: &str| {
        let what = what.to_owned();
        LeftOut { what, acquisitions }.to_string()
    };
    let without = "acquisitions without samples";
    assert_eq!(text(1, without), "1 acquisition without samples");
    assert_eq!(text(2, without), "2 acquisitions without samples");
    assert_eq!(text(1, "noise scans"), "1 noise scan");
    assert_eq!(
        text(1, "readouts of another set"),
        "1 readout of another set"
    );
}
