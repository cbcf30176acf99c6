//! Successful runs of `warpstride jacobi`: norms, fields, restarts and outputs.

use super::support::{Output, TestFolder};
use ndarray::Array2;
use std::time::{Duration, Instant};
use warpstride::io::npy;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Runs `warpstride jacobi`, on the CPU unless `options` contain `--backend`.
pub(crate) fn jacobi(folder: &TestFolder, options: &[&str]) -> Output {
    let backend: &[&str] = if options.contains(&"--backend") {
        &[]
    } else {
        &["--backend", "cpu"]
    };
    folder.run(&[&["jacobi"], options, backend].concat())
}

fn field(folder: &TestFolder, name: &str) -> Array2<f64> {
    npy::read(&folder.path(name)).unwrap()
}

/// The definition of the relaxation: neighbours by index, wrapped if the boundary is periodic.
fn relaxed(
    mut field: Array2<f64>,
    source: Option<&Array2<f64>>,
    [rows_wrap, columns_wrap]: [bool; 2],
    sweeps: usize,
) -> (Array2<f64>, Vec<f64>) {
    let (ny, nx) = field.dim();
    let wrapped = |i: usize, n: usize, wraps: bool| match i {
        0 if wraps => n - 2,
        i if wraps && i == n - 1 => 1,
        i => i,
    };
    let mut norms = Vec::new();
    for _ in 0..sweeps {
        let old = field.clone();
        let at =
            |y: usize, x: usize| old[[wrapped(y, ny, rows_wrap), wrapped(x, nx, columns_wrap)]];
        let mut sum = 0.0;
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let around = at(y, x + 1) + at(y, x - 1) + at(y - 1, x) + at(y + 1, x);
                let new = (around + source.map_or(0.0, |f| f[[y, x]])) / 4.0;
                sum += (new - old[[y, x]]).powi(2);
                field[[y, x]] = new;
            }
        }
        norms.push(sum.sqrt());
    }
    for y in 0..ny {
        for x in 0..nx {
            // With the textbook boundary, the corners belong to the fixed columns.
            if columns_wrap || (1..nx - 1).contains(&x) {
                field[[y, x]] = field[[wrapped(y, ny, rows_wrap), wrapped(x, nx, columns_wrap)]];
            }
        }
    }
    (field, norms)
}

fn textbook(ny: usize, nx: usize) -> Array2<f64> {
    Array2::from_shape_fn((ny, nx), |(y, x)| {
        let turns = y as f64 / (ny - 1) as f64;
        if x == 0 || x == nx - 1 {
            (std::f64::consts::TAU * turns).sin()
        } else {
            0.0
        }
    })
}

fn bumpy(ny: usize, nx: usize) -> Array2<f64> {
    Array2::from_shape_fn((ny, nx), |(y, x)| {
        ((y * 7 + x * 13) % 11) as f64 * 0.3 - 1.5
    })
}

#[test]
fn fields_and_norms_equal_the_definition_for_every_boundary() {
    let folder = TestFolder::new();
    let (ny, nx) = (13, 18);
    let (start, source) = (bumpy(ny, nx), bumpy(ny, nx).mapv(|v| v * v * 0.1));
    npy::write(&folder.path("start.npy"), start.view()).unwrap();
    npy::write(&folder.path("source.npy"), source.view()).unwrap();
    let fixed = [
        "--iterations",
        "9",
        "--precision",
        "f64",
        "-o",
        "out.npy",
        "--json",
    ];
    let size = ["--ny", "13", "--nx", "18"];
    for (boundary, wraps) in [
        ("textbook", [true, false]),
        ("dirichlet", [false, false]),
        ("periodic", [true, true]),
    ] {
        for (files, from, term) in [
            (&size[..], None, None),
            (&["--restart", "start.npy"], Some(&start), None),
            (
                &["--source", "source.npy", "--nx", "18"],
                None,
                Some(&source),
            ),
            (
                &["--restart", "start.npy", "--source", "source.npy"],
                Some(&start),
                Some(&source),
            ),
        ] {
            let begin = match from {
                Some(field) => field.clone(),
                None if boundary == "periodic" => Array2::zeros((ny, nx)),
                None => textbook(ny, nx),
            };
            let (expected, norms) = relaxed(begin, term, wraps, 9);
            let output = jacobi(
                &folder,
                &[&fixed[..], &["--boundary", boundary], files].concat(),
            );
            assert_eq!(output.code, Some(0), "{output:?}");
            // A field of zeros is allowed, with a note.
            let zero = boundary == "periodic" && from.is_none() && term.is_none();
            assert_eq!(
                output.err.contains("the field is 0 and stays 0"),
                zero,
                "{output:?}"
            );
            assert_eq!(field(&folder, "out.npy"), expected, "{boundary} {files:?}");
            let summary = json(&output.out);
            // A norm of 0 meets any tolerance immediately.
            let sweeps = if zero { 1 } else { 9 };
            assert_eq!(summary["iterations"], sweeps);
            for (sweep, norm) in summary["norms"].as_array().unwrap().iter().enumerate() {
                assert_eq!(norm["sweep"], sweep);
                let found = norm["norm"].as_f64().unwrap();
                assert!(
                    (found - norms[sweep]).abs() <= 1e-13 * norms[sweep],
                    "{boundary}"
                );
            }
        }
    }
}

#[test]
fn norms_have_the_index_of_their_sweep_and_the_first_is_exact() {
    let folder = TestFolder::new();
    let size = ["--nx", "60", "--ny", "257", "--precision", "f64"];
    let all = jacobi(
        &folder,
        &[&size[..], &["--iterations", "23", "--csv"]].concat(),
    );
    all.well();
    let mut lines = all.out.lines();
    assert_eq!(lines.next(), Some("sweep,norm"));
    let norms: Vec<(usize, f64)> = lines
        .map(|line| {
            let (sweep, norm) = line.split_once(',').unwrap();
            (sweep.parse().unwrap(), norm.parse().unwrap())
        })
        .collect();
    assert!(norms.iter().map(|n| n.0).eq(0..23));
    // √(ny−1)/4 in real arithmetic; 512 terms add up to rounding of 1e-14.
    assert!((norms[0].1 - 4.0).abs() < 1e-13, "{}", norms[0].1);

    let every = ["--iterations", "23", "--check-every", "5", "--json"];
    let some = jacobi(&folder, &[&size[..], &every].concat());
    some.well();
    let summary = json(&some.out);
    let found: Vec<(usize, f64)> = summary["norms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| {
            (
                n["sweep"].as_u64().unwrap() as usize,
                n["norm"].as_f64().unwrap(),
            )
        })
        .collect();
    let expected: Vec<_> = norms.iter().copied().step_by(5).collect();
    assert_eq!(found, expected);

    // The table is short and contains the first and the last norm.
    let table = jacobi(&folder, &[&size[..], &["--iterations", "500"]].concat());
    table.well();
    let of_norms = table.out.split("norm\n").nth(1).unwrap();
    let lines: Vec<Vec<&str>> = of_norms
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!((lines.len(), &lines[0][..]), (11, &["0", "4.000000"][..]));
    assert_eq!((lines[1][0], lines[10][0]), ("50", "499"));
}

#[test]
fn json_has_all_metrics() {
    let folder = TestFolder::new();
    let options = ["--nx", "300", "--ny", "200", "--iterations", "40", "--json"];
    let output = jacobi(&folder, &options);
    output.well();
    let of = json(&output.out);
    assert_eq!(
        (of["nx"].as_u64(), of["ny"].as_u64()),
        (Some(300), Some(200))
    );
    for (name, text) in [
        ("boundary", "textbook"),
        ("precision", "f32"),
        ("backend", "cpu"),
        ("scheme", "cpu"),
    ] {
        assert_eq!(of[name], text);
    }
    assert_eq!(
        (of["iterations"].as_u64(), of["converged"].as_bool()),
        (Some(40), Some(false))
    );
    assert_eq!(of["tolerance"], 1e-8);
    let (seconds, rate) = (
        of["seconds"].as_f64().unwrap(),
        of["cells_per_second"].as_f64().unwrap(),
    );
    assert!(seconds > 0.0 && of["setup_seconds"].as_f64().unwrap() > 0.0);
    assert!((rate * seconds / (298.0 * 198.0 * 40.0) - 1.0).abs() < 1e-12);
    assert!(of["devices"].as_array().unwrap().is_empty());
    assert!(of["device"].as_str().unwrap().contains("thread"));
    assert!(of["version"].is_string());
    assert_eq!(
        (of["efficiency"].is_null(), of["idle_gap_us"].is_null()),
        (true, true)
    );
    assert!(of["time_block"].as_u64().unwrap() >= 1);
}

#[test]
fn two_runs_of_five_sweeps_equal_one_of_ten_bit_for_bit() {
    let folder = TestFolder::new();
    for precision in ["f32", "f64"] {
        let fixed = ["--precision", precision, "--quiet"];
        let run = |options: &[&str]| jacobi(&folder, &[&fixed, options].concat()).well();
        let size = ["--nx", "67", "--ny", "45"];
        run(&[&size[..], &["--iterations", "10", "-o", "ten.npy"]].concat());
        run(&[&size[..], &["--iterations", "5", "-o", "five.npy"]].concat());
        run(&[
            "--restart",
            "five.npy",
            "--iterations",
            "5",
            "-o",
            "again.npy",
        ]);
        let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
        assert_eq!(bytes("ten.npy"), bytes("again.npy"), "{precision}");
        assert_ne!(bytes("ten.npy"), bytes("five.npy"));
        // For any number of sweeps per pass and of threads.
        for depth in ["1", "3", "8"] {
            let options = ["--iterations", "10", "-o", "d.npy", "--time-block", depth];
            run(&[&size[..], &options, &["--threads", depth]].concat());
            assert_eq!(
                bytes("ten.npy"),
                bytes("d.npy"),
                "{precision}, {depth} sweeps per pass"
            );
        }
    }
}

#[test]
fn the_run_stops_at_the_first_norm_that_meets_the_tolerance() {
    let folder = TestFolder::new();
    let fixed = ["--nx", "12", "--ny", "11", "--precision", "f64", "--json"];
    let all = json(&jacobi(&folder, &[&fixed[..], &["--iterations", "60"]].concat()).out);
    let norm = |sweep: usize| all["norms"][sweep]["norm"].as_f64().unwrap();
    let tolerance = norm(37).to_string();
    let options = ["--tolerance", &tolerance, "-o", "stopped.npy"];
    let stopped = json(&jacobi(&folder, &[&fixed[..], &options].concat()).out);
    assert_eq!(
        (
            stopped["iterations"].as_u64(),
            stopped["converged"].as_bool()
        ),
        (Some(38), Some(true))
    );
    assert_eq!(stopped["norms"].as_array().unwrap().len(), 38);
    let exact = ["--iterations", "38", "-o", "exact.npy"];
    jacobi(&folder, &[&fixed[..], &exact].concat()).well();
    assert_eq!(field(&folder, "stopped.npy"), field(&folder, "exact.npy"));
}

#[test]
fn inputs_of_either_precision_and_a_picture() {
    let folder = TestFolder::new();
    let start = bumpy(20, 30).mapv(|v| v as f32);
    npy::write(&folder.path("single.npy"), start.view()).unwrap();
    npy::write(&folder.path("double.npy"), start.mapv(f64::from).view()).unwrap();
    for precision in ["f32", "f64"] {
        for name in ["single.npy", "double.npy"] {
            let out = format!("{precision}-{name}");
            let options = [
                "--restart",
                name,
                "--precision",
                precision,
                "--iterations",
                "7",
            ];
            let outputs = ["-o", &out, "--plot", "p.png"];
            let output = jacobi(&folder, &[&options[..], &outputs].concat());
            assert_eq!(output.code, Some(0), "{output:?}");
            let note = match (precision, name) {
                ("f32", "double.npy") => {
                    "note: double.npy: has f64 values, which --precision f32 rounds\n"
                }
                ("f64", "single.npy") => {
                    "note: single.npy: has f32 values, from which --precision f64 continues in f64\n"
                }
                _ => "",
            };
            assert_eq!(output.err, note);
        }
    }
    // The start field is exact in f32, so both files hold the same values.
    for precision in ["f32", "f64"] {
        let [a, b] = ["single", "double"]
            .map(|name| std::fs::read(folder.path(&format!("{precision}-{name}.npy"))).unwrap());
        assert_eq!(a, b);
    }
    let picture = std::fs::read(folder.path("p.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
}

#[test]
fn progress_is_json_lines_and_nothing_else() {
    let folder = TestFolder::new();
    let options = [
        "--nx",
        "30",
        "--ny",
        "30",
        "--iterations",
        "10",
        "--check-every",
        "3",
    ];
    let output = jacobi(&folder, &[&options[..], &["--json-progress"]].concat());
    output.well();
    let events: Vec<_> = output.out.lines().map(json).collect();
    assert_eq!(
        (&events[0]["event"], &events[0]["planned"]),
        (&json("\"start\""), &json("10"))
    );
    let sweeps: Vec<_> = events.iter().filter_map(|e| e["sweep"].as_u64()).collect();
    assert_eq!(sweeps, [0, 3, 6, 9]);
    assert_eq!(events.last().unwrap()["event"], "end");
    let output = jacobi(&folder, &[&options[..], &["--quiet"]].concat());
    output.well();
    assert_eq!(output.out, "");
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_field_and_a_restart_resumes_bit_for_bit() {
    let folder = TestFolder::new();
    let size = ["--nx", "150", "--ny", "101"];
    let begun = [
        "--backend",
        "cpu",
        "--iterations",
        "1000000000",
        "--check-every",
        "1000",
    ];
    for field_name in [Some("part.npy"), None] {
        let save: Vec<&str> = field_name.iter().flat_map(|name| ["-o", name]).collect();
        let output = folder.interrupt_at(
            folder
                .command()
                .arg("jacobi")
                .args(size)
                .args(begun)
                .args(save)
                .arg("--tolerance=0")
                .arg("--json-progress"),
            "\"sweep\":2000,",
        );
        let (code, message) = (output.code, output.err);
        assert_eq!((code, message.lines().count()), (Some(130), 1), "{message}");
        let Some(name) = field_name else {
            assert!(
                message.contains("the field is lost (save it with -o FIELD.npy)"),
                "{message}"
            );
            assert_eq!(folder.names(), ["part.npy", "straight.npy", "whole.npy"]);
            continue;
        };
        let words: Vec<&str> = message.split(' ').collect();
        let at = words.iter().position(|word| *word == "after").unwrap();
        let done: usize = words[at + 1].parse().unwrap();
        assert!(
            message.contains("part.npy") && message.contains("--restart"),
            "{message}"
        );
        let rest = 1_000_000_000 - done;
        assert!(
            message.contains(&format!("--iterations {rest} ")),
            "{message}"
        );

        let sweeps = done.to_string();
        let straight = [
            "--iterations",
            &sweeps,
            "--tolerance",
            "0",
            "--check-every",
            "100000",
        ];
        let run = |options: &[&str]| jacobi(&folder, &[options, &["--quiet"]].concat()).well();
        run(&[&size[..], &straight, &["-o", "straight.npy"]].concat());
        assert_eq!(field(&folder, name), field(&folder, "straight.npy"));
        run(&["--restart", name, "--iterations", "13", "-o", "whole.npy"]);
        let further = (done + 13).to_string();
        let straight = [
            "--iterations",
            &further,
            "--tolerance",
            "0",
            "--check-every",
            "100000",
        ];
        run(&[&size[..], &straight, &["-o", "straight.npy"]].concat());
        assert_eq!(field(&folder, "whole.npy"), field(&folder, "straight.npy"));
    }
}

#[test]
fn a_field_saved_during_the_run_is_complete_after_sigkill() {
    let folder = TestFolder::new();
    let mut child = folder.start(
        folder
            .command()
            .args([
                "jacobi",
                "--nx",
                "100",
                "--ny",
                "90",
                "--backend",
                "cpu",
                "-o",
                "f.npy",
            ])
            .args([
                "--iterations",
                "1000000000",
                "--check-every",
                "10000",
                "--tolerance",
                "0",
            ])
            .args(["--save-every", "0.001", "--quiet"]),
    );
    let begun = Instant::now();
    while !folder.path("f.npy").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "nothing is saved"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(30));
    child.kill().unwrap();
    child.wait().unwrap();
    let saved = field(&folder, "f.npy");
    assert_eq!(saved.dim(), (90, 100));
    // Values have spread from the left column, whose upper half is positive.
    assert!(saved[[20, 1]] > 0.1, "{}", saved[[20, 1]]);
}
