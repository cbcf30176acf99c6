//! Precision of a continued relaxation, and problems that have no solution.

use super::jacobi::jacobi;
use super::support::TestFolder;
use ndarray::Array2;
use warpstride::io::npy;

/// A field with values that f32 rounds.
fn bumpy() -> Array2<f64> {
    Array2::from_shape_fn((17, 21), |(y, x)| ((y * 7 + x * 13) % 11) as f64 * 0.1)
}

fn precision(json: &str) -> serde_json::Value {
    let summary: serde_json::Value = serde_json::from_str(json).unwrap();
    summary["precision"].clone()
}

#[test]
fn a_restart_has_the_precision_of_its_field() {
    let folder = TestFolder::new();
    npy::write(&folder.path("f64.npy"), bumpy().view()).unwrap();
    npy::write(&folder.path("f32.npy"), bumpy().mapv(|v| v as f32).view()).unwrap();
    for (options, expected, note) in [
        (&["--restart", "f64.npy"][..], "f64", None),
        (&["--restart", "f32.npy"], "f32", None),
        (&["--source", "f64.npy"], "f32", None),
        (&["--restart", "f64.npy", "--precision", "f64"], "f64", None),
        (
            &["--restart", "f64.npy", "--precision", "f32"],
            "f32",
            Some("note: f64.npy: has f64 values, which --precision f32 rounds"),
        ),
        (
            &["--restart", "f32.npy", "--precision", "f64"],
            "f64",
            Some("note: f32.npy: has f32 values"),
        ),
    ] {
        let fixed = ["--iterations", "3", "--json", "-o", "out.npy"];
        let output = jacobi(&folder, &[&fixed[..], options].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(precision(&output.out), expected, "{options:?}");
        match note {
            Some(note) => {
                assert!(output.err.contains(note), "{output:?}");
                assert!(output.out.contains(&note[6..]), "{output:?}");
            }
            None => assert_eq!(output.err, ""),
        }
    }
    // In two parts as in one.
    let run = |options: &[&str]| jacobi(&folder, &[options, &["--quiet"]].concat()).well();
    run(&[
        "--restart",
        "f64.npy",
        "--iterations",
        "9",
        "-o",
        "whole.npy",
    ]);
    run(&[
        "--restart",
        "f64.npy",
        "--iterations",
        "4",
        "-o",
        "part.npy",
    ]);
    run(&[
        "--restart",
        "part.npy",
        "--iterations",
        "5",
        "-o",
        "rest.npy",
    ]);
    let [whole, rest] =
        ["whole.npy", "rest.npy"].map(|name| std::fs::read(folder.path(name)).unwrap());
    assert!(whole == rest);
}

#[cfg(unix)]
#[test]
fn the_command_after_ctrl_c_continues_the_same_problem() {
    let folder = TestFolder::new();
    // Large enough that the norm is not 0 after a moment.
    let large = Array2::from_elem((401, 402), 0.1);
    npy::write(&folder.path("a source.npy"), large.view()).unwrap();
    let mut command = folder.command();
    command.args([
        "jacobi",
        "--backend",
        "cpu",
        "--json-progress",
        "-o",
        "part.npy",
    ]);
    command.args(["--precision", "f64", "--boundary", "dirichlet"]);
    command.args([
        "--source",
        "a source.npy",
        "--tolerance=0",
        "--check-every",
        "1000",
    ]);
    command.args(["--iterations", "1000000000"]);
    let output = folder.interrupt_at(&mut command, "\"sweep\":2000,");
    assert_eq!(output.code, Some(130), "{output:?}");
    for option in [
        "--restart part.npy",
        "--precision f64",
        "--boundary dirichlet",
        "--source 'a source.npy'",
        "--tolerance 0",
        "--check-every 1000",
    ] {
        assert!(output.err.contains(option), "{option}: {output:?}");
    }
}

#[test]
fn a_periodic_source_that_does_not_sum_to_zero_has_no_solution() {
    let folder = TestFolder::new();
    let mut source = bumpy();
    npy::write(&folder.path("sum.npy"), source.view()).unwrap();
    // The border is not used.
    let inner = source.slice(ndarray::s![1..16, 1..20]);
    let mean = inner.sum() / inner.len() as f64;
    source.mapv_inplace(|value| value - mean);
    npy::write(&folder.path("zero.npy"), source.view()).unwrap();
    npy::write(&folder.path("zero32.npy"), source.mapv(|v| v as f32).view()).unwrap();
    let run = |boundary: &str, name: &str| {
        let options = [
            "--boundary",
            boundary,
            "--source",
            name,
            "--iterations",
            "5",
        ];
        let output = jacobi(&folder, &[&options[..], &["--json"]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        output
    };
    let output = run("periodic", "sum.npy");
    assert!(
        output.err.contains("note: there is no solution"),
        "{output:?}"
    );
    assert!(output.out.contains("there is no solution"), "{output:?}");
    for (boundary, name) in [
        ("periodic", "zero.npy"),
        ("periodic", "zero32.npy"),
        ("textbook", "sum.npy"),
        ("dirichlet", "sum.npy"),
    ] {
        run(boundary, name).well();
    }
}

#[test]
fn values_beyond_single_precision_are_named_as_in_the_file() {
    let folder = TestFolder::new();
    let mut field = bumpy();
    field[[3, 5]] = 1e100;
    npy::write(&folder.path("big.npy"), field.view()).unwrap();
    let words = ["big.npy: ", "1e100", "row 3, column 5", "--precision f64"];
    jacobi(&folder, &["--source", "big.npy"]).refused(1, &words);
    jacobi(&folder, &["--restart", "big.npy", "--precision", "f32"]).refused(1, &words);
    jacobi(
        &folder,
        &["--restart", "big.npy", "--iterations", "1", "--quiet"],
    )
    .well();
}
