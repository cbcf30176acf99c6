//! Strings of variable length.

use super::shape::bytes_of;
use super::{IoError, Source};
use hdf5_metno as hdf5;

impl Source {
    /// A UTF-8 string of variable length; `None` if it does not exist.
    pub fn text(&self, path: &str) -> Result<Option<String>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.text(&path);
        }
        match self.dataset(path)? {
            None => Ok(None),
            Some(dataset) => Ok(self.strings(path, &dataset, &[])?.pop()),
        }
    }

    /// A string of variable length, UTF-8 or ASCII, as a scalar or as the only element of an array;
    /// `None` if it does not exist.
    pub fn lone_text(&self, path: &str) -> Result<Option<String>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.lone_text(&path);
        }
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let wrong = || IoError::Type {
            file: self.name().to_owned(),
            dataset: path.to_owned(),
            expected: "a string of variable length (UTF-8 or ASCII)",
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        let kinds = [
            kind.is::<hdf5::types::VarLenUnicode>(),
            kind.is::<hdf5::types::VarLenAscii>(),
        ];
        if kinds == [false; 2] {
            return Err(wrong());
        }
        self.check_heaps()?;
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        if bytes_of(&shape, 1) != 1 {
            return Err(self.bad_shape(path, &shape, "one string"));
        }
        self.check_string_lengths(path, &dataset, 1)?;
        // HDF5 reports the same type for both character sets, but does not convert between them.
        let unicode = dataset
            .read_raw()
            .map(|read: Vec<hdf5::types::VarLenUnicode>| bytes_of_first(&read));
        let ascii = || {
            let read = dataset.read_raw::<hdf5::types::VarLenAscii>();
            read.map(|read| bytes_of_first(&read))
        };
        let bytes = unicode
            .or_else(|_| ascii())
            .map_err(|_| self.damaged(path, "its text is damaged"))?;
        String::from_utf8(bytes).map(Some).map_err(|_| wrong())
    }

    /// Reads `count` UTF-8 strings of variable length.
    pub fn texts(&self, path: &str, count: usize) -> Result<Vec<String>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.texts(&path, count);
        }
        let dataset = self
            .dataset(path)?
            .ok_or_else(|| self.missing("texts", path))?;
        self.strings(path, &dataset, &[count])
    }

    fn strings(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        expected: &[usize],
    ) -> Result<Vec<String>, IoError> {
        let wrong = || IoError::Type {
            file: self.name().to_owned(),
            dataset: path.to_owned(),
            expected: "UTF-8 strings of variable length",
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        if !kind.is::<hdf5::types::VarLenUnicode>() {
            return Err(wrong());
        }
        self.check_heaps()?;
        let shape = self.checked_shape(path, dataset, kind.size())?;
        if shape != expected {
            return Err(self.bad_shape(path, &shape, &format!("shape {expected:?}")));
        }
        self.allow(path, bytes_of(&shape, kind.size()))?;
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_string_lengths(path, dataset, shape.iter().product())?;
        let texts: Vec<hdf5::types::VarLenUnicode> = dataset
            .read_raw()
            .map_err(|_| self.damaged(path, "its text is damaged"))?;
        texts
            .iter()
            .map(|t| String::from_utf8(t.as_bytes().to_vec()).map_err(|_| wrong()))
            .collect()
    }
}

/// A copy of the first string.
fn bytes_of_first(texts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    texts
        .first()
        .map_or_else(Vec::new, |text| text.as_ref().to_vec())
}
