//! Reading of arrays from NumPy's archives (`.npz`), limited to what the tests need.

use anyhow::{Context, Result, bail};
use num_complex::Complex;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use zip::ZipArchive;

/// An opened archive.
pub struct Archive(ZipArchive<File>);

impl Archive {
    /// Opens `path`.
    ///
    /// # Errors
    /// The file does not exist or is not an archive.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(ZipArchive::new(File::open(path)?)?))
    }

    /// The real array `name` in C order, with its shape.
    ///
    /// # Errors
    /// The archive has no such array, or its numbers are complex.
    pub fn real(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let (shape, description, values) = self.numbers(name)?;
        if description.starts_with("<c") {
            bail!("{name} is complex");
        }
        Ok((shape, values))
    }

    /// The complex array `name` in C order, with its shape.
    ///
    /// # Errors
    /// The archive has no such array, or its numbers are real.
    pub fn complex(&mut self, name: &str) -> Result<(Vec<usize>, Vec<Complex<f64>>)> {
        let (shape, description, values) = self.numbers(name)?;
        if !description.starts_with("<c") {
            bail!("{name} is real");
        }
        let pairs = values.chunks_exact(2);
        Ok((shape, pairs.map(|v| Complex::new(v[0], v[1])).collect()))
    }

    /// Shape, element type and numbers; complex numbers as alternating real and imaginary parts.
    fn numbers(&mut self, name: &str) -> Result<(Vec<usize>, String, Vec<f64>)> {
        let mut bytes = Vec::new();
        let mut entry = self.0.by_name(&format!("{name}.npy"))?;
        entry.read_to_end(&mut bytes)?;
        // Version 1.0: six bytes of magic, two of the version, two of the header's length.
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = std::str::from_utf8(&bytes[10..10 + length])?;
        let between = |before: &str, after: &str| {
            let rest = header.split_once(before)?.1;
            rest.split_once(after).map(|(text, _)| text.to_owned())
        };
        let description = between("'descr': '", "'").context("no element type")?;
        let shape = between("'shape': (", ")").context("no shape")?;
        let shape: Vec<usize> = shape
            .split(',')
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        if shape.len() > 1 && header.contains("'fortran_order': True") {
            bail!("{name} is in Fortran order");
        }
        let data = &bytes[10 + length..];
        let values = match description.as_str() {
            "<f4" | "<c8" => {
                let (numbers, _) = data.as_chunks::<4>();
                numbers
                    .iter()
                    .map(|b| f32::from_le_bytes(*b).into())
                    .collect()
            }
            "<f8" | "<c16" => {
                let (numbers, _) = data.as_chunks::<8>();
                numbers.iter().map(|b| f64::from_le_bytes(*b)).collect()
            }
            other => bail!("{name} has elements {other}"),
        };
        Ok((shape, description, values))
    }
}
