//! Where samples come from: an ISMRMRD file, or BART arrays.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use warpstride::io::IoError;
use warpstride::io::cfl::{array_of, header_path, is_cfl};
use warpstride::mri::data::{ImageIndex, KUnit};
use warpstride::mri::io::bart::{self, BartFiles, MatrixSize};
use warpstride::mri::io::ismrmrd::{self, DEFAULT_GROUP, KSpaceFile, ReadOptions, Selection};
use warpstride::system::Memory;

/// The options that name samples.
#[derive(Debug)]
pub(super) struct SampleArgs {
    pub(super) file: PathBuf,
    pub(super) trajectory: Option<PathBuf>,
    pub(super) matrix: Option<String>,
    pub(super) k_unit: Option<String>,
    /// Numbers of coils, separated by commas.
    pub(super) exclude_coils: Option<String>,
    pub(super) group: String,
    pub(super) select: Option<String>,
    pub(super) combine: Option<String>,
}

/// Files with samples, which image, and which coils.
#[derive(Debug)]
pub(super) enum SampleSource {
    Ismrmrd { file: PathBuf, options: ReadOptions },
    Bart(BartFiles),
}

/// Parses numbers of coils, separated by commas.
fn coils(text: &str) -> Result<Vec<usize>, Failure> {
    let numbers: Result<Vec<usize>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    numbers.map_err(|_| {
        Failure::usage(format!(
            "--exclude-coils {text}: expected numbers of coils from 0, separated by commas, such as 2,5"
        ))
    })
}

impl SampleSource {
    /// Checks the options.
    pub(super) fn from_args(args: SampleArgs) -> Result<Self, Failure> {
        let mut options =
            read_options(&args.group, args.select.as_deref(), args.combine.as_deref())?;
        options.matrix = match args.matrix {
            None => None,
            Some(text) => Some(MatrixSize::parse(&text).ok_or_else(|| {
                Failure::usage(format!(
                    "--matrix {text}: expected ROWSxCOLUMNS or SLICESxROWSxCOLUMNS, each 1 to 1048576, such as 256x256"
                ))
            })?),
        };
        options.k_unit = match args.k_unit {
            None => None,
            Some(name) => Some(KUnit::parse(&name).ok_or_else(|| {
                Failure::usage(format!("--k-unit {name}: expected {}", KUnit::NAMES))
            })?),
        };
        if let Some(text) = &args.exclude_coils {
            options.exclude_coils = coils(text)?;
        }
        let file = array_of(args.file);
        if !is_cfl(&file) {
            return match &args.trajectory {
                None => Ok(Self::Ismrmrd { file, options }),
                Some(path) => Err(Failure::usage(format!(
                    "--trajectory {}: expected samples in a file whose name ends in .cfl, found {} (an ISMRMRD file holds its trajectory)",
                    path.display(),
                    file.display()
                ))),
            };
        }
        if options.group != DEFAULT_GROUP {
            return Err(Failure::usage(format!(
                "--group {}: expected an ISMRMRD file, found {}",
                options.group,
                file.display()
            )));
        }
        let Some(trajectory) = args.trajectory.map(array_of) else {
            return Err(Failure::usage(format!(
                "--trajectory: expected the file with the positions of the samples in {}, such as traj.cfl, found none (Cartesian samples need no trajectory: BART's fft and pics reconstruct them)",
                file.display()
            )));
        };
        if !is_cfl(&trajectory) {
            return Err(Failure::usage(format!(
                "--trajectory {}: expected a file whose name ends in .cfl",
                trajectory.display()
            )));
        }
        Ok(Self::Bart(BartFiles {
            samples: file,
            trajectory,
            matrix: options.matrix,
            k_unit: options.k_unit,
            select: options.select,
            exclude_coils: options.exclude_coils,
        }))
    }

    /// The file with the samples.
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::Ismrmrd { file, .. } => file,
            Self::Bart(files) => &files.samples,
        }
    }

    /// The files that are named: the samples first.
    pub(super) fn files(&self) -> Vec<&Path> {
        match self {
            Self::Ismrmrd { file, .. } => vec![file],
            Self::Bart(files) => vec![&files.samples, &files.trajectory],
        }
    }

    /// The images that are selected, sorted, if the options ask for several.
    pub(super) fn images(&self, memory: Memory) -> Result<Option<Vec<ImageIndex>>, IoError> {
        let several = match self {
            Self::Ismrmrd { options, .. } => options.select.selects_several(),
            Self::Bart(files) => files.select.selects_several(),
        };
        let listed = || match self {
            Self::Ismrmrd { file, options } => ismrmrd::images_within(file, options, memory),
            Self::Bart(files) => bart::images(files),
        };
        several.then(listed).transpose()
    }

    /// Reads the samples of the image that is selected, or of one of several, which must fit into
    /// `memory`.
    pub(super) fn read(
        &self,
        image: Option<ImageIndex>,
        memory: Memory,
    ) -> Result<KSpaceFile, IoError> {
        match self {
            Self::Ismrmrd { file, options } => {
                let options = ReadOptions {
                    image,
                    ..options.clone()
                };
                ismrmrd::read_within(file, &options, memory)
            }
            Self::Bart(files) => bart::read_within(files, image, memory),
        }
    }
}

/// `files`, and the texts with the dimensions of those that are BART arrays.
pub(super) fn with_headers(files: &[&Path]) -> Vec<PathBuf> {
    let headers = files.iter().filter(|path| is_cfl(path));
    let headers = headers.map(|path| header_path(path));
    files
        .iter()
        .map(|path| path.to_path_buf())
        .chain(headers)
        .collect()
}

/// `--group`, `--select` and `--combine`.
fn read_options(
    group: &str,
    select: Option<&str>,
    combine: Option<&str>,
) -> Result<ReadOptions, Failure> {
    if group.trim_matches('/').is_empty() {
        return Err(Failure::usage(
            "--group: expected the name of a group in the file, found an empty one",
        ));
    }
    let mut chosen = match select {
        None => Selection::default(),
        Some(text) => {
            Selection::parse(text).map_err(|error| Failure::usage(format!("--select {error}")))?
        }
    };
    if let Some(text) = combine {
        let combined = chosen.combine(text);
        chosen = combined.map_err(|error| Failure::usage(format!("--combine {error}")))?;
    }
    Ok(ReadOptions {
        group: group.to_owned(),
        select: chosen,
        ..ReadOptions::default()
    })
}
