//! The files that a reconstruction writes.

use crate::failure::Failure;
use crate::paths::{self, OutputFile};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use warpstride::ptycho::io::checkpoint;

/// Paths of all outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) result: PathBuf,
    pub(super) checkpoint: PathBuf,
    /// Modulus, phase, probe, and the stretched phase (only written if the phase range is small).
    pub(super) pictures: Option<[PathBuf; 4]>,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) profile: Option<PathBuf>,
}

impl Files {
    /// Paths beside `result`: `OUT-modulus.png`, `OUT-phase.png`, `OUT-probe.png`,
    /// `OUT-phase-stretched.png`.
    pub(super) fn pictures_beside(result: &Path) -> [PathBuf; 4] {
        ["modulus", "phase", "probe", "phase-stretched"]
            .map(|what| beside(result, &format!("-{what}.png")))
    }

    /// Path `OUT.checkpoint` beside `result`.
    pub(super) fn checkpoint_beside(result: &Path) -> PathBuf {
        beside(result, ".checkpoint")
    }

    /// Checks, before any work, that every file can be written and that no path occurs twice or
    /// names an input.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let pictures = self.pictures.iter().flatten();
        let pictures = pictures.map(|path| OutputFile::new("picture", path, &[paths::PNG]));
        let outputs: Vec<OutputFile<'_>> = [
            OutputFile::new("-o", &self.result, &[paths::PTYCHO_RESULT]),
            // A checkpoint that is resumed from has its name.
            OutputFile::new("checkpoint", &self.checkpoint, &[]),
        ]
        .into_iter()
        .chain(pictures)
        .chain(OutputFile::given(
            "--summary",
            self.summary.as_deref(),
            &[paths::JSON],
        ))
        .chain(OutputFile::given(
            "--report",
            self.report.as_deref(),
            &[paths::HTML],
        ))
        .chain(OutputFile::given(
            "--profile",
            self.profile.as_deref(),
            &[paths::JSON],
        ))
        .collect();
        paths::check(&outputs, inputs)
    }

    /// Refuses a file under the checkpoint's name that a run would overwrite and at last delete,
    /// unless the run resumes from it.
    pub(super) fn check_checkpoint(&self, resume: Option<&Path>) -> Result<(), Failure> {
        let path = &self.checkpoint;
        let name = path.display();
        let resumed = resume.is_some_and(|from| paths::same(from, path));
        // An empty file holds nothing to lose.
        let has_data = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() > 0);
        if resumed || !has_data {
            return Ok(());
        }
        Err(Failure::failed(if checkpoint::is_checkpoint(path) {
            format!(
                "{name}: checkpoint: expected no file, found the checkpoint of an earlier run: resume it with --resume {name}, delete it, or use --checkpoint FILE",
            )
        } else {
            format!(
                "{name}: checkpoint: expected no file, as it would be overwritten, found one that is no checkpoint: use --checkpoint FILE with another name"
            )
        }))
    }
}

/// Replaces the extension of `path` by `ending`.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

/// Removes a file left by an earlier run or stage, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::failed(format!(
            "{}: outdated file cannot be removed: {e}",
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
            profile: None,
            result,
        }
    }

    #[test]
    fn names_derive_from_the_result() {
        let files = files(Path::new("b"));
        assert_eq!(files.checkpoint, Path::new("b/a.checkpoint"));
        assert_eq!(files.pictures.unwrap()[1], Path::new("b/a-phase.png"));
    }

    #[test]
    fn the_same_path_for_two_files_is_refused_in_any_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let distinct = files(folder.path());
        distinct.check(&[&folder.path().join("scan.cxi")]).unwrap();
        let spelled = folder
            .path()
            .join("..")
            .join(folder.path().file_name().unwrap());
        let input = spelled.join("a.h5");
        assert!(matches!(distinct.check(&[&input]), Err(Failure::Usage(_))));
        let twice = Files {
            summary: Some(spelled.join("a.checkpoint")),
            ..distinct
        };
        assert!(matches!(twice.check(&[]), Err(Failure::Usage(_))));
    }
}
