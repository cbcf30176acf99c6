//! The datasets of a file with their shapes, element types and units.

use super::Source;
use super::listed::{ElementKind, ListedDataset};
use super::matlab_complex::{MatlabDouble, MatlabSingle};
use hdf5_metno as hdf5;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use num_complex::Complex;
use std::io::Read;

/// Bytes of the largest element type that is described; others are strings or records.
const LARGEST_ELEMENT: usize = 16;

impl Source {
    /// The datasets of the file, the largest first, as far as it is looked through
    /// ([`Source::unseen`]). Links to other places are not followed, those to datasets of other
    /// files are, and damaged datasets are left out.
    pub fn listing(&self) -> Vec<ListedDataset> {
        let mut listed = self.looked_through().datasets.clone();
        listed.sort_by_key(|of| std::cmp::Reverse(of.elements()));
        listed
    }

    /// What the list has of an open dataset; `None` if it is damaged.
    pub(super) fn described(
        &self,
        path: String,
        shape: Vec<usize>,
        dataset: &hdf5::Dataset,
    ) -> Option<ListedDataset> {
        let (kind, element) = described(&dataset.dtype().ok()?);
        let units = self.texts_on(dataset, &path, "units").ok().flatten();
        let units = units.and_then(|texts| texts.into_iter().next());
        Some(ListedDataset {
            path,
            shape,
            kind,
            element,
            units: units.filter(|units| !units.trim().is_empty()),
        })
    }

    /// Whether the file begins with the bytes `text`, in the user block before the data of HDF5.
    pub fn begins_with(&self, text: &[u8]) -> bool {
        let mut found = vec![0; text.len()];
        let read = std::fs::File::open(&self.path).and_then(|mut file| file.read_exact(&mut found));
        read.is_ok() && found == text
    }
}

/// Kind and name of an element type.
fn described(kind: &hdf5::Datatype) -> (ElementKind, String) {
    // The size first: wider types (strings, records) are not inspected.
    if !(1..=LARGEST_ELEMENT).contains(&kind.size()) {
        return (ElementKind::Other, "text or records".to_owned());
    }
    if kind.is::<Complex<f32>>() || kind.is::<MatlabSingle>() {
        return (ElementKind::Complex, "complex64".to_owned());
    }
    if kind.is::<Complex<f64>>() || kind.is::<MatlabDouble>() {
        return (ElementKind::Complex, "complex128".to_owned());
    }
    // Texts and records have no conversion to numbers.
    let number = kind.size() <= 8 && kind.conv_to::<f64>().is_some();
    let bits = |bytes: usize| 8 * bytes;
    let of_integer = |size: &IntSize| bits(*size as usize);
    match number.then(|| kind.to_descriptor()) {
        Some(Ok(TypeDescriptor::Integer(size))) => {
            (ElementKind::Integer, format!("int{}", of_integer(&size)))
        }
        Some(Ok(TypeDescriptor::Unsigned(size))) => {
            (ElementKind::Integer, format!("uint{}", of_integer(&size)))
        }
        Some(Ok(TypeDescriptor::Float(size))) => {
            let bytes = match size {
                FloatSize::U4 => 4,
                FloatSize::U8 => 8,
                #[allow(
                    unreachable_patterns,
                    reason = "halves exist with some features of the crate only"
                )]
                _ => 2,
            };
            (ElementKind::Float, format!("float{}", bits(bytes)))
        }
        Some(Ok(TypeDescriptor::Boolean | TypeDescriptor::Enum(_))) => {
            (ElementKind::Integer, "bool".to_owned())
        }
        Some(_) => (
            ElementKind::Float,
            format!("numbers of {} bits", bits(kind.size())),
        ),
        None => (ElementKind::Other, "text or records".to_owned()),
    }
}
