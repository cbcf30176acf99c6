//! Finding a library at run time.

use std::path::{Path, PathBuf};

use libloading::Library;

use crate::cuda::error::CudaError;

/// Where to look for a library.
pub(super) struct Wanted {
    /// For messages.
    pub(super) name: &'static str,
    /// Environment variable with its full path, which then is the only place looked at.
    pub(super) variable: &'static str,
    /// Names to try, the best first.
    pub(super) sonames: &'static [&'static str],
    /// Folders to try after the loader's own.
    pub(super) folders: &'static [&'static str],
}

impl Wanted {
    /// Opens the first that can be opened.
    pub(super) fn open(&self) -> Result<Library, CudaError> {
        let mut tried = Vec::new();
        for path in self.candidates(std::env::var_os(self.variable).map(PathBuf::from)) {
            // SAFETY: NVIDIA's libraries have initialisers that may run on any thread; what the
            // user names in the variable is theirs to answer for, like any library path.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Ok(library),
                Err(error) => tried.push(format!("{}: {}", path.display(), words(&error))),
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

/// A function's address, as the type that the caller states.
///
/// # Safety
/// `F` must be a function pointer type with the function's C signature, and the result must not be
/// used after `library` is closed.
pub(super) unsafe fn function<F: Copy>(
    library: &Library,
    wanted: &Wanted,
    name: &'static str,
) -> Result<F, CudaError> {
    // SAFETY: the caller's promise.
    match unsafe { library.get::<F>(name.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(error) => Err(CudaError::LibraryMissing {
            library: wanted.name,
            tried: format!("the one found lacks {name}: {}", words(&error)),
            variable: wanted.variable,
        }),
    }
}

/// The loader's own message, which `libloading` keeps as the error's source.
fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => words(cause),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Wanted = Wanted {
        name: "libnowhere",
        variable: "WARPSTRIDE_TEST_NOWHERE",
        sonames: &["libnowhere.so.2", "libnowhere.so.1"],
        folders: &["/nowhere"],
    };

    #[test]
    fn what_was_tried_is_said() {
        let error = NOWHERE.open().unwrap_err().to_string();
        for part in [
            "libnowhere.so.2",
            "libnowhere.so.1",
            "WARPSTRIDE_TEST_NOWHERE",
        ] {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    }

    #[test]
    fn a_given_path_is_the_only_place() {
        let given = PathBuf::from("/given/lib.so");
        assert_eq!(NOWHERE.candidates(Some(given.clone())), [given]);
        assert_eq!(
            NOWHERE.candidates(None),
            [
                PathBuf::from("libnowhere.so.2"),
                PathBuf::from("libnowhere.so.1")
            ]
        );
    }
}
