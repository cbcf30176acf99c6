//! Support for the tests of the command line: running the program in a temporary folder.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Held while this process has an HDF5 file open for writing, and while it starts a program: the
/// child would inherit the open file with its lock, and the file would stay locked after this
/// process closes it.
pub(crate) static STARTING: Mutex<()> = Mutex::new(());

/// A temporary folder in which the program runs.
pub(crate) struct TestFolder {
    folder: TempDir,
}

/// Exit code and output of the program.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder with `scan.cxi`, twelve frames of 32 × 32.
    pub(crate) fn with_scan() -> Self {
        let folder = Self::new();
        folder.simulate("scan.cxi", &["--frame", "32", "--positions", "12"]);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpstride"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&self, command: &mut Command) -> Child {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        command.spawn().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command();
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = self.start(&mut command).wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program for at most a minute; also returns the largest resident size that was seen,
    /// KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_watched(&self, arguments: &[&str]) -> (Output, u64) {
        let mut command = self.command();
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.start(&mut command);
        let status = format!("/proc/{}/status", child.id());
        let begin = Instant::now();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            peak = peak.max(kib.unwrap_or(0));
            if begin.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("{arguments:?} is still running");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let output = child.wait_with_output().unwrap();
        let output = Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        (output, peak)
    }

    /// Runs `command`, sends SIGINT when a line of its output contains `text`, and waits for its
    /// end.
    pub(crate) fn interrupt_at(&self, command: &mut Command, text: &str) -> Output {
        self.signal_at(command, text, &["INT"])
    }

    /// Runs `command`, sends SIGINT as soon as it has a handler for it, and waits for its end.
    #[cfg(target_os = "linux")]
    pub(crate) fn interrupt_when_handled(&self, command: &mut Command) -> Output {
        let child = self.start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let status = format!("/proc/{}/status", child.id());
        let handled = || {
            let text = std::fs::read_to_string(&status).unwrap();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            // Bit n − 1 of signal n; SIGINT is 2.
            u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 2 != 0
        };
        while !handled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kill = format!("kill -INT {}", child.id());
        let mut kill = self.start(Command::new("sh").args(["-c", &kill]));
        assert!(kill.wait().unwrap().success());
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Like [`Self::interrupt_at`], but sends `signals`, one directly after the other.
    pub(crate) fn signal_at(&self, command: &mut Command, text: &str, signals: &[&str]) -> Output {
        let mut child = self.start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let met = lines.any(|line| line.unwrap().contains(text));
        assert!(met, "no line of the output contains {text}");
        let kill = |signal: &&str| format!("kill -{signal} {}", child.id());
        let kill: Vec<String> = signals.iter().map(kill).collect();
        // Signals at the same instant could become one.
        let kill = kill.join("; sleep 0.005; ");
        let mut kill = self.start(Command::new("sh").args(["-c", &kill]));
        assert!(kill.wait().unwrap().success());
        // A full pipe would block the program.
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: rest.join("\n"),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn simulate(&self, name: &str, options: &[&str]) {
        let output = self.run(&[&["ptycho", "simulate", name], options].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
    }

    /// Reconstructs `scan.cxi` on the CPU.
    pub(crate) fn reconstruct(&self, options: &[&str]) -> Output {
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "--backend", "cpu"];
        self.run(&[&fixed, options].concat())
    }

    /// Reconstructs `scan.cxi` to `out.h5` on a back end.
    pub(crate) fn reconstruct_on(&self, backend: &str, options: &[&str]) -> Output {
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "-o", "out.h5"];
        self.run(&[&fixed, &["--backend", backend][..], options].concat())
    }

    /// Names of all files in the folder, sorted, including hidden ones.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

impl Output {
    /// Asserts an error: this exit code, and one sentence that contains all `words`.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.starts_with("warpstride: "), "{self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing: {self:?}");
        }
    }

    /// Asserts success without messages on standard error.
    #[track_caller]
    pub(crate) fn well(&self) {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
    }
}

/// Reports a skipped test on standard error, even if the test harness captures output.
pub(crate) fn skipped(what: &str, why: &str) {
    let mut err = std::io::stderr().lock();
    writeln!(err, "SKIPPED {what}: {why}").unwrap();
}

/// The pixels of a PNG file.
pub(crate) struct Png {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Samples per pixel: one for grey, three for red, green and blue.
    pub(crate) samples: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a PNG file.
pub(crate) fn read_png(path: &Path) -> Png {
    let file = BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    bytes.truncate(frame.buffer_size());
    Png {
        width: frame.width,
        height: frame.height,
        samples: frame.color_type.samples(),
        bytes,
    }
}
