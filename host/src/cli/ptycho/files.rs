//! The files that a reconstruction writes.

use crate::cli::failure::Failure;
use crate::cli::paths;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where everything goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) result: PathBuf,
    pub(super) checkpoint: PathBuf,
    /// Modulus, phase, probe, and the phase stretched (where its range is small).
    pub(super) pictures: Option<[PathBuf; 4]>,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
}

impl Files {
    /// Names beside `result`: `OUT-modulus.png`, `OUT-phase.png`, `OUT-probe.png`,
    /// `OUT-phase-stretched.png`.
    pub(super) fn pictures_beside(result: &Path) -> [PathBuf; 4] {
        ["modulus", "phase", "probe", "phase-stretched"]
            .map(|what| beside(result, &format!("-{what}.png")))
    }

    /// `OUT.checkpoint`.
    pub(super) fn checkpoint_beside(result: &Path) -> PathBuf {
        beside(result, ".checkpoint")
    }

    /// Checks, before any work, that every file can be written and that none is another one or an
    /// input.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let outputs: Vec<&Path> = self.all().collect();
        paths::check(&outputs, inputs)
    }

    fn all(&self) -> impl Iterator<Item = &Path> {
        [&self.result, &self.checkpoint]
            .into_iter()
            .chain(self.pictures.iter().flatten())
            .chain(&self.summary)
            .chain(&self.report)
            .map(PathBuf::as_path)
    }
}

/// `path` with its ending replaced.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

/// Removes a file of an earlier run or stage, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::failed(format!(
            "{}: is out of date and cannot be removed: {e}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Files {
        let result = folder.join("a.h5");
        Files {
            checkpoint: Files::checkpoint_beside(&result),
            pictures: Some(Files::pictures_beside(&result)),
            summary: None,
            report: None,
            result,
        }
    }

    #[test]
    fn names_are_made_from_the_result() {
        let files = files(Path::new("b"));
        assert_eq!(files.checkpoint, Path::new("b/a.checkpoint"));
        assert_eq!(files.pictures.unwrap()[1], Path::new("b/a-phase.png"));
    }

    #[test]
    fn one_name_for_two_files_is_refused_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let good = files(folder.path());
        good.check(&[&folder.path().join("scan.cxi")]).unwrap();
        let spelled = folder
            .path()
            .join("..")
            .join(folder.path().file_name().unwrap());
        let input = spelled.join("a.h5");
        assert!(matches!(good.check(&[&input]), Err(Failure::Usage(_))));
        let twice = Files {
            summary: Some(spelled.join("a.checkpoint")),
            ..good
        };
        assert!(matches!(twice.check(&[]), Err(Failure::Usage(_))));
    }
}
