//! Short texts that hang on groups and datasets of HDF5 files.

use super::IoError;
use super::source::Source;
use hdf5_metno as hdf5;
use hdf5_metno::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};

/// Texts of one attribute.
const MOST_TEXTS: usize = 64;
/// Bytes of a text that is read; what is longer is cut.
const LONGEST: usize = 256;
/// Bytes of a fixed text in the file; more is no name.
const LONGEST_STORED: usize = 1 << 16;

impl Source {
    /// The texts of the attribute `name` of the group or dataset `path`; `None` where there are none.
    pub(crate) fn attribute_texts(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Option<Vec<String>>, IoError> {
        if let Some(group) = self.group(path)? {
            return self.texts_on(&group, path, name);
        }
        match self.dataset(path)? {
            Some(dataset) => self.texts_on(&dataset, path, name),
            None => Ok(None),
        }
    }

    /// The first text of an attribute.
    pub(crate) fn attribute(&self, path: &str, name: &str) -> Result<Option<String>, IoError> {
        let texts = self.attribute_texts(path, name)?;
        Ok(texts.and_then(|texts| texts.into_iter().next()))
    }

    /// The first text of a dataset of texts of whatever kind; `None` where it is none.
    pub(crate) fn label(&self, path: &str) -> Result<Option<String>, IoError> {
        if self.group(path)?.is_some() {
            return Ok(None);
        }
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let Ok(kind) = dataset.dtype() else {
            return Ok(None);
        };
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        if shape.iter().product::<usize>() > MOST_TEXTS {
            return Ok(None);
        }
        Ok(self.texts_of(&dataset)?.and_then(|t| t.into_iter().next()))
    }

    fn texts_on(
        &self,
        on: &hdf5::Location,
        path: &str,
        name: &str,
    ) -> Result<Option<Vec<String>>, IoError> {
        let damaged = || self.damaged(path, &format!("its attribute {name} is damaged"));
        // Asking for one that is not there would be an error of HDF5's like any other.
        let there = on
            .find_attr(
                hdf5::IndexType::Name,
                hdf5::IterationOrder::Native,
                |found, _| Ok((found == name).then_some(())),
            )
            .map_err(|_| damaged())?;
        if there.is_none() {
            return Ok(None);
        }
        let attribute = on.attr(name).map_err(|_| damaged())?;
        self.texts_of(&attribute)
    }

    fn texts_of(&self, of: &hdf5::Container) -> Result<Option<Vec<String>>, IoError> {
        let (Ok(kind), Ok(space)) = (of.dtype(), of.space()) else {
            return Ok(None);
        };
        if space.is_null() || !(1..=MOST_TEXTS).contains(&space.size()) {
            return Ok(None);
        }
        if kind.size() > LONGEST_STORED {
            return Ok(None);
        }
        let text = |bytes: &[u8]| {
            let end = bytes.len().min(LONGEST);
            let text = String::from_utf8_lossy(&bytes[..end]);
            text.trim_matches(['\0', ' ']).to_owned()
        };
        let variable = kind.is::<VarLenUnicode>() || kind.is::<VarLenAscii>();
        if variable {
            self.check_heaps()?;
            // HDF5 does not convert one into the other.
            if let Ok(read) = of.read_raw::<VarLenUnicode>() {
                return Ok(Some(read.iter().map(|t| text(t.as_bytes())).collect()));
            }
            let read = of.read_raw::<VarLenAscii>();
            return Ok(read
                .ok()
                .map(|read| read.iter().map(|t| text(t.as_bytes())).collect()));
        }
        if kind.conv_to::<FixedAscii<LONGEST>>().is_none() {
            return Ok(None);
        }
        if let Ok(read) = of.read_raw::<FixedAscii<LONGEST>>() {
            return Ok(Some(read.iter().map(|t| text(t.as_bytes())).collect()));
        }
        let read = of.read_raw::<FixedUnicode<LONGEST>>();
        Ok(read
            .ok()
            .map(|read| read.iter().map(|t| text(t.as_bytes())).collect()))
    }
}
