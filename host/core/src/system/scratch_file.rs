//! A temporary file of numbers that are too many for memory.

use bytemuck::Pod;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use super::{Bytes, can_allocate};

/// A temporary file cannot be written or read: a sentence with its folder, its size and the
/// operating system's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScratchError(String);

impl From<ScratchError> for warpstride_cuda::gpu::GpuError {
    fn from(error: ScratchError) -> Self {
        Self::HostData(error.to_string())
    }
}

impl ScratchError {
    /// Values that are elsewhere and cannot be read, with a sentence that says why.
    #[must_use]
    pub fn unread(why: String) -> Self {
        Self(why)
    }

    /// Refuses `bytes` of memory for a part of the counts that the system does not give.
    ///
    /// # Errors
    /// It does not.
    pub fn allow_part(bytes: u64) -> Result<(), Self> {
        can_allocate(bytes).map_err(|[needed, available]| {
            Self(format!(
                "a part of the counts needs {needed} of memory, but {available} is available; read fewer frames (--set data.frames=[0,100]), or raise the limit of memory (ulimit -v)"
            ))
        })
    }
}

/// A file without a name of `len` values, 0 where none has been written. It is removed when it is
/// dropped, or when the process ends in whatever way. Several threads may read it.
#[derive(Debug)]
pub struct ScratchFile<T> {
    file: File,
    folder: String,
    len: u64,
    values: PhantomData<T>,
}

impl<T: Pod> ScratchFile<T> {
    /// Makes a file in `folder` for `len` values.
    pub fn new(folder: &Path, len: u64) -> Result<Self, ScratchError> {
        let name = folder.display().to_string();
        let failed =
            |error: io::Error| failure(&name, len.saturating_mul(size_of::<T>() as u64), &error);
        let file = tempfile::tempfile_in(folder).map_err(failed)?;
        file.set_len(len.saturating_mul(size_of::<T>() as u64))
            .map_err(failed)?;
        Ok(Self {
            file,
            folder: name,
            len,
            values: PhantomData,
        })
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        Path::new(&self.folder)
    }

    /// Writes `values` from place `at` on.
    pub fn write(&self, at: u64, values: &[T]) -> Result<(), ScratchError> {
        let from = at.saturating_mul(size_of::<T>() as u64);
        let written = write_all_at(&self.file, bytemuck::cast_slice(values), from);
        written.map_err(|error| self.failed(&error))
    }

    /// Reads `values` from place `at` on.
    pub fn read(&self, at: u64, values: &mut [T]) -> Result<(), ScratchError> {
        let from = at.saturating_mul(size_of::<T>() as u64);
        let read = read_exact_at(&self.file, bytemuck::cast_slice_mut(values), from);
        read.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> ScratchError {
        failure(
            &self.folder,
            self.len.saturating_mul(size_of::<T>() as u64),
            error,
        )
    }
}

fn failure(folder: &str, bytes: u64, error: &io::Error) -> ScratchError {
    let reason = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "there is not enough space left; choose another folder with --scratch".to_owned()
        }
        io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        io::ErrorKind::UnexpectedEof => "it has become shorter".to_owned(),
        _ => error.to_string(),
    };
    let size = Bytes(u128::from(bytes));
    ScratchError(format!(
        "the temporary file of {size} for the counts in the folder {folder}: {reason}"
    ))
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written_and_zero_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = ScratchFile::<u16>::new(folder.path(), 10).unwrap();
        file.write(3, &[1, 2, 65_535]).unwrap();
        let mut values = [7; 6];
        file.read(2, &mut values).unwrap();
        assert_eq!(values, [0, 1, 2, 65_535, 0, 0]);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "no name"
        );
        let error = file.read(8, &mut values).unwrap_err().to_string();
        assert!(error.ends_with("it has become shorter"), "{error}");
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = ScratchFile::<f32>::new(Path::new("/no/such"), 1 << 30).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the temporary file of 4.0 GiB for the counts in the folder /no/such: there is no such folder"
        );
    }
}
