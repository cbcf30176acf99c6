//! Coils that the user leaves out.

use crate::data::KSpace;
use ndarray::Array2;
use num_complex::Complex;
use warpstride_files::IoError;

/// The coils of a file that are left out, sorted.
#[derive(Debug)]
pub struct ExcludedCoils {
    coils: Vec<usize>,
    /// Number of coils in the file.
    count: usize,
}

impl ExcludedCoils {
    /// Checks the numbers `coils`, from 0, for the `count` coils of `file`.
    ///
    /// # Errors
    /// [`IoError::Value`] for a coil that is not there, and if none is left.
    pub fn new(coils: &[usize], count: usize, file: &str) -> Result<Self, IoError> {
        let excluded: Vec<usize> = (0..count).filter(|coil| coils.contains(coil)).collect();
        let is_absent = coils.iter().any(|coil| *coil >= count);
        if !coils.is_empty() && (is_absent || excluded.len() == count) {
            return Err(IoError::Value {
                file: file.to_owned(),
                dataset: "the coils to exclude".to_owned(),
                found: list(coils),
                expected: format!("numbers from 0 to {}, and a coil that is left", count - 1),
            });
        }
        Ok(Self {
            coils: excluded,
            count,
        })
    }

    /// Whether this coil is left out.
    pub(super) fn contains(&self, coil: usize) -> bool {
        self.coils.binary_search(&coil).is_ok()
    }

    /// The coils that are left.
    pub(super) fn left(&self) -> Vec<usize> {
        (0..self.count)
            .filter(|coil| !self.contains(*coil))
            .collect()
    }

    /// Sets the samples (coil, sample) of these coils to 0, so that none of their values counts.
    pub fn clear(&self, samples: &mut Array2<Complex<f64>>) {
        for coil in &self.coils {
            samples.row_mut(*coil).fill(Complex::default());
        }
    }

    /// Removes these coils, and returns a note that names them.
    #[must_use]
    pub fn remove(&self, kspace: KSpace) -> (KSpace, Option<String>) {
        let count = self.count;
        let numbers = self.coils.iter().map(|coil| kspace.coil_numbers()[*coil]);
        let note = match &numbers.collect::<Vec<_>>()[..] {
            [] => return (kspace, None),
            [coil] => format!("coil {coil} of {count} is excluded"),
            several => format!("coils {} of {count} are excluded", list(several)),
        };
        (kspace.of_coils(&self.left()), Some(note))
    }
}

fn list(coils: &[usize]) -> String {
    let each: Vec<String> = coils.iter().map(usize::to_string).collect();
    each.join(", ")
}
