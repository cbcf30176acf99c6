//! Names of outputs that cannot be written are refused before any work; links, and names that are
//! not UTF-8, are files like any other.

use super::support::{TestFolder, names};
use std::path::Path;

const POINTS: &str = "timestamp_s,value\n0,1\n60,2\n120,4\n";
const CURVE: &str = "0.01 10 1\n0.02 9 1\n0.03 7 1\n0.04 5 1\n0.05 3 1\n";

fn inputs() -> TestFolder {
    let folder = TestFolder::with_scan();
    std::fs::write(folder.path("points.csv"), POINTS).unwrap();
    std::fs::write(folder.path("curve.txt"), CURVE).unwrap();
    folder
        .run(&[
            "mri", "simulate", "raw.h5", "--matrix", "32", "--coils", "2",
        ])
        .well();
    folder
}

/// Commands, their options for outputs, and a good name for each.
const OUTPUTS: &[(&str, &[(&str, &str)])] = &[
    (
        "ptycho simulate --frame 32 --positions 12",
        &[("", "a.cxi")],
    ),
    (
        "ptycho reconstruct scan.cxi",
        &[
            ("-o", "a.h5"),
            ("--summary", "a.json"),
            ("--report", "a.html"),
            ("--checkpoint", "a.checkpoint"),
        ],
    ),
    (
        "ptycho resolution scan.cxi",
        &[
            ("--summary", "a.json"),
            ("--report", "a.html"),
            ("--plot", "a.svg"),
        ],
    ),
    ("mri simulate --matrix 32 --coils 2", &[("", "a.h5")]),
    (
        "mri reconstruct raw.h5",
        &[
            ("-o", "a.h5"),
            ("--summary", "a.json"),
            ("--report", "a.html"),
            ("--png", "a.png"),
        ],
    ),
    (
        "sas evaluate sphere",
        &[("-o", "a.csv"), ("-o", "a.h5"), ("--plot", "a.png")],
    ),
    (
        "sas fit sphere curve.txt --fit scale",
        &[
            ("-o", "a.csv"),
            ("--summary", "a.json"),
            ("--report", "a.html"),
            ("--plot", "a.png"),
        ],
    ),
    (
        "jacobi --nx 16 --ny 16 --iterations 10 --backend cpu",
        &[("-o", "a.npy"), ("--plot", "a.png")],
    ),
    (
        "series resample points.csv",
        &[
            ("-o", "a.csv"),
            ("-o", "a.parquet"),
            ("--summary", "a.json"),
            ("--plot", "a.png"),
        ],
    ),
    ("series ingest", &[("", "a.store")]),
    ("series ladder", &[("-o", "a.json")]),
];

/// Runs `command` with an output of this name, and with a required output if it is another one.
fn run(folder: &TestFolder, command: &str, option: &str, name: &str) -> super::support::Output {
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend([option, name].into_iter().filter(|word| !word.is_empty()));
    match command {
        "series ingest" => words.extend(["points.csv", "--policy", "low"]),
        _ if option == "-o" || option.is_empty() => {}
        _ if command.contains("reconstruct") || command.contains("resolution") => {
            words.extend(["-o", "other.h5"])
        }
        _ if command.contains("resample") => words.extend(["-o", "other.csv"]),
        _ => {}
    }
    folder.run(&words)
}

#[test]
fn names_that_no_file_can_have_are_refused_first() {
    let folder = inputs();
    let before = folder.names();
    for (command, outputs) in OUTPUTS {
        for (option, name) in *outputs {
            let ending = Path::new(name).extension().unwrap().to_str().unwrap();
            for (name, reason) in [
                (format!("{name}/"), "it is not the name of a file"),
                (format!("{name}/."), "it is not the name of a file"),
                (format!("none/{name}"), "there is no folder none"),
                (format!("curve.txt/{name}"), "curve.txt is not a folder"),
            ] {
                run(&folder, command, option, &name)
                    .refused(1, &[&format!("{name}: cannot be written: {reason}")]);
            }
            // A hidden file without an ending.
            let hidden = format!("none/.{ending}");
            let output = run(&folder, command, option, &hidden);
            let free = ["--checkpoint", ""].contains(option) && output.code == Some(1);
            output.refused(if free { 1 } else { 2 }, &[&hidden]);
            if !(command.contains("resample") && *option == "-o") {
                run(&folder, command, option, "-").refused(2, &["expected the name of a file"]);
            }
            assert_eq!(folder.names(), before, "{command} {option}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_to_files_that_do_not_exist_are_followed() {
    use std::os::unix::fs::symlink;
    let folder = inputs();
    std::fs::create_dir(folder.path("far")).unwrap();
    for (command, outputs) in OUTPUTS {
        // These take seconds; their outputs are written by the same routine.
        if ["ladder", "reconstruct", "resolution", "fit"]
            .iter()
            .any(|long| command.contains(long))
        {
            continue;
        }
        for (option, name) in *outputs {
            let (link, second) = (
                folder.path(name),
                folder.path(&format!("far/second-{name}")),
            );
            symlink(format!("far/second-{name}"), &link).unwrap();
            symlink(format!("../far/real-{name}"), &second).unwrap();
            let output = run(&folder, command, option, name);
            assert_eq!(
                output.code,
                Some(0),
                "{command} {option} {name}: {output:?}"
            );
            for link in [link, second] {
                assert!(
                    link.symlink_metadata().unwrap().is_symlink(),
                    "{command} {name}"
                );
                std::fs::remove_file(link).unwrap();
            }
            let real = format!("real-{name}");
            assert_eq!(names(&folder.path("far")), [&*real], "{command} {name}");
            std::fs::remove_file(folder.path("far").join(real)).unwrap();
            for other in ["other.csv", "other.h5"] {
                let _ = std::fs::remove_file(folder.path(other));
            }
        }
    }
    let result = |options: &[&str]| {
        let fixed = ["series", "resample", "points.csv"];
        folder.run(&[&fixed, options].concat())
    };
    symlink("none/a.csv", folder.path("lost.csv")).unwrap();
    result(&["-o", "lost.csv"])
        .refused(1, &["lost.csv: cannot be written: there is no folder none"]);
    symlink("loop.csv", folder.path("loop.csv")).unwrap();
    result(&["-o", "loop.csv"])
        .refused(1, &["loop.csv: cannot be written: it is a link to itself"]);
    // Two names of the same file.
    symlink("same.csv", folder.path("link.png")).unwrap();
    result(&["-o", "same.csv", "--plot", "link.png"])
        .refused(2, &["expected another name than -o same.csv"]);
}

/// Linux file systems allow any bytes in names.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_are_read_and_written() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let folder = TestFolder::with_scan();
    let odd = |name: &str| {
        let bytes: Vec<u8> = name
            .bytes()
            .map(|b| if b == b'?' { 0xff } else { b })
            .collect();
        OsString::from_vec(bytes)
    };
    let run = |words: &str| {
        let mut command = folder.command();
        command.args(words.split(' ').map(&odd));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
        output.stdout
    };
    std::fs::create_dir(folder.path("plain").with_file_name(odd("d?"))).unwrap();
    std::fs::rename(
        folder.path("scan.cxi"),
        folder.path("x").with_file_name(odd("s?.cxi")),
    )
    .unwrap();
    let info = run("ptycho info s?.cxi");
    assert!(String::from_utf8_lossy(&info).contains("s\u{fffd}.cxi"));
    run(
        "ptycho reconstruct s?.cxi --engine dm:2 --backend cpu -o d?/r?.h5 --summary d?/s.json --quiet",
    );
    run("ptycho compare d?/r?.h5 s?.cxi");
    run("mri simulate m?.h5 --matrix 32 --coils 2");
    run("mri reconstruct m?.h5 -o i?.h5 --iterations 2 --quiet");
    run("sas evaluate sphere --q 0.01:0.1:9 -o c?.h5 --quiet");
    run("sas info c?.h5");
    std::fs::write(folder.path("x").with_file_name(odd("p?.csv")), POINTS).unwrap();
    run("series resample p?.csv -o p?.parquet --quiet");
    run(
        "series resample p?.parquet -o again?.csv --series-columns series,granularity_s,aggregate --quiet",
    );
    for name in [
        &b"d\xff/r\xff.h5"[..],
        b"d\xff/r\xff-phase.png",
        b"i\xff.h5",
        b"p\xff.parquet",
    ] {
        let path = folder.path("x").with_file_name(OsStr::from_bytes(name));
        assert!(path.is_file(), "{}", path.display());
    }
}

/// Names of up to 255 bytes, the most that a file system allows, with letters of several bytes.
#[cfg(unix)]
#[test]
fn the_longest_names_are_written() {
    let folder = TestFolder::new();
    for name in [
        format!("{}.npy", "x".repeat(232)),
        format!("{}.npy", "x".repeat(240)),
        format!("{}.npy", "x".repeat(251)),
        format!("{}x.npy", "é".repeat(125)),
    ] {
        let options = [
            "jacobi",
            "--nx",
            "8",
            "--ny",
            "8",
            "--backend",
            "cpu",
            "-o",
            &name,
        ];
        folder.run(&[&options[..], &["--quiet"]].concat()).well();
        assert_eq!(folder.names(), [name.as_str()]);
        std::fs::remove_file(folder.path(&name)).unwrap();
    }
    let name = format!("{}.npy", "x".repeat(252));
    let options = ["jacobi", "--nx", "8", "--ny", "8", "-o", &name];
    assert_eq!(folder.run(&options).code, Some(1));
    assert!(folder.names().is_empty());
}
