//! Checks of the input and output files of a command, before any work.

use super::failure::Failure;
use std::path::Path;

/// Checks that every output can be written, and that no two outputs and no input and output are the
/// same file.
pub(crate) fn check(outputs: &[&Path], inputs: &[&Path]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        if let Some(input) = inputs.iter().find(|input| same(input, output)) {
            return Err(Failure::usage(format!(
                "{}: is an input: expected another name for the output {}",
                input.display(),
                output.display()
            )));
        }
        if outputs[..i].iter().any(|other| same(other, output)) {
            return Err(Failure::usage(format!(
                "{}: is the name of two outputs: expected a different name for each",
                output.display()
            )));
        }
    }
    for output in outputs {
        crate::system::atomic_file::check(output)?;
    }
    Ok(())
}

/// Checks that the name of a picture ends in `.png`.
pub(crate) fn check_picture(option: &str, path: &Path) -> Result<(), Failure> {
    let png = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("png"));
    if png {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option} {}: expected a name that ends in .png",
        path.display()
    )))
}

/// Whether two paths name the same file, which need not exist.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    let resolved = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    a == b || matches!((resolved(a), resolved(b)), (Some(a), Some(b)) if a == b)
}
