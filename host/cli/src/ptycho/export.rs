//! `warpstride ptycho export`.

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::output::{facts, say};
use crate::paths::{self, OutputFile};
use std::path::{Path, PathBuf};
use warpstride::ptycho::io::export::{self, Part};

/// The files to write.
#[derive(Debug)]
pub(crate) struct Export {
    result: PathBuf,
    parts: Vec<(Part, &'static str, PathBuf)>,
    positions: Option<PathBuf>,
    quiet: bool,
}

impl Export {
    /// Checks the outputs.
    pub(crate) fn from_args(args: ExportArgs) -> Result<Self, Failure> {
        let images = [
            (Part::Object, "--object", args.object),
            (Part::Modulus, "--modulus", args.modulus),
            (Part::Phase, "--phase", args.phase),
            (Part::Probe, "--probe", args.probe),
        ];
        let images = images.into_iter();
        let parts: Vec<_> = images
            .filter_map(|(part, flag, path)| Some((part, flag, path?)))
            .collect();
        if parts.is_empty() && args.positions.is_none() {
            return Err(Failure::usage(
                "ptycho export: expected at least one of --object, --modulus, --phase, --probe and --positions, found none",
            ));
        }
        let outputs: Vec<OutputFile<'_>> = (parts.iter())
            .map(|(_, flag, path)| OutputFile::new(flag, path, &[paths::TIFF, paths::NPY]))
            .chain(OutputFile::given(
                "--positions",
                args.positions.as_deref(),
                &[paths::CSV],
            ))
            .collect();
        paths::check(&outputs, &[args.result.as_path()])?;
        Ok(Self {
            result: args.result,
            parts,
            positions: args.positions,
            quiet: args.quiet,
        })
    }

    /// Reads the result and writes its parts.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let result = warpstride::ptycho::io::results::read(&self.result)?;
        let mut written: Vec<(&str, &Path)> = Vec::new();
        for (part, flag, path) in &self.parts {
            export::write(path, &result, *part)?;
            written.push((flag.trim_start_matches('-'), path));
        }
        if let Some(path) = &self.positions {
            export::positions(path, &result)?;
            written.push(("positions", path));
        }
        if self.quiet {
            return Ok(());
        }
        let lines: Vec<(&str, String)> = (written.into_iter())
            .map(|(what, path)| (what, path.display().to_string()))
            .collect();
        say(&facts(&lines))
    }
}
