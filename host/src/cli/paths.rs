//! Files that a command reads and writes, before any work.

use super::failure::Failure;
use std::path::Path;
use warpstride::io::atomic;

/// Checks that every output can be written and that none is another one or an input.
pub(crate) fn check(outputs: &[&Path], inputs: &[&Path]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        if let Some(input) = inputs.iter().find(|input| same(input, output)) {
            return Err(Failure::usage(format!(
                "{}: is read and would be written: another name is expected for the output {}",
                input.display(),
                output.display()
            )));
        }
        if outputs[..i].iter().any(|other| same(other, output)) {
            return Err(Failure::usage(format!(
                "{}: two outputs have this name: a name for each is expected",
                output.display()
            )));
        }
    }
    for output in outputs {
        atomic::check(output)?;
    }
    Ok(())
}

/// Refuses a picture whose name promises another format than PNG.
pub(crate) fn check_picture(option: &str, path: &Path) -> Result<(), Failure> {
    let png = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("png"));
    if png {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option} {}: pictures are PNG: a name that ends in .png is expected",
        path.display()
    )))
}

/// Whether two names lead to the same file, which need not exist.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    a == b || matches!((real(a), real(b)), (Some(a), Some(b)) if a == b)
}
