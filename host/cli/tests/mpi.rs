//! Processes of MPI, with the real program and the CPU: the same bits as one process, and what
//! happens when one of them is lost.
//!
//! `mpirun` must be installed (Debian: openmpi-bin); without it the tests are skipped, and say so.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use warpstride::ptycho::data::{HistoryEntry, Reconstruction};
use warpstride::ptycho::io::results;

const PROGRAM: &str = env!("CARGO_BIN_EXE_warpstride");
/// A lost process ends the others within this time.
const LOST: Duration = Duration::from_secs(30);

/// `mpirun` with `processes` processes of the program in `folder`; more of them than there are
/// cores, and as any user.
fn mpirun(folder: &Path, processes: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("RAYON_NUM_THREADS", "1");
    command.args(["-n", &processes.to_string(), PROGRAM]);
    command.args(arguments).current_dir(folder);
    command
}

/// Whether there is an `mpirun`; says that a test is skipped if not.
fn has_mpi(test: &str) -> bool {
    let found = Command::new("mpirun").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let mut err = std::io::stderr().lock();
        writeln!(err, "SKIPPED {test}: found no mpirun").unwrap();
    }
    found
}

fn well(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// A folder with `scan.cxi`.
fn folder(positions: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut simulate = Command::new(PROGRAM);
    simulate.args(["ptycho", "simulate", "scan.cxi", "--frame", "32"]);
    simulate.args(["--positions", positions, "--photons", "1e6"]);
    well(&simulate.current_dir(&folder).output().unwrap());
    folder
}

const FIXED: [&str; 7] = [
    "ptycho",
    "reconstruct",
    "scan.cxi",
    "-o",
    "out.h5",
    "--backend",
    "cpu",
];

fn result(folder: &Path) -> Reconstruction {
    results::read(&folder.join("out.h5")).unwrap()
}

fn metrics(of: &Reconstruction) -> Vec<[Option<f64>; 5]> {
    let of_entry = |e: &HistoryEntry| {
        [
            Some(e.err_fourier),
            e.err_exit,
            e.err_phot,
            e.r_factor,
            e.r_free,
        ]
    };
    of.history.iter().map(of_entry).collect()
}

#[test]
fn processes_give_the_bits_of_one() {
    if !has_mpi("processes_give_the_bits_of_one") {
        return;
    }
    let folder = folder("61");
    let engines = [
        "--engine",
        "dm:4",
        "--engine",
        "raar:2",
        "--engine",
        "lsqml:3",
        "--engine",
        "rpie:2",
        "--engine",
        "ml:3",
        "--metrics-every",
        "1",
        "--free-pixels",
        "0.02",
        "--set",
        "lsqml.subpixel=true",
        "--set",
        "lsqml.batch=17",
        "--set",
        "rpie.batch=10",
    ];
    let arguments = [&FIXED[..], &engines].concat();
    let mut alone = Command::new(PROGRAM);
    alone.args(&arguments).current_dir(&folder);
    well(&alone.output().unwrap());
    let expected = result(folder.path());
    for processes in [2, 3] {
        let output = mpirun(folder.path(), processes, &arguments)
            .output()
            .unwrap();
        let printed = well(&output);
        let note = format!("{processes} processes of MPI divide the frames");
        assert_eq!(printed.matches(&note).count(), 1, "{printed}");
        let found = result(folder.path());
        assert_eq!(found.object, expected.object, "{processes}");
        assert_eq!(found.probe, expected.probe, "{processes}");
        assert_eq!(metrics(&found), metrics(&expected), "{processes}");
    }
}

#[test]
fn errors_are_said_once() {
    if !has_mpi("errors_are_said_once") {
        return;
    }
    let folder = folder("13");
    for (arguments, expected) in [
        (
            &["ptycho", "reconstruct", "none.cxi", "-o", "out.h5"][..],
            "none.cxi",
        ),
        (&[&FIXED[..], &["--engine", "dn:4"]].concat(), "dn"),
        (&["ptycho", "info", "scan.cxi"], "found ptycho info"),
        (&["devices"], "found devices"),
    ] {
        let output = mpirun(folder.path(), 2, arguments).output().unwrap();
        assert!(!output.status.success());
        let err = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = err
            .lines()
            .filter(|l| l.starts_with("warpstride: "))
            .collect();
        assert_eq!(said.len(), 1, "{err}");
        assert!(said[0].contains(expected), "{err}");
    }
}

/// Starts a long run of three processes and waits until it has saved a checkpoint.
fn started(folder: &Path, resume: bool) -> Child {
    let mut arguments = FIXED.to_vec();
    if resume {
        arguments.extend(["--resume", "out.checkpoint"]);
    } else {
        arguments.extend(["--engine", "dm:1000000"]);
    }
    arguments.extend(["--checkpoint-every", "0", "--json-progress"]);
    let mut command = mpirun(folder, 3, &arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..5 {
        lines.next().unwrap().unwrap();
    }
    // A full pipe would block the program.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

/// The processes of the program that run in `folder`.
fn processes(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let runs = |number: &u32| {
        let path = |name: &str| fs::read_link(format!("/proc/{number}/{name}")).ok();
        path("exe").is_some_and(|exe| exe == Path::new(PROGRAM).canonicalize().unwrap())
            && path("cwd").is_some_and(|cwd| cwd == folder)
    };
    let mut found: Vec<u32> = numbers.filter(runs).collect();
    found.sort_unstable();
    found
}

#[test]
fn a_lost_process_ends_the_others_and_the_checkpoint_stays() {
    if !has_mpi("a_lost_process_ends_the_others_and_the_checkpoint_stays") {
        return;
    }
    let folder = folder("61");
    for round in 0..9_u64 {
        let mut child = started(folder.path(), round > 0);
        // A moment that differs from round to round: during an iteration, an exchange or a
        // checkpoint.
        std::thread::sleep(Duration::from_millis(17 * round % 97));
        let of_run = processes(folder.path());
        assert_eq!(of_run.len(), 3, "{of_run:?}");
        let lost = of_run[round as usize % 3].to_string();
        let killed = Command::new("kill")
            .args(["-KILL", &lost])
            .status()
            .unwrap();
        assert!(killed.success());
        let begun = Instant::now();
        assert!(!child.wait().unwrap().success());
        while !processes(folder.path()).is_empty() {
            assert!(begun.elapsed() < LOST, "round {round}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(begun.elapsed() < LOST, "round {round}");
        assert!(!folder.path().join("out.h5").exists());
        assert!(folder.path().join("out.checkpoint").exists());
    }
}
