//! A folder, the program in it, and what it said.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Held while this process has an HDF5 file open for writing, and while a program is started: the
/// child would inherit the open file with its lock, and the file would stay locked after it is
/// closed here.
pub(crate) static STARTING: Mutex<()> = Mutex::new(());

/// A fresh folder.
pub(crate) struct Place {
    folder: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// With `scan.cxi`: twelve frames of 32 × 32.
    pub(crate) fn with_scan() -> Self {
        let place = Self::new();
        place.simulate("scan.cxi", &["--frame", "32", "--positions", "12"]);
        place
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

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let mut command = self.command();
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = self.start(&mut command).wait_with_output().unwrap();
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs until a line of its output contains `text`, sends it what Ctrl-C sends, and waits for its end.
    pub(crate) fn interrupt_at(&self, command: &mut Command, text: &str) -> Said {
        let mut child = self.start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let met = lines.any(|line| line.unwrap().contains(text));
        assert!(met, "no line of the output contains {text}");
        let kill = format!("kill -INT {}", child.id());
        let mut kill = self.start(Command::new("sh").args(["-c", &kill]));
        assert!(kill.wait().unwrap().success());
        // Whoever does not read blocks the one who writes.
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        let output = child.wait_with_output().unwrap();
        Said {
            code: output.status.code(),
            out: rest.join("\n"),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn simulate(&self, name: &str, options: &[&str]) {
        let said = self.run(&[&["ptycho", "simulate", name], options].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    /// Reconstructs `scan.cxi` on the CPU.
    pub(crate) fn reconstruct(&self, options: &[&str]) -> Said {
        let fixed = ["ptycho", "reconstruct", "scan.cxi", "--backend", "cpu"];
        self.run(&[&fixed, options].concat())
    }

    /// Names in the folder, sorted; hidden ones too.
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

impl Said {
    /// It refused: this exit code, one sentence with all these words, nothing on standard output.
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

    /// It ended well and had nothing to complain of.
    #[track_caller]
    pub(crate) fn well(&self) {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
    }
}

/// Says, even where the test's output is kept back, that something was not tested.
pub(crate) fn skipped(what: &str, why: &str) {
    let mut err = std::io::stderr().lock();
    writeln!(err, "SKIPPED {what}: {why}").unwrap();
}
