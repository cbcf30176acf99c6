//! Loading a library at run time.

use std::path::{Path, PathBuf};

use libloading::Library;

use crate::cuda::error::CudaError;

/// Where to look for a library.
pub(super) struct LibrarySearch {
    /// Name of the library in messages.
    pub(super) name: &'static str,
    /// Environment variable with the full path of the library. If set, only this path is tried.
    pub(super) variable: &'static str,
    /// File names to try, the preferred one first.
    pub(super) sonames: &'static [&'static str],
    /// Folders to try after those of the loader.
    pub(super) folders: &'static [&'static str],
}

impl LibrarySearch {
    /// Loads the first candidate that can be loaded.
    pub(super) fn open(&self) -> Result<Library, CudaError> {
        let mut tried = Vec::new();
        for path in self.candidates(std::env::var_os(self.variable).map(PathBuf::from)) {
            // SAFETY: NVIDIA's libraries have initialisers that may run on any thread; a path in
            // the variable is the responsibility of the user, like any library path.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Ok(library),
                Err(error) => tried.push(format!("{}: {}", path.display(), loader_message(&error))),
            }
        }
        Err(CudaError::LibraryMissing {
            library: self.name,
            tried: tried.join("; "),
            variable: self.variable,
        })
    }

    fn candidates(&self, given: Option<PathBuf>) -> Vec<PathBuf> {
        if let Some(path) = given {
            return vec![path];
        }
        let by_loader = self.sonames.iter().map(PathBuf::from);
        let in_folders = self
            .folders
            .iter()
            .flat_map(|folder| self.sonames.iter().map(|name| Path::new(folder).join(name)))
            .filter(|path| path.exists());
        by_loader.chain(in_folders).collect()
    }
}

/// The address of a function, as the type that the caller specifies.
///
/// # Safety
/// `F` must be a function pointer type with the function's C signature, and the result must not be
/// used after `library` is closed.
pub(super) unsafe fn function<F: Copy>(
    library: &Library,
    search: &LibrarySearch,
    name: &'static str,
) -> Result<F, CudaError> {
    // SAFETY: as the caller guarantees.
    match unsafe { library.get::<F>(name.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(error) => Err(CudaError::LibraryMissing {
            library: search.name,
            tried: format!(
                "the library that was found lacks {name}: {}",
                loader_message(&error)
            ),
            variable: search.variable,
        }),
    }
}

/// The message of the loader, which `libloading` keeps as the source of its error.
fn loader_message(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => loader_message(cause),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: LibrarySearch = LibrarySearch {
        name: "libmissing",
        variable: "WARPSTRIDE_TEST_MISSING",
        sonames: &["libmissing.so.2", "libmissing.so.1"],
        folders: &["/missing"],
    };

    #[test]
    fn the_error_lists_the_candidates() {
        let error = MISSING.open().unwrap_err().to_string();
        for part in [
            "libmissing.so.2",
            "libmissing.so.1",
            "WARPSTRIDE_TEST_MISSING",
        ] {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    }

    #[test]
    fn a_given_path_is_the_only_candidate() {
        let given = PathBuf::from("/given/lib.so");
        assert_eq!(MISSING.candidates(Some(given.clone())), [given]);
        assert_eq!(
            MISSING.candidates(None),
            [
                PathBuf::from("libmissing.so.2"),
                PathBuf::from("libmissing.so.1")
            ]
        );
    }
}
