//! One form of error message in all commands: the option or the file, what was expected, and what
//! was found. Exit code 2 if the arguments alone are wrong, else 1.

use super::support::TestFolder;

/// Runs each command line and compares the exit code and the whole sentence. Arguments are
/// separated by spaces; a sentence that ends in `…` is the beginning of the message.
#[track_caller]
fn says(folder: &TestFolder, rows: &[(&str, i32, &str)]) {
    let before = folder.names();
    for (arguments, code, sentence) in rows {
        let output = folder.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, Some(*code), "{arguments}: {output:?}");
        assert_eq!(output.out, "", "{arguments}");
        let message = output.err.strip_prefix("warpstride: ").unwrap_or_default();
        let message = message.strip_suffix('\n').unwrap_or(message);
        match sentence.strip_suffix('…') {
            Some(start) => assert!(message.starts_with(start), "{arguments}: {message}"),
            None => assert_eq!(message, *sentence, "{arguments}"),
        }
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

#[test]
fn values_out_of_range_name_their_option() {
    let folder = TestFolder::with_scan();
    let rows = [
        (
            "ptycho reconstruct scan.cxi -o a.h5 --probe-modes 0",
            2,
            "--probe-modes 0: expected 1 to 64",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --seed 18446744073709551615",
            2,
            "--seed 18446744073709551615: expected at most 9223372036854775807",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --set dm.alpha=nan",
            2,
            "--set dm.alpha=nan: expected 0.001 to 2",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --set dm.alpha=high",
            2,
            "--set dm.alpha=high: expected a number",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --set data.frames=[5,2]",
            2,
            "--set data.frames=[5,2]: expected [first, end] with first below end",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --set data.frames=[0,13]",
            2,
            "--set data.frames=[0,13]: scan.cxi: expected [first, end] with 0 <= first < end <= 12, found [0, 13]",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --engine dm:99999999999999999999",
            2,
            "--engine dm:99999999999999999999: expected 1 to 10000000 iterations",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --checkpoint-every 1e300",
            2,
            "--checkpoint-every 1e300: expected seconds, 0 or more and below 1e19",
        ),
        (
            "ptycho simulate a.cxi --photons 1e300",
            2,
            "--photons 1e300: expected 1 to 1e15",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --tolerance 1e-30",
            2,
            "--tolerance 1e-30: expected at least 1e-6 with --precision f32",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --precision f64 --tolerance 1e-30",
            2,
            "--tolerance 1e-30: expected at least 1e-13 with --precision f64",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --lambda -1",
            2,
            "--lambda -1: expected a number, 0 or more",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --select row=4",
            2,
            "--select row=4: expected COUNTER=NUMBER, COUNTER=all or all, …",
        ),
        (
            "jacobi --tolerance -1e300",
            2,
            "--tolerance -1e300: expected a number, 0 or more",
        ),
        ("jacobi --nx 2", 2, "--nx 2: expected at least 3"),
        (
            "jacobi --iterations -1",
            2,
            "--iterations -1: expected a whole number, 0 or more",
        ),
        (
            "jacobi --nx many",
            2,
            "--nx many: expected a whole number, 0 or more",
        ),
        (
            "jacobi --backend gpu",
            2,
            "--backend gpu: expected auto, cpu, cuda or emulator",
        ),
        (
            "jacobi --backend cpu --devices 0",
            2,
            "--devices: expected --backend cuda or emulator, found --backend cpu",
        ),
        (
            "jacobi --backend emulator --devices 0,0",
            2,
            "--devices 0,0: expected each device once, found 0 twice",
        ),
        (
            "jacobi --backend emulator --ny 7 --devices 0,1,2,3,4,5,6,7,8,9",
            2,
            "--devices 0,1,2,3,4,5,6,7,8,9: expected at most 5 for a grid of 7 rows, …",
        ),
        (
            "jacobi --backend emulator --scheme streams --time-block 4",
            2,
            "--time-block 4: expected 1, as --scheme streams does one sweep a pass (temporal does several)",
        ),
        (
            "sas evaluate sphere --set radius=-1e300",
            2,
            "--set radius=-1e300: expected 0 to inf for radius of sphere",
        ),
        (
            "sas evaluate sphere --set radus=5",
            2,
            "--set radus=5: expected a parameter of sphere (did you mean radius?): scale, …",
        ),
        (
            "series resample a.csv -o o.csv --granularity 0s",
            2,
            "--granularity 0s: expected a length such as …",
        ),
        (
            "series resample a.csv -o o.csv --aggregate foo",
            2,
            "--aggregate foo: expected count, sum, …",
        ),
    ];
    says(&folder, &rows);
}

#[test]
fn too_little_memory_is_answered_with_advice_for_the_back_end() {
    let folder = TestFolder::new();
    let options = ["jacobi", "--nx", "100000000", "--ny", "100000000"];
    for (backend, more) in [("cpu", false), ("emulator", false)] {
        let output = folder.run(&[&options[..], &["--backend", backend]].concat());
        output.refused(1, &["of host memory", "take a smaller grid (--nx, --ny)"]);
        assert_eq!(output.err.contains("--devices"), more, "{output:?}");
    }
}

#[test]
fn recipes_are_refused_with_file_line_and_key() {
    let folder = TestFolder::with_scan();
    for (text, sentence) in [
        (
            "sead = 3",
            "r.toml: line 1: expected one of the keys seed, …",
        ),
        (
            "\nseed = \"three\"",
            "r.toml: line 2: seed: expected a whole number, 0 or more, found \"three\"",
        ),
        (
            "[probe]\nsource = \"lens\"",
            "r.toml: line 2: probe.source: expected auto, file, mean-pattern, aperture, zone-plate, gaussian or aberrations, found \"lens\"",
        ),
        (
            "[[engines]]\nname = \"dm\"",
            "r.toml: line 1: engines: expected the key iterations, found none",
        ),
        (
            "seed = three",
            "r.toml: line 1: expected valid TOML, found seed = three (…",
        ),
        (
            "probe_modes = 0",
            "r.toml: line 1: probe_modes: expected 1 to 64, found 0",
        ),
        (
            "[data]\nframes = [0, 13]",
            "r.toml: data.frames: scan.cxi: expected [first, end] with 0 <= first < end <= 12, found [0, 13]",
        ),
    ] {
        std::fs::write(folder.path("r.toml"), text).unwrap();
        let command = "ptycho reconstruct scan.cxi -o a.h5 --recipe r.toml";
        says(&folder, &[(command, 1, sentence)]);
        says(
            &folder,
            &[("ptycho info scan.cxi --recipe r.toml", 1, sentence)],
        );
    }
    std::fs::write(folder.path("a.csv"), "timestamp_s,value\n0,1\n").unwrap();
    for (text, sentence) in [
        (
            "back_window = 1.5",
            "p.toml: line 1: back_window: expected a whole number, 0 or more, found 1.5",
        ),
        (
            "back_window = 1",
            "p.toml: expected the key aggregates, found none",
        ),
    ] {
        std::fs::write(folder.path("p.toml"), text).unwrap();
        let command = "series ingest a.store a.csv --policy p.toml";
        says(&folder, &[(command, 1, sentence)]);
    }
}

#[test]
fn files_that_cannot_be_used_are_refused_with_the_reason() {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("empty.h5"), "").unwrap();
    std::fs::write(folder.path("ok.csv"), "").unwrap();
    let rows = [
        (
            "ptycho info empty.h5",
            1,
            "empty.h5: expected an HDF5 file, found an empty file",
        ),
        (
            "mri info ok.csv",
            1,
            "ok.csv: expected an HDF5 file, found an empty file",
        ),
        (
            "ptycho reconstruct scan.cxi -o none/a.h5",
            1,
            "-o none/a.h5: cannot be written: there is no folder none",
        ),
        (
            "ptycho simulate ok.csv/a.cxi",
            1,
            "ok.csv/a.cxi: cannot be written: ok.csv is not a folder",
        ),
        (
            "demo -o ok.csv",
            1,
            "-o ok.csv: expected a folder, found a file",
        ),
        (
            "ptycho reconstruct scan.cxi -o scan.cxi",
            2,
            "-o scan.cxi: expected another name than the input scan.cxi",
        ),
        (
            "jacobi -o a.npy --plot a.npy",
            2,
            "--plot a.npy: expected another name than -o a.npy",
        ),
    ];
    says(&folder, &rows);
    if std::path::Path::new("/proc/self").exists() {
        let row = (
            "ptycho reconstruct scan.cxi -o /proc/x.h5",
            1,
            "-o /proc/x.h5: cannot be written: no file can be created in the folder /proc",
        );
        says(&folder, &[row]);
    }
}

#[test]
fn a_name_that_means_another_format_is_refused() {
    let folder = TestFolder::with_scan();
    let hdf5 = ".h5 (an HDF5 file)";
    for (arguments, expected) in [
        ("ptycho simulate|a.nii.gz", ".cxi (an HDF5 file)"),
        ("ptycho reconstruct scan.cxi -o|a.png", hdf5),
        ("ptycho reconstruct scan.cxi -o|a.npy", hdf5),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --summary|a.csv",
            ".json (JSON)",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --report|r.pdf",
            ".html (an HTML page)",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --profile|t.csv",
            ".json (JSON)",
        ),
        (
            "ptycho reconstruct scan.cxi -o a.h5 --checkpoint|c.h5",
            ".checkpoint (a checkpoint)",
        ),
        ("mri simulate|a.dcm", hdf5),
        (
            "mri reconstruct scan.cxi -o|x.jpg",
            ".h5 (an HDF5 file) or .npy (a NumPy array) or .cfl (a BART array) or .nii (a NIfTI file)",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --png|y.gif",
            ".png (a picture)",
        ),
        (
            "mri reconstruct scan.cxi -o a.h5 --summary|s.txt",
            ".json (JSON)",
        ),
        (
            "sas evaluate sphere -o|i.npy",
            ".csv (text) or .h5 (NXcanSAS)",
        ),
        ("sas evaluate sphere --plot|i.jpg", ".png (a picture)"),
        (
            "sas fit sphere scan.cxi --fit scale --report|r.h5",
            ".html (an HTML page)",
        ),
        ("jacobi -o|f.txt", ".npy (a NumPy array)"),
        ("jacobi --plot|f.jpg", ".png (a picture)"),
        ("jacobi --profile|t.csv", ".json (JSON)"),
        (
            "series resample a.csv -o|o.json",
            ".csv (text) or .parquet (Parquet)",
        ),
        (
            "series resample a.csv -o o.csv --plot|p.svg",
            ".png (a picture)",
        ),
        ("series ladder -o|l.csv", ".json (JSON)"),
        ("series ingest|m.csv", ".store (a store of series)"),
    ] {
        let (options, name) = arguments.split_once('|').unwrap();
        let option = options.rsplit(' ').next().unwrap();
        let label = if option.starts_with('-') {
            format!("{option} {name}")
        } else {
            name.to_owned()
        };
        let ending = name.split_once('.').unwrap().1;
        let sentence = format!("{label}: expected a name that ends in {expected}, found .{ending}");
        let mut command = format!("{options} {name}");
        if option == "ingest" {
            command += " a.csv --policy low";
        }
        says(&folder, &[(&command, 2, &sentence)]);
    }
    let row = (
        "mri reconstruct scan.cxi -o image",
        2,
        "-o image: expected a name that ends in .h5 (an HDF5 file) or .npy (a NumPy array) or .cfl (a BART array) or .nii (a NIfTI file), found no ending",
    );
    says(&folder, &[row]);
}
