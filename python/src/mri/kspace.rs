//! Samples from files, with what a reconstruction can take from other files.

use super::options::{k_unit, unknown};
use crate::arrays::single;
use crate::background::abandonable;
use crate::detached::detached;
use crate::errors::Failure;
use crate::wording::all_in_python;
use numpy::{IntoPyArray, PyArray1, PyArray2, ToPyArray};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpstride::io::cfl::{array_of, is_cfl};
use warpstride::mri::data::{ImageIndex, KSpace};
use warpstride::mri::io::bart::{self, BartFiles, MatrixSize};
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::{self, DEFAULT_GROUP, KSpaceFile, ReadOptions, Selection};
use warpstride::system::Memory;

/// Files with samples, and which image.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Source {
    file: PathBuf,
    trajectory: Option<PathBuf>,
    /// `ROWSxCOLUMNS` or `SLICESxROWSxCOLUMNS`.
    matrix: Option<String>,
    group: String,
    select: Option<String>,
    combine: Option<String>,
    k_unit: Option<String>,
    exclude_coils: Vec<usize>,
}

/// Files whose options have been checked.
enum Files {
    Ismrmrd(PathBuf, ReadOptions),
    Bart(BartFiles),
}

impl Source {
    fn files(self) -> Result<Files, Failure> {
        if self.group.trim_matches('/').is_empty() {
            let text = "group: expected the name of a group in the file, found an empty one";
            return Err(Failure::data(text));
        }
        let mut select = match &self.select {
            None => Selection::default(),
            Some(text) => {
                Selection::parse(text).map_err(|why| Failure::Data(format!("select {why}")))?
            }
        };
        if let Some(text) = &self.combine {
            let combined = select.combine(text);
            select = combined.map_err(|why| Failure::Data(format!("combine {why}")))?;
        }
        let file = array_of(self.file);
        let k_unit = k_unit(self.k_unit.as_deref())?;
        let matrix = match self.matrix {
            None => None,
            Some(text) => Some(MatrixSize::parse(&text).ok_or_else(|| {
                Failure::Data(format!(
                    "matrix {text}: expected 2 or 3 numbers of voxels, each 1 to 1048576"
                ))
            })?),
        };
        if !is_cfl(&file) {
            if self.trajectory.is_some() {
                return Err(Failure::Data(format!(
                    "trajectory: expected samples in a file whose name ends in .cfl, found {} (an ISMRMRD file holds its trajectory)",
                    file.display()
                )));
            }
            let options = ReadOptions {
                group: self.group,
                select,
                image: None,
                matrix,
                k_unit,
                exclude_coils: self.exclude_coils,
            };
            return Ok(Files::Ismrmrd(file, options));
        }
        if self.group != DEFAULT_GROUP {
            return Err(Failure::Data(format!(
                "group {:?}: expected an ISMRMRD file, found {}",
                self.group,
                file.display()
            )));
        }
        let trajectory = self.trajectory.map(array_of).filter(|path| is_cfl(path));
        let Some(trajectory) = trajectory else {
            return Err(Failure::Data(format!(
                "trajectory: expected the file (.cfl) with the positions of the samples in {}, found none",
                file.display()
            )));
        };
        Ok(Files::Bart(BartFiles {
            samples: file,
            trajectory,
            matrix,
            select,
            k_unit,
            exclude_coils: self.exclude_coils,
        }))
    }
}

impl Files {
    fn selects_several(&self) -> bool {
        match self {
            Self::Ismrmrd(_, options) => options.select.selects_several(),
            Self::Bart(files) => files.select.selects_several(),
        }
    }

    fn images(&self, memory: Memory) -> Result<Vec<ImageIndex>, Failure> {
        Ok(match self {
            Self::Ismrmrd(file, options) => ismrmrd::images_within(file, options, memory)?,
            Self::Bart(files) => bart::images(files)?,
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Ismrmrd(file, _) => file,
            Self::Bart(files) => &files.samples,
        }
    }

    fn read(&self, image: Option<ImageIndex>, memory: Memory) -> Result<KSpaceFile, Failure> {
        Ok(match self {
            Self::Ismrmrd(file, options) => {
                let options = ReadOptions {
                    image,
                    ..options.clone()
                };
                ismrmrd::read_within(file, &options, memory)?
            }
            Self::Bart(files) => bart::read_within(files, image, memory)?,
        })
    }
}

/// Set, repetition, phase, contrast, slice.
type Index = [u16; 5];

/// Samples of an image.
#[pyclass(frozen, module = "warpstride._warpstride")]
pub(super) struct MriKSpace {
    file: Arc<KSpaceFile>,
    source: String,
    index: Option<ImageIndex>,
}

impl MriKSpace {
    pub(super) fn kspace(&self) -> &KSpace {
        &self.file.kspace
    }

    pub(super) fn file(&self) -> &Arc<KSpaceFile> {
        &self.file
    }
}

#[pymethods]
impl MriKSpace {
    /// Reads the samples of an image, which must be the only one that is selected, or has this
    /// index.
    #[staticmethod]
    fn read(py: Python<'_>, source: Source, image: Option<Index>) -> PyResult<Self> {
        let image = image.map(|[set, repetition, phase, contrast, slice]| ImageIndex {
            set,
            repetition,
            phase,
            contrast,
            slice,
        });
        let files = source.files()?;
        if image.is_none() && files.selects_several() {
            let text =
                "select: expected one image, found a selection of several, which read_all reads";
            return Err(Failure::data(text).into());
        }
        let source = files.path().display().to_string();
        let file = abandonable(py, move || files.read(image, Memory::available()))?;
        Ok(Self {
            file: Arc::new(file),
            source,
            index: image,
        })
    }

    /// The images that are selected.
    #[staticmethod]
    fn images(py: Python<'_>, source: Source) -> PyResult<Vec<Index>> {
        let files = source.files()?;
        let found = abandonable(py, move || files.images(Memory::available()))?;
        let row = |of: ImageIndex| [of.set, of.repetition, of.phase, of.contrast, of.slice];
        Ok(found.into_iter().map(row).collect())
    }

    /// Values (coil, sample), as files have them.
    fn samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let samples = self.kspace().samples();
        samples.map(|v| single(*v)).into_pyarray(py).into_any()
    }

    /// Trajectory (sample, axis), cycles/pixel.
    fn k<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.kspace().trajectory().to_pyarray(py)
    }

    /// Slices, rows, columns, and the number of axes of k-space.
    #[getter]
    fn extent(&self) -> ([usize; 3], usize) {
        let extent = self.kspace().extent();
        (extent.matrix, extent.axes)
    }

    /// Samples of each readout.
    #[getter]
    fn readouts(&self) -> Vec<usize> {
        let readouts = self.kspace().readouts().iter();
        readouts.map(|readout| readout.samples.len()).collect()
    }

    /// Extent along slices, rows and columns, m.
    #[getter]
    fn field_of_view(&self) -> Option<[f64; 3]> {
        self.kspace().extent().field_of_view
    }

    /// Number of coils.
    #[getter]
    fn coils(&self) -> usize {
        self.kspace().coils()
    }

    /// Times of the samples since their readouts began, s.
    fn times<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(self.kspace().times()?.into_pyarray(py))
    }

    /// The file, as given.
    #[getter]
    fn path(&self) -> &str {
        &self.source
    }

    /// Numbers of slice, contrast, phase, repetition and set.
    #[getter]
    fn counters(&self) -> Vec<(&'static str, u16)> {
        match &self.index {
            Some(index) => index.counters().to_vec(),
            None => vec![("slice", self.file.slice)],
        }
    }

    /// Centre of the image, m, and directions of columns, rows and slices, in the patient.
    #[getter]
    fn placement(&self) -> Option<([f64; 3], [[f64; 3]; 3])> {
        let placement = self.file.placement?;
        Some((placement.centre(), placement.directions()))
    }

    /// What was decided when the file was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        all_in_python(self.file.notes.iter().cloned())
    }
}

/// An array of a file: coil maps (set, coil, slice, row, column), an image with the axes of its
/// file, an off-resonance map (slice, row, column), Hz, or phases, coefficients (sample, function)
/// and maps (function, slice, row, column).
#[pyfunction]
pub(super) fn mri_read_arrays<'py>(
    py: Python<'py>,
    what: &str,
    path: PathBuf,
    slice: u16,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let memory = Memory::available();
    let of = |array| vec![array];
    Ok(match what {
        "maps" => {
            let read = detached(py, || images::read_coil_maps_of_slice(&path, slice, memory));
            of(read.map_err(Failure::from)?.into_pyarray(py).into_any())
        }
        "image" => {
            let read = detached(py, || images::read_images_within(&path, memory));
            of(read.map_err(Failure::from)?.into_pyarray(py).into_any())
        }
        "off-resonance" => {
            let read = detached(py, || images::read_off_resonance(&path, memory));
            of(read.map_err(Failure::from)?.into_pyarray(py).into_any())
        }
        "field" => {
            let read = detached(py, || images::read_field(&path, memory));
            let read = read.map_err(Failure::from)?;
            vec![
                read.coefficients.into_pyarray(py).into_any(),
                read.maps.into_pyarray(py).into_any(),
            ]
        }
        other => {
            return Ok(unknown(
                "what",
                other,
                "maps, image, off-resonance or field",
            )?);
        }
    })
}
