//! `warpstride jacobi` with bad input and wrong usage: one line of error, no output, no panic.

use super::jacobi::jacobi;
use super::support::{TestFolder, skipped};
use ndarray::Array2;
use warpstride::io::npy;

const SMALL: [&str; 4] = ["--nx", "20", "--ny", "16"];

/// A `.npy` file with an arbitrary header.
fn image(entries: &str, data: &[u8]) -> Vec<u8> {
    let length = (entries.len() as u16).to_le_bytes();
    [
        b"\x93NUMPY\x01\x00".as_slice(),
        &length,
        entries.as_bytes(),
        data,
    ]
    .concat()
}

fn of(kind: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}")
}

#[test]
fn malformed_files_are_errors_as_start_field_and_as_source() {
    let folder = TestFolder::new();
    let data = [0; 4 * 12];
    let nan = f32::NAN.to_le_bytes().repeat(12);
    let cases: [(Vec<u8>, &[&str]); 14] = [
        (Vec::new(), &["expected a NumPy array", "ends within"]),
        (
            b"PK\x03\x04 a zip file".to_vec(),
            &["does not begin with \\x93NUMPY"],
        ),
        (
            image("{'descr': '<f4', 'fo", &data),
            &["a header that NumPy does not write"],
        ),
        (
            image("\u{1}garbage", &data),
            &["a header that NumPy does not write"],
        ),
        (
            image(&"[".repeat(9999), &data),
            &["a header that NumPy does not write"],
        ),
        (
            image(&of("<f4", "(3, 4)"), &data[1..]),
            &["truncated", "copy it again"],
        ),
        (image(&of("<f4", "(3, 4)"), &[0; 49]), &["1 bytes after it"]),
        (
            image(&of("<f4", "(12,)"), &data),
            &["expected rank 2 (row, column), found shape 12"],
        ),
        (
            image(&of("<f4", "(3, 2, 2)"), &data),
            &["expected rank 2 (row, column), found shape 3 x 2 x 2"],
        ),
        (image(&of("<i4", "(3, 4)"), &data), &["<i4", "f32 or f64"]),
        (image(&of("|O", "(3, 4)"), &data), &["|O", "f32 or f64"]),
        (
            image(&of("<f4", "(1000000000, 1000000000)"), &data),
            &["f.npy", "truncated"],
        ),
        (
            image(
                &of("<f4", "(18446744073709551615, 18446744073709551615)"),
                &data,
            ),
            &["memory can address"],
        ),
        (
            image(&of("<f4", "(3, 4)"), &nan),
            &["expected finite values, found NaN at row 0, column 0"],
        ),
    ];
    for (bytes, words) in cases {
        std::fs::write(folder.path("f.npy"), bytes).unwrap();
        for option in ["--restart", "--source"] {
            let output = jacobi(
                &folder,
                &[option, "f.npy", "-o", "out.npy", "--plot", "p.png"],
            );
            output.refused(1, &[&["f.npy: "], words].concat());
            assert_eq!(output.out, "");
            assert_eq!(folder.names(), ["f.npy"]);
        }
    }
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (name, words) in [
        ("none.npy", "cannot be read"),
        ("folder", "not a regular file"),
        ("/dev/zero", "not a regular file"),
    ] {
        jacobi(&folder, &["--restart", name]).refused(1, &[name, words]);
    }
}

#[test]
fn shapes_that_disagree_or_are_too_small_are_errors() {
    let folder = TestFolder::new();
    let write = |name: &str, shape: (usize, usize)| {
        npy::write(&folder.path(name), Array2::<f32>::zeros(shape).view()).unwrap();
    };
    write("a.npy", (16, 20));
    write("b.npy", (16, 21));
    write("thin.npy", (2, 50));
    write("empty.npy", (0, 50));
    let refused = |options: &[&str], words: &[&str]| jacobi(&folder, options).refused(1, words);
    refused(
        &["--restart", "a.npy", "--source", "b.npy"],
        &["b.npy: expected 16 x 20", "as a.npy", "found 16 x 21"],
    );
    refused(
        &["--restart", "a.npy", "--nx", "21"],
        &["a.npy: expected 21 columns", "--nx 21", "found 16 x 20"],
    );
    refused(
        &["--source", "a.npy", "--ny", "20"],
        &["a.npy: expected 20 rows", "--ny 20", "found 16 x 20"],
    );
    refused(&["--source", "thin.npy"], &["thin.npy: ", "at least 3"]);
    refused(&["--restart", "empty.npy"], &["empty.npy: ", "at least 3"]);
    for side in ["0", "1", "2"] {
        jacobi(&folder, &["--nx", side, "--ny", "9"]).refused(2, &["at least 3"]);
        jacobi(&folder, &["--nx", "9", "--ny", side]).refused(2, &["at least 3"]);
    }
    jacobi(&folder, &["--nx", "18446744073709551615"]).refused(
        2,
        &["--nx 18446744073709551615: expected a grid that memory can hold"],
    );
    jacobi(&folder, &["--nx", "100000000", "--ny", "100000000"])
        .refused(1, &["GiB of host memory", "GiB is available", "--nx"]);
    assert_eq!(folder.names(), ["a.npy", "b.npy", "empty.npy", "thin.npy"]);
}

#[test]
fn overflowing_values_are_an_error_and_overwrite_nothing() {
    let folder = TestFolder::new();
    // The sum is 0.
    let large = Array2::from_shape_fn((8, 8), |(y, x)| [f32::MAX, -f32::MAX][(y + x) % 2]);
    npy::write(&folder.path("large.npy"), large.view()).unwrap();
    std::fs::write(folder.path("out.npy"), "older").unwrap();
    let options = [
        "--source",
        "large.npy",
        "-o",
        "out.npy",
        "--boundary",
        "periodic",
    ];
    jacobi(&folder, &options).refused(1, &["the residual norm of sweep", "exceed the range"]);
    assert_eq!(std::fs::read(folder.path("out.npy")).unwrap(), b"older");
}

#[test]
fn wrong_usage_is_an_error() {
    let folder = TestFolder::new();
    let cpu: [(&[&str], &[&str]); 23] = [
        (&["--save-every", "9"], &["--output"]),
        (&["--iterations", "0"], &["--iterations 0", "1 or more"]),
        (
            &["--iterations", "-1"],
            &["--iterations -1: expected a whole number"],
        ),
        (&["--check-every", "0"], &["--check-every 0", "1 or more"]),
        (&["--tolerance", "-1e-9"], &["--tolerance", "0 or more"]),
        (&["--tolerance", "nan"], &["--tolerance NaN"]),
        (&["--tolerance", "inf"], &["--tolerance inf"]),
        (&["--tolerance", "small"], &["--tolerance"]),
        (
            &["--save-every", "-1", "-o", "s.npy"],
            &["--save-every -1", "0 or more"],
        ),
        (
            &["--save-every", "nan", "-o", "s.npy"],
            &["--save-every NaN"],
        ),
        (&["--time-block", "0"], &["--time-block 0", "1 to 8"]),
        (&["--time-block", "9"], &["--time-block 9", "1 to 8"]),
        (&["--threads", "0"], &["--threads 0"]),
        (&["--precision", "f16"], &["f32"]),
        (&["--boundary", "neumann"], &["dirichlet"]),
        (&["--csv", "--json"], &["cannot be used with"]),
        (&["--p2p", "--no-p2p"], &["cannot be used with"]),
        (&["--json-progress", "--quiet"], &["cannot be used with"]),
        (&["--scheme", "events"], &["--scheme", "--backend cpu"]),
        (&["--devices", "0"], &["--devices", "--backend cpu"]),
        (&["--p2p"], &["--p2p", "--backend cpu"]),
        (&["--profile", "t.json"], &["--profile", "--backend cpu"]),
        (&["--efficiency"], &["--efficiency", "--backend cpu"]),
    ];
    for (options, words) in cpu {
        let output = jacobi(&folder, &[&SMALL, options].concat());
        output.refused(2, words);
        assert_eq!(output.out, "");
    }
    let emulator: [(&[&str], &[&str]); 8] = [
        (&["--devices", ""], &["--devices", "commas"]),
        (&["--devices", "0,x"], &["--devices 0,x", "commas"]),
        (&["--devices", "0,-1"], &["--devices 0,-1", "commas"]),
        (
            &["--devices", "0,1,0"],
            &["each device once, found 0 twice"],
        ),
        (&["--devices", "1,2"], &["--devices 1,2: expected 0,1,2"]),
        (&["--devices", "all"], &["--devices all: expected a list"]),
        (
            &["--scheme", "streams", "--time-block", "2"],
            &["--time-block 2", "temporal", "streams does one"],
        ),
        (&["--scheme", "fast"], &["default-stream"]),
    ];
    for (options, words) in emulator {
        jacobi(
            &folder,
            &[&SMALL, options, &["--backend", "emulator"]].concat(),
        )
        .refused(2, words);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn more_devices_than_rows_are_an_error() {
    let folder = TestFolder::new();
    let options = ["--nx", "20", "--ny", "5", "--devices", "0,1,2,3"];
    jacobi(
        &folder,
        &[&options[..], &["--backend", "emulator"]].concat(),
    )
    .refused(
        2,
        &[
            "--devices 0,1,2,3: expected at most 3 for a grid of 5 rows",
            "found 4",
        ],
    );
}

#[test]
fn outputs_that_are_inputs_or_cannot_be_written_are_errors() {
    let folder = TestFolder::new();
    npy::write(&folder.path("a.npy"), Array2::<f32>::zeros((16, 20)).view()).unwrap();
    let before = std::fs::read(folder.path("a.npy")).unwrap();
    for options in [
        ["--restart", "a.npy", "-o", "./a.npy"],
        ["--source", "a.npy", "--plot", "a.npy"],
    ] {
        jacobi(&folder, &options).refused(2, &["a.npy", "another name"]);
    }
    jacobi(
        &folder,
        &[&SMALL[..], &["-o", "b", "--plot", "./b"]].concat(),
    )
    .refused(2, &["--plot ./b: expected another name than -o b"]);
    for (option, name) in [("-o", "f.npy"), ("--plot", "f.png")] {
        let missing = format!("none/{name}");
        jacobi(&folder, &[&SMALL[..], &[option, &missing]].concat())
            .refused(1, &[&missing, "no folder"]);
        std::fs::create_dir(folder.path(name)).unwrap();
        jacobi(&folder, &[&SMALL[..], &[option, name]].concat()).refused(1, &["is a folder"]);
    }
    assert_eq!(std::fs::read(folder.path("a.npy")).unwrap(), before);
    assert_eq!(folder.names(), ["a.npy", "f.npy", "f.png"]);
}

#[test]
fn missing_gpus_are_errors_or_a_note() {
    let folder = TestFolder::new();
    let devices = folder.run(&["devices", "--json"]);
    devices.well();
    let listing: serde_json::Value = serde_json::from_str(&devices.out).unwrap();
    if listing["reason"].is_null() {
        skipped("jacobi without a driver", "this machine has a driver");
        return;
    }
    let run = |options: &[&str]| folder.run(&[&["jacobi"], &SMALL[..], options].concat());
    run(&["--backend", "cuda"]).refused(1, &["--backend cuda: ", "driver"]);
    run(&["--devices", "3"]).refused(1, &["--devices 3: ", "driver"]);
    run(&["--devices", "all"]).refused(1, &["--devices all: ", "driver"]);
    // An option that only GPUs have selects GPUs.
    run(&["--scheme", "graphs"]).refused(1, &["--backend cuda: ", "driver"]);
    // Without such options the CPU is used, with a note.
    let output = run(&[]);
    assert_eq!(
        (output.code, output.err.lines().count()),
        (Some(0), 1),
        "{output:?}"
    );
    assert!(
        output.err.starts_with("note: falling back to the CPU: ") && output.err.contains("driver")
    );
    assert!(output.out.contains("back end"), "{output:?}");
}
