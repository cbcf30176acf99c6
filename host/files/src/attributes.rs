//! Short strings in attributes of groups and datasets of HDF5 files.

use super::IoError;
use super::source::Source;
use hdf5_metno as hdf5;
use hdf5_metno::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};

/// Most strings of an attribute that is read.
const MOST_TEXTS: usize = 64;
/// Most bytes of a string; longer ones are cut.
const LONGEST: usize = 256;
/// Most bytes of a fixed-length string in the file; a longer one is not a name.
const LONGEST_STORED: usize = 1 << 16;

impl Source {
    /// The strings of the attribute `name` of the group or dataset `path`, if it has any.
    pub fn attribute_texts(&self, path: &str, name: &str) -> Result<Option<Vec<String>>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.attribute_texts(&path, name);
        }
        if let Some(group) = self.group(path)? {
            return self.texts_on(&group, path, name);
        }
        match self.dataset(path)? {
            Some(dataset) => self.texts_on(&dataset, path, name),
            None => Ok(None),
        }
    }

    /// The first string of an attribute.
    pub fn attribute(&self, path: &str, name: &str) -> Result<Option<String>, IoError> {
        let texts = self.attribute_texts(path, name)?;
        Ok(texts.and_then(|texts| texts.into_iter().next()))
    }

    /// The number in an attribute; `None` if the attribute does not exist or is not one number.
    pub fn attribute_number(&self, path: &str, name: &str) -> Result<Option<f64>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.attribute_number(&path, name);
        }
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        // HDF5 reports a missing attribute with the same error as a damaged one.
        let Ok(attribute) = dataset.attr(name) else {
            return Ok(None);
        };
        let number = attribute
            .dtype()
            .is_ok_and(|kind| (1..=8).contains(&kind.size()) && kind.conv_to::<f64>().is_some());
        if !number || attribute.size() != 1 {
            return Ok(None);
        }
        let read = attribute.read_raw::<f64>();
        let damaged = |_| self.damaged(path, &format!("its attribute {name} is damaged"));
        Ok(read.map_err(damaged)?.first().copied())
    }

    /// Whether the group or dataset `path` has the attribute `name`, of whatever type.
    pub fn has_attribute(&self, path: &str, name: &str) -> bool {
        let has = |of: &hdf5::Location| of.attr(name).is_ok();
        match self.group(path) {
            Ok(Some(group)) => has(&group),
            _ => matches!(self.dataset(path), Ok(Some(dataset)) if has(&dataset)),
        }
    }

    /// The numbers in an attribute of a group or dataset; `None` if the attribute does not exist or
    /// has no numbers, or more than 64.
    pub fn attribute_numbers(&self, path: &str, name: &str) -> Result<Option<Vec<f64>>, IoError> {
        // HDF5 reports a missing attribute with the same error as a damaged one.
        let attribute = match self.group(path)? {
            Some(group) => group.attr(name),
            None => match self.dataset(path)? {
                Some(dataset) => dataset.attr(name),
                None => return Ok(None),
            },
        };
        let Ok(attribute) = attribute else {
            return Ok(None);
        };
        let number = attribute
            .dtype()
            .is_ok_and(|kind| (1..=8).contains(&kind.size()) && kind.conv_to::<f64>().is_some());
        if !number || !(1..=MOST_TEXTS).contains(&attribute.size()) {
            return Ok(None);
        }
        let damaged = |_| self.damaged(path, &format!("its attribute {name} is damaged"));
        attribute.read_raw::<f64>().map(Some).map_err(damaged)
    }

    /// The first string of a dataset of strings of any kind; `None` for other datasets.
    pub fn label(&self, path: &str) -> Result<Option<String>, IoError> {
        if let Some((source, path)) = self.elsewhere(path)? {
            return source.label(&path);
        }
        if self.group(path)?.is_some() {
            return Ok(None);
        }
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let Ok(kind) = dataset.dtype() else {
            return Ok(None);
        };
        let variable = is_variable(&kind);
        if variable {
            self.check_heaps()?;
        } else if kind.conv_to::<FixedAscii<LONGEST>>().is_none() {
            return Ok(None);
        }
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        let count = shape.iter().product::<usize>();
        if count > MOST_TEXTS {
            return Ok(None);
        }
        if count > 0 && variable {
            self.check_string_lengths(path, &dataset, count)?;
        }
        Ok(self.texts_of(&dataset)?.and_then(|t| t.into_iter().next()))
    }

    /// The strings of the attribute `name` of `on`, which is at `path`.
    pub(crate) fn texts_on(
        &self,
        on: &hdf5::Location,
        path: &str,
        name: &str,
    ) -> Result<Option<Vec<String>>, IoError> {
        let damaged = || self.damaged(path, &format!("its attribute {name} is damaged"));
        // HDF5 reports a missing attribute with the same error as a damaged one.
        let found = on
            .find_attr(
                hdf5::IndexType::Name,
                hdf5::IterationOrder::Native,
                |other, _| Ok((other == name).then_some(())),
            )
            .map_err(|_| damaged())?;
        if found.is_none() {
            return Ok(None);
        }
        let attribute = on.attr(name).map_err(|_| damaged())?;
        if attribute.dtype().is_ok_and(|kind| is_variable(&kind)) {
            self.check_attribute_length(path, name, LONGEST_STORED)?;
        }
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
        if is_variable(&kind) {
            self.check_heaps()?;
            // HDF5 does not convert between the two character sets.
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

/// Whether strings of this type have lengths of their own.
fn is_variable(kind: &hdf5::Datatype) -> bool {
    kind.is::<VarLenUnicode>() || kind.is::<VarLenAscii>()
}
