//! Checks of the input and output files of a command, before any work.

use super::failure::Failure;
use std::fmt;
use std::path::Path;
use warpstride::system::atomic_file;

/// A format of an output file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// The format, with its article.
    name: &'static str,
    /// The endings of its files; messages name the first.
    endings: &'static [&'static str],
}

impl Format {
    const fn new(name: &'static str, endings: &'static [&'static str]) -> Self {
        Self { name, endings }
    }
}

pub(crate) const CFL: Format = Format::new("a BART array", &["cfl"]);
pub(crate) const CHECKPOINT: Format = Format::new("a checkpoint", &["checkpoint"]);
pub(crate) const CSV: Format = Format::new("text", &["csv", "txt", "dat"]);
pub(crate) const HDF5: Format = Format::new("an HDF5 file", &["h5", "hdf5", "hdf"]);
pub(crate) const HTML: Format = Format::new("an HTML page", &["html", "htm"]);
pub(crate) const JSON: Format = Format::new("JSON", &["json"]);
pub(crate) const NIFTI: Format = Format::new("a NIfTI file", &["nii", "nii.gz"]);
pub(crate) const NPY: Format = Format::new("a NumPy array", &["npy"]);
pub(crate) const PARQUET: Format = Format::new("Parquet", &["parquet", "pq"]);
pub(crate) const PNG: Format = Format::new("a picture", &["png"]);
pub(crate) const ROWS: Format = Format::new("text", &["csv"]);
/// Results of ptychography have the layout of CXI.
pub(crate) const PTYCHO_RESULT: Format = Format::new("an HDF5 file", &["h5", "hdf5", "hdf", "cxi"]);
pub(crate) const SCAN: Format = Format::new("an HDF5 file", &["cxi", "h5", "hdf5", "hdf"]);
pub(crate) const ISMRMRD: Format = Format::new("an HDF5 file", &["h5", "hdf5", "hdf", "mrd"]);
pub(crate) const NXCANSAS: Format = Format::new("NXcanSAS", &["h5", "hdf5", "nxs"]);
pub(crate) const SVG: Format = Format::new("a drawing", &["svg"]);
pub(crate) const TIFF: Format = Format::new("a TIFF image", &["tif", "tiff"]);
pub(crate) const STORE: Format = Format::new("a store of series", &["store"]);

/// Endings that mean other formats than a checkpoint or a store, whose names are free otherwise.
const FOREIGN: [&str; 27] = [
    "arrow", "bmp", "cfl", "csv", "cxi", "dat", "gif", "gz", "h5", "hdf", "hdf5", "hdr", "htm",
    "html", "jpeg", "jpg", "json", "nii", "npy", "npz", "parquet", "png", "pq", "svg", "toml",
    "txt", "zst",
];

/// The name that stands for standard output.
const STANDARD: &str = "-";

/// An output file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputFile<'a> {
    /// The option that names it, or what it is if no option does; empty for an argument.
    pub(crate) option: &'static str,
    pub(crate) path: &'a Path,
    /// None: any name.
    pub(crate) formats: &'static [Format],
}

impl<'a> OutputFile<'a> {
    pub(crate) fn new(
        option: &'static str,
        path: &'a Path,
        formats: &'static [Format],
    ) -> OutputFile<'a> {
        Self {
            option,
            path,
            formats,
        }
    }

    /// The output of an option, if it is given.
    pub(crate) fn given(
        option: &'static str,
        path: Option<&'a (impl AsRef<Path> + ?Sized)>,
        formats: &'static [Format],
    ) -> Option<OutputFile<'a>> {
        path.map(|path| Self::new(option, path.as_ref(), formats))
    }
}

/// `-o out.h5`
impl fmt::Display for OutputFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.option.is_empty() {
            write!(f, "{} ", self.option)?;
        }
        write!(f, "{}", self.path.display())
    }
}

/// Checks that no output is an input or another output, that the name of every output has the
/// ending of its format, and that every output can be written.
pub(crate) fn check(outputs: &[OutputFile<'_>], inputs: &[&Path]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        if let Some(input) = inputs.iter().find(|input| same(input, output.path)) {
            return Err(Failure::usage(format!(
                "{output}: expected another name than the input {}",
                input.display()
            )));
        }
        if let Some(other) = outputs[..i]
            .iter()
            .find(|other| same(other.path, output.path))
        {
            return Err(Failure::usage(format!(
                "{output}: expected another name than {other}"
            )));
        }
    }
    outputs.iter().try_for_each(check_name)?;
    for output in outputs {
        atomic_file::check(output.path).map_err(|why| {
            Failure::failed(format!("{output}: cannot be written: {}", why.reason))
        })?;
    }
    Ok(())
}

/// Checks that the name of an output has the ending of one of its formats. A checkpoint and a store
/// may have any name that does not mean another format.
pub(crate) fn check_name(output: &OutputFile<'_>) -> Result<(), Failure> {
    if output.path.as_os_str() == STANDARD {
        return Err(Failure::usage(format!(
            "{output}: expected the name of a file, found the sign of standard output, where this output cannot go"
        )));
    }
    let ending = ending(output.path);
    let mut known = output.formats.iter().flat_map(|format| format.endings);
    let whole = ending.to_lowercase();
    let last = whole.rsplit('.').next().unwrap_or_default();
    if output.formats.is_empty() || known.any(|known| *known == last || *known == whole) {
        return Ok(());
    }
    let free = |format: &Format| [CHECKPOINT.name, STORE.name].contains(&format.name);
    if output.formats.iter().any(free) && !FOREIGN.contains(&last) {
        return Ok(());
    }
    let expected: Vec<String> = output
        .formats
        .iter()
        .map(|format| format!(".{} ({})", format.endings[0], format.name))
        .collect();
    let found = match &*ending {
        "" => "no ending".to_owned(),
        ending => format!(".{ending}"),
    };
    Err(Failure::usage(format!(
        "{output}: expected a name that ends in {}, found {found}",
        expected.join(" or ")
    )))
}

/// The ending of a name without its first dot: `h5`, or `nii.gz` if it is compressed; empty if
/// there is none.
fn ending(path: &Path) -> String {
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map_or_else(String::new, |part| part.to_string_lossy().into_owned())
    };
    let last = text(path.extension());
    let inner = text(
        path.file_stem()
            .and_then(|stem| Path::new(stem).extension()),
    );
    if ["gz", "zst", "bz2", "xz"].contains(&&*last) && !inner.is_empty() {
        return format!("{inner}.{last}");
    }
    last
}

/// The names of `files` as given, each once.
pub(crate) fn names<'a>(files: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
    let mut names = Vec::new();
    for file in files {
        let name = file.display().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether two paths name the same file, which need not exist.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            // A link to a file that does not exist yet is that file.
            let path = atomic_file::destination(path).ok()?;
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    a == b || matches!((resolved(a), resolved(b)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_ending_of_their_format() {
        let check = |option, name: &str, formats| {
            check_name(&OutputFile::new(option, Path::new(name), formats))
        };
        for (name, formats) in [
            ("a.h5", &[HDF5][..]),
            ("a.HDF5", &[HDF5]),
            ("a.b/c.d.npy", &[HDF5, NPY]),
            ("c", &[CHECKPOINT]),
            ("run.7", &[CHECKPOINT]),
            ("series.store", &[STORE]),
            ("x.NII.gz", &[HDF5, NIFTI]),
        ] {
            check("-o", name, formats).unwrap();
        }
        for (option, name, formats, text) in [
            (
                "-o",
                "x.jpg",
                &[HDF5][..],
                "-o x.jpg: expected a name that ends in .h5 (an HDF5 file), found .jpg",
            ),
            (
                "-o",
                "a.b/x",
                &[HDF5, NPY],
                "-o a.b/x: expected a name that ends in .h5 (an HDF5 file) or .npy (a NumPy array), found no ending",
            ),
            (
                "",
                "x.nii.gz",
                &[SCAN],
                "x.nii.gz: expected a name that ends in .cxi (an HDF5 file), found .nii.gz",
            ),
            (
                "--checkpoint",
                "x.H5",
                &[CHECKPOINT],
                "--checkpoint x.H5: expected a name that ends in .checkpoint (a checkpoint), found .H5",
            ),
        ] {
            assert_eq!(check(option, name, formats).unwrap_err().to_string(), text);
        }
    }
}
